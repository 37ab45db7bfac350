#include "urto/model/triangle_mesh.h"

#include <limits>
#include <numbers>
#include <random>

#include <gtest/gtest.h>

#include "mesh_samples.h"
#include "urto/math/rotation.h"

namespace urto {
namespace {

using namespace samples;

void expect_equal(const MassProperties& a, const MassProperties& b, double tolerance,
                  double length) {
  EXPECT_NEAR(a.mass, b.mass, tolerance * b.mass);
  EXPECT_LE((a.center - b.center).norm(), tolerance * length);
  EXPECT_LE((a.inertia - b.inertia).norm(), tolerance * b.inertia.norm());
}

// Every triangle with vertices of its own, as STL files have them.
TriangleMesh soup(const TriangleMesh& mesh) {
  TriangleMesh out;
  for (const auto& t : mesh.triangles) {
    const int n = static_cast<int>(out.vertices.size());
    for (const int v : t) out.vertices.push_back(mesh.vertices[v]);
    out.triangles.push_back({n, n + 1, n + 2});
  }
  return out;
}

TEST(TriangleMesh, ABoxWeighsWhatTheBoxWeighsAtEveryScaleAndPlace) {
  for (const double scale : {1e-3, 1., 1e3}) {
    const Vec3 half = scale * Vec3(0.5, 1, 1.5);
    expect_equal(mass_properties(box_mesh(half), 780), mass_properties(ShapeKind::box, half, 780),
                 1e-14, scale);
    // A thousand sizes away from the origin a coordinate has three digits less.
    const Vec3 away = scale * Vec3(1000, -2000, 500);
    MassProperties moved = mass_properties(ShapeKind::box, half, 780);
    moved.center = away;
    expect_equal(mass_properties(box_mesh(half, away), 780), moved, 1e-11, scale);
  }
}

TEST(TriangleMesh, ATetrahedronHasTheMomentsOfTheTextbook) {
  // ∫x² = a²V/10, ∫xy = abV/20 over the corner with edges a, b, c along the axes.
  const double a = 0.3, b = 0.7, c = 1.1, density = 3;
  const double m = density * a * b * c / 6;
  const MassProperties found = mass_properties(corner_mesh({a, b, c}), density);
  const Vec3 center = Vec3(a, b, c) / 4;
  Mat3 second;
  second << a * a / 10, a * b / 20, a * c / 20, a * b / 20, b * b / 10, b * c / 20, a * c / 20,
      b * c / 20, c * c / 10;
  second -= center * center.transpose();
  expect_equal(found, {m, center, m * (second.trace() * Mat3::Identity() - second)}, 1e-14, 1);
}

TEST(TriangleMesh, ABallOfTrianglesBecomesTheBallWithTheSquareOfItsEdges) {
  const MassProperties ball = mass_properties(ShapeKind::sphere, {1, 0, 0}, 1);
  double before = 0;
  for (int level = 2; level <= 5; ++level) {
    const MassProperties found = mass_properties(ball_mesh(level), 1);
    const double error = 1 - found.mass / ball.mass;
    EXPECT_GT(error, 0);  // inscribed
    EXPECT_LE(found.center.norm(), 1e-15);
    EXPECT_NEAR(1 - found.inertia(0, 0) / ball.inertia(0, 0), 5. / 3 * error, error * error * 2);
    if (level > 2) {
      EXPECT_NEAR(before / error, 4, 0.2);
    }
    before = error;
  }
}

TEST(TriangleMesh, MassMovesWithTheSolid) {
  const Pose pose{Vec3(3, -2, 7), quaternion_exp({0.3, -1.1, 0.4})};
  TriangleMesh mesh = corner_mesh({1, 2, 3});
  const MassProperties before = mass_properties(mesh, 5);
  for (Vec3& x : mesh.vertices) x = pose.position + rotate(pose.rotation, x);
  expect_equal(mass_properties(mesh, 5), transformed(before, pose), 1e-14, 10);
}

TEST(TriangleMesh, NeighboursAreAcrossTheirEdges) {
  const TriangleMesh cube = box_mesh(Vec3::Ones());
  const auto across = neighbours(cube, "cube");
  for (int t = 0; t < 12; ++t) {
    for (int e = 0; e < 3; ++e) {
      const auto& other = cube.triangles[across[t][e]];
      const int from = cube.triangles[t][e], to = cube.triangles[t][(e + 1) % 3];
      bool back = false;
      for (int k = 0; k < 3; ++k) back = back || (other[k] == to && other[(k + 1) % 3] == from);
      EXPECT_TRUE(back) << t << " " << e;
    }
  }
  const auto field = neighbours(height_field({0, 0, 0, 0}, 2, 1, 1), "field");
  EXPECT_EQ(field[0], (std::array{-1, -1, 1}));
  EXPECT_EQ(field[1], (std::array{0, -1, -1}));
}

TEST(TriangleMesh, WeldingMakesASurfaceOfLooseTriangles) {
  for (const double scale : {1e-3, 1., 1e3}) {
    const TriangleMesh cube = scaled(box_mesh(Vec3::Ones(), {5, 0, 0}), Vec3::Constant(scale));
    TriangleMesh loose = soup(cube);
    EXPECT_FALSE(is_closed(loose, "loose"));
    loose.vertices.insert(loose.vertices.begin(), Vec3(9, 9, 9) * scale);  // used by nobody
    for (auto& t : loose.triangles) t = {t[0] + 1, t[1] + 1, t[2] + 1};
    loose.vertices[20] += Vec3(1e-10, -1e-10, 0) * scale;  // far below the tolerance
    loose.triangles.push_back({1, 1, 2});
    const TriangleMesh welded = weld(loose, "loose");
    EXPECT_EQ(welded.vertices.size(), 8U);
    EXPECT_EQ(welded.triangles.size(), 12U);
    EXPECT_TRUE(is_closed(welded, "welded"));
    expect_equal(mass_properties(welded, 1), mass_properties(cube, 1), 1e-9, scale);
    // What is distinct stays so, and nothing changes twice.
    EXPECT_EQ(weld(welded, "welded").triangles, welded.triangles);
    loose.vertices[20] += Vec3(1e-6, 0, 0) * scale;
    EXPECT_EQ(weld(loose, "loose").vertices.size(), 9U);
  }
}

TEST(TriangleMesh, WeldingFindsNearVerticesInOtherCells) {
  std::mt19937_64 engine(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const TriangleMesh ball = ball_mesh(3);
  TriangleMesh loose = soup(ball);
  for (Vec3& x : loose.vertices)
    x += 1e-4 * Vec3(uniform(engine), uniform(engine), uniform(engine));
  EXPECT_EQ(weld(loose, "ball", 3e-4).vertices.size(), ball.vertices.size());
  EXPECT_EQ(weld(loose, "ball", 1e-9).vertices.size(), loose.vertices.size());
}

TEST(TriangleMesh, ScalingByAMirrorStaysOutside) {
  const TriangleMesh corner = corner_mesh({1, 2, 3});
  EXPECT_DOUBLE_EQ(signed_volume(scaled(corner, {-2, 1, 1})), 2);
  EXPECT_DOUBLE_EQ(signed_volume(scaled(corner, {-2, -1, 1})), 2);
  EXPECT_DOUBLE_EQ(signed_volume(flipped(corner)), -1);
}

TEST(TriangleMesh, HalfWidthsAreThoseOfTheSolidHoweverItIsTurned) {
  TriangleMesh plate = box_mesh({0.5, 0.02, 0.3});
  for (Vec3& x : plate.vertices) x = Vec3(1, 2, 3) + rotate(quaternion_exp({0.3, 0.8, -0.5}), x);
  EXPECT_LE((half_widths(plate) - Vec3(0.02, 0.3, 0.5)).norm(), 1e-13);
}

TEST(TriangleMesh, HeightFieldsAreCentredAndSeenFromAbove) {
  // Three columns along x, two rows along y.
  const TriangleMesh field = height_field({0, 1, 2, 3, 4, 5}, 3, 0.5, 2);
  ASSERT_EQ(field.vertices.size(), 6U);
  EXPECT_EQ(field.vertices[0], Vec3(-0.5, -1, 0));
  EXPECT_EQ(field.vertices[2], Vec3(0.5, -1, 2));
  EXPECT_EQ(field.vertices[3], Vec3(-0.5, 1, 3));
  const std::vector<std::array<int, 3>> expected{{0, 1, 4}, {0, 4, 3}, {1, 2, 5}, {1, 5, 4}};
  EXPECT_EQ(field.triangles, expected);
  check_mesh(field, "field", Surface::open);
  for (const auto& t : field.triangles) {
    const Vec3& a = field.vertices[t[0]];
    EXPECT_GT((field.vertices[t[1]] - a).cross(field.vertices[t[2]] - a).z(), 0);
  }
}

TEST(TriangleMesh, WhatIsWrongIsSaidAndWhere) {
  const auto message = [](TriangleMesh mesh, auto change, Surface surface = Surface::closed) {
    change(mesh);
    return message_of([&] { check_mesh(mesh, "m", surface); });
  };
  const TriangleMesh cube = box_mesh(Vec3::Ones());
  EXPECT_EQ(message(cube, [](auto&) {}), "no error");
  EXPECT_EQ(message(cube, [](auto& m) { m.triangles.clear(); }),
            "m: found no triangles, expected a surface of at least one");
  EXPECT_EQ(message(cube, [](auto& m) { m.triangles[3][1] = 8; }),
            "m: triangle 3: found vertex 8, expected an index from 0 to 7");
  EXPECT_EQ(message(cube, [](auto& m) { m.triangles[3][1] = -1; }),
            "m: triangle 3: found vertex -1, expected an index from 0 to 7");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(message(cube, [&](auto& m) { m.vertices[5].y() = nan; }),
            "m: vertex 5: found (1, nan, 1), expected finite coordinates");
  EXPECT_EQ(message(cube, [](auto& m) { m.vertices[3] = 0.5 * (m.vertices[0] + m.vertices[1]); }),
            "m: triangle 1 with the vertices 0, 3, 1: found no area (its corners (-1, -1, -1), (0, "
            "-1, -1), (1, -1, -1) are on a line), expected triangles with an area");
  EXPECT_EQ(message(cube, [](auto& m) { m.triangles.pop_back(); }),
            "m: found 3 edges with one triangle only, the first from vertex 5 (1, -1, 1) to vertex "
            "7 (1, 1, 1) (the surface has a hole), expected a closed surface, the skin of a solid");
  EXPECT_EQ(message(
                cube, [](auto& m) { m.triangles.pop_back(); }, Surface::open),
            "no error");
  EXPECT_EQ(message(
                cube,
                [](auto& m) {
                  m.triangles.push_back({0, 3, 6});
                },
                Surface::open),
            "m: edge from vertex 0 (-1, -1, -1) to vertex 3 (1, 1, -1): found 3 triangles (0, 1, "
            "12), expected at most two");
  EXPECT_EQ(message(cube, [](auto& m) { std::swap(m.triangles[0][0], m.triangles[0][1]); }),
            "m: edge from vertex 0 (-1, -1, -1) to vertex 2 (-1, 1, -1): found triangles 0 and 9 "
            "turned against each other, expected all of them counter-clockwise seen from the same "
            "side");
  EXPECT_EQ(message(cube, [](auto& m) { m = flipped(m); }),
            "m: found a surface that is inside out (its volume is -8 m³), expected triangles that "
            "are counter-clockwise seen from outside (in a scene, \"flip\": true turns them all)");
  // Two sides of one triangle.
  EXPECT_EQ(message(cube,
                    [](auto& m) {
                      m.triangles = {{0, 1, 2}, {0, 2, 1}};
                    }),
            "m: found a volume of 0 m³, expected a solid with a volume");
  EXPECT_EQ(message_of([&] { mass_properties(cube, -1, "m"); }),
            "m: density: found -1, expected a number that is not negative (kg/m³)");
  EXPECT_EQ(message_of([&] {
              weld({{Vec3::Zero()}, {{0, 0, 1}}}, "m");
            }),
            "m: triangle 0: found vertex 1, expected an index from 0 to 0");
}

TEST(TriangleMesh, ChecksDoNotDependOnTheScale) {
  for (const double scale : {1e-3, 1., 1e3}) {
    // A plate of 1 : 1e-4 is a solid, one of 1 : 1e-13 is none.
    const Vec3 factors = Vec3::Constant(scale);
    check_mesh(scaled(box_mesh({1, 1, 1e-4}), factors), "plate", Surface::closed);
    EXPECT_NE(message_of([&] {
                check_mesh(scaled(box_mesh({1, 1, 1e-13}), factors), "plate", Surface::closed);
              }),
              "no error");
  }
}

}  // namespace
}  // namespace urto
