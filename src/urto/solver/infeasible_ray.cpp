#include "urto/solver/infeasible_ray.h"

#include <cmath>

namespace urto {

bool runs_along_infeasible_ray(Delassus& W, const Vector& step) {
  const double size = step.norm();
  if (!(size > 0) || !std::isfinite(size)) return false;
  const Vector d = step / size;
  Vector Wd(d.size());
  W.apply(d, Wd);
  Vector projected(d.size());
  project(W.K(), d, projected);
  double diagonal = 0;
  for (int i = 0; i < W.blocks(); ++i) diagonal = std::max(diagonal, W.mean_diagonal(i));
  return Wd.norm() <= 1e-9 * diagonal && (projected - d).norm() <= 1e-6 &&
         W.q().dot(d) < -1e-9 * W.q().norm();
}

double infeasibility(Delassus& W, const Vector& lambda, bool exact, double energy_root) {
  Vector d = lambda;
  const SetProduct& K = W.K();
  for (int i = 0; i < K.blocks(); ++i) {
    const ConvexSet& set = K.sets[i];
    if (exact && set.has_friction()) d.segment(K.start[i] + 1, set.dim - 1).setZero();
    // A bounded multiplier does not grow: it belongs to no ray.
    if (set.kind == SetKind::box) d.segment(K.start[i], set.dim).setZero();
  }
  const double work = -W.q().dot(d);
  if (!(work > 0)) return 0;
  Vector Wd(d.size());
  W.apply(d, Wd);
  for (int i = 0; i < K.blocks(); ++i)
    Wd.segment(K.start[i], K.sets[i].dim) /= std::sqrt(W.mean_diagonal(i));
  return work / (Wd.norm() * energy_root);
}

}  // namespace urto
