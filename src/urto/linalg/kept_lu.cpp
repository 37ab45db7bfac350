#include "urto/linalg/kept_lu.h"

#include <cmath>

#ifdef URTO_HAVE_KLU
#include <klu.h>
#endif

#include "urto/linalg/sparse_factors.h"

namespace urto {

#ifdef URTO_HAVE_KLU
namespace {

// Old pivots may let the factors grow ten thousand times: four of sixteen digits, which one
// refinement gives back. Beyond it pivots are chosen anew.
constexpr double smallest_reciprocal_growth = 1e-4;

// KLU changes neither pattern nor values; its interface is of a time without const.
int* column_starts(const SparseMatrix& A) {
  return const_cast<int*>(A.outerIndexPtr());
}
int* row_indices(const SparseMatrix& A) {
  return const_cast<int*>(A.innerIndexPtr());
}
double* values(const SparseMatrix& A) {
  return const_cast<double*>(A.valuePtr());
}

}  // namespace

struct KeptLu::Impl {
  klu_common common = {};
  klu_symbolic* symbolic = nullptr;
  klu_numeric* numeric = nullptr;

  Impl() { klu_defaults(&common); }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    forget_numbers();
    if (symbolic != nullptr) klu_free_symbolic(&symbolic, &common);
  }

  void forget_numbers() {
    if (numeric != nullptr) klu_free_numeric(&numeric, &common);
  }

  bool ok() const { return common.status == KLU_OK; }

  // min over columns of max|A|/max|U|, A scaled as KLU scales it; 0 if it cannot be had.
  double reciprocal_growth(const SparseMatrix& A) {
    if (klu_rgrowth(column_starts(A), row_indices(A), values(A), symbolic, numeric, &common) == 0 ||
        !ok() || !std::isfinite(common.rgrowth))
      return 0;
    return common.rgrowth;
  }

  // A pivot below the smallest normal number says nothing about the matrix.
  bool is_regular() {
    return klu_rcond(symbolic, numeric, &common) != 0 && ok() && std::isfinite(common.rcond) &&
           common.rcond > 0;
  }

  bool choose_pivots(const SparseMatrix& A) {
    forget_numbers();
    numeric = klu_factor(column_starts(A), row_indices(A), values(A), symbolic, &common);
    if (numeric == nullptr || !ok() || !is_regular()) {
      forget_numbers();
      return false;
    }
    return true;
  }

  bool keep_pivots(const SparseMatrix& A) {
    return klu_refactor(column_starts(A), row_indices(A), values(A), symbolic, numeric, &common) !=
               0 &&
           ok() && is_regular() && reciprocal_growth(A) > smallest_reciprocal_growth;
  }
};

bool KeptLu::has_klu() {
  return true;
}

bool KeptLu::analyze(const SparseMatrix& A) {
  impl_->forget_numbers();
  if (impl_->symbolic != nullptr) klu_free_symbolic(&impl_->symbolic, &impl_->common);
  impl_->symbolic =
      klu_analyze(static_cast<int>(A.rows()), column_starts(A), row_indices(A), &impl_->common);
  return impl_->symbolic != nullptr && impl_->ok();
}

bool KeptLu::factorize(const SparseMatrix& A, Pivots pivots) {
  if (impl_->symbolic == nullptr) return false;
  if (pivots == Pivots::kept && impl_->numeric != nullptr && impl_->keep_pivots(A)) {
    ++kept_;
    return true;
  }
  ++chosen_;
  return impl_->choose_pivots(A);
}

bool KeptLu::solve(const Vector& rhs, Vector& x) {
  x = rhs;
  const bool solved = impl_->numeric != nullptr &&
                      klu_solve(impl_->symbolic, impl_->numeric, static_cast<int>(x.size()), 1,
                                x.data(), &impl_->common) != 0 &&
                      impl_->ok();
  if (!solved) x.setConstant(not_solved);
  return solved;
}

#else

struct KeptLu::Impl {
  SparseLu lu;
  bool usable = false;
};

bool KeptLu::has_klu() {
  return false;
}

bool KeptLu::analyze(const SparseMatrix& A) {
  impl_->lu.analyzePattern(A);
  return true;
}

bool KeptLu::factorize(const SparseMatrix& A, Pivots) {
  ++chosen_;
  impl_->usable = impl_->lu.factorize(A);
  return impl_->usable;
}

bool KeptLu::solve(const Vector& rhs, Vector& x) {
  impl_->lu.solve(rhs, x);
  return impl_->usable;
}

#endif

KeptLu::KeptLu() : impl_(std::make_unique<Impl>()) {}
KeptLu::~KeptLu() = default;
KeptLu::KeptLu(KeptLu&&) noexcept = default;
KeptLu& KeptLu::operator=(KeptLu&&) noexcept = default;

}  // namespace urto
