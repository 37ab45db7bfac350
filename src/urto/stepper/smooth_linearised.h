// One linear solve per step: implicit Euler (recipe 000 §2.7.6, variant C) and the trapezoidal rule
// (§2.12) linearised at its start,
//
//     (M + θh D + θ²h² K) v⁺ − Jᵀℓ = M v + h f + θh D v (+ θ²h² K v: trapezoidal),
//         J v⁺ = −g/h − g_t
//
// θ = 1 with all at the start of the step, or θ = ½ with f, D, K and J at the predicted state q ⊕ h
// v. ℓ is an impulse.
#pragma once

#include "urto/stepper/smooth_stepper.h"

namespace urto {

class LinearisedStepper final : public SmoothStepper {
 public:
  LinearisedStepper(const System& system, const SimulationOptions& options, bool trapezoidal);

 private:
  bool advance(MotionPoint& p, double h, Work& work) override;
  void certify(const MotionPoint& before, const MotionPoint& after, double h,
               MotionCertifier& certifier) const override;
  /// The reaction is an impulse of the step, and so is what dampers in rows give.
  double lateness() const override { return 1; }
  double theta() const { return trapezoidal_ ? 0.5 : 1.0; }
  void assemble(const State& at, double h);
  void add_rows(double h);

  bool trapezoidal_;
  SaddleLu factor_;
  BlockMatrix matrix_;
  State probe_;
  Vector first_force_, increment_;
  std::vector<double> errors_ = {}, drifts_ = {};  ///< g and g_t at the start of the step
};

}  // namespace urto
