// Solving a step problem: options in, solution and certificate out, one call for every solver.
//
//     const Solution s = solve(problem, {.solver = "nsgs", .tolerance = 1e-8});
//     if (s.status != Status::converged) …   // s.certificate says how far it is off, s.message why
//
// Whoever solves one problem after another keeps a solver, and with it all that was allocated and
// analysed:
//
//     const std::unique_ptr<Solver> solver = make_solver("auto");
//     solver->solve(problem, options, x, lambda, report);   // λ in: a warm start
//
// A tolerance means the same for every solver: `Certificate::residual() ≤ tolerance`. Where the
// problem is convex, hence the velocity unique, a method also goes on until its velocity has
// settled to within a few tolerances of ‖q‖, so that solvers agree on the motion (monitor.h).
#pragma once

#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "urto/problem/certificate.h"
#include "urto/problem/step_problem.h"
#include "urto/solver/interior_point_options.h"

namespace urto {

class ThreadPool;

enum class Status : std::uint8_t {
  converged,        ///< the certificate meets the tolerance (convex: and the velocity has settled)
  iteration_limit,  ///< stopped by max_iterations; the best iterate is returned
  time_limit,       ///< stopped by time_limit; the best iterate is returned
  interrupted,      ///< stopped by on_progress; the best iterate is returned
  stalled,          ///< no further progress possible at this precision
  infeasible,       ///< no velocity satisfies the constraints (contradictory gaps or joints)
  not_certified,    ///< the solver's own test passed but the certificate misses the tolerance
  failed,           ///< not-a-number, or a factorisation broke down
};
std::string_view to_string(Status status);

/// What a solver can do; what it cannot it refuses with an InputError that names solvers which can.
struct Capabilities {
  bool general_h = false;       ///< H sparse with stiffness (else block-diagonal only)
  bool cones = false;           ///< friction, and with it any unilateral row
  bool boxes = false;           ///< two-sided bounds
  bool exact_friction = false;  ///< Coulomb's law itself (else only the convex relaxation)
  bool convex_friction = false;
  bool rolling = false;         ///< rolling and spinning friction
  bool redundant_rows = false;  ///< rank-deficient J
  bool threads = false;
};

struct SolveOptions {
  std::string solver = "auto";  ///< of `solve(problem, options)`; a Solver has its own name
  double tolerance = 1e-8;      ///< on Certificate::residual(), dimensionless
  int max_iterations =
      10000;  ///< sweeps, gradient steps or Newton steps, whatever the solver counts
  double time_limit = std::numeric_limits<double>::infinity();  ///< [s] wall time for one problem
  Friction friction = Friction::exact;
  /// Threads work on islands, and inside `sor-colour`. The answer has the same bits for any number.
  int threads = 1;
  /// Bodies that touch or are joined are solved apart from the others, and islands of joints only
  /// by one factorisation whatever the solver's name (islands.h). Not set: `auto` does, a named
  /// solver gets the problem as it is.
  std::optional<bool> islands = {};
  /// Where the motion is unique, it must have settled as well as the certificate hold. A run asks
  /// for the certificate only: the next step's warm start goes on where this one ends.
  bool settle = true;
  bool record_history = false;
  /// Called now and then with (iteration, residual); false stops the solve with the best iterate so
  /// far.
  std::function<bool(int, double)> on_progress = {};

  // Fixed-point family (recipe 000 §2.8).
  double relaxation = 1.0;         ///< ω of SOR and its kin, in (0, 2)
  double jacobi_relaxation = 0.3;  ///< ω of Jacobi: 0.2–0.5 converge on stacks, 1 does not
  double sharpness =
      1.0;  ///< λ_r in (0, 1]: 1 takes the projected value, less averages with the old one

  // Gradient methods: spg, apgd.
  /// One number a block as diagonal preconditioner (scaled_operator.h); false: none, for
  /// comparisons.
  bool precondition = true;
  /// spg: the objective has to fall below the largest of so many values (Grippo, Lampariello and
  /// Lucidi 1986); 1 makes the search monotone.
  int search_memory = 10;

  InteriorPointOptions interior_point = {};
};

struct HistoryEntry {
  int iteration = 0;
  double seconds = 0;
  double residual = 0;  ///< the solver's own running measure of Certificate::residual()
};

struct Timings {  ///< [s]
  double setup = 0, solve = 0, certify = 0;
  double total() const { return setup + solve + certify; }
};

struct Solution {
  std::string solver;  ///< the solver that produced it ("auto" names its choice)
  Vector x, lambda, u;
  Certificate certificate;
  Status status = Status::failed;
  std::string message;  ///< why, when the status is not `converged`; warnings otherwise
  int iterations = 0;
  int outer_iterations = 0;  ///< of the De Saxcé loop, or proximal steps; 0 where there is none
  int factorizations = 0;
  LinearCounters linear = {};  ///< of the interior point; zero for other solvers
  Timings timings;
  std::vector<HistoryEntry> history;
  std::vector<InteriorPointRecord> interior_point_log;  ///< with `record_history`, of ipm
};

/// What a Solver did for one problem, over all of its islands.
struct StepSolveReport {
  int islands = 0;             ///< with at least one row
  int largest_island = 0;      ///< rows
  int sweeps = 0;              ///< of the island that needed most
  int guessed = 0;             ///< islands that a guess of the active set solved
  int handed_on = 0;           ///< islands given to another method than sweeps and block factors
  int iterations = 0;          ///< of those, summed
  int outer_iterations = 0;    ///< likewise
  int factorizations = 0;      ///< likewise
  LinearCounters linear = {};  ///< of those that the interior point solved
  Status status = Status::converged;
  std::string message = {};  ///< why, when the status is not `converged`; warnings otherwise
  std::string solver = {};   ///< the methods of the last island that was handed on
  Timings timings = {};
  std::vector<HistoryEntry> history = {};                    ///< of the largest island
  std::vector<InteriorPointRecord> interior_point_log = {};  ///< likewise
};

struct SolverInfo {
  std::string_view name;
  std::string_view summary;  ///< one line
  Capabilities can;
};

/// Every registered solver, in the order of the documentation; a program's own ones come last
/// (`register_solver`, method.h).
std::span<const SolverInfo> solvers();

/// A solver that keeps its workspace, threads included, between solves: what a time stepper holds.
/// For one problem at a time.
class Solver {
 public:
  /// Throws InputError with the names for a name that is none.
  explicit Solver(std::string_view name);
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  const SolverInfo& info() const;
  /// The threads of somebody who has some, instead of its own; they outlive the solver. How many of
  /// them work is said by the options.
  void use_threads(ThreadPool& pool);

  /// λ in: a warm start (one that is not a number counts as zero); out: x and λ of the solution, or
  /// of the best that was found. The status is that of the methods' own measurements: `certify` the
  /// whole (certificate.h), as `solve` below does. Throws InputError if the solver cannot treat
  /// this problem or an option is out of range, never for a problem that is merely hard: the status
  /// says so. The problem must be valid: `validate` it first if it comes from outside.
  void solve(const StepProblem& problem, const SolveOptions& options, Vector& x, Vector& lambda,
             StepSolveReport& report);
  /// The same with a certificate, from `warm_start` (multipliers; zero when null).
  Solution solve(const StepProblem& problem, const SolveOptions& options = {},
                 const Vector* warm_start = nullptr);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

std::unique_ptr<Solver> make_solver(std::string_view name);

/// Solves one problem with the solver that the options name.
Solution solve(const StepProblem& problem, const SolveOptions& options = {},
               const Vector* warm_start = nullptr);

}  // namespace urto
