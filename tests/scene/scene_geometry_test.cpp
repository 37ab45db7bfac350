// Hulls, meshes and height fields in scenes: where they come from, what they weigh, that files are
// read once and stay in the expanded scene.
#include <nlohmann/json.hpp>

#include "model/mesh_samples.h"
#include "scene_samples.h"
#include "urto/model/triangle_mesh.h"
#include "urto/result/result_file.h"

namespace urto {
namespace {

using namespace samples;
using nlohmann::json;

json points_json(const TriangleMesh& mesh) {
  json points = json::array();
  for (const Vec3& x : mesh.vertices) points.push_back({x[0], x[1], x[2]});
  return points;
}

std::string triangles_text(const TriangleMesh& mesh) {
  return json(mesh.triangles).dump();
}

std::string obj_text(const TriangleMesh& mesh) {
  std::string text;
  for (const Vec3& x : mesh.vertices) text += fmt::format("v {} {} {}\n", x[0], x[1], x[2]);
  for (const auto& t : mesh.triangles)
    text += fmt::format("f {} {} {}\n", t[0] + 1, t[1] + 1, t[2] + 1);
  return text;
}

const TriangleMesh brick = box_mesh({0.5, 1, 1.5}, {2, 0, 0});

std::string dynamic(const std::string& shape) {
  return with_body(R"("name": "stone", "density": 100, "shapes": [)" + shape + "]");
}
std::string fixed(const std::string& shape) {
  return with_body(R"("kind": "fixed", "shapes": [)" + shape + "]");
}

class SceneGeometry : public SceneFiles {};

void expect_brick(const Scene& scene, double scale = 1) {
  const MassProperties expected = mass_properties(ShapeKind::box, scale * Vec3(0.5, 1, 1.5), 100);
  const Body& body = scene.model.bodies.at(1);
  EXPECT_NEAR(body.mass, expected.mass, 1e-14 * expected.mass);
  EXPECT_LE((body.inertia - expected.inertia).norm(), 1e-14 * expected.inertia.norm());
  EXPECT_LE((body.start.position - scale * Vec3(2, 0, 0)).norm(), 1e-14);
  EXPECT_LE((scene.model.shapes.at(0).pose.position + scale * Vec3(2, 0, 0)).norm(), 1e-14);
}

TEST_F(SceneGeometry, ABrickIsABrickHoweverItIsGiven) {
  const std::string points = points_json(brick).dump(), triangles = triangles_text(brick);
  expect_brick(parsed(dynamic(R"({"kind": "hull", "points": )" + points + "}")));
  expect_brick(parsed(dynamic(R"({"kind": "mesh", "vertices": )" + points + R"(, "triangles": )" +
                              triangles + "}")));
  expect_brick(parsed(dynamic(R"({"kind": "mesh", "flip": true, "vertices": )" + points +
                              R"(, "triangles": )" + triangles_text(flipped(brick)) + "}")));
  write("parts/brick.obj", obj_text(brick));
  for (const char* kind : {"hull", "mesh"}) {
    const std::string start = fmt::format(R"({{"kind": "{}", "file": "parts/brick.obj")", kind);
    expect_brick(load_scene(write("a.json", dynamic(start + "}"))));
    expect_brick(load_scene(write("b.json", dynamic(start + R"(, "scale": 0.001})"))), 0.001);
    expect_brick(load_scene(write("c.json", dynamic(start + R"(, "scale": [1, -1, 1]})"))));
    // By name, in a scene of the same folder that is included.
    write("parts/meshes.json", scene_text(R"("meshes": {"b": {"file": "brick.obj"}})"));
    const std::string named = fmt::format(R"("bodies": [{{"density": 100, "shapes": [
        {{"kind": "{}", "mesh": "b"}}]}}], "include": ["parts/meshes.json"])",
                                          kind);
    expect_brick(load_scene(write("d.json", scene_text(named))));
  }
}

