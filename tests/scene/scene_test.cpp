// Scene files: what a good one becomes. Bad ones are in scene_errors_test.cpp.
#include <cmath>
#include <numbers>

#include "scene_samples.h"

namespace urto {
namespace {

using namespace samples;
constexpr double pi = std::numbers::pi;

TEST(Scene, ShippedScenesLoadAndStartOnTheirJoints) {
  for (const fs::path& file : shipped_scenes()) {
    SCOPED_TRACE(file.string());
    const Scene s = load_scene(file);
    EXPECT_FALSE(s.title.empty());
    EXPECT_FALSE(s.description.empty());
    EXPECT_FALSE(s.watch.empty());
    if (s.first_order) continue;
    EXPECT_GT(s.model.slots, 0);
    const State start = initial_state(s.model);
    for (const Joint& joint : s.model.joints) {
      if (joint.kind == JointKind::distance) continue;
      const Marker& a = s.model.markers[joint.marker_a];
      const Marker& b = s.model.markers[joint.marker_b];
      for (const Measure& m : held_measures(joint.kind)) {
        const double error = evaluate(m, place(s.model, start, a.body), a.frame,
                                      place(s.model, start, b.body), b.frame)
                                 .value;
        EXPECT_NEAR(error, 0, 1e-9) << joint.name;
      }
    }
  }
}

TEST(Scene, ExpandedScenesGiveTheSameModelAndStayAsTheyAre) {
  for (const fs::path& file : shipped_scenes()) {
    SCOPED_TRACE(file.string());
    const Scene first = load_scene(file);
    const Scene second = parsed(first.normalized_json);
    EXPECT_EQ(fingerprint(second.model), fingerprint(first.model));
    EXPECT_EQ(second.normalized_json, first.normalized_json);
    EXPECT_EQ(second.parameters, first.parameters);
    EXPECT_EQ(second.watch, first.watch);
    EXPECT_EQ(second.options.duration, first.options.duration);
    EXPECT_EQ(second.options.step, first.options.step);
    EXPECT_EQ(first.normalized_json.find("\"generate\""), std::string::npos);
  }
}

TEST(Scene, AnEmptySceneHasTheWorldAndTheDefaults) {
  const Scene s = parsed(scene_text(""));
  ASSERT_EQ(s.model.bodies.size(), 1U);
  EXPECT_EQ(s.model.bodies[0].name, "world");
  EXPECT_EQ(s.model.bodies[0].kind, BodyKind::fixed);
  EXPECT_EQ(s.model.gravity, Vec3(0, 0, -9.81));
  ASSERT_EQ(s.model.materials.size(), 1U);
  EXPECT_EQ(s.model.materials[0].name, "default");
  EXPECT_EQ(s.options.step, SimulationOptions{}.step);
  EXPECT_EQ(s.options.solver.solver, "auto");
}

TEST(Scene, CommentsAreAllowed) {
  EXPECT_EQ(message_of("// one\n{\"urto\": 1 /* two */}"), "");
}

TEST(Scene, GravityAsANumberPointsDown) {
  EXPECT_EQ(parsed(scene_text(R"("gravity": 1.62)")).model.gravity, Vec3(0, 0, -1.62));
  EXPECT_EQ(parsed(scene_text(R"("gravity": [1, 2, 3])")).model.gravity, Vec3(1, 2, 3));
}

TEST(Scene, MassFromMassAndFromDensity) {
  const Body ball = parsed(with_ball("")).model.bodies[1];
  EXPECT_EQ(ball.mass, 2);
  EXPECT_NEAR(ball.inertia(0, 0), 0.4 * 2 * 0.25, 1e-15);
  const Body box = parsed(with_body(R"("density": 100, "shapes": [{"kind": "box",
                                       "size": [1, 2, 3]}])"))
                       .model.bodies[1];
  EXPECT_NEAR(box.mass, 600, 1e-10);
  EXPECT_NEAR(box.inertia(0, 0), 600.0 / 12 * (4 + 9), 1e-9);
}

TEST(Scene, PositionsAreOfTheReferenceFrameAndTheModelCountsFromTheCentreOfMass) {
  // A cone's centre is a quarter of the height above its base, half a height below its origin.
  const Scene s = parsed(scene_text(R"("bodies": [{"name": "top", "position": [1, 0, 0],
      "rotation": {"axis": [0, 1, 0], "degrees": 90}, "density": 1000,
      "shapes": [{"kind": "cone", "radius": 0.1, "height": 0.4, "position": [0, 0, 0.3]}]}],
      "markers": [{"name": "tip", "body": "top", "position": [0, 0, 0.5], "z": [1, 0, 0]}])"));
  const Body& top = s.model.bodies[1];
  EXPECT_NEAR((top.start.position - Vec3(1.2, 0, 0)).norm(), 0, 1e-14);
  EXPECT_NEAR((s.model.shapes[0].pose.position - Vec3(0, 0, 0.1)).norm(), 0, 1e-14);
  EXPECT_NEAR((s.model.markers[0].frame.p - Vec3(0, 0, 0.3)).norm(), 0, 1e-14);
  EXPECT_NEAR((s.model.markers[0].frame.R.col(2) - Vec3(1, 0, 0)).norm(), 0, 1e-14);
  EXPECT_NEAR(s.model.markers[0].frame.R.determinant(), 1, 1e-14);
}

