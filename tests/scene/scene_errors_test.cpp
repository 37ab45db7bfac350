// Scene files: every kind of mistake, with the exact message a user reads.
#include "scene_samples.h"

namespace urto {
namespace {

using namespace samples;

struct Mistake {
  std::string text, message;
  std::vector<std::string> overrides = {};
};

void expect_messages(const std::vector<Mistake>& mistakes) {
  for (const Mistake& m : mistakes) {
    EXPECT_EQ(message_of(m.text, m.overrides), "s.json: " + m.message) << m.text;
  }
}

TEST(SceneErrors, SyntaxHasLineAndColumn) {
  const std::string deep(100, '[');
  expect_messages({
      {"",
       "line 1, column 1: syntax error while parsing value - unexpected end of input; "
       "expected '[', '{', or a literal"},
      {"{\n  \"urto\": 1,\n  \"é\" 1}",
       "line 3, column 7: syntax error while parsing object separator - unexpected number literal; "
       "expected ':'"},
      {"{\n  \"urto\": 1, // a, \"b\n}",
       "line 2, column 12: found a comma before '}', expected another item or no comma"},
      {"{\"a\": [1, /* , */ 2, /* ] */ ]}",
       "line 1, column 20: found a comma before ']', expected another item or no comma"},
      {"{\"a\": \"x\\\\\", \"b\": [\",\" ]]}",
       "line 1, column 25: syntax error while parsing object - unexpected ']'; expected '}'"},
      {"{\"urto\": 1, \"gravity\": 1e999}", "/gravity: number overflow parsing '1e999'"},
      {"{\"urto\": " + deep, "nested more than 64 deep"},
      {scene_text(R"("bodies": [{}, {"mass": 1, "mass": 2}])"),
       "/bodies/1/mass: the key 'mass' stands here twice"},
  });
}

TEST(SceneErrors, TheHeadOfTheFile) {
  expect_messages({
      {"[]", "found [], expected an object, a scene"},
      {"{}", "the key 'urto' is missing in a scene"},
      {R"({"urto": 2})", "/urto: found 2, expected 1, the version of the scene format"},
      {scene_text(R"("units": "cgs")"), "/units: found \"cgs\", expected \"SI\": m, kg, s, rad"},
      {scene_text(R"("title": 1)"), "/title: found 1, expected a string"},
      {scene_text(R"("gravity": "down")"),
       "/gravity: found \"down\", expected three numbers [m/s²], or one that points along −z"},
      {scene_text(R"("gravity": [0, 1])"), "/gravity: found [0,1], expected an array of 3 numbers"},
      {scene_text(R"("bodies": {})"), "/bodies: found {}, expected an array"},
  });
}

TEST(SceneErrors, MisspeltKeysAndWords) {
  expect_messages({
      {scene_text(R"("bodeis": [])"),
       "/bodeis: unknown key 'bodeis' in a scene, did you mean 'bodies'?"},
      {scene_text(R"("materials": {"steel": {"fricton": 0.2}})"),
       "/materials/steel/fricton: unknown key 'fricton' in a material, did you mean 'friction'?"},
      {scene_text(R"("materials": {"steel": {"xyz": 0.2}})"),
       "/materials/steel/xyz: unknown key 'xyz' in a material (its keys: friction, "
       "static_friction, stribeck_speed, stribeck_exponent, restitution, restitution_threshold, "
       "rolling_friction, spinning_friction, stiffness, damping, cohesion, cohesion_range)"},
      {with_body(R"("kind": "fixd")"),
       "/bodies/0/kind: 'fixd' is not a kind of body, did you mean 'fixed'?"},
      {with_body(R"("kind": 7)"),
       "/bodies/0/kind: found 7, expected a kind of body: dynamic, fixed, kinematic"},
      {with_body(R"("kind": "fixed", "shapes": [{"kind": "sphere", "length": 1}])"),
       "/bodies/0/shapes/0/length: unknown key 'length' in a sphere (its keys: kind, radius, "
       "position, rotation, material, collides, layers, collides_with, ignores)"},
      {with_body(R"("kind": "fixed", "shapes": [{"radius": 1}])"),
       "/bodies/0/shapes/0: the key 'kind' is missing in a shape"},
      {scene_text(R"("simulation": {"solver": "nsg"})"),
       "/simulation/solver: there is no solver 'nsg', did you mean 'nsgs'?"},
      {scene_text(R"("simulation": {"friction": "exakt"})"),
       "/simulation/friction: 'exakt' is not a friction law, did you mean 'exact'?"},
  });
}

TEST(SceneErrors, MaterialsAndLayers) {
  std::string many;
  for (int k = 0; k < 32; ++k) many += fmt::format("{}\"layer {}\"", k > 0 ? ", " : "", k);
  const std::string sphere = R"("mass": 1, "shapes": [{"kind": "sphere", "radius": 1}])";
  expect_messages({
      {scene_text(R"("materials": {"m": {"stiffness": 10, "restitution": 0.5}})"),
       "/materials/m: 'restitution' does not go with a finite 'stiffness': a soft contact rebounds "
       "by its stiffness and damping"},
      {scene_text(R"("materials": {"m": {"damping": 10}})"),
       "/materials/m: 'damping' needs a finite 'stiffness'"},
      {scene_text(R"("materials": {"m": {"rolling_friction": -1}})"),
       "/materials/m/rolling_friction: found -1, expected a number of at least 0 [m]"},
      {scene_text(R"("materials": {"m": {"cohesion": "=inf"}})"),
       "/materials/m/cohesion: found \"=inf\", expected a number of at least 0 [N]"},
      {scene_text(R"("materials": {"m": {"friction": 0.5, "static_friction": 0.3}})"),
       "/materials/m/static_friction: found 0.3, expected at least 0.5, the 'friction' of what "
       "slides"},
      {scene_text(R"("materials": {"m": {"static_friction": 0.8}})"),
       "/materials/m: 'static_friction' needs a 'stribeck_speed': the speed over which friction "
       "falls to that of sliding"},
      {scene_text(R"("materials": {"m": {"stribeck_exponent": 0}})"),
       "/materials/m/stribeck_exponent: found 0, expected a number above 0 to 10"},
      {scene_text(R"("mixing": {"friction": "mean"})"),
       "/mixing/friction: found \"mean\", expected a mixing rule: minimum, maximum, average, "
       "geometric, multiply"},
      {scene_text(R"("mixing": {"cohesion": "multiply"})"),
       "/mixing/cohesion: found \"multiply\", expected another rule: a product of two amounts with "
       "a unit has another unit"},
      {scene_text(R"("mixing": {"stiffness": "average"})"),
       "/mixing/stiffness: unknown key 'stiffness' in the mixing rules (its keys: friction, "
       "restitution, restitution_threshold, rolling_friction, spinning_friction, cohesion, "
       "cohesion_range)"},
      {with_body(sphere + R"(, "layers": ["cars"], "ignores": ["car"])"),
       "/bodies/0/ignores/0: there is no layer 'car', did you mean 'cars'?"},
      {with_body(sphere + R"(, "layers": [])"),
       "/bodies/0/layers: found [], expected at least one layer"},
      {with_body(sphere + R"(, "layers": "cars")"),
       "/bodies/0/layers: found \"cars\", expected an array of names of layers"},
      {with_body(sphere + R"(, "ignores": ["default"], "collides_with": ["default"])"),
       "/bodies/0/ignores: 'ignores' does not go with 'collides_with', which names all that is "
       "met"},
      {with_body(sphere + ", \"layers\": [" + many + "]"),
       "/bodies/0/layers/31: 'layer 31' is one layer too many: there are at most 32, with "
       "'default'"},
      {scene_text(R"("exclude": [["world", "wrold"]])"),
       "/exclude/0/1: there is no body 'wrold', did you mean 'world'?"},
      {scene_text(R"("exclude": [["world", "world"]])"),
       "/exclude/0: found [\"world\",\"world\"], expected two different bodies"},
  });
}

TEST(SceneErrors, Numbers) {
  expect_messages({
      {with_body(R"("mass": -1)"), "/bodies/0/mass: found -1, expected a positive number [kg]"},
      {with_body(R"("mass": "2")"), "/bodies/0/mass: found \"2\", expected a positive number [kg]"},
      {with_body(R"("mass": "=inf")"),
       "/bodies/0/mass: found \"=inf\", expected a positive number [kg]"},
      {scene_text(R"("materials": {"m": {"restitution": 2}})"),
       "/materials/m/restitution: found 2, expected a number from 0 to 1"},
      {scene_text(R"("materials": {"m": {"friction": null}})"),
       "/materials/m/friction: found null, expected a number of at least 0"},
      {scene_text(R"("simulation": {"threads": 1.5})"),
       "/simulation/threads: found 1.5, expected a whole number from 1 to 1024"},
      {scene_text(R"("simulation": {"relaxation": 0})"),
       "/simulation/relaxation: found 0, expected a number above 0 to 2"},
      {scene_text(R"("simulation": {"time_limit": 0})"),
       "/simulation/time_limit: found 0, expected a positive number [s] or \"=inf\""},
      {scene_text(R"("simulation": {"adaptive": 1})"),
       "/simulation/adaptive: found 1, expected true or false"},
      {with_body(R"("position": [0, "x", 0])"),
       "/bodies/0/position/1: found \"x\", expected a number [m]"},
      {with_body(R"("rotation": [0, 0, 0, 0])"),
       "/bodies/0/rotation: found [0,0,0,0], expected a quaternion that is not zero"},
      {with_body(R"("rotation": {"axis": [0, 0, 0], "angle": 1})"),
       "/bodies/0/rotation/axis: found [0,0,0], expected a direction, not the zero vector"},
      {with_body(R"("rotation": {"axis": [0, 0, 1]})"),
       "/bodies/0/rotation: a rotation has either 'angle' [rad] or 'degrees'"},
      {with_body(R"("rotation": 90)"),
       "/bodies/0/rotation: found 90, expected a quaternion [w, x, y, z] or {\"axis\": [x, y, z], "
       "\"angle\" or \"degrees\": number}"},
  });
}

TEST(SceneErrors, Expressions) {
  const auto with = [](const std::string& value) {
    return scene_text(R"("parameters": {"long_name": 1}, "gravity": ")" + value + "\"");
  };
  expect_messages({
      {with("=2*"),
       "/gravity: cannot evaluate \"=2*\": at character 4: found the end, expected a number, a "
       "name or '('"},
      {with("=(1"),
       "/gravity: cannot evaluate \"=(1\": at character 4: found the end, expected ')'"},
      {with("=1 $"),
       "/gravity: cannot evaluate \"=1 $\": at character 4: found '$', expected an operator or the "
       "end"},
      {with("=1+long_nam"),
       "/gravity: cannot evaluate \"=1+long_nam\": at character 4: there is no parameter "
       "'long_nam', did you mean 'long_name'?"},
      {with("=sin 1"),
       "/gravity: cannot evaluate \"=sin 1\": at character 6: found '1', expected '('"},
      {with("=min(1)"),
       "/gravity: cannot evaluate \"=min(1)\": at character 7: found ')', expected ','"},
      {with("=sqrt(-1)"), "/gravity: cannot evaluate \"=sqrt(-1)\": the value is not a number"},
      {with("=" + std::string(1000, '(')),
       "/gravity: cannot evaluate \"=" + std::string(58, '(') + "…: nested too deep"},
      {with("=1/0"),
       "/gravity: found \"=inf\", expected three numbers [m/s²], or one that points along −z"},
      {scene_text(R"("parameters": {"a": "=b", "b": "=a"})"),
       "/parameters/b: cannot evaluate \"=a\": at character 2: 'a' depends on itself"},
      {scene_text(R"("parameters": {"a b": 1})"),
       "/parameters/a b: 'a b' cannot be used in expressions, expected letters, digits and _"},
      {scene_text(R"("parameters": {"pi": 3})"), "/parameters/pi: 'pi' is a name of its own"},
      {scene_text(R"("parameters": {"a": "3"})"), "/parameters/a: found \"3\", expected a number"},
  });
}

TEST(SceneErrors, Bodies) {
  expect_messages({
      {with_body(""),
       "/bodies/0: a dynamic body needs 'mass' and 'inertia', or 'mass' or "
       "'density' and shapes"},
      {with_body(R"("mass": 1)"),
       "/bodies/0: a dynamic body needs 'inertia', or shapes to take it "
       "from"},
      {with_body(R"("mass": 1, "density": 1)"), "/bodies/0: a body has either 'mass' or 'density'"},
      {with_body(R"("mass": 1, "inertia": [1, 1, 3])"),
       "/bodies/0/inertia: found principal moments 1, 1, 3, expected the largest at most the sum "
       "of the others (no solid has this inertia)"},
      {with_body(R"("mass": 1, "inertia": [[1, 2, 0], [2, 1, 0], [0, 0, 1]])"),
       "/bodies/0/inertia: found principal moments -1, 1, 3, expected three positive ones"},
      {with_body(R"("mass": 1, "inertia": [[1, 0.2, 0], [0, 1, 0], [0, 0, 1]])"),
       "/bodies/0/inertia: found a matrix that is not symmetric, expected a symmetric one"},
      {with_body(R"("mass": 1, "center_of_mass": [0, 0, 1],
                    "shapes": [{"kind": "sphere", "radius": 1}])"),
       "/bodies/0/center_of_mass: 'center_of_mass' needs 'inertia': that of the shapes is about "
       "their own"},
      {with_body(R"("mass": 1, "shapes": [{"kind": "half-space"}])"),
       "/bodies/0/shapes/0: found a half-space on a dynamic body, expected a fixed or kinematic "
       "body"},
      {with_body(R"("kind": "kinematic", "velocity": [1, 0, 0])"),
       "/bodies/0/velocity: found [1,0,0], expected none: 'motion' moves a kinematic body"},
      {with_body(R"("kind": "fixed", "motion": {})"),
       "/bodies/0/motion: only a kinematic body has a 'motion'"},
      {scene_text(R"("bodies": [{"name": "a", "kind": "fixed"}, {"name": "a", "kind": "fixed"}])"),
       "/bodies/1/name: duplicate body name 'a', first used at s.json: /bodies/0/name"},
      {with_body(R"("name": "world")"),
       "/bodies/0/name: duplicate body name 'world', always there"},
      {with_body(R"("name": "a/b")"),
       "/bodies/0/name: found \"a/b\", expected a name: some characters, without '/' and control "
       "characters"},
      {with_body(R"("kind": "fixed", "shapes": [{"kind": "sphere", "radius": 1,
                    "material": "stel"}])"),
       "/bodies/0/shapes/0/material: there is no material 'stel'"},
  });
}

