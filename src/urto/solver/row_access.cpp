#include "urto/solver/row_access.h"

#include <Eigen/QR>

namespace urto {

BlockStep::BlockStep(const Delassus& W) : K_(W.K()) {
  for (int i = 0; i < W.blocks(); ++i) {
    start_.push_back(static_cast<int>(values_.size()));
    const ConvexSet& set = K_.sets[i];
    const auto D = W.diagonal(i);
    if (set.kind == SetKind::free) {
      // A joint may lock a direction that no body can move in: the pseudo-inverse leaves it alone.
      const Matrix inverse = Eigen::CompleteOrthogonalDecomposition<Matrix>(D).pseudoInverse();
      values_.insert(values_.end(), inverse.data(), inverse.data() + inverse.size());
    } else if (set.has_friction()) {
      values_.push_back(1 / W.mean_diagonal(i));
    } else {
      for (int k = 0; k < set.dim; ++k) values_.push_back(D(k, k) > 0 ? 1 / D(k, k) : 0);
    }
  }
}

void BlockStep::descend(int i, double omega, const double* lambda, const double* u,
                        double* out) const {
  const ConvexSet& set = K_.sets[i];
  const double* step = values_.data() + start_[i];
  const int d = set.dim;
  if (set.has_friction()) {
    for (int k = 0; k < d; ++k) out[k] = lambda[k] - omega * step[0] * u[k];
  } else if (set.kind == SetKind::free) {
    for (int r = 0; r < d; ++r) {
      double sum = 0;
      for (int c = 0; c < d; ++c) sum += step[c * d + r] * u[c];
      out[r] = lambda[r] - omega * sum;
    }
  } else {
    for (int k = 0; k < d; ++k) out[k] = lambda[k] - omega * step[k] * u[k];
  }
}

}  // namespace urto
