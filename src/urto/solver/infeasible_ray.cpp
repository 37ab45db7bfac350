#include "urto/solver/infeasible_ray.h"

#include <cmath>

namespace urto {

bool InfeasibleRay::runs_along(Delassus& W, const Vector& step) {
  const double size = step.norm();
  if (!(size > 0) || !std::isfinite(size)) return false;
  d_ = step / size;
  Wd_.resize(d_.size());
  W.apply(d_, Wd_);
  projected_.resize(d_.size());
  project(W.K(), d_, projected_);
  double diagonal = 0;
  for (int i = 0; i < W.blocks(); ++i) diagonal = std::max(diagonal, W.mean_diagonal(i));
  return Wd_.norm() <= 1e-9 * diagonal && (projected_ - d_).norm() <= 1e-6 &&
         W.q().dot(d_) < -1e-9 * W.q().norm();
}

double InfeasibleRay::infeasibility(Delassus& W, const Vector& lambda, bool exact,
                                    double energy_root) {
  d_ = lambda;
  const SetProduct& K = W.K();
  for (int i = 0; i < K.blocks(); ++i) {
    const ConvexSet& set = K.sets[i];
    if (exact && set.has_friction()) d_.segment(K.start[i] + 1, set.dim - 1).setZero();
    // A bounded multiplier does not grow: it belongs to no ray.
    if (set.kind == SetKind::box) d_.segment(K.start[i], set.dim).setZero();
  }
  const double work = -W.q().dot(d_);
  if (!(work > 0)) return 0;
  Wd_.resize(d_.size());
  W.apply(d_, Wd_);
  for (int i = 0; i < K.blocks(); ++i)
    Wd_.segment(K.start[i], K.sets[i].dim) /= std::sqrt(W.mean_diagonal(i));
  return work / (Wd_.norm() * energy_root);
}

}  // namespace urto
