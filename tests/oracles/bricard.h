// The ring of six hinges on the edges of a cube (trihedral Bricard linkage) in its one coordinate.
//
// By its threefold symmetry the hinges P0, P2, P4 turn by one angle, P1, P3, P5 by another. With
// the outer angles A and B between neighbouring rods (both π/2 on the cube) the ring closes iff
//     f(A, B) = cos A + cos B + cos A cos B = 0.
// The coordinate p runs along this curve, d(A, B)/dp = (∂f/∂B, −∂f/∂A); with T = ½ J p'² and V(p):
// J p'' = −½ J' p'² − V'. The rods are placed one after the other from P0; that the last one meets
// P5 is checked by closure_error, not assumed.
#pragma once

#include <array>
#include <cmath>

#include <Eigen/Geometry>

#include "oracles/runge_kutta.h"

namespace urto::oracle {

class Bricard {
 public:
  using Vec3 = Eigen::Vector3d;
  using Mat3 = Eigen::Matrix3d;
  using State = Vec3;  ///< A, B, p'

  static State start() { return {std::acos(0.0), std::acos(0.0), 0}; }

  struct Ring {
    std::array<Vec3, 6> joint;   ///< P0 … P5 (P5 as the end of the last rod)
    std::array<Vec3, 6> axis;    ///< unit, of the hinge at P_k
    std::array<Vec3, 5> center;  ///< of the rods
    std::array<Vec3, 5> along;   ///< unit
  };

  static Ring place(double A, double B) {
    const double right = std::acos(0.0);
    Ring ring;
    Vec3 edge(0, 0, -1), normal(0, -1, 0);  // of the ground's rod P5 P0, and its hinge at P0
    ring.joint[0] = Vec3::Zero();
    for (int k = 0; k < 5; ++k) {
      ring.axis[k] = normal;
      edge = Eigen::AngleAxisd(k % 2 == 0 ? A : B, normal) * edge;
      ring.along[k] = edge;
      ring.center[k] = ring.joint[k] + 0.5 * edge;
      ring.joint[k + 1] = ring.joint[k] + edge;
      normal = Eigen::AngleAxisd(k % 2 == 0 ? right : -right, edge) *
               normal;  // right- and left-handed rods in turn
    }
    ring.axis[5] = normal;
    return ring;
  }

  /// How far the last rod is from the ground's hinge at P5, place and axis.
  static double closure_error(const State& y) {
    const Ring ring = place(y[0], y[1]);
    return (ring.joint[5] - Vec3(0, 0, 1)).norm() + (ring.axis[5] - Vec3(-1, 0, 0)).norm();
  }

  static State advanced(const State& y, double t, double t_end, double h) {
    return runge_kutta([](double, const State& s) { return rate(s); }, y, t, t_end, h);
  }

 private:
  static constexpr double mass = 1, gravity = 9.81;
  // Square section of 0.1 m, length 1 m.
  static constexpr double inertia_across = mass * (1 + 0.01) / 12, inertia_along = mass * 0.01 / 6;

  static Eigen::Vector2d tangent(double A, double B) {
    return {-std::sin(B) * (1 + std::cos(A)), std::sin(A) * (1 + std::cos(B))};
  }
  /// J and V.
  static std::array<double, 2> energies(double A, double B) {
    const Ring ring = place(A, B);
    const Eigen::Vector2d t = tangent(A, B);
    double J = 0, V = 0;
    for (int rod = 0; rod < 5; ++rod) {
      Vec3 v = Vec3::Zero(), w = Vec3::Zero();
      for (int k = 0; k <= rod; ++k) {
        const Vec3 turn = t[k % 2] * ring.axis[k];
        w += turn;
        v += turn.cross(ring.center[rod] - ring.joint[k]);
      }
      const double spin = w.dot(ring.along[rod]);
      J += mass * v.squaredNorm() + inertia_along * spin * spin +
           inertia_across * (w.squaredNorm() - spin * spin);
      V += mass * gravity * ring.center[rod].y();
    }
    return {J, V};
  }
  static State rate(const State& y) {
    const Eigen::Vector2d t = tangent(y[0], y[1]);
    // Central differences along the curve: J and V are analytic, and 1e-4 leaves an error of 1e-9.
    // The points beside the curve by the square of that are symmetric and cancel.
    constexpr double d = 1e-4;
    const auto [ahead_J, ahead_V] = along_curve(y, d);
    const auto [behind_J, behind_V] = along_curve(y, -d);
    const double J = energies(y[0], y[1])[0];
    const double slope_J = (ahead_J - behind_J) / (2 * d);
    const double slope_V = (ahead_V - behind_V) / (2 * d);
    return {t[0] * y[2], t[1] * y[2], -(0.5 * slope_J * y[2] * y[2] + slope_V) / J};
  }
  static std::array<double, 2> along_curve(const State& y, double d) {
    // One midpoint step along the tangent field.
    const Eigen::Vector2d t = tangent(y[0], y[1]);
    const Eigen::Vector2d m = tangent(y[0] + 0.5 * d * t[0], y[1] + 0.5 * d * t[1]);
    return energies(y[0] + d * m[0], y[1] + d * m[1]);
  }
};

}  // namespace urto::oracle
