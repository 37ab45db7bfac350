// `urto sweep scene.json --set mu=0.1:0.1:0.5`: a run for every combination of values.
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "urto/app/child_process.h"
#include "urto/app/command.h"
#include "urto/app/interrupt.h"
#include "urto/app/table.h"
#include "urto/error.h"
#include "urto/file/folder_lock.h"
#include "urto/page/plots_page.h"
#include "urto/page/sweep_page.h"
#include "urto/result/first_order_run.h"
#include "urto/result/result_file.h"
#include "urto/result/run.h"
#include "urto/scene/scene.h"

namespace urto::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct SweepCommand {
  std::string scene, output;
  std::vector<std::string> set, what, statistics;
  std::optional<double> duration, step;
  std::string stepper, solver;
  double from = 0, every = 0;
  int at_once = 0;
  bool no_report = false, quiet = false, json = false, no_progress = false, again = false;
};

/// Flags are settings with a shorter name, as of `urto run`.
std::vector<SweepAxis> axes_of(const SweepCommand& c) {
  std::vector<SweepAxis> axes;
  for (const std::string& text : c.set) axes.push_back(parse_sweep_axis(text));
  const auto fixed = [&](const char* path, const std::string& value) {
    for (const SweepAxis& axis : axes) {
      if (axis.path == path)
        throw InputError("--set", fmt::format("'{}', which a flag sets too", path), "one of them");
    }
    axes.push_back({path, {value}});
  };
  if (c.duration) fixed("simulation.duration", fmt::format("{}", *c.duration));
  if (c.step) fixed("simulation.step", fmt::format("{}", *c.step));
  if (!c.stepper.empty()) fixed("simulation.stepper", c.stepper);
  if (!c.solver.empty()) fixed("simulation.solver", c.solver);
  return axes;
}

/// Runs at once leave no processor to the threads of one.
std::vector<std::string> overrides_of(const SweepCase& of) {
  std::vector<std::string> out = of.overrides;
  for (const std::string& o : of.overrides) {
    if (o.starts_with("simulation.threads=")) return out;
  }
  out.emplace_back("simulation.threads=1");
  return out;
}

/// What an earlier sweep left of a run of this very scene.
enum class Left : std::uint8_t { nothing, part, all };

Left left_of(const std::string& scene, const fs::path& directory) {
  const fs::path file = result_path(directory);
  if (!is_result_file(file)) return Left::nothing;
  try {
    const ResultReader result(file);
    if (result.text("/scene") != scene) return Left::nothing;
    if (result.status().status == "finished" || result.status().status == "failed")
      return Left::all;
  } catch (const InputError&) {
    return Left::nothing;  // damaged: it is run anew
  }
  return fs::exists(checkpoint_path(directory)) ? Left::part : Left::nothing;
}

class Progress {
 public:
  Progress(bool shown, std::size_t runs)
      : shown_(shown), terminal_(stderr_is_terminal()), runs_(runs) {}
  void update(std::size_t done, std::size_t kept, bool now) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    if (!shown_ || (!now && elapsed - last_ < 5) || (now && !terminal_ && elapsed - last_ < 5))
      return;
    last_ = elapsed;
    const std::size_t fresh = done - kept;
    const std::string left =
        fresh > 0 ? fmt::format(", {:.0f} s left", elapsed / static_cast<double>(fresh) *
                                                       static_cast<double>(runs_ - done))
                  : "";
    fmt::print(stderr, "{}{} of {} runs done, {:.0f} s{}{}",
               terminal_ ? "\r\033[K" : "urto: ", done, runs_, elapsed, left,
               terminal_ ? "" : "\n");
    dirty_ = terminal_;
  }
  void clear() {
    if (dirty_) fmt::print(stderr, "\r\033[K");
  }

 private:
  bool shown_, terminal_, dirty_ = false;
  std::size_t runs_;
  double last_ = 0;
  Clock::time_point start_ = Clock::now();
};

std::string first_line(std::string text) {
  if (text.starts_with("urto: error: ")) text.erase(0, 13);
  return text.substr(0, text.find('\n'));
}

