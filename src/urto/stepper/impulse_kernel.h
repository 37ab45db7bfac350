// What steppers with impulses share: the rows of a step, its step problem, warm start, solve,
// limits of restitution, certificate, energy audit and memory. Such a stepper's own part is how it
// predicts, how a law becomes rows (b, E, K) and how it updates:
//
//     kernel.system.detect(…), measure(…)             which rows, at which state
//     kernel.H(), kernel.problem.a                    assembled by the stepper
//     kernel.begin_rows(h); for each block: kernel.problem.b, kernel.compliance, kernel.push,
//         kernel.add_rebound(…)
//     kernel.solve(memory, report); kernel.certify(state, report); kernel.audit(state, …)
//     … the stepper moves the state …
//     kernel.finish_audit(state, memory, report); kernel.remember(memory)
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "urto/solver/islands.h"
#include "urto/solver/polyhedral.h"
#include "urto/stepper/energy_audit.h"

namespace urto {

/// Where the impulses of a block may lie in a step of h.
ConvexSet set_of(const Law& law, double h);

class ImpulseKernel {
 public:
  ImpulseKernel(const System& system, const SimulationOptions& options);

  ThreadPool threads;  ///< of the run: for the system, the solver, the certificate
  SystemAccess system;
  SimulationOptions options;
  Interactions rows;
  /// All that the stepper sees, where `rows` are a part of it; the audit asks what it stores.
  const Interactions* reach = nullptr;
  StepProblem problem;                  ///< H by blocks; E from `compliance`
  std::vector<double> compliance = {};  ///< per row
  /// Per block, the speed at which the row pushes an overlap apart: what it gives of energy is
  /// `recovery`, not an impact.
  std::vector<double> push = {};
  /// Polygons in place of circles, and floors: with either the problem is solved as one of
  /// complementarity, and its H need not be symmetric.
  FrictionLaw law = {};
  bool has_polygons() const { return !law.is_circle() && problem.K.has_friction(); }
  Vector v_before;  ///< what forces and impulses act on
  Vector v_after, impulses;
  /// Positions move with it, reached by these impulses: v_after and all of them, but in steps with
  /// impacts (docs, "Impacts").
  Vector v_move, move_impulses;
  void move_with_the_end();

  BlockMatrix& H() { return std::get<BlockMatrix>(problem.H); }
  /// Sets, sizes and zeros for the rows of a step of h.
  void begin_rows(double h);
  /// What was solved for a step of another length is followed for h only.
  void follow_for(double h) { h_ = h; }
  /// An impulse −h·pull on the normal row as a force: a cone shifted by c, (λ_N + hc, λ_T) ∈ K, is
  /// the cone itself with λ + hc e_N.
  void add_pull(int block);
  /// Newton's law where a block approaches: its normal row must leave at −e u⁻. `b` is that of the
  /// row without restitution.
  void add_rebound(int block);
  /// The same of a block that is known to meet: `approach` is its normal velocity before.
  void add_rebound(int block, double approach);
  /// The same for a contact that curvature closes while it holds: it must leave at −share·u⁻,
  /// unless it rebounds anyhow. It is no event, and `rebounds` does not know it.
  void add_return(int block, double approach, double share);
  /// Leaves the returns out of what is solved again in this step.
  void drop_returns();

  void solve(const StepMemory& memory, StepReport& report);
  /// Newton's law asks a block to rebound, in this step or when it meets.
  bool wants_rebound(int block) const;
  bool has_rebounds() const { return !rebound_rows_.empty(); }  ///< in this step
  /// After a change of b. What came out before does not matter: of several solutions, as friction
  /// may have, it is the same one whatever was solved first.
  void solve_again(const StepMemory& memory, StepReport& report);
  /// From the impulses that are there, after `finish_problem`.
  void solve_on(StepReport& report);
  /// Rows and compliance into the problem, for `solve_on` and `certify`; `solve` does it itself.
  void finish_problem();
  void certify(const State& state, StepReport& report);
  /// What the rigid joints did to the kinetic energy: nothing if they were ideal.
  double joint_work();
  /// Which contacts acted, and what impulses did, at the state where the step started.
  /// `late`: dampers act with (1 − late) v + late v⁺.
  void audit(const State& state, double late, const StepMemory& memory, StepReport& report);
  /// At the state where it ended, before `remember`: joint error, stored energy, the defect.
  void finish_audit(const State& state, StepMemory& memory, StepReport& report) {
    auditor_.finish(state, memory, report);
  }
  /// The same of a part of a step, an impact, that leaves `memory` to the next part as it found it.
  void finish_audit_in_passing(const State& state, StepMemory& memory, StepReport& report);
  void remember(StepMemory& memory) const { urto::remember(rows, impulses, h_, memory); }

