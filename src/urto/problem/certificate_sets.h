// The sets of a step problem as certificates see them: written anew, so that a mistake in the
// solvers' projections (math/convex_set.h) shows.
#pragma once

#include "urto/math/convex_set.h"

namespace urto {

using CertificateBlock = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, max_block, 1>;

/// λ − Π_K(λ − v).
CertificateBlock certificate_natural_map(const ConvexSet& set, const CertificateBlock& lambda,
                                         const CertificateBlock& v);
/// The distance of λ to K: the natural map with v = 0.
double certificate_distance_to(const ConvexSet& set, const CertificateBlock& lambda);
/// σ_K(−û) of the blocks where it is finite and not zero: boxes. For cones the infeasibility shows
/// in the natural map.
double certificate_box_support(const ConvexSet& set, const CertificateBlock& minus_u);
/// μ‖u_T‖ + μ_r‖u_R‖ + μ_s|u_S|, of the parts of a block that its normal bounds.
double bounded_rates(const ConvexSet& set, const CertificateBlock& u);

}  // namespace urto
