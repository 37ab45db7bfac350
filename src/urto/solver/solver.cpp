#include "urto/solver/solver.h"

#include "urto/solver/island_solver.h"

namespace urto {
namespace {

// Where the motion is unique it must have settled, too, and a limit came before.
bool may_still_move(const StepProblem& p, const SolveOptions& options, Status status) {
  const bool convex = options.friction == Friction::convex || !p.K.has_friction();
  return options.settle && convex &&
         (status == Status::iteration_limit || status == Status::time_limit ||
          status == Status::interrupted);
}

// The methods of all islands together, where none of them was handed on.
std::string path(const StepProblem& p, const StepSolveReport& report) {
  if (!report.solver.empty()) return report.solver;
  if (p.K.is_linear()) return "ldlt";
  return report.guessed > 0 ? "nsgs+guess" : "nsgs";
}

}  // namespace

class Solver::Impl : public IslandSolver {
 public:
  using IslandSolver::IslandSolver;
};

Solver::Solver(std::string_view name) : impl_(std::make_unique<Impl>(find_solver(name))) {}
Solver::~Solver() = default;

const SolverInfo& Solver::info() const {
  return impl_->info();
}

void Solver::use_threads(ThreadPool& pool) {
  impl_->use_threads(pool);
}

void Solver::solve(const StepProblem& problem, const SolveOptions& options, Vector& x,
                   Vector& lambda, StepSolveReport& report) {
  impl_->solve(problem, options, x, lambda, report);
}

Solution Solver::solve(const StepProblem& problem, const SolveOptions& options,
                       const Vector* warm_start) {
  Solution s;
  StepSolveReport report;
  s.lambda = warm_start != nullptr ? *warm_start : Vector::Zero(problem.rows());
  const Certificate* known = impl_->solve(problem, options, s.x, s.lambda, report);
  s.status = report.status;
  s.message = std::move(report.message);
  s.timings = report.timings;
  const auto begin = Monitor::Clock::now();
  constraint_velocity(problem, s.x, s.lambda, s.u);
  if (known != nullptr) {
    s.certificate = *known;
  } else {
    impl_->certifier().certify(problem, s.x, s.lambda, options.friction, s.certificate);
    s.timings.certify += seconds_since(begin);
    const bool meets = s.certificate.meets(options.tolerance);
    if (meets && s.status != Status::converged && !may_still_move(problem, options, s.status)) {
      s.status = Status::converged;
      s.message.clear();
    } else if (!meets && s.status == Status::converged) {
      s.status = Status::not_certified;
      s.message = "every island meets the tolerance, but the whole does not";
    }
  }
  s.solver = path(problem, report);
  s.iterations = report.sweeps + report.iterations;
  s.outer_iterations = report.outer_iterations;
  s.factorizations = report.factorizations;
  s.bad_starts = report.bad_starts;
  s.linear = report.linear;
  s.history = std::move(report.history);
  s.interior_point_log = std::move(report.interior_point_log);
  return s;
}

std::unique_ptr<Solver> make_solver(std::string_view name) {
  return std::make_unique<Solver>(name);
}

Solution solve(const StepProblem& problem, const SolveOptions& options, const Vector* warm_start) {
  return Solver(options.solver).solve(problem, options, warm_start);
}

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

}  // namespace urto