 private:
  /// The share of restitution at which energy is neither won nor lost, sought as a root between one
  /// that lost and one that gained.
  struct ShareSearch {
    double share = 1;
    double lost = 0, gained = 1;  ///< shares with which energy was lost, or gained
    double loss = 0, gain = 0;    ///< and how much; 0 while unknown
    int side = 0;                 ///< of the last one: 1 gained, −1 lost
    bool next(double excess, double tolerance, bool last);
  };
  /// A block that rebounds this step, and the share of its restitution that it gets.
  struct Rebound {
    int block = 0;
    double plain = 0, approach = 0;  ///< b without restitution; normal velocity before
    double restitution = 0;
    bool returns = false;     ///< closed by curvature: no rebound of Newton's law
    ShareSearch search = {};  ///< of its own share
    int island = 0;           ///< in `rebound_islands_`: its share multiplies
    double share = 1;         ///< what it gets
  };
  /// An island with rebounds, and what its rigid contacts and limits did to its energy.
  struct ReboundIsland {
    double step = 0;  ///< kinetic and potential, from the start of the step to its end
    double mean = 0;  ///< the work on the mean velocity: without what forces did meanwhile
    double scale = 0;
    double least = 1;      ///< share that a rebound of it found for itself
    bool returns = false;  ///< … or one of its contacts returns
    ShareSearch search = {};
  };
  void run_solver(StepReport& report);
  void limit_rebounds(StepReport& report);
  void limit_contacts(StepReport& report);
  void limit_islands(StepReport& report);
  bool seek_root(Rebound& r, bool last);
  void set_share(Rebound& r);
  void find_rebound_islands();
  void measure_rebound_islands();
  double approach_of(int block) const;
  void measure_rates();
  std::array<double, max_block> work(int block) const;
  /// Contacts and limits of some blocks, in their order.
  struct ContactCounts {
    double penetration = 0, early_rebound = 0;
    int contacts = 0, active = 0;
    std::uint64_t active_set = 0;
    ContactCounts& operator+=(const ContactCounts& c);
  };
  ContactCounts count(int first, int last) const;

  double h_ = 0;
  bool whole_ = true;    ///< v_move is v_after
  bool solved_ = false;  ///< in this step, once or more
  std::unique_ptr<Solver> solver_;
  PolyhedralSolver polyhedral_;
  SolveOptions solver_options_;
  Certifier certifier_;
  EnergyAuditor auditor_;
  Vector mean_;
  /// J v of v_before, v_move and v_after; of `whole_`, the first two.
  Vector rate_before_, rate_move_, rate_after_;
  bool rate_before_known_ = false, rates_known_ = false;  ///< for these rows; and this solution
  std::vector<std::uint8_t> rebounds_ = {};               ///< per block, this step
  std::vector<Rebound> rebound_rows_ = {};
  std::vector<ContactCounts> counts_ = {};  ///< of some blocks each
  std::vector<std::uint8_t> limited_ = {};  ///< per block: in `rebound_rows_`
  Islands islands_;
  std::vector<ReboundIsland> rebound_islands_ = {};
  std::vector<int> island_of_block_ = {}, island_of_node_ = {};  ///< −1: without rebounds
  Vector change_, momentum_, force_;  ///< v⁺ − v, H (v⁺ − v), a − H v
};

}  // namespace urto
