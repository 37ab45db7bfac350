// `urto run scene.json`: flags, a progress line and an exit code around run_scene (result/run.h).
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "urto/app/command.h"
#include "urto/app/interrupt.h"
#include "urto/app/summary_table.h"
#include "urto/app/table.h"
#include "urto/error.h"
#include "urto/file/number_text.h"
#include "urto/page/report_page.h"
#include "urto/result/csv_export.h"
#include "urto/result/result_file.h"
#include "urto/result/run.h"
#include "urto/result/summary_json.h"
#include "urto/scene/scene.h"
#include "urto/stepper/simulation.h"

namespace urto::app {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

struct RunCommand {
  std::string scene, output;
  std::vector<std::string> set;
  std::optional<double> duration, step, tolerance;
  std::optional<int> threads;
  std::string stepper, solver, friction;
  bool csv = false, resume = false, quiet = false, json = false, timings = false;
  bool no_progress = false, no_report = false, verify = false;

  bool talks() const { return !quiet && !json; }
};

/// Options are overrides with a shorter name: the scene kept in the result has them all.
std::vector<std::string> overrides_of(const RunCommand& c) {
  std::vector<std::string> out = c.set;
  if (c.duration) out.push_back(fmt::format("simulation.duration={}", *c.duration));
  if (c.step) out.push_back(fmt::format("simulation.step={}", *c.step));
  if (c.tolerance) out.push_back(fmt::format("simulation.tolerance={}", *c.tolerance));
  if (c.threads) out.push_back(fmt::format("simulation.threads={}", *c.threads));
  if (!c.stepper.empty()) out.push_back(fmt::format("simulation.stepper={}", c.stepper));
  if (!c.solver.empty()) out.push_back(fmt::format("simulation.solver={}", c.solver));
  if (!c.friction.empty()) out.push_back(fmt::format("simulation.friction={}", c.friction));
  // A resumed run may be verified though its scene does not ask for it.
  if (c.verify && !c.resume) out.push_back("simulation.verify=true");
  return out;
}

fs::path directory_of(const RunCommand& c) {
  if (!c.output.empty()) return c.output;
  if (!c.scene.empty()) return fs::path("out") / fs::path(c.scene).stem();
  throw InputError("urto run: found no scene, expected a scene file, or --resume with -o DIR");
}

Scene load(const RunCommand& c, const fs::path& directory) {
  const std::vector<std::string> overrides = overrides_of(c);
  if (!c.scene.empty()) return load_scene(c.scene, overrides);
  if (!c.resume) throw InputError("urto run: found no scene, expected a scene file");
  const fs::path file = result_path(directory);
  return parse_scene(ResultReader(file).text("/scene"), file.string() + ": /scene", overrides);
}

/// Where a run is: one line that is rewritten on a terminal, a line now and then elsewhere.
class Progress {
 public:
  explicit Progress(bool shown) : shown_(shown), terminal_(stderr_is_terminal()) {}

  void begin(double time) {
    first_ = time;
    start_ = Clock::now();
  }
  void update(const RunProgress& run) {
    if (!shown_) return;
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    if (elapsed - last_ < (terminal_ ? 0.2 : 5.0)) return;
    last_ = elapsed;
    const double speed = (run.time - first_) / elapsed;
    const std::string left =
        speed > 0 ? fmt::format("{:.0f} s left", (run.end_time - run.time) / speed) : "";
    fmt::print(stderr,
               "{}t = {:.4g} of {:.4g} s ({:.0f} %), {:.0f} s, {:.3g} times real time, {}, "
               "{} contacts, worst residual {}{}",
               terminal_ ? "\r\033[K" : "urto: ", run.time, run.end_time,
               100 * run.time / run.end_time, elapsed, speed, left, run.contacts,
               format_residual(run.worst_residual), terminal_ ? "" : "\n");
    dirty_ = terminal_;
  }
  void update(const VerificationProgress& run) {
    const double elapsed = std::chrono::duration<double>(Clock::now() - start_).count();
    if (!shown_ || elapsed - last_ < (terminal_ ? 0.2 : 5.0)) return;
    last_ = elapsed;
    fmt::print(stderr, "{}verifying: t = {:.4g} of {:.4g} s {}, {:.0f} s{}",
               terminal_ ? "\r\033[K" : "urto: ", run.time, run.end_time,
               run.parts == 1   ? "once more"
               : run.parts == 2 ? "at half the step"
                                : "at a quarter of the step",
               elapsed, terminal_ ? "" : "\n");
    dirty_ = terminal_;
  }
  void clear() {
    if (dirty_) fmt::print(stderr, "\r\033[K");
    dirty_ = false;
  }

