#include "urto/linalg/sparse_factors.h"

#include <Eigen/SparseLU>

#include "urto/linalg/simplicial_ldlt.h"

namespace urto {

struct SparseLdlt::Impl {
  SimplicialLdlt factor;
};

SparseLdlt::SparseLdlt() : impl_(std::make_unique<Impl>()) {}
SparseLdlt::~SparseLdlt() = default;
SparseLdlt::SparseLdlt(SparseLdlt&&) noexcept = default;
SparseLdlt& SparseLdlt::operator=(SparseLdlt&&) noexcept = default;

void SparseLdlt::analyzePattern(const SparseMatrix& A) {
  impl_->factor.analyze(A);
}

void SparseLdlt::factorize(const SparseMatrix& A) {
  impl_->factor.factorize(A);
}

Eigen::ComputationInfo SparseLdlt::info() const {
  return impl_->factor.info();
}

const Vector& SparseLdlt::vectorD() const {
  return impl_->factor.diagonal();
}

void SparseLdlt::solve(const Vector& rhs, Vector& x) const {
  impl_->factor.solve(rhs, x);
}

struct SparseLu::Impl {
  Eigen::SparseLU<SparseMatrix, Eigen::COLAMDOrdering<int>> factor;
};

SparseLu::SparseLu() : impl_(std::make_unique<Impl>()) {}
SparseLu::~SparseLu() = default;
SparseLu::SparseLu(SparseLu&&) noexcept = default;
SparseLu& SparseLu::operator=(SparseLu&&) noexcept = default;

void SparseLu::analyzePattern(const SparseMatrix& A) {
  impl_->factor.analyzePattern(A);
}

void SparseLu::factorize(const SparseMatrix& A) {
  impl_->factor.factorize(A);
}

Eigen::ComputationInfo SparseLu::info() const {
  return impl_->factor.info();
}

Vector SparseLu::solve(const Vector& rhs) const {
  return impl_->factor.solve(rhs);
}

}  // namespace urto
