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

// Of the share of restitution, and of the work relative to that of stopping the approach.
constexpr double rebound_accuracy = 1e-6;

// How much less than Newton's law asks is limited without doubt.
constexpr double limited_from = 0.01;

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

void set_mean(ThreadPool& threads, const Vector& a, const Vector& b, Vector& mean) {
  if (mean.size() != a.size()) mean.resize(a.size());
  threads.share(static_cast<int>(a.size()), numbers_at_a_time, [&](int, int first, int last) {
    for (int k = first; k < last; ++k) mean[k] = 0.5 * (a[k] + b[k]);
  });
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

// FNV-1a, to compare which contacts carry load in two steps.
void mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 1099511628211ULL;
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

// The normal velocity of a block before the step.
double ImpulseKernel::approach_of(int block) const {
  std::array<double, max_block> u{};
  multiply_add_block(rows.J, block, v_before.data(), u.data());
  return u[0] + rows.g_t[rows.J.row_start[block]];
}

bool ImpulseKernel::wants_rebound(int block) const {
  const Law& law = rows.laws[block];
  return law.restitution > 0 && options.stepper.restitution && law.kind != LawKind::equality &&
         approach_of(block) < -law.restitution_threshold;
}

void ImpulseKernel::add_rebound(int block) {
  if (!wants_rebound(block)) return;
  const double approach = approach_of(block);
  if (rows.g[rows.J.row_start[block]] + h_ * approach <= 0) add_rebound(block, approach);
}

void ImpulseKernel::add_rebound(int block, double approach) {
  const Law& law = rows.laws[block];
  const int first = rows.J.row_start[block];
  if (!(law.restitution > 0) || !options.stepper.restitution ||
      approach >= -law.restitution_threshold)
    return;
  double& b = problem.b[first];
  rebound_rows_.push_back(
      {.block = block, .plain = b, .approach = approach, .restitution = law.restitution});
  b = std::min(b, rows.g_t[first] + law.restitution * approach);
  rebounds_[block] = 1;
}

void ImpulseKernel::add_return(int block, double approach, double share) {
  if (rebounds_[block] != 0) return;
  const int first = rows.J.row_start[block];
  double& b = problem.b[first];
  rebound_rows_.push_back(
      {.block = block, .plain = b, .approach = approach, .restitution = share, .returns = true});
  b = std::min(b, rows.g_t[first] + share * approach);
}

void ImpulseKernel::drop_returns() {
  for (const Rebound& r : rebound_rows_) {
    if (r.returns) problem.b[rows.J.row_start[r.block]] = r.plain;
  }
  std::erase_if(rebound_rows_, [](const Rebound& r) { return r.returns; });
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

// Whether the step has to be solved again, with the next share to try: Illinois variant of regula
// falsi (Dowell and Jarratt 1971), once a losing share is known by bisection. `excess` is relative
// to what impulses take from the approach, and the aim a loss that is just one. The last share is
// one that lost.
bool ImpulseKernel::ShareSearch::next(double excess, double tolerance, bool last) {
  constexpr double aim = -0.5 * rebound_accuracy;
  const bool gains = excess > tolerance;
  excess -= aim;
  if (gains ? share == 0 : share == lost || excess > 0 || share == 1) return false;
  // What lost before and gains now does so because others changed.
  if (gains && share <= lost) lost = loss = 0;
  (gains ? gained : lost) = share;
  (gains ? gain : loss) = excess;
  // Twice on the same side: the other end of the chord is halved, or it would stay for ever.
  double& other = gains ? loss : gain;
  if (side == (gains ? 1 : -1)) other *= 0.5;
  side = gains ? 1 : -1;
  if (last || gained - lost < rebound_accuracy)
    share = lost;
  else if (lost > 0 && loss < 0)
    share = (lost * gain - gained * loss) / (gain - loss);
  else
    share = 0.5 * (lost + gained);
  return true;
}

void ImpulseKernel::set_share(Rebound& r) {
  const int first = rows.J.row_start[r.block];
  r.share = r.search.share;
  if (!rebound_islands_.empty()) r.share *= rebound_islands_[r.island].search.share;
  const double restitution = r.share * r.restitution;
  problem.b[first] = std::min(r.plain, rows.g_t[first] + restitution * r.approach);
}

// The work of a contact is that of its impulse over the mean velocity.
bool ImpulseKernel::seek_root(Rebound& r, bool last) {
  const int first = rows.J.row_start[r.block];
  std::array<double, max_block> u{};
  multiply_add_block(rows.J, r.block, mean_.data(), u.data());
  double work = 0;
  for (int k = 0; k < rows.laws[r.block].dim; ++k)
    work += impulses[first + k] * (u[k] + rows.g_t[first + k]);
  const double scale = impulses[first] * std::abs(r.approach);
  // Of one contact some accuracy of the solver more: an island's gain is limited to it as a whole.
  const double tolerance = std::max(1e-9, 10 * options.solver.tolerance);
  if (!r.search.next(scale > 0 ? work / scale : 0, tolerance, last)) return false;
  set_share(r);
  return true;
}

// Newton's law creates energy in two ways. With friction, a contact whose slip turns round is
// helped by its own friction (Kane 1984; T. R. Kane and D. A. Levinson, Dynamics, §5.8); that is
// limited contact by contact. And a contact that was parting, or rebounds less than others, is hit
// by their rebounds: its impulse works on a mean velocity that parts, without friction as well.
// That is limited for all of an island together. Both take a few more solves of the step.
void ImpulseKernel::limit_rebounds(StepReport& report) {
  report.limited_rebounds = 0;
  rebound_islands_.clear();
  if (rebound_rows_.empty()) return;
  limit_contacts(report);
  limit_islands(report);
  for (const Rebound& r : rebound_rows_) {
    report.limited_rebounds += r.share < 1 && !r.returns ? 1 : 0;
    // What rebounds, or returns as it came, is not pushed apart besides.
    const int first = rows.J.row_start[r.block];
    if (problem.b[first] < rows.g_t[first] - push[r.block]) push[r.block] = 0;
  }
}

void ImpulseKernel::limit_contacts(StepReport& report) {
  constexpr int rounds = 20;
  for (int round = 0; round < rounds; ++round) {
    set_mean(threads, v_before, v_after, mean_);
    bool again = false;
    for (Rebound& r : rebound_rows_) again = seek_root(r, round == rounds - 1) || again;
    if (!again) return;
    run_solver(report);
  }
}

// Without any restitution no island gains, see `measure_rebound_islands`: that is where the search
// ends if nothing else does.
void ImpulseKernel::limit_islands(StepReport& report) {
  constexpr int rounds = 20;
  const double tolerance = std::max(1e-9, options.solver.tolerance);
  find_rebound_islands();
  for (int round = 0; round <= rounds + 1; ++round) {
    measure_rebound_islands();
    bool again = false;
    for (ReboundIsland& island : rebound_islands_) {
      // A rebound moves on for the whole step, so that a body thrown up is a little too high in the
      // end, which its flight loses again. Newton's law may do so. What is less than it must not:
      // gradually, or the solver's tolerance would decide about it.
      const double limited = island.returns ? 1 : std::min(1.0, (1 - island.least) / limited_from);
      const double newton = std::min(island.step, island.mean);
      const double gain = newton + limited * (island.step - newton);
      ShareSearch& search = island.search;
      if (!search.next(island.scale > 0 ? gain / island.scale : 0, tolerance, round >= rounds))
        continue;
      if (round > rounds) search.share = 0;
      again = true;
    }
    if (!again) return;
    for (Rebound& r : rebound_rows_) set_share(r);
    run_solver(report);
  }
}

// A problem that cannot be taken apart is one island.
void ImpulseKernel::find_rebound_islands() {
  const bool apart = islands_.find(problem, true);
  limited_.assign(rows.blocks(), 0);
  for (const Rebound& r : rebound_rows_) limited_[r.block] = 1;
  island_of_block_.assign(rows.blocks(), apart ? -1 : 0);
  island_of_node_.assign(H().blocks(), apart ? -1 : 0);
  if (!apart) {
    for (Rebound& r : rebound_rows_) r.island = 0;
    rebound_islands_.emplace_back();
    return;
  }
  for (const Island& island : islands_.list()) {
    const auto blocks = islands_.blocks(island);
    if (std::none_of(blocks.begin(), blocks.end(), [&](int i) { return limited_[i] != 0; }))
      continue;
    const int number = static_cast<int>(rebound_islands_.size());
    rebound_islands_.emplace_back();
    for (const int i : blocks) island_of_block_[i] = number;
    for (const int k : islands_.nodes(island)) island_of_node_[k] = number;
  }
  for (Rebound& r : rebound_rows_) {
    r.island = island_of_block_[r.block];
    if (r.island >= 0) continue;
    // What no body can follow belongs to none.
    r.island = static_cast<int>(rebound_islands_.size());
    rebound_islands_.emplace_back();
  }
}

// With H(v⁺ − v) = hf + Jᵀλ, energy changes by λᵀu⁺ − ½‖v⁺ − v‖²_H to the end of the step, and
// λᵀ½(u + u⁺) is that plus ½ hf·(v⁺ − v). Only rebounds, and pushing an overlap apart, have
// λᵀu⁺ > 0; joints, motors and springs have accounts of their own.
void ImpulseKernel::measure_rebound_islands() {
  for (ReboundIsland& island : rebound_islands_) {
    island.step = island.mean = island.scale = 0;
    island.least = 1;
    island.returns = false;
  }
  multiply(H(), v_before, force_);
  force_ = problem.a - force_;
  change_ = v_after - v_before;
  multiply(H(), change_, momentum_);
  for (int k = 0; k < H().blocks(); ++k) {
    if (island_of_node_[k] < 0) continue;
    ReboundIsland& island = rebound_islands_[island_of_node_[k]];
    const int first = H().start[k], size = H().size(k);
    const auto change = change_.segment(first, size);
    const double lost = 0.5 * change.dot(momentum_.segment(first, size));
    island.step -= lost;
    island.mean += 0.5 * change.dot(force_.segment(first, size)) - lost;
  }
  for (int i = 0; i < rows.blocks(); ++i) {
    const Law& law = rows.laws[i];
    const bool contact = law.kind == LawKind::unilateral || law.kind == LawKind::coulomb;
    if (island_of_block_[i] < 0 || !contact || is_soft(law)) continue;
    ReboundIsland& island = rebound_islands_[island_of_block_[i]];
    const int first = rows.J.row_start[i];
    std::array<double, max_block> u{};
    multiply_add_block(rows.J, i, v_after.data(), u.data());
    double work = 0;
    for (int k = 0; k < law.dim; ++k) work += impulses[first + k] * (u[k] + rows.g_t[first + k]);
    if (problem.b[first] >= rows.g_t[first] - push[i]) work -= impulses[first] * push[i];
    island.step += work;
    island.mean += work;
  }
  for (const Rebound& r : rebound_rows_) {
    const double impulse = impulses[rows.J.row_start[r.block]];
    ReboundIsland& island = rebound_islands_[r.island];
    island.scale += impulse * std::abs(r.approach);
    if (impulse > 0) island.least = std::min(island.least, r.search.share);
    island.returns = island.returns || (r.returns && impulse > 0);
  }
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
  report.penetration = report.early_rebound = 0;
  report.contacts = report.active = 0;
  report.active_set = 1469598103934665603ULL;
  for (int i = 0; i < rows.blocks(); ++i) {
    const LawKind kind = rows.laws[i].kind;
    if (kind == LawKind::unilateral || kind == LawKind::coulomb) count_contact(i, report);
  }
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
                .late = late},
               memory, report);
}

void ImpulseKernel::count_contact(int block, StepReport& report) {
  const int first = rows.J.row_start[block];
  ++report.contacts;
  if (!is_soft(rows.laws[block])) report.penetration = std::max(report.penetration, -rows.g[first]);
  if (impulses[first] <= 0) return;
  ++report.active;
  if (rebounds_[block] != 0)
    report.early_rebound = std::max(report.early_rebound, std::abs(rows.g[first]));
  mix(report.active_set, rows.ids[block]);
  mix(report.active_set, rebounds_[block]);
}

}  // namespace urto
