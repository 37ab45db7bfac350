// `urto check scene.json…`: everything that can be said about a scene without running it.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "urto/analysis/friction_cone.h"
#include "urto/app/command.h"
#include "urto/app/first_moment.h"
#include "urto/file/number_text.h"
#include "urto/result/first_order_run.h"
#include "urto/result/model_scales.h"

namespace urto::app {
namespace {

constexpr double rounding = 1e-9;  // [m/s, rad/s]

/// Contacts that are placed to touch do so up to this part of the model's size.
constexpr double touching = 1e-6;
constexpr std::size_t most_named = 5;

/// The contacts that touch: may they be squeezed, are their forces unique (recipe 000 §11)?
void print_friction_cone(const Scene& scene, const FirstMoment& first) {
  const RigidSystem system(scene.model);
  const double reach = touching * scales_of(scene.model).size;
  const FrictionCone cone = friction_cone(system, first.state, first.rows, reach);
  if (cone.touching == 0) return;
  std::string text =
      counted(cone.touching, "contact or limit touches", "contacts and limits touch");
  if (cone.freedom == 0) text += ", with unique forces";
  if (cone.freedom > 0) {
    text += fmt::format(", with forces that are not unique ({})",
                        counted(cone.freedom, "freedom", "freedoms"));
  }
  if (cone.known) {
    text += cone.pointed ? "; their friction cone is pointed: forces are bounded"
                         : "; their friction cone is not pointed";
  }
  fmt::print("  {}\n", text);
  std::vector<std::string> jammed;
  for (const int block : cone.jammed) {
    const std::string name = system.describe(first.rows, block);
    if (std::find(jammed.begin(), jammed.end(), name) == jammed.end()) jammed.push_back(name);
  }
  for (std::size_t k = 0; k < std::min(jammed.size(), most_named); ++k)
    fmt::print("    {} may press with any force, against the others\n", jammed[k]);
  if (jammed.size() > most_named) fmt::print("    and {} more\n", jammed.size() - most_named);
}

void check(const std::string& file, const std::vector<std::string>& overrides) {
  const Scene scene = load_scene(file, overrides);
  const FirstMoment first = load_first_moment(scene, file);
  if (scene.first_order) {
    fmt::print("{}: {}\n", file, counted_unknowns(*scene.first_order));
    return;
  }
  const StartReport& start = first.start;
  fmt::print("{}: {}, {}; {} dofs, {} of rank {}, mobility {}\n", file,
             counted(scene.model.slots, "moving body", "moving bodies"),
             counted(static_cast<long>(scene.model.joints.size()), "joint", "joints"), start.dofs,
             counted(start.rows, "equality row", "equality rows"), start.rank, start.mobility());
  // Velocities are often given in part, for the joints to complete.
  if (start.velocity_change > rounding)
    fmt::print("  the joints changed a velocity by {:.3g} m/s or rad/s\n", start.velocity_change);
  if (!scene.options.stepper.penalty_contact) print_friction_cone(scene, first);
  for (const std::string& warning : first.result.description.warnings)
    fmt::print("  warning: {}\n", warning);
}

}  // namespace

void add_check_command(CLI::App& app, int& exit_code) {
  struct Options {
    std::vector<std::string> files, set;
  };
  auto options = std::make_shared<Options>();
  CLI::App* sub = app.add_subcommand("check", "Check scenes without running them");
  sub->add_option("SCENE", options->files, "Scene files")->required();
  sub->add_option("--set", options->set, "Change a value of the scenes")
      ->type_name("PATH=VALUE")
      ->expected(1)
      ->take_all();
  sub->footer(
      "Reports mobility, redundant joints, overlaps and limits that are broken at the start.\n"
      "Exit code: 0 every scene can be run (there may be warnings), 2 some cannot.");
  sub->callback([options, &exit_code] {
    for (const std::string& file : options->files) {
      try {
        check(file, options->set);
      } catch (const InputError& error) {
        print_error(error.what());
        exit_code = bad_input;
      }
    }
  });
}

}  // namespace urto::app
