// Eigen's sparse LDLᵀ and LU behind a wall: their headers are among the slowest to compile, and
// whoever only keeps a factor need not read them. Names and meaning of the functions are Eigen's.
#pragma once

#include <limits>
#include <memory>

#include "urto/math/types.h"

namespace urto {

/// A compressed sparse matrix, or arrays that stand for one.
using SparseRef = Eigen::Ref<const SparseMatrix>;

/// What `solve` gives where there is no factorisation: every kernel of this folder remembers
/// whether its last one succeeded, so that nobody computes with what a failed one left behind.
constexpr double not_solved = std::numeric_limits<double>::quiet_NaN();

/// LDLᵀ of the lower triangle of a symmetric matrix, without pivoting. Only the analysis allocates.
class SparseLdlt {
 public:
  SparseLdlt();
  ~SparseLdlt();
  SparseLdlt(SparseLdlt&&) noexcept;
  SparseLdlt& operator=(SparseLdlt&&) noexcept;

  void analyzePattern(const SparseRef& A);
  /// False for a pivot that is zero or not finite.
  [[nodiscard]] bool factorize(const SparseRef& A);
  /// No factorisation is there any more; the analysis stays.
  void forget();
  const Vector& vectorD() const;
  /// Not-a-number unless the last factorisation succeeded.
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
  /// False for a pivot of zero.
  [[nodiscard]] bool factorize(const SparseRef& A);
  /// No factorisation is there any more; the analysis stays.
  void forget();
  /// Not-a-number unless the last factorisation succeeded.
  void solve(const Vector& rhs, Vector& x) const;
  /// Several right-hand sides, the columns; x has their size.
  void solve(const Eigen::Ref<const Matrix>& rhs, Eigen::Ref<Matrix> x) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace urto
