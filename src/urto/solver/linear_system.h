// The saddle point of a step problem with joints only, as the linear solvers see it (recipe 000
// (123), (202)–(204)):
//     [ H   Jᵀ ] { x }   {  a }
//     [ J  −E  ] {−λ } = { −b }
#pragma once

#include "urto/solver/method.h"

namespace urto {

class SaddleSystem {
 public:
  explicit SaddleSystem(const Delassus& W)
      : W_(W), n_(W.has_mass() ? W.problem().dofs() : 0), m_(W.rows()) {}

  int size() const { return n_ + m_; }
  int dofs() const { return n_; }

  /// out = A y with y = {x; −λ}
  void apply(const Vector& y, Vector& out);
  Vector right_hand_side() const;
  /// Splits y into run.x and run.lambda, measures, and says whether to stop: the momentum equation
  /// must hold as well.
  bool observe(int iteration, const Vector& y, Run& run);
  /// The matrix with −(E + shift_i) below, shift_i = `relative_shift` · tr(W_ii)/d; lower triangle.
  SparseMatrix lower_triangle(double relative_shift) const;

 private:
  const Delassus& W_;
  int n_, m_;
  Vector x_, minus_lambda_, top_, bottom_, u_;
};

}  // namespace urto
