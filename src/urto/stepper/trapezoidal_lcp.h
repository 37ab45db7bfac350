// The linearly implicit trapezoidal method with contacts, joints and friction of F. A. Potra, M.
// Anitescu, B. Gavrea and J. Trinkle (recipe 002). One problem a step, of the mean velocity v̄ = ½(v
// + v⁺), its H = 2M̃ with the tangents K = −∂f/∂q and D = −∂f/∂v of the start:
//
//     (2M + hD + ½h²K) v̄ = (2M + hD) v + ½h (f(q, v, t) + f(q, v, t + h)) + Jᵀλ         (5.4),
//     (5.9) J v̄ + g_t = 0                    joints                                           (5.5)
//     K ∋ λ ⊥ J v̄ + g_t, û of Coulomb  contacts that touch and do not part              (5.6)–(5.8)
//     v⁺ = 2v̄ − v,    q⁺ = q ⊕ h v̄                                                       (5.3)
//
// J and g_t at q ⊕ ½h v. Where a contact that is no part of this ends below zero, the step is
// followed to the time of that collision (first_collision.h), an impact is solved there
// (two_phase_impact.h), and another step takes the rest: the grid stays uniform.
//
// All is imposed on v̄, so that what is inconsistent in v changes its sign instead of dying out
// (recipe 002 note 4): hence impacts, and a projection of positions and velocities after each step
// (drift_projection.h) unless the options choose otherwise.
//
// Exact tangents where the symmetric part of H is positive definite, else (9.2)–(9.3), for which it
// always is. Second order; what more than a hundred impacts in a step leave is taken by one step of
// implicit Euler, the same equations with v⁺ in place of v̄, in which gaps may close.
#pragma once

#include "urto/linalg/block_factor.h"
#include "urto/stepper/drift_projection.h"
#include "urto/stepper/first_collision.h"
#include "urto/stepper/two_phase_impact.h"

namespace urto {

class TrapezoidalLcpStepper final : public Stepper {
 public:
  /// What happened to one contact in an impact.
  struct Impact {
    double t = 0;
    std::uint64_t id = 0;            ///< of the row block
    double approach = 0, after = 0;  ///< normal velocities [m/s]
    double energy = 0;               ///< ½vᵀM v of all bodies after the impact less before [J]
    double compression = 0;          ///< … after compression less before [J]
  };

  TrapezoidalLcpStepper(const System& system, const SimulationOptions& options);

  StepOutcome step(State& state, double h, StepMemory& memory, StepReport& report) override;
  const Interactions& rows() const override { return rows_; }
  const Vector& impulses() const override { return impulses_; }
  const StepProblem* problem() const override { return &kernel_.problem; }

  /// Of the last step, in their order.
  const std::vector<Impact>& impacts() const { return impacts_; }
  /// Problems posed in the last step: one, and three for each collision.
  int problems() const { return problems_; }

 private:
  using Blocks = std::vector<int>;  ///< of all_

  void look(const State& state, double h);
  void sort_contact(int block, double closed);
  bool block_was_pressed(int block) const;
  double normal_rate(int block) const;
  void impact(State& state, double h, StepMemory& memory, StepReport& report);
  void find_struck();
  void find_restitution();

  std::string advance(State& state, double h, bool last_resort, StepMemory& memory,
                      StepReport& report);
  void pose(const State& state, double h);
  void select_rows(const State& state, double h);
  void add_law(int block, double h);
  void add_far_pulls(double h);
  void assemble(const State& state, double h);
  void assemble(const State& state, double h, Tangent kind, BlockMatrix& H);
  void solve(const State& state, const StepMemory& memory, StepReport& report);
  void find_twist(const Vector& x);
  TriedStep tried(const State& state, double h) const {
    return {state, trial_, h, all_, start_rate_, is_held_};
  }
  void follow(State& state, double h, double time, StepMemory& memory, StepReport& report);

  ImpulseKernel kernel_;
  TwoPhaseImpact impact_;
  FirstCollision collision_;
  DriftProjection drift_;
  BlockFactor definite_;
  double step_ = 0;                      ///< the whole of it [s]
  const StepMemory* before_ = nullptr;   ///< the last part, if nothing was hit since
  double theta_ = 0.5;                   ///< 1 in the step of last resort
  Interactions all_;                     ///< within reach, measured at the start of the part
  std::vector<double> start_rate_ = {};  ///< J v + g_t, per row of all_
  Blocks held_ = {}, striking_ = {}, struck_ = {};
  std::vector<double> restitution_ = {};    ///< of struck_
  std::vector<std::uint8_t> is_held_ = {};  ///< per block of all_
  std::vector<double> start_gap_ = {};      ///< per row of kernel_.rows
  State now_, middle_, trial_, before_move_, probe_;
  StepMemory kept_;
  StepReport part_;
  BlockMatrix general_;  ///< H itself
  // Each of one length, or assigning would allocate.
  Vector force_, load_, last_, twist_, straight_, mean_, increment_;
  Vector rates_, opposite_;
  Interactions probed_;  ///< where active_contacts: predicted looks
  std::vector<std::pair<std::uint64_t, int>> hits_ = {};  ///< impacts in this step, by block id
  std::vector<Impact> impacts_ = {};
  std::string event_ = {};
  int problems_ = 0;
  Interactions rows_;
  Vector impulses_;
};

}  // namespace urto
