#include "urto/solver/automatic.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace urto {
namespace {

// Sweeps between measurements: each costs about as much as one of them.
constexpr int check_every = 5;
// Below the tolerance, so that islands together meet it with the certificate's own rounding.
constexpr double below_tolerance = 0.8;
// Sweeps whose rate is measured: the first are often faster than those that follow, so windows
// double.
constexpr int first_window = 60;
constexpr double worth_keeping = 0.7;  // of the best residual: keeping λ costs as much as a sweep
constexpr int guesses = 6;
// [ns] that every island may take although the time is up: else one large island that uses it up
// would leave all others unsolved.
constexpr double granted = 2e5;
// A structure stands still where the restlessness is below this; a guess may cost as many sweeps as
// that to end it exactly, at a residual of that or this part of the tolerance.
constexpr double standing = 0.01;
constexpr double sweeps_to_settle = 200;
constexpr double exact = 1e-11, exact_part = 0.01;
// Tolerances from which it is tried before any sweep.
constexpr double hardly_missed = 10;
constexpr int least_before_guess = 10;  // sweeps that settle who touches
// A small problem of the exact law: what is left of it may be a contradiction of roundings.
constexpr int small_island = 64;
// Newton steps in which the residual must halve, or another method goes on.
constexpr int newton_patience = 100;
// Tolerances from which a method goes on from the best point, not from the caller's.
constexpr double nearly_there = 30;

// Of the velocities of loaded contacts, relative to what they would be without forces: below,
// bodies rest, and ADMM takes tens of iterations where sweeps take thousands.
constexpr double resting = 0.1;
constexpr int alternating_patience = 60;
// What rests is held through all of its contacts: the rate of sweeps falls the longer they last.
constexpr double slower_at_rest = 3;
// Of the other's price, that sweeps may cost without getting nearer: a plateau is not the end, one
// contact has to change its state.
constexpr double plateau = 0.25;
// Steps of ipm and its proximal steps, and sweeps after them, before others are tried.
constexpr int newton_most = 500, newton_most_each = 1, sweeps_again = 40000;

// The path of both: "nsgs+ipm". A method that goes on is named once.
void add_to_path(const std::string& next, std::string& path) {
  if (path.empty()) {
    path = next;
  } else if (!path.ends_with(next)) {
    path += '+';
    path += next;
  }
}

// Vectors and certificate of the better of two, in `total`; counters and records of both. `next`
// keeps its storage.
void accumulate(Solution& total, Solution& next) {
  for (HistoryEntry& entry : next.history) entry.iteration += total.iterations;
  for (InteriorPointRecord& record : next.interior_point_log) record.iteration += total.iterations;
  total.history.insert(total.history.end(), next.history.begin(), next.history.end());
  total.interior_point_log.insert(total.interior_point_log.end(), next.interior_point_log.begin(),
                                  next.interior_point_log.end());
  total.timings.solve += next.timings.solve;
  total.timings.certify += next.timings.certify;
  total.iterations += next.iterations;
  total.outer_iterations += next.outer_iterations;
  total.factorizations += next.factorizations;
  total.linear += next.linear;
  add_to_path(next.solver, total.solver);
  // A converged motion beats a smaller residual whose motion has not settled, and anything what has
  // no residual: nothing yet, or numbers that are none.
  const double so_far = total.certificate.residual();
  const bool better = next.status == Status::converged || !std::isfinite(so_far) ||
                      !(so_far <= next.certificate.residual());
  if (better || next.status == Status::infeasible) {
    total.x.swap(next.x);
    total.lambda.swap(next.lambda);
    total.u.swap(next.u);
    total.certificate = next.certificate;
    total.status = next.status;
    total.message.swap(next.message);
  }
  if (next.status == Status::interrupted) total.status = next.status;
}

// Nothing found and nothing counted, in storage that is kept.
void clear(Solution& s) {
  s.solver.clear();
  s.certificate = {};
  s.certificate.natural_map = std::numeric_limits<double>::infinity();
  s.status = Status::failed;
  s.message.clear();
  s.iterations = s.outer_iterations = s.factorizations = 0;
  s.linear = {};
  s.timings = {};
  s.history.clear();
  s.interior_point_log.clear();
}

}  // namespace

