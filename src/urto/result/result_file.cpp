// Writing results: what goes where. How it gets into the file is GrowingFile's.
#include "urto/result/result_file.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <numbers>
#include <span>

#include "urto/error.h"
#include "urto/file/growing_file.h"
#include "urto/result/result_fixed.h"

namespace urto {
namespace {

using Clock = std::chrono::steady_clock;
using Dims = GrowingFile::Dims;
using Run = Simulation;
using Wrench = Eigen::Matrix<double, 6, 1>;

constexpr std::size_t gathered_limit = std::size_t{32} << 20;  // bytes kept in memory
constexpr std::size_t status_size = 16, failure_size = 1024;
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

template <typename Number>
struct StepColumn {
  const char* path;
  Number (*value)(const Run& run);
};

constexpr StepColumn<double> step_numbers[] = {
    {"/steps/step", [](const Run& r) { return r.report().h; }},
    {"/steps/residual", [](const Run& r) { return r.report().certificate.residual(); }},
    {"/steps/momentum", [](const Run& r) { return r.report().certificate.momentum; }},
    {"/steps/natural_map", [](const Run& r) { return r.report().certificate.natural_map; }},
    {"/steps/scaled", [](const Run& r) { return r.report().certificate.natural_map_scaled; }},
    {"/steps/joint_error", [](const Run& r) { return r.report().joint_error; }},
    {"/steps/penetration", [](const Run& r) { return r.report().penetration; }},
    {"/steps/energy/kinetic", [](const Run& r) { return r.energy().kinetic; }},
    {"/steps/energy/potential", [](const Run& r) { return r.energy().potential; }},
    {"/steps/energy/supplied", [](const Run& r) { return r.energy().supplied; }},
    {"/steps/energy/friction", [](const Run& r) { return r.energy().friction; }},
    {"/steps/energy/impact", [](const Run& r) { return r.energy().impact; }},
    {"/steps/energy/damping", [](const Run& r) { return r.energy().damping; }},
    {"/steps/energy/recovery", [](const Run& r) { return r.energy().recovery; }},
    {"/steps/energy/numerical", [](const Run& r) { return r.energy().numerical(); }},
    {"/steps/seconds/rows", [](const Run& r) { return r.report().timings.rows; }},
    {"/steps/seconds/assemble", [](const Run& r) { return r.report().timings.assemble; }},
    {"/steps/seconds/solve", [](const Run& r) { return r.report().timings.solve; }},
    {"/steps/seconds/certify", [](const Run& r) { return r.report().timings.certify; }},
    {"/steps/seconds/advance", [](const Run& r) { return r.report().timings.advance; }},
    // Last: a reader who takes as many rows as there are times finds the others complete.
    {"/steps/time", [](const Run& r) { return r.state().t; }},
};

constexpr StepColumn<int> step_counts[] = {
    {"/steps/contacts", [](const Run& r) { return r.report().contacts; }},
    {"/steps/active", [](const Run& r) { return r.report().active; }},
    {"/steps/islands", [](const Run& r) { return r.report().solve.islands; }},
    {"/steps/sweeps", [](const Run& r) { return r.report().solve.sweeps; }},
    {"/steps/handed_on", [](const Run& r) { return r.report().solve.handed_on; }},
    {"/steps/iterations", [](const Run& r) { return r.report().solve.iterations; }},
    {"/steps/meets_tolerance", [](const Run& r) { return r.report().meets_tolerance ? 1 : 0; }},
};

struct RunField {
  const char* path;
  bool integer = false;
};

constexpr RunField run_fields[] = {
    {"/run/time"},
    {"/run/steps", true},
    {"/run/rejected", true},
    {"/run/missed", true},
    {"/run/frames", true},
    {"/run/worst_residual"},
    {"/run/worst_residual_time"},
    {"/run/worst_joint_error"},
    {"/run/worst_penetration"},
    {"/run/start_energy"},
    {"/run/wall_seconds"},
    {"/run/dofs", true},
    {"/run/equality_rows", true},
    {"/run/rank", true},
    {"/run/mobility", true},
};

/// In the order of `run_fields`.
std::vector<double> run_values(const Run& run, const RunStatus& s, const ResultCounts& counts) {
  const auto real = [](long n) { return static_cast<double>(n); };
  const Checkpoint& c = run.checkpoint();
  return {c.state.t,
          real(c.steps),
          real(c.rejected),
          real(c.missed),
          real(counts.frames),
          c.worst_residual,
          c.worst_residual_time,
          c.worst_joint_error,
          c.worst_penetration,
          c.energy.start,
          s.wall_seconds,
          real(s.dofs),
          real(s.equality_rows),
          real(s.rank),
          real(s.mobility())};
}

/// What the rows of a joint do to body b with the forces `f`: force, and moment about marker b's
/// origin, in world axes. The rows are taken at `state`, the frame's own, not where the step that
/// gave `f` began: so that a ball joint has no moment to rounding, not to O(h).
Wrench joint_wrench(const Model& model, const State& state, const Joint& joint,
                    std::span<const double> f) {
  const Marker& a = model.markers[joint.marker_a];
  const Marker& b = model.markers[joint.marker_b];
  const BodyPlace A = place(model, state, a.body);
  const BodyPlace B = place(model, state, b.body);
  Row12 sum = Row12::Zero();
  const auto held = held_measures(joint.kind);
  for (std::size_t r = 0; r < held.size(); ++r) {
    sum += f[r] * evaluate(held[r], A, a.frame, B, b.frame).J;
  }
  if (joint.kind == JointKind::screw) {
    for (const JointCoordinate& c : coordinates(joint.kind)) {
      const double factor = c.is_angle ? -joint.pitch / (2 * std::numbers::pi) : 1;
      sum += f[held.size()] * factor * evaluate(c.measure, A, a.frame, B, b.frame).J;
    }
  }
  const Vec3 force = sum.segment<3>(6);
  Wrench wrench;
  wrench << force, B.A * sum.segment<3>(9) - (B.A * b.frame.p).cross(force);
  return wrench;
}

/// Where the rows of each kind of item are put before they are written: one number an item.
struct Forces {
  std::vector<double> joint;  ///< all rows of all joints
  std::vector<double> motor, limit, friction, coupling;
};

}  // namespace

struct ResultWriter::Impl {
  GrowingFile file;
  const Model& model;
  std::vector<Column*> step_number, step_count;
  Column *position, *rotation, *velocity, *angular_velocity, *coordinate, *coordinate_rate;
  Column *joint_reaction, *motor_force, *limit_force, *friction_force, *coupling_force;
  Column *frame_step, *frame_time, *contact_start, *contact_count;
  Column *body_a, *body_b, *point, *normal, *force, *gap;
  Hdf5Handle status_field, failure_field;
  std::vector<Hdf5Handle> fields;
  ResultCounts counts;
  std::vector<int> joint_start;  ///< of a joint in Forces::joint
  Forces forces;
  Clock::time_point opened = Clock::now(), appended = opened;
  double start_seconds = 0;  ///< wall time of the runs before, for a reopened file
  std::future<void> pending;

