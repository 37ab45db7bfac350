// By how much an impulse and a velocity miss the law of one row block, for certificates: written
// apart from the projections that solvers use (math/convex_set.h), on purpose.
#pragma once

#include <array>

#include "urto/math/convex_set.h"
#include "urto/problem/friction_polygon.h"

namespace urto {

using LawBlock = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, max_block, 1>;

/// The parts of a block that its normal bounds, with their lengths: sliding, rolling, spinning.
struct NormalBounds {
  int size = 0;
  std::array<int, 3> first{}, count{};
  std::array<double, 3> mu{}, length{};
  void add(const LawBlock& z, int at, int rows, double bound) {
    first[size] = at;
    count[size] = rows;
    mu[size] = bound;
    length[size++] = z.segment(at, rows).norm();
  }
};
NormalBounds bounds_of(const ConvexSet& set, const LawBlock& z);

/// λ − Π_K(λ − v), the natural map.
LawBlock law_error(const ConvexSet& set, const LawBlock& lambda, const LawBlock& v);
/// The same of a contact whose friction has a polygon, or whose normal impulse has a floor: with u
/// itself, each part on what the normal impulse bounds it by. Zero where the law holds and only
/// there.
LawBlock law_error_by_parts(const ConvexSet& set, const FrictionLaw& law, int block,
                            const LawBlock& lambda, const LawBlock& u);

double distance_to_set(const ConvexSet& set, const LawBlock& lambda);

/// σ_K(−û) of the blocks where it is finite and not zero: boxes. For cones the infeasibility shows
/// in the natural map.
double box_support(const ConvexSet& set, const LawBlock& minus_u);

}  // namespace urto