TEST(Scene, GivenInertiaGoesWithAGivenCentreOfMass) {
  const Body b = parsed(with_body(R"("mass": 2, "inertia": [[2, 0.1, 0], [0.1, 3, 0], [0, 0, 4]],
      "center_of_mass": [0, 0, 0.5], "position": [1, 1, 1], "velocity": [1, 2, 3],
      "angular_velocity": [4, 5, 6], "gyroscopic": false)"))
                     .model.bodies[1];
  EXPECT_EQ(b.start.position, Vec3(1, 1, 1.5));
  EXPECT_EQ(b.inertia(0, 1), 0.1);
  EXPECT_EQ(b.velocity, Vec3(1, 2, 3));
  EXPECT_EQ(b.angular_velocity, Vec3(4, 5, 6));
  EXPECT_FALSE(b.gyroscopic);
}

TEST(Scene, SizesOfShapesAreFullLengths) {
  const Scene s = parsed(with_body(R"("kind": "fixed", "shapes": [
      {"kind": "box", "size": [2, 4, 6]}, {"kind": "cylinder", "radius": 1, "length": 4},
      {"kind": "capsule", "radius": 1, "length": 4}, {"kind": "cone", "radius": 1, "height": 4},
      {"kind": "ellipsoid", "radii": [1, 2, 3]}, {"kind": "half-space", "collides": false}])"));
  EXPECT_EQ(s.model.shapes[0].size, Vec3(1, 2, 3));
  for (int i = 1; i < 4; ++i) EXPECT_EQ(s.model.shapes[i].size, Vec3(1, 2, 0));
  EXPECT_EQ(s.model.shapes[4].size, Vec3(1, 2, 3));
  EXPECT_EQ(s.model.shapes[5].kind, ShapeKind::half_space);
  EXPECT_FALSE(s.model.shapes[5].collides);
}

TEST(Scene, RotationsInThreeForms) {
  const auto rotation = [](const std::string& text) {
    return parsed(with_body(R"("kind": "fixed", "rotation": )" + text))
        .model.bodies[1]
        .start.rotation;
  };
  const double c = std::sqrt(0.5);
  for (const char* text : {"[3, 0, 0, 3]", R"({"axis": [0, 0, 2], "degrees": 90})",
                           R"({"axis": [0, 0, 2], "angle": "=pi/2"})"}) {
    EXPECT_NEAR((rotation(text) - Vec4(c, 0, 0, c)).norm(), 0, 1e-15) << text;
  }
}

TEST(Scene, MaterialsAndPairs) {
  const Scene s = parsed(scene_text(R"("materials": {"steel": {"friction": 0.2, "restitution": 0.5},
      "wood": {"friction": 0.8}, "default": {"friction": 1}},
      "material_pairs": [{"materials": ["wood", "steel"], "restitution": 0.1}])"));
  ASSERT_EQ(s.model.materials.size(), 3U);
  EXPECT_EQ(s.model.materials[0].friction, 1);
  EXPECT_EQ(s.model.materials[1].name, "steel");
  ASSERT_EQ(s.model.material_pairs.size(), 1U);
  EXPECT_NEAR(s.model.material_pairs[0].properties.friction, 0.4, 1e-15);
  EXPECT_EQ(s.model.material_pairs[0].properties.restitution, 0.1);
}

TEST(Scene, MaterialsSayHowTheirFrictionFalls) {
  const Scene s = parsed(scene_text(R"("materials": {
      "steel": {"friction": 0.2, "static_friction": 0.5, "stribeck_speed": 0.01, "stribeck_exponent": 1},
      "wood": {"friction": 0.8}},
      "material_pairs": [{"materials": ["steel", "wood"], "stribeck_speed": 0.03},
                         {"materials": ["steel", "steel"], "friction": 0.6},
                         {"materials": ["wood", "wood"], "static_friction": 0.9, "stribeck_speed": 0.1}])"));
  const Material& steel = s.model.materials[1];
  EXPECT_EQ(steel.static_friction, 0.5);
  EXPECT_EQ(steel.stribeck_speed, 0.01);
  EXPECT_EQ(steel.stribeck_exponent, 1);
  const auto pair = [&](int k) { return s.model.material_pairs[k].properties; };
  EXPECT_NEAR(pair(0).static_friction, std::sqrt(0.5 * 0.8), 1e-15) << "mixed as friction is";
  EXPECT_EQ(pair(0).stribeck_speed, 0.03);
  // A friction of its own has no static one unless it says so.
  EXPECT_FALSE(has_stribeck_effect(pair(1)));
  EXPECT_EQ(friction_at(pair(2), 0).value, 0.9);
  EXPECT_EQ(parsed(s.normalized_json).normalized_json, s.normalized_json);
}

TEST(Scene, MaterialsSayHowTheyRollSpinGiveWayAndStick) {
  const Scene s = parsed(scene_text(R"("materials": {
      "felt": {"rolling_friction": 1e-3, "spinning_friction": 2e-3, "stiffness": 3e4, "damping": 20},
      "clay": {"cohesion": 5, "cohesion_range": 1e-4, "stiffness": "=inf", "restitution": 0.5}},
      "mixing": {"friction": "minimum", "cohesion": "average"},
      "material_pairs": [{"materials": ["felt", "clay"], "rolling_friction": 7e-3},
                         {"materials": ["clay", "clay"], "stiffness": 1e5},
                         {"materials": ["felt", "felt"], "stiffness": "=inf", "restitution": 0.2}])"));
  const Material& felt = s.model.materials[1];
  EXPECT_EQ(felt.rolling_friction, 1e-3);
  EXPECT_EQ(felt.spinning_friction, 2e-3);
  EXPECT_EQ(felt.stiffness, 3e4);
  EXPECT_EQ(felt.damping, 20);
  const Material& clay = s.model.materials[2];
  EXPECT_EQ(clay.cohesion, 5);
  EXPECT_EQ(clay.cohesion_range, 1e-4);
  EXPECT_TRUE(std::isinf(clay.stiffness));
  EXPECT_EQ(s.model.mixing.friction, MixingRule::minimum);
  EXPECT_EQ(s.model.mixing.restitution, MixingRule::maximum);
  // What a pair leaves out is mixed by the scene's rules; rigid or soft, it keeps what fits.
  const Material& pair = s.model.material_pairs[0].properties;
  EXPECT_EQ(pair.rolling_friction, 7e-3);
  EXPECT_EQ(pair.cohesion, 2.5);
  EXPECT_EQ(pair.stiffness, 3e4);
  EXPECT_EQ(pair.restitution, 0);
  EXPECT_EQ(s.model.material_pairs[1].properties.restitution, 0);
  EXPECT_EQ(s.model.material_pairs[2].properties.damping, 0);
  EXPECT_EQ(parsed(s.normalized_json).normalized_json, s.normalized_json);
}

TEST(Scene, LayersByNameAreBitsOfShapes) {
  const Scene s = parsed(scene_text(R"("bodies": [
      {"name": "a", "mass": 1, "layers": ["cars"], "ignores": ["dust"],
       "shapes": [{"kind": "sphere", "radius": 1},
                  {"kind": "sphere", "radius": 1, "layers": ["default", "dust"]},
                  {"kind": "sphere", "radius": 1, "collides_with": ["cars"]}]},
      {"name": "b", "mass": 1, "shapes": [{"kind": "sphere", "radius": 1, "layers": ["dust"]}]}],
      "exclude": [["a", "b"], ["world", "b"]])"));
  ASSERT_EQ(s.model.shapes.size(), 4U);
  const std::uint32_t cars = 2, dust = 4;
  EXPECT_EQ(s.model.shapes[0].layers, cars);
  EXPECT_EQ(s.model.shapes[0].mask, ~dust);
  EXPECT_EQ(s.model.shapes[1].layers, 1 | dust);
  EXPECT_EQ(s.model.shapes[1].mask, ~dust);
  EXPECT_EQ(s.model.shapes[2].layers, cars);
  EXPECT_EQ(s.model.shapes[2].mask, cars);
  EXPECT_EQ(s.model.shapes[3].layers, dust);
  EXPECT_EQ(s.model.shapes[3].mask, 0xffffffffU);
  EXPECT_EQ(s.model.excluded, (std::vector<std::array<int, 2>>{{1, 2}, {0, 2}}));
}

TEST(Scene, ShortJointsCoincideAtTheStart) {
  const Scene s = parsed(with_ball(R"("joints": [{"name": "j", "kind": "universal",
      "bodies": ["world", "ball"], "position": [1, 2, 5], "axis": [0, 0, 2], "x_axis": [0, 1, 1],
      "limits": {"angle-1": [-1, null], "angle-2": {"lower": 0, "upper": 2, "restitution": 1}},
      "restitution": 0.5, "friction": {"angle-1": 3}, "stiffness": 100, "damping": 2,
      "collide": true,
      "motor": {"coordinate": "angle-2", "mode": "speed", "value": 2, "max_force": 9}}])"));
  const Joint& j = s.model.joints[0];
  EXPECT_EQ(s.model.markers[j.marker_a].frame.p, Vec3(1, 2, 5));
  EXPECT_EQ(s.model.markers[j.marker_b].frame.p, Vec3(0, 0, 2));
  EXPECT_NEAR((s.model.markers[j.marker_a].frame.R.col(0) - Vec3(0, 1, 0)).norm(), 0, 1e-15);
  EXPECT_EQ(j.softness.stiffness, 100);
  EXPECT_TRUE(j.collide);
  ASSERT_EQ(s.model.limits.size(), 2U);
  EXPECT_EQ(s.model.limits[0].lower, -1);
  EXPECT_TRUE(std::isinf(s.model.limits[0].upper));
  EXPECT_EQ(s.model.limits[0].restitution, 0.5);
  EXPECT_EQ(s.model.limits[1].restitution, 1);
  EXPECT_EQ(s.model.limits[1].name, "j.angle-2-limit");
  EXPECT_EQ(s.model.motors[0].on.coordinate, 1);
  EXPECT_EQ(s.model.motors[0].max_force, 9);
  EXPECT_EQ(s.model.frictions[0].bound, 3);
}

