#include <algorithm>
#include <cmath>

#include "urto/stepper/smooth_implicit.h"

namespace urto {

LinearisedStepper::LinearisedStepper(System& system, const SimulationOptions& options,
                                     bool trapezoidal)
    : SmoothStepper(system, options), trapezoidal_(trapezoidal) {}

// H = M + θh D + θ²h² K at the state `at`, and a = M v + h f + θh D v + (θ²h² K v where the forces were taken at the predicted state).
void LinearisedStepper::assemble(const State& at, double theta, double h) {
  const int n = system_.nv();
  system_.mass(at, mass_);
  system_.tangents(at, Tangent::exact, tangents_);
  factor_.start(n, n + rows_.rows());
  add_mass(factor_, 1);
  static const BlockMatrix flat;
  add_tangents(tangents_, flat, theta * h, theta * theta * h * h, n, factor_);
  rhs_.setZero(n + rows_.rows());
  increment_.resize(n);
  multiply(mass_, at.v, increment_);
  rhs_.head(n) = increment_ + h * force_;
  for (const ForceTangents::Block& block : tangents_.blocks) {
    const int rows = std::min(6, n - block.row);
    const int columns = std::min(6, n - block.column);
    Eigen::Matrix<double, 6, 6> sum = theta * h * block.damping;
    if (trapezoidal_) sum += theta * theta * h * h * block.stiffness;
    rhs_.segment(block.row, rows) +=
        sum.topLeftCorner(rows, columns) * at.v.segment(block.column, columns);
  }
  for (int i = 0; i < rows_.blocks(); ++i) add_row(i, theta, h);
}

// J v⁺ = −g/h − g_t; soft rows J v⁺ + k g/(θhk + c) + g_t + ℓ/(h(θhk + c)) = 0 with the impulse ℓ (recipe 000 §2.17).
void LinearisedStepper::add_row(int block, double theta, double h) {
  const int n = system_.nv();
  const BlockRows& J = rows_.J;
  const Law& law = rows_.laws[block];
  for (int e = J.entry_start[block]; e < J.entry_start[block + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    for (int r = 0; r < J.height(block); ++r) {
      for (int c = 0; c < entry.width; ++c) {
        const double value = J.values[entry.offset + r * entry.width + c];
        factor_.add(entry.column + c, n + J.row_start[block] + r, value);
        factor_.add(n + J.row_start[block] + r, entry.column + c, value);
      }
    }
  }
  for (int r = J.row_start[block]; r < J.row_start[block + 1]; ++r) {
    rhs_[n + r] = -drifts_[r];
    if (is_soft(law)) {
      const double resistance = theta * h * law.stiffness + law.damping;
      rhs_[n + r] -= law.stiffness / resistance * errors_[r];
      factor_.add(n + r, n + r, -1 / (h * resistance));
      continue;
    }
    if (!law.on_velocity) rhs_[n + r] -= errors_[r] / h;
    factor_.shift(n + r, -1);
  }
}

// Trapezoidal: forces and J at the predicted state q ⊕ h v, v; the joints' error at the start. With the reaction of the start left out, the printed
// multiplier tends to twice the reaction (recipe 000 §2.12): ℓ/h, its half, is what is reported.
bool LinearisedStepper::advance(Point& p, double h, Work& work) {
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
  assemble(probe_, trapezoidal_ ? 0.5 : 1.0, h);
  ++work.factorizations;
  ++work.iterations;
  if (!factor_.factorize()) return false;
  factor_.solve(rhs_, solution_);
  if (!solution_.allFinite()) return false;
  work.residual = factor_.residual();
  p.lambda = -solution_.tail(rows_.rows()) / h;
  if (trapezoidal_) {
    increment_ = 0.5 * h * (p.state.v + solution_.head(n));
  } else {
    increment_ = h * solution_.head(n);
  }
  system_.add_increment(p.state.q, increment_, p.state.q);
  p.a = p.a_true = (solution_.head(n) - p.state.v) / h;
  p.state.v = solution_.head(n);
  p.state.t += h;
  measure_rows(p.state);
  return true;
}

}  // namespace urto
