#include "urto/mechanics/textbook.h"

#include <cmath>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

Vec3 place(const Vector& q, const LinkEnd& end) {
  return end.point < 0 ? end.place : Vec3(q.segment<3>(3 * end.point));
}

Vec3 velocity(const Vector& v, const LinkEnd& end) {
  return end.point < 0 ? Vec3::Zero() : Vec3(v.segment<3>(3 * end.point));
}

/// Adds [A −A; −A A] over the two ends of a link.
void add_link(const LinkEnd& a, const LinkEnd& b, const Mat3& A, BlockMatrix& out) {
  for (const LinkEnd* row : {&a, &b}) {
    for (const LinkEnd* column : {&a, &b}) {
      if (row->point >= 0 && column->point >= 0)
        out.add(row->point, column->point, A, row == column ? 1 : -1);
    }
  }
}

}  // namespace

int PointSystem::add_point(double mass) {
  masses_.push_back(mass);
  layout_.add_flat(3);
  return static_cast<int>(masses_.size()) - 1;
}

void PointSystem::force(const State& state, SystemWorkspace& /*work*/, Vector& f) const {
  f.resize(nv());
  for (std::size_t k = 0; k < masses_.size(); ++k)
    f.segment<3>(3 * static_cast<int>(k)) = masses_[k] * gravity;
  for (const PointSpring& s : springs) {
    const Vec3 d = place(state.q, s.b) - place(state.q, s.a);
    const Vec3 n = d.normalized();
    const double rate = n.dot(velocity(state.v, s.b) - velocity(state.v, s.a));
    const Vec3 pull = (s.stiffness * (d.norm() - s.length) + s.damping * rate) * n;
    if (s.a.point >= 0) f.segment<3>(3 * s.a.point) += pull;
    if (s.b.point >= 0) f.segment<3>(3 * s.b.point) -= pull;
  }
}

void PointSystem::assemble(const State& state, const Coefficients& c, Tangent kind,
                           SystemWorkspace& /*work*/, BlockMatrix& out) const {
  for (std::size_t k = 0; k < masses_.size(); ++k)
    out.block(static_cast<int>(k)).diagonal().array() += c.mass * masses_[k];
  if (c.damping == 0 && c.stiffness == 0) return;
  for (const PointSpring& s : springs) {
    const Vec3 d = place(state.q, s.b) - place(state.q, s.a);
    const Vec3 u = velocity(state.v, s.b) - velocity(state.v, s.a);
    const double l = d.norm();
    const Vec3 n = d / l;
    const Mat3 along = n * n.transpose();
    const Mat3 across = Mat3::Identity() - along;
    double k = s.stiffness;
    if (c.part.kind != StiffnessPart::Kind::all) {
      const auto give = [&](const LinkEnd& end) {
        return end.point < 0 ? 0 : 1 / masses_[end.point];
      };
      k *= c.part.weight(k * (give(s.a) + give(s.b)));
    }
    Mat3 K = k * along;
    if (kind == Tangent::exact) {
      K += s.stiffness * (1 - s.length / l) * across;
      K += s.damping / l * (n * (u.transpose() * across) + n.dot(u) * across);
    }
    const Mat3 sum = c.stiffness * K + c.damping * s.damping * along;
    add_link(s.a, s.b, sum, out);
  }
}

void PointSystem::detect(const State&, const DetectionQuery&, SystemWorkspace& /*work*/,
                         Interactions& rows) const {
  rows.clear(nv());
  for (int k = 0; k < static_cast<int>(rods.size()); ++k) {
    rows.add_block({}, {Origin::joint, k}, row_id(Origin::joint, k));
    for (const LinkEnd* end : {&rods[k].a, &rods[k].b}) {
      if (end->point >= 0) rows.add_entry(3 * end->point, 3);
    }
  }
  for (int k = 0; k < static_cast<int>(guides.size()); ++k) {
    rows.add_block({}, {Origin::coupling, k}, row_id(Origin::coupling, k));
    rows.add_entry(3 * guides[k].point, 3);
  }
}

