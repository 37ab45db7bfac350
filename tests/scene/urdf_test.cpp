// Robots in URDF as scenes. Oracles: forward kinematics by products of homogeneous matrices,
// written here; masses by sums over links; a pendulum's period.
#include "urto/scene/urdf.h"

#include <cmath>
#include <fstream>
#include <random>

#include <Eigen/Geometry>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/folder_test.h"
#include "support/message_of.h"
#include "urto/scene/scene.h"
#include "urto/stepper/simulation.h"

namespace urto {
namespace {

using Eigen::AngleAxisd;
using Eigen::Isometry3d;
using nlohmann::json;

std::string inertial(double mass, const char* origin = "") {
  return fmt::format(
      "<inertial>{}<mass value='{}'/><inertia ixx='0.02' iyy='0.03' izz='0.04' "
      "ixy='0.001'/></inertial>",
      origin, mass);
}

class Urdf : public samples::FolderTest {
 protected:
  std::filesystem::path robot(const std::string& inside) const {
    std::ofstream(path("r.urdf")) << "<?xml version='1.0'?>\n<robot name='r'>\n"
                                  << inside << "</robot>\n";
    return path("r.urdf");
  }
  ConvertedScene convert(const std::string& inside, const UrdfOptions& options = {}) const {
    return urdf_scene(robot(inside), options, path(""));
  }
  Scene load(const std::string& inside, const UrdfOptions& options = {}) const {
    return parse_scene(convert(inside, options).json, (path("") / "r.json").string());
  }
  std::string refused(const std::string& inside, const UrdfOptions& options = {}) const {
    return samples::message_of([&] { convert(inside, options); });
  }
};

int body_named(const Model& model, const std::string& name) {
  for (std::size_t k = 0; k < model.bodies.size(); ++k) {
    if (model.bodies[k].name == name) return static_cast<int>(k);
  }
  ADD_FAILURE() << "no body " << name;
  return 0;
}

TEST_F(Urdf, PosesOfRandomChainsAreProductsOfTheirTransforms) {
  std::mt19937 engine(8123);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto three = [&] { return Vec3(uniform(engine), uniform(engine), uniform(engine)); };
  const auto words = [](const Vec3& x) { return fmt::format("{} {} {}", x[0], x[1], x[2]); };
  for (int round = 0; round < 20; ++round) {
    std::string text = "<link name='l0'/>";
    UrdfOptions options;
    options.at = three();
    Isometry3d at = Isometry3d::Identity();
    at.translation() = options.at;
    std::vector<Isometry3d> expected;
    std::vector<double> coordinates;
    for (int k = 1; k <= 7; ++k) {
      const Vec3 xyz = three(), rpy = 3 * three(), axis = three();
      const bool slides = k % 3 == 0;
      const double q = 2 * uniform(engine);
      text += fmt::format(
          "<link name='l{0}'>{1}</link><joint name='j{0}' type='{2}'><parent link='l{3}'/><child "
          "link='l{0}'/><origin xyz='{4}' rpy='{5}'/><axis xyz='{6}'/><limit lower='-3' "
          "upper='3'/></joint>",
          k, inertial(1 + k), slides ? "prismatic" : "revolute", k - 1, words(xyz), words(rpy),
          words(axis));
      options.pose[fmt::format("j{}", k)] = q;
      coordinates.push_back(q);
      Isometry3d origin = Isometry3d::Identity(), moved = Isometry3d::Identity();
      origin.linear() = (AngleAxisd(rpy[2], Vec3::UnitZ()) * AngleAxisd(rpy[1], Vec3::UnitY()) *
                         AngleAxisd(rpy[0], Vec3::UnitX()))
                            .toRotationMatrix();
      origin.translation() = xyz;
      if (slides) {
        moved.translation() = q * axis.normalized();
      } else {
        moved.linear() = AngleAxisd(q, axis.normalized()).toRotationMatrix();
      }
      at = at * origin * moved;
      expected.push_back(at);
    }
    const Scene scene = load(text, options);
    Simulation run(scene.model, scene.options);
    run.start();
    for (int k = 1; k <= 7; ++k) {
      const int body = body_named(scene.model, fmt::format("l{}", k));
      const BodyPlace found = place(scene.model, run.state(), body);
      const Isometry3d& frame = expected[static_cast<std::size_t>(k - 1)];
      // The centre of mass is the frame's origin here.
      EXPECT_LT((found.x - frame.translation()).norm(), 1e-11) << round << " " << k;
      EXPECT_LT((found.A - frame.linear()).norm(), 1e-11) << round << " " << k;
    }
  }
}

TEST_F(Urdf, LinksHeldTogetherAreOneBody) {
  // Two point-like masses and one in the middle, turned by a quarter.
  const std::string point =
      "<inertial><mass value='2'/><inertia ixx='0' iyy='0' izz='0'/></inertial>";
  const Scene scene = load(
      "<link name='base'/>"
      "<link name='a'><inertial><mass value='1'/><inertia ixx='0.1' iyy='0.2' "
      "izz='0.25'/></inertial></link>"
      "<link name='b'>" +
      point +
      "</link><link name='tool'/>"
      "<joint name='j' type='continuous'><parent link='base'/><child link='a'/></joint>"
      "<joint name='f' type='fixed'><parent link='a'/><child link='b'/><origin xyz='0 0 3' "
      "rpy='1.5707963267948966 0 0'/></joint>"
      "<joint name='g' type='fixed'><parent link='b'/><child link='tool'/><origin xyz='0 1 "
      "0'/></joint>");
  const Model& m = scene.model;
  const Body& body = m.bodies[static_cast<std::size_t>(body_named(m, "a"))];
  EXPECT_EQ(body.mass, 3);
  // About the centre (0, 0, 2): 1·2² + 2·1² = 6 more about x and y.
  Mat3 expected = Vec3(6.1, 6.2, 0.25).asDiagonal();
  EXPECT_LT((body.inertia - expected).norm(), 1e-12) << body.inertia;
  bool found = false;
  for (const Marker& marker : m.markers) {
    if (marker.name != "tool") continue;
    found = true;
    // b's y is the world's z: from the centre (0, 0, 2) to (0, 0, 4).
    EXPECT_LT((marker.frame.p - Vec3(0, 0, 2)).norm(), 1e-12) << marker.frame.p.transpose();
  }
  EXPECT_TRUE(found);
}

TEST_F(Urdf, APendulumSwingsWithItsPeriod) {
  // A rod of 1 m about its end, small: T = 2π √(2 l/(3 g)).
  const std::string rod =
      "<link name='base'/><link name='rod'><inertial><origin xyz='0 0 -0.5'/><mass value='2'/>"
      "<inertia ixx='0.16666666666666667' iyy='0.16666666666666667' izz='0.001'/></inertial>"
      "<collision><origin xyz='0 0 -0.5'/><geometry><cylinder radius='0.02' length='1'/></geometry>"
      "</collision></link>"
      "<joint name='hinge' type='revolute'><parent link='base'/><child link='rod'/><axis xyz='0 1 "
      "0'/>"
      "<limit lower='-2' upper='2' effort='5' velocity='3'/>";
  UrdfOptions options;
  options.pose["hinge"] = 0.01;
  ConvertedScene scene = convert(rod + "</joint>", options);
  EXPECT_EQ(scene.bodies, 2);
  EXPECT_EQ(scene.joints, 1);
  const double period = 2 * M_PI * std::sqrt(2 / (3 * 9.81));
  const std::vector<std::string> set{"simulation.stepper=nonsmooth-alpha", "simulation.step=5e-4",
                                     fmt::format("simulation.duration={}", period)};
  const Scene free = parse_scene(scene.json, "r.json", set);
  Simulation run(free.model, free.options);
  run.start();
  while (run.advance()) {
  }
  const Vec3 end = place(free.model, run.state(), body_named(free.model, "rod")).x;
  EXPECT_NEAR(end.x(), -0.5 * std::sin(0.01), 1e-6) << "back where it began";
  // A motor of position holds it against gravity.
  options.motors = "position";
  options.pose["hinge"] = 0.5;
  scene = convert(rod + "<dynamics damping='0.1' friction='0.2'/></joint>", options);
  const Scene held = parse_scene(scene.json, "r.json");
  ASSERT_EQ(held.model.motors.size(), 1U);
  EXPECT_EQ(held.model.limits.size(), 1U);
  EXPECT_EQ(json::parse(scene.json)["joints"][0]["friction"]["angle"], 0.2);
  Simulation still(held.model, held.options);
  still.start();
  for (int k = 0; k < 500; ++k) still.advance();
  const Vec3 place_held = place(held.model, still.state(), body_named(held.model, "rod")).x;
  // The moment of gravity, m g l/2 sin 0.5 = 4.7 N m, is below the effort.
  EXPECT_LT((place_held - 0.5 * Vec3(-std::sin(0.5), 0, -std::cos(0.5))).norm(), 1e-6);
}

TEST_F(Urdf, JointsFollowEachOtherByTheirMultipliers) {
  const auto finger = [](const std::string& name, const std::string& more) {
    return "<link name='" + name + "'>" + inertial(0.1) + "</link><joint name='j" + name +
           "' type='prismatic'><parent link='palm'/><child link='" + name +
           "'/><axis xyz='0 1 0'/><limit lower='-1' upper='1'/>" + more + "</joint>";
  };
  UrdfOptions options;
  options.pose["ja"] = 0.2;
  const ConvertedScene scene =
      convert("<link name='palm'>" + inertial(1) + "</link>" + finger("a", "") +
                  finger("b", "<mimic joint='ja' multiplier='-2' offset='0.1'/>"),
              options);
  const Scene loaded = parse_scene(scene.json, "r.json");
  ASSERT_EQ(loaded.model.couplings.size(), 1U);
  Simulation run(loaded.model, loaded.options);
  run.start();
  const auto y = [&](const char* name) {
    return place(loaded.model, run.state(), body_named(loaded.model, name)).x.y();
  };
  const double palm = y("palm");
  EXPECT_NEAR(y("a") - palm, 0.2, 1e-12);
  EXPECT_NEAR(y("b") - palm, -0.3, 1e-12);
  for (int k = 0; k < 100; ++k) run.advance();
  EXPECT_NEAR(y("b") - y("palm"), -2 * (y("a") - y("palm")) + 0.1, 1e-9);
  options.pose = {{"jb", 1}};
  EXPECT_NE(
      refused("<link name='palm'/>" + finger("a", "") + finger("b", "<mimic joint='ja'/>"), options)
          .find("which follows 'ja'"),
      std::string::npos);
}

TEST_F(Urdf, WhatIsLeftOutIsSaid) {
  std::ofstream(path("stone.obj")) << "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\n";
  const ConvertedScene scene = convert(
      "<material name='red'/><transmission name='t'/><gazebo/>\n"
      "<link name='a'>" +
      inertial(1) +
      "<visual><geometry><mesh filename='package://somewhere/a.dae'/></geometry></visual></link>"
      "<link name='b'>" +
      inertial(1) +
      "<collision><geometry><mesh filename='stone.obj' scale='2 2 2'/></geometry></collision>"
      "<collision><geometry><mesh filename='b.dae'/></geometry></collision></link>"
      "<joint name='j' type='revolute'><parent link='a'/><child link='b'/><limit lower='1' "
      "upper='2' "
      "effort='1' velocity='2'/><safety_controller k_velocity='1'/></joint>");
  std::string all;
  for (const std::string& warning : scene.warnings) all += warning + "\n";
  for (const char* part : {"line 3: <transmission name=\"t\">: left out", "<gazebo>", "colours",
                           "<safety_controller>", "bound of the velocity", "the root is free",
                           "a.dae is left out", "THE LINK DOES NOT COLLIDE THERE",
                           "starts at 0, outside its limits 1 to 2", "a mesh of what collides"})
    EXPECT_NE(all.find(part), std::string::npos) << part << " in\n" << all;
  const json found = json::parse(scene.json);
  EXPECT_EQ(found["bodies"][1]["shapes"][0]["file"], "stone.obj");
  EXPECT_EQ(found["bodies"][1]["shapes"][0]["scale"], json({2.0, 2.0, 2.0}));
}

TEST_F(Urdf, RefusesWhatItIsNot) {
  const std::string two = "<link name='a'/><link name='b'>" + inertial(1) + "</link>";
  const auto joint = [](const std::string& more, const std::string& kind = "revolute",
                        const std::string& ends = "<parent link='a'/><child link='b'/>") {
    return "<joint name='j' type='" + kind + "'>" + ends + more + "</joint>";
  };
  const std::pair<std::string, const char*> wrong[] = {
      {"<link", "no XML"},
      {"<link/>", "no attribute 'name'"},
      {two + two, "two links named 'a'"},
      {two, "2 roots: a, b"},
      {two + joint("", "hinge"), "revolute, continuous"},
      {two + joint(""), "no <limit>"},
      {two + joint("<limit lower='2' upper='1'/>"), "lower 2 above upper 1"},
      {two + joint("<axis xyz='0 0 0'/>", "continuous"), "an axis of no length"},
      {two + joint("<axis xyz='0 0 up'/>", "continuous"), "3 finite numbers"},
      {two + joint("<origin xyz='0 0'/>", "fixed"), "3 finite numbers"},
      {two + joint("", "continuous", "<parent link='c'/><child link='b'/>"), "no link 'c'"},
      {two + joint("", "continuous", "<parent link='b'/><child link='a'/>"),
       "no mass, and 'j' moves it"},
      {two + joint("<mimic joint='x'/>", "continuous"), "it follows 'x'"},
      {two + joint("<mimic joint='j'/>", "continuous"), "a ring of joints"},
      {two + joint("<dynamics damping='-1'/>", "continuous"), "zero or more"},
      {"<link name='a'><collision><geometry><cone/></geometry></collision></link>",
       "a box, cylinder, sphere or mesh"},
      {"<link name='a'><collision><geometry><box size='1 0 1'/></geometry></collision></link>",
       "not positive"},
      {"<link name='a'><collision><geometry><mesh "
       "filename='no.stl'/></geometry></collision></link>",
       "no file no.stl"},
      {"<xacro:macro/>", "xacro"}};
  for (const auto& [text, message] : wrong) {
    const std::string found = refused(text);
    EXPECT_NE(found.find(message), std::string::npos) << text << "\n" << found;
    EXPECT_NE(found.find("r.urdf"), std::string::npos) << found;
  }
  std::ofstream(path("scene.json")) << "{}";
  EXPECT_THROW(urdf_scene(path("scene.json"), {}, path("")), InputError);
  EXPECT_THROW(urdf_scene(path("nowhere.urdf"), {}, path("")), InputError);
  UrdfOptions options;
  options.pose["elbo"] = 1;
  std::string elbow = two + joint("", "continuous");
  elbow.replace(elbow.find("name='j'"), 8, "name='elbow'");
  EXPECT_NE(refused(elbow, options).find("one such as 'elbow'"), std::string::npos);
}

}  // namespace
}  // namespace urto
