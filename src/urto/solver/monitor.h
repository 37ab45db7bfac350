// The running stop test that every solver shares: the same two natural-map residuals as the certificate, computed from
// the u and λ a solver has at hand; keeps the best iterate, the history, and the reason for stopping.
#pragma once

#include <chrono>

#include "urto/solver/delassus.h"
#include "urto/solver/solver.h"

namespace urto {

class Monitor {
 public:
  using Clock = std::chrono::steady_clock;

  /// `law` is the friction law to measure: a convex solver inside the De Saxcé loop is measured against its own, convex, problem.
  Monitor(const Delassus& W, const SolveOptions& options, Friction law, Clock::time_point start);

  /// Measures the iterate and decides: true when the solver has to stop. u = W λ + q must hold.
  bool observe(int iteration, const Vector& lambda, const Vector& u);
  double residual(const Vector& lambda, const Vector& u) const;
  /// True, and the status says which, when the time or the iterations are used up.
  bool limit_reached(int iteration);
  /// When to measure: every iteration at first, then every few, so that the test costs little against cheap sweeps.
  bool is_due(int iteration) const {
    return iteration <= 10 || iteration % 5 == 0 || offset_ + iteration >= options_.max_iterations;
  }

  /// Also stop when the residual is below this (an inner solve need not be better than its outer loop).
  void set_tolerance(double tolerance) { tolerance_ = enough_ = tolerance; }
  double tolerance() const { return tolerance_; }
  void forget_best() {
    best_residual_ = std::numeric_limits<double>::infinity();
    met_at_ = -1;
  }
  void set_iteration_offset(int offset) { offset_ = offset; }

  /// √Σ ρ_i‖q_i‖²: what the scaled residual is relative to, the root of an energy.
  double energy_of_q() const { return energy_q_; }
  bool out_of_time() const;
  double seconds() const;
  double best_residual() const { return best_residual_; }
  double last_residual() const { return last_residual_; }
  const Vector& best() const { return best_; }
  Status status() const { return status_; }
  void set_status(Status status) { status_ = status; }
  std::vector<HistoryEntry> take_history() { return std::move(history_); }

 private:
  const Delassus& W_;
  const SolveOptions& options_;
  Friction law_;
  Clock::time_point start_;
  double tolerance_, enough_;
  int met_at_ = -1;  ///< iteration at which `enough_` was met
  double norm_q_ = 0, energy_q_ = 0;
  double best_residual_ = std::numeric_limits<double>::infinity();
  double last_residual_ = std::numeric_limits<double>::infinity();
  int offset_ = 0;
  Vector best_;
  Status status_ = Status::iteration_limit;
  std::vector<HistoryEntry> history_;
};

}  // namespace urto
