// Scene files: JSON in, a checked Model and the options of a run out. docs/scenes.md is the user's
// page, scene.schema.json the machine's; the tests keep both in step with the loader.
//
//   text ─parse▶ JSON ─include▶ one document ─override▶ ─expand▶ plain JSON ─read▶ Model
//
// Expanding evaluates the "=…" expressions, unrolls the generators and puts mesh files in, so that
// the reader meets only plain numbers and single items; the expanded text is kept, because it is a
// scene of its own that gives the same model wherever it is loaded.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "urto/model/model.h"
#include "urto/stepper/options.h"

namespace urto {

struct Scene {
  Model model;  ///< finalized; body 0 is the fixed body "world"
  SimulationOptions options;
  std::string title, description;
  /// What a run should plot: "joint.coordinate" ("hinge.angle") or "body.quantity" ("arm.x").
  std::vector<std::string> watch;
  std::map<std::string, double> parameters;
  std::string normalized_json;  ///< the scene without includes, overrides, expressions, generators
};

/// Overrides read "path=value": "gravity=0", "simulation.step=1e-4", "bodies.arm.mass=2", "N=20".
/// Throws InputError with the file, the place in it, what was found and what was expected.
Scene load_scene(const std::filesystem::path& file, std::span<const std::string> overrides = {});

/// The same from text; `name` stands for the file in messages, and includes are sought beside it.
Scene parse_scene(std::string_view text, std::string_view name,
                  std::span<const std::string> overrides = {});

}  // namespace urto
