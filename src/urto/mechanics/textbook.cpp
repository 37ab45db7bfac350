#include "urto/mechanics/textbook.h"

#include <cmath>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

using Mat6 = Eigen::Matrix<double, 6, 6>;

void clear(BlockMatrix& M) {
  M.start.resize(1);
  M.offset.resize(1);
  M.values.clear();
}

Vec3 place(const Vector& q, const LinkEnd& end) {
  return end.point < 0 ? end.place : Vec3(q.segment<3>(3 * end.point));
}

Vec3 velocity(const Vector& v, const LinkEnd& end) {
  return end.point < 0 ? Vec3::Zero() : Vec3(v.segment<3>(3 * end.point));
}

Mat6 corner(const Mat3& A) {
  Mat6 out = Mat6::Zero();
  out.topLeftCorner<3, 3>() = A;
  return out;
}

/// Adds [A −A; −A A] over the two ends of a link.
void add_link(const LinkEnd& a, const LinkEnd& b, const Mat3& stiffness, const Mat3& damping,
              ForceTangents& out) {
  for (const LinkEnd* row : {&a, &b}) {
    for (const LinkEnd* column : {&a, &b}) {
      if (row->point < 0 || column->point < 0) continue;
      const double sign = row == column ? 1 : -1;
      out.add(3 * row->point, 3 * column->point, sign * corner(stiffness), sign * corner(damping));
    }
  }
}

}  // namespace

void PointSystem::mass(const State&, BlockMatrix& M) const {
  clear(M);
  for (const double m : masses) M.push_back(m * Mat3::Identity());
}

void PointSystem::force(const State& state, Vector& f) {
  f.resize(nv());
  for (std::size_t k = 0; k < masses.size(); ++k)
    f.segment<3>(3 * static_cast<int>(k)) = masses[k] * gravity;
  for (const PointSpring& s : springs) {
    const Vec3 d = place(state.q, s.b) - place(state.q, s.a);
    const Vec3 n = d.normalized();
    const double rate = n.dot(velocity(state.v, s.b) - velocity(state.v, s.a));
    const Vec3 pull = (s.stiffness * (d.norm() - s.length) + s.damping * rate) * n;
    if (s.a.point >= 0) f.segment<3>(3 * s.a.point) += pull;
    if (s.b.point >= 0) f.segment<3>(3 * s.b.point) -= pull;
  }
}

void PointSystem::tangents(const State& state, Tangent kind, ForceTangents& out) {
  out.clear();
  for (const PointSpring& s : springs) {
    const Vec3 d = place(state.q, s.b) - place(state.q, s.a);
    const Vec3 u = velocity(state.v, s.b) - velocity(state.v, s.a);
    const double l = d.norm();
    const Vec3 n = d / l;
    const Mat3 along = n * n.transpose();
    const Mat3 across = Mat3::Identity() - along;
    Mat3 K = s.stiffness * along;
    if (kind == Tangent::exact) {
      K += s.stiffness * (1 - s.length / l) * across;
      K += s.damping / l * (n * (u.transpose() * across) + n.dot(u) * across);
    }
    add_link(s.a, s.b, K, s.damping * along, out);
  }
}

void PointSystem::interactions(const State& state, const InteractionQuery&, Interactions& out) {
  out.clear(nv());
  for (std::size_t k = 0; k < rods.size(); ++k) {
    const Rod& rod = rods[k];
    const int index = static_cast<int>(k);
    out.add_block({}, {Origin::joint, index}, row_id(Origin::joint, index));
    const Vec3 d = place(state.q, rod.b) - place(state.q, rod.a);
    const Vec3 u = velocity(state.v, rod.b) - velocity(state.v, rod.a);
    out.g.back() = 0.5 * (d.squaredNorm() - rod.length * rod.length);
    out.jdot_v.back() = u.squaredNorm();
    if (rod.a.point >= 0) Eigen::Map<Vec3>(out.add_entry(3 * rod.a.point, 3)) = -d;
    if (rod.b.point >= 0) Eigen::Map<Vec3>(out.add_entry(3 * rod.b.point, 3)) = d;
  }
  for (std::size_t k = 0; k < guides.size(); ++k) {
    const Guide& guide = guides[k];
    const int index = static_cast<int>(k);
    out.add_block({}, {Origin::coupling, index}, row_id(Origin::coupling, index));
    out.g.back() =
        guide.normal.dot(state.q.segment<3>(3 * guide.point)) - guide.offset - guide.rate * state.t;
    out.g_t.back() = -guide.rate;
    Eigen::Map<Vec3>(out.add_entry(3 * guide.point, 3)) = guide.normal;
  }
}

void PointSystem::geometric_stiffness(const State&, const Interactions& rows, const Vector& lambda,
                                      ForceTangents& out) {
  for (int i = 0; i < rows.blocks(); ++i) {
    if (rows.origins[i].kind != Origin::joint) continue;
    const Rod& rod = rods[rows.origins[i].index];
    add_link(rod.a, rod.b, -lambda[i] * Mat3::Identity(), Mat3::Zero(), out);
  }
}

Energies PointSystem::energies(const State& state) {
  Energies e;
  for (std::size_t k = 0; k < masses.size(); ++k) {
    const int at = 3 * static_cast<int>(k);
    e.kinetic += 0.5 * masses[k] * state.v.segment<3>(at).squaredNorm();
    e.potential -= masses[k] * gravity.dot(state.q.segment<3>(at));
  }
  for (const PointSpring& s : springs) {
    const double stretch = (place(state.q, s.b) - place(state.q, s.a)).norm() - s.length;
    e.potential += 0.5 * s.stiffness * stretch * stretch;
  }
  return e;
}

