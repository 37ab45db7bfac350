// Implicit steppers with the joints in Newton's iteration at position level: implicit Euler, trapezoidal rule, Newmark, HHT and generalised-α
// (recipe 000 §§2.10–2.15) as one scheme with six numbers,
//
//     q⁺ = q ⊕ [h v + h²(b₀ a + b₁ a⁺)],     v⁺ = v + h(c₀ a + c₁ a⁺)
//     (1 − α_m) a⁺ + α_m a = (1 − α_f) â⁺ + α_f â,     M â⁺ = f⁺ + J⁺ᵀλ⁺,     g(q⁺, t⁺) = 0
//
// a is the method's acceleration, â the motion's. Newton's unknowns are a⁺ and λ⁺, of the same size for every step h, and its rows are
//
//     [ κM + h c₁ D + h² b₁ K T   Jᵀ ] { δa }   { f + Jᵀλ − M â  }
//     [ J T                       −E ] { −δλ} = { −g / (h² b₁)   },     κ = (1 − α_m)/(1 − α_f)
//
// K = −∂(f + Jᵀλ)/∂q with the geometric term, D = −∂f/∂v, T the tangent of the increment.
#pragma once

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
  ImplicitStepper(System& system, const SimulationOptions& options, const ImplicitScheme& scheme);

 private:
  bool advance(Point& p, double h, Work& work) override;
  void place(const Point& p, double h);
  double evaluate(double h);
  bool factorize(double h, Work& work);
  void add_tangents(double h);
  void add_constraint_rows(double h);
  void add_velocity_constraints(double h);
  void correct();
  double rounding(const Point& p, double h) const;
  double relative_residual() const;

  ImplicitScheme scheme_;
  SaddleLu factor_;
  ForceTangents tangents_;
  BlockMatrix tangent_;  ///< T
  State trial_state_;
  Vector a_, a_true_, lambda_, increment_, reaction_, inertia_;
  // Velocity constraints: positions move by h² G η besides, G = M⁻¹Jᵀ at the start of the step.
  SparseMatrix start_rows_;
  Vector eta_;
};

/// One linear solve a step: implicit Euler (recipe 000 §2.7.6, variant C) and the trapezoidal rule (§2.12) linearised at its start.
class LinearisedStepper final : public SmoothStepper {
 public:
  LinearisedStepper(System& system, const SimulationOptions& options, bool trapezoidal);

 private:
  bool advance(Point& p, double h, Work& work) override;
  void assemble(const State& at, double theta, double h);
  void add_row(int block, double theta, double h);

  bool trapezoidal_;
  SaddleLu factor_;
  ForceTangents tangents_;
  State probe_;
  Vector first_force_, increment_;
  std::vector<double> errors_ = {}, drifts_ = {};  ///< g and g_t at the start of the step
};

/// matrix += damping D + stiffness K T, at rows and columns of the dofs; T may have no blocks.
void add_tangents(const ForceTangents& tangents, const BlockMatrix& T, double damping,
                  double stiffness, int dofs, SaddleLu& matrix);

}  // namespace urto
