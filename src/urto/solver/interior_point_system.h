// The linear systems of the interior point: one matrix an iteration, factorised once and solved
// twice or more,
//
//     H dx − Jᵀ dλ = r₁
//     J dx + (E + T) dλ = r₂        T one small block a row block: the barrier's curvature, 0 on
//         joints, positive definite elsewhere
//
// by one of five paths (linear_counters.h), chosen by size and structure, and left for a safer one
// when a residual says so:
//   dense       condensed or local form of a small island: dense Cholesky
//   condensed   H + Jᵀ(E + T)⁻¹J, positive definite, sparse Cholesky: with a mass matrix and a
//               compliance that stays inside its blocks
//   local       E + T, Cholesky: no mass matrix, W given as E
//   augmented   [H Jᵀ; J −(E + T)], quasi-definite, LDLᵀ without pivoting: any compliance; also
//               where the condensed form loses too many digits
//   pivoting    augmented or local form, pivots for accuracy: MUMPS, or full pivoting where it is
//               small; the safe path
// A T that is not symmetric (the direct treatment of Coulomb friction) is factorised by LU in the
// same forms.
//
// Static regularisation: δ_i = δ tr(W_ii)/d is added to T, so that redundant joints and contacts
// leave the matrix regular; refinement on the system without δ takes its effect away. A
// factorisation that breaks down is repeated by the next path, at the end with a larger δ (recipe
// 001 §2.7.2, 2.7.10, 2.8.4).
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "urto/linalg/linear_counters.h"
#include "urto/linalg/pivoting_factor.h"
#include "urto/solver/condensed_matrix.h"

namespace urto {

/// T of every row block, its inverse, and factors T = left · right, column-major, dim × dim, block
/// after block. On joints all are zero. The entries of a cone's T hide its smallest eigenvalue, μ
/// against μ⁻¹, in rounding; the factors have only the roots of these, so products go through them.
struct CurvatureBlocks {
  CurvatureBlocks() = default;
  explicit CurvatureBlocks(const SetProduct& K) { set(K); }
  void set(const SetProduct& K);  ///< zeros, in the storage that is there
  std::vector<int> start = {};
  std::vector<double> T = {}, inverse = {}, left = {}, right = {};
};

class InteriorPointSystem {
 public:
  static constexpr double residual_limit = 1e-6;  ///< of `solve`; recipe 001 §2.7.13

  /// `wanted` is kept to, where the problem allows it (large ones with pivoting need MUMPS); else
  /// the path is chosen and changed as need be.
  explicit InteriorPointSystem(Delassus& W, std::optional<LinearPath> wanted = {}) {
    set(W, wanted);
  }
  InteriorPointSystem() = default;
  /// The same in the storage that is there. W is used until `release`.
  void set(Delassus& W, std::optional<LinearPath> wanted = {});
  /// Gives factors back to W's store, and MUMPS its memory: after that only `set` may be called.
  void release();

  /// False if no path led to a factor.
  [[nodiscard]] bool factorize(const CurvatureBlocks& blocks, bool symmetric);
  /// The residual of the unregularised system after refinement, relative, weighted so that masses
  /// and rows of every size count alike.
  double solve(const Vector& r1, const Vector& r2, Vector& dx, Vector& dlambda);
  /// To be called when the residual is above its limit: another path or a larger δ, factorised.
  /// False when there is none left.
  [[nodiscard]] bool strengthen();

  LinearPath path() const { return path_; }
  int refinements() const { return refinements_; }  ///< since `factorize`
  const LinearCounters& counters() const { return counters_; }

 private:
  // The augmented or local matrix and its factors: lower triangle for the symmetric factors, all of
  // it for LU.
  struct SparseForm {
    bool built = false;
    SparseMatrix matrix;
    std::vector<double> base = {};   ///< values without T
    std::vector<int> position = {};  ///< of every entry of every block of T; −1 above the diagonal
                                     ///< of a lower triangle
    bool analysed = false;  ///< by the kernel without pivoting
    std::unique_ptr<PivotingFactor> pivoting = {};
    bool pivots_in_full = false;
    FullPivotFactor full_pivoting = {};
  };

  LinearPath first_path(std::optional<LinearPath> wanted) const;
  bool take_next_path();
  bool is_small() const;  ///< enough for full pivoting
  bool can_pivot() const { return is_small() || PivotingFactor::is_available(); }
  bool is_condensed() const {
    return n_ > 0 && (path_ == LinearPath::dense || path_ == LinearPath::condensed);
  }
  bool factorize_once();
  void read_compliance();
  void build_condensed();
  bool factorize_condensed();
  void build_pattern();
  void build_kernel();
  void fill_sparse();
  bool factorize_sparse();
  bool factorize_pivoting(SparseForm& form);
  bool solve_sparse();
  void substitute(const Vector& r1, const Vector& r2, Vector& dx, Vector& dlambda);
  double residual(const Vector& r1, const Vector& r2, const Vector& dx, const Vector& dlambda);
  double shift(int block) const;

  Delassus* W_ = nullptr;
  int n_ = 0, m_ = 0;
  bool block_compliance_ = true;
  bool forced_ = false;
  LinearPath path_ = LinearPath::dense;
  bool symmetric_ = true;
  double regularisation_ = 1;
  double pivot_threshold_ = 0;  ///< kept for the rest of the solve, as the path is
  int refinements_ = 0;
  LinearCounters counters_ = {};
  const CurvatureBlocks* blocks_ = nullptr;
  std::vector<double> compliance_ = {}, D_ = {};
  std::vector<int> block_of_ = {}, start_ = {};
  SparseBuilder builder_;
  SparseMatrix mass_and_rows_;
  // Symmetric, general.
  CondensedMatrix condensed_[2];
  bool condensed_built_[2] = {false, false};
  SparseForm sparse_[2];
  DenseFactor dense_[2] = {DenseFactor(DenseFactor::Kind::cholesky),
                           DenseFactor(DenseFactor::Kind::lu)};  ///< of the local matrix
  // Of the sparse forms: local, augmented, and either if T is not symmetric.
  std::optional<LentFactor<SpdFactor>> cholesky_;
  std::optional<LentFactor<SparseLdlt>> ldlt_;
  std::optional<LentFactor<SparseLu>> lu_;
  Vector scale_;              ///< of rows and columns for full pivoting
  Vector weight1_, weight2_;  ///< 1/√H_jj, 1/√(tr W_ii/d)
  Vector rho1_, rho2_, part_, work1_, work2_, ddx_, ddl_, kept_dx_, kept_dl_, remainder1_,
      remainder2_, full_, solved_;
};

}  // namespace urto
