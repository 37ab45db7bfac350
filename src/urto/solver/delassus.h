// The Delassus operator W = J H⁻¹ Jᵀ + E of a step problem and its free velocity q = J H⁻¹ a + b:
// what every projected method sees of the problem, whatever H is. Three ways to it:
//   factored   H and E block-diagonal: W is never formed; J_i and J_i H⁻¹ are kept (cost linear in
//              the contacts)
//   general H  products through a sparse Cholesky factor of H
//   local      W given as E; also a problem whose H is not symmetric (files of finite-element codes
//              with one-sided boundary conditions), condensed through an LU factorisation
// Methods that go from block to block need rows of W; when W is not factored they use `matrix()`,
// assembled on first use. An operator can be set again: a factored one of the same sizes then
// allocates nothing.
//
// W is symmetrised: files carry asymmetries of 1e-3. What was taken away is available as
// `apply_skew`, which the exact-friction loop puts back, so that the certificate holds for the
// original.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "urto/linalg/block_matrix.h"
#include "urto/linalg/kept_lu.h"
#include "urto/linalg/sparse_builder.h"
#include "urto/linalg/symbolic_store.h"
#include "urto/problem/step_problem.h"
#include "urto/solver/row_blocks.h"

namespace urto {

class Delassus {
 public:
  Delassus() = default;
  explicit Delassus(const StepProblem& problem, SymbolicStore* store = nullptr) {
    set(problem, store);
  }
  /// The problem is read until the next `set`. `store`: where sparse factors come from, here and in
  /// all that works with this operator; null: made anew. False if H is singular or not positive
  /// definite: then `failure()` says what is wrong, and nothing else may be asked.
  bool set(const StepProblem& problem, SymbolicStore* store = nullptr);
  const std::string& failure() const { return failure_; }  ///< empty if there is none
  /// Gives factors back to the store, for others: after that only `set` may be called.
  void release() { mass_factor_.reset(); }

  const StepProblem& problem() const { return *problem_; }
  SymbolicStore* symbolic_store() const { return store_; }
  const SetProduct& K() const { return problem_->K; }
  int rows() const { return problem_->rows(); }
  int blocks() const { return problem_->blocks(); }

  const Vector& q() const { return rows_.q; }
  void apply(const Vector& lambda, Vector& w);                     ///< w = W λ
  void apply_without_compliance(const Vector& lambda, Vector& w);  ///< w = J H⁻¹ Jᵀ λ
  void recover(const Vector& lambda, Vector& x);                   ///< x = H⁻¹ (a + Jᵀλ)
  bool is_symmetric() const { return !skewed_; }
  void apply_skew(const Vector& lambda, Vector& w) const;  ///< w = (E − Eᵀ)/2 λ

  const RowBlocks& row_blocks() const { return rows_; }
  Eigen::Map<const Matrix> diagonal(int block) const { return rows_.block(K(), block); }
  double mean_diagonal(int block) const { return rows_.mean_diagonal[block]; }
  double scale(int block) const { return rows_.scale[block]; }  ///< ρ_i of the scaled natural map

  bool is_factored() const { return factored_; }
  bool has_mass() const {
    return problem_->dofs() > 0 && !condensed_;
  }  ///< W = J H⁻¹ Jᵀ + E with H symmetric
  const BlockRows& jacobian() const { return problem_->J; }
  const BlockMatrix& inverse_mass() const { return inverse_mass_; }     ///< empty if H is general
  const std::vector<int>& node_of_dof() const { return node_of_dof_; }  ///< likewise
  /// The diagonal of H, where it is not inverted block by block.
  const Vector& mass_diagonal() const { return mass_diagonal_; }
  const SparseMatrix& compliance() const { return skewed_ || condensed_ ? E_ : problem_->E; }
  const BlockRows& matrix();  ///< W itself, block-sparse; its symmetric part
  /// The same with the skew part, unless H is general: then without.
  const BlockRows& matrix_as_is();
  bool keeps_skew() const { return !has_mass() || inverse_mass_.blocks() > 0; }

 private:
  bool fail(std::string why);
  bool factorize_mass();
  bool invert_mass(const BlockMatrix& H);
  bool condense();
  void symmetrise();
  void solve_mass(const Vector& rhs, Vector& x) const;
  void compute_diagonal();
  void add_general_diagonal(int block);
  void list_touching_blocks();
  void find_neighbours(int block);
  void assemble_from_bodies();
  void assemble_from_solves();
  Eigen::Map<Matrix> transposed_rows(int block);

  const StepProblem* problem_ = nullptr;
  SymbolicStore* store_ = nullptr;
  std::string failure_ = {};
  SparseMatrix E_, skew_;  ///< where they are not the problem's, and zero
  bool skewed_ = false, factored_ = false, condensed_ = false, assembled_ = false;
  bool assembled_as_is_ = false;
  Matrix inverse_times_;         ///< condensed: H⁻¹ [Jᵀ a]
  KeptLu condensing_;            ///< analysed for the pattern of …
  SparseMatrix condensed_mass_;  ///< … this H
  BlockMatrix inverse_mass_;
  std::vector<int> node_of_dof_ = {};
  std::optional<LentFactor<SpdFactor>> mass_factor_;
  SparseMatrix mass_;  ///< where it is not inverted block by block
  Vector mass_diagonal_;
  SparseBuilder builder_;
  RowBlocks rows_;
  Vector work_, work2_;
  std::vector<double> right_ = {}, left_ = {}, column_ = {};  ///< dense columns of a row block

  // W itself: which entries of J touch each body, by its first column; and the blocks that share a
  // body with the one at hand.
  struct Touch {
    int block = 0, entry = 0;
  };
  BlockRows W_, as_is_;
  SparseMatrix J_;
  std::vector<int> touch_start_ = {}, next_ = {}, block_of_ = {}, slot_ = {}, neighbours_ = {};
  std::vector<Touch> touching_ = {};
};

}  // namespace urto
