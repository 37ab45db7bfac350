#include "urto/page/report_page.h"

#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "result/result_samples.h"
#include "urto/error.h"
#include "urto/page/page_data.h"
#include "urto/result/drawn_model.h"
#include "urto/result/surface.h"

namespace urto {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class ResultPage : public samples::FolderTest {};

/// An array of the page, as the browser will see it.
template <typename Number>
std::vector<Number> array(const PageData& page, const json& where) {
  std::vector<Number> out(where["n"].get<std::size_t>());
  const auto at = where["at"].get<std::size_t>();
  EXPECT_EQ(at % 8, 0u) << "typed arrays must be aligned";
  EXPECT_LE(at + out.size() * sizeof(Number), page.binary.size());
  std::memcpy(out.data(), page.binary.data() + at, out.size() * sizeof(Number));
  return out;
}

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

/// A result that ended as told.
fs::path ended(const fs::path& file, const char* status, const char* failure,
               const std::vector<std::string>& set = {}) {
  const Scene scene = parse_scene(samples::busy_scene, "test", set);
  Simulation run(scene.model, scene.options);
  run.start();
  ResultWriter writer = ResultWriter::create(file, describe(scene, {"a joint too many"}));
  writer.add_frame(record_frame(run));
  samples::record(run, writer, 200);
  RunStatus ended_so = record_status(run);
  ended_so.status = status;
  ended_so.failure = failure;
  writer.finish(ended_so);
  return file;
}

TEST_F(ResultPage, HoldsTheErrorBandsOfAVerifiedRun) {
  Result result = samples::invented_result();
  EXPECT_TRUE(page_data(ResultValues(result), {}).json["verification"].is_null());
  Verification& v = result.verification.emplace();
  v.state = VerificationState::converges;
  v.time = {0, 1};
  QuantityError position{.name = "position", .unit = "m", .items = 2, .width = 3};
  for (int k = 0; k < 12; ++k) position.band.push_back(k);
  position.worst = 9;
  position.worst_item = 1;
  position.worst_name = "ball";
  v.errors = {position,
              {.name = "coordinate", .unit = "m, rad", .items = 1, .band = {0.5, 0.25}},
              {.name = "energy", .unit = "J", .items = 3, .band = {1, 2, 3, 4, 5, 6}}};
  const PageData page = page_data(ResultValues(result), {});
  const json& found = page.json["verification"];
  EXPECT_EQ(found["state"], "converges");
  EXPECT_EQ(array<double>(page, found["time"]), (std::vector<double>{0, 1}));
  // Of the ball: the world, body 0, does not move.
  EXPECT_EQ(array<float>(page, found["position"]), (std::vector<float>{3, 4, 5, 9, 10, 11}));
  EXPECT_EQ(array<float>(page, found["energy"]["potential"]), (std::vector<float>{2, 5}));
  EXPECT_EQ(found["coordinates"][0]["item"], "crank");
  EXPECT_EQ(array<float>(page, found["coordinates"][0]["values"]), (std::vector<float>{0.5, 0.25}));
  EXPECT_EQ(found["largest"][0]["name"], "position");
  EXPECT_FLOAT_EQ(array<float>(page, found["largest"][0]["values"])[0], std::sqrt(9 + 16 + 25));
  EXPECT_EQ(found["lines"][0]["name"], "error");
  EXPECT_NE(found["lines"][0]["value"].get<std::string>().find("(ball, t = "), std::string::npos);
}

TEST_F(ResultPage, HoldsWhatTheResultHolds) {
  samples::write_run(path("r.h5"), samples::busy_scene);
  const ResultReader r(path("r.h5"));
  const PageData page = page_data(r, {});
  const json& frames = page.json["frames"];
  EXPECT_EQ(page.json["title"], "Busy");
  EXPECT_EQ(frames["count"], 101);
  EXPECT_EQ(frames["stride"], 1);
  EXPECT_EQ(frames["moving"], json({2, 3, 4})) << "world and floor stand still";
  EXPECT_EQ(array<double>(page, frames["time"]), r.numbers("/frames/time"));
  const auto position = array<float>(page, frames["position"]);
  const auto rotation = array<float>(page, frames["rotation"]);
  const auto x = r.numbers("/frames/position"), p = r.numbers("/frames/rotation");
  ASSERT_EQ(position.size(), 101u * 3 * 3);
  for (std::size_t f = 0; f < 101; ++f) {
    for (std::size_t b = 0; b < 3; ++b) {
      for (std::size_t i = 0; i < 3; ++i)
        EXPECT_EQ(position[3 * (3 * f + b) + i], static_cast<float>(x[3 * (5 * f + b + 2) + i]));
      for (std::size_t i = 0; i < 4; ++i)
        EXPECT_EQ(rotation[4 * (3 * f + b) + i], static_cast<float>(p[4 * (5 * f + b + 2) + i]));
    }
  }
  const auto start = array<int>(page, page.json["contacts"]["start"]);
  ASSERT_EQ(start.size(), 102u);
  EXPECT_EQ(start.back(), r.counts().contacts);
  const auto force = array<float>(page, page.json["contacts"]["force"]);
  EXPECT_EQ(force.size(), 3u * start.back());
  EXPECT_GT(start.back(), 0) << "the ball bounces";
  EXPECT_EQ(page.json["summary"]["steps"], 1000);
  EXPECT_EQ(page.json["settings"]["tolerance"], r.number_attribute("tolerance"));
}

TEST_F(ResultPage, HasASeriesForEveryCoordinateAndReaction) {
  samples::write_run(path("r.h5"), samples::busy_scene);
  const ResultReader r(path("r.h5"));
  const PageData page = page_data(r, {});
  int angles = 0;
  for (const json& s : page.json["series"]) {
    EXPECT_EQ(s["values"]["n"], 101);
    if (s["item"] != "elbow" || s["name"] != "angle") continue;
    ++angles;
    EXPECT_EQ(s["unit"], "rad");
    EXPECT_EQ(array<float>(page, s["values"])[100],
              static_cast<float>(r.numbers("/frames/coordinate", 100, 1)[1]));
  }
  EXPECT_EQ(angles, 1);
  EXPECT_EQ(page.json["series"].size(), 2u * (1 + 1 + 6));
}

TEST_F(ResultPage, ThinsLongRunsAndSaysSo) {
  samples::write_run(path("r.h5"), samples::busy_scene);
  const ResultReader r(path("r.h5"));
  const PageData whole = page_data(r, {});
  PageOptions options;
  options.frame_bytes = 5000;
  options.step_points = 50;
  const PageData page = page_data(r, options);
  const json& frames = page.json["frames"];
  EXPECT_GT(frames["stride"], 1);
  EXPECT_EQ(frames["recorded"], 101);
  const auto time = array<double>(page, frames["time"]);
  EXPECT_EQ(time.size(), frames["count"]);
  EXPECT_LT(time.size(), 40u);
  EXPECT_EQ(time.front(), 0);
  EXPECT_EQ(time.back(), r.numbers("/frames/time", 100, 1)[0]) << "the last frame stays";
  // The kept frames have their own contacts.
  const auto start = array<int>(page, page.json["contacts"]["start"]);
  const long stride = frames["stride"];
  for (std::size_t k = 0; k + 1 < time.size(); ++k) {
    EXPECT_EQ(start[k + 1] - start[k],
              r.numbers("/contacts/count", static_cast<long>(k) * stride, 1)[0]);
  }
  EXPECT_LT(page.binary.size(), whole.binary.size() / 4);
}

TEST_F(ResultPage, LowestAndHighestOfEveryStretchSurvive) {
  samples::write_run(path("r.h5"), samples::busy_scene);
  const ResultReader r(path("r.h5"));
  PageOptions options;
  options.step_points = 50;
  const PageData page = page_data(r, options);
  const json& steps = page.json["steps"];
  EXPECT_EQ(steps["stretch"], 40);
  EXPECT_EQ(steps["recorded"], 1000);
  const auto time = array<double>(page, steps["time"]);
  EXPECT_TRUE(std::ranges::is_sorted(time));
  for (const char* column : {"residual", "energy/kinetic", "penetration"}) {
    const auto shown = array<float>(page, steps["columns"][column]);
    const auto all = r.numbers(std::string("/steps/") + column);
    ASSERT_EQ(shown.size(), time.size());
    EXPECT_EQ(std::ranges::max(shown), static_cast<float>(std::ranges::max(all))) << column;
    EXPECT_EQ(std::ranges::min(shown), static_cast<float>(std::ranges::min(all))) << column;
  }
}

TEST_F(ResultPage, FailuresComeBeforeWarnings) {
  const auto remarks = [&](const char* status, const char* failure,
                           const std::vector<std::string>& set = {}) {
    return page_data(ResultReader(ended(path("r.h5"), status, failure, set)), {}).json["remarks"];
  };
  const json failed = remarks("failed", "t = 0.2 s: the state is not a number");
  ASSERT_EQ(failed.size(), 2u);
  EXPECT_EQ(failed[0]["level"], "failure");
  EXPECT_EQ(failed[0]["text"], "The run failed at t = 0.2 s: the state is not a number.");
  EXPECT_EQ(failed[1]["text"], "At the start: a joint too many.");
  const json missed = remarks("finished", "", {"simulation.tolerance=1e-30"});
  EXPECT_EQ(missed[0]["level"], "failure");
  EXPECT_NE(missed[0]["text"].get<std::string>().find("of 200 steps missed the tolerance 1e-30"),
            std::string::npos);
  for (const char* status : {"interrupted", "running"}) {
    EXPECT_EQ(remarks(status, "")[0]["level"], "remark") << status;
  }
  EXPECT_EQ(remarks("finished", "").size(), 1u) << "only the start's warning";
}

TEST_F(ResultPage, AFileThatBrowsersReadWhateverTheNames) {
  samples::write_run(path("r.h5"), samples::busy_scene,
                     {R"(title="</script><script>evil & more")"});
  write_report(ResultReader(path("r.h5")), path("page.html"));
  const std::string text = contents(path("page.html"));
  EXPECT_EQ(text.find("</script><script>evil"), std::string::npos);
  EXPECT_NE(text.find("<title>&lt;/script>&lt;script>evil &amp; more · Urto</title>"),
            std::string::npos);
  EXPECT_EQ(text.find("{{urto-"), std::string::npos) << "a mark was left";
  EXPECT_TRUE(is_report(path("page.html")));
  EXPECT_FALSE(is_report(path("r.h5")));
  EXPECT_FALSE(is_report(path("nothing")));
  EXPECT_FALSE(fs::exists(path("page.html.part")));
  EXPECT_THROW(write_report(ResultReader(path("r.h5")), path("no/such/place.html")), InputError);
}

// ---- What is drawn

TEST_F(ResultPage, BodiesWithoutShapesGetRodsToTheirJoints) {
  samples::write_run(path("r.h5"), samples::busy_scene);
  const DrawnModel model = drawn_model(ResultReader(path("r.h5")));
  int rods = 0, balls = 0;
  for (const DrawnShape& s : model.shapes) {
    if (!s.glyph) continue;
    EXPECT_TRUE(s.body == 3 || s.body == 4) << "the arms only";
    if (s.kind == ShapeKind::sphere) ++balls;
    if (s.kind != ShapeKind::cylinder) continue;
    ++rods;
    const Vec3 axis = rotation_matrix(s.pose.rotation).col(2);
    const Vec3 end = s.pose.position + s.size[1] * axis;
    EXPECT_NEAR((s.pose.position - s.size[1] * axis).norm(), 0, 1e-12) << "from the centre";
    EXPECT_NEAR(std::abs(end.x()), 0.5, 1e-12) << "to a hinge";
  }
  EXPECT_EQ(balls, 2);
  EXPECT_EQ(rods, 3) << "the arm has two joints, the forearm one";
}

TEST_F(ResultPage, PlanesOfATrayCutEachOther) {
  samples::write_run(path("r.h5"), R"({"urto": 1, "bodies": [
    {"name": "tray", "kind": "fixed", "position": [0, 0, 1], "shapes": [{"kind": "half-space"},
      {"kind": "half-space", "position": [0.1, 0, 0], "rotation": {"axis": [0, 1, 0], "angle": -1}},
      {"kind": "half-space", "position": [-0.1, 0, 0], "rotation": {"axis": [0, 1, 0], "angle": 1}},
      {"kind": "half-space", "position": [0, 0, -9]}]},
    {"name": "ball", "position": [0, 0, 1.5], "density": 1, "shapes": [{"kind": "sphere", "radius": 0.1}]}],
    "simulation": {"duration": 0.01, "step": 0.01}})");
  const DrawnModel model = drawn_model(ResultReader(path("r.h5")));
  struct Plane {
    Vec3 point, normal;
  };
  std::vector<Plane> planes;
  for (int k = 0; k < 4; ++k) {
    const Pose& pose = model.shapes[k].pose;
    planes.push_back({pose.position, rotation_matrix(pose.rotation).col(2)});
  }
  EXPECT_EQ(model.shapes[3].geometry, -1) << "a plane below the floor is not seen";
  double floor = 0;
  for (int k = 0; k < 3; ++k) {
    ASSERT_GE(model.shapes[k].geometry, 0);
    const TriangleMesh& mesh = model.meshes[model.shapes[k].geometry];
    const Mat3 R = rotation_matrix(model.shapes[k].pose.rotation);
    for (const Vec3& v : mesh.vertices) {
      EXPECT_NEAR(v.z(), 0, 1e-12) << "in its own plane";
      const Vec3 x = model.shapes[k].pose.position + R * v;
      if (k == 0) floor = std::max(floor, std::abs(x.x()));
      for (int j = 0; j < 3; ++j) {
        EXPECT_GE(planes[j].normal.dot(x - planes[j].point), -1e-12) << k << " below " << j;
      }
    }
  }
  EXPECT_NEAR(floor, 0.1, 1e-12) << "the floor ends where the sides begin";
}

