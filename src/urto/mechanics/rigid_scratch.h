// The workspace of RigidSystem, shared by its source files.
#pragma once

#include <array>

#include "urto/mechanics/rigid_system.h"

namespace urto {

// What a thread takes of the bodies at once.
inline constexpr int bodies_at_a_time = 256;

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
  std::vector<std::array<int, 2>> columns = {};  ///< of J, for each contact; −1: none
  std::vector<Energies> energies = {};           ///< of some bodies each
  std::vector<std::vector<RowTerm>> terms = std::vector<std::vector<RowTerm>>(1);  ///< per thread
};

inline RigidSystem::Scratch& RigidSystem::scratch(SystemWorkspace& work) {
  return static_cast<Scratch&>(work);
}

inline void RigidSystem::refresh_places(const State& state, Scratch& s) const {
  if (s.placed && s.t == state.t && s.q == state.q && s.v == state.v) return;
  const int bodies = static_cast<int>(model_.bodies.size());
  share_items(s.threads, bodies, bodies_at_a_time, [&](int k) {
    s.places[k] = place(model_, state, k);
    s.velocities[k] = velocity(model_, state, k);
  });
  s.t = state.t;
  s.q = state.q;
  s.v = state.v;
  s.placed = true;
}

}  // namespace urto
