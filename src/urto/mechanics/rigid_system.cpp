#include "urto/mechanics/rigid_system.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

namespace urto {
namespace {

using Mat6 = Eigen::Matrix<double, 6, 6>;

Row12 stacked(const BodyVelocity& a, const BodyVelocity& b) {
  Row12 v;
  v << a.v, a.omega, b.v, b.omega;
  return v;
}

// Accelerations of a body that moves as told; zero for the others.
BodyVelocity told_acceleration(const Body& body, double t) {
  BodyVelocity out;
  if (body.kind != BodyKind::kinematic) return out;
  for (int i = 0; i < 3; ++i) out.v[i] = evaluate(body.motion.position[i], t).acceleration;
  out.omega = evaluate(body.motion.angle, t).acceleration * body.motion.axis;
  return out;
}

// The values of body `column`'s entry in the last block, made when missing: a coupling meets a body more than once.
double* entry_at(Interactions& out, int column) {
  for (int e = out.J.entry_start[out.blocks() - 1]; e < out.J.entry_start[out.blocks()]; ++e) {
    if (out.J.entries[e].column == column) return out.J.values.data() + out.J.entries[e].offset;
  }
  return out.add_entry(column, 6);
}

Law softened(Law law, const Softness& s) {
  law.stiffness = s.stiffness;
  law.damping = s.damping;
  return law;
}

// Euler's equations by the implicit midpoint rule, I(ω⁺ − ω) + h ω̄ × Iω̄ = 0: it keeps the kinetic energy, for ω̄·(ω̄ × Iω̄) = 0, and |Iω|. Unknown is ω̄.
Vec3 turned_freely(const Mat3& inertia, const Vec3& omega, double h) {
  Vec3 mean = omega;
  for (int k = 0; k < 10; ++k) {
    const Vec3 momentum = inertia * mean;
    const Vec3 residual = 2 * inertia * (mean - omega) + h * mean.cross(momentum);
    const Mat3 slope = 2 * inertia + h * (skew(mean) * inertia - skew(momentum));
    const Vec3 change = slope.inverse() * residual;
    mean -= change;
    if (change.squaredNorm() <= 1e-30 * mean.squaredNorm()) break;
  }
  Vec3 next = 2 * mean - omega;
  // Exactly so even where Newton's method was cut off: a body that turns by radians in a step.
  const double energy = next.dot(inertia * next);
  if (!(energy > 0) || !std::isfinite(energy)) return omega;
  return std::sqrt(omega.dot(inertia * omega) / energy) * next;
}

}  // namespace

RigidSystem::RigidSystem(const Model& model) : model_(model), finder_(model) {
  for (const int body : model.slot_body) {
    Mat6 block = Mat6::Zero();
    block.topLeftCorner<3, 3>().diagonal().setConstant(model.bodies[body].mass);
    block.bottomRightCorner<3, 3>() = model.bodies[body].inertia;
    mass_.push_back(block);
  }
  for (const Material& m : finder_.materials()) {
    if (m.cohesion > 0) longest_pull_ = std::max(longest_pull_, m.cohesion_range);
  }
  places_.resize(model.bodies.size());
  velocities_.resize(model.bodies.size());
}

void RigidSystem::add_increment(const Vector& q, const Vector& delta, Vector& out) const {
  urto::add_increment(model_, q, delta, out);
}

Vector RigidSystem::difference(const Vector& to, const Vector& from) const {
  return urto::difference(model_, to, from);
}

void RigidSystem::increment_tangent(const Vector& delta, BlockMatrix& T) const {
  T = mass_;
  for (int slot = 0; slot < model_.slots; ++slot) {
    Eigen::Map<Mat6> block(T.values.data() + T.offset[slot]);
    block.setIdentity();
    block.bottomRightCorner<3, 3>() = right_jacobian(delta.segment<3>(6 * slot + 3));
  }
}

bool RigidSystem::may_be_one_sided() const {
  if (!model_.limits.empty() || !model_.frictions.empty()) return true;
  const auto collide = std::count_if(model_.shapes.begin(), model_.shapes.end(),
                                     [](const Shape& s) { return s.collides; });
  return collide > 1 || std::any_of(model_.motors.begin(), model_.motors.end(), [](const Motor& m) {
           return m.mode == MotorMode::speed && std::isfinite(m.max_force);
         });
}

void RigidSystem::mass(const State&, BlockMatrix& M) const {
  M = mass_;  // constant: inertia is in body axes
}

void RigidSystem::force(const State& state, Vector& f) {
  f.setZero(nv());
  for (int slot = 0; slot < model_.slots; ++slot) {
    const Body& body = model_.bodies[model_.slot_body[slot]];
    f.segment<3>(6 * slot) = body.mass * model_.gravity;
    if (!body.gyroscopic) continue;
    const Vec3 omega = state.v.segment<3>(6 * slot + 3);
    f.segment<3>(6 * slot + 3) = -omega.cross(body.inertia * omega);
  }
  for (const Force& force : model_.forces) add_force(force, model_, state, f);
  bool placed = false;
  for (const Motor& motor : model_.motors) {
    if (motor.mode != MotorMode::force) continue;
    if (!placed) refresh_places(state);
    placed = true;
    const RowTerm t = term(motor.on);
    const Row12 J = evaluate(motor.value, state.t).value * evaluate_term(t, state).J;
    const int a = dof(model_, model_.markers[t.marker_a].body);
    const int b = dof(model_, model_.markers[t.marker_b].body);
    if (a >= 0) f.segment<6>(a) += J.head<6>();
    if (b >= 0) f.segment<6>(b) += J.tail<6>();
  }
}

void RigidSystem::turn_freely(const State& state, double h, Vector& v, Vector& f) const {
  for (int slot = 0; slot < model_.slots; ++slot) {
    const Body& body = model_.bodies[model_.slot_body[slot]];
    const Vec3 omega = state.v.segment<3>(6 * slot + 3);
    const Vec3 moment = omega.cross(body.inertia * omega);
    if (!body.gyroscopic || moment.isZero(0)) continue;
    v.segment<3>(6 * slot + 3) = turned_freely(body.inertia, omega, h);
    f.segment<3>(6 * slot + 3) += moment;
  }
}

void RigidSystem::tangents(const State& state, Tangent kind, ForceTangents& out) {
  out.clear();
  for (const Force& force : model_.forces) add_tangents(force, model_, state, kind, out);
  if (kind != Tangent::exact) return;
  for (int slot = 0; slot < model_.slots; ++slot) {
    const Body& body = model_.bodies[model_.slot_body[slot]];
    if (!body.gyroscopic) continue;
    const Vec3 omega = state.v.segment<3>(6 * slot + 3);
    Mat6 damping = Mat6::Zero();  // recipe 003 §5.11
    damping.bottomRightCorner<3, 3>() = skew(omega) * body.inertia - skew(body.inertia * omega);
    out.add(6 * slot, 6 * slot, Mat6::Zero(), damping);
  }
}

void RigidSystem::refresh_places(const State& state) {
  for (int k = 0; k < static_cast<int>(model_.bodies.size()); ++k) {
    places_[k] = place(model_, state, k);
    velocities_[k] = velocity(model_, state, k);
  }
}

RowTerm RigidSystem::term(const CoordinateRef& c, double factor) const {
  const Joint& joint = model_.joints[c.joint];
  return {.marker_a = joint.marker_a,
          .marker_b = joint.marker_b,
          .measure = coordinates(joint.kind)[c.coordinate].measure,
          .factor = factor,
          .angle_slot = angle_slot(model_, c)};
}

RowTerm RigidSystem::held_term(const Joint& joint, const Measure& measure) const {
  return {.marker_a = joint.marker_a, .marker_b = joint.marker_b, .measure = measure};
}

MeasureValue RigidSystem::evaluate_term(const RowTerm& t, const State& state) const {
  const Marker& a = model_.markers[t.marker_a];
  const Marker& b = model_.markers[t.marker_b];
  MeasureValue m = evaluate(t.measure, places_[a.body], a.frame, places_[b.body], b.frame);
  if (t.angle_slot >= 0) m.value = continued_angle(m.value, state.angles[t.angle_slot]);
  return m;
}

void RigidSystem::add_term(const RowTerm& t, const State& state, int row, bool accelerations,
                           Interactions& out) const {
  const MeasureValue m = evaluate_term(t, state);
  const Marker& a = model_.markers[t.marker_a];
  const Marker& b = model_.markers[t.marker_b];
  const int at = out.J.row_start[out.blocks() - 1] + row;
  out.g[at] += t.factor * m.value;
  const int dof_a = dof(model_, a.body);
  const int dof_b = dof(model_, b.body);
  if (dof_a >= 0) {
    Eigen::Map<Eigen::Matrix<double, 6, 1>>(entry_at(out, dof_a) + 6 * row) +=
        t.factor * m.J.head<6>();
  }
  if (dof_b >= 0) {
    Eigen::Map<Eigen::Matrix<double, 6, 1>>(entry_at(out, dof_b) + 6 * row) +=
        t.factor * m.J.tail<6>();
  }
  if (model_.bodies[a.body].kind == BodyKind::kinematic) {
    out.g_t[at] += t.factor * (m.J.segment<3>(0).dot(velocities_[a.body].v) +
                               m.J.segment<3>(3).dot(velocities_[a.body].omega));
  }
  if (model_.bodies[b.body].kind == BodyKind::kinematic) {
    out.g_t[at] += t.factor * (m.J.segment<3>(6).dot(velocities_[b.body].v) +
                               m.J.segment<3>(9).dot(velocities_[b.body].omega));
  }
  if (!accelerations) return;
  const Row12 v = stacked(velocities_[a.body], velocities_[b.body]);
  const Mat12 K = second_derivative(t.measure, places_[a.body], a.frame, places_[b.body], b.frame);
  const Row12 told = stacked(told_acceleration(model_.bodies[a.body], state.t),
                             told_acceleration(model_.bodies[b.body], state.t));
  out.jdot_v[at] += t.factor * (v.dot(K * v) + m.J.dot(told));
}

// g ← g − target(t) in the last block's only row.
void RigidSystem::add_target(const Function& target, const State& state, Interactions& out) const {
  const FunctionValue f = evaluate(target, state.t);
  out.g.back() -= f.value;
  out.g_t.back() -= f.rate;
  out.jdot_v.back() -= f.acceleration;
}

void RigidSystem::add_joints(const State& state, const InteractionQuery& query,
                             Interactions& out) const {
  for (int k = 0; k < static_cast<int>(model_.joints.size()); ++k) {
    const Joint& joint = model_.joints[k];
    const auto held = held_measures(joint.kind);
    if (!held.empty()) {
      const Law law{.kind = LawKind::equality, .dim = static_cast<int>(held.size())};
      out.add_block(softened(law, joint.softness), {Origin::joint, k}, row_id(Origin::joint, k));
      for (int row = 0; row < law.dim; ++row)
        add_term(held_term(joint, held[row]), state, row, query.accelerations, out);
      if (joint.kind == JointKind::distance) out.g.back() -= joint.length;
    }
    if (joint.kind != JointKind::screw) continue;
    out.add_block(softened({}, joint.softness), {Origin::screw, k}, row_id(Origin::screw, k));
    for (const RowTerm& t : screw_terms(k)) add_term(t, state, 0, query.accelerations, out);
  }
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
      out.push_back(held_term(joint, held_measures(joint.kind)[row]));
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
      break;  // the nearest points are taken as fixed during the step (recipe 000 §2.4.1): no second derivative
  }
}

