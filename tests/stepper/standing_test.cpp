// Things that stand, slide and roll on real shapes, under the default settings.
#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/model/convex_hull.h"
#include "urto/model/triangle_mesh.h"

namespace urto {
namespace {

using namespace urto::testing;

/// How long things have to stand [s]; a sanitizer sees nothing more in the rest.
#ifdef NDEBUG
constexpr double a_while = 10;
#else
constexpr double a_while = 0.5;
#endif

int add_solid(Model& m, std::string name, const Pose& pose, const Shape& shape, double density) {
  const MassProperties p = mass_properties(shape.kind, shape.size, density);
  const int body = add_rigid(m, std::move(name), pose.position, p.mass, p.inertia);
  m.bodies[body].start.rotation = pose.rotation;
  m.shapes.push_back(shape);
  m.shapes.back().body = body;
  return body;
}

/// A convex stone given by its corners in world axes.
int add_stone(Model& m, std::string name, const std::vector<Vec3>& corners, double density) {
  const TriangleMesh hull = convex_hull(corners);
  const MassProperties p = mass_properties(hull, density);
  TriangleMesh centred = hull;
  for (Vec3& v : centred.vertices) v -= p.center;
  const int body = add_rigid(m, std::move(name), p.center, p.mass, p.inertia);
  m.meshes.push_back(centred);
  m.shapes.push_back({.kind = ShapeKind::hull,
                      .pose = {},
                      .body = body,
                      .geometry = static_cast<int>(m.meshes.size()) - 1});
  return body;
}

/// How far anything moved from its start: centres [m], and angles times `size`.
double drift(const Model& m, const State& s, double size) {
  const Vector d = difference(m, s.q, initial_state(m).q);
  double most = 0;
  for (int k = 0; k < m.slots; ++k) {
    most = std::max({most, d.segment<3>(6 * k).norm(), size * d.segment<3>(6 * k + 3).norm()});
  }
  return most;
}

State run_for(const Model& m, double seconds, double step = 1e-3) {
  Simulation run(m, {.duration = seconds, .step = step});
  run.start();
  while (run.advance()) {
  }
  EXPECT_EQ(run.run_state(), RunState::finished) << run.failure();
  EXPECT_EQ(run.checkpoint().missed, 0);
  return run.state();
}

TEST(Standing, ABoxRestsOnFourContactsThatKeepTheirNames) {
  Model m = empty_model();
  add_floor(m);
  add_cube(m, "box", {0, 0, 0.5}, 1, 1000);
  finalize(m);
  Simulation run(m, {.duration = 1});
  run.start();
  std::vector<std::uint64_t> first;
  while (run.advance()) {
    std::vector<std::uint64_t> names;
    for (const Contact& c : run.contacts()) names.push_back(c.id);
    ASSERT_EQ(names.size(), 4U);
    if (first.empty()) first = names;
    ASSERT_EQ(names, first);
  }
}

TEST(Standing, AStackOfTenBoxes) {
  Model m = empty_model();
  add_floor(m);
  for (int k = 0; k < 10; ++k) add_cube(m, "box", {0, 0, 0.5 + k}, 1, 1000);
  finalize(m);
  const State end = run_for(m, a_while);
  EXPECT_LT(drift(m, end, 1), 1e-4);
}

TEST(Standing, AStackAtRestNeedsNoGeneralSolver) {
  Model m = empty_model();
  add_floor(m);
  for (int k = 0; k < 10; ++k) add_cube(m, "box", {0, 0, 0.5 + k}, 1, 1000);
  finalize(m);
  Simulation run(m, {.duration = 0.1});
  run.start();
  int guessed = 0, handed_on = 0;
  while (run.advance()) {
    guessed += run.report().solve.guessed;
    if (run.state().t > 0.05) handed_on += run.report().solve.handed_on;
  }
  EXPECT_GT(guessed, 0);
  EXPECT_EQ(handed_on, 0);
}

TEST(Standing, AHouseOfSevenCards) {
  constexpr double half_length = 0.05, half_width = 0.03, half_thickness = 0.001, margin = 0.0008;
  const double lean = 0.26;
  Model m = empty_model();
  add_floor(m);
  const Shape card{.kind = ShapeKind::box,
                   .size = {half_thickness, half_width, half_length},
                   .pose = {},
                   .margin = margin};
  // The corner of the core that is lowest, and the one that leans against the other card.
  const double x = half_thickness - margin, z = half_length - margin;
  const double low = x * std::sin(lean) + z * std::cos(lean) + margin;
  const double out = x * std::cos(lean) + z * std::sin(lean) + margin;
  const auto tent = [&](double at, double ground) {
    add_solid(m, "left", {{at - out, 0, ground + low}, quaternion_exp({0, lean, 0})}, card, 800);
    add_solid(m, "right", {{at + out, 0, ground + low}, quaternion_exp({0, -lean, 0})}, card, 800);
  };
  const double highest = low + x * std::sin(lean) + z * std::cos(lean) + margin;
  // The outer edges are the highest: what lies on two tents lies on four edges.
  const double apart = 0.04;
  tent(-apart, 0);
  tent(apart, 0);
  add_solid(m, "floor above", {{0, 0, highest + half_thickness}, quaternion_exp({0, M_PI / 2, 0})},
            card, 800);
  tent(0, highest + 2 * half_thickness);
  finalize(m);
  const State end = run_for(m, a_while);
  EXPECT_LT(drift(m, end, half_length), 1e-4 * 2 * half_length);
}

TEST(Standing, AnArchOfTwentyStones) {
  // A half circle needs a thickness of 0.107 of its mean radius (Heyman, The Stone Skeleton); this
  // has 0.3.
  constexpr double inner = 0.85, outer = 1.15, width = 0.3;
  constexpr int stones = 20;
  Model m = empty_model();
  add_floor(m);
  for (int k = 0; k < stones; ++k) {
    std::vector<Vec3> corners;
    for (const double angle : {M_PI * k / stones, M_PI * (k + 1) / stones}) {
      for (const double r : {inner, outer}) {
        for (const double y : {-width / 2, width / 2})
          corners.emplace_back(r * std::cos(angle), y, r * std::sin(angle));
      }
    }
    add_stone(m, "stone", corners, 2000);
  }
  m.materials[0].friction = 0.6;
  finalize(m);
  const State end = run_for(m, a_while);
  EXPECT_LT(drift(m, end, 0.3), 1e-4);
}

TEST(Standing, ACylinderOnItsSide) {
  Model m = empty_model();
  add_floor(m);
  add_solid(m, "log", {{0, 0, 0.2}, quaternion_exp({M_PI / 2, 0, 0})},
            {.kind = ShapeKind::cylinder, .size = {0.2, 0.5, 0}}, 700);
  finalize(m);
  EXPECT_LT(drift(m, run_for(m, a_while), 1), 1e-4);
}

TEST(Standing, AMovingMeshOnTerrainCarriesABox) {
  Model m = empty_model();
  m.meshes.push_back(height_field(std::vector<double>(81, 0.0), 9, 0.25, 0.25));
  m.shapes.push_back({.kind = ShapeKind::height_field, .pose = {}, .body = 0, .geometry = 0});
  const int mesh = add_cube(m, "mesh", {0.03, 0.02, 0.1}, 0.2, 8);
  std::vector<Vec3> corners;
  for (int k = 0; k < 8; ++k) {
    corners.emplace_back((k & 1) != 0 ? 0.1 : -0.1, (k & 2) != 0 ? 0.1 : -0.1,
                         (k & 4) != 0 ? 0.1 : -0.1);
  }
  m.meshes.push_back(convex_hull(corners));
  m.shapes.back() = {.kind = ShapeKind::mesh, .pose = {}, .body = mesh, .geometry = 1};
  add_cube(m, "box", {0.05, 0.02, 0.3}, 0.2, 8);
  finalize(m);
  EXPECT_LT(drift(m, run_for(m, 0.3), 0.2), 1e-8);
}

TEST(Sliding, ABrickStopsAfterVSquaredOverTwoMuG) {
  Model m = empty_model();
  m.shapes.push_back(
      {.kind = ShapeKind::box, .size = {5, 1, 0.5}, .pose = {{0, 0, -0.5}}, .body = 0});
  m.materials[0].friction = 0.4;
  const int brick = add_solid(m, "brick", {{-1, 0, 0.03}},
                              {.kind = ShapeKind::box, .size = {0.12, 0.06, 0.03}}, 2000);
  m.bodies[brick].velocity = {3, 0, 0};
  finalize(m);
  const State end = run_for(m, 2);
  const double distance = 9.0 / (2 * 0.4 * 9.81);
  EXPECT_NEAR(end.q[0] + 1, distance, 0.005 * distance);
  EXPECT_LT(end.v.norm(), 1e-9);
  EXPECT_NEAR(end.q[1], 0, 1e-9);
}

/// Acceleration along a slope of a large box, and the spin it gives, after one second.
std::array<double, 2> down_a_slope(double slope, double friction) {
  Model m = empty_model();
  m.materials[0].friction = friction;
  const Vec4 turn = quaternion_exp({0, slope, 0});
  m.shapes.push_back({.kind = ShapeKind::box,
                      .size = {20, 2, 0.5},
                      .pose = {rotate(turn, Vec3(0, 0, -0.5)), turn},
                      .body = 0});
  add_ball(m, "ball", rotate(turn, Vec3(-5, 0, 0.1)), 0.1, 2);
  finalize(m);
  const State end = run_for(m, 1);
  return {end.v.head<3>().norm(), end.v.tail<3>().norm()};
}

TEST(Rolling, ABallRollsDownASlopeWithFiveSeventhsOfItsFall) {
  const auto [speed, spin] = down_a_slope(0.35, 0.5);
  EXPECT_NEAR(speed, 5.0 / 7 * 9.81 * std::sin(0.35), 1e-6);
  EXPECT_NEAR(spin, speed / 0.1, 1e-5);
}

TEST(Rolling, OnASlipperySlopeItSlides) {
  // Pure rolling needs μ > 2/7 tan(slope) = 0.104.
  const double mu = 0.05;
  const auto [speed, spin] = down_a_slope(0.35, mu);
  EXPECT_NEAR(speed, 9.81 * (std::sin(0.35) - mu * std::cos(0.35)), 1e-6);
  EXPECT_NEAR(spin, 2.5 * mu * 9.81 * std::cos(0.35) / 0.1, 1e-5);
}

/// A flat square of n × n cells whose inner vertices are out of line.
TriangleMesh crooked_floor(int n, double half) {
  TriangleMesh mesh;
  std::uint32_t seed = 5;
  const auto random = [&] { return (seed = seed * 1664525U + 1013904223U) / 4294967296.0 - 0.5; };
  for (int j = 0; j <= n; ++j) {
    for (int i = 0; i <= n; ++i) {
      const bool inside = i > 0 && j > 0 && i < n && j < n;
      const double x = half * (2.0 * i / n - 1), y = half * (2.0 * j / n - 1), c = 0.6 * half / n;
      mesh.vertices.emplace_back(x + (inside ? c * random() : 0), y + (inside ? c * random() : 0),
                                 0);
    }
  }
  for (int j = 0; j < n; ++j) {
    for (int i = 0; i < n; ++i) {
      const int a = j * (n + 1) + i, b = a + 1, c = a + n + 2, d = a + n + 1;
      mesh.triangles.push_back({a, b, c});
      mesh.triangles.push_back({a, c, d});
    }
  }
  return mesh;
}

Model on_meshed_floor() {
  Model m = empty_model();
  m.meshes.push_back(crooked_floor(23, 2));
  m.shapes.push_back({.kind = ShapeKind::mesh, .pose = {}, .body = 0, .geometry = 0});
  return m;
}

TEST(Sliding, AMeshedFloorHasNoBumps) {
  for (const ShapeKind kind : {ShapeKind::box, ShapeKind::cylinder, ShapeKind::capsule,
                               ShapeKind::ellipsoid, ShapeKind::sphere, ShapeKind::cone}) {
    Model m = on_meshed_floor();
    m.materials[0].friction = 0;
    const Shape shape{.kind = kind, .size = {0.1, 0.07, 0.06}};
    const double height = kind == ShapeKind::sphere                                ? 0.1
                          : kind == ShapeKind::box || kind == ShapeKind::ellipsoid ? 0.06
                          : kind == ShapeKind::capsule                             ? 0.17
                                                                                   : 0.07;
    const int body = add_solid(m, "slider", {{-1.5, 0.13, height}}, shape, 1000);
    m.bodies[body].velocity = {2, 0.3, 0};
    finalize(m);
    Simulation run(m, {.duration = 1});
    run.start();
    double bump = 0, turn = 0;
    while (run.advance()) {
      bump = std::max(bump, std::abs(run.state().q[2] - height));
      turn = std::max(turn, run.state().v.tail<3>().norm());
    }
    EXPECT_LT(bump, 1e-6) << to_string(kind);
    EXPECT_LT(turn, 1e-5) << to_string(kind);
    EXPECT_NEAR(run.state().q[0], 0.5, 1e-6) << to_string(kind);
  }
}

TEST(Rolling, AMeshedFloorHasNoBumps) {
  Model m = on_meshed_floor();
  const int ball = add_ball(m, "ball", {-1.5, 0.13, 0.1}, 0.1, 1);
  m.bodies[ball].velocity = {2, 0.3, 0};
  m.bodies[ball].angular_velocity = {-3, 20, 0};
  finalize(m);
  const State end = run_for(m, 1);
  EXPECT_NEAR(end.q[0], 0.5, 1e-6);
  EXPECT_NEAR(end.q[1], 0.43, 1e-6);
  EXPECT_NEAR(end.q[2], 0.1, 1e-6);
}

/// Where a ball of 5 mm shot at 100 m/s ends up after 0.1 s, with steps of 10 ms and a wall of 1 cm
/// at x = 2.
Vec3 shoot(const Vec3& from, const Vec3& velocity, bool continuous, double* spin = nullptr) {
  Model m = empty_model(Vec3::Zero());
  m.shapes.push_back(
      {.kind = ShapeKind::box, .size = {0.005, 0.5, 0.5}, .pose = {{2, 0, 0}}, .body = 0});
  const int ball = add_ball(m, "bullet", from, 0.005, 0.01);
  m.bodies[ball].velocity = velocity;
  m.bodies[ball].continuous = continuous;
  finalize(m);
  const State end = run_for(m, 0.1, 0.01);
  if (spin != nullptr) *spin = end.v.tail<3>().norm();
  return end.q.head<3>();
}

TEST(FastBodies, ABulletDoesNotPassAThinWall) {
  for (const bool continuous : {false, true}) {
    for (const double start : {0.0, 0.11, 0.49, 0.98}) {
      double spin = 0;
      const Vec3 end = shoot({start, 0.1, 0.05}, {100, 0, 0}, continuous, &spin);
      EXPECT_NEAR(end[0], 2 - 0.01, 1e-9) << continuous << " " << start;
      EXPECT_NEAR(spin, 0, 1e-9);
    }
  }
}

TEST(FastBodies, ContinuousDetectionLeavesAMissAlone) {
  // Past the edge of the wall at 1 cm: the nearest points lie aslant on the way, and would brake a
  // bullet that only looks at those.
  const Vec3 end = shoot({1.9, 0.515, 0}, {100, 0, 0}, true);
  EXPECT_NEAR(end[0], 1.9 + 10, 1e-9);
  EXPECT_NEAR(end[1], 0.515, 1e-12);
}

}  // namespace
}  // namespace urto