void print(const Sweep& sweep) {
  std::vector<Table::Column> columns{{"run", 4}};
  std::vector<std::size_t> swept;
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    if (sweep.axes[a].values.size() < 2) continue;
    int width = display_width(sweep.axes[a].path);
    for (const std::string& value : sweep.axes[a].values)
      width = std::max(width, display_width(value));
    columns.push_back({sweep.axes[a].path, width});
    swept.push_back(a);
  }
  // Of the numbers, those that were asked for; the page and the file have all.
  const std::vector<std::string> names = sweep_columns(sweep.measures);
  const std::size_t own =
      names.size() - sweep.measures.quantities.size() * sweep.measures.statistics.size();
  for (std::size_t n = own; n < names.size(); ++n)
    columns.push_back({names[n], std::max(10, display_width(names[n]))});
  columns.push_back({"verdict", 0, Align::left});
  const Table table(columns, stdout_wants_colour());
  table.print_header();
  for (std::size_t k = 0; k < sweep.rows.size(); ++k) {
    const SweepRow& row = sweep.rows[k];
    std::vector<std::string> cells{fmt::format("{}", k + 1)};
    for (const std::size_t a : swept)
      cells.push_back(sweep.axes[a].values[sweep.cases[k].place[a]]);
    for (std::size_t n = own; n < names.size(); ++n)
      cells.push_back(n < row.numbers.size() ? fmt::format("{:.5g}", row.numbers[n]) : "–");
    const bool good = row.status == "finished" && row.verdict != Level::failure;
    cells.push_back((row.status == "finished" ? std::string(to_string(row.verdict)) : row.status) +
                    (row.failure.empty() ? "" : ": " + row.failure));
    table.print_row(cells, !good                          ? Tone::bad
                           : row.verdict == Level::remark ? Tone::doubtful
                                                          : Tone::plain);
  }
}

nlohmann::json to_json(const Sweep& sweep, const std::vector<fs::path>& files) {
  const std::vector<std::string> names = sweep_columns(sweep.measures);
  nlohmann::json out{{"runs", nlohmann::json::array()}, {"files", nlohmann::json::array()}};
  for (std::size_t k = 0; k < sweep.rows.size(); ++k) {
    const SweepRow& row = sweep.rows[k];
    nlohmann::json one{{"directory", sweep.cases[k].name},
                       {"status", row.status},
                       {"verdict", to_string(row.verdict)},
                       {"failure", row.failure}};
    for (std::size_t a = 0; a < sweep.axes.size(); ++a)
      one["set"][sweep.axes[a].path] = sweep.axes[a].values[sweep.cases[k].place[a]];
    for (std::size_t n = 0; n < row.numbers.size(); ++n) {
      const double x = row.numbers[n];
      one["numbers"][names[n]] = std::isfinite(x) ? nlohmann::json(x) : nlohmann::json();
    }
    out["runs"].push_back(std::move(one));
  }
  for (const fs::path& file : files) out["files"].push_back(file.string());
  return out;
}

/// Every run's scene is read before the first one begins: a slip costs no hours. Of all but the
/// first only the text is kept, which tells whether a run is that of an earlier sweep.
struct Scenes {
  Scene first = {};
  std::vector<std::string> texts = {};
};

Scenes load_all(const SweepCommand& c, const std::vector<SweepCase>& cases) {
  Scenes out;
  for (const SweepCase& one : cases) {
    Scene scene = load_scene(c.scene, overrides_of(one));
    out.texts.push_back(scene.normalized_json);
    if (out.texts.size() == 1) out.first = std::move(scene);
  }
  return out;
}

SweepMeasures measures_of(const SweepCommand& c, const Scene& scene) {
  SweepMeasures m{
      .quantities = c.what.empty() ? scene.watch : c.what, .from = c.from, .every = c.every};
  if (!c.statistics.empty()) m.statistics.clear();
  for (const std::string& word : c.statistics) m.statistics.push_back(statistic_named(word));
  return m;
}

int exit_code_of(const Sweep& sweep) {
  if (interrupt_requested()) return interrupted_code();
  for (const SweepRow& row : sweep.rows) {
    if (row.status != "finished" || row.verdict == Level::failure) return not_certified;
  }
  return success;
}

