// Andrews' squeezing mechanism in the seven angles of Hairer & Wanner, Solving ODEs II, VII.7,
// integrated in its index-one form
//
//     [M  Gᵀ] [ q̈ ]   [ Q − h ]
//     [G  0 ] [ −λ ] = [ −Ġ q̇  ],        Q: motor and spring,  h: Σ m Jᵀ J̇ q̇.
//
// The book and the IVP test set write M and h out. Here every point of the mechanism is a sum of
// arms, r (cos ψ, sin ψ) with ψ a sum of angles, so that its derivatives are one line each, and
// nothing is shared with the engine or typed from the test set but its parameters.
#pragma once

#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include <Eigen/LU>

#include "oracles/runge_kutta.h"

namespace urto::oracle {

class Andrews {
 public:
  using Angles = Eigen::Matrix<double, 7, 1>;  ///< beta, theta, gamma, phi, delta, omega, epsilon
  using State = Eigen::Matrix<double, 14, 1>;  ///< angles, rates

  /// Consistent start of the IVP test set.
  static State start() {
    State y = State::Zero();
    y.head<7>() << -0.0617138900142764496358948458001, 0, 0.455279819163070380255912382449,
        0.222668390165885884674473185609, 0.487364979543842550225598953530,
        -0.222668390165885884674473185609, 1.23054744454982119249735015568;
    return y;
  }
  /// Reference of the IVP test set at t = 0.03 s.
  static Angles ivp_reference() {
    Angles q;
    q << 15.81077119629904, -15.75637105984298, 0.04082224013073101, -0.5347301163226948,
        0.5244099658805304, 0.5347301163226948, 1.048080741042263;
    return q;
  }

  Andrews() {
    // Indices of the angles.
    constexpr int b = 0, t = 1, g = 2, f = 3, d = 4, o = 5, e = 6;
    const double quarter = std::acos(0.0);  // sin ψ = cos(ψ − π/2), −cos ψ = sin(ψ − π/2)
    const Point A{{-.06934, -.00227}, {}};
    const Point B{{-.03635, .03273}, {}};
    const Point F = arm({}, .007, {b});
    const Point G = arm(A, .04, {d});
    const Point H = arm(A, .04, {e}, -quarter);
    joined_[0] = arm(F, -.028, {b, t});          // E by K1 and K2,
    joined_[1] = arm(B, .035, {g}, -quarter);    // by K3,
    joined_[2] = arm(G, .02, {f, d}, -quarter);  // by K5 and K4,
    joined_[3] = arm(H, .02, {o, e});            // by K7 and K6
    spring_end_ = arm(arm(B, .02, {g}), .018, {g}, -quarter);
    bodies_ = {{
        {.04325, 2.194e-6, arm({}, .00092, {b}), coefficients({b})},
        {.00365, 4.410e-7, arm(F, -.0115, {b, t}), coefficients({b, t})},
        {.02373, 5.255e-6, arm(arm(B, .01874, {g}, -quarter), .01043, {g}), coefficients({g})},
        {.00706, 5.667e-7, arm(G, .02 - .01421, {f, d}, -quarter), coefficients({f, d})},
        {.07050, 1.169e-5, arm(arm(A, .02308, {d}), .00916, {d}, quarter), coefficients({d})},
        {.00706, 5.667e-7, arm(H, .02 - .01421, {o, e}), coefficients({o, e})},
        {.05498, 1.912e-5, arm(arm(A, .01228, {e}, -quarter), -.00449, {e}), coefficients({e})},
    }};
  }

  State advanced(const State& y, double t, double t_end, double h) const {
    return runge_kutta([this](double, const State& s) { return rate(s); }, y, t, t_end, h);
  }

  /// Largest distance between the four places of E.
  double loop_error(const State& y) const {
    double worst = 0;
    for (int k = 1; k < 4; ++k)
      worst = std::max(worst, (measure(joined_[0], y).x - measure(joined_[k], y).x).norm());
    return worst;
  }

  State rate(const State& y) const {
    using Row = Eigen::Matrix<double, 1, 7>;
    Eigen::Matrix<double, 13, 13> K = Eigen::Matrix<double, 13, 13>::Zero();
    Eigen::Matrix<double, 13, 1> r = Eigen::Matrix<double, 13, 1>::Zero();
    for (const Body& body : bodies_) {
      const Measured m = measure(body.center, y);
      K.topLeftCorner<7, 7>() +=
          body.mass * m.J.transpose() * m.J + body.inertia * body.turns * body.turns.transpose();
      r.head<7>() -= body.mass * m.J.transpose() * m.Jdot_v;
    }
    r[0] += 0.033;  // motor torque on beta
    const Measured end = measure(spring_end_, y);
    const Vec2 along = end.x - Vec2(.014, .072);
    const double length = along.norm();
    r.head<7>() -= 4530 * (length - .07785) / length * end.J.transpose() * along;
    const Measured E = measure(joined_[0], y);
    for (int k = 1; k < 4; ++k) {
      const Measured other = measure(joined_[k], y);
      for (int c = 0; c < 2; ++c) {
        const int at = 5 + 2 * k + c;
        const Row G = E.J.row(c) - other.J.row(c);
        K.block<1, 7>(at, 0) = G;
        K.block<7, 1>(0, at) = G.transpose();
        r[at] = other.Jdot_v[c] - E.Jdot_v[c];
      }
    }
    State out;
    out.head<7>() = y.tail<7>();
    out.tail<7>() = K.partialPivLu().solve(r).head<7>();
    return out;
  }

 private:
  using Vec2 = Eigen::Vector2d;
  struct Arm {
    double length = 0;
    Angles turns;  ///< coefficients of the angles in ψ
    double offset = 0;
  };
  struct Point {
    std::array<double, 2> origin{};
    std::vector<Arm> arms;
  };
  struct Body {
    double mass = 0, inertia = 0;
    Point center;
    Angles turns;
  };
  struct Measured {
    Vec2 x;
    Eigen::Matrix<double, 2, 7> J;
    Vec2 Jdot_v;
  };

  static Angles coefficients(std::initializer_list<int> angles) {
    Angles a = Angles::Zero();
    for (const int k : angles) a[k] = 1;
    return a;
  }
  static Point arm(Point from, double length, std::initializer_list<int> angles,
                   double offset = 0) {
    from.arms.push_back({length, coefficients(angles), offset});
    return from;
  }
  static Measured measure(const Point& p, const State& y) {
    Measured m{Vec2(p.origin[0], p.origin[1]), Eigen::Matrix<double, 2, 7>::Zero(), Vec2::Zero()};
    for (const Arm& a : p.arms) {
      const double psi = a.turns.dot(y.head<7>()) + a.offset;
      const double rate = a.turns.dot(y.tail<7>());
      const Vec2 along = a.length * Vec2(std::cos(psi), std::sin(psi));
      m.x += along;
      m.J += Vec2(-along.y(), along.x()) * a.turns.transpose();
      m.Jdot_v -= rate * rate * along;
    }
    return m;
  }

  std::array<Body, 7> bodies_;
  std::array<Point, 4> joined_;
  Point spring_end_;
};

}  // namespace urto::oracle
