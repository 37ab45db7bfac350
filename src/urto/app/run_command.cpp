// `urto run scene.json`: loads, starts, steps and records. Until the consistent start has succeeded nothing
// is written; from then on everything recorded is kept, whatever happens.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include "urto/app/command.h"
#include "urto/app/interrupt.h"
#include "urto/app/run_report.h"
#include "urto/app/table.h"
#include "urto/error.h"
#include "urto/page/report_page.h"
#include "urto/result/checkpoint.h"
#include "urto/result/csv_export.h"
#include "urto/scene/scene.h"

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
  bool no_progress = false, no_report = false;

  bool talks() const { return !quiet && !json; }
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

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
  return out;
}

/// The files of a run.
struct Place {
  fs::path directory;
  fs::path result() const { return directory / "result.h5"; }
  fs::path checkpoint() const { return directory / "checkpoint.h5"; }
  fs::path page() const { return directory / "report.html"; }
};

Place place_of(const RunCommand& c) {
  if (!c.output.empty()) return {c.output};
  if (!c.scene.empty()) return {fs::path("out") / fs::path(c.scene).stem()};
  throw InputError("urto run: found no scene, expected a scene file, or --resume with -o DIR");
}

Scene load(const RunCommand& c, const Place& place) {
  const std::vector<std::string> overrides = overrides_of(c);
  if (!c.scene.empty()) return load_scene(c.scene, overrides);
  if (!c.resume) throw InputError("urto run: found no scene, expected a scene file");
  const ResultReader result(place.result());
  return parse_scene(result.text("/scene"), place.result().string() + ": /scene", overrides);
}

/// Throws if the directory holds files under our names that are not ours: they are not ours to replace.
void check_place(const Place& place, bool csv, bool page) {
  std::error_code error;
  if (fs::exists(place.directory, error) && !fs::is_directory(place.directory, error)) {
    throw InputError(place.directory.string(), "a file", "a directory for the results");
  }
  const auto refuse = [](const fs::path& file) {
    throw InputError(file.string(), "a file that urto did not write",
                     "another directory (-o), or none of that name");
  };
  if (fs::exists(place.result()) && !is_result_file(place.result())) refuse(place.result());
  if (fs::exists(place.checkpoint()) && !is_checkpoint_file(place.checkpoint())) {
    refuse(place.checkpoint());
  }
  if (page && fs::exists(place.page()) && !is_report(place.page())) refuse(place.page());
  if (!csv) return;
  const std::vector<fs::path> ours = find_csv(place.directory);
  for (const char* name : {"states.csv", "coordinates.csv", "steps.csv"}) {
    const fs::path file = place.directory / name;
    if (fs::exists(file) && std::find(ours.begin(), ours.end(), file) == ours.end()) refuse(file);
  }
}

/// Makes the directory and takes the earlier run's files away, which `check_place` found to be ours.
void clear_place(const Place& place) {
  std::error_code error;
  fs::create_directories(place.directory, error);
  if (error || !fs::is_directory(place.directory)) {
    throw InputError(place.directory.string(), error ? error.message() : "no directory",
                     "a directory that can be made or written to");
  }
  if (!fs::exists(place.result())) return;
  for (const fs::path& file : find_csv(place.directory)) fs::remove(file, error);
  fs::remove(place.checkpoint(), error);
  if (is_report(place.page())) fs::remove(place.page(), error);
}

/// Where a run is: one line that is rewritten on a terminal, a line now and then elsewhere.
class Progress {
 public:
  Progress(bool shown, const Simulation& run)
      : shown_(shown), terminal_(stderr_is_terminal()), first_(run.state().t) {}

