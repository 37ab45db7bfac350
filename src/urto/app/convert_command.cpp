// `urto convert robot.urdf -o scene.json`.
#include <cmath>
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "urto/app/command.h"
#include "urto/error.h"
#include "urto/file/number_text.h"
#include "urto/file/whole_file.h"
#include "urto/scene/scene.h"
#include "urto/scene/urdf.h"

namespace urto::app {
namespace {

namespace fs = std::filesystem;

struct ConvertCommand {
  std::string robot, output, base, motors;
  std::vector<std::string> pose, packages;
  std::vector<double> at;
  bool no_self_collision = false, ground = false, quiet = false;
};

std::pair<std::string, std::string> halves(const std::string& option, const std::string& text,
                                           const char* expected) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size())
    throw InputError(option, "'" + text + "'", expected);
  return {text.substr(0, equals), text.substr(equals + 1)};
}

UrdfOptions options_of(const ConvertCommand& c) {
  UrdfOptions out{.motors = c.motors, .self_collision = !c.no_self_collision, .ground = c.ground};
  if (!c.base.empty()) out.fixed_base = c.base == "fixed";
  if (!c.at.empty()) out.at = Vec3(c.at[0], c.at[1], c.at[2]);
  for (const std::string& text : c.pose) {
    const auto [joint, value] = halves("--pose", text, "JOINT=NUMBER");
    std::size_t used = 0;
    double x = 0;
    try {
      x = std::stod(value, &used);
    } catch (const std::exception&) {
      used = 0;
    }
    if (used != value.size() || !std::isfinite(x))
      throw InputError("--pose", "'" + text + "'", "JOINT=NUMBER");
    if (!out.pose.emplace(joint, x).second)
      throw InputError("--pose", "'" + joint + "' twice", "every joint once");
  }
  for (const std::string& text : c.packages) {
    const auto [name, directory] = halves("--package", text, "NAME=DIRECTORY");
    out.packages[name] = directory;
  }
  return out;
}

void convert(const ConvertCommand& c) {
  const fs::path output =
      c.output.empty() ? fs::path(c.robot).replace_extension(".json") : fs::path(c.output);
  const fs::path directory = fs::absolute(output).parent_path();
  const ConvertedScene scene = urdf_scene(c.robot, options_of(c), directory);
  // What cannot be read back is a defect of the robot that only the whole scene shows.
  const Scene whole = parse_scene(scene.json, (directory / output.filename()).string());
  WholeFile out(output);
  out.write(scene.json);
  out.finish();
  for (const std::string& warning : scene.warnings)
    fmt::print(stderr, "urto: remark: {}\n", warning);
  if (c.quiet) return;
  fmt::print("{}: {}, {}, {} of {}\n", whole.title, counted(scene.bodies, "body", "bodies"),
             counted(scene.joints, "joint", "joints"), counted(scene.links, "link", "links"),
             fs::path(c.robot).filename().string());
  fmt::print("{:<16}{}\n", "files", output.string());
}

}  // namespace

void add_convert_command(CLI::App& app, int&) {
  auto command = std::make_shared<ConvertCommand>();
  ConvertCommand& c = *command;
  CLI::App* sub = app.add_subcommand("convert", "Make a scene of a robot in URDF");
  sub->add_option("ROBOT", c.robot, "A URDF file")->required();
  sub->add_option("-o,--output", c.output, "The scene (default: beside the robot, .json)")
      ->type_name("FILE");
  sub->add_option("--base", c.base, "The root link (default: free if it has a mass)")
      ->check(CLI::IsMember({"fixed", "free"}))
      ->type_name("fixed|free");
  sub->add_option("--at", c.at, "Where the root starts [m]")->expected(3)->type_name("X Y Z");
  sub->add_option("--pose", c.pose, "A joint that does not start at zero [rad, m]")
      ->type_name("JOINT=NUMBER")
      ->expected(1)
      ->take_all();
  sub->add_option("--motors", c.motors, "A motor on every joint; of speeds bound by its effort")
      ->check(CLI::IsMember({"position", "speed", "force"}))
      ->type_name("position|speed|force");
  sub->add_option("--package", c.packages, "Where package://NAME lies")
      ->type_name("NAME=DIR")
      ->expected(1)
      ->take_all();
  sub->add_flag("--no-self-collision", c.no_self_collision,
                "The robot's links never touch each other");
  sub->add_flag("--ground", c.ground, "A floor at z = 0");
  sub->add_flag("-q,--quiet", c.quiet, "Remarks only");
  sub->footer("What is left out is said on stderr (docs/robots.md).");
  sub->callback([command] { convert(*command); });
}

}  // namespace urto::app
