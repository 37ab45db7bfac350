#include "urto/linalg/dense_factor.h"

#include "urto/linalg/sparse_factors.h"

namespace urto {

bool DenseFactor::factorize(const SparseMatrix& A) {
  dense_.setZero(A.rows(), A.cols());
  for (int c = 0; c < A.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(A, c); it; ++it) dense_(it.row(), c) = it.value();
  }
  if (kind_ == Kind::cholesky) {
    usable_ = cholesky_.compute(dense_);
    return usable_;
  }
  lu_.compute(dense_);
  const auto pivots = lu_.matrixLU().diagonal();
  usable_ = pivots.allFinite() && (pivots.array() != 0).all();
  return usable_;
}

void DenseFactor::solve(const Vector& rhs, Vector& x) const {
  if (!usable_) {
    x.setConstant(rhs.size(), not_solved);
  } else if (kind_ == Kind::cholesky) {
    x = cholesky_->solve(rhs);
  } else {
    x = lu_.solve(rhs);
  }
}

bool FullPivotFactor::factorize(const SparseMatrix& A, Storage storage, const Vector& scale) {
  scale_ = scale;
  dense_.setZero(A.rows(), A.cols());
  for (int c = 0; c < A.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(A, c); it; ++it) {
      const double value = scale[it.row()] * it.value() * scale[c];
      dense_(it.row(), c) = value;
      if (storage == Storage::lower) dense_(c, it.row()) = value;
    }
  }
  usable_ = dense_.allFinite();
  if (!usable_) return false;
  lu_.setThreshold(0);
  lu_.compute(dense_);
  return true;
}

// As Eigen's own, whose solve allocates.
void FullPivotFactor::solve(const Vector& rhs, Vector& x) const {
  const Eigen::Index n = rhs.size();
  if (!usable_) {
    x.setConstant(n, not_solved);
    return;
  }
  const Eigen::Index rank = lu_.rank();
  work_ = scale_.cwiseProduct(rhs);
  permuted_ = lu_.permutationP() * work_;
  x.setZero(n);
  if (rank == 0) return;
  lu_.matrixLU().triangularView<Eigen::UnitLower>().solveInPlace(permuted_);
  auto used = permuted_.head(rank);
  lu_.matrixLU().topLeftCorner(rank, rank).triangularView<Eigen::Upper>().solveInPlace(used);
  for (Eigen::Index k = 0; k < rank; ++k) {
    const Eigen::Index at = lu_.permutationQ().indices()[k];
    x[at] = scale_[at] * used[k];
  }
}

}  // namespace urto
