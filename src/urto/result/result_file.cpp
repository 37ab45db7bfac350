// Writing results: what goes where. How it gets into the file is GrowingFile's.
#include "urto/result/result_file.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <optional>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/growing_file.h"
#include "urto/result/description_file.h"
#include "urto/result/result.h"
#include "urto/result/run_fields.h"
#include "urto/result/step_columns.h"
#include "urto/result/verdict.h"

namespace urto {
namespace {

using Clock = std::chrono::steady_clock;
using Dims = GrowingFile::Dims;

constexpr std::size_t gathered_limit = std::size_t{32} << 20;  // bytes kept in memory
constexpr std::size_t status_size = 16, failure_size = 1024;

/// What /run has besides the fields of a status: for people who read the file with other tools.
std::vector<double> run_values(const RunStatus& status, const ResultCounts& counts) {
  std::vector<double> out{static_cast<double>(counts.frames),
                          static_cast<double>(status.mobility())};
  visit_run_fields(status, [&](const char*, auto x) { out.push_back(static_cast<double>(x)); });
  return out;
}

}  // namespace

struct ResultWriter::Impl {
  GrowingFile file;
  std::vector<std::size_t> channel_sizes = {};
  std::vector<Column*> channels = {}, steps = {};  ///< in the order of their tables
  Column *frame_step = nullptr, *frame_time = nullptr;
  Column *contact_start = nullptr, *contact_count = nullptr, *body_a = nullptr, *body_b = nullptr,
         *point = nullptr, *normal = nullptr, *force = nullptr, *gap = nullptr;
  Hdf5Handle status_field, failure_field;
  std::vector<Hdf5Handle> fields = {};  ///< in the order of `run_values`
  ResultCounts counts;
  ResultCounts appended_counts = {};              ///< of what is in the file
  std::optional<RunStatus> appended_status = {};  ///< not before the first append
  Clock::time_point opened = Clock::now(), appended = opened;
  std::future<void> pending;

  explicit Impl(GrowingFile f) : file(std::move(f)) {}
  ~Impl() {
    if (pending.valid()) pending.wait();
  }

  void make_contact_columns();
  void make_frame_columns(const Description& description);
  void make_step_columns();
  void make_run_fields();
  void make_columns(const Description& description);

