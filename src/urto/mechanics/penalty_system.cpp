#include "urto/mechanics/penalty_system.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace urto {
namespace {

using Mat6 = Eigen::Matrix<double, 6, 6>;
using RowMap =
    Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

RowMap entry_rows(const BlockRows& J, int block, int entry) {
  const BlockRows::Entry& e = J.entries[entry];
  return {J.values.data() + e.offset, J.height(block), e.width};
}

// A vector of the tangent plane of `from`, taken to that of `to` by the least rotation, and by the spin of both bodies about the normal: a pair that turns as one takes its spring along.
Vec3 carried(const Vec3& stretch, const Vec3& from, const Vec3& to, const Vec3& turn) {
  const double cosine = from.dot(to);
  if (cosine < 0.5) return Vec3::Zero();  // another side of the body
  const Vec3 axis = from.cross(to);
  Vec3 out = stretch + axis.cross(stretch) + axis.cross(axis.cross(stretch)) / (1 + cosine);
  const double spin = 0.5 * turn.dot(from + to);
  out = std::cos(spin) * out + std::sin(spin) * to.cross(out);
  return out - to.dot(out) * to;
}

}  // namespace

void PenaltySystem::add_smooth_friction(double friction, const Vec3& normal_rates, Push& p) const {
  const Eigen::Vector2d slip = p.velocity.tail<2>();
  const double speed = std::sqrt(slip.squaredNorm() + law_.slip * law_.slip);
  const Eigen::Vector2d direction = slip / speed;
  p.force.tail<2>() = -p.bound * direction;
  p.by_place.col(0).tail<2>() = -friction * normal_rates[0] * direction;
  p.by_velocity.col(0).tail<2>() = -friction * normal_rates[1] * direction;
  p.by_velocity.bottomRightCorner<2, 2>() =
      -p.bound / speed * (Eigen::Matrix2d::Identity() - direction * direction.transpose());
}

void PenaltySystem::add_spring_friction(double friction, const Vec3& normal_rates, Push& p) const {
  const Eigen::Vector2d pull =
      p.stiffness * p.stretch + law_.tangential_damping * p.velocity.tail<2>();
  const double size = pull.norm();
  Eigen::Matrix2d by_pull = Eigen::Matrix2d::Identity();
  p.force.tail<2>() = -pull;
  if (size > p.bound) {
    const Eigen::Vector2d direction = pull / size;
    p.force.tail<2>() = -p.bound * direction;
    p.by_place.col(0).tail<2>() = -friction * normal_rates[0] * direction;
    p.by_velocity.col(0).tail<2>() = -friction * normal_rates[1] * direction;
    by_pull = p.bound / size * (Eigen::Matrix2d::Identity() - direction * direction.transpose());
  }
  p.by_place.bottomRightCorner<2, 2>() = -p.stiffness * by_pull;
  p.by_velocity.bottomRightCorner<2, 2>() = -law_.tangential_damping * by_pull;
}

void PenaltySystem::push(double gap, double friction, Push& p) const {
  p.depth = -gap;
  const double spring = law_.stiffness * std::pow(p.depth, law_.exponent);
  const double factor = 1 - law_.damping * p.velocity[0];
  if (factor <= 0) return;  // leaving faster than the surfaces follow
  p.force[0] = spring * factor;
  p.bound = friction * p.force[0];
  // ∂F_N/∂g and ∂F_N/∂ġ.
  const Vec3 rates(-law_.exponent * spring / p.depth * factor, -spring * law_.damping, 0);
  p.by_place(0, 0) = rates[0];
  p.by_velocity(0, 0) = rates[1];
  if (remembers()) {
    add_spring_friction(friction, rates, p);
  } else {
    add_smooth_friction(friction, rates, p);
  }
}

// Without an accepted state before, or without a contact then, there is nothing to remember yet.
void PenaltySystem::recall_stretch(const State& state, int block, Push& p) const {
  const FrictionMemory& memory = state.friction;
  const std::uint64_t id = rows_.ids[block];
  const auto it = std::lower_bound(
      memory.springs.begin(), memory.springs.end(), id,
      [](const FrictionMemory::Spring& s, std::uint64_t wanted) { return s.id < wanted; });
  const bool known = it != memory.springs.end() && it->id == id;
  const ContactShift shift = inner_.contact_shift(
      rows_.origins[block], known ? it->point : Vec3(Vec3::Zero()), moved_, memory.t, state.t);
  p.axes = shift.axes;
  p.point = shift.point;
  if (!known) return;
  p.stiffness = law_.tangential_stiffness;
  const Vec3 stretch = carried(it->stretch, it->normal, shift.axes.col(0), shift.turn) + shift.slip;
  p.stretch = shift.axes.rightCols<2>().transpose() * stretch;
}

