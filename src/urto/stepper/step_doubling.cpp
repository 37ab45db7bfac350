#include "urto/stepper/step_doubling.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace urto {
namespace {

constexpr std::string_view control_array = "step_doubling";

// Whether the same contacts and limits carried load in two steps, by the multipliers they left.
bool same_load(const StepMemory& a, const StepMemory& b) {
  const auto next_loaded = [](const StepMemory& m, std::size_t k) {
    for (; k < m.items.size(); ++k) {
      const std::uint64_t id = m.items[k].id;
      // Contacts have the top bit; see row_id for the rest.
      const bool one_sided =
          id >> 63U != 0 || id >> 40U == static_cast<std::uint64_t>(Origin::limit);
      if (one_sided && m.lambda[m.items[k].start] > 0) break;
    }
    return k;
  };
  std::size_t i = next_loaded(a, 0);
  std::size_t j = next_loaded(b, 0);
  while (i < a.items.size() && j < b.items.size()) {
    if (a.items[i].id != b.items[j].id) return false;
    i = next_loaded(a, i + 1);
    j = next_loaded(b, j + 1);
  }
  return i == a.items.size() && j == b.items.size();
}

}  // namespace

struct StepDoubling::Control {
  double next = 0;    ///< h of the next attempt
  double smooth = 0;  ///< h before the last event

  static Control recall(const StepMemory& memory, double first) {
    const std::vector<double>* stored = memory.arrays.find(control_array);
    return stored != nullptr && stored->size() == 2 ? Control{(*stored)[0], (*stored)[1]}
                                                    : Control{first, first};
  }
  void remember(StepMemory& memory) const { memory.arrays.at(control_array) = {next, smooth}; }
};

StepDoubling::StepDoubling(const System& system, Stepper& inner, const SimulationOptions& options,
                           int order)
    : system_(system),
      work_(system.make_workspace()),
      inner_(inner),
      options_(options),
      order_(order),
      auditor_(system) {}

// How far the two ways are apart. Where they agree because both rebound at once, the gap at which
// they did is the error.
double StepDoubling::attempt_error(const StepReport& second_half) const {
  if (!fine_.q.allFinite() || !coarse_.q.allFinite())
    return std::numeric_limits<double>::infinity();
  // Of a method of order p the fine way is 2^p times better than the coarse one.
  Vector apart;
  difference(system_.layout(), fine_.q, coarse_.q, apart);
  const double error =
      apart.size() > 0 ? apart.cwiseAbs().maxCoeff() / (std::ldexp(1.0, order_) - 1) : 0.0;
  return std::max({error, first_half_.early_rebound, second_half.early_rebound});
}

StepOutcome StepDoubling::attempt(const State& state, double h, const StepMemory& memory,
                                  StepReport& report) {
  coarse_ = state;
  coarse_memory_ = memory;
  StepOutcome outcome = inner_.step(coarse_, h, coarse_memory_, coarse_report_);
  if (outcome.failed()) return outcome;
  fine_ = state;
  fine_memory_ = memory;
  outcome = inner_.step(fine_, 0.5 * h, fine_memory_, first_half_);
  if (outcome.failed()) return outcome;
  if (options_.extrapolate && inner_.can_extrapolate()) {
    before_ = fine_;
    inner_.align_velocities(fine_);
    auditor_.displace(before_, fine_, fine_memory_, first_half_);
  }
  return inner_.step(fine_, 0.5 * h, fine_memory_, report);
}

void StepDoubling::extrapolate(StepReport& report) {
  before_ = fine_;
  Vector more;
  difference(system_.layout(), fine_.q, coarse_.q, more);
  add_increment(system_.layout(), fine_.q, more, fine_.q);
  fine_.v += fine_.v - coarse_.v;
  inner_.align_positions(fine_);
  system_.accept(fine_, *work_);
  auditor_.displace(before_, fine_, fine_memory_, report);
}

StepOutcome StepDoubling::step(State& state, double most, StepMemory& memory, StepReport& report) {
  Control control = Control::recall(memory, options_.step);
  const double start = state.t;
  for (int rejected = 0;; ++rejected) {
    double h = std::clamp(control.next, options_.min_step, options_.max_step);
    const bool last = h >= most;
    if (last) {
      h = most;
    } else if (most < 2 * h) {
      h = 0.5 * most;  // no crumb at the end, which would have to remove the joint error of a whole
                       // step within it
    }
    StepOutcome outcome = attempt(state, h, memory, report);
    const bool failed = outcome.failed();
    if (failed && h <= options_.min_step) return outcome;
    const double error = failed ? std::numeric_limits<double>::infinity() : attempt_error(report);
    // A body that lands loads its contact in all three: what the step before left tells a landing
    // from a contact that lasts.
    const bool smooth = !failed && first_half_.active_set == report.active_set &&
                        report.active_set == coarse_report_.active_set &&
                        same_load(memory, fine_memory_);
    const bool accepted =
        error <= options_.error_tolerance || (h <= options_.min_step && std::isfinite(error));
    const double ratio = error > 0 ? options_.error_tolerance / error : 1e6;
    const double factor =
        std::clamp(0.9 * (smooth ? std::pow(ratio, 1.0 / (order_ + 1)) : ratio), 0.2, 2.0);
    if (!accepted) {
      if (h <= options_.min_step)
        return {StepStatus::failed, start, {}, "no finite step possible at min_step"};
      control.smooth = std::max(control.smooth, h);
      control.next = h * std::min(factor, 0.5);
      continue;
    }
    if (smooth) {
      control.smooth = h * factor;
      control.next = last ? std::max(control.next, control.smooth) : control.smooth;
    } else {
      control.next = std::max(h * factor, 0.25 * control.smooth);
    }
    report = joined(first_half_, report);
    report.rejected = rejected;
    report.local_error = error;
    if (smooth && options_.extrapolate && inner_.can_extrapolate()) extrapolate(report);
    std::swap(state, fine_);
    std::swap(memory, fine_memory_);
    control.remember(memory);
    if (last) state.t = start + most;
    outcome.t = state.t;
    return outcome;
  }
}

}  // namespace urto
