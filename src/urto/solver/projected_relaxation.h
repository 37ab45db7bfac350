// One projected relaxation of one block, from the newest velocities: the step that SOR, symmetric
// SOR and coloured SOR repeat in different orders (recipe 000 §2.8). With exact friction De Saxcé's
// term is taken at the block's current velocity.
#pragma once

#include <array>

#include "urto/solver/method.h"
#include "urto/solver/row_access.h"

namespace urto {

class ProjectedRelaxation {
 public:
  explicit ProjectedRelaxation(Run& run)
      : K_(run.W.K()),
        step_(run.W),
        rows_(run.W, run.lambda),
        exact_(run.options.friction == Friction::exact),
        omega_(run.options.relaxation),
        sharpness_(run.options.sharpness) {}

  /// Safe at the same time for blocks that share no body (no entry of W).
  void relax(int i, Vector& all) {
    const ConvexSet& set = K_.sets[i];
    std::array<double, max_block> u{};
    std::array<double, max_block> change{};
    double* lambda = all.data() + K_.start[i];
    rows_.velocity(i, all, u.data());
    if (exact_) u[0] += de_saxce(set, u.data());
    step_.descend(i, omega_, lambda, u.data(), change.data());
    project(set, change.data(), change.data());
    for (int k = 0; k < set.dim; ++k) {
      change[k] = sharpness_ * (change[k] - lambda[k]);
      lambda[k] += change[k];
    }
    rows_.changed(i, change.data());
  }

  void velocities(const Vector& lambda, Vector& u) { rows_.velocities(lambda, u); }

 private:
  const SetProduct& K_;
  BlockStep step_;
  RowAccess rows_;
  bool exact_;
  double omega_, sharpness_;
};

}  // namespace urto
