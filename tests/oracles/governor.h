// The stiff flyball governor in minimal coordinates: shaft angle φ, angle β of both rods below the
// horizontal, slider height s.
//
// The shaft turns freely, so J(β) φ' is constant. By symmetry both rods move alike:
//     B β'' = ½ J'(β) φ'² + 2 m g l cos β − 2 F ∂d/∂β,     m_s s'' = −m_s g − 2 F ∂d/∂s,
//         F = k (d − d₀) + c d'
// with m, l: mass and centre of a rod with its ball; B = 2 (m l² + I); d: length of a spring.
#pragma once

#include <cmath>

#include <Eigen/Core>

#include "oracles/runge_kutta.h"

namespace urto::oracle {

class Governor {
 public:
  using State = Eigen::Matrix<double, 5, 1>;  ///< φ, β, s, β', s'

  static State start() {
    State y;
    y << 0, M_PI / 6, 0.5, 0, 0;
    return y;
  }

  Governor() : momentum_(2 * M_PI * inertia(M_PI / 6)) {}

  State advanced(const State& y, double t, double t_end, double h) const {
    return runge_kutta([this](double, const State& s) { return rate(s); }, y, t, t_end, h);
  }

  State rate(const State& y) const {
    const double c = std::cos(y[1]), s = std::sin(y[1]);
    const double J = inertia(y[1]);
    const double slope =
        2 * (-2 * mass * (offset + center * c) * center * s + 2 * (thin - wide) * s * c);
    const double spin = momentum_ / J;
    // Spring from (offset, s) to the middle of the rod.
    const double dx = 0.5 * c, dz = 1 - 0.5 * s - y[2];
    const double d = std::hypot(dx, dz);
    const double d_beta = (-0.5 * s * dx - 0.5 * c * dz) / d;
    const double d_slider = -dz / d;
    const double F = stiffness * (d - 0.5) + damping * (d_beta * y[3] + d_slider * y[4]);
    State r;
    r << spin, y[3], y[4],
        (0.5 * slope * spin * spin + 2 * mass * gravity * center * c - 2 * F * d_beta) /
            (2 * (mass * center * center + wide)),
        -gravity - 2 * F * d_slider / slider_mass;
    return r;
  }

 private:
  static constexpr double gravity = 9.81, stiffness = 8e5, damping = 4e4;
  static constexpr double offset = 0.05;                // of the hinges from the shaft
  static constexpr double rod = 3000 * 1e-4, ball = 5;  // masses
  static constexpr double mass = rod + ball;
  static constexpr double center = (0.5 * rod + ball) / mass;  // of both, along the rod
  static constexpr double thin = rod * 2e-4 / 12;              // about the rod's axis
  static constexpr double wide = rod * (1 + 1e-4) / 12 + rod * (center - 0.5) * (center - 0.5) +
                                 ball * (1 - center) * (1 - center);
  static constexpr double slider_mass = 3000 * 1e-3;
  static constexpr double shaft_inertia = 0.3 * 2e-4 / 12, slider_inertia = slider_mass * 0.02 / 12;

  static double inertia(double beta) {
    const double c = std::cos(beta), s = std::sin(beta);
    const double reach = offset + center * c;
    return shaft_inertia + slider_inertia +
           2 * (mass * reach * reach + thin * s * s + wide * c * c);
  }
  double momentum_;
};

}  // namespace urto::oracle
