// Solving a step problem: options in, solution and certificate out, one function for every solver.
//
//     const Solution s = solve(problem, {.solver = "nsgs", .tolerance = 1e-8});
//     if (s.status != Status::converged) …   // s.certificate says how far it is off, s.message why
//
// A tolerance means the same for every solver: `Certificate::residual() ≤ tolerance`. Where the problem is convex, hence the velocity unique, a
// method also goes on until its velocity has settled to within a few tolerances of ‖q‖, so that solvers agree on the motion (monitor.h).
#pragma once

#include <functional>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "urto/problem/certificate.h"
#include "urto/problem/step_problem.h"
#include "urto/solver/interior_point_options.h"

namespace urto {

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

class SymbolicStore;

struct SolveOptions {
  std::string solver = "auto";
  double tolerance = 1e-8;  ///< on Certificate::residual(), dimensionless
  int max_iterations =
      10000;  ///< sweeps, gradient steps or Newton steps, whatever the solver counts
  double time_limit = std::numeric_limits<double>::infinity();  ///< [s] wall time for one problem
  Friction friction = Friction::exact;
  int threads = 1;
  bool record_history = false;
  /// Called now and then with (iteration, residual); false stops the solve with the best iterate so
  /// far.
  std::function<bool(int, double)> on_progress = {};

  // Fixed-point family (recipe 000 §2.8).
  double relaxation = 1.0;         ///< ω of SOR and its kin, in (0, 2)
  double jacobi_relaxation = 0.3;  ///< ω of Jacobi: 0.2–0.5 converge on stacks, 1 does not
  double sharpness =
      1.0;  ///< λ_r in (0, 1]: 1 takes the projected value, less averages with the old one

  InteriorPointOptions interior_point = {};

  /// Where orderings and symbolic factors of sparse matrices are kept from one solve to the next (symbolic_store.h), the caller's; null: for this solve only.
  SymbolicStore* symbolic_store = nullptr;
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

struct SolverInfo {
  std::string_view name;
  std::string_view summary;  ///< one line
  Capabilities can;
};

/// Every registered solver, in the order of the documentation.
std::span<const SolverInfo> solvers();

/// Solves from `warm_start` (multipliers; zero when null). Throws InputError if the solver is
/// unknown, cannot treat this problem or an option is out of range. Never throws for a problem that
/// is merely hard: the status says so. The problem must be valid: `validate` it first if it comes
/// from outside.
Solution solve(const StepProblem& problem, const SolveOptions& options = {},
               const Vector* warm_start = nullptr);

}  // namespace urto
