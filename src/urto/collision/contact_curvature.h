// How a contact moves over its two bodies as they move: the second derivatives of contact rows.
//
// Recipe 004, supplement, §4 (two curved bodies), widened to edges and vertices. All in the tangent plane
// of n, axes t₁, t₂ of `contact_frame(n)`. With p the motion of the contact point over a body and δm the
// turn of the body's outward normal *against the body* there, each surface is a linear relation
//
//     α p = β δm                  smooth: α = H, β = I (H the shape operator, positive where convex)
//                                 vertex: α = I, β = 0
//                                 edge along e: α = I − eeᵀ + κ eeᵀ, β = eeᵀ (κ: of a circular rim)
//
// and a sweep by a sphere of radius r adds r δm to p: β ← β + r α. The normal n points from B to A, so
// δm_A = −(δn − s_A) and δm_B = δn − s_B with s = ω × n; and the nearest points stay opposite each other:
// p_B = p_A + v_t − g δn. For two smooth surfaces these are the supplement's three formulas.
#pragma once

#include "urto/collision/contact.h"

namespace urto {

using Mat2 = Eigen::Matrix2d;

/// α p = β δm of one side.
struct SurfaceRelation {
  Mat2 alpha = Mat2::Identity();
  Mat2 beta = Mat2::Zero();
};

/// What decides how the contact moves.
enum class ContactRule : std::uint8_t {
  surfaces,     ///< the two relations
  normal_of_a,  ///< n is A's face's; of the relations counts what holds the point, such as two edges
  normal_of_b,
  fixed  ///< points stay on their bodies, and the normal as it is
};

struct ContactCurvature {
  Mat3 frame = Mat3::Identity();  ///< [n t₁ t₂]
  double gap = 0;
  double length = 1;  ///< a size of the solids, to judge what is flat [m]
  ContactRule rule = ContactRule::surfaces;
  SurfaceRelation a, b;
};

/// Of a contact as `find` or `remeasure` left it at `state`. Where points of a manifold are not the
/// nearest ones, their relations are those of the features that they are named by.
ContactCurvature contact_curvature(const ContactFinder& finder, const State& state,
                                   const Contact& contact);

/// p_A, p_B and δn in the tangent plane as linear maps of (s_A, s_B, v_t), two components each.
struct ContactRates {
  using Map = Eigen::Matrix<double, 2, 6>;
  Mat3 frame = Mat3::Identity();
  Map point_a = Map::Zero(), point_b = Map::Zero();  ///< p_A, p_B
  Map normal = Map::Zero();                          ///< δn
};

/// Solves the relations. Where a direction is flat on both sides (a face on a face, parallel
/// cylinders) the contact is anywhere along it: it stays where it is on A, and n turns with B. Where
/// vertices touch that have no gap to give a direction, n turns with B as well.
ContactRates contact_rates(const ContactCurvature& curvature);

/// The same for a motion: angular velocities in world axes, and the relative velocity v_A − v_B of the two
/// nearest material points, of which the part across n counts. The point midway, where rows are
/// taken, moves by ½(v_A + p_A + v_B + p_B).
struct ContactMotion {
  Vec3 point_a = Vec3::Zero(), point_b = Vec3::Zero();  ///< over the bodies, world axes
  Vec3 normal = Vec3::Zero();                           ///< δn
};
ContactMotion contact_motion(const ContactRates& rates, const Vec3& omega_a, const Vec3& omega_b,
                             const Vec3& velocity);

/// How fast the tangents of `contact_frame` turn about n while n changes by δn: δt₁ = −n (t₁·δn) + w t₂,
/// δt₂ = −n (t₂·δn) − w t₁. Tangents that are carried along have w = 0.
double frame_spin(const Vec3& n, const Vec3& dn);

}  // namespace urto
