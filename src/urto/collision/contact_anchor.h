// What of a contact stays fixed in the two bodies, so that it can be followed to another state.
#pragma once

#include <cstdint>

#include "urto/math/types.h"

namespace urto {

struct Collider;
struct Contact;

/// Whose flat face has the normal of a contact, which then turns with that body.
enum class NormalCarrier : std::uint8_t { none, a, b };

/// The two material points that met where a contact was found. Points are in the frames of the
/// shapes, which are fixed in the bodies; no place of a body has to be looked up for them.
struct ContactAnchor {
  Vec3 a = Vec3::Zero(), b = Vec3::Zero();
  Vec3 normal = Vec3::UnitZ();  ///< in the frame of the carrier's shape; in world axes without one
  NormalCarrier carrier = NormalCarrier::none;
  bool foreseen = false;    ///< along a path: the points are apart sidewards too
  bool rim_sample = false;  ///< one of several points of a rim, not the one that the normal picks
};

/// Which solids have a flat face along the unit vector n (from B to A, world).
struct FacesAlong {
  bool a = false, b = false;
};
FacesAlong faces_along(const Collider& a, const Collider& b, const Vec3& n, int triangle_b);
/// Where both have one, the vertex of one moves over the face of the other; else B's, as by `find`.
NormalCarrier normal_carrier(const FacesAlong& faces, std::uint32_t feature);

/// Whether a contact names a point of a rim that is not its extreme point: all points of a disc
/// that lies flat, and on one that leans those beside the lowest, which are there to carry moments.
/// Rows see them as fixed in the body, and so must whoever measures their gap elsewhere.
bool is_rim_sample(const Collider& a, const Collider& b, const Vec3& n, std::uint32_t feature);

/// From what `find` has written into the contact.
void set_anchor(const Collider& a, const Collider& b, NormalCarrier carrier, Contact& c);
/// The points stay where they are on the bodies, whatever the name says.
inline bool is_always_followed(const ContactAnchor& anchor) {
  return anchor.foreseen || anchor.rim_sample;
}
/// Gap, point, normal and arm of the anchored points where the colliders are now.
void follow_anchor(const Collider& a, const Collider& b, Contact& c);

}  // namespace urto
