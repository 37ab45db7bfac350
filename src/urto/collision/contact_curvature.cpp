#include "urto/collision/contact_curvature.h"

#include <cmath>

#include <Eigen/Eigenvalues>
#include <Eigen/QR>

#include "urto/collision/core_part.h"
#include "urto/math/rotation.h"

namespace urto {
namespace {

using Vec2 = Eigen::Vector2d;
using Plane = Eigen::Matrix<double, 3, 2>;
using Map = ContactRates::Map;

constexpr double on_feature = 4e-6;  // of the size: clipping names points this near an edge by it
constexpr double flat = 1e-9;        // curvature × size: below, a direction has none

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
  s.x = at.R.transpose() * (c.point + 0.5 * sign * c.gap * c.normal - at.x);
  s.outward = -sign * (at.R.transpose() * c.normal);
  s.tangents = at.R.transpose() * frame.rightCols<2>();
  return s;
}

CorePart face_part() {
  return {CorePart::Kind::face};
}

// The core's part at the contact point, or the edge next to it. Triangles of a mesh are solids about
// their own centres.
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

// A point of one body that stays, against the face of the other, or against nothing.
void set_followed(NormalCarrier carrier, ContactCurvature& out) {
  const SurfaceRelation held{Mat2::Identity(), Mat2::Zero()}, free{Mat2::Zero(), Mat2::Zero()};
  out.rule = carrier == NormalCarrier::none ? ContactRule::fixed
             : carrier == NormalCarrier::a  ? ContactRule::normal_of_a
                                            : ContactRule::normal_of_b;
  out.a = carrier == NormalCarrier::a ? free : held;
  out.b = carrier == NormalCarrier::a ? held : free;
}

// A vertex of `own` met by `other`; the normal is the face's of `other`, or of `own` itself, or that of
// nearest points.
void set_vertex(const Side& own, const Side& other, bool own_face, bool other_face,
                SurfaceRelation& of_own, SurfaceRelation& of_other, bool& carried) {
  carried = own_face && !other_face;
  if (carried) {
    of_own = {Mat2::Identity(), Mat2::Zero()};
    of_other = {Mat2::Zero(), Mat2::Zero()};
    return;
  }
  of_own = relation_of(own, vertex_here(own));
  of_other = relation_of(other, other_face ? face_part() : part_here(other, false));
}

// A relation times the size, its two rows made orthonormal in (p / length, δm): any two rows that span the
// same are the same relation, and now they are well scaled.
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
  const Mat2 S = a.leftCols<2>().transpose() * a.leftCols<2>() +
                 b.leftCols<2>().transpose() * b.leftCols<2>();
  const Eigen::SelfAdjointEigenSolver<Mat2> eigen(S);
  if (eigen.eigenvalues()[1] < flat * flat) {
    a << Mat2::Identity(), Mat2::Zero();
  } else if (eigen.eigenvalues()[0] < flat * flat) {
    const Vec2 t = eigen.eigenvectors().col(0);
    const Vec2 row = (a.rightCols<2>() * t).normalized();  // that says δm·t = 0
    const Eigen::RowVector4d rest = Vec2(-row[1], row[0]).transpose() * a;
    a.row(0) = rest;
    a.row(1) << t.transpose(), 0, 0;
  }
}

Map columns(const Mat2& s_a, const Mat2& s_b, const Mat2& v) {
  Map m;
  m << s_a, s_b, v;
  return m;
}

void complete(const ContactCurvature& c, ContactRates& out) {
  const Mat2 one = Mat2::Identity(), none = Mat2::Zero();
  out.point_b = out.point_a + columns(none, none, one) - c.gap * out.normal;
}