TEST_F(SceneGeometry, TheExpandedSceneStandsAloneAndGivesTheSameModel) {
  write("brick.obj", obj_text(brick));
  write("dir/brick.obj", obj_text(box_mesh({1, 1, 1})));
  write(
      "dir/more.json",
      with_body(R"("name": "c", "density": 1, "shapes": [{"kind": "mesh", "file": "brick.obj"}])"));
  write("hills.csv", "0, 0.1, 0\n0.2, 0, 0.1\n");
  const Scene scene =
      load_scene(write("s.json", scene_text(R"("include": ["dir/more.json"], "bodies": [
    {"name": "ground", "kind": "fixed", "shapes": [
      {"kind": "height-field", "file": "hills.csv", "spacing": 0.5}]},
    {"name": "a", "density": 1, "shapes": [{"kind": "hull", "file": "brick.obj", "margin": 0.1}]},
    {"name": "b", "density": 1, "shapes": [{"kind": "mesh", "file": "brick.obj", "scale": 2}]}])")));
  ASSERT_EQ(scene.model.meshes.size(), 4U);
  fs::remove_all(directory_);
  const Scene again = parse_scene(scene.normalized_json, "elsewhere.json");
  EXPECT_EQ(fingerprint(again.model), fingerprint(scene.model));
  EXPECT_EQ(again.normalized_json, scene.normalized_json);
  EXPECT_EQ(scene.normalized_json.find("\"file\""), std::string::npos);
  const json expanded = json::parse(scene.normalized_json);
  EXPECT_EQ(expanded.at("meshes").size(), 2U);
  EXPECT_TRUE(expanded.at("meshes").contains("brick.obj"));
  EXPECT_TRUE(expanded.at("meshes").contains("brick.obj-2"));
}

TEST_F(SceneGeometry, GridsShareOneMesh) {
  write("brick.obj", obj_text(brick));
  const std::string grid =
      R"("bodies": [{"generate": "grid", "count": [3, 2, 1], "spacing": [5, 5, 5],
      "body": {"density": 1, "shapes": [{"kind": "hull", "file": "brick.obj"},
        {"kind": "mesh", "file": "./brick.obj", "position": ["=i", 0, 0]},
        {"kind": "hull", "points": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, "=1+j"]]}]}}])";
  const Scene scene = load_scene(write("s.json", scene_text(grid)));
  ASSERT_EQ(scene.model.shapes.size(), 18U);
  EXPECT_EQ(scene.model.meshes.size(), 4U);  // a hull, a mesh, and two that differ by j
  for (int k = 0; k < 18; k += 3) {
    EXPECT_EQ(scene.model.shapes[k].geometry, 0);
    EXPECT_EQ(scene.model.shapes[k + 1].geometry, 1);
    EXPECT_EQ(scene.model.shapes[k + 2].geometry, k < 9 ? 2 : 3);
  }
  EXPECT_EQ(json::parse(scene.normalized_json).at("meshes").size(), 1U);
}

TEST_F(SceneGeometry, CompoundsWeighTheirParts) {
  // Two halves of a box, a hull and a turned mesh, are the box.
  const std::string hull = R"({"kind": "hull", "position": [-0.25, 0, 0], "points": )" +
                           points_json(box_mesh({0.25, 1, 1.5})).dump() + "}";
  const TriangleMesh turned = box_mesh({1, 0.25, 1.5});
  const std::string mesh = R"({"kind": "mesh", "position": [0.25, 0, 0],
      "rotation": {"axis": [0, 0, 1], "degrees": 90}, "vertices": )" +
                           points_json(turned).dump() + R"(, "triangles": )" +
                           triangles_text(turned) + "}";
  const Body body = parsed(dynamic(hull + ", " + mesh)).model.bodies[1];
  const MassProperties box = mass_properties(ShapeKind::box, {0.5, 1, 1.5}, 100);
  EXPECT_NEAR(body.mass, box.mass, 1e-12);
  EXPECT_LE(body.start.position.norm(), 1e-15);
  EXPECT_LE((body.inertia - box.inertia).norm(), 1e-12 * box.inertia.norm());
}

