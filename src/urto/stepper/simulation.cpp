#include "urto/stepper/simulation.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/model/shape_geometry.h"

namespace urto {
namespace {

void add(StepTimings& sum, const StepTimings& t) {
  sum.rows += t.rows;
  sum.assemble += t.assemble;
  sum.solve += t.solve;
  sum.certify += t.certify;
  sum.advance += t.advance;
}

void add(EnergyFlow& sum, const EnergyFlow& e) {
  sum.supplied += e.supplied;
  sum.friction += e.friction;
  sum.impact += e.impact;
  sum.damping += e.damping;
  sum.recovery += e.recovery;
}

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

// Two half steps as one step: sums, and the worse of two.
StepReport joined(const StepReport& a, const StepReport& b) {
  StepReport r = b;
  r.t = a.t;
  r.h = a.h + b.h;
  if (!(a.certificate.residual() <= b.certificate.residual())) r.certificate = a.certificate;
  if (a.solve.status != Status::converged) r.solve = a.solve;
  r.meets_tolerance = a.meets_tolerance && b.meets_tolerance;
  r.joint_error = std::max(a.joint_error, b.joint_error);
  r.penetration = std::max(a.penetration, b.penetration);
  r.early_rebound = std::max(a.early_rebound, b.early_rebound);
  r.contact_energy_before = a.contact_energy_before;
  r.newton_iterations += a.newton_iterations;
  r.factorizations += a.factorizations;
  r.cuts += a.cuts;
  add(r.energy, a.energy);
  add(r.timings, a.timings);
  return r;
}

// With the travel of a step counted besides, the envelope only has to hold what acceleration adds.
SimulationOptions with_envelope(SimulationOptions options, const Model& model) {
  if (options.contact_envelope > 0) return options;
  double smallest = 0.2;  // without shapes there are limits still: 1 cm or 0.01 rad
  const std::vector<double> extents = smallest_extents(model);
  for (std::size_t k = 0; k < extents.size(); ++k) {
    if (model.shapes[k].collides) smallest = std::min(smallest, extents[k]);
  }
  options.contact_envelope = smallest / 20;
  return options;
}

}  // namespace

Simulation::Simulation(const Model& model, const SimulationOptions& options)
    : options_((validate(options), with_envelope(options, model))),
      system_(model),
      dvi_(system_, options_) {
  const StepperInfo& info = find_stepper(options.stepper.name);
  check_capabilities(info, model);
  order_ = info.order;
  if (options.stepper.penalty_contact && !info.contacts)
    penalty_ = std::make_unique<PenaltySystem>(system_, options.stepper.penalty);
  if (!info.contacts) smooth_ = make_smooth_stepper(mechanics(), options_);
  point_.state = initial_state(model);
  point_.next_step = point_.smooth_step = options.step;
}

const StartReport& Simulation::start() {
  start_report_ = consistent_start(system_, options_, point_.state);
  const Energies e = mechanics().energies(point_.state);
  point_.energy = {
      .kinetic = e.kinetic, .potential = e.potential, .start = e.kinetic + e.potential};
  run_state_ = RunState::running;
  return start_report_;
}

void Simulation::resume(const Checkpoint& checkpoint) {
  point_ = checkpoint;
  run_state_ = RunState::running;
}

bool Simulation::fail(std::string why) {
  run_state_ = RunState::failed;
  failure_ = fmt::format("t = {:.9g} s: {}", point_.state.t, why);
  return false;
}

bool Simulation::advance() {
  if (run_state_ != RunState::running) return false;
  // Half a millionth of a step is rounding of t, not time left.
  if (point_.state.t >= options_.duration - 5e-7 * options_.step) {
    run_state_ = RunState::finished;
    return false;
  }
  if (!(options_.adaptive ? adaptive_step() : fixed_step())) return false;
  account(report_);
  if (!point_.state.q.allFinite() || !point_.state.v.allFinite())
    return fail("the state is not a number any more");
  if (options_.stop_on_failure && !report_.meets_tolerance) {
    return fail(fmt::format("the step missed its tolerance: residual {:.2e}, asked {:.2e}{}{}",
                            report_.certificate.residual(), options_.solver.tolerance,
                            report_.solve.message.empty() ? "" : "; ", report_.solve.message));
  }
  return true;
}

void Simulation::account(const StepReport& r) {
  const Energies e = mechanics().energies(point_.state);
  EnergyAudit& audit = point_.energy;
  audit.kinetic = e.kinetic;
  audit.potential = e.potential + r.contact_energy;
  // Where contacts begin under load is known when the first step has found them.
  if (point_.steps == 0) audit.start += r.contact_energy_before;
  audit.supplied += r.energy.supplied;
  audit.friction += r.energy.friction;
  audit.impact += r.energy.impact;
  audit.damping += r.energy.damping;
  audit.recovery += r.energy.recovery;
  ++point_.steps;
  point_.rejected += r.cuts;
  if (!r.meets_tolerance) ++point_.missed;
  if (!(r.certificate.residual() <= point_.worst_residual)) {
    point_.worst_residual = r.certificate.residual();
    point_.worst_residual_time = point_.state.t;
  }
  point_.worst_joint_error = std::max(point_.worst_joint_error, r.joint_error);
  point_.worst_penetration = std::max(point_.worst_penetration, r.penetration);
  add(total_, r.timings);
}

bool Simulation::fixed_step() {
  const double left = options_.duration - point_.state.t;
  const bool last = left < options_.step * (1 + 1e-6);
  // A crumb at the end would have to remove the joint error of a whole step, O(h²), within it: a blow. Two equal steps instead.
  const bool split = !last && left < options_.step * (2 - 1e-6);
  const double h = last ? left : split ? 0.5 * left : options_.step;
  try {
    stepper().step(point_.state, h, point_.memory, report_);
  } catch (const InputError& error) {
    return fail(error.what());
  }
  // Time by multiplication: a sum of a million steps would drift by its rounding.
  if (last) {
    point_.state.t = options_.duration;
  } else if (!split) {
    point_.state.t = static_cast<double>(point_.steps + 1) * options_.step;
  }
  return true;
}

// How far the two ways are apart. Where they agree because both rebound at once, the gap at which they did is the error.
double Simulation::attempt_error() {
  if (!fine_.q.allFinite() || !coarse_.q.allFinite())
    return std::numeric_limits<double>::infinity();
  // Of a method of order p the fine way is 2^p times better than the coarse one.
  const double apart = fine_.q.size() > 0
                           ? system_.difference(fine_.q, coarse_.q).cwiseAbs().maxCoeff() /
                                 (std::ldexp(1.0, order_) - 1)
                           : 0.0;
  return std::max({apart, first_half_.early_rebound, report_.early_rebound});
}

// Step doubling. Both ways are of the same order (dvi: the first), so that their difference estimates the local error of the fine one, and (smooth steps) removes it.
// A step in which the two ways disagree about which contacts act has an error of first order in h: it is accepted by the same
// tolerance, but does not tell how large the next step may be, which returns to what it was before the event.
bool Simulation::adaptive_step() {
  for (;;) {
    const double left = options_.duration - point_.state.t;
    double h = std::clamp(point_.next_step, options_.min_step, options_.max_step);
    const bool last = h >= left;
    if (last) {
      h = left;
    } else if (left < 2 * h) {
      h = 0.5 * left;  // no crumb at the end: see fixed_step
    }
    bool failed = false;
    try {
      coarse_ = point_.state;
      coarse_memory_ = point_.memory;
      stepper().step(coarse_, h, coarse_memory_, coarse_report_);
      fine_ = point_.state;
      fine_memory_ = point_.memory;
      stepper().step(fine_, 0.5 * h, fine_memory_, first_half_);
      // A step leaves a velocity along the joints of where it began. The next step removes that lag of O(h), but gyroscopic
      // and damping forces would see it before, an error of O(h²) in one of the two ways only, which no combination of them removes.
      if (options_.extrapolate && !smooth_) dvi_.project_velocities(fine_);
      stepper().step(fine_, 0.5 * h, fine_memory_, report_);
    } catch (const InputError& error) {
      if (h <= options_.min_step) return fail(error.what());
      failed = true;
    }
    const double error = failed ? std::numeric_limits<double>::infinity() : attempt_error();
    // A body that lands loads its contact in all three: what the step before left tells a landing from a contact that lasts.
    const bool smooth = !failed && first_half_.active_set == report_.active_set &&
                        report_.active_set == coarse_report_.active_set &&
                        same_load(point_.memory, fine_memory_);
    const bool accepted =
        error <= options_.error_tolerance || (h <= options_.min_step && std::isfinite(error));
    const double ratio = error > 0 ? options_.error_tolerance / error : 1e6;
    const double factor =
        std::clamp(0.9 * (smooth ? std::pow(ratio, 1.0 / (order_ + 1)) : ratio), 0.2, 2.0);
    if (!accepted) {
      if (h <= options_.min_step) return fail("no finite step possible at min_step");
      if (point_.smooth_step < h) point_.smooth_step = h;
      point_.next_step = h * std::min(factor, 0.5);
      ++point_.rejected;
      continue;
    }
    if (smooth) {
      point_.smooth_step = h * factor;
      point_.next_step = last ? std::max(point_.next_step, point_.smooth_step) : point_.smooth_step;
    } else {
      point_.next_step = std::max(h * factor, 0.25 * point_.smooth_step);
    }
    report_ = joined(first_half_, report_);
    if (smooth && options_.extrapolate && !smooth_) {
      const Vector more = system_.difference(fine_.q, coarse_.q);
      system_.add_increment(fine_.q, more, fine_.q);
      fine_.v += fine_.v - coarse_.v;
      // Two states on the joints have a combination beside them, by the square of their distance.
      if (options_.stepper.project_joints)
        dvi_.project_positions(fine_, options_.stepper.projection_tolerance, 5);
      system_.accept(fine_);
    }
    std::swap(point_.state, fine_);
    std::swap(point_.memory, fine_memory_);
    if (last) point_.state.t = options_.duration;
    return true;
  }
}

bool Simulation::frame_due() {
  if (options_.output_step <= 0) return true;
  const double t = point_.state.t;
  const double slack = 1e-9 * options_.output_step;
  if (t < point_.next_output - slack && t < options_.duration) return false;
  point_.next_output = options_.output_step * (std::floor((t + slack) / options_.output_step) + 1);
  return true;
}

}  // namespace urto
