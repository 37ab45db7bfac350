#include "urto/result/step_shares.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace urto {
namespace {

// A share that is not a number is the worst there can be.
void grow(StepShares::Worst& worst, double share, int index) {
  if (!(share <= worst.share)) worst = {share, index};
}

bool is_rigid(const Softness& s) {
  return !std::isfinite(s.stiffness);
}

bool is_angle(const Model& model, const CoordinateRef& c) {
  return coordinates(model.joints[c.joint].kind)[c.coordinate].is_angle;
}

/// What a joint's coordinate is compared with [m], or 1 rad.
double scale_of(const Model& model, const ModelScales& scales, const CoordinateRef& c) {
  return is_angle(model, c) ? 1 : scales.joints[c.joint];
}

double held_error(const Model& model, const ModelScales& scales, const State& state, int k) {
  const Joint& joint = model.joints[k];
  const Marker& a = model.markers[joint.marker_a];
  const Marker& b = model.markers[joint.marker_b];
  const BodyPlace A = place(model, state, a.body);
  const BodyPlace B = place(model, state, b.body);
  const double length = joint.kind == JointKind::distance ? joint.length : 0;
  double worst = 0;
  for (const Measure& m : held_measures(joint.kind)) {
    const double error = std::abs(evaluate(m, A, a.frame, B, b.frame).value - length);
    const bool is_length = m.kind == MeasureKind::along || m.kind == MeasureKind::distance;
    const double share = is_length ? error / scales.joints[k] : error;
    if (!(share <= worst)) worst = share;
  }
  if (joint.kind != JointKind::screw) return worst;
  double off = 0;
  for (int c = 0; c < static_cast<int>(coordinates(joint.kind).size()); ++c) {
    const CoordinateRef at{k, c};
    const double factor = is_angle(model, at) ? -joint.pitch / (2 * std::numbers::pi) : 1;
    off += factor * coordinate_value(model, state, at);
  }
  return std::max(worst, std::abs(off) / scales.joints[k]);
}

void add_couplings(const Model& model, const ModelScales& scales, const State& state,
                   StepShares& out) {
  for (const Coupling& c : model.couplings) {
    if (!is_rigid(c.softness)) continue;
    double sum = -evaluate(c.target, state.t).value;
    double unit = 0;
    for (std::size_t k = 0; k < c.coordinates.size(); ++k) {
      sum += c.factors[k] * coordinate_value(model, state, c.coordinates[k]);
      unit = std::max(unit, std::abs(c.factors[k]) * scale_of(model, scales, c.coordinates[k]));
    }
    if (unit > 0) grow(out.joint, std::abs(sum) / unit, -1);
  }
  for (const Motor& m : model.motors) {
    if (m.mode != MotorMode::position || !is_rigid(m.softness)) continue;
    const double off = coordinate_value(model, state, m.on) - evaluate(m.value, state.t).value;
    grow(out.joint, std::abs(off) / scale_of(model, scales, m.on), m.on.joint);
  }
}

void add_limits(const Model& model, const ModelScales& scales, const State& state,
                StepShares& out) {
  for (int k = 0; k < static_cast<int>(model.limits.size()); ++k) {
    const Limit& l = model.limits[k];
    if (!is_rigid(l.softness)) continue;
    const double x = coordinate_value(model, state, l.on);
    const double beyond = std::max(l.lower - x, x - l.upper);
    if (!(beyond <= 0)) grow(out.limit, beyond / scale_of(model, scales, l.on), k);
  }
}

void add_contacts(const ModelScales& scales, const Interactions& rows, StepShares& out) {
  for (int i = 0; i < rows.blocks(); ++i) {
    const RowOrigin& origin = rows.origins[i];
    if (origin.kind != Origin::contact || is_soft(rows.laws[i]) ||
        origin.index >= static_cast<int>(rows.contacts.size()))
      continue;
    const Contact& c = rows.contacts[static_cast<std::size_t>(origin.index)];
    if (!(c.gap < 0)) continue;
    const double width = std::min(scales.shapes[c.shape_a], scales.shapes[c.shape_b]);
    if (-c.gap <= out.penetration.share * width) continue;
    out.penetration = {-c.gap / width, c.body_a};
    out.against = c.body_b;
  }
}

}  // namespace

StepShares shares_of(const Model& model, const ModelScales& scales, const State& state,
                     const Interactions& rows) {
  StepShares out;
  for (int k = 0; k < static_cast<int>(model.joints.size()); ++k) {
    if (is_rigid(model.joints[k].softness)) grow(out.joint, held_error(model, scales, state, k), k);
  }
  add_couplings(model, scales, state, out);
  add_limits(model, scales, state, out);
  add_contacts(scales, rows, out);
  for (const int body : model.slot_body) {
    const Vec3 x = state.q.segment<3>(model.layout.q_start[model.bodies[body].slot]);
    grow(out.reach, (x - scales.centre).norm() / scales.size, body);
  }
  return out;
}

}  // namespace urto
