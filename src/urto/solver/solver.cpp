#include "urto/solver/solver.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/error.h"
#include "urto/solver/method.h"

namespace urto {
namespace {

struct Registered {
  SolverInfo info;
  Method method;
};

constexpr Capabilities projected{.general_h = true,
                                 .cones = true,
                                 .boxes = true,
                                 .exact_friction = true,
                                 .convex_friction = true,
                                 .rolling = true,
                                 .redundant_rows = true};
constexpr Capabilities linear{.general_h = true, .redundant_rows = true};

constexpr Capabilities with_threads(Capabilities c) {
  c.threads = true;
  return c;
}
constexpr Capabilities exact_only(Capabilities c) {
  c.convex_friction = false;
  return c;
}

constexpr Capabilities without_rolling(Capabilities c) {
  c.rolling = false;
  return c;
}

// The order of the documentation. "auto" comes first and has no method of its own.
const std::array<Registered, 16>& registry() {
  static const std::array<Registered, 16> all{{
      {{"auto", "picks a solver and escalates until the certificate holds", projected}, nullptr},
      {{"jacobi", "projected Jacobi", projected}, jacobi},
      {{"sor", "projected successive over-relaxation", projected}, sor},
      {{"ssor", "symmetric projected SOR", projected}, symmetric_sor},
      {{"sor-colour", "SOR by graph colouring, multi-threaded, deterministic",
        with_threads(projected)},
       coloured_sor},
      {{"nsgs", "Gauss–Seidel, local Newton (Alart–Curnier) with fallbacks", projected},
       nsgs_alart_curnier},
      {{"nsgs-quartic", "Gauss–Seidel, local closed form (quartic)", exact_only(projected)},
       nsgs_quartic},
      {{"nsgs-projection", "Gauss–Seidel, local projection fixed point", projected},
       nsgs_projection},
      {{"spg", "spectral projected gradient, preconditioned, with fallback", projected}, spg},
      {{"apgd", "accelerated projected gradient with restart", projected}, apgd},
      {{"admm", "alternating directions, adaptive penalty, cached factor", projected}, admm},
      {{"prox", "proximal point with semi-smooth Newton", projected}, prox_newton},
      {{"ipm", "interior point, predictor and corrector, Nesterov–Todd scaling",
        without_rolling(projected)},
       interior_point},
      {{"minres", "minimal residual on the saddle point (joints only)", linear}, minres},
      {{"cg", "conjugate gradients on the Delassus system (joints only)", linear},
       conjugate_gradient},
      {{"ldlt", "sparse direct LDLᵀ of the saddle point (joints only)", linear}, direct_ldlt},
  }};
  return all;
}

const Registered& find_solver(const std::string& name) {
  for (const Registered& entry : registry()) {
    if (entry.info.name == name) return entry;
  }
  std::vector<std::string_view> names;
  for (const Registered& entry : registry()) names.push_back(entry.info.name);
  throw InputError("solver", fmt::format("'{}'", name),
                   fmt::format("one of {}", fmt::join(names, ", ")));
}

std::string solvers_that(bool Capabilities::*can) {
  std::vector<std::string_view> names;
  for (const Registered& entry : registry()) {
    if (entry.info.can.*can) names.push_back(entry.info.name);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

void check_capabilities(const SolverInfo& info, const StepProblem& p, const SolveOptions& options) {
  const auto refuse = [&](const char* what, bool Capabilities::*can) {
    throw InputError(fmt::format("solver '{}' cannot treat {}; these can: {}", info.name, what,
                                 solvers_that(can)));
  };
  bool unilateral = false;
  bool boxes = false;
  bool rolling = false;
  for (const ConvexSet& set : p.K.sets) {
    unilateral = unilateral || set.has_friction() || set.kind == SetKind::nonnegative;
    boxes = boxes || set.kind == SetKind::box;
    rolling = rolling || set.kind == SetKind::rolling_cone;
  }
  if (unilateral && !info.can.cones)
    refuse("contacts (friction or unilateral rows)", &Capabilities::cones);
  if (boxes && !info.can.boxes) refuse("two-sided bounds", &Capabilities::boxes);
  if (rolling && !info.can.rolling) refuse("rolling or spinning friction", &Capabilities::rolling);
  if (p.K.has_friction()) {
    if (options.friction == Friction::exact && !info.can.exact_friction) {
      refuse("exact Coulomb friction", &Capabilities::exact_friction);
    }
    if (options.friction == Friction::convex && !info.can.convex_friction) {
      refuse("convex friction", &Capabilities::convex_friction);
    }
  }
  if (!info.can.general_h && block_diagonal_mass(p) == nullptr && p.dofs() > 0) {
    refuse("a general matrix H", &Capabilities::general_h);
  }
}

void check_options(const SolveOptions& o) {
  const auto check = [](bool good, const char* name, double found, const char* expected) {
    if (!good) throw InputError(fmt::format("option {}", name), fmt::format("{}", found), expected);
  };
  check(o.tolerance > 0 && std::isfinite(o.tolerance), "tolerance", o.tolerance,
        "a positive number");
  check(o.max_iterations >= 0, "max_iterations", o.max_iterations, "zero or more");
  check(o.time_limit > 0, "time_limit", o.time_limit, "a positive number of seconds");
  check(o.threads >= 1 && o.threads <= 1024, "threads", o.threads, "1 to 1024");
  check(o.relaxation > 0 && o.relaxation < 2, "relaxation", o.relaxation, "a number in (0, 2)");
  check(o.jacobi_relaxation > 0 && o.jacobi_relaxation < 2, "jacobi_relaxation",
        o.jacobi_relaxation, "a number in (0, 2)");
  check(o.sharpness > 0 && o.sharpness <= 1, "sharpness", o.sharpness, "a number in (0, 1]");
  const InteriorPointOptions& ipm = o.interior_point;
  check(ipm.residual_tolerance > 0, "residual_tolerance", ipm.residual_tolerance,
        "a positive number");
  check(ipm.mu_tolerance > 0, "mu_tolerance", ipm.mu_tolerance, "a positive number");
}

double seconds_since(Monitor::Clock::time_point start) {
  return std::chrono::duration<double>(Monitor::Clock::now() - start).count();
}

// Runs one method and certifies its result.
Solution run_method(const Registered& entry, const StepProblem& problem, Delassus& W,
                    const SolveOptions& options, const Vector& start_lambda,
                    Monitor::Clock::time_point start) {
  Solution solution;
  solution.solver = entry.info.name;
  const auto begin = Monitor::Clock::now();
  Monitor monitor(W, options, options.friction, start);
  Run run{.W = W, .options = options, .monitor = monitor, .lambda = start_lambda};
  entry.method(run);
  solution.timings.solve = seconds_since(begin);

  // The best iterate, where the method has not ended on it.
  const bool own_x =
      run.x.size() == problem.dofs() && problem.dofs() > 0 && monitor.status() == Status::converged;
  const bool measured = monitor.best_residual() < std::numeric_limits<double>::infinity();
  solution.lambda = measured && !own_x ? monitor.best() : run.lambda;
  const auto certify_begin = Monitor::Clock::now();
  if (own_x) {
    solution.x = run.x;
  } else {
    W.recover(solution.lambda, solution.x);
  }
  multiply(problem.J, solution.x, solution.u);
  solution.u += problem.E * solution.lambda + problem.b;
  solution.certificate = certify(problem, solution.x, solution.lambda, options.friction);
  solution.timings.certify = seconds_since(certify_begin);

  solution.status = monitor.status();
  solution.message = run.message;
  if (solution.certificate.meets(options.tolerance) && monitor.still_moves()) {
    solution.message = "the certificate meets the tolerance, but the velocity had not settled yet";
  } else if (solution.certificate.meets(options.tolerance)) {
    solution.status = Status::converged;
    solution.message.clear();
  } else if (solution.status == Status::converged) {
    solution.status = Status::not_certified;
    solution.message =
        "the solver's own test passed, but the certificate does not meet the tolerance";
  }
  solution.iterations = run.iterations;
  solution.outer_iterations = run.outer_iterations;
  solution.factorizations = run.factorizations;
  solution.linear = run.linear;
  solution.history = monitor.take_history();
  solution.interior_point_log = std::move(run.interior_point_log);
  return solution;
}

void accumulate(Solution& total, Solution&& next) {
  const double solve = total.timings.solve + next.timings.solve;
  const double certified = total.timings.certify + next.timings.certify;
  const int iterations = total.iterations + next.iterations;
  const int outer = total.outer_iterations + next.outer_iterations;
  const int factorizations = total.factorizations + next.factorizations;
  std::vector<HistoryEntry> history = std::move(total.history);
  for (HistoryEntry entry : next.history) {
    entry.iteration += total.iterations;
    history.push_back(entry);
  }
  std::vector<InteriorPointRecord> log = std::move(total.interior_point_log);
  for (InteriorPointRecord record : next.interior_point_log) {
    record.iteration += total.iterations;
    log.push_back(record);
  }
  LinearCounters counters = total.linear;
  counters += next.linear;
  // A converged motion beats a smaller residual whose motion has not settled.
  const bool better = next.status == Status::converged ||
                      !(total.certificate.residual() <= next.certificate.residual());
  const bool same =
      total.solver.size() >= next.solver.size() && total.solver.ends_with(next.solver);
  const std::string path = total.solver.empty() ? next.solver
                           : same               ? total.solver
                                                : total.solver + "+" + next.solver;
  const Status last = next.status;
  if (better || last == Status::infeasible) total = std::move(next);
  if (last == Status::interrupted) total.status = last;
  total.solver = path;
  total.timings.solve = solve;
  total.timings.certify = certified;
  total.iterations = iterations;
  total.outer_iterations = outer;
  total.factorizations = factorizations;
  total.linear = counters;
  total.history = std::move(history);
  total.interior_point_log = std::move(log);
}

// Joints only: the direct solver. With contacts, Gauss–Seidel is fastest on easy problems and goes on while its rate promises the end soon;
// else the interior point takes over, then the proximal Newton method. Both start where the caller did, not from the multipliers of the sweeps, which
// lie far along redundant directions: there they creep (five to ten times the steps on soups and walls). What they leave goes to Gauss–Seidel
// again, or, where the problem is convex and the motion must settle, to the accelerated gradient.
class AutomaticSolve {
 public:
  AutomaticSolve(const StepProblem& problem, Delassus& W, const SolveOptions& options,
                 Vector start_lambda, Monitor::Clock::time_point start)
      : problem_(problem),
        W_(W),
        options_(options),
        start_lambda_(std::move(start_lambda)),
        lambda_(start_lambda_),
        start_(start) {
    best_.certificate.natural_map = std::numeric_limits<double>::infinity();
  }

  Solution run() {
    if (problem_.K.is_linear()) {
      attempt("ldlt", options_.max_iterations) || attempt("cg", options_.max_iterations);
      return std::move(best_);
    }
    const bool convex = options_.friction == Friction::convex || !problem_.K.has_friction();
    // Convex: one run, for whether the motion settles shows only in windows that grow with the run.
    if (convex ? attempt("nsgs", 100) : sweep_while_promising(2500)) return std::move(best_);
    lambda_ = start_lambda_;
    // A small problem of the exact law that takes longer than 500 Newton steps is one of those below.
    const bool small = !convex && problem_.blocks() <= 64;
    // The interior point, then its proximal steps: half the time of prox or less on the published problems that sweeps leave (docs/solvers/auto.md).
    if (!has_rolling() && attempt("ipm", small ? 500 : options_.max_iterations))
      return std::move(best_);
    lambda_ = start_lambda_;
    if (attempt("prox", small ? 500 : options_.max_iterations)) return std::move(best_);
    if (small) {
      // From scratch: a caller's multipliers may lie far along a redundant direction, too.
      lambda_.setZero();
      if (attempt("prox", 500) || leave_one_out()) return std::move(best_);
    }
    attempt(convex ? "apgd" : "nsgs", options_.max_iterations);
    return std::move(best_);
  }

 private:
  bool has_rolling() const {
    return std::any_of(problem_.K.sets.begin(), problem_.K.sets.end(),
                       [](const ConvexSet& s) { return s.kind == SetKind::rolling_cone; });
  }
  // Gauss–Seidel in runs that double, as long as the rate of the last one promises the end within `worthwhile` sweeps in all (a Newton step
  // costs some hundred): the first sweeps are often faster than those that follow. True when there is nothing more to do.
  bool sweep_while_promising(double worthwhile) {
    constexpr int probe = 60;
    if (attempt("nsgs", probe)) return true;
    double used = probe;
    for (int sweeps = probe;; sweeps *= 2) {
      const double before = best_.certificate.residual();
      if (attempt("nsgs", sweeps)) return true;
      const double after = best_.certificate.residual();
      used += sweeps;
      const double left = sweeps * std::log(options_.tolerance / after) / std::log(after / before);
      if (!(after < before) || !(used + left < worthwhile)) return false;
    }
  }

  // The contacts of one face contradict each other by the rounding of their gaps, so that one of them carries nothing. To find it, sweeps and Newton steps would have to
  // change the others by that contradiction divided by the rounding: forever. So each is left out in turn, the least loaded first, and the whole is certified.
  bool leave_one_out() {
    std::vector<std::pair<double, int>> loaded;
    for (int i = 0; i < problem_.blocks(); ++i) {
      const ConvexSet& set = problem_.K.sets[i];
      const double force = best_.lambda[problem_.K.start[i]];
      if ((set.has_friction() || set.kind == SetKind::nonnegative) && force > 0)
        loaded.emplace_back(force, i);
    }
    std::sort(loaded.begin(), loaded.end());
    for (const auto& [force, block] : loaded) {
      const int first = problem_.K.start[block];
      const StepProblem rest = without_block(problem_, block);
      const Vector start = Vector::Zero(rest.rows());
      Delassus W(rest, W_.symbolic_store());
      SolveOptions options = options_;
      options.max_iterations = std::min(200, options_.max_iterations - best_.iterations);
      if (options.max_iterations <= 0) return false;
      Solution part = run_method(find_solver("prox"), rest, W, options, start, start_);
      Vector whole = Vector::Zero(problem_.rows());
      whole.head(first) = part.lambda.head(first);
      whole.tail(rest.rows() - first) = part.lambda.tail(rest.rows() - first);
      part.lambda = whole;
      multiply(problem_.J, part.x, part.u);
      part.u += problem_.E * part.lambda + problem_.b;
      part.certificate = certify(problem_, part.x, part.lambda, options_.friction);
      part.status =
          part.certificate.meets(options_.tolerance) ? Status::converged : Status::stalled;
      accumulate(best_, std::move(part));
      if (best_.status == Status::converged) return true;
      if (seconds_since(start_) > options_.time_limit) return false;
    }
    lambda_ = best_.lambda;
    return false;
  }

  // True when there is nothing more to do.
  bool attempt(const char* name, int iterations) {
    SolveOptions options = options_;
    options.max_iterations = std::min(iterations, options_.max_iterations - best_.iterations);
    if (options.max_iterations < 0) return true;
    accumulate(best_, run_method(find_solver(name), problem_, W_, options, lambda_, start_));
    lambda_ = best_.lambda;
    if (best_.status == Status::converged || best_.status == Status::infeasible ||
        best_.status == Status::interrupted) {
      return true;
    }
    if (seconds_since(start_) <= options_.time_limit) return false;
    best_.status =
        Status::time_limit;  // whichever attempt made the best iterate, this is why it ends
    return true;
  }

  const StepProblem& problem_;
  Delassus& W_;
  const SolveOptions& options_;
  const Vector start_lambda_;
  Vector lambda_;
  Monitor::Clock::time_point start_;
  Solution best_;
};

}  // namespace

std::string_view to_string(Status status) {
  switch (status) {
    case Status::converged:
      return "converged";
    case Status::iteration_limit:
      return "iteration limit";
    case Status::time_limit:
      return "time limit";
    case Status::interrupted:
      return "interrupted";
    case Status::stalled:
      return "stalled";
    case Status::infeasible:
      return "infeasible";
    case Status::not_certified:
      return "not certified";
    case Status::failed:
      return "failed";
  }
  return "unknown";
}

std::span<const SolverInfo> solvers() {
  static const std::vector<SolverInfo> infos = [] {
    std::vector<SolverInfo> list;
    for (const Registered& entry : registry()) list.push_back(entry.info);
    return list;
  }();
  return infos;
}

Solution solve(const StepProblem& problem, const SolveOptions& options, const Vector* warm_start) {
  const auto start = Monitor::Clock::now();
  const Registered& entry = find_solver(options.solver);
  check_options(options);
  check_capabilities(entry.info, problem, options);
  if (warm_start != nullptr && warm_start->size() != problem.rows()) {
    throw InputError("warm start", fmt::format("{} values", warm_start->size()),
                     fmt::format("{}", problem.rows()));
  }
  Delassus W(problem, options.symbolic_store);
  Vector lambda =
      warm_start != nullptr && warm_start->allFinite() ? *warm_start : Vector::Zero(problem.rows());
  project(problem.K, lambda, lambda);
  const double setup = seconds_since(start);
  Solution solution = entry.method == nullptr
                          ? AutomaticSolve(problem, W, options, lambda, start).run()
                          : run_method(entry, problem, W, options, lambda, start);
  solution.timings.setup = setup;
  return solution;
}

}  // namespace urto
