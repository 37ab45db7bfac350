#include "urto/stepper/dvi.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <tuple>

namespace urto {
namespace {

using Clock = std::chrono::steady_clock;
using Mat6 = Eigen::Matrix<double, 6, 6>;

double seconds_since(Clock::time_point& start) {
  const Clock::time_point now = Clock::now();
  const double s = std::chrono::duration<double>(now - start).count();
  start = now;
  return s;
}

ConvexSet set_of(const Law& law, double h) {
  switch (law.kind) {
    case LawKind::equality:
      return ConvexSet::free(law.dim);
    case LawKind::unilateral:
      return ConvexSet::nonnegative(law.dim);
    case LawKind::coulomb:
      if (law.dim == 4) return ConvexSet::spinning_cone(law.friction, law.spinning);
      if (law.dim == 5) return ConvexSet::rolling_cone(law.friction, law.rolling);
      if (law.dim == 6) return ConvexSet::rolling_cone(law.friction, law.rolling, law.spinning);
      return ConvexSet::cone(law.friction, law.dim);
    case LawKind::box:
      return ConvexSet::box(h * law.lower, h * law.upper, law.dim);
  }
  return {};
}

// An open gap may close within the step whether or not errors are stabilised: without its g the row would stop the body in mid-air.
bool is_apart(const Law& law, double gap) {
  return law.kind != LawKind::equality && gap > 0;
}

void resize(Vector& v, int size) {
  if (v.size() != size) v.resize(size);
}

// FNV-1a, to compare which contacts carry load in two steps.
void mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 1099511628211ULL;
}

}  // namespace

DviStepper::DviStepper(System& system, const SimulationOptions& options)
    : system_(system),
      options_(options),
      solver_(make_solver(options.solver.solver)),
      solver_options_(options.solver) {
  solver_options_.friction = options.stepper.friction;
  solver_options_.threads = options.threads;
  solver_options_.islands = options.islands;
  solver_options_.settle = false;
}

// Sets, right-hand side and compliance of one block. Soft rows: E = 1/(h(hk + c)), b = k/(hk + c) g (recipe 000 §2.17).
void DviStepper::add_law(int block, double h) {
  const Law& law = rows_.laws[block];
  const int first = rows_.J.row_start[block];
  problem_.K.push_back(set_of(law, h));
  for (int r = 0; r < law.dim; ++r) {
    double& b = problem_.b[first + r];
    b = rows_.g_t[first + r];
    compliance_[first + r] = 0;
    const bool has_position = r == 0 || law.kind == LawKind::equality;
    // A spring is physics, not stabilisation.
    const bool wanted =
        options_.stepper.stabilise || std::isfinite(law.stiffness) || is_apart(law, rows_.g[first]);
    if (law.on_velocity || !has_position || !wanted) continue;
    const double g = rows_.g[first + r];
    if (std::isfinite(law.stiffness)) {
      // Surfaces that are apart have no damper between them yet; the spring acts on what the step makes overlap.
      const double damping = is_apart(law, g) ? 0 : law.damping;
      const double denominator = h * law.stiffness + damping;
      compliance_[first + r] = 1 / (h * denominator);
      b += law.stiffness / denominator * g;
    } else {
      if (law.kind == LawKind::equality) {
        b += g / stabilisation_step_;
        continue;
      }
      const double rate =
          law.recovers_slowly ? std::max(g / h, -options_.stepper.recovery_speed) : g / h;
      b += rate;
      push_[block] = std::max(0.0, -rate);
    }
  }
  add_pull(block, h);
  rebounds_[block] = 0;
  if (!(law.restitution > 0) || !options_.stepper.restitution || law.kind == LawKind::equality)
    return;
  std::array<double, max_block> u{};
  multiply_add_block(rows_.J, block, free_v_.data(), u.data());
  const double approach = u[0] + rows_.g_t[first];
  if (rows_.g[first] + h * approach > 0 || approach >= -law.restitution_threshold) return;
  double& b = problem_.b[first];
  rebound_rows_.push_back({block, b, approach, 1});
  b = std::min(b, rows_.g_t[first] + law.restitution * approach);
  rebounds_[block] = 1;
}