void IslandSweeps::begin(const SolveOptions& options) {
  const double local =
      0.1 * below_tolerance * options.tolerance / std::sqrt(std::max(1, sweeps_.rows().size()));
  sweeps_.begin(
      {.friction = options.friction, .tolerance = std::max(1e-14, local), .momentum = true});
}

// True, and the status says why, when the caller or a limit ends the sweeps.
bool IslandSweeps::stop(const SolveOptions& options, Monitor::Clock::time_point start,
                        SweepResult& result) {
  if (options.on_progress && !options.on_progress(result.sweeps, result.residual)) {
    result.status = Status::interrupted;
  } else if (options.time_limit < std::numeric_limits<double>::infinity() &&
             result.sweeps * prices_.sweep() > granted &&
             seconds_since(start) > options.time_limit) {
    result.status = Status::time_limit;
  } else if (result.sweeps >= options.max_iterations) {
    result.status = Status::iteration_limit;
  } else {
    return false;
  }
  return true;
}

// Tries the active set from where λ stands, until the residual is at most `goal`, or `enough` in
// the end; puts everything back if it leads nowhere.
bool IslandSweeps::guess(const SaddleLdlt::System& island, const SolveOptions& options, int rounds,
                         double goal, double enough) {
  RowAccess& rows = sweeps_.rows();
  gather(kept_);
  if (rows.view().mass != nullptr) rows.recover();
  for (int round = 0; round < rounds; ++round) {
    if (!active_set_.guess(rows, options.friction)) break;
    if (!active_set_.solve(rows, island, goal)) break;
    sweeps_.load();
    const double residual = sweeps_.residual();
    if (residual <= goal || (round + 1 == rounds && residual <= enough)) return true;
  }
  scatter(kept_);
  return false;
}

// λ and x are those of the sweeps after that.
void IslandSweeps::gather(std::vector<double>& forces) {
  RowAccess& rows = sweeps_.rows();
  const SetProduct& K = rows.view().problem->K;
  sweeps_.residual();
  forces.clear();
  for (const int i : rows.view().blocks) {
    const double* force = rows.lambda().data() + K.start[i];
    forces.insert(forces.end(), force, force + K.sets[i].dim);
  }
}

void IslandSweeps::scatter(const std::vector<double>& forces) {
  RowAccess& rows = sweeps_.rows();
  const SetProduct& K = rows.view().problem->K;
  const double* from = forces.data();
  for (const int i : rows.view().blocks) {
    std::copy_n(from, K.sets[i].dim, rows.lambda().data() + K.start[i]);
    from += K.sets[i].dim;
  }
  sweeps_.load();
}

bool IslandSweeps::guess_first(const SaddleLdlt::System& island, const SolveOptions& options,
                               SweepResult& result) {
  begin(options);
  const double tolerance = below_tolerance * options.tolerance;
  result.residual = sweeps_.residual();
  const bool there = result.residual <= tolerance;
  result.guessed = !there && std::isfinite(result.residual) &&
                   guess(island, options, guesses, tolerance, tolerance);
  if (there || result.guessed) result.status = Status::converged;
  return there || result.guessed;
}

// Ends what stands still exactly, where that is cheap. What sweeps leave moves it, the next step
// has to stop that, and its multipliers, with which the one after starts, hold the blow: so a
// structure at rest would have to be swept in every step, however well it is known. True where it
// was done.
bool IslandSweeps::settle(const SaddleLdlt::System& island, const SolveOptions& options,
                          SweepResult& result) {
  const double tolerance = below_tolerance * options.tolerance;
  const double goal = std::max(exact, exact_part * tolerance);
  if (result.residual <= goal || !(sweeps_.restlessness() < standing)) return false;
  // After sweeps it may cost what they did: what took few moves, or will take few again.
  const double worth =
      result.sweeps == 0 ? sweeps_to_settle : std::min<double>(sweeps_to_settle, result.sweeps);
  if (prices_.guess_again() > worth * prices_.sweep()) return false;
  result.guessed = guess(island, options, 1, goal, result.residual > tolerance ? tolerance : goal);
  result.residual = sweeps_.residual();  // λ and x as they stand now, whichever they are
  return result.guessed;
}

void IslandSweeps::measure(const SolveOptions& options, SweepResult& result) {
  begin(options);
  result.residual = sweeps_.residual();
  const bool there = result.residual <= options.tolerance;
  if (result.status == Status::converged && !there) result.status = Status::stalled;
}

