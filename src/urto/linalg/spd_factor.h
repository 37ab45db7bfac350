// Cholesky factorisation of a sparse symmetric positive definite matrix, with the symbolic analysis
// kept while the pattern stays. Large matrices go to CHOLMOD's supernodal code where it is built in
// (URTO_WITH_CHOLMOD), others to Eigen's simplicial one, whose smaller overhead wins below a few
// hundred rows and which allocates in its analysis only.
#pragma once

#include <memory>

#include "urto/linalg/sparse_factors.h"

namespace urto {

class SpdFactor {
 public:
  SpdFactor();
  ~SpdFactor();
  SpdFactor(SpdFactor&&) noexcept;
  SpdFactor& operator=(SpdFactor&&) noexcept;

  /// Keeps the ordering and symbolic factor of this pattern; only the lower triangle is read.
  void analyze(const SparseRef& lower);
  /// False if the matrix is not positive definite.
  [[nodiscard]] bool factorize(const SparseRef& lower);
  /// No factorisation is there any more; the analysis stays.
  void forget();
  /// Not-a-number unless the last factorisation succeeded.
  void solve(const Vector& rhs, Vector& x) const;
  /// Several right-hand sides, the columns; x has their size.
  void solve(const Eigen::Ref<const Matrix>& rhs, Eigen::Ref<Matrix> x) const;

  static bool has_cholmod();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace urto
