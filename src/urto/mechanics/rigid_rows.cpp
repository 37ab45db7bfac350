// Joints, couplings, motors, limits and friction in joints as rows: each row is a sum of measures
// between two markers, less what it is to be. Contacts are rows in rigid_contacts.cpp.
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "urto/mechanics/rigid_scratch.h"

namespace urto {
namespace {

constexpr int blocks_at_a_time = 64;

Row12 stacked(const BodyVelocity& a, const BodyVelocity& b) {
  Row12 v;
  v << a.v, a.omega, b.v, b.omega;
  return v;
}

// The entry of the body at `column` in a block, null when it has none: a coupling meets a body more
// than once.
const BlockRows::Entry* find_entry(const BlockRows& J, int block, int column) {
  for (int e = J.entry_start[block]; e < J.entry_start[block + 1]; ++e) {
    if (J.entries[e].column == column) return &J.entries[e];
  }
  return nullptr;
}

Law softened(Law law, const Softness& s) {
  law.stiffness = s.stiffness;
  law.damping = s.damping;
  return law;
}

}  // namespace

RowTerm RigidSystem::term(const CoordinateRef& c, double factor) const {
  const Joint& joint = model_.joints[c.joint];
  return {.marker_a = joint.marker_a,
          .marker_b = joint.marker_b,
          .measure = coordinates(joint.kind)[c.coordinate].measure,
          .factor = factor,
          .angle_slot = angle_slot(model_, c)};
}

// displacement − pitch · angle / 2π.
std::array<RowTerm, 2> RigidSystem::screw_terms(int joint) const {
  return {term({joint, find_coordinate(JointKind::screw, "displacement")}),
          term({joint, find_coordinate(JointKind::screw, "angle")},
               -model_.joints[joint].pitch / (2 * std::numbers::pi))};
}

void RigidSystem::row_terms(const RowOrigin& origin, std::uint64_t id, int row,
                            std::vector<RowTerm>& out) const {
  out.clear();
  switch (origin.kind) {
    case Origin::joint: {
      const Joint& joint = model_.joints[origin.index];
      out.push_back({.marker_a = joint.marker_a,
                     .marker_b = joint.marker_b,
                     .measure = held_measures(joint.kind)[row]});
      break;
    }
    case Origin::screw:
      for (const RowTerm& t : screw_terms(origin.index)) out.push_back(t);
      break;
    case Origin::coupling: {
      const Coupling& c = model_.couplings[origin.index];
      for (std::size_t i = 0; i < c.factors.size(); ++i)
        out.push_back(term(c.coordinates[i], c.factors[i]));
      break;
    }
    case Origin::motor:
      out.push_back(term(model_.motors[origin.index].on));
      break;
    case Origin::limit:
      out.push_back(term(model_.limits[origin.index].on, (id & 1) != 0 ? -1 : 1));
      break;
    case Origin::friction:
      out.push_back(term(model_.frictions[origin.index].on));
      break;
    case Origin::contact:
      break;  // measured in rigid_contacts.cpp
  }
}

MeasureValue RigidSystem::evaluate_term(const RowTerm& t, const State& state,
                                        const Scratch& s) const {
  const Marker& a = model_.markers[t.marker_a];
  const Marker& b = model_.markers[t.marker_b];
  MeasureValue m = evaluate(t.measure, s.places[a.body], a.frame, s.places[b.body], b.frame);
  if (t.angle_slot >= 0) m.value = continued_angle(m.value, angles(state)[t.angle_slot]);
  return m;
}

// The terms of all its rows decide which bodies a block touches, in the order in which they come.
void RigidSystem::add_block(const Law& law, RowOrigin origin, std::uint64_t id, Scratch& s,
                            Interactions& rows) const {
  rows.add_block(law, origin, id);
  for (int row = 0; row < law.dim; ++row) {
    row_terms(origin, id, row, s.terms[0]);
    for (const RowTerm& t : s.terms[0]) {
      for (const int marker : {t.marker_a, t.marker_b}) {
        const int column = dof(model_, model_.markers[marker].body);
        if (column >= 0 && find_entry(rows.J, rows.blocks() - 1, column) == nullptr)
          rows.add_entry(column, 6);
      }
    }
    if (origin.kind == Origin::joint) break;  // its rows are all between the same two bodies
  }
}

void RigidSystem::detect(const State& state, const DetectionQuery& query, SystemWorkspace& work,
                         Interactions& rows) const {
  Scratch& s = scratch(work);
  rows.clear(nv());
  rows.horizon = query.h;
  for (int k = 0; k < static_cast<int>(model_.joints.size()); ++k) {
    const Joint& joint = model_.joints[k];
    const Law law{.dim = static_cast<int>(held_measures(joint.kind).size())};
    if (law.dim > 0) {
      add_block(softened(law, joint.softness), {Origin::joint, k}, row_id(Origin::joint, k), s,
                rows);
    }
    if (joint.kind == JointKind::screw) {
      add_block(softened({}, joint.softness), {Origin::screw, k}, row_id(Origin::screw, k), s,
                rows);
    }
  }
  for (int k = 0; k < static_cast<int>(model_.couplings.size()); ++k) {
    add_block(softened({}, model_.couplings[k].softness), {Origin::coupling, k},
              row_id(Origin::coupling, k), s, rows);
  }
  detect_motors(query, s, rows);
  if (query.equalities_only) return;
  detect_limits(state, query, s, rows);
  for (int k = 0; k < static_cast<int>(model_.frictions.size()); ++k) {
    const double bound = model_.frictions[k].bound;
    const Law law{.kind = LawKind::box, .lower = -bound, .upper = bound, .on_velocity = true};
    add_block(law, {Origin::friction, k}, row_id(Origin::friction, k), s, rows);
  }
  // What pulls from farther than the envelope must be seen from there.
  s.finder.use_threads(s.threads);
  s.finder.find(state, std::max(query.envelope, longest_pull_), query.h, rows.contacts);
  rows.contacts_q = state.q;
  rows.contacts_t = state.t;
  detect_contacts(query, s, rows);
}

void RigidSystem::detect_motors(const DetectionQuery& query, Scratch& s, Interactions& rows) const {
  for (int k = 0; k < static_cast<int>(model_.motors.size()); ++k) {
    const Motor& m = model_.motors[k];
    if (m.mode == MotorMode::force) continue;
    Law law = softened({}, m.softness);
    if (m.mode == MotorMode::speed) {
      const bool bounded = std::isfinite(m.max_force);
      if (query.equalities_only && !(query.velocity_equalities && !bounded)) continue;
      law = {.on_velocity = true};
      if (bounded) {
        law = {
            .kind = LawKind::box, .lower = -m.max_force, .upper = m.max_force, .on_velocity = true};
      }
    }
    add_block(law, {Origin::motor, k}, row_id(Origin::motor, k), s, rows);
  }
}

void RigidSystem::detect_limits(const State& state, const DetectionQuery& query, Scratch& s,
                                Interactions& rows) const {
  for (int k = 0; k < static_cast<int>(model_.limits.size()); ++k) {
    refresh_places(state, s);
    const Limit& l = model_.limits[k];
    const RowTerm t = term(l.on);
    const MeasureValue m = evaluate_term(t, state, s);
    const double rate = m.J.dot(stacked(s.velocities[model_.markers[t.marker_a].body],
                                        s.velocities[model_.markers[t.marker_b].body]));
    const double reach = query.envelope + 2 * query.h * std::abs(rate);
    for (int side = 0; side < 2; ++side) {
      const double gap = side == 0 ? m.value - l.lower : l.upper - m.value;
      if (!(gap <= reach)) continue;
      const Law law{.kind = LawKind::unilateral,
                    .restitution = l.restitution,
                    .recovery = is_length(t.measure) ? Recovery::linear : Recovery::angular};
      add_block(softened(law, l.softness), {Origin::limit, k}, row_id(Origin::limit, k, side), s,
                rows);
    }
  }
}

void RigidSystem::measure(const State& state, bool accelerations, SystemWorkspace& work,
                          Interactions& rows) const {
  Scratch& s = scratch(work);
  s.finder.use_threads(s.threads);
  refresh_places(state, s);
  if (!rows.contacts.empty() && (rows.contacts_t != state.t || rows.contacts_q != state.q)) {
    s.finder.remeasure(state, rows.contacts);
    rows.contacts_q = state.q;
    rows.contacts_t = state.t;
  }
  if (accelerations && !rows.contacts.empty()) s.finder.place_colliders(state, 0);
  s.terms.resize(std::max<std::size_t>(s.terms.size(), threads_of(s.threads)));
  share(s.threads, rows.blocks(), blocks_at_a_time, [&](int thread, int first, int last) {
    for (int i = first; i < last; ++i)
      measure_block(state, i, accelerations, s, s.terms[thread], rows);
  });
}

void RigidSystem::measure_block(const State& state, int block, bool accelerations, const Scratch& s,
                                std::vector<RowTerm>& terms, Interactions& rows) const {
  const RowOrigin origin = rows.origins[block];
  // Of rows whose gaps alone are wanted the other numbers may stay as they are.
  if (rows.gaps_only && origin.kind != Origin::contact) {
    std::fill(rows.g.begin() + rows.J.row_start[block],
              rows.g.begin() + rows.J.row_start[block + 1], 0.0);
  } else {
    rows.clear_numbers(block);
  }
  if (origin.kind == Origin::contact) return measure_contact(state, block, accelerations, s, rows);
  for (int row = 0; row < rows.laws[block].dim; ++row) {
    row_terms(origin, rows.ids[block], row, terms);
    for (const RowTerm& t : terms) measure_term(t, state, block, row, accelerations, s, rows);
  }
  const int last = rows.J.row_start[block + 1] - 1;
  const auto subtract = [&](const FunctionValue& target) {
    rows.g[last] -= target.value;
    if (rows.gaps_only) return;
    rows.g_t[last] -= target.rate;
    rows.jdot_v[last] -= target.acceleration;
  };
  switch (origin.kind) {
    case Origin::joint:
      if (model_.joints[origin.index].kind == JointKind::distance)
        rows.g[last] -= model_.joints[origin.index].length;
      break;
    case Origin::coupling:
      subtract(evaluate(model_.couplings[origin.index].target, state.t));
      break;
    case Origin::motor: {
      const Motor& m = model_.motors[origin.index];
      if (m.mode == MotorMode::position) {
        subtract(evaluate(m.value, state.t));
      } else {
        // The speed wanted is the one at the end of the step.
        const FunctionValue speed = evaluate(m.value, state.t + rows.horizon);
        rows.g[last] = 0;
        if (rows.gaps_only) break;
        rows.g_t[last] -= speed.value;
        rows.jdot_v[last] -= speed.rate;
      }
      break;
    }
    case Origin::limit: {
      // The row measures ± the coordinate; its gap is the distance to the limit of that side.
      const Limit& l = model_.limits[origin.index];
      rows.g[last] = (rows.ids[block] & 1) == 0 ? rows.g[last] - l.lower : l.upper + rows.g[last];
      break;
    }
    case Origin::friction:
      rows.g[last] = 0;
      break;
    default:
      break;
  }
}

void RigidSystem::measure_term(const RowTerm& t, const State& state, int block, int row,
                               bool accelerations, const Scratch& s, Interactions& rows) const {
  const Marker& a = model_.markers[t.marker_a];
  const Marker& b = model_.markers[t.marker_b];
  const int at = rows.J.row_start[block] + row;
  if (rows.gaps_only) {
    double g = value(t.measure, s.places[a.body], a.frame, s.places[b.body], b.frame);
    if (t.angle_slot >= 0) g = continued_angle(g, angles(state)[t.angle_slot]);
    rows.g[at] += t.factor * g;
    return;
  }
  const MeasureValue m = evaluate_term(t, state, s);
  rows.g[at] += t.factor * m.value;
  for (int side = 0; side < 2; ++side) {
    const int body = side == 0 ? a.body : b.body;
    const auto gradient = m.J.segment<6>(6 * side);
    if (const int column = dof(model_, body); column >= 0) {
      double* values = rows.J.values.data() + find_entry(rows.J, block, column)->offset;
      Eigen::Map<Eigen::Matrix<double, 6, 1>>(values + 6 * row) += t.factor * gradient;
    }
    if (model_.bodies[body].kind == BodyKind::kinematic) {
      rows.g_t[at] += t.factor * (gradient.head<3>().dot(s.velocities[body].v) +
                                  gradient.tail<3>().dot(s.velocities[body].omega));
    }
  }
  if (!accelerations) return;
  const Row12 v = stacked(s.velocities[a.body], s.velocities[b.body]);
  const Mat12 K =
      second_derivative(t.measure, s.places[a.body], a.frame, s.places[b.body], b.frame);
  const Row12 driven = stacked(kinematic_acceleration(model_.bodies[a.body], state.t),
                               kinematic_acceleration(model_.bodies[b.body], state.t));
  rows.jdot_v[at] += t.factor * (v.dot(K * v) + m.J.dot(driven));
}

// Smooth changes by the trapezoidal rule: what they leave is of third order.
bool RigidSystem::rate_jumps(const State& state, double before, SystemWorkspace& work,
                             const Interactions& rows, std::vector<double>& jumps) const {
  const double then = state.t - before;
  const auto jump_of = [&](const Function& f) {
    const FunctionValue early = evaluate(f, then), late = evaluate(f, state.t);
    return late.rate - early.rate - 0.5 * before * (early.acceleration + late.acceleration);
  };
  const auto body_jump = [&](int k) {
    const Body& body = model_.bodies[k];
    BodyVelocity out;
    if (body.kind != BodyKind::kinematic) return out;
    for (int i = 0; i < 3; ++i) out.v[i] = jump_of(body.motion.position[i]);
    out.omega = jump_of(body.motion.angle) * body.motion.axis;
    return out;
  };
  if (!may_jump_) return false;
  Scratch& s = scratch(work);
  bool any = false;
  for (int i = 0; i < rows.blocks(); ++i) {
    const RowOrigin origin = rows.origins[i];
    const bool target = origin.kind == Origin::coupling;
    if (!target && origin.kind != Origin::joint && origin.kind != Origin::screw) continue;
    for (int row = 0; row < rows.laws[i].dim; ++row) {
      double jump = target ? -jump_of(model_.couplings[origin.index].target) : 0;
      row_terms(origin, rows.ids[i], row, s.terms[0]);
      for (const RowTerm& t : s.terms[0]) {
        const int a = model_.markers[t.marker_a].body, b = model_.markers[t.marker_b].body;
        const Row12 change = stacked(body_jump(a), body_jump(b));
        if (change.isZero(0)) continue;
        refresh_places(state, s);
        jump += t.factor * evaluate_term(t, state, s).J.dot(change);
      }
      if (jump == 0) continue;
      if (!any) jumps.assign(rows.rows(), 0.0);
      any = true;
      jumps[rows.J.row_start[i] + row] = jump;
    }
  }
  return any;
}

}  // namespace urto
