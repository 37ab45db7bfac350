// Questions about where shapes are: distance, rays, overlaps. For users of the library; a step asks
// ContactFinder.
#pragma once

#include <optional>
#include <vector>

#include "urto/collision/contact.h"

namespace urto {

struct RayHit {
  int shape = -1, body = -1;
  double distance = 0;        ///< along the unit direction [m]
  Vec3 point = Vec3::Zero();  ///< world
  Vec3 normal =
      Vec3::UnitZ();  ///< of the surface there, unit; against the ray where it starts inside
};

struct BodyDistance {
  int shape_a = -1, shape_b = -1;  ///< the nearest shapes
  Closest closest = {};            ///< in world axes; the gap is negative where they overlap
};

/// The colliding shapes of a model at one state. Meshes and height fields are surfaces here: what
/// lies wholly inside one does not overlap it.
class Queries {
 public:
  /// The model is finalized and outlives the queries. Call `update` first.
  explicit Queries(const Model& model);
  /// Throws InputError for a pose that is not finite.
  void update(const State& state);

  /// Between the nearest colliding shapes of two bodies; none if one has none, or both are
  /// half-spaces.
  std::optional<BodyDistance> distance(int body_a, int body_b) const;
  /// The first surface on the ray, within `reach` [m]. The direction need not be a unit vector but
  /// must not be zero.
  std::optional<RayHit> cast_ray(const Vec3& from, const Vec3& direction, double reach) const;
  /// Shapes that overlap or touch a convex solid (see convex_of), in the order of their numbers.
  std::vector<int> overlaps(const Convex& solid, const Place& at) const;

 private:
  std::optional<Closest> closest_of(const Collider& a, const Collider& b) const;
  std::optional<RayHit> meet(const Collider& c, const Vec3& from, const Vec3& unit,
                             double reach) const;

  const Model& model_;
  ContactFinder finder_;
  AabbTree tree_ = {};
  std::vector<int> bounded_ = {}, planes_ = {};  ///< into the finder's colliders
};

}  // namespace urto
