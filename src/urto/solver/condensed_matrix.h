// The condensed matrix H + Σ_i J_iᵀ D_i J_i with D_i a block of the size of row block i: the Newton
// matrix of proximal methods and the normal matrix of ADMM. The sparsity pattern, and where each
// block goes, are found once. Symmetric blocks: Cholesky on the lower triangle; unsymmetric blocks
// (Alart–Curnier's derivative): LU.
#pragma once

#include <optional>
#include <vector>

#include "urto/linalg/dense_factor.h"
#include "urto/solver/delassus.h"

namespace urto {

class CondensedMatrix {
 public:
  CondensedMatrix() = default;
  CondensedMatrix(const CondensedMatrix&) = delete;
  CondensedMatrix& operator=(const CondensedMatrix&) = delete;

  enum class Symmetry { symmetric, general };
  enum class Kernel { sparse, dense };
  /// Of W's problem, which is read until the next `set`, in the storage that is there; sparse
  /// factors come from W's store.
  void set(const Delassus& W, Symmetry symmetry, Kernel kernel = Kernel::sparse);
  /// Gives sparse factors back to the store: after that only `set` may be called.
  void release() {
    factor_.reset();
    lu_.reset();
  }

  /// `D` holds the blocks one after the other, column-major, block i at offset `block_offset(i)`.
  int block_offset(int i) const { return offset_[i]; }
  int block_values() const { return offset_.back(); }
  /// False if the matrix is not positive definite.
  [[nodiscard]] bool factorize(const std::vector<double>& D);
  void solve(const Vector& rhs, Vector& x) const;
  /// False if the store knew the pattern.
  bool is_analysed_anew() const {
    return (!factor_ || factor_->is_new()) && (!lu_ || lu_->is_new());
  }

 private:
  bool skip(int e, int f) const {
    return symmetry_ == Symmetry::symmetric &&
           problem_->J.entries[e].column < problem_->J.entries[f].column;
  }
  int first_row(int e, int f, int column) const {
    return symmetry_ == Symmetry::symmetric && e == f ? column : 0;
  }

  void find_pattern();
  void find_targets();

  const StepProblem* problem_ = nullptr;
  Symmetry symmetry_ = Symmetry::symmetric;
  std::vector<int> offset_ = {};
  SparseBuilder builder_;
  SparseMatrix H_;
  SparseMatrix matrix_;       ///< the lower triangle, or all of it
  std::vector<double> mass_;  ///< values of H in the same pattern
  std::vector<int> target_;  ///< for each (block, entry pair, column): where its run of rows starts
                             ///< in the values
  std::optional<LentFactor<SpdFactor>> factor_;
  std::optional<LentFactor<SparseLu>> lu_;
  DenseFactor cholesky_{DenseFactor::Kind::cholesky}, dense_lu_{DenseFactor::Kind::lu};
  DenseFactor* dense_ = nullptr;  ///< the one of the two that is used, if any
};

}  // namespace urto
