#include "urto/model/penalty_system.h"

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

}  // namespace

PenaltySystem::Push PenaltySystem::push_of(double gap, const Vec3& u, double friction) const {
  Push p;
  p.depth = -gap;
  p.velocity = u;
  const double spring = law_.stiffness * std::pow(p.depth, law_.exponent);
  const double factor = 1 - law_.damping * u[0];
  if (factor <= 0) return p;  // leaving faster than the surfaces follow
  const double normal = spring * factor;
  const double normal_by_gap = -law_.exponent * spring / p.depth * factor;
  const double normal_by_rate = -spring * law_.damping;
  const Eigen::Vector2d slip = u.tail<2>();
  const double speed = std::sqrt(slip.squaredNorm() + law_.slip * law_.slip);
  const Eigen::Vector2d direction = slip / speed;
  p.force << normal, -friction * normal * direction;
  p.by_gap << normal_by_gap, -friction * normal_by_gap * direction;
  p.by_velocity.col(0) << normal_by_rate, -friction * normal_by_rate * direction;
  p.by_velocity.bottomRightCorner<2, 2>() =
      -friction * normal / speed *
      (Eigen::Matrix2d::Identity() - direction * direction.transpose());
  return p;
}

void PenaltySystem::find_pushes(const State& state) {
  inner_.interactions(state, {}, rows_);
  pushes_.clear();
  for (int i = 0; i < rows_.blocks(); ++i) {
    const Law& law = rows_.laws[i];
    const int first = rows_.J.row_start[i];
    if (rows_.origins[i].kind != Origin::contact || !(rows_.g[first] < 0)) continue;
    std::array<double, 6> u{};
    multiply_add_block(rows_.J, i, state.v.data(), u.data());
    Vec3 velocity = Vec3::Zero();
    for (int r = 0; r < std::min(3, law.dim); ++r) velocity[r] = u[r] + rows_.g_t[first + r];
    pushes_.push_back(push_of(rows_.g[first], velocity, law.friction));
    pushes_.back().block = i;
  }
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

// The contact points are taken as fixed to the bodies, as in the rows: −∂f/∂q = −Jᵀ ∂F/∂g J_N, −∂f/∂v = −Jᵀ ∂F/∂u J.
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
        K.topLeftCorner(left.rows(), right.cols()) = -left * p.by_gap.head(height) * right.row(0);
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
    e.potential += law_.stiffness * std::pow(p.depth, n + 1) / (n + 1);
  }
  return e;
}

// What the springs do not give back: damping and friction, both counted as damping.
std::array<double, 2> PenaltySystem::powers(const State& state) {
  std::array<double, 2> out = inner_.powers(state);
  find_pushes(state);
  for (const Push& p : pushes_) {
    const double spring = law_.stiffness * std::pow(p.depth, law_.exponent);
    out[0] -= p.force.dot(p.velocity) - spring * p.velocity[0];
  }
  return out;
}

}  // namespace urto
