#include "urto/stepper/moreau_jean.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "urto/stepper/alpha_step.h"
#include "urto/stepper/stopwatch.h"

namespace urto {
namespace {

constexpr int projection_rounds = 10;

bool is_contact(const Law& law) {
  return law.kind == LawKind::unilateral || law.kind == LawKind::coulomb;
}

double normal_rate(const Interactions& rows, int row, int block, const Vector& v) {
  std::array<double, max_block> u{};
  multiply_add_block(rows.J, block, v.data(), u.data());
  return u[row - rows.J.row_start[block]] + rows.g_t[row];
}

}  // namespace

MoreauJeanStepper::MoreauJeanStepper(const System& system, const SimulationOptions& options)
    : kernel_(system, options),
      projection_(system),
      variant_(options.stepper.moreau_variant),
      theta_(1 / (1 + options.stepper.spectral_radius)) {}

// q*, which decides about contacts before anything is known of the end of the step: with q⁺ itself
// there may be no solution (recipe 004 §2.7).
void MoreauJeanStepper::predict(const State& state, double h) {
  trial_ = state;
  trial_.t += h;
  double share = 1;
  switch (kernel_.options.stepper.activation) {
    case Activation::start:
      share = 0;
      trial_.t = state.t;
      break;
    case Activation::half:
      share = 0.5;
      trial_.t = state.t + 0.5 * h;
      break;
    default:
      break;
  }
  increment_ = share * h * state.v;
  if (kernel_.options.stepper.activation == Activation::free) {
    kernel_.system.mass(state, mass_);
    work_ = force_start_;
    if (definite_.factorize(mass_)) {
      definite_.solve(work_);
      increment_ += 0.5 * h * h * work_;
    }
  }
  kernel_.system.add_increment(state.q, increment_, trial_.q);
}

// A contact or limit takes part if the prediction closes it; what is soft decides by its own law.
bool MoreauJeanStepper::meets(int block) const {
  const Law& law = all_.laws[block];
  if (!is_contact(law) || is_soft(law)) return true;
  return probed_.g[all_.J.row_start[block]] <= gap_rounding(trial_.q);
}

void MoreauJeanStepper::select_rows(const State& state, double h) {
  kernel_.system.interactions(state, {.h = h, .envelope = kernel_.options.contact_envelope}, all_);
  kernel_.system.force(state, force_start_);
  probed_ = all_;
  if (kernel_.options.stepper.activation != Activation::start) {
    predict(state, h);
    probed_.gaps_only = true;
    kernel_.system.measure(trial_, probed_);
  }
  active_.clear();
  all_rate_.resize(all_.rows());
  for (int i = 0; i < all_.blocks(); ++i) {
    if (meets(i)) active_.push_back(i);
    for (int r = all_.J.row_start[i]; r < all_.J.row_start[i + 1]; ++r)
      all_rate_[r] = normal_rate(all_, r, i, state.v);
  }
  passed_.start(all_, all_rate_, h);
  select_blocks(all_, active_, kernel_.rows);
  const Interactions& rows = kernel_.rows;
  start_gap_ = rows.g;
  start_rate_.resize(rows.rows());
  for (int i = 0; i < rows.blocks(); ++i) {
    for (int r = rows.J.row_start[i]; r < rows.J.row_start[i + 1]; ++r)
      start_rate_[r] = normal_rate(rows, r, i, state.v);
  }
}

// Where the last velocity leads, and the rows there.
void MoreauJeanStepper::place(const State& state, double h) {
  trial_.v = kernel_.v_after;
  increment_ = h * ((1 - theta_) * state.v + theta_ * trial_.v);
  kernel_.system.add_increment(state.q, increment_, trial_.q);
  trial_.t = state.t + h;
  Interactions& rows = kernel_.rows;
  if (!rows_at_end()) {
    // Soft rows know their deflection by the row alone.
    for (int i = 0; i < rows.blocks(); ++i) {
      for (int r = rows.J.row_start[i]; r < rows.J.row_start[i + 1]; ++r) {
        rate_[r] = normal_rate(rows, r, i, trial_.v);
        gap_[r] = start_gap_[r] + h * ((1 - theta_) * start_rate_[r] + theta_ * rate_[r]);
      }
    }
    return;
  }
  kernel_.system.measure(trial_, rows);
  gap_ = rows.g;
  for (int i = 0; i < rows.blocks(); ++i) {
    for (int r = rows.J.row_start[i]; r < rows.J.row_start[i + 1]; ++r)
      rate_[r] = normal_rate(rows, r, i, trial_.v);
  }
}

// M, and F into force_; the forces that are implicit are those at middle_.
void MoreauJeanStepper::force(const State& state, double h) {
  kernel_.system.mass(rows_at_end() ? trial_ : state, mass_);
  switch (variant_) {
    case MoreauVariant::semi_explicit:
      force_ = force_start_;
      return;
    case MoreauVariant::implicit:
      middle_.t = state.t + theta_ * h;
      middle_.v = (1 - theta_) * state.v + theta_ * trial_.v;
      work_ = theta_ * increment_;
      kernel_.system.add_increment(state.q, work_, middle_.q);
      kernel_.system.force(middle_, force_);
      return;
    default:
      kernel_.system.force(trial_, force_);
      force_ = (1 - theta_) * force_start_ + theta_ * force_;
      middle_ = trial_;
      return;
  }
}

// H (v⁺ − v^τ) = M(v − v^τ) + hF + JᵀP with H = M + hθD + h²θ²K, as far as it is symmetric and
// definite.
void MoreauJeanStepper::assemble(const State& state, double h) {
  const State& at = rows_at_end() ? trial_ : state;
  const auto form = [&](Tangent kind) {
    BlockMatrix& H = kernel_.H();
    H.start_assembly(kernel_.system.layout().v_start, BlockMatrix::Symmetry::symmetric);
    kernel_.system.assemble(at, {.mass = 1}, kind, H);
    if (!is_explicit()) {
      kernel_.system.assemble(
          middle_, {.damping = h * theta_, .stiffness = h * h * theta_ * theta_}, kind, H);
    }
    H.finish_assembly();
  };
  form(Tangent::exact);
  if (!is_explicit() && !definite_.factorize(kernel_.H())) form(Tangent::semidefinite);
  multiply(kernel_.H(), trial_.v, kernel_.problem.a);
  work_ = state.v - trial_.v;
  multiply_add(mass_, work_, kernel_.problem.a);
  kernel_.problem.a += h * force_;
}

// Springs and dampers act as F does, P/h = −(k g_θ + c u_θ), with g⁺ along the row from the last
// iterate on.
void MoreauJeanStepper::add_soft_law(int block, double h) {
  const Interactions& rows = kernel_.rows;
  const Law& law = rows.laws[block];
  const double k = law.stiffness, late = theta_, early = 1 - theta_;
  for (int r = rows.J.row_start[block]; r < rows.J.row_start[block + 1]; ++r) {
    const double c = law.damping;
    const double resistance = late * (h * late * k + c);
    kernel_.compliance[r] = 1 / (h * resistance);
    const double known = k * (early * start_gap_[r] + late * (gap_[r] - h * late * rate_[r])) +
                         c * early * start_rate_[r];
    kernel_.problem.b[r] += known / resistance;
  }
}

void MoreauJeanStepper::add_law(int block, double h) {
  const Interactions& rows = kernel_.rows;
  const StepperOptions& o = kernel_.options.stepper;
  const Law& law = rows.laws[block];
  const int first = rows.J.row_start[block];
  for (int r = first; r < rows.J.row_start[block + 1]; ++r) kernel_.problem.b[r] = rows.g_t[r];
  if (law.kind == LawKind::equality) {
    if (is_soft(law) && !law.on_velocity) add_soft_law(block, h);
    return;
  }
  if (law.kind == LawKind::box) return;
  const double gap = start_gap_[first], rate = start_rate_[first];
  if (is_soft(law)) {
    // As in dvi: implicit, with a damper only where the surfaces have met.
    const double resistance = h * law.stiffness + (gap > 0 ? 0 : law.damping);
    kernel_.compliance[first] = 1 / (h * resistance);
    kernel_.problem.b[first] += law.stiffness / resistance * gap;
  } else if (rate > 0 && o.restitution && o.restitution_bound == RestitutionBound::source) {
    kernel_.problem.b[first] += law.restitution * rate;
  } else {
    kernel_.add_rebound(block, rate);
  }
}

// The equations at the state that was reached, without what the iteration made of them: H = M, and
// b with the restitution that it ended with.
void MoreauJeanStepper::pose_equations(double h) {
  ImpulseKernel& k = kernel_;
  k.H() = mass_;
  multiply(mass_, k.v_before, k.problem.a);
  k.problem.a += h * force_;
  for (int i = 0; i < k.rows.blocks(); ++i) {
    const int first = k.rows.J.row_start[i];
    if (is_soft(k.rows.laws[i]) && k.rows.laws[i].kind == LawKind::equality) {
      for (int r = first; r < k.rows.J.row_start[i + 1]; ++r) k.problem.b[r] = k.rows.g_t[r];
      if (!k.rows.laws[i].on_velocity) add_soft_law(i, h);
      continue;
    }
    for (int r = first; r < k.rows.J.row_start[i + 1]; ++r)
      k.problem.b[r] = k.rows.g_t[r] + bound_[r];
  }
  for (int i = 0; i < k.rows.blocks(); ++i) k.add_pull(i);
  k.finish_problem();
}

// What the rows see, J v⁺ + Eλ + b, as they are posed now.
void MoreauJeanStepper::see_rows(Vector& u) {
  const ImpulseKernel& k = kernel_;
  u = k.problem.b;
  for (int i = 0; i < k.rows.blocks(); ++i)
    multiply_add_block(k.rows.J, i, k.v_after.data(), u.data() + k.rows.J.row_start[i]);
  for (int r = 0; r < u.size(); ++r) u[r] += k.compliance[r] * k.impulses[r];
}

// How far the last solution is from the equations posed now: momentum relative to its terms, and
// what the rows see now against what they saw in the solve, relative to the velocities.
double MoreauJeanStepper::residual(double h) {
  const ImpulseKernel& k = kernel_;
  multiply(mass_, k.v_after, work_);
  increment_.setZero(work_.size());
  transpose_multiply_add(k.rows.J, k.impulses, increment_);
  const double size = work_.norm() + k.problem.a.norm() + increment_.norm();
  const double momentum = (work_ - k.problem.a - increment_).norm();
  see_rows(seen_);
  const double off = seen_.size() > 0 ? (seen_ - solved_).lpNorm<Eigen::Infinity>() : 0;
  double fastest = k.v_after.lpNorm<Eigen::Infinity>() + k.v_before.lpNorm<Eigen::Infinity>();
  for (int node = 0; node < mass_.blocks(); ++node) {
    const auto M = mass_.block(node);
    for (int c = 0; c < M.cols(); ++c)
      fastest = std::max(fastest, h * std::abs(force_[mass_.start[node] + c]) / M(c, c));
  }
  const double worst = std::max(size > 0 ? momentum / size : 0, fastest > 0 ? off / fastest : 0);
  return std::isfinite(worst) ? worst : std::numeric_limits<double>::infinity();
}

// One problem linearised at the last velocity. The rows keep the restitution that they got.
void MoreauJeanStepper::solve(double h, const StepMemory& memory, StepReport& report) {
  ImpulseKernel& k = kernel_;
  k.begin_rows(h);
  for (int i = 0; i < k.rows.blocks(); ++i) {
    add_law(i, h);
    k.add_pull(i);
  }
  k.solve(memory, report);
  bound_.resize(k.rows.rows());
  for (int r = 0; r < k.rows.rows(); ++r) bound_[r] = k.problem.b[r] - k.rows.g_t[r];
  see_rows(solved_);
  ++report.newton_iterations;
}

std::string MoreauJeanStepper::iterate(const State& state, double h, const StepMemory& memory,
                                       StepReport& report, bool smallest) {
  const double tolerance = kernel_.options.solver.tolerance;
  double goal = 0.1 * tolerance, last = std::numeric_limits<double>::infinity();
  kernel_.v_after = kernel_.v_before = state.v;
  gap_ = start_gap_;
  rate_ = start_rate_;
  place(state, h);
  force(state, h);
  for (int k = 1;; ++k) {
    assemble(state, h);
    solve(h, memory, report);
    if (!kernel_.v_after.allFinite()) return "velocities that are not numbers";
    place(state, h);
    force(state, h);
    pose_equations(h);
    if (is_explicit()) return {};
    const double off = residual(h);
    if (off <= goal || (off <= tolerance && off > 0.5 * last)) {
      kernel_.certify(state, report);
      if (report.meets_tolerance || report.solve.status != Status::converged) return {};
      goal *= 0.1;
    }
    if (k == kernel_.options.stepper.newton_iterations) {
      kernel_.certify(state, report);
      if (report.meets_tolerance || report.solve.status != Status::converged || smallest) return {};
      return fmt::format("no convergence in {} iterations: a residual of {:.1e}", k, off);
    }
    last = off;
  }
}

std::string MoreauJeanStepper::attempt(State& state, double h, StepMemory& memory,
                                       StepReport& report, bool smallest) {
  Stopwatch clock;
  trial_ = middle_ = state;
  select_rows(state, h);
  report.timings.rows += clock.lap();
  const std::string trouble = iterate(state, h, memory, report, smallest);
  report.timings.solve += clock.lap();
  if (!trouble.empty()) return trouble;
  if (passed_.any(kernel_.system, trial_)) return passed_through;
  kernel_.move_with_the_end();
  if (is_explicit()) kernel_.certify(state, report);
  report.timings.certify += clock.lap();

  // The audit knows rows by what they were at the start of the step.
  kernel_.rows.g = start_gap_;
  kernel_.audit(state, is_explicit() ? 0 : theta_, memory, report);
  state.v = kernel_.v_after;
  state.q = trial_.q;
  state.t += h;
  if (kernel_.options.stepper.project_joints) {
    projection_.project_positions(state, kernel_.options.stepper.projection_tolerance,
                                  projection_rounds);
  }
  kernel_.system.accept(state);
  kernel_.finish_audit(state, memory, report);
  kernel_.remember(memory);
  report.timings.advance += clock.lap();
  return {};
}

}  // namespace urto
