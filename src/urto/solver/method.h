// What the solvers of this folder share: the call they implement, the loop for exact friction, and the registry entries.
#pragma once

#include "urto/solver/delassus.h"
#include "urto/solver/monitor.h"
#include "urto/solver/solver.h"

namespace urto {

/// One solve on its way: a method reads the operator and options and improves `lambda`.
struct Run {
  Delassus& W;
  const SolveOptions& options;
  Monitor& monitor;
  Vector lambda;  ///< in: the start, inside K; out: the result
  Vector x = {};  ///< out: set by methods that find x themselves; else it is recovered from λ
  int iterations = 0;
  int outer_iterations = 0;
  int factorizations = 0;
  LinearCounters linear = {};  ///< of ipm
  std::string message = {};
  std::vector<InteriorPointRecord> interior_point_log =
      {};  ///< filled by ipm if the history is recorded
};

using Method = void (*)(Run& run);

/// A convex problem min ½ λᵀW λ + qᵀλ over K, with its own q: what gradient-type methods solve.
struct ConvexTask {
  Delassus& W;
  const Vector& q;
  const SolveOptions& options;
  Monitor& monitor;
  Vector& lambda;      ///< start and result
  int iterations = 0;  ///< added to, bounded by options.max_iterations through the monitor
  int factorizations = 0;
};
using ConvexMethod = void (*)(ConvexTask& task);

/// Runs a convex method on the convex problem, or, for exact friction or a slightly non-symmetric W, inside the loop that
/// lags De Saxcé's term and the skew part of W: q ← q + (μ‖u_T‖, 0, 0) + skew(W) λ (recipe 000 §2.7.3).
void solve_with_lagged_terms(Run& run, ConvexMethod method);

// The registered methods, one file each.
void jacobi(Run& run);
void sor(Run& run);
void symmetric_sor(Run& run);
void coloured_sor(Run& run);
void nsgs_projection(Run& run);
void nsgs_quartic(Run& run);
void nsgs_alart_curnier(Run& run);
void spg(Run& run);
void apgd(Run& run);
void admm(Run& run);
void prox_newton(Run& run);
/// The same, as the last resort of another method: a first shift that suits the start, and an end where nothing is gained.
struct ProximalStart {
  double shift = 0.1;
  double smallest_shift = 0;  ///< none smaller than this, whatever the tolerance allows
  int patience =
      std::numeric_limits<int>::max();  ///< steps in which the residual must fall by a tenth
};
void continue_with_proximal_steps(Run& run, const ProximalStart& start);
void interior_point(Run& run);
void minres(Run& run);
void conjugate_gradient(Run& run);
void direct_ldlt(Run& run);

}  // namespace urto