TEST(Scene, DistancesStartAsTheyAre) {
  const Scene s = parsed(with_ball(R"("joints": [{"kind": "distance", "bodies": ["world", "ball"],
      "points": [[1, 2, 7], [1, 2, 3]]}], "forces": [{"kind": "spring",
      "bodies": ["world", "ball"], "points": [[1, 2, 0], [1, 2, 3]], "stiffness": [[0, 0], [1, 5]],
      "damping": 2}])"));
  EXPECT_EQ(s.model.joints[0].length, 4);
  EXPECT_EQ(s.model.joints[0].name, "joint-0");
  const auto& spring = std::get<MeasureSpring>(s.model.forces[0]);
  EXPECT_EQ(spring.rest, 3);
  EXPECT_EQ(spring.stiffness.table_y, (std::vector<double>{0, 5}));
  EXPECT_EQ(spring.damping.slope, 2);
}

TEST(Scene, MarkersMakeJointsToo) {
  const Scene s = parsed(with_ball(R"("markers": [{"name": "a", "body": "world"},
      {"name": "b", "body": "ball", "rotation": {"axis": [0, 0, 1], "angle": 0.5}}],
      "joints": [{"name": "j", "kind": "revolute", "markers": ["a", "b"]}],
      "forces": [{"kind": "torsion-spring", "joint": "j", "stiffness": 3}])"));
  EXPECT_EQ(s.model.joints[0].marker_a, 0);
  EXPECT_EQ(s.model.joints[0].marker_b, 1);
  EXPECT_NEAR(std::get<MeasureSpring>(s.model.forces[0]).rest, 0.5, 1e-15);
}

