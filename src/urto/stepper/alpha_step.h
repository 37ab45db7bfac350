// The non-smooth generalised-α scheme's own formulas: parameters, and a step in work (O. Brüls, V.
// Acary and A. Cardona, recipe 004 (29)–(31), on rotations by its supplement §2).
//
//     ã ≡ the method's acceleration a, â ≡ the motion's, both without what impacts do:
//     (1 − α_m) a⁺ + α_m a = (1 − α_f) â⁺ + α_f â
//     δ̃ = h v + h²[(½ − β) a + β a⁺],     q̃ = q ⊕ δ̃,     ṽ = v + h[(1 − γ) a + γ a⁺]
//     δ = δ̃ + U,     q⁺ = q ⊕ δ,     v⁺ = ṽ + W
//
// One exponential for δ̃ + U: one T, and no adjoint.
#pragma once

#include "urto/mechanics/system.h"

namespace urto {

struct AlphaScheme {
  double alpha_m = 0, alpha_f = 0, beta = 0.25, gamma = 0.5;
  /// Δâ = k/h Δṽ.
  double k() const { return (1 - alpha_m) / ((1 - alpha_f) * gamma); }
  /// Δq̃ = h s Δṽ.
  double s() const { return beta / gamma; }
  /// Δâ = Δδ̃/(κh²).
  double kappa() const { return beta * (1 - alpha_f) / (1 - alpha_m); }
};

/// Chung and Hulbert's choice for a spectral radius at infinity, (31).
AlphaScheme alpha_scheme(double spectral_radius);

struct AlphaStep {
  AlphaScheme scheme;
  double h = 0;
  State start;
  Vector a_start, a_hat_start;

  Vector a, U, W;  ///< what a solver looks for; the rest follows
  Vector a_hat, free_increment, increment;
  State free;        ///< q̃, ṽ
  State end;         ///< q⁺, v⁺
  BlockMatrix turn;  ///< T(δ), without nodes where ⊕ is a sum

  /// Predicts with â⁺ as given, U = W = 0.
  void begin(SystemAccess& system, const State& from, double step, const Vector& a_hat_end);
  void follow(SystemAccess& system);
  /// The a⁺ whose ṽ is larger by `more`.
  void add_free_velocity(const Eigen::Ref<const Vector>& more) { a += more / (h * scheme.gamma); }
};

/// [m] A gap that is no more than the rounding of positions is closed: ties are active.
double gap_rounding(const Vector& q);

/// out += factor · ∂(T(δ)ᵀ y)/∂δ, zero where ⊕ is a sum.
void add_increment_curvature(const Layout& layout, const Vector& delta, const Vector& y,
                             double factor, BlockMatrix& out);

}  // namespace urto
