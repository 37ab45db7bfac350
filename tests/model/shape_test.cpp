#include "urto/model/shape.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>
#include <vector>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "support/message_of.h"
#include "support/random_numbers.h"
#include "urto/error.h"
#include "urto/model/model.h"

namespace urto {
namespace {

using samples::message_of;

constexpr double pi = std::numbers::pi;
constexpr ShapeKind solids[] = {ShapeKind::sphere,  ShapeKind::box,  ShapeKind::cylinder,
                                ShapeKind::capsule, ShapeKind::cone, ShapeKind::ellipsoid};

// Half extents in x and y of the slice of a solid at height z, and whether it is an ellipse (else a
// rectangle).
struct Slice {
  double x = 0, y = 0;
  bool ellipse = true;
};

Slice slice(ShapeKind kind, const Vec3& s, double z) {
  const double r = s[0];
  switch (kind) {
    case ShapeKind::sphere: {
      const double c = std::sqrt(std::max(0., r * r - z * z));
      return {c, c, true};
    }
    case ShapeKind::box:
      return {s[0], s[1], false};
    case ShapeKind::cylinder:
      return {r, r, true};
    case ShapeKind::capsule: {
      const double out = std::max(0., std::abs(z) - s[1]);
      const double c = std::sqrt(std::max(0., r * r - out * out));
      return {c, c, true};
    }
    case ShapeKind::cone: {
      const double c = r * (s[1] - z) / (2 * s[1]);
      return {c, c, true};
    }
    default: {
      const double c = std::sqrt(std::max(0., 1 - z * z / (s[2] * s[2])));
      return {s[0] * c, s[1] * c, true};
    }
  }
}

// Pieces of the z axis on which the area of the slices is a polynomial.
std::vector<double> breaks(ShapeKind kind, const Vec3& s) {
  switch (kind) {
    case ShapeKind::sphere:
      return {-s[0], s[0]};
    case ShapeKind::cylinder:
    case ShapeKind::cone:
      return {-s[1], s[1]};
    case ShapeKind::capsule:
      return {-s[1] - s[0], -s[1], s[1], s[1] + s[0]};
    default:
      return {-s[2], s[2]};
  }
}

// Mass, centre and inertia by slices: five-point Gauss quadrature, exact for all these solids since
// their integrands are polynomials of degree up to four.
MassProperties by_slices(ShapeKind kind, const Vec3& size, double density) {
  const double nodes[] = {-0.9061798459386640, -0.5384693101056831, 0, 0.5384693101056831,
                          0.9061798459386640};
  const double weights[] = {0.2369268850561891, 0.4786286704993665, 0.5688888888888889,
                            0.4786286704993665, 0.2369268850561891};
  double m = 0, mz = 0, xx = 0, yy = 0, zz = 0;
  const std::vector<double> z = breaks(kind, size);
  for (std::size_t k = 0; k + 1 < z.size(); ++k) {
    const double middle = (z[k] + z[k + 1]) / 2, half = (z[k + 1] - z[k]) / 2;
    for (int i = 0; i < 5; ++i) {
      const double at = middle + half * nodes[i];
      const Slice s = slice(kind, size, at);
      const double area = (s.ellipse ? pi : 4) * s.x * s.y;
      const double spread = s.ellipse ? 0.25 : 1. / 3;
      const double dm = density * half * weights[i] * area;
      m += dm;
      mz += dm * at;
      xx += dm * spread * s.x * s.x;
      yy += dm * spread * s.y * s.y;
      zz += dm * at * at;
    }
  }
  zz -= mz * mz / m;
  return {m, Vec3(0, 0, mz / m), Vec3(yy + zz, zz + xx, xx + yy).asDiagonal()};
}

void expect_equal(const MassProperties& a, const MassProperties& b, double tolerance) {
  EXPECT_NEAR(a.mass, b.mass, tolerance * std::abs(b.mass));
  EXPECT_LE((a.center - b.center).norm(), tolerance * (1 + b.center.norm()));
  EXPECT_LE((a.inertia - b.inertia).norm(), tolerance * b.inertia.norm());
}

struct Random : samples::RandomNumbers {
  using RandomNumbers::RandomNumbers;
  Vec3 vector() { return in_cube(); }
  Pose pose() { return {vector(), quaternion_exp(3 * vector())}; }
};

TEST(Shape, MassPropertiesAreThoseOfAllSlices) {
  Random random(1);
  for (const ShapeKind kind : solids) {
    for (int k = 0; k < 10; ++k) {
      const Vec3 size(random.uniform(0.1, 2), random.uniform(0.1, 2), random.uniform(0.1, 2));
      SCOPED_TRACE(to_string(kind));
      expect_equal(mass_properties(kind, size, 780), by_slices(kind, size, 780), 1e-13);
    }
  }
}

TEST(Shape, ClosedFormsOfTheTextbook) {
  const MassProperties ball = mass_properties(ShapeKind::sphere, {2, 0, 0}, 3);
  EXPECT_DOUBLE_EQ(ball.mass, 32 * pi);
  EXPECT_DOUBLE_EQ(ball.inertia(0, 0), 0.4 * 32 * pi * 4);
  const MassProperties brick = mass_properties(ShapeKind::box, {0.5, 1, 1.5}, 1);
  EXPECT_DOUBLE_EQ(brick.mass, 6);
  EXPECT_DOUBLE_EQ(brick.inertia(0, 0), 6. / 12 * (4 + 9));
  EXPECT_DOUBLE_EQ(brick.inertia(2, 2), 6. / 12 * (1 + 4));
  const MassProperties cone = mass_properties(ShapeKind::cone, {1, 2, 0}, 1);
  EXPECT_DOUBLE_EQ(cone.mass, pi * 4 / 3);
  EXPECT_DOUBLE_EQ(cone.center.z(), -2 + 4. / 4);
  EXPECT_DOUBLE_EQ(cone.inertia(2, 2), 0.3 * cone.mass);
  EXPECT_DOUBLE_EQ(cone.inertia(0, 0), 3. / 80 * cone.mass * (4 + 16));
}

TEST(Shape, CapsuleIsBetweenItsBallAndALongRod) {
  const MassProperties ball = mass_properties(ShapeKind::sphere, {0.7, 0, 0}, 2);
  expect_equal(mass_properties(ShapeKind::capsule, {0.7, 1e-15, 0}, 2), ball, 1e-13);
  const MassProperties rod = mass_properties(ShapeKind::cylinder, {1e-9, 1, 0}, 2);
  expect_equal(mass_properties(ShapeKind::capsule, {1e-9, 1, 0}, 2), rod, 1e-8);
}

TEST(Shape, InertiaOfEverySolidSatisfiesTheTriangleInequality) {
  Random random(2);
  for (const ShapeKind kind : solids) {
    for (int k = 0; k < 20; ++k) {
      const Vec3 size(std::exp(random.uniform(-5, 5)), std::exp(random.uniform(-5, 5)),
                      std::exp(random.uniform(-5, 5)));
      const Vec3 i = mass_properties(kind, size, 1).inertia.diagonal();
      EXPECT_GT(i.minCoeff(), 0);
      EXPECT_GE(i.sum() - 2 * i.maxCoeff(), -1e-15 * i.sum()) << to_string(kind);
    }
  }
}

TEST(Shape, TurningASolidKeepsItsPrincipalMoments) {
  Random random(3);
  const MassProperties box = mass_properties(ShapeKind::box, {0.3, 0.5, 0.9}, 100);
  for (int k = 0; k < 10; ++k) {
    const Pose pose = random.pose();
    const MassProperties moved = transformed(box, pose);
    EXPECT_EQ(moved.mass, box.mass);
    EXPECT_LE((moved.center - pose.position).norm(), 1e-15);
    const Vec3 principal = Eigen::SelfAdjointEigenSolver<Mat3>(moved.inertia).eigenvalues();
    EXPECT_LE((principal - Vec3(box.inertia(2, 2), box.inertia(1, 1), box.inertia(0, 0))).norm(),
              1e-13 * principal.norm());
    // Kinetic energy of a spin does not depend on the frame it is written in.
    const Vec3 spin = random.vector();
    const Vec3 turned = rotate(pose.rotation, spin);
    EXPECT_NEAR(turned.dot(moved.inertia * turned), spin.dot(box.inertia * spin), 1e-12);
  }
  const Pose quarter{Vec3::Zero(), quaternion_exp({0, 0, pi / 2})};
  EXPECT_NEAR(transformed(box, quarter).inertia(0, 0), box.inertia(1, 1), 1e-12);
}

TEST(Shape, TransformingTwiceIsTransformingByTheProduct) {
  Random random(4);
  const MassProperties cone = mass_properties(ShapeKind::cone, {0.3, 0.5, 0}, 100);
  const Pose a = random.pose(), b = random.pose();
  const Pose both{a.position + rotate(a.rotation, b.position),
                  quaternion_product(a.rotation, b.rotation)};
  expect_equal(transformed(transformed(cone, b), a), transformed(cone, both), 1e-14);
}

TEST(Shape, HalvesOfABoxMakeTheBox) {
  const MassProperties half = mass_properties(ShapeKind::box, {0.25, 1, 1.5}, 7);
  const MassProperties left = transformed(half, {Vec3(-0.25, 0, 0), identity_quaternion()});
  const MassProperties right = transformed(half, {Vec3(0.25, 0, 0), identity_quaternion()});
  expect_equal(combined(left, right), mass_properties(ShapeKind::box, {0.5, 1, 1.5}, 7), 1e-15);
}

TEST(Shape, CombiningObeysSteinersTheoremInAnyOrder) {
  Random random(5);
  MassProperties parts[3];
  Mat3 about_origin = Mat3::Zero();
  Vec3 moment = Vec3::Zero();
  double mass = 0;
  for (int k = 0; k < 3; ++k) {
    parts[k] =
        transformed(mass_properties(solids[k + 2], {0.3, 0.4, 0.5}, 50 * (k + 1)), random.pose());
    const Vec3& c = parts[k].center;
    mass += parts[k].mass;
    moment += parts[k].mass * c;
    about_origin += parts[k].inertia - parts[k].mass * skew(c) * skew(c);
  }
  const Vec3 c = moment / mass;
  const MassProperties expected{mass, c, about_origin + mass * skew(c) * skew(c)};
  expect_equal(combined(combined(parts[0], parts[1]), parts[2]), expected, 1e-14);
  expect_equal(combined(parts[2], combined(parts[1], parts[0])), expected, 1e-14);
  expect_equal(combined({}, parts[1]), parts[1], 1e-15);
  EXPECT_EQ(combined({}, {}).mass, 0);
  EXPECT_TRUE(combined({}, {}).center.allFinite());
}

TEST(Shape, SolidsThatCannotBeWeighedAreNamed) {
  const auto message = [](ShapeKind kind, const Vec3& size, double density) {
    return message_of([&] { mass_properties(kind, size, density); });
  };
  EXPECT_EQ(message(ShapeKind::half_space, {0, 0, 0}, 1),
            "mass of a shape: found a half-space, expected a solid of finite size");
  EXPECT_EQ(message(ShapeKind::sphere, {-1, 0, 0}, 1),
            "sphere: radius: found -1, expected a positive number (m)");
  EXPECT_EQ(message(ShapeKind::box, {1, 1, 0}, 1),
            "box: half edge z: found 0, expected a positive number (m)");
  EXPECT_EQ(message(ShapeKind::cylinder, {1, std::numeric_limits<double>::quiet_NaN(), 0}, 1),
            "cylinder: half length: found nan, expected a positive number (m)");
  EXPECT_EQ(message(ShapeKind::cone, {1, 1, 0}, -2),
            "cone: density: found -2, expected a number that is not negative (kg/m³)");
  EXPECT_EQ(message(ShapeKind::cylinder, {1, 1, -5}, 1), "no error");
}

TEST(Material, MixesByTheRuleOfEachProperty) {
  Material a{.name = "a", .friction = 0.2, .rolling_friction = 1e-3, .cohesion = 3};
  Material b{.name = "b", .friction = 0.8, .rolling_friction = 4e-3, .cohesion = 8};
  const auto friction = [&](MixingRule rule) { return mixed(a, b, {.friction = rule}).friction; };
  EXPECT_EQ(friction(MixingRule::minimum), 0.2);
  EXPECT_EQ(friction(MixingRule::maximum), 0.8);
  EXPECT_EQ(friction(MixingRule::average), 0.5);
  EXPECT_DOUBLE_EQ(friction(MixingRule::geometric), 0.4);
  EXPECT_DOUBLE_EQ(friction(MixingRule::multiply), 0.16);
  EXPECT_EQ(mixed(a, b).rolling_friction, 4e-3);
  EXPECT_EQ(mixed(a, b).cohesion, 3);
  EXPECT_EQ(mixed(a, b, {.rolling_friction = MixingRule::geometric}).rolling_friction, 2e-3);
  EXPECT_EQ(mixed(a, b, {.cohesion = MixingRule::maximum}).cohesion, 8);
}

TEST(Material, SurfacesAreSpringsInSeries) {
  Material soft{.name = "soft", .stiffness = 1e4, .damping = 30};
  Material stiff{.name = "stiff", .stiffness = 3e4, .damping = 90};
  const Material rigid{.name = "rigid", .restitution = 0.7};
  EXPECT_DOUBLE_EQ(mixed(soft, stiff).stiffness, 7.5e3);
  // Of equal c/k both dampers work as one in series.
  EXPECT_DOUBLE_EQ(mixed(soft, stiff).damping, 22.5);
  EXPECT_EQ(mixed(soft, rigid).stiffness, 1e4);
  EXPECT_EQ(mixed(soft, rigid).damping, 30);
  EXPECT_EQ(mixed(soft, rigid).restitution, 0);
  EXPECT_EQ(mixed(rigid, rigid).restitution, 0.7);
  EXPECT_TRUE(std::isinf(mixed(rigid, rigid).stiffness));
  EXPECT_DOUBLE_EQ(mixed(soft, soft).stiffness, 5e3);
  EXPECT_DOUBLE_EQ(mixed(soft, soft).damping, 15);
}

TEST(Material, ThatMakesNoSenseIsRefusedByName) {
  const auto message = [](const Material& material, const Mixing& mixing = {}) {
    Model m;
    m.materials[0] = material;
    m.mixing = mixing;
    try {
      finalize(m);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message({}), "");
  EXPECT_EQ(message({.name = "m", .restitution = 0.5, .stiffness = 100}),
            "material 'm': found both restitution and stiffness, expected one of them: a soft "
            "contact rebounds by its stiffness and damping");
  EXPECT_EQ(message({.name = "m", .damping = 1}),
            "material 'm': found damping of a rigid contact, expected a finite stiffness with it");
  EXPECT_EQ(message({.name = "m", .rolling_friction = -1}),
            "material 'm': rolling_friction: found -1, expected a finite number of at least 0");
  EXPECT_EQ(message({.name = "m", .cohesion = std::nan("")}),
            "material 'm': cohesion: found nan, expected a finite number of at least 0");
  EXPECT_EQ(message({}, {.cohesion = MixingRule::multiply}),
            "mixing of cohesion: found multiply, expected another rule: the product of two amounts "
            "with a unit has another unit");
}

TEST(Shape, SlipperyMaterialStaysSlipperyAgainstAnyOther) {
  const Material ice{"ice", 0, 0.2, 0.01}, rubber{"rubber", 0.9, 0.8, 0.3}, wood{"wood", 0.4, 0, 0};
  EXPECT_EQ(mixed(ice, rubber).friction, 0);
  EXPECT_DOUBLE_EQ(mixed(rubber, wood).friction, 0.6);
  EXPECT_EQ(mixed(ice, rubber).restitution, 0.8);
  EXPECT_EQ(mixed(ice, wood).restitution_threshold, 0.01);
  EXPECT_DOUBLE_EQ(mixed(rubber, rubber).friction, 0.9);
  EXPECT_EQ(mixed(rubber, rubber).name, "rubber");
  EXPECT_EQ(mixed(rubber, wood).name, "rubber/wood");
}

TEST(Shape, KindsHaveNames) {
  EXPECT_EQ(to_string(ShapeKind::sphere), "sphere");
  EXPECT_EQ(to_string(ShapeKind::half_space), "half-space");
  EXPECT_EQ(to_string(ShapeKind::ellipsoid), "ellipsoid");
}

}  // namespace
}  // namespace urto
