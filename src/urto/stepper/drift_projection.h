// What the conditions of the trapezoidal rule, which are on mean velocities, leave over: positions
// off their joints and surfaces by O(h³) a step, velocities that would change their sign for ever
// (recipe 002 §2.10). Taken out after each step by the least change in the mass metric.
#pragma once

#include <span>

#include "urto/stepper/impulse_kernel.h"
#include "urto/stepper/row_projection.h"

namespace urto {

class DriftProjection {
 public:
  /// The kernel has the rows and impulses of the step.
  explicit DriftProjection(ImpulseKernel& kernel)
      : kernel_(kernel), positions_(kernel.system.system()), velocities_(kernel.system.system()) {}

  /// `all` within reach of the step, measured anew here; the kernel's rows are its blocks `held`,
  /// in ascending order. `h`: of the whole step, for the speed at which overlaps may be left.
  void apply(State& state, Interactions& all, std::span<const int> held, double h);

 private:
  bool is_pressed(int block) const;
  void move_positions(State& state, Interactions& all, double h);
  void move_velocities(State& state, Interactions& all);

  ImpulseKernel& kernel_;
  RowProjection positions_, velocities_;  ///< two, for each keeps the size of its problem
  std::span<const int> held_ = {};
  std::vector<RowProjection::Row> wanted_ = {};
  Vector increment_, rates_;
};

}  // namespace urto
