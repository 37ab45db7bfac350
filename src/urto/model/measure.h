// Scalar measures between two frames: the one building block of joints, limits, motors, joint
// friction and springs.
//
// Frame a (on body A) and frame b (on body B) have origins X_a, X_b and axes F_a = A_a R_a, F_b =
// A_b R_b (columns, world); w = X_b − X_a. A measure is a function c(q) of the two poses with its
// row and its second derivative in the tangent space:
//
//     ċ = J v,      J: (v_A, Ω_A, v_B, Ω_B), 12 numbers     (world velocity, body angular velocity:
//                   design §3)
//     K_ij = ∂J_i/∂δ_j  for increments q ⊕ δ,   so that  J̇ v = vᵀ K v
//                       and the geometric stiffness (Jᵀλ)_q = λ K
//
// K is not symmetric on the Lie group (its skew part is the bracket); it is exact, and checked by
// finite differences of ⊕. Sources: recipe 000 §2.3 (positions, distance), the rest derived from δd
// = −A ã θ for a body-fixed direction d = A a.
#pragma once

#include <cstdint>

#include "urto/math/rotation.h"
#include "urto/math/types.h"

namespace urto {

using Row12 = Eigen::Matrix<double, 12, 1>;  ///< a row of J, stored as a column
using Mat12 = Eigen::Matrix<double, 12, 12>;

struct Pose {
  Vec3 position = Vec3::Zero();
  Vec4 rotation = identity_quaternion();
};

/// A body as a measure sees it.
struct BodyPlace {
  Vec3 x = Vec3::Zero();      ///< centre of mass, world
  Mat3 A = Mat3::Identity();  ///< body axes to world axes
};

/// A frame fixed in a body: origin p and axes R in body coordinates (from the centre of mass).
struct LocalFrame {
  Vec3 p = Vec3::Zero();
  Mat3 R = Mat3::Identity();
};

enum class MeasureKind : std::uint8_t {
  along,     ///< F_a e_i · w: coordinate i of b's origin in a's axes
  dot,       ///< F_a e_i · F_b e_j: zero when the axes are at right angles
  distance,  ///< ‖w‖
  /// Angle in [−π, π] about axis i of a, from a's axis i+1 to b's axis j (usually j = i+1):
  /// atan2(F_b e_j·F_a e_{i+2}, F_b e_j·F_a e_{i+1}), indices mod 3. Positive when b turns
  /// right-handed.
  angle,
  swing,  ///< angle in [0, π] between axis i of a and axis j of b
  /// Angle in [−π, π] about axis j of b, from a's axis i to b's axis j+2 (usually i = j+2):
  /// atan2(F_a e_i·F_b e_{j+1}, F_a e_i·F_b e_{j+2}), indices mod 3. Positive when b turns
  /// right-handed. The second angle of a universal joint, which no angle about an axis of a reads.
  angle_about_b,
};

struct Measure {
  MeasureKind kind = MeasureKind::along;
  std::uint8_t i = 0, j = 0;
};

/// True for measures that count turns.
inline bool is_angle(const Measure& m) {
  return m.kind == MeasureKind::angle || m.kind == MeasureKind::angle_about_b;
}

/// True for measures in metres; the others are in radians, or cosines.
inline bool is_length(const Measure& m) {
  return m.kind == MeasureKind::along || m.kind == MeasureKind::distance;
}

struct MeasureValue {
  double value = 0;
  Row12 J = Row12::Zero();
};

/// Value and row. `distance` of coincident points, `swing` at 0 and π and an angle whose pointer
/// (axis j of b, or i of a) lies along the axis of turning have no gradient: J and K are then zero
/// (assert-free; callers that care test the value).
MeasureValue evaluate(const Measure& m, const BodyPlace& A, const LocalFrame& a, const BodyPlace& B,
                      const LocalFrame& b);

/// Its value alone: the same bits for a third of the time.
double value(const Measure& m, const BodyPlace& A, const LocalFrame& a, const BodyPlace& B,
             const LocalFrame& b);

/// K of the measure.
Mat12 second_derivative(const Measure& m, const BodyPlace& A, const LocalFrame& a,
                        const BodyPlace& B, const LocalFrame& b);

}  // namespace urto
