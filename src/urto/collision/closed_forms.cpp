#include "urto/collision/closed_forms.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace urto {
namespace {

using Vec2 = Eigen::Vector2d;

SurfacePoint from_axis(const Vec3& axis_point, const Vec3& p, const Vec3& fallback) {
  const Vec3 d = p - axis_point;
  const double length = d.norm();
  return {axis_point, length > 0 ? Vec3(d / length) : fallback, length};
}

SurfacePoint on_box(const Vec3& half, const Vec3& p) {
  const Vec3 inside = p.cwiseMax(-half).cwiseMin(half);
  if (inside != p) return from_axis(inside, p, Vec3::UnitZ());
  int k = 0;
  const double depth = (half - p.cwiseAbs()).minCoeff(&k);
  SurfacePoint s;
  const double side = p[k] < 0 ? -1 : 1;
  s.normal = side * Vec3::Unit(k);
  s.point = p;
  s.point[k] = side * half[k];
  s.distance = -depth;
  return s;
}

// Solids of revolution in the half plane (ρ, z): the result of the plane, turned back.
SurfacePoint revolve(const Vec3& p, double rho, const Vec2& point, const Vec2& normal,
                     double distance) {
  const Vec2 u = rho > 0 ? Vec2(p[0] / rho, p[1] / rho) : Vec2(1, 0);
  return {{u[0] * point[0], u[1] * point[0], point[1]},
          {u[0] * normal[0], u[1] * normal[0], normal[1]},
          distance};
}

SurfacePoint on_cylinder(double r, double h, const Vec3& p) {
  const double rho = std::hypot(p[0], p[1]);
  const Vec2 q(rho, p[2]);
  const Vec2 inside(std::min(rho, r), std::clamp(p[2], -h, h));
  if (inside != q) {
    const Vec2 d = q - inside;
    const double length = d.norm();
    return revolve(p, rho, inside, d / length, length);
  }
  const double side = p[2] < 0 ? -1 : 1;
  const double to_side = r - rho, to_cap = h - std::abs(p[2]);
  if (to_side < to_cap) return revolve(p, rho, {r, p[2]}, {1, 0}, -to_side);
  return revolve(p, rho, {rho, side * h}, {0, side}, -to_cap);
}

SurfacePoint on_cone(double r, double h, double shift, const Vec3& p) {
  const double rho = std::hypot(p[0], p[1]);
  const Vec2 q(rho, p[2] - shift);
  const Vec2 rim(r, -h), apex(0, h), along = apex - rim;
  const Vec2 out = Vec2(along[1], -along[0]).normalized();  // of the side
  const double above_side = out.dot(q - rim), above_base = -h - q[1];
  const auto done = [&](const Vec2& point, const Vec2& normal, double distance) {
    SurfacePoint s = revolve(p, rho, point, normal, distance);
    s.point[2] += shift;
    return s;
  };
  if (above_side <= 0 && above_base <= 0) {
    if (above_side > above_base) return done(q - above_side * out, out, above_side);
    return done({rho, -h}, {0, -1}, above_base);
  }
  const double s = std::clamp(along.dot(q - rim) / along.squaredNorm(), 0.0, 1.0);
  const Vec2 on_side = rim + s * along, on_base(std::min(rho, r), -h);
  const Vec2 best = (q - on_side).squaredNorm() < (q - on_base).squaredNorm() ? on_side : on_base;
  const Vec2 d = q - best;
  const double length = d.norm();
  return done(best, length > 0 ? Vec2(d / length) : out, length);
}

// The root of F(t) = Σ (e_i y_i / (t + e_i²))² − 1 right of all poles: convex and falling there, so
// Newton from the left never passes it (Eberly, "Distance from a point to an ellipse, an ellipsoid
// or a hyperellipsoid").
double ellipsoid_root(const Vec3& e, const Vec3& y, double start) {
  double t = start;
  for (int k = 0; k < 200; ++k) {
    double F = -1, dF = 0;
    for (int i = 0; i < 3; ++i) {
      const double d = t + e[i] * e[i];
      const double ratio = y[i] == 0 ? 0 : e[i] * y[i] / d;
      F += ratio * ratio;
      if (ratio != 0) dF -= 2 * ratio * ratio / d;
    }
    if (!(F > 0) || dF == 0) break;
    const double next = t - F / dF;
    if (!(next > t)) break;
    t = next;
  }
  return t;
}

SurfacePoint on_ellipsoid(const Vec3& e, const Vec3& p) {
  const Vec3 y = p.cwiseAbs();
  int m = 0;
  e.minCoeff(&m);
  for (int i = 0; i < 3; ++i) {
    if (e[i] == e[m] && y[i] > y[m]) m = i;
  }
  // With nothing along the shortest axis, a point near the centre has its nearest point out of its
  // own plane.
  Vec3 x = Vec3::Zero();
  double inner = 0;
  for (int i = 0; i < 3; ++i) {
    if (e[i] > e[m]) {
      x[i] = e[i] * e[i] * y[i] / (e[i] * e[i] - e[m] * e[m]);
      inner += (x[i] / e[i]) * (x[i] / e[i]);
    }
  }
  if (y[m] == 0 && inner < 1) {
    x[m] = e[m] * std::sqrt(1 - inner);
  } else {
    const double start = std::max(-e[m] * e[m], (e.cwiseProduct(y) - e.cwiseProduct(e)).maxCoeff());
    const double t = ellipsoid_root(e, y, start);
    for (int i = 0; i < 3; ++i) x[i] = y[i] == 0 ? 0 : e[i] * e[i] * y[i] / (t + e[i] * e[i]);
  }
  SurfacePoint s;
  for (int i = 0; i < 3; ++i) {
    s.point[i] = p[i] < 0 ? -x[i] : x[i];
    s.normal[i] = s.point[i] / (e[i] * e[i]);
  }
  s.normal.normalize();
  s.distance = s.normal.dot(p - s.point);
  return s;
}

// Parameters in [−1, 1] of the nearest points of two segments c ± h·u (Ericson 2005, §5.1.9,
// centred: no cancellation for long segments).
Nearest segments(const ConvexPair& pair) {
  const Vec3 u(0, 0, 1), w = pair.R.col(2);
  const double ha = pair.a.size[2], hb = pair.b.size[2];
  const double c = u.dot(w), e = u.dot(pair.t), f = w.dot(pair.t);
  const double sine2 = u.cross(w).squaredNorm();
  double s = sine2 > 1e-14 ? std::clamp((e - c * f) / sine2, -ha, ha) : std::clamp(e, -ha, ha);
  double q = c * s - f;
  if (q < -hb || q > hb) {
    q = std::clamp(q, -hb, hb);
    s = std::clamp(e + c * q, -ha, ha);
  }
  // Nearly parallel, s is lost in rounding, and with it which end is the nearer one.
  if (sine2 < 1e-6) {
    double least = (s * u - pair.t - q * w).squaredNorm();
    const auto offer = [&](double at_a, double at_b) {
      const double d = (at_a * u - pair.t - at_b * w).squaredNorm();
      if (d >= least) return;
      least = d;
      s = at_a;
      q = at_b;
    };
    for (const double end : {-1.0, 1.0}) {
      offer(end * ha, std::clamp(c * end * ha - f, -hb, hb));
      offer(std::clamp(e + c * end * hb, -ha, ha), end * hb);
    }
  }
  Nearest out;
  out.a = s * u;
  out.b = pair.t + q * w;
  const Vec3 d = out.a - out.b;
  out.distance = d.norm();
  if (out.distance > 1e-12 * (ha + hb)) {
    out.normal = d / out.distance;
  } else {
    // Crossing segments: apart along the common perpendicular.
    const Vec3 n = sine2 > 1e-14 ? Vec3(u.cross(w).normalized()) : Vec3(Vec3::UnitX());
    out.normal = n.dot(pair.t) > 0 ? Vec3(-n) : n;
    out.distance = out.normal.dot(d);
  }
  return out;
}

}  // namespace