std::array<double, 2> PointSystem::powers(const State& state) {
  double lost = 0;
  for (const PointSpring& s : springs) {
    const Vec3 n = (place(state.q, s.b) - place(state.q, s.a)).normalized();
    const double rate = n.dot(velocity(state.v, s.b) - velocity(state.v, s.a));
    lost += s.damping * rate * rate;
  }
  return {lost, 0};
}

std::string PointSystem::describe(const RowOrigin& origin) const {
  return fmt::format("{} {}", origin.kind == Origin::joint ? "rod" : "guide", origin.index);
}

void make_point_chain(int links, double length, double mass, const Vec3& direction,
                      PointSystem& system, State& state) {
  state.q.resize(3 * links);
  state.v.setZero(3 * links);
  for (int k = 0; k < links; ++k) {
    system.masses.push_back(mass);
    system.rods.push_back({.a = {.point = k - 1}, .b = {.point = k}, .length = length});
    state.q.segment<3>(3 * k) = (k + 1) * length * direction.normalized();
  }
}

LinearSystem::LinearSystem(Matrix M, Matrix D, Matrix K, Vector load)
    : M_(std::move(M)), D_(std::move(D)), K_(std::move(K)), load_(std::move(load)) {
  if (M_.rows() < 1 || M_.rows() > 6)
    throw InputError("linear system", fmt::format("{} coordinates", M_.rows()), "one to six");
}

void LinearSystem::mass(const State&, BlockMatrix& M) const {
  clear(M);
  M.push_back(M_);
}

void LinearSystem::force(const State& state, Vector& f) {
  f = load_ - K_ * state.q - D_ * state.v;
}

void LinearSystem::tangents(const State&, Tangent, ForceTangents& out) {
  out.clear();
  Mat6 K = Mat6::Zero();
  Mat6 D = Mat6::Zero();
  K.topLeftCorner(nv(), nv()) = K_;
  D.topLeftCorner(nv(), nv()) = D_;
  out.add(0, 0, K, D);
}

void LinearSystem::interactions(const State&, const InteractionQuery&, Interactions& out) {
  out.clear(nv());
}

Energies LinearSystem::energies(const State& state) {
  return {.kinetic = 0.5 * state.v.dot(M_ * state.v),
          .potential = 0.5 * state.q.dot(K_ * state.q) - load_.dot(state.q)};
}

std::array<double, 2> LinearSystem::powers(const State& state) {
  return {state.v.dot(D_ * state.v), 0};
}

// ½(m_c + m) ṡ² + m l cos θ ṡ θ̇ + ½ m l² θ̇².
void CartPendulum::mass(const State& state, BlockMatrix& M) const {
  clear(M);
  const double coupling = bob * length * std::cos(state.q[1]);
  Matrix block(2, 2);
  block << cart + bob, coupling, coupling, bob * length * length;
  M.push_back(block);
}

void CartPendulum::force(const State& state, Vector& f) {
  f.resize(2);
  const double s = std::sin(state.q[1]);
  f << bob * length * s * state.v[1] * state.v[1], -bob * gravity * length * s;
}

void CartPendulum::tangents(const State& state, Tangent kind, ForceTangents& out) {
  out.clear();
  if (kind != Tangent::exact) return;
  const double s = std::sin(state.q[1]);
  const double c = std::cos(state.q[1]);
  Mat6 K = Mat6::Zero();
  Mat6 D = Mat6::Zero();
  K(0, 1) = -bob * length * c * state.v[1] * state.v[1];
  K(1, 1) = bob * gravity * length * c;
  D(0, 1) = -2 * bob * length * s * state.v[1];
  out.add(0, 0, K, D);
}

void CartPendulum::interactions(const State&, const InteractionQuery&, Interactions& out) {
  out.clear(nv());
}

Energies CartPendulum::energies(const State& state) {
  BlockMatrix M;
  mass(state, M);
  return {.kinetic = 0.5 * state.v.dot(M.block(0) * state.v),
          .potential = -bob * gravity * length * std::cos(state.q[1])};
}

double RockingBlock::impact_ratio() const {
  return 1 - 1.5 * std::sin(slope) * std::sin(slope);
}

double RockingBlock::slender_period(double tilt) const {
  return 4 / std::sqrt(rate_squared()) * std::acosh(1 / (1 - tilt / slope));
}

void RockingBlock::mass(const State&, BlockMatrix& M) const {
  clear(M);
  M.push_back(Matrix::Constant(1, 1, weight * radius / rate_squared()));
}

void RockingBlock::force(const State& state, Vector& f) {
  f.resize(1);
  f[0] = -weight * radius * std::sin(slope - state.q[0]);
}

// Tilting makes the block weaker: there is no semi-definite part.
void RockingBlock::tangents(const State& state, Tangent kind, ForceTangents& out) {
  out.clear();
  if (kind != Tangent::exact) return;
  Mat6 K = Mat6::Zero();
  K(0, 0) = -weight * radius * std::cos(slope - state.q[0]);
  out.add(0, 0, K, Mat6::Zero());
}

void RockingBlock::interactions(const State& state, const InteractionQuery& query,
                                Interactions& out) {
  out.clear(1);
  const double reach = query.envelope + 2 * query.h * std::abs(state.v[0]);
  if (query.equalities_only || !(state.q[0] <= reach)) return;
  const Law law{.kind = LawKind::unilateral, .restitution = impact_ratio()};
  out.add_block(law, {Origin::limit, 0}, row_id(Origin::limit, 0));
  *out.add_entry(0, 1) = 1;
  out.g.back() = state.q[0];
}

Energies RockingBlock::energies(const State& state) {
  const double inertia = weight * radius / rate_squared();
  return {.kinetic = 0.5 * inertia * state.v[0] * state.v[0],
          .potential = weight * radius * std::cos(slope - state.q[0])};
}

}  // namespace urto
