#include "urto/solver/island_solver.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

constexpr int refinements = 8;
// Relative; four digits below the certificate that is asked for, as far as rounding allows. One
// correction less than the last digit would need on long chains.
double good_enough(double tolerance) {
  return std::clamp(1e-4 * tolerance, 1e-13, 1e-12);
}
constexpr double acceptable = 1e-10;  // else the next δ is tried

void resize(Vector& v, Eigen::Index size) {
  if (v.size() != size) v.resize(size);
}

}  // namespace

IslandSolver::IslandSolver(const RegisteredSolver& solver)
    : solver_(solver), automatic_(!solver.make) {
  workers_.push_back(std::make_unique<Worker>());
}

void IslandSolver::begin(const StepProblem& p, const SolveOptions& options, Vector& x,
                         Vector& lambda, StepSolveReport& report) {
  start_ = Monitor::Clock::now();
  report.islands = report.largest_island = report.sweeps = report.guessed = report.handed_on =
      report.iterations = report.outer_iterations = report.factorizations = report.bad_starts = 0;
  report.linear = {};
  report.status = Status::converged;
  report.message.clear();
  report.solver.clear();
  report.timings = {};
  report.history.clear();
  report.interior_point_log.clear();
  check_options(options);
  check_capabilities(solver_.info, p, options.friction);
  if (lambda.size() != p.rows()) {
    throw InputError("warm start", fmt::format("{} values", lambda.size()),
                     fmt::format("{}", p.rows()));
  }
  const Vector* velocity = options.interior_point.start_velocity;
  if (velocity != nullptr && velocity->size() != p.dofs()) {
    throw InputError("start velocity", fmt::format("{} values", velocity->size()),
                     fmt::format("{}", p.dofs()));
  }
  if (!lambda.allFinite()) lambda.setZero();
  resize(x, p.dofs());
  p_ = &p;
  options_ = island_options_ = &options;
  x_ = &x;
  lambda_ = &lambda;
}

const Certificate* IslandSolver::solve(const StepProblem& p, const SolveOptions& options, Vector& x,
                                       Vector& lambda, StepSolveReport& report) {
  begin(p, options, x, lambda, report);
  const bool apart = options.islands.value_or(automatic_);
  if ((!automatic_ && !apart) || !islands_.find(p, apart)) return solve_whole(report);
  start_lambda_ = lambda;
  list_islands(report);
  report.timings.setup = seconds_since(start_);
  solve_linear();
  prepare_arrays();
  sweep_islands();
  hand_on_islands();
  summarise(report);
  report.timings.solve = seconds_since(start_) - report.timings.setup;
  return nullptr;
}

// A small problem in local form; false if others are to go on from what `swept` says of λ. Without
// the workspace of other methods: that would cost as much as the solution of a few contacts.
bool IslandSolver::solve_dense(StepSolveReport& report, SweepResult& swept) {
  DenseContacts& dense = worker(0).dense;
  DenseContacts::Result result;
  history_.clear();
  if (options_->record_history) result.history = &history_;
  project(p_->K, *lambda_, *lambda_);
  report.timings.setup = seconds_since(start_);
  dense.solve(*options_, start_, *lambda_, result);
  report.timings.solve = seconds_since(start_) - report.timings.setup;
  report.islands = 1;
  report.largest_island = p_->rows();
  report.sweeps = result.sweeps;
  report.iterations = report.factorizations = result.steps;
  report.status = result.status;
  if (result.steps > 0) report.solver = swept.path = "nsgs+newton";
  swept.status = result.status;
  swept.sweeps = result.sweeps + result.steps;
  swept.residual = result.residual;
  swept.history = result.history;
  if (result.status == Status::stalled) return false;
  report.history = std::move(history_);
  return true;
}