void IslandSweeps::run(const SaddleLdlt::System* island, const SolveOptions& options,
                       Monitor::Clock::time_point start, SweepResult& result) {
  begin(options);
  sweep(island, options, start, result);
  // λ and x are the caller's again.
  if (result.status != Status::converged) {
    result.residual = sweeps_.residual();
    if (std::isfinite(best_residual_) && !(result.residual <= best_residual_)) {
      scatter(best_);
      result.residual = sweeps_.residual();
    }
  }
  result.at_rest = at_rest_;
}

// Whether sweeps cost less than what would take over: those that were made and, at the rate of the
// last window, those still to come. So a wrong promise at most doubles the price.
bool IslandSweeps::promises(double before, double after, int window, int used, double tolerance) {
  const bool at_rest = at_rest_ && sweeps_.rows().size() > small_island;
  const double other = at_rest ? prices_.alternating() : prices_.newton();
  if (!(after < 0.99 * before)) return !at_rest && used * prices_.sweep() < plateau * other;
  const double left = window * std::log(tolerance / after) / std::log(after / before);
  return (used + (at_rest ? slower_at_rest : 1) * left) * prices_.sweep() < other;
}

void IslandSweeps::sweep(const SaddleLdlt::System* island, const SolveOptions& options,
                         Monitor::Clock::time_point start, SweepResult& result) {
  const double tolerance = below_tolerance * options.tolerance;
  int next_guess = -1;  // not known yet
  int window = first_window, window_end = first_window;
  double before = std::numeric_limits<double>::infinity();  // at the start of the window
  double best = std::numeric_limits<double>::infinity();    // in the window
  const auto guessed = [&] {
    result.guessed = island != nullptr && guess(*island, options, guesses, tolerance, tolerance);
    return result.guessed;
  };
  const bool live = options.friction == Friction::exact;
  at_rest_ = false;
  best_residual_ = std::numeric_limits<double>::infinity();
  bool tried = false;  // to settle
  prices_.begin(sweeps_.rows().view());
  result.status = Status::stalled;
  for (;;) {
    result.residual = sweeps_.estimate();
    if (result.residual <= tolerance && result.sweeps > 0) result.residual = sweeps_.residual();
    if (result.history != nullptr)
      result.history->push_back({result.sweeps, seconds_since(start), result.residual});
    // Before the first sweep, or after the last.
    const bool first = result.sweeps == 0 && result.residual <= hardly_missed * tolerance;
    if (island != nullptr && !tried && (first || result.residual <= tolerance)) {
      tried = true;
      if (settle(*island, options, result)) break;
    }
    if (result.residual <= tolerance) break;
    if (!std::isfinite(result.residual) || stop(options, start, result)) return;
    best = std::min(best, result.residual);
    if (result.sweeps >= first_window && result.residual < worth_keeping * best_residual_) {
      best_residual_ = result.residual;
      gather(best_);
    }
    if (result.sweeps >= window_end) {
      const bool judged = std::isfinite(before);
      at_rest_ = live && sweeps_.restlessness() < resting;
      if (judged && !promises(before, best, window, result.sweeps, tolerance)) {
        if (guessed()) break;
        return;
      }
      if (judged) window *= 2;
      window_end = result.sweeps + window;
      before = best;
      best = std::numeric_limits<double>::infinity();
    }
    if (island != nullptr && result.sweeps >= std::max(next_guess, least_before_guess)) {
      // Not before the sweeps have cost as much as the guess will.
      if (next_guess < 0) {
        next_guess = static_cast<int>(std::min(1e9, prices_.guess() / prices_.sweep()));
      } else {
        if (guessed()) break;
        next_guess = 4 * result.sweeps;
      }
    }
    const int most = options.max_iterations - result.sweeps;
    for (int s = 0; s < std::min(check_every, most); ++s) sweeps_.sweep();
    result.sweeps += std::min(check_every, most);
  }
  result.status = Status::converged;
}

void Escalation::begin(Workspace& workspace, Delassus& W, const SolveOptions& options,
                       const Vector& start_lambda, Monitor::Clock::time_point start) {
  workspace_ = &workspace;
  W_ = &W;
  problem_ = &W.problem();
  options_ = &options;
  start_lambda_ = &start_lambda;
  lambda_ = start_lambda;
  start_ = start;
  swept_ = at_rest_ = false;
  clear(best_);
}

