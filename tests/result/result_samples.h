// Small scenes whose results are known, and the datasets in which two runs of one scene must agree.
#pragma once

#include <cstring>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include "support/folder_test.h"
#include "urto/result/recorder.h"
#include "urto/result/result.h"
#include "urto/result/result_file.h"
#include "urto/result/step_columns.h"
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
  const ModelScales scales = scales_of(run.model());
  for (long k = 0; k < most && run.advance(); ++k) {
    writer.add_step(record_step(run, scales));
    if (run.frame_due()) writer.add_frame(record_frame(run));
    if (writer.append_due()) writer.append(record_status(run));
  }
}

/// A whole run in one call; what is in the file is the test's business.
inline State write_run(const std::filesystem::path& file, const std::string& text,
                       const std::vector<std::string>& set = {}) {
  const Scene scene = parse_scene(text, "test", set);
  Simulation run(scene.model, scene.options);
  run.start();
  ResultWriter writer = ResultWriter::create(file, describe(scene));
  if (run.frame_due()) writer.add_frame(record_frame(run));
  record(run, writer);
  writer.finish(record_status(run));
  return run.state();
}

/// A result that no simulation made: a ball on a floor and a crank with a motor, three frames, two
/// contacts, five steps whose numbers differ from column to column, and two sensors that only this
/// result knows.
inline Result invented_result() {
  Result out;
  Description& d = out.description;
  d.title = "Invented";
  d.scene = "{}";
  d.urto_version = "0";
  d.settings.solver.solver = "none";
  d.settings.solver.tolerance = 1e-8;
  d.bodies = {{"world", "fixed", 0}, {"ball", "dynamic", 2}};
  d.shapes = {{.kind = ShapeKind::sphere, .body = 1, .size = {0.1, 0, 0}}};
  d.joints = {{.name = "crank", .kind = "revolute", .body = {0, 1}}};
  d.coordinates = {{0, "angle"}};
  d.groups = {{"motors", {"drive"}}, {"sensors", {"left", "right"}}};
  d.channels.assign(model_channels().begin(), model_channels().end());
  d.channels.push_back({"strain", "sensors", "strain", "–", 1});
  for (int f = 0; f < 3; ++f) {
    Frame frame{.time = 0.5 * f, .step = 2 * f};
    for (std::size_t c = 0; c < d.channels.size(); ++c) {
      const bool turns = d.channels[c].name == "rotation";
      frame.channels.emplace_back(d.size(d.channels[c]), turns ? 0.5 : 100.0 * f + 1.0 * c);
    }
    if (f > 0) frame.contacts = {{.body_a = 1, .force = {0, 0, 10.0 * f}, .gap = -1e-6}};
    out.frames.push_back(frame);
  }
  for (int k = 0; k < 5; ++k) {
    StepRecord step{.time = 0.25 * (k + 1)};
    step.report.h = 0.25;
    step.report.contacts = k;
    step.report.solve.sweeps = 10 + k;
    step.energy.kinetic = 3.0 * k;
    step.energy.potential = 1.5;
    step.energy.friction = 0.5 * k;
    step.report.timings.solve = 1e-3;
    out.steps.push_back(step);
  }
  out.status.status = "finished";
  out.status.time = 1.25;
  out.status.steps = 5;
  return out;
}

/// Everything that two runs of one scene must have in common, bit by bit: all but wall times.
inline const std::vector<std::string> reproducible_datasets = {"/frames/time",
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
                                                               "/run/time",
                                                               "/run/steps",
                                                               "/run/missed",
                                                               "/run/worst_residual",
                                                               "/run/worst_residual_time"};

inline std::vector<std::string> reproducible() {
  std::vector<std::string> out = reproducible_datasets;
  for (const StepColumn& c : step_columns()) {
    if (!c.name.starts_with("seconds/")) out.push_back("/steps/" + std::string(c.name));
  }
  return out;
}

/// Equal bits, so that a frame of unknown forces (not-a-number) equals itself.
inline bool same_bits(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return false;
  return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
}

inline void expect_same_results(const std::filesystem::path& a, const std::filesystem::path& b) {
  const ResultReader first(a), second(b);
  for (const std::string& path : reproducible()) {
    if (!first.has(path) && !second.has(path)) continue;
    EXPECT_TRUE(same_bits(first.numbers(path), second.numbers(path))) << path;
  }
}

/// A directory of the test's own, removed at its end.
}  // namespace urto::samples
