// Implicit Euler with contacts, iterated by Newton (recipe 001 §2.5, the source's (3.23)–(3.29)):
//
//     M̂ (v⁺ − v) = h f(q⁺, v⁺, t⁺) + J(q⁺)ᵀγ,     q⁺ = q ⊕ h v⁺,     M̂ = ½ (M(q) + M(q⁺))
//     joints g(q⁺, t⁺) = 0,     contacts 0 ≤ g(q⁺, t⁺) ⟂ γ_N ≥ 0 with Coulomb's law for J_T v⁺
//
// Complementarity is not linearised, all else is, at the last v⁺: each iteration is one step
// problem,
//
//     H v⁺ − Jᵀγ = H v_k − M̂ (v_k − v) + h f_k         H = M̂ + h D + h² K
//     u = J v⁺ + b,     b = (g_k − h J v_k)/h           everything at q_k = q ⊕ h v_k, t⁺
//
// The first is that of dvi, everything at the start of the step: where one iteration is all, this
// is dvi without its turning freely. It ends when the problem at the new state, posed and not
// solved, certifies the velocity and the impulses that there are.
//
// Of dvi it keeps the laws, so that a penetration of the start is pushed out at the recovery speed.
// Impacts are inelastic, and take two steps where the gap before was open. Implicit in gyroscopic
// moments too, which damps tumbling. First order, joints exact; a step costs one problem where all
// is linear, mostly three.
#pragma once

#include "urto/stepper/dvi.h"

namespace urto {

class DviNewtonStepper final : public DviStepper {
 public:
  DviNewtonStepper(const System& system, const SimulationOptions& options);

  StepOutcome step(State& state, double h, StepMemory& memory, StepReport& report) override;
  void align_velocities(State& /*state*/) override {}
  void align_positions(State& /*state*/) override {}
  bool can_extrapolate() const override { return false; }

 private:
  void begin(const State& start, double h, const StepMemory& memory);
  void linearise(const State& start, double h, const StepMemory& memory);
  void pose_at_start(const State& start, double h, Tangent kind);
  void pose_at_end(const State& start, double h, Tangent kind);
  template <class Pose>
  void assemble(Pose pose);
  void refer_gaps(double h);

  State end_;  ///< as the last velocity makes it
};

}  // namespace urto
