// The saddle point of a step problem with joints only, as the linear solvers see it (recipe 000
// (123), (202)–(204)):
//     [ H   Jᵀ ] { x }   {  a }
//     [ J  −E  ] {−λ } = { −b }
#pragma once

#include "urto/solver/method.h"

namespace urto {

class SaddleSystem {
 public:
  /// W is used until the next `set`; storage is kept.
  void set(const Delassus& W) {
    W_ = &W;
    n_ = W.has_mass() ? W.problem().dofs() : 0;
    m_ = W.rows();
  }

  int size() const { return n_ + m_; }
  int dofs() const { return n_; }

  /// out = A y with y = {x; −λ}
  void apply(const Vector& y, Vector& out);
  void right_hand_side(Vector& rhs) const;
  /// Splits y into run.x and run.lambda, measures, and says whether to stop: the momentum equation
  /// must hold as well.
  bool observe(int iteration, const Vector& y, Run& run);
  /// The matrix with −(E + shift_i) below, shift_i = `relative_shift` · tr(W_ii)/d; lower triangle.
  const SparseMatrix& lower_triangle(double relative_shift);

 private:
  const Delassus* W_ = nullptr;
  int n_ = 0, m_ = 0;
  SparseBuilder builder_;
  SparseMatrix part_, lower_;
  Vector x_, minus_lambda_, top_, bottom_, u_;
};

}  // namespace urto
