#include "urto/stepper/energy_audit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "urto/stepper/projection.h"

namespace urto {
namespace {

constexpr std::string_view audit_array = "energy_audit";
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::size_t moment_numbers = 6;
constexpr int at_a_time = 512;  // rows or blocks that a thread takes at once

bool is_motor(const Interactions& rows, int block) {
  return rows.origins[block].kind == Origin::motor && !is_soft(rows.laws[block]);
}

bool stores_one_sided(const Law& law) {
  return law.kind != LawKind::equality && (is_soft(law) || law.cohesion > 0);
}

// A soft row stores ½k g², a one-sided one while it overlaps; a pull of c that ends at the gap r is
// a well of the depth c r.
double stored_in(const Law& law, double g) {
  if (law.kind == LawKind::equality) return is_soft(law) ? 0.5 * law.stiffness * g * g : 0;
  const double overlap = std::min(g, 0.0);
  const double spring = is_soft(law) ? 0.5 * law.stiffness * overlap * overlap : 0;
  return spring - law.cohesion * std::clamp(law.cohesion_range - g, 0.0, law.cohesion_range);
}

double stored_in(const Interactions& rows, int block) {
  const Law& law = rows.laws[block];
  const int first = rows.J.row_start[block];
  const int rows_with_gaps = law.kind == LawKind::equality ? law.dim : 1;
  double sum = 0;
  for (int r = 0; r < rows_with_gaps; ++r) sum += stored_in(law, rows.g[first + r]);
  return sum;
}

double stored_in(const Interactions& rows, bool equalities) {
  double sum = 0;
  for (int i = 0; i < rows.blocks(); ++i) {
    if ((rows.laws[i].kind == LawKind::equality) == equalities) sum += stored_in(rows, i);
  }
  return sum;
}

}  // namespace

double stored_in_joints(const Interactions& rows) {
  return stored_in(rows, true);
}

// ---- Steppers with impulses

// What the last step left, null at the start of a run or if it is of something else.
const std::vector<double>* EnergyAuditor::find_kept(const StepMemory& memory) {
  const std::vector<double>* kept = memory.arrays.find(audit_array);
  const bool found =
      memory.h > 0 && kept != nullptr && kept->size() == 1 + 2 * memory.lambda.size();
  known_step_ = found ? memory.h : 0;
  return found ? kept : nullptr;
}

// Of the last step, by id: the rate that each row ended with, and where its gap was to be. Rows of
// joints need neither.
void EnergyAuditor::recall_block(const Interactions& rows, int block, const StepMemory& memory,
                                 const std::vector<double>& kept, std::size_t& next) {
  const LawKind kind = rows.laws[block].kind;
  if (kind == LawKind::equality && !is_motor(rows, block)) return;
  const StepMemory::Item* at = memory.find(rows.ids[block], rows.laws[block].dim, next);
  if (at == nullptr) return;
  // What did not touch has flown on, and how its approach has changed is what it is.
  const bool contact = kind == LawKind::unilateral || kind == LawKind::coulomb;
  if (contact && !(memory.lambda[at->start] > 0)) return;
  const std::size_t n = memory.lambda.size();
  for (int r = 0; r < at->dim; ++r) {
    known_[rows.J.row_start[block] + r] = kept[1 + at->start + r];
    predicted_[rows.J.row_start[block] + r] = kept[1 + n + at->start + r];
  }
}

// A rigid row is asked to end with −g_t; that it removes its g besides is the scheme's doing.
void EnergyAuditor::keep_block(const Impulses& step, int block) {
  const Interactions& rows = step.rows;
  const std::size_t n = rows.rows();
  const bool holds = holds_position(rows.laws[block]);
  for (int r = rows.J.row_start[block]; r < rows.J.row_start[block + 1]; ++r) {
    kept_[1 + r] = (holds ? 0 : rate_after(step, r)) - rows.g_t[r];
    kept_[1 + n + r] = rows.g[r] + step.h * rate_move(step, r);
  }
}

// One look at each row: what it stores, what its impulses do, what the next step will want to know.
EnergyAuditor::Sums EnergyAuditor::add_blocks(const Impulses& step, const StepMemory& memory,
                                              const std::vector<double>* kept, int first,
                                              int last) {
  const Interactions& rows = step.rows;
  Sums sums;
  std::size_t next = 0;
  for (int i = first; i < last; ++i) {
    sums.stored += stored_in(rows, i);
    sums.equalities = sums.equalities || rows.laws[i].kind == LawKind::equality;
    sums.one_sided_stores = sums.one_sided_stores || stores_one_sided(rows.laws[i]);
    for (int r = rows.J.row_start[i]; r < rows.J.row_start[i + 1]; ++r) {
      known_[r] = predicted_[r] = unknown;
      sums.work += row_work(step, r) - step.impulses[r] * rows.g_t[r];
    }
    if (kept != nullptr) recall_block(rows, i, memory, *kept, next);
    add_block(step, i, sums.flow);
    keep_block(step, i);
  }
  return sums;
}

// What rows store that are no part of the step, too.
void EnergyAuditor::add_reach(const Interactions& reach, Sums& sums) {
  sums.stored = stored_in(reach, true) + stored_in(reach, false);
  sums.one_sided_stores =
      sums.one_sided_stores || std::any_of(reach.laws.begin(), reach.laws.end(), stores_one_sided);
}

// What impulses do to the kinetic energy, less the kinetic energy after them. Of an impulse
// p = M(v⁺ − v) that is p·½(v + v⁺) − ½v⁺·Mv⁺ = −½v·Mv, whether it came in one part or, in an
// impact, in two: so it remains to say what the rows did, `work`, and what M(v⁺ − v) is not: forces
// that act implicitly, and the solver's residual.
double EnergyAuditor::given_by_impulses(const Impulses& step, double work) {
  const BlockMatrix& H = std::get<BlockMatrix>(step.problem.H);
  multiply(mass_, step.v_before, work_, threads_);
  double given = work - 0.5 * work_.dot(step.v_before);
  multiply(H, step.v_move, work_, threads_);
  given += mean_.dot(step.problem.a - work_);
  if (step.whole) return given;
  change_ = step.v_after - step.v_move;
  multiply(H, change_, work_, threads_);
  return given - 0.5 * (step.v_move + step.v_after).dot(work_);
}

// γ ū: negative where energy is lost. In an impact p takes a row from `before` to `move`, γ − p
// from there to `after`.
double EnergyAuditor::row_work(const Impulses& step, int row) const {
  const double all = step.impulses[row];
  const double before = rate_before(step, row), after = rate_after(step, row);
  if (step.whole) return 0.5 * all * (before + after);
  const double p = step.move_impulses[row], move = rate_move(step, row);
  return 0.5 * (p * (before + move) + (all - p) * (move + after));
}

// The rate for which ½γ(before + late) is the work of both parts of γ: in impacts not that after.
double EnergyAuditor::late(const Impulses& step, int row) const {
  const double all = step.impulses[row];
  if (step.whole || all == 0) return rate_after(step, row);
  return 2 * row_work(step, row) / all - rate_before(step, row);
}

// A damper's impulse is −hD((1 − θ)v + θv⁺), implicit with θ = 1; its power P(v) = vᵀDv is all we
// can ask for, and v̄ᵀD((1 − θ)v + θv⁺) = P(v̄) + ¼(2θ − 1)(P(v⁺) − P(v)).
void EnergyAuditor::add_forces(const State& state, const Impulses& step, EnergyFlow& flow) {
  if (!system_.has_powers()) return;
  probe_ = state;
  probe_.v = step.v_before;
  const double before = system_.powers(probe_).dissipated;
  probe_.v = step.v_move;
  const double after = system_.powers(probe_).dissipated;
  probe_.v = mean_;
  const Powers mean = system_.powers(probe_);
  flow.damping += step.h * (mean.dissipated + 0.25 * (2 * step.late - 1) * (after - before));
  flow.friction += step.h * mean.friction;
  flow.supplied += step.h * mean.supplied;
}

// What an inelastic clutch loses when the speed that a rigid row is to follow jumps. A corner
// within the last step has left a g besides, whose removal is the scheme's part of the blow.
double EnergyAuditor::lost_in_jump(const Impulses& step, int row, double jump) const {
  const double blow = jump - late(step, row);
  const double share = blow != 0 ? std::clamp(jump / blow, 0.0, 1.0) : 0;
  return -0.5 * share * step.impulses[row] * jump;
}

// A motor is a shaft that turns as it should and a clutch to the joint: what slips in the clutch is
// lost in the drive. That the shaft changes its speed smoothly is no slip: only what the function's
// own rate (jdot_v of its row) does not explain is a jump.
void EnergyAuditor::add_drive(const Impulses& step, int row, const Law& law,
                              EnergyFlow& flow) const {
  const double impulse = step.impulses[row];
  const double g_t = step.rows.g_t[row], gains = step.rows.jdot_v[row];
  const double had = std::isnan(known_[row]) ? rate_before(step, row) - g_t : known_[row];  // J v
  if (holds_position(law)) {
    flow.supplied -= impulse * g_t;
    flow.drive += lost_in_jump(step, row, had + g_t - known_step_ * gains);
    return;
  }
  // The speed wanted is that at the end of the step.
  flow.supplied -= impulse * (g_t - 0.5 * step.h * gains);
  flow.drive -= 0.5 * impulse * (had + g_t - step.h * gains + late(step, row));
}

// What a soft row does beyond its spring, whose impulse is −hk g⁺ with g⁺ = g + h u⁺, is its
// damper's: also where a one-sided damper may not pull, and the surfaces relax by themselves.
void EnergyAuditor::add_spring(const Impulses& step, int block, EnergyFlow& flow) const {
  const Interactions& rows = step.rows;
  const Law& law = rows.laws[block];
  const bool equality = law.kind == LawKind::equality;
  const int first = rows.J.row_start[block];
  for (int r = first; r < first + (equality ? law.dim : 1); ++r) {
    const double after = rows.g[r] + step.h * rate_after(step, r);
    const double spring = -step.h * law.stiffness * (equality ? after : std::min(after, 0.0));
    const double mean = 0.5 * (rate_before(step, r) + late(step, r));
    if (equality) {
      flow.damping += step.h * law.damping * rate_after(step, r) * mean;
    } else if (rows.g[r] <= 0) {
      flow.damping -= (step.impulses[r] - spring) * mean;
    }
  }
}

// Rigid joints do no work but what the scheme makes of their error, except when they begin with
// velocities that they do not allow: that is an impact; and when a kinematic body on them jumps in
// velocity, which is the clutch of a motor.
void EnergyAuditor::add_joint(const Impulses& step, int block, EnergyFlow& flow) const {
  const Interactions& rows = step.rows;
  const Law& law = rows.laws[block];
  for (int r = rows.J.row_start[block]; r < rows.J.row_start[block + 1]; ++r) {
    if (is_motor(rows, block)) {
      add_drive(step, r, law, flow);
      continue;
    }
    flow.supplied -= step.impulses[r] * rows.g_t[r];
    if (jumped_ && holds_position(law)) flow.drive += lost_in_jump(step, r, jumps_[r]);
    if (known_step_ == 0 && !is_soft(law))
      flow.impact -= 0.5 * step.impulses[r] * rate_before(step, r);
  }
  if (is_soft(law)) add_spring(step, block, flow);
}

// How much of a contact's approach, or of its parting, came from its surfaces' curvature: the
// normal turned while the bodies moved, which is no motion of theirs. A turning by κh in a step of
// h leaves the gap ½κh² beside where it was to be; an edge that is met does not.
double EnergyAuditor::turned(const Impulses& step, int row) const {
  if (std::isnan(known_[row])) return 0;
  const double turn = rate_before(step, row) - step.rows.g_t[row] - known_[row];
  const double chord = 2 * (step.rows.g[row] - predicted_[row]) / known_step_;
  if (turn < 0) return std::min(0.0, std::max(turn, chord));
  return std::max(0.0, std::min(turn, chord));
}

// The normal impulse of a rigid contact or limit, less what curvature makes of it, which is the
// scheme's. Pushed apart at the speed w, bodies are given γ w at most. A contact that others hit
// passes on some of what they lose: its impact is negative, that of all together is not.
void EnergyAuditor::add_normal(const Impulses& step, int block, EnergyFlow& flow) const {
  const int row = step.rows.J.row_start[block];
  const double impulse = step.impulses[row];
  const double work = row_work(step, row);
  const double curved = 0.5 * impulse * turned(step, row);
  if (work > 0) {
    const double pushed = std::min(work, impulse * step.push[block]);
    flow.recovery += pushed;
    flow.impact -= std::max(0.0, work - pushed - std::max(0.0, curved));
  } else {
    flow.impact += std::max(0.0, std::min(0.0, curved) - work);
  }
}

void EnergyAuditor::add_block(const Impulses& step, int block, EnergyFlow& flow) const {
  const Interactions& rows = step.rows;
  const Law& law = rows.laws[block];
  const int first = rows.J.row_start[block];
  if (law.kind == LawKind::equality) return add_joint(step, block, flow);
  if (law.kind == LawKind::box && is_motor(rows, block)) return add_drive(step, first, law, flow);
  int tangential = first;
  if (law.kind != LawKind::box) {
    ++tangential;
    const double pulled = step.h * pull(law, rows.g[first]);
    flow.supplied -= (step.impulses[first] - pulled) * rows.g_t[first];
    if (is_soft(law)) {
      add_spring(step, block, flow);
    } else {
      add_normal(step, block, flow);
    }
  }
  for (int r = tangential; r < rows.J.row_start[block + 1]; ++r) {
    flow.friction -= row_work(step, r);
    flow.supplied -= step.impulses[r] * rows.g_t[r];
  }
}

void EnergyAuditor::add(const State& state, const Impulses& step, const StepMemory& memory,
                        StepReport& report) {
  const Interactions& rows = step.rows;
  mean_ = 0.5 * (step.v_before + step.v_move);
  const std::vector<double>* kept = find_kept(memory);
  known_.resize(rows.rows());
  predicted_.resize(rows.rows());
  kept_.resize(1 + 2 * rows.rows());
  jumped_ = known_step_ > 0 && system_.rate_jumps(state, known_step_, rows, jumps_);
  Sums sums = share_sum(threads_, rows.blocks(), at_a_time, sums_, [&](int first, int last) {
    return add_blocks(step, memory, kept, first, last);
  });
  const Interactions& reach = step.reach != nullptr ? *step.reach : rows;
  if (step.reach != nullptr) add_reach(reach, sums);
  report.stored_before = sums.stored;
  stored_ = kept != nullptr ? kept->front() : sums.stored;
  potential_ = system_.energies(state).potential;
  system_.mass(state, mass_);
  given_ = given_by_impulses(step, sums.work);
  report.energy = sums.flow;
  add_forces(state, step, report.energy);
  keep_rows(rows, reach, sums);
}

// What `finish` will measure again.
void EnergyAuditor::keep_rows(const Interactions& rows, const Interactions& reach,
                              const Sums& sums) {
  same_equalities_ = sums.equalities ? keep_equalities(rows) : end_rows_.blocks() == 0;
  if (sums.one_sided_stores) {
    soft_rows_ = reach;
  } else if (soft_rows_.blocks() > 0) {
    soft_rows_.clear(rows.J.columns);
  }
}

// Whether the equalities kept from the end of the last step are those of this one; their laws are
// then brought up to date.
bool EnergyAuditor::keep_equalities(const Interactions& rows) {
  int kept = 0;
  for (int i = 0; i < rows.blocks(); ++i) {
    const Law& law = rows.laws[i];
    if (law.kind != LawKind::equality || law.on_velocity) continue;
    if (kept == end_rows_.blocks() || end_rows_.ids[kept] != rows.ids[i]) return false;
    end_rows_.laws[kept++] = law;
  }
  return kept == end_rows_.blocks();
}

void EnergyAuditor::finish(const State& state, StepMemory& memory, StepReport& report) {
  const Energies now = system_.energies(state);
  // Mostly those of the last step: only their numbers are new.
  if (!same_equalities_) system_.detect(state, {.equalities_only = true}, end_rows_);
  end_rows_.gaps_only = true;
  system_.measure(state, end_rows_);
  report.joint_error = joint_error(end_rows_);
  report.stored = stored_in(end_rows_, true);
  if (soft_rows_.blocks() > 0) {
    system_.measure(state, soft_rows_);
    report.stored += stored_in(soft_rows_, false);
  }
  report.energy.defect = 0;
  report.energy.defect = given_ + now.kinetic + now.potential - potential_ + report.stored -
                         stored_ - report.energy.sum();
  report.audited = true;
  kept_[0] = report.stored;
  memory.arrays.at(audit_array).swap(kept_);
}

void EnergyAuditor::pass_on(const StepMemory& passing, StepMemory& memory) {
  const std::vector<double>* from = passing.arrays.find(audit_array);
  if (from == nullptr || memory.arrays.find(audit_array) == nullptr) return;
  std::vector<double>& to = memory.arrays.at(audit_array);
  if (!from->empty() && !to.empty()) to.front() = from->front();
}

void EnergyAuditor::displace(const State& from, const State& to, StepMemory& memory,
                             StepReport& report) {
  if (!report.audited) return;
  const Energies before = system_.energies(from), after = system_.energies(to);
  system_.interactions(to, {}, end_rows_);
  const double held = stored_in(end_rows_, true) + stored_in(end_rows_, false);
  report.energy.defect +=
      after.kinetic + after.potential + held - before.kinetic - before.potential - report.stored;
  report.stored = held;
  report.joint_error = joint_error(end_rows_);
  memory.arrays.at(audit_array).at(0) = held;
}

// ---- Smooth steppers

void EnergyAuditor::look(const State& state, const Motion& at, Moment& out) {
  out.energies = system_.energies(state);
  out.powers = system_.powers(state);
  out.stored = stored_in_joints(at.rows);
  out.lambda = at.lambda;
  out.rate = at.rate;
  out.g_t = Eigen::Map<const Vector>(at.rows.g_t.data(), at.rows.rows());
}

void EnergyAuditor::start(const State& state, const Motion& at, StepReport& report) {
  look(state, at, now_);
  report.stored_before = now_.stored;
}

bool EnergyAuditor::recall(const StepMemory& memory) {
  const std::vector<double>* kept = memory.arrays.find(audit_array);
  const std::size_t n = memory.lambda.size();
  if (!(memory.h > 0) || kept == nullptr || kept->size() != moment_numbers + 2 * n) return false;
  const double* at = kept->data();
  now_.stored = at[0];
  now_.energies = {.kinetic = at[1], .potential = at[2]};
  now_.powers = {.dissipated = at[3], .supplied = at[4], .friction = at[5]};
  const auto rows = static_cast<Eigen::Index>(n);
  now_.rate = Eigen::Map<const Vector>(at + moment_numbers, rows);
  now_.g_t = Eigen::Map<const Vector>(at + moment_numbers + n, rows);
  now_.lambda = Eigen::Map<const Vector>(memory.lambda.data(), rows) / memory.h;
  return true;
}

void EnergyAuditor::remember(StepMemory& memory) const {
  std::vector<double>& out = memory.arrays.at(audit_array);
  out.assign({now_.stored, now_.energies.kinetic, now_.energies.potential, now_.powers.dissipated,
              now_.powers.supplied, now_.powers.friction});
  for (const Vector* v : {&now_.rate, &now_.g_t}) out.insert(out.end(), v->begin(), v->end());
}

// The impulse of a row is h((1 − θ)λ + θλ⁺), its work that with the mean of both rates, as for
// impulses: exact of a spring and damper by the θ-method, and of second order at θ = ½.
void EnergyAuditor::add_rows(const Motion& part, EnergyFlow& flow) const {
  const double early = 1 - part.late;
  for (int i = 0; i < part.rows.blocks(); ++i) {
    const Law& law = part.rows.laws[i];
    for (int r = part.rows.J.row_start[i]; r < part.rows.J.row_start[i + 1]; ++r) {
      const double impulse = part.h * (early * now_.lambda[r] + part.late * next_.lambda[r]);
      const double rate = 0.5 * (now_.rate[r] + next_.rate[r]);
      flow.supplied -= 0.5 * impulse * (now_.g_t[r] + next_.g_t[r]);
      if (law.on_velocity && is_motor(part.rows, i)) flow.drive -= impulse * rate;
      if (is_soft(law)) {
        flow.damping +=
            part.h * law.damping * (early * now_.rate[r] + part.late * next_.rate[r]) * rate;
      }
    }
  }
}

void EnergyAuditor::add(const State& state, const Motion& part, StepReport& report) {
  look(state, part, next_);
  // Where rows came or went, those of the end stand for both.
  if (now_.lambda.size() != next_.lambda.size() || now_.rate.size() != next_.rate.size()) {
    now_.lambda = next_.lambda;
    now_.rate = next_.rate;
    now_.g_t = next_.g_t;
  }
  EnergyFlow flow;
  flow.supplied = 0.5 * part.h * (now_.powers.supplied + next_.powers.supplied);
  flow.friction = 0.5 * part.h * (now_.powers.friction + next_.powers.friction);
  flow.damping = 0.5 * part.h * (now_.powers.dissipated + next_.powers.dissipated);
  add_rows(part, flow);
  system_.mass(state, mass_);
  multiply(mass_, part.v_claimed, work_);
  flow.defect = 0.5 * work_.dot(part.v_claimed) - now_.energies.kinetic + next_.energies.potential -
                now_.energies.potential + next_.stored - now_.stored - flow.sum();
  report.energy += flow;
  report.stored = next_.stored;
  report.joint_error = joint_error(part.rows);
  report.audited = true;
  std::swap(now_, next_);
}

}  // namespace urto