void RigidSystem::add_couplings(const State& state, const InteractionQuery& query,
                                Interactions& out) const {
  for (int k = 0; k < static_cast<int>(model_.couplings.size()); ++k) {
    const Coupling& c = model_.couplings[k];
    out.add_block(softened({}, c.softness), {Origin::coupling, k}, row_id(Origin::coupling, k));
    for (std::size_t i = 0; i < c.factors.size(); ++i) {
      add_term(term(c.coordinates[i], c.factors[i]), state, 0, query.accelerations, out);
    }
    add_target(c.target, state, out);
  }
}

void RigidSystem::add_motors(const State& state, const InteractionQuery& query,
                             Interactions& out) const {
  for (int k = 0; k < static_cast<int>(model_.motors.size()); ++k) {
    const Motor& m = model_.motors[k];
    if (m.mode == MotorMode::force) continue;
    if (m.mode == MotorMode::position) {
      out.add_block(softened({}, m.softness), {Origin::motor, k}, row_id(Origin::motor, k));
      add_term(term(m.on), state, 0, query.accelerations, out);
      add_target(m.value, state, out);
      continue;
    }
    if (query.equalities_only && !(query.velocity_equalities && !std::isfinite(m.max_force)))
      continue;
    Law law{.on_velocity = true};
    if (std::isfinite(m.max_force)) {
      law = {
          .kind = LawKind::box, .lower = -m.max_force, .upper = m.max_force, .on_velocity = true};
    }
    out.add_block(law, {Origin::motor, k}, row_id(Origin::motor, k));
    add_term(term(m.on), state, 0, query.accelerations, out);
    // The speed wanted is the one at the end of the step.
    const FunctionValue speed = evaluate(m.value, state.t + query.h);
    out.g.back() = 0;
    out.g_t.back() -= speed.value;
    out.jdot_v.back() -= speed.rate;
  }
}

