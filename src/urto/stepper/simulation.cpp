#include "urto/stepper/simulation.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/mechanics/penalty_system.h"
#include "urto/model/shape_geometry.h"

namespace urto {
namespace {

constexpr double frames_a_second = 60;
/// A run has so many frames that it can be looked at, and so few that looking is not dearer than
/// running.
constexpr double least_frames = 200, most_frames = 3000;
constexpr double most_numbers = 2e7;  ///< of all frames: 160 MB
constexpr double least_of_a_large_model = 60;

// With the travel of a step counted besides, the envelope only has to hold what acceleration adds.
double envelope_for(const Model& model) {
  double smallest = 0.2;  // without shapes there are limits still: 1 cm or 0.01 rad
  const std::vector<double> extents = smallest_extents(model);
  for (std::size_t k = 0; k < extents.size(); ++k) {
    if (model.shapes[k].collides) smallest = std::min(smallest, extents[k]);
  }
  return smallest / 20;
}

// Whole steps between frames, so that they are evenly apart.
double output_step_for(const SimulationOptions& options, double numbers_of_a_frame) {
  if (options.duration <= 0) return options.step;
  double frames = std::clamp(frames_a_second * options.duration, least_frames, most_frames);
  frames = std::min(frames, std::max(most_numbers / numbers_of_a_frame, least_of_a_large_model));
  const double apart = options.duration / frames;
  if (options.adaptive) return apart;
  return std::min(std::max(1.0, std::round(apart / options.step)) * options.step, options.duration);
}

double numbers_of_a_frame(const Model& model) {
  const auto count = [](const auto& items) { return static_cast<double>(items.size()); };
  return 1 + 13 * count(model.bodies) + 8 * count(model.joints) + count(model.motors) +
         count(model.limits);
}

// Who stands in the centre of a gravity; empty if nobody does.
std::string in_a_centre(const Model& model, const State& state) {
  for (const Force& force : model.forces) {
    const auto* gravity = std::get_if<CentralGravity>(&force);
    for (int slot = 0; gravity != nullptr && slot < model.slots; ++slot) {
      if (state.q.segment<3>(7 * slot) == gravity->centre) {
        return fmt::format("body '{}' in the centre of a central gravity",
                           model.bodies[model.slot_body[slot]].name);
      }
    }
  }
  return "";
}

}  // namespace

/// What a run of a model consists of.
struct Simulation::Parts {
  Parts(const Model& model, const SimulationOptions& options) : rigid(model) {
    const StepperInfo info = find_stepper(options.stepper.name);
    check_capabilities(info, model, options.stepper);
    if (options.stepper.penalty_contact && !info.contacts)
      penalty = std::make_unique<PenaltySystem>(rigid, options.stepper.penalty);
    stepper = make_stepper(mechanics(), options);
  }
  const System& mechanics() const { return penalty ? static_cast<const System&>(*penalty) : rigid; }