  void update(const Simulation& run) {
    if (!shown_) return;
    const double elapsed = seconds_since(start_);
    if (elapsed - last_ < (terminal_ ? 0.2 : 5.0)) return;
    last_ = elapsed;
    const double t = run.state().t;
    const double speed = (t - first_) / elapsed;
    const std::string left =
        speed > 0 ? fmt::format("{:.0f} s left", (run.end_time() - t) / speed) : "";
    fmt::print(stderr,
               "{}t = {:.4g} of {:.4g} s ({:.0f} %), {:.0f} s, {:.3g} times real time, {}, "
               "{} contacts, worst residual {}{}",
               terminal_ ? "\r\033[K" : "urto: ", t, run.end_time(), 100 * t / run.end_time(),
               elapsed, speed, left, run.report().contacts,
               format_residual(run.checkpoint().worst_residual), terminal_ ? "" : "\n");
    dirty_ = terminal_;
  }
  void clear() {
    if (dirty_) fmt::print(stderr, "\r\033[K");
    dirty_ = false;
  }

 private:
  bool shown_, terminal_, dirty_ = false;
  double first_, last_ = 0;
  Clock::time_point start_ = Clock::now();
};

/// A run and all that belongs to it, from the first step to the last.
struct Recording {
  const Place& place;
  const Scene& scene;
  Simulation& run;
  ResultWriter& writer;
  Clock::time_point start = Clock::now();

  void save_checkpoint() {
    writer.flush(run);
    write_checkpoint(place.checkpoint(), {run.checkpoint(), writer.counts()},
                     scene.normalized_json);
  }
  void step_recorded(bool frame) {
    writer.add_step(run);
    if (frame) writer.add_frame(run);
    writer.status.wall_seconds = seconds_since(start);
  }
};

double next_checkpoint(double t, double interval) {
  if (interval <= 0) return std::numeric_limits<double>::infinity();
  return interval * (std::floor(t / interval * (1 + 1e-12)) + 1);
}

void step_until_done(Recording& r, Progress& progress) {
  const double interval = r.scene.options.checkpoint_interval;
  double next = next_checkpoint(r.run.state().t, interval);
  while (!interrupt_requested() && r.run.advance()) {
    r.step_recorded(r.run.frame_due());
    if (r.run.state().t >= next * (1 - 1e-12)) {
      r.save_checkpoint();
      next = next_checkpoint(r.run.state().t, interval);
    } else {
      r.writer.append_when_due(r.run);
    }
    progress.update(r.run);
  }
  // The step that ended a run is part of its record. A state that is not a number is no frame.
  if (r.run.checkpoint().steps > r.writer.counts().steps) {
    r.step_recorded(r.run.state().q.allFinite() && r.run.state().v.allFinite());
  }
}

void close(Recording& r) {
  RunStatus& status = r.writer.status;
  status.wall_seconds = seconds_since(r.start);
  switch (r.run.run_state()) {
    case RunState::finished:
      status.status = "finished";
      break;
    case RunState::failed:
      status.status = "failed";
      status.failure = r.run.failure();
      break;
    case RunState::ready:
    case RunState::running:
      status.status = "interrupted";
      break;
  }
  // A failed run's last good checkpoint stays; its last state would only fail again.
  if (r.run.run_state() != RunState::failed) r.save_checkpoint();
  r.writer.finish(r.run);
}

void print_start(const RunCommand& c, const Scene& scene, const StartReport& report) {
  if (c.quiet) return;
  for (const std::string& warning : warnings_of(report)) {
    fmt::print(stderr, "urto: warning: {}\n", warning);
  }
  if (c.json) return;
  const Model& m = scene.model;
  fmt::print("{}: {}, {}; {} dofs, {}, mobility {}\n",
             scene.title.empty() ? fs::path(c.scene).filename().string() : scene.title,
             counted(m.slots, "moving body", "moving bodies"),
             counted(static_cast<long>(m.joints.size()), "joint", "joints"), report.dofs,
             counted(report.rows, "equality row", "equality rows"), report.mobility());
  std::fflush(stdout);
}

