// Runs of the verified cases of the supplement to recipe 004 (V1–V23): h fixed, what the scheme
// promises of every step noted.
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <stdexcept>

#include "stepper/scenes.h"
#include "urto/math/rotation.h"
#include "urto/mechanics/textbook_contact.h"
#include "urto/stepper/nonsmooth_alpha.h"
#include "urto/stepper/simulation.h"

namespace urto::testing {

inline SimulationOptions best(AlphaAlgorithm algorithm = AlphaAlgorithm::one_pass) {
  SimulationOptions o;
  o.stepper.name = "nonsmooth-alpha";
  o.stepper.alpha_algorithm = algorithm;
  o.solver.tolerance = 1e-12;
  o.contact_envelope = 0.01;
  return o;
}

/// As N1, N2 and N3 of the table without more words: the paper's gate and bound, no restart.
inline SimulationOptions as_published(AlphaAlgorithm algorithm) {
  SimulationOptions o = best(algorithm);
  o.stepper.activation = Activation::free;
  o.stepper.restitution_bound = RestitutionBound::source;
  o.stepper.restart = false;
  return o;
}

struct Course {
  State state;
  double worst_residual = 0, least_gap = 0, joint_error = 0, joint_rate = 0, most_gain = 0;
  double energy = 0;
  int missed = 0, cuts = 0;
};

inline Course course(
    const System& system, State state, const SimulationOptions& o, double h, double end,
    const std::function<void(const State&, const NonsmoothAlphaStepper&)>& look = {}) {
  const std::unique_ptr<Stepper> made = make_stepper(system, o);
  SystemAccess access(system);
  Interactions rows;
  StepMemory memory;
  StepReport report;
  Course out;
  const auto energy = [&] {
    const Energies e = access.energies(state);
    return e.kinetic + e.potential;
  };
  out.energy = energy();
  for (int k = 0; k < std::lround(end / h); ++k) {
    const StepOutcome outcome = made->step(state, h, memory, report);
    if (outcome.failed()) throw std::runtime_error(outcome.message);
    state.t = (k + 1) * h;
    out.worst_residual = std::max(out.worst_residual, report.certificate.residual());
    out.missed += report.meets_tolerance ? 0 : 1;
    out.cuts += report.cuts;
    access.interactions(state, {.h = 0, .envelope = 0.01}, rows);
    Vector rate(rows.rows());
    multiply(rows.J, state.v, rate);
    for (int i = 0; i < rows.blocks(); ++i) {
      const int first = rows.J.row_start[i];
      if (rows.laws[i].kind != LawKind::equality) {
        out.least_gap = std::min(out.least_gap, rows.g[first]);
        continue;
      }
      for (int r = first; r < rows.J.row_start[i + 1]; ++r) {
        out.joint_error = std::max(out.joint_error, std::abs(rows.g[r]));
        out.joint_rate = std::max(out.joint_rate, std::abs(rate[r]));
      }
    }
    const double now = energy();
    out.most_gain = std::max(out.most_gain, now - out.energy);
    out.energy = now;
    if (look) look(state, dynamic_cast<const NonsmoothAlphaStepper&>(*made));
  }
  out.state = state;
  return out;
}

inline const Vec3 thrown_half_edges(0.3, 0.2, 0.1);

/// The box and the ellipsoid of V13, with V22's start unless a throw is given.
inline Model thrown_body(bool box, double mu = 0.4, double e = 0.5) {
  Model m = testing::empty_model();
  testing::add_floor(m);
  const Vec3 s = thrown_half_edges.array().square();
  const Vec3 sums(s.y() + s.z(), s.x() + s.z(), s.x() + s.y());
  testing::add_rigid(m, "body", {0, 0, 0.8}, 1, (sums / (box ? 3 : 5)).asDiagonal());
  m.shapes.push_back({.kind = box ? ShapeKind::box : ShapeKind::ellipsoid,
                      .size = thrown_half_edges,
                      .pose = {},
                      .body = 1});
  m.bodies[1].start.rotation = Vec4(1, 0.3, 0.2, 0.1).normalized();
  m.bodies[1].velocity = Vec3(1, -0.5, 0);
  m.bodies[1].angular_velocity = Vec3(2, 3, -1);
  m.materials[0].friction = mu;
  m.materials[0].restitution = e;
  finalize(m);
  return m;
}

/// V23: the ellipsoid rolls without slip.
inline Model rolling_ellipsoid() {
  Model m = thrown_body(false, 2, 0);
  const Vec4 p = Vec4(1, 0.3, 0.2, 0.1).normalized();
  const Mat3 R = rotation_matrix(p);
  const Vec3 n = R.transpose() * Vec3::UnitZ(), a = thrown_half_edges.array().square();
  const double s = std::sqrt(n.dot(a.cwiseProduct(n)));
  const Vec3 c = -a.cwiseProduct(n) / s, spin(2, 3, 1);
  m.bodies[1].start.position = Vec3(0, 0, s);
  m.bodies[1].angular_velocity = spin;
  m.bodies[1].velocity = -R * spin.cross(c);
  finalize(m);
  return m;
}

}  // namespace urto::testing