int run(const SweepCommand& c) {
  Sweep sweep{.axes = axes_of(c)};
  sweep.cases = sweep_cases(sweep.axes);
  const Scenes scenes = load_all(c, sweep.cases);
  const Scene& first = scenes.first;
  sweep.title = first.title.empty() ? fs::path(c.scene).stem().string() : first.title;
  sweep.description = first.description;
  sweep.measures = measures_of(c, first);
  sweep.units = sweep_units(first.first_order ? describe_first_order(first) : describe(first),
                            sweep.measures);
  sweep.rows.resize(sweep.cases.size());
  const fs::path directory = c.output.empty()
                                 ? fs::path("out") / (fs::path(c.scene).stem().string() + "-sweep")
                                 : fs::path(c.output);
  refuse_foreign_sweep(directory);
  make_directory(directory);
  const FolderLock lock(directory);

  std::vector<std::vector<std::string>> children;
  std::vector<std::size_t> of_child;
  std::size_t done = 0;
  const auto measure = [&](std::size_t k) {
    sweep.rows[k] = measure_run(result_path(directory / sweep.cases[k].name), sweep.measures);
  };
  for (std::size_t k = 0; k < sweep.cases.size(); ++k) {
    const fs::path own = directory / sweep.cases[k].name;
    const Left left = c.again ? Left::nothing : left_of(scenes.texts[k], own);
    if (left == Left::all) {
      measure(k);
      ++done;
      continue;
    }
    std::vector<std::string> arguments{"run", c.scene, "-o", own.string(), "-q", "--no-progress"};
    if (left == Left::part) arguments.emplace_back("--resume");
    if (c.no_report) arguments.emplace_back("--no-report");
    for (const std::string& o : overrides_of(sweep.cases[k])) {
      arguments.emplace_back("--set");
      arguments.push_back(o);
    }
    children.push_back(std::move(arguments));
    of_child.push_back(k);
  }
  const std::size_t kept = done;
  if (kept > 0 && !c.quiet && !c.json)
    fmt::print("{} of {} runs are there from an earlier sweep\n", kept, sweep.cases.size());
  Progress progress(!c.quiet && !c.no_progress, sweep.cases.size());
  ChildPool pool;
  pool.at_once = c.at_once > 0
                     ? c.at_once
                     : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  pool.stop = [&] {
    progress.update(done, kept, false);
    return interrupt_requested();
  };
  pool.on_end = [&](std::size_t child, const ChildResult& result) {
    const std::size_t k = of_child[child];
    ++done;
    // A run that could not begin leaves no result, or that of another scene.
    if (left_of(scenes.texts[k], directory / sweep.cases[k].name) != Left::nothing) measure(k);
    SweepRow& row = sweep.rows[k];
    if (result.code == bad_input) row.status = "refused";
    if (result.code > 128 && !interrupt_requested()) row.status = "crashed";
    if (result.code != success && row.failure.empty()) {
      row.failure = result.error.empty() ? fmt::format("ended with code {}", result.code)
                                         : first_line(result.error);
    }
    progress.update(done, kept, true);
  };
  catch_interrupts();
  run_children(children, directory, pool);
  progress.clear();
  const std::vector<fs::path> files = write_sweep(sweep, directory);
  if (c.json) {
    fmt::print("{}\n", to_json(sweep, files).dump(2));
  } else if (!c.quiet) {
    print(sweep);
    for (const fs::path& file : files)
      fmt::print("{:<16}{}\n", file == files.front() ? "files" : "", file.string());
  }
  if (interrupt_requested())
    fmt::print(stderr, "urto: interrupted; the same command goes on where it was\n");
  return exit_code_of(sweep);
}

void add_options(CLI::App& sub, SweepCommand& c) {
  sub.add_option("SCENE", c.scene, "A scene file")->required();
  sub.add_option("--set", c.set,
                 "What varies, FROM:STEP:TO, FROM:*FACTOR:TO or a list with commas; or one value")
      ->type_name("PATH=VALUES")
      ->expected(1)
      ->take_all()
      ->required();
  sub.add_option("--what", c.what,
                 "A quantity to measure: arm.x, hinge.angle (default: what the scene watches)")
      ->type_name("QUANTITY")
      ->expected(1)
      ->take_all();
  sub.add_option("--statistics", c.statistics,
                 "Of it: end,min,max,mean,rms (default: but the last)")
      ->delimiter(',')
      ->type_name("LIST");
  sub.add_option("--from", c.from, "Measure from this time on [s]")->check(CLI::NonNegativeNumber);
  sub.add_option("--every", c.every,
                 "Take samples so far apart [s]: a bifurcation diagram where it is the period")
      ->check(CLI::PositiveNumber);
  sub.add_option("--duration", c.duration, "Simulated time [s]")->type_name("SECONDS");
  sub.add_option("--step", c.step, "Time step [s]")->type_name("SECONDS");
  sub.add_option("--stepper", c.stepper, "dvi, moreau-jean, ...")->type_name("NAME");
  sub.add_option("--solver", c.solver, "For islands that simple sweeps do not solve")
      ->type_name("NAME");
  sub.add_option("--threads", c.at_once, "Runs at once (default: one a core)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  sub.add_option("-o,--output", c.output, "Where the runs go (default: out/NAME-sweep)")
      ->type_name("DIR");
  sub.add_flag("--again", c.again, "Run also what an earlier sweep has left there");
  sub.add_flag("--no-report", c.no_report, "No page for each run");
  sub.add_flag("--json", c.json, "Print the table as JSON");
  sub.add_flag("--no-progress", c.no_progress, "No progress line");
  sub.add_flag("-q,--quiet", c.quiet, "Errors and the exit code only");
}

}  // namespace

void add_sweep_command(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<SweepCommand>();
  CLI::App* sub = app.add_subcommand("sweep", "A run for every combination of some values");
  add_options(*sub, *command);
  sub->footer(
      "Writes sweep.html, sweep.csv and a directory for each run. The same command again runs what "
      "is missing only\n(docs/sweep.md).\nExit code: 0 all runs finished well, 2 bad input "
      "(nothing was run), 3 a run failed or its verdict is failure,\n130 Ctrl-C.");
  sub->callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace urto::app
