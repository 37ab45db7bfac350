// The energy audit of all steppers: where every joule went (docs/results.md has each account's
// formula).
//
//     Δ(kinetic + potential + stored) = supplied + recovery − friction − impact − drive − damping
//                                       + numerical + unexplained
//
// `numerical` is the scheme's own defect, from what the scheme says that it did: the kinetic energy
// that its impulses (or, of smooth steppers, its formula for v⁺) give by the mass matrix, and what
// happens to that besides, less what the accounts say and what is stored. So the line above is a
// check and not a definition: `unexplained` is what remains, rounding and the solver's residual.
//
// An impulse p changes the kinetic energy by exactly p·v̄, v̄ = ½(v + v⁺), so that all work is taken
// with v̄. Of a row, u = J v + g_t is the rate that its law sees: γ u is what the two sides lose to
// each other, and −γ g_t what moves in time gives.
#pragma once

#include "urto/stepper/stepper.h"

namespace urto {

/// Energy in the soft equalities of measured rows [J].
double stored_in_joints(const Interactions& rows);

class EnergyAuditor {
 public:
  explicit EnergyAuditor(const System& system) : system_(system) {}
  /// For systems of many rows; the pool outlives this object.
  void use_threads(ThreadPool& threads) {
    threads_ = &threads;
    system_.use_threads(threads);
  }

  /// A step problem solved: H v⁺ = a + Jᵀγ, of which M(v⁺ − v) are the impulses.
  struct Impulses {
    const Interactions& rows;  ///< measured at the start
    const StepProblem& problem;
    const Vector &rate_before, &rate_move, &rate_after;  ///< J v of the velocities below
    /// Positions move with v_move, reached by a part of the impulses; the rest, of an impact, takes
    /// v_move to v_after.
    const Vector &v_before, &v_move, &v_after, &move_impulses, &impulses;
    bool whole = true;                ///< v_move is v_after
    const std::vector<double>& push;  ///< per block, as in ImpulseKernel
    double h = 0;
    double late = 0;  ///< dampers act with (1 − late) v + late v⁺
    /// All rows within reach, measured at the start, where `rows` are some of them only: what is no
    /// part of the step may store energy. Null where `rows` are all.
    const Interactions* reach = nullptr;
  };
  /// What impulses did at the state where their step started. Overwrites the flow.
  void add(const State& state, const Impulses& step, const StepMemory& memory, StepReport& report);
  /// The state where that step ended: joint error, stored energy, the defect.
  void finish(const State& state, StepMemory& memory, StepReport& report);
  /// After a part of a step that leaves no memory of its own, `passing`, as an impact: what it left
  /// stored is what the next part starts with.
  static void pass_on(const StepMemory& passing, StepMemory& memory);

  /// A part of a smooth step.
  struct Motion {
    const Interactions& rows;  ///< measured at the end
    const Vector& rate;        ///< J v + g_t of them
    const Vector& lambda;      ///< [N] at the end
    const Vector& v_claimed;   ///< v⁺ by the scheme's formula
    double h = 0;
    double late = 0.5;  ///< θ: reactions act in the step as (1 − θ)λ + θλ⁺
  };
  /// Where a smooth motion starts, if `recall` does not know it; `change` and h are not asked for.
  void start(const State& state, const Motion& at, StepReport& report);
  /// At the start of the part that is to be added next: energy in soft rows [J], and what loads and
  /// rows that move in time supply [W].
  double stored() const { return now_.stored; }
  double supplied_power() const { return now_.powers.supplied - now_.lambda.dot(now_.g_t); }
  /// False if the memory is that of something else.
  bool recall(const StepMemory& memory);
  void remember(StepMemory& memory) const;
  /// Adds to the flow what happened between the moment before and this state.
  void add(const State& state, const Motion& part, StepReport& report);

  /// A state that was changed by something else than motion: all of it is the scheme's defect.
  void displace(const State& from, const State& to, StepMemory& memory, StepReport& report);

 private:
  /// What is known of a moment of a smooth motion.
  struct Moment {
    Energies energies;
    double stored = 0;
    Powers powers;
    Vector lambda, rate, g_t;
  };
  /// Sums over some blocks.
  struct Sums {
    EnergyFlow flow;
    double stored = 0;  ///< at the start
    double work = 0;    ///< of the impulses, on the velocities of the bodies
    bool equalities = false, one_sided_stores = false;  ///< there are such blocks
    Sums& operator+=(const Sums& s) {
      flow += s.flow;
      stored += s.stored;
      work += s.work;
      equalities = equalities || s.equalities;
      one_sided_stores = one_sided_stores || s.one_sided_stores;
      return *this;
    }
  };
  const std::vector<double>* find_kept(const StepMemory& memory);
  void recall_block(const Interactions& rows, int block, const StepMemory& memory,
                    const std::vector<double>& kept, std::size_t& next);
  void keep_block(const Impulses& step, int block);
  Sums add_blocks(const Impulses& step, const StepMemory& memory, const std::vector<double>* kept,
                  int first, int last);
  static void add_reach(const Interactions& reach, Sums& sums);
  /// u = J v + g_t.
  static double rate_before(const Impulses& step, int row) {
    return step.rate_before[row] + step.rows.g_t[row];
  }
  static double rate_move(const Impulses& step, int row) {
    return step.rate_move[row] + step.rows.g_t[row];
  }
  static double rate_after(const Impulses& step, int row) {
    return step.rate_after[row] + step.rows.g_t[row];
  }
  double row_work(const Impulses& step, int row) const;
  void add_block(const Impulses& step, int block, EnergyFlow& flow) const;
  void add_joint(const Impulses& step, int block, EnergyFlow& flow) const;
  void add_drive(const Impulses& step, int row, const Law& law, EnergyFlow& flow) const;
  double lost_in_jump(const Impulses& step, int row, double jump) const;
  void add_normal(const Impulses& step, int block, EnergyFlow& flow) const;
  void add_spring(const Impulses& step, int block, EnergyFlow& flow) const;
  double turned(const Impulses& step, int row) const;
  void add_forces(const State& state, const Impulses& step, EnergyFlow& flow);
  double given_by_impulses(const Impulses& step, double work);
  double late(const Impulses& step, int row) const;
  void keep_rows(const Interactions& rows, const Interactions& reach, const Sums& sums);
  bool keep_equalities(const Interactions& rows);
  void look(const State& state, const Motion& at, Moment& out);
  void add_rows(const Motion& part, EnergyFlow& flow) const;

  SystemAccess system_;
  ThreadPool* threads_ = nullptr;
  std::vector<Sums> sums_ = {};
  Interactions end_rows_;         ///< equalities at the end of a step
  bool same_equalities_ = false;  ///< those of the step are the kept ones
  Interactions soft_rows_;  ///< those of the step, if a one-sided row stores energy; else none
  BlockMatrix mass_;
  State probe_;
  Vector mean_, work_, change_;
  std::vector<double> known_ = {};      ///< per row: the rate at the end of the last step, or NaN
  std::vector<double> predicted_ = {};  ///< per row: the gap that was to be expected
  std::vector<double> jumps_ = {};  ///< per row, of g_t since the last step, if it has `jumped_`
  bool jumped_ = false;
  std::vector<double> kept_ = {};  ///< what the next step recalls
  double known_step_ = 0;          ///< [s] length of the last step, 0 at the start of a run
  double potential_ = 0;           ///< at the start of a step
  double stored_ = 0;              ///< … with what the last step left
  double given_ = 0;               ///< by impulses, less the kinetic energy after them
  Moment now_, next_;
};

}  // namespace urto
