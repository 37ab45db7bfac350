#include "urto/linalg/spd_factor.h"

#include "urto/linalg/simplicial_ldlt.h"
#ifdef URTO_HAVE_CHOLMOD
#include <Eigen/CholmodSupport>
#endif

namespace urto {

struct SpdFactor::Impl {
  bool large = false;
  SimplicialLdlt simplicial;
  Vector right, left;
#ifdef URTO_HAVE_CHOLMOD
  Eigen::CholmodDecomposition<SparseMatrix, Eigen::Lower> cholmod;
#endif
};

SpdFactor::SpdFactor() : impl_(std::make_unique<Impl>()) {}
SpdFactor::~SpdFactor() = default;
SpdFactor::SpdFactor(SpdFactor&&) noexcept = default;
SpdFactor& SpdFactor::operator=(SpdFactor&&) noexcept = default;

bool SpdFactor::has_cholmod() {
#ifdef URTO_HAVE_CHOLMOD
  return true;
#else
  return false;
#endif
}

void SpdFactor::analyze(const SparseRef& lower) {
#ifdef URTO_HAVE_CHOLMOD
  impl_->large = lower.rows() >= 300;
  if (impl_->large) {
    // A matrix that is not positive definite is our caller's news, not stderr's.
    impl_->cholmod.cholmod().print = 0;
    impl_->cholmod.cholmod().quick_return_if_not_posdef = 1;
    impl_->cholmod.analyzePattern(SparseMatrix(lower));
    return;
  }
#endif
  impl_->simplicial.analyze(lower);
}

bool SpdFactor::factorize(const SparseRef& lower) {
#ifdef URTO_HAVE_CHOLMOD
  if (impl_->large) {
    impl_->cholmod.factorize(SparseMatrix(lower));
    return impl_->cholmod.info() == Eigen::Success;
  }
#endif
  impl_->simplicial.factorize(lower);
  return impl_->simplicial.info() == Eigen::Success && impl_->simplicial.diagonal().minCoeff() > 0;
}

void SpdFactor::solve(const Vector& rhs, Vector& x) const {
#ifdef URTO_HAVE_CHOLMOD
  if (impl_->large) {
    x = impl_->cholmod.solve(rhs);
    return;
  }
#endif
  impl_->simplicial.solve(rhs, x);
}

void SpdFactor::solve(const Eigen::Ref<const Matrix>& rhs, Eigen::Ref<Matrix> x) const {
#ifdef URTO_HAVE_CHOLMOD
  if (impl_->large) {
    x = impl_->cholmod.solve(rhs);
    return;
  }
#endif
  for (Eigen::Index c = 0; c < rhs.cols(); ++c) {
    impl_->right = rhs.col(c);
    impl_->simplicial.solve(impl_->right, impl_->left);
    x.col(c) = impl_->left;
  }
}

}  // namespace urto
