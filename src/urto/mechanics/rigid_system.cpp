#include "urto/mechanics/rigid_system.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "urto/mechanics/rigid_scratch.h"

namespace urto {
namespace {

// Euler's equations by the implicit midpoint rule, I(ω⁺ − ω) + h ω̄ × Iω̄ = 0: it keeps the kinetic
// energy, for ω̄·(ω̄ × Iω̄) = 0, and |Iω|. Unknown is ω̄.
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

RigidSystem::RigidSystem(const Model& model)
    : model_(model), materials_(ContactFinder(model).materials()) {
  for (const Material& m : materials_) {
    if (m.cohesion > 0) longest_pull_ = std::max(longest_pull_, m.cohesion_range);
  }
  inverse_inertia_.assign(model.bodies.size(), 0.0);
  for (const int body : model.slot_body) {
    const Mat3 inertia = model.bodies[body].inertia;
    inverse_inertia_[body] = inertia.inverse().trace() / 3;
  }
  const auto moves = [&](int marker) {
    return model.bodies[model.markers[marker].body].kind == BodyKind::kinematic;
  };
  may_jump_ = !model.couplings.empty() ||
              std::any_of(model.joints.begin(), model.joints.end(),
                          [&](const Joint& j) { return moves(j.marker_a) || moves(j.marker_b); });
  find_ties();
}

std::unique_ptr<SystemWorkspace> RigidSystem::make_workspace() const {
  return std::make_unique<Scratch>(model_);
}

bool RigidSystem::may_be_one_sided() const {
  if (!model_.limits.empty() || !model_.frictions.empty()) return true;
  const auto collide = std::count_if(model_.shapes.begin(), model_.shapes.end(),
                                     [](const Shape& s) { return s.collides; });
  return collide > 1 || std::any_of(model_.motors.begin(), model_.motors.end(), [](const Motor& m) {
           return m.mode == MotorMode::speed && std::isfinite(m.max_force);
         });
}

void RigidSystem::force(const State& state, SystemWorkspace& work, Vector& f) const {
  f.setZero(nv());
  share_items(work.threads, model_.slots, bodies_at_a_time, [&](int slot) {
    const Body& body = model_.bodies[model_.slot_body[slot]];
    const int at = model_.layout.v_start[slot];
    f.segment<3>(at) = body.mass * model_.gravity;
    if (!body.gyroscopic) return;
    const Vec3 omega = state.v.segment<3>(at + 3);
    f.segment<3>(at + 3) = -omega.cross(body.inertia * omega);
  });
  for (const Force& force : model_.forces) add_force(force, model_, state, f);
  for (const Motor& motor : model_.motors) {
    if (motor.mode != MotorMode::force) continue;
    refresh_places(state, scratch(work));
    const RowTerm t = term(motor.on);
    const Row12 J = evaluate(motor.value, state.t).value * evaluate_term(t, state, scratch(work)).J;
    const int a = dof(model_, model_.markers[t.marker_a].body);
    const int b = dof(model_, model_.markers[t.marker_b].body);
    if (a >= 0) f.segment<6>(a) += J.head<6>();
    if (b >= 0) f.segment<6>(b) += J.tail<6>();
  }
}

void RigidSystem::remove_gyroscopic(const State& state, SystemWorkspace& work, Vector& f) const {
  share_items(work.threads, model_.slots, bodies_at_a_time, [&](int slot) {
    const Body& body = model_.bodies[model_.slot_body[slot]];
    if (!body.gyroscopic) return;
    const int at = model_.layout.v_start[slot] + 3;
    const Vec3 omega = state.v.segment<3>(at);
    f.segment<3>(at) += omega.cross(body.inertia * omega);
  });
}

void RigidSystem::turn_freely(double h, SystemWorkspace& work, Vector& v, Vector& increment) const {
  increment = h * v;
  share_items(work.threads, model_.slots, bodies_at_a_time, [&](int slot) {
    const Body& body = model_.bodies[model_.slot_body[slot]];
    const int at = model_.layout.v_start[slot] + 3;
    const Vec3 omega = v.segment<3>(at);
    const Vec3 moment = omega.cross(body.inertia * omega);
    if (!body.gyroscopic || moment.isZero(0)) return;
    const Vec3 turned = turned_freely(body.inertia, omega, h);
    increment.segment<3>(at) = 0.5 * h * (omega + turned);
    v.segment<3>(at) = turned;
  });
}

Energies RigidSystem::energies(const State& state, SystemWorkspace& work) const {
  const auto of_bodies = [&](int first, int last) {
    Energies e;
    for (int slot = first; slot < last; ++slot) {
      const Body& body = model_.bodies[model_.slot_body[slot]];
      const auto v = state.v.segment<3>(model_.layout.v_start[slot]);
      const Vec3 omega = state.v.segment<3>(model_.layout.v_start[slot] + 3);
      e.kinetic += 0.5 * (body.mass * v.squaredNorm() + omega.dot(body.inertia * omega));
      e.potential -=
          body.mass * model_.gravity.dot(state.q.segment<3>(model_.layout.q_start[slot]));
    }
    return e;
  };
  Energies e =
      share_sum(work.threads, model_.slots, bodies_at_a_time, scratch(work).energies, of_bodies);
  for (const Force& force : model_.forces) e.potential += potential_energy(force, model_, state);
  return e;
}

Powers RigidSystem::powers(const State& state, SystemWorkspace& /*work*/) const {
  Powers p;
  for (const Force& force : model_.forces) {
    p.dissipated += dissipated_power(force, model_, state);
    p.supplied += supplied_power(force, model_, state);
  }
  for (const Motor& motor : model_.motors) {
    if (motor.mode != MotorMode::force) continue;
    p.supplied += evaluate(motor.value, state.t).value * coordinate_rate(model_, state, motor.on);
  }
  return p;
}

bool RigidSystem::has_powers() const {
  return !model_.forces.empty() ||
         std::any_of(model_.motors.begin(), model_.motors.end(),
                     [](const Motor& m) { return m.mode == MotorMode::force; });
}

std::string RigidSystem::describe(const Interactions& rows, int block) const {
  const RowOrigin& origin = rows.origins[block];
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
      const Contact& c = rows.contacts[origin.index];
      return fmt::format("contact of '{}' and '{}'", model_.bodies[c.body_a].name,
                         model_.bodies[c.body_b].name);
    }
  }
  return {};
}

}  // namespace urto
