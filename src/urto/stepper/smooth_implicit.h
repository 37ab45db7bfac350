// Implicit steppers with the joints in Newton's iteration at position level: implicit Euler,
// trapezoidal rule, Newmark, HHT and generalised-α (recipe 000 §§2.10–2.15) as one scheme with six
// numbers,
//
//     q⁺ = q ⊕ [h v + h²(b₀ a + b₁ a⁺)],     v⁺ = v + h(c₀ a + c₁ a⁺)
//     (1 − α_m) a⁺ + α_m a = (1 − α_f) â⁺ + α_f â,     M â⁺ = f⁺ + J⁺ᵀλ⁺,     g(q⁺, t⁺) = 0
//
// a is the method's acceleration, â the motion's. Newton's unknowns are a⁺ and λ⁺, of the same size
// for every step h, and its rows are
//
//     [ κM + h c₁ D + h² b₁ K T   Jᵀ ] { δa }   { f + Jᵀλ − M â  }
//     [ J T                       −E ] { −δλ} = { −g / (h² b₁)   },     κ = (1 − α_m)/(1 − α_f)
//
// K = −∂(f + Jᵀλ − M â)/∂q with the geometric terms, D = −∂f/∂v, T the tangent of the increment.
//
// Schemes of one step (α_m = α_f = 0) may have the source's mean mass M̂ = ½(M + M⁺) instead (recipe
// 000 (136), §§2.9–2.11), which differs where M depends on q:
//
//     M̂ (v⁺ − v) = h [(1 − θ)F + θF⁺],     F = f + Jᵀλ,     θ = c₁
#pragma once

#include "urto/linalg/block_factor.h"
#include "urto/stepper/smooth_stepper.h"

namespace urto {

struct ImplicitScheme {
  double alpha_m = 0, alpha_f = 0;
  double b0 = 0, b1 = 0, c0 = 0, c1 = 0;
};

ImplicitScheme implicit_euler_scheme();
ImplicitScheme newmark_scheme(double gamma, double beta);  ///< (½, ¼) is the trapezoidal rule
ImplicitScheme hht_scheme(double alpha);
ImplicitScheme generalised_alpha_scheme(double spectral_radius);

class ImplicitStepper final : public SmoothStepper {
 public:
  ImplicitStepper(const System& system, const SimulationOptions& options,
                  const ImplicitScheme& scheme);

 private:
  bool advance(MotionPoint& p, double h, Work& work) override;
  void certify(const MotionPoint& before, const MotionPoint& after, double h,
               MotionCertifier& certifier) const override;
  /// One-step methods have a θ; those of several steps are of second order, as θ = ½ is.
  double lateness() const override {
    return scheme_.alpha_m == 0 && scheme_.alpha_f == 0 ? scheme_.c1 : 0.5;
  }
  bool iterates() const override { return true; }
  void place(const MotionPoint& p, double h);
  void start_mean_mass(const MotionPoint& p);
  double evaluate(double h);
  bool factorize(double h, KeptLu::Pivots pivots, Work& work);
  void add_geometric_terms(double factor, BlockMatrix& out);
  void add_tangents(double h);
  void add_constraint_rows(double h);
  void add_velocity_constraints(double h);
  bool condense_start_rows();
  void correct();
  double rounding(const MotionPoint& p, double h) const;

  ImplicitScheme scheme_;
  bool mean_mass_;
  SaddleLu factor_;
  BlockMatrix matrix_;   ///< κM + h c₁ D + h² b₁ K T
  BlockMatrix tangent_;  ///< T
  BlockRows turned_;     ///< J T
  State trial_state_;
  Vector a_, a_true_, lambda_, increment_, reaction_, inertia_;
  // Mean mass: M and, times (1 − θ)/θ, a and F at the start of the step.
  const State* start_ = nullptr;
  BlockMatrix start_mass_;
  Vector start_a_, start_force_, mean_a_;
  // Velocity constraints: positions move by h² G η besides, G = M⁻¹Jᵀ at the start of the step.
  SparseMatrix start_rows_;
  BlockFactor mass_factor_;
  Vector eta_;
};

}  // namespace urto