TEST(SceneErrors, Joints) {
  const auto with = [](const std::string& joint) {
    return with_ball(R"("markers": [{"name": "m", "body": "ball"}, {"name": "n", "body": "ball"}],
                        "joints": [{"name": "j", )" +
                     joint + "}]");
  };
  const std::string hinge =
      R"("kind": "revolute", "bodies": ["world", "ball"], "position": [0, 0, 0], "axis": [1, 0, 0])";
  expect_messages({
      {with(R"("kind": "revolute")"), "/joints/0: a joint needs 'bodies' or 'markers'"},
      {with(R"("kind": "revolute", "bodies": ["world", "bal"])"),
       "/joints/0/bodies/1: there is no body 'bal', did you mean 'ball'?"},
      {with(R"("kind": "revolute", "bodies": ["ball", "ball"])"),
       "/joints/0/bodies: found [\"ball\",\"ball\"], expected two different bodies"},
      {with(R"("kind": "revolute", "markers": ["m", "n"])"),
       "/joints/0/markers: found two markers on one body, expected markers on two bodies"},
      {with(R"("kind": "revolute", "bodies": ["world", "ball"], "position": [0, 0, 0])"),
       "/joints/0: the key 'axis' is missing in a joint"},
      {with(hinge + R"(, "x_axis": [1, 0, 0])"),
       "/joints/0/x_axis: found [1,0,0], expected a direction that is not along 'axis'"},
      {with(hinge + R"(, "pitch": 1)"),
       "/joints/0/pitch: 'pitch' is for screw joints, this one is revolute"},
      {with(hinge + R"(, "limits": {"angel": [0, 1]})"),
       "/joints/0/limits/angel: a revolute joint has no coordinate 'angel', only: angle"},
      {with(hinge + R"(, "limits": {"angle": [2, 1]})"),
       "/joints/0/limits/angle: found lower 2 and upper 1, expected the lower one first"},
      {with(hinge + R"(, "restitution": 1)"),
       "/joints/0/restitution: a joint's 'restitution' is that of its 'limits'"},
      {with(hinge + R"(, "motor": {"mode": "force"})"),
       "/joints/0/motor: the key 'value' is missing in a joint's motor"},
      {with(hinge + R"(, "motor": {"mode": "force", "value": 1, "max_force": 2})"),
       "/joints/0/motor/max_force: 'max_force' is for motors with the mode 'speed'"},
      {with(R"("kind": "fixed", "bodies": ["world", "ball"], "friction": {"angle": 1})"),
       "/joints/0/friction/angle: a fixed joint has no coordinates"},
      {with(R"("kind": "distance", "bodies": ["world", "ball"],
               "points": [[0, 0, 0], [0, 0, 0]])"),
       "/joints/0: the two points coincide at the start, so 'length' is needed"},
      {with(R"("kind": "planar", "bodies": ["world", "ball"], "axis": [0, 0, 1],
               "motor": {"mode": "speed", "value": 1})"),
       "/joints/0/motor: the key 'coordinate' is missing; a planar joint has: x, y, angle"},
      {with_ball(R"("gears": [{"joints": ["a", "b"], "ratio": 1}])"),
       "/gears/0/joints/0: there is no joint 'a'"},
      {with_ball(R"("watch": ["ball.xx"])"),
       "/watch/0: found \"ball.xx\", expected one of: x, y, z, vx, vy, vz, wx, wy, wz, speed"},
  });
}

TEST(SceneErrors, FunctionsAndForces) {
  const auto with = [](const std::string& f) {
    return with_body(R"("kind": "kinematic", "motion": {"angle": )" + f + "}");
  };
  const std::string at = "/bodies/0/motion/angle";
  expect_messages({
      {with("[]"), at + ": found [], expected a number or an object with one of: polynomial, "
                        "harmonic, step, table, spline"},
      {with("{}"), at + ": found 0 keys, expected one of: polynomial, harmonic, step, table, "
                        "spline"},
      {with(R"({"table": [[0, 1]]})"),
       at + "/table: found [[0,1]], expected at least two points [[t, y], …]"},
      {with(R"({"spline": [[0, 1], [0, 2]]})"),
       at + "/spline/1: found [0,2], expected a point later than the one before"},
      {with(R"({"step": {"t0": 2}})"), at + "/step: found t0 2 and t1 1, expected t0 before t1"},
      {with_ball(R"("forces": [{"kind": "load", "body": "ball"}])"),
       "/forces/0: a load needs 'force' or 'torque'"},
      {with_ball(R"("forces": [{"kind": "spring", "bodies": ["world", "ball"]}])"),
       "/forces/0: the key 'points' is missing in a spring"},
      {with_ball(R"("forces": [{"kind": "drag", "body": "ball", "linear": -1}])"),
       "/forces/0/linear: found -1, expected a number of at least 0 [N·s/m]"},
  });
}

TEST(SceneErrors, Generators) {
  const auto with = [](const std::string& g) {
    return scene_text(R"("bodies": [{"generate": )" + g + "}]");
  };
  const std::string chain = R"("chain", "count": 2, "from": [0, 0, 0], "direction": [1, 0, 0],
                               "link_length": 1, "density": 1, "joint": )";
  expect_messages({
      {with(R"("gird")"), "/bodies/0/generate: 'gird' is not a generator, did you mean 'grid'?"},
      {with(R"("grid", "count": [2, 1, 1], "spacing": [1, 0, 0], "name": "b", "body": {})"),
       "/bodies/0/name: found \"b\", expected a name with {i}, so that each body has its own"},
      {with(R"("grid", "count": [2, 1, 1], "spacing": [1, 0, 0], "body": {"mas": 1})"),
       "/bodies/0 ('grid-0-0-0')/mas: unknown key 'mas' in a body, did you mean 'mass'?"},
      {with(R"("grid", "count": [2000, 1000, 1], "spacing": [1, 0, 0], "body": {})"),
       "/bodies/0/count: found [2000,1000,1], expected at most 1000000 bodies in all"},
      {with(R"("grid", "count": [2, 1, 1], "spacing": [1, 0, 0], "body": {"mass": 1},
               "links": {"stifness": 1})"),
       "/bodies/0/links/stifness: unknown key 'stifness' in the links of a grid, did you mean "
       "'stiffness'?"},
      {with(R"("grid", "count": [2, 1, 1], "spacing": [0, 0, 0], "body": {"mass": 1},
               "links": {"stiffness": [1, 1, 1, 1, 1, 1]})"),
       "/bodies/0/links: linked bodies stand in different places"},
      {with(R"("packing", "count": 100, "box": [[0, 0, 0], [1, 1, 1]], "radius": 0.09,
               "density": 1)"),
       "/bodies/0: found room for 87 of 100 balls, which would fill 31 % of the box, expected a "
       "larger box, or balls that fill at most about 25 % of it"},
      {with(R"("packing", "count": 100, "box": [[0, 0, 0], [1, 1, 1]], "radius": 0.2,
               "density": 1)"),
       "/bodies/0: found room for 0 of 100 balls, which would fill 335 % of the box, expected a "
       "larger box, or balls that fill at most about 25 % of it"},
      {with(chain + R"("revolute", "radius": 0.1)"),
       "/bodies/0: the key 'axis' is missing in a chain"},
      {with(chain + R"("spherical")"),
       "/bodies/0: a chain has either 'radius' (links are capsules) or 'shape'"},
      {with(chain + R"("spherical", "radius": 0.6)"),
       "/bodies/0/radius: found 0.6, expected less than half of link_length"},
      {with(chain + R"("spherical", "radius": 0.1, "anchor": "sky")"),
       "/bodies/0 ('link-0-joint')/bodies/0: there is no body 'sky'"},
  });
}

