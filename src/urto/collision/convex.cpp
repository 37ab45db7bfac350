#include "urto/collision/convex.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace urto {
namespace {

constexpr double face_cosine = 0.94;  // cos 0.35
constexpr double edge_sine = 0.34;    // sin 0.35
constexpr double flat_tilt =
    1e-6;  // [rad] below this a disc lies flat, and its rim points stay where they are on the body
constexpr int rim_points = 8;
constexpr int scan_limit = 40;  // vertices a plain scan beats climbing

double sign_of(double x) {
  return x < 0 ? -1 : 1;
}

// The unit vector of (x, y), or e_x for none.
Eigen::Vector2d direction_xy(const Vec3& d) {
  const double length = std::hypot(d[0], d[1]);
  return length > 0 ? Eigen::Vector2d(d[0] / length, d[1] / length) : Eigen::Vector2d(1, 0);
}

int extreme_vertex(const Polytope& p, const Vec3& d) {
  const int n = static_cast<int>(p.vertices.size());
  if (n > scan_limit) return support(p, d);
  int best = 0;
  double value = d.dot(p.vertices[0]);
  for (int i = 1; i < n; ++i) {
    const double v = d.dot(p.vertices[i]);
    if (v > value) {
      value = v;
      best = i;
    }
  }
  return best;
}

int nearest_face(const Polytope& p, const Vec3& d) {
  int best = 0;
  for (int f = 1; f < p.face_count(); ++f) {
    if (d.dot(p.normals[f]) > d.dot(p.normals[best])) best = f;
  }
  return best;
}

// Sine and cosine of the angle between a cone's axis and its side.
Eigen::Vector2d cone_side(const Vec3& size) {
  return Eigen::Vector2d(size[0], 2 * size[1]).normalized();
}

Vec3 triangle_normal(const Convex& c) {
  return (c.corners[1] - c.corners[0]).cross(c.corners[2] - c.corners[0]).normalized();
}

void set_point(const Convex& c, const Vec3& d, int id, Feature& out) {
  out.kind = Feature::Kind::point;
  out.count = 1;
  out.vertex[0] = support(c, d) + c.radius * d;
  out.id[0] = id;
}

void set_segment(const Vec3& a, const Vec3& b, int id_a, int id_b, const Vec3& shift,
                 Feature& out) {
  out.kind = Feature::Kind::segment;
  out.count = 2;
  out.vertex[0] = a + shift;
  out.vertex[1] = b + shift;
  out.id[0] = id_a;
  out.id[1] = id_b;
}

void set_disc(double radius, double z, double normal_z, const Vec3& d, double sweep, Feature& out) {
  out.kind = Feature::Kind::disc;
  out.normal = {0, 0, normal_z};
  out.center = Vec3(0, 0, z) + sweep * d;
  out.radius = radius;
  out.count = rim_points;
  // On a disc that leans, the first rim point is the extreme one; on a flat one that point is
  // noise.
  const double start = std::hypot(d[0], d[1]) > flat_tilt ? std::atan2(d[1], d[0]) : 0;
  for (int k = 0; k < rim_points; ++k) {
    const double angle = start + normal_z * 2 * M_PI * k / rim_points;
    out.vertex[k] = out.center + radius * Vec3(std::cos(angle), std::sin(angle), 0);
    out.id[k] = (normal_z > 0 ? 0 : rim_points) + k;
  }
}

int corner_id(const Vec3& v) {
  return (v[0] > 0 ? 1 : 0) | (v[1] > 0 ? 2 : 0) | (v[2] > 0 ? 4 : 0);
}

void box_feature(const Convex& c, const Vec3& d, Feature& out) {
  int k = 0, thin = 0;
  const Vec3 size = d.cwiseAbs();
  size.maxCoeff(&k);
  size.minCoeff(&thin);
  const Vec3 corner = support(c, d);
  if (size[k] >= face_cosine) {
    const int i = (k + 1) % 3, j = (k + 2) % 3;
    const double side = sign_of(d[k]);
    out.kind = Feature::Kind::polygon;
    out.normal = side * Vec3::Unit(k);
    out.count = 4;
    for (int q = 0; q < 4; ++q) {
      Vec3 v;
      v[k] = side * c.size[k];
      v[i] = (q == 1 || q == 2 ? 1 : -1) * c.size[i];
      v[j] = side * (q >= 2 ? 1 : -1) * c.size[j];
      out.id[q] = corner_id(v);
      out.vertex[q] = v + c.radius * d;
    }
  } else if (size[thin] < edge_sine) {
    Vec3 a = corner, b = corner;
    a[thin] = -c.size[thin];
    b[thin] = c.size[thin];
    set_segment(a, b, corner_id(a), corner_id(b), c.radius * d, out);
  } else {
    set_point(c, d, corner_id(corner), out);
  }
}

void cylinder_feature(const Convex& c, const Vec3& d, Feature& out) {
  const double r = c.size[0], h = c.size[1];
  if (std::abs(d[2]) >= face_cosine) {
    set_disc(r, sign_of(d[2]) * h, sign_of(d[2]), d, c.radius, out);
  } else if (std::abs(d[2]) < edge_sine) {
    const Eigen::Vector2d u = r * direction_xy(d);
    set_segment({u[0], u[1], -h}, {u[0], u[1], h}, 2 * rim_points, 2 * rim_points + 1, c.radius * d,
                out);
  } else {
    set_point(c, d, d[2] > 0 ? 0 : rim_points, out);
  }
}

void cone_feature(const Convex& c, const Vec3& d, Feature& out) {
  const double r = c.size[0], base = c.shift - c.size[1], apex = c.shift + c.size[1];
  const Eigen::Vector2d side = cone_side(c.size);
  if (d[2] <= -face_cosine) {
    set_disc(r, base, -1, d, c.radius, out);
  } else if (side[1] * std::hypot(d[0], d[1]) + side[0] * d[2] >= face_cosine) {
    const Eigen::Vector2d u = r * direction_xy(d);
    set_segment({u[0], u[1], base}, {0, 0, apex}, 2 * rim_points, 2 * rim_points + 1, c.radius * d,
                out);
  } else {
    set_point(c, d, support(c, d)[2] > base ? 2 * rim_points + 1 : 0, out);
  }
}

void polytope_feature(const Convex& c, const Vec3& d, Feature& out) {
  const Polytope& p = *c.polytope;
  const int face = nearest_face(p, d);
  if (p.normals[face].dot(d) >= face_cosine) {
    const std::span<const int> loop = p.loop(face);
    const int size = static_cast<int>(loop.size());
    out.kind = Feature::Kind::polygon;
    out.normal = p.normals[face];
    out.count = std::min(size, Feature::capacity);
    for (int k = 0; k < out.count; ++k) {
      const int at = size <= Feature::capacity ? k : k * size / Feature::capacity;
      out.id[k] = loop[at];
      out.vertex[k] = p.vertices[out.id[k]] + c.radius * d;
    }
    return;
  }
  const int top = extreme_vertex(p, d);
  int other = -1;
  double least = edge_sine;
  for (const int neighbour : p.neighbours_of(top)) {
    const Vec3 edge = p.vertices[neighbour] - p.vertices[top];
    const double lean = std::abs(edge.dot(d)) / edge.norm();
    if (lean < least) {
      least = lean;
      other = neighbour;
    }
  }
  if (other < 0) {
    set_point(c, d, top, out);
  } else {
    const int low = std::min(top, other), high = std::max(top, other);
    set_segment(p.vertices[low], p.vertices[high], low, high, c.radius * d, out);
  }
}

void triangle_feature(const Convex& c, const Vec3& d, Feature& out) {
  const Vec3 m = triangle_normal(c);
  if (std::abs(m.dot(d)) >= face_cosine) {
    const bool front = m.dot(d) > 0;
    out.kind = Feature::Kind::polygon;
    out.normal = front ? m : Vec3(-m);
    out.count = 3;
    for (int k = 0; k < 3; ++k) {
      out.id[k] = front ? k : 2 - k;
      out.vertex[k] = c.corners[out.id[k]] + c.radius * d;
    }
    return;
  }
  int top = 0;
  for (int k = 1; k < 3; ++k) {
    if (d.dot(c.corners[k]) > d.dot(c.corners[top])) top = k;
  }
  int other = -1;
  double least = edge_sine;
  for (int k = 0; k < 3; ++k) {
    if (k == top) continue;
    const Vec3 edge = c.corners[k] - c.corners[top];
    const double lean = std::abs(edge.dot(d)) / edge.norm();
    if (lean < least) {
      least = lean;
      other = k;
    }
  }
  if (other < 0) {
    set_point(c, d, top, out);
  } else {
    const int low = std::min(top, other), high = std::max(top, other);
    set_segment(c.corners[low], c.corners[high], low, high, c.radius * d, out);
  }
}

}  // namespace

