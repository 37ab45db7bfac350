// Surfaces, VTK series, glTF and plots. Other people's readers judge the files too: script/viewer
// test.
#include <cmath>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "result/result_samples.h"
#include "urto/error.h"
#include "urto/page/plot_figure.h"
#include "urto/result/gltf_export.h"
#include "urto/result/surface.h"
#include "urto/result/vtk_export.h"

namespace urto {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

class Export : public samples::FolderTest {
 protected:
  /// The busy scene's result, to be read.
  ResultReader busy() {
    samples::write_run(path("r.h5"), samples::busy_scene);
    return ResultReader(path("r.h5"));
  }
};

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// ---- Surfaces

TEST(Surface, EnclosesTheVolumeOfItsShape) {
  struct Sample {
    ShapeKind kind;
    Vec3 size;
  };
  for (const Sample& s : {Sample{ShapeKind::sphere, {0.3, 0, 0}},
                          {ShapeKind::box, {0.1, 0.2, 0.3}},
                          {ShapeKind::cylinder, {0.2, 0.4, 0}},
                          {ShapeKind::capsule, {0.2, 0.3, 0}},
                          {ShapeKind::cone, {0.3, 0.4, 0}},
                          {ShapeKind::ellipsoid, {0.1, 0.2, 0.3}}}) {
    const Surface surface = surface_of({s.kind, 0, s.size}, {}, 96);
    double volume = 0;  // divergence theorem: outward triangles only
    for (const auto& [a, b, c] : surface.triangles) {
      const Vec3 &A = surface.points[a], &B = surface.points[b], &C = surface.points[c];
      volume += A.dot(B.cross(C)) / 6;
      const Vec3 facet = (B - A).cross(C - A);
      EXPECT_GT(facet.norm(), 0) << to_string(s.kind);
      EXPECT_GT(facet.dot(surface.normals[a]), 0) << to_string(s.kind) << ": a normal inwards";
    }
    const double exact = mass_properties(s.kind, s.size, 1).mass;
    EXPECT_NEAR(volume, exact, 0.003 * exact) << to_string(s.kind);
    for (const Vec3& n : surface.normals) EXPECT_NEAR(n.norm(), 1, 1e-12);
  }
  EXPECT_TRUE(surface_of({ShapeKind::mesh, 0, {}}, {}).points.empty());
}

// ---- VTK

/// The appended arrays of a .vtp in their order, and what its header says of them.
struct AppendedArray {
  std::string name;
  std::string bytes;
};

std::vector<AppendedArray> appended(const fs::path& file) {
  const std::string text = contents(file);
  const std::size_t start = text.find("_", text.find("<AppendedData")) + 1;
  std::vector<AppendedArray> out;
  for (std::size_t at = text.find("Name=\""); at < start; at = text.find("Name=\"", at + 1)) {
    const std::size_t offset_at = text.find("offset=\"", at);
    if (offset_at > text.find("/>", at)) continue;  // the time, which is in plain text
    const std::size_t offset = std::stoul(text.substr(offset_at + 8));
    std::uint64_t size = 0;
    std::memcpy(&size, text.data() + start + offset, sizeof size);
    out.push_back({text.substr(at + 6, text.find('"', at + 6) - at - 6),
                   text.substr(start + offset + sizeof size, size)});
    EXPECT_EQ(out.back().bytes.size(), size) << "the file ends inside an array";
  }
  return out;
}

TEST_F(Export, VtkSeriesHasEveryFrame) {
  const ResultReader r = busy();
  EXPECT_EQ(write_vtk(r, path("series")), path("series") / "replay.pvd");
  const std::string pvd = contents(path("series/replay.pvd"));
  for (const char* part : {"timestep=\"0\" group=\"\" part=\"0\" name=\"bodies\"", "timestep=\"1\"",
                           "contacts-000100.vtp", "joints-000100.vtp"}) {
    EXPECT_NE(pvd.find(part), std::string::npos) << part;
  }
  EXPECT_EQ(std::distance(fs::directory_iterator(path("series")), {}), 1 + 3 * 101);
  // Contacts of a frame with some, number for number.
  const auto count = r.numbers("/contacts/count");
  const auto frame = std::ranges::max_element(count) - count.begin();
  const auto start = static_cast<long>(r.numbers("/contacts/start", frame, 1)[0]);
  const auto arrays = appended(path("series") / fmt::format("contacts-{:06}.vtp", frame));
  const auto force = r.numbers("/contacts/force", start, static_cast<long>(count[frame]));
  bool found = false;
  for (const AppendedArray& a : arrays) {
    if (a.name != "force") continue;
    found = true;
    ASSERT_EQ(a.bytes.size(), force.size() * sizeof(float));
    for (std::size_t k = 0; k < force.size(); ++k) {
      float value = 0;
      std::memcpy(&value, a.bytes.data() + k * sizeof(float), sizeof value);
      EXPECT_EQ(value, static_cast<float>(force[k]));
    }
  }
  EXPECT_TRUE(found);
  for (const AppendedArray& a : appended(path("series/bodies-000000.vtp"))) {
    EXPECT_FALSE(a.bytes.empty()) << a.name;
  }
}

TEST_F(Export, VtkReplacesItsOwnSeriesAndNobodyElses) {
  const ResultReader r = busy();
  write_vtk(r, path("series"));
  samples::write_run(path("short.h5"), samples::hanging_scene, {"simulation.duration=0.05"});
  write_vtk(ResultReader(path("short.h5")), path("series"));
  EXPECT_FALSE(fs::exists(path("series/bodies-000100.vtp"))) << "a frame of the earlier run";
  fs::create_directories(path("mine"));
  std::ofstream(path("mine/notes.txt")) << "mine";
  EXPECT_THROW(write_vtk(r, path("mine")), InputError);
  EXPECT_EQ(contents(path("mine/notes.txt")), "mine");
  EXPECT_THROW(write_vtk(r, path("mine/notes.txt")), InputError);
}

// ---- glTF

TEST_F(Export, GltfMovesEveryBodyAsRecorded) {
  const ResultReader r = busy();
  write_gltf(r, path("run.glb"));
  const std::string file = contents(path("run.glb"));
  const auto word = [&](std::size_t at) {
    std::uint32_t value = 0;
    std::memcpy(&value, file.data() + at, 4);
    return value;
  };
  ASSERT_EQ(file.substr(0, 4), "glTF");
  EXPECT_EQ(word(4), 2u);
  EXPECT_EQ(word(8), file.size());
  const std::size_t length = word(12);
  const json g = json::parse(file.substr(20, length));
  const std::size_t binary = 20 + length + 8;
  EXPECT_EQ(word(20 + length), file.size() - binary);
  const json& animation = g["animations"][0];
  EXPECT_EQ(animation["channels"].size(), 6u) << "three bodies, translation and rotation";
  const auto floats = [&](int accessor) {
    const json& a = g["accessors"][accessor];
    const json& view = g["bufferViews"][a["bufferView"].get<int>()];
    std::vector<float> out(view["byteLength"].get<std::size_t>() / sizeof(float));
    std::memcpy(out.data(), file.data() + binary + view["byteOffset"].get<std::size_t>(),
                out.size() * sizeof(float));
    return out;
  };
  const auto x = r.numbers("/frames/position");
  std::size_t bodies = 0;
  for (const json& channel : animation["channels"]) {
    const json& sampler = animation["samplers"][channel["sampler"].get<int>()];
    EXPECT_EQ(floats(sampler["input"]).size(), 101u);
    const auto values = floats(sampler["output"]);
    if (channel["target"]["path"] == "rotation") {
      for (std::size_t k = 4; k < values.size(); ++k) {
        // Neighbours lie on one side: the short way round.
        if (k % 4 == 0) {
          float dot = 0;
          for (std::size_t i = 0; i < 4; ++i) dot += values[k + i] * values[k - 4 + i];
          EXPECT_GT(dot, 0);
        }
      }
      continue;
    }
    const std::string name = g["nodes"][channel["target"]["node"].get<int>()]["name"];
    const auto names = r.texts("/bodies/name");
    const std::size_t body = std::ranges::find(names, name) - names.begin();
    ++bodies;
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_EQ(values[300 + i], static_cast<float>(x[3 * (5 * 100 + body) + i])) << name;
    }
  }
  EXPECT_EQ(bodies, 3u);
}