TEST(Scene, GearsMeshAsTheyArePlaced) {
  const Scene s = parsed(with_ball(R"("markers": [{"name": "a", "body": "world"},
      {"name": "b", "body": "ball", "rotation": {"axis": [0, 0, 1], "angle": 0.5}}],
      "joints": [{"name": "j", "kind": "cylindrical", "markers": ["a", "b"]},
                 {"name": "k", "kind": "revolute", "bodies": ["world", "ball"],
                  "position": [1, 2, 3], "axis": [0, 0, 1]}],
      "gears": [{"joints": ["k", "j"], "ratio": 3}],
      "rack_and_pinion": [{"rack": "j", "pinion": "k", "radius": 0.1}],
      "couplings": [{"coordinates": [{"joint": "k"}, {"joint": "j", "coordinate": "angle",
                     "factor": -1}], "target": {"polynomial": [1, 2]}}])"));
  const auto& couplings = s.model.couplings;
  ASSERT_EQ(couplings.size(), 3U);
  EXPECT_EQ(evaluate(couplings[0].target, 2).value, 5);
  EXPECT_EQ(couplings[1].factors, (std::vector<double>{1, 3}));
  EXPECT_NEAR(evaluate(couplings[1].target, 0).value, 1.5, 1e-14);
  EXPECT_EQ(couplings[2].factors, (std::vector<double>{1, -0.1}));
  EXPECT_NEAR(evaluate(couplings[2].target, 0).value, 3, 1e-14);
}

