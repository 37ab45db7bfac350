// Small scenes whose results are known, and the datasets in which two runs of one scene must agree.
#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "urto/result/result_file.h"
#include "urto/scene/scene.h"

namespace urto::samples {

/// A double pendulum that swings over a ball which bounces: joints, a motor, contacts and friction.
inline const char* busy_scene = R"({
  "urto": 1,
  "title": "Busy",
  "materials": { "rubber": { "friction": 0.4, "restitution": 0.5 } },
  "bodies": [
    { "name": "floor", "kind": "fixed", "shapes": [{ "kind": "half-space", "material": "rubber" }] },
    { "name": "ball", "position": [0, 0, 0.3], "velocity": [0.5, 0, 0], "density": 1000,
      "shapes": [{ "kind": "sphere", "radius": 0.1, "material": "rubber" }] },
    { "name": "arm", "position": [0.5, 1, 2], "mass": 1, "inertia": [0.01, 0.1, 0.1] },
    { "name": "fore", "position": [1.5, 1, 2], "mass": 1, "inertia": [0.01, 0.1, 0.1] }
  ],
  "joints": [
    { "name": "shoulder", "kind": "revolute", "bodies": ["world", "arm"], "position": [0, 1, 2], "axis": [0, 1, 0] },
    { "name": "elbow", "kind": "revolute", "bodies": ["arm", "fore"], "position": [1, 1, 2], "axis": [0, 1, 0] }
  ],
  "simulation": { "duration": 1, "step": 0.001, "output_step": 0.01 }
})";

/// A bob of 2 kg at rest under a ball joint.
inline const char* hanging_scene = R"({
  "urto": 1,
  "title": "Hanging",
  "bodies": [{ "name": "bob", "position": [0, 0, -1], "mass": 2, "inertia": [0.1, 0.1, 0.1] }],
  "joints": [{ "name": "hook", "kind": "spherical", "bodies": ["world", "bob"], "position": [0, 0, 0] }],
  "simulation": { "duration": 0.1, "step": 0.001 }
})";

/// Runs a scene to its end, or to `most` steps.
inline void record(Simulation& run, ResultWriter& writer, long most = 1'000'000) {
  for (long k = 0; k < most && run.advance(); ++k) {
    writer.add_step(run);
    if (run.frame_due()) writer.add_frame(run);
    writer.append_when_due(run);
  }
}

/// A whole run in one call; what is in the file is the test's business.
inline State write_run(const std::filesystem::path& file, const std::string& text,
                       const std::vector<std::string>& set = {}) {
  const Scene scene = parse_scene(text, "test", set);
  Simulation run(scene.model, scene.options);
  run.start();
  ResultWriter writer =
      ResultWriter::create(file, scene.model, scene.options, scene.title, scene.normalized_json);
  if (run.frame_due()) writer.add_frame(run);
  record(run, writer);
  writer.status.status = "finished";
  writer.finish(run);
  return run.state();
}

/// Everything that two runs of one scene must have in common, bit by bit: all but wall times.
inline const std::vector<std::string> reproducible = {"/frames/time",
                                                      "/frames/step",
                                                      "/frames/position",
                                                      "/frames/rotation",
                                                      "/frames/velocity",
                                                      "/frames/angular_velocity",
                                                      "/frames/coordinate",
                                                      "/frames/coordinate_rate",
                                                      "/frames/joint_reaction",
                                                      "/contacts/start",
                                                      "/contacts/count",
                                                      "/contacts/body_a",
                                                      "/contacts/body_b",
                                                      "/contacts/point",
                                                      "/contacts/normal",
                                                      "/contacts/force",
                                                      "/contacts/gap",
                                                      "/steps/time",
                                                      "/steps/step",
                                                      "/steps/residual",
                                                      "/steps/momentum",
                                                      "/steps/natural_map",
                                                      "/steps/scaled",
                                                      "/steps/joint_error",
                                                      "/steps/penetration",
                                                      "/steps/contacts",
                                                      "/steps/active",
                                                      "/steps/islands",
                                                      "/steps/sweeps",
                                                      "/steps/handed_on",
                                                      "/steps/iterations",
                                                      "/steps/meets_tolerance",
                                                      "/steps/energy/kinetic",
                                                      "/steps/energy/potential",
                                                      "/steps/energy/supplied",
                                                      "/steps/energy/friction",
                                                      "/steps/energy/impact",
                                                      "/steps/energy/damping",
                                                      "/steps/energy/recovery",
                                                      "/steps/energy/numerical",
                                                      "/run/time",
                                                      "/run/steps",
                                                      "/run/missed",
                                                      "/run/worst_residual",
                                                      "/run/worst_residual_time"};

/// Equal bits, so that a frame of unknown forces (not-a-number) equals itself.
inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

inline void expect_same_results(const std::filesystem::path& a, const std::filesystem::path& b) {
  const ResultReader first(a), second(b);
  for (const std::string& path : reproducible) {
    if (!first.has(path) && !second.has(path)) continue;
    EXPECT_TRUE(same_bits(first.numbers(path), second.numbers(path))) << path;
  }
}

/// A directory of the test's own, removed at its end.
class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() /
              (std::string("urto-") + test->name() + "-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
};

}  // namespace urto::samples