ResultWriter start_writer(const RunCommand& c, const Place& place, const Scene& scene,
                          Simulation& run) {
  if (c.resume) {
    const StoredCheckpoint stored =
        read_checkpoint(place.checkpoint(), scene.model, scene.normalized_json);
    ResultWriter writer = ResultWriter::reopen(place.result(), scene.model, stored.recorded);
    run.resume(stored.point);
    if (c.talks()) {
      fmt::print("{}: goes on at t = {:.9g} s after {}\n", place.directory.string(),
                 stored.point.state.t, counted(stored.point.steps, "step", "steps"));
      std::fflush(stdout);
    }
    return writer;
  }
  const StartReport& report = run.start();
  print_start(c, scene, report);
  clear_place(place);
  ResultWriter writer =
      ResultWriter::create(place.result(), scene.model, scene.options, scene.title,
                           scene.normalized_json, warnings_of(report));
  writer.status.dofs = report.dofs;
  writer.status.equality_rows = report.rows;
  writer.status.rank = report.rank;
  if (run.frame_due()) writer.add_frame(run);
  return writer;
}

int exit_code_of(const RunSummary& s) {
  if (s.status == "interrupted") return interrupted;
  return s.finished() && s.missed == 0 ? success : not_certified;
}

/// The run is what counts: a page that cannot be written does not change how it ended.
bool write_page(const ResultReader& result, const Place& place) {
  try {
    write_report(result, place.page());
    return true;
  } catch (const InputError& error) {
    print_error(fmt::format("no page was written: {}", error.what()));
    return false;
  }
}

int report(const RunCommand& c, const Place& place, const StartReport& start) {
  const ResultReader result(place.result());
  const RunSummary summary = read_summary(result);
  std::vector<fs::path> files{place.result()};
  if (c.csv) {
    for (const fs::path& file : write_csv(result, place.directory)) files.push_back(file);
  }
  if (fs::exists(place.checkpoint())) files.push_back(place.checkpoint());
  if (!c.no_report && write_page(result, place)) files.push_back(place.page());
  const int code = exit_code_of(summary);
  if (c.json) {
    nlohmann::json out = to_json(summary);
    if (!c.resume) out["start"] = to_json(start);
    for (const fs::path& file : files) out["files"].push_back(file.string());
    out["exit_code"] = code;
    fmt::print("{}\n", out.dump(2));
  } else if (!c.quiet) {
    print_summary(summary, c.timings);
    for (const fs::path& file : files) {
      fmt::print("{:<16}{}\n", file == files.front() ? "files" : "", file.string());
    }
  }
  if (summary.status == "failed") print_error(fmt::format("the run failed at {}", summary.failure));
  if (summary.status == "interrupted") {
    fmt::print(stderr, "urto: interrupted at t = {:.9g} s; urto run --resume -o {} goes on\n",
               summary.time, place.directory.string());
  }
  return code;
}

int run(const RunCommand& c) {
  const Place place = place_of(c);
  check_place(place, c.csv, !c.no_report);
  const Scene scene = load(c, place);
  std::optional<Simulation> simulation;
  std::optional<ResultWriter> writer;
  try {
    simulation.emplace(scene.model, scene.options);
    writer.emplace(start_writer(c, place, scene, *simulation));
  } catch (const InputError& error) {
    // Messages about the model do not know the file; those about result files name their own.
    const bool named = std::string_view(error.what()).starts_with(place.directory.string());
    if (named || c.scene.empty()) throw;
    throw InputError(fmt::format("{}: {}", c.scene, error.what()));
  }
  Recording recording{place, scene, *simulation, *writer};
  Progress progress(!c.quiet && !c.no_progress, *simulation);
  try {
    step_until_done(recording, progress);
    progress.clear();
    close(recording);
  } catch (const InputError& error) {  // the disk is full: what was written before is kept
    progress.clear();
    print_error(
        fmt::format("the run ended at t = {:.9g} s: {}", simulation->state().t, error.what()));
    return not_certified;
  }
  writer.reset();
  return report(c, place, simulation->start_report());
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
  sub.add_option("--threads", c.threads, "For islands and solvers that use them")->type_name("N");
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
      "Exit code: 0 all steps met the tolerance, 2 bad input (nothing written), 3 the run failed "
      "or a "
      "step missed\nits tolerance (what was recorded is kept), 130 interrupted (a checkpoint is "
      "kept).");
  sub->callback([command, &exit_code] { exit_code = run(*command); });
}

}  // namespace urto::app
