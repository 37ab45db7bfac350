// Rebounds of a step problem by Newton's law, and what limits them.
#include <algorithm>
#include <array>
#include <cmath>

#include "urto/stepper/impulse_kernel.h"

namespace urto {
namespace {

// Of the share of restitution, and of the work relative to that of stopping the approach.
constexpr double rebound_accuracy = 1e-6;

// How much less than Newton's law asks is limited without doubt.
constexpr double limited_from = 0.01;

}  // namespace

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
    mean_ = 0.5 * (v_before + v_after);
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
      // What is given besides is known to the solver's tolerance. In contacts at rest it makes up
      // for all that impulses take, and is far more than what rebounds there.
      const bool weighed = island.scale > 0;
      const double unknown =
          weighed ? 4 * options.solver.tolerance * island.besides / island.scale : 0;
      if (!search.next(weighed ? gain / island.scale : 0, tolerance + unknown, round >= rounds))
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
    island.step = island.mean = island.scale = island.besides = 0;
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
    const double besides =
        given_besides.size() > 0 ? given_besides.segment(first, size).sum() : 0.0;
    island.besides += std::abs(besides);
    island.step += besides - lost;
    island.mean += besides + 0.5 * change.dot(force_.segment(first, size)) - lost;
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

}  // namespace urto
