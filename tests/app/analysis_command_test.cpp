// `urto statics`, `urto modes` and `urto run --stepper` as their users meet them.
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <zlib.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "result/result_samples.h"
#include "support/paths.h"
#include "support/urto_command.h"

namespace urto {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using samples::contents;
using samples::Output;

class AnalysisCommand : public samples::FolderTest {
 protected:
  Output run(const std::string& command, const std::string& scene, const std::string& rest) const {
    return this->command(command + " '" + samples::scenes_dir().string() + "/" + scene + ".json' " +
                         rest);
  }
  /// Runs `urto arguments` inside the test's folder.
  Output command(const std::string& arguments) const {
    return samples::run_command(path(""), arguments);
  }
};

TEST_F(AnalysisCommand, StaticsHangsTheDoublePendulum) {
  const Output o = run("statics", "double-pendulum", "--json");
  ASSERT_EQ(o.code, 0) << o.err;
  const json found = json::parse(o.out);
  EXPECT_TRUE(found["converged"].get<bool>());
  EXPECT_NEAR(found["bodies"]["upper"]["position"][2].get<double>(), -0.25, 1e-9);
  EXPECT_NEAR(found["bodies"]["lower"]["position"][2].get<double>(), -0.75, 1e-9);
  EXPECT_GT(found["lowest_omega_squared"].get<double>(), 0);
  const Output text = run("statics", "double-pendulum", "");
  EXPECT_NE(text.out.find("equilibrium in"), std::string::npos);
}

TEST_F(AnalysisCommand, NothingMovesAndEveryCommandSaysSo) {
  for (const std::string kind : {"fixed", "kinematic"}) {
    const std::string held = "--set bodies.rod.kind=" + kind;
    for (const std::string command : {"check", "run", "view"}) {
      const std::string files = command == "check" ? ""
                                : command == "run" ? " -o out"
                                                   : " -o a.html";
      const Output o = run(command, "pendulum", held + files);
      EXPECT_EQ(o.code, 0) << command << ": " << o.err;
    }
    for (const std::string command : {"statics", "modes"}) {
      const Output o = run(command, "pendulum", held);
      EXPECT_EQ(o.code, 2) << command;
      EXPECT_NE(o.err.find("found no moving body"), std::string::npos) << o.err;
    }
  }
}

TEST_F(AnalysisCommand, ModesOfTheLongChainAreThoseOfBessel) {
  const Output o = run("modes", "chain-100", "-n 3 --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const json modes = json::parse(o.out)["modes"];
  ASSERT_EQ(modes.size(), 3U);
  // Zeros of J₀ over two, times √(g/L); a hundred links are not yet a string.
  const std::array<double, 3> zeros{2.404825557695773, 5.520078110286311, 8.653727912911012};
  for (int k = 0; k < 3; ++k) {
    const double omega = 0.5 * zeros[k] * std::sqrt(9.81 / 5);
    EXPECT_NEAR(std::sqrt(modes[k]["omega_squared"].get<double>()) / omega, 1, 1e-3);
  }
}

TEST_F(AnalysisCommand, ModesWritesTheStateSpace) {
  const Output o = run("modes", "double-pendulum", "--damped --state-space abc.json");
  ASSERT_EQ(o.code, 0) << o.err;
  const json s = json::parse(contents(path("abc.json")));
  EXPECT_EQ(s["A"].size(), 4U);
  EXPECT_EQ(s["B"][0].size(), 12U);
  EXPECT_EQ(s["C"].size(), 12U);
}

/// What a page holds: its JSON, and its arrays.
struct Page {
  json data;
  std::string binary;

  std::vector<float> floats(const json& where) const {
    std::vector<float> out(where["n"].get<std::size_t>());
    std::memcpy(out.data(), binary.data() + where["at"].get<std::size_t>(),
                out.size() * sizeof(float));
    return out;
  }
};

std::string between(const std::string& text, const std::string& begin) {
  const std::size_t at = text.find(begin) + begin.size();
  return text.substr(at, text.find("</script>", at) - at);
}

Page read_page(const fs::path& file) {
  const std::string text = contents(file);
  Page out;
  out.data = json::parse(between(text, R"(<script id="urto-json" type="application/json">)"));
  const std::string coded = between(text, R"(<script id="urto-binary" type="text/plain">)");
  const std::string digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string packed;
  unsigned bits = 0;
  int count = 0;
  for (const char c : coded) {
    const std::size_t digit = digits.find(c);
    if (digit == std::string::npos) continue;
    bits = bits << 6 | static_cast<unsigned>(digit);
    count += 6;
    if (count < 8) continue;
    count -= 8;
    packed += static_cast<char>(bits >> count & 255);
  }
  out.binary.resize(std::size_t{16} << 20);
  uLongf size = out.binary.size();
  EXPECT_EQ(uncompress(reinterpret_cast<Bytef*>(out.binary.data()), &size,
                       reinterpret_cast<const Bytef*>(packed.data()), packed.size()),
            Z_OK);
  return out;
}

// One chapter a mode; a quarter of a period later a body is a tenth of the scene's size (0.75 m)
// from rest or has turned by 0.3 rad.
TEST_F(AnalysisCommand, ModesOscillateOnTheirPage) {
  const Output o = run("modes", "double-pendulum", "--report modes.html");
  ASSERT_EQ(o.code, 0) << o.err;
  const Page page = read_page(path("modes.html"));
  EXPECT_EQ(page.data["mode"], "modes");
  const json& chapters = page.data["chapters"];
  ASSERT_EQ(chapters.size(), 2U);
  EXPECT_NE(chapters[0]["name"].get<std::string>().find("mode 1: "), std::string::npos);
  EXPECT_NE(chapters[0]["name"].get<std::string>().find(" Hz"), std::string::npos);
  ASSERT_EQ(page.data["frames"]["count"], 2 * 49);
  const std::vector<float> x = page.floats(page.data["frames"]["position"]);
  ASSERT_EQ(x.size(), 2U * 49 * 2 * 3);
  const auto place = [&](int frame, int body) {
    return Eigen::Vector3f(x.data() + 3 * (2 * frame + body));
  };
  for (int mode = 0; mode < 2; ++mode) {
    const int first = 49 * mode;
    float most = 0;
    for (int body = 0; body < 2; ++body) {
      const Eigen::Vector3f rest(0, 0, body == 0 ? -0.25F : -0.75F);
      EXPECT_LT((place(first, body) - rest).norm(), 1e-6F);
      EXPECT_LT((place(first + 24, body) - rest).norm(), 1e-6F);
      const Eigen::Vector3f out = place(first + 12, body) - rest;
      EXPECT_LT((place(first + 36, body) - rest + out).norm(), 1e-6F);
      most = std::max(most, out.norm());
    }
    EXPECT_GT(most, 0.02F);
    EXPECT_LT(most, 0.0751F);
  }
}

TEST_F(AnalysisCommand, StaticsStandsABlockOnTheFloorAndShowsIt) {
  const Output o = run("statics", "rocking-block", "--set tilt=0.05 --report rest.html --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const json found = json::parse(o.out);
  EXPECT_TRUE(found["converged"].get<bool>());
  EXPECT_LT(found["contact"]["gap_error"].get<double>(), 1e-9);
  EXPECT_FALSE(found["contact"]["unique"].get<bool>());
  EXPECT_NEAR(found["bodies"]["block"]["position"][2].get<double>(), 0.5 * std::cos(0.2), 1e-7);
  double carried = 0;
  for (const auto& [name, force] : found["reactions"].items()) carried += force[0].get<double>();
  const double weight = 700 * 9.81 * 4 * 0.25 * std::sin(0.2) * std::cos(0.2) * 0.2;
  EXPECT_NEAR(carried, weight, 1e-5 * weight);
  const Page page = read_page(path("rest.html"));
  EXPECT_EQ(page.data["mode"], "statics");
  EXPECT_EQ(page.data["frames"]["count"], 2);
  EXPECT_NE(page.data["remarks"][0]["text"].get<std::string>().find("equilibrium in"),
            std::string::npos);
  const std::vector<float> forces = page.floats(page.data["contacts"]["force"]);
  float up = 0;
  for (std::size_t k = 2; k < forces.size(); k += 3) up += forces[k];
  EXPECT_NEAR(std::abs(up), weight, 1e-5 * weight);
  // Many forces balance; the page shows those that were printed.
  for (const auto& [name, force] : found["reactions"].items()) {
    const double printed = force[0].get<double>();
    bool shown = false;
    for (std::size_t k = 2; k < forces.size(); k += 3)
      shown = shown || std::abs(forces[k] - printed) < 1e-5 * weight;
    EXPECT_TRUE(shown) << name << " presses with " << printed << " N";
  }
}

/// A ball of radius 0.1 m whose centre of mass is 3 cm below its middle, on a floor with friction.
constexpr const char* heavy_bottom = R"({"urto": 1, "bodies": [
  {"name": "floor", "kind": "fixed", "shapes": [{"kind": "half-space"}]},
  {"name": "ball", "position": [0, 0, 0.1], "mass": 2, "inertia": [0.004, 0.004, 0.004],
   "center_of_mass": [0, 0, -0.03], "shapes": [{"kind": "sphere", "radius": 0.1}]}]})";