void Escalation::add_swept(const Vector& lambda, const SweepResult& result) {
  swept_ = true;
  at_rest_ = result.at_rest;
  clear(next_);
  next_.solver = result.path;
  next_.lambda = lambda;
  W_->recover(next_.lambda, next_.x);
  constraint_velocity(*problem_, next_.x, next_.lambda, next_.u);
  workspace_->certifier.certify(*problem_, next_.x, next_.lambda, options_->friction,
                                next_.certificate);
  next_.iterations = result.sweeps;
  next_.status = next_.certificate.meets(options_->tolerance) ? Status::converged : result.status;
  if (result.history != nullptr) next_.history = std::move(*result.history);
  accumulate(best_, next_);
  swept_lambda_ = lambda;
}

const Solution& Escalation::run() {
  const Status s = best_.status;
  const bool over = swept_ && (s == Status::converged || s == Status::interrupted ||
                               s == Status::time_limit || s == Status::iteration_limit);
  if (!over) escalate();
  return best_;
}

// Joints only: the direct solver. With contacts, Gauss–Seidel is fastest on easy problems and goes
// on while its rate promises the end soon; else the interior point takes over, then the proximal
// Newton method. Both start where the caller did, not from the multipliers of the sweeps, which lie
// far along redundant directions: there they creep (five to ten times the steps on soups and
// walls); but prox goes on from a point that is nearly there, and is left when its residual
// halves no longer.
// What they leave goes to Gauss–Seidel again, or, where the problem is convex and the motion must
// settle, to the accelerated gradient.
void Escalation::escalate() {
  if (problem_->K.is_linear()) {
    attempt("ldlt", options_->max_iterations) || attempt("cg", options_->max_iterations);
    return;
  }
  const bool convex = options_->friction == Friction::convex || !problem_->K.has_friction();
  // One run, for whether the motion settles shows only in windows that grow with the run.
  if (!swept_ && attempt("nsgs", 100)) return;
  // A small problem of the exact law that takes longer than 500 Newton steps is one of those below.
  const bool small = !convex && problem_->blocks() <= small_island;
  const int most = small ? 500 : options_->max_iterations;
  // Problems without x have been there.
  if (swept_ && !convex && problem_->dofs() > 0 && DenseContacts::suits(*problem_) &&
      attempt_dense(most))
    return;
  if (at_rest_) {
    lambda_.setZero();
    if (attempt("admm", most, alternating_patience)) return;
  }
  // The interior point, then its proximal steps: half the time of prox or less on the published
  // problems that sweeps leave (docs/solvers/auto.md).
  lambda_ = *start_lambda_;
  const int steps =
      small || convex ? most : std::min(most, newton_most + newton_most_each * problem_->blocks());
  if (!has_rolling() && attempt("ipm", steps)) return;
  if (swept_ && !convex && !small && !at_rest_) {
    lambda_ = swept_lambda_;
    if (attempt("nsgs", std::min(most, sweeps_again))) return;
  }
  start_again();
  if (attempt("prox", most, convex ? 0 : newton_patience)) return;
  if (small) {
    // From scratch: a caller's multipliers may lie far along a redundant direction, too.
    lambda_.setZero();
    if (attempt("prox", 500) || leave_one_out()) return;
  }
  attempt(convex ? "apgd" : "nsgs", options_->max_iterations);
}

// From where the caller started, or from the best point if that is nearly there.
void Escalation::start_again() {
  const bool near = best_.certificate.residual() <= nearly_there * options_->tolerance;
  lambda_ = near ? best_.lambda : *start_lambda_;
}

bool Escalation::has_rolling() const {
  return std::any_of(problem_->K.sets.begin(), problem_->K.sets.end(),
                     [](const ConvexSet& s) { return s.kind == SetKind::rolling_cone; });
}

