// Contacts as rows: the law of a pair of materials, and the relative velocity at the point in the
// frame of the contact.
#include <algorithm>
#include <array>
#include <cmath>

#include "urto/collision/contact_curvature.h"
#include "urto/mechanics/rigid_scratch.h"

namespace urto {
namespace {

using Rows66 = Eigen::Matrix<double, 6, 6, Eigen::RowMajor>;

// Rows (n, t₁, t₂, m₁, m₂, s) of a body: the velocity of the point and length × the angular
// velocity, in the frame [n t₁ t₂].
Rows66 contact_rows(const Mat3& frame, const Mat3& A, const Vec3& arm, double length) {
  Rows66 rows = Rows66::Zero();
  rows.topRows<3>() = contact_velocity_rows(frame, A, arm);
  const Mat3 turning = length * frame.transpose() * A;  // Ω is in body axes
  rows.block<2, 3>(3, 3) = turning.bottomRows<2>();
  rows.block<1, 3>(5, 3) = turning.topRows<1>();
  return rows;
}

// Which of the six rows a law has, in its order: with spinning but no rolling friction the spin
// follows the forces.
int contact_row(const Law& law, int r) {
  return law.dim == 4 && r == 3 ? 5 : r;
}

// Rates of the columns (n, t₁, t₂) of contact_frame while n changes by δn.
Mat3 frame_rate(const Mat3& axes, const Vec3& dn) {
  const double spin = frame_spin(axes.col(0), dn);
  Mat3 out;
  out.col(0) = dn;
  out.col(1) = -axes.col(0) * axes.col(1).dot(dn) + spin * axes.col(2);
  out.col(2) = -axes.col(0) * axes.col(2).dot(dn) - spin * axes.col(1);
  return out;
}

// From the point of the rows, midway, to the surface of A (side 0) or B.
Vec3 to_surface(const Contact& c, int side) {
  return (side == 0 ? 0.5 : -0.5) * c.gap * c.normal;
}

/// What a contact does along the motion of its bodies, in world axes.
struct ContactDrift {
  Mat3 axes, axes_rate;
  Vec3 slip;         ///< velocity of A's point relative to B's
  Vec3 bend;         ///< ω_A × ṙ_A − ω_B × ṙ_B, and the accelerations of kinematic bodies
  Vec3 spin;         ///< ω_A − ω_B
  Vec3 driven_spin;  ///< rate of that from kinematic bodies
};

ContactDrift contact_drift(const Model& model, const State& state, const Contact& c,
                           const std::vector<BodyPlace>& places,
                           const std::vector<BodyVelocity>& velocities,
                           const ContactFinder& finder) {
  const std::array<int, 2> bodies{c.body_a, c.body_b};
  std::array<Vec3, 2> omega, speed, arm, point, surface;
  for (int side = 0; side < 2; ++side) {
    const BodyPlace& at = places[bodies[side]];
    const BodyVelocity& v = velocities[bodies[side]];
    arm[side] = c.point + (side == 0 ? 1 : -1) * c.arm - at.x;
    omega[side] = at.A * v.omega;
    speed[side] = v.v;
    point[side] = v.v + omega[side].cross(arm[side]);
    surface[side] = v.v + omega[side].cross(arm[side] + to_surface(c, side));
  }
  const ContactRates rates = contact_rates(contact_curvature(finder, state, c));
  const ContactMotion m = contact_motion(rates, omega[0], omega[1], surface[0] - surface[1]);
  const Vec3 midway = 0.5 * (surface[0] + m.point_a + surface[1] + m.point_b);
  ContactDrift out;
  out.axes = contact_frame(c.normal);
  out.axes_rate = frame_rate(out.axes, m.normal);
  out.slip = point[0] - point[1];
  out.bend = omega[0].cross(midway - speed[0]) - omega[1].cross(midway - speed[1]);
  out.spin = omega[0] - omega[1];
  out.driven_spin = Vec3::Zero();
  for (int side = 0; side < 2; ++side) {
    const Body& body = model.bodies[bodies[side]];
    if (body.kind != BodyKind::kinematic) continue;
    const double sign = side == 0 ? 1 : -1;
    const BodyVelocity a = kinematic_acceleration(body, state.t);
    const Vec3 turning = places[bodies[side]].A * a.omega;
    out.bend += sign * (a.v + turning.cross(arm[side]));
    out.driven_spin += sign * turning;
  }
  return out;
}

}  // namespace

// A length ℓ with which moments and forces weigh alike in one block, ℓ² Σ tr(I⁻¹)/3 = Σ 1/m:
// solvers step with one number a block, and residuals add squares.
double RigidSystem::gyration_length(const Contact& c) const {
  double translation = 0, rotation = 0;
  for (const int body : {c.body_a, c.body_b}) {
    if (model_.bodies[body].slot < 0) continue;
    translation += 1 / model_.bodies[body].mass;
    rotation += inverse_inertia_[body];
  }
  return rotation > 0 ? std::sqrt(translation / rotation) : 1;
}

Law RigidSystem::contact_law(const Contact& c, double envelope) const {
  const Material& m = materials_[c.material];
  Law law{.kind = LawKind::coulomb,
          .dim = 3,
          .friction = friction_at(m, 0).value,
          .restitution = m.restitution,
          .restitution_threshold = m.restitution_threshold,
          .stiffness = m.stiffness,
          .damping = m.damping,
          .recovery = Recovery::linear};
  const bool rolls = m.rolling_friction > 0;
  const bool spins = m.spinning_friction > 0;
  if (rolls || spins) {
    law.dim += (rolls ? 2 : 0) + (spins ? 1 : 0);
    law.length = gyration_length(c);
    law.rolling = m.rolling_friction / law.length;
    law.spinning = m.spinning_friction / law.length;
  } else if (law.friction == 0) {
    law.kind = LawKind::unilateral;
    law.dim = 1;
  }
  if (m.cohesion > 0) {
    law.cohesion_range = m.cohesion_range > 0 ? m.cohesion_range : 0.1 * envelope;
    law.cohesion = m.cohesion;
  }
  return law;
}

// Points fixed in the bodies, not J δ: two bodies that turn as one would drift apart by it, by the
// difference of chord and tangent in every step.
ContactShift RigidSystem::contact_shift(const State& state, const Interactions& rows, int block,
                                        const Vec3& point, const Vector& increment, double from,
                                        SystemWorkspace& work) const {
  Scratch& s = scratch(work);
  refresh_places(state, s);
  const Contact& c = rows.contacts[rows.origins[block].index];
  ContactShift out{.axes = contact_frame(c.normal), .point = c.point};
  for (const int body : {c.body_a, c.body_b}) {
    const Body& b = model_.bodies[body];
    const BodyPlace& now = s.places[body];
    const double sign = body == c.body_a ? 1 : -1;
    if (b.slot >= 0) {
      const int at = model_.layout.v_start[b.slot];
      const Vec3 moved = increment.segment<3>(at);
      const Vec3 turned = now.A * increment.segment<3>(at + 3);
      const Vec3 arm = point - (now.x - moved);
      out.slip += sign * (moved + rotate(quaternion_exp(turned), arm) - arm);
      out.turn += 0.5 * turned;
    } else if (b.kind == BodyKind::kinematic) {
      State earlier;
      earlier.t = from;
      const BodyPlace then = place(model_, earlier, body);
      out.slip += sign * (now.x + now.A * (then.A.transpose() * (point - then.x)) - point);
      out.turn += 0.5 * (state.t - from) * (now.A * s.velocities[body].omega);
    }
  }
  return out;
}

void RigidSystem::detect_contacts(double envelope, Scratch& s, Interactions& rows) const {
  const int first = rows.blocks(), contacts = static_cast<int>(rows.contacts.size());
  rows.append_blocks(contacts);
  s.columns.resize(contacts);
  share_items(s.threads, contacts, bodies_at_a_time, [&](int k) {
    const Contact& c = rows.contacts[k];
    rows.laws[first + k] = contact_law(c, envelope);
    rows.origins[first + k] = {Origin::contact, k};
    rows.ids[first + k] = c.id;
    s.columns[k] = {dof(model_, c.body_a), dof(model_, c.body_b)};
  });
  rows.append_rows(first, 6, s.columns);
}

void RigidSystem::measure_contact(const State& state, int block, bool accelerations,
                                  const Scratch& s, Interactions& rows) const {
  const Contact& c = rows.contacts[rows.origins[block].index];
  const Law& law = rows.laws[block];
  const Mat3 frame = contact_frame(c.normal);
  const int first = rows.J.row_start[block];
  rows.g[first] = c.gap;
  int entry = 0;
  for (int side = 0; side < 2; ++side) {
    const int body = side == 0 ? c.body_a : c.body_b;
    const BodyKind kind = model_.bodies[body].kind;
    if (kind == BodyKind::fixed) continue;
    const double sign = side == 0 ? 1 : -1;
    const BodyPlace& at = s.places[body];
    const Rows66 all = sign * contact_rows(frame, at.A, c.point + sign * c.arm - at.x, law.length);
    double* values = kind == BodyKind::dynamic ? rows.entry(block, entry++) : nullptr;
    for (int r = 0; r < law.dim; ++r) {
      const auto row = all.row(contact_row(law, r));
      if (values != nullptr) {
        Eigen::Map<Eigen::Matrix<double, 1, 6>>(values + 6 * r) = row;
      } else {
        rows.g_t[first + r] +=
            row.head<3>().dot(s.velocities[body].v) + row.tail<3>().dot(s.velocities[body].omega);
      }
    }
  }
  measure_friction(state, block, rows);
  if (accelerations) measure_contact_acceleration(state, block, s, rows);
}

// μ at the slip of this state, where it depends on it.
void RigidSystem::measure_friction(const State& state, int block, Interactions& rows) const {
  Law& law = rows.laws[block];
  const Material& m = materials_[rows.contacts[rows.origins[block].index].material];
  if (!has_stribeck_effect(m)) return;
  std::array<double, 6> u{};
  multiply_add_block(rows.J, block, state.v.data(), u.data());
  const double* g_t = rows.g_t.data() + rows.J.row_start[block];
  const FrictionCoefficient mu = friction_at(m, std::hypot(u[1] + g_t[1], u[2] + g_t[2]));
  law.friction = mu.value;
  law.friction_slope = mu.slope;
}

// With the point of the rows at r from each centre and their directions d, J v = d·(v_A + ω_A × r_A
// − v_B − ω_B × r_B), so that J̇v = ḋ·u + d·(ω_A × ṙ_A − ω_B × ṙ_B), and likewise of the rolling
// rows ℓ d·(ω_A − ω_B). What the point and the directions do while the surfaces roll on each other
// follows from their curvature (recipe 004, supplement §4).
void RigidSystem::measure_contact_acceleration(const State& state, int block, const Scratch& s,
                                               Interactions& rows) const {
  const Contact& c = rows.contacts[rows.origins[block].index];
  const Law& law = rows.laws[block];
  const ContactDrift drift = contact_drift(model_, state, c, s.places, s.velocities, s.finder);
  const int first = rows.J.row_start[block];
  for (int r = 0; r < law.dim; ++r) {
    const int row = contact_row(law, r);
    const int axis = row < 3 ? row : row == 5 ? 0 : row - 2;
    rows.jdot_v[first + r] =
        row < 3 ? drift.axes_rate.col(axis).dot(drift.slip) + drift.axes.col(axis).dot(drift.bend)
                : law.length * (drift.axes_rate.col(axis).dot(drift.spin) +
                                drift.axes.col(axis).dot(drift.driven_spin));
  }
}

// ∂(Jᵀλ)/∂q column by column: a unit motion of one of the two bodies turns the directions and moves
// the point.
void RigidSystem::add_contact_stiffness(const State& state, const Interactions& rows, int block,
                                        const Vector& lambda, double factor, const Scratch& s,
                                        BlockMatrix& out) const {
  const Contact& c = rows.contacts[rows.origins[block].index];
  const Law& law = rows.laws[block];
  Vec3 force = Vec3::Zero(), moment = Vec3::Zero();  // in the frame of the contact
  for (int r = 0; r < law.dim; ++r) {
    const int row = contact_row(law, r);
    const double value = lambda[rows.J.row_start[block] + r];
    if (row < 3) {
      force[row] = value;
    } else {
      moment[row == 5 ? 0 : row - 2] = law.length * value;
    }
  }
  const ContactRates rates = contact_rates(contact_curvature(s.finder, state, c));
  const std::array<int, 2> bodies{c.body_a, c.body_b};
  const Mat3 axes = contact_frame(c.normal);
  const std::array<Vec3, 2> arms{c.point + c.arm - s.places[c.body_a].x,
                                 c.point - c.arm - s.places[c.body_b].x};
  for (int moving = 0; moving < 2; ++moving) {
    if (model_.bodies[bodies[moving]].slot < 0) continue;
    std::array<Eigen::Matrix<double, 6, 6>, 2> columns{Eigen::Matrix<double, 6, 6>::Zero(),
                                                       Eigen::Matrix<double, 6, 6>::Zero()};
    for (int k = 0; k < 6; ++k) {
      std::array<Vec3, 2> shift{Vec3::Zero(), Vec3::Zero()}, turn{Vec3::Zero(), Vec3::Zero()};
      if (k < 3) {
        shift[moving][k] = 1;
      } else {
        turn[moving] = s.places[bodies[moving]].A.col(k - 3);
      }
      const std::array<Vec3, 2> surface{shift[0] + turn[0].cross(arms[0] + to_surface(c, 0)),
                                        shift[1] + turn[1].cross(arms[1] + to_surface(c, 1))};
      const ContactMotion m = contact_motion(rates, turn[0], turn[1], surface[0] - surface[1]);
      const Vec3 midway = 0.5 * (surface[0] + m.point_a + surface[1] + m.point_b);
      const Mat3 turned = frame_rate(axes, m.normal);
      const Vec3 F = axes * force, dF = turned * force;
      const Vec3 M = axes * moment, dM = turned * moment;
      for (int side = 0; side < 2; ++side) {
        const double sign = side == 0 ? 1 : -1;
        const Mat3& A = s.places[bodies[side]].A;
        const Vec3 torque = arms[side].cross(F) + M;
        const Vec3 change = (midway - shift[side]).cross(F) + arms[side].cross(dF) + dM;
        columns[side].col(k) << sign * dF,
            sign * A.transpose() * (change - turn[side].cross(torque));
      }
    }
    for (int side = 0; side < 2; ++side) {
      const int row = model_.bodies[bodies[side]].slot;
      if (row >= 0) out.add(row, model_.bodies[bodies[moving]].slot, columns[side], -factor);
    }
  }
}

}  // namespace urto
