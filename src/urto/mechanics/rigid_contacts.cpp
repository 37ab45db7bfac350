// Contacts as rows: the law of a pair of materials, and the relative velocity at the point in the frame of the contact.
#include <algorithm>
#include <cmath>

#include "urto/mechanics/rigid_scratch.h"

namespace urto {
namespace {

using Rows66 = Eigen::Matrix<double, 6, 6, Eigen::RowMajor>;

// Rows (n, t₁, t₂, m₁, m₂, s) of a body: the velocity of the point and length × the angular velocity, in the frame [n t₁ t₂].
Rows66 contact_rows(const Mat3& frame, const Mat3& A, const Vec3& arm, double length) {
  Rows66 rows = Rows66::Zero();
  rows.topRows<3>() = contact_velocity_rows(frame, A, arm);
  const Mat3 turning = length * frame.transpose() * A;  // Ω is in body axes
  rows.block<2, 3>(3, 3) = turning.bottomRows<2>();
  rows.block<1, 3>(5, 3) = turning.topRows<1>();
  return rows;
}

// Which of the six rows a law has, in its order: with spinning but no rolling friction the spin follows the forces.
int contact_row(const Law& law, int r) {
  return law.dim == 4 && r == 3 ? 5 : r;
}

}  // namespace

// A length ℓ with which moments and forces weigh alike in one block, ℓ² Σ tr(I⁻¹)/3 = Σ 1/m: solvers step with one number a block, and
// residuals add squares.
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
          .friction = m.friction,
          .restitution = m.restitution,
          .restitution_threshold = m.restitution_threshold,
          .stiffness = m.stiffness,
          .damping = m.damping,
          .recovers_slowly = true};
  const bool rolls = m.rolling_friction > 0;
  const bool spins = m.spinning_friction > 0;
  if (rolls || spins) {
    law.dim += (rolls ? 2 : 0) + (spins ? 1 : 0);
    law.length = gyration_length(c);
    law.rolling = m.rolling_friction / law.length;
    law.spinning = m.spinning_friction / law.length;
  } else if (m.friction == 0) {
    law.kind = LawKind::unilateral;
    law.dim = 1;
  }
  if (m.cohesion > 0) {
    law.cohesion_range = m.cohesion_range > 0 ? m.cohesion_range : 0.1 * envelope;
    law.cohesion = m.cohesion;
  }
  return law;
}

// Points fixed in the bodies, not J δ: two bodies that turn as one would drift apart by it, by the difference of chord and tangent in every step.
ContactShift RigidSystem::contact_shift(const State& state, const Interactions& rows, int block,
                                        const Vec3& point, const Vector& increment, double from,
                                        Workspace& work) const {
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

void RigidSystem::detect_contacts(double envelope, Scratch& /*s*/, Interactions& rows) const {
  for (int k = 0; k < static_cast<int>(rows.contacts.size()); ++k) {
    const Contact& c = rows.contacts[k];
    rows.add_block(contact_law(c, envelope), {Origin::contact, k}, c.id);
    for (const int body : {c.body_a, c.body_b}) {
      if (const int column = dof(model_, body); column >= 0) rows.add_entry(column, 6);
    }
  }
}

void RigidSystem::measure_contact(const State& /*state*/, int block, bool /*accelerations*/,
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
    const Rows66 all =
        sign * contact_rows(frame, at.A, c.point + sign * c.arm - at.x, law.length);
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
}

}  // namespace urto
