#include "urto/stepper/trapezoidal_lcp.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "urto/stepper/alpha_step.h"
#include "urto/stepper/stopwatch.h"

namespace urto {
namespace {

/// Of impacts in a step; what follows is taken by a step that has none.
constexpr int most_impacts = 100;
/// Of a contact in a step, with restitution: bounces that go on are over (Zeno).
constexpr int most_rebounds = 20;
/// What is left of a step when it is over, relative to it.
constexpr double crumb = 1e-12;

bool is_rigid_contact(const Law& law) {
  return (law.kind == LawKind::unilateral || law.kind == LawKind::coulomb) && !is_soft(law);
}

double largest(const Vector& v) {
  return v.size() > 0 ? v.lpNorm<Eigen::Infinity>() : 0;
}

/// Where a gap that starts at `gap` with `rate` and ends below zero after h passes zero first, by
/// the parabola through all three; the cubic of the source's §10 for flat surfaces.
double parabola_root(double gap, double rate, double end, double h) {
  const double bend = (end - gap - rate * h) / (h * h);
  const double root = std::sqrt(std::max(0.0, rate * rate - 4 * bend * gap));
  const double sum = -0.5 * (rate + std::copysign(root, rate));
  double first = h;
  for (const double t : {sum / bend, gap / sum}) {
    if (t > 0 && t < first) first = t;
  }
  return first;
}

}  // namespace

TrapezoidalLcpStepper::TrapezoidalLcpStepper(const System& system, const SimulationOptions& options)
    : kernel_(system, options), impact_(kernel_), projection_(system) {
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
  if (!is_rigid_contact(all_.laws[block])) return hold();
  if (closed > o.contact_tolerance) return;
  if (o.active_contacts == ActiveContacts::predicted) return hold();
  // Where nothing projects velocities, a pressed contact on a curved surface has a rate of O(h²).
  if (block_was_pressed(block)) return hold();
  const double slow = 1e-9 + 10 * kernel_.options.solver.tolerance * largest(probe_.v);
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
  multiply(all_.J, state.v, work_);
  start_rate_.resize(all_.rows());
  for (int r = 0; r < all_.rows(); ++r) start_rate_[r] = work_[r] + all_.g_t[r];
  probed_ = all_;
  probed_.gaps_only = true;
  probe_ = state;
  const bool predicted = o.active_contacts == ActiveContacts::predicted;
  if (predicted) {
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
TrapezoidalLcpStepper::Blocks TrapezoidalLcpStepper::struck() const {
  const StepperOptions& o = kernel_.options.stepper;
  const auto slower = [&](int a, int b) { return normal_rate(a) < normal_rate(b); };
  const int fastest = *std::min_element(striking_.begin(), striking_.end(), slower);
  Blocks out;
  for (int i = 0; i < all_.blocks(); ++i) {
    const Law& law = all_.laws[i];
    const bool joint = law.kind == LawKind::equality && !is_soft(law);
    const bool touches =
        is_rigid_contact(law) && all_.g[all_.J.row_start[i]] <= o.contact_tolerance;
    const bool one = o.impact_order == ImpactOrder::sequential;
    if (joint || (one ? i == fastest : touches)) out.push_back(i);
  }
  return out;
}

// By Poisson's law what is pressed without approaching gives back as well, if the blow is one.
std::vector<double> TrapezoidalLcpStepper::restitution_of(const Blocks& blocks) {
  std::vector<double> out(blocks.size(), 0.0);
  if (!kernel_.options.stepper.restitution) return out;
  bool blow = false;
  for (const int i : striking_) {
    const std::uint64_t id = all_.ids[i];
    auto hits =
        std::find_if(hits_.begin(), hits_.end(), [&](const auto& h) { return h.first == id; });
    if (hits == hits_.end()) hits = hits_.insert(hits_.end(), {id, 0});
    blow = blow ||
           (normal_rate(i) < -all_.laws[i].restitution_threshold && hits->second < most_rebounds);
  }
  for (std::size_t k = 0; blow && k < blocks.size(); ++k) {
    const std::uint64_t id = all_.ids[blocks[k]];
    const auto hits =
        std::find_if(hits_.begin(), hits_.end(), [&](const auto& h) { return h.first == id; });
    if (hits != hits_.end() && ++hits->second > most_rebounds) continue;
    if (is_rigid_contact(all_.laws[blocks[k]])) out[k] = all_.laws[blocks[k]].restitution;
  }
  return out;
}

void TrapezoidalLcpStepper::impact(State& state, double h, StepMemory& memory, StepReport& report) {
  const Blocks blocks = struck();
  event_ = kernel_.system.describe(all_, striking_.front());
  select_blocks(all_, blocks, kernel_.rows);
  impact_.solve(state, h, restitution_of(blocks), report);
  kernel_.follow_for(0);
  kernel_.audit(state, 0, memory, report);
  state.v = kernel_.v_after;
  kernel_.finish_audit_in_passing(state, memory, report);
  multiply(kernel_.rows.J, state.v, work_);
  for (std::size_t k = 0; k < blocks.size(); ++k) {
    if (std::find(striking_.begin(), striking_.end(), blocks[k]) == striking_.end()) continue;
    const int first = kernel_.rows.J.row_start[k];
    impacts_.push_back({.t = state.t,
                        .id = all_.ids[blocks[k]],
                        .approach = normal_rate(blocks[k]),
                        .after = work_[first] + kernel_.rows.g_t[first],
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
      if (!is_rigid_contact(rows.laws[k])) continue;
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
  const Vector a = k.problem.a;
  const auto twist = [&](const Vector& x) {
    Vector all, symmetric;
    multiply(general_, x, all);
    multiply(k.H(), x, symmetric);
    const double size = symmetric.norm();
    all -= symmetric;
    if (all.norm() <= 1e-14 * size) all.setZero();
    return all;
  };
  Vector turning = twist(state.v);
  const bool symmetric = turning.isZero(0);
  if (symmetric || k.has_polygons()) {
    if (!symmetric) k.H() = general_;
    k.solve(memory, report);
    ++report.newton_iterations;
  } else {
    Vector last = state.v;
    for (int round = 0; round < k.options.stepper.newton_iterations; ++round) {
      k.problem.a = a - turning;
      if (round == 0)
        k.solve(memory, report);
      else
        k.solve_on(report);
      ++report.newton_iterations;
      if ((k.v_after - last).norm() <= 1e-3 * k.options.solver.tolerance * k.v_after.norm()) break;
      last = k.v_after;
      turning = twist(last);
    }
    k.problem.a = a;
    k.H() = general_;
  }
  k.certify(state, report);
  mean_ = k.v_after;
}

// ---- Collisions within a step

// q̂ and its velocity: Hermite's cubic, of which the trapezoidal rule leaves a parabola.
void TrapezoidalLcpStepper::place(const State& state, double h, double time, State& out) const {
  const Vector change = trial_.v - state.v;
  const Vector delta = time * state.v + 0.5 * time * time / h * change;
  kernel_.system.add_increment(state.q, delta, out.q);
  out.v = state.v + time / h * change;
  out.t = state.t + time;
}

double TrapezoidalLcpStepper::gap_at(const State& state, double h, double time, int block) {
  place(state, h, time, probe_);
  kernel_.system.measure(probe_, probed_);
  return probed_.g[all_.J.row_start[block]];
}

// Illinois' variant of regula falsi (Dowell and Jarratt 1971), from a guess on. The gap is above
// its level at `low` and below it at `high`.
double TrapezoidalLcpStepper::refine(const State& state, double h, int block, double low,
                                     double high, double guess) {
  const double level = std::min(0.0, all_.g[all_.J.row_start[block]]);
  const double close = gap_rounding(state.q) / 4;
  double at_low = gap_at(state, h, low, block) - level;
  double at_high = gap_at(state, h, high, block) - level;
  double time = guess > low && guess < high ? guess : 0.5 * (low + high);
  int side = 0;
  for (int k = 0; k < 60 && high - low > 1e-15 * h; ++k) {
    const double gap = gap_at(state, h, time, block) - level;
    if (std::abs(gap) <= close) return time;
    // Twice on the same side: the other end of the chord is halved.
    if (gap > 0) {
      low = time;
      at_low = gap;
      if (side > 0) at_high *= 0.5;
      side = 1;
    } else {
      high = time;
      at_high = gap;
      if (side < 0) at_low *= 0.5;
      side = -1;
    }
    time = low + (high - low) * at_low / (at_low - at_high);
    if (!(time > low && time < high)) time = 0.5 * (low + high);
  }
  return time;
}

// Until when a step is looked at. Bodies that have gone through each other at its end are apart
// again there: then a time at which they were not, found by halving the way back to where their
// rate at the start would have made them touch.
double TrapezoidalLcpStepper::horizon(const State& state, double h) {
  constexpr int halvings = 20;
  passed_.start(all_, start_rate_, h);
  double until = h;
  for (const int i : passed_.find(kernel_.system, trial_)) {
    if (is_held_[i] != 0 || !is_rigid_contact(all_.laws[i])) continue;
    const int first = all_.J.row_start[i];
    const double meet = -all_.g[first] / start_rate_[first];
    double beyond = h - meet;
    for (int k = 0; k < halvings && beyond > 0; ++k, beyond *= 0.5) {
      if (meet + beyond >= until && k > 0) continue;
      if (gap_at(state, h, meet + beyond, i) >= 0) continue;
      until = std::min(until, meet + beyond);
      break;
    }
  }
  return until;
}

// The first time at which a contact that is none of the step's passes zero; h if none does.
double TrapezoidalLcpStepper::collision_time(const State& state, double h) {
  const double rounding = 1e-14 + gap_rounding(state.q);
  crossing_.clear();
  bool open = false;
  for (int i = 0; i < all_.blocks(); ++i)
    open = open || (is_held_[i] == 0 && is_rigid_contact(all_.laws[i]));
  if (!open) return h;
  double time = horizon(state, h);
  const double seen = time;
  place(state, h, time, probe_);
  kernel_.system.measure(time < h ? probe_ : trial_, probed_);
  end_gap_.resize(all_.blocks());
  for (int i = 0; i < all_.blocks(); ++i) {
    const int first = all_.J.row_start[i];
    end_gap_[i] = probed_.g[first];
    if (is_held_[i] != 0 || !is_rigid_contact(all_.laws[i])) continue;
    if (end_gap_[i] < std::min(0.0, all_.g[first]) - rounding) crossing_.push_back(i);
  }
  const auto above = [&](int i) { return std::max(0.0, all_.g[all_.J.row_start[i]]); };
  const auto guess = [&](int i) {
    const double level = std::min(0.0, all_.g[all_.J.row_start[i]]);
    return parabola_root(above(i), normal_rate(i), end_gap_[i] - level, seen);
  };
  while (!crossing_.empty()) {
    const auto later = [&](int a, int b) { return guess(a) < guess(b); };
    const int i = *std::min_element(crossing_.begin(), crossing_.end(), later);
    // From zero with a parting velocity the way back begins at the top.
    const double low = above(i) > rounding ? 0 : 0.5 * std::min(guess(i), time);
    time = refine(state, h, i, low, time, guess(i));
    gap_at(state, h, time, i);
    std::erase_if(crossing_, [&](int k) {
      const int first = all_.J.row_start[k];
      return k == i || !(probed_.g[first] < std::min(0.0, all_.g[first]) - rounding);
    });
  }
  return time;
}

// ---- The end of a part

// The motion that was solved for h, up to `time`. For the audit what was done is M v⁺ = a + Jᵀγ
// with forces in a.
void TrapezoidalLcpStepper::follow(State& state, double h, double time, StepMemory& memory,
                                   StepReport& report) {
  ImpulseKernel& k = kernel_;
  const State before = state;
  if (time >= h)
    state = trial_;
  else
    place(before, h, time, state);
  k.impulses *= std::min(1.0, time / h);
  k.v_after = state.v;
  k.system.mass(before, k.H());
  multiply(k.H(), state.v, k.problem.a);
  const Vector minus = -k.impulses;
  transpose_multiply_add(k.rows.J, minus, k.problem.a);
  k.follow_for(time);
  k.move_with_the_end();
  k.audit(before, theta_, memory, report);
  if (time >= h && k.options.stepper.drift_control == DriftControl::projection) project(state);
  k.system.accept(state);
  k.finish_audit(state, memory, report);
  k.remember(memory);
  rows_ = k.rows;
  impulses_ = k.impulses;
}

bool TrapezoidalLcpStepper::is_pressed(int block) const {
  const auto at = std::lower_bound(held_.begin(), held_.end(), block);
  if (at == held_.end() || *at != block) return false;
  return kernel_.impulses[kernel_.rows.J.row_start[at - held_.begin()]] > 0;
}

void TrapezoidalLcpStepper::project(State& state) {
  const auto is_rigid = [](const Law& law) {
    return is_rigid_contact(law) || (law.kind == LawKind::equality && !is_soft(law));
  };
  if (std::none_of(all_.laws.begin(), all_.laws.end(), is_rigid)) return;
  project_positions(state);
  project_velocities(state);
}

// Joints exactly; contacts that press likewise, others out of each other, both at the recovery
// speed at most: what overlaps at the start of a run is not thrown out.
void TrapezoidalLcpStepper::project_positions(State& state) {
  const StepperOptions& o = kernel_.options.stepper;
  std::vector<RowProjection::Row> wanted;
  constexpr int rounds = 3;
  for (int round = 0; round < rounds; ++round) {
    kernel_.system.measure(state, all_);
    wanted.clear();
    double worst = 0;
    for (int i = 0; i < all_.blocks(); ++i) {
      const Law& law = all_.laws[i];
      const int first = all_.J.row_start[i];
      if (holds_position(law)) {
        for (int r = first; r < first + law.dim; ++r) {
          wanted.push_back({i, r, true, all_.g[r]});
          worst = std::max(worst, std::abs(all_.g[r]));
        }
      } else if (is_rigid_contact(law)) {
        const double speed = law.recovery == Recovery::angular ? o.recovery_rate : o.recovery_speed;
        const double most = std::max(speed * step_, o.projection_tolerance);
        // Along a chord of a curved surface a pressed contact opens.
        const bool pressed = is_pressed(i);
        if (all_.g[first] > (pressed ? std::max(o.contact_tolerance, most) : 0)) continue;
        if (all_.g[first] < -most && round > 0) continue;
        const double off = std::max(all_.g[first], -most);
        wanted.push_back({i, first, pressed, off});
        worst = std::max(worst, std::abs(off));
      }
    }
    if (worst <= o.projection_tolerance) return;
    if (!projection_.solve(state, all_, wanted, increment_)) return;
    kernel_.system.add_increment(state.q, increment_, state.q);
  }
}

// What a step with conditions on the mean velocity leaves changes its sign in the next: joints and
// pressed contacts have no rate, what sticks does not slip, what touches does not approach.
void TrapezoidalLcpStepper::project_velocities(State& state) {
  all_.horizon = 0;
  kernel_.system.measure(state, all_);
  multiply(all_.J, state.v, work_);
  std::vector<RowProjection::Row> wanted;
  double worst = 0;
  const auto want = [&](int i, int r, bool holds) {
    const double off = work_[r] + all_.g_t[r];
    wanted.push_back({i, r, holds, off});
    worst = std::max(worst, holds ? std::abs(off) : -off);
  };
  for (int i = 0; i < all_.blocks(); ++i) {
    const Law& law = all_.laws[i];
    const int first = all_.J.row_start[i];
    if (law.kind == LawKind::equality && !is_soft(law)) {
      for (int r = first; r < first + law.dim; ++r) want(i, r, true);
    } else if (is_rigid_contact(law) && is_pressed(i)) {
      want(i, first, true);
      const auto at = std::lower_bound(held_.begin(), held_.end(), i) - held_.begin();
      const auto p = kernel_.impulses.segment(kernel_.rows.J.row_start[at], law.dim);
      if (law.kind != LawKind::coulomb || law.dim > 3) continue;
      const double slip = kernel_.rows.laws[at].friction * p[0];
      if (!(p.tail(law.dim - 1).norm() < (1 - 1e-6) * slip)) continue;
      for (int r = first + 1; r < first + law.dim; ++r) want(i, r, true);
    }
  }
  if (worst <= 1e-15 * largest(state.v)) return;
  if (projection_.solve(state, all_, wanted, increment_)) state.v += increment_;
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
  const double time = last_resort ? h : collision_time(state, h);
  follow(state, h, time, memory, report);
  report.timings.advance += clock.lap();
  return {};
}

StepOutcome TrapezoidalLcpStepper::step(State& state, double h, StepMemory& memory,
                                        StepReport& report) {
  const double start = state.t, goal = state.t + h;
  State now = state;
  StepMemory kept = memory;
  hits_.clear();
  impacts_.clear();
  bool first = true;
  bool hit = false;
  int impacts = 0;
  step_ = h;
  const auto add = [&](const StepReport& part) {
    report = first ? part : joined(report, part);
    first = false;
  };
  const auto finish = [&](StepOutcome outcome) {
    state = now;
    memory = kept;
    problems_ = report.newton_iterations;
    return outcome;
  };
  for (;;) {
    const double left = goal - now.t;
    StepReport part;
    part.t = now.t;
    Stopwatch clock;
    // An impact makes other velocities than those that the last part left.
    before_ = hit ? nullptr : &kept;
    look(now, left);
    part.timings.rows = clock.lap();
    const bool last_resort = impacts >= most_impacts;
    if (!striking_.empty() && !last_resort) {
      impact(now, left, kept, part);
      part.timings.solve = clock.lap();
      add(part);
      ++impacts;
      hit = true;
      continue;
    }
    if (!impacts_.empty() && now.t > start && kernel_.options.stepper.end_at_impacts) {
      return finish({.status = StepStatus::event, .t = now.t, .event = "impact: " + event_});
    }
    const std::string trouble = advance(now, left, last_resort, kept, part);
    if (!trouble.empty()) return {StepStatus::failed, start, {}, trouble};
    add(part);
    hit = false;
    if (goal - now.t > crumb * h) continue;
    now.t = goal;
    return finish({.t = goal});
  }
}

}  // namespace urto