void RigidSystem::add_limits(const State& state, const InteractionQuery& query,
                             Interactions& out) const {
  for (int k = 0; k < static_cast<int>(model_.limits.size()); ++k) {
    const Limit& l = model_.limits[k];
    const RowTerm t = term(l.on);
    const MeasureValue m = evaluate_term(t, state);
    const int a = model_.markers[t.marker_a].body;
    const int b = model_.markers[t.marker_b].body;
    const double rate = m.J.dot(stacked(velocities_[a], velocities_[b]));
    const double reach = query.envelope + 2 * query.h * std::abs(rate);
    for (int side = 0; side < 2; ++side) {
      const double gap = side == 0 ? m.value - l.lower : l.upper - m.value;
      if (!(gap <= reach)) continue;
      const Law law{.kind = LawKind::unilateral, .restitution = l.restitution};
      out.add_block(softened(law, l.softness), {Origin::limit, k}, row_id(Origin::limit, k, side));
      add_term(term(l.on, side == 0 ? 1 : -1), state, 0, query.accelerations, out);
      out.g.back() = gap;
    }
  }
}

void RigidSystem::add_frictions(const State& state, const InteractionQuery& query,
                                Interactions& out) const {
  for (int k = 0; k < static_cast<int>(model_.frictions.size()); ++k) {
    const JointFriction& f = model_.frictions[k];
    const Law law{.kind = LawKind::box, .lower = -f.bound, .upper = f.bound, .on_velocity = true};
    out.add_block(law, {Origin::friction, k}, row_id(Origin::friction, k));
    add_term(term(f.on), state, 0, query.accelerations, out);
    out.g.back() = 0;
  }
}

