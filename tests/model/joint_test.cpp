#include "urto/model/joint.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <set>
#include <string>
#include <vector>

#include <Eigen/SVD>
#include <gtest/gtest.h>

#include "support/random_numbers.h"

namespace urto {
namespace {

constexpr double pi = std::numbers::pi;
constexpr int poses = 250;

struct Random : samples::RandomNumbers {
  using RandomNumbers::RandomNumbers;
  Vec3 vector() { return in_cube(); }
  Mat3 rotation() { return rotation_matrix(quaternion()); }
};

// What each joint lets b do against a where the frames coincide (distance: where b is on the x axis
// of a): shifts along and turns about x, y, z of a.
struct Freedom {
  JointKind kind;
  const char* name;
  const char* free;
  int dof;
};

// The screw as its held rows leave it: its fifth row is a coupling.
const std::vector<Freedom> freedoms{
    {JointKind::fixed, "fixed", "------", 0},
    {JointKind::revolute, "revolute", "-----z", 1},
    {JointKind::prismatic, "prismatic", "--z---", 1},
    {JointKind::cylindrical, "cylindrical", "--z--z", 2},
    {JointKind::spherical, "spherical", "---xyz", 3},
    {JointKind::universal, "universal", "---xy-", 2},
    {JointKind::planar, "planar", "xy---z", 3},
    {JointKind::screw, "screw", "--z--z", 2},
    {JointKind::point_on_line, "point-on-line", "--zxyz", 4},
    {JointKind::point_on_plane, "point-on-plane", "xy-xyz", 5},
    {JointKind::distance, "distance", "-yzxyz", 5},
    {JointKind::free, "free", "xyzxyz", 6},
};

struct Pair {
  BodyPlace A, B;
  LocalFrame a, b;
};

MeasureValue at(const Measure& m, const Pair& p) {
  return evaluate(m, p.A, p.a, p.B, p.b);
}

// B is put where its frame has origin t and axes R in the frame of a.
void put(Pair& p, const Vec3& t, const Mat3& R) {
  const Mat3 F_a = p.A.A * p.a.R;
  p.B.A = F_a * R * p.b.R.transpose();
  p.B.x = p.A.x + p.A.A * p.a.p + F_a * t - p.B.A * p.b.p;
}

Pair random_pair(Random& random, const Vec3& t, const Mat3& R) {
  Pair p;
  p.A = {random.vector(), random.rotation()};
  p.a = {random.vector(), random.rotation()};
  p.b = {random.vector(), random.rotation()};
  put(p, t, R);
  return p;
}

Mat3 turn(double angle, const Vec3& axis) {
  return rotation_matrix(quaternion_exp(angle * axis));
}

const Vec3 e_x = Vec3::UnitX(), e_y = Vec3::UnitY(), e_z = Vec3::UnitZ();

// A place of b in a that a joint allows, and what its coordinates should then read.
struct Allowed {
  Vec3 t = Vec3::Zero();
  Mat3 R = Mat3::Identity();
  std::map<std::string, double> read;
};

Allowed with_angle(double angle) {
  return {Vec3::Zero(), turn(angle, e_z), {{"angle", angle}}};
}

// z_b swings about x_b, which stays in the x–y plane of a: the reading of `angle` is exact.
Allowed with_swing(double angle, double swing) {
  const Mat3 R = turn(angle, e_z) * turn(swing, e_x);
  return {Vec3::Zero(), R, {{"angle", angle}, {"swing", std::abs(swing)}}};
}

Allowed shifted(Allowed place, const Vec3& t) {
  place.t = t;
  return place;
}

// Made from a shift and two angles, of which the joint takes what it allows; `any` is the turn of b
// where all turns are free.
Allowed allowed(JointKind kind, const Vec3& u, double alpha, double beta, const Mat3& any) {
  const Vec3 on_plane(u.x(), u.y(), 0), on_line(0, 0, u.z());
  Allowed place;
  switch (kind) {
    case JointKind::fixed:
      return place;
    case JointKind::revolute:
      return with_angle(alpha);
    case JointKind::prismatic:
      return {on_line, Mat3::Identity(), {{"displacement", u.z()}}};
    case JointKind::cylindrical:
    case JointKind::screw:
      place = shifted(with_angle(alpha), on_line);
      place.read["displacement"] = u.z();
      return place;
    case JointKind::spherical:
      return with_swing(alpha, beta);
    case JointKind::universal:
      place.R = turn(alpha, e_x) * turn(beta, e_y);
      place.read = {{"angle-1", alpha}, {"angle-2", beta}};
      return place;
    case JointKind::planar:
      place = shifted(with_angle(alpha), on_plane);
      place.read.insert({{"x", u.x()}, {"y", u.y()}});
      return place;
    case JointKind::point_on_line:
      return {on_line, any, {{"displacement", u.z()}}};
    case JointKind::point_on_plane:
      return {on_plane, any, {{"x", u.x()}, {"y", u.y()}}};
    case JointKind::distance:
      return {u, any, {{"distance", u.norm()}}};
    case JointKind::free:
      place = shifted(with_swing(alpha, beta), u);
      place.read.insert({{"x", u.x()}, {"y", u.y()}, {"z", u.z()}, {"distance", u.norm()}});
      return place;
  }
  return place;
}

Allowed random_allowed(JointKind kind, Random& random) {
  const Vec3 u = random.vector() + 1.5 * e_z;
  const double alpha = random.uniform(-pi, pi), beta = random.uniform(-pi, pi);
  return allowed(kind, u, alpha, beta, random.rotation());
}

// The caller of a distance joint subtracts its length.
double length_of(JointKind kind, const Allowed& place) {
  return kind == JointKind::distance ? place.t.norm() : 0;
}

Matrix held_rows(JointKind kind, const Pair& p) {
  const auto held = held_measures(kind);
  Matrix J(held.size(), 12);
  for (std::size_t k = 0; k < held.size(); ++k) J.row(k) = at(held[k], p).J.transpose();
  return J;
}

double smallest_singular_value(const Matrix& J) {
  return Eigen::JacobiSVD<Matrix>(J).singularValues().minCoeff();
}

double worst_held(JointKind kind, const Pair& p, double length) {
  double worst = 0;
  for (const Measure& m : held_measures(kind)) {
    worst = std::max(worst, std::abs(at(m, p).value - length));
  }
  return worst;
}

TEST(Joint, HoldsSixRowsLessItsFreedoms) {
  for (const Freedom& f : freedoms) {
    EXPECT_EQ(held_measures(f.kind).size(), 6u - f.dof) << f.name;
    const std::string free = f.free;
    EXPECT_EQ(6 - std::count(free.begin(), free.end(), '-'), f.dof) << f.name;
  }
}

TEST(Joint, HasItsName) {
  for (const Freedom& f : freedoms) EXPECT_EQ(to_string(f.kind), f.name);
}

TEST(Joint, RowsAreIndependentWhereverTheyAreHeld) {
  Random random(1);
  for (const Freedom& f : freedoms) {
    if (f.dof == 6) continue;
    for (int pose = 0; pose < poses; ++pose) {
      const Allowed place =
          pose == 0 ? allowed(f.kind, e_x, 0, 0, Mat3::Identity()) : random_allowed(f.kind, random);
      const Pair p = random_pair(random, place.t, place.R);
      EXPECT_GE(smallest_singular_value(held_rows(f.kind, p)), 0.1) << f.name;
    }
  }
}

// The trap that the choice of rows avoids: a quarter turn on, these two would hold one direction.
TEST(Joint, MixedTiltRowsOfAHingeWouldLoseRankAfterAQuarterTurn) {
  Random random(2);
  const Pair p = random_pair(random, Vec3::Zero(), turn(pi / 2, e_z));
  Matrix J(2, 12);
  J << at({MeasureKind::dot, 2, 1}, p).J.transpose(), at({MeasureKind::dot, 0, 2}, p).J.transpose();
  EXPECT_LE(smallest_singular_value(J), 1e-14);
  EXPECT_GE(smallest_singular_value(held_rows(JointKind::revolute, p)), 0.1);
}

TEST(Joint, AllowedPlacesKeepItsMeasuresAtZero) {
  Random random(3);
  for (const Freedom& f : freedoms) {
    for (int pose = 0; pose < poses; ++pose) {
      const Allowed place = random_allowed(f.kind, random);
      const Pair p = random_pair(random, place.t, place.R);
      EXPECT_LE(worst_held(f.kind, p, length_of(f.kind, place)), 1e-14) << f.name;
    }
  }
}

TEST(Joint, CoordinatesReadBackWhatWasPutIn) {
  Random random(4);
  for (const Freedom& f : freedoms) {
    for (int pose = 0; pose < poses; ++pose) {
      const Allowed place = random_allowed(f.kind, random);
      const Pair p = random_pair(random, place.t, place.R);
      ASSERT_EQ(coordinates(f.kind).size(), place.read.size()) << f.name;
      for (const JointCoordinate& c : coordinates(f.kind)) {
        EXPECT_NEAR(at(c.measure, p).value, place.read.at(std::string(c.name)), 1e-14)
            << f.name << " " << c.name;
      }
    }
  }
}

TEST(Joint, AnglesReadBackCloseToHalfATurn) {
  Random random(5);
  for (const JointKind kind : {JointKind::revolute, JointKind::universal, JointKind::planar}) {
    for (const double alpha : {pi - 1e-9, -pi + 1e-9}) {
      for (const double beta : {pi - 1e-9, -pi + 1e-9, 0.5}) {
        const Allowed place = allowed(kind, e_x, alpha, beta, Mat3::Identity());
        const Pair p = random_pair(random, place.t, place.R);
        EXPECT_LE(worst_held(kind, p, 0), 1e-14);
        for (const JointCoordinate& c : coordinates(kind)) {
          const double expected = place.read.at(std::string(c.name));
          EXPECT_NEAR(at(c.measure, p).value, expected, 1e-14);
        }
      }
    }
  }
}

// A small shift (k < 3) or turn of b about its own origin, along axis k of a.
Pair nudged(const Pair& p, const Allowed& place, int k, double size) {
  Pair result = p;
  const Vec3 axis = Vec3::Unit(k % 3);
  if (k < 3) {
    put(result, place.t + size * axis, place.R);
  } else {
    put(result, place.t, turn(size, axis) * place.R);
  }
  return result;
}

TEST(Joint, ForbidsExactlyTheOtherMotionsToFirstOrder) {
  Random random(6);
  const double size = 1e-5;
  for (const Freedom& f : freedoms) {
    const Allowed place = f.kind == JointKind::distance
                              ? allowed(f.kind, 1.5 * e_x, 0, 0, Mat3::Identity())
                              : Allowed{};
    const double length = length_of(f.kind, place);
    const Pair p = random_pair(random, place.t, place.R);
    for (int k = 0; k < 6; ++k) {
      const double change = worst_held(f.kind, nudged(p, place, k, size), length);
      if (f.free[k] == '-') {
        EXPECT_NEAR(change, size, 1e-9) << f.name << " " << k;
      } else {
        EXPECT_LE(change, size * size) << f.name << " " << k;
      }
    }
  }
}

// Otherwise a motor or a limit on the coordinate would fight the joint. (The distance joint offers
// its held measure, for reading.)
TEST(Joint, EveryCoordinateCanChangeWhileTheMeasuresAreHeld) {
  Random random(7);
  for (const Freedom& f : freedoms) {
    if (f.kind == JointKind::distance) continue;
    for (int pose = 0; pose < poses; ++pose) {
      const Allowed place = random_allowed(f.kind, random);
      const Pair p = random_pair(random, place.t, place.R);
      const Matrix held = held_rows(f.kind, p);
      for (const JointCoordinate& c : coordinates(f.kind)) {
        Matrix J(held.rows() + 1, 12);
        J << held, at(c.measure, p).J.transpose();
        EXPECT_GE(smallest_singular_value(J), 0.05) << f.name << " " << c.name;
      }
    }
  }
}

TEST(Joint, TheRateOfAHingeAngleIsTheRelativeSpinAboutItsAxis) {
  Random random(8);
  for (int pose = 0; pose < poses; ++pose) {
    const Allowed place = random_allowed(JointKind::revolute, random);
    const Pair p = random_pair(random, place.t, place.R);
    const Row12 J = at(coordinates(JointKind::revolute)[0].measure, p).J;
    Row12 expected = Row12::Zero();
    expected.segment<3>(3) = -p.a.R.col(2);
    expected.segment<3>(9) = p.b.R.col(2);
    EXPECT_LE((J - expected).cwiseAbs().maxCoeff(), 1e-14);
  }
}

TEST(Joint, TheRatesOfAUniversalJointAreTheSpinsAboutItsTwoAxes) {
  Random random(9);
  for (int pose = 0; pose < poses; ++pose) {
    const Allowed place = random_allowed(JointKind::universal, random);
    const Pair p = random_pair(random, place.t, place.R);
    const Vec3 first = p.a.R.col(0), second = p.b.R.col(1);
    const double rate_1 = random.uniform(-1, 1), rate_2 = random.uniform(-1, 1);
    const Vec3 spin = rate_1 * (p.A.A * first) + rate_2 * (p.B.A * second);
    const Vec3 in_b = p.B.A.transpose() * spin;
    const auto all = coordinates(JointKind::universal);
    EXPECT_NEAR(at(all[0].measure, p).J.segment<3>(9).dot(in_b), rate_1, 1e-14);
    EXPECT_NEAR(at(all[1].measure, p).J.segment<3>(9).dot(in_b), rate_2, 1e-14);
  }
}

TEST(Joint, CoordinatesAreFoundByTheirNames) {
  for (const Freedom& f : freedoms) {
    std::set<std::string> names;
    const auto all = coordinates(f.kind);
    for (std::size_t k = 0; k < all.size(); ++k) {
      EXPECT_EQ(find_coordinate(f.kind, all[k].name), static_cast<int>(k));
      names.insert(std::string(all[k].name));
    }
    EXPECT_EQ(names.size(), all.size()) << f.name;
    EXPECT_EQ(find_coordinate(f.kind, "no such coordinate"), -1);
    EXPECT_EQ(find_coordinate(f.kind, ""), -1);
  }
  EXPECT_EQ(find_coordinate(JointKind::prismatic, "angle"), -1);
}

TEST(Joint, OnlyAnglesThatWrapCountTurns) {
  for (const Freedom& f : freedoms) {
    for (const JointCoordinate& c : coordinates(f.kind)) {
      const MeasureKind kind = c.measure.kind;
      EXPECT_EQ(c.is_angle, kind == MeasureKind::angle || kind == MeasureKind::angle_about_b);
    }
  }
}

}  // namespace
}  // namespace urto
