#include "urto/stepper/two_phase_impact.h"

#include <algorithm>

namespace urto {

// Forces, springs and bounded motors do nothing in no time.
void TwoPhaseImpact::pose(const State& state, double h) {
  kernel_.begin_rows(h);
  for (int i = 0; i < kernel_.rows.blocks(); ++i) {
    ConvexSet& set = kernel_.problem.K.sets[i];
    if (set.kind == SetKind::box) set = ConvexSet::box(0, 0, set.dim);
    for (int r = kernel_.rows.J.row_start[i]; r < kernel_.rows.J.row_start[i + 1]; ++r)
      kernel_.problem.b[r] = kernel_.rows.g_t[r];
  }
  kernel_.system.mass(state, kernel_.H());
  kernel_.v_before = state.v;
  multiply(kernel_.H(), state.v, kernel_.problem.a);
  momentum_ = kernel_.problem.a;
}

double TwoPhaseImpact::kinetic(const Vector& v) {
  Vector Mv;
  multiply(kernel_.H(), v, Mv);
  return 0.5 * Mv.dot(v);
}

// A step's report is as good as the worst of its problems.
void TwoPhaseImpact::solve_phase(const State& state, StepReport& report) {
  const Certificate before = report.certificate;
  const bool met = report.meets_tolerance;
  kernel_.solve(nothing_, report);
  kernel_.certify(state, report);
  ++report.newton_iterations;
  report.meets_tolerance = report.meets_tolerance && met;
  if (!(before.residual() <= report.certificate.residual())) report.certificate = before;
}

void TwoPhaseImpact::decompress(const State& state, std::span<const double> restitution,
                                StepReport& report) {
  ImpulseKernel& k = kernel_;
  compression_ = k.impulses;
  Vector given = Vector::Zero(k.rows.rows());
  for (int i = 0; i < k.rows.blocks(); ++i) {
    const int first = k.rows.J.row_start[i];
    if (restitution[i] > 0) given[first] = restitution[i] * std::max(0.0, compression_[first]);
  }
  if (given.isZero(0)) return;
  multiply(k.H(), k.v_after, k.problem.a);
  // What friction may be bounded by stays an impulse of the problem.
  Vector outside = given;
  if (k.options.stepper.restitution_friction == RestitutionFriction::total) {
    k.law.floor.assign(k.rows.blocks(), 0.0);
    for (int i = 0; i < k.rows.blocks(); ++i) {
      if (!k.problem.K.sets[i].has_friction()) continue;
      double& normal = outside[k.rows.J.row_start[i]];
      k.law.floor[i] = normal;
      normal = 0;
    }
  }
  transpose_multiply_add(k.rows.J, outside, k.problem.a);
  solve_phase(state, report);
  k.law.floor.clear();
  k.impulses += compression_ + outside;
}

void TwoPhaseImpact::solve(const State& state, double h, std::span<const double> restitution,
                           StepReport& report) {
  ImpulseKernel& k = kernel_;
  pose(state, h);
  energy_[0] = kinetic(state.v);
  const bool newton = k.options.stepper.restitution_law == RestitutionLaw::newton;
  for (int i = 0; newton && i < k.rows.blocks(); ++i) {
    if (!(restitution[i] > 0)) continue;
    std::array<double, max_block> u{};
    multiply_add_block(k.rows.J, i, state.v.data(), u.data());
    k.add_rebound(i, u[0] + k.rows.g_t[k.rows.J.row_start[i]]);
  }
  solve_phase(state, report);
  energy_[1] = kinetic(k.v_after);
  if (!newton) decompress(state, restitution, report);
  energy_[2] = kinetic(k.v_after);
  k.problem.a = momentum_;
  k.move_with_the_end();
}

}  // namespace urto
