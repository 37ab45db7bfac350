// Mechanisms that coast: nothing pulls, so that what a step has to change is rounding. Every step
// of theirs is as right as doubles can be, and its certificate must say so.
#include <gtest/gtest.h>

#include "urto/scene/scene.h"
#include "urto/stepper/simulation.h"

namespace urto {
namespace {

constexpr const char* along_111 = R"json({"urto": 1, "gravity": [0, 0, 0],
  "bodies": [{"name": "b", "mass": 1, "inertia": [0.1, 0.2, 0.3], "position": [0.3, 0.2, 0.1],
              "velocity": [0.7, 0.7, 0.7]}],
  "joints": [{"name": "j", "kind": "prismatic", "bodies": ["world", "b"], "axis": [1, 1, 1]}],
  "simulation": {"duration": 1, "step": 1e-3}})json";

constexpr const char* gear_pair = R"json({"urto": 1, "gravity": [0, 0, 0],
  "bodies": [{"name": "a", "mass": 1, "inertia": [1, 1, 5e-3], "angular_velocity": [0, 0, 3]},
             {"name": "b", "mass": 2, "inertia": [1, 1, 4e-2], "position": [0.3, 0, 0],
              "angular_velocity": [0, 0, -1.5]}],
  "joints": [{"name": "ja", "kind": "revolute", "bodies": ["world", "a"], "position": [0, 0, 0],
              "axis": [0, 0, 1]},
             {"name": "jb", "kind": "revolute", "bodies": ["world", "b"], "position": [0.3, 0, 0],
              "axis": [0, 0, 1]}],
  "gears": [{"joints": ["ja", "jb"], "ratio": 2}],
  "simulation": {"duration": 1, "step": 1e-3}})json";

// Two shafts at 30°, joined by a cross.
constexpr const char* hooke = R"json({"urto": 1, "gravity": [0, 0, 0],
  "parameters": {"s": 0.5, "c": "=sqrt(0.75)"},
  "bodies": [{"name": "a", "mass": 1, "inertia": [0.02, 0.02, 0.01], "position": [0, 0, -0.2],
              "angular_velocity": [0, 0, 10]},
             {"name": "b", "mass": 1, "inertia": [0.02, 0.02, 0.01],
              "position": [0, "=-0.2*s", "=0.2*c"], "rotation": {"axis": [1, 0, 0], "degrees": 30}}],
  "markers": [{"name": "ua", "body": "a", "position": [0, 0, 0.2]},
              {"name": "ub", "body": "b", "position": [0, 0, -0.2]}],
  "joints": [{"name": "ja", "kind": "revolute", "bodies": ["world", "a"], "position": [0, 0, -0.3],
              "axis": [0, 0, 1]},
             {"name": "u", "kind": "universal", "markers": ["ua", "ub"]},
             {"name": "jb", "kind": "point-on-line", "bodies": ["world", "b"],
              "position": [0, "=-0.3*s", "=0.3*c"], "axis": [0, "=-s", "=c"]}],
  "simulation": {"duration": 0.2, "step": 1e-3}})json";

// A triangle of three hinges with parallel axes: rows too many, and nothing moves. What is left of
// the joints' equations is the rounding of g over the step.
constexpr const char* at_rest_and_redundant = R"json({"urto": 1, "gravity": [0, 0, 0],
  "bodies": [{"name": "a", "mass": 1, "inertia": [1, 1, 1], "position": [0.1, 0.2, 0.7]},
             {"name": "b", "mass": 1, "inertia": [1, 1, 1], "position": [0.3, 0.3, 0.9]}],
  "joints": [{"name": "ja", "kind": "revolute", "bodies": ["world", "a"], "position": [0.1, 0, 0.3],
              "axis": [0.3, 0.2, 1]},
             {"name": "jb", "kind": "revolute", "bodies": ["a", "b"], "position": [0.7, 0.1, 0.1],
              "axis": [0.3, 0.2, 1]},
             {"name": "jc", "kind": "revolute", "bodies": ["world", "b"], "position": [0.2, 0.9, 0.3],
              "axis": [0.3, 0.2, 1]}],
  "simulation": {"duration": 1e-3, "step": 1e-5}})json";

// What a joint has to change of a pendulum's velocity after its smooth motion is below 1e-10 of it,
// and nothing at the turning points.
constexpr const char* pendulum = R"json({"urto": 1,
  "bodies": [{"name": "bob", "mass": 1, "inertia": [0.01, 0.01, 0.01],
              "position": ["=sin(1)", 0, "=-cos(1)"]}],
  "joints": [{"name": "hinge", "kind": "revolute", "bodies": ["world", "bob"],
              "position": [0, 0, 0], "axis": [0, 1, 0]}],
  "simulation": {"duration": 1.1}})json";

Checkpoint run_to_end(const char* text, std::vector<std::string> overrides) {
  const Scene scene = parse_scene(text, "test", overrides);
  Simulation run(scene.model, scene.options);
  run.start();
  while (run.advance()) {
  }
  EXPECT_EQ(run.run_state(), RunState::finished) << run.failure();
  return run.checkpoint();
}

TEST(Coasting, MechanismsMissNoTolerance) {
  for (const char* text : {along_111, gear_pair, hooke, at_rest_and_redundant}) {
    for (const StepperInfo& by : steppers()) {
      if (!by.contacts && by.name != "generalised-alpha") continue;
      const Checkpoint end = run_to_end(text, {"simulation.stepper=" + by.name});
      EXPECT_EQ(end.missed, 0) << by.name << "\n" << text << "\nresidual " << end.worst_residual;
    }
  }
}

TEST(Coasting, APendulumMissesNoToleranceWhateverTheStep) {
  for (const char* step : {"1e-2", "5e-3", "1e-3", "1e-4", "2e-5"}) {
    for (const StepperInfo& by : steppers()) {
      if (!by.contacts) continue;
      const Checkpoint end = run_to_end(
          pendulum, {"simulation.stepper=" + by.name, std::string("simulation.step=") + step});
      EXPECT_EQ(end.missed, 0) << by.name << " step " << step << " residual " << end.worst_residual
                               << " at t = " << end.worst_residual_time;
    }
  }
}

}  // namespace
}  // namespace urto
