#include "urto/stepper/smooth_linearised.h"

#include <algorithm>
#include <cmath>

namespace urto {

LinearisedStepper::LinearisedStepper(const System& system, const SimulationOptions& options,
                                     bool trapezoidal)
    : SmoothStepper(system, options), trapezoidal_(trapezoidal) {}

// The matrix at the state `at`, and the right-hand side: where the forces were taken at the
// predicted state, K acts on v as well.
void LinearisedStepper::assemble(const State& at, double h) {
  const int n = system_.nv();
  const double part = theta() * h;
  rhs_.setZero(n + rows_.rows());
  matrix_.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::general);
  system_.assemble(at, {.mass = 1, .damping = part}, Tangent::exact, matrix_);
  if (!trapezoidal_) multiply(matrix_, at.v, increment_);
  system_.assemble(at, {.stiffness = part * part}, Tangent::exact, matrix_);
  matrix_.finish_assembly();
  if (trapezoidal_) multiply(matrix_, at.v, increment_);
  rhs_.head(n) = increment_ + h * force_;
  factor_.start(n, n + rows_.rows());
  factor_.add(matrix_);
  add_rows(h);
}

// J v⁺ = −g/h − g_t; soft rows J v⁺ + k g/(θhk + c) + g_t + ℓ/(h(θhk + c)) = 0 with the impulse ℓ
// (recipe 000 §2.17).
void LinearisedStepper::add_rows(double h) {
  const int n = system_.nv();
  rules_.clear();
  for (int i = 0; i < rows_.blocks(); ++i) {
    const Law& law = rows_.laws[i];
    const double resistance = theta() * h * law.stiffness + law.damping;
    rules_.push_back(is_soft(law) ? SaddleRow{.diagonal = -1 / (h * resistance), .shifted = false}
                                  : SaddleRow{});
    for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r) {
      rhs_[n + r] = -drifts_[r];
      if (is_soft(law)) {
        rhs_[n + r] -= law.stiffness / resistance * errors_[r];
      } else if (!law.on_velocity) {
        rhs_[n + r] -= errors_[r] / h;
      }
    }
  }
  factor_.add_rows(rows_.J, rows_.J, rules_);
}

// Trapezoidal: forces and J at the predicted state q ⊕ h v, v; the joints' error at the start. With
// the reaction of the start left out, the printed multiplier tends to twice the reaction (recipe
// 000 §2.12): ℓ/h, its half, is what is reported.
bool LinearisedStepper::advance(MotionPoint& p, double h, Work& work) {
  const int n = system_.nv();
  measure_rows(p.state);
  errors_ = rows_.g;
  drifts_ = rows_.g_t;
  system_.force(p.state, force_);
  probe_ = p.state;
  if (trapezoidal_) {
    first_force_ = force_;
    increment_ = h * p.state.v;
    system_.add_increment(p.state.q, increment_, probe_.q);
    probe_.t += h;
    measure_rows(probe_);
    system_.force(probe_, force_);
    force_ = 0.5 * (force_ + first_force_);
  }
  assemble(probe_, h);
  ++work.factorizations;
  ++work.iterations;
  if (!factor_.factorize()) return false;
  factor_.solve(rhs_, solution_);
  if (!solution_.allFinite()) return false;
  p.lambda = -solution_.tail(rows_.rows()) / h;
  if (trapezoidal_) {
    increment_ = 0.5 * h * (p.state.v + solution_.head(n));
  } else {
    increment_ = h * solution_.head(n);
  }
  system_.add_increment(p.state.q, increment_, p.state.q);
  change_ = solution_.head(n) - p.state.v;
  p.a = p.a_true = change_ / h;
  p.state.v = solution_.head(n);
  p.state.t += h;
  measure_rows(p.state);
  return true;
}

void LinearisedStepper::certify(const MotionPoint& /*before*/, const MotionPoint& /*after*/,
                                double h, MotionCertifier& certifier) const {
  certifier.check_linearised(h, trapezoidal_);
}

}  // namespace urto
