// Error-controlled steps of the non-smooth generalised-α scheme with hard contacts (recipe 004,
// supplement §7). One solve a step, and two estimates:
//
// Smooth motion, embedded, no further solve; r = h/h_prev, [v, a] = Ω × Ω̇ on rotations, 0
// elsewhere:
//
//     e_q = h v + h²(⅓ â + ⅙ â⁺) + h³/12 [v, â] − δ̃
//     e_v = v + h[(2r + 3)/(6(r + 1)) â⁺ + (r + 3)/6 â − r²/(6(r + 1)) â_prev] − ṽ
//           (after a restart v + ½h(â + â⁺) − ṽ)
//           + ½ M⁻¹(J⁺ − J)ᵀP                    a lasting contact's force has its end's direction
//
// both projected on what joints and closed contacts allow, in the metric of the mass, and
//
//     e_q += h/12 M⁻¹Jᵀ(P − (h/h_prev) P_prev)   a force that changes within the step: h³ where it
//                                                 does so smoothly, h² where friction turns round
//
//     err = (‖e_q‖ + h‖e_v‖)/tol,   accepted if ≤ 1,   h ← h min(2, max(0.2, 0.9 err^−⅓))
//
// Impacts. A step over an impact of speed u errs by (1 + e) max(1, 2e) u h in position, for it does
// not know when within the step. So the impact is gone to, τ − ½h_s, and stepped over with the
// h_s = tol/((1 + e) max(1, 2e) u) that this allows. Hops no higher than tol are taken as they
// come: h_s grows as rebounds get slower, and accumulations are passed after finitely many impacts.
#pragma once

#include "urto/stepper/nonsmooth_alpha.h"

namespace urto {

class AlphaControl final : public Stepper {
 public:
  AlphaControl(const System& system, const SimulationOptions& options);

  /// One accepted step of a length of its own choice, `most` at the utmost.
  StepOutcome step(State& state, double most, StepMemory& memory, StepReport& report) override;
  const Interactions& rows() const override { return inner_.rows(); }
  const Vector& impulses() const override { return inner_.impulses(); }
  const StepProblem* problem() const override { return inner_.problem(); }
  RowSplit split() const override { return inner_.split(); }
  bool chooses_steps() const override { return true; }

 private:
  struct Memory;  ///< what it remembers from step to step, in the memory's named arrays
  /// What a trial step met.
  struct Impact {
    bool met = false;  ///< one that must be stepped over with a shorter step, the first of them
    double time = 0;   ///< [s] after the start of the step
    double step = 0;   ///< that its speed allows
    double error = 0;  ///< [m] bound of all impacts of the step
  };
  Impact find_impacts(double h);
  double smooth_error(double h, const Memory& before, const StepMemory& memory);
  void project(Vector& e);
  void add_contact_errors(double h, const StepMemory& memory);

  SystemAccess system_;
  SimulationOptions options_;
  bool carries_ = false;
  NonsmoothAlphaStepper inner_;
  State trial_;
  StepMemory trial_memory_;
  std::vector<NonsmoothAlphaStepper::ContactPath> paths_ = {};
  std::vector<int> held_blocks_ = {};
  Interactions held_;
  BlockMatrix mass_;
  BlockFactor mass_factor_;
  SaddleLu projection_;
  std::vector<SaddleRow> rules_ = {};
  Vector e_q_, e_v_, rhs_, solution_, force_;
};

}  // namespace urto
