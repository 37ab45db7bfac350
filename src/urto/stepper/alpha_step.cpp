#include "urto/stepper/alpha_step.h"

#include <cmath>
#include <limits>

#include "urto/math/rotation.h"

namespace urto {

AlphaScheme alpha_scheme(double rho) {
  AlphaScheme s;
  s.alpha_m = (2 * rho - 1) / (rho + 1);
  s.alpha_f = rho / (rho + 1);
  s.gamma = 0.5 + s.alpha_f - s.alpha_m;
  s.beta = 0.25 * (s.gamma + 0.5) * (s.gamma + 0.5);
  return s;
}

void AlphaStep::begin(SystemAccess& system, const State& from, double step,
                      const Vector& a_hat_end) {
  h = step;
  start = free = end = from;
  a = ((1 - scheme.alpha_f) * a_hat_end + scheme.alpha_f * a_hat_start - scheme.alpha_m * a_start) /
      (1 - scheme.alpha_m);
  U.setZero(from.v.size());
  W.setZero(from.v.size());
  follow(system);
}

void AlphaStep::follow(SystemAccess& system) {
  const AlphaScheme& s = scheme;
  a_hat = ((1 - s.alpha_m) * a + s.alpha_m * a_start - s.alpha_f * a_hat_start) / (1 - s.alpha_f);
  free_increment = h * start.v + h * h * ((0.5 - s.beta) * a_start + s.beta * a);
  free.v = start.v + h * ((1 - s.gamma) * a_start + s.gamma * a);
  increment = free_increment + U;
  end.v = free.v + W;
  free.t = end.t = start.t + h;
  system.add_increment(start.q, free_increment, free.q);
  system.add_increment(start.q, increment, end.q);
  system.increment_tangent(increment, turn);
}

double gap_rounding(const Vector& q) {
  return 8 * std::numeric_limits<double>::epsilon() * (1 + q.lpNorm<Eigen::Infinity>());
}

// With φ = ‖θ‖, A = (1 − cos φ)/φ² and B = (φ − sin φ)/φ³, T = I − A θ̃ + B θ̃² and
//
//     ∂(Tᵀy)/∂θ = −A ỹ + A'/φ (θ×y)θᵀ + B[(θ·y) I + θyᵀ − 2yθᵀ] + B'/φ (θ×(θ×y))θᵀ
//
// (recipe 004, supplement §1); series below a twentieth.
void add_increment_curvature(const Layout& layout, const Vector& delta, const Vector& y,
                             double factor, BlockMatrix& out) {
  for (int k = 0; k < layout.nodes(); ++k) {
    if (layout.kinds[k] != NodeKind::pose) continue;
    const Vec3 theta = delta.segment<3>(layout.v_start[k] + 3);
    const Vec3 moment = y.segment<3>(layout.v_start[k] + 3);
    const double x = theta.norm(), s = x * x;
    double A = 0.5 - s / 24 + s * s / 720 - s * s * s / 40320;
    double B = 1.0 / 6 - s / 120 + s * s / 5040 - s * s * s / 362880;
    double dA = -1.0 / 12 + s / 180 - s * s / 6720;
    double dB = -1.0 / 60 + s / 1260 - s * s / 60480;
    if (x >= 0.05) {
      const double c = std::cos(x), sine = std::sin(x);
      A = (1 - c) / s;
      B = (x - sine) / (s * x);
      dA = (sine / s - 2 * (1 - c) / (s * x)) / x;
      dB = ((1 - c) / (s * x) - 3 * (x - sine) / (s * s)) / x;
    }
    const Vec3 turned = theta.cross(moment);
    Mat3 D = -A * skew(moment) + dA * turned * theta.transpose() +
             dB * theta.cross(turned) * theta.transpose();
    D += B * (theta.dot(moment) * Mat3::Identity() + theta * moment.transpose() -
              2 * moment * theta.transpose());
    out.block(k).bottomRightCorner<3, 3>() += factor * D;
  }
}

}  // namespace urto
