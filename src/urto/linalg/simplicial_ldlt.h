// Eigen's LDLᵀ of the lower triangle of a sparse symmetric matrix, analysed once and then refilled
// and solved without allocation: Eigen's own `factorize` makes a permuted copy of the matrix each
// time, and its `solve` a mask for the permutation. The same operations in the same order, hence
// the same bits. For the sources of the factors only: Eigen's header is among the slowest to
// compile.
#pragma once

#include <vector>

#include <Eigen/SparseCholesky>

#include "urto/linalg/sparse_factors.h"

namespace urto {

class SimplicialLdlt : private Eigen::SimplicialLDLT<SparseMatrix, Eigen::Lower> {
 public:
  /// Of a compressed matrix.
  void analyze(const SparseRef& lower) {
    // The numbers of the entries, permuted as Eigen permutes values, say where each value goes.
    SparseMatrix numbered = lower;
    analyzePattern(numbered);
    for (Eigen::Index k = 0; k < numbered.nonZeros(); ++k)
      numbered.valuePtr()[k] = static_cast<double>(k);
    permuted_.resize(lower.rows(), lower.cols());
    permuted_.selfadjointView<Eigen::Upper>() =
        numbered.selfadjointView<Eigen::Lower>().twistedBy(m_P);
    from_.assign(permuted_.valuePtr(), permuted_.valuePtr() + permuted_.nonZeros());
  }
  /// Of a matrix with the pattern that was analysed. False for a pivot of zero; the pivots may
  /// still be not-a-number.
  [[nodiscard]] bool factorize(const SparseRef& lower) {
    double* values = permuted_.valuePtr();
    for (std::size_t k = 0; k < from_.size(); ++k) values[k] = lower.valuePtr()[from_[k]];
    factorize_preordered<true>(permuted_);
    return info() == Eigen::Success;
  }
  /// The pivots.
  const Vector& diagonal() const { return m_diag; }
  void solve(const Vector& rhs, Vector& x) const {
    work_ = m_P * rhs;
    if (m_matrix.nonZeros() > 0) matrixL().solveInPlace(work_);
    work_ = m_diag.asDiagonal().inverse() * work_;
    if (m_matrix.nonZeros() > 0) matrixU().solveInPlace(work_);
    x = m_Pinv * work_;
  }

 private:
  SparseMatrix permuted_;
  std::vector<int> from_ = {};
  mutable Vector work_;
};

}  // namespace urto
