// Steps of first-order systems. Each takes the state at t_k to that at t_k + h and reports what it
// left of its equations, measured by code that shares nothing with the solver (certify_*).
//
//   euler-moreau  recipe 003 §§5.4, 5.5: θ for f, γ for r
//   zero-order    exact for linear systems whose multipliers and inputs are held over a step
//   explicit      D > 0: λ = SOL(D, ·) makes the system an ordinary differential equation, of which
//                 this takes a step of the classical Runge–Kutta method of order four
#pragma once

#include <string>

#include "urto/firstorder/box_step.h"
#include "urto/firstorder/first_order_system.h"

namespace urto {

enum class FirstOrderScheme : std::uint8_t { euler_moreau, zero_order, explicit_multiplier };

struct FirstOrderOptions {
  FirstOrderScheme scheme = FirstOrderScheme::euler_moreau;
  double theta = 1;        ///< of f: 1 is implicit, 1/2 the trapezoidal rule
  double gamma = 1;        ///< of r
  bool use_gamma = false;  ///< h γ r_{k+1} + h (1 − γ) r_k; else γ is 1
  /// The relation and the law hold at t_k + γh and γ x_{k+1} + (1 − γ) x_k: the full θ–γ scheme.
  bool use_gamma_for_relation = false;
  /// f at the state and time between instead of between the values of f (9.7).
  bool midpoint = false;
  int max_newton = 50;
  double newton_tolerance = 1e-12;  ///< on every residual of the step, each beside its own terms
};

/// Throws InputError for θ or γ outside [0, 1] and for what the scheme cannot integrate.
void validate(const FirstOrderOptions& options, const FirstOrderSystem& system);

struct FirstOrderState {
  double t = 0;
  Vector x = {}, lambda = {};  ///< λ of the step that led here: at t, or at t_k + γh (full scheme)
  Vector y = {}, r = {};       ///< of the same moment
  /// r is none of this moment: at the start, and where something has just jumped. The next step
  /// takes γ = 1, for r_k has no meaning there.
  bool after_jump = true;
};

/// What a step left of its equations, each beside the sizes of what it is a sum of.
struct FirstOrderResiduals {
  double dynamics = 0;      ///< of M (x_{k+1} − x_k) − h …
  double output = 0;        ///< ℛ_y: y of the last linearisation against h(t, x, λ)
  double input = 0;         ///< ℛ_r: r of the last linearisation against g(t, x, λ)
  double law = 0;           ///< scaled natural map of (h(t, x, λ), λ)
  double law_absolute = 0;  ///< |λ − Π(λ − y)|, worst row, in the units of λ and y
  double worst() const;
};

struct FirstOrderReport {
  double t = 0, h = 0;
  int newton = 0;
  BoxStepReport solve = {};
  FirstOrderResiduals residuals = {};
  std::string failure = {};  ///< why there is no step; the state is then as it was
};

class FirstOrderStepper {
 public:
  /// The system and the options outlive the stepper.
  FirstOrderStepper(const FirstOrderSystem& system, const FirstOrderOptions& options);

  /// False, with the reason in the report, if no step is possible.
  bool step(double h, FirstOrderState& state, FirstOrderReport& report);

 private:
  bool euler_moreau(double h, FirstOrderState& state, FirstOrderReport& report);
  bool zero_order(double h, FirstOrderState& state, FirstOrderReport& report);
  bool explicit_multiplier(double h, FirstOrderState& state, FirstOrderReport& report);
  bool multiplier_of(const Moment& now, const Vector& x, Vector& lambda, Vector& y,
                     FirstOrderReport& report);
  void use_hold(double h);

  const FirstOrderSystem& system_;
  FirstOrderOptions options_;
  Vector lower_, upper_;
  SparseMatrix mass_;
  BoxStepSolver solver_;
  double held_for_ = 0;       ///< the length of step that the next two are of
  Matrix transition_, hold_;  ///< e^{Ah} and ∫ e^{As} ds M⁻¹
};

/// The residuals of an Euler–Moreau step from (t, x_k, r_k) to `after`, from the system alone.
FirstOrderResiduals certify_euler_moreau(const FirstOrderSystem& system,
                                         const FirstOrderOptions& options,
                                         const FirstOrderState& before,
                                         const FirstOrderState& after);

/// The residual of the law alone, where the scheme's own equations are explicit.
FirstOrderResiduals certify_law(const FirstOrderSystem& system, const Moment& now, const Vector& x,
                                const Vector& lambda);

/// Multipliers at the start: those of a first implicit Euler step, from which nothing else is
/// taken. False, with the reason, if there are none.
bool start_multipliers(const FirstOrderSystem& system, double h, FirstOrderState& state,
                       std::string& failure);

}  // namespace urto
