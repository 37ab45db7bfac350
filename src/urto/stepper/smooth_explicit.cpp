#include "urto/stepper/smooth_explicit.h"

#include <Eigen/LU>

namespace urto {
namespace {

// Of a node, with its storage on the stack.
using NodeMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_entry_width, max_entry_width>;

}  // namespace

ExplicitStepper::ExplicitStepper(const System& system, const SimulationOptions& options,
                                 ExplicitKind kind)
    : SmoothStepper(system, options), kind_(kind) {}

bool ExplicitStepper::advance(MotionPoint& p, double h, Work& work) {
  bool good = true;
  switch (kind_) {
    case ExplicitKind::euler:
    case ExplicitKind::semi_implicit_euler:
      euler(p, h);
      break;
    case ExplicitKind::heun:
      good = heun(p, h);
      break;
    case ExplicitKind::leapfrog:
      good = leapfrog(p, h);
      break;
    case ExplicitKind::runge_kutta:
    case ExplicitKind::munthe_kaas:
      good = runge_kutta(p, h);
      break;
    case ExplicitKind::crouch_grossman:
      good = crouch_grossman(p, h);
      break;
  }
  if (!good) return false;
  p.state.t += h;
  if (options_.project_joints) {
    projection_.project_positions(p.state, options_.projection_tolerance, 5);
    change_ -= p.state.v;
    projection_.project_velocities(p.state, true);
    change_ += p.state.v;
  }
  system_.accept(p.state);
  // At the new state: what is reported now, and the first stage of the next step.
  ++work.factorizations;
  if (!accelerations(p.state, p.a, p.lambda, true)) return false;
  p.a_true = p.a;
  return true;
}

// Updates of several stages are formulas, not equations that could be missed: what was solved are
// the accelerations.
void ExplicitStepper::certify(const MotionPoint& before, const MotionPoint& after, double h,
                              MotionCertifier& certifier) const {
  certifier.check_force_balance();
  certifier.check_accelerations(options_.baumgarte);
  const bool one_stage = kind_ == ExplicitKind::euler || kind_ == ExplicitKind::semi_implicit_euler;
  if (!one_stage || options_.project_joints) return;
  Vector& wanted = certifier.buffer(0);
  wanted = before.state.v + h * before.a;
  certifier.check_equal(after.state.v, wanted);
  wanted = h * (kind_ == ExplicitKind::euler ? before.state.v : after.state.v);
  certifier.check_increment(wanted);
}

void ExplicitStepper::euler(MotionPoint& p, double h) {
  if (kind_ == ExplicitKind::euler) increment_ = h * p.state.v;
  change_ = h * p.a;
  p.state.v += change_;
  if (kind_ == ExplicitKind::semi_implicit_euler) increment_ = h * p.state.v;
  system_.add_increment(p.state.q, increment_, p.state.q);
}

bool ExplicitStepper::heun(MotionPoint& p, double h) {
  probe_ = p.state;
  probe_.t += h;
  increment_ = h * p.state.v;
  system_.add_increment(p.state.q, increment_, probe_.q);
  probe_.v += h * p.a;
  if (!accelerations(probe_, a_, lambda_, true)) return false;
  increment_ = 0.5 * h * (p.state.v + probe_.v);
  system_.add_increment(p.state.q, increment_, p.state.q);
  change_ = 0.5 * h * (p.a + a_);
  p.state.v += change_;
  return true;
}

// Velocity Verlet. Forces that depend on velocity see the predicted one, which keeps the second
// order.
bool ExplicitStepper::leapfrog(MotionPoint& p, double h) {
  increment_ = h * p.state.v + 0.5 * h * h * p.a;
  system_.add_increment(p.state.q, increment_, p.state.q);
  probe_ = p.state;
  probe_.t += h;
  probe_.v += h * p.a;
  if (!accelerations(probe_, a_, lambda_, true)) return false;
  change_ = 0.5 * h * (p.a + a_);
  p.state.v += change_;
  return true;
}

void ExplicitStepper::solve_tangent(const Vector& u, Vector& x) {
  system_.increment_tangent(u, tangent_);
  for (int k = 0; k < tangent_.blocks(); ++k) {
    const NodeMatrix T = tangent_.block(k);
    auto part = x.segment(tangent_.start[k], tangent_.size(k));
    const NodeMatrix solved = T.partialPivLu().solve(part);
    part = solved;
  }
}

bool ExplicitStepper::stage(const MotionPoint& p, double h, int k, double part, const Vector& u,
                            const Vector& dv) {
  probe_ = p.state;
  probe_.t += part * h;
  system_.add_increment(p.state.q, u, probe_.q);
  probe_.v += part * h * dv;
  du_[k] = probe_.v;
  if (kind_ == ExplicitKind::munthe_kaas) solve_tangent(u, du_[k]);
  return accelerations(probe_, dv_[k], lambda_, true);
}

bool ExplicitStepper::runge_kutta(MotionPoint& p, double h) {
  du_[0] = p.state.v;
  dv_[0] = p.a;
  for (int k = 1; k < 4; ++k) {
    const double part = k == 3 ? 1.0 : 0.5;
    increment_ = part * h * du_[k - 1];
    if (!stage(p, h, k, part, increment_, dv_[k - 1])) return false;
  }
  increment_ = h / 6 * (du_[0] + 2 * du_[1] + 2 * du_[2] + du_[3]);
  system_.add_increment(p.state.q, increment_, p.state.q);
  change_ = h / 6 * (dv_[0] + 2 * dv_[1] + 2 * dv_[2] + dv_[3]);
  p.state.v += change_;
  return true;
}

// One exponential for each stage, q ⊕ h b₁V₁ ⊕ h b₂V₂ ⊕ h b₃V₃, where a sum in one exponential has
// order two. Besides the conditions of Runge-Kutta methods the weights satisfy Σ bᵢ²cᵢ + 2 Σ_{i<j}
// bᵢcᵢbⱼ = 1/3, for the stages do not commute.
bool ExplicitStepper::crouch_grossman(MotionPoint& p, double h) {
  struct Row {
    double part, by[3];
  };
  static constexpr Row stages[] = {{3.0 / 4, {3.0 / 4, 0, 0}},
                                   {17.0 / 24, {119.0 / 216, 17.0 / 108, 0}},
                                   {1, {13.0 / 51, -2.0 / 3, 24.0 / 17}}};
  du_[0] = p.state.v;
  dv_[0] = p.a;
  for (int k = 0; k < 3; ++k) {
    const Row& row = stages[k];
    probe_ = p.state;
    probe_.t += row.part * h;
    for (int j = 0; j <= k; ++j) {
      increment_ = h * row.by[j] * du_[j];
      system_.add_increment(probe_.q, increment_, probe_.q);
      probe_.v += h * row.by[j] * dv_[j];
    }
    if (k == 2) break;
    du_[k + 1] = probe_.v;
    if (!accelerations(probe_, dv_[k + 1], lambda_, true)) return false;
  }
  change_ = probe_.v - p.state.v;
  p.state.q = probe_.q;
  p.state.v = probe_.v;
  return true;
}

}  // namespace urto