Convex convex_of(const Shape& shape, const Polytope* polytope) {
  const double m = shape.margin;
  const Vec3& s = shape.size;
  Convex c;
  c.radius = m;
  switch (shape.kind) {
    case ShapeKind::sphere:
      c.radius = s[0];
      break;
    case ShapeKind::capsule:
      c.core = CoreKind::segment;
      c.size = {0, 0, s[1]};
      c.radius = s[0];
      break;
    case ShapeKind::box:
      c.core = CoreKind::box;
      c.size = s - Vec3::Constant(m);
      break;
    case ShapeKind::cylinder:
      c.core = CoreKind::cylinder;
      c.size = {s[0] - m, s[1] - m, 0};
      break;
    case ShapeKind::cone: {
      // Side and base move in by m: a similar cone, but its apex moves further than its base.
      const Eigen::Vector2d side = cone_side(s);
      const double half = s[1] - 0.5 * (m + m / side[0]);
      c.core = CoreKind::cone;
      c.size = {s[0] * half / s[1], half, 0};
      c.shift = 0.5 * (m - m / side[0]);
      break;
    }
    case ShapeKind::ellipsoid:
      assert(m == 0);
      c.core = CoreKind::ellipsoid;
      c.size = s;
      break;
    case ShapeKind::hull:
      assert(polytope != nullptr);
      c.core = CoreKind::polytope;
      c.polytope = polytope;
      break;
    case ShapeKind::half_space:
    case ShapeKind::mesh:
    case ShapeKind::height_field:
      assert(false && "not a bounded convex solid");
  }
  c.extent = c.radius;
  if (c.core == CoreKind::polytope) {
    double far = 0;
    for (const Vec3& v : polytope->vertices) far = std::max(far, v.norm());
    c.extent += far;
  } else if (c.core == CoreKind::ellipsoid) {
    c.extent += c.size.maxCoeff();
  } else {
    c.extent += c.size.norm() + std::abs(c.shift);
  }
  return c;
}

