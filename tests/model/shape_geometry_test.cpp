#include "urto/model/shape_geometry.h"

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "mesh_samples.h"
#include "urto/model/convex_hull.h"
#include "urto/model/triangle_mesh.h"

namespace urto {
namespace {

using namespace samples;

// A fixed and a dynamic body, and one shape.
Model model_with(Shape shape, std::vector<TriangleMesh> meshes, int body = 0) {
  Model model;
  model.bodies.resize(2);
  model.bodies[0].name = "ground";
  model.bodies[0].kind = BodyKind::fixed;
  model.bodies[1].name = "stone";
  model.meshes = std::move(meshes);
  shape.body = body;
  model.shapes = {shape};
  return model;
}

Shape of_mesh(ShapeKind kind, double margin = 0) {
  Shape shape;
  shape.kind = kind;
  shape.geometry = 0;
  shape.margin = margin;
  return shape;
}

Shape of_size(ShapeKind kind, const Vec3& size, double margin = 0) {
  Shape shape;
  shape.kind = kind;
  shape.size = size;
  shape.margin = margin;
  return shape;
}

std::string finalize_message(Model model) {
  return message_of([&] { finalize(model); });
}

TEST(ShapeGeometry, FactsOfAMesh) {
  const MeshFacts box = facts_of(box_mesh({1, 2, 3}), "box");
  EXPECT_TRUE(box.closed && box.convex);
  EXPECT_DOUBLE_EQ(box.solid.mass, 48);
  EXPECT_DOUBLE_EQ(box.inner_radius, 1);
  EXPECT_DOUBLE_EQ(box.half_width, 1);
  const MeshFacts field = facts_of(height_field({0, 0, 0, 1, 0, 0}, 3, 1, 1), "field");
  EXPECT_FALSE(field.closed || field.convex);
}

TEST(ShapeGeometry, MassOfEveryKindThatHasAnInside) {
  const std::vector<MeshFacts> facts{facts_of(box_mesh({1, 2, 3}), "box")};
  EXPECT_DOUBLE_EQ(mass_properties(of_mesh(ShapeKind::hull), facts, 2).mass, 96);
  EXPECT_DOUBLE_EQ(mass_properties(of_mesh(ShapeKind::mesh), facts, 2).inertia(0, 0),
                   mass_properties(ShapeKind::box, {1, 2, 3}, 2).inertia(0, 0));
  EXPECT_DOUBLE_EQ(mass_properties(of_size(ShapeKind::box, {1, 2, 3}), {}, 2).mass, 96);
  const std::vector<MeshFacts> open{facts_of(height_field({0, 0, 0, 1}, 2, 1, 1), "field")};
  EXPECT_EQ(message_of([&] { mass_properties(of_mesh(ShapeKind::mesh), open, 1); }),
            "mass of a shape: found a mesh with a hole, expected a closed surface, the skin of a "
            "solid");
  EXPECT_EQ(
      message_of([&] { mass_properties(of_mesh(ShapeKind::height_field), open, 1); }),
      "mass of a shape: found a height field, expected a closed surface, the skin of a solid");
}

TEST(ShapeGeometry, TheLargestMarginIsABallInside) {
  const auto most = [](ShapeKind kind, const Vec3& size) {
    return largest_margin(of_size(kind, size), {});
  };
  EXPECT_EQ(most(ShapeKind::sphere, {1, 0, 0}), 0);
  EXPECT_EQ(most(ShapeKind::capsule, {1, 1, 0}), 0);
  EXPECT_EQ(most(ShapeKind::half_space, {0, 0, 0}), 0);
  EXPECT_EQ(most(ShapeKind::box, {3, 1, 2}), 1);
  EXPECT_EQ(most(ShapeKind::cylinder, {3, 1, 0}), 1);
  EXPECT_DOUBLE_EQ(most(ShapeKind::cone, {3, 2, 0}), 1.5);  // 3-4-5
  EXPECT_EQ(most(ShapeKind::ellipsoid, {4, 2, 2}), 0);
  const std::vector<MeshFacts> facts{facts_of(box_mesh({1, 2, 3}), "box")};
  EXPECT_DOUBLE_EQ(largest_margin(of_mesh(ShapeKind::hull), facts), 1);
  EXPECT_EQ(largest_margin(of_mesh(ShapeKind::mesh), facts), 0);
}

TEST(ShapeGeometry, TheEnvelopeGoesByTheSmallestWidthAndNotByTerrain) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  const auto extent = [](const Shape& shape, int body = 1) {
    return smallest_extents(model_with(shape, {box_mesh({1, 2, 3})}, body))[0];
  };
  EXPECT_EQ(extent(of_size(ShapeKind::sphere, {2, 0, 0})), 2);
  EXPECT_EQ(extent(of_size(ShapeKind::box, {3, 1, 2})), 1);
  EXPECT_EQ(extent(of_size(ShapeKind::ellipsoid, {3, 2, 1})), 1);
  EXPECT_EQ(extent(of_size(ShapeKind::cylinder, {3, 1, 0})), 1);
  EXPECT_EQ(extent(of_size(ShapeKind::capsule, {3, 1, 0})), 3);
  EXPECT_EQ(extent(of_size(ShapeKind::half_space, {0, 0, 0}), 0), infinite);
  EXPECT_DOUBLE_EQ(extent(of_mesh(ShapeKind::hull)), 1);
  EXPECT_DOUBLE_EQ(extent(of_mesh(ShapeKind::hull), 0), 1);
  EXPECT_DOUBLE_EQ(extent(of_mesh(ShapeKind::mesh)), 1);
  EXPECT_EQ(extent(of_mesh(ShapeKind::mesh), 0), infinite);
  EXPECT_EQ(extent(of_mesh(ShapeKind::height_field), 0), infinite);
}

TEST(ShapeGeometry, FinalizeTakesWhatIsSound) {
  for (const int body : {0, 1}) {
    for (const ShapeKind kind : {ShapeKind::hull, ShapeKind::mesh}) {
      EXPECT_EQ(finalize_message(model_with(of_mesh(kind, kind == ShapeKind::hull ? 1 : 0),
                                            {box_mesh({1, 2, 3})}, body)),
                "no error");
    }
  }
  EXPECT_EQ(finalize_message(model_with(of_mesh(ShapeKind::height_field, 0),
                                        {height_field({0, 0, 0, 1}, 2, 1, 1)})),
            "no error");
}

TEST(ShapeGeometry, FinalizeNamesWhatIsNot) {
  const TriangleMesh box = box_mesh({1, 2, 3});
  TriangleMesh open = box, dented = ball_mesh(2);
  open.triangles.pop_back();
  dented.vertices[0] *= 0.9;
  EXPECT_EQ(finalize_message(model_with(of_mesh(ShapeKind::hull), {})),
            "shape 0: geometry: found 0, expected an index into meshes, of which there are none");
  Shape lost = of_mesh(ShapeKind::mesh);
  lost.geometry = 1;
  EXPECT_EQ(finalize_message(model_with(lost, {box})),
            "shape 0: geometry: found 1, expected an index from 0 to 0");
  for (const TriangleMesh& mesh : {open, dented}) {
    EXPECT_EQ(finalize_message(model_with(of_mesh(ShapeKind::hull), {mesh})),
              "shape 0: mesh 0: found a surface that is not closed and convex, expected a hull, as "
              "of convex_hull()");
    EXPECT_EQ(finalize_message(model_with(of_mesh(ShapeKind::mesh), {mesh})), "no error");
  }
  EXPECT_EQ(
      finalize_message(model_with(of_mesh(ShapeKind::mesh), {flipped(box)})),
      "mesh 0: found a surface that is inside out (its volume is -48 m³), expected triangles "
      "that are counter-clockwise seen from outside (in a scene, \"flip\": true turns them all)");
  EXPECT_EQ(finalize_message(model_with(of_mesh(ShapeKind::height_field),
                                        {height_field({0, 0, 0, 1}, 2, 1, 1)}, 1)),
            "shape 0: found a height field on the dynamic body 'stone', expected a fixed or "
            "kinematic body");
  EXPECT_EQ(finalize_message(model_with(of_size(ShapeKind::box, {1, 2, 3}, 1.5), {})),
            "shape 0: margin: found 1.5, expected a length from 0 to 1 (m)");
  EXPECT_EQ(finalize_message(model_with(of_size(ShapeKind::box, {1, 2, 3}, NAN), {})),
            "shape 0: margin: found nan, expected a length from 0 to 1 (m)");
  EXPECT_EQ(finalize_message(model_with(of_size(ShapeKind::sphere, {1, 0, 0}, 0.1), {})),
            "shape 0: margin: found 0.1, expected 0: a sphere has no edges to round");
  EXPECT_EQ(finalize_message(model_with(of_mesh(ShapeKind::hull, 1.1), {box})),
            "shape 0: margin: found 1.1, expected a length from 0 to 1 (m)");
}

}  // namespace
}  // namespace urto
