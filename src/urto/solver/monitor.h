// The running stop test that every solver shares: the same two natural-map residuals as the
// certificate, computed from the u and λ a solver has at hand; keeps the best iterate, the history,
// and the reason for stopping.
#pragma once

#include <chrono>

#include "urto/solver/delassus.h"
#include "urto/solver/solver.h"

namespace urto {

// How far the velocity of an iteration still is from its limit, extrapolated from its moves over
// windows that grow with the iteration: exact for a geometric sequence in the long run, and for a
// power of the iteration too, which is how methods creep on degenerate problems. Newton's steps are
// not many and each counts: their windows are single iterations.
class MotionEstimate {
 public:
  void use_every_iteration() { growth_ = 1; }
  void forget();
  void record(int iteration, const Vector& u);
  /// Infinite until four velocities are recorded; not less than the move since the last of them.
  double distance(const Vector& u) const { return std::max(distance_, (u - u_).norm()); }

 private:
  Vector u_;
  double growth_ = 1.2;  ///< of a window against the last one
  int iteration_ = -1;
  double move_ = std::numeric_limits<double>::infinity();
  double rate_ = 0;
  double estimate_ = std::numeric_limits<double>::infinity();
  double distance_ = std::numeric_limits<double>::infinity();
};

class Monitor {
 public:
  using Clock = std::chrono::steady_clock;

  Monitor() = default;
  /// `law` is the friction law to measure: a convex solver inside the De Saxcé loop is measured
  /// against its own, convex, problem.
  Monitor(const Delassus& W, const SolveOptions& options, Friction law, Clock::time_point start) {
    begin(W, options, law, start);
  }
  /// The same, in the storage that is there. W and the options are read until the next `begin`.
  void begin(const Delassus& W, const SolveOptions& options, Friction law, Clock::time_point start);

  /// Measures the iterate and decides: true when the solver has to stop. u = W λ + q must hold.
  bool observe(int iteration, const Vector& lambda, const Vector& u);
  double residual(const Vector& lambda, const Vector& u) const;
  /// True, and the status says which, when the time or the iterations are used up.
  bool limit_reached(int iteration);
  /// Between measurements, where these are far apart: true, and the status says why, when the time
  /// is up or the caller wants to stop.
  bool stop_requested(int iteration);
  /// When to measure: every iteration at first, then every few, so that the test costs little
  /// against cheap sweeps.
  bool is_due(int iteration) const {
    return iteration <= 10 || iteration % 5 == 0 || offset_ + iteration >= options_->max_iterations;
  }

  /// Also stop when the residual is below this (an inner solve need not be better than its outer
  /// loop).
  void set_tolerance(double tolerance) {
    tolerance_ = enough_ = tolerance;
    unique_motion_ = false;
  }
  double tolerance() const { return tolerance_; }
  void forget_best() {
    best_residual_ = std::numeric_limits<double>::infinity();
    met_at_ = -1;
  }
  /// For methods of Newton's kind: see MotionEstimate.
  void use_every_iteration() { motion_.use_every_iteration(); }
  /// Stop, stalled, when the best residual has not halved for so many iterations and as many as
  /// it took to get there; 0: never.
  void set_patience(int iterations) { patience_ = iterations; }
  int patience() const { return patience_; }
  void set_iteration_offset(int offset) { offset_ = offset; }

  /// √Σ ρ_i‖q_i‖²: what the scaled residual is relative to, the root of an energy.
  double energy_of_q() const { return energy_q_; }
  bool out_of_time() const;
  double seconds() const;
  double best_residual() const { return best_residual_; }
  double last_residual() const { return last_residual_; }
  const Vector& best() const { return best_; }
  Status status() const { return status_; }
  /// The motion is unique, so it must settle too, and it had not when the method stopped.
  bool still_moves() const {
    return unique_motion_ && (status_ == Status::iteration_limit || status_ == Status::time_limit ||
                              status_ == Status::interrupted);
  }
  void set_status(Status status) { status_ = status; }
  std::vector<HistoryEntry> take_history() { return std::move(history_); }

 private:
  bool has_stalled(int iteration);
  bool good_enough(int iteration, double residual, const Vector& u) const;

  const Delassus* W_ = nullptr;
  const SolveOptions* options_ = nullptr;
  Friction law_ = Friction::exact;
  Clock::time_point start_ = {};
  double tolerance_ = 0, enough_ = 0;
  int met_at_ = -1;  ///< iteration at which `enough_` was met
  int patience_ = 0;
  int halved_at_ = 0;           ///< iteration at which the best residual was last found halved …
  double halved_ = 0;           ///< … and that residual
  bool unique_motion_ = false;  ///< which must have settled, too
  MotionEstimate motion_;
  double norm_q_ = 0, energy_q_ = 0;
  double best_residual_ = std::numeric_limits<double>::infinity();
  double last_residual_ = std::numeric_limits<double>::infinity();
  int offset_ = 0;
  Vector best_;
  Status status_ = Status::iteration_limit;
  std::vector<HistoryEntry> history_;
};

}  // namespace urto
