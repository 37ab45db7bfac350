// Runs of the stepper trapezoidal-lcp by itself, step by step.
#pragma once

#include <vector>

#include <gtest/gtest.h>

#include "urto/stepper/trapezoidal_lcp.h"

namespace urto::testing {

inline SimulationOptions trapezoidal() {
  SimulationOptions o;
  o.stepper.name = "trapezoidal-lcp";
  o.solver.tolerance = 1e-10;
  return o;
}

inline State run(const System& system, State state, const SimulationOptions& o, int steps, double h,
                 std::vector<TrapezoidalLcpStepper::Impact>* impacts = nullptr) {
  TrapezoidalLcpStepper stepper(system, o);
  StepMemory memory;
  StepReport report;
  const double start = state.t;
  for (int k = 0; k < steps; ++k) {
    const StepOutcome outcome = stepper.step(state, h, memory, report);
    EXPECT_EQ(outcome.status, StepStatus::done) << outcome.message;
    EXPECT_TRUE(report.meets_tolerance)
        << report.certificate.residual() << " " << report.solve.message;
    state.t = start + (k + 1) * h;
    if (impacts != nullptr)
      impacts->insert(impacts->end(), stepper.impacts().begin(), stepper.impacts().end());
  }
  return state;
}

/// Energy of a state of any system.
inline double energy(const System& system, const State& state) {
  SystemAccess access(system);
  const Energies e = access.energies(state);
  return e.kinetic + e.potential;
}

}  // namespace urto::testing