// The problem as it is: a named solver, or a form that has no islands here.
const Certificate* IslandSolver::solve_whole(StepSolveReport& report) {
  SweepResult swept;
  const bool exact = options_->friction == Friction::exact;
  const bool dense = automatic_ && exact && p_->dofs() == 0 && DenseContacts::suits(*p_) &&
                     (!options_->settle || p_->K.has_friction()) && worker(0).dense.set(*p_);
  if (dense) {
    start_lambda_ = *lambda_;
    if (solve_dense(report, swept)) return nullptr;
  }
  ProblemSize size{.dofs = p_->dofs()};
  for (const ConvexSet& set : p_->K.sets) size.add(set);
  Worker& w = worker(0);
  Desk& desk = w.desk(size);
  Delassus& W = desk.workspace.W;
  if (!dense) history_.clear();
  report.islands = p_->rows() > 0 ? 1 : 0;
  report.largest_island = p_->rows();
  if (!W.set(*p_, &w.store)) {
    report.status = Status::failed;
    report.message = W.failure();
    x_->setZero();
    return nullptr;
  }
  report.timings.setup = seconds_since(start_);
  desk.start = dense ? start_lambda_ : *lambda_;
  project(p_->K, desk.start, desk.start);
  const Solution* solution = &desk.solution;
  if (!automatic_) {
    desk.workspace.run(solver_.info.name, W, *options_, desk.start, start_, desk.solution);
  } else {
    desk.escalation.begin(desk.workspace, W, *options_, desk.start, start_);
    const bool convex = !exact || !p_->K.has_friction();
    if (dense) {
      desk.escalation.add_swept(*lambda_, swept);
    } else if (!p_->K.is_linear() && !(convex && options_->settle)) {
      *lambda_ = desk.start;
      if (options_->record_history) swept.history = &history_;
      w.sweeps.sweeps().rows().set(W, desk.swept, *lambda_);
      w.sweeps.run(nullptr, *options_, start_, swept);
      desk.escalation.add_swept(*lambda_, swept);
    }
    solution = &desk.escalation.run();
  }
  W.release();
  *x_ = solution->x;
  *lambda_ = solution->lambda;
  report.sweeps = swept.sweeps;
  report.iterations = report.factorizations = 0;
  report.status = Status::converged;
  record(*solution, swept.sweeps, whole_);
  add(whole_, true, report);
  if (swept.status == Status::converged) report.handed_on = 0;
  report.timings.certify = solution->timings.certify;
  report.timings.solve = seconds_since(start_) - report.timings.setup - report.timings.certify;
  return &solution->certificate;
}

void IslandSolver::list_islands(StepSolveReport& report) {
  linear_islands_.clear();
  work_.clear();
  history_.clear();
  largest_ = -1;
  for (int k = 0; k < static_cast<int>(islands_.list().size()); ++k) {
    const Island& island = islands_.list()[k];
    if (island.blocks > 0) ++report.islands;
    if (island.rows > report.largest_island) {
      report.largest_island = island.rows;
      largest_ = k;
    }
    const bool single = island.nodes == 1 && island.blocks == 0;
    (island.linear && !single ? linear_islands_ : work_).push_back(k);
  }
  // No body can follow these rows: their multipliers do nothing.
  for (const int i : islands_.idle_blocks())
    lambda_->segment(p_->K.start[i], p_->K.sets[i].dim).setZero();
  handed_count_ = 0;
}

// All islands of joints only as one system. What it cannot solve is handed on, island by island.
void IslandSolver::solve_linear() {
  if (linear_islands_.empty()) return;
  linear_nodes_.clear();
  linear_couplings_.clear();
  linear_blocks_.clear();
  linear_place_.resize(islands_.place().size());
  for (const int k : linear_islands_) {
    const Island& island = islands_.list()[k];
    for (const int n : islands_.nodes(island)) {
      linear_place_[n] = static_cast<int>(linear_nodes_.size());
      linear_nodes_.push_back(n);
    }
    const auto couplings = islands_.couplings(island), blocks = islands_.blocks(island);
    linear_couplings_.insert(linear_couplings_.end(), couplings.begin(), couplings.end());
    linear_blocks_.insert(linear_blocks_.end(), blocks.begin(), blocks.end());
  }
  SaddleLdlt::System system = islands_.system(*p_, {});
  system.nodes = linear_nodes_;
  system.couplings = linear_couplings_;
  system.blocks = linear_blocks_;
  system.place = linear_place_;
  linear_.set(system);
  const SaddleLdlt::Data data{.a = &p_->a, .b = &p_->b, .loads = linear_blocks_};
  for (const double delta : joint_regularisations) {
    // From rest and the last multipliers: the first correction is the whole solution. Multipliers
    // that went astray are no start for the next attempt.
    for (const int n : linear_nodes_) x_->segment(system.H->start[n], system.H->size(n)).setZero();
    if (delta != joint_regularisations.front()) {
      for (const int i : linear_blocks_)
        lambda_->segment(p_->K.start[i], p_->K.sets[i].dim).setZero();
    }
    if (linear_.factorize(delta) && linear_.refine(data, good_enough(options_->tolerance),
                                                   refinements, *x_, *lambda_) < acceptable)
      return;
  }
  for (const int k : linear_islands_) list_for_hand_on(k, -1);
}