// ω² = m g e/(I + m (R − e)²): rolling, which is the contact held as a constraint.
TEST_F(AnalysisCommand, ModesSayWhatHoldsAndIsLinearisedAsAConstraint) {
  std::ofstream(path("ball.json")) << heavy_bottom;
  const Output o = command("modes ball.json --report ball.html");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  EXPECT_NE(o.out.find("1 sticking contact linearised as constraints: contact of 'ball'"),
            std::string::npos)
      << o.out;
  const json j = json::parse(command("modes ball.json --json").out);
  EXPECT_EQ(j["held"]["contacts"].size(), 1U);
  ASSERT_EQ(j["modes"].size(), 3U);
  const double expected = 2 * 9.81 * 0.03 / (0.004 + 2 * 0.07 * 0.07);
  EXPECT_NEAR(j["modes"][2]["omega_squared"].get<double>() / expected, 1, 1e-6);
  const json page = read_page(path("ball.html")).data;
  EXPECT_NE(page["remarks"].dump().find("sticking contact"), std::string::npos);
  const Output block = run("modes", "rocking-block", "--set tilt=0.05");
  EXPECT_EQ(block.code, 0) << block.err;
  EXPECT_NE(block.out.find("no small motion"), std::string::npos) << block.out;
}

TEST_F(AnalysisCommand, WhatActsAtTheStartIsRefusedByNameWithoutAnEquilibrium) {
  std::ofstream(path("ball.json")) << heavy_bottom;
  const Output o = command("modes ball.json --as-given --set bodies.ball.position=[0,0,0.09]");
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find("contact of 'ball'"), std::string::npos) << o.err;
}

