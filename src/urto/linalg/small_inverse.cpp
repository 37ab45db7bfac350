#include "urto/linalg/small_inverse.h"

#include <Eigen/Cholesky>

#include "urto/linalg/block_matrix.h"
#include "urto/linalg/checked.h"

namespace urto {
namespace {

template <class Type>
bool invert(int n, const double* A, double* out) {
  const Checked<Eigen::LLT<Type>> factor{Type(Eigen::Map<const Matrix>(A, n, n))};
  if (!factor.ok()) return false;
  Eigen::Map<Matrix>(out, n, n) = factor->solve(Type::Identity(n, n));
  return true;
}

}  // namespace

bool invert_positive_definite(int n, const double* A, double* out) {
  using Small =
      Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_entry_width, max_entry_width>;
  if (n == 6) return invert<Eigen::Matrix<double, 6, 6>>(n, A, out);
  return n <= max_entry_width ? invert<Small>(n, A, out) : invert<Matrix>(n, A, out);
}

}  // namespace urto
