// The half of IslandSolver that threads run: what is done to one island.
#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "urto/linalg/lanes.h"
#include "urto/linalg/small_inverse.h"
#include "urto/solver/island_solver.h"

namespace urto {
namespace {

// Row blocks up to which an island coupled by springs or joints is swept by rows: its W is dense.
constexpr int most_coupled_blocks = 60;
// What bodies recovered with their joints may be off, of the tolerance.
constexpr double recovered = 0.5;
// Of the scaled entries of a mass block: more, and it is not symmetric (delassus.cpp).
constexpr double symmetric_enough = 1e-9;

bool is_symmetric(const Eigen::Map<const Matrix>& A) {
  for (int c = 0; c < A.cols(); ++c) {
    for (int r = 0; r < c; ++r) {
      const double difference = std::abs(A(r, c) - A(c, r));
      if (difference > symmetric_enough * std::sqrt(std::abs(A(r, r) * A(c, c)))) return false;
    }
  }
  return true;
}

}  // namespace

// A body that nothing touches: H x = a. False if H is not positive definite there.
bool IslandSolver::solve_single(Worker& w, const Island& island) {
  const SaddleLdlt::System system = islands_.system(*p_, island);
  const int k = system.nodes.front();
  w.single.set(system);
  x_->segment(system.H->start[k], system.H->size(k)).setZero();
  if (!w.single.factorize(0)) return false;
  w.single.refine({.a = &p_->a, .b = &p_->b}, 1e-13, 8, *x_, *lambda_);
  return true;
}

// H⁻¹ of the island's bodies, kept while their mass stays: a rigid body's does from step to step.
IslandSolver::Mass IslandSolver::invert_masses(const Island& island) {
  const auto& H = std::get<BlockMatrix>(p_->H);
  for (const int k : islands_.nodes(island)) {
    const auto block = H.block(k);
    double* known = mass_.data() + H.offset[k];
    if (equal(block.data(), known, static_cast<int>(block.size()))) continue;
    if (!is_symmetric(block)) return Mass::not_symmetric;
    double* inverse = inverse_mass_.values.data() + H.offset[k];
    if (!invert_positive_definite(H.size(k), block.data(), inverse)) return Mass::not_definite;
    std::copy(block.data(), block.data() + block.size(), known);
  }
  return Mass::inverted;
}

void IslandSolver::sweep_island(Worker& w, int index) {
  const Island& island = islands_.list()[work_[index]];
  Swept& swept = swept_[index];
  swept = {};
  if (island.linear) {
    swept.failed = !solve_single(w, island);
    swept.tried = true;
    swept.result.status = Status::converged;
    return;
  }
  if (!automatic_) return;
  bool friction = false;
  for (const int i : islands_.blocks(island)) {
    const ConvexSet& set = p_->K.sets[i];
    friction = friction || set.has_friction();
    double* force = lambda_->data() + p_->K.start[i];
    project(set, force, force);
  }
  // A motion that must settle is watched by the monitor of a method (automatic.cpp).
  const bool convex = options_->friction == Friction::convex || !friction;
  if (convex && options_->settle) return;
  if (options_->record_history && work_[index] == largest_) swept.result.history = &history_;
  int joints = 0;
  for (const int i : islands_.blocks(island)) joints += p_->K.sets[i].kind == SetKind::free ? 1 : 0;
  const bool by_rows = island.blocks - joints <= most_coupled_blocks;
  if (joints > 0 && by_rows && sweep_joined(w, island, swept)) return;
  island.factored ? sweep_factored(w, island, swept) : sweep_coupled(w, island, swept);
}

// Joints are eliminated with the bodies: what is swept are contacts, limits and motors of the
// mechanism. False if they cannot be, for they contradict each other.
bool IslandSolver::sweep_joined(Worker& w, const Island& island, Swept& swept) {
  const SaddleLdlt::System system = islands_.system(*p_, island);
  if (island.factored) {
    const Mass mass = invert_masses(island);
    swept.failed = mass == Mass::not_definite;
    if (mass != Mass::inverted) return swept.failed;
    fill_factored(system);
  } else {
    swept.failed = !w.coupled.factorize(*p_, system, mass_diagonal_, rows_);
    if (swept.failed) return true;
  }
  RowAccess& rows = w.sweeps.sweeps().rows();
  for (const double delta : joint_regularisations) {
    if (!w.coupled.hold_joints(*p_, system, delta)) continue;
    for (const int k : system.nodes) x_->segment(system.H->start[k], system.H->size(k)).setZero();
    w.coupled.assemble(*p_, system, rows_);
    rows.set(w.coupled.view_by_rows(*p_, system, rows_), *x_, *lambda_);
    w.sweeps.run(&system, *island_options_, start_, swept.result);
    // W is as good as its factor: what counts is measured on the bodies. So is the balance of
    // momentum, which no row tells: near a dead point corrections end far from it.
    rows.set(w.coupled.view(*p_, system, rows_), *x_, *lambda_);
    w.sweeps.measure(*island_options_, swept.result);
    swept.tried = rows.off_recovery() <= recovered * island_options_->tolerance;
    if (swept.tried) return true;
    // What went astray is no start for the next attempt.
    swept.result = {.history = swept.result.history};
    for (const int i : system.blocks) lambda_->segment(p_->K.start[i], p_->K.sets[i].dim).setZero();
  }
  return false;
}

void IslandSolver::fill_factored(const SaddleLdlt::System& system) {
  for (const int i : system.blocks) {
    rows_.begin(*p_, p_->E, i);
    rows_.add_factored(*p_, inverse_mass_, system.node_of_dof, i);
    rows_.finish(p_->K.sets[i], i);
  }
}

void IslandSolver::sweep_factored(Worker& w, const Island& island, Swept& swept) {
  const Mass mass = invert_masses(island);
  swept.failed = mass == Mass::not_definite;
  if (mass != Mass::inverted) return;
  const SaddleLdlt::System system = islands_.system(*p_, island);
  fill_factored(system);
  w.sweeps.sweeps().rows().set({.problem = p_,
                                .rows = &rows_,
                                .E = &p_->E,
                                .blocks = system.blocks,
                                .nodes = system.nodes,
                                .inverse_mass = &inverse_mass_,
                                .node_of_dof = system.node_of_dof},
                               *x_, *lambda_);
  w.sweeps.run(&system, *island_options_, start_, swept.result);
  swept.tried = true;
}

// Where little changes a guess costs less than the rows of W, so it comes first.
void IslandSolver::sweep_coupled(Worker& w, const Island& island, Swept& swept) {
  const SaddleLdlt::System system = islands_.system(*p_, island);
  swept.failed = !w.coupled.factorize(*p_, system, mass_diagonal_, rows_);
  if (swept.failed) return;
  RowAccess& rows = w.sweeps.sweeps().rows();
  rows.set(w.coupled.view(*p_, system, rows_), *x_, *lambda_);
  if (w.sweeps.guess_first(system, *island_options_, swept.result)) {
    swept.tried = true;
    return;
  }
  if (island.blocks > most_coupled_blocks) return;
  w.coupled.assemble(*p_, system, rows_);
  rows.set(w.coupled.view_by_rows(*p_, system, rows_), *x_, *lambda_);
  w.sweeps.run(&system, *island_options_, start_, swept.result);
  rows.recover();
  swept.tried = true;
}

ProblemSize IslandSolver::size_of(const Island& island) const {
  ProblemSize size;
  const auto& H = std::get<BlockMatrix>(p_->H);
  for (const int k : islands_.nodes(island)) size.dofs += H.size(k);
  for (const int i : islands_.blocks(island)) size.add(p_->K.sets[i]);
  return size;
}

void IslandSolver::hand_on(Worker& w, Handed& handed) {
  const Island& island = islands_.list()[handed.island];
  Desk& desk = w.desk(size_of(island));
  desk.island.extract(*p_, islands_, island);
  Delassus& W = desk.workspace.W;
  if (!W.set(desk.island.problem(), &w.store)) {
    desk.solution = {};
    desk.solution.message = fmt::format("in the island of block {} of H: {}",
                                        islands_.nodes(island).front(), W.failure());
    record(desk.solution, 0, handed);
    return;
  }
  solve_alone(desk, handed);
  W.release();
  if (island.linear && handed.status != Status::converged) {
    handed.status = Status::infeasible;
    handed.message =
        "the joints contradict each other, or nearly so: no velocity satisfies them all";
  }
}

const SolveOptions& IslandSolver::options_of(Desk& desk) const {
  const Vector* velocity = island_options_->interior_point.start_velocity;
  if (velocity == nullptr) return *island_options_;
  desk.options = *island_options_;
  desk.island.gather_dofs(*velocity, desk.velocity);
  desk.options.interior_point.start_velocity = &desk.velocity;
  return desk.options;
}

// The island as a problem of its own, by the named solver or, from where the sweeps have left it,
// by what follows them.
void IslandSolver::solve_alone(Desk& desk, Handed& handed) {
  Delassus& W = desk.workspace.W;
  desk.island.gather_rows(start_lambda_, desk.start);
  project(W.K(), desk.start, desk.start);
  const SolveOptions& options = options_of(desk);
  int sweeps = 0;
  const Solution* solution = &desk.solution;
  if (!automatic_ && !islands_.list()[handed.island].linear) {
    desk.workspace.run(solver_.info.name, W, options, desk.start, start_, desk.solution);
  } else {
    desk.escalation.begin(desk.workspace, W, options, desk.start, start_);
    if (handed.swept >= 0 && swept_[handed.swept].tried) {
      const SweepResult& result = swept_[handed.swept].result;
      sweeps = result.sweeps;
      desk.island.gather_rows(*lambda_, desk.swept);
      desk.escalation.add_swept(desk.swept, result);
    }
    solution = &desk.escalation.run();
  }
  desk.island.scatter_dofs(solution->x, *x_);
  desk.island.scatter_rows(solution->lambda, *lambda_);
  record(*solution, sweeps, handed);
}

// Shares of about the same number of rows, the largest islands first, fixed before the work begins:
// so what a thread finds of its earlier analyses is reproducible.
void IslandSolver::share_out(int threads) {
  order_.resize(handed_count_);
  std::iota(order_.begin(), order_.end(), 0);
  const auto rows = [&](int k) { return islands_.list()[handed_[k].island].rows; };
  std::sort(order_.begin(), order_.end(),
            [&](int a, int b) { return rows(a) != rows(b) ? rows(a) > rows(b) : a < b; });
  load_.assign(threads, 0);
  for (const int k : order_) {
    const auto least = std::min_element(load_.begin(), load_.end());
    handed_[k].thread = static_cast<int>(least - load_.begin());
    *least += rows(k);
  }
}

void IslandSolver::hand_on_islands() {
  if (handed_count_ == 0) return;
  const int threads = std::clamp(options_->threads, 1, handed_count_);
  while (static_cast<int>(workers_.size()) < threads)
    workers_.push_back(std::make_unique<Worker>());
  if (threads == 1) {
    island_options_ = options_;
    for (int k = 0; k < handed_count_; ++k) hand_on(worker(0), handed_[k]);
    return;
  }
  share_out(threads);
  pool_->run(threads, [this](int thread) {
    for (int k = 0; k < handed_count_; ++k) {
      if (handed_[k].thread == thread) hand_on(worker(thread), handed_[k]);
    }
  });
}

}  // namespace urto
