// `urto compare scene.json --steppers a,b --steps 1e-2,1e-3`: runs of one scene beside each other.
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <thread>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "urto/app/command.h"
#include "urto/app/compare_request.h"
#include "urto/app/interrupt.h"
#include "urto/app/table.h"
#include "urto/error.h"
#include "urto/file/number_text.h"
#include "urto/page/compare_page.h"

namespace urto::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct CompareCommand {
  CompareWords words;
  std::optional<double> duration;
  std::vector<std::string> what;
  std::string output, zoom, pictures;
  double gap_reach = 0;
  int threads = 0;
  bool quiet = false, json = false, no_progress = false;
};

std::optional<std::pair<double, double>> stretch(const std::string& text) {
  if (text.empty()) return std::nullopt;
  const std::size_t colon = text.find(':');
  std::pair<double, double> out;
  char rest = 0;
  if (colon == std::string::npos ||
      std::sscanf(text.c_str(), "%lf:%lf%c", &out.first, &out.second, &rest) != 2 ||
      !(out.first < out.second))
    throw InputError("--zoom", "'" + text + "'", "FROM:TO in seconds, FROM before TO");
  return out;
}

/// One line that is rewritten on a terminal, a line now and then elsewhere.
class Progress {
 public:
  Progress(bool shown, std::size_t runs)
      : shown_(shown), terminal_(stderr_is_terminal()), runs_(runs) {}
  void update(double part, int done) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    if (!shown_ || elapsed - last_ < (terminal_ ? 0.2 : 5.0)) return;
    last_ = elapsed;
    fmt::print(stderr, "{}{} of {} runs done, {:.0f} % of all, {:.0f} s{}",
               terminal_ ? "\r\033[K" : "urto: ", done, runs_, 100 * part, elapsed,
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

std::string number(double x) {
  return std::isfinite(x) ? fmt::format("{:.3g}", x) : "–";
}

void print(const Comparison& comparison) {
  int width = 3;
  for (const ComparedRun& run : comparison.runs) width = std::max(width, display_width(run.label));
  const Table table({{"run", width, Align::left},
                     {"steps", 7},
                     {"rejected", 8},
                     {"seconds", 8},
                     {"mean error", 10},
                     {"worst error", 11},
                     {"least gap", 9},
                     {"largest gain", 12},
                     {"end", 0, Align::left}},
                    stdout_wants_colour());
  table.print_header();
  for (const ComparedRun& run : comparison.runs) {
    const bool good = run.failure.empty() && run.missed == 0;
    const std::string end = !run.failure.empty() ? run.failure
                            : run.missed > 0     ? fmt::format("{} steps missed", run.missed)
                                                 : "finished";
    table.print_row({run.label, fmt::format("{}", run.steps), fmt::format("{}", run.rejected),
                     number(run.seconds), number(run.mean_error), number(run.worst_error),
                     number(run.least_gap), number(run.largest_gain), end},
                    good ? Tone::plain : Tone::bad);
  }
  for (const ObservedOrder& o : comparison.orders) {
    fmt::print("order {:.2f} in the {}: {}\n", o.order, o.of_tolerance ? "tolerance" : "step",
               o.method);
  }
  if (!comparison.truth.empty()) fmt::print("errors against {}\n", comparison.truth);
}

/// The page, the table, of the tables of runs the first and the last, pictures.
void print_files(const std::vector<fs::path>& files, std::size_t runs) {
  for (std::size_t k = 0; k < files.size(); ++k) {
    if (k > 2 && k < runs + 1) continue;
    fmt::print("{:<16}{}{}\n", k == 0 ? "files" : "", k == runs + 1 && runs > 2 ? "… " : "",
               files[k].string());
  }
}

nlohmann::json to_json(const Comparison& comparison, const std::vector<fs::path>& files) {
  nlohmann::json out{{"truth", comparison.truth}};
  const auto plain = [](double x) {
    return std::isfinite(x) ? nlohmann::json(x) : nlohmann::json();
  };
  out["runs"] = out["orders"] = out["files"] = nlohmann::json::array();
  for (const ComparedRun& run : comparison.runs) {
    out["runs"].push_back({{"run", run.label},
                           {"method", run.method},
                           {"step", run.step},
                           {"tolerance", run.tolerance},
                           {"steps", run.steps},
                           {"rejected", run.rejected},
                           {"missed", run.missed},
                           {"seconds", run.seconds},
                           {"mean_error", plain(run.mean_error)},
                           {"worst_error", plain(run.worst_error)},
                           {"last_error", plain(run.last_error)},
                           {"least_gap", plain(run.least_gap)},
                           {"largest_gain", plain(run.largest_gain)},
                           {"most_newton", run.most_newton},
                           {"failure", run.failure}});
  }
  for (const ObservedOrder& o : comparison.orders) {
    out["orders"].push_back(
        {{"method", o.method}, {"of", o.of_tolerance ? "tolerance" : "step"}, {"order", o.order}});
  }
  for (const fs::path& file : files) out["files"].push_back(file.string());
  return out;
}

int exit_code_of(const Comparison& comparison) {
  if (interrupt_requested()) return interrupted_code();
  bool good = comparison.truth_failure.empty();
  for (const ComparedRun& run : comparison.runs)
    good = good && run.failure.empty() && run.missed == 0;
  return good ? success : not_certified;
}

int run(CompareCommand c) {
  if (c.duration) c.words.set.push_back(fmt::format("simulation.duration={}", *c.duration));
  const Scene scene = load_scene(c.words.scene, c.words.set);
  const ComparisonPage page{
      .title = scene.title.empty() ? fs::path(c.words.scene).stem().string() : scene.title,
      .description = scene.description,
      .zoom = stretch(c.zoom),
      .pictures = c.pictures};
  const fs::path directory =
      c.output.empty() ? fs::path("out") / (fs::path(c.words.scene).stem().string() + "-compare")
                       : fs::path(c.output);
  refuse_foreign_comparison(directory);
  CompareRequest request = compare_request(c.words, scene);
  request.quantities =
      default_quantities(scene.model, c.what.empty() ? std::span<const std::string>(scene.watch)
                                                     : std::span<const std::string>(c.what));
  request.gap_reach = c.gap_reach;
  request.threads = c.threads > 0
                        ? c.threads
                        : static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  Progress progress(!c.quiet && !c.no_progress, request.cases.size());
  request.go_on = [&](double part, int runs) {
    progress.update(part, runs);
    return !interrupt_requested();
  };
  catch_interrupts();
  Comparison comparison;
  try {
    comparison = compare_runs(scene.model, request);
  } catch (const InputError& error) {  // it does not know the file
    throw InputError(fmt::format("{}: {}", c.words.scene, error.what()));
  }
  progress.clear();
  const std::vector<fs::path> files = write_comparison(comparison, page, directory);
  if (c.json) {
    fmt::print("{}\n", to_json(comparison, files).dump(2));
  } else if (!c.quiet) {
    print(comparison);
    print_files(files, comparison.runs.size());
  }
  return exit_code_of(comparison);
}

void add_options(CLI::App& sub, CompareCommand& c) {
  sub.add_option("SCENE", c.words.scene, "A scene file")->required();
  sub.add_option(
         "--steppers", c.words.steppers,
         "NAME,LABEL=NAME[setting=value,…]: settings are those of the scene's \"simulation\" "
         "(default: the scene's)")
      ->type_name("LIST");
  sub.add_option("--steps", c.words.steps, "Time steps [s] (default: the scene's)")
      ->type_name("LIST");
  sub.add_option("--tolerances", c.words.tolerances,
                 "Runs with error-controlled steps, one for each tolerance [m, rad]")
      ->type_name("LIST");
  sub.add_option("--solvers", c.words.solvers, "Of steppers with contacts (default: the scene's)")
      ->type_name("LIST");
  sub.add_option("--reference", c.words.reference,
                 "The run that errors are measured by (default: the first stepper at a tenth of "
                 "the smallest step); none")
      ->type_name("STEPPER:STEP|STEPPER:tol=TOL");
  sub.add_option("--truth", c.words.truth,
                 "A closed form instead: ball.z=2-g/2*t^2, with the scene's parameters; or a CSV "
                 "file of time and quantities")
      ->type_name("QUANTITY=EXPRESSION")
      ->expected(1)
      ->take_all();
  sub.add_option("--what", c.what,
                 "What to draw besides gaps, joint errors, forces and energy (default: what the "
                 "scene watches)")
      ->type_name("QUANTITY")
      ->expected(1)
      ->take_all();
  sub.add_option("--zoom", c.zoom, "A stretch of time [s] that is drawn again by itself")
      ->type_name("FROM:TO");
  sub.add_option("--gap-reach", c.gap_reach, "Gaps up to so much are seen [m] (default: chosen)")
      ->check(CLI::PositiveNumber);
  sub.add_option("--duration", c.duration, "Simulated time [s]")->type_name("SECONDS");
  sub.add_option("--set", c.words.set, "Change a value of the scene: bodies.arm.mass=2")
      ->type_name("PATH=VALUE")
      ->expected(1)
      ->take_all();
  sub.add_option("--threads", c.threads, "Runs at once (default: one a core)")
      ->check(CLI::Range(1, 1024))
      ->type_name("N");
  sub.add_option("-o,--output", c.output, "Where page and tables go (default: out/NAME-compare)")
      ->type_name("DIR");
  sub.add_option("--pictures", c.pictures, "Write every panel as a picture too")
      ->check(CLI::IsMember({"svg", "png", "pdf"}))
      ->type_name("svg|png|pdf");
  sub.add_flag("--json", c.json, "Print the table as JSON");
  sub.add_flag("--no-progress", c.no_progress, "No progress line");
  sub.add_flag("-q,--quiet", c.quiet, "Errors and the exit code only");
}

}  // namespace

void add_compare_command(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<CompareCommand>();
  CLI::App* sub = app.add_subcommand(
      "compare", "Runs of a scene beside each other: steppers, steps, tolerances, solvers");
  add_options(*sub, *command);
  sub->footer(
      "Every stepper runs with every step, tolerance and solver, several at once. Writes "
      "compare.html, runs.csv and\nrun-1.csv, run-2.csv, …; quantities are ball.z, hinge.angle, "
      "hinge.force-1, gap, energy, … (docs/compare.md).\nExit code: 0 all runs finished, 2 bad "
      "input (nothing written), 3 a run failed or missed its tolerance, 130 Ctrl-C.");
  sub->callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace urto::app