  void put_contacts(const std::vector<RecordedContact>& contacts);
  void wait() {
    if (pending.valid()) pending.get();
  }
  void begin_append(const RunStatus& status);
  void set_end(const RunStatus& status);
  void set_status(const RunStatus& status, const ResultCounts& of);
  void close();
};

void ResultWriter::Impl::make_contact_columns() {
  const auto contact = [&](const char* path, hid_t type, const Dims& inner) {
    return file.column(path, type, inner, static_cast<hsize_t>(counts.contacts));
  };
  const auto frames = static_cast<hsize_t>(counts.frames);
  body_a = contact("/contacts/body_a", H5T_NATIVE_INT, {});
  body_b = contact("/contacts/body_b", H5T_NATIVE_INT, {});
  point = contact("/contacts/point", H5T_NATIVE_DOUBLE, {3});
  normal = contact("/contacts/normal", H5T_NATIVE_DOUBLE, {3});
  force = contact("/contacts/force", H5T_NATIVE_DOUBLE, {3});
  gap = contact("/contacts/gap", H5T_NATIVE_DOUBLE, {});
  contact_start = file.column("/contacts/start", H5T_NATIVE_INT64, {}, frames);
  contact_count = file.column("/contacts/count", H5T_NATIVE_INT64, {}, frames);
}

void ResultWriter::Impl::make_frame_columns(const Description& description) {
  const auto frames = static_cast<hsize_t>(counts.frames);
  for (const Channel& c : description.channels) {
    Dims inner{description.count(c.group)};
    if (c.width > 1) inner.push_back(static_cast<hsize_t>(c.width));
    channel_sizes.push_back(description.size(c));
    channels.push_back(file.column(fmt::format("/frames/{}", c.name), H5T_NATIVE_DOUBLE, inner,
                                   frames,
                                   {{"group", c.group}, {"label", c.label}, {"unit", c.unit}}));
  }
  frame_step = file.column("/frames/step", H5T_NATIVE_INT64, {}, frames);
  // Last: a reader who takes as many rows as there are times finds the others complete.
  frame_time = file.column("/frames/time", H5T_NATIVE_DOUBLE, {}, frames, {{"unit", "s"}});
}

void ResultWriter::Impl::make_step_columns() {
  steps.resize(step_columns().size());
  for (std::size_t k = steps.size(); k-- > 0;) {  // the time, which is the first, comes last
    const StepColumn& c = step_columns()[k];
    steps[k] = file.column(
        fmt::format("/steps/{}", c.name), c.integer ? H5T_NATIVE_INT : H5T_NATIVE_DOUBLE, {},
        static_cast<hsize_t>(counts.steps), {{"unit", c.unit}, {"meaning", c.meaning}});
  }
}

void ResultWriter::Impl::make_run_fields() {
  status_field = file.field("/run/status", -1, status_size);
  failure_field = file.field("/run/failure", -1, failure_size);
  fields.push_back(file.field("/run/frames", H5T_NATIVE_INT64));
  fields.push_back(file.field("/run/mobility", H5T_NATIVE_INT64));
  const RunStatus none;
  visit_run_fields(none, [&](const char* name, auto x) {
    constexpr bool real = std::is_same_v<decltype(x), double>;
    fields.push_back(
        file.field(fmt::format("/run/{}", name), real ? H5T_NATIVE_DOUBLE : H5T_NATIVE_INT64));
  });
  file.set(status_field, "running", status_size);
  file.set(failure_field, "", failure_size);
}

void ResultWriter::Impl::make_columns(const Description& description) {
  make_contact_columns();
  make_frame_columns(description);
  make_step_columns();
  make_run_fields();
  file.share();
}

void ResultWriter::Impl::put_contacts(const std::vector<RecordedContact>& contacts) {
  const std::int64_t start = counts.contacts;
  const auto count = static_cast<std::int64_t>(contacts.size());
  for (const RecordedContact& c : contacts) {
    body_a->put(c.body_a);
    body_b->put(c.body_b);
    point->put(c.point);
    normal->put(c.normal);
    force->put(c.force);
    gap->put(c.gap);
  }
  contact_start->put(&start, 1);
  contact_count->put(&count, 1);
  counts.contacts += count;
}

void ResultWriter::Impl::begin_append(const RunStatus& status) {
  wait();
  file.swap_buffers();
  appended = Clock::now();
  pending = std::async(std::launch::async, [this, status, now = counts] {
    file.append();
    set_status(status, now);
    file.flush();
    appended_status = status;
    appended_counts = now;
  });
}

void ResultWriter::Impl::set_status(const RunStatus& status, const ResultCounts& of) {
  const std::vector<double> values = run_values(status, of);
  for (std::size_t k = 0; k < fields.size(); ++k) file.set(fields[k], values[k]);
  set_end(status);
}

void ResultWriter::Impl::set_end(const RunStatus& status) {
  file.set(failure_field, status.failure, failure_size);
  file.set(status_field, status.status, status_size);
}

ResultWriter::ResultWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ResultWriter::ResultWriter(ResultWriter&&) noexcept = default;
ResultWriter::~ResultWriter() = default;

ResultWriter ResultWriter::create(const std::filesystem::path& file,
                                  const Description& description) {
  auto impl = std::make_unique<Impl>(GrowingFile::create(file));
  try {
    write_description(impl->file, description);
    impl->make_columns(description);
  } catch (const InputError&) {  // the disk is full: no half of a result
    impl.reset();
    std::error_code ignored;
    std::filesystem::remove(file, ignored);
    throw;
  }
  return ResultWriter(std::move(impl));
}

ResultWriter ResultWriter::reopen(const std::filesystem::path& file, const Description& description,
                                  const ResultCounts& counts) {
  auto impl = std::make_unique<Impl>(GrowingFile::reopen(file));
  impl->file.remove("/verdict");  // of the part that is there
  impl->counts = impl->appended_counts = counts;
  impl->file.remove("/verification");  // of the run as it was
  impl->make_columns(description);
  return ResultWriter(std::move(impl));
}

ResultCounts ResultWriter::counts() const {
  return impl_->counts;
}

void ResultWriter::add_frame(const Frame& frame) {
  bool fits = frame.channels.size() == impl_->channels.size();
  for (std::size_t k = 0; fits && k < frame.channels.size(); ++k)
    fits = frame.channels[k].size() == impl_->channel_sizes[k];
  if (!fits) throw InputError("a frame", "other channels", "those of the result's description");
  for (std::size_t k = 0; k < frame.channels.size(); ++k)
    impl_->channels[k]->put(frame.channels[k]);
  impl_->put_contacts(frame.contacts);
  const std::int64_t step = frame.step;
  impl_->frame_step->put(&step, 1);
  impl_->frame_time->put(frame.time);
  ++impl_->counts.frames;
}

void ResultWriter::add_step(const StepRecord& step) {
  for (std::size_t k = 0; k < impl_->steps.size(); ++k) {
    const StepColumn& c = step_columns()[k];
    if (c.integer) {
      impl_->steps[k]->put(static_cast<int>(c.value(step)));
    } else {
      impl_->steps[k]->put(c.value(step));
    }
  }
  ++impl_->counts.steps;
}

bool ResultWriter::append_due() const {
  const Clock::time_point now = Clock::now();
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  // Often in a short run, seldom in a long one: an append costs the same however little it brings.
  const double interval = std::clamp(0.1 * seconds(now - impl_->opened), 0.1, 5.0);
  return seconds(now - impl_->appended) >= interval || impl_->file.gathered() >= gathered_limit;
}

void ResultWriter::append(const RunStatus& status) {
  impl_->begin_append(status);
}

void ResultWriter::flush(const RunStatus& status) {
  impl_->begin_append(status);
  impl_->wait();
}

void ResultWriter::secure(const RunStatus& status) {
  flush(status);
  impl_->file.sync();
}

bool ResultWriter::is_in_place() const {
  return impl_->file.is_in_place();
}

void ResultWriter::give_up(const std::string& why) {
  try {
    impl_->wait();
  } catch (const InputError&) {  // it is known already
  }
  if (!is_in_place()) return;
  RunStatus ended = impl_->appended_status.value_or(RunStatus{});
  ended.status = "failed";
  ended.failure = why;
  try {
    if (impl_->appended_status) impl_->set_status(ended, impl_->appended_counts);
    impl_->set_end(ended);
    impl_->file.flush();
    impl_->close();
  } catch (const InputError&) {  // then it goes on saying that it is running
  }
}

void ResultWriter::finish(const RunStatus& status) {
  flush(status);
  impl_->close();
}

void ResultWriter::Impl::close() {
  status_field.reset();
  failure_field.reset();
  fields.clear();
  file.close();
}

void write_result(const std::filesystem::path& file, const Result& result) {
  ResultWriter writer = ResultWriter::create(file, result.description);
  for (const Frame& frame : result.frames) {
    writer.add_frame(frame);
    if (writer.append_due()) writer.append(result.status);
  }
  for (const StepRecord& step : result.steps) writer.add_step(step);
  writer.finish(result.status);
  if (result.verification) write_verification(file, *result.verification);
  write_verdict(file, judge(ResultValues(result)));
}

void write_verdict(const std::filesystem::path& file, const Verdict& verdict) {
  GrowingFile out = GrowingFile::reopen(file);
  out.remove("/verdict");
  std::vector<std::string> levels, whats, texts;
  for (const Finding& f : verdict.findings) {
    levels.emplace_back(to_string(f.level));
    whats.push_back(f.what);
    texts.push_back(f.text);
  }
  out.write_text("/verdict/level", to_string(verdict.level));
  out.write("/verdict/findings/level", levels);
  out.write("/verdict/findings/what", whats);
  out.write("/verdict/findings/text", texts);
  const auto write = [&](const char* name, double Finding::*number) {
    std::vector<double> values;
    for (const Finding& f : verdict.findings) values.push_back(f.*number);
    out.write(fmt::format("/verdict/findings/{}", name), H5T_NATIVE_DOUBLE, {values.size()},
              values.data());
  };
  write("found", &Finding::found);
  write("remarked", &Finding::remarked);
  write("tolerated", &Finding::tolerated);
  write("time", &Finding::time);
  out.close();
}

}  // namespace urto