// ---- Plots

TEST_F(Export, PlotPanelsHoldTheNumbersOfTheResult) {
  const ResultReader r = busy();
  const PlotPanel energy = plot_panel(r, "energy");
  ASSERT_EQ(energy.series.size(), 3u);
  EXPECT_EQ(energy.time, r.numbers("/steps/time"));
  EXPECT_EQ(energy.series[2].values[500],
            energy.series[0].values[500] + energy.series[1].values[500]);
  EXPECT_EQ(energy.label, "energy [J]");
  EXPECT_EQ(plot_panel(r, "certificate").level, r.number_attribute("tolerance"));
  EXPECT_TRUE(plot_panel(r, "certificate").log);
  for (const char* what :
       {"balance", "contacts", "iterations", "timings", "penetration", "joint_error", "step"}) {
    EXPECT_EQ(plot_panel(r, what).series[0].values.size(), 1000u) << what;
  }
  const PlotPanel ball = plot_panel(r, "body:ball:z,speed");
  EXPECT_EQ(ball.time.size(), 101u);
  EXPECT_EQ(ball.series[0].values[0], 0.3);
  const auto v = r.numbers("/frames/velocity", 50, 1);
  EXPECT_DOUBLE_EQ(ball.series[1].values[50], std::hypot(v[6], v[7], v[8]));
  EXPECT_EQ(ball.label, "z,speed [m, m/s]");
  EXPECT_EQ(plot_panel(r, "joint:elbow:angle").series[0].values[70],
            r.numbers("/frames/coordinate", 70, 1)[1]);
  EXPECT_EQ(plot_panel(r, "joint:elbow:my").series[0].values[70],
            r.numbers("/frames/joint_reaction", 70, 1)[10]);
}

