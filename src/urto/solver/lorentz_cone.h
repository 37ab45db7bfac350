// The algebra of the second-order (Lorentz) cone {u : u₀ ≥ ‖u₁‖} that an interior point needs:
// Jordan product, barrier, Nesterov–Todd scaling and the step to the boundary. Friction cones are
// brought to this form by S = diag(1, μ, μ). Arrays of `d` numbers, the axis first; d = 1 is ℝ₊.
// Source: recipe 001 §2.8.1–2.8.5, with its corrections; Vandenberghe, "The CVXOPT linear and
// quadratic cone program solvers" (2010).
#pragma once

#include <array>

#include "urto/math/convex_set.h"

namespace urto::lorentz {

using Block = std::array<double, max_block>;

/// uᵀJu = (u₀ − ‖u₁‖)(u₀ + ‖u₁‖), J = diag(1, −I); for d = 1 it is u₀².
double determinant(const double* u, int d);
/// How far inside: u₀ − ‖u₁‖, negative outside.
double margin(const double* u, int d);

/// u ∘ w = (uᵀw, u₀w₁ + w₀u₁).
void product(const double* u, const double* w, int d, double* out);
/// The x with u ∘ x = w.
void divide(const double* u, const double* w, int d, double* out);

/// −½ log(uᵀJu), and its gradient −Ju/(uᵀJu); for d = 1 −log u.
double barrier(const double* u, int d);
void barrier_gradient(const double* u, int d, double* out);

/// The scaling W with W⁻¹y = Wλ = z. Symmetric: W = β(w̄₀ w̄₁ᵀ; w̄₁ I + w̄₁w̄₁ᵀ/(1 + w̄₀)).
struct Scaling {
  double beta = 1;
  Block w = {};
  int d = 1;

  /// Both strictly inside the cone.
  void set(const double* y, const double* lambda, int dim);
  void apply(const double* v, double* out) const;          ///< out = W v
  void apply_inverse(const double* v, double* out) const;  ///< out = W⁻¹ v
  double entry(int r, int c) const;                        ///< of W
  double square(int r, int c) const;  ///< entry of W² = β²(2w̄w̄ᵀ − J)
};

/// All α with u + α du in the cone, u anywhere: an interval, from the roots of (u + α du)ᵀJ(u + α
/// du) (recipe 001 §2.8.5, tables 4.1 to 4.3 as corrected: infimum, supremum, existence). Empty:
/// low > high.
struct Interval {
  double low = 0, high = 0;
  bool is_empty() const { return low > high; }
};
Interval steps_inside(const double* u, const double* du, int d);

/// sup {α : u + α du in the cone} for u inside; three ways that agree (recipe 001 §2.8.5).
double max_step(const double* u, const double* du, int d);           ///< one stable formula
double max_step_by_roots(const double* u, const double* du, int d);  ///< the end of that interval
double max_step_by_scaling(const double* u, const double* du,
                           int d);  ///< Vandenberghe's re-scaling

/// The pair (λ, y) inside the cone with λ − y = v and λ ∘ y = μ e, μ > 0: the smoothed projections
/// of v and −v.
void central_pair(const double* v, double mu, int d, double* lambda, double* y);

}  // namespace urto::lorentz
