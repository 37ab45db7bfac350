// What the smooth steppers share: steppers for systems without contacts, limits and dry friction
// (docs/steppers/smooth.md),
//
//     M(q) a = f(q, v, t) + Jᵀλ,     g(q, t) = 0,
//
// λ a force, with one sign in all of them (recipe 000 §2.0). Soft joints are the spring λ = −(k g +
// c ġ). A stepper's own part is `advance` and what it claims of its result (`certify`); here are
// consistent accelerations and multipliers, the cutting of steps in which Newton fails, energy
// accounts, memory and the refusal of what is not smooth.
#pragma once

#include <string>

#include "urto/linalg/saddle_lu.h"
#include "urto/mechanics/forward_dynamics.h"
#include "urto/stepper/energy_audit.h"
#include "urto/stepper/motion_certificate.h"
#include "urto/stepper/projection.h"
#include "urto/stepper/stepper.h"

namespace urto {

class SmoothStepper : public Stepper {
 public:
  SmoothStepper(const System& system, const SimulationOptions& options);

  StepOutcome step(State& state, double h, StepMemory& memory, StepReport& report) final;
  const Interactions& rows() const final { return rows_; }
  const Vector& impulses() const final { return impulses_; }
  /// [N, N·m] at the end of the last step.
  const Vector& multipliers() const { return point_.lambda; }

 protected:
  struct Work {  ///< of one step
    int iterations = 0, factorizations = 0;
  };

  /// Takes one step of h; leaves rows_ and rate_ at the new state, and in change_ what the scheme's
  /// formula adds to the velocity. False if it cannot: the point is then of no use.
  virtual bool advance(MotionPoint& p, double h, Work& work) = 0;
  /// What the scheme claims of a step from `before` to `after`, measured by code of its own.
  virtual void certify(const MotionPoint& before, const MotionPoint& after, double h,
                       MotionCertifier& certifier) const = 0;
  /// True for schemes whose step is a root that an iteration finds, if it is one: what it found is
  /// doubted. What other schemes make of a step too long for them is their own result.
  virtual bool iterates() const { return false; }

  /// θ of the energy audit: forces act within a step as (1 − θ)f + θf⁺.
  virtual double lateness() const { return 0.5; }

  /// a and λ at a state, with Baumgarte's terms if `stabilise`; leaves rows_ there. False if the
  /// mass matrix is singular or not a number.
  bool accelerations(const State& state, Vector& a, Vector& lambda, bool stabilise = false);
  void measure_rows(const State& state) { measure_equalities(system_, state, false, rows_, rate_); }

  /// Set by `advance`: the iteration ended where rounding of positions keeps it, however large
  /// the forces are that this makes.
  bool to_rounding_ = false;
  SystemAccess system_;
  StepperOptions options_;
  double tolerance_;  ///< of a step's certificate
  Interactions rows_;
  Vector rate_;  ///< J v + g_t of rows_
  BlockMatrix mass_;
  std::vector<SaddleRow> rules_ = {};
  Vector change_;                  ///< v⁺ − v of the last `advance`
  Vector force_, rhs_, solution_;  ///< scratch
  JointProjection projection_;

 private:
  bool recall_point(const State& state, const StepMemory& memory, StepReport& report,
                    std::string& trouble);
  void remember_point(StepMemory& memory, double h) const;
  bool cut_and_advance(double h, StepReport& report, Work& work, std::string& trouble);
  bool try_part(double h, StepReport& report, Work& work, std::string& doubt);
  void take_stock(double h);
  bool is_motion(double h, std::string& doubt);
  bool one_sided_trouble(const State& state, std::string& trouble);
  void start_audit(StepReport& report);
  EnergyAuditor::Motion motion(double h) const {
    return {rows_, rate_, trial_.lambda, claimed_, h, lateness()};
  }
  double supplied_power(const MotionPoint& p);

  MotionPoint point_, trial_;
  struct Stock {       ///< [J] at the start of the step
    double h = 0;      ///< [s]
    double power = 0;  ///< [W] supplied
    double kinetic = 0, potential = 0, begun = 0;
  } stock_;
  State probe_;  ///< scratch
  MotionCertifier certifier_;
  EnergyAuditor auditor_;
  Vector claimed_;  ///< v + change_
  Vector impulses_;
  Interactions all_;
  ForwardDynamics dynamics_;
};

}  // namespace urto
