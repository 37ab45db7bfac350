#include "urto/result/first_order_run.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/number_text.h"
#include "urto/result/result_file.h"
#include "urto/result/run_directory.h"
#include "urto/stepper/stopwatch.h"
#include "urto/version.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

/// A result knows the certificate of mechanics: its balance is that of the dynamics, its scaled
/// natural map that of the law.
StepRecord record_first_order_step(const FirstOrderSimulation& run, double seconds) {
  const FirstOrderReport& report = run.report();
  StepRecord out;
  out.time = run.state().t;
  out.report.t = report.t;
  out.report.h = report.h;
  out.report.certificate.momentum = report.residuals.dynamics;
  out.report.certificate.natural_map = std::max(report.residuals.output, report.residuals.input);
  out.report.certificate.natural_map_scaled = report.residuals.law;
  out.report.certificate.natural_map_absolute = report.residuals.law_absolute;
  out.report.solve.iterations = report.solve.factorizations;
  out.report.newton_iterations = report.newton;
  out.report.timings.solve = seconds;
  return out;
}

Frame record_first_order_frame(const FirstOrderScene& scene, const FirstOrderSimulation& run) {
  Frame out;
  out.time = run.state().t;
  out.step = run.steps();
  out.channels = scene.values(run.state(), run.steps() > 0 ? run.report().h : 0);
  return out;
}

class FirstOrderRecording {
 public:
  FirstOrderRecording(const Scene& scene, const RunRequest& request)
      : scene_(scene),
        request_(request),
        run_(scene.first_order->system, scene.first_order->options,
             {scene.options.step, scene.options.duration, scene.options.solver.tolerance},
             scene.first_order->start),
        every_(output_step_of(scene.options)) {}

  void start(std::optional<FolderLock>& lock) {
    const Description description = describe_first_order(scene_);
    if (request_.on_start) {
      StartReport report;
      report.dofs = run_.system().states;
      report.rows = run_.system().rows();
      request_.on_start(report, {});
    }
    take_directory(request_, lock);
    clear_directory(request_);
    writer_.emplace(ResultWriter::create(result_path(request_.directory), description));
    writer_->add_frame(record_first_order_frame(*scene_.first_order, run_));
  }

  void step_until_done() {
    constexpr double crumb = 1e-9;
    double next = every_;
    const auto stopped = [&] { return request_.stop && request_.stop(); };
    while (!(interrupted_ = stopped())) {
      Stopwatch clock;
      if (!run_.advance()) break;
      writer_->add_step(record_first_order_step(run_, clock.lap()));
      const double t = run_.state().t;
      if (t >= next - crumb * every_ || run_.finished()) {
        writer_->add_frame(record_first_order_frame(*scene_.first_order, run_));
        next = every_ * (std::floor(t / every_ + crumb) + 1);
      }
      if (writer_->append_due()) {
        writer_->append(status());
        check_in_place(*writer_, request_);
      }
      if (request_.on_step)
        request_.on_step({t, scene_.options.duration, 0, run_.worst_residual()});
      if (scene_.options.stop_on_failure && run_.missed() > 0) break;
    }
    check_in_place(*writer_, request_);
    writer_->finish(status());
  }

  ResultWriter& writer() { return *writer_; }
  double time() const { return run_.state().t; }

 private:
  RunStatus status() const {
    RunStatus out;
    out.status = run_.finished() ? "finished" : interrupted_ ? "interrupted" : "running";
    out.failure = run_.failure();
    if (scene_.options.stop_on_failure && run_.missed() > 0) {
      out.failure = fmt::format("t = {:.9g} s: the step left a residual of {:.1e}", run_.state().t,
                                run_.report().residuals.worst());
    }
    if (!out.failure.empty()) out.status = "failed";
    out.time = run_.state().t;
    out.steps = run_.steps();
    out.rejected = run_.cut();
    out.missed = run_.missed();
    out.worst_residual = run_.worst_residual();
    out.worst_residual_time = run_.worst_residual_time();
    out.wall_seconds = since_start_.seconds();
    out.dofs = run_.system().states;
    out.equality_rows = run_.system().rows();
    return out;
  }

  const Scene& scene_;
  const RunRequest& request_;
  FirstOrderSimulation run_;
  double every_;
  std::optional<ResultWriter> writer_ = {};
  bool interrupted_ = false;
  Stopwatch since_start_;
};

}  // namespace

double output_step_of(const SimulationOptions& options) {
  constexpr double most_frames = 2000;
  if (options.output_step > 0) return std::max(options.output_step, options.step);
  const double steps = std::ceil(options.duration / options.step / most_frames);
  return std::max(steps, 1.0) * options.step;
}

Description describe_first_order(const Scene& scene) {
  Description out;
  out.title = scene.title;
  out.scene = scene.normalized_json;
  out.urto_version = version;
  out.settings = scene.options;
  out.settings.output_step = output_step_of(scene.options);
  for (const FirstOrderQuantity& q : scene.first_order->quantities) {
    if (std::ranges::find(out.groups, q.group, &NamedGroup::name) == out.groups.end())
      out.groups.push_back({q.group, q.items});
    out.channels.push_back({q.name, q.group, q.name, q.unit, 1});
  }
  return out;
}

FirstMoment first_moment_of_equations(const Scene& scene) {
  const FirstOrderScene& s = *scene.first_order;
  const FirstOrderSimulation run(
      s.system, s.options,
      {scene.options.step, scene.options.duration, scene.options.solver.tolerance}, s.start);
  FirstMoment out;
  out.start.dofs = s.system.states;
  out.start.rows = s.system.rows();
  out.result.description = describe_first_order(scene);
  out.result.status.dofs = s.system.states;
  out.result.status.equality_rows = s.system.rows();
  out.result.frames.push_back(record_first_order_frame(s, run));
  return out;
}

std::string counted_unknowns(const FirstOrderScene& scene) {
  const auto bounded = std::ranges::count_if(scene.system.laws, [](const MultiplierBounds& law) {
    return std::isfinite(law.lower) || std::isfinite(law.upper);
  });
  std::string out = scene.components > 0
                        ? counted(scene.components, "component", "components") + ", "
                        : std::string();
  out +=
      fmt::format("{}, {}, {} of them with a law", counted(scene.system.states, "state", "states"),
                  counted(scene.system.rows(), "row", "rows"), bounded);
  return out;
}

RunOutcome run_first_order(const Scene& scene, const RunRequest& request) {
  if (request.resume) {
    throw InputError(request.directory.string(), "a run without bodies, which keeps no checkpoint",
                     "a run from its start, without --resume");
  }
  check_directory(request);
  std::optional<FolderLock> lock;
  if (fs::exists(request.directory)) lock.emplace(request.directory);
  RunOutcome outcome;
  {
    FirstOrderRecording recording(scene, request);
    recording.start(lock);
    if (!record_run([&] { recording.step_until_done(); }, [&] { return recording.time(); },
                    recording.writer(), outcome))
      return outcome;
  }
  finish_directory(request, outcome);
  return outcome;
}

}  // namespace urto