TEST(SceneErrors, Overrides) {
  const std::string text = with_ball(R"("parameters": {"speed": 3})");
  const std::vector<std::pair<std::string, std::string>> mistakes{
      {"gravity",
       "override 'gravity': found no path=value, expected for example "
       "simulation.step=1e-4"},
      {"gravty=0",
       "override 'gravty=0': there is no 'gravty' in the scene, did you mean "
       "'gravity'?"},
      {"sped=0", "override 'sped=0': there is no 'sped' in the scene, did you mean 'speed'?"},
      {"parameters.n=0",
       "override 'parameters.n=0': there is no 'n' in /parameters (there are: "
       "speed)"},
      {"bodies.bal.mass=0",
       "override 'bodies.bal.mass=0': there is no 'bal' in /bodies, did you "
       "mean 'ball'?"},
      {"bodies.7.mass=0",
       "override 'bodies.7.mass=0': there is no '7' in /bodies (there are: "
       "ball)"},
      {"simulation.stp=0",
       "override 'simulation.stp=0': there is no 'stp' in /simulation, did you "
       "mean 'step'?"},
      {"include=[]", "override 'include=[]': 'include' cannot be overridden"},
      {"bodies.ball.mass=-1",
       "s.json: /bodies/0/mass (set by 'bodies.ball.mass=-1'): found -1, "
       "expected a positive number [kg]"},
      {"bodies.ball.mas=1",
       "s.json: /bodies/0/mas (set by 'bodies.ball.mas=1'): unknown key 'mas' "
       "in a body, did you mean 'mass'?"},
  };
  for (const auto& [setting, message] : mistakes) EXPECT_EQ(message_of(text, {setting}), message);
}

