#include "urto/mechanics/textbook_contact.h"

#include <array>
#include <cmath>
#include <numbers>

#include "urto/math/rotation.h"

namespace urto {

RowSystem::Row RowSystem::measured(const Vector& q, int block, int r) const {
  Row out{.J = Vector::Zero(nv()), .turning = Matrix::Zero(nv(), nv())};
  row(q, block, r, out);
  return out;
}

void RowSystem::force(const State&, SystemWorkspace& /*work*/, Vector& f) const {
  f = load();
}

void RowSystem::assemble(const State&, const Coefficients& c, Tangent, SystemWorkspace& /*work*/,
                         BlockMatrix& out) const {
  if (c.mass != 0) out.add(0, 0, mass(), c.mass);
}

void RowSystem::detect(const State&, const DetectionQuery& query, SystemWorkspace& /*work*/,
                       Interactions& rows) const {
  rows.clear(nv());
  const std::vector<Law> all = laws();
  for (int i = 0; i < static_cast<int>(all.size()); ++i) {
    if (query.equalities_only && all[i].kind != LawKind::equality) continue;
    const Origin origin = all[i].kind == LawKind::equality ? Origin::joint : Origin::limit;
    rows.add_block(all[i], {origin, i}, row_id(origin, i));
    rows.add_entry(0, nv());
  }
}

void RowSystem::measure(const State& state, bool accelerations, SystemWorkspace& /*work*/,
                        Interactions& rows) const {
  rows.clear_numbers();
  for (int i = 0; i < rows.blocks(); ++i) {
    for (int r = 0; r < rows.laws[i].dim; ++r) {
      const Row at = measured(state.q, rows.origins[i].index, r);
      const int n = rows.J.row_start[i] + r;
      rows.g[n] = at.g;
      Eigen::Map<Vector>(rows.entry(i, 0) + r * nv(), nv()) = at.J;
      if (accelerations) rows.jdot_v[n] = state.v.dot(at.turning * state.v);
    }
  }
}

void RowSystem::add_geometric_stiffness(const State& state, const Interactions& rows,
                                        const Vector& lambda, double factor,
                                        SystemWorkspace& /*work*/, BlockMatrix& out) const {
  for (int i = 0; i < rows.blocks(); ++i) {
    for (int r = 0; r < rows.laws[i].dim; ++r) {
      const double value = lambda[rows.J.row_start[i] + r];
      if (value == 0) continue;
      out.add(0, 0, measured(state.q, rows.origins[i].index, r).turning, -factor * value);
    }
  }
}

Energies RowSystem::energies(const State& state, SystemWorkspace& /*work*/) const {
  return {.kinetic = 0.5 * state.v.dot(mass() * state.v),
          .potential = -load().dot(state.q) - datum()};
}

// ---- The ball

Matrix BouncingBall::mass() const {
  return Matrix::Constant(1, 1, ball_mass);
}

Vector BouncingBall::load() const {
  return Vector::Constant(1, -weight);
}

std::vector<Law> BouncingBall::laws() const {
  return {{.kind = LawKind::unilateral, .restitution = restitution, .recovery = Recovery::linear}};
}

void BouncingBall::row(const Vector& q, int /*block*/, int /*r*/, Row& out) const {
  out.g = q[0] - radius;
  out.J[0] = 1;
}

// ---- The pendulum

State BouncingPendulum::start(double angle) const {
  State s;
  s.q = Vec3(length * std::cos(angle), length * std::sin(angle), angle);
  s.v = Vec3::Zero();
  return s;
}

Matrix BouncingPendulum::mass() const {
  return Vec3(bob, bob, inertia).asDiagonal();
}

Vector BouncingPendulum::load() const {
  return Vec3(0, -bob * gravity, 0);
}

std::vector<Law> BouncingPendulum::laws() const {
  return {{},
          {},
          {.kind = LawKind::unilateral, .restitution = restitution, .recovery = Recovery::linear}};
}

void BouncingPendulum::row(const Vector& q, int block, int /*r*/, Row& out) const {
  const double c = length * std::cos(q[2]), s = length * std::sin(q[2]);
  if (block == 2) {
    out.g = q[0] - length / std::numbers::sqrt2;
    out.J[0] = 1;
    return;
  }
  out.g = block == 0 ? q[0] - c : q[1] - s;
  out.J[block] = 1;
  out.J[2] = block == 0 ? s : -c;
  out.turning(2, 2) = block == 0 ? c : s;
}

// ---- The block

Matrix BlockOnCorners::mass() const {
  return Vec3(block_mass, block_mass, inertia()).asDiagonal();
}

Vector BlockOnCorners::load() const {
  const double weight = block_mass * gravity;
  return Vec3(weight * std::sin(slope), -weight * std::cos(slope), 0);
}

std::vector<Law> BlockOnCorners::laws() const {
  Law law{.kind = LawKind::unilateral, .restitution = restitution, .recovery = Recovery::linear};
  if (friction > 0) {
    law.kind = LawKind::coulomb;
    law.dim = 2;
    law.friction = friction;
  }
  return {law, law};
}

// A corner at (±L/2, −l/2) in the block: its height, and its velocity along the floor.
void BlockOnCorners::row(const Vector& q, int block, int r, Row& out) const {
  const double c = std::cos(q[2]), s = std::sin(q[2]);
  const double across = (block == 0 ? 0.5 : -0.5) * width, down = 0.5 * height;
  if (r == 0) {
    out.g = q[1] - down * c + across * s;
    out.J << 0, 1, down * s + across * c;
    out.turning(2, 2) = down * c - across * s;
  } else {
    out.J << 1, 0, down * c - across * s;
    out.turning(2, 2) = -down * s - across * c;
  }
}

// ---- The bowl

Matrix MassInBowl::mass() const {
  return point_mass * Mat3::Identity();
}

Vector MassInBowl::load() const {
  return Vec3(0, 0, -point_mass * gravity);
}

std::vector<Law> MassInBowl::laws() const {
  Law law{.kind = LawKind::unilateral, .restitution = restitution, .recovery = Recovery::linear};
  if (friction > 0) {
    law.kind = LawKind::coulomb;
    law.dim = 3;
    law.friction = friction;
  }
  return {law};
}

// The normal points to the middle; tangents by differences of the frame would hide its turning, so
// they are those of the meridian: t₁ = (n × e_y) normalised, t₂ = n × t₁.
void MassInBowl::row(const Vector& q, int /*block*/, int r, Row& out) const {
  const double R = q.norm();
  const Vec3 n = -q / R;
  const Mat3 across = Mat3::Identity() - n * n.transpose();
  const Mat3 dn = -across / R;  // ∂n/∂q
  if (r == 0) {
    out.g = 1 - R;
    out.J = n;
    out.turning = dn;
    return;
  }
  const Vec3 w = n.cross(Vec3::UnitY());
  const Vec3 t = w.normalized();
  const Mat3 dw = -skew(Vec3::UnitY()) * dn;
  const Mat3 dt = (Mat3::Identity() - t * t.transpose()) * dw / w.norm();
  out.J = r == 1 ? t : Vec3(n.cross(t));
  out.turning = r == 1 ? dt : Mat3(skew(n) * dt - skew(t) * dn);
}

// ---- The pendulum at a wall

State PendulumAtWall::start() {
  const double a = std::numbers::pi / 3, b = std::numbers::pi / 5;
  State s;
  s.q.resize(4);
  s.q << std::sin(a), -std::cos(a), std::sin(a) + std::sin(b), -std::cos(a) - std::cos(b);
  s.v = Vector::Zero(4);
  return s;
}

Matrix PendulumAtWall::mass() const {
  return Matrix::Identity(4, 4);
}

Vector PendulumAtWall::load() const {
  return Eigen::Vector4d(0, -gravity, 0, -gravity);
}

std::vector<Law> PendulumAtWall::laws() const {
  const Law wall{
      .kind = LawKind::unilateral, .restitution = restitution, .recovery = Recovery::linear};
  return {{}, {}, wall, wall};
}

// The rods as the paper has them, ‖d‖² − 1; then x of each mass.
void PendulumAtWall::row(const Vector& q, int block, int /*r*/, Row& out) const {
  if (block >= 2) {
    out.g = q[2 * (block - 2)];
    out.J[2 * (block - 2)] = 1;
    return;
  }
  Eigen::Vector2d d = q.head(2);
  if (block == 1) d -= q.tail(2);
  out.g = d.squaredNorm() - 1;
  out.J.head(2) = 2 * d;
  out.turning.topLeftCorner(2, 2).diagonal().setConstant(2);
  if (block == 0) return;
  out.J.tail(2) = -2 * d;
  out.turning.bottomRightCorner(2, 2).diagonal().setConstant(2);
  out.turning.topRightCorner(2, 2).diagonal().setConstant(-2);
  out.turning.bottomLeftCorner(2, 2).diagonal().setConstant(-2);
}

// ---- The carts

namespace {

constexpr int cart_coordinates = 4;

Matrix between_carts(double factor) {
  Matrix out = Matrix::Zero(cart_coordinates, cart_coordinates);
  out(0, 0) = out(2, 2) = factor;
  out(0, 2) = out(2, 0) = -factor;
  return out;
}

Matrix at_first_cart(double factor) {
  Matrix out = Matrix::Zero(cart_coordinates, cart_coordinates);
  out(0, 0) = factor;
  return out;
}

}  // namespace

CartsAtStopper::CartsAtStopper(const Data& data)
    : LinearSystem(Matrix::Identity(cart_coordinates, cart_coordinates),
                   between_carts(data.rigid ? 0 : data.damper),
                   at_first_cart(data.rigid ? 0 : data.spring),
                   Eigen::Vector4d(data.rigid ? 0 : data.spring * data.equilibrium, -data.gravity,
                                   0, -data.gravity)),
      data_(data) {}

State CartsAtStopper::start(double place, double speed) {
  State s;
  s.q = Eigen::Vector4d(place, 0, place + 5, 0);
  s.v = Eigen::Vector4d(speed, 0, speed, 0);
  return s;
}

// Floors, the stopper, and of rigid links first the spring's, then the damper's.
void CartsAtStopper::detect(const State&, const DetectionQuery& query, SystemWorkspace& /*work*/,
                            Interactions& rows) const {
  rows.clear(nv());
  const auto add = [&](const Law& law, Origin origin, int index) {
    rows.add_block(law, {origin, index}, row_id(origin, index));
    for (int k = 0; k < layout().nodes(); ++k)
      rows.add_entry(layout().v_start[k], layout().v_start[k + 1] - layout().v_start[k]);
  };
  if (!query.equalities_only) {
    const Law floor{.kind = LawKind::coulomb,
                    .dim = 2,
                    .friction = data_.friction,
                    .recovery = Recovery::linear};
    const Law stopper{.kind = LawKind::unilateral,
                      .restitution = data_.restitution,
                      .recovery = Recovery::linear};
    add(floor, Origin::limit, 0);
    add(floor, Origin::limit, 1);
    add(stopper, Origin::limit, 2);
  }
  if (!data_.rigid) return;
  add({}, Origin::joint, 0);
  add({.on_velocity = true}, Origin::joint, 1);
}

void CartsAtStopper::measure(const State& state, bool /*accelerations*/, SystemWorkspace& /*work*/,
                             Interactions& rows) const {
  rows.clear_numbers();
  // One node of four coordinates, or one of each.
  const auto set = [&](int block, int r, int coordinate, double value) {
    for (int k = 0; k < layout().nodes(); ++k) {
      const int first = layout().v_start[k], width = layout().v_start[k + 1] - first;
      if (coordinate >= first && coordinate < first + width)
        rows.entry(block, k)[r * width + coordinate - first] = value;
    }
  };
  for (int i = 0; i < rows.blocks(); ++i) {
    const int index = rows.origins[i].index, first = rows.J.row_start[i];
    if (rows.origins[i].kind == Origin::limit && index < 2) {
      rows.g[first] = state.q[2 * index + 1];
      set(i, 0, 2 * index + 1, 1);
      set(i, 1, 2 * index, 1);
    } else if (rows.origins[i].kind == Origin::joint && index == 1) {
      set(i, 0, 0, -1);
      set(i, 0, 2, 1);
    } else {
      rows.g[first] = state.q[0] - (index == 2 ? 0 : data_.equilibrium);
      set(i, 0, 0, 1);
    }
  }
}

// ---- The woodpecker

namespace {

namespace woodpecker {

constexpr double pole = 0.0025, sleeve_radius = 0.0031, sleeve_half_height = 0.0058;
constexpr double spring_arm = 0.010, bird_arm = 0.015, beak_height = 0.020, beak_reach = 0.0201;
constexpr double sleeve_mass = 0.0003, sleeve_inertia = 5.0e-9;
constexpr double bird_mass = 0.0045, bird_inertia = 7.0e-7;
constexpr double spring = 0.0056, gravity = 9.81, friction = 0.3, restitution = 0.5;

Matrix mass() {
  const double s = bird_mass * spring_arm, b = bird_mass * bird_arm;
  Matrix M(3, 3);
  M << sleeve_mass + bird_mass, s, b,                    //
      s, sleeve_inertia + s * spring_arm, s * bird_arm,  //
      b, s * bird_arm, bird_inertia + b * bird_arm;
  return M;
}

Matrix stiffness() {
  Matrix K = Matrix::Zero(3, 3);
  K.bottomRightCorner(2, 2) << spring, -spring, -spring, spring;
  return K;
}

/// Of each contact: the gap with no angles, and its rates by the coordinates along and across.
struct Edge {
  double open;
  Vec3 normal, tangent;
};

std::array<Edge, 3> edges() {
  const double play = sleeve_radius - pole;
  return {{{spring_arm + bird_arm - beak_reach - pole,
            {0, 0, -beak_height},
            {1, spring_arm, bird_arm - beak_reach}},
           {play, {0, sleeve_half_height, 0}, {1, sleeve_radius, 0}},
           {play, {0, -sleeve_half_height, 0}, {1, sleeve_radius, 0}}}};
}

}  // namespace woodpecker

}  // namespace

WoodpeckerToy::WoodpeckerToy()
    : LinearSystem(woodpecker::mass(), Matrix::Zero(3, 3), woodpecker::stiffness(),
                   -woodpecker::gravity * woodpecker::mass().col(0)) {}

State WoodpeckerToy::start() {
  State s;
  s.q = Vec3(0, -0.1036, -0.2788);
  s.v = Vec3(-0.3411, 0, -7.4583);
  return s;
}

void WoodpeckerToy::detect(const State&, const DetectionQuery& query, SystemWorkspace& /*work*/,
                           Interactions& rows) const {
  rows.clear(nv());
  if (query.equalities_only) return;
  for (int i = 0; i < 3; ++i) {
    rows.add_block({.kind = LawKind::coulomb,
                    .dim = 2,
                    .friction = woodpecker::friction,
                    .restitution = i == 0 ? woodpecker::restitution : 0,
                    .recovery = Recovery::linear},
                   {Origin::limit, i}, row_id(Origin::limit, i));
    for (int k = 0; k < layout().nodes(); ++k)
      rows.add_entry(layout().v_start[k], layout().v_start[k + 1] - layout().v_start[k]);
  }
}

void WoodpeckerToy::measure(const State& state, bool /*accelerations*/, SystemWorkspace& /*work*/,
                            Interactions& rows) const {
  rows.clear_numbers();
  const std::array<woodpecker::Edge, 3> edges = woodpecker::edges();
  for (int i = 0; i < rows.blocks(); ++i) {
    const woodpecker::Edge& edge = edges[rows.origins[i].index];
    rows.g[rows.J.row_start[i]] = edge.open + edge.normal.dot(Vec3(state.q));
    for (int k = 0; k < layout().nodes(); ++k) {
      const int first = layout().v_start[k], width = layout().v_start[k + 1] - first;
      for (int c = 0; c < width; ++c) {
        rows.entry(i, k)[c] = edge.normal[first + c];
        rows.entry(i, k)[width + c] = edge.tangent[first + c];
      }
    }
  }
}

// ---- The bar

struct ImpactingBar::Matrices {
  explicit Matrices(const Data& d) {
    const int n = d.elements + 1;
    const double l = d.length / d.elements;
    M = K = Matrix::Zero(n, n);
    Eigen::Matrix2d m, k;
    m << 2, 1, 1, 2;
    m *= d.density * l / 6;
    if (d.lumped) m = 0.5 * d.density * l * Eigen::Matrix2d::Identity();
    k << 1, -1, -1, 1;
    k *= d.youngs / l;
    for (int e = 0; e < d.elements; ++e) {
      M.block<2, 2>(e, e) += m;
      K.block<2, 2>(e, e) += k;
    }
  }
  Matrix M, K;
};

ImpactingBar::ImpactingBar(const Data& data) : ImpactingBar(data, Matrices(data)) {}

ImpactingBar::ImpactingBar(const Data& data, const Matrices& all)
    : LinearSystem(all.M, data.damping * all.K, all.K, Vector::Zero(all.M.rows())),
      distance_(data.distance) {}

State ImpactingBar::start(double speed) const {
  State s;
  s.q = Vector::Zero(nq());
  s.v = Vector::Constant(nv(), -speed);
  return s;
}

void ImpactingBar::detect(const State&, const DetectionQuery& query, SystemWorkspace& /*work*/,
                          Interactions& rows) const {
  rows.clear(nv());
  if (query.equalities_only) return;
  const Law law{.kind = LawKind::unilateral, .recovery = Recovery::linear};
  rows.add_block(law, {Origin::limit, 0}, row_id(Origin::limit, 0));
  rows.add_entry(0, layout().size(0));
}

void ImpactingBar::measure(const State& state, bool /*accelerations*/, SystemWorkspace& /*work*/,
                           Interactions& rows) const {
  rows.clear_numbers();
  for (int i = 0; i < rows.blocks(); ++i) {
    rows.g[i] = distance_ + state.q[0];
    *rows.entry(i, 0) = 1;
  }
}

}  // namespace urto
