// `urto check scene.json…`: everything that can be said about a scene without running it.
#include <algorithm>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "urto/app/command.h"
#include "urto/app/first_moment.h"
#include "urto/file/number_text.h"

namespace urto::app {
namespace {

constexpr double rounding = 1e-9;  // [m, rad] shapes placed to touch overlap by so much

std::vector<std::string> overlaps(const Result& first) {
  std::vector<std::string> out;
  const auto& bodies = first.description.bodies;
  for (const RecordedContact& c : first.frames[0].contacts) {
    if (c.gap >= -rounding) continue;
    out.push_back(fmt::format("'{}' and '{}' overlap by {:.3g} m at ({:.4g}, {:.4g}, {:.4g})",
                              bodies[c.body_a].name, bodies[c.body_b].name, -c.gap, c.point[0],
                              c.point[1], c.point[2]));
  }
  return out;
}

std::vector<std::string> broken_limits(const Model& model, const Result& first) {
  std::vector<std::string> out;
  const Description& d = first.description;
  for (const Limit& l : model.limits) {
    const auto place = std::ranges::find(d.coordinates, l.on.joint, &DescribedCoordinate::joint) -
                       d.coordinates.begin() + l.on.coordinate;
    const double x = first.frames[0].channels[find_channel(d, "coordinate")][place];
    if (x >= l.lower - rounding && x <= l.upper + rounding) continue;
    out.push_back(fmt::format("limit '{}': {}.{} starts at {:.6g}, outside [{:.6g}, {:.6g}]",
                              l.name, d.joints[l.on.joint].name, d.coordinates[place].name, x,
                              l.lower, l.upper));
  }
  return out;
}

void print_list(const std::vector<std::string>& list) {
  constexpr std::size_t most = 20;
  for (std::size_t k = 0; k < list.size() && k < most; ++k) fmt::print("  warning: {}\n", list[k]);
  if (list.size() > most) fmt::print("  warning: and {} more\n", list.size() - most);
}

void check(const std::string& file, const std::vector<std::string>& overrides) {
  const Scene scene = load_scene(file, overrides);
  const FirstMoment first = load_first_moment(scene, file);
  const StartReport& start = first.start;
  fmt::print("{}: {}, {}; {} dofs, {} of rank {}, mobility {}\n", file,
             counted(scene.model.slots, "moving body", "moving bodies"),
             counted(static_cast<long>(scene.model.joints.size()), "joint", "joints"), start.dofs,
             counted(start.rows, "equality row", "equality rows"), start.rank, start.mobility());
  if (start.position_change > rounding || start.velocity_change > rounding) {
    fmt::print(
        "  assembling moved a body by {:.3g} m or rad (the joints were off by {:.3g}), and "
        "changed a velocity by {:.3g}\n",
        start.position_change, start.position_error, start.velocity_change);
  }
  print_list(first.result.description.warnings);
  print_list(overlaps(first.result));
  print_list(broken_limits(scene.model, first.result));
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
