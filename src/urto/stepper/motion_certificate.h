// Certificates of smooth steps: force balance, joints and the scheme's own equations, recomputed
// from the accepted state with a workspace of their own. Nothing a stepper computed is used but its
// result.
//
//     momentum       ‖M â − f − Jᵀλ‖ / (‖M â‖ + ‖f‖ + ‖Jᵀλ‖) at the new state, and what the scheme
//                    says of q, v and a,
//     natural map    how far the rows that the scheme holds are off, relative to the motion within
//                    the step
//
// Numbers stored in double precision cannot satisfy an equation better than their own rounding
// allows: what a change of q by a few units in its last place does to f (through ∂f/∂q) is taken
// off the balance, and the same of g. The allowance is part of the result.
#pragma once

#include <array>
#include <vector>

#include "urto/mechanics/system.h"
#include "urto/problem/certificate.h"

namespace urto {

/// A state and what a smooth method carries from step to step.
struct MotionPoint {
  State state;
  Vector a;       ///< of the method
  Vector a_true;  ///< of the motion
  Vector lambda;
  double h = 0;  ///< of the step that led here, 0 at the start
};

class MotionCertifier {
 public:
  explicit MotionCertifier(const System& system) : system_(system) {}

  /// Starts a certificate for a step; several parts of a cut step may be measured into one.
  void start() { out_ = {}; }
  /// The same, from what was known of the parts before: one that was given up leaves no trace.
  void go_on(const Certificate& so_far) { out_ = so_far; }
  /// Looks at the end of a part of the step.
  void look_at(const MotionPoint& before, const MotionPoint& after, double tolerance);

  /// M â = f + Jᵀλ at the end, soft rows λ = −(k g + c ġ) included. `unknown`: what of an
  /// acceleration nobody can know, where the scheme finds it from positions, which are rounded: it
  /// is taken off as well.
  void check_force_balance(double unknown = 0);
  /// M̂ (v⁺ − v) = h [(1 − θ)F + θF⁺] with M̂ = ½(M + M⁺) and F = f + Jᵀλ (smooth_implicit.h).
  void check_mean_balance(double h, double theta, double unknown);
  /// The rows that hold positions: g = 0.
  void check_positions();
  /// All rigid rows at velocity level, J v + g_t = 0; with `motors_only` those on velocities alone.
  void check_velocities(bool motors_only);
  /// J â + J̇v = −2ω ġ − ω² g.
  void check_accelerations(double omega);
  /// q⁺ = q ⊕ increment.
  void check_increment(const Vector& increment);
  /// x = y, relative to the size of the two together.
  void check_equal(const Vector& x, const Vector& y);
  /// The equations of smooth_linearised.h again, at the state where they were taken, with the
  /// velocities and reactions that came out.
  void check_linearised(double h, bool trapezoidal);

  /// Somewhere to put what is to be checked, so that a step allocates nothing.
  Vector& buffer(int k) { return buffers_[k]; }
  const Certificate& result() const { return out_; }

 private:
  static void grow(double& worst, double value);
  void judge_balance(double off, double size, double unknown);
  double force_rounding(double unknown);
  void check_linearised_rows(double h, double part);

  SystemAccess system_;
  const MotionPoint* before_ = nullptr;
  const MotionPoint* after_ = nullptr;
  double tolerance_ = 0, moved_ = 0, reach_ = 0;
  Interactions rows_;
  Vector rate_, force_, inertia_, reaction_, increment_, work_, off_;
  Vector along_;  ///< as many as there are rows
  Configuration placed_;
  BlockMatrix matrix_, stiffness_;
  // Linearised steps: the state at which they take their matrices, its rows, and the joints' errors
  // at the start.
  State at_;
  Interactions at_rows_;
  std::vector<double> errors_ = {}, drifts_ = {};
  std::array<Vector, 2> buffers_;
  Certificate out_;
};

}  // namespace urto