void PointSystem::measure(const State& state, bool /*accelerations*/, SystemWorkspace& /*work*/,
                          Interactions& rows) const {
  rows.clear_numbers();
  for (int i = 0; i < rows.blocks(); ++i) {
    const int index = rows.origins[i].index;
    if (rows.origins[i].kind == Origin::joint) {
      const Rod& rod = rods[index];
      const Vec3 d = place(state.q, rod.b) - place(state.q, rod.a);
      const Vec3 u = velocity(state.v, rod.b) - velocity(state.v, rod.a);
      rows.g[i] = 0.5 * (d.squaredNorm() - rod.length * rod.length);
      rows.jdot_v[i] = u.squaredNorm();
      int entry = 0;
      if (rod.a.point >= 0) Eigen::Map<Vec3>(rows.entry(i, entry++)) = -d;
      if (rod.b.point >= 0) Eigen::Map<Vec3>(rows.entry(i, entry)) = d;
      continue;
    }
    const Guide& guide = guides[index];
    rows.g[i] =
        guide.normal.dot(state.q.segment<3>(3 * guide.point)) - guide.offset - guide.rate * state.t;
    rows.g_t[i] = -guide.rate;
    Eigen::Map<Vec3>(rows.entry(i, 0)) = guide.normal;
  }
}

void PointSystem::add_geometric_stiffness(const State&, const Interactions& rows,
                                          const Vector& lambda, double factor,
                                          SystemWorkspace& /*work*/, BlockMatrix& out) const {
  for (int i = 0; i < rows.blocks(); ++i) {
    if (rows.origins[i].kind != Origin::joint) continue;
    const Rod& rod = rods[rows.origins[i].index];
    const Mat3 K = -factor * lambda[i] * Mat3::Identity();
    add_link(rod.a, rod.b, K, out);
  }
}

Energies PointSystem::energies(const State& state, SystemWorkspace& /*work*/) const {
  Energies e;
  for (std::size_t k = 0; k < masses_.size(); ++k) {
    const int at = 3 * static_cast<int>(k);
    e.kinetic += 0.5 * masses_[k] * state.v.segment<3>(at).squaredNorm();
    e.potential -= masses_[k] * gravity.dot(state.q.segment<3>(at));
  }
  for (const PointSpring& s : springs) {
    const double stretch = (place(state.q, s.b) - place(state.q, s.a)).norm() - s.length;
    e.potential += 0.5 * s.stiffness * stretch * stretch;
  }
  return e;
}

Powers PointSystem::powers(const State& state, SystemWorkspace& /*work*/) const {
  Powers p;
  for (const PointSpring& s : springs) {
    const Vec3 n = (place(state.q, s.b) - place(state.q, s.a)).normalized();
    const double rate = n.dot(velocity(state.v, s.b) - velocity(state.v, s.a));
    p.dissipated += s.damping * rate * rate;
  }
  return p;
}

std::string PointSystem::describe(const Interactions& rows, int block) const {
  const RowOrigin& origin = rows.origins[block];
  return fmt::format("{} {}", origin.kind == Origin::joint ? "rod" : "guide", origin.index);
}

void make_point_chain(int links, double length, double mass, const Vec3& direction,
                      PointSystem& system, State& state) {
  state.q.resize(3 * links);
  state.v.setZero(3 * links);
  for (int k = 0; k < links; ++k) {
    system.add_point(mass);
    system.rods.push_back({.a = {.point = k - 1}, .b = {.point = k}, .length = length});
    state.q.segment<3>(3 * k) = (k + 1) * length * direction.normalized();
  }
}

LinearSystem::LinearSystem(Matrix M, Matrix D, Matrix K, Vector load)
    : M_(M.sparseView()), D_(D.sparseView()), K_(K.sparseView()), load_(std::move(load)) {
  const auto n = static_cast<int>(M.rows());
  const auto is_square = [&](const Matrix& A) { return A.rows() == n && A.cols() == n; };
  if (n < 1 || !is_square(M) || !is_square(D) || !is_square(K) || load_.size() != n) {
    throw InputError("linear system",
                     fmt::format("matrices of {} × {}, {} × {}, {} × {} and a load of {}", M.rows(),
                                 M.cols(), D.rows(), D.cols(), K.rows(), K.cols(), load_.size()),
                     "square matrices and a load of one size, at least one");
  }
  if (n <= max_entry_width) {
    layout_.add_flat(n);
  } else {
    for (int k = 0; k < n; ++k) layout_.add_flat(1);
  }
}

void LinearSystem::force(const State& state, SystemWorkspace& /*work*/, Vector& f) const {
  f = load_ - K_ * state.q - D_ * state.v;
}