  RigidSystem rigid;
  std::unique_ptr<PenaltySystem> penalty = {};
  std::unique_ptr<Stepper> stepper = {};
};

SimulationOptions with_choices(SimulationOptions options, const Model& model) {
  if (options.contact_envelope <= 0) options.contact_envelope = envelope_for(model);
  if (options.output_step <= 0)
    options.output_step = output_step_for(options, numbers_of_a_frame(model));
  return options;
}

Simulation::~Simulation() = default;

Simulation::Simulation(const Model& model, const SimulationOptions& options)
    : options_((validate(options), with_choices(options, model))),
      parts_(std::make_unique<Parts>(model, options_)),
      mechanics_(parts_->mechanics()),
      stepper_(parts_->stepper.get()) {
  double_steps(find_stepper(options_.stepper.name).order);
  point_.state = initial_state(model);
}

Simulation::Simulation(const System& system, Stepper& stepper, State start,
                       const SimulationOptions& options)
    : options_((validate(options), options)), mechanics_(system), stepper_(&stepper) {
  if (options_.output_step <= 0)
    options_.output_step = output_step_for(options_, system.nq() + system.nv());
  double_steps(find_stepper(options_.stepper.name).order);
  point_.state = std::move(start);
}

void Simulation::double_steps(int order) {
  if (!options_.adaptive || stepper_->chooses_steps()) return;
  doubling_ = std::make_unique<StepDoubling>(mechanics_.system(), *stepper_, options_, order);
  stepper_ = doubling_.get();
}

const RigidSystem& Simulation::system() const {
  assert(parts_ != nullptr);
  return parts_->rigid;
}

const StartReport& Simulation::start() {
  const System& joints = parts_ ? static_cast<const System&>(parts_->rigid) : mechanics_.system();
  start_report_ = consistent_start(joints, options_, point_.state);
  const Energies e = mechanics_.energies(point_.state);
  if (!std::isfinite(e.kinetic + e.potential)) {
    const std::string where = parts_ ? in_a_centre(model(), point_.state) : "";
    throw InputError("the start",
                     where.empty() ? fmt::format("a kinetic energy of {} J and a potential one of "
                                                 "{} J",
                                                 e.kinetic, e.potential)
                                   : where,
                     "a finite energy");
  }
  point_.energy = {};
  point_.energy.kinetic = e.kinetic;
  point_.energy.potential = e.potential;
  point_.energy.start = e.kinetic + e.potential;
  run_state_ = RunState::running;
  return start_report_;
}

void Simulation::resume(const Checkpoint& checkpoint) {
  point_ = checkpoint;
  // Steps that ended at events, or a last one that was split, left the uniform grid.
  const double on_grid = static_cast<double>(point_.steps) * options_.step;
  on_grid_ = std::abs(point_.state.t - on_grid) <= 1e-9 * options_.step;
  run_state_ = RunState::running;
}

bool Simulation::fail(std::string why) {
  run_state_ = RunState::failed;
  failure_ = fmt::format("t = {:.9g} s: {}", point_.state.t, why);
  return false;
}

bool Simulation::advance() {
  return advance_to(options_.duration);
}

bool Simulation::advance_to(double stop) {
  if (run_state_ != RunState::running) return false;
  const double end = std::min(stop, options_.duration);
  // Half a millionth of a step is rounding of t, not time left.
  if (point_.state.t >= end - 5e-7 * options_.step) {
    if (end >= options_.duration) run_state_ = RunState::finished;
    return false;
  }
  if (!take_step(end)) return false;
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
  const Energies e = mechanics_.energies(point_.state);
  EnergyAudit& audit = point_.energy;
  const double unexplained = audit.unexplained();
  audit.kinetic = e.kinetic;
  audit.potential = e.potential + r.stored;
  // What springs in rows store at the start is known when the first step has found them.
  if (point_.steps == 0) audit.start += r.stored_before;
  audit += r.energy;
  // A stepper without an auditor: the balance is all that there is.
  if (!r.audited) audit.defect += audit.unexplained() - unexplained;
  ++point_.steps;
  point_.rejected += r.cuts + r.rejected;
  if (!r.meets_tolerance) ++point_.missed;
  if (!(r.certificate.residual() <= point_.worst_residual)) {
    point_.worst_residual = r.certificate.residual();
    point_.worst_residual_time = point_.state.t;
  }
  point_.worst_joint_error = std::max(point_.worst_joint_error, r.joint_error);
  point_.worst_penetration = std::max(point_.worst_penetration, r.penetration);
  total_ += r.timings;
}

bool Simulation::take_step(double end) {
  const double left = end - point_.state.t;
  const bool last = left < options_.step * (1 + 1e-6);
  // A crumb at the end would have to remove the joint error of a whole step, O(h²), within it: a
  // blow. Two equal steps instead.
  const bool split = !last && left < options_.step * (2 - 1e-6);
  const double fixed = last ? left : split ? 0.5 * left : options_.step;
  // Step doubling chooses its own steps, up to what is left.
  const double h = options_.adaptive ? left : fixed;
  const double goal = point_.state.t + h;
  const StepOutcome outcome = stepper_->step(point_.state, h, point_.memory, report_);
  if (outcome.failed()) return fail(outcome.message);
  const bool whole = outcome.t >= goal;
  // Time by multiplication: a sum of a million steps would drift by its rounding.
  if (whole && (options_.adaptive || last)) {
    point_.state.t = end;
  } else if (whole && !split && !options_.adaptive && on_grid_) {
    point_.state.t = static_cast<double>(point_.steps + 1) * options_.step;
  }
  const double grid = static_cast<double>(point_.steps + 1) * options_.step;
  on_grid_ = on_grid_ && whole && std::abs(point_.state.t - grid) <= 1e-9 * options_.step;
  return true;
}

bool Simulation::frame_due() {
  const double t = point_.state.t;
  const double slack = 1e-9 * options_.output_step;
  if (t < point_.next_output - slack && t < options_.duration) return false;
  point_.next_output = options_.output_step * (std::floor((t + slack) / options_.output_step) + 1);
  return true;
}

}  // namespace urto