TEST_F(ResultPage, MeshesComeFromTheResult) {
  const char* text = R"({"urto": 1,
    "meshes": {"wedge": {"vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]],
                         "triangles": [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]}},
    "bodies": [
      {"name": "ground", "kind": "fixed", "shapes": [
        {"kind": "height-field", "spacing": 0.5, "heights": [[0, 0.1, 0], [0.1, 0.3, 0.1], [0, 0.1, 0]]},
        {"kind": "mesh", "mesh": "wedge", "position": [3, 0, 0]}, {"kind": "half-space", "position": [0, 0, -1]}]},
      {"name": "stone", "position": [0, 0, 2], "density": 1000, "shapes": [
        {"kind": "hull", "points": [[0, 0, 0], [0.2, 0, 0], [0, 0.3, 0], [0, 0, 0.2], [0.2, 0.3, 0.1]]}]}],
    "simulation": {"duration": 0.01, "step": 0.001}})";
  const Scene scene = parse_scene(text, "test");
  samples::write_run(path("r.h5"), text);
  const ResultReader r(path("r.h5"));
  const DrawnModel model = drawn_model(r);
  const PageData page = page_data(r, {});
  ASSERT_EQ(model.shapes.size(), scene.model.shapes.size());
  EXPECT_EQ(model.meshes.size(), scene.model.meshes.size() + 1) << "and a piece of the plane";
  int meshes = 0;
  for (std::size_t k = 0; k < model.shapes.size(); ++k) {
    const Shape& shape = scene.model.shapes[k];
    EXPECT_EQ(model.shapes[k].kind, shape.kind);
    EXPECT_EQ(page.json["model"]["shapes"][k]["mesh"], model.shapes[k].geometry);
    if (shape.geometry < 0) continue;
    ++meshes;
    ASSERT_EQ(model.shapes[k].geometry, shape.geometry);
    const TriangleMesh& drawn = model.meshes[shape.geometry];
    EXPECT_EQ(drawn.vertices, scene.model.meshes[shape.geometry].vertices);
    EXPECT_EQ(drawn.triangles, scene.model.meshes[shape.geometry].triangles);
    const json& in_page = page.json["model"]["meshes"][shape.geometry];
    EXPECT_EQ(array<int>(page, in_page["triangles"]).size(), 3 * drawn.triangles.size());
    EXPECT_EQ(array<float>(page, in_page["vertices"]).size(), 3 * drawn.vertices.size());
    EXPECT_FALSE(surface_of(model.shapes[k], model).triangles.empty())
        << "drawn by VTK and glTF too";
  }
  EXPECT_EQ(meshes, 3);
}

}  // namespace
}  // namespace urto
