// Solves (W + R) y = g with R = r_i I on block i, r_i > 0: the linear system of ADMM. With mass
// matrices the condensed form H + Jᵀ(R + E)⁻¹J is factorised, so W is never formed; a local
// problem, or one with a general compliance, factorises W + R.
#pragma once

#include <optional>
#include <vector>

#include "urto/solver/condensed_matrix.h"
#include "urto/solver/delassus.h"

namespace urto {

/// Whether E = e_i I on every block; e is then the compliance of each (zero without compliance).
bool isotropic_compliance(const Delassus& W, Vector& e);

class ShiftedDelassus {
 public:
  /// W is used until `release`; storage is kept.
  void set(Delassus& W);
  /// Gives factors back to W's store: after that only `set` may be called.
  void release();
  [[nodiscard]] bool factorize(const Vector& shift_of_block);
  void solve(const Vector& g, Vector& y);

 private:
  void set_explicit();

  Delassus* W_ = nullptr;
  bool is_condensed_ = false;  ///< else W itself
  Vector compliance_;          ///< per block; condensed only, else zero
  CondensedMatrix condensed_;
  std::vector<double> D_ = {};
  Vector inverse_shift_, work_, z_, rhs_;
  SparseBuilder builder_;
  SparseMatrix matrix_;
  std::vector<double> diagonal_values_ = {};
  std::vector<int> diagonal_position_ = {};
  std::optional<LentFactor<SpdFactor>> factor_;
};

}  // namespace urto
