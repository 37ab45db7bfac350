// Measures between two frames: values, rows and second derivatives. Everything follows from two
// rules for an increment θ of a body (design §3): δ(A x) = −A x̃ θ for x fixed in the body and
// δ(Aᵀy) = [Aᵀy]~ θ for y fixed in the world. Recipe 000 §2.3 has the positions and the distance;
// dot, angle and swing are chain rules on d_a · d_b.
#include "urto/model/measure.h"

#include <cmath>

namespace urto {
namespace {

using Vec6 = Eigen::Matrix<double, 6, 1>;  // (Ω_A, Ω_B)
using Mat6 = Eigen::Matrix<double, 6, 6>;

// Below this sine the plane of a swing or an angle is rounding error of the rotation matrices.
constexpr double no_plane = 1e-14;
// The square of a shorter length leaves the range of normal numbers.
constexpr double no_length = 1e-150;

int next(int i) {
  return i == 2 ? 0 : i + 1;
}

int after_next(int i) {
  return i == 0 ? 2 : i - 1;
}

void set_rotations(Row12& J, const Vec3& on_a, const Vec3& on_b) {
  J.segment<3>(3) = on_a;
  J.segment<3>(9) = on_b;
}

Mat12 with_rotations(const Mat6& K) {
  Mat12 full = Mat12::Zero();
  full.block<3, 3>(3, 3) = K.topLeftCorner<3, 3>();
  full.block<3, 3>(3, 9) = K.topRightCorner<3, 3>();
  full.block<3, 3>(9, 3) = K.bottomLeftCorner<3, 3>();
  full.block<3, 3>(9, 9) = K.bottomRightCorner<3, 3>();
  return full;
}

// ---- (A_a a) · w

// The row and K need p_a and A_aᵀw only as their sum, A_aᵀ(X_b − x_a).
Vec3 point_in_a(const BodyPlace& A, const BodyPlace& B, const LocalFrame& b) {
  return A.A.transpose() * (B.x - A.x + B.A * b.p);
}

MeasureValue along(const Vec3& a, const BodyPlace& A, const LocalFrame& frame_a, const BodyPlace& B,
                   const LocalFrame& frame_b) {
  const Vec3 point = point_in_a(A, B, frame_b);
  const Vec3 d = A.A * a;
  MeasureValue result;
  result.value = a.dot(point - frame_a.p);
  result.J.segment<3>(0) = -d;
  result.J.segment<3>(3) = a.cross(point);
  result.J.segment<3>(6) = d;
  result.J.segment<3>(9) = frame_b.p.cross(B.A.transpose() * d);
  return result;
}

Mat12 along_second(const Vec3& a, const BodyPlace& A, const BodyPlace& B,
                   const LocalFrame& frame_b) {
  const Mat3 a_skew = skew(a);
  const Mat3 turned = A.A * a_skew;
  const Mat3 p_skew = skew(frame_b.p);
  const Mat3 cross_block = turned.transpose() * B.A * p_skew;  // −ã A_aᵀ A_b p̃_b
  Mat12 K = Mat12::Zero();
  K.block<3, 3>(0, 3) = turned;
  K.block<3, 3>(3, 0) = turned.transpose();
  K.block<3, 3>(3, 3) = a_skew * skew(point_in_a(A, B, frame_b));
  K.block<3, 3>(3, 6) = -turned.transpose();
  K.block<3, 3>(3, 9) = cross_block;
  K.block<3, 3>(6, 3) = -turned;
  K.block<3, 3>(9, 3) = cross_block.transpose();
  K.block<3, 3>(9, 9) = p_skew * skew(B.A.transpose() * (A.A * a));
  return K;
}

// ---- ‖w‖

Vec3 between_origins(const BodyPlace& A, const LocalFrame& a, const BodyPlace& B,
                     const LocalFrame& b) {
  return (B.x - A.x) + (B.A * b.p - A.A * a.p);
}

MeasureValue distance(const BodyPlace& A, const LocalFrame& a, const BodyPlace& B,
                      const LocalFrame& b) {
  const Vec3 w = between_origins(A, a, B, b);
  MeasureValue result;
  result.value = w.norm();
  if (!(result.value > no_length)) return result;
  const Vec3 n = w / result.value;
  result.J.segment<3>(0) = -n;
  result.J.segment<3>(3) = (A.A.transpose() * n).cross(a.p);
  result.J.segment<3>(6) = n;
  result.J.segment<3>(9) = b.p.cross(B.A.transpose() * n);
  return result;
}

// K = (WᵀW − J Jᵀ)/‖w‖ + (∂Wᵀ) n, with δw = W δ, W = [−I | U_a | I | −U_b], U = A p̃ and J = Wᵀn.
Mat12 distance_second(const BodyPlace& A, const LocalFrame& a, const BodyPlace& B,
                      const LocalFrame& b) {
  const MeasureValue c = distance(A, a, B, b);
  Mat12 K = Mat12::Zero();
  if (!(c.value > no_length)) return K;
  const Mat3 a_skew = skew(a.p), b_skew = skew(b.p);
  const Mat3 U_a = A.A * a_skew, U_b = B.A * b_skew;
  K.block<3, 3>(0, 0).setIdentity();
  K.block<3, 3>(0, 3) = -U_a;
  K.block<3, 3>(0, 6) = -Mat3::Identity();
  K.block<3, 3>(0, 9) = U_b;
  K.block<3, 3>(3, 3) = a_skew.transpose() * a_skew;
  K.block<3, 3>(3, 6) = U_a.transpose();
  K.block<3, 3>(3, 9) = -U_a.transpose() * U_b;
  K.block<3, 3>(6, 6).setIdentity();
  K.block<3, 3>(6, 9) = -U_b;
  K.block<3, 3>(9, 9) = b_skew.transpose() * b_skew;
  for (int row = 3; row < 12; row += 3) {
    for (int column = 0; column < row; column += 3) {
      K.block<3, 3>(row, column) = K.block<3, 3>(column, row).transpose();
    }
  }
  K = (K - c.J * c.J.transpose()) / c.value;
  const Vec3 n = c.J.segment<3>(6);
  K.block<3, 3>(3, 3) -= a_skew * skew(A.A.transpose() * n);
  K.block<3, 3>(9, 9) += b_skew * skew(B.A.transpose() * n);
  return K;
}

// ---- d_a · d_b of directions a, b fixed in the bodies, and functions of it

// a × A_aᵀ d_b = A_aᵀ(d_a × d_b), and on the other body the opposite: one cross product for both.
Vec6 dot_row(const BodyPlace& A, const Vec3& a, const BodyPlace& B, const Vec3& b) {
  const Vec3 n = (A.A * a).cross(B.A * b);
  Vec6 J;
  J << A.A.transpose() * n, -(B.A.transpose() * n);
  return J;
}

Mat6 dot_second(const BodyPlace& A, const Vec3& a, const BodyPlace& B, const Vec3& b) {
  const Vec3 d_a = A.A * a, d_b = B.A * b;
  const Mat3 a_skew = skew(a), b_skew = skew(b);
  const Mat3 a_turned = A.A * a_skew, b_turned = B.A * b_skew;
  const Mat3 cross_block = a_turned.transpose() * b_turned;  // −ã A_aᵀ A_b b̃
  Mat6 K;
  K << a_skew * skew(A.A.transpose() * d_b), cross_block, cross_block.transpose(),
      b_skew * skew(B.A.transpose() * d_a);
  return K;
}

MeasureValue dot(const BodyPlace& A, const Vec3& a, const BodyPlace& B, const Vec3& b) {
  const Vec3 d_a = A.A * a, d_b = B.A * b;
  const Vec3 n = d_a.cross(d_b);
  MeasureValue result;
  result.value = d_a.dot(d_b);
  set_rotations(result.J, A.A.transpose() * n, -(B.A.transpose() * n));
  return result;
}

// acos(d_a · d_b) loses half its digits near 0 and π; the arctangent keeps them, and the row is the
// unit normal at every angle.
MeasureValue swing(const BodyPlace& A, const Vec3& a, const BodyPlace& B, const Vec3& b) {
  const Vec3 d_a = A.A * a, d_b = B.A * b;
  Vec3 n = d_a.cross(d_b);
  const double sine = n.norm();
  MeasureValue result;
  result.value = std::atan2(sine, d_a.dot(d_b));
  if (!(sine > no_plane)) return result;
  n /= sine;
  set_rotations(result.J, -(A.A.transpose() * n), B.A.transpose() * n);
  return result;
}

// With x = d_a · d_b: φ' = −1/sin φ, φ'' = −cos φ/sin³ φ, and φ' ∂x is the row of φ itself.
Mat12 swing_second(const BodyPlace& A, const Vec3& a, const BodyPlace& B, const Vec3& b) {
  const Vec3 d_a = A.A * a, d_b = B.A * b;
  const double sine = d_a.cross(d_b).norm();
  if (!(sine > no_plane)) return Mat12::Zero();
  const Vec6 J = dot_row(A, a, B, b) / sine;
  const Mat6 K = (dot_second(A, a, B, b) + d_a.dot(d_b) * (J * J.transpose())) / -sine;
  return with_rotations(K);
}

// ---- atan2(s, k) of two dots that share one direction

// (a_s · b_s, a_k · b_k), each in its body; either a_s = a_k or b_s = b_k.
struct TwoDots {
  Vec3 a_s, a_k, b_s, b_k;
};

TwoDots dots_of_angle(const Measure& m, const LocalFrame& a, const LocalFrame& b) {
  if (m.kind == MeasureKind::angle) {
    return {a.R.col(after_next(m.i)), a.R.col(next(m.i)), b.R.col(m.j), b.R.col(m.j)};
  }
  return {a.R.col(m.i), a.R.col(m.i), b.R.col(next(m.j)), b.R.col(after_next(m.j))};
}

// ∂atan2(s, k) = (k ∂s − s ∂k)/r². A dot is linear in each direction, so r² times this is the row
// of one dot, of the directions a and b below, and k K_s − s K_k is its second derivative.
struct Angle {
  double s, k, squared;
  Vec3 a, b;
};

Angle angle_of(const Measure& m, const BodyPlace& A, const LocalFrame& frame_a, const BodyPlace& B,
               const LocalFrame& frame_b) {
  const TwoDots d = dots_of_angle(m, frame_a, frame_b);
  Angle c;
  if (m.kind == MeasureKind::angle) {
    const Vec3 shared = A.A.transpose() * (B.A * d.b_s);
    c.s = d.a_s.dot(shared);
    c.k = d.a_k.dot(shared);
    c.a = c.k * d.a_s - c.s * d.a_k;
    c.b = d.b_s;
  } else {
    const Vec3 shared = B.A.transpose() * (A.A * d.a_s);
    c.s = d.b_s.dot(shared);
    c.k = d.b_k.dot(shared);
    c.a = d.a_s;
    c.b = c.k * d.b_s - c.s * d.b_k;
  }
  c.squared = c.s * c.s + c.k * c.k;
  return c;
}

bool has_plane(const Angle& c) {
  return c.squared > no_plane * no_plane;
}

MeasureValue angle(const Measure& m, const BodyPlace& A, const LocalFrame& a, const BodyPlace& B,
                   const LocalFrame& b) {
  const Angle c = angle_of(m, A, a, B, b);
  MeasureValue result;
  result.value = std::atan2(c.s, c.k);
  if (!has_plane(c)) return result;
  const Vec3 n = (A.A * c.a).cross(B.A * c.b) / c.squared;
  set_rotations(result.J, A.A.transpose() * n, -(B.A.transpose() * n));
  return result;
}

// r² K = k K_s − s K_k + J_s J_kᵀ − J_k J_sᵀ − 2 J (s J_s + k J_k)ᵀ with r² J = k J_s − s J_k.
Mat12 angle_second(const Measure& m, const BodyPlace& A, const LocalFrame& a, const BodyPlace& B,
                   const LocalFrame& b) {
  const Angle c = angle_of(m, A, a, B, b);
  if (!has_plane(c)) return Mat12::Zero();
  const TwoDots d = dots_of_angle(m, a, b);
  const Vec6 J_s = dot_row(A, d.a_s, B, d.b_s);
  const Vec6 J_k = dot_row(A, d.a_k, B, d.b_k);
  const Vec6 J = (c.k * J_s - c.s * J_k) / c.squared;
  Mat6 K = dot_second(A, c.a, B, c.b);
  K += J_s * J_k.transpose() - J_k * J_s.transpose();
  K -= 2 * J * (c.s * J_s + c.k * J_k).transpose();
  return with_rotations(K / c.squared);
}

}  // namespace

MeasureValue evaluate(const Measure& m, const BodyPlace& A, const LocalFrame& a, const BodyPlace& B,
                      const LocalFrame& b) {
  switch (m.kind) {
    case MeasureKind::along:
      return along(a.R.col(m.i), A, a, B, b);
    case MeasureKind::dot:
      return dot(A, a.R.col(m.i), B, b.R.col(m.j));
    case MeasureKind::distance:
      return distance(A, a, B, b);
    case MeasureKind::swing:
      return swing(A, a.R.col(m.i), B, b.R.col(m.j));
    case MeasureKind::angle:
    case MeasureKind::angle_about_b:
      return angle(m, A, a, B, b);
  }
  return {};
}

double value(const Measure& m, const BodyPlace& A, const LocalFrame& a, const BodyPlace& B,
             const LocalFrame& b) {
  switch (m.kind) {
    case MeasureKind::along:
      return a.R.col(m.i).dot(point_in_a(A, B, b) - a.p);
    case MeasureKind::dot:
      return (A.A * a.R.col(m.i)).dot(B.A * b.R.col(m.j));
    case MeasureKind::distance:
      return between_origins(A, a, B, b).norm();
    default:
      return evaluate(m, A, a, B, b).value;
  }
}

Mat12 second_derivative(const Measure& m, const BodyPlace& A, const LocalFrame& a,
                        const BodyPlace& B, const LocalFrame& b) {
  switch (m.kind) {
    case MeasureKind::along:
      return along_second(a.R.col(m.i), A, B, b);
    case MeasureKind::dot:
      return with_rotations(dot_second(A, a.R.col(m.i), B, b.R.col(m.j)));
    case MeasureKind::distance:
      return distance_second(A, a, B, b);
    case MeasureKind::swing:
      return swing_second(A, a.R.col(m.i), B, b.R.col(m.j));
    case MeasureKind::angle:
    case MeasureKind::angle_about_b:
      return angle_second(m, A, a, B, b);
  }
  return Mat12::Zero();
}

}  // namespace urto
