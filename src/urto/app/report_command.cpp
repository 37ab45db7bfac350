// `urto report DIR…` and `urto view scene.json`: the page of a result, and of a scene before it
// runs.
#include <filesystem>
#include <memory>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "urto/app/command.h"
#include "urto/app/first_moment.h"
#include "urto/error.h"
#include "urto/page/report_page.h"
#include "urto/result/result_file.h"

namespace urto::app {
namespace {

namespace fs = std::filesystem;

struct ReportCommand {
  std::vector<std::string> paths;
  std::string output;
  double megabytes = 32;
  bool quiet = false;
};

void report(const ReportCommand& c) {
  if (!c.output.empty() && c.paths.size() > 1) {
    throw InputError("urto report: -o", fmt::format("{} results", c.paths.size()), "one");
  }
  PageOptions options;
  options.frame_bytes = static_cast<std::size_t>(c.megabytes * (1 << 20));
  for (const std::string& path : c.paths) {
    const fs::path file = result_file_of(path);
    const fs::path page =
        c.output.empty() ? file.parent_path() / "report.html" : fs::path(c.output);
    const ResultReader result(file);
    refuse_foreign_page(page);
    write_report(result, page, options);
    if (!c.quiet) fmt::print("{}\n", page.string());
  }
}

struct ViewCommand {
  std::string scene, output;
  std::vector<std::string> set;
  bool quiet = false;
};

void view(const ViewCommand& c) {
  const Scene scene = load_scene(c.scene, c.set);
  const fs::path page =
      c.output.empty() ? fs::path(c.scene).stem().concat(".html") : fs::path(c.output);
  refuse_foreign_page(page);
  const FirstMoment first = load_first_moment(scene, c.scene);
  write_report(ResultValues(first.result), page, {.mode = "scene"});
  if (!c.quiet) fmt::print("{}\n", page.string());
}

}  // namespace

void add_report_command(CLI::App& app, int&) {
  auto command = std::make_shared<ReportCommand>();
  CLI::App* sub = app.add_subcommand("report", "Write the page of a result: replay and plots");
  sub->add_option("DIR", command->paths, "Result directories or result files")->required();
  sub->add_option("-o,--output", command->output,
                  "The page (default: report.html beside the result)")
      ->type_name("FILE");
  sub->add_option("--megabytes", command->megabytes, "Frames are thinned to fit into so much")
      ->check(CLI::Range(0.01, 500.0))
      ->capture_default_str();
  sub->add_flag("-q,--quiet", command->quiet, "Print nothing");
  sub->footer(
      "The page is one file: it opens in any browser, without a network. urto run writes it too.");
  sub->callback([command] { report(*command); });
}

void add_view_command(CLI::App& app, int&) {
  auto command = std::make_shared<ViewCommand>();
  CLI::App* sub = app.add_subcommand("view", "Write a page that shows a scene before it runs");
  sub->add_option("SCENE", command->scene, "A scene file")->required();
  sub->add_option("-o,--output", command->output, "The page (default: the scene's name, .html)")
      ->type_name("FILE");
  sub->add_option("--set", command->set, "Change a value of the scene")
      ->type_name("PATH=VALUE")
      ->expected(1)
      ->take_all();
  sub->add_flag("-q,--quiet", command->quiet, "Print nothing");
  sub->callback([command] { view(*command); });
}

}  // namespace urto::app
