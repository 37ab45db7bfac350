// What methods that work block by block keep of u = W λ + q: for each row block its own block of
// W = J H⁻¹ Jᵀ + E with its inverse, J H⁻¹, q and the step ρ of the scaled natural map. Arrays by
// row block of one problem, filled block by block, so that islands can be filled apart and at the
// same time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "urto/linalg/block_matrix.h"
#include "urto/problem/step_problem.h"

namespace urto {

class RowBlocks {
 public:
  std::vector<double> JHinv = {};          ///< in the layout of J.values; factored W only
  std::vector<int> start = {};             ///< of W_ii in `diagonal`
  std::vector<double> diagonal = {};       ///< W_ii, column-major
  std::vector<double> mean_diagonal = {};  ///< tr(W_ii)/d, 1 if zero
  std::vector<double> scale = {};          ///< ρ_i
  Vector q;

  void resize(const BlockRows& J, const SetProduct& K);
  Eigen::Map<const Matrix> block(const SetProduct& K, int i) const {
    return {diagonal.data() + start[i], K.sets[i].dim, K.sets[i].dim};
  }

  /// W_ii⁻¹, column-major, or the pseudo-inverse: what no body can follow is left alone. Found when
  /// it is first asked for, which most contacts of a pile never are; different blocks may be asked
  /// for at the same time.
  const double* inverse(const ConvexSet& set, int i) const {
    if (inverted_[i] == 0) invert(set, i);
    return inverse_.data() + start[i];
  }

  /// W_ii = E_ii and q_i = b_i, for what follows to be added to. E is its symmetric part.
  void begin(const StepProblem& p, const SparseMatrix& E, int i);
  /// + J_i H⁻¹ J_iᵀ and J_i H⁻¹ a, with H block-diagonal and given by its inverse.
  void add_factored(const StepProblem& p, const BlockMatrix& inverse_mass,
                    std::span<const int> node_of_dof, int i);
  /// From W_ii: its mean diagonal, and ρ_i = d/trace, where `trace` is that of W_ii unless given.
  void finish(const ConvexSet& set, int i, double trace = -1);

 private:
  void invert(const ConvexSet& set, int i) const;

  mutable std::vector<double> inverse_ = {};
  mutable std::vector<std::uint8_t> inverted_ = {};  ///< per row block
};

/// tr(J_i diag(H)⁻¹ J_iᵀ + E_ii): the certificate's ρ_i lets the diagonal of H stand for H where H
/// is not block-diagonal. `E` is the problem's.
double trace_with_diagonal_mass(const StepProblem& p, int i, const Vector& mass_diagonal);

}  // namespace urto
