// `urto info PATH…`: what is in a result (a directory or its result.h5) or in a scene.
#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/app/command.h"
#include "urto/app/first_moment.h"
#include "urto/app/summary_table.h"
#include "urto/app/table.h"
#include "urto/error.h"
#include "urto/file/number_text.h"
#include "urto/result/first_order_run.h"
#include "urto/result/result_file.h"
#include "urto/result/summary_json.h"

namespace urto::app {
namespace {

namespace fs = std::filesystem;

struct InfoCommand {
  std::vector<std::string> paths;
  bool json = false, scene = false, timings = false;
};

/// "3 revolute, 1 prismatic", in the order of first appearance.
template <typename Items, typename Kind>
std::string kinds(const Items& items, Kind kind) {
  std::vector<std::pair<std::string, int>> counts;
  for (const auto& item : items) {
    const std::string name(kind(item));
    const auto at = std::find_if(counts.begin(), counts.end(),
                                 [&](const auto& entry) { return entry.first == name; });
    if (at == counts.end()) {
      counts.emplace_back(name, 1);
    } else {
      ++at->second;
    }
  }
  std::vector<std::string> parts;
  parts.reserve(counts.size());
  for (const auto& [name, count] : counts) parts.push_back(fmt::format("{} {}", count, name));
  return parts.empty() ? "none" : fmt::format("{}", fmt::join(parts, ", "));
}

const Table& plain_table() {
  static const Table table({{"", 14, Align::left}, {"", 0, Align::left}}, stdout_wants_colour());
  return table;
}

void row(const std::string& name, const std::string& value) {
  plain_table().print_row({name, value});
}

void show_scene(const std::string& file) {
  const Scene scene = load_scene(file);
  const Model& m = scene.model;
  const SimulationOptions& o = scene.options;
  fmt::print("{}: {}\n", file, scene.title.empty() ? "a scene" : scene.title);
  if (!scene.description.empty()) row("", scene.description);
  if (scene.first_order) {
    row("equations", counted_unknowns(*scene.first_order));
    for (const FirstOrderQuantity& q : scene.first_order->quantities)
      row(q.name, fmt::format("of {} {} [{}]", q.items.size(), q.group, q.unit));
    row("run", fmt::format("{:.6g} s in steps of {:.6g} s, to {:.0e}", o.duration, o.step,
                           o.solver.tolerance));
    return;
  }
  row("bodies", kinds(m.bodies, [](const Body& b) {
        return b.kind == BodyKind::dynamic ? "moving"
               : b.kind == BodyKind::fixed ? "fixed"
                                           : "told how to move";
      }));
  row("shapes", kinds(m.shapes, [](const Shape& s) { return to_string(s.kind); }));
  row("joints", kinds(m.joints, [](const Joint& j) { return to_string(j.kind); }));
  row("drives",
      fmt::format(
          "{}, {}, {}, {}", counted(static_cast<long>(m.motors.size()), "motor", "motors"),
          counted(static_cast<long>(m.limits.size()), "limit", "limits"),
          counted(static_cast<long>(m.couplings.size()), "coupling", "couplings"),
          counted(static_cast<long>(m.frictions.size()), "joint friction", "joint frictions")));
  row("forces", counted(static_cast<long>(m.forces.size()), "force element", "force elements"));
  row("gravity",
      fmt::format("({:.6g}, {:.6g}, {:.6g}) m/s²", m.gravity[0], m.gravity[1], m.gravity[2]));
  std::vector<std::string> parameters;
  for (const auto& [name, value] : scene.parameters)
    parameters.push_back(fmt::format("{} = {:.6g}", name, value));
  if (!parameters.empty()) row("parameters", fmt::format("{}", fmt::join(parameters, ", ")));
  row("run",
      fmt::format("{:.6g} s in steps of {:.6g} s{}, stepper {}, solver {} to {:.0e}, {} friction",
                  o.duration, o.step, o.adaptive ? " (adaptive)" : "", o.stepper.name,
                  o.solver.solver, o.solver.tolerance,
                  o.stepper.friction == Friction::exact ? "exact" : "convex"));
  const FirstMoment first = load_first_moment(scene, file);
  const StartReport& start = first.start;
  row("mobility", fmt::format("{} = {} dofs − rank {} of {}", start.mobility(), start.dofs,
                              start.rank, counted(start.rows, "equality row", "equality rows")));
  for (const std::string& warning : first.result.description.warnings) row("warning", warning);
}

void show_result(const InfoCommand& c, const fs::path& file) {
  const ResultReader result(file);
  if (c.scene) {
    fmt::print("{}\n", result.text("/scene"));
    return;
  }
  const RunSummary summary = summarise(result);
  if (c.json) {
    fmt::print("{}\n", to_json(summary).dump(2));
    return;
  }
  fmt::print("{}: {}, urto {}\n", file.string(), summary.title.empty() ? "a result" : summary.title,
             summary.urto_version);
  row("model",
      fmt::format("{}, {}; {} dofs, mobility {}", counted(summary.bodies, "body", "bodies"),
                  counted(summary.joints, "joint", "joints"), summary.run.dofs,
                  summary.run.mobility()));
  row("run", fmt::format("{:.6g} s in steps of {:.6g} s, stepper {}, solver {}",
                         summary.settings.duration, summary.settings.step,
                         summary.settings.stepper.name, summary.settings.solver.solver));
  print_summary(summary, c.timings);
}

void show(const InfoCommand& c, const std::string& text) {
  const fs::path path = text;
  std::error_code error;
  if (fs::is_directory(path, error)) {
    show_result(c, path / "result.h5");
  } else if (path.extension() == ".h5" || path.extension() == ".hdf5") {
    show_result(c, path);
  } else {
    show_scene(text);
  }
}

}  // namespace

void add_info_command(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<InfoCommand>();
  CLI::App* sub = app.add_subcommand("info", "Show what is in a result or a scene");
  sub->add_option("PATH", command->paths, "Result directories, result files or scenes")->required();
  sub->add_flag("--json", command->json, "Results: print JSON");
  sub->add_flag("--scene", command->scene, "Results: print the scene that was run");
  sub->add_flag("--timings", command->timings, "Results: show where the time went");
  sub->callback([command, &exit_code] {
    for (const std::string& path : command->paths) {
      try {
        show(*command, path);
      } catch (const InputError& error) {
        print_error(error.what());
        exit_code = bad_input;
      }
    }
  });
}

}  // namespace urto::app
