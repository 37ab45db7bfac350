#include "urto/collision/contact_curvature.h"

#include <cmath>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include "urto/collision/core_part.h"
#include "urto/linalg/checked.h"
#include "urto/math/rotation.h"

namespace urto {
namespace {

using Vec2 = Eigen::Vector2d;
using Plane = Eigen::Matrix<double, 3, 2>;
using Map = ContactRates::Map;

constexpr double on_feature = 4e-6;  // of the size: clipping names points this near an edge by it
constexpr double flat = 1e-9;        // curvature × size: below, a direction has none
constexpr double same_normal = 1 - 1e-8;

// Of A (sign 1) or of B (−1).
Vec3 surface_point(const Contact& c, double sign) {
  return c.point + 0.5 * sign * c.gap * c.normal;
}

// One body as the contact sees it.
struct Side {
  Collider collider;
  Vec3 x;        // on the surface, in the shape's frame
  Vec3 outward;  // the same
  Plane tangents;
  int triangle;

  bool is_solid() const { return collider.surface == nullptr && !collider.half_space; }
  double tolerance() const { return on_feature * collider.convex.extent; }
};

Side side_of(const ContactFinder& finder, const State& state, const Contact& c, bool is_a,
             const Mat3& frame) {
  const Model& model = finder.model();
  const Shape& shape = model.shapes[is_a ? c.shape_a : c.shape_b];
  const BodyPlace body = place(model, state, shape.body);
  Side s{.collider = finder.collider(is_a ? c.shape_a : c.shape_b),
         .x = {},
         .outward = {},
         .tangents = {},
         .triangle = is_a ? c.triangle_a : c.triangle_b};
  Place& at = s.collider.place;
  at = {body.x + body.A * shape.pose.position, body.A * rotation_matrix(shape.pose.rotation)};
  const double sign = is_a ? 1 : -1;
  s.x = at.R.transpose() * (surface_point(c, sign) - at.x);
  s.outward = -sign * (at.R.transpose() * c.normal);
  s.tangents = at.R.transpose() * frame.rightCols<2>();
  return s;
}

CorePart face_part() {
  return {CorePart::Kind::face};
}

// The core's part at the contact point, or the edge next to it. Triangles of a mesh are solids
// about their own centres.
CorePart part_here(const Side& s, bool want_edge) {
  if (s.collider.half_space) return face_part();
  const auto part = want_edge ? edge_near : part_at;
  if (s.is_solid()) {
    const Vec3 core = s.x - s.collider.convex.radius * s.outward;
    return part(s.collider.convex, core, s.outward, s.tolerance());
  }
  if (s.triangle < 0) return CorePart{};
  const Convex triangle = s.collider.surface->triangle(s.triangle);
  const Vec3 x = s.x - s.collider.surface->center(s.triangle);
  return part(triangle, x, s.outward, on_feature * triangle.extent);
}

// The vertex that a contact is named by: a corner, the end of a line, or a rim's extreme point.
CorePart vertex_here(const Side& s) {
  const CoreKind core = s.collider.convex.core;
  const bool round =
      core == CoreKind::cylinder || core == CoreKind::cone || core == CoreKind::ellipsoid;
  return s.is_solid() && round ? part_here(s, false) : CorePart{};
}

// `held`: of the relation only what holds the point, not what turns the normal.
SurfaceRelation relation_of(const Side& s, const CorePart& part, bool held = false) {
  using Kind = CorePart::Kind;
  const Mat2 one = Mat2::Identity(), none = Mat2::Zero();
  SurfaceRelation r;
  Vec2 e = s.tangents.transpose() * part.along;
  if (e.norm() > 0) e.normalize();
  const Mat2 P = e * e.transpose();
  if (part.kind == Kind::edge) {
    r = held ? SurfaceRelation{one - P, none} : SurfaceRelation{one - P + part.curvature * P, P};
  } else if (part.kind == Kind::face) {
    r = {none, held ? none : one};
  } else if (part.kind == Kind::ruled) {
    r = {part.curvature * P, held ? P : one};
  } else if (part.kind == Kind::ellipsoid) {
    const Mat3 D = support_derivative(s.collider.convex, s.outward);
    r = {one, s.tangents.transpose() * D * s.tangents};
  }
  if (s.is_solid()) r.beta += s.collider.convex.radius * r.alpha;
  return r;
}

const SurfaceRelation held{Mat2::Identity(), Mat2::Zero()}, empty{Mat2::Zero(), Mat2::Zero()};

ContactRule rule_of(NormalCarrier carrier, ContactRule otherwise) {
  if (carrier == NormalCarrier::none) return otherwise;
  return carrier == NormalCarrier::a ? ContactRule::normal_of_a : ContactRule::normal_of_b;
}

// A point of one body that stays, against the face of the other, or against nothing.
void set_followed(NormalCarrier carrier, ContactCurvature& out) {
  out.rule = rule_of(carrier, ContactRule::fixed);
  out.here.a = carrier == NormalCarrier::a ? empty : held;
  out.here.b = carrier == NormalCarrier::a ? held : empty;
}

// A solid, or the triangle of a mesh that the contact is on.
Convex met(const Side& s, Place& at) {
  at = s.collider.place;
  if (s.collider.surface == nullptr) return s.collider.convex;
  if (s.triangle < 0) return {};
  at.x += at.R * s.collider.surface->center(s.triangle);
  return s.collider.surface->triangle(s.triangle);
}

// The normal of a point of a manifold without a face: that of the nearest points, wherever they
// are.
void set_nearest(Side a, Side b, const Contact& c, ContactCurvature& out) {
  Place at_a, at_b;
  const Convex solid_a = met(a, at_a), solid_b = met(b, at_b);
  const Closest nearest = closest(solid_a, at_a, solid_b, at_b);
  if (nearest.normal.dot(c.normal) < same_normal) {
    // Two boxes that overlap may have chosen another axis; B's is as good as any.
    out.rule = ContactRule::normal_of_b;
    return;
  }
  const auto go_to = [&](Side& s, const Vec3& x) {
    s.x = s.collider.place.R.transpose() * (x - s.collider.place.x);
  };
  go_to(a, nearest.a);
  go_to(b, nearest.b);
  out.nearest = {relation_of(a, part_here(a, false)), relation_of(b, part_here(b, false)),
                 nearest.gap};
  out.to_nearest_a = nearest.a - surface_point(c, 1);
  out.to_nearest_b = nearest.b - surface_point(c, -1);
}

// A relation times the size, its two rows made orthonormal in (p / length, δm): any two rows that
// span the same are the same relation, and now they are well scaled.
using Rows = Eigen::Matrix<double, 2, 4>;
Rows scaled_rows(const SurfaceRelation& r, double length) {
  Rows rows;
  rows << length * r.alpha, r.beta;
  // The row that is longer first, or the other is lost in rounding.
  if (rows.row(1).norm() > rows.row(0).norm()) rows.row(0).swap(rows.row(1));
  rows.row(0).normalize();
  rows.row(1) /= rows.row(1).norm();
  rows.row(1) -= rows.row(1).dot(rows.row(0)) * rows.row(0);
  rows.row(1).normalize();
  return rows;
}

// Directions t that are flat on both sides: there A's relation, δm·t = 0, gives way to p·t = 0.
void hold_flat_directions(Rows& a, const Rows& b) {
  const Mat2 S =
      a.leftCols<2>().transpose() * a.leftCols<2>() + b.leftCols<2>().transpose() * b.leftCols<2>();
  const Checked<Eigen::SelfAdjointEigenSolver<Mat2>> eigen(S);
  if (!eigen.ok()) return;
  if (eigen->eigenvalues()[1] < flat * flat) {
    a << Mat2::Identity(), Mat2::Zero();
  } else if (eigen->eigenvalues()[0] < flat * flat) {
    const Vec2 t = eigen->eigenvectors().col(0);
    const Vec2 row = (a.rightCols<2>() * t).normalized();  // that says δm·t = 0
    const Eigen::RowVector4d rest = Vec2(-row[1], row[0]).transpose() * a;
    a.row(0) = rest;
    a.row(1) << t.transpose(), 0, 0;
  }
}

// The motion as the formulas take it, each as a map of (ω_A, ω_B, v) in the axes of the frame.
struct Inputs {
  Map s_a = Map::Zero(), s_b = Map::Zero(), v = Map::Zero();
};

Inputs inputs_here() {
  Eigen::Matrix<double, 2, 3> turn;  // ω × n = ω₂ t₁ − ω₁ t₂
  turn << 0, 0, 1, 0, -1, 0;
  Inputs in;
  in.s_a.leftCols<3>() = turn;
  in.s_b.middleCols<3>(3) = turn;
  in.v.rightCols<2>().setIdentity();
  return in;
}

// Of other points of the two bodies, at d from those here: v + ω_A × d_A − ω_B × d_B.
Inputs inputs_at(const Mat3& frame, const Vec3& to_a, const Vec3& to_b) {
  Inputs in = inputs_here();
  in.v.leftCols<3>() = -skew(frame.transpose() * to_a).bottomRows<2>();
  in.v.middleCols<3>(3) = skew(frame.transpose() * to_b).bottomRows<2>();
  return in;
}

// Unknown are p_A / length and η = δn − s_B:
//   α_A p_A + β_A η = β_A (s_A − s_B),   α_B p_A − (β_B + g α_B) η = −α_B (v_t − g s_B).
void meet(const MeetingSurfaces& m, double length, const Inputs& in, Map& point_a, Map& normal) {
  const double gap = m.gap / length;
  Rows a = scaled_rows(m.a, length);
  const Rows b = scaled_rows(m.b, length);
  hold_flat_directions(a, b);
  const Mat2 alpha_a = a.leftCols<2>(), beta_a = a.rightCols<2>();
  const Mat2 alpha_b = b.leftCols<2>(), beta_b = b.rightCols<2>();
  Eigen::Matrix4d K;
  K << alpha_a, beta_a, alpha_b, -(beta_b + gap * alpha_b);
  Eigen::Matrix<double, 4, 9> right;
  right << beta_a * (in.s_a - in.s_b), -alpha_b * (in.v / length - gap * in.s_b);
  // Least change of n where it is not determined.
  Eigen::CompleteOrthogonalDecomposition<Eigen::Matrix4d> solver;
  solver.setThreshold(1e-10);
  solver.compute(K);
  const Eigen::Matrix<double, 4, 9> y = solver.solve(right);
  point_a = length * y.topRows<2>();
  normal = y.bottomRows<2>() + in.s_b;
}

// δn is known; what holds the point on both sides is left for p_A:
//   α_A p_A = β_A δm_A,   α_B (p_A + v_t − g δn) = β_B δm_B.
Map held_point(const MeetingSurfaces& m, const Inputs& in, const Map& normal) {
  Eigen::Matrix<double, 4, 2> K;
  K << m.a.alpha, m.b.alpha;
  Eigen::Matrix<double, 4, 9> right;
  right << m.a.beta * (in.s_a - normal),
      m.b.beta * (normal - in.s_b) - m.b.alpha * (in.v - m.gap * normal);
  Eigen::CompleteOrthogonalDecomposition<Eigen::Matrix<double, 4, 2>> solver;
  solver.setThreshold(1e-10);
  solver.compute(K);
  return solver.solve(right);
}

}  // namespace

ContactCurvature contact_curvature(const ContactFinder& finder, const State& state,
                                   const Contact& c) {
  ContactCurvature out;
  out.frame = contact_frame(c.normal);
  out.here.gap = c.gap;
  if (c.followed || is_always_followed(c.anchor)) {
    set_followed(c.anchor.carrier, out);
    return out;
  }
  const Side a = side_of(finder, state, c, true, out.frame);
  const Side b = side_of(finder, state, c, false, out.frame);
  out.length = b.collider.half_space ? a.collider.convex.extent
                                     : std::min(a.collider.convex.extent, b.collider.convex.extent);
  const FacesAlong faces = faces_along(a.collider, b.collider, c.normal, c.triangle_b);
  const std::uint32_t kind = c.feature >> 30;
  if (kind == 0 || c.own_normal) {
    const bool on_face = b.collider.surface != nullptr && faces.b;
    out.here.a = relation_of(a, part_here(a, false));
    out.here.b = relation_of(b, on_face ? face_part() : part_here(b, false));
    return out;
  }
  out.here.a = kind == 1   ? relation_of(a, vertex_here(a))
               : kind == 3 ? relation_of(a, part_here(a, true), true)
                           : empty;
  out.here.b = kind == 2   ? relation_of(b, vertex_here(b))
               : kind == 3 ? relation_of(b, part_here(b, true), true)
                           : empty;
  out.rule = rule_of(normal_carrier(faces, c.feature), ContactRule::normal_of_nearest);
  if (out.rule == ContactRule::normal_of_nearest) set_nearest(a, b, c, out);
  return out;
}

ContactRates contact_rates(const ContactCurvature& c) {
  ContactRates out;
  out.frame = c.frame;
  if (c.rule == ContactRule::fixed) return out;
  const Inputs in = inputs_here();
  if (c.rule == ContactRule::surfaces) {
    meet(c.here, c.length, in, out.point_a, out.normal);
  } else {
    if (c.rule == ContactRule::normal_of_nearest) {
      Map elsewhere;
      meet(c.nearest, c.length, inputs_at(c.frame, c.to_nearest_a, c.to_nearest_b), elsewhere,
           out.normal);
    } else {
      out.normal = c.rule == ContactRule::normal_of_a ? in.s_a : in.s_b;
    }
    out.point_a = held_point(c.here, in, out.normal);
  }
  out.point_b = out.point_a + in.v - c.here.gap * out.normal;
  return out;
}

ContactMotion contact_motion(const ContactRates& rates, const Vec3& omega_a, const Vec3& omega_b,
                             const Vec3& velocity) {
  const Plane tangents = rates.frame.rightCols<2>();
  Eigen::Matrix<double, 9, 1> motion;
  motion << rates.frame.transpose() * omega_a, rates.frame.transpose() * omega_b,
      rates.frame.transpose() * velocity;
  return {tangents * (rates.point_a * motion), tangents * (rates.point_b * motion),
          tangents * (rates.normal * motion)};
}

// t₁ = (e − n_e n)/|…|: across n it turns by −n_e (t₂·δn)/|e − n_e n|.
double frame_spin(const Vec3& n, const Vec3& dn) {
  const Mat3 frame = contact_frame(n);
  int axis = 0;
  frame.col(1).cwiseAbs().maxCoeff(&axis);
  return -n[axis] * frame.col(2).dot(dn) / std::sqrt(1 - n[axis] * n[axis]);
}

}  // namespace urto
