#include "urto/stepper/trapezoidal_lcp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "urto/stepper/alpha_helpers.h"
#include "urto/stepper/stopwatch.h"

namespace urto {
namespace {

/// Of impacts in a step; what follows is taken by a step that has none.
constexpr int most_impacts = 100;
/// Of a contact in a step, with restitution: bounces that go on are over (Zeno).
constexpr int most_rebounds = 20;
/// What is left of a step when it is over, relative to it.
constexpr double crumb = 1e-12;

}  // namespace

TrapezoidalLcpStepper::TrapezoidalLcpStepper(const System& system, const SimulationOptions& options)
    : kernel_(system, options), impact_(kernel_), collision_(kernel_.system), drift_(kernel_) {
  kernel_.reach = &all_;
}

// ---- Which contacts

double TrapezoidalLcpStepper::normal_rate(int block) const {
  return start_rate_[all_.J.row_start[block]];
}

// Touching contacts that approach are for an impact: the step would reflect them (recipe 002
// §2.7). Slower than what a solution of the tolerance leaves is not approaching.
void TrapezoidalLcpStepper::sort_contact(int block, double closed) {
  const StepperOptions& o = kernel_.options.stepper;
  const auto hold = [&] {
    held_.push_back(block);
    is_held_[block] = 1;
  };
  if (!alpha_rows::is_rigid_contact(all_.laws[block])) return hold();
  if (closed > o.contact_tolerance) return;
  if (o.active_contacts == ActiveContacts::predicted) return hold();
  // Where nothing projects velocities, a pressed contact on a curved surface has a rate of O(h²).
  if (block_was_pressed(block)) return hold();
  const double slow = 1e-9 + 10 * kernel_.options.solver.tolerance * alpha_rows::largest(probe_.v);
  if (normal_rate(block) < -slow) {
    striking_.push_back(block);
  } else if (normal_rate(block) <= slow) {
    hold();
  }
}

bool TrapezoidalLcpStepper::block_was_pressed(int block) const {
  if (before_ == nullptr || kernel_.options.stepper.drift_control == DriftControl::projection)
    return false;
  const StepMemory::Item* item = before_->find(all_.ids[block], all_.laws[block].dim);
  return item != nullptr && before_->lambda[item->start] > 0;
}

void TrapezoidalLcpStepper::look(const State& state, double h) {
  const StepperOptions& o = kernel_.options.stepper;
  kernel_.system.interactions(
      state,
      {.h = h, .envelope = kernel_.options.contact_envelope, .normal_rows_only = o.skip_tangential},
      all_);
  multiply(all_.J, state.v, rates_);
  start_rate_.resize(all_.rows());
  for (int r = 0; r < all_.rows(); ++r) start_rate_[r] = rates_[r] + all_.g_t[r];
  probe_ = state;
  const bool predicted = o.active_contacts == ActiveContacts::predicted;
  if (predicted) {
    probed_ = all_;
    probed_.gaps_only = true;
    increment_ = h * state.v;
    kernel_.system.add_increment(state.q, increment_, probe_.q);
    probe_.t += h;
    kernel_.system.measure(probe_, probed_);
  }
  held_.clear();
  striking_.clear();
  is_held_.assign(all_.blocks(), 0);
  for (int i = 0; i < all_.blocks(); ++i) {
    const int first = all_.J.row_start[i];
    sort_contact(i, predicted ? std::min(all_.g[first], probed_.g[first]) : all_.g[first]);
  }
}

// ---- Impacts

// Joints and what touches; or joints and what approaches fastest.
void TrapezoidalLcpStepper::find_struck() {
  const StepperOptions& o = kernel_.options.stepper;
  const auto slower = [&](int a, int b) { return normal_rate(a) < normal_rate(b); };
  const int fastest = *std::min_element(striking_.begin(), striking_.end(), slower);
  struck_.clear();
  for (int i = 0; i < all_.blocks(); ++i) {
    const Law& law = all_.laws[i];
    const bool joint = law.kind == LawKind::equality && !is_soft(law);
    const bool touches =
        alpha_rows::is_rigid_contact(law) && all_.g[all_.J.row_start[i]] <= o.contact_tolerance;
    const bool one = o.impact_order == ImpactOrder::sequential;
    if (joint || (one ? i == fastest : touches)) struck_.push_back(i);
  }
}

// By Poisson's law what is pressed without approaching gives back as well, if the blow is one.
void TrapezoidalLcpStepper::find_restitution() {
  restitution_.assign(struck_.size(), 0.0);
  if (!kernel_.options.stepper.restitution) return;
  bool blow = false;
  for (const int i : striking_) {
    const std::uint64_t id = all_.ids[i];
    auto hits =
        std::find_if(hits_.begin(), hits_.end(), [&](const auto& h) { return h.first == id; });
    if (hits == hits_.end()) hits = hits_.insert(hits_.end(), {id, 0});
    blow = blow ||
           (normal_rate(i) < -all_.laws[i].restitution_threshold && hits->second < most_rebounds);
  }
  for (std::size_t k = 0; blow && k < struck_.size(); ++k) {
    const std::uint64_t id = all_.ids[struck_[k]];
    const auto hits =
        std::find_if(hits_.begin(), hits_.end(), [&](const auto& h) { return h.first == id; });
    if (hits != hits_.end() && ++hits->second > most_rebounds) continue;
    const Law& law = all_.laws[struck_[k]];
    if (alpha_rows::is_rigid_contact(law)) restitution_[k] = law.restitution;
  }
}

void TrapezoidalLcpStepper::impact(State& state, double h, StepMemory& memory, StepReport& report) {
  find_struck();
  find_restitution();
  event_ = kernel_.system.describe(all_, striking_.front());
  select_blocks(all_, struck_, kernel_.rows);
  impact_.solve(state, h, restitution_, report);
  kernel_.follow_for(0);
  kernel_.audit(state, 0, memory, report);
  state.v = kernel_.v_after;
  kernel_.finish_audit_in_passing(state, memory, report);
  multiply(kernel_.rows.J, state.v, rates_);
  for (std::size_t k = 0; k < struck_.size(); ++k) {
    const int i = struck_[k];
    if (std::find(striking_.begin(), striking_.end(), i) == striking_.end()) continue;
    const int first = kernel_.rows.J.row_start[k];
    impacts_.push_back({.t = state.t,
                        .id = all_.ids[i],
                        .approach = normal_rate(i),
                        .after = rates_[first] + kernel_.rows.g_t[first],
                        .energy = impact_.energy_after() - impact_.energy_before(),
                        .compression = impact_.energy_compressed() - impact_.energy_before()});
  }
}

// ---- The equations of a step

// Joints half a step ahead, contacts too unless the source is followed; gaps are those of the
// start.
void TrapezoidalLcpStepper::select_rows(const State& state, double h) {
  select_blocks(all_, held_, kernel_.rows);
  Interactions& rows = kernel_.rows;
  start_gap_ = rows.g;
  middle_ = state;
  increment_ = 0.5 * h * state.v;
  kernel_.system.add_increment(state.q, increment_, middle_.q);
  middle_.t = state.t + 0.5 * h;
  rows.horizon = (theta_ - 0.5) * h;  // the speed that a motor is to have at the θ-point
  kernel_.system.measure(middle_, rows);
  if (!kernel_.options.stepper.midpoint_rows || theta_ == 1) {
    for (int k = 0; k < rows.blocks(); ++k) {
      const int i = held_[k], from = all_.J.row_start[i], to = rows.J.row_start[k];
      if (!alpha_rows::is_rigid_contact(rows.laws[k])) continue;
      std::copy_n(all_.g_t.begin() + from, rows.laws[k].dim, rows.g_t.begin() + to);
      for (int e = 0; e < rows.J.entry_start[k + 1] - rows.J.entry_start[k]; ++e) {
        const BlockRows::Entry& entry = rows.J.entries[rows.J.entry_start[k] + e];
        std::copy_n(all_.entry(i, e), rows.laws[k].dim * entry.width, rows.entry(k, e));
      }
    }
  }
  rows.g = start_gap_;
}

// b and E. Springs in rows give −h(k(g + θhu) + cu) with u the mean velocity.
void TrapezoidalLcpStepper::add_law(int block, double h) {
  const Interactions& rows = kernel_.rows;
  const StepperOptions& o = kernel_.options.stepper;
  const Law& law = rows.laws[block];
  const int first = rows.J.row_start[block];
  const bool equality = law.kind == LawKind::equality;
  Vector& b = kernel_.problem.b;
  for (int r = first; r < first + law.dim; ++r) b[r] = rows.g_t[r];
  if (law.kind == LawKind::box || law.on_velocity) return;
  for (int r = first; r < first + (equality ? law.dim : 1); ++r) {
    const double g = rows.g[r];
    if (is_soft(law)) {
      const double damping = !equality && g > 0 ? 0 : law.damping;
      const double resistance = theta_ * h * law.stiffness + damping;
      kernel_.compliance[r] = 1 / (h * resistance);
      b[r] += law.stiffness / resistance * g;
      continue;
    }
    const double slowest =
        -(law.recovery == Recovery::angular ? o.recovery_rate : o.recovery_speed);
    double rate = 0;
    if (theta_ == 1 && !equality) rate = std::max(g / h, slowest);
    if (theta_ < 1 && o.drift_control == DriftControl::right_hand_side)
      rate = equality ? 0.5 * g / h : std::max(0.5 * g / h, slowest);
    b[r] += rate;
    if (!equality) kernel_.push[block] = std::max(0.0, -rate);
  }
}

// Contacts that pull from a distance without being rows of the step.
void TrapezoidalLcpStepper::add_far_pulls(double h) {
  for (int i = 0; i < all_.blocks(); ++i) {
    if (is_held_[i] != 0 || all_.laws[i].cohesion == 0) continue;
    const double impulse = h * pull(all_.laws[i], all_.g[all_.J.row_start[i]]);
    for (int e = all_.J.entry_start[i]; e < all_.J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = all_.J.entries[e];
      for (int c = 0; c < entry.width; ++c)
        kernel_.problem.a[entry.column + c] -= impulse * all_.J.values[entry.offset + c];
    }
  }
}

// H into `H`, and (M/θ + hD) v into load_.
void TrapezoidalLcpStepper::assemble(const State& state, double h, Tangent kind, BlockMatrix& H) {
  SystemAccess& system = kernel_.system;
  const bool implicit = kernel_.options.stepper.implicit_forces != ImplicitForces::none;
  system.assemble(kernel_.options.stepper.midpoint_rows ? middle_ : state, {.mass = 1 / theta_},
                  Tangent::exact, H);
  if (implicit) system.assemble(state, {.damping = h}, kind, H);
  multiply(H, state.v, load_);
  if (implicit) system.assemble(state, {.stiffness = theta_ * h * h}, kind, H);
  H.finish_assembly();
}

void TrapezoidalLcpStepper::assemble(const State& state, double h) {
  using Symmetry = BlockMatrix::Symmetry;
  const auto& starts = kernel_.system.layout().v_start;
  const auto form = [&](Tangent kind) {
    kernel_.H().start_assembly(starts, Symmetry::symmetric);
    assemble(state, h, kind, kernel_.H());
    general_.start_assembly(starts, Symmetry::general);
    assemble(state, h, kind, general_);
  };
  const bool exact = kernel_.options.stepper.implicit_forces != ImplicitForces::semidefinite;
  form(exact ? Tangent::exact : Tangent::semidefinite);
  if (exact && !definite_.factorize(kernel_.H())) form(Tangent::semidefinite);
  kernel_.system.force(state, force_);
  load_ += 0.5 * h * force_;
  probe_ = state;
  probe_.t += h;
  kernel_.system.force(probe_, force_);
  load_ += 0.5 * h * force_;
}

void TrapezoidalLcpStepper::pose(const State& state, double h) {
  select_rows(state, h);
  assemble(state, h);
  kernel_.problem.a = load_;
  kernel_.begin_rows(h);
  for (int i = 0; i < kernel_.rows.blocks(); ++i) {
    add_law(i, h);
    kernel_.add_pull(i);
  }
  add_far_pulls(h);
}

// Gyroscopic moments make H unsymmetric. Solvers for the circle want it symmetric, so that the rest
// is put on the other side with the last solution until it stays: it shrinks by about h‖ω‖ a round.
void TrapezoidalLcpStepper::solve(const State& state, const StepMemory& memory,
                                  StepReport& report) {
  ImpulseKernel& k = kernel_;
  k.v_before = state.v;
  find_twist(state.v);
  const bool symmetric = twist_.isZero(0);
  if (symmetric || k.has_polygons()) {
    if (!symmetric) k.H() = general_;
    k.solve(memory, report);
    ++report.newton_iterations;
  } else {
    load_ = k.problem.a;
    last_ = state.v;
    for (int round = 0; round < k.options.stepper.newton_iterations; ++round) {
      k.problem.a = load_ - twist_;
      if (round == 0)
        k.solve(memory, report);
      else
        k.solve_on(report);
      ++report.newton_iterations;
      if ((k.v_after - last_).norm() <= 1e-3 * k.options.solver.tolerance * k.v_after.norm()) break;
      last_ = k.v_after;
      find_twist(last_);
    }
    k.problem.a = load_;
    k.H() = general_;
  }
  k.certify(state, report);
  mean_ = k.v_after;
}

// What the part of H that is not symmetric makes of x; nothing where it is rounding.
void TrapezoidalLcpStepper::find_twist(const Vector& x) {
  multiply(general_, x, twist_);
  multiply(kernel_.H(), x, straight_);
  twist_ -= straight_;
  if (twist_.norm() <= 1e-14 * straight_.norm()) twist_.setZero();
}

// ---- The end of a part

// The motion that was solved for h, up to `time`. For the audit what was done is M v⁺ = a + Jᵀγ
// with forces in a.
void TrapezoidalLcpStepper::follow(State& state, double h, double time, StepMemory& memory,
                                   StepReport& report) {
  ImpulseKernel& k = kernel_;
  before_move_ = state;
  const State& before = before_move_;
  if (time >= h)
    state = trial_;
  else
    collision_.place(tried(before, h), time, state);
  k.impulses *= std::min(1.0, time / h);
  k.v_after = state.v;
  k.system.mass(before, k.H());
  multiply(k.H(), state.v, k.problem.a);
  opposite_ = -k.impulses;
  transpose_multiply_add(k.rows.J, opposite_, k.problem.a);
  k.follow_for(time);
  k.move_with_the_end();
  k.audit(before, theta_, memory, report);
  if (time >= h && k.options.stepper.drift_control == DriftControl::projection)
    drift_.apply(state, all_, held_, step_);
  k.system.accept(state);
  k.finish_audit(state, memory, report);
  k.remember(memory);
  rows_ = k.rows;
  impulses_ = k.impulses;
}

// ---- A step

std::string TrapezoidalLcpStepper::advance(State& state, double h, bool last_resort,
                                           StepMemory& memory, StepReport& report) {
  theta_ = last_resort ? 1 : 0.5;
  if (last_resort) {
    held_.resize(all_.blocks());
    for (int i = 0; i < all_.blocks(); ++i) held_[i] = i;
    is_held_.assign(all_.blocks(), 1);
  }
  Stopwatch clock;
  pose(state, h);
  if (!kernel_.problem.a.allFinite() || !kernel_.problem.b.allFinite())
    return "forces, masses or motions in time are not finite numbers";
  report.timings.assemble += clock.lap();
  solve(state, memory, report);
  report.timings.solve += clock.lap();
  if (!mean_.allFinite()) return "the velocities at the end of the step are not finite numbers";
  trial_ = state;
  trial_.v = state.v + (mean_ - state.v) / theta_;
  trial_.t = state.t + h;
  increment_ = h * mean_;
  kernel_.system.add_increment(state.q, increment_, trial_.q);
  const double time = last_resort ? h : collision_.find(tried(state, h));
  follow(state, h, time, memory, report);
  report.timings.advance += clock.lap();
  return {};
}

StepOutcome TrapezoidalLcpStepper::step(State& state, double h, StepMemory& memory,
                                        StepReport& report) {
  static const StepReport nothing;
  const double start = state.t, goal = state.t + h;
  now_ = state;
  kept_ = memory;
  hits_.clear();
  impacts_.clear();
  bool first = true;
  bool hit = false;
  int impacts = 0;
  step_ = h;
  const auto add = [&](const StepReport& part) {
    if (first)
      report = part;
    else
      report = joined(report, part);
    first = false;
  };
  const auto finish = [&](StepOutcome outcome) {
    state = now_;
    memory = kept_;
    problems_ = report.newton_iterations;
    return outcome;
  };
  for (;;) {
    const double left = goal - now_.t;
    part_ = nothing;
    part_.t = now_.t;
    Stopwatch clock;
    // An impact makes other velocities than those that the last part left.
    before_ = hit ? nullptr : &kept_;
    look(now_, left);
    part_.timings.rows = clock.lap();
    const bool last_resort = impacts >= most_impacts;
    if (!striking_.empty() && !last_resort) {
      impact(now_, left, kept_, part_);
      part_.timings.solve = clock.lap();
      add(part_);
      ++impacts;
      hit = true;
      continue;
    }
    if (!impacts_.empty() && now_.t > start && kernel_.options.stepper.end_at_impacts) {
      return finish({.status = StepStatus::event, .t = now_.t, .event = "impact: " + event_});
    }
    const std::string trouble = advance(now_, left, last_resort, kept_, part_);
    if (!trouble.empty()) return {StepStatus::failed, start, {}, trouble};
    add(part_);
    hit = false;
    if (goal - now_.t > crumb * h) continue;
    now_.t = goal;
    return finish({.t = goal});
  }
}

}  // namespace urto
