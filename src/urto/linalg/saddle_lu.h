// LU factors of Newton's matrix of a system with joints,
//
//     [ H   Jᵀ ]
//     [ J  −E  ]
//
// with an H that need not be symmetric (gyroscopic terms, exact tangents on the rotation group) nor
// definite, so that the LDLᵀ of block_ldlt.h does not apply. Dense up to a hundred and sixty
// unknowns; above, a sparse LU whose analysis is kept while the pattern holds (kept_lu.h). Dense or
// with kept pivots, nothing is allocated once warm. Rows that depend on each other would make the
// matrix singular: a constraint row's diagonal is shifted by 1e-12 of its own inertia, and a
// solution is refined once on the matrix without shifts.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "urto/linalg/block_matrix.h"
#include "urto/linalg/kept_lu.h"
#include "urto/math/types.h"

namespace urto {

/// How the rows of a block enter the matrix.
struct SaddleRow {
  bool acts = true;     ///< its multiplier acts on the velocities (above)
  bool holds = true;    ///< its equation has velocities in it (to the left)
  double diagonal = 0;  ///< −E, or 1 for a row that is switched off
  bool shifted = true;  ///< a rigid row, which others may make redundant
};

class SaddleLu {
 public:
  SaddleLu();
  ~SaddleLu();
  SaddleLu(SaddleLu&&) noexcept;
  SaddleLu& operator=(SaddleLu&&) noexcept;

  /// Empties the matrix: `size` unknowns, the first `dofs` of them velocities or accelerations.
  void start(int dofs, int size);
  void add(int row, int column, double value) {
    if (dense_) {
      A_(row, column) += value;
    } else {
      triplets_.emplace_back(row, column, value);
    }
  }
  /// A matrix of the velocities in the corner.
  void add(const BlockMatrix& A, double factor = 1);
  /// A sparse matrix with its first entry at (row, column).
  void add(const SparseMatrix& A, int row, int column);
  /// Constraint rows behind the velocities: `upper`ᵀ above, `lower` to the left, one rule per
  /// block. The two have the same pattern.
  void add_rows(const BlockRows& upper, const BlockRows& lower, std::span<const SaddleRow> rules);
  /// Rigid rows, as a sparse matrix.
  void add_rows(const SparseMatrix& J);
  /// Marks a constraint row: its shift has the sign of what its diagonal would be after
  /// elimination.
  void shift(int row, int sign) { shifts_.push_back({row, sign}); }
  /// False if the matrix has a pivot of zero or is not finite. Pivots that are kept depend on what
  /// was factorised before, and so do the last bits of a solution: not across steps, because a
  /// resumed run would not have them.
  [[nodiscard]] bool factorize(KeptLu::Pivots pivots = KeptLu::Pivots::chosen);
  /// Not-a-number unless the last factorisation succeeded and the solution can be had.
  void solve(const Vector& rhs, Vector& x);
  int size() const { return size_; }
  /// ‖A x − rhs‖ / ‖rhs‖ of the last solution before its refinement.
  double residual() const { return relative_residual_; }

 private:
  struct Shift {
    int row = 0, sign = 1;
  };
  struct Place {
    int row = 0, column = 0, slot = 0;
  };
  struct DenseLu;  ///< Eigen's, whose header is not for everybody who includes this one
  bool factorize_dense();
  bool factorize_sparse(KeptLu::Pivots pivots);
  bool fill_kept_pattern();
  [[nodiscard]] bool find_pattern();
  void shift_sparse();

  int dofs_ = 0, size_ = 0;
  bool dense_ = true, usable_ = false;
  Matrix A_, shifted_;
  std::unique_ptr<DenseLu> lu_;
  std::vector<Eigen::Triplet<double>> triplets_ = {};
  std::vector<Shift> shifts_ = {};
  /// Where in the values of S_ each entry belongs that is added, in the order of adding: while
  /// entries come in the same order, the pattern is the same and needs no search.
  std::vector<Place> places_ = {};
  std::vector<int> diagonal_slot_ = {};
  SparseMatrix S_, shifted_sparse_;
  KeptLu sparse_lu_;
  Vector residual_, correction_, inertia_;
  double relative_residual_ = 0;
};

}  // namespace urto