// A row of boxes on a floor, which carries a tenth of a newton each.
TEST_F(AnalysisCommand, StaticsIsATableWithUnitsFramesAndNaturalOrder) {
  json scene{{"urto", 1}, {"gravity", 10}};
  scene["bodies"].push_back(
      {{"name", "floor"}, {"kind", "fixed"}, {"shapes", {{{"kind", "half-space"}}}}});
  for (const int k : {10, 2, 1}) {
    scene["bodies"].push_back({{"name", "b" + std::to_string(k)},
                               {"position", {1.0 * k, 0, 0.05}},
                               {"mass", 0.01},
                               {"shapes", {{{"kind", "sphere"}, {"radius", 0.05}}}}});
  }
  std::ofstream(path("row.json")) << scene.dump();
  const Output o = command("statics row.json");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out.find("equilibrium in "), 0U) << "the verdict is not first:\n" << o.out;
  for (const char* text : {"x [m]", "turned [rad]", "normal [N]", "world axes"})
    EXPECT_NE(o.out.find(text), std::string::npos) << text;
  const auto place = [&](const std::string& name) { return o.out.find("\n" + name + " "); };
  EXPECT_LT(place("b1"), place("b2"));
  EXPECT_LT(place("b2"), place("b10"));
  // Nothing but the verdict's residuals is smaller than a thousandth: rounding is printed as 0.
  const std::string tables = o.out.substr(o.out.find("Bodies:"));
  EXPECT_EQ(tables.find("e-"), std::string::npos) << tables;
  EXPECT_NE(tables.find(" 0.1 "), std::string::npos) << tables;
  const json j = json::parse(command("statics row.json --json").out);
  EXPECT_EQ(j["contacts"].size(), 3U);
  EXPECT_EQ(j["contacts"][2]["bodies"][0], "b10");
  EXPECT_NEAR(j["contacts"][0]["pressed"].get<double>(), 0.1, 1e-8);
  const std::string text = command("statics row.json --json").out;
  EXPECT_LT(text.find("\"b2\""), text.find("\"b10\""));
}

