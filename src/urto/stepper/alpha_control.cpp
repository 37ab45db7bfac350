#include "urto/stepper/alpha_control.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "urto/math/stored_vector.h"
#include "urto/stepper/alpha_helpers.h"

namespace urto {
namespace {

constexpr std::string_view control_array = "alpha_control";
constexpr std::string_view last_array = "alpha_last_acceleration";
constexpr int most_crossings = 3;  ///< steps that look for an impact where it should have been

/// A step over an impact errs by so much for each unit of u h.
double impact_factor(double restitution) {
  return (1 + restitution) * std::max(1.0, 2 * restitution);
}

/// Where the gap of a contact that is open at the start, or parts, closes within the step: the
/// first zero of the cubic through gaps and rates at both ends. Negative: it does not.
double closing_time(double gap, double rate, double end_gap, double end_rate, double h) {
  const double a = 2 * (gap - end_gap) + h * (rate + end_rate);
  const double b = 3 * (end_gap - gap) - h * (2 * rate + end_rate);
  const double c = h * rate, d = std::max(gap, 0.0);
  const auto value = [&](double x) { return ((a * x + b) * x + c) * x + d; };
  // The first sign change of a cubic on a fine grid, then bisected. A hop begins at zero.
  constexpr int cells = 64;
  double from = 0;
  for (int k = 1; k <= cells; ++k) {
    const double to = static_cast<double>(k) / cells;
    if (value(to) > 0) {
      from = to;
      continue;
    }
    double low = from, high = to;
    if (from == 0 && gap <= alpha_rows::closed_gap) {
      // It comes back within the first cell: from the parabola.
      if (!(rate > 0)) return 0;
      low = 0.25 * to;
      if (value(low) <= 0) return low * h;
    }
    for (int i = 0; i < 60; ++i) {
      const double middle = 0.5 * (low + high);
      (value(middle) > 0 ? low : high) = middle;
    }
    return high * h;
  }
  return -1;
}

/// … and how fast it closes there.
double closing_speed(double gap, double rate, double end_gap, double end_rate, double h,
                     double time) {
  const double a = 2 * (gap - end_gap) + h * (rate + end_rate);
  const double b = 3 * (end_gap - gap) - h * (2 * rate + end_rate);
  const double x = time / h;
  return std::abs((3 * a * x + 2 * b) * x / h + rate);
}

}  // namespace

struct AlphaControl::Memory {
  double next = 0;      ///< h of the next attempt
  double smooth = 0;    ///< h before the approach to an impact
  double crossing = 0;  ///< steps that may still be taken to meet an impact, with …
  double over = 0;      ///< … this length
  double fresh = 1;     ///< the last step was an event: there is no acceleration before it

