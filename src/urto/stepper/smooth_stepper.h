// What the smooth steppers share: steppers for systems without contacts, limits and dry friction (docs/steppers/smooth.md),
//
//     M(q) a = f(q, v, t) + Jᵀλ,     g(q, t) = 0,
//
// λ a force, with one sign in all of them (recipe 000 §2.0). Soft joints are the spring λ = −(k g + c ġ). A stepper's own part is `advance`; here are the
// consistent accelerations and multipliers, projections onto the joints, the cutting of steps in which Newton fails, energy
// accounts and the refusal of what is not smooth.
#pragma once

#include <cmath>
#include <string>

#include "urto/linalg/saddle_lu.h"
#include "urto/stepper/options.h"
#include "urto/stepper/stepper.h"

namespace urto {

class SmoothStepper : public Stepper {
 public:
  SmoothStepper(System& system, const SimulationOptions& options);

  void step(State& state, double h, StepMemory& memory, StepReport& report) final;
  const Interactions& rows() const final { return rows_; }
  const Vector& impulses() const final { return impulses_; }
  /// [N, N·m] at the end of the last step.
  const Vector& multipliers() const { return point_.lambda; }

  /// a and λ at a state: [M Jᵀ; J 0] {a; −λ} = {f; −J̇v}, with Baumgarte's terms if `stabilise`.
  void accelerations(const State& state, Vector& a, Vector& lambda, bool stabilise = false);
  /// Moves a state onto the rigid rows and its velocity along them, both least in the mass metric.
  void project(State& state);

 protected:
  /// A state and what a method carries from step to step.
  struct Point {
    State state;
    Vector a;       ///< of the method
    Vector a_true;  ///< of the motion
    Vector lambda;
    double h = 0;  ///< of the step that led here, 0 at the start
  };
  struct Work {  ///< of one step
    int iterations = 0, factorizations = 0;
    double residual = 0;  ///< the certificate's
  };

  /// Takes one step of h; leaves rows_ at the new state. False if it cannot: the point is then of no use.
  virtual bool advance(Point& p, double h, Work& work) = 0;

  /// Of the last `accelerations`.
  double linear_residual() const { return plain_.residual(); }
  void measure_rows(const State& state, bool accelerations = false);
  /// Rows of a Jacobian, and their transpose above, at `first` of a matrix that has H in front of them.
  void add_rows(SaddleLu& matrix, int first) const;
  static bool is_soft(const Law& law) { return std::isfinite(law.stiffness); }
  /// −(k g + c ġ) of a soft row.
  double soft_force(int block, int row) const;
  /// M x by the mass last asked for.
  void add_mass(SaddleLu& matrix, double factor) const;

  System& system_;
  StepperOptions options_;
  double tolerance_;  ///< of a step's certificate
  Interactions rows_;
  Vector rate_;  ///< J v + g_t of rows_
  BlockMatrix mass_;
  Vector force_, rhs_, solution_;  ///< scratch
  Point point_;

 private:
  void recall(const State& state, const StepMemory& memory, StepReport& report);
  void remember(StepMemory& memory, double h) const;
  void cut_and_advance(double h, StepReport& report, Work& work);
  void refuse_contact(const State& state);
  std::array<double, 2> powers(const State& state);
  double joint_energy() const;
  double joint_error() const;

  std::string who_;  ///< in messages
  Point trial_;
  Vector impulses_;
  Interactions all_;
  SaddleLu plain_;
};

}  // namespace urto
