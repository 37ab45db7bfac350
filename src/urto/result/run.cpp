#include "urto/result/run.h"

#include <cmath>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/folder_lock.h"
#include "urto/result/checkpoint.h"
#include "urto/result/first_order_run.h"
#include "urto/result/recorder.h"
#include "urto/result/result_file.h"
#include "urto/result/run_directory.h"
#include "urto/result/start_look.h"
#include "urto/stepper/one_sided.h"
#include "urto/stepper/stopwatch.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

double next_checkpoint(double t, double interval) {
  if (interval <= 0) return std::numeric_limits<double>::infinity();
  return interval * (std::floor(t / interval * (1 + 1e-12)) + 1);
}

/// The rows of the first step, contacts within the envelope included.
Interactions rows_at_start(const Simulation& run) {
  Interactions rows;
  const DetectionQuery query{.h = run.options().step, .envelope = run.options().contact_envelope};
  SystemAccess(run.system()).interactions(run.state(), query, rows);
  return rows;
}

/// A stepper without contacts would fail at its first step: that is known before anything is
/// written.
void refuse_what_no_step_takes(const Simulation& run) {
  const StepperOptions& o = run.options().stepper;
  if (run.options().duration <= 0 || o.penalty_contact || find_stepper(o.name).contacts) return;
  SystemAccess system(run.system());
  Interactions rows;
  const std::string acting = one_sided_at_work(system, run.state(), rows);
  if (acting.empty()) return;
  throw InputError(
      fmt::format("simulation: stepper '{}'", o.name), acting,
      "no contact, limit or dry friction at work: take the stepper 'dvi', which treats "
      "them, or contacts as springs with 'penalty_contact'");
}

/// What a result of a run that has started, and not stepped yet, says of it.
Description describe_start(const Scene& scene, const Simulation& run, const Interactions& rows) {
  const StartLook look =
      look_at_start(scene.model, run.options(), run.start_report(), run.state(), rows);
  Description out = describe(scene, look.warnings);
  out.settings.output_step = run.options().output_step;  // it may have been left to be chosen
  out.scale.start_limit = look.limit;
  out.scale.start_penetration = look.penetration;
  return out;
}

/// A run and all that belongs to it, from the first step to the last.
class Recording {
 public:
  /// The directory is locked at once if it is there, else when it is made.
  Recording(const Scene& scene, const RunRequest& request, std::optional<FolderLock>& lock)
      : scene_(scene),
        request_(request),
        lock_(lock),
        scales_(scales_of(scene.model)),
        run_(scene.model, scene.options) {
    // A resumed run's first part is not there to be sampled: it is done again.
    if (scene.options.verify && !request.resume) sampler_.emplace(run_);
  }

  /// Throws InputError; nothing was written then.
  void start();
  void step_until_done();
  void close();
  ResultWriter& writer() { return *writer_; }
  const Simulation& run() const { return run_; }
  const std::vector<std::string>& warnings() const { return warnings_; }
  /// How far the finished run is from its limit; nothing if the caller stopped it before the end.
  std::optional<Verification> verify();

 private:
  void begin();
  void resume();
  RunStatus status() const;
  void save_checkpoint();
  void record_last_step(bool frame);
  bool go_on(const VerificationProgress& progress);

  const Scene& scene_;
  const RunRequest& request_;
  std::optional<FolderLock>& lock_;
  ModelScales scales_;
  Simulation run_;
  std::vector<std::string> warnings_ = {};  ///< of the start
  std::optional<ResultWriter> writer_ = {};
  std::optional<MotionSampler> sampler_ = {};
  RunStatus before_ = {};  ///< of a resumed run, how it stood
  bool stopped_ = false;   ///< the caller ended the verification
  Stopwatch since_start_;
};

void Recording::start() {
  request_.resume ? resume() : begin();
  since_start_ = {};
}

void Recording::begin() {
  const StartReport& report = run_.start();
  refuse_what_no_step_takes(run_);
  const Description description = describe_start(scene_, run_, rows_at_start(run_));
  warnings_ = description.warnings;
  if (request_.on_start) request_.on_start(report, warnings_);
  take_directory(request_, lock_);
  clear_directory(request_);
  writer_.emplace(ResultWriter::create(result_path(request_.directory), description));
  if (run_.frame_due()) writer_->add_frame(record_frame(run_));
  if (sampler_) sampler_->start();
}

void Recording::resume() {
  const fs::path file = result_path(request_.directory);
  const StoredCheckpoint stored =
      read_checkpoint(checkpoint_path(request_.directory), scene_.model, scene_.normalized_json);
  take_directory(request_, lock_);
  before_ = ResultReader(file).status();
  writer_.emplace(ResultWriter::reopen(file, describe(scene_), stored.recorded));
  run_.resume(stored.point);
  if (request_.on_resume) request_.on_resume(stored.point.state.t, stored.point.steps);
}