bool has_point_formula(CoreKind core) {
  return core != CoreKind::polytope && core != CoreKind::triangle;
}

SurfacePoint nearest_on_surface(const Convex& c, const Vec3& p) {
  switch (c.core) {
    case CoreKind::segment:
      return from_axis({0, 0, std::clamp(p[2], -c.size[2], c.size[2])}, p, Vec3::UnitX());
    case CoreKind::box:
      return on_box(c.size, p);
    case CoreKind::cylinder:
      return on_cylinder(c.size[0], c.size[1], p);
    case CoreKind::cone:
      return on_cone(c.size[0], c.size[1], c.shift, p);
    case CoreKind::ellipsoid:
      return on_ellipsoid(c.size, p);
    case CoreKind::point:
    case CoreKind::polytope:
    case CoreKind::triangle:
      break;
  }
  return from_axis(Vec3::Zero(), p, Vec3::UnitZ());
}

bool closed_form(const ConvexPair& pair, Nearest& out) {
  if (pair.b.core == CoreKind::point && has_point_formula(pair.a.core)) {
    const SurfacePoint s = nearest_on_surface(pair.a, pair.t);
    out = {s.point, pair.t, -s.normal, s.distance};
    return true;
  }
  if (pair.a.core == CoreKind::point && has_point_formula(pair.b.core)) {
    const SurfacePoint s = nearest_on_surface(pair.b, -(pair.R.transpose() * pair.t));
    out = {Vec3::Zero(), pair.R * s.point + pair.t, pair.R * s.normal, s.distance};
    return true;
  }
  if (pair.a.core == CoreKind::segment && pair.b.core == CoreKind::segment) {
    out = segments(pair);
    return true;
  }
  return false;
}

}  // namespace urto