  Impl(GrowingFile f, const Model& m) : file(std::move(f)), model(m) {
    joint_start.push_back(0);
    for (const Joint& joint : model.joints) {
      const auto held = static_cast<int>(held_measures(joint.kind).size());
      joint_start.push_back(joint_start.back() + held + (joint.kind == JointKind::screw ? 1 : 0));
    }
  }
  ~Impl() {
    if (pending.valid()) pending.wait();
  }

  void make_frame_columns();
  void make_columns();

  void put_bodies(const State& state);
  void gather_forces(const Run& run);
  void put_forces(const Run& run);
  void put_contacts(Run& run);

  void wait() {
    if (pending.valid()) pending.get();
  }
  void begin_append(const Run& run, const RunStatus& s);
};

void ResultWriter::Impl::make_frame_columns() {
  const hsize_t bodies = model.bodies.size();
  hsize_t free_coordinates = 0;
  for (const Joint& joint : model.joints) free_coordinates += coordinates(joint.kind).size();
  const auto frames = static_cast<hsize_t>(counts.frames);
  const auto contacts = static_cast<hsize_t>(counts.contacts);
  const auto number = [&](const char* path, const Dims& inner) {
    return file.column(path, H5T_NATIVE_DOUBLE, inner, frames);
  };
  const auto contact = [&](const char* path, hid_t type, const Dims& inner) {
    return file.column(path, type, inner, contacts);
  };
  body_a = contact("/contacts/body_a", H5T_NATIVE_INT, {});
  body_b = contact("/contacts/body_b", H5T_NATIVE_INT, {});
  point = contact("/contacts/point", H5T_NATIVE_DOUBLE, {3});
  normal = contact("/contacts/normal", H5T_NATIVE_DOUBLE, {3});
  force = contact("/contacts/force", H5T_NATIVE_DOUBLE, {3});
  gap = contact("/contacts/gap", H5T_NATIVE_DOUBLE, {});
  contact_start = file.column("/contacts/start", H5T_NATIVE_INT64, {}, frames);
  contact_count = file.column("/contacts/count", H5T_NATIVE_INT64, {}, frames);
  position = number("/frames/position", {bodies, 3});
  rotation = number("/frames/rotation", {bodies, 4});
  velocity = number("/frames/velocity", {bodies, 3});
  angular_velocity = number("/frames/angular_velocity", {bodies, 3});
  coordinate = number("/frames/coordinate", {free_coordinates});
  coordinate_rate = number("/frames/coordinate_rate", {free_coordinates});
  joint_reaction = number("/frames/joint_reaction", {model.joints.size(), 6});
  motor_force = number("/frames/motor_force", {model.motors.size()});
  limit_force = number("/frames/limit_force", {model.limits.size()});
  friction_force = number("/frames/friction_force", {model.frictions.size()});
  coupling_force = number("/frames/coupling_force", {model.couplings.size()});
  frame_step = file.column("/frames/step", H5T_NATIVE_INT64, {}, frames);
  frame_time = number("/frames/time", {});  // last, as /steps/time
}

void ResultWriter::Impl::make_columns() {
  make_frame_columns();
  const auto steps = static_cast<hsize_t>(counts.steps);
  for (const auto& c : step_counts) {
    step_count.push_back(file.column(c.path, H5T_NATIVE_INT, {}, steps));
  }
  for (const auto& c : step_numbers) {
    step_number.push_back(file.column(c.path, H5T_NATIVE_DOUBLE, {}, steps));
  }
  status_field = file.field("/run/status", -1, status_size);
  failure_field = file.field("/run/failure", -1, failure_size);
  for (const RunField& f : run_fields) {
    fields.push_back(file.field(f.path, f.integer ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE));
  }
  file.set(status_field, "running", status_size);
  file.set(failure_field, "", failure_size);
  file.share();
}

void ResultWriter::Impl::put_bodies(const State& state) {
  for (int k = 0; k < static_cast<int>(model.bodies.size()); ++k) {
    const BodyVelocity v = urto::velocity(model, state, k);
    position->put(place(model, state, k).x);
    rotation->put(urto::rotation(model, state, k));
    velocity->put(v.v);
    angular_velocity->put(v.omega);
  }
  for (int k = 0; k < static_cast<int>(model.joints.size()); ++k) {
    const auto count = static_cast<int>(coordinates(model.joints[k].kind).size());
    for (int c = 0; c < count; ++c) {
      coordinate->put(coordinate_value(model, state, {k, c}));
      coordinate_rate->put(urto::coordinate_rate(model, state, {k, c}));
    }
  }
}

/// Impulses of the last step by item, as forces. Before the first step nobody knows them.
void ResultWriter::Impl::gather_forces(const Run& run) {
  const bool known = run.checkpoint().steps > 0;
  const double none = known ? 0.0 : unknown;
  forces.joint.assign(joint_start.back(), none);
  forces.motor.assign(model.motors.size(), none);
  forces.limit.assign(model.limits.size(), none);
  forces.friction.assign(model.frictions.size(), none);
  forces.coupling.assign(model.couplings.size(), none);
  for (std::size_t k = 0; k < model.motors.size(); ++k) {
    const Motor& motor = model.motors[k];
    if (motor.mode == MotorMode::force)
      forces.motor[k] = evaluate(motor.value, run.state().t).value;
  }
  if (!known) return;
  const Interactions& rows = run.rows();
  const double h = run.checkpoint().memory.h;  // of the last half, where a step was taken in two
  for (int i = 0; i < rows.blocks(); ++i) {
    const RowOrigin& origin = rows.origins[i];
    const double* impulse = run.impulses().data() + rows.J.row_start[i];
    switch (origin.kind) {
      case Origin::joint:
        for (int r = 0; r < rows.laws[i].dim; ++r)
          forces.joint[joint_start[origin.index] + r] = impulse[r] / h;
        break;
      case Origin::screw:
        forces.joint[joint_start[origin.index + 1] - 1] = *impulse / h;
        break;
      case Origin::coupling:
        forces.coupling[origin.index] = *impulse / h;
        break;
      case Origin::motor:
        forces.motor[origin.index] = *impulse / h;
        break;
      case Origin::limit:  // the upper end, an odd id, pushes the coordinate back
        forces.limit[origin.index] += (rows.ids[i] & 1) != 0 ? -*impulse / h : *impulse / h;
        break;
      case Origin::friction:
        forces.friction[origin.index] = *impulse / h;
        break;
      case Origin::contact:
        break;
    }
  }
}

void ResultWriter::Impl::put_forces(const Run& run) {
  gather_forces(run);
  for (std::size_t k = 0; k < model.joints.size(); ++k) {
    const std::span<const double> f(forces.joint.data() + joint_start[k],
                                    forces.joint.data() + joint_start[k + 1]);
    const Wrench wrench = joint_wrench(model, run.state(), model.joints[k], f);
    joint_reaction->put(wrench.data(), 6);
  }
  motor_force->put(forces.motor);
  limit_force->put(forces.limit);
  friction_force->put(forces.friction);
  coupling_force->put(forces.coupling);
}

/// Contacts that touch or push; the others, within reach only, would make up most of the file.
void ResultWriter::Impl::put_contacts(Run& run) {
  const Interactions& rows = run.rows();
  const std::vector<Contact>& contacts = run.contacts();
  const std::int64_t start = counts.contacts;
  const double h = run.checkpoint().memory.h;
  for (int i = 0; run.checkpoint().steps > 0 && i < rows.blocks(); ++i) {
    const RowOrigin& origin = rows.origins[i];
    if (origin.kind != Origin::contact || origin.index >= static_cast<int>(contacts.size()))
      continue;
    const Contact& c = contacts[origin.index];
    Vec3 local = Vec3::Zero();
    const int first = rows.J.row_start[i];
    for (int r = 0; r < std::min(rows.laws[i].dim, 3); ++r)
      local[r] = run.impulses()[first + r] / h;
    local[0] -= pull(rows.laws[i], rows.g[first]);
    if (local[0] == 0 && c.gap > 0) continue;
    body_a->put(c.body_a);
    body_b->put(c.body_b);
    point->put(c.point);
    normal->put(c.normal);
    force->put(Vec3(contact_frame(c.normal) * local));
    gap->put(c.gap);
    ++counts.contacts;
  }
  const std::int64_t count = counts.contacts - start;
  contact_start->put(&start, 1);
  contact_count->put(&count, 1);
}

void ResultWriter::Impl::begin_append(const Run& run, const RunStatus& s) {
  wait();
  file.swap_buffers();
  appended = Clock::now();
  RunStatus now = s;
  now.wall_seconds += start_seconds;
  pending = std::async(std::launch::async, [this, now, values = run_values(run, now, counts)] {
    file.append();
    for (std::size_t k = 0; k < fields.size(); ++k) file.set(fields[k], values[k]);
    file.set(failure_field, now.failure, failure_size);
    file.set(status_field, now.status, status_size);
    file.flush();
  });
}

ResultWriter::ResultWriter(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ResultWriter::ResultWriter(ResultWriter&&) noexcept = default;
ResultWriter::~ResultWriter() = default;

ResultWriter ResultWriter::create(const std::filesystem::path& file, const Model& model,
                                  const SimulationOptions& options, std::string_view title,
                                  std::string_view scene,
                                  const std::vector<std::string>& warnings) {
  auto impl = std::make_unique<Impl>(GrowingFile::create(file), model);
  write_fixed_part(impl->file, model, options, title, scene);
  if (!warnings.empty()) impl->file.write("/run/warnings", warnings);
  impl->make_columns();
  return ResultWriter(std::move(impl));
}

ResultWriter ResultWriter::reopen(const std::filesystem::path& file, const Model& model,
                                  const ResultCounts& counts) {
  RunStatus before;
  {
    const ResultReader old(file);
    before.wall_seconds = old.number("/run/wall_seconds");
    before.dofs = static_cast<int>(old.number("/run/dofs"));
    before.equality_rows = static_cast<int>(old.number("/run/equality_rows"));
    before.rank = static_cast<int>(old.number("/run/rank"));
  }
  auto impl = std::make_unique<Impl>(GrowingFile::reopen(file), model);
  impl->counts = counts;
  impl->start_seconds = std::exchange(before.wall_seconds, 0.0);
  impl->make_columns();
  ResultWriter writer(std::move(impl));
  writer.status = before;
  return writer;
}

ResultCounts ResultWriter::counts() const {
  return impl_->counts;
}

void ResultWriter::add_frame(Simulation& run) {
  const std::int64_t step = run.checkpoint().steps;
  impl_->put_bodies(run.state());
  impl_->put_forces(run);
  impl_->put_contacts(run);
  impl_->frame_step->put(&step, 1);
  impl_->frame_time->put(run.state().t);
  ++impl_->counts.frames;
}

void ResultWriter::add_step(const Simulation& run) {
  for (std::size_t k = 0; k < std::size(step_counts); ++k) {
    impl_->step_count[k]->put(step_counts[k].value(run));
  }
  for (std::size_t k = 0; k < std::size(step_numbers); ++k) {
    impl_->step_number[k]->put(step_numbers[k].value(run));
  }
  ++impl_->counts.steps;
}

void ResultWriter::append_when_due(const Simulation& run) {
  const Clock::time_point now = Clock::now();
  const auto seconds = [](Clock::duration d) { return std::chrono::duration<double>(d).count(); };
  // Often in a short run, seldom in a long one: an append costs the same however little it brings.
  const double interval = std::clamp(0.1 * seconds(now - impl_->opened), 0.1, 5.0);
  if (seconds(now - impl_->appended) < interval && impl_->file.gathered() < gathered_limit) return;
  impl_->begin_append(run, status);
}

void ResultWriter::flush(const Simulation& run) {
  impl_->begin_append(run, status);
  impl_->wait();
}

void ResultWriter::finish(const Simulation& run) {
  flush(run);
  impl_->status_field.reset();
  impl_->failure_field.reset();
  impl_->fields.clear();
  impl_->file.close();
}

}  // namespace urto
