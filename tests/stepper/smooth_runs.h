// Running a smooth stepper on any System, without the loop of a Simulation.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "urto/stepper/smooth_stepper.h"

namespace urto::testing {

struct SmoothRun {
  State state;
  Vector lambda;  ///< at the end
  long iterations = 0, steps = 0, factorizations = 0, cuts = 0;
  double joint_error = 0;  ///< worst
};

inline SimulationOptions smooth_options(const std::string& name) {
  SimulationOptions o;
  o.stepper.name = name;
  o.stepper.newton_tolerance = 1e-11;
  return o;
}

/// `steps` equal steps to `end`; `look` sees every state and its multipliers.
inline SmoothRun run_smooth(const System& system, const State& start,
                            const SimulationOptions& options, double end, int steps,
                            const std::function<void(const State&, const Vector&)>& look = {}) {
  const std::unique_ptr<Stepper> stepper = make_stepper(system, options);
  SmoothRun run{.state = start, .lambda = {}};
  StepMemory memory;
  StepReport report;
  const double h = end / steps;
  for (int k = 0; k < steps; ++k) {
    const StepOutcome outcome = stepper->step(run.state, h, memory, report);
    if (outcome.failed()) throw std::runtime_error(outcome.message);
    run.state.t = (k + 1) * h;
    run.lambda = stepper->impulses() / h;
    run.iterations += report.newton_iterations;
    run.factorizations += report.factorizations;
    run.cuts += report.cuts;
    run.joint_error = std::max(run.joint_error, report.joint_error);
    ++run.steps;
    if (look) look(run.state, run.lambda);
  }
  return run;
}

/// log₂ of the ratio of two errors, the second at half the step.
inline double order(double coarse, double fine) {
  return std::log2(coarse / fine);
}

}  // namespace urto::testing
