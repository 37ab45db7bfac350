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
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "urto/firstorder/first_order_simulation.h"
#include "urto/model/model.h"
#include "urto/stepper/options.h"

namespace urto {

/// Numbers of a system without bodies that are recorded together: the potentials of all nodes.
struct FirstOrderQuantity {
  std::string name;   ///< of the channel: "potential"
  std::string group;  ///< what has it, more than one: "nodes"
  std::string unit;
  std::vector<std::string> items;
};

/// A scene without bodies: a circuit, or equations by their matrices.
struct FirstOrderScene {
  FirstOrderSystem system;
  FirstOrderOptions options;
  Vector start;
  std::vector<FirstOrderQuantity> quantities;
  /// Their numbers, in the same order, of a state that a step of length h has led to.
  std::function<std::vector<std::vector<double>>(const FirstOrderState&, double h)> values;
  int components = 0;  ///< of a circuit
};

struct Scene {
  Model model;  ///< finalized; body 0 is the fixed body "world"
  SimulationOptions options;
  std::optional<FirstOrderScene> first_order;  ///< instead of bodies
  std::string title, description;
  /// What a run should plot: "joint.coordinate" ("hinge.angle"), "body.quantity" ("arm.x"), or of a
  /// circuit "component.current", "node.potential".
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