TEST(Scene, ForcesOfEveryKind) {
  const Scene s = parsed(with_ball(R"("forces": [
      {"kind": "load", "name": "push", "body": "ball", "force": [0, {"harmonic": {}}, 1],
       "follows": true},
      {"kind": "load", "body": "ball", "point": [1, 2, 4], "torque": [0, 0, 1]},
      {"kind": "bushing", "bodies": ["world", "ball"], "position": [1, 2, 3],
       "stiffness": [1, 2, 3, 4, 5, 6]},
      {"kind": "central-gravity", "center": [1, 0, 0], "strength": 7},
      {"kind": "drag", "body": "ball", "linear": 0.1}])"));
  const auto& push = std::get<Load>(s.model.forces[0]);
  EXPECT_EQ(s.model.markers[push.marker].frame.p, Vec3(0, 0, 0));
  EXPECT_NEAR(evaluate(push.force[1], 0.25).value, 1, 1e-15);
  EXPECT_TRUE(push.follows);
  EXPECT_EQ(s.model.markers[std::get<Load>(s.model.forces[1]).marker].frame.p, Vec3(0, 0, 1));
  EXPECT_EQ(std::get<Bushing>(s.model.forces[2]).stiffness[5], 6);
  EXPECT_EQ(std::get<CentralGravity>(s.model.forces[3]).strength, 7);
  EXPECT_EQ(std::get<Drag>(s.model.forces[4]).body, 1);
}