TEST_F(SceneGeometry, HeightFieldsHaveASpacingOrASize) {
  const auto vertex = [](const std::string& extent) {
    return parsed(fixed(R"({"kind": "height-field", "heights": [[0, 1, 2], [3, 4, 5]], )" + extent +
                        "}"))
        .model.meshes[0]
        .vertices[5];
  };
  EXPECT_EQ(vertex(R"("spacing": 2)"), Vec3(2, 1, 5));
  EXPECT_EQ(vertex(R"("spacing": [2, 3])"), Vec3(2, 1.5, 5));
  EXPECT_EQ(vertex(R"("size": [4, 3])"), Vec3(2, 1.5, 5));
}

TEST_F(SceneGeometry, AnOpenMeshNeedsNoInsideWhereMassAndInertiaAreGiven) {
  TriangleMesh open = brick;
  open.triangles.pop_back();
  const std::string shape = R"({"kind": "mesh", "vertices": )" + points_json(open).dump() +
                            R"(, "triangles": )" + triangles_text(open) + "}";
  EXPECT_EQ(message_of(fixed(shape)), "");
  EXPECT_EQ(message_of(with_body(R"("mass": 1, "inertia": [1, 1, 1], "shapes": [)" + shape + "]")),
            "");
  for (const char* given : {R"("density": 1)", R"("mass": 1)"}) {
    EXPECT_EQ(message_of(with_body(fmt::format(R"({}, "shapes": [{}])", given, shape))),
              "s.json: /bodies/0/shapes/0: found 3 edges with one triangle only, the first from "
              "vertex 5 (2.5, -1, 1.5) to vertex 7 (2.5, 1, 1.5) (the surface has a hole), "
              "expected a closed surface, the skin of a solid");
  }
}