// Newton's law with friction can create energy: a contact whose slip turns round is helped by its own friction (Kane 1984; T. R. Kane and D. A. Levinson, Dynamics, §5.8). The restitution of such contacts is
// bisected until they lose, with a few more solves of this step. Without restitution no single contact gains.
void DviStepper::limit_rebounds(StepReport& report) {
  constexpr int rounds = 5;
  report.limited_rebounds = 0;
  for (int round = 0; round <= rounds; ++round) {
    work_ = 0.5 * (free_v_ + v_);
    bool gains = false;
    for (Rebound& r : rebound_rows_) {
      const int first = rows_.J.row_start[r.block];
      const Law& law = rows_.laws[r.block];
      std::array<double, max_block> u{};
      multiply_add_block(rows_.J, r.block, work_.data(), u.data());
      double work = 0;
      for (int k = 0; k < law.dim; ++k) work += lambda_[first + k] * (u[k] + rows_.g_t[first + k]);
      const bool gain = work > 1e-9 * lambda_[first] * std::abs(r.approach);
      if (!gain && r.share == r.lost) continue;  // all it had, or all it may have
      (gain ? r.gained : r.lost) = r.share;
      if (r.gained - r.lost < 0.05) {
        gains = gains || gain;
        r.share = r.lost;
      } else {
        gains = true;
        r.share = round == rounds - 1 ? r.lost : 0.5 * (r.lost + r.gained);
      }
      problem_.b[first] =
          std::min(r.plain, rows_.g_t[first] + r.share * law.restitution * r.approach);
    }
    if (!gains || round == rounds) break;
    solver_->solve(problem_, solver_options_, v_, lambda_, report.solve);
  }
  for (const Rebound& r : rebound_rows_) report.limited_rebounds += r.share < 1 ? 1 : 0;
}

