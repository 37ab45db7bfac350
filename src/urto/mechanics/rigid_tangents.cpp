// Mass and tangents of the rigid model, which of its springs a step resolves, and how the forces
// and rates of its rows change with the positions.
#include <algorithm>
#include <array>

#include "urto/math/convex_set.h"
#include "urto/mechanics/rigid_scratch.h"

namespace urto {
namespace {

using Mat6 = Eigen::Matrix<double, 6, 6>;

/// The bodies of a spring or bushing, −1 for forces that are neither.
std::array<int, 2> bodies_of(const Force& force, const Model& model) {
  return std::visit(
      [&](const auto& f) -> std::array<int, 2> {
        if constexpr (requires { f.marker_b; })
          return {model.markers[f.marker_a].body, model.markers[f.marker_b].body};
        else
          return {-1, -1};
      },
      force);
}

}  // namespace

// Rigid joints that hold the bodies of a spring to each other, or to what does not move freely.
void RigidSystem::find_ties() {
  for (int k = 0; k < static_cast<int>(model_.joints.size()); ++k) {
    if (is_soft(Law{.stiffness = model_.joints[k].softness.stiffness})) continue;
    for (int f = 0; f < static_cast<int>(model_.forces.size()); ++f) {
      const std::array<int, 2> pair = bodies_of(model_.forces[f], model_);
      if (pair[0] < 0) continue;
      bool holds = false, within = true;
      for (const int marker : {model_.joints[k].marker_a, model_.joints[k].marker_b}) {
        const int body = model_.markers[marker].body;
        if (model_.bodies[body].slot < 0) continue;
        holds = true;
        within = within && (body == pair[0] || body == pair[1]);
      }
      if (holds && within) ties_.push_back({.force = f, .joint = k});
    }
  }
  std::stable_sort(ties_.begin(), ties_.end(),
                   [](const Tie& a, const Tie& b) { return a.force < b.force; });
}

// How the two bodies of a spring give way to an impulse, M⁻¹ − M⁻¹Jᵀ(J M⁻¹Jᵀ)⁻¹J M⁻¹ with J the
// rows of the joints between them and to the ground, taken in one by one. A bob on a hinge is as
// heavy as it is about the hinge. Joints to other bodies only make them heavier: what is missed
// makes a spring look stiffer than it is.
Mat12 RigidSystem::inverse_mass(int force, const State& state, Scratch& s) const {
  const std::array<int, 2> pair = bodies_of(model_.forces[force], model_);
  Mat12 free = Mat12::Zero();
  for (int side = 0; side < 2; ++side) {
    const Body& body = model_.bodies[pair[side]];
    if (body.slot < 0) continue;
    free.diagonal().segment<3>(6 * side).setConstant(1 / body.mass);
    free.block<3, 3>(6 * side + 3, 6 * side + 3) = body.inertia.inverse();
  }
  Mat12 held = free;
  const auto take = [&](const RowOrigin& origin, int row) {
    row_terms(origin, 0, row, s.terms[0]);
    Row12 direction = Row12::Zero();
    for (const RowTerm& t : s.terms[0]) {
      const Row12 J = t.factor * evaluate_term(t, state, s).J;
      const int bodies[2] = {model_.markers[t.marker_a].body, model_.markers[t.marker_b].body};
      for (int end = 0; end < 2; ++end) {
        for (int side = 0; side < 2; ++side) {
          if (bodies[end] == pair[side]) direction.segment<6>(6 * side) += J.segment<6>(6 * end);
        }
      }
    }
    const Row12 change = held * direction;
    const double gives = direction.dot(change);
    // A row that others imply already has nothing left to hold.
    constexpr double redundant = 1e-9;
    if (gives > redundant * direction.dot(free * direction))
      held -= change * change.transpose() / gives;
  };
  const auto first = std::lower_bound(ties_.begin(), ties_.end(), force,
                                      [](const Tie& t, int f) { return t.force < f; });
  for (auto tie = first; tie != ties_.end() && tie->force == force; ++tie) {
    const JointKind kind = model_.joints[tie->joint].kind;
    const int rows = static_cast<int>(held_measures(kind).size());
    for (int row = 0; row < rows; ++row) take({Origin::joint, tie->joint}, row);
    if (kind == JointKind::screw) take({Origin::screw, tie->joint}, 0);
  }
  return held;
}

void RigidSystem::assemble(const State& state, const Coefficients& c, Tangent kind,
                           SystemWorkspace& work, BlockMatrix& out) const {
  share_items(work.threads, model_.slots, bodies_at_a_time, [&](int slot) {
    const Body& body = model_.bodies[model_.slot_body[slot]];
    if (c.mass != 0) {  // inertia is in body axes: constant
      auto block = out.block(slot);
      block.topLeftCorner<3, 3>().diagonal().array() += c.mass * body.mass;
      block.bottomRightCorner<3, 3>() += c.mass * body.inertia;
    }
    if (c.damping == 0 || !body.gyroscopic) return;
    const Vec3 omega = state.v.segment<3>(model_.layout.v_start[slot] + 3);
    if (omega.isZero(0)) return;
    // Recipe 003 §5.11. Of −(Iω)~, which does no work, a symmetric matrix would see nothing: recipe
    // 002 §2.11.
    const bool exact = kind == Tangent::exact;
    if (!exact && out.symmetry == BlockMatrix::Symmetry::symmetric) return;
    Mat6 damping = Mat6::Zero();
    damping.bottomRightCorner<3, 3>() = -skew(body.inertia * omega);
    if (exact) damping.bottomRightCorner<3, 3>() += skew(omega) * body.inertia;
    out.add(slot, slot, damping, c.damping);
  });
  Scratch& s = scratch(work);
  TangentFactors factors{.damping = c.damping, .stiffness = c.stiffness, .part = c.part};
  const bool parts = c.part.kind != StiffnessPart::Kind::all && c.stiffness != 0;
  if (parts) refresh_places(state, s);
  for (int f = 0; f < static_cast<int>(model_.forces.size()); ++f) {
    Mat12 inverse;
    factors.inverse_mass = nullptr;
    if (parts && bodies_of(model_.forces[f], model_)[0] >= 0) {
      inverse = inverse_mass(f, state, s);
      factors.inverse_mass = &inverse;
    }
    add_tangents(model_.forces[f], model_, state, kind, factors, out);
  }
}

void RigidSystem::add_geometric_stiffness(const State& state, const Interactions& rows,
                                          const Vector& lambda, double factor,
                                          SystemWorkspace& work, BlockMatrix& out) const {
  Scratch& scr = scratch(work);
  refresh_places(state, scr);
  if (!rows.contacts.empty()) scr.finder.place_colliders(state, 0);
  for (int i = 0; i < rows.blocks(); ++i) {
    if (rows.origins[i].kind == Origin::contact) {
      const Contact& c = rows.contacts[rows.origins[i].index];
      const std::array<int, 2> nodes{model_.bodies[c.body_a].slot, model_.bodies[c.body_b].slot};
      const double* values = lambda.data() + rows.J.row_start[i];
      if (std::all_of(values, values + rows.laws[i].dim, [](double x) { return x == 0; })) continue;
      const ContactStiffness K = contact_stiffness(state, rows, i, values, scr);
      for (int moving = 0; moving < 2; ++moving) {
        for (int side = 0; side < 2; ++side) {
          if (nodes[moving] >= 0 && nodes[side] >= 0)
            out.add(nodes[side], nodes[moving], K[moving][side], -factor);
        }
      }
      continue;
    }
    for (int r = 0; r < rows.laws[i].dim; ++r) {
      row_terms(rows.origins[i], rows.ids[i], r, scr.terms[0]);
      for (const RowTerm& t : scr.terms[0]) {
        const Marker& a = model_.markers[t.marker_a];
        const Marker& b = model_.markers[t.marker_b];
        const Mat12 K =
            -factor * lambda[rows.J.row_start[i] + r] * t.factor *
            second_derivative(t.measure, scr.places[a.body], a.frame, scr.places[b.body], b.frame);
        const std::array<int, 2> nodes{model_.bodies[a.body].slot, model_.bodies[b.body].slot};
        for (int p = 0; p < 2; ++p) {
          for (int q = 0; q < 2; ++q) {
            if (nodes[p] >= 0 && nodes[q] >= 0)
              out.add(nodes[p], nodes[q], K.block<6, 6>(6 * p, 6 * q));
          }
        }
      }
    }
  }
}

// Row by row vᵀ ∂(J_rᵀ)/∂q, of the bodies that the row touches.
void RigidSystem::rate_tangent(const State& state, const Interactions& rows, SystemWorkspace& work,
                               BlockRows& out) const {
  Scratch& scr = scratch(work);
  refresh_places(state, scr);
  if (!rows.contacts.empty()) scr.finder.place_colliders(state, 0);
  out = rows.J;
  std::fill(out.values.begin(), out.values.end(), 0.0);
  using Six = Eigen::Matrix<double, 1, 6>;
  const auto add = [&](int block, int row, int node, const Six& values) {
    for (int e = out.entry_start[block]; e < out.entry_start[block + 1]; ++e) {
      const BlockRows::Entry& entry = out.entries[e];
      if (entry.column != model_.layout.v_start[node]) continue;
      Eigen::Map<Six>(out.values.data() + entry.offset + row * entry.width) += values;
    }
  };
  for (int i = 0; i < rows.blocks(); ++i) {
    const bool contact = rows.origins[i].kind == Origin::contact;
    for (int r = 0; r < rows.laws[i].dim; ++r) {
      if (contact) {
        const Contact& c = rows.contacts[rows.origins[i].index];
        const std::array<int, 2> nodes{model_.bodies[c.body_a].slot, model_.bodies[c.body_b].slot};
        std::array<double, max_block> unit{};
        unit[r] = 1;
        const ContactStiffness K = contact_stiffness(state, rows, i, unit.data(), scr);
        for (int moving = 0; moving < 2; ++moving) {
          for (int side = 0; side < 2; ++side) {
            if (nodes[moving] < 0 || nodes[side] < 0) continue;
            const auto v = state.v.segment<6>(model_.layout.v_start[nodes[side]]);
            add(i, r, nodes[moving], v.transpose() * K[moving][side]);
          }
        }
        continue;
      }
      row_terms(rows.origins[i], rows.ids[i], r, scr.terms[0]);
      for (const RowTerm& t : scr.terms[0]) {
        const Marker& a = model_.markers[t.marker_a];
        const Marker& b = model_.markers[t.marker_b];
        const Mat12 K = t.factor * second_derivative(t.measure, scr.places[a.body], a.frame,
                                                     scr.places[b.body], b.frame);
        const std::array<int, 2> nodes{model_.bodies[a.body].slot, model_.bodies[b.body].slot};
        for (int p = 0; p < 2; ++p) {
          for (int q = 0; q < 2; ++q) {
            if (nodes[p] < 0 || nodes[q] < 0) continue;
            const auto v = state.v.segment<6>(model_.layout.v_start[nodes[p]]);
            add(i, r, nodes[q], v.transpose() * K.block<6, 6>(6 * p, 6 * q));
          }
        }
      }
    }
  }
}

}  // namespace urto
