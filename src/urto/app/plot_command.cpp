// `urto plot DIR --what …` and `urto export DIR …`: pictures for papers, and files for other
// programs.
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "urto/app/command.h"
#include "urto/error.h"
#include "urto/page/plot_figure.h"
#include "urto/result/gltf_export.h"
#include "urto/result/result_file.h"
#include "urto/result/vtk_export.h"

namespace urto::app {
namespace {

namespace fs = std::filesystem;

struct PlotCommand {
  std::string path, output;
  std::vector<std::string> what;
  bool csv = false, title = false, quiet = false;
};

void plot(const PlotCommand& c) {
  const ResultReader result(result_file_of(c.path));
  std::vector<PlotPanel> panels;
  panels.reserve(c.what.size());
  for (const std::string& what : c.what) panels.push_back(plot_panel(result, what));
  const fs::path picture = c.output;
  std::vector<fs::path> written;
  if (c.csv || picture.extension() == ".csv") {
    written.push_back(fs::path(picture).replace_extension(".csv"));
    write_plot_csv(panels, written.back());
  }
  if (picture.extension() != ".csv") {
    draw_plot(panels, c.title ? result.description().title : "", picture);
    written.push_back(picture);
  }
  for (const fs::path& file : written) {
    if (!c.quiet) fmt::print("{}\n", file.string());
  }
}

struct ExportCommand {
  std::string path, vtk, gltf;
  bool quiet = false;
};

void export_result(const ExportCommand& c) {
  if (c.vtk.empty() && c.gltf.empty()) {
    throw InputError("urto export: found nothing to write, expected --vtk DIR or --gltf FILE");
  }
  const ResultReader result(result_file_of(c.path));
  std::vector<fs::path> written;
  if (!c.vtk.empty()) written.push_back(write_vtk(result, c.vtk));
  if (!c.gltf.empty()) {
    write_gltf(result, c.gltf);
    written.emplace_back(c.gltf);
  }
  for (const fs::path& file : written) {
    if (!c.quiet) fmt::print("{}\n", file.string());
  }
}

}  // namespace

void add_plot_command(CLI::App& app, int&) {
  auto command = std::make_shared<PlotCommand>();
  CLI::App* sub = app.add_subcommand("plot", "Draw numbers of a result for a paper");
  sub->add_option("DIR", command->path, "A result directory or result file")->required();
  sub->add_option("--what", command->what,
                  "energy, balance, certificate, contacts, iterations, timings, penetration, "
                  "joint_error, step, local_error, body:NAME:x,vz,speed,… or joint:NAME:angle,fx,…")
      ->type_name("WHAT")
      ->required();
  sub->add_option("-o,--output", command->output, "The picture: .png, .svg or .pdf; or .csv")
      ->type_name("FILE")
      ->required();
  sub->add_flag("--csv", command->csv, "Write the numbers beside the picture too");
  sub->add_flag("--title", command->title, "Put the scene's title above it");
  sub->add_flag("-q,--quiet", command->quiet, "Print nothing");
  sub->footer(
      "Several --what make panels below each other. Pictures need Debian's python3-matplotlib.");
  sub->callback([command] { plot(*command); });
}

void add_export_command(CLI::App& app, int&) {
  auto command = std::make_shared<ExportCommand>();
  CLI::App* sub = app.add_subcommand("export", "Write a result for ParaView or renderers");
  sub->add_option("DIR", command->path, "A result directory or result file")->required();
  sub->add_option("--vtk", command->vtk, "A time series for ParaView: opens as replay.pvd")
      ->type_name("DIR");
  sub->add_option("--gltf", command->gltf, "An animated glTF scene (.glb)")->type_name("FILE");
  sub->add_flag("-q,--quiet", command->quiet, "Print nothing");
  sub->callback([command] { export_result(*command); });
}

}  // namespace urto::app
