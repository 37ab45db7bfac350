#include "urto/linalg/spd_factor.h"

#include "urto/linalg/simplicial_ldlt.h"
#ifdef URTO_HAVE_CHOLMOD
#include <Eigen/CholmodSupport>
#endif

namespace urto {

struct SpdFactor::Impl {
  bool large = false, analysed = true, usable = false;
  SimplicialLdlt simplicial;
  Vector right, left;
#ifdef URTO_HAVE_CHOLMOD
  Eigen::CholmodDecomposition<SparseMatrix, Eigen::Lower> cholmod;
#endif
  bool factorize(const SparseRef& lower);
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
  forget();
#ifdef URTO_HAVE_CHOLMOD
  impl_->large = lower.rows() >= 300;
  if (impl_->large) {
    // A matrix that is not positive definite is our caller's news, not stderr's.
    impl_->cholmod.cholmod().print = 0;
    impl_->cholmod.cholmod().quick_return_if_not_posdef = 1;
    impl_->cholmod.analyzePattern(SparseMatrix(lower));
    impl_->analysed = impl_->cholmod.cholmod().status >= CHOLMOD_OK;
    return;
  }
#endif
  impl_->simplicial.analyze(lower);
}

bool SpdFactor::factorize(const SparseRef& lower) {
  // Neither library minds not-a-number.
  impl_->usable = Eigen::Map<const Vector>(lower.valuePtr(), lower.nonZeros()).allFinite() &&
                  impl_->factorize(lower);
  return impl_->usable;
}

bool SpdFactor::Impl::factorize(const SparseRef& lower) {
#ifdef URTO_HAVE_CHOLMOD
  if (large) {
    // Eigen asks only whether the matrix is positive definite, not whether memory ran out.
    if (!analysed) return false;
    cholmod.factorize(SparseMatrix(lower));
    return cholmod.cholmod().status == CHOLMOD_OK && cholmod.info() == Eigen::Success;
  }
#endif
  return simplicial.factorize(lower) && simplicial.diagonal().allFinite() &&
         simplicial.diagonal().minCoeff() > 0;
}

void SpdFactor::forget() {
  impl_->usable = false;
}

void SpdFactor::solve(const Vector& rhs, Vector& x) const {
  if (!impl_->usable) {
    x.setConstant(rhs.size(), not_solved);
    return;
  }
#ifdef URTO_HAVE_CHOLMOD
  if (impl_->large) {
    x = impl_->cholmod.solve(rhs);
    return;
  }
#endif
  impl_->simplicial.solve(rhs, x);
}

void SpdFactor::solve(const Eigen::Ref<const Matrix>& rhs, Eigen::Ref<Matrix> x) const {
  if (!impl_->usable) {
    x.setConstant(not_solved);
    return;
  }
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
