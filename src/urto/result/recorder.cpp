#include "urto/result/recorder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/file/number_text.h"
#include "urto/result/description.h"

namespace urto {
namespace {

constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
using Wrench = Eigen::Matrix<double, 6, 1>;

/// The order of `model_channels`.
struct In {
  enum Channel : std::uint8_t {
    position,
    rotation,
    velocity,
    angular_velocity,
    coordinate,
    coordinate_rate,
    joint_reaction,
    motor_force,
    limit_force,
    friction_force,
    coupling_force,
    count
  };
};

template <typename Numbers>
void append(std::vector<double>& to, const Numbers& x) {
  to.insert(to.end(), x.data(), x.data() + x.size());
}

int rows_of(const Joint& joint) {
  return static_cast<int>(held_measures(joint.kind).size()) +
         (joint.kind == JointKind::screw ? 1 : 0);
}

/// What the rows of a joint do to body b with the forces `f`: force, and moment about marker b's
/// origin, in world axes. The rows are taken at `state`, the frame's own, not where the step that
/// gave `f` began: so that a ball joint has no moment to rounding, not to O(h).
Wrench joint_wrench(const Model& model, const State& state, const Joint& joint, const double* f) {
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

/// Where each joint's rows begin among those of all joints; one more at the end.
std::vector<int> joint_starts(const Model& model) {
  std::vector<int> start{0};
  for (const Joint& joint : model.joints) start.push_back(start.back() + rows_of(joint));
  return start;
}

void add_item_forces(const Model& model, const State& state, const RowForces& forces,
                     Frame& frame) {
  const Interactions& rows = forces.rows;
  const std::vector<int> start = joint_starts(model);
  std::vector<double> joint_force(static_cast<std::size_t>(start.back()), 0.0);
  for (int i = 0; i < rows.blocks(); ++i) {
    const RowOrigin& origin = rows.origins[i];
    const double* impulse = forces.impulses.data() + rows.J.row_start[i];
    const double force = *impulse / forces.h;
    switch (origin.kind) {
      case Origin::joint:
        for (int r = 0; r < rows.laws[i].dim; ++r)
          joint_force[start[origin.index] + r] = impulse[r] / forces.h;
        break;
      case Origin::screw:
        joint_force[start[origin.index + 1] - 1] = force;
        break;
      case Origin::coupling:
        frame.channels[In::coupling_force][origin.index] = force;
        break;
      case Origin::motor:
        frame.channels[In::motor_force][origin.index] = force;
        break;
      case Origin::limit:  // the upper end, an odd id, pushes the coordinate back
        frame.channels[In::limit_force][origin.index] += (rows.ids[i] & 1) != 0 ? -force : force;
        break;
      case Origin::friction:
        frame.channels[In::friction_force][origin.index] = force;
        break;
      case Origin::contact:
        break;
    }
  }
  frame.channels[In::joint_reaction].clear();
  for (std::size_t k = 0; k < model.joints.size(); ++k) {
    append(frame.channels[In::joint_reaction],
           joint_wrench(model, state, model.joints[k], joint_force.data() + start[k]));
  }
}

/// Contacts that touch or push; the others, within reach only, would make up most of a result.
void add_contacts(const RowForces& forces, Frame& frame) {
  const Interactions& rows = forces.rows;
  for (int i = 0; i < rows.blocks(); ++i) {
    const RowOrigin& origin = rows.origins[i];
    if (origin.kind != Origin::contact || origin.index >= static_cast<int>(rows.contacts.size()))
      continue;
    const Contact& c = rows.contacts[static_cast<std::size_t>(origin.index)];
    const Vec3 force = contact_force(rows, i, forces.impulses, forces.h);
    if (force.isZero(0) && c.gap > 0) continue;
    frame.contacts.push_back({c.body_a, c.body_b, c.point, c.normal, force, c.gap});
  }
}

}  // namespace

Frame still_frame(const Model& model, const State& state) {
  Frame out;
  out.time = state.t;
  out.channels.resize(In::count);
  for (int k = 0; k < static_cast<int>(model.bodies.size()); ++k) {
    const BodyVelocity v = velocity(model, state, k);
    append(out.channels[In::position], place(model, state, k).x);
    append(out.channels[In::rotation], rotation(model, state, k));
    append(out.channels[In::velocity], v.v);
    append(out.channels[In::angular_velocity], v.omega);
  }
  for (int k = 0; k < static_cast<int>(model.joints.size()); ++k) {
    const auto count = static_cast<int>(coordinates(model.joints[k].kind).size());
    for (int c = 0; c < count; ++c) {
      out.channels[In::coordinate].push_back(coordinate_value(model, state, {k, c}));
      out.channels[In::coordinate_rate].push_back(coordinate_rate(model, state, {k, c}));
    }
  }
  out.channels[In::joint_reaction].assign(6 * model.joints.size(), unknown);
  out.channels[In::motor_force].assign(model.motors.size(), unknown);
  out.channels[In::limit_force].assign(model.limits.size(), unknown);
  out.channels[In::friction_force].assign(model.frictions.size(), unknown);
  out.channels[In::coupling_force].assign(model.couplings.size(), unknown);
  for (std::size_t k = 0; k < model.motors.size(); ++k) {
    if (model.motors[k].mode == MotorMode::force)
      out.channels[In::motor_force][k] = evaluate(model.motors[k].value, state.t).value;
  }
  return out;
}

void add_forces(const Model& model, const State& state, const RowForces& forces, Frame& frame) {
  for (const In::Channel c :
       {In::motor_force, In::limit_force, In::friction_force, In::coupling_force}) {
    for (double& x : frame.channels[c]) x = std::isnan(x) ? 0 : x;  // an item without a row rests
  }
  add_item_forces(model, state, forces, frame);
  add_contacts(forces, frame);
}

Frame record_frame(Simulation& run) {
  Frame out = still_frame(run.model(), run.state());
  out.step = run.checkpoint().steps;
  if (out.step == 0) return out;
  // The length of the last half, where a step was taken in two.
  add_forces(run.model(), run.state(), {run.rows(), run.impulses(), run.checkpoint().memory.h},
             out);
  return out;
}

StepRecord record_step(const Simulation& run, const ModelScales& scales) {
  return {run.state().t, run.report(), run.energy(),
          shares_of(run.model(), scales, run.state(), run.rows())};
}

RunStatus record_status(const Simulation& run) {
  RunStatus out;
  switch (run.run_state()) {
    case RunState::finished:
      out.status = "finished";
      break;
    case RunState::failed:
      out.status = "failed";
      break;
    case RunState::ready:
    case RunState::running:
      out.status = "running";
      break;
  }
  const Checkpoint& c = run.checkpoint();
  out.failure = run.failure();
  out.time = c.state.t;
  out.steps = c.steps;
  out.rejected = c.rejected;
  out.missed = c.missed;
  out.worst_residual = c.worst_residual;
  out.worst_residual_time = c.worst_residual_time;
  out.worst_joint_error = c.worst_joint_error;
  out.worst_penetration = c.worst_penetration;
  out.start_energy = c.energy.start;
  out.dofs = run.start_report().dofs;
  out.equality_rows = run.start_report().rows;
  out.rank = run.start_report().rank;
  return out;
}

}  // namespace urto
