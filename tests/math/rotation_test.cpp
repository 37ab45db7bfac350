#include "urto/math/rotation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <gtest/gtest.h>

#include "support/random_numbers.h"

namespace urto {
namespace {

constexpr double pi = std::numbers::pi;
constexpr double eps = std::numeric_limits<double>::epsilon();

struct Random : samples::RandomNumbers {
  using RandomNumbers::RandomNumbers;
  Vec3 vector() { return normals(); }
  Vec3 direction() { return vector().normalized(); }
};

// Zero, underflowing squares, both sides of every branch of the implementation (10⁻⁴ of exp; 2·10⁻⁴
// of log, which branches on tan(a/2); 10⁻³ of T and T⁻¹), half a turn and beyond, and a full turn.
std::vector<double> degenerate_angles() {
  std::vector<double> angles{0,         1e-300,      1e-160,    1e-154,    1e-12,
                             1e-8,      1e-6,        0.5,       1.5,       pi - 1e-4,
                             pi - 1e-9, pi - 1e-12,  pi + 1e-9, pi + 1e-4, pi + 1.25,
                             5,         2 * pi - .1, 2 * pi,    7};
  for (const double branch : {1e-4, 2e-4, 1e-3, 0.01, 0.05, 1., 2., pi}) {
    angles.insert(angles.end(), {std::nextafter(branch, 0.), branch, std::nextafter(branch, 9.),
                                 branch * (1 - 1e-6), branch * (1 + 1e-6)});
  }
  return angles;
}

std::vector<Vec3> directions() {
  Random random(11);
  std::vector<Vec3> result{Vec3::UnitX(),
                           Vec3::UnitY(),
                           Vec3::UnitZ(),
                           -Vec3::UnitX(),
                           -Vec3::UnitZ(),
                           Vec3(1, 1, 1).normalized(),
                           Vec3(1, -1, 0).normalized(),
                           Vec3(1, 1e-9, 0).normalized()};
  for (int i = 0; i < 12; ++i) result.push_back(random.direction());
  return result;
}

std::vector<Vec3> rotation_vectors() {
  std::vector<Vec3> result;
  for (const double angle : degenerate_angles()) {
    for (const Vec3& d : directions()) result.push_back(angle * d);
  }
  Random random(12);
  for (int i = 0; i < 300; ++i) result.push_back(random.uniform(0, 7) * random.direction());
  return result;
}

using LongMat3 = Eigen::Matrix<long double, 3, 3>;

// Σ sᵏ θ̃ᵏ / (k + first)!: exp for first = 0, s = 1 and T for first = 1, s = −1, with nothing shared
// with the code.
Mat3 skew_series(const Vec3& theta, int first, int sign) {
  LongMat3 s;
  const auto t = theta.cast<long double>();
  s << 0, -t.z(), t.y(), t.z(), 0, -t.x(), -t.y(), t.x(), 0;
  LongMat3 term = LongMat3::Identity();
  LongMat3 sum = term;
  for (int k = 1; k < 60; ++k) {
    term = term * s * (static_cast<long double>(sign) / (k + first));
    sum += term;
  }
  return sum.cast<double>();
}

double rotation_distance(const Vec4& p, const Vec4& q) {
  return std::min((p - q).norm(), (p + q).norm());
}

// ---- products

TEST(Quaternion, ProductIsLinearInBothFactors) {
  Random random(1);
  for (int i = 0; i < 100; ++i) {
    const Vec4 p = 3 * random.quaternion(), q = 0.5 * random.quaternion();
    const Vec4 pq = quaternion_product(p, q);
    EXPECT_LT((left_product_matrix(p) * q - pq).norm(), 4 * eps);
    EXPECT_LT((right_product_matrix(q) * p - pq).norm(), 4 * eps);
  }
}

TEST(Quaternion, ProductsOfUnitsAreHamiltons) {
  const Vec4 one = identity_quaternion(), i(0, 1, 0, 0), j(0, 0, 1, 0), k(0, 0, 0, 1);
  EXPECT_EQ(quaternion_product(i, j), k);
  EXPECT_EQ(quaternion_product(j, k), i);
  EXPECT_EQ(quaternion_product(k, i), j);
  EXPECT_EQ(quaternion_product(j, i), -k);
  for (const Vec4& u : {i, j, k}) {
    EXPECT_EQ(quaternion_product(u, u), -one);
    EXPECT_EQ(quaternion_product(one, u), u);
    EXPECT_EQ(quaternion_product(u, one), u);
  }
}

TEST(Quaternion, ProductIsAssociativeAndKeepsTheNorm) {
  Random random(2);
  for (int i = 0; i < 100; ++i) {
    const Vec4 p = random.quaternion(), q = random.quaternion(), r = random.quaternion();
    EXPECT_LT((quaternion_product(quaternion_product(p, q), r) -
               quaternion_product(p, quaternion_product(q, r)))
                  .norm(),
              8 * eps);
    EXPECT_NEAR(quaternion_product(p, q).norm(), 1, 4 * eps);
  }
}

TEST(Quaternion, ConjugateIsTheInverseOfAUnitQuaternion) {
  Random random(3);
  for (int i = 0; i < 100; ++i) {
    const Vec4 p = random.quaternion(), q = random.quaternion();
    EXPECT_LT((quaternion_product(p, conjugate(p)) - identity_quaternion()).norm(), 4 * eps);
    EXPECT_LT((quaternion_product(conjugate(p), p) - identity_quaternion()).norm(), 4 * eps);
    EXPECT_LT((conjugate(quaternion_product(p, q)) - quaternion_product(conjugate(q), conjugate(p)))
                  .norm(),
              4 * eps);
  }
}

TEST(Quaternion, NormalizeGivesUnitLengthAtEveryMagnitude) {
  Random random(4);
  for (const double scale : {1e-307, 1e-200, 1e-8, 1., 1e8, 1e200, 1.7e308}) {
    for (int i = 0; i < 20; ++i) {
      const Vec4 unit = random.quaternion();
      const Vec4 p = normalize(scale * unit);
      EXPECT_NEAR(p.norm(), 1, 2 * eps) << scale;
      EXPECT_LT((p - unit).norm(), 8 * eps) << scale;
    }
  }
  const double most = std::numeric_limits<double>::max();
  EXPECT_LT((normalize(Vec4(most, -most, most, most)) - Vec4(.5, -.5, .5, .5)).norm(), 2 * eps);
}

// ---- matrices

TEST(Rotation, SkewIsTheCrossProductAndVeeItsInverse) {
  Random random(5);
  for (int i = 0; i < 50; ++i) {
    const Vec3 x = random.vector(), y = random.vector();
    EXPECT_LT((skew(x) * y - x.cross(y)).norm(), 8 * eps * x.norm() * y.norm());
    EXPECT_EQ(vee(skew(x)), x);
    Mat3 m;
    m << random.vector(), random.vector(), random.vector();
    EXPECT_LT((skew(vee(m)) - 0.5 * (m - m.transpose())).norm(), 4 * eps * m.norm());
  }
}

TEST(Rotation, MatrixIsAProperRotation) {
  Random random(6);
  for (int i = 0; i < 100; ++i) {
    const Mat3 R = rotation_matrix(random.quaternion());
    EXPECT_LT((R.transpose() * R - Mat3::Identity()).norm(), 16 * eps);
    EXPECT_NEAR(R.determinant(), 1, 16 * eps);
  }
}

TEST(Rotation, MatrixQuaternionSandwichAndRotateAgree) {
  Random random(7);
  for (int i = 0; i < 100; ++i) {
    const Vec4 p = random.quaternion();
    const Vec3 x = random.vector();
    const Vec4 pure(0, x[0], x[1], x[2]);
    const Vec4 sandwich = quaternion_product(quaternion_product(p, pure), conjugate(p));
    const double tolerance = 16 * eps * x.norm();
    EXPECT_NEAR(sandwich[0], 0, tolerance);
    EXPECT_LT((rotate(p, x) - sandwich.tail<3>()).norm(), tolerance);
    EXPECT_LT((rotation_matrix(p) * x - sandwich.tail<3>()).norm(), tolerance);
    EXPECT_LT((rotate_back(p, rotate(p, x)) - x).norm(), tolerance);
    EXPECT_LT((rotate(-p, x) - rotate(p, x)).norm(), tolerance);
  }
}

TEST(Rotation, MatrixOfAProductIsTheProductOfMatrices) {
  Random random(8);
  for (int i = 0; i < 100; ++i) {
    const Vec4 p = random.quaternion(), q = random.quaternion();
    EXPECT_LT((rotation_matrix(quaternion_product(p, q)) - rotation_matrix(p) * rotation_matrix(q))
                  .norm(),
              32 * eps);
  }
}

TEST(Rotation, QuarterTurnAboutZTakesXToY) {
  const Vec4 p = quaternion_exp(0.5 * pi * Vec3::UnitZ());
  EXPECT_LT((rotate(p, Vec3::UnitX()) - Vec3::UnitY()).norm(), 4 * eps);
}

TEST(Rotation, QuaternionOfMatrixUndoesMatrixOfQuaternion) {
  std::vector<Vec4> quaternions;
  for (const Vec3& theta : rotation_vectors()) quaternions.push_back(quaternion_exp(theta));
  Random random(9);
  for (int i = 0; i < 300; ++i) quaternions.push_back(random.quaternion());
  for (const Vec4& d : {Vec4(1, 1, 1, 1), Vec4(1, 1, -1, 1), Vec4(0, 1, 1, 0), Vec4(0, 0, 1, -1),
                        Vec4(1e-9, 1, 1, 1), Vec4(-1e-9, 1, -1, 0)}) {
    quaternions.push_back(d.normalized());
  }
  for (const Vec4& p : quaternions) {
    const Vec4 q = quaternion_from_matrix(rotation_matrix(p));
    EXPECT_LT(rotation_distance(p, q), 8 * eps) << p.transpose();
    EXPECT_GE(q[0], 0);
    EXPECT_NEAR(q.norm(), 1, 2 * eps);
  }
}

TEST(Rotation, QuaternionOfASlightlyDistortedMatrixIsUnitAndNear) {
  Random random(32);
  for (int i = 0; i < 50; ++i) {
    const Vec4 p = random.quaternion();
    Mat3 noise;
    noise << random.vector(), random.vector(), random.vector();
    const Vec4 q = quaternion_from_matrix(rotation_matrix(p) + 1e-6 * noise);
    EXPECT_NEAR(q.norm(), 1, 2 * eps);
    EXPECT_LT(rotation_distance(p, q), 1e-5);
  }
}

TEST(Rotation, HalfTurnsFromMatricesAreExact) {
  for (const Vec3& d : directions()) {
    const Mat3 half_turn = 2 * d * d.transpose() - Mat3::Identity();
    const Vec4 p = quaternion_from_matrix(half_turn);
    EXPECT_NEAR(p[0], 0, 4 * eps);
    EXPECT_LT(p.tail<3>().cross(d).norm(), 4 * eps);
  }
}

// ---- exponential and logarithm

TEST(Rotation, ExpIsTheMatrixExponential) {
  for (const Vec3& theta : rotation_vectors()) {
    const Vec4 p = quaternion_exp(theta);
    EXPECT_NEAR(p.norm(), 1, 4 * eps);
    EXPECT_LT((rotation_matrix(p) - skew_series(theta, 0, 1)).norm(), 16 * eps)
        << theta.transpose();
  }
}

TEST(Rotation, ExpKeepsEveryDigitOfSmallAngles) {
  for (const double angle : degenerate_angles()) {
    if (angle >= 0.1) continue;
    for (const Vec3& d : directions()) {
      const Vec4 p = quaternion_exp(angle * d);
      const double sine = static_cast<double>(std::sin(static_cast<long double>(angle) / 2));
      EXPECT_LE((p.tail<3>() - sine * d).norm(), 4 * eps * sine) << angle;
    }
  }
}

TEST(Rotation, LogOfExpIsIdentityWithinHalfATurn) {
  for (const Vec3& theta : rotation_vectors()) {
    const double angle = theta.norm();
    // At π itself rounding decides which of the two equally short vectors it is.
    if (angle > pi - 4 * eps) continue;
    EXPECT_LE((quaternion_log(quaternion_exp(theta)) - theta).norm(), 6 * eps * angle) << angle;
  }
}

TEST(Rotation, LogTakesTheShortWayRound) {
  for (const Vec3& theta : rotation_vectors()) {
    const double angle = theta.norm();
    const Vec3 log = quaternion_log(quaternion_exp(theta));
    EXPECT_LE(log.norm(), pi * (1 + 2 * eps));
    if (angle < pi + 4 * eps || angle > 3 * pi - 0.1) continue;
    const Vec3 wrapped = theta * ((angle - 2 * pi) / angle);
    EXPECT_LT((log - wrapped).norm(), 16 * eps) << angle;
  }
}

TEST(Rotation, LogOfHalfATurnHasLengthPiAndTheSameMatrix) {
  for (const Vec3& d : directions()) {
    for (const double angle : {pi - 1e-15, pi, pi + 1e-15}) {
      const Vec4 p = quaternion_exp(angle * d);
      const Vec3 log = quaternion_log(p);
      EXPECT_NEAR(log.norm(), pi, 4 * eps * pi);
      EXPECT_LT((rotation_matrix(quaternion_exp(log)) - rotation_matrix(p)).norm(), 16 * eps);
    }
    Vec4 exact;
    exact << 0, d;
    EXPECT_LT((quaternion_log(exact) - pi * d).norm(), 4 * eps * pi);
    exact[0] = -0.0;
    EXPECT_LT((quaternion_log(exact) - pi * d).norm(), 4 * eps * pi);
  }
}

TEST(Rotation, LogIgnoresSignAndScale) {
  Random random(13);
  for (int i = 0; i < 200; ++i) {
    const double angle =
        i % 2 == 0 ? random.uniform(0, pi - 0.01) : std::pow(10., random.uniform(-12, -2));
    const Vec4 p = quaternion_exp(angle * random.direction());
    const Vec3 log = quaternion_log(p);
    EXPECT_EQ(quaternion_log(-p), log);
    EXPECT_LE((quaternion_log(3.7 * p) - log).norm(), 8 * eps * log.norm());
  }
  EXPECT_EQ(quaternion_log(identity_quaternion()), Vec3(0, 0, 0));
  EXPECT_EQ(quaternion_log(-identity_quaternion()), Vec3(0, 0, 0));
}

TEST(Rotation, ExpOfLogIsIdentity) {
  Random random(14);
  for (int i = 0; i < 500; ++i) {
    const Vec4 p = random.quaternion();
    const Vec4 q = quaternion_exp(quaternion_log(p));
    EXPECT_LT(rotation_distance(p, q), 8 * eps);
    EXPECT_GE(q[0], -eps);
  }
}

TEST(Rotation, ExpAndLogAreContinuousAcrossTheirBranches) {
  for (const double branch : {1e-4, 2e-4}) {
    for (const Vec3& d : directions()) {
      double below = branch, above = branch;
      for (int i = 0; i < 8; ++i) {
        below = std::nextafter(below, 0.);
        above = std::nextafter(above, 1.);
      }
      const Vec4 p = quaternion_exp(below * d), q = quaternion_exp(above * d);
      EXPECT_LE((q - p).norm(), 32 * eps * branch);
      EXPECT_LE((quaternion_log(q) - quaternion_log(p)).norm(), 40 * eps * branch);
    }
  }
}

TEST(Rotation, DifferenceUndoesAddition) {
  Random random(15);
  for (int i = 0; i < 200; ++i) {
    const Vec4 p = random.quaternion(), q = random.quaternion();
    const Vec3 theta = random.uniform(0, pi - 0.01) * random.direction();
    EXPECT_LT((rotation_difference(add_rotation(p, theta), p) - theta).norm(), 32 * eps);
    EXPECT_LT((rotation_difference(-add_rotation(p, theta), p) - theta).norm(), 32 * eps);
    EXPECT_LT(rotation_distance(add_rotation(p, rotation_difference(q, p)), q), 16 * eps);
  }
}

// Recipe 000, T1: (51) = (52), and the norm stays one.
TEST(Rotation, LeftIncrementWithWorldVelocityIsRightIncrementWithBodyVelocity) {
  Random random(16);
  for (int i = 0; i < 200; ++i) {
    const Vec4 p = random.quaternion();
    const Vec3 body = random.uniform(0, 4) * random.direction();
    const Vec4 right = add_rotation(p, body);
    const Vec4 left = quaternion_product(quaternion_exp(rotation_matrix(p) * body), p);
    EXPECT_LT((left - right).norm(), 1e-15 * (1 + body.norm()));
    EXPECT_NEAR(right.norm(), 1, 8 * eps);
  }
}

// ---- tangent maps

TEST(TangentMap, IsItsPowerSeries) {
  for (const Vec3& theta : rotation_vectors()) {
    EXPECT_LT((right_jacobian(theta) - skew_series(theta, 1, -1)).norm(), 16 * eps) << theta.norm();
  }
}

TEST(TangentMap, InverseInverts) {
  for (const Vec3& theta : rotation_vectors()) {
    const double angle = theta.norm();
    if (std::abs(angle - 2 * pi) < 1e-3) continue;  // singular there
    const Mat3 T = right_jacobian(theta), inverse = right_jacobian_inverse(theta);
    const double tolerance = 16 * eps * T.norm() * inverse.norm();
    EXPECT_LT((T * inverse - Mat3::Identity()).norm(), tolerance) << angle;
    EXPECT_LT((inverse * T - Mat3::Identity()).norm(), tolerance) << angle;
  }
}

TEST(TangentMap, HasItsClosedFormsAboutACoordinateAxis) {
  for (const double angle :
       {0.99e-3, 1.01e-3, 0.03, 0.3, 0.999, 1.001, 1.5, 1.999, 2.001, 2.5, 3.1}) {
    // On θ = a e_z, T has (0,0) entry sin a/a and T⁻¹ has (a/2) cot(a/2).
    const Vec3 theta(0, 0, angle);
    const long double a = angle;
    EXPECT_NEAR(right_jacobian(theta)(0, 0), static_cast<double>(std::sin(a) / a), eps);
    EXPECT_NEAR(right_jacobian_inverse(theta)(0, 0), static_cast<double>(a / 2 / std::tan(a / 2)),
                eps);
    EXPECT_NEAR(right_jacobian(theta)(0, 1), static_cast<double>((1 - std::cos(a)) / a), eps);
    EXPECT_NEAR(right_jacobian_inverse(theta)(0, 1), -angle / 2, eps);
    EXPECT_EQ(right_jacobian(theta)(2, 2), 1);
  }
}

TEST(TangentMap, IsTheDerivativeOfExp) {
  Random random(17);
  for (int i = 0; i < 100; ++i) {
    const Vec3 theta = random.uniform(0, 6) * random.direction();
    const double h = 1e-5;
    Mat3 right, left;
    for (int k = 0; k < 3; ++k) {
      const Vec4 plus = quaternion_exp(theta + h * Vec3::Unit(k));
      const Vec4 minus = quaternion_exp(theta - h * Vec3::Unit(k));
      right.col(k) = quaternion_log(quaternion_product(conjugate(minus), plus)) / (2 * h);
      left.col(k) = quaternion_log(quaternion_product(plus, conjugate(minus))) / (2 * h);
    }
    EXPECT_LT((right_jacobian(theta) - right).norm(), 1e-8);
    EXPECT_LT((left_jacobian(theta) - left).norm(), 1e-8);
  }
}

TEST(TangentMap, InverseIsTheDerivativeOfLog) {
  Random random(18);
  for (int i = 0; i < 100; ++i) {
    const Vec3 theta = random.uniform(0, 3.1) * random.direction();
    const Vec4 p = quaternion_exp(theta);
    const double h = 1e-5;
    Mat3 right, left;
    for (int k = 0; k < 3; ++k) {
      const Vec4 plus = quaternion_exp(h * Vec3::Unit(k));
      right.col(k) = (quaternion_log(quaternion_product(p, plus)) -
                      quaternion_log(quaternion_product(p, conjugate(plus)))) /
                     (2 * h);
      left.col(k) = (quaternion_log(quaternion_product(plus, p)) -
                     quaternion_log(quaternion_product(conjugate(plus), p))) /
                    (2 * h);
    }
    EXPECT_LT((right_jacobian_inverse(theta) - right).norm(), 1e-7);
    EXPECT_LT((left_jacobian_inverse(theta) - left).norm(), 1e-7);
  }
}

TEST(TangentMap, LeftIsRotatedRight) {
  for (const Vec3& theta : rotation_vectors()) {
    const Mat3 R = rotation_matrix(quaternion_exp(theta));
    EXPECT_LT((left_jacobian(theta) - R * right_jacobian(theta)).norm(), 32 * eps);
    // Neither turns the axis itself.
    EXPECT_LE((right_jacobian(theta) * theta - theta).norm(), 8 * eps * theta.norm());
  }
}

TEST(TangentMap, GrowsWithoutBoundTowardsAFullTurnOnly) {
  const Vec3 d = Vec3(1, 2, -2) / 3;
  EXPECT_LT(right_jacobian_inverse((pi + 1e-9) * d).norm(), 4);
  EXPECT_GT(right_jacobian_inverse((2 * pi - 1e-6) * d).norm(), 1e6);
  EXPECT_LT(right_jacobian((2 * pi) * d).determinant(), 1e-15);
}

// Recipe 000, §2.2 and T10: a torque-free body, I = (1, 2, 3.5), Ω₀ = (1, 0.8, 1.2), T = 2. One
// exponential for each step costs classic RK4 its order; integrating θ̇ = T(θ)⁻¹ Ω keeps it
// (Runge–Kutta–Munthe-Kaas). The recipe prints the largest error of a quaternion component.
struct Spin {
  Vec3 theta = Vec3::Zero(), omega = Vec3::Zero();
};

Vec4 spin(int steps, bool tangent_map) {
  const Vec3 inertia(1, 2, 3.5);
  const double h = 2. / steps;
  Vec4 p = identity_quaternion();
  Vec3 omega(1, 0.8, 1.2);
  const auto rate = [&](const Spin& s) -> Spin {
    const Vec3 momentum = inertia.cwiseProduct(s.omega);
    return {tangent_map ? Vec3(right_jacobian_inverse(s.theta) * s.omega) : s.omega,
            -s.omega.cross(momentum).cwiseQuotient(inertia)};
  };
  for (int i = 0; i < steps; ++i) {
    const auto at = [&](const Spin& k, double c) -> Spin {
      return {c * k.theta, omega + c * k.omega};
    };
    const Spin k1 = rate({Vec3::Zero(), omega});
    const Spin k2 = rate(at(k1, h / 2));
    const Spin k3 = rate(at(k2, h / 2));
    const Spin k4 = rate(at(k3, h));
    p = add_rotation(p, h / 6 * (k1.theta + 2 * k2.theta + 2 * k3.theta + k4.theta));
    omega += h / 6 * (k1.omega + 2 * k2.omega + 2 * k3.omega + k4.omega);
  }
  return p;
}

TEST(TangentMap, KeepsTheOrderOfRungeKuttaOnRotations) {
  const Vec4 reference = spin(4000, true);
  const auto error = [&](int steps, bool tangent_map) {
    return (spin(steps, tangent_map) - reference).cwiseAbs().maxCoeff();
  };
  for (const int steps : {20, 40}) {
    EXPECT_NEAR(std::log2(error(steps, true) / error(2 * steps, true)), 4, 0.25) << steps;
    EXPECT_NEAR(std::log2(error(steps, false) / error(2 * steps, false)), 2, 0.1) << steps;
  }
  EXPECT_NEAR(error(20, false), 1.03e-3, 0.005e-3);
  EXPECT_NEAR(error(40, false), 2.57e-4, 0.005e-4);
  EXPECT_NEAR(error(80, false), 6.42e-5, 0.005e-5);
  EXPECT_LT(error(20, true), 1e-5);
}

// ---- Ψ and the identities of recipe 003, T4

TEST(QuaternionRate, MatrixIsHalfTheProductWithAPureQuaternion) {
  Random random(19);
  for (int i = 0; i < 100; ++i) {
    const Vec4 p = random.quaternion();
    const Vec3 omega = random.vector();
    const Vec4 rate = quaternion_rate_matrix(p) * omega;
    const Vec4 body = 0.5 * quaternion_product(p, Vec4(0, omega[0], omega[1], omega[2]));
    const Vec3 w = rotate(p, omega);
    const Vec4 world = 0.5 * quaternion_product(Vec4(0, w[0], w[1], w[2]), p);
    EXPECT_LT((rate - body).norm(), 4 * eps * omega.norm());
    EXPECT_LT((rate - world).norm(), 16 * eps * omega.norm());
  }
}

TEST(QuaternionRate, MatrixHasOrthogonalColumnsOfLengthOneHalf) {
  Random random(20);
  for (int i = 0; i < 100; ++i) {
    const Vec4 p = random.quaternion();
    const Mat43 psi = quaternion_rate_matrix(p);
    EXPECT_LT((psi.transpose() * psi - 0.25 * Mat3::Identity()).norm(), 2 * eps);
    EXPECT_LT((psi * psi.transpose() - 0.25 * (Mat4::Identity() - p * p.transpose())).norm(),
              2 * eps);
  }
}

TEST(QuaternionRate, AngularVelocityInvertsIt) {
  Random random(21);
  for (int i = 0; i < 100; ++i) {
    const Vec4 p = random.quaternion();
    const Vec3 omega = random.vector();
    const Vec4 p_dot = quaternion_rate_matrix(p) * omega;
    EXPECT_LT((angular_velocity(p, p_dot) - omega).norm(), 8 * eps * omega.norm());
    EXPECT_LT(
        (angular_velocity(p, p_dot) - 2 * quaternion_product(conjugate(p), p_dot).tail<3>()).norm(),
        8 * eps * omega.norm());
    // The part along p is a change of length, not of rotation.
    EXPECT_LT((angular_velocity(p, p_dot + 5 * p) - omega).norm(), 32 * eps * (omega.norm() + 5));
  }
}

TEST(QuaternionRate, IsTheDerivativeOfTheIncrement) {
  Random random(22);
  for (int i = 0; i < 50; ++i) {
    const Vec4 p = random.quaternion();
    const Vec3 omega = random.direction();
    const double h = 1e-5;
    const Vec4 p_dot = (add_rotation(p, h * omega) - add_rotation(p, -h * omega)) / (2 * h);
    EXPECT_LT((quaternion_rate_matrix(p) * omega - p_dot).norm(), 1e-9);
    const Mat3 R_dot = (rotation_matrix(add_rotation(p, h * omega)) -
                        rotation_matrix(add_rotation(p, -h * omega))) /
                       (2 * h);
    EXPECT_LT((R_dot - rotation_matrix(p) * skew(omega)).norm(), 1e-9);
  }
}

// ∇ₚ(Φᵀm) as recipe 003 §5.11 prints it, in place of the source's truncated (11.76).
Eigen::Matrix<double, 3, 4> gradient_of_body_moment(const Vec4& p, const Vec3& m) {
  const double p0 = p[0], p1 = p[1], p2 = p[2], p3 = p[3];
  const double m1 = m[0], m2 = m[1], m3 = m[2];
  Eigen::Matrix<double, 3, 4> g;
  g << 2 * m2 * p3 - 2 * m3 * p2, 2 * m2 * p2 + 2 * m3 * p3,
      -4 * m1 * p2 + 2 * m2 * p1 - 2 * m3 * p0, -4 * m1 * p3 + 2 * m2 * p0 + 2 * m3 * p1,
      -2 * m1 * p3 + 2 * m3 * p1, 2 * m1 * p2 - 4 * m2 * p1 + 2 * m3 * p0,
      2 * m1 * p1 + 2 * m3 * p3, -2 * m1 * p0 - 4 * m2 * p3 + 2 * m3 * p2,
      2 * m1 * p2 - 2 * m2 * p1, 2 * m1 * p3 - 2 * m2 * p0 - 4 * m3 * p1,
      2 * m1 * p0 + 2 * m2 * p3 - 4 * m3 * p2, 2 * m1 * p1 + 2 * m2 * p2;
  return g;
}

TEST(RecipeIdentities, GradientOfAWorldMomentInBodyAxesIsOneSkewMatrix) {
  Random random(23);
  for (int i = 0; i < 100; ++i) {
    const Vec4 p = random.quaternion();
    const Vec3 m = random.vector();
    const auto gradient = gradient_of_body_moment(p, m);
    // Φ is quadratic in p, so that central differences are exact with any step.
    for (int k = 0; k < 4; ++k) {
      const Vec3 difference =
          0.5 *
          (rotation_matrix(p + Vec4::Unit(k)) - rotation_matrix(p - Vec4::Unit(k))).transpose() * m;
      EXPECT_LT((gradient.col(k) - difference).norm(), 64 * eps * m.norm());
    }
    const Mat3 expected = skew(rotation_matrix(p).transpose() * m);
    EXPECT_LT((gradient * quaternion_rate_matrix(p) - expected).norm(), 32 * eps * m.norm());
  }
}

TEST(RecipeIdentities, GradientOfAGapActsOnTheTwistAsNormalAndArm) {
  Random random(24);
  for (int i = 0; i < 100; ++i) {
    const Vec4 p = random.quaternion();
    const Vec3 arm = random.vector(), n = random.direction();
    const Mat3 R = rotation_matrix(p);
    // ∂h/∂pᵢ of recipe 003 §5.12, with GP = p ∘ (0, r_b) ∘ p̄.
    const Vec4 local(0, arm[0], arm[1], arm[2]);
    const Vec4 gp = quaternion_product(quaternion_product(p, local), conjugate(p));
    Eigen::RowVector4d gradient;
    for (int k = 0; k < 4; ++k) {
      const Vec4 unit = Vec4::Unit(k);
      const Vec4 d = quaternion_product(quaternion_product(unit, conjugate(p)), gp) +
                     quaternion_product(quaternion_product(gp, p), conjugate(unit)) - 2 * p[k] * gp;
      gradient[k] = d.tail<3>().dot(n);
    }
    const Eigen::RowVector3d angular = gradient * quaternion_rate_matrix(p);
    const Vec3 expected = arm.cross(R.transpose() * n);
    const double tolerance = 64 * eps * arm.norm();
    EXPECT_LT((angular.transpose() - expected).norm(), tolerance);

    const Mat36 rows = contact_velocity_rows(contact_frame(n), R, R * arm);
    EXPECT_LT((rows.row(0).head<3>().transpose() - n).norm(), eps);
    EXPECT_LT((rows.row(0).tail<3>().transpose() - expected).norm(), tolerance);
  }
}

// ---- contact

struct Pair {
  Mat3 frame, R_a, R_b;
  Vec3 arm_a, arm_b;
  explicit Pair(Random& random)
      : frame(contact_frame(random.direction())),
        R_a(rotation_matrix(random.quaternion())),
        R_b(rotation_matrix(random.quaternion())),
        arm_a(random.vector()),
        arm_b(random.vector()) {}
  Mat3x12 rows() const { return contact_velocity_operator(frame, R_a, arm_a, R_b, arm_b); }
};

TEST(Contact, FrameIsRightHandedOrthonormalAndStartsWithTheNormal) {
  std::vector<Vec3> normals = directions();
  Random random(25);
  for (int i = 0; i < 500; ++i) normals.push_back(random.direction());
  for (const Vec3& n : normals) {
    const Mat3 frame = contact_frame(n);
    EXPECT_EQ(frame.col(0), n);
    EXPECT_LT((frame.transpose() * frame - Mat3::Identity()).norm(), 8 * eps) << n.transpose();
    EXPECT_NEAR(frame.determinant(), 1, 8 * eps);
  }
}

TEST(Contact, FrameIsTheDocumentedFunctionOfTheNormal) {
  const auto columns = [](const Vec3& n, const Vec3& t1, const Vec3& t2) {
    Mat3 m;
    m << n, t1, t2;
    return m;
  };
  const Vec3 x = Vec3::UnitX(), y = Vec3::UnitY(), z = Vec3::UnitZ();
  EXPECT_EQ(contact_frame(z), columns(z, x, y));
  EXPECT_EQ(contact_frame(x), columns(x, y, z));
  EXPECT_EQ(contact_frame(y), columns(y, x, -z));
  EXPECT_EQ(contact_frame(-z), columns(-z, x, -y));
  Random random(26);
  for (int i = 0; i < 200; ++i) {
    const Vec3 n = random.direction();
    const Mat3 frame = contact_frame(n), opposite = contact_frame(-n);
    EXPECT_EQ(opposite.col(1), frame.col(1));
    EXPECT_EQ(opposite.col(2), -frame.col(2));
    // t₁ lies in the plane of n and the least aligned axis, on that axis' side.
    int axis = 0;
    n.cwiseAbs().minCoeff(&axis);
    EXPECT_NEAR(frame.col(1).dot(n.cross(Vec3::Unit(axis))), 0, 4 * eps);
    EXPECT_GT(frame.col(1)[axis], 0.8);  // at least √(2/3)
  }
}

TEST(Contact, OperatorIsTheFormulaOfTheRecipe) {
  Random random(27);
  for (int i = 0; i < 100; ++i) {
    const Pair c(random);
    Eigen::Matrix<double, 3, 12> expected;
    expected << Mat3::Identity(), -skew(c.arm_a) * c.R_a, -Mat3::Identity(), skew(c.arm_b) * c.R_b;
    expected = c.frame.transpose() * expected;
    EXPECT_LT((c.rows() - expected).norm(), 16 * eps * (2 + c.arm_a.norm() + c.arm_b.norm()));
  }
}

TEST(Contact, OperatorIsTheRelativeVelocityOfTheTwoPoints) {
  Random random(28);
  for (int i = 0; i < 50; ++i) {
    const Vec3 x_a = random.vector(), x_b = random.vector();
    const Vec4 p_a = random.quaternion(), p_b = random.quaternion();
    const Vec3 local_a = random.vector(), local_b = random.vector();
    const Mat3 frame = contact_frame(random.direction());
    Eigen::Matrix<double, 12, 1> v;
    v << random.vector(), random.vector(), random.vector(), random.vector();
    // Two material points, moved for ±h with the product's own increments.
    const auto separation = [&](double h) -> Vec3 {
      const Vec3 a =
          x_a + h * v.segment<3>(0) + rotate(add_rotation(p_a, h * v.segment<3>(3)), local_a);
      const Vec3 b =
          x_b + h * v.segment<3>(6) + rotate(add_rotation(p_b, h * v.segment<3>(9)), local_b);
      return a - b;
    };
    const double h = 1e-5;
    const Vec3 measured = frame.transpose() * (separation(h) - separation(-h)) / (2 * h);
    const Vec3 computed =
        contact_velocity_operator(frame, rotation_matrix(p_a), rotate(p_a, local_a),
                                  rotation_matrix(p_b), rotate(p_b, local_b)) *
        v;
    EXPECT_LT((computed - measured).norm(), 1e-7);
  }
}

TEST(Contact, NormalFromBToAMakesSeparationPositive) {
  const Mat3 frame = contact_frame(Vec3::UnitZ());
  const Mat3x12 rows = contact_velocity_operator(frame, Mat3::Identity(), -Vec3::UnitZ(),
                                                 Mat3::Identity(), Vec3::UnitZ());
  Eigen::Matrix<double, 12, 1> v = Eigen::Matrix<double, 12, 1>::Zero();
  v[2] = 1;  // the upper body A rises
  EXPECT_GT((rows * v)[0], 0);
  v.setZero();
  v[8] = 1;  // the lower body B rises
  EXPECT_LT((rows * v)[0], 0);
}

TEST(Contact, TransposeIsTheWrenchOperator) {
  Random random(29);
  for (int i = 0; i < 100; ++i) {
    const Pair c(random);
    const Vec3 reaction = random.vector();
    const Vec3 force = c.frame * reaction;
    Eigen::Matrix<double, 12, 1> wrench;
    wrench << force, c.R_a.transpose() * c.arm_a.cross(force), -force,
        -(c.R_b.transpose() * c.arm_b.cross(force));
    EXPECT_LT((c.rows().transpose() * reaction - wrench).norm(),
              16 * eps * reaction.norm() * (2 + c.arm_a.norm() + c.arm_b.norm()));
  }
}

TEST(Contact, RigidMotionOfBothBodiesTogetherIsNotSeen) {
  Random random(30);
  for (int i = 0; i < 50; ++i) {
    const Pair c(random);
    const Vec3 velocity = random.vector(),
               omega = random.vector();  // of a frame at the contact point
    Eigen::Matrix<double, 12, 1> v;
    v << velocity - omega.cross(c.arm_a), c.R_a.transpose() * omega,
        velocity - omega.cross(c.arm_b), c.R_b.transpose() * omega;
    EXPECT_LT((c.rows() * v).norm(),
              64 * eps * (1 + v.norm()) * (1 + c.arm_a.norm() + c.arm_b.norm()));
  }
}

TEST(Contact, ABallIsNotTurnedByItsNormal) {
  Random random(31);
  for (int i = 0; i < 50; ++i) {
    const Vec3 n = random.direction();
    const Mat36 rows =
        contact_velocity_rows(contact_frame(n), rotation_matrix(random.quaternion()), -0.7 * n);
    EXPECT_LT(rows.row(0).tail<3>().norm(), 2 * eps);
    EXPECT_NEAR(rows.row(1).tail<3>().norm(), 0.7, 8 * eps);
  }
}

}  // namespace
}  // namespace urto
