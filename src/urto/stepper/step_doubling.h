// Step doubling around any stepper: one step of h and two of h/2. Both ways are of the same order,
// so that their difference estimates the local error of the fine one, and (smooth steps of steppers
// that allow it) removes it.
//
// A step in which the two ways disagree about which contacts act has an error of first order in h:
// it is accepted by the same tolerance, but does not tell how large the next step may be, which
// returns to what it was before the event.
#pragma once

#include "urto/stepper/energy_audit.h"

namespace urto {

class StepDoubling final : public Stepper {
 public:
  /// `order` is the inner stepper's; both must outlive this one.
  StepDoubling(const System& system, Stepper& inner, const SimulationOptions& options, int order);

  /// One accepted step of a length of its own choice, `most` at the utmost.
  StepOutcome step(State& state, double most, StepMemory& memory, StepReport& report) override;
  const Interactions& rows() const override { return inner_.rows(); }
  const Vector& impulses() const override { return inner_.impulses(); }
  const StepProblem* problem() const override { return inner_.problem(); }
  RowSplit split() const override { return inner_.split(); }

 private:
  struct Control;  ///< what it remembers from step to step, in the memory's named arrays
  StepOutcome attempt(const State& state, double h, const StepMemory& memory, StepReport& report);
  double attempt_error(const StepReport& second_half) const;
  void extrapolate(StepReport& report);

  const System& system_;
  std::unique_ptr<SystemWorkspace> work_;
  Stepper& inner_;
  SimulationOptions options_;
  int order_;
  EnergyAuditor auditor_;
  State coarse_, fine_, before_;
  StepMemory coarse_memory_, fine_memory_;
  StepReport first_half_, coarse_report_;
};

}  // namespace urto
