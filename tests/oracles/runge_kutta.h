// The classical Runge–Kutta method of order four: what oracles integrate with, at steps so small
// that only rounding is left.
#pragma once

#include <algorithm>
#include <cmath>

namespace urto::oracle {

/// y at `t_end` from y at `t`, in equal steps of at most `h`; `rate(t, y)` is dy/dt, of y's type.
template <class Y, class Rate>
Y runge_kutta(const Rate& rate, Y y, double t, double t_end, double h) {
  const long steps = std::max(1L, std::lround(std::ceil((t_end - t) / h - 1e-9)));
  const double step = (t_end - t) / static_cast<double>(steps);
  for (long i = 0; i < steps; ++i) {
    const double at = t + static_cast<double>(i) * step;
    const Y k1 = rate(at, y);
    const Y k2 = rate(at + 0.5 * step, Y(y + 0.5 * step * k1));
    const Y k3 = rate(at + 0.5 * step, Y(y + 0.5 * step * k2));
    const Y k4 = rate(at + step, Y(y + step * k3));
    y += step / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
  }
  return y;
}

}  // namespace urto::oracle
