#include "urto/analysis/contact_statics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>

#include "urto/analysis/reaction_range.h"
#include "urto/stepper/dvi.h"
#include "urto/stepper/one_sided.h"

namespace urto {
namespace {

double largest(const Vector& v) {
  return v.size() > 0 ? v.cwiseAbs().maxCoeff() : 0.0;
}

constexpr double shortest = 1e-4;  ///< step that the search takes, of its first

SimulationOptions relaxation_options(const StaticsOptions& options) {
  SimulationOptions o;
  o.contact_envelope = options.envelope;
  o.stepper.recovery_speed = std::numeric_limits<double>::infinity();
  o.stepper.recovery_rate = std::numeric_limits<double>::infinity();
  o.stepper.restitution = false;
  o.stepper.implicit_forces = ImplicitForces::exact;
  o.stepper.project_joints = true;
  o.solver.tolerance = 0.01 * options.contact_tolerance;
  if (options.stop) o.solver.on_progress = [&stop = options.stop](int, double) { return !stop(); };
  return o;
}

class Relaxation {
 public:
  Relaxation(const System& system, State& state, const StaticsOptions& options)
      : system_(system),
        state_(state),
        options_(options),
        stepper_(system, relaxation_options(options)) {}

  StaticsReport find();

 private:
  double first_step(double most);
  void measure(double h);
  bool good() const;
  bool slides_away(double h);
  void finish();