TEST(Scene, FunctionsOfEveryKind) {
  const auto value = [](const std::string& f, double t) {
    const Scene s = parsed(with_body(R"("kind": "kinematic", "motion": {"axis": [1, 0, 0],
                                        "angle": )" +
                                     f + "}"));
    return evaluate(s.model.bodies[1].motion.angle, t).value;
  };
  EXPECT_EQ(value("2", 9), 2);
  EXPECT_EQ(value(R"({"polynomial": [1, 2, 3]})", 2), 17);
  EXPECT_NEAR(value(R"({"harmonic": {"amplitude": 2, "frequency": 0.5, "phase": "=pi/2",
                       "offset": 1}})",
                    1),
              -1, 1e-14);
  EXPECT_EQ(value(R"({"step": {"t0": 1, "t1": 2, "y0": 3, "y1": 5}})", 1.5), 4);
  EXPECT_EQ(value(R"({"table": [[0, 1], [2, 5]]})", 1), 3);
  EXPECT_NEAR(value(R"({"spline": [[0, 1], [1, 3], [2, 5]]})", 0.5), 2, 1e-14);
}

TEST(Scene, ExpressionsUseParametersAndEachOther) {
  const auto value = [](const std::string& expression) {
    return parsed(scene_text(R"("parameters": {"y": "=2*x", "x": 3, "z": ")" + expression + "\"}"))
        .parameters.at("z");
  };
  EXPECT_EQ(value("=x+y*2"), 15);
  EXPECT_EQ(value("=-x^2"), -9);
  EXPECT_EQ(value("=2^-1"), 0.5);
  EXPECT_EQ(value("=2^3^2"), 512);
  EXPECT_EQ(value("=(1 + 2) * x / y - 1e-1"), 1.4);
  EXPECT_EQ(value("=8/4/2"), 1);
  EXPECT_NEAR(value("=sin(pi/6) + cos(0) + sqrt(4) + atan2(0, 1)"), 3.5, 1e-15);
  EXPECT_EQ(value("=max(1, min(2, 3)) + mod(7, 4) + abs(-1) + floor(1.5)"), 7);
}

TEST(Scene, SimulationSettingsReachTheirPlaces) {
  const SimulationOptions o = parsed(scene_text(R"("simulation": {"duration": 2, "step": 0.01,
      "friction": "convex", "solver": "nsgs", "tolerance": 1e-5, "threads": 2,
      "implicit_forces": "exact", "recovery_speed": "=inf", "stepper": "dvi",
      "project_joints": true, "max_iterations": 7, "restitution": false})"))
                                  .options;
  EXPECT_EQ(o.duration, 2);
  EXPECT_EQ(o.step, 0.01);
  EXPECT_EQ(o.stepper.friction, Friction::convex);
  EXPECT_EQ(o.solver.friction, Friction::convex);
  EXPECT_EQ(o.solver.solver, "nsgs");
  EXPECT_EQ(o.solver.tolerance, 1e-5);
  EXPECT_EQ(o.solver.threads, 2);
  EXPECT_EQ(o.stepper.implicit_forces, ImplicitForces::exact);
  EXPECT_TRUE(std::isinf(o.stepper.recovery_speed));
  EXPECT_TRUE(o.stepper.project_joints);
  EXPECT_FALSE(o.stepper.restitution);
  EXPECT_EQ(o.solver.max_iterations, 7);
}

