// Explicit steppers on the index-1 form: accelerations and multipliers from [M Jᵀ; J 0] {a; −λ} =
// {f; −J̇v}, then a method for ordinary differential equations (recipe 000 §2.17). Joints drift
// unless Baumgarte's terms or projections hold them. On rotations one exponential of the sum of the
// stages is of second order at most; Munthe-Kaas' method integrates the increment itself, u̇ =
// T(u)⁻¹ v with q = q₀ ⊕ u, and keeps order four; Crouch and Grossman's (J. Nonlinear Science 3
// (1993) 1–33; weights of E. Hairer, C. Lubich and G. Wanner, Geometric Numerical Integration,
// IV.8.1) takes one exponential a stage and keeps order three.
#pragma once

#include <array>

#include "urto/stepper/smooth_stepper.h"

namespace urto {

enum class ExplicitKind : std::uint8_t {
  euler,
  semi_implicit_euler,
  heun,
  leapfrog,
  runge_kutta,
  munthe_kaas,
  crouch_grossman
};

class ExplicitStepper final : public SmoothStepper {
 public:
  ExplicitStepper(const System& system, const SimulationOptions& options, ExplicitKind kind);

 private:
  bool advance(MotionPoint& p, double h, Work& work) override;
  void certify(const MotionPoint& before, const MotionPoint& after, double h,
               MotionCertifier& certifier) const override;
  double lateness() const override {
    return kind_ == ExplicitKind::euler || kind_ == ExplicitKind::semi_implicit_euler ? 0 : 0.5;
  }
  void euler(MotionPoint& p, double h);
  bool heun(MotionPoint& p, double h);
  bool leapfrog(MotionPoint& p, double h);
  bool runge_kutta(MotionPoint& p, double h);
  bool crouch_grossman(MotionPoint& p, double h);
  /// Stage `k` at q₀ ⊕ u, v₀ + h dv, t₀ + part h: fills du_[k], dv_[k]. False where there are no
  /// accelerations.
  bool stage(const MotionPoint& p, double h, int k, double part, const Vector& u, const Vector& dv);
  /// x ← T(u)⁻¹ x.
  void solve_tangent(const Vector& u, Vector& x);

  ExplicitKind kind_;
  State probe_;
  BlockMatrix tangent_;
  std::array<Vector, 4> du_, dv_;
  Vector increment_, a_, lambda_;
};

}  // namespace urto
