// The time-stepping DVI scheme, the default stepper (recipe 000 §2.7; Anitescu's scheme, Chrono's EULER_IMPLICIT_LINEARIZED):
//
//     H v⁺ − Jᵀγ = (M + hD) v + h f(q, v, t)          H = M + hD + h²K      (variant C of recipe 000 §2.7.6)
//     u = J v⁺ + b,  γ ∈ K,  −û ∈ N_K(γ)              b = g/h + g_t (joints),  max(g/h, −η_s) (contacts)
//     q⁺ = q ⊕ h v⁺
//
// One step problem a step, impulses γ, inelastic by nature; Newton's law of impact is added as an option: an approaching row (g + h u⁻ ≤ 0, u⁻ < −threshold)
// must leave at −e u⁻. First order; the joint error stays O(h²) without drift. K and D are approximations (any are consistent).
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "urto/linalg/block_factor.h"
#include "urto/stepper/options.h"
#include "urto/stepper/stepper.h"

namespace urto {

class DviStepper final : public Stepper {
 public:
  DviStepper(System& system, const SimulationOptions& options);

  /// Advances the state by h.
  void step(State& state, double h, StepMemory& memory, StepReport& report) override;

  /// Of the last step: its rows, impulses γ [N·s] and velocities u.
  const Interactions& rows() const override { return rows_; }
  const Vector& impulses() const override { return lambda_; }
  const StepProblem& problem() const { return problem_; }

  /// Moves `state` onto the rigid equality rows at state.t, in the mass metric. Returns the remaining error.
  double project_positions(State& state, double tolerance, int max_rounds);
  /// Changes the velocity least (in the mass metric) so that the equality rows have no rate.
  void project_velocities(State& state);

 private:
  void assemble(const State& state, double h);
  void add_law(int block, double h);
  void add_pull(int block, double h);
  void add_tangents(const State& state, double h, Tangent kind);
  void recall(const StepMemory& memory, double h);
  void remember(StepMemory& memory, double h) const;
  void limit_rebounds(StepReport& report);
  void measure(double h, StepReport& report);
  void measure_potential(int block, double h, double mean_rate, StepReport& report);
  void account_forces(const State& state, double h, EnergyFlow& energy);
  void solve_equalities(const State& state, const Vector& a, bool velocities, Vector& x);

  System& system_;
  SimulationOptions options_;
  Interactions rows_;
  StepProblem problem_;
  BlockMatrix mass_;
  ForceTangents tangents_;
  BlockFactor definite_;
  std::vector<double> compliance_ = {};  ///< per row
  std::unique_ptr<Solver> solver_;
  SolveOptions solver_options_;
  Certifier certifier_;
  State probe_;
  double stabilisation_step_ = 0;
  Vector force_, v_, lambda_, delta_, work_;
  Vector free_v_;  ///< the velocity before the step, turned freely: what forces and impulses act on
  std::vector<double> push_ = {};  ///< per block, the speed at which it pushes an overlap apart
  std::vector<std::uint8_t> rebounds_ = {};  ///< per block, this step
  /// A block that rebounds this step, and the share of its restitution that it gets.
  struct Rebound {
    int block = 0;
    double plain = 0, approach = 0;  ///< b without restitution; normal velocity before
    double share = 1;
    double lost = 0, gained = 1;  ///< shares with which it lost, or gained, energy
  };
  std::vector<Rebound> rebound_rows_ = {};

  // Projections have their own rows and factor: their pattern differs from the step's.
  Interactions held_;
  StepProblem projection_;
  std::unique_ptr<Solver> projection_solver_ = make_solver("auto");
};

}  // namespace urto
