// Eigen's sparse LDLᵀ and LU behind a wall: their headers are among the slowest to compile, and
// whoever only keeps a factor need not read them. Names and meaning of the functions are Eigen's.
#pragma once

#include <memory>

#include "urto/math/types.h"

namespace urto {

/// A compressed sparse matrix, or arrays that stand for one.
using SparseRef = Eigen::Ref<const SparseMatrix>;

/// LDLᵀ of the lower triangle of a symmetric matrix, without pivoting. Only the analysis allocates.
class SparseLdlt {
 public:
  SparseLdlt();
  ~SparseLdlt();
  SparseLdlt(SparseLdlt&&) noexcept;
  SparseLdlt& operator=(SparseLdlt&&) noexcept;

  void analyzePattern(const SparseRef& A);
  void factorize(const SparseRef& A);
  Eigen::ComputationInfo info() const;
  const Vector& vectorD() const;
  void solve(const Vector& rhs, Vector& x) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// LU with partial pivoting, columns ordered by COLAMD. Only the analysis allocates, and a
/// factorisation with more fill than one before.
class SparseLu {
 public:
  SparseLu();
  ~SparseLu();
  SparseLu(SparseLu&&) noexcept;
  SparseLu& operator=(SparseLu&&) noexcept;

  void analyzePattern(const SparseRef& A);
  void factorize(const SparseRef& A);
  Eigen::ComputationInfo info() const;
  void solve(const Vector& rhs, Vector& x) const;
  /// Several right-hand sides, the columns; x has their size.
  void solve(const Eigen::Ref<const Matrix>& rhs, Eigen::Ref<Matrix> x) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace urto
