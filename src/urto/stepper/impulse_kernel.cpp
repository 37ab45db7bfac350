#include "urto/stepper/impulse_kernel.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace urto {

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

namespace {

// What a thread takes at once.
constexpr int blocks_at_a_time = 256;

// The same in the space of all velocities.
constexpr int numbers_at_a_time = 8192;

void copy(ThreadPool& threads, const double* from, Eigen::Index count, double* to) {
  threads.share(static_cast<int>(count), numbers_at_a_time, [&](int, int first, int last) {
    std::copy(from + first, from + last, to + first);
  });
}

void assign(ThreadPool& threads, const Vector& from, Vector& to) {
  if (to.size() != from.size()) to.resize(from.size());
  copy(threads, from.data(), from.size(), to.data());
}

void assign(ThreadPool& threads, const BlockRows& from, BlockRows& to) {
  to.columns = from.columns;
  to.row_start = from.row_start;
  to.entry_start = from.entry_start;
  to.entries = from.entries;
  to.values.resize(from.values.size());
  copy(threads, from.values.data(), static_cast<Eigen::Index>(from.values.size()),
       to.values.data());
}

struct SolveCounts {
  int sweeps = 0, guessed = 0, handed_on = 0;
  int iterations = 0, outer_iterations = 0, factorizations = 0, bad_starts = 0;
  LinearCounters linear = {};
};

SolveCounts counts_of(const StepSolveReport& r) {
  return {.sweeps = r.sweeps,
          .guessed = r.guessed,
          .handed_on = r.handed_on,
          .iterations = r.iterations,
          .outer_iterations = r.outer_iterations,
          .factorizations = r.factorizations,
          .bad_starts = r.bad_starts,
          .linear = r.linear};
}

void add(const SolveCounts& c, StepSolveReport& r) {
  r.sweeps += c.sweeps;
  r.guessed += c.guessed;
  r.handed_on += c.handed_on;
  r.iterations += c.iterations;
  r.outer_iterations += c.outer_iterations;
  r.factorizations += c.factorizations;
  r.bad_starts += c.bad_starts;
  r.linear += c.linear;
}

// A hash, to compare which contacts carry load in two steps: the sum of theirs, whatever there is
// between them (finaliser of splitmix64: Steele, Lea and Flood 2014).
std::uint64_t scrambled(std::uint64_t id, std::uint8_t rebounds) {
  std::uint64_t z = (id ^ (rebounds * 0xD6E8FEB86659FD93ULL)) + 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31U);
}

}  // namespace

ImpulseKernel::ImpulseKernel(const System& mechanics, const SimulationOptions& wanted)
    : threads(wanted.threads),
      system(mechanics),
      options(wanted),
      solver_(make_solver(wanted.solver.solver)),
      solver_options_(wanted.solver),
      auditor_(mechanics) {
  if (options.stepper.friction_bound == FrictionBound::polygon)
    law.edges = options.stepper.friction_edges;
  solver_options_.friction = options.stepper.friction;
  solver_options_.threads = options.threads;
  solver_options_.islands = options.islands;
  solver_options_.settle = false;
  InteriorPointOptions& ipm = solver_options_.interior_point;
  if (ipm.warm_start == InteriorPointOptions::WarmStart::partial) ipm.start_velocity = &v_before;
  system.use_threads(threads);
  solver_->use_threads(threads);
  certifier_.use_threads(threads);
  auditor_.use_threads(threads);
}

void ImpulseKernel::begin_rows(double h) {
  h_ = h;
  problem.K.sets.resize(rows.blocks());
  problem.K.start = rows.J.row_start;
  share_items(&threads, rows.blocks(), blocks_at_a_time,
              [&](int i) { problem.K.sets[i] = set_of(rows.laws[i], h); });
  if (problem.b.size() != rows.rows()) problem.b.resize(rows.rows());
  compliance.assign(rows.rows(), 0.0);
  push.assign(rows.blocks(), 0.0);
  rebounds_.assign(rows.blocks(), 0);
  rebound_rows_.clear();
  rate_before_known_ = rates_known_ = false;
}

