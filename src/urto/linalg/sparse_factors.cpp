#include "urto/linalg/sparse_factors.h"

#include "urto/linalg/simplicial_ldlt.h"
#include "urto/linalg/supernodal_lu.h"

namespace urto {

struct SparseLdlt::Impl {
  SimplicialLdlt factor;
};

SparseLdlt::SparseLdlt() : impl_(std::make_unique<Impl>()) {}
SparseLdlt::~SparseLdlt() = default;
SparseLdlt::SparseLdlt(SparseLdlt&&) noexcept = default;
SparseLdlt& SparseLdlt::operator=(SparseLdlt&&) noexcept = default;

void SparseLdlt::analyzePattern(const SparseRef& A) {
  impl_->factor.analyze(A);
}

void SparseLdlt::factorize(const SparseRef& A) {
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
  SupernodalLu factor;
  Vector right, left;
};

SparseLu::SparseLu() : impl_(std::make_unique<Impl>()) {}
SparseLu::~SparseLu() = default;
SparseLu::SparseLu(SparseLu&&) noexcept = default;
SparseLu& SparseLu::operator=(SparseLu&&) noexcept = default;

void SparseLu::analyzePattern(const SparseRef& A) {
  impl_->factor.analyze(A);
}

void SparseLu::factorize(const SparseRef& A) {
  impl_->factor.factorize(A);
}

Eigen::ComputationInfo SparseLu::info() const {
  return impl_->factor.info();
}

void SparseLu::solve(const Vector& rhs, Vector& x) const {
  impl_->factor.solve(rhs, x);
}

void SparseLu::solve(const Eigen::Ref<const Matrix>& rhs, Eigen::Ref<Matrix> x) const {
  for (Eigen::Index c = 0; c < rhs.cols(); ++c) {
    impl_->right = rhs.col(c);
    impl_->factor.solve(impl_->right, impl_->left);
    x.col(c) = impl_->left;
  }
}

}  // namespace urto
