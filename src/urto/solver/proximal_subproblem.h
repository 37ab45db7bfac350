// One step of the proximal point: find the multipliers of the problem whose velocity carries the
// extra term α(λ − λ_k), by semi-smooth Newton. Unknowns y with v = W₀y + q, A = α + e (e an
// isotropic compliance, W₀ = W − E; without a mass matrix W₀ = W and e = 0), c any lagged terms.
//
// Convex law. y = Π_K(z), z = (αλ_k − v − c)/A, is the stationarity of the convex function
//     φ(y) = ½yᵀW₀y + Σ A_i (z_i·p_i − ½‖p_i‖²),  p = Π_K(z),
// up to the factor W₀: Newton with a line search on φ' converges from anywhere.
//
// Exact law. y = P(y − ρ(v + c + αy − αλ_k + ey)) with Alart and Curnier's map P (recipe 003 §5.16)
// and ρ = 1/(tr(W_ii)/d + A); its solutions obey Coulomb's law without De Saxcé's term. Newton with
// a non-monotone search on the residual: fast near a solution, not global.
#pragma once

#include <functional>

#include "urto/solver/newton_system.h"

namespace urto {

class ProximalSubproblem {
 public:
  struct Report {
    bool converged = false;
    bool stopped = false;  ///< by the caller's check
    int iterations = 0;
  };
  /// Asked before each factorisation, with the Newton steps done; true ends the solve. On a large
  /// problem one solve may take minutes.
  using StopCheck = std::function<bool(int)>;

  /// W is used until `release`; storage is kept.
  void begin(Delassus& W, Friction law);
  /// Gives factors back to W's store: after that only `begin` may be called.
  void release() { system_.release(); }

  /// Centre λ_k (also the start), shifts α per block, lagged terms c.
  void set(const Vector& centre, const Vector& alpha, const Vector& c);
  /// Until the Newton decrement (convex) or the scaled residual (exact), both roots of energies, is
  /// below `goal`.
  Report solve(double goal, const StopCheck& stop) {
    return exact_ ? solve_exact(goal, stop) : solve_convex(goal, stop);
  }
  /// The multipliers found; inside K for the convex law.
  const Vector& lambda() const { return response_.p; }

 private:
  Report solve_convex(double goal, const StopCheck& stop);
  Report solve_exact(double goal, const StopCheck& stop);
  void respond(double t);
  void step(double t);
  double merit(double t);
  double step_to_flat_slope(double slope0);
  void condition_exact_system();

  Delassus* W_ = nullptr;
  bool exact_ = false;
  NewtonSystem system_;
  Response response_;
  Vector A_, ones_, step_, shifted_centre_, F_, y_, v_, dy_, dv_;
};

}  // namespace urto
