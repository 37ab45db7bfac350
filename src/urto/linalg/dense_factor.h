// Cholesky or LU of a small matrix that comes in sparse storage: below some sixty rows a dense
// kernel beats every sparse one, LU by far. Matrices of one size after another allocate nothing.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include "urto/linalg/checked.h"
#include "urto/math/types.h"

namespace urto {

class DenseFactor {
 public:
  enum class Kind { cholesky, lu };
  explicit DenseFactor(Kind kind) : kind_(kind) {}

  /// False if the matrix is not positive definite (Cholesky, which reads the lower triangle only)
  /// or singular (LU).
  [[nodiscard]] bool factorize(const SparseMatrix& A);
  /// Not-a-number unless the last factorisation succeeded.
  void solve(const Vector& rhs, Vector& x) const;

 private:
  Kind kind_;
  Matrix dense_;
  Checked<Eigen::LLT<Matrix>> cholesky_;
  Eigen::PartialPivLU<Matrix> lu_;
  bool usable_ = false;
};

/// LU with full pivoting: the safe path of small systems, where MUMPS costs forty times as much.
/// Every matrix has it; what belongs to pivots that are exactly zero gets no part in the solution.
class FullPivotFactor {
 public:
  enum class Storage { lower, all };
  /// Factorises diag(scale) A diag(scale), A given by its lower triangle or all of it. False if it
  /// is not finite.
  [[nodiscard]] bool factorize(const SparseMatrix& A, Storage storage, const Vector& scale);
  /// Not-a-number unless the last factorisation succeeded.
  void solve(const Vector& rhs, Vector& x) const;
  /// Of a factorisation that succeeded.
  int null_pivots() const { return static_cast<int>(lu_.dimensionOfKernel()); }

 private:
  Vector scale_;
  Matrix dense_;
  Eigen::FullPivLU<Matrix> lu_;
  bool usable_ = false;
  mutable Vector work_, permuted_;
};

}  // namespace urto