TEST_F(AnalysisCommand, StaticsGivesJointsAsForcesAndMomentsOnTheSecondBody) {
  const Output o = run("statics", "pendulum", "--json");
  ASSERT_EQ(o.code, 0) << o.err;
  const json joints = json::parse(o.out)["joints"];
  ASSERT_EQ(joints.size(), 1U);
  for (const auto& [name, wrench] : joints.items()) {
    EXPECT_NEAR(wrench["force"][0].get<double>(), 0, 1e-8);
    EXPECT_GT(wrench["force"][2].get<double>(), 0) << "it carries the weight";
    for (int i = 0; i < 3; ++i) EXPECT_NEAR(wrench["moment"][i].get<double>(), 0, 1e-8);
  }
}

TEST_F(AnalysisCommand, ADrivenSceneIsToldWhichMotorImposesASpeed) {
  const std::string driven =
      "--set 'joints.shaft.motor={\"mode\": \"speed\", \"value\": 5, \"name\": \"engine\"}'";
  for (const std::string analysis : {"statics", "modes"}) {
    const Output o = run(analysis, "slider-crank", driven);
    EXPECT_EQ(o.code, 2);
    EXPECT_NE(o.err.find("slider-crank.json: statics: found motor 'engine', which imposes a speed "
                         "of 5 m/s or rad/s"),
              std::string::npos)
        << o.err;
  }
}

// A conveyor that moves: statics is of the moment of the start.
TEST_F(AnalysisCommand, StaticsSaysWhatItHoldsStill) {
  std::ofstream(path("belt.json")) << R"({"urto": 1, "bodies": [
    {"name": "belt", "kind": "kinematic", "motion": {"position": [{"polynomial": [0, 1]}, 0, 0]},
     "shapes": [{"kind": "half-space"}]},
    {"name": "box", "position": [0, 0, 0.05], "density": 1000,
     "shapes": [{"kind": "box", "size": [0.1, 0.1, 0.1]}]}]})";
  const Output o = command("statics belt.json");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("kinematic body 'belt' moves at the start; here it stays"),
            std::string::npos)
      << o.out;
}

TEST_F(AnalysisCommand, RunTakesAStepperByName) {
  const Output o =
      run("run", "double-pendulum", "--stepper hht --duration 0.1 -o d --json --no-report");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(json::parse(o.out)["stepper"].get<std::string>(), "hht");
  const Output wrong = run("run", "double-pendulum", "--stepper newmrk");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("did you mean 'newmark'"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace urto