Convex triangle_of(const Vec3& a, const Vec3& b, const Vec3& c) {
  Convex t;
  t.core = CoreKind::triangle;
  t.corners = {a, b, c};
  t.extent = std::sqrt(std::max({a.squaredNorm(), b.squaredNorm(), c.squaredNorm()}));
  return t;
}

Vec3 support(const Convex& c, const Vec3& d) {
  switch (c.core) {
    case CoreKind::point:
      return Vec3::Zero();
    case CoreKind::segment:
      return {0, 0, sign_of(d[2]) * c.size[2]};
    case CoreKind::box:
      return {sign_of(d[0]) * c.size[0], sign_of(d[1]) * c.size[1], sign_of(d[2]) * c.size[2]};
    case CoreKind::cylinder: {
      const Eigen::Vector2d u = c.size[0] * direction_xy(d);
      return {u[0], u[1], sign_of(d[2]) * c.size[1]};
    }
    case CoreKind::cone: {
      const Eigen::Vector2d side = cone_side(c.size);
      if (d[2] >= side[0] * d.norm()) return {0, 0, c.shift + c.size[1]};
      const Eigen::Vector2d u = c.size[0] * direction_xy(d);
      return {u[0], u[1], c.shift - c.size[1]};
    }
    case CoreKind::ellipsoid: {
      const Vec3 s = c.size.cwiseProduct(d);
      const double length = s.norm();
      return length > 0 ? Vec3(c.size.cwiseProduct(s) / length) : Vec3(c.size[0], 0, 0);
    }
    case CoreKind::polytope:
      return c.polytope->vertices[extreme_vertex(*c.polytope, d)];
    case CoreKind::triangle: {
      const double a = d.dot(c.corners[0]), b = d.dot(c.corners[1]), e = d.dot(c.corners[2]);
      return c.corners[a >= b ? (a >= e ? 0 : 2) : (b >= e ? 1 : 2)];
    }
  }
  return Vec3::Zero();
}