// Unknown are p_A / length and η = δn − s_B:
//   α_A p_A + β_A η = β_A (s_A − s_B),   α_B p_A − (β_B + g α_B) η = −α_B (v_t − g s_B).
ContactRates rates_of_surfaces(const ContactCurvature& c) {
  const Mat2 one = Mat2::Identity(), none = Mat2::Zero();
  const double gap = c.gap / c.length;
  Rows a = scaled_rows(c.a, c.length);
  const Rows b = scaled_rows(c.b, c.length);
  hold_flat_directions(a, b);
  const Mat2 alpha_a = a.leftCols<2>(), beta_a = a.rightCols<2>();
  const Mat2 alpha_b = b.leftCols<2>(), beta_b = b.rightCols<2>();
  Eigen::Matrix4d K;
  K << alpha_a, beta_a, alpha_b, -(beta_b + gap * alpha_b);
  Eigen::Matrix<double, 4, 6> right;
  right << columns(beta_a, -beta_a, none), columns(none, gap * alpha_b, -alpha_b / c.length);
  // Least change of n where it is not determined.
  Eigen::CompleteOrthogonalDecomposition<Eigen::Matrix4d> solver;
  solver.setThreshold(1e-10);
  solver.compute(K);
  const Eigen::Matrix<double, 4, 6> y = solver.solve(right);
  ContactRates out;
  out.frame = c.frame;
  out.point_a = c.length * y.topRows<2>();
  out.normal = y.bottomRows<2>() + columns(none, one, none);
  complete(c, out);
  return out;
}

// δn is known; what holds the points on both sides is left for p_A.
ContactRates rates_of_carried(const ContactCurvature& c) {
  const Mat2 one = Mat2::Identity(), none = Mat2::Zero();
  const bool by_a = c.rule == ContactRule::normal_of_a;
  ContactRates out;
  out.frame = c.frame;
  out.normal = by_a ? columns(one, none, none) : columns(none, one, none);
  const Map turn_a = columns(one, none, none) - out.normal;  // δm_A
  const Map turn_b = out.normal - columns(none, one, none);
  Eigen::Matrix<double, 4, 2> K;
  K << c.a.alpha, c.b.alpha;
  Eigen::Matrix<double, 4, 6> right;
  right << c.a.beta * turn_a,
      c.b.beta * turn_b - c.b.alpha * (columns(none, none, one) - c.gap * out.normal);
  Eigen::CompleteOrthogonalDecomposition<Eigen::Matrix<double, 4, 2>> solver;
  solver.setThreshold(1e-10);
  solver.compute(K);
  out.point_a = solver.solve(right);
  complete(c, out);
  return out;
}

}  // namespace

ContactCurvature contact_curvature(const ContactFinder& finder, const State& state,
                                   const Contact& c) {
  ContactCurvature out;
  out.frame = contact_frame(c.normal);
  out.gap = c.gap;
  if (c.followed || is_always_followed(c.anchor)) {
    set_followed(c.anchor.carrier, out);
    return out;
  }
  const Side a = side_of(finder, state, c, true, out.frame);
  const Side b = side_of(finder, state, c, false, out.frame);
  out.length = b.collider.half_space
                   ? a.collider.convex.extent
                   : std::min(a.collider.convex.extent, b.collider.convex.extent);
  const FacesAlong faces = faces_along(a.collider, b.collider, c.normal, c.triangle_b);
  const std::uint32_t kind = c.feature >> 30;
  bool carried = false;
  if (kind == 1) {
    set_vertex(a, b, faces.a, faces.b, out.a, out.b, carried);
    if (carried) out.rule = ContactRule::normal_of_a;
  } else if (kind == 2) {
    set_vertex(b, a, faces.b, faces.a, out.b, out.a, carried);
    if (carried) out.rule = ContactRule::normal_of_b;
  } else {
    const bool edges = kind == 3;
    carried = edges && (faces.a || faces.b);
    if (carried) out.rule = faces.b ? ContactRule::normal_of_b : ContactRule::normal_of_a;
    const bool on_face = !edges && b.collider.surface != nullptr && faces.b;
    out.a = relation_of(a, part_here(a, edges), carried);
    out.b = relation_of(b, on_face ? face_part() : part_here(b, edges), carried);
  }
  return out;
}

ContactRates contact_rates(const ContactCurvature& c) {
  if (c.rule == ContactRule::fixed) {
    ContactRates still;
    still.frame = c.frame;
    return still;
  }
  return c.rule == ContactRule::surfaces ? rates_of_surfaces(c) : rates_of_carried(c);
}

ContactMotion contact_motion(const ContactRates& rates, const Vec3& omega_a, const Vec3& omega_b,
                             const Vec3& velocity) {
  const Vec3 n = rates.frame.col(0);
  const Plane tangents = rates.frame.rightCols<2>();
  Eigen::Matrix<double, 6, 1> motion;
  motion << tangents.transpose() * omega_a.cross(n), tangents.transpose() * omega_b.cross(n),
      tangents.transpose() * velocity;
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
