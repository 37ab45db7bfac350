// Solves the step problem of a whole model, island by island, in buffers that live as long as the run.
//
// Bodies that touch or are joined form islands (design §6). The islands without contacts, limits or friction are one linear system,
// factorised by blocks (linalg/block_ldlt.h). An island with them is swept by Gauss–Seidel from the last step's multipliers; when the measured rate
// promises no end, it is handed to the solver that the options name ("auto" unless told otherwise), which escalates as it does for problem files.
// Either way the result of the whole step is certified by problem/certificate.h, not by what is computed here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "urto/linalg/block_ldlt.h"
#include "urto/linalg/symbolic_store.h"
#include "urto/solver/active_set.h"
#include "urto/solver/solver.h"

namespace urto {

struct StepSolverOptions {
  SolveOptions solve = {};
  bool islands = true;
  int sweep_limit = 2000;  ///< Gauss–Seidel sweeps before an island is handed on, whatever its rate
};

struct StepSolveReport {
  int islands = 0;             ///< with at least one row
  int largest_island = 0;      ///< rows
  int sweeps = 0;              ///< of the island that needed most
  int guessed = 0;             ///< islands that a guess of the active set solved
  int handed_on = 0;           ///< islands given to the named solver
  int iterations = 0;          ///< of those, summed
  LinearCounters linear = {};  ///< of those that the interior point solved
  Status status = Status::converged;
  std::string message = {};  ///< why, when the status is not `converged`
  std::string solver = {};   ///< the last one an island was handed to
};

class StepSolver {
 public:
  /// x and λ: λ in: warm start (zero where there is none); out: the solution.
  void solve(const StepProblem& p, const StepSolverOptions& options, Vector& x, Vector& lambda,
             StepSolveReport& report);

 private:
  struct Island {
    int first_block = 0, blocks = 0, rows = 0;  ///< range in island_blocks_
    int first_node = 0, nodes = 0;              ///< range in island_nodes_
    bool linear = true;                         ///< only equalities
    bool coupled = false;                       ///< H is not block-diagonal here
  };
  int find_root(int node);
  void find_islands(const StepProblem& p, bool apart);
  void list_members(int blocks);
  bool pattern_changed();
  void analyse_linear(const StepProblem& p);
  void fill_linear(const StepProblem& p, double relative_regularisation);
  double refine_linear(const StepProblem& p, Vector& x, Vector& lambda);
  void solve_linear(const StepProblem& p, Vector& x, Vector& lambda, StepSolveReport& report);
  double linear_residual(const StepProblem& p, const Vector& x, const Vector& lambda);
  bool sweep_island(const StepProblem& p, const Island& island,
                    const StepSolverOptions& options, Vector& x, Vector& lambda,
                    StepSolveReport& report);
  bool guess_island(const StepProblem& p, const Island& island,
                    const StepSolverOptions& options, double tolerance, Vector& x, Vector& lambda);
  void prepare_block(const StepProblem& p, int i);
  void update_block(const StepProblem& p, int i, Friction friction, double local_tolerance,
                    Vector& x, Vector& lambda);
  double island_residual(const StepProblem& p, const Island& island, Friction friction,
                         const Vector& x, const Vector& lambda) const;
  void refresh_velocity(const StepProblem& p, const Island& island, Vector& x,
                        const Vector& lambda) const;
  void hand_on(const StepProblem& p, const Island& island, const StepSolverOptions& options,
               Vector& x, Vector& lambda, StepSolveReport& report);

  // Islands: nodes are the blocks of H.
  std::vector<int> parent_, node_of_dof_, island_of_node_, island_blocks_, island_nodes_,
      block_island_;
  std::vector<Island> islands_ = {};

  // The linear part.
  BlockLdlt factor_;
  std::vector<int> linear_nodes_, linear_blocks_, pattern_, last_pattern_;
  std::vector<int> sign_, node_index_;
  std::vector<std::pair<int, int>> edges_ = {};
  std::vector<double> regularisation_ = {};  ///< one a row of the linear blocks, in factor order
  Vector rhs_;
  Vector free_;  ///< about H⁻¹a: a scale for velocities

  const BlockMatrix* H_ = nullptr;        ///< of the problem being solved
  std::vector<double> compliance_ = {};  ///< its diagonal of E

  // Sweeps.
  BlockMatrix inverse_mass_;
  std::vector<double> last_mass_ = {};  ///< H the inverse belongs to
  std::vector<double> JHinv_;           ///< same layout as J.values
  std::vector<double> diagonal_, inverse_diagonal_, q_, scale_;
  std::vector<int> diagonal_start_ = {};
  ActiveSet active_set_;
  Vector kept_lambda_;

  SymbolicStore symbolic_store_;  ///< of the islands handed on
};

}  // namespace urto