Mat3 support_derivative(const Convex& c, const Vec3& d) {
  Mat3 D = Mat3::Zero();
  if (c.core == CoreKind::ellipsoid) {
    const Vec3 squares = c.size.cwiseProduct(c.size);
    const double length = c.size.cwiseProduct(d).norm();
    const Vec3 p = squares.cwiseProduct(d) / length;
    if (length > 0) D = (Mat3(squares.asDiagonal()) - p * p.transpose()) / length;
  } else if (c.core == CoreKind::cylinder ||
             (c.core == CoreKind::cone && d[2] < cone_side(c.size)[0] * d.norm())) {
    const double length = std::hypot(d[0], d[1]);
    const Eigen::Vector2d across = Eigen::Vector2d(-d[1], d[0]) / length;
    if (length > 0) D.topLeftCorner<2, 2>() = c.size[0] / length * (across * across.transpose());
  }
  return D;
}

double extreme(const Convex& c, const Vec3& d) {
  return d.dot(support(c, d));
}

Aabb bounds(const Convex& c, const Mat3& R, const Vec3& x) {
  Aabb box;
  for (int k = 0; k < 3; ++k) {
    const Vec3 axis = R.row(k).transpose();
    box.upper[k] = x[k] + extreme(c, axis) + c.radius;
    box.lower[k] = x[k] - extreme(c, -axis) - c.radius;
  }
  return box;
}

void feature_towards(const Convex& c, const Vec3& d, Feature& out) {
  switch (c.core) {
    case CoreKind::box:
      return box_feature(c, d, out);
    case CoreKind::cylinder:
      return cylinder_feature(c, d, out);
    case CoreKind::cone:
      return cone_feature(c, d, out);
    case CoreKind::polytope:
      return polytope_feature(c, d, out);
    case CoreKind::triangle:
      return triangle_feature(c, d, out);
    case CoreKind::segment:
      if (std::abs(d[2]) < edge_sine) {
        const Vec3 end(0, 0, c.size[2]);
        return set_segment(-end, end, 0, 1, c.radius * d, out);
      }
      return set_point(c, d, d[2] > 0 ? 1 : 0, out);
    case CoreKind::point:
    case CoreKind::ellipsoid:
      return set_point(c, d, 0, out);
  }
}

bool face_normal_near(const Convex& c, const Vec3& d, Vec3& normal) {
  switch (c.core) {
    case CoreKind::box: {
      int k = 0;
      d.cwiseAbs().maxCoeff(&k);
      normal = sign_of(d[k]) * Vec3::Unit(k);
      return true;
    }
    case CoreKind::cylinder:
      normal = {0, 0, sign_of(d[2])};
      return true;
    case CoreKind::cone:
      normal = {0, 0, -1};
      return true;
    case CoreKind::polytope:
      normal = c.polytope->normals[nearest_face(*c.polytope, d)];
      return true;
    case CoreKind::triangle:
      normal = triangle_normal(c);
      if (normal.dot(d) < 0) normal = -normal;
      return true;
    case CoreKind::point:
    case CoreKind::segment:
    case CoreKind::ellipsoid:
      return false;
  }
  return false;
}

}  // namespace urto
