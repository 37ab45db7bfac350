// Solves (W + R) y = g with R = r_i I on block i, r_i > 0: the linear system of ADMM. With mass
// matrices the condensed form H + Jᵀ(R + E)⁻¹J is factorised, so W is never formed; a local
// problem, or one with a general compliance, factorises W + R.
#pragma once

#include <memory>
#include <optional>

#include "urto/solver/condensed_matrix.h"
#include "urto/solver/delassus.h"

namespace urto {

/// The compliance of each block if E = e_i I on every block (zero without compliance), else
/// nothing.
std::optional<Vector> isotropic_compliance(const Delassus& W);

/// The lower triangle of W.
SparseMatrix lower_triangle(const BlockRows& W);

class ShiftedDelassus {
 public:
  explicit ShiftedDelassus(Delassus& W);
  bool factorize(const Vector& shift_of_block);
  void solve(const Vector& g, Vector& y);

 private:
  Delassus& W_;
  std::optional<Vector> compliance_;
  std::unique_ptr<CondensedMatrix> condensed_;  ///< null: the explicit path
  std::vector<double> D_;
  Vector inverse_shift_, work_, z_;
  SparseMatrix matrix_;
  std::vector<double> diagonal_values_;
  std::vector<int> diagonal_position_;
  std::optional<LentFactor<SpdFactor>> factor_;
};

}  // namespace urto
