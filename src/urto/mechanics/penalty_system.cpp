#include "urto/mechanics/penalty_system.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "urto/error.h"

namespace urto {
namespace {

using NodeMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_entry_width, max_entry_width>;
using RowMap =
    Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

RowMap entry_rows(const BlockRows& J, int block, int entry) {
  const BlockRows::Entry& e = J.entries[entry];
  return {J.values.data() + e.offset, J.height(block), e.width};
}

// A vector of the tangent plane of `from`, taken to that of `to` by the least rotation, and by the
// spin of both bodies about the normal: a pair that turns as one takes its spring along.
Vec3 carried(const Vec3& stretch, const Vec3& from, const Vec3& to, const Vec3& turn) {
  const double cosine = from.dot(to);
  if (cosine < 0.5) return Vec3::Zero();  // another side of the body
  const Vec3 axis = from.cross(to);
  Vec3 out = stretch + axis.cross(stretch) + axis.cross(axis.cross(stretch)) / (1 + cosine);
  const double spin = 0.5 * turn.dot(from + to);
  out = std::cos(spin) * out + std::sin(spin) * to.cross(out);
  return out - to.dot(out) * to;
}

constexpr std::string_view friction_array = "friction";
constexpr int numbers_per_spring = 11;

}  // namespace

struct PenaltySystem::Scratch final : SystemWorkspace {
  std::unique_ptr<SystemWorkspace> inner = {};
  Interactions rows;
  std::vector<Push> pushes = {};
  FrictionMemory memory = {};
  Vector moved;  ///< since the accepted state
};

PenaltySystem::Scratch& PenaltySystem::scratch(SystemWorkspace& work) {
  return static_cast<Scratch&>(work);
}

PenaltySystem::PenaltySystem(const System& inner, const PenaltyLaw& law)
    : inner_(inner), law_(law) {
  if (remembers() && inner.contact_tracking() == nullptr) {
    throw InputError("penalty contact",
                     "friction with memory around a system that cannot follow contacts",
                     "a tangential stiffness of zero, or another system");
  }
}

std::unique_ptr<SystemWorkspace> PenaltySystem::make_workspace() const {
  auto out = std::make_unique<Scratch>();
  out->inner = inner_.make_workspace();
  return out;
}

// (t, number of q, q …, then per spring: two halves of the id, stretch, normal, point).
void recall_friction(const State& state, FrictionMemory& out) {
  out.springs.clear();
  const std::vector<double>* stored = state.memory.find(friction_array);
  if (stored == nullptr || stored->size() < 2) {
    out.t = 0;
    out.q.resize(0);
    return;
  }
  const double* at = stored->data();
  out.t = at[0];
  // What was stored for another configuration is as good as nothing.
  const bool fits = at[1] >= 0 && at[1] <= static_cast<double>(stored->size() - 2);
  const auto nq = fits ? static_cast<Eigen::Index>(at[1]) : 0;
  out.q = Eigen::Map<const Vector>(at + 2, nq);
  const double* end = stored->data() + stored->size();
  for (at += 2 + nq; at + numbers_per_spring <= end; at += numbers_per_spring) {
    const auto high = static_cast<std::uint64_t>(at[0]), low = static_cast<std::uint64_t>(at[1]);
    out.springs.push_back({(high << 32U) | low, Eigen::Map<const Vec3>(at + 2),
                           Eigen::Map<const Vec3>(at + 5), Eigen::Map<const Vec3>(at + 8)});
  }
}

void remember_friction(const FrictionMemory& memory, State& state) {
  std::vector<double>& out = state.memory.at(friction_array);
  out.assign({memory.t, static_cast<double>(memory.q.size())});
  out.insert(out.end(), memory.q.data(), memory.q.data() + memory.q.size());
  for (const FrictionMemory::Spring& s : memory.springs) {
    out.push_back(static_cast<double>(s.id >> 32U));
    out.push_back(static_cast<double>(s.id & 0xffffffffU));
    for (const Vec3* v : {&s.stretch, &s.normal, &s.point})
      out.insert(out.end(), v->data(), v->data() + 3);
  }
}

// A friction that falls with the slip takes from the bound along it: ∂(μ F_N)/∂u_T.
Eigen::RowVector2d PenaltySystem::bound_rate(const Law& law, const Push& p) {
  const double slip = p.velocity.tail<2>().norm();
  if (law.friction_slope == 0 || slip == 0) return Eigen::RowVector2d::Zero();
  return law.friction_slope * p.force[0] / slip * p.velocity.tail<2>().transpose();
}

void PenaltySystem::add_smooth_friction(const Law& law, const Vec3& normal_rates, Push& p) const {
  const Eigen::Vector2d slip = p.velocity.tail<2>();
  const double speed = std::sqrt(slip.squaredNorm() + law_.slip * law_.slip);
  const Eigen::Vector2d direction = slip / speed;
  p.force.tail<2>() = -p.bound * direction;
  p.by_place.col(0).tail<2>() = -law.friction * normal_rates[0] * direction;
  p.by_velocity.col(0).tail<2>() = -law.friction * normal_rates[1] * direction;
  p.by_velocity.bottomRightCorner<2, 2>() =
      -p.bound / speed * (Eigen::Matrix2d::Identity() - direction * direction.transpose()) -
      direction * bound_rate(law, p);
}

void PenaltySystem::add_spring_friction(const Law& law, const Vec3& normal_rates, Push& p) const {
  const Eigen::Vector2d pull =
      p.stiffness * p.stretch + law_.tangential_damping * p.velocity.tail<2>();
  const double size = pull.norm();
  Eigen::Matrix2d by_pull = Eigen::Matrix2d::Identity();
  p.force.tail<2>() = -pull;
  if (size > p.bound) {
    const Eigen::Vector2d direction = pull / size;
    p.force.tail<2>() = -p.bound * direction;
    p.by_place.col(0).tail<2>() = -law.friction * normal_rates[0] * direction;
    p.by_velocity.col(0).tail<2>() = -law.friction * normal_rates[1] * direction;
    p.by_velocity.bottomRightCorner<2, 2>() = -direction * bound_rate(law, p);
    by_pull = p.bound / size * (Eigen::Matrix2d::Identity() - direction * direction.transpose());
  }
  p.by_place.bottomRightCorner<2, 2>() = -p.stiffness * by_pull;
  p.by_velocity.bottomRightCorner<2, 2>() -= law_.tangential_damping * by_pull;
}

void PenaltySystem::push(double gap, const Law& law, Push& p) const {
  p.depth = -gap;
  const double spring = law_.stiffness * std::pow(p.depth, law_.exponent);
  const double factor = 1 - law_.damping * p.velocity[0];
  if (factor <= 0) return;  // leaving faster than the surfaces follow
  p.force[0] = spring * factor;
  p.bound = law.friction * p.force[0];
  // ∂F_N/∂g and ∂F_N/∂ġ.
  const Vec3 rates(-law_.exponent * spring / p.depth * factor, -spring * law_.damping, 0);
  p.by_place(0, 0) = rates[0];
  p.by_velocity(0, 0) = rates[1];
  if (remembers()) {
    add_spring_friction(law, rates, p);
  } else {
    add_smooth_friction(law, rates, p);
  }
}

// Without an accepted state before, or without a contact then, there is nothing to remember yet.
void PenaltySystem::recall_stretch(const State& state, int block, Scratch& s, Push& p) const {
  const std::vector<FrictionMemory::Spring>& springs = s.memory.springs;
  const std::uint64_t id = s.rows.ids[block];
  const auto it = std::lower_bound(springs.begin(), springs.end(), id,
                                   [](const FrictionMemory::Spring& spring, std::uint64_t wanted) {
                                     return spring.id < wanted;
                                   });
  const bool known = it != springs.end() && it->id == id;
  const ContactShift shift = inner_.contact_tracking()->contact_shift(
      state, s.rows, block, known ? it->point : Vec3(Vec3::Zero()), s.moved, s.memory.t, *s.inner);
  p.axes = shift.axes;
  p.point = shift.point;
  if (!known) return;
  p.stiffness = law_.tangential_stiffness;
  const Vec3 stretch = carried(it->stretch, it->normal, shift.axes.col(0), shift.turn) + shift.slip;
  p.stretch = shift.axes.rightCols<2>().transpose() * stretch;
}

void PenaltySystem::find_pushes(const State& state, Scratch& s) const {
  inner_.detect(state, {}, *s.inner, s.rows);
  inner_.measure(state, false, *s.inner, s.rows);
  s.pushes.clear();
  if (remembers()) {
    recall_friction(state, s.memory);
    if (s.memory.q.size() == inner_.nq()) {
      difference(layout(), state.q, s.memory.q, s.moved);
    } else {
      s.moved.setZero(inner_.nv());
    }
  }
  const Interactions& rows = s.rows;
  for (int i = 0; i < rows.blocks(); ++i) {
    const Law& law = rows.laws[i];
    const int first = rows.J.row_start[i];
    if (rows.origins[i].kind != Origin::contact || !(rows.g[first] < 0)) continue;
    std::array<double, 6> u{};
    multiply_add_block(rows.J, i, state.v.data(), u.data());
    Push p;
    p.block = i;
    for (int r = 0; r < std::min(3, law.dim); ++r) p.velocity[r] = u[r] + rows.g_t[first + r];
    if (remembers() && law.dim >= 3) recall_stretch(state, i, s, p);
    push(rows.g[first], law, p);
    s.pushes.push_back(p);
  }
}

// ‖k_t ξ‖ ≤ μ F_N.
Eigen::Vector2d PenaltySystem::held_stretch(const Push& p) const {
  const double size = law_.tangential_stiffness * p.stretch.norm();
  return size > p.bound ? Eigen::Vector2d(p.bound / size * p.stretch) : p.stretch;
}

void PenaltySystem::accept(State& state, SystemWorkspace& work) const {
  Scratch& s = scratch(work);
  inner_.accept(state, *s.inner);
  if (!remembers()) return;
  find_pushes(state, s);
  s.memory.springs.clear();
  for (const Push& p : s.pushes) {
    if (s.rows.laws[p.block].dim < 3) continue;
    s.memory.springs.push_back(
        {s.rows.ids[p.block], p.axes.rightCols<2>() * held_stretch(p), p.axes.col(0), p.point});
  }
  s.memory.q = state.q;
  s.memory.t = state.t;
  remember_friction(s.memory, state);
}

void PenaltySystem::force(const State& state, SystemWorkspace& work, Vector& f) const {
  Scratch& s = scratch(work);
  inner_.force(state, *s.inner, f);
  find_pushes(state, s);
  for (const Push& p : s.pushes) {
    const int height = std::min(3, s.rows.J.height(p.block));
    for (int e = s.rows.J.entry_start[p.block]; e < s.rows.J.entry_start[p.block + 1]; ++e) {
      const BlockRows::Entry& entry = s.rows.J.entries[e];
      f.segment(entry.column, entry.width) +=
          entry_rows(s.rows.J, p.block, e).topRows(height).transpose() * p.force.head(height);
    }
  }
}

// The contact points are taken as fixed to the bodies, as in the rows: −∂f/∂q = −Jᵀ ∂F/∂(g, ξ) J,
// −∂f/∂v = −Jᵀ ∂F/∂u J.
void PenaltySystem::assemble(const State& state, const Coefficients& c, Tangent kind,
                             SystemWorkspace& work, BlockMatrix& out) const {
  Scratch& s = scratch(work);
  inner_.assemble(state, c, kind, *s.inner, out);
  if (c.damping == 0 && c.stiffness == 0) return;
  find_pushes(state, s);
  const BlockRows& J = s.rows.J;
  const auto node_of = [&](int column) {
    const std::vector<int>& start = layout().v_start;
    return static_cast<int>(std::upper_bound(start.begin(), start.end(), column) - start.begin()) -
           1;
  };
  for (const Push& p : s.pushes) {
    const int height = std::min(3, J.height(p.block));
    const Mat3 F = -(c.stiffness * p.by_place + c.damping * p.by_velocity);
    for (int a = J.entry_start[p.block]; a < J.entry_start[p.block + 1]; ++a) {
      for (int b = J.entry_start[p.block]; b < J.entry_start[p.block + 1]; ++b) {
        const auto left = entry_rows(J, p.block, a).topRows(height).transpose();
        const auto right = entry_rows(J, p.block, b).topRows(height);
        const NodeMatrix block = left * F.topLeftCorner(height, height) * right;
        out.add(node_of(J.entries[a].column), node_of(J.entries[b].column), block);
      }
    }
  }
}

void PenaltySystem::detect(const State& state, const DetectionQuery& query, SystemWorkspace& work,
                           Interactions& rows) const {
  DetectionQuery equalities = query;
  equalities.equalities_only = true;
  inner_.detect(state, equalities, *scratch(work).inner, rows);
}

void PenaltySystem::measure(const State& state, bool accelerations, SystemWorkspace& work,
                            Interactions& rows) const {
  inner_.measure(state, accelerations, *scratch(work).inner, rows);
}

void PenaltySystem::add_geometric_stiffness(const State& state, const Interactions& rows,
                                            const Vector& lambda, double factor,
                                            SystemWorkspace& work, BlockMatrix& out) const {
  inner_.add_geometric_stiffness(state, rows, lambda, factor, *scratch(work).inner, out);
}

void PenaltySystem::rate_tangent(const State& state, const Interactions& rows,
                                 SystemWorkspace& work, BlockRows& out) const {
  inner_.rate_tangent(state, rows, *scratch(work).inner, out);
}

void PenaltySystem::add_inertial_stiffness(const State& state, const Vector& a, double factor,
                                           SystemWorkspace& work, BlockMatrix& out) const {
  inner_.add_inertial_stiffness(state, a, factor, *scratch(work).inner, out);
}

Energies PenaltySystem::energies(const State& state, SystemWorkspace& work) const {
  Scratch& s = scratch(work);
  Energies e = inner_.energies(state, *s.inner);
  find_pushes(state, s);
  for (const Push& p : s.pushes) {
    const double n = law_.exponent;
    e.potential += law_.stiffness * std::pow(p.depth, n + 1) / (n + 1) +
                   0.5 * p.stiffness * held_stretch(p).squaredNorm();
  }
  return e;
}

// What the springs do not give back: the normal damper's, and of the tangential force what its
// spring does not store, which is the damper's c_t ‖u_T‖² while the contact sticks and friction's
// while it slips; and what kinematic bodies give. A spring at its bound that is drawn further only
// follows the bound.
Powers PenaltySystem::powers(const State& state, SystemWorkspace& work) const {
  Scratch& s = scratch(work);
  Powers out = inner_.powers(state, *s.inner);
  find_pushes(state, s);
  for (const Push& p : s.pushes) {
    const double spring = law_.stiffness * std::pow(p.depth, law_.exponent);
    out.dissipated += (spring - p.force[0]) * p.velocity[0];
    for (int r = 0; r < std::min(3, s.rows.laws[p.block].dim); ++r)
      out.supplied -= p.force[r] * s.rows.g_t[s.rows.J.row_start[p.block] + r];
    const Eigen::Vector2d slip = p.velocity.tail<2>();
    double lost = -p.force.tail<2>().dot(slip);
    if (p.stiffness == 0) {
      out.friction += lost;
      continue;
    }
    const Eigen::Vector2d held = held_stretch(p);
    Eigen::Vector2d rate = slip;
    const double size = held.norm();
    const bool slips = p.stiffness * size >= p.bound * (1 - 1e-9);
    if (slips && size > 0 && held.dot(rate) > 0) {
      const Eigen::Vector2d direction = held / size;
      const double grows = s.rows.laws[p.block].friction * p.by_place(0, 0) * p.velocity[0];
      rate += (grows / p.stiffness - direction.dot(rate)) * direction;
    }
    lost -= p.stiffness * held.dot(rate);
    (slips ? out.friction : out.dissipated) += lost;
  }
  return out;
}

}  // namespace urto