// A cone shifted by c, (λ_N + hc, λ_T) ∈ K, is the cone itself with the pull −c on the normal row as a force and λ + hc e_N as multiplier.
void DviStepper::add_pull(int block, double h) {
  const BlockRows& J = rows_.J;
  const double impulse = h * pull(rows_.laws[block], rows_.g[J.row_start[block]]);
  if (impulse == 0) return;
  for (int e = J.entry_start[block]; e < J.entry_start[block + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    const double* normal = J.values.data() + entry.offset;
    for (int c = 0; c < entry.width; ++c) problem_.a[entry.column + c] -= impulse * normal[c];
  }
}

// H += h D + h² K and a += h D v, with the symmetric parts of D and K: any approximation of them is consistent, and the solvers want symmetry.
void DviStepper::add_tangents(const State& state, double h, Tangent kind) {
  system_.tangents(state, kind, tangents_);
  Vector& a = problem_.a;
  auto& H = std::get<BlockMatrix>(problem_.H);
  for (const ForceTangents::Block& block : tangents_.blocks) {
    const Mat6 D = 0.5 * h * block.damping;
    const Mat6 sum = h * block.damping + h * h * block.stiffness;
    a.segment<6>(block.row) += D * free_v_.segment<6>(block.column);
    a.segment<6>(block.column) += D.transpose() * free_v_.segment<6>(block.row);
    H.add(block.row / 6, block.column / 6, sum);
  }
}

void DviStepper::assemble(const State& state, double h) {
  system_.mass(state, mass_);
  system_.force(state, force_);
  free_v_ = state.v;
  system_.turn_freely(state, h, free_v_, force_);
  const auto start_matrix = [&] {
    auto& H = std::get<BlockMatrix>(problem_.H);
    H.start_assembly(mass_.start, BlockMatrix::Symmetry::symmetric);
    for (int k = 0; k < mass_.blocks(); ++k) H.add(k, k, mass_.block(k));
    resize(problem_.a, system_.nv());
    multiply(mass_, free_v_, problem_.a);
    problem_.a += h * force_;
  };
  start_matrix();
  switch (options_.stepper.implicit_forces) {
    case ImplicitForces::none:
      break;
    case ImplicitForces::semidefinite:
      add_tangents(state, h, Tangent::semidefinite);
      break;
    case ImplicitForces::exact:
      add_tangents(state, h, Tangent::exact);
      std::get<BlockMatrix>(problem_.H).finish_assembly();
      if (!definite_.factorize(std::get<BlockMatrix>(problem_.H))) {
        start_matrix();
        add_tangents(state, h, Tangent::semidefinite);
      }
      break;
  }
  std::get<BlockMatrix>(problem_.H).finish_assembly();
  StepProblem& p = problem_;
  p.K.sets.clear();
  p.K.start.resize(1);
  resize(p.b, rows_.rows());
  compliance_.resize(rows_.rows());
  rebounds_.resize(rows_.blocks());
  push_.assign(rows_.blocks(), 0.0);
  rebound_rows_.clear();
  p.J = rows_.J;
  for (int i = 0; i < rows_.blocks(); ++i) add_law(i, h);
  set_compliance(problem_, compliance_);
}

void DviStepper::recall(const StepMemory& memory, double h) {
  resize(lambda_, rows_.rows());
  lambda_.setZero();
  const double scale = memory.h > 0 ? h / memory.h : 0;
  for (int i = 0; i < rows_.blocks(); ++i) {
    const auto at =
        std::lower_bound(memory.items.begin(), memory.items.end(), rows_.ids[i],
                         [](const StepMemory::Item& m, std::uint64_t id) { return m.id < id; });
    if (at == memory.items.end() || at->id != rows_.ids[i] || at->dim != rows_.laws[i].dim)
      continue;
    for (int r = 0; r < at->dim; ++r)
      lambda_[rows_.J.row_start[i] + r] = scale * memory.lambda[at->start + r];
  }
}

void DviStepper::remember(StepMemory& memory, double h) const {
  memory.h = h;
  memory.items.clear();
  for (int i = 0; i < rows_.blocks(); ++i)
    memory.items.push_back({rows_.ids[i], rows_.J.row_start[i], rows_.laws[i].dim});
  std::sort(memory.items.begin(), memory.items.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  memory.lambda.assign(lambda_.data(), lambda_.data() + lambda_.size());
}

// Energy by ½(v + v⁺)·(impulse), with v after turning freely, which is exactly what each impulse does to the kinetic energy.
void DviStepper::measure(double h, StepReport& report) {
  work_ = 0.5 * (free_v_ + v_);
  std::uint64_t hash = 1469598103934665603ULL;
  report.energy = {};
  report.joint_error = report.penetration = report.early_rebound = 0;
  report.contact_energy_before = report.contact_energy = 0;
  report.contacts = report.active = 0;
  for (int i = 0; i < rows_.blocks(); ++i) {
    const Law& law = rows_.laws[i];
    const int first = rows_.J.row_start[i];
    std::array<double, max_block> u{};
    multiply_add_block(rows_.J, i, work_.data(), u.data());
    const bool rigid = !std::isfinite(law.stiffness);
    if (law.kind == LawKind::equality) {
      for (int r = 0; r < law.dim; ++r) {
        if (!law.on_velocity && rigid)
          report.joint_error = std::max(report.joint_error, std::abs(rows_.g[first + r]));
        report.energy.supplied -= lambda_[first + r] * rows_.g_t[first + r];
      }
      continue;
    }
    if (law.kind == LawKind::box) {
      report.energy.supplied -= lambda_[first] * rows_.g_t[first];
      report.energy.friction -= lambda_[first] * (u[0] + rows_.g_t[first]);
      continue;
    }
    ++report.contacts;
    if (rigid) {
      report.penetration = std::max(report.penetration, -rows_.g[first]);
      // Pushed apart at the speed w, bodies are given γ w at most; the rest of the work is that of the impact.
      const double work = lambda_[first] * (u[0] + rows_.g_t[first]);
      const bool rebounds = problem_.b[first] < rows_.g_t[first] - push_[i];
      const double pushed = rebounds ? 0 : lambda_[first] * push_[i];
      report.energy.recovery += pushed;
      report.energy.impact += pushed - work;
    }
    measure_potential(i, h, u[0], report);
    report.energy.supplied -= (lambda_[first] - h * pull(law, rows_.g[first])) * rows_.g_t[first];
    for (int r = 1; r < law.dim; ++r) {
      report.energy.friction -= lambda_[first + r] * (u[r] + rows_.g_t[first + r]);
      report.energy.supplied -= lambda_[first + r] * rows_.g_t[first + r];
    }
    if (lambda_[first] <= 0) continue;
    ++report.active;
    if (rebounds_[i] != 0)
      report.early_rebound = std::max(report.early_rebound, std::abs(rows_.g[first]));
    mix(hash, rows_.ids[i]);
    mix(hash, rebounds_[i]);
  }
  report.active_set = hash;
  report.h = h;
}

// A soft contact stores ½k g² while it overlaps; a pull of c that ends at the gap r is a well of the depth c r. The gap at the end of the step is
// that of its linear motion. What the damper takes is measured with the mean velocity, like all impulses; the rest of the step's error is numerical.
void DviStepper::measure_potential(int block, double h, double mean_rate, StepReport& report) {
  const Law& law = rows_.laws[block];
  const int first = rows_.J.row_start[block];
  const bool soft = std::isfinite(law.stiffness);
  if (!soft && law.cohesion_range == 0) return;
  std::array<double, max_block> u{};
  multiply_add_block(rows_.J, block, v_.data(), u.data());
  const double rate = u[0] + rows_.g_t[first];
  const double before = rows_.g[first];
  const double after = before + h * rate;
  const auto stored = [&](double gap) {
    const double overlap = std::min(gap, 0.0);
    const double spring = soft ? 0.5 * law.stiffness * overlap * overlap : 0;
    return spring - law.cohesion * std::clamp(law.cohesion_range - gap, 0.0, law.cohesion_range);
  };
  report.contact_energy_before += stored(before);
  report.contact_energy += stored(after);
  if (soft && before <= 0 && lambda_[first] > 0)
    report.energy.damping += h * law.damping * rate * (mean_rate + rows_.g_t[first]);
}

// Work of the smooth forces, with the mean velocity v̄ as for the impulses. A damper's impulse is −hD v⁺ when implicit, −hD v when not; its power P(v) = vᵀDv is all
// we can ask for, and v̄ᵀD v⁺ = P(v̄) + ¼(P(v⁺) − P(v)).
void DviStepper::account_forces(const State& state, double h, EnergyFlow& energy) {
  probe_ = state;
  probe_.v = free_v_;
  const double before = system_.powers(probe_)[0];
  probe_.v = v_;
  const double after = system_.powers(probe_)[0];
  probe_.v = 0.5 * (free_v_ + v_);
  const std::array<double, 2> mean = system_.powers(probe_);
  const double sign = options_.stepper.implicit_forces == ImplicitForces::none ? -1 : 1;
  energy.damping += h * (mean[0] + sign * 0.25 * (after - before));
  energy.supplied += h * mean[1];
}

void DviStepper::step(State& state, double h, StepMemory& memory, StepReport& report) {
  report.t = state.t;
  Clock::time_point clock = Clock::now();
  // A joint error is what a step of the last size left: to remove it within a much shorter one would be a blow.
  stabilisation_step_ = std::max(h, memory.h);
  system_.interactions(state, {.h = h, .envelope = options_.contact_envelope}, rows_);
  report.timings.rows = seconds_since(clock);
  assemble(state, h);
  recall(memory, h);
  report.timings.assemble = seconds_since(clock);

  resize(v_, system_.nv());
  solver_->solve(problem_, solver_options_, v_, lambda_, report.solve);
  resize(work_, system_.nv());
  limit_rebounds(report);
  report.timings.solve = seconds_since(clock);
  certifier_.certify(problem_, v_, lambda_, options_.stepper.friction, report.certificate);
  report.meets_tolerance = report.certificate.meets(options_.solver.tolerance);
  report.timings.certify = seconds_since(clock);

  measure(h, report);
  account_forces(state, h, report.energy);
  delta_ = h * v_;
  system_.add_increment(state.q, delta_, state.q);
  state.v = v_;
  state.t += h;
  if (options_.stepper.project_joints)
    project_positions(state, options_.stepper.projection_tolerance, 5);
  system_.accept(state);
  remember(memory, h);
  report.timings.advance = seconds_since(clock);
}

// Solves M x − Jᵀλ = a with J x + g_t = 0 (velocities) or J x + g = 0 (positions) over the rigid equality rows.
void DviStepper::solve_equalities(const State& state, const Vector& a, bool velocities, Vector& x) {
  StepProblem& p = projection_;
  system_.mass(state, std::get<BlockMatrix>(p.H));
  p.a = a;
  p.J = held_.J;
  resize(p.b, held_.rows());
  compliance_.assign(held_.rows(), 0.0);
  p.K.sets.clear();
  p.K.start.resize(1);
  for (int i = 0; i < held_.blocks(); ++i) {
    p.K.push_back(ConvexSet::free(held_.laws[i].dim));
    for (int r = 0; r < held_.laws[i].dim; ++r) {
      const int row = held_.J.row_start[i] + r;
      p.b[row] = velocities ? held_.g_t[row] : held_.g[row];
      // A soft row is a force, not a place to be: so much compliance that it gives way freely.
      if (std::isfinite(held_.laws[i].stiffness)) compliance_[row] = 1e30;
    }
  }
  set_compliance(p, compliance_);
  Vector lambda = Vector::Zero(held_.rows());
  resize(x, system_.nv());
  StepSolveReport ignored;
  projection_solver_->solve(projection_, solver_options_, x, lambda, ignored);
}

double DviStepper::project_positions(State& state, double tolerance, int max_rounds) {
  double error = 0;
  for (int round = 0;; ++round) {
    system_.interactions(state, {.equalities_only = true}, held_);
    error = 0;
    for (int i = 0; i < held_.blocks(); ++i) {
      if (std::isfinite(held_.laws[i].stiffness)) continue;
      for (int r = 0; r < held_.laws[i].dim; ++r)
        error = std::max(error, std::abs(held_.g[held_.J.row_start[i] + r]));
    }
    if (error <= tolerance || round == max_rounds || !std::isfinite(error)) return error;
    work_.setZero(system_.nv());
    solve_equalities(state, work_, false, delta_);
    // Far from the joints a Newton step may leap: half a metre or radian at a time.
    const double leap = delta_.cwiseAbs().maxCoeff();
    if (leap > 0.5) delta_ *= 0.5 / leap;
    system_.add_increment(state.q, delta_, state.q);
    system_.accept(state);
  }
}

void DviStepper::project_velocities(State& state) {
  system_.interactions(state, {.equalities_only = true}, held_);
  system_.mass(state, mass_);
  Vector a(system_.nv());
  multiply(mass_, state.v, a);
  solve_equalities(state, a, true, state.v);
}

}  // namespace urto