TEST(Scene, OverridesSetAnything) {
  const std::string text = with_ball(R"("parameters": {"N": 3, "w": "=2*N"}, "gravity": "=N")");
  EXPECT_EQ(parsed(text, {"gravity=0"}).model.gravity, Vec3(0, 0, 0));
  EXPECT_EQ(parsed(text, {"gravity=[1,2,3]"}).model.gravity, Vec3(1, 2, 3));
  EXPECT_EQ(parsed(text, {"simulation.step=1e-4"}).options.step, 1e-4);
  EXPECT_EQ(parsed(text, {"simulation.friction=convex"}).options.stepper.friction,
            Friction::convex);
  EXPECT_EQ(parsed(text, {"N=20"}).parameters.at("w"), 40);
  EXPECT_EQ(parsed(text, {"parameters.N==1+1"}).model.gravity, Vec3(0, 0, -2));
  EXPECT_EQ(parsed(text, {"bodies.ball.mass=9"}).model.bodies[1].mass, 9);
  EXPECT_EQ(parsed(text, {"bodies.0.mass=9", "bodies.0.mass=8"}).model.bodies[1].mass, 8);
  EXPECT_EQ(parsed(text, {"bodies.ball.shapes.0.radius=2"}).model.shapes[0].size[0], 2);
  EXPECT_EQ(parsed(text, {"title=A title"}).title, "A title");
}

TEST(Scene, GridsRepeatABodyAndKnowTheirIndices) {
  const Scene s = parsed(scene_text(R"("parameters": {"n": 2}, "bodies": [{"generate": "grid",
      "name": "b-{i}-{k}", "count": ["=n", 1, 3], "spacing": [1, 0, 0.5], "origin": [10, 0, 0],
      "body": {"mass": "=1 + i + 10*k", "position": [0, 0, 0.25],
               "shapes": [{"kind": "sphere", "radius": 0.1}]}}])"));
  ASSERT_EQ(s.model.bodies.size(), 7U);
  const Body& last = s.model.bodies[6];
  EXPECT_EQ(last.name, "b-1-2");
  EXPECT_EQ(last.mass, 22);
  EXPECT_EQ(last.start.position, Vec3(11, 0, 1.25));
}

TEST(Scene, LinksJoinTheNeighboursOfAGrid) {
  const Scene s = parsed(scene_text(R"("bodies": [{"generate": "grid",
      "name": "b-{i}-{j}-{k}", "count": [3, 2, 2], "spacing": [1, 2, 3], "origin": [10, 0, 0],
      "body": {"mass": 1, "inertia": [1, 1, 1]},
      "links": {"stiffness": [1, 2, 3, 4, 5, 6], "damping": [0.1, 0, 0, 0, 0, "=0.3*2"]}}],
      "forces": [{"name": "own", "kind": "drag", "body": "b-0-0-0", "linear": 1}])"));
  // 2·2·2 along x, 3·1·2 along y, 3·2·1 along z, and the scene's own.
  ASSERT_EQ(s.model.forces.size(), 8U + 6U + 6U + 1U);
  int found = 0;
  for (const Force& force : s.model.forces) {
    const auto* bushing = std::get_if<Bushing>(&force);
    if (bushing == nullptr) continue;
    EXPECT_EQ(bushing->stiffness[4], 5);
    EXPECT_EQ(bushing->damping[5], 0.6);
    const Marker& a = s.model.markers[bushing->marker_a];
    const Marker& b = s.model.markers[bushing->marker_b];
    const Vec3 between =
        s.model.bodies[b.body].start.position - s.model.bodies[a.body].start.position;
    EXPECT_NEAR((a.frame.p - 0.5 * between).norm(), 0, 1e-12);
    EXPECT_NEAR((a.frame.R.col(0) - between.normalized()).norm(), 0, 1e-12);
    if (bushing->name == "b-1-0-1-j") {
      EXPECT_EQ(s.model.bodies[b.body].name, "b-1-1-1");
      ++found;
    }
  }
  EXPECT_EQ(found, 1);
}

