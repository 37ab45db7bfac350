#include "urto/linalg/sparse_factors.h"

#include "urto/linalg/simplicial_ldlt.h"
#include "urto/linalg/supernodal_lu.h"

namespace urto {

struct SparseLdlt::Impl {
  SimplicialLdlt factor;
  bool usable = false;
};

SparseLdlt::SparseLdlt() : impl_(std::make_unique<Impl>()) {}
SparseLdlt::~SparseLdlt() = default;
SparseLdlt::SparseLdlt(SparseLdlt&&) noexcept = default;
SparseLdlt& SparseLdlt::operator=(SparseLdlt&&) noexcept = default;

void SparseLdlt::analyzePattern(const SparseRef& A) {
  forget();
  impl_->factor.analyze(A);
}

bool SparseLdlt::factorize(const SparseRef& A) {
  impl_->usable = impl_->factor.factorize(A) && impl_->factor.diagonal().allFinite();
  return impl_->usable;
}

void SparseLdlt::forget() {
  impl_->usable = false;
}

const Vector& SparseLdlt::vectorD() const {
  return impl_->factor.diagonal();
}

void SparseLdlt::solve(const Vector& rhs, Vector& x) const {
  if (impl_->usable) {
    impl_->factor.solve(rhs, x);
  } else {
    x.setConstant(rhs.size(), not_solved);
  }
}

struct SparseLu::Impl {
  SupernodalLu factor;
  bool usable = false;
  Vector right, left;
};

SparseLu::SparseLu() : impl_(std::make_unique<Impl>()) {}
SparseLu::~SparseLu() = default;
SparseLu::SparseLu(SparseLu&&) noexcept = default;
SparseLu& SparseLu::operator=(SparseLu&&) noexcept = default;

void SparseLu::analyzePattern(const SparseRef& A) {
  forget();
  impl_->factor.analyze(A);
}

bool SparseLu::factorize(const SparseRef& A) {
  impl_->usable = impl_->factor.factorize(A);
  return impl_->usable;
}

void SparseLu::forget() {
  impl_->usable = false;
}

void SparseLu::solve(const Vector& rhs, Vector& x) const {
  if (impl_->usable) {
    impl_->factor.solve(rhs, x);
  } else {
    x.setConstant(rhs.size(), not_solved);
  }
}

void SparseLu::solve(const Eigen::Ref<const Matrix>& rhs, Eigen::Ref<Matrix> x) const {
  for (Eigen::Index c = 0; c < rhs.cols(); ++c) {
    impl_->right = rhs.col(c);
    solve(impl_->right, impl_->left);
    x.col(c) = impl_->left;
  }
}

}  // namespace urto
