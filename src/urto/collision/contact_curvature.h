// How a contact moves over its two bodies as they move: the second derivatives of contact rows.
//
// Recipe 004, supplement, §4 (two curved bodies), widened to edges and vertices. All in the tangent
// plane of n, axes t₁, t₂ of `contact_frame(n)`. With p the motion of the contact point over a body
// and δm the turn of the body's outward normal *against the body* there, each surface is a linear
// relation
//
//     α p = β δm      smooth: α = H, β = I (H the shape operator, positive where convex)
//                     vertex: α = I, β = 0
//                     edge along e: α = I − eeᵀ + κ eeᵀ, β = eeᵀ (κ: of a circular rim)
//
// and a sweep by a sphere of radius r adds r δm to p: β ← β + r α. The normal n points from B to A,
// so δm_A = −(δn − s_A) and δm_B = δn − s_B with s = ω × n; and the nearest points stay opposite
// each other: p_B = p_A + v_t − g δn. For two smooth surfaces these are the supplement's three
// formulas.
#pragma once

#include "urto/collision/contact.h"

namespace urto {

using Mat2 = Eigen::Matrix2d;

/// α p = β δm of one side.
struct SurfaceRelation {
  Mat2 alpha = Mat2::Identity();
  Mat2 beta = Mat2::Zero();
};

/// Two surfaces where they meet.
struct MeetingSurfaces {
  SurfaceRelation a, b;
  double gap = 0;
};

/// What turns the normal of a contact.
enum class ContactRule : std::uint8_t {
  surfaces,     ///< the two surfaces here: nearest points
  normal_of_a,  ///< it is that of a face of A
  normal_of_b,
  normal_of_nearest,  ///< it is that of the two solids' nearest points, which are elsewhere
  fixed               ///< nothing, and the two points stay on their bodies
};

/// Where nearest points do not decide, of the relations `here` counts what holds the point: a
/// vertex on one side, or two edges that cross; the other side is empty (α = β = 0).
struct ContactCurvature {
  Mat3 frame = Mat3::Identity();  ///< [n t₁ t₂]
  double length = 1;              ///< a size of the solids, to judge what is flat [m]
  ContactRule rule = ContactRule::surfaces;
  MeetingSurfaces here = {};
  MeetingSurfaces nearest = {};                                   ///< for normal_of_nearest
  Vec3 to_nearest_a = Vec3::Zero(), to_nearest_b = Vec3::Zero();  ///< from the points here, world
};

/// Of a contact as `find` or `remeasure` left it at `state`: what `contact_rates` makes of it is
/// the derivative of what `remeasure` does.
ContactCurvature contact_curvature(const ContactFinder& finder, const State& state,
                                   const Contact& contact);

/// p_A, p_B and δn in the tangent plane as linear maps of the motion (ω_A, ω_B, v), all in the axes
/// of `frame`: angular velocities, and the relative velocity v_A − v_B of the two material points
/// here.
struct ContactRates {
  using Map = Eigen::Matrix<double, 2, 9>;
  Mat3 frame = Mat3::Identity();
  Map point_a = Map::Zero(), point_b = Map::Zero();  ///< p_A, p_B
  Map normal = Map::Zero();                          ///< δn
};

/// Solves the relations. Where a direction is flat on both sides (a face on a face, parallel
/// cylinders) the contact is anywhere along it: it stays where it is on A, and n turns with B.
/// Where vertices touch that have no gap to give a direction, n turns with B as well.
ContactRates contact_rates(const ContactCurvature& curvature);

/// The same for a motion in world axes. The point midway, where rows are taken, moves by
/// ½(v_A + p_A + v_B + p_B).
struct ContactMotion {
  Vec3 point_a = Vec3::Zero(), point_b = Vec3::Zero();  ///< over the bodies, world axes
  Vec3 normal = Vec3::Zero();                           ///< δn
};
ContactMotion contact_motion(const ContactRates& rates, const Vec3& omega_a, const Vec3& omega_b,
                             const Vec3& velocity);

/// How fast the tangents of `contact_frame` turn about n while n changes by δn:
/// δt₁ = −n (t₁·δn) + w t₂, δt₂ = −n (t₂·δn) − w t₁. Tangents that are carried along have w = 0.
double frame_spin(const Vec3& n, const Vec3& dn);

}  // namespace urto
