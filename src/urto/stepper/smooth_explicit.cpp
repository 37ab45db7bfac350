#include "urto/stepper/smooth_explicit.h"

#include <Eigen/LU>

namespace urto {

ExplicitStepper::ExplicitStepper(System& system, const SimulationOptions& options,
                                 ExplicitKind kind)
    : SmoothStepper(system, options), kind_(kind) {}

bool ExplicitStepper::advance(Point& p, double h, Work& work) {
  switch (kind_) {
    case ExplicitKind::euler:
    case ExplicitKind::semi_implicit_euler:
      euler(p, h);
      break;
    case ExplicitKind::heun:
      heun(p, h);
      break;
    case ExplicitKind::leapfrog:
      leapfrog(p, h);
      break;
    case ExplicitKind::runge_kutta:
    case ExplicitKind::munthe_kaas:
      runge_kutta(p, h);
      break;
  }
  p.state.t += h;
  if (options_.project_joints) project(p.state);
  system_.accept(p.state);
  // At the new state: what is reported now, and the first stage of the next step.
  accelerations(p.state, p.a, p.lambda, true);
  p.a_true = p.a;
  work.residual = linear_residual();
  ++work.factorizations;
  return true;
}

void ExplicitStepper::euler(Point& p, double h) {
  if (kind_ == ExplicitKind::euler) increment_ = h * p.state.v;
  p.state.v += h * p.a;
  if (kind_ == ExplicitKind::semi_implicit_euler) increment_ = h * p.state.v;
  system_.add_increment(p.state.q, increment_, p.state.q);
}

void ExplicitStepper::heun(Point& p, double h) {
  probe_ = p.state;
  probe_.t += h;
  increment_ = h * p.state.v;
  system_.add_increment(p.state.q, increment_, probe_.q);
  probe_.v += h * p.a;
  accelerations(probe_, a_, lambda_, true);
  increment_ = 0.5 * h * (p.state.v + probe_.v);
  system_.add_increment(p.state.q, increment_, p.state.q);
  p.state.v += 0.5 * h * (p.a + a_);
}

// Velocity Verlet. Forces that depend on velocity see the predicted one, which keeps the second order.
void ExplicitStepper::leapfrog(Point& p, double h) {
  increment_ = h * p.state.v + 0.5 * h * h * p.a;
  system_.add_increment(p.state.q, increment_, p.state.q);
  probe_ = p.state;
  probe_.t += h;
  probe_.v += h * p.a;
  accelerations(probe_, a_, lambda_, true);
  p.state.v += 0.5 * h * (p.a + a_);
}

void ExplicitStepper::solve_tangent(const Vector& u, Vector& x) {
  system_.increment_tangent(u, tangent_);
  for (int k = 0; k < tangent_.blocks(); ++k) {
    const Eigen::Matrix<double, 6, 6> T = tangent_.block(k);
    auto part = x.segment<6>(tangent_.start[k]);
    part = T.partialPivLu().solve(part.eval());
  }
}

void ExplicitStepper::stage(const Point& p, double h, int k, double part, const Vector& u,
                            const Vector& dv) {
  probe_ = p.state;
  probe_.t += part * h;
  system_.add_increment(p.state.q, u, probe_.q);
  probe_.v += part * h * dv;
  du_[k] = probe_.v;
  if (kind_ == ExplicitKind::munthe_kaas) solve_tangent(u, du_[k]);
  accelerations(probe_, dv_[k], lambda_, true);
}

void ExplicitStepper::runge_kutta(Point& p, double h) {
  du_[0] = p.state.v;
  dv_[0] = p.a;
  for (int k = 1; k < 4; ++k) {
    const double part = k == 3 ? 1.0 : 0.5;
    increment_ = part * h * du_[k - 1];
    stage(p, h, k, part, increment_, dv_[k - 1]);
  }
  increment_ = h / 6 * (du_[0] + 2 * du_[1] + 2 * du_[2] + du_[3]);
  system_.add_increment(p.state.q, increment_, p.state.q);
  p.state.v += h / 6 * (dv_[0] + 2 * dv_[1] + 2 * dv_[2] + dv_[3]);
}

}  // namespace urto
