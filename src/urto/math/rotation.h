// Rotations, and the kinematics of a contact between two rigid bodies.
//
// Frozen conventions (design §3, recipe 003 §2, items 8–10): a unit quaternion p = (w, x, y, z)
// turns body coordinates into world coordinates; angular velocity Ω is in the body frame, so Ṙ = R
// Ω̃ and ṗ = ½ p ∘ (0, Ω); increments multiply on the right, p ← p ∘ exp(θ). Quaternions are plain
// 4-vectors, because that is how a state stores them.
//
// Sources: recipe 003 §5.8 (quaternions), §5.13 and A1 (contact); recipe 000 §2.2 (increments). The
// tangent maps of SO(3) are in no recipe but classical (e.g. Iserles et al., Lie-group methods,
// Acta Numerica 2000, appendix B); the signs follow from the convention above.
#pragma once

#include <cmath>

#include <Eigen/Core>
#include <Eigen/Geometry>

#include "urto/math/types.h"

namespace urto {

using Mat4 = Eigen::Matrix4d;
using Mat43 = Eigen::Matrix<double, 4, 3>;
using Mat36 = Eigen::Matrix<double, 3, 6>;
using Mat3x12 = Eigen::Matrix<double, 3, 12>;

// ---- 3-vectors and skew matrices

/// x̃ with x̃ y = x × y.
inline Mat3 skew(const Vec3& x) {
  Mat3 m;
  m << 0, -x.z(), x.y(), x.z(), 0, -x.x(), -x.y(), x.x(), 0;
  return m;
}

/// Inverse of `skew`; of any other matrix it takes the skew part.
inline Vec3 vee(const Mat3& m) {
  return 0.5 * Vec3(m(2, 1) - m(1, 2), m(0, 2) - m(2, 0), m(1, 0) - m(0, 1));
}

// ---- Quaternions

inline Vec4 identity_quaternion() {
  return {1, 0, 0, 0};
}

/// p ∘ q: first q, then p.
inline Vec4 quaternion_product(const Vec4& p, const Vec4& q) {
  return {p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3],
          p[0] * q[1] + p[1] * q[0] + p[2] * q[3] - p[3] * q[2],
          p[0] * q[2] - p[1] * q[3] + p[2] * q[0] + p[3] * q[1],
          p[0] * q[3] + p[1] * q[2] - p[2] * q[1] + p[3] * q[0]};
}

inline Vec4 conjugate(const Vec4& p) {
  return {p[0], -p[1], -p[2], -p[3]};
}

Mat4 left_product_matrix(const Vec4& p);   ///< [p∘]: p ∘ q = [p∘] q
Mat4 right_product_matrix(const Vec4& q);  ///< [∘q]: p ∘ q = [∘q] p

/// p / ‖p‖ for any p ≠ 0, however small or large.
Vec4 normalize(const Vec4& p);

/// The rotation by the vector θ: (cos ½‖θ‖, θ/‖θ‖ sin ½‖θ‖).
Vec4 quaternion_exp(const Vec3& theta);

/// The shortest rotation vector of p, ‖θ‖ ≤ π; the same for p, −p and any positive multiple. Where
/// two are equally short (half a turn, w = 0) it is the one along the vector part.
Vec3 quaternion_log(const Vec4& p);

/// p ⊕ θ.
inline Vec4 add_rotation(const Vec4& p, const Vec3& theta) {
  return quaternion_product(p, quaternion_exp(theta));
}

/// to ⊖ from: the shortest θ with from ⊕ θ = ±to.
inline Vec3 rotation_difference(const Vec4& to, const Vec4& from) {
  return quaternion_log(quaternion_product(conjugate(from), to));
}

/// R x for a unit quaternion.
inline Vec3 rotate(const Vec4& p, const Vec3& x) {
  const Vec3 v = p.tail<3>();
  const Vec3 t = 2 * v.cross(x);
  return x + p[0] * t + v.cross(t);
}

/// Rᵀ x for a unit quaternion.
inline Vec3 rotate_back(const Vec4& p, const Vec3& x) {
  return rotate(conjugate(p), x);
}

/// Φ(p), a rotation for unit p only.
Mat3 rotation_matrix(const Vec4& p);

/// The unit quaternion with w ≥ 0 of a rotation matrix that is orthonormal to rounding. Shepperd's
/// choice of the largest component keeps every digit at half a turn.
Vec4 quaternion_from_matrix(const Mat3& R);

/// Ψ(p): ṗ = Ψ(p) Ω. For unit p, ΨᵀΨ = ¼ I.
Mat43 quaternion_rate_matrix(const Vec4& p);

/// Ω = 4 Ψ(p)ᵀ ṗ for unit p (not Ψᵀṗ: recipe 003, E19).
inline Vec3 angular_velocity(const Vec4& p, const Vec4& p_dot) {
  return 4 * (quaternion_rate_matrix(p).transpose() * p_dot);
}

// ---- Tangent maps of SO(3)

/// T(θ) = dexp₋θ, the right Jacobian: exp(θ + δ) = exp(θ) ∘ exp(T(θ) δ + O(δ²)), so Ω = T(θ) θ̇ on p
/// = p₀ ∘ exp(θ). Singular where ‖θ‖ is a multiple of 2π (but not at 0).
Mat3 right_jacobian(const Vec3& theta);

/// T(θ)⁻¹: θ̇ = T(θ)⁻¹ Ω. Regular through ‖θ‖ = π; grows without bound towards 2π.
Mat3 right_jacobian_inverse(const Vec3& theta);

/// dexp_θ, for increments on the left and world-frame angular velocity.
inline Mat3 left_jacobian(const Vec3& theta) {
  return right_jacobian(theta).transpose();
}

inline Mat3 left_jacobian_inverse(const Vec3& theta) {
  return right_jacobian_inverse(theta).transpose();
}

// ---- Contact between two bodies

/// The frame [n t₁ t₂] (columns, right-handed) of a unit normal: t₁ is the part across n of the
/// coordinate axis least aligned with n (the first of x, y, z within 1e-3), t₂ = n × t₁. A function
/// of n alone; it jumps where the least aligned axis changes, as every such function must somewhere
/// (not at a normal along an axis). In particular e_z gives (e_z, e_x, e_y).
Mat3 contact_frame(const Vec3& n);

/// The velocity of a point of a body in a contact frame, acting on its (world velocity, body
/// angular velocity): [n t₁ t₂]ᵀ [I | −r̃ R], with `arm` r from the centre of mass to the point in
/// world axes and R the body's rotation. Its transpose takes a reaction to the wrench (world force,
/// body moment).
Mat36 contact_velocity_rows(const Mat3& frame, const Mat3& R, const Vec3& arm);

/// The velocity of A relative to B at a contact point, rows (n, t₁, t₂), acting on (v_A, Ω_A, v_B,
/// Ω_B). The normal points from B to A, so that a positive first row is separation.
Mat3x12 contact_velocity_operator(const Mat3& frame, const Mat3& R_a, const Vec3& arm_a,
                                  const Mat3& R_b, const Vec3& arm_b);

}  // namespace urto
