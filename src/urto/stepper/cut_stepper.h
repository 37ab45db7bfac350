// Steppers whose step an iteration finds, if it does: where it fails the step is taken in two
// halves, and those likewise, until it succeeds.
#pragma once

#include <string>

#include "urto/stepper/stepper.h"

namespace urto {

class CutStepper : public Stepper {
 public:
  StepOutcome step(State& state, double h, StepMemory& memory, StepReport& report) final;

 protected:
  /// Takes one step; else says why not, and leaves of state, memory and report what it likes.
  /// `smallest`: no half of this step will be tried, so that what is poor is better than nothing.
  virtual std::string attempt(State& state, double h, StepMemory& memory, StepReport& report,
                              bool smallest) = 0;

 private:
  bool take(State& state, double h, StepMemory& memory, StepReport& report, int cuts,
            std::string& trouble);

  State trial_;
  StepMemory trial_memory_;
};

}  // namespace urto
