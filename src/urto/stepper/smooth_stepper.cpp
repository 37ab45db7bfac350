#include "urto/stepper/smooth_stepper.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/math/stored_vector.h"
#include "urto/stepper/one_sided.h"
#include "urto/stepper/stopwatch.h"

namespace urto {
namespace {

constexpr int most_cuts = 12;  ///< of one step: to a four-thousandth

/// A residual relative to the terms of an equation: above a hundredth, and orders above what was
/// asked for, it is not solved.
constexpr double unsolved = 1e-2, far_missed = 1e3;
/// Of its kinetic energy an implicit step makes up little. A half of it in one step, beyond twice
/// what was given (some schemes take that at one end of the step), is none of its errors.
constexpr double most_gain = 0.5;
constexpr double ulps = 64;  ///< of a position, over a step

constexpr std::string_view method_array = "acceleration";
constexpr std::string_view motion_array = "true_acceleration";

}  // namespace

SmoothStepper::SmoothStepper(const System& system, const SimulationOptions& options)
    : system_(system),
      options_(options.stepper),
      tolerance_(options.solver.tolerance),
      projection_(system),
      certifier_(system),
      auditor_(system) {}

bool SmoothStepper::accelerations(const State& state, Vector& a, Vector& lambda, bool stabilise) {
  return dynamics_.solve(system_, state, stabilise ? options_.baumgarte : 0, rows_, rate_, a,
                         lambda);
}

/// [W] at the state to which rows_ belong.
double SmoothStepper::supplied_power(const MotionPoint& p) {
  double power = system_.powers(p.state).supplied;
  for (int r = 0; r < rows_.rows(); ++r) power -= p.lambda[r] * rows_.g_t[r];
  return power;
}

// Contacts are sought at every accepted state, so that none is passed through unseen for longer
// than a step.
bool SmoothStepper::one_sided_trouble(const State& state, std::string& trouble) {
  const std::string acting = one_sided_at_work(system_, state, all_);
  if (acting.empty()) return false;
  trouble =
      found_expected(fmt::format("stepper '{}'", options_.name), acting,
                     "no contact, limit or dry friction at work: the stepper 'dvi' treats them");
  return true;
}

void SmoothStepper::start_audit(StepReport& report) {
  measure_rows(point_.state);
  trial_.lambda = point_.lambda;
  auditor_.start(point_.state, motion(0), report);
}

bool SmoothStepper::recall_point(const State& state, const StepMemory& memory, StepReport& report,
                                 std::string& trouble) {
  point_.state = state;
  point_.h = memory.h;
  const std::vector<double>* a = memory.arrays.find(method_array);
  const std::vector<double>* a_true = memory.arrays.find(motion_array);
  const auto n = static_cast<std::size_t>(system_.nv());
  if (memory.h > 0 && a != nullptr && a->size() == n && a_true != nullptr && a_true->size() == n) {
    point_.a = as_vector(*a);
    point_.a_true = as_vector(*a_true);
    point_.lambda = as_vector(memory.lambda) / memory.h;
    // A checkpoint may hold anything: reactions of other rows than there are begin anew.
    if (rows_.rows() != point_.lambda.size()) measure_rows(point_.state);
    if (rows_.rows() == point_.lambda.size()) {
      if (!auditor_.recall(memory)) start_audit(report);
      return true;
    }
  }
  point_.h = 0;
  if (one_sided_trouble(state, trouble)) return false;
  system_.accept(point_.state);
  if (!accelerations(point_.state, point_.a, point_.lambda)) {
    trouble = found_expected(
        fmt::format("t = {:.9g} s", state.t), "a singular mass matrix or not a number",
        "a mass matrix that is positive definite on the motions the joints allow");
    return false;
  }
  point_.a_true = point_.a;
  start_audit(report);
  return true;
}

void SmoothStepper::remember_point(StepMemory& memory, double h) const {
  remember(rows_, impulses_, h, memory);
  store(point_.a_true, memory.arrays.at(motion_array));
  std::vector<double>& a = memory.arrays.at(method_array);
  store(point_.a, a);
  if (point_.h == h) return;
  // The parts of a cut step: a method that carries accelerations of two times must know how long
  // its last step was, and the next step's ratio of steps is taken to the last part.
  const double ratio = h / point_.h;
  for (std::size_t k = 0; k < a.size(); ++k) {
    const double motion = point_.a_true[static_cast<Eigen::Index>(k)];
    a[k] = motion + ratio * (a[k] - motion);
  }
}

// All that the motion has to give within a step of h from point_: what it has, and what the
// accelerations that the scheme begins with do to a body at rest.
void SmoothStepper::take_stock(double h) {
  const Energies now = system_.energies(point_.state);
  stock_ = {.h = h,
            .power = std::abs(auditor_.supplied_power()),
            .kinetic = now.kinetic,
            .potential = now.potential + auditor_.stored()};
  probe_ = point_.state;
  for (const Vector* a : {&point_.a_true, &point_.a}) {
    probe_.v = h * *a;
    stock_.begun += system_.energies(probe_).kinetic;
  }
}

// Newton's iteration may call a state found that is none: beside accelerations of 1e150 every
// correction is small. What it found must satisfy the equations, and its kinetic energy must come
// from somewhere.
bool SmoothStepper::is_motion(double h, std::string& doubt) {
  const Energies now = system_.energies(trial_.state);
  // What rounding of positions does to velocities is no motion, whatever it is beside nothing.
  const double reach = 1 + point_.state.q.lpNorm<Eigen::Infinity>();
  probe_ = point_.state;
  probe_.v.setConstant(ulps * std::numeric_limits<double>::epsilon() * reach / h);
  if (now.kinetic <= system_.energies(probe_).kinetic) return true;

  const double residual = certifier_.result().residual();
  if (!to_rounding_ && !(residual <= std::max(unsolved, far_missed * tolerance_))) {
    doubt = fmt::format(
        "a state that Newton's iteration took for a solution, with a residual of "
        "{:.1e}",
        residual);
    return false;
  }
  const double fallen = std::max(0.0, stock_.potential - now.potential - stored_in_joints(rows_));
  const double worked = stock_.h * (stock_.power + std::abs(supplied_power(trial_)));
  const double given = fallen + worked + stock_.begun;
  if (now.kinetic <= (1 + most_gain) * stock_.kinetic + 2 * given) return true;
  doubt = fmt::format(
      "a kinetic energy that grew from {:.3g} to {:.3g} J within a step, and "
      "nothing that gave it",
      stock_.kinetic, now.kinetic);
  return false;
}

bool SmoothStepper::try_part(double h, StepReport& report, Work& work, std::string& doubt) {
  trial_ = point_;
  Work of_part;
  const bool found = advance(trial_, h, of_part);
  work.iterations += of_part.iterations;
  work.factorizations += of_part.factorizations;
  if (!found) {
    doubt = fmt::format("no convergence of Newton's iteration in {} rounds",
                        options_.newton_iterations);
    return false;
  }
  if (!trial_.state.q.allFinite() || !trial_.state.v.allFinite()) {
    doubt = "a state that is not a number";
    return false;
  }
  system_.accept(trial_.state);
  Stopwatch clock;
  certifier_.look_at(point_, trial_, tolerance_);
  certify(point_, trial_, h, certifier_);
  report.timings.certify += clock.lap();
  return !iterates() || is_motion(h, doubt);
}

bool SmoothStepper::cut_and_advance(double h, StepReport& report, Work& work,
                                    std::string& trouble) {
  if (iterates()) take_stock(h);
  double done = 0;
  double part = h;
  while (done < h * (1 - 1e-9)) {
    part = std::min(part, h - done);
    const Certificate so_far = certifier_.result();
    if (try_part(part, report, work, trouble)) {
      claimed_ = point_.state.v + change_;
      auditor_.add(trial_.state, motion(part), report);
      std::swap(point_, trial_);
      point_.h = part;
      done += part;
      continue;
    }
    certifier_.go_on(so_far);
    if (++report.cuts > most_cuts) {
      trouble =
          found_expected(fmt::format("stepper '{}' at t = {:.9g} s", options_.name, point_.state.t),
                         fmt::format("{}, even with a step of {:.3g} s", trouble, part),
                         "a motion that is smooth at this step, or the stepper 'dvi'");
      return false;
    }
    part *= 0.5;
  }
  return true;
}

StepOutcome SmoothStepper::step(State& state, double h, StepMemory& memory, StepReport& report) {
  Stopwatch clock;
  report.t = state.t;
  report.h = h;
  report.energy = {};
  report.cuts = 0;
  report.stored_before = 0;
  report.timings = {};
  StepOutcome outcome{.status = StepStatus::failed, .t = state.t};
  if (!recall_point(state, memory, report, outcome.message)) return outcome;
  Work work;
  certifier_.start();
  if (!cut_and_advance(h, report, work, outcome.message)) return outcome;
  point_.state.t = report.t + h;
  if (one_sided_trouble(point_.state, outcome.message)) return outcome;

  report.newton_iterations = report.solve.iterations = work.iterations;
  report.factorizations = work.factorizations;
  report.certificate = certifier_.result();
  report.meets_tolerance = report.certificate.meets(tolerance_);
  report.solve.status = Status::converged;
  report.solve.message.clear();
  if (report.cuts > 0)
    report.solve.message = fmt::format("cut {} times: {}", report.cuts, outcome.message);

  impulses_ = h * point_.lambda;
  remember_point(memory, h);
  auditor_.remember(memory);
  state = point_.state;
  report.timings.solve = clock.lap() - report.timings.certify;
  return {.t = state.t};
}

}  // namespace urto
