// Cholesky or LU of a small matrix that comes in sparse storage: below some sixty rows a dense kernel beats every sparse one, LU by far.
#pragma once

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include "urto/math/types.h"

namespace urto {

class DenseFactor {
 public:
  enum class Kind { cholesky, lu };
  explicit DenseFactor(Kind kind) : kind_(kind) {}

  /// False if the matrix is not positive definite (Cholesky, which reads the lower triangle only) or singular (LU).
  bool factorize(const SparseMatrix& A);
  void solve(const Vector& rhs, Vector& x) const;

 private:
  Kind kind_;
  Matrix dense_;
  Eigen::LLT<Matrix> cholesky_;
  Eigen::PartialPivLU<Matrix> lu_;
};

}  // namespace urto
