// The workspace of RigidSystem, shared by its source files.
#pragma once

#include "urto/mechanics/rigid_system.h"

namespace urto {

// Accelerations of a kinematic body; zero for the others.
inline BodyVelocity kinematic_acceleration(const Body& body, double t) {
  BodyVelocity out;
  if (body.kind != BodyKind::kinematic) return out;
  for (int i = 0; i < 3; ++i) out.v[i] = evaluate(body.motion.position[i], t).acceleration;
  out.omega = evaluate(body.motion.angle, t).acceleration * body.motion.axis;
  return out;
}

struct RigidSystem::Scratch final : SystemWorkspace {
  explicit Scratch(const Model& model) : finder(model) {
    places.resize(model.bodies.size());
    velocities.resize(model.bodies.size());
  }
  ContactFinder finder;
  // Of all bodies at the state last looked at, which is kept to be recognised.
  std::vector<BodyPlace> places = {};
  std::vector<BodyVelocity> velocities = {};
  double t = 0;
  Vector q, v;
  bool placed = false;
  std::vector<RowTerm> terms = {};
};

inline RigidSystem::Scratch& RigidSystem::scratch(SystemWorkspace& work) {
  return static_cast<Scratch&>(work);
}

inline void RigidSystem::refresh_places(const State& state, Scratch& s) const {
  if (s.placed && s.t == state.t && s.q == state.q && s.v == state.v) return;
  for (int k = 0; k < static_cast<int>(model_.bodies.size()); ++k) {
    s.places[k] = place(model_, state, k);
    s.velocities[k] = velocity(model_, state, k);
  }
  s.t = state.t;
  s.q = state.q;
  s.v = state.v;
  s.placed = true;
}

}  // namespace urto