void LinearSystem::assemble(const State&, const Coefficients& c, Tangent, SystemWorkspace& /*work*/,
                            BlockMatrix& out) const {
  const bool whole = layout_.nodes() == 1;
  const auto add = [&](const SparseMatrix& A, double factor) {
    if (factor == 0) return;
    if (whole) return out.add(0, 0, Matrix(A), factor);
    for (int column = 0; column < A.outerSize(); ++column) {
      for (SparseMatrix::InnerIterator it(A, column); it; ++it) {
        const Eigen::Matrix<double, 1, 1> entry(it.value());
        out.add(static_cast<int>(it.row()), column, entry, factor);
      }
    }
  };
  add(M_, c.mass);
  add(D_, c.damping);
  if (c.part.kind != StiffnessPart::Kind::resolved) add(K_, c.stiffness);
}

Energies LinearSystem::energies(const State& state, SystemWorkspace& /*work*/) const {
  return {.kinetic = 0.5 * state.v.dot(M_ * state.v),
          .potential = 0.5 * state.q.dot(K_ * state.q) - load_.dot(state.q)};
}

Powers LinearSystem::powers(const State& state, SystemWorkspace& /*work*/) const {
  return {.dissipated = state.v.dot(D_ * state.v)};
}

// ½(m_c + m) ṡ² + m l cos θ ṡ θ̇ + ½ m l² θ̇².
Eigen::Matrix2d CartPendulum::mass(double theta) const {
  const double coupling = bob * length * std::cos(theta);
  Eigen::Matrix2d M;
  M << cart + bob, coupling, coupling, bob * length * length;
  return M;
}

void CartPendulum::force(const State& state, SystemWorkspace& /*work*/, Vector& f) const {
  f.resize(2);
  const double s = std::sin(state.q[1]);
  f << bob * length * s * state.v[1] * state.v[1], -bob * gravity * length * s;
}

void CartPendulum::assemble(const State& state, const Coefficients& c, Tangent kind,
                            SystemWorkspace& /*work*/, BlockMatrix& out) const {
  Eigen::Matrix2d A = c.mass * mass(state.q[1]);
  if (kind == Tangent::exact) {
    const double s = std::sin(state.q[1]);
    const double cosine = std::cos(state.q[1]);
    A(0, 1) -= c.stiffness * bob * length * cosine * state.v[1] * state.v[1];
    A(1, 1) += c.stiffness * bob * gravity * length * cosine;
    A(0, 1) -= c.damping * 2 * bob * length * s * state.v[1];
  }
  out.add(0, 0, A);
}

void CartPendulum::add_inertial_stiffness(const State& state, const Vector& a, double factor,
                                          SystemWorkspace& /*work*/, BlockMatrix& out) const {
  const double rate = -bob * length * std::sin(state.q[1]);  // of the coupling mass, by θ
  Eigen::Matrix2d K = Eigen::Matrix2d::Zero();
  K.col(1) << rate * a[1], rate * a[0];
  out.add(0, 0, K, factor);
}

Energies CartPendulum::energies(const State& state, SystemWorkspace& /*work*/) const {
  const Eigen::Vector2d v = state.v;
  return {.kinetic = 0.5 * v.dot(mass(state.q[1]) * v),
          .potential = -bob * gravity * length * std::cos(state.q[1])};
}

double RockingBlock::impact_ratio() const {
  return 1 - 1.5 * std::sin(slope) * std::sin(slope);
}

double RockingBlock::slender_period(double tilt) const {
  return 4 / std::sqrt(rate_squared()) * std::acosh(1 / (1 - tilt / slope));
}

void RockingBlock::force(const State& state, SystemWorkspace& /*work*/, Vector& f) const {
  f.resize(1);
  f[0] = -weight * radius * std::sin(slope - state.q[0]);
}

// Tilting makes the block weaker: there is no semi-definite part.
void RockingBlock::assemble(const State& state, const Coefficients& c, Tangent kind,
                            SystemWorkspace& /*work*/, BlockMatrix& out) const {
  double sum = c.mass * inertia();
  if (kind == Tangent::exact) sum -= c.stiffness * weight * radius * std::cos(slope - state.q[0]);
  out.block(0)(0, 0) += sum;
}

void RockingBlock::detect(const State& state, const DetectionQuery& query,
                          SystemWorkspace& /*work*/, Interactions& rows) const {
  rows.clear(1);
  const double reach = query.envelope + 2 * query.h * std::abs(state.v[0]);
  if (query.equalities_only || !(state.q[0] <= reach)) return;
  const Law law{
      .kind = LawKind::unilateral, .restitution = impact_ratio(), .recovery = Recovery::angular};
  rows.add_block(law, {Origin::limit, 0}, row_id(Origin::limit, 0));
  rows.add_entry(0, 1);
}

