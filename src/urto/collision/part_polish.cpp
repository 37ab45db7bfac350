#include "urto/collision/part_polish.h"

#include <array>
#include <cmath>

#include <Eigen/QR>

#include "urto/collision/core_part.h"

namespace urto {
namespace {

using Kind = CorePart::Kind;

constexpr double precise = 1e-12;  // of the size: what counts as solved, and as supported

// A point that moves on its part by at most two lengths s; in the core's frame.
struct PartPoint {
  const Convex& core;
  Kind kind = Kind::vertex;
  Vec3 x = Vec3::Zero();
  int count = 0;                                                        // of lengths
  Eigen::Matrix<double, 3, 2> T = Eigen::Matrix<double, 3, 2>::Zero();  // ∂x/∂s
  Eigen::Matrix2d bend = Eigen::Matrix2d::Zero();                       // m·∂²x/∂s²

  bool is_round() const {
    return (core.core == CoreKind::cylinder || core.core == CoreKind::cone) &&
           (kind == Kind::edge || kind == Kind::ruled);
  }
  // Straight line of a side, towards the apex of a cone.
  Vec3 generator() const {
    if (core.core == CoreKind::cylinder) return Vec3::UnitZ();
    return (Vec3(0, 0, core.shift + core.size[1]) - x).normalized();
  }

  bool start(const Vec3& at, const Vec3& m, double tolerance) {
    const CorePart part = part_at(core, at, m, tolerance);
    kind = part.kind;
    x = at;
    T.setZero();
    count = kind == Kind::vertex ? 0 : kind == Kind::edge ? 1 : 2;
    if (kind == Kind::face) {
      Vec3 face;
      if (!face_normal_near(core, m, face)) return false;
      T.col(0) = face.unitOrthogonal();
      T.col(1) = face.cross(T.col(0));
    } else if (kind == Kind::edge) {
      T.col(0) = part.along;
    }
    settle();
    return true;
  }

  // Onto the surface, which combinations of supports miss by the square of their error.
  void settle() {
    const Vec3& size = core.size;
    if (kind == Kind::ellipsoid) x /= x.cwiseQuotient(size).norm();
    if (!is_round()) return;
    double radius = size[0];
    if (kind == Kind::edge) {
      x[2] = core.shift + (core.core == CoreKind::cone || x[2] < core.shift ? -size[1] : size[1]);
    } else if (core.core == CoreKind::cone) {
      radius *= (core.shift + size[1] - x[2]) / (2 * size[1]);
    }
    x.head<2>() *= radius / std::hypot(x[0], x[1]);
  }

  void differentiate(const Vec3& m) {
    if (kind == Kind::ellipsoid) {
      // x = D y/|y| with y = D⁻¹(x₀ + T s): ∂²x/∂s² = −x TᵀD⁻²T.
      const Vec3 inverse = core.size.cwiseInverse();
      const Vec3 out = x.cwiseProduct(inverse).cwiseProduct(inverse).normalized();
      T.col(0) = out.unitOrthogonal();
      T.col(1) = out.cross(T.col(0));
      const Eigen::Matrix<double, 3, 2> U = inverse.asDiagonal() * T;
      bend = -m.dot(x) * (U.transpose() * U);
    } else if (is_round()) {
      const double rho = std::hypot(x[0], x[1]);
      T.col(0) = Vec3(-x[1], x[0], 0) / rho;
      bend(0, 0) = -(m[0] * x[0] + m[1] * x[1]) / (rho * rho);
      // A generator turns along the circle, where m·T is 0 at the solution.
      if (kind == Kind::ruled) T.col(1) = generator();
    }
  }

  void move(const Eigen::Vector2d& s) {
    if (!is_round()) {
      x += T * s;
    } else {
      if (kind == Kind::ruled) x += s[1] * generator();
      const double angle = s[0] / std::hypot(x[0], x[1]);
      x = Eigen::AngleAxisd(angle, Vec3::UnitZ()) * x;
    }
    settle();
  }
};

using System = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 7, 7>;
using Unknowns = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, 7, 1>;

// For points a and b, the unit normal n and the distance d:
//
//     a − b = d n,   n ⟂ ∂a/∂s,   n ⟂ ∂b/∂s
//
// n is an unknown of its own, because a − b has no direction where the cores touch. Where faces,
// lines of sides or edges are parallel, the smallest step of the many is taken.
struct PartSolver {
  const ConvexPair& pair;
  PartPoint a{pair.a}, b{pair.b};
  Vec3 n = Vec3::UnitZ(), pb = Vec3::Zero();
  double d = 0, size = 1;
  System J = {};
  Unknowns F = {};
  Eigen::Matrix<double, 3, 2> E = {}, Tb = {};

