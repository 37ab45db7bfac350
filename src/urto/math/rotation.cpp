#include "urto/math/rotation.h"

#include <cassert>

namespace urto {
namespace {

double sinc(double x) {
  // Exact to rounding down to the smallest x; only x = 0 needs the limit.
  return x == 0 ? 1 : std::sin(x) / x;
}

// Below this angle two terms of a series are exact. Above it the differences in the closed forms
// cancel, but they multiply θ̃², of the size a², so that nothing is lost in the matrix.
constexpr double series_angle = 1e-3;

}  // namespace

Mat4 left_product_matrix(const Vec4& p) {
  Mat4 m;
  m << p[0], -p[1], -p[2], -p[3],  //
      p[1], p[0], -p[3], p[2],     //
      p[2], p[3], p[0], -p[1],     //
      p[3], -p[2], p[1], p[0];
  return m;
}

Mat4 right_product_matrix(const Vec4& q) {
  Mat4 m;
  m << q[0], -q[1], -q[2], -q[3],  //
      q[1], q[0], q[3], -q[2],     //
      q[2], -q[3], q[0], q[1],     //
      q[3], q[2], -q[1], q[0];
  return m;
}

Vec4 normalize(const Vec4& p) {
  const double scale = p.cwiseAbs().maxCoeff();
  assert(!(scale <= 0));  // not-a-number passes, and a stepper finds it at the end of its step
  // Squares of the unscaled components may leave the range of double.
  return (p / scale).normalized();
}

Vec4 quaternion_exp(const Vec3& theta) {
  const double a2 = theta.squaredNorm();
  const double a = std::sqrt(a2);
  // Recipe 000 §2.2: sin(a/2)/a by its series below 10⁻⁴, where a² may have underflowed.
  const double factor = a < 1e-4 ? 0.5 - a2 / 48 : std::sin(0.5 * a) / a;
  Vec4 p;
  p << std::cos(0.5 * a), factor * theta;
  return p;
}

Vec3 quaternion_log(const Vec4& p) {
  const double w = std::abs(p[0]);
  const Vec3 v = p[0] < 0 ? Vec3(-p.tail<3>()) : Vec3(p.tail<3>());
  const double n2 = v.squaredNorm();
  const double n = std::sqrt(n2);
  // 2 atan(n/w)/n by its series where n² may have underflowed; acos(w) would lose half the digits
  // there.
  if (n < 1e-4 * w) return (2 / w) * (1 - n2 / (3 * w * w)) * v;
  return (2 * std::atan2(n, w) / n) * v;
}

Mat3 rotation_matrix(const Vec4& p) {
  const double w = p[0], x = p[1], y = p[2], z = p[3];
  Mat3 R;
  R << 1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w),  //
      2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w),   //
      2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y);
  return R;
}

Vec4 quaternion_from_matrix(const Mat3& R) {
  // Four times the products of the components; the row of the largest is p times four times that
  // component.
  const double trace = R.trace();
  const Vec4 squares(1 + trace, 1 + 2 * R(0, 0) - trace, 1 + 2 * R(1, 1) - trace,
                     1 + 2 * R(2, 2) - trace);
  const double wx = R(2, 1) - R(1, 2), wy = R(0, 2) - R(2, 0), wz = R(1, 0) - R(0, 1);
  const double xy = R(1, 0) + R(0, 1), xz = R(0, 2) + R(2, 0), yz = R(2, 1) + R(1, 2);
  int largest = 0;
  squares.maxCoeff(&largest);
  Vec4 p;
  switch (largest) {
    case 0:
      p << squares[0], wx, wy, wz;
      break;
    case 1:
      p << wx, squares[1], xy, xz;
      break;
    case 2:
      p << wy, xy, squares[2], yz;
      break;
    default:
      p << wz, xz, yz, squares[3];
      break;
  }
  p.normalize();
  return p[0] < 0 ? Vec4(-p) : p;
}

Mat43 quaternion_rate_matrix(const Vec4& p) {
  Mat43 m;
  m << -p[1], -p[2], -p[3],  //
      p[0], -p[3], p[2],     //
      p[3], p[0], -p[1],     //
      -p[2], p[1], p[0];
  return 0.5 * m;
}

Mat3 right_jacobian(const Vec3& theta) {
  const double a = theta.norm();
  const double half = sinc(0.5 * a);
  // (1 − cos a)/a² = ½ sinc²(a/2), and (a − sin a)/a³.
  const double c1 = 0.5 * half * half;
  const double c2 = a < series_angle ? 1. / 6 - a * a / 120 : (a - std::sin(a)) / (a * a * a);
  const Mat3 s = skew(theta);
  return Mat3::Identity() - c1 * s + c2 * (s * s);
}

Mat3 right_jacobian_inverse(const Vec3& theta) {
  const double a = theta.norm();
  // (1 − ½a cot ½a)/a²; with the tangent of the half angle nothing special happens at half a turn.
  const double c =
      a < series_angle ? 1. / 12 + a * a / 720 : (1 - 0.5 * a / std::tan(0.5 * a)) / (a * a);
  const Mat3 s = skew(theta);
  return Mat3::Identity() + 0.5 * s + c * (s * s);
}

Mat3 contact_frame(const Vec3& n) {
  assert(std::abs(n.squaredNorm() - 1) < 1e-6);
  // Else rounding would turn the frame of a normal along an axis, to which most are.
  constexpr double alike = 1e-3;
  const Vec3 size = n.cwiseAbs();
  int axis = size[1] < size[0] - alike ? 1 : 0;
  if (size[2] < size[axis] - alike) axis = 2;
  const Vec3 t1 = (Vec3::Unit(axis) - n[axis] * n).normalized();
  Mat3 frame;
  frame << n, t1, n.cross(t1);
  return frame;
}

Mat36 contact_velocity_rows(const Mat3& frame, const Mat3& R, const Vec3& arm) {
  // f·(RΩ × r) = Rᵀ(r × f)·Ω for each axis f: recipe 003 §5.13 without its intermediate matrices.
  Mat36 rows;
  rows.leftCols<3>() = frame.transpose();
  for (int i = 0; i < 3; ++i) {
    rows.block<1, 3>(i, 3) = (R.transpose() * arm.cross(frame.col(i))).transpose();
  }
  return rows;
}

Mat3x12 contact_velocity_operator(const Mat3& frame, const Mat3& R_a, const Vec3& arm_a,
                                  const Mat3& R_b, const Vec3& arm_b) {
  Mat3x12 rows;
  rows << contact_velocity_rows(frame, R_a, arm_a), -contact_velocity_rows(frame, R_b, arm_b);
  return rows;
}

}  // namespace urto