void RockingBlock::measure(const State& state, bool /*accelerations*/, SystemWorkspace& /*work*/,
                           Interactions& rows) const {
  rows.clear_numbers();
  for (int i = 0; i < rows.blocks(); ++i) {
    *rows.entry(i, 0) = 1;
    rows.g[i] = state.q[0];
  }
}

Energies RockingBlock::energies(const State& state, SystemWorkspace& /*work*/) const {
  return {.kinetic = 0.5 * inertia() * state.v[0] * state.v[0],
          .potential = weight * radius * std::cos(slope - state.q[0])};
}

std::string RockingBlock::describe(const Interactions&, int) const {
  return "the edge that comes down";
}

void NodeChain::add_flat_node(int size) {
  layout_.add_flat(size);
}

void NodeChain::add_pose_node() {
  layout_.add_pose();
}

State NodeChain::start(double stretch) const {
  State state;
  state.q.setZero(nq());
  state.v.setZero(nv());
  for (int k = 0; k < layout_.nodes(); ++k) {
    state.q[layout_.q_start[k]] = k * stretch;
    if (layout_.kinds[k] == NodeKind::pose) state.q[layout_.q_start[k] + 3] = 1;
  }
  return state;
}

void NodeChain::force(const State& state, SystemWorkspace& /*work*/, Vector& f) const {
  f.setZero(nv());
  for (int k = 0; k + 1 < layout_.nodes(); ++k) {
    const int a = layout_.v_start[k], b = layout_.v_start[k + 1];
    const double stretch = state.q[layout_.q_start[k + 1]] - state.q[layout_.q_start[k]];
    const double pull = stiffness * stretch + damping * (state.v[b] - state.v[a]);
    f[a] += pull;
    f[b] -= pull;
  }
}

void NodeChain::assemble(const State&, const Coefficients& c, Tangent, SystemWorkspace& /*work*/,
                         BlockMatrix& out) const {
  const double factor = c.part.kind == StiffnessPart::Kind::resolved ? 0 : c.stiffness;
  const double spring = factor * stiffness + c.damping * damping;
  for (int k = 0; k < layout_.nodes(); ++k) {
    const int n = layout_.size(k);
    out.block(k).diagonal().array() += c.mass;
    if (k + 1 == layout_.nodes()) break;
    out.block(k)(0, 0) += spring;
    out.block(k + 1)(0, 0) += spring;
    Matrix between = Matrix::Zero(n, layout_.size(k + 1));
    between(0, 0) = c.mass * coupling - spring;
    out.add(k, k + 1, between);
    out.add(k + 1, k, between.transpose());
  }
}

void NodeChain::detect(const State&, const DetectionQuery&, SystemWorkspace& /*work*/,
                       Interactions& rows) const {
  rows.clear(nv());
  if (!held) return;
  rows.add_block({}, {Origin::joint, 0}, row_id(Origin::joint, 0));
  rows.add_entry(0, layout_.size(0));
}

void NodeChain::measure(const State& state, bool /*accelerations*/, SystemWorkspace& /*work*/,
                        Interactions& rows) const {
  rows.clear_numbers();
  for (int i = 0; i < rows.blocks(); ++i) {
    rows.g[i] = state.q[0];
    *rows.entry(i, 0) = 1;
  }
}

Energies NodeChain::energies(const State& state, SystemWorkspace& /*work*/) const {
  Energies e{.kinetic = 0.5 * state.v.squaredNorm()};
  for (int k = 0; k + 1 < layout_.nodes(); ++k) {
    const double stretch = state.q[layout_.q_start[k + 1]] - state.q[layout_.q_start[k]];
    e.kinetic += coupling * state.v[layout_.v_start[k]] * state.v[layout_.v_start[k + 1]];
    e.potential += 0.5 * stiffness * stretch * stretch;
  }
  return e;
}

Powers NodeChain::powers(const State& state, SystemWorkspace& /*work*/) const {
  Powers p;
  for (int k = 0; k + 1 < layout_.nodes(); ++k) {
    const double rate = state.v[layout_.v_start[k + 1]] - state.v[layout_.v_start[k]];
    p.dissipated += damping * rate * rate;
  }
  return p;
}

}  // namespace urto
