// The convex problem in scaled multipliers λ = S λ̃ with one number S_i = 1/√(tr(W_ii)/d) a block:
// the diagonal preconditioner of gradient methods (recipe 000 §2.8: "the mean over each contact
// block so that the Euclidean cone projection stays valid"), written as a change of variables. In
// these variables every diagonal block of S W S has mean diagonal one. Boxes scale with S; cones
// and rays do not change.
#pragma once

#include <cmath>

#include "urto/solver/delassus.h"

namespace urto {

class ScaledOperator {
 public:
  /// W is used until the next `set`; storage is kept. Without `precondition` S = 1.
  void set(Delassus& W, bool precondition) {
    W_ = &W;
    S_.resize(W.rows());
    work_.resize(W.rows());
    K_ = W.K();
    for (int i = 0; i < W.blocks(); ++i) {
      const double s = precondition ? 1 / std::sqrt(W.mean_diagonal(i)) : 1;
      S_.segment(K_.start[i], K_.sets[i].dim).setConstant(s);
      K_.sets[i].lo /= s;
      K_.sets[i].hi /= s;
    }
  }

  const SetProduct& K() const { return K_; }
  const Vector& S() const { return S_; }

  /// out = S W S λ̃
  void apply(const Vector& scaled, Vector& out) {
    work_.array() = S_.array() * scaled.array();
    W_->apply(work_, out);
    out.array() *= S_.array();
  }

 private:
  Delassus* W_ = nullptr;
  Vector S_, work_;
  SetProduct K_;
};

}  // namespace urto