TEST_F(SceneGeometry, Mistakes) {
  const auto message = [](const std::string& text) {
    const std::string said = message_of(text);
    EXPECT_TRUE(said.starts_with("s.json: /bodies/0/shapes/0")) << said;
    return said.substr(std::min<std::size_t>(26, said.size()));
  };
  const auto hull = [&](const std::string& keys) {
    return message(fixed(R"({"kind": "hull", )" + keys + "}"));
  };
  const auto mesh = [&](const std::string& keys) {
    return message(fixed(R"({"kind": "mesh", )" + keys + "}"));
  };
  const auto field = [&](const std::string& keys) {
    return message(fixed(R"({"kind": "height-field", )" + keys + "}"));
  };
  const std::string corner = R"("points": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]])";
  EXPECT_EQ(hull(R"("scale": 1)"), ": a hull has one of: 'points', 'mesh', 'file'");
  EXPECT_EQ(hull(corner + R"(, "mesh": "m")"), ": a hull has one of: 'points', 'mesh', 'file'");
  EXPECT_EQ(hull(R"("mesh": "m")"), "/mesh: there is no mesh 'm'");
  EXPECT_EQ(hull(R"("points": [[0, 0, 0], [1, 0, 0]])"),
            ": found 2 points, expected at least four, the corners of a solid");
  EXPECT_EQ(hull(R"("points": [[0, 0, 0], [1, "x", 0]])"),
            "/points/1/1: found \"x\", expected a number [m]");
  EXPECT_EQ(hull(R"("points": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])"),
            ": found points in a plane (thickness 0 m), expected points that span a solid");
  EXPECT_EQ(hull(corner + R"(, "scale": 0)"),
            "/scale: found 0, expected factors that are not zero");
  EXPECT_EQ(hull(R"("margin": 1, "points": )" + points_json(brick).dump()),
            "/margin: found 1, expected a number from 0 to 0.5 [m]");
  EXPECT_EQ(mesh(R"("vertices": [[0, 0, 0]])"),
            ": found no triangles, expected a surface of at least one");
  EXPECT_EQ(mesh(R"("vertices": [[0, 0, 0]], "triangles": [[0, 0, 1]])"),
            "/triangles/0/2: found 1, expected a whole number from 0 to 0");
  EXPECT_EQ(mesh(R"("vertices": [[0, 0, 0]], "triangles": [[0, 0]])"),
            "/triangles/0: found [0,0], expected three numbers of vertices");
  EXPECT_EQ(mesh(R"("triangles": [])"), ": a mesh has one of: 'vertices', 'mesh', 'file'");
  EXPECT_EQ(mesh(R"("vertices": )" + points_json(brick).dump() + R"(, "triangles": )" +
                 triangles_text(flipped(brick))),
            ": found a surface that is inside out (its volume is -6 m³), expected triangles that "
            "are counter-clockwise seen from outside (in a scene, \"flip\": true turns them all)");
  EXPECT_EQ(field(R"("heights": [[0, 1], [2, 3]])"),
            ": a height field has one of: 'spacing', 'size'");
  EXPECT_EQ(field(R"("spacing": 1)"), ": a height field has one of: 'heights', 'file'");
  EXPECT_EQ(field(R"("heights": [[0, 1], [2]], "spacing": 1)"),
            "/heights/1: found 1 heights, expected 2, as in the rows before");
  EXPECT_EQ(field(R"("heights": [[0, 1]], "spacing": 1)"),
            "/heights: found 1 × 2 heights, expected at least two rows of at least two heights");
  EXPECT_EQ(field(R"("heights": [[0, 1], [2, 3]], "spacing": -1)"),
            "/spacing: found -1, expected a positive number [m]");
  EXPECT_EQ(
      message(dynamic(R"({"kind": "height-field", "heights": [[0, 1], [2, 3]], "spacing": 1})")),
      ": found a height field on a dynamic body, expected a fixed or kinematic body");
  EXPECT_EQ(message(fixed(R"({"kind": "sphere", "radius": 1, "margin": 0.1})")),
            "/margin: a sphere has no 'margin': it is round");
  EXPECT_EQ(message(fixed(R"({"kind": "capsule", "radius": 1, "length": 1, "margin": 0.1})")),
            "/margin: a capsule has no 'margin': it is round");
  EXPECT_EQ(message(fixed(R"({"kind": "half-space", "margin": 0.1})")),
            "/margin: a half-space has no 'margin': it has no edges");
  EXPECT_EQ(
      message(fixed(
          R"({"kind": "height-field", "heights": [[0, 0], [0, 0]], "spacing": 1, "margin": 0.1})")),
      "/margin: a height-field has no 'margin': it touches with its triangles as they are");
  EXPECT_EQ(message(fixed(R"({"kind": "box", "size": [1, 2, 3], "margin": 0.6})")),
            "/margin: found 0.6, expected a number from 0 to 0.5 [m]");
  EXPECT_EQ(
      parsed(fixed(R"({"kind": "box", "size": [1, 2, 3], "margin": 0.1})")).model.shapes[0].margin,
      0.1);
}

