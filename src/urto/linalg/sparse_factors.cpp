#include "urto/linalg/sparse_factors.h"

#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>

namespace urto {

struct SparseLdlt::Impl {
  Eigen::SimplicialLDLT<SparseMatrix, Eigen::Lower> factor;
};

SparseLdlt::SparseLdlt() : impl_(std::make_unique<Impl>()) {}
SparseLdlt::~SparseLdlt() = default;
SparseLdlt::SparseLdlt(SparseLdlt&&) noexcept = default;
SparseLdlt& SparseLdlt::operator=(SparseLdlt&&) noexcept = default;

void SparseLdlt::analyzePattern(const SparseMatrix& A) {
  impl_->factor.analyzePattern(A);
}

void SparseLdlt::factorize(const SparseMatrix& A) {
  impl_->factor.factorize(A);
}

Eigen::ComputationInfo SparseLdlt::info() const {
  return impl_->factor.info();
}

Vector SparseLdlt::vectorD() const {
  return impl_->factor.vectorD();
}

Vector SparseLdlt::solve(const Vector& rhs) const {
  return impl_->factor.solve(rhs);
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