  static Memory recall(const StepMemory& memory, double first) {
    const std::vector<double>* m = memory.arrays.find(control_array);
    if (m == nullptr || m->size() != 5) return {first, first, 0, 0, 1};
    return {(*m)[0], (*m)[1], (*m)[2], (*m)[3], (*m)[4]};
  }
  void remember(StepMemory& memory) const {
    memory.arrays.at(control_array) = {next, smooth, crossing, over, fresh};
  }
};

AlphaControl::AlphaControl(const System& system, const SimulationOptions& options)
    : system_(system),
      options_(options),
      carries_(options.stepper.carried_contacts != CarriedContacts::none),
      inner_(system, options) {}

// The first impact that asks for a shorter step than h, and the error of those that do not.
AlphaControl::Impact AlphaControl::find_impacts(double h) {
  Impact out;
  inner_.contact_paths(paths_);
  for (const NonsmoothAlphaStepper::ContactPath& path : paths_) {
    const bool open = path.gap > alpha_rows::closed_gap, parts = path.rate > 0;
    if (!open && !parts) continue;  // it lasts
    const double time = closing_time(path.gap, path.rate, path.free_gap, path.free_rate, h);
    if (time < 0) continue;
    // A hop that is lower than the tolerance may end here.
    if (!open && 0.25 * path.rate * time <= options_.error_tolerance) continue;
    const double speed = closing_speed(path.gap, path.rate, path.free_gap, path.free_rate, h, time);
    const double factor = impact_factor(path.restitution);
    const double allowed =
        speed > 0 ? std::max(options_.min_step, options_.error_tolerance / (factor * speed)) : h;
    out.error = std::max(out.error, factor * speed * h);
    if (h <= 1.001 * allowed || (out.met && time >= out.time)) continue;
    out.met = true;
    out.time = time;
    out.step = allowed;
  }
  return out;
}

// e − M⁻¹Jᵀ(J M⁻¹Jᵀ)⁻¹J e, by [M Jᵀ; J 0].
void AlphaControl::project(Vector& e) {
  const int n = system_.nv();
  rhs_.setZero(projection_.size());
  solution_.resize(n);
  multiply(mass_, e, solution_);
  rhs_.head(n) = solution_;
  projection_.solve(rhs_, solution_);
  if (solution_.allFinite()) e = solution_.head(n);
}

void AlphaControl::add_contact_errors(double h, const StepMemory& memory) {
  const Interactions& rows = inner_.rows();
  const Interactions& start = inner_.rows_at_start();
  const std::vector<int>& from = inner_.detected_blocks();
  Vector before = Vector::Zero(rows.rows());
  recall(memory, rows, h, before);
  Vector turned = Vector::Zero(system_.nv()), changed = turned;
  for (int i = 0; i < rows.blocks(); ++i) {
    const Law& law = rows.laws[i];
    if (law.kind == LawKind::equality) continue;
    std::array<double, max_block> minus{}, change{}, impulse{};
    const int first = rows.J.row_start[i];
    const bool known = memory.find(rows.ids[i], law.dim) != nullptr;
    for (int r = 0; r < law.dim; ++r) {
      // What is carried acts where the smooth motion is, and its own change is what is beyond it.
      impulse[r] = inner_.impulses()[first + r] - inner_.carried_impulses()[first + r];
      minus[r] = -impulse[r];
      if (known) change[r] = carries_ ? impulse[r] : impulse[r] - before[first + r];
    }
    transpose_multiply_add_block(rows.J, i, impulse.data(), turned.data());
    transpose_multiply_add_block(start.J, from[i], minus.data(), turned.data());
    transpose_multiply_add_block(rows.J, i, change.data(), changed.data());
  }
  if (!mass_factor_.factorize(mass_)) return;
  mass_factor_.solve(turned);
  mass_factor_.solve(changed);
  e_v_ += 0.5 * turned;
  e_q_ += h / 12 * changed;
}

double AlphaControl::smooth_error(double h, const Memory& control, const StepMemory& memory) {
  const AlphaStep& s = inner_.last_step();
  const int n = system_.nv();
  const Vector &a = s.a_hat_start, &b = s.a_hat;
  e_q_ = h * s.start.v + h * h * (a / 3 + b / 6) - s.free_increment;
  const Layout& layout = system_.layout();
  for (int k = 0; k < layout.nodes(); ++k) {
    if (layout.kinds[k] != NodeKind::pose) continue;
    const int at = layout.v_start[k] + 3;
    e_q_.segment<3>(at) += h * h * h / 12 * s.start.v.segment<3>(at).cross(a.segment<3>(at));
  }
  const std::vector<double>* last = memory.arrays.find(last_array);
  if (control.fresh != 0 || last == nullptr || static_cast<int>(last->size()) != n ||
      !(memory.h > 0)) {
    e_v_ = s.start.v + 0.5 * h * (a + b) - s.free.v;
  } else {
    const Eigen::Map<const Vector> before = as_vector(*last);
    const double r = h / memory.h;
    e_v_ =
        s.start.v +
        h * ((2 * r + 3) / (6 * (r + 1)) * b + (r + 3) / 6 * a - r * r / (6 * (r + 1)) * before) -
        s.free.v;
  }
  system_.mass(s.end, mass_);
  add_contact_errors(h, memory);
  const Interactions& rows = inner_.rows();
  held_blocks_.clear();
  for (int i = 0; i < rows.blocks(); ++i) {
    const Law& law = rows.laws[i];
    const bool closed = (law.kind == LawKind::unilateral || law.kind == LawKind::coulomb) &&
                        !is_soft(law) && inner_.impulses()[rows.J.row_start[i]] > 0;
    if ((law.kind == LawKind::equality && !is_soft(law)) || closed) held_blocks_.push_back(i);
  }
  select_blocks(rows, held_blocks_, held_);
  rules_.clear();
  for (int i = 0; i < held_.blocks(); ++i) rules_.push_back({});
  // Only the normals of contacts: along them nothing moves, across them friction may let it.
  for (int i = 0; i < held_.blocks(); ++i) {
    if (held_.laws[i].dim == 1 || held_.laws[i].kind == LawKind::equality) continue;
    for (int e = held_.J.entry_start[i]; e < held_.J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = held_.J.entries[e];
      std::fill_n(held_.J.values.begin() + entry.offset + entry.width,
                  entry.width * (held_.laws[i].dim - 1), 0.0);
    }
  }
  projection_.start(n, n + held_.rows());
  projection_.add(mass_);
  projection_.add_rows(held_.J, held_.J, rules_);
  // Rows without entries: a unit keeps the matrix regular.
  for (int i = 0; i < held_.blocks(); ++i) {
    if (held_.laws[i].kind == LawKind::equality) continue;
    for (int r = 1; r < held_.laws[i].dim; ++r) {
      const int at = n + held_.J.row_start[i] + r;
      projection_.add(at, at, 1);
    }
  }
  if (held_.rows() > 0 && projection_.factorize()) {
    project(e_q_);
    project(e_v_);
  }
  return alpha_rows::largest(e_q_) + h * alpha_rows::largest(e_v_);
}

StepOutcome AlphaControl::step(State& state, double most, StepMemory& memory, StepReport& report) {
  Memory control = Memory::recall(memory, options_.step);
  const double start = state.t;
  const double tolerance = options_.error_tolerance;
  for (int rejected = 0;; ++rejected) {
    double h = std::clamp(control.next, options_.min_step, options_.max_step);
    const bool last = h >= most * (1 - 1e-9);
    if (last) {
      h = most;
    } else if (most < 2 * h && control.crossing == 0) {
      h = 0.5 * most;  // no crumb at the end
    }
    trial_ = state;
    trial_memory_ = memory;
    const StepOutcome outcome = inner_.step(trial_, h, trial_memory_, report);
    if (outcome.failed() || report.cuts > 0) {
      // A step that had to be cut is none whose estimates are known.
      if (h > 2 * options_.min_step) {
        control.next = 0.5 * h;
        continue;
      }
      if (outcome.failed()) return outcome;
    }
    const Impact impact = find_impacts(h);
    if (impact.met && h > 1.001 * options_.min_step) {
      if (control.crossing == 0) control.smooth = std::max(control.smooth, h);
      control.over = impact.step;
      const bool far = impact.time > 1.5 * impact.step;
      control.next = far ? impact.time - 0.5 * impact.step : impact.step;
      control.crossing = most_crossings + (far ? 1 : 0);
      continue;
    }
    const bool event = inner_.was_event();
    double error = impact.error, factor = 1;
    if (!event) {
      error = smooth_error(h, control, memory);
      const double ratio = error > 0 ? tolerance / error : 1e9;
      factor = std::clamp(0.9 * std::cbrt(ratio), 0.2, 2.0);
      if (!(error <= tolerance) && h > 1.001 * options_.min_step) {
        if (!std::isfinite(error)) factor = 0.2;
        control.next = h * std::min(factor, 0.9);
        control.crossing = 0;
        continue;
      }
    }
    // The next step: over an impact, as before its approach, or as the estimate allows.
    if (event) {
      if (control.crossing > 0 || control.over > 0) {
        control.next = control.smooth;
      }
      control.crossing = control.over = 0;
    } else if (control.crossing > 0) {
      --control.crossing;
      control.next = control.crossing > 0 ? control.over : control.smooth;
      if (control.crossing == 0) control.over = 0;
    } else {
      const double wanted = factor >= 1 && factor <= 1.2 ? h : h * factor;
      control.next = last ? std::max(control.next, wanted) : wanted;
      control.smooth = control.next;
    }
    control.fresh = event ? 1 : 0;
    report.rejected = rejected;
    report.local_error = error;
    const AlphaStep& s = inner_.last_step();
    std::swap(state, trial_);
    std::swap(memory, trial_memory_);
    control.remember(memory);
    store(s.a_hat_start, memory.arrays.at(last_array));
    StepOutcome done{.t = start + h};
    if (last) done.t = state.t = start + most;
    return done;
  }
}

}  // namespace urto
