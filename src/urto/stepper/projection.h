// Projections onto the joints, least in the mass metric: positions by damped Newton steps,
// velocities by one linear solve (recipe 000 §2.16).
//
//     M δ − Jᵀμ = 0,       J δ + E μ + g = 0    q ← q ⊕ δ       E ∝ |g|
//     M v⁺ − Jᵀμ = M v,    J v⁺ + g_t = 0
#pragma once

#include "urto/mechanics/system.h"
#include "urto/solver/solver.h"

namespace urto {

class JointProjection {
 public:
  explicit JointProjection(const System& system) : system_(system) {}

  /// Moves `state` onto the rigid equality rows at state.t. Returns the error that remains [m,
  /// rad].
  double project_positions(State& state, double tolerance, int max_rounds);
  /// Changes the velocity so that the equality rows have no rate; with `speed_motors` these hold
  /// too.
  void project_velocities(State& state, bool speed_motors = false);

 private:
  double own_inverse_inertia(int block, int row) const;
  void add_damping(double damping);
  void solve(const State& state, bool velocities, double damping, Vector& x);

  SystemAccess system_;
  Interactions rows_;
  StepProblem problem_;
  std::unique_ptr<Solver> solver_ = make_solver("auto");
  SolveOptions options_ = {.islands = true, .settle = false};
  StepSolveReport report_;
  std::vector<double> compliance_ = {};
  Vector delta_, lambda_, mass_diagonal_;
};

/// Largest |g| of the rows that hold positions [m, rad].
double joint_error(const Interactions& rows);

}  // namespace urto
