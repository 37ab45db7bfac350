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
  void begin(Run& run) {
    rows_.set(run.W, x_, run.lambda);
    rows_.refresh();
    exact_ = run.options.friction == Friction::exact;
    omega_ = run.options.relaxation;
    sharpness_ = run.options.sharpness;
  }

  /// Safe at the same time for blocks that share no body (no entry of W).
  void relax(int i) {
    const SetProduct& K = rows_.view().problem->K;
    const ConvexSet& set = K.sets[i];
    std::array<double, max_block> u{};
    std::array<double, max_block> change{};
    double* lambda = rows_.lambda().data() + K.start[i];
    rows_.velocity(i, u.data());
    if (exact_) u[0] += de_saxce(set, u.data());
    descend(*rows_.view().rows, set, i, omega_, lambda, u.data(), change.data());
    project(set, change.data(), change.data());
    for (int k = 0; k < set.dim; ++k) {
      change[k] = sharpness_ * (change[k] - lambda[k]);
      lambda[k] += change[k];
    }
    rows_.changed(i, change.data());
  }

  void velocities(Vector& u) { rows_.velocities(u); }

 private:
  RowAccess rows_;
  Vector x_;
  bool exact_ = true;
  double omega_ = 1, sharpness_ = 1;
};

}  // namespace urto