// The contacts of one face contradict each other by the rounding of their gaps, so that one of them
// carries nothing. To find it, sweeps and Newton steps would have to change the others by that
// contradiction divided by the rounding: forever. So each is left out in turn, the least loaded
// first, and the whole is certified.
bool Escalation::leave_one_out() {
  loaded_.clear();
  for (int i = 0; i < problem_->blocks(); ++i) {
    const ConvexSet& set = problem_->K.sets[i];
    const double force = best_.lambda[problem_->K.start[i]];
    if ((set.has_friction() || set.kind == SetKind::nonnegative) && force > 0)
      loaded_.emplace_back(force, i);
  }
  std::sort(loaded_.begin(), loaded_.end());
  for (const auto& [force, block] : loaded_) {
    ProblemSize size{.dofs = problem_->dofs()};
    for (int i = 0; i < problem_->blocks(); ++i) {
      if (i != block) size.add(problem_->K.sets[i]);
    }
    Rest& rest = rests_.of(size, [this] { return std::make_unique<Rest>(workspace_->store); });
    if (!leave_out(block, rest)) return false;
    if (best_.status == Status::converged) return true;
    if (seconds_since(start_) > options_->time_limit) return false;
  }
  lambda_ = best_.lambda;
  return false;
}

// False if it could not be tried.
bool Escalation::leave_out(int block, Rest& rest) {
  const int first = problem_->K.start[block];
  without_block(*problem_, block, rest.problem);
  rest.start.setZero(rest.problem.rows());
  Delassus& W = rest.workspace.W;
  attempt_options_ = *options_;
  attempt_options_.max_iterations = std::min(200, options_->max_iterations - best_.iterations);
  if (attempt_options_.max_iterations <= 0 || !W.set(rest.problem, &workspace_->store))
    return false;
  rest.workspace.run("prox", W, attempt_options_, rest.start, start_, next_);
  W.release();
  whole_.setZero(problem_->rows());
  whole_.head(first) = next_.lambda.head(first);
  const auto after = rest.problem.rows() - first;
  whole_.tail(after) = next_.lambda.tail(after);
  next_.lambda.swap(whole_);
  constraint_velocity(*problem_, next_.x, next_.lambda, next_.u);
  workspace_->certifier.certify(*problem_, next_.x, next_.lambda, options_->friction,
                                next_.certificate);
  next_.status = next_.certificate.meets(options_->tolerance) ? Status::converged : Status::stalled;
  accumulate(best_, next_);
  return true;
}

// True when there is nothing more to do.
bool Escalation::attempt(const char* name, int iterations, int patience) {
  attempt_options_ = *options_;
  attempt_options_.momentum = true;
  attempt_options_.max_iterations =
      std::min(iterations, options_->max_iterations - best_.iterations);
  if (attempt_options_.max_iterations < 0) return true;
  workspace_->run(name, *W_, attempt_options_, lambda_, start_, next_, patience);
  accumulate(best_, next_);
  lambda_ = best_.lambda;
  return is_over();
}

// Newton with a dense W from where the sweeps have left it.
bool Escalation::attempt_dense(int most) {
  attempt_options_ = *options_;
  attempt_options_.max_iterations = std::min(most, options_->max_iterations - best_.iterations);
  if (attempt_options_.max_iterations < 0) return true;
  const auto begin = Monitor::Clock::now();
  if (!dense_.set(*W_)) return false;
  clear(next_);
  next_.lambda = best_.lambda;
  DenseContacts::Result result{.least_sweeps = 0};
  if (options_->record_history) result.history = &next_.history;
  dense_.solve(attempt_options_, start_, next_.lambda, result);
  next_.solver = "newton";
  next_.iterations = result.sweeps + result.steps;
  next_.factorizations = result.steps;
  next_.timings.solve = seconds_since(begin);
  W_->recover(next_.lambda, next_.x);
  constraint_velocity(*problem_, next_.x, next_.lambda, next_.u);
  workspace_->certifier.certify(*problem_, next_.x, next_.lambda, options_->friction,
                                next_.certificate);
  next_.status = next_.certificate.meets(options_->tolerance) ? Status::converged : result.status;
  accumulate(best_, next_);
  return is_over();
}

// True when there is nothing more to do.
bool Escalation::is_over() {
  if (best_.status == Status::converged || best_.status == Status::infeasible ||
      best_.status == Status::interrupted) {
    return true;
  }
  if (seconds_since(start_) <= options_->time_limit) return false;
  // Whichever attempt made the best iterate, this is why it ends.
  best_.status = Status::time_limit;
  return true;
}

}  // namespace urto