TEST(Scene, PackingsAreInsideApartAndTheSameForASeed) {
  const auto packing = [](int seed) {
    return scene_text(fmt::format(R"("bodies": [{{"generate": "packing", "count": 300,
        "box": [[-1, -1, 0], [1, 1, 2]], "radius": [0.05, 0.12], "seed": {}, "density": 1000}}])",
                                  seed));
  };
  const Scene s = parsed(packing(1));
  ASSERT_EQ(s.model.bodies.size(), 301U);
  for (std::size_t i = 1; i <= 300; ++i) {
    const Vec3 x = s.model.bodies[i].start.position;
    const double r = s.model.shapes[i - 1].size[0];
    EXPECT_GE(r, 0.05);
    EXPECT_LE(r, 0.12);
    EXPECT_GE((x - Vec3(-1, -1, 0)).minCoeff(), r);
    EXPECT_GE((Vec3(1, 1, 2) - x).minCoeff(), r);
    for (std::size_t j = 1; j < i; ++j) {
      const double gap =
          (x - s.model.bodies[j].start.position).norm() - r - s.model.shapes[j - 1].size[0];
      EXPECT_GT(gap, 0);
    }
  }
  EXPECT_EQ(parsed(packing(1)).normalized_json, s.normalized_json);
  EXPECT_NE(parsed(packing(2)).normalized_json, s.normalized_json);
  // Pins the random numbers: a packing is the same on every machine.
  EXPECT_NEAR(s.model.shapes[0].size[0], 0.08965931026205967, 1e-15);
}

TEST(Scene, ChainsHangTogether) {
  const Scene s = parsed(scene_text(R"("bodies": [{"generate": "chain", "name": "l{i}", "count": 3,
      "from": [0, 0, 1], "direction": [0, 2, 0], "link_length": 0.2, "radius": 0.02,
      "density": 1000, "joint": "revolute", "axis": [1, 0, 0]}],
      "joints": [{"name": "end", "kind": "spherical", "bodies": ["l2", "world"],
                  "position": [0, 0.6, 1]}])"));
  ASSERT_EQ(s.model.joints.size(), 4U);
  EXPECT_EQ(s.model.joints[0].name, "end");
  EXPECT_EQ(s.model.joints[3].name, "l2-joint");
  EXPECT_NEAR((s.model.bodies[3].start.position - Vec3(0, 0.5, 1)).norm(), 0, 1e-15);
  EXPECT_NEAR((s.model.markers[s.model.joints[3].marker_b].frame.p - Vec3(0, 0, -0.1)).norm(), 0,
              1e-15);
  EXPECT_EQ(s.model.shapes[0].size, Vec3(0.02, 0.08, 0));
}

using SceneInclude = SceneFiles;

TEST_F(SceneInclude, AddsPartsFromBesideAndTheIncludingFileWins) {
  write("lib/materials.json", scene_text(R"("materials": {"steel": {"friction": 0.1}})"));
  write("lib/ball.json", scene_text(R"("title": "not this", "include": ["materials.json"],
      "parameters": {"r": 1, "m": 2}, "gravity": 5, "simulation": {"step": 0.5, "duration": 3},
      "bodies": [{"name": "ball", "mass": "=m",
                  "shapes": [{"kind": "sphere", "radius": "=r", "material": "steel"}]}])"));
  const fs::path file = write("main.json", scene_text(R"("include": ["lib/ball.json",
      "lib/materials.json"], "title": "this", "parameters": {"r": 7}, "simulation": {"step": 0.25},
      "bodies": [{"name": "own", "kind": "fixed"}])"));
  const Scene s = load_scene(file);
  EXPECT_EQ(s.title, "this");
  ASSERT_EQ(s.model.bodies.size(), 3U);
  EXPECT_EQ(s.model.bodies[1].name, "ball");
  EXPECT_EQ(s.model.bodies[1].mass, 2);
  EXPECT_EQ(s.model.shapes[0].size[0], 7);
  EXPECT_EQ(s.model.gravity, Vec3(0, 0, -5));
  EXPECT_EQ(s.options.step, 0.25);
  EXPECT_EQ(s.options.duration, 3);
  EXPECT_EQ(parsed(s.normalized_json).normalized_json, s.normalized_json);
  EXPECT_EQ(load_scene(write("alias.json", scene_text(R"("include": ["main.json"])"))).title,
            "this");
}

}  // namespace
}  // namespace urto