 private:
  bool shown_, terminal_, dirty_ = false;
  double first_ = 0, last_ = 0;
  Clock::time_point start_ = Clock::now();
};

void print_start(const RunCommand& c, const Scene& scene, const StartReport& report,
                 const std::vector<std::string>& warnings) {
  if (c.quiet) return;
  for (const std::string& warning : warnings) {
    fmt::print(stderr, "urto: warning: {}\n", warning);
  }
  if (c.json) return;
  const Model& m = scene.model;
  fmt::print("{}: {}, {}; {} dofs, {}, mobility {}\n",
             scene.title.empty() ? fs::path(c.scene).filename().string() : scene.title,
             counted(m.slots, "moving body", "moving bodies"),
             counted(static_cast<long>(m.joints.size()), "joint", "joints"), report.dofs,
             counted(report.rows, "equality row", "equality rows"), report.mobility());
  if (scene.options.output_step <= 0 && scene.options.duration > 0) {
    const SimulationOptions chosen = with_choices(scene.options, m);
    fmt::print("{:<16}one every {:.4g} s, chosen; simulation.output_step says otherwise\n",
               "frames", chosen.output_step);
  }
  std::fflush(stdout);
}

int exit_code_of(const RunOutcome& outcome) {
  const RunSummary& s = outcome.summary;
  if (s.run.status == "interrupted" || outcome.verification_interrupted) return interrupted_code();
  return s.verdict.level == Level::failure ? not_certified : success;
}

int report(const RunCommand& c, const fs::path& directory, const RunOutcome& outcome) {
  if (!outcome.broken.empty()) {
    print_error(outcome.broken);
    return not_certified;
  }
  for (const std::string& why : outcome.unwritten)
    print_error(fmt::format("no page was written: {}", why));
  const RunSummary& summary = outcome.summary;
  const int code = exit_code_of(outcome);
  if (c.json) {
    nlohmann::json out = to_json(summary);
    if (!c.resume) {
      out["start"] = to_json(outcome.start);
      out["start"]["warnings"] = outcome.warnings;
    }
    for (const fs::path& file : outcome.files) out["files"].push_back(file.string());
    out["exit_code"] = code;
    fmt::print("{}\n", out.dump(2));
  } else if (!c.quiet) {
    print_summary(summary, c.timings);
    for (const fs::path& file : outcome.files) {
      fmt::print("{:<16}{}\n", file == outcome.files.front() ? "files" : "", file.string());
    }
  }
  if (summary.run.status == "failed") {
    print_error(fmt::format("the run failed at {}", summary.run.failure));
  } else if (c.quiet && !c.json) {
    for (const Finding& f : summary.verdict.findings) {
      if (f.level == Level::failure) print_error(f.text);
    }
  }
  if (summary.run.status == "interrupted") {
    fmt::print(stderr, "urto: interrupted at t = {:.9g} s; urto run --resume -o {} goes on\n",
               summary.run.time, directory.string());
  } else if (outcome.verification_interrupted) {
    fmt::print(stderr,
               "urto: the run has finished, its verification was interrupted; urto run --resume "
               "--verify -o {} does it\n",
               directory.string());
  } else if (summary.verification && summary.verification->state == VerificationState::incomplete) {
    print_error(fmt::format("the run could not be verified: {}", summary.verification->reason));
  }
  return code;
}

int run(const RunCommand& c) {
  const fs::path directory = directory_of(c);
  Scene scene = load(c, directory);
  scene.options.verify = scene.options.verify || c.verify;
  Progress progress(!c.quiet && !c.no_progress);
  RunRequest request{
      .directory = directory, .resume = c.resume, .derived = {csv_files(), page_files()}};
  request.derived[0].wanted = c.csv;
  request.derived[1].wanted = !c.no_report;
  request.on_start = [&](const StartReport& start, const std::vector<std::string>& warnings) {
    print_start(c, scene, start, warnings);
    progress.begin(0);
  };
  request.on_resume = [&](double time, long steps) {
    progress.begin(time);
    if (!c.talks()) return;
    fmt::print("{}: goes on at t = {:.9g} s after {}\n", directory.string(), time,
               counted(steps, "step", "steps"));
    std::fflush(stdout);
  };
  request.on_step = [&](const RunProgress& now) { progress.update(now); };
  request.on_verify = [&](const VerificationProgress& now) { progress.update(now); };
  request.stop = interrupt_requested;
  catch_interrupts();
  try {
    const RunOutcome outcome = run_scene(scene, request);
    progress.clear();
    return report(c, directory, outcome);
  } catch (const InputError& error) {
    // Messages about the model do not know the file; those about result files name their own.
    const bool named = std::string_view(error.what()).starts_with(directory.string());
    if (named || c.scene.empty()) throw;
    throw InputError(fmt::format("{}: {}", c.scene, error.what()));
  }
}

void add_options(CLI::App& sub, RunCommand& c) {
  sub.add_option("SCENE", c.scene, "A scene file; with --resume the one in the result will do");
  sub.add_option("-o,--output", c.output,
                 "Where the results go (default: out/ and the scene's name)")
      ->type_name("DIR");
  sub.add_option("--set", c.set,
                 "Change a value of the scene: simulation.step=1e-4, bodies.arm.mass=2")
      ->type_name("PATH=VALUE")
      ->expected(1)
      ->take_all();
  sub.add_option("--duration", c.duration, "Simulated time [s]")->type_name("SECONDS");
  sub.add_option("--step", c.step, "Time step [s]")->type_name("SECONDS");
  sub.add_option("--stepper", c.stepper,
                 "dvi, generalised-alpha, hht, ... (docs/steppers/smooth.md)")
      ->type_name("NAME");
  sub.add_option("--solver", c.solver, "For islands that simple sweeps do not solve")
      ->type_name("NAME");
  sub.add_option("--tol", c.tolerance, "Every step's certificate must be at most this")
      ->type_name("NUMBER");
  sub.add_option("--friction", c.friction, "Coulomb's law itself, or its convex relaxation")
      ->type_name("LAW")
      ->check(CLI::IsMember({"exact", "convex"}));
  sub.add_option("--threads", c.threads, "For detection, islands, certificates: the same answer")
      ->type_name("N");
  sub.add_flag(
      "--verify", c.verify,
      "Run again at half and a quarter of the step: how far is the motion from its limit?");
  sub.add_flag("--csv", c.csv, "Write states, joint coordinates and steps as CSV too");
  sub.add_flag("--no-report", c.no_report, "Write no page (report.html)");
  sub.add_flag("--resume", c.resume, "Go on from the checkpoint in the output directory");
  sub.add_flag("--json", c.json, "Print the summary as JSON");
  sub.add_flag("--timings", c.timings, "Show where the time went");
  sub.add_flag("--no-progress", c.no_progress, "No progress line");
  sub.add_flag("-q,--quiet", c.quiet, "Errors and the exit code only");
}

}  // namespace

void add_run_command(CLI::App& app, int& exit_code) {
  auto command = std::make_shared<RunCommand>();
  CLI::App* sub = app.add_subcommand("run", "Simulate a scene");
  add_options(*sub, *command);
  sub->footer(
      "Exit code: 0 the verdict is good or has remarks, 2 bad input (nothing written), 3 the "
      "verdict is failure: the run\nfailed, a step missed its tolerance, or its motion cannot be "
      "believed (what was recorded is kept), 130 Ctrl-C,\n143 SIGTERM, 129 SIGHUP (a checkpoint is "
      "kept).");
  sub->callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace urto::app
