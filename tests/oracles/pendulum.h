// The mathematical pendulum released from rest, in closed form.
#pragma once

#include <array>
#include <cmath>

namespace urto::oracle {

/// Jacobi's sn(u | k) by the arithmetic-geometric mean (Abramowitz & Stegun 16.4), 0 < k < 1.
inline double jacobi_sn(double u, double k) {
  constexpr int levels = 6;  // the mean converges quadratically: rounding after five for k < 0.99
  std::array<double, levels + 1> a{}, c{};
  a[0] = 1;
  c[0] = k;
  double b = std::sqrt(1 - k * k);
  for (int n = 0; n < levels; ++n) {
    a[n + 1] = 0.5 * (a[n] + b);
    c[n + 1] = 0.5 * (a[n] - b);
    b = std::sqrt(a[n] * b);
  }
  double phi = std::ldexp(a[levels] * u, levels);
  for (int n = levels; n > 0; --n) phi = 0.5 * (phi + std::asin(c[n] / a[n] * std::sin(phi)));
  return std::sin(phi);
}

/// Angle from the hanging position at t of a pendulum released at `start`: with k = sin(start/2)
/// and ω = √(g/L), sin(θ/2) = k sn(K(k) + ωt | k).
inline double pendulum_angle(double t, double start, double g, double length) {
  const double k = std::sin(0.5 * start);
  return 2 * std::asin(k * jacobi_sn(std::comp_ellint_1(k) + std::sqrt(g / length) * t, k));
}

}  // namespace urto::oracle
