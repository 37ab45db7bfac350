// What can be chosen in the interior point, and what it writes down at each iteration. The defaults
// are what measured best (docs/solvers/ipm.md); the others are there to compare with the source,
// recipe 001 §2.7–2.9.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "urto/linalg/linear_counters.h"
#include "urto/math/types.h"

namespace urto {

/// An iterate as it is, not what was recorded of it: in the units of the step problem, less the
/// rows whose multiplier has no freedom (cones with μ = 0, boxes with lo = hi).
struct InteriorPointIterate {
  int iteration = 0;
  const Vector& x;
  const Vector& lambda;
  const Vector& velocity;         ///< û of the pairs, zero on joints
  const Vector& dual_residual;    ///< H x − Jᵀλ − a as the next iteration will see it
  const Vector& primal_residual;  ///< J x + E λ + b + s − û likewise, joints included
  double mu = 0;                  ///< as in InteriorPointRecord …
  double energy = 1;              ///< [J] … in units of this
};

struct InteriorPointOptions {
  enum class Start : std::uint8_t {
    centred,  ///< least squares as below, then the nearest pair on the central path, block by block
    ones,     ///< recipe 001 §2.7.6 (Nocedal and Wright): one predictor from ones
    least_squares,  ///< recipe 001 §2.8.6 (CVXOPT): pushed along the axes
  };
  /// What is taken from the step before (recipe 001 §2.7.8): nothing; its velocity; or the
  /// multipliers that `solve` is given, if they are not zero, with the velocity that they make. In
  /// the first two cases the multipliers given are not looked at.
  enum class WarmStart : std::uint8_t { none, partial, full };
  /// Of λ̂ and ŷ. Separate ones are longer, but leave a residual in H x − Jᵀλ = a, which couples the
  /// two. Automatic: common, or separate where that would be short and there are no cones.
  enum class Steps : std::uint8_t { automatic, common, separate };
  enum class Centring : std::uint8_t {
    searched,  ///< the σ that leaves least, one more substitution an iteration
    mehrotra,  ///< (μ after the predictor / μ)³, recipe 001 §2.7.5
  };
  enum class StepLength : std::uint8_t { formula, roots, rescaling };
  enum class Coulomb : std::uint8_t {
    direct,  ///< De Saxcé's term is part of the equations of every Newton step
    loop,    ///< frozen; an outer loop solves cone problems until it stands still
  };
  enum class Stop : std::uint8_t {
    certificate,  ///< SolveOptions::tolerance, as every solver
    absolute,  ///< recipe 001 §2.7.11: norms of residuals over their rows and μ, in the problem's
               ///< units
    relative,  ///< the same, relative to the terms of each equation and to a typical energy
  };

  Start start = Start::centred;
  WarmStart warm_start = WarmStart::full;
  /// x of a partial warm start, read while `solve` works; without it, or where it is not a number,
  /// the start is cold.
  const Vector* start_velocity = nullptr;
  Steps steps = Steps::automatic;
  Centring centring = Centring::searched;
  StepLength step_length = StepLength::formula;
  Coulomb coulomb = Coulomb::direct;
  double fixed_eta =
      0;  ///< fraction of the way to the boundary; 0: ours; negative: the source's adaptive formula
  /// At most, by Gondzio, each one more substitution. Coulomb's exact law takes six at most.
  int centrality_corrections = 15;
  /// The last digits by the active set: a Newton step on the complementarity itself, where the
  /// pairs tell which side is zero. Off: the interior point alone, which then shares no step with
  /// any other solver.
  bool newton_finish = true;
  /// Exact friction: what the treatment above leaves is gone on with by proximal steps, as in
  /// `prox`.
  bool proximal_rescue = true;
  bool shorten_full_steps =
      false;  ///< η·min{1, ratio}, as the source's code, instead of min{1, η·ratio}
  /// No corrector, and no corrections of centrality (recipe 001 §2.7.12; the step is shortened by η
  /// here, where the source goes to the boundary).
  bool predictor_only = false;
  bool damp_residuals = false;  ///< (1 − σ) on the residuals of the corrector (recipe 001 §2.8.4)
  bool recursive_residuals =
      false;  ///< carried along instead of recomputed (recipe 001 §2.7.4); not where De Saxcé's
              ///< term is part of the equations, nor with a W that is not symmetric
  /// The solution's status says all the same whether its certificate meets the tolerance.
  Stop stop = Stop::certificate;
  double residual_tolerance = 1e-10, mu_tolerance = 1e-9;  ///< of the other two stop tests
  /// Not set: by size, and a safer one where a linear solve misses its residual. Set: this one
  /// where the problem allows it.
  std::optional<LinearPath> linear_path = {};
  /// False: the whole matrix is stored and factorised by LU although it is symmetric (recipe 001
  /// §2.7.2, the non-symmetric storage).
  bool use_symmetry = true;
  /// Called with every start and after every iteration.
  std::function<void(const InteriorPointIterate&)> on_iterate = {};
};

/// One iteration; residuals are norms of the equations in scaled, dimensionless form.
struct InteriorPointRecord {
  int iteration = 0;
  double predictor_step = 0, predictor_mu = 0, sigma = 0, eta = 0;
  double primal_step = 0, dual_step = 0;
  double mu = 0;               ///< after the step
  double dual_residual = 0;    ///< of H x − Jᵀλ = a
  double joint_residual = 0;   ///< of u = 0 on joints
  double primal_residual = 0;  ///< of u = y elsewhere
  double linear_residual = 0;  ///< worst of the iteration's linear solves, after refinement
  LinearPath path = LinearPath::dense;  ///< by which they were solved at the end
  int refinements = 0;                  ///< steps of refinement of the iteration
  int repaired = 0;  ///< multipliers and velocities that had left their cone, pushed back inside
  /// With `recursive_residuals`: how far they are from those recomputed, relative to the terms of
  /// each equation.
  double recursion_gap = 0;
};

}  // namespace urto