  double evaluate() {
    a.differentiate(n);
    b.differentiate(pair.R.transpose() * n);
    pb = pair.R * b.x + pair.t;
    Tb = pair.R * b.T;
    F.resize(3 + a.count + b.count);
    F.head<3>() = (a.x - pb - d * n) / size;
    for (int k = 0; k < a.count; ++k) F[3 + k] = a.T.col(k).dot(n);
    for (int k = 0; k < b.count; ++k) F[3 + a.count + k] = Tb.col(k).dot(n);
    return F.norm();
  }

  // Lengths in units of `size`: steps of a, of b, of n in its tangent plane E, of d.
  bool step() {
    const int ka = a.count, kb = b.count, count = 3 + ka + kb;
    E.col(0) = n.unitOrthogonal();
    E.col(1) = n.cross(E.col(0));
    J.setZero(count, count);
    J.block(0, 0, 3, ka) = a.T.leftCols(ka);
    J.block(0, ka, 3, kb) = -Tb.leftCols(kb);
    J.block<3, 2>(0, ka + kb) = -(d / size) * E;
    J.block<3, 1>(0, ka + kb + 2) = -n;
    J.block(3, 0, ka, ka) = size * a.bend.topLeftCorner(ka, ka);
    J.block(3 + ka, ka, kb, kb) = size * b.bend.topLeftCorner(kb, kb);
    J.block(3, ka + kb, ka, 2) = a.T.leftCols(ka).transpose() * E;
    J.block(3 + ka, ka + kb, kb, 2) = Tb.leftCols(kb).transpose() * E;
    Eigen::CompleteOrthogonalDecomposition<System> qr;
    qr.setThreshold(1e-9);
    qr.compute(J);
    const Unknowns x = qr.solve(-F);
    if (!x.allFinite() || x.norm() > 0.5) return false;
    Eigen::Vector2d sa(0, 0), sb(0, 0);
    sa.head(ka) = size * x.head(ka);
    sb.head(kb) = size * x.segment(ka, kb);
    n = (n + E * x.segment<2>(ka + kb)).normalized();
    d += size * x[ka + kb + 2];
    a.move(sa);
    b.move(sb);
    return true;
  }
};

// A point that lies farther than `tolerance` from the borders of its part and moves less stays on
// it.
bool polish_within(const ConvexPair& pair, double tolerance, Nearest& nearest) {
  Nearest found = nearest;
  if (!meet_on_parts(pair, tolerance, tolerance, found)) return false;
  const double size = pair.a.extent + pair.b.extent;
  if (found.distance < separation(pair, nearest.normal) - 2 * precise * size) return false;
  nearest = found;
  return true;
}

}  // namespace

bool meet_on_parts(const ConvexPair& pair, double tolerance, double way, Nearest& nearest) {
  const double size = pair.a.extent + pair.b.extent;
  const Vec3 found_b = pair.R.transpose() * (nearest.b - pair.t);
  PartSolver s{pair};
  s.size = size;
  s.n = nearest.normal;
  s.d = nearest.distance;
  if (!s.a.start(nearest.a, -s.n, tolerance) ||
      !s.b.start(found_b, pair.R.transpose() * s.n, tolerance))
    return false;
  double error = s.evaluate();
  for (int k = 0; k < 8 && error > 1e-14; ++k) {
    if (!s.step()) return false;
    const double now = s.evaluate();
    const bool shrinks = now < error;
    error = now;
    if (!shrinks) break;  // rounding, or no solution
  }
  if (!(error <= precise) || (s.a.x - nearest.a).norm() > way || (s.b.x - found_b).norm() > way)
    return false;
  if (!(std::abs(separation(pair, s.n) - s.d) <= precise * size)) return false;
  nearest.a = s.a.x;
  nearest.b = s.pb;
  nearest.normal = s.n;
  nearest.distance = s.d;
  return true;
}

bool polish_on_parts(const ConvexPair& pair, Nearest& nearest) {
  if (!is_curved(pair.a) && !is_curved(pair.b)) return false;
  // Points near a border may be on either side of it.
  constexpr std::array tolerances{1e-5, 1e-7, 1e-9};
  for (const double tolerance : tolerances) {
    if (polish_within(pair, tolerance * (pair.a.extent + pair.b.extent), nearest)) return true;
  }
  return false;
}

}  // namespace urto
