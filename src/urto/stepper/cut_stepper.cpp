#include "urto/stepper/cut_stepper.h"

#include <fmt/format.h>

namespace urto {
namespace {

constexpr int most_cuts = 8;  ///< one within the other: to a step of 1/256

}  // namespace

bool CutStepper::take(State& state, double h, StepMemory& memory, StepReport& report, int cuts,
                      std::string& trouble) {
  trial_ = state;
  trial_memory_ = memory;
  const StepTimings spent = report.timings;
  report = {};
  report.t = state.t;
  report.timings = spent;
  trouble = attempt(trial_, h, trial_memory_, report, cuts == most_cuts);
  if (trouble.empty() && !(trial_.q.allFinite() && trial_.v.allFinite()))
    trouble = "the state is not a number";
  if (trouble.empty()) {
    std::swap(state, trial_);
    std::swap(memory, trial_memory_);
    return true;
  }
  if (cuts == most_cuts) return false;
  const State before = state;
  const StepMemory memory_before = memory;
  StepReport first;
  first.timings = report.timings;
  std::string why;
  if (take(state, 0.5 * h, memory, first, cuts + 1, why)) {
    report.timings = {};
    if (take(state, 0.5 * h, memory, report, cuts + 1, why)) {
      state.t = before.t + h;
      report = joined(first, report);
      ++report.cuts;
      report.solve.message = fmt::format("cut {} times: {}", report.cuts, trouble);
      return true;
    }
  }
  state = before;
  memory = memory_before;
  trouble = why;
  return false;
}

StepOutcome CutStepper::step(State& state, double h, StepMemory& memory, StepReport& report) {
  const double start = state.t;
  report.timings = {};
  std::string trouble;
  if (take(state, h, memory, report, 0, trouble)) return {.t = state.t};
  return {StepStatus::failed,
          start,
          {},
          fmt::format("{}, even in a {}th of the step", trouble, 1 << most_cuts)};
}

}  // namespace urto
