// The default for one island: sweeps, then methods that cost more and promise more, until the
// certificate holds (docs/solvers/auto.md).
#pragma once

#include "urto/solver/active_set.h"
#include "urto/solver/dense_contacts.h"
#include "urto/solver/gauss_seidel.h"
#include "urto/solver/kept_by_size.h"
#include "urto/solver/prices.h"
#include "urto/solver/workspace.h"

namespace urto {

/// What ended the sweeps of an island.
struct SweepResult {
  Status status = Status::stalled;  ///< converged; stalled: another method is cheaper; or a limit
  bool guessed = false;             ///< by a guess of the active set
  bool at_rest = false;             ///< hardly any loaded contact moves
  int sweeps = 0;
  const char* path = "nsgs";
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
  /// What the bodies say of a result that was found by rows: it stands, or has stalled.
  void measure(const SolveOptions& options, SweepResult& result);
  GaussSeidel& sweeps() { return sweeps_; }

 private:
  void begin(const SolveOptions& options);
  bool guess(const SaddleLdlt::System& island, const SolveOptions& options, int rounds, double goal,
             double enough);
  bool settle(const SaddleLdlt::System& island, const SolveOptions& options, SweepResult& result);
  void sweep(const SaddleLdlt::System* island, const SolveOptions& options,
             Monitor::Clock::time_point start, SweepResult& result);
  bool promises(double before, double after, int window, int used, double tolerance);
  bool stop(const SolveOptions& options, Monitor::Clock::time_point start, SweepResult& result);
  void gather(std::vector<double>& forces);
  void scatter(const std::vector<double>& forces);

  GaussSeidel sweeps_;
  Prices prices_;
  bool at_rest_ = false;
  ActiveSet active_set_;
  std::vector<double> kept_ = {};  ///< λ of the island before a guess
  std::vector<double> best_ = {};  ///< the best one so far: with momentum residuals swing
  double best_residual_ = 0;
};

/// What goes on where sweeps end: from `start_lambda`, that of the caller. For problems of one
/// size; between `begin` and `run` all that it was given stays as it is.
class Escalation {
 public:
  void begin(Workspace& workspace, Delassus& W, const SolveOptions& options,
             const Vector& start_lambda, Monitor::Clock::time_point start);
  /// The point that sweeps have reached.
  void add_swept(const Vector& lambda, const SweepResult& result);
  /// The best; it stays until the next `begin`.
  const Solution& run();

 private:
  /// Kept for what is left when a contact is left out, whose problem is smaller.
  struct Rest {
    explicit Rest(SymbolicStore& store) : workspace(store) {}
    StepProblem problem;
    Workspace workspace;
    Vector start;
  };

  void escalate();
  void start_again();
  bool attempt(const char* name, int iterations, int patience = 0);
  bool attempt_dense(int most);
  bool is_over();
  bool leave_one_out();
  bool leave_out(int block, Rest& rest);
  bool has_rolling() const;

  Workspace* workspace_ = nullptr;
  Delassus* W_ = nullptr;
  const StepProblem* problem_ = nullptr;
  const SolveOptions* options_ = nullptr;
  const Vector* start_lambda_ = nullptr;
  SolveOptions attempt_options_;
  Vector lambda_, whole_, swept_lambda_;
  DenseContacts dense_;
  Monitor::Clock::time_point start_ = {};
  bool swept_ = false, at_rest_ = false;
  Solution best_, next_;
  std::vector<std::pair<double, int>> loaded_ = {};  ///< contacts by their normal force
  KeptBySize<Rest> rests_;
};

}  // namespace urto
