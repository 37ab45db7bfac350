// The time-stepping DVI scheme, the default stepper (recipe 000 §2.7; Anitescu's scheme, Chrono's
// EULER_IMPLICIT_LINEARIZED):
//
//     H v⁺ − Jᵀγ = (M + hD) v + h f(q, v, t)          H = M + hD + h²K
//         (variant C of recipe 000 §2.7.6)
//     u = J v⁺ + b,  γ ∈ K,  −û ∈ N_K(γ)              b = g/h + g_t (joints),
//                    max(g/h, −w) (contacts), w: η_s, or as fast as
//                    curvature closes (docs, "Overlaps")
//     q⁺ = q ⊕ h ½(v⁺ + v*)     v*: v⁺ after turning freely for h, the velocity at the end of the
//                               step
//
// One step problem per step, impulses γ, inelastic by nature; Newton's law of impact is added as an
// option: an approaching row (g + h u⁻ ≤ 0, u⁻ < −threshold) must leave at −e u⁻. First order; the
// joint error stays O(h²) without drift. K and D are approximations (any are consistent).
#pragma once

#include "urto/linalg/block_factor.h"
#include "urto/stepper/impulse_kernel.h"
#include "urto/stepper/projection.h"

namespace urto {

class DviStepper : public Stepper {
 public:
  DviStepper(const System& system, const SimulationOptions& options);

  StepOutcome step(State& state, double h, StepMemory& memory, StepReport& report) override;
  const Interactions& rows() const override { return kernel_.rows; }
  const Vector& impulses() const override { return kernel_.impulses; }
  const StepProblem* problem() const override { return &kernel_.problem; }

  // A step leaves a velocity along the joints of where it began. The next step removes that lag of
  // O(h), but gyroscopic and damping forces would see it before, an error of O(h²) in one of two
  // ways only, which no combination of them removes.
  void align_velocities(State& state) override { projection_.project_velocities(state); }
  void align_positions(State& state) override;
  bool can_extrapolate() const override { return true; }

 protected:
  void detect(const State& state, double h);
  void add_laws(double h, const StepMemory& memory);

  ImpulseKernel kernel_;
  JointProjection projection_;
  BlockFactor definite_;  ///< tells whether H with exact tangents is positive definite
  double stabilisation_step_ = 0;
  Vector force_, momentum_, delta_;

 private:
  void predict(const State& state);
  void move(State& state, double h);
  void assemble(const State& state, double h, Tangent kind);
  double closing_speed(int block, const StepMemory& memory) const;
  void add_law(int block, double h, const StepMemory& memory);
  double resting_speed(int block) const;
  bool approaches(int block, const Vector& v, double least) const;
  void find_impacts(double h);
  bool impact_gains() const;
  void take_impacts_whole(const State& state, double h, const StepMemory& memory,
                          StepReport& report);
  void certify(const State& state, StepReport& report);
  bool limit_joint_work(const State& state, StepMemory& memory, StepReport& report);

  Vector unused_;
  /// Per block: special if it pulls or may rebound; a rigid joint.
  std::vector<std::uint8_t> marks_ = {};
  std::vector<double> closing_ = {};    ///< per block: how fast curvature closes it [m/s]
  std::vector<int> impacts_ = {};       ///< blocks whose impact is taken whole, this step
  Certificate approach_certificate_;    ///< with them, of the problem that moves the bodies
  Vector diagonal_;                     ///< of H
  std::vector<std::uint8_t> hit_ = {};  ///< per column where a body starts: something hits it
};

}  // namespace urto
