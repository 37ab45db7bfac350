// The default for one island: sweeps, then methods that cost more and promise more, until the
// certificate holds (docs/solvers/auto.md).
#pragma once

#include "urto/solver/active_set.h"
#include "urto/solver/gauss_seidel.h"
#include "urto/solver/workspace.h"

namespace urto {

/// What ended the sweeps of an island.
struct SweepResult {
  Status status = Status::stalled;  ///< converged; stalled: another method is cheaper; or a limit
  bool guessed = false;             ///< by a guess of the active set
  int sweeps = 0;
  double residual = 0;
  std::vector<HistoryEntry>* history = nullptr;  ///< appended to, if there is one
};

/// Gauss–Seidel from the λ in place, as long as its rate promises the end, with a guess of the
/// active set now and then.
class IslandSweeps {
 public:
  /// After `sweeps().rows().set(…)`. `island`: for guesses; null where there are none.
  void run(const SaddleLdlt::System* island, const SolveOptions& options,
           Monitor::Clock::time_point start, SweepResult& result);
  /// Without any sweep: true if the warm start solves the island, or a guess from it does.
  bool guess_first(const SaddleLdlt::System& island, const SolveOptions& options,
                   SweepResult& result);
  GaussSeidel& sweeps() { return sweeps_; }

 private:
  void begin(const SolveOptions& options);
  bool guess(const SaddleLdlt::System& island, const SolveOptions& options);
  bool stop(const SolveOptions& options, Monitor::Clock::time_point start, SweepResult& result);

  GaussSeidel sweeps_;
  ActiveSet active_set_;
  std::vector<double> kept_ = {};  ///< λ of the island
};

/// What goes on where sweeps end: from `start_lambda`, that of the caller.
class Escalation {
 public:
  Escalation(Workspace& workspace, Delassus& W, const SolveOptions& options,
             const Vector& start_lambda, Monitor::Clock::time_point start);
  /// The point that sweeps have reached.
  void add_swept(const Vector& lambda, const SweepResult& result);
  /// Moves the best out.
  Solution run();

 private:
  void escalate();
  bool attempt(const char* name, int iterations);
  bool leave_one_out();
  bool has_rolling() const;

  Workspace& workspace_;
  Delassus& W_;
  const StepProblem& problem_;
  const SolveOptions& options_;
  const Vector& start_lambda_;
  Vector lambda_;
  Monitor::Clock::time_point start_;
  bool swept_ = false;
  Solution best_;
};

}  // namespace urto