void RigidSystem::interactions(const State& state, const InteractionQuery& query,
                               Interactions& out) {
  out.clear(nv());
  refresh_places(state);
  add_joints(state, query, out);
  add_couplings(state, query, out);
  add_motors(state, query, out);
  if (query.equalities_only) return;  // the contacts stay those of the last full query
  add_limits(state, query, out);
  add_frictions(state, query, out);
  // What pulls from farther than the envelope must be seen from there.
  finder_.find(state, std::max(query.envelope, longest_pull_), query.h, contacts_);
  add_contacts(query, out);
}

void RigidSystem::geometric_stiffness(const State& state, const Interactions& rows,
                                      const Vector& lambda, ForceTangents& out) {
  refresh_places(state);
  for (int i = 0; i < rows.blocks(); ++i) {
    for (int r = 0; r < rows.laws[i].dim; ++r) {
      row_terms(rows.origins[i], rows.ids[i], r, terms_);
      for (const RowTerm& t : terms_) {
        const Marker& a = model_.markers[t.marker_a];
        const Marker& b = model_.markers[t.marker_b];
        const Mat12 K =
            -lambda[rows.J.row_start[i] + r] * t.factor *
            second_derivative(t.measure, places_[a.body], a.frame, places_[b.body], b.frame);
        const std::array<int, 2> dofs{dof(model_, a.body), dof(model_, b.body)};
        for (int p = 0; p < 2; ++p) {
          for (int s = 0; s < 2; ++s) {
            if (dofs[p] < 0 || dofs[s] < 0) continue;
            out.add(dofs[p], dofs[s], K.block<6, 6>(6 * p, 6 * s), Mat6::Zero());
          }
        }
      }
    }
  }
}

Energies RigidSystem::energies(const State& state) {
  Energies e;
  for (int slot = 0; slot < model_.slots; ++slot) {
    const Body& body = model_.bodies[model_.slot_body[slot]];
    const Vec3 omega = state.v.segment<3>(6 * slot + 3);
    e.kinetic += 0.5 * (body.mass * state.v.segment<3>(6 * slot).squaredNorm() +
                        omega.dot(body.inertia * omega));
    e.potential -= body.mass * model_.gravity.dot(state.q.segment<3>(7 * slot));
  }
  for (const Force& force : model_.forces) e.potential += potential_energy(force, model_, state);
  return e;
}

std::array<double, 2> RigidSystem::powers(const State& state) {
  std::array<double, 2> p{0, 0};
  for (const Force& force : model_.forces) {
    p[0] += dissipated_power(force, model_, state);
    p[1] += supplied_power(force, model_, state);
  }
  for (const Motor& motor : model_.motors) {
    if (motor.mode != MotorMode::force) continue;
    p[1] += evaluate(motor.value, state.t).value * coordinate_rate(model_, state, motor.on);
  }
  return p;
}

std::string RigidSystem::describe(const RowOrigin& origin) const {
  const auto named = [&](std::string_view kind, const std::string& name) {
    return name.empty() ? fmt::format("{} {}", kind, origin.index)
                        : fmt::format("{} '{}'", kind, name);
  };
  switch (origin.kind) {
    case Origin::joint:
      return named("joint", model_.joints[origin.index].name);
    case Origin::screw:
      return named("screw joint", model_.joints[origin.index].name);
    case Origin::coupling:
      return named("coupling", model_.couplings[origin.index].name);
    case Origin::motor:
      return named("motor", model_.motors[origin.index].name);
    case Origin::limit:
      return named("limit", model_.limits[origin.index].name);
    case Origin::friction:
      return named("joint friction", model_.frictions[origin.index].name);
    case Origin::contact: {
      const Contact& c = contacts_[origin.index];
      return fmt::format("contact of '{}' and '{}'", model_.bodies[c.body_a].name,
                         model_.bodies[c.body_b].name);
    }
  }
  return {};
}

}  // namespace urto
