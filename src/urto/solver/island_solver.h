// Solves a step problem island by island, in buffers that live as long as the solver:
//
//   islands of joints only   all of them as one linear system, factorised by blocks (saddle_ldlt.h)
//   others, "auto"           swept in place from the warm start, with guesses of the active set;
//                            with joints: these eliminated and the rest swept, where W is small;
//                            coupled by springs: a guess first, then sweeps where W is small;
//                            what is left becomes a problem of its own and escalates (automatic.h)
//   others, a named solver   a problem of its own each, given to that solver
//
// Threads share the islands. What is done to an island does not depend on the thread that does it
// nor on what it did before, so neither do the bits of the result.
#pragma once

#include <memory>
#include <mutex>
#include <vector>

#include "urto/solver/automatic.h"
#include "urto/solver/coupled_rows.h"
#include "urto/solver/island_problem.h"
#include "urto/thread/thread_pool.h"

namespace urto {

class IslandSolver {
 public:
  explicit IslandSolver(const RegisteredSolver& solver);

  const SolverInfo& info() const { return solver_.info; }
  /// As Solver::solve. Returns the certificate if the problem was solved as it is, without islands;
  /// else null.
  const Certificate* solve(const StepProblem& p, const SolveOptions& options, Vector& x,
                           Vector& lambda, StepSolveReport& report);
  /// Another pool than its own.
  void use_threads(ThreadPool& pool) { pool_ = &pool; }
  Certifier& certifier() { return certifier_; }

 private:
  /// What another method needs for islands of one size.
  struct Desk {
    explicit Desk(SymbolicStore& store) : workspace(store) {}
    Workspace workspace;
    Escalation escalation;
    IslandProblem island;
    Vector start, swept;
    SolveOptions
        options;  ///< the caller's, where a velocity to start from had to be cut out of his
    Vector velocity;
    Solution solution;
  };
  /// What one thread needs.
  struct Worker {
    IslandSweeps sweeps;
    CoupledRows coupled;
    DenseContacts dense;  ///< problems without x
    SaddleLdlt single;    ///< of bodies that nothing touches
    SymbolicStore store;  ///< before `desks`, which borrow from it
    KeptBySize<Desk> desks;

    Desk& desk(const ProblemSize& size) {
      return desks.of(size, [this] { return std::make_unique<Desk>(store); });
    }
  };
  /// An island after its sweeps.
  struct Swept {
    SweepResult result = {};
    bool tried = false;   ///< else it is handed on as it came
    bool failed = false;  ///< its mass is not positive definite
  };
  /// An island after another method; the solution without its vectors.
  struct Handed {
    int island = 0;
    int swept = -1;  ///< its place in `swept_`, −1 if it has none
    int thread = 0;  ///< whose share it is
    int iterations = 0, outer_iterations = 0, factorizations = 0, bad_starts = 0;
    LinearCounters linear = {};
    Status status = Status::converged;
    std::string message = {}, solver = {};
    std::vector<HistoryEntry> history = {};
    std::vector<InteriorPointRecord> interior_point_log = {};
  };

  Worker& worker(int thread) { return *workers_[thread]; }
  void begin(const StepProblem& p, const SolveOptions& options, Vector& x, Vector& lambda,
             StepSolveReport& report);
  const Certificate* solve_whole(StepSolveReport& report);
  bool solve_dense(StepSolveReport& report, SweepResult& swept);
  void list_islands(StepSolveReport& report);
  void solve_linear();
  void prepare_arrays();
  void sweep_islands();
  bool solve_single(Worker& w, const Island& island);
  void sweep_island(Worker& w, int index);
  void sweep_factored(Worker& w, const Island& island, Swept& swept);
  void sweep_coupled(Worker& w, const Island& island, Swept& swept);
  void fill_factored(const SaddleLdlt::System& system);
  bool sweep_joined(Worker& w, const Island& island, Swept& swept);
  enum class Mass : std::uint8_t { inverted, not_symmetric, not_definite };
  Mass invert_masses(const Island& island);
  void list_for_hand_on(int island, int swept);
  void hand_on(Worker& w, Handed& handed);
  void share_out(int threads);
  void hand_on_islands();
  void summarise(StepSolveReport& report);
  ProblemSize size_of(const Island& island) const;
  void solve_alone(Desk& desk, Handed& handed);
  const SolveOptions& options_of(Desk& desk) const;
  static void record(const Solution& solution, int sweeps, Handed& handed);
  static void add(Handed& handed, bool largest, StepSolveReport& report);

  const RegisteredSolver& solver_;
  bool automatic_;
  ThreadPool own_pool_;
  ThreadPool* pool_ = &own_pool_;
  std::vector<std::unique_ptr<Worker>> workers_ = {};
  std::mutex progress_mutex_;
  Certifier certifier_;

  // Of the problem being solved.
  const StepProblem* p_ = nullptr;
  const SolveOptions* options_ = nullptr;  ///< the caller's
  const SolveOptions* island_options_ = nullptr;
  SolveOptions threaded_options_ = {};
  Vector* x_ = nullptr;
  Vector* lambda_ = nullptr;
  Monitor::Clock::time_point start_ = {};
  Vector start_lambda_;

  Islands islands_;
  int largest_ = -1;                        ///< island, by rows
  std::vector<HistoryEntry> history_ = {};  ///< of its sweeps
  SaddleLdlt linear_;
  std::vector<int> linear_islands_ = {}, linear_nodes_ = {}, linear_couplings_ = {},
                   linear_blocks_ = {}, linear_place_ = {};
  std::vector<int> work_ = {};  ///< islands that threads share: with inequalities, or single bodies
  std::vector<Swept> swept_ = {};    ///< per island of `work_`
  std::vector<Handed> handed_ = {};  ///< the first `handed_count_`
  int handed_count_ = 0;
  Handed whole_ = {};  ///< where the problem is one island
  std::vector<int> order_ = {};
  std::vector<long> load_ = {};  ///< rows per thread

  RowBlocks rows_;
  BlockMatrix inverse_mass_;
  std::vector<double> mass_ = {};  ///< the diagonal blocks that were inverted
  Vector mass_diagonal_;           ///< where islands are coupled
};

}  // namespace urto
