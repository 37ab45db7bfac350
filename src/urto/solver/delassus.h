// The Delassus operator W = J H⁻¹ Jᵀ + E of a step problem and its free velocity q = J H⁻¹ a + b: what every projected method
// sees of the problem, whatever H is. Three ways to it:
//   factored   H and E block-diagonal: W is never formed; J_i and J_i H⁻¹ are kept (cost linear in the contacts)
//   general H  products through a sparse Cholesky factor of H
//   local      W given as E; also a problem whose H is not symmetric (files of finite-element codes with one-sided boundary
//              conditions), condensed through an LU factorisation
// Gauss–Seidel methods need rows of W; when W is not factored they use `matrix()`, assembled on first use.
//
// W is symmetrised: files carry asymmetries of 1e-3. What was taken away is available as `apply_skew`, which the exact-friction
// loop puts back, so that the certificate holds for the original.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "urto/linalg/block_matrix.h"
#include "urto/linalg/symbolic_store.h"
#include "urto/problem/step_problem.h"

namespace urto {

class Delassus {
 public:
  /// Throws InputError if H is not positive definite. `store`: where sparse factors come from, here and in all that works with this operator; null: made anew.
  explicit Delassus(const StepProblem& problem, SymbolicStore* store = nullptr);

  const StepProblem& problem() const { return problem_; }
  SymbolicStore* symbolic_store() const { return store_; }
  const SetProduct& K() const { return problem_.K; }
  int rows() const { return problem_.rows(); }
  int blocks() const { return problem_.blocks(); }

  const Vector& q() const { return q_; }
  void apply(const Vector& lambda, Vector& w);                     ///< w = W λ
  void apply_without_compliance(const Vector& lambda, Vector& w);  ///< w = J H⁻¹ Jᵀ λ
  void recover(const Vector& lambda, Vector& x);                   ///< x = H⁻¹ (a + Jᵀλ)
  bool is_symmetric() const { return skew_.nonZeros() == 0; }
  void apply_skew(const Vector& lambda, Vector& w) const;  ///< w = (E − Eᵀ)/2 λ

  Eigen::Map<const Matrix> diagonal(int block) const {
    const int d = problem_.K.sets[block].dim;
    return {diagonal_.data() + diagonal_start_[block], d, d};
  }
  double mean_diagonal(int block) const {
    return mean_diagonal_[block];
  }                                                        ///< tr(W_ii)/d, 1 if zero
  double scale(int block) const { return scale_[block]; }  ///< ρ_i of the scaled natural map

  bool is_factored() const { return factored_; }
  bool has_mass() const {
    return problem_.dofs() > 0 && !condensed_;
  }  ///< W = J H⁻¹ Jᵀ + E with H symmetric
  const BlockRows& jacobian() const { return problem_.J; }
  const BlockRows& jacobian_times_inverse_mass() const { return JHinv_; }  ///< factored only
  const SparseMatrix& compliance() const { return E_; }                    ///< symmetrised E
  const BlockRows& matrix();  ///< W itself, block-sparse

 private:
  void solve_mass(const Vector& rhs, Vector& x) const;
  void condense();
  void compute_diagonal();
  double trace_with_diagonal_mass(int block, const Vector& mass_diagonal) const;
  void assemble_from_bodies();
  void assemble_from_solves();

  const StepProblem& problem_;
  SymbolicStore* store_;
  SparseMatrix E_, skew_;
  bool factored_ = false;
  bool condensed_ = false;
  std::shared_ptr<const Matrix> inverse_times_;  ///< condensed: H⁻¹ [Jᵀ a], dense
  BlockMatrix inverse_mass_;
  std::optional<LentFactor<SpdFactor>> mass_factor_;
  BlockRows JHinv_;
  BlockRows W_;
  bool assembled_ = false;
  Vector q_;
  std::vector<double> diagonal_;
  std::vector<int> diagonal_start_;
  std::vector<double> mean_diagonal_, scale_;
  Vector work_, work2_;
};

}  // namespace urto