void IslandSolver::list_for_hand_on(int island, int swept) {
  if (handed_count_ == static_cast<int>(handed_.size())) handed_.emplace_back();
  handed_[handed_count_].island = island;
  handed_[handed_count_++].swept = swept;
}

// Arrays by row block and by body, which threads then fill for their islands.
void IslandSolver::prepare_arrays() {
  const auto& H = std::get<BlockMatrix>(p_->H);
  if (swept_.size() < work_.size()) swept_.resize(work_.size());
  if (!automatic_ || work_.empty()) return;
  rows_.resize(p_->J, p_->K);
  if (inverse_mass_.start != H.start) {
    inverse_mass_.start = H.start;
    inverse_mass_.offset = H.offset;
    inverse_mass_.values.resize(H.offset.back());
    mass_.assign(H.offset.back(), NAN);
  }
  const bool factored =
      std::all_of(work_.begin(), work_.end(), [&](int k) { return islands_.list()[k].factored; });
  if (factored) return;
  resize(mass_diagonal_, H.rows());
  for (int k = 0; k < H.blocks(); ++k)
    mass_diagonal_.segment(H.start[k], H.size(k)) = H.block(k).diagonal();
}

// Which thread takes which islands does not matter to the result.
void IslandSolver::sweep_islands() {
  const int islands = static_cast<int>(work_.size());
  const int threads = std::clamp(options_->threads, 1, std::max(1, islands));
  while (static_cast<int>(workers_.size()) < threads)
    workers_.push_back(std::make_unique<Worker>());
  if (threads > 1) {
    threaded_options_ = *options_;
    threaded_options_.threads = 1;
    if (options_->on_progress) {
      threaded_options_.on_progress = [this](int iteration, double residual) {
        const std::lock_guard lock(progress_mutex_);
        return options_->on_progress(iteration, residual);
      };
    }
    island_options_ = &threaded_options_;
  }
  constexpr int at_a_time = 16;
  pool_->share(threads, islands, at_a_time, [this](int thread, int first, int last) {
    for (int k = first; k < last; ++k) sweep_island(worker(thread), k);
  });
  for (int k = 0; k < islands; ++k) {
    const bool solved = swept_[k].tried && swept_[k].result.status == Status::converged;
    if (!solved && !swept_[k].failed) list_for_hand_on(work_[k], k);
  }
}

// In the order of the islands, whoever did them.
void IslandSolver::summarise(StepSolveReport& report) {
  for (std::size_t k = 0; k < work_.size(); ++k) {
    report.sweeps = std::max(report.sweeps, swept_[k].result.sweeps);
    report.guessed += swept_[k].result.guessed ? 1 : 0;
    if (!swept_[k].failed) continue;
    const int body = islands_.nodes(islands_.list()[work_[k]]).front();
    report.status = Status::failed;
    report.message = fmt::format(
        "in the island of block {} of H: H is not positive definite, or not a number", body);
  }
  report.history = std::move(history_);
  for (int k = 0; k < handed_count_; ++k) add(handed_[k], handed_[k].island == largest_, report);
}

// The solution of an island, but for its vectors. `sweeps`: of its iterations, those before it was
// handed on.
void IslandSolver::record(const Solution& solution, int sweeps, Handed& handed) {
  handed.iterations = solution.iterations - sweeps;
  handed.outer_iterations = solution.outer_iterations;
  handed.factorizations = solution.factorizations;
  handed.bad_starts = solution.bad_starts;
  handed.linear = solution.linear;
  handed.status = solution.status;
  handed.message = solution.message;
  handed.solver = solution.solver;
  handed.history = solution.history;
  handed.interior_point_log = solution.interior_point_log;
}

void IslandSolver::add(Handed& handed, bool largest, StepSolveReport& report) {
  ++report.handed_on;
  report.iterations += handed.iterations;
  report.outer_iterations += handed.outer_iterations;
  report.factorizations += handed.factorizations;
  report.bad_starts += handed.bad_starts;
  report.linear += handed.linear;
  report.solver = handed.solver;
  if (largest) {
    report.history = std::move(handed.history);
    report.interior_point_log = std::move(handed.interior_point_log);
  }
  if (report.status == Status::converged && handed.status != Status::converged)
    report.status = handed.status;
  if (report.message.empty()) report.message = handed.message;
}

}  // namespace urto
