#include "urto/solver/workspace.h"

#include <algorithm>
#include <limits>

namespace urto {
namespace {

// The certificate decides.
void set_status(const Monitor& monitor, const SolveOptions& options, Solution& out) {
  out.status = monitor.status();
  if (out.certificate.meets(options.tolerance) && monitor.still_moves()) {
    out.message = "the certificate meets the tolerance, but the velocity had not settled yet";
  } else if (out.certificate.meets(options.tolerance)) {
    out.status = Status::converged;
    out.message.clear();
  } else if (out.status == Status::converged) {
    out.status = Status::not_certified;
    out.message = "the solver's own test passed, but the certificate does not meet the tolerance";
  }
}

}  // namespace

void constraint_velocity(const StepProblem& p, const Vector& x, const Vector& lambda, Vector& u) {
  multiply(p.J, x, u);
  if (p.E.nonZeros() > 0) u.noalias() += p.E * lambda;
  u += p.b;
}

Method& Workspace::method(std::string_view solver) {
  const auto found = std::find_if(methods_.begin(), methods_.end(),
                                  [&](const Kept& kept) { return kept.name == solver; });
  if (found != methods_.end()) return *found->method;
  methods_.push_back({std::string(solver), find_solver(solver).make()});
  return *methods_.back().method;
}

void Workspace::run(std::string_view solver, Delassus& op, const SolveOptions& options,
                    const Vector& start_lambda, Monitor::Clock::time_point start, Solution& out,
                    int patience) {
  const StepProblem& problem = op.problem();
  out.solver = solver;
  const auto begin = Monitor::Clock::now();
  monitor_.begin(op, options, options.friction, start);
  monitor_.set_patience(patience);
  lambda_ = start_lambda;
  Run run{.W = op, .options = options, .monitor = monitor_, .lambda = lambda_, .x = x_};
  run.message.swap(out.message);  // for its storage
  run.message.clear();
  method(solver).solve(run);
  out.timings.solve = seconds_since(begin);

  // The best iterate, where the method has not ended on it.
  const bool own_x = run.has_x && x_.size() == problem.dofs() && problem.dofs() > 0 &&
                     monitor_.status() == Status::converged;
  const bool measured = monitor_.best_residual() < std::numeric_limits<double>::infinity();
  out.lambda = measured && !own_x ? monitor_.best() : lambda_;
  const auto certify_begin = Monitor::Clock::now();
  if (own_x) {
    out.x = x_;
  } else {
    op.recover(out.lambda, out.x);
  }
  constraint_velocity(problem, out.x, out.lambda, out.u);
  certifier.certify(problem, out.x, out.lambda, options.friction, out.certificate);
  out.timings.certify = seconds_since(certify_begin);
  out.message.swap(run.message);
  set_status(monitor_, options, out);
  out.iterations = run.iterations;
  out.outer_iterations = run.outer_iterations;
  out.factorizations = run.factorizations;
  out.bad_starts = run.bad_starts;
  out.linear = run.linear;
  out.history = monitor_.take_history();
  out.interior_point_log = std::move(run.interior_point_log);
}

}  // namespace urto