TEST_F(Export, UnknownPlotsAreRefusedWithWhatThereIs) {
  const ResultReader r = busy();
  const auto message = [&](const char* what) -> std::string {
    try {
      plot_panel(r, what);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(message("energi").find("energy, balance, certificate"), std::string::npos);
  EXPECT_NE(message("body:bal:x").find("'ball'"), std::string::npos);
  EXPECT_NE(message("body:ball:u").find("one of x, "), std::string::npos);
  EXPECT_NE(message("body:ball"), "");
  EXPECT_NE(message("joint:elbow:displacement").find("angle"), std::string::npos);
}

TEST_F(Export, PlotsAreWrittenAsCsvWithAllDigits) {
  const ResultReader r = busy();
  const std::vector<PlotPanel> panels{plot_panel(r, "body:ball:z"),
                                      plot_panel(r, "joint:elbow:angle")};
  write_plot_csv(panels, path("p.csv"));
  std::ifstream in(path("p.csv"));
  std::string line;
  std::getline(in, line);
  EXPECT_EQ(line, "time,\"ball z\",\"elbow angle\"");
  std::getline(in, line);
  EXPECT_EQ(line.substr(0, 6), "0,0.3,");
  for (int k = 0; k < 99; ++k) std::getline(in, line);
  EXPECT_EQ(std::stod(line.substr(line.rfind(',') + 1)), panels[1].series[0].values[99]);
  const std::vector<PlotPanel> mixed{plot_panel(r, "body:ball:z"), plot_panel(r, "energy")};
  EXPECT_THROW(write_plot_csv(mixed, path("q.csv")), InputError);
  EXPECT_THROW(draw_plot(panels, "", path("p.gif")), InputError);
}

}  // namespace
}  // namespace urto
