#include "urto/collision/continuous.h"

#include "urto/math/rotation.h"

namespace urto {

Place Sweep::at(double t) const {
  const Mat3 turn = rotation_matrix(quaternion_exp(t * spin));
  return {pivot + t * velocity + turn * (start.x - pivot), turn * start.R};
}

std::optional<Impact> time_of_impact(const Convex& a, const Sweep& sweep_a, const Convex& b,
                                     const Sweep& sweep_b, double h, double near) {
  constexpr int max_advances = 100;
  const double turning = sweep_a.spin.norm() * sweep_a.arm + sweep_b.spin.norm() * sweep_b.arm;
  double t = 0;
  for (int k = 0; k < max_advances; ++k) {
    const Place at_a = sweep_a.at(t), at_b = sweep_b.at(t);
    const Closest c = closest(a, at_a, b, at_b);
    // A hundredth more, or the last metre would take infinitely many advances.
    if (c.gap <= 1.01 * near || k == max_advances - 1) {
      const auto at_start = [](const Sweep& s, const Place& now, const Vec3& x) -> Vec3 {
        return s.start.x + s.start.R * (now.R.transpose() * (x - now.x));
      };
      return Impact{t, c.normal, at_start(sweep_a, at_a, c.a), at_start(sweep_b, at_b, c.b)};
    }
    const double closing = c.normal.dot(sweep_b.velocity - sweep_a.velocity) + turning;
    if (closing <= 0) return std::nullopt;
    t += (c.gap - near) / closing;
    if (t > h) return std::nullopt;
  }
  return std::nullopt;
}

}  // namespace urto