void ImpulseKernel::add_pull(int block) {
  const BlockRows& J = rows.J;
  const double impulse = h_ * pull(rows.laws[block], rows.g[J.row_start[block]]);
  if (impulse == 0) return;
  for (int e = J.entry_start[block]; e < J.entry_start[block + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    const double* normal = J.values.data() + entry.offset;
    for (int c = 0; c < entry.width; ++c) problem.a[entry.column + c] -= impulse * normal[c];
  }
}

void ImpulseKernel::finish_problem() {
  set_compliance(problem, compliance);
  assign(threads, rows.J, problem.J);
  if (v_after.size() != system.nv()) v_after.resize(system.nv());
}

void ImpulseKernel::solve(const StepMemory& memory, StepReport& report) {
  solved_ = false;
  finish_problem();
  solve_again(memory, report);
}

void ImpulseKernel::solve_again(const StepMemory& memory, StepReport& report) {
  for (Rebound& r : rebound_rows_) {
    const int first = rows.J.row_start[r.block];
    r.search = {};
    r.share = 1;
    r.island = 0;
    problem.b[first] = std::min(r.plain, rows.g_t[first] + r.restitution * r.approach);
  }
  recall(memory, rows, h_, impulses);
  solve_on(report);
}

void ImpulseKernel::solve_on(StepReport& report) {
  run_solver(report);
  limit_rebounds(report);
  whole_ = false;
  rates_known_ = false;
}

// What was done counts for the step, however many problems it posed; status, message and history
// are the last one's.
void ImpulseKernel::run_solver(StepReport& report) {
  StepSolveReport& r = report.solve;
  const SolveCounts before = solved_ ? counts_of(r) : SolveCounts{};
  if (has_polygons())
    polyhedral_.solve(problem, law, solver_options_, v_after, impulses, r);
  else
    solver_->solve(problem, solver_options_, v_after, impulses, r);
  add(before, r);
  solved_ = true;
}

void ImpulseKernel::move_with_the_end() {
  assign(threads, v_after, v_move);
  assign(threads, impulses, move_impulses);
  whole_ = true;
  rates_known_ = false;
}

// What the impulses of a block do, row by row: exactly p·½(v + v⁺) of the kinetic energy, g_t
// besides. Those that move the bodies act first, from v_before to v_move, the rest from there to
// v_after.
std::array<double, max_block> ImpulseKernel::work(int block) const {
  const Vector& after = whole_ ? rate_move_ : rate_after_;
  std::array<double, max_block> out{};
  for (int k = 0; k < rows.laws[block].dim; ++k) {
    const int r = rows.J.row_start[block] + k;
    const double p = move_impulses[r];
    const double rest = impulses[r] - p;
    out[k] = 0.5 * (p * (rate_before_[r] + rate_move_[r]) + rest * (rate_move_[r] + after[r])) +
             impulses[r] * rows.g_t[r];
  }
  return out;
}

void ImpulseKernel::measure_rates() {
  if (!rate_before_known_) multiply(rows.J, v_before, rate_before_, &threads);
  if (!rates_known_) multiply(rows.J, v_move, rate_move_, &threads);
  if (!rates_known_ && !whole_) multiply(rows.J, v_after, rate_after_, &threads);
  rate_before_known_ = rates_known_ = true;
}

double ImpulseKernel::joint_work() {
  measure_rates();
  double sum = 0;
  for (int i = 0; i < rows.blocks(); ++i) {
    if (!holds_position(rows.laws[i])) continue;
    const std::array<double, max_block> w = work(i);
    for (int r = 0; r < rows.laws[i].dim; ++r) sum += w[r];
  }
  return sum;
}

// b has g/h in it, and g is a difference of positions: known to a rounding error of those at best.
void ImpulseKernel::certify(const State& state, StepReport& report) {
  certifier_.use_law(law);
  const double terms_of_b = state.q.lpNorm<Eigen::Infinity>() / h_;
  certifier_.certify(problem, v_after, impulses, options.stepper.friction, report.certificate,
                     terms_of_b);
  report.meets_tolerance = report.certificate.meets(options.solver.tolerance);
}

void ImpulseKernel::audit(const State& state, double late, const StepMemory& memory,
                          StepReport& report) {
  report.h = h_;
  const ContactCounts counts = share_sum(&threads, rows.blocks(), blocks_at_a_time, counts_,
                                         [&](int first, int last) { return count(first, last); });
  report.penetration = counts.penetration;
  report.early_rebound = counts.early_rebound;
  report.contacts = counts.contacts;
  report.active = counts.active;
  report.active_set = counts.active_set;
  measure_rates();
  auditor_.add(state,
               {.rows = rows,
                .problem = problem,
                .rate_before = rate_before_,
                .rate_move = rate_move_,
                .rate_after = whole_ ? rate_move_ : rate_after_,
                .v_before = v_before,
                .v_move = v_move,
                .v_after = v_after,
                .move_impulses = move_impulses,
                .impulses = impulses,
                .whole = whole_,
                .push = push,
                .h = h_,
                .late = late,
                .reach = reach},
               memory, report);
}

void ImpulseKernel::finish_audit_in_passing(const State& state, StepMemory& memory,
                                            StepReport& report) {
  StepMemory passing = memory;
  auditor_.finish(state, passing, report);
  EnergyAuditor::pass_on(passing, memory);
}

ImpulseKernel::ContactCounts ImpulseKernel::count(int first, int last) const {
  ContactCounts counts;
  for (int i = first; i < last; ++i) {
    const Law& law = rows.laws[i];
    if (law.kind != LawKind::unilateral && law.kind != LawKind::coulomb) continue;
    const int row = rows.J.row_start[i];
    ++counts.contacts;
    if (!is_soft(law)) counts.penetration = std::max(counts.penetration, -rows.g[row]);
    if (impulses[row] <= 0) continue;
    ++counts.active;
    if (rebounds_[i] != 0)
      counts.early_rebound = std::max(counts.early_rebound, std::abs(rows.g[row]));
    counts.active_set += scrambled(rows.ids[i], rebounds_[i]);
  }
  return counts;
}

ImpulseKernel::ContactCounts& ImpulseKernel::ContactCounts::operator+=(const ContactCounts& c) {
  penetration = std::max(penetration, c.penetration);
  early_rebound = std::max(early_rebound, c.early_rebound);
  contacts += c.contacts;
  active += c.active;
  active_set += c.active_set;
  return *this;
}

}  // namespace urto