using SceneIncludeErrors = SceneFiles;

TEST_F(SceneIncludeErrors, MissingFilesAndCircles) {
  EXPECT_EQ(message(directory_ / "none.json"), "none.json: there is no such file");
  const fs::path a = write("a.json", scene_text(R"("include": ["sub/b.json"])"));
  EXPECT_EQ(message(a), "a.json: /include/0: sub/b.json: there is no such file");
  write("sub/b.json", scene_text(R"("include": ["../a.json"])"));
  EXPECT_EQ(message(a),
            "sub/b.json: /include/0: files include each other: a.json → b.json → a.json");
  EXPECT_EQ(message(write("self.json", scene_text(R"("include": ["self.json"])"))),
            "self.json: /include/0: files include each other: self.json → self.json");
  EXPECT_EQ(message(directory_), directory_.string() + ": found a directory, expected a file");
}

TEST_F(SceneIncludeErrors, AreReportedWhereTheyWereMade) {
  write("part.json", scene_text(R"("bodies": [{"name": "a", "kind": "fixed"}, {"mas": 1}])"));
  EXPECT_EQ(message(write("main.json", scene_text(R"("include": ["part.json"])"))),
            "part.json: /bodies/1/mas: unknown key 'mas' in a body, did you mean 'mass'?");
  write("part.json",
        scene_text(R"("bodies": [{"name": "a", "kind": "fixed"}], "materials": {"m": {}})"));
  EXPECT_EQ(message(write("main.json", scene_text(R"("include": ["part.json"],
                "bodies": [{"name": "a", "kind": "fixed"}])"))),
            "main.json: /bodies/0/name: duplicate body name 'a', first used at part.json: "
            "/bodies/0/name");
  EXPECT_EQ(message(write("main.json", scene_text(R"("include": ["part.json"],
                "materials": {"m": {}})"))),
            "main.json: /materials/m: duplicate material name 'm', first used at part.json: "
            "/materials/m");
  write("one.json", scene_text(R"("gravity": 1)"));
  write("two.json", scene_text(R"("gravity": 2)"));
  EXPECT_EQ(message(write("main.json", scene_text(R"("include": ["one.json", "two.json"])"))),
            "two.json: /gravity: found 2, but one.json: /gravity says 1");
  write("bad.json", "{\n!}");
  EXPECT_EQ(message(write("main.json", scene_text(R"("include": ["bad.json"])"))),
            "bad.json: line 2, column 1: syntax error while parsing object key - invalid literal; "
            "expected string literal");
}

}  // namespace
}  // namespace urto