void PenaltySystem::find_pushes(const State& state) const {
  inner_.interactions(state, {}, rows_);
  pushes_.clear();
  if (remembers()) {
    if (state.friction.q.size() == inner_.nq()) {
      moved_ = inner_.difference(state.q, state.friction.q);
    } else {
      moved_.setZero(inner_.nv());
    }
  }
  for (int i = 0; i < rows_.blocks(); ++i) {
    const Law& law = rows_.laws[i];
    const int first = rows_.J.row_start[i];
    if (rows_.origins[i].kind != Origin::contact || !(rows_.g[first] < 0)) continue;
    std::array<double, 6> u{};
    multiply_add_block(rows_.J, i, state.v.data(), u.data());
    Push p;
    p.block = i;
    for (int r = 0; r < std::min(3, law.dim); ++r) p.velocity[r] = u[r] + rows_.g_t[first + r];
    if (remembers() && law.dim >= 3) recall_stretch(state, i, p);
    push(rows_.g[first], law.friction, p);
    pushes_.push_back(p);
  }
}

// ‖k_t ξ‖ ≤ μ F_N.
Eigen::Vector2d PenaltySystem::held_stretch(const Push& p) const {
  const double size = law_.tangential_stiffness * p.stretch.norm();
  return size > p.bound ? Eigen::Vector2d(p.bound / size * p.stretch) : p.stretch;
}

void PenaltySystem::accept(State& state) const {
  inner_.accept(state);
  if (!remembers()) return;
  find_pushes(state);
  state.friction.springs.clear();
  for (const Push& p : pushes_) {
    if (rows_.laws[p.block].dim < 3) continue;
    state.friction.springs.push_back(
        {rows_.ids[p.block], p.axes.rightCols<2>() * held_stretch(p), p.axes.col(0), p.point});
  }
  state.friction.q = state.q;
  state.friction.t = state.t;
}

void PenaltySystem::force(const State& state, Vector& f) {
  inner_.force(state, f);
  find_pushes(state);
  for (const Push& p : pushes_) {
    const int height = std::min(3, rows_.J.height(p.block));
    for (int e = rows_.J.entry_start[p.block]; e < rows_.J.entry_start[p.block + 1]; ++e) {
      const BlockRows::Entry& entry = rows_.J.entries[e];
      f.segment(entry.column, entry.width) +=
          entry_rows(rows_.J, p.block, e).topRows(height).transpose() * p.force.head(height);
    }
  }
}

// The contact points are taken as fixed to the bodies, as in the rows: −∂f/∂q = −Jᵀ ∂F/∂(g, ξ) J, −∂f/∂v = −Jᵀ ∂F/∂u J.
void PenaltySystem::tangents(const State& state, Tangent kind, ForceTangents& out) {
  inner_.tangents(state, kind, out);
  find_pushes(state);
  for (const Push& p : pushes_) {
    const int height = std::min(3, rows_.J.height(p.block));
    const int begin = rows_.J.entry_start[p.block];
    const int end = rows_.J.entry_start[p.block + 1];
    for (int a = begin; a < end; ++a) {
      for (int b = begin; b < end; ++b) {
        const auto left = entry_rows(rows_.J, p.block, a).topRows(height).transpose();
        const auto right = entry_rows(rows_.J, p.block, b).topRows(height);
        Mat6 K = Mat6::Zero();
        Mat6 D = Mat6::Zero();
        K.topLeftCorner(left.rows(), right.cols()) =
            -left * p.by_place.topLeftCorner(height, height) * right;
        D.topLeftCorner(left.rows(), right.cols()) =
            -left * p.by_velocity.topLeftCorner(height, height) * right;
        out.add(rows_.J.entries[a].column, rows_.J.entries[b].column, K, D);
      }
    }
  }
}

void PenaltySystem::interactions(const State& state, const InteractionQuery& query,
                                 Interactions& out) {
  InteractionQuery equalities = query;
  equalities.equalities_only = true;
  inner_.interactions(state, equalities, out);
}

Energies PenaltySystem::energies(const State& state) {
  Energies e = inner_.energies(state);
  find_pushes(state);
  for (const Push& p : pushes_) {
    const double n = law_.exponent;
    e.potential += law_.stiffness * std::pow(p.depth, n + 1) / (n + 1) +
                   0.5 * p.stiffness * held_stretch(p).squaredNorm();
  }
  return e;
}

// What the springs do not give back: damping and friction, both counted as damping; and what bodies that move as told give. A spring at its bound that is drawn
// further only follows the bound.
std::array<double, 2> PenaltySystem::powers(const State& state) {
  std::array<double, 2> out = inner_.powers(state);
  find_pushes(state);
  for (const Push& p : pushes_) {
    const double spring = law_.stiffness * std::pow(p.depth, law_.exponent);
    out[0] -= p.force.dot(p.velocity) - spring * p.velocity[0];
    for (int r = 0; r < std::min(3, rows_.laws[p.block].dim); ++r)
      out[1] -= p.force[r] * rows_.g_t[rows_.J.row_start[p.block] + r];
    if (p.stiffness == 0) continue;
    const Eigen::Vector2d held = held_stretch(p);
    Eigen::Vector2d rate = p.velocity.tail<2>();
    const double size = held.norm();
    const bool slips = p.stiffness * size >= p.bound * (1 - 1e-9);
    if (slips && size > 0 && held.dot(rate) > 0) {
      const Eigen::Vector2d direction = held / size;
      const double grows = rows_.laws[p.block].friction * p.by_place(0, 0) * p.velocity[0];
      rate += (grows / p.stiffness - direction.dot(rate)) * direction;
    }
    out[0] -= p.stiffness * held.dot(rate);
  }
  return out;
}

}  // namespace urto