RunStatus Recording::status() const {
  RunStatus out = record_status(run_);
  out.wall_seconds = before_.wall_seconds + since_start_.seconds();
  if (request_.resume) {  // the consistent start is not repeated
    out.dofs = before_.dofs;
    out.equality_rows = before_.equality_rows;
    out.rank = before_.rank;
  }
  return out;
}

// The result first: a checkpoint counts rows that are safe.
void Recording::save_checkpoint() {
  writer_->secure(status());
  check_in_place(*writer_, request_);
  write_checkpoint(checkpoint_path(request_.directory), {run_.checkpoint(), writer_->counts()},
                   scene_.normalized_json);
}

void Recording::record_last_step(bool frame) {
  if (sampler_) sampler_->add(frame);
  writer_->add_step(record_step(run_, scales_));
  if (frame) writer_->add_frame(record_frame(run_));
}

void Recording::step_until_done() {
  const double interval = scene_.options.checkpoint_interval;
  double next = next_checkpoint(run_.state().t, interval);
  while (!(request_.stop && request_.stop()) && run_.advance()) {
    record_last_step(run_.frame_due());
    if (run_.state().t >= next * (1 - 1e-12)) {
      save_checkpoint();
      next = next_checkpoint(run_.state().t, interval);
    } else if (writer_->append_due()) {
      writer_->append(status());
      check_in_place(*writer_, request_);
    }
    if (request_.on_step) {
      request_.on_step({run_.state().t, run_.end_time(), run_.report().contacts,
                        run_.checkpoint().worst_residual});
    }
  }
  // The step that ended a run is part of its record. A state that is not a number is no frame.
  if (run_.checkpoint().steps > writer_->counts().steps) {
    record_last_step(run_.state().q.allFinite() && run_.state().v.allFinite());
  }
}

void Recording::close() {
  RunStatus ended = status();
  if (ended.status == "running") ended.status = "interrupted";
  // A failed run's last good checkpoint stays; its last state would only fail again.
  if (run_.run_state() != RunState::failed) save_checkpoint();
  check_in_place(*writer_, request_);
  writer_->finish(ended);
}

bool Recording::go_on(const VerificationProgress& progress) {
  if (request_.on_verify) request_.on_verify(progress);
  stopped_ = stopped_ || (request_.stop && request_.stop());
  return !stopped_;
}

std::optional<Verification> Recording::verify() {
  const auto ask = [this](const VerificationProgress& progress) { return go_on(progress); };
  const SampledMotion motion =
      sampler_ ? sampler_->finish() : sample_run(scene_.model, scene_.options, [&](double t) {
        return ask({1, t, run_.end_time()});
      });
  if (stopped_) return std::nullopt;
  Verification out = verify_run(scene_.model, scene_.options, motion, ask);
  if (stopped_) return std::nullopt;
  return out;
}

}  // namespace

fs::path result_path(const fs::path& directory) {
  return directory / "result.h5";
}

fs::path checkpoint_path(const fs::path& directory) {
  return directory / "checkpoint.h5";
}

RunOutcome run_scene(const Scene& scene, const RunRequest& request) {
  if (scene.first_order) return run_first_order(scene, request);
  check_directory(request);
  std::optional<FolderLock> lock;
  if (fs::exists(request.directory)) lock.emplace(request.directory);
  RunOutcome outcome;
  {
    Recording recording(scene, request, lock);
    recording.start();
    outcome.start = recording.run().start_report();
    outcome.warnings = recording.warnings();
    const auto steps = [&] {
      recording.step_until_done();
      recording.close();
      if (!scene.options.verify || recording.run().run_state() != RunState::finished) return;
      const std::optional<Verification> found = recording.verify();
      if (found) write_verification(result_path(request.directory), *found);
      outcome.verification_interrupted = !found;
    };
    if (!record_run(
            steps, [&] { return recording.run().state().t; }, recording.writer(), outcome))
      return outcome;
  }
  finish_directory(request, outcome);
  return outcome;
}

FirstMoment first_moment(const Scene& scene) {
  if (scene.first_order) return first_moment_of_equations(scene);
  Simulation run(scene.model, scene.options);
  FirstMoment out;
  out.start = run.start();
  refuse_what_no_step_takes(run);
  out.state = run.state();
  out.rows = rows_at_start(run);
  const Interactions& rows = out.rows;
  out.result.description = describe_start(scene, run, rows);
  out.result.status = record_status(run);
  Frame frame = record_frame(run);
  for (const RowOrigin& origin : rows.origins) {
    if (origin.kind != Origin::contact) continue;
    const Contact& c = rows.contacts[static_cast<std::size_t>(origin.index)];
    frame.contacts.push_back({.body_a = c.body_a,
                              .body_b = c.body_b,
                              .point = c.point,
                              .normal = c.normal,
                              .gap = c.gap});
  }
  out.result.frames.push_back(std::move(frame));
  return out;
}

}  // namespace urto
