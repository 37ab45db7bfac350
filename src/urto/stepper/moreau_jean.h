// The θ-method of Moreau and Jean for second-order systems with impacts and friction (recipe 003
// §5.6, §5.10 and recipe 004 §2.7 (50); J. J. Moreau, "Unilateral contact and dry friction in
// finite freedom dynamics", 1988; M. Jean, "The non-smooth contact dynamics method", 1999):
//
//     M(v⁺ − v) = h F + J(q̄)ᵀP,            q⁺ = q ⊕ h [(1 − θ) v + θ v⁺],     θ = 1/(1 + ρ∞)
//     u = J(q̄) v⁺ + g_t = 0                 joints
//     K ∋ P ⊥ u + b ∈ K*, û of Coulomb      contacts and limits with g(q*) ≤ 0,  b_N = e u_N⁻
//     P = 0                                 the others
//
// |                        | F                           | q̄  |
// | implicit               | f(q_θ, v_θ, t_θ)            | q⁺ |
// | nearly-implicit        | (1 − θ) f(q,v,t) + θ f(q⁺,v⁺,t⁺) | q⁺ |
// | nearly-implicit-start  | the same                    | q  |
// | semi-explicit          | f(q, v, t)                  | q  |
//
// x_θ = (1 − θ) x + θ x⁺. All is at velocity level: joints drift and contacts penetrate, by O(h) in
// all. q* is a prediction that the solution does not change: q, q ⊕ ½h v, q ⊕ h v, or where the
// forces alone would carry the bodies. First order; impacts and accumulations of them in one step.
//
// Each iteration solves the step problem of the equations linearised at the last velocity, with a
// symmetric H = M + hθD + h²θ²K; what H leaves out changes how fast it converges, not to what. The
// certificate is that of the equations themselves, measured anew at the state that was accepted.
#pragma once

#include "urto/linalg/block_factor.h"
#include "urto/stepper/cut_stepper.h"
#include "urto/stepper/impulse_kernel.h"
#include "urto/stepper/passed_contacts.h"
#include "urto/stepper/projection.h"

namespace urto {

class MoreauJeanStepper final : public CutStepper {
 public:
  MoreauJeanStepper(const System& system, const SimulationOptions& options);

  const Interactions& rows() const override { return kernel_.rows; }
  const Vector& impulses() const override { return kernel_.impulses; }
  const StepProblem* problem() const override { return &kernel_.problem; }

 private:
  std::string attempt(State& state, double h, StepMemory& memory, StepReport& report,
                      bool smallest) override;
  void select_rows(const State& state, double h);
  bool meets(int block) const;
  void predict(const State& state, double h);
  void place(const State& state, double h);
  void force(const State& state, double h);
  void assemble(const State& state, double h);
  void add_law(int block, double h);
  void add_soft_law(int block, double h);
  void pose_equations(double h);
  void see_rows(Vector& u);
  double residual(double h);
  void solve(double h, const StepMemory& memory, StepReport& report);
  std::string iterate(const State& state, double h, const StepMemory& memory, StepReport& report,
                      bool smallest);
  bool is_explicit() const { return variant_ == MoreauVariant::semi_explicit; }
  bool rows_at_end() const {
    return variant_ == MoreauVariant::implicit || variant_ == MoreauVariant::nearly_implicit;
  }

  ImpulseKernel kernel_;
  JointProjection projection_;
  BlockFactor definite_;
  MoreauVariant variant_;
  double theta_;
  Interactions all_;     ///< within reach, measured at the start
  Interactions probed_;  ///< … and with the gaps of the prediction
  PassedContacts passed_;
  std::vector<double> all_rate_ = {};                     ///< per row of all_, at the start
  std::vector<int> active_ = {};                          ///< blocks of all_ that take part
  std::vector<double> start_gap_ = {}, start_rate_ = {};  ///< per row of kernel_.rows, at the start
  std::vector<double> gap_ = {}, rate_ = {};              ///< … at the last iterate
  std::vector<double> bound_ = {};  ///< b without g_t, per row: restitution with its share
  State trial_, middle_;
  BlockMatrix mass_;
  Vector force_start_, force_, increment_, work_;
  Vector solved_, seen_;  ///< J v + Eλ + b of the rows: in the last solve, and now
};

}  // namespace urto
