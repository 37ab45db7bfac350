#include "urto/model/measure.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/random_numbers.h"

namespace urto {
namespace {

constexpr double pi = std::numbers::pi;
constexpr int poses = 250;

struct Random : samples::RandomNumbers {
  using RandomNumbers::RandomNumbers;
  Vec3 vector() { return normals(); }
  Vec3 direction() { return vector().normalized(); }
  Row12 row() {
    Row12 v;
    for (double& x : v) x = uniform(-1, 1);
    return v;
  }
};

struct Pair {
  Pose A, B;
  LocalFrame a, b;
};

Pair random_pair(Random& random) {
  Pair p;
  p.A = {random.vector(), random.quaternion()};
  p.B = {random.vector(), random.quaternion()};
  p.a = {random.vector(), rotation_matrix(random.quaternion())};
  p.b = {random.vector(), rotation_matrix(random.quaternion())};
  return p;
}

BodyPlace place_of(const Pose& pose) {
  return {pose.position, rotation_matrix(pose.rotation)};
}

MeasureValue value_at(const Measure& m, const Pair& p) {
  return evaluate(m, place_of(p.A), p.a, place_of(p.B), p.b);
}

Mat12 second_at(const Measure& m, const Pair& p) {
  return second_derivative(m, place_of(p.A), p.a, place_of(p.B), p.b);
}

// q ⊕ δ of design §3.
Pair moved(const Pair& p, const Row12& delta) {
  Pair result = p;
  result.A.position += delta.segment<3>(0);
  result.A.rotation = add_rotation(p.A.rotation, delta.segment<3>(3));
  result.B.position += delta.segment<3>(6);
  result.B.rotation = add_rotation(p.B.rotation, delta.segment<3>(9));
  return result;
}

bool wraps(const Measure& m) {
  return m.kind == MeasureKind::angle || m.kind == MeasureKind::angle_about_b;
}

// c(q ⊕ δ) − c(q), by the short way round for angles.
double change(const Measure& m, const Pair& p, const Row12& delta) {
  const double difference = value_at(m, moved(p, delta)).value - value_at(m, p).value;
  return wraps(m) ? std::remainder(difference, 2 * pi) : difference;
}

// The central difference of fourth order of a function of a step t, at 0.
template <class F>
auto central_difference(const F& f, double h) {
  return ((8 * (f(h) - f(-h)) - (f(2 * h) - f(-2 * h))) / (12 * h)).eval();
}

using Scalar1 = Eigen::Matrix<double, 1, 1>;

double directional(const Measure& m, const Pair& p, const Row12& v) {
  return central_difference([&](double t) { return Scalar1(change(m, p, t * v)); }, 1e-3)[0];
}

// Every axis (pair) that a kind can name.
std::vector<Measure> all_measures() {
  std::vector<Measure> result{{MeasureKind::distance, 0, 0}};
  for (std::uint8_t i = 0; i < 3; ++i) {
    result.push_back({MeasureKind::along, i, 0});
    for (std::uint8_t j = 0; j < 3; ++j) {
      for (const MeasureKind kind :
           {MeasureKind::dot, MeasureKind::angle, MeasureKind::swing, MeasureKind::angle_about_b}) {
        result.push_back({kind, i, j});
      }
    }
  }
  return result;
}

std::string label(const Measure& m) {
  return "kind " + std::to_string(static_cast<int>(m.kind)) + ", i " + std::to_string(m.i) +
         ", j " + std::to_string(m.j);
}

// Where the measure is far enough from its singularities for differences to be a judge: curvature
// grows as 1/distance and as 1/sin².
bool is_regular(const Measure& m, const Pair& p) {
  const MeasureValue c = value_at(m, p);
  if (m.kind == MeasureKind::distance) return c.value > 0.4;
  if (m.kind == MeasureKind::swing) return std::sin(c.value) > 0.4;
  if (!wraps(m)) return true;
  return c.J.segment<3>(3).norm() < 2.5 && c.J.segment<3>(9).norm() < 2.5;
}

Pair regular_pair(const Measure& m, Random& random) {
  Pair p = random_pair(random);
  while (!is_regular(m, p)) p = random_pair(random);
  return p;
}

double relative_error(const Eigen::Ref<const Matrix>& found,
                      const Eigen::Ref<const Matrix>& expected) {
  return (found - expected).cwiseAbs().maxCoeff() / std::max(1., expected.cwiseAbs().maxCoeff());
}

TEST(Measure, ValuesAreThoseOfTheirDefinitions) {
  Random random(1);
  for (int pose = 0; pose < poses; ++pose) {
    const Pair p = random_pair(random);
    const BodyPlace A = place_of(p.A), B = place_of(p.B);
    const Mat3 F_a = A.A * p.a.R, F_b = B.A * p.b.R;
    const Vec3 w = B.x + B.A * p.b.p - A.x - A.A * p.a.p;
    const Mat3 D = F_a.transpose() * F_b;
    EXPECT_NEAR(value_at({MeasureKind::distance, 0, 0}, p).value, w.norm(), 1e-14);
    for (std::uint8_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(value_at({MeasureKind::along, i, 0}, p).value, F_a.col(i).dot(w), 1e-14);
      for (std::uint8_t j = 0; j < 3; ++j) {
        EXPECT_NEAR(value_at({MeasureKind::dot, i, j}, p).value, D(i, j), 1e-14);
        EXPECT_NEAR(std::cos(value_at({MeasureKind::swing, i, j}, p).value), D(i, j), 1e-14);
        EXPECT_NEAR(value_at({MeasureKind::angle, i, j}, p).value,
                    std::atan2(D((i + 2) % 3, j), D((i + 1) % 3, j)), 1e-12);
        EXPECT_NEAR(value_at({MeasureKind::angle_about_b, i, j}, p).value,
                    std::atan2(D(i, (j + 1) % 3), D(i, (j + 2) % 3)), 1e-12);
      }
    }
  }
}

TEST(Measure, ValuesAloneAreThoseOfTheRowsToTheLastBit) {
  Random random(3);
  for (const Measure& m : all_measures()) {
    for (int pose = 0; pose < poses; ++pose) {
      const Pair p = random_pair(random);
      const double alone = value(m, place_of(p.A), p.a, place_of(p.B), p.b);
      EXPECT_EQ(alone, value_at(m, p).value);
    }
  }
}

TEST(Measure, RowsAreTheDerivativesOfTheValues) {
  Random random(2);
  for (const Measure& m : all_measures()) {
    for (int pose = 0; pose < poses; ++pose) {
      const Pair p = regular_pair(m, random);
      Row12 differences;
      for (int k = 0; k < 12; ++k) differences[k] = directional(m, p, Row12::Unit(k));
      ASSERT_LE(relative_error(value_at(m, p).J, differences), 1e-8) << label(m);
    }
  }
}

TEST(Measure, SecondDerivativesAreTheDerivativesOfTheRows) {
  Random random(3);
  for (const Measure& m : all_measures()) {
    for (int pose = 0; pose < poses; ++pose) {
      const Pair p = regular_pair(m, random);
      Mat12 differences;
      for (int k = 0; k < 12; ++k) {
        differences.col(k) = central_difference(
            [&](double t) { return value_at(m, moved(p, t * Row12::Unit(k))).J; }, 1e-3);
      }
      ASSERT_LE(relative_error(second_at(m, p), differences), 1e-7) << label(m);
    }
  }
}

TEST(Measure, TheQuadraticFormIsTheAccelerationAlongAMotionOfConstantVelocity) {
  Random random(4);
  const double h = 2e-3;
  for (const Measure& m : all_measures()) {
    for (int pose = 0; pose < poses; ++pose) {
      const Pair p = regular_pair(m, random);
      const Row12 v = random.row();
      const double form = v.dot(second_at(m, p) * v);
      const double of_rates = central_difference(
          [&](double t) { return Scalar1(value_at(m, moved(p, t * v)).J.dot(v)); }, 1e-3)[0];
      const double of_values = (16 * (change(m, p, h * v) + change(m, p, -h * v)) -
                                (change(m, p, 2 * h * v) + change(m, p, -2 * h * v))) /
                               (12 * h * h);
      ASSERT_NEAR(form, of_rates, 1e-8 * std::max(1., std::abs(form))) << label(m);
      ASSERT_NEAR(form, of_values, 1e-7 * std::max(1., std::abs(form))) << label(m);
    }
  }
}

// On the group K_ij − K_ji = −ε_ijk J_k for the three turns of one body and zero otherwise.
TEST(Measure, TheSkewPartOfTheSecondDerivativeIsTheBracketOfTheRotations) {
  Random random(5);
  for (const Measure& m : all_measures()) {
    for (int pose = 0; pose < 20; ++pose) {
      const Pair p = regular_pair(m, random);
      const Row12 J = value_at(m, p).J;
      const Mat12 K = second_at(m, p);
      Mat12 bracket = Mat12::Zero();
      bracket.block<3, 3>(3, 3) = skew(J.segment<3>(3));
      bracket.block<3, 3>(9, 9) = skew(J.segment<3>(9));
      ASSERT_LE(relative_error(K - K.transpose(), bracket), 1e-13) << label(m);
    }
  }
}

TEST(Measure, NoMeasureSeesBothBodiesMoveAsOne) {
  Random random(6);
  for (const Measure& m : all_measures()) {
    for (int pose = 0; pose < 20; ++pose) {
      const Pair p = regular_pair(m, random);
      const Vec3 v = random.vector(), omega = random.vector();
      Row12 together;
      together << v + omega.cross(p.A.position), rotate_back(p.A.rotation, omega),
          v + omega.cross(p.B.position), rotate_back(p.B.rotation, omega);
      ASSERT_NEAR(value_at(m, p).J.dot(together), 0, 1e-13) << label(m);
    }
  }
}

// B placed so that F_b = F_a R; the origins where they fall.
Pair turned_pair(Random& random, const Mat3& R) {
  Pair p = random_pair(random);
  const Mat3 F_a = rotation_matrix(p.A.rotation) * p.a.R;
  p.B.rotation = quaternion_from_matrix(F_a * R * p.b.R.transpose());
  return p;
}

Mat3 turn(const Vec3& theta) {
  return rotation_matrix(quaternion_exp(theta));
}

TEST(Measure, AnglesAreRightHandedAndExactUpToHalfATurn) {
  Random random(7);
  for (const double size : {0., 1e-12, 1e-6, 0.3, pi / 2, 2., pi - 1e-6, pi - 1e-12}) {
    for (const double angle : {size, -size}) {
      for (std::uint8_t axis = 0; axis < 3; ++axis) {
        const Pair p = turned_pair(random, turn(angle * Vec3::Unit(axis)));
        const std::uint8_t after = (axis + 1) % 3, before = (axis + 2) % 3;
        EXPECT_NEAR(value_at({MeasureKind::angle, axis, after}, p).value, angle, 1e-14);
        EXPECT_NEAR(value_at({MeasureKind::angle_about_b, before, axis}, p).value, angle, 1e-14);
      }
    }
  }
}

TEST(Measure, TheRowOfAnAngleIsContinuousThroughHalfATurn) {
  Random random(8);
  for (std::uint8_t axis = 0; axis < 3; ++axis) {
    const std::uint8_t after = (axis + 1) % 3, before = (axis + 2) % 3;
    for (const Measure& m : {Measure{MeasureKind::angle, axis, after},
                             Measure{MeasureKind::angle_about_b, before, axis}}) {
      const Pair p = turned_pair(random, turn(pi * Vec3::Unit(axis)));
      const Vec3 axis_in_b = p.b.R.col(axis);
      Row12 step = Row12::Zero();
      step.segment<3>(9) = 1e-9 * axis_in_b;
      const MeasureValue before_half = value_at(m, moved(p, -step));
      const MeasureValue after_half = value_at(m, moved(p, step));
      EXPECT_NEAR(before_half.value, pi - 1e-9, 1e-14);
      EXPECT_NEAR(after_half.value, -pi + 1e-9, 1e-14);
      EXPECT_LE((before_half.J - after_half.J).cwiseAbs().maxCoeff(), 1e-8);
      EXPECT_LE((after_half.J.segment<3>(9) - axis_in_b).norm(), 1e-8);
      EXPECT_LE((second_at(m, moved(p, -step)) - second_at(m, moved(p, step))).norm(), 1e-7);
    }
  }
}

TEST(Measure, SwingKeepsItsDigitsNearZeroAndHalfATurn) {
  Random random(9);
  const Measure m{MeasureKind::swing, 2, 2};
  for (const double small : {1e-3, 1e-6, 1e-9, 1e-12}) {
    for (int pose = 0; pose < 20; ++pose) {
      const double direction = random.uniform(-pi, pi);
      const Vec3 axis(std::cos(direction), std::sin(direction), 0);
      const Pair nearly_open = turned_pair(random, turn(small * axis));
      const Pair nearly_shut = turned_pair(random, turn((pi - small) * axis));
      EXPECT_NEAR(value_at(m, nearly_open).value, small, 1e-14);
      EXPECT_NEAR(pi - value_at(m, nearly_shut).value, small, 1e-14);
      // The row is the axis of the swing, as well as rounding of size ε/φ lets it be known.
      const Vec3 expected = nearly_open.b.R * axis;
      EXPECT_LE((value_at(m, nearly_open).J.segment<3>(9) - expected).norm(), 1e-14 / small);
      EXPECT_TRUE(second_at(m, nearly_open).allFinite());
      EXPECT_TRUE(second_at(m, nearly_shut).allFinite());
    }
  }
}

TEST(Measure, SwingOfParallelAxesHasAValueAndNoGradient) {
  Random random(10);
  for (int pose = 0; pose < poses; ++pose) {
    for (const double angle : {0., pi}) {
      const Pair p = turned_pair(random, turn(angle * Vec3::UnitX()));
      const Measure m{MeasureKind::swing, 2, 2};
      EXPECT_NEAR(value_at(m, p).value, angle, 1e-14);
      EXPECT_EQ(value_at(m, p).J, Row12::Zero());
      EXPECT_EQ(second_at(m, p), Mat12::Zero());
    }
  }
}

TEST(Measure, AnAngleWhosePointerIsAlongItsAxisHasNoGradient) {
  Random random(11);
  for (int pose = 0; pose < poses; ++pose) {
    const Pair p = turned_pair(random, Mat3::Identity());
    for (const MeasureKind kind : {MeasureKind::angle, MeasureKind::angle_about_b}) {
      const Measure m{kind, 2, 2};
      EXPECT_TRUE(std::isfinite(value_at(m, p).value));
      EXPECT_EQ(value_at(m, p).J, Row12::Zero());
      EXPECT_EQ(second_at(m, p), Mat12::Zero());
    }
  }
}

TEST(Measure, DistanceOfCoincidentPointsIsZeroAndHasNoGradient) {
  Random random(12);
  const Measure m{MeasureKind::distance, 0, 0};
  Pair p = random_pair(random);
  p.B = p.A;
  p.b.p = p.a.p;
  EXPECT_EQ(value_at(m, p).value, 0);
  EXPECT_EQ(value_at(m, p).J, Row12::Zero());
  EXPECT_EQ(second_at(m, p), Mat12::Zero());
}

TEST(Measure, DistanceOfNearlyCoincidentPointsIsFinite) {
  Random random(13);
  const Measure m{MeasureKind::distance, 0, 0};
  for (const double gap : {1e-300, 1e-160, 1e-154, 1e-149, 1e-20, 1e-9}) {
    Pair p;
    p.a.p = Vec3::Zero();
    p.B.position = gap * random.direction();
    const MeasureValue c = value_at(m, p);
    EXPECT_NEAR(c.value, gap, 1e-12 * gap + 1e-150);
    EXPECT_TRUE(c.J.allFinite());
    EXPECT_TRUE(second_at(m, p).allFinite());
    if (gap > 1e-150) {
      EXPECT_NEAR(c.J.segment<3>(6).norm(), 1, 1e-12);
    }
  }
}

}  // namespace
}  // namespace urto