  SystemAccess system_;
  State& state_;
  const StaticsOptions& options_;
  DviStepper stepper_;
  StepMemory memory_;
  StepReport step_;
  State trial_;
  Vector reaction_, lambda_, velocity_;
  double scale_ = 0;                           ///< of forces [N]
  std::map<std::uint64_t, double> slid_ = {};  ///< way of each contact [m]
  StaticsReport report_;
};

// How well λ of the step balances the state it began from. From rest the step's a is h times the
// force, the pull of sticky contacts in it.
void Relaxation::measure(double h) {
  const StepProblem& p = *stepper_.problem();
  lambda_ = stepper_.impulses() / h;
  reaction_.setZero(system_.nv());
  transpose_multiply_add(p.J, lambda_, reaction_);
  scale_ = std::max({scale_, largest(p.a) / h, largest(reaction_)});
  const double error = largest(p.a / h + reaction_);
  report_.residual = scale_ > 0 ? error / scale_ : error;
  report_.joint_error = report_.gap_error = report_.cone_error = 0;
  const Interactions& rows = stepper_.rows();
  for (int i = 0; i < rows.blocks(); ++i) {
    const Law& law = rows.laws[i];
    const int first = rows.J.row_start[i];
    const double gap = rows.g[first];
    if (law.kind == LawKind::box || law.on_velocity || is_soft(law)) continue;
    if (law.kind == LawKind::equality) {
      for (int r = 0; r < law.dim; ++r)
        report_.joint_error = std::max(report_.joint_error, std::abs(rows.g[first + r]));
      continue;
    }
    const bool presses = lambda_[first] > options_.contact_tolerance * scale_;
    report_.gap_error = std::max(report_.gap_error, presses ? std::abs(gap) : -gap);
    double outside = -lambda_[first];
    if (law.kind == LawKind::coulomb && law.dim >= 3) {
      outside =
          std::max(outside, lambda_.segment<2>(first + 1).norm() - law.friction * lambda_[first]);
    }
    report_.cone_error = std::max(report_.cone_error, scale_ > 0 ? outside / scale_ : 0);
  }
}

bool Relaxation::good() const {
  return report_.residual <= options_.contact_tolerance &&
         report_.cone_error <= options_.contact_tolerance &&
         report_.joint_error <= options_.gap_tolerance &&
         report_.gap_error <= options_.gap_tolerance;
}

// Adds up how far contacts with friction slid; names the first that went too far.
bool Relaxation::slides_away(double h) {
  const Interactions& rows = stepper_.rows();
  velocity_.setZero(rows.rows());
  multiply(rows.J, trial_.v, velocity_);
  for (int i = 0; i < rows.blocks(); ++i) {
    const int first = rows.J.row_start[i];
    if (rows.laws[i].kind != LawKind::coulomb || rows.laws[i].dim < 3 || !(lambda_[first] > 0))
      continue;
    double& way = slid_[rows.ids[i]];
    way += h * velocity_.segment<2>(first + 1).norm();
    report_.slide = std::max(report_.slide, way);
    if (way <= options_.largest_slide) continue;
    report_.message = fmt::format(
        "no equilibrium nearby: {} slides, {:.3g} m so far; its friction cannot hold it",
        system_.describe(rows, i), way);
    return true;
  }
  return false;
}

void Relaxation::finish() {
  report_.converged = true;
  report_.lambda = lambda_;
  report_.rows = stepper_.rows();
  for (int i = 0; i < report_.rows.blocks(); ++i)
    report_.names.push_back(system_.describe(report_.rows, i));
  if (report_.rows.rows() > options_.largest_checked) return;
  const ReactionRange range = reaction_range(system_.system(), state_, 10 * options_.gap_tolerance);
  report_.freedom = range.freedom;
  if (range.balanced && range.freedom == 0) report_.unique = true;
  if (range.exact && range.freedom > 0)
    report_.unique = range.possible && largest(range.high - range.low) <= 1e-6 * scale_;
}

// From rest a body goes h² times its acceleration: a tenth of the most it may.
double Relaxation::first_step(double most) {
  Vector f;
  BlockMatrix mass;
  system_.force(state_, f);
  system_.mass(state_, mass);
  double fastest = 1e-3;
  for (int k = 0; k < mass.blocks(); ++k) {
    for (int c = 0; c < mass.size(k); ++c)
      fastest = std::max(fastest, std::abs(f[mass.start[k] + c]) / mass.block(k)(c, c));
  }
  return std::sqrt(0.1 * most / fastest);
}

StaticsReport Relaxation::find() {
  report_.with_contact = true;
  report_.lowest = std::numeric_limits<double>::quiet_NaN();
  const State start = state_;
  const double most =
      0.5 * options_.envelope;  // what is nearer than the envelope is seen before it is met
  const double first = first_step(most);
  double h = first;
  double last = std::numeric_limits<double>::infinity();
  double too_far = 0, shrunk = 1;  // the move of a step that was not taken, and h after it
  const int rounds = 10 * options_.max_iterations;
  while (report_.iterations < rounds) {
    if (options_.stop && options_.stop()) {
      report_.message = search_stopped;
      break;
    }
    ++report_.iterations;
    trial_ = state_;
    StepMemory memory = memory_;
    stepper_.step(trial_, h, memory, step_);
    measure(h);
    if (good()) {
      finish();
      break;
    }
    const double move = largest(system_.difference(trial_.q, state_.q));
    if (move > most) {
      // Forces move bodies by h² of their acceleration: what goes as far in a shorter step is
      // pushed apart.
      const bool is_pushed = shrunk <= 0.2 && move > shrunk * too_far;
      if (is_pushed || h < shortest * first) {
        report_.message = fmt::format(
            "no equilibrium nearby: bodies are in each other, and pushing them apart moves one by "
            "{:.3g} m, expected at most {:.3g} m in a step",
            move, most);
        break;
      }
      too_far = move;
      shrunk = std::clamp(0.9 * std::sqrt(most / move), 0.1, 0.9);
      h *= shrunk;
      continue;
    }
    if (slides_away(h)) break;
    const double way = report_.residual + report_.gap_error / most;
    h *= way > 1.02 * last ? 0.6 : move < 0.5 * most ? 1.4 : 1;
    h = std::clamp(h, 1e-3 * first, 1e4 * first);
    last = way;
    shrunk = 1;
    memory_ = memory;
    trial_.v.setZero();
    trial_.t = state_.t;
    state_ = trial_;
  }
  if (!report_.converged && report_.message.empty()) {
    report_.message = fmt::format("no equilibrium in {} steps: residual {:.2e}, gap {:.2e} m",
                                  rounds, report_.residual, report_.gap_error);
  }
  report_.move = largest(system_.difference(state_.q, start.q));
  return report_;
}

}  // namespace

bool one_sided_acts(const System& system, const State& state) {
  SystemAccess access(system);
  Interactions rows;
  return !one_sided_at_work(access, state, rows).empty();
}

StaticsReport relax_to_contact(const System& system, State& state, const StaticsOptions& options) {
  return Relaxation(system, state, options).find();
}

}  // namespace urto
