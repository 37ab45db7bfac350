#include "urto/collision/contact_anchor.h"

#include <cmath>

#include "urto/collision/contact.h"

namespace urto {
namespace {

constexpr double same_normal = 1 - 1e-13;  // cosine: 4e-7 rad, above what rounding leaves of a face
constexpr double flat_tilt = 1e-6;  // [rad] as in convex.cpp: a disc that leans less lies flat

bool has_face(const Collider& c, const Vec3& outward) {
  if (c.half_space || c.surface != nullptr) return false;
  const CoreKind core = c.convex.core;
  if (core == CoreKind::point || core == CoreKind::segment || core == CoreKind::ellipsoid)
    return false;
  const Vec3 local = c.place.R.transpose() * outward;
  Vec3 face;
  return face_normal_near(c.convex, local, face) && face.dot(local) >= same_normal;
}

Vec3 in_shape(const Collider& c, const Vec3& x) {
  return c.place.R.transpose() * (x - c.place.x);
}

Vec3 in_world(const Collider& c, const Vec3& x) {
  return c.place.x + c.place.R * x;
}

}  // namespace

FacesAlong faces_along(const Collider& a, const Collider& b, const Vec3& n, int triangle_b) {
  FacesAlong faces{has_face(a, -n), b.half_space || has_face(b, n)};
  if (b.surface != nullptr && triangle_b >= 0) {
    faces.b = b.surface->normal(triangle_b).dot(b.place.R.transpose() * n) >= same_normal;
  }
  return faces;
}

NormalCarrier normal_carrier(const FacesAlong& faces, std::uint32_t feature) {
  if (faces.a && (!faces.b || feature >> 30 == 2)) return NormalCarrier::a;
  return faces.b ? NormalCarrier::b : NormalCarrier::none;
}

bool is_rim_sample(const Collider& a, const Collider& b, const Vec3& n, std::uint32_t feature) {
  const std::uint32_t kind = feature >> 30;
  if (kind != 1 && kind != 2) return false;
  const Collider& c = kind == 1 ? a : b;
  if (c.surface != nullptr || c.half_space) return false;
  const CoreKind core = c.convex.core;
  if (core != CoreKind::cylinder && core != CoreKind::cone) return false;
  // Names of rim points: fours against a plane (narrow_phase.cpp), else eights (convex.cpp); those
  // after them are the ends of a side's line and the apex.
  const std::uint32_t name = feature & 0x3fffffffU;
  const std::uint32_t each = b.half_space ? 4 : 8;
  const std::uint32_t rims = b.half_space && core == CoreKind::cone ? 1 : 2;
  if (name >= rims * each) return false;
  const Vec3 local = c.place.R.transpose() * n;
  return name % each != 0 || std::hypot(local[0], local[1]) <= flat_tilt;
}

void set_anchor(const Collider& a, const Collider& b, NormalCarrier carrier, Contact& c) {
  const Vec3 half = c.anchor.foreseen ? c.arm : Vec3(0.5 * c.gap * c.normal);
  c.anchor.a = in_shape(a, c.point + half);
  c.anchor.b = in_shape(b, c.point - half);
  c.anchor.carrier = carrier;
  if (carrier == NormalCarrier::none) {
    c.anchor.normal = c.normal;
  } else {
    c.anchor.normal = (carrier == NormalCarrier::a ? a : b).place.R.transpose() * c.normal;
  }
}

void follow_anchor(const Collider& a, const Collider& b, Contact& c) {
  const ContactAnchor& anchor = c.anchor;
  const Vec3 pa = in_world(a, anchor.a), pb = in_world(b, anchor.b);
  c.normal = anchor.normal;
  if (anchor.carrier == NormalCarrier::a) c.normal = a.place.R * anchor.normal;
  if (anchor.carrier == NormalCarrier::b) c.normal = b.place.R * anchor.normal;
  const Vec3 apart = pa - pb;
  c.gap = c.normal.dot(apart);
  c.arm = Vec3::Zero();
  c.followed = true;
  // The point of A against the face of B moves over that face: both bodies are to be seen where A's
  // point is, or the rows were not the derivative of the gap.
  if (anchor.carrier == NormalCarrier::b) {
    c.point = pa - 0.5 * c.gap * c.normal;
  } else if (anchor.carrier == NormalCarrier::a) {
    c.point = pb + 0.5 * c.gap * c.normal;
  } else {
    c.point = 0.5 * (pa + pb);
    c.arm = 0.5 * (anchor.foreseen ? apart : Vec3(apart - c.gap * c.normal));
  }
}

}  // namespace urto