TEST_F(SceneGeometry, MistakesInFilesAreNamedThere) {
  const auto in = [&](const std::string& shape) { return message(write("s.json", fixed(shape))); };
  write("flat.obj", "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 1 1 0\nf 1 2 3\n");
  write("bad.obj", "v 0 0 0\nv 1 0\n");
  write("bad.csv", "1 2\n3\n");
  write("m.ply", "ply\n");
  EXPECT_EQ(in(R"({"kind": "mesh", "file": "none.obj"})"),
            "s.json: /bodies/0/shapes/0/file: none.obj: there is no such file");
  EXPECT_EQ(in(R"({"kind": "mesh", "file": "m.ply"})"),
            "s.json: /bodies/0/shapes/0/file: m.ply: found '.ply', expected a file that ends in "
            ".obj or .stl");
  EXPECT_EQ(in(R"({"kind": "mesh", "file": 3})"),
            "s.json: /bodies/0/shapes/0/file: found 3, expected a string");
  EXPECT_EQ(in(R"({"kind": "mesh", "file": "bad.obj"})"),
            "s.json: /bodies/0/shapes/0/file: bad.obj:2: found the end of the line, expected three "
            "finite coordinates of a vertex");
  EXPECT_EQ(in(R"({"kind": "height-field", "file": "bad.csv", "spacing": 1})"),
            "s.json: /bodies/0/shapes/0/file: bad.csv:2: found 1 numbers, expected 2, as in the "
            "rows above");
  EXPECT_EQ(in(R"({"kind": "hull", "file": "flat.obj"})"),
            "s.json: /bodies/0/shapes/0: flat.obj: found points in a plane (thickness 0 m), "
            "expected points that span a solid");
  write("inside.obj", obj_text(flipped(brick)));
  EXPECT_EQ(
      in(R"({"kind": "mesh", "file": "inside.obj"})"),
      "s.json: /bodies/0/shapes/0: inside.obj: found a surface that is inside out (its volume "
      "is -6 m³), expected triangles that are counter-clockwise seen from outside (in a "
      "scene, \"flip\": true turns them all)");
  EXPECT_EQ(
      parsed(fixed(R"({"kind": "mesh", "flip": true, "vertices": )" + points_json(brick).dump() +
                   R"(, "triangles": )" + triangles_text(flipped(brick)) + "}"))
          .model.meshes.size(),
      1U);
  EXPECT_EQ(in(R"({"kind": "hull", "file": "flat.obj", "mesh": "x"})"),
            "s.json: /bodies/0/shapes/0/file: 'file' does not go with 'mesh', which says the same");
  EXPECT_EQ(in(R"({"kind": "box", "size": [1, 1, 1], "file": "flat.obj"})"),
            "s.json: /bodies/0/shapes/0/file: unknown key 'file' in a box, did you mean 'size'?");
  EXPECT_EQ(message(write("s.json", scene_text(R"("meshes": {"m": {"file": "bad.obj"}})"))),
            "s.json: /meshes/m/file: bad.obj:2: found the end of the line, expected three finite "
            "coordinates of a vertex");
  EXPECT_EQ(message(write("s.json",
                          scene_text(R"("meshes": {"m": {"file": "flat.obj", "vertices": []}})"))),
            "s.json: /meshes/m: a mesh has either 'file' or 'vertices'");
}

TEST_F(SceneGeometry, ResultsHaveTheMeshes) {
  const Scene scene = parsed(scene_text(R"("bodies": [
    {"name": "ball", "density": 1, "shapes": [{"kind": "sphere", "radius": 1, "collides": false}]},
    {"name": "ground", "kind": "fixed", "shapes": [{"kind": "height-field", "heights": [[0, 1], [2, 3]],
      "spacing": 1, "collides": false}]},
    {"name": "stone", "density": 1, "shapes": [{"kind": "hull", "collides": false,
      "points": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]}]}],
    "simulation": {"duration": 0.002})"));
  const fs::path file = directory_ / "r.h5";
  ResultWriter::create(file, describe(scene)).finish({});
  const ResultReader r(file);
  EXPECT_EQ(r.numbers("/model/shapes/geometry"), (std::vector<double>{-1, 0, 1}));
  EXPECT_EQ(r.shape("/model/meshes/0/vertices"), (std::vector<std::int64_t>{4, 3}));
  EXPECT_EQ(r.shape("/model/meshes/0/triangles"), (std::vector<std::int64_t>{2, 3}));
  EXPECT_EQ(r.numbers("/model/meshes/0/triangles"), (std::vector<double>{0, 1, 3, 0, 3, 2}));
  EXPECT_EQ(r.numbers("/model/meshes/1/vertices"),
            (std::vector<double>{0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(r.texts("/shapes/kind"), (std::vector<std::string>{"sphere", "height-field", "hull"}));
  EXPECT_FALSE(r.has("/model/meshes/2"));
}

}  // namespace
}  // namespace urto
