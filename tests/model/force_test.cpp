#include "urto/model/force.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "support/random_numbers.h"
#include "urto/model/model.h"

namespace urto {
namespace {

constexpr double pi = std::numbers::pi;
using Vec6 = Eigen::Matrix<double, 6, 1>;

struct Random : samples::RandomNumbers {
  using RandomNumbers::RandomNumbers;
  Vec3 vector(double size = 1) {
    return size * Vec3(uniform(-1, 1), uniform(-1, 1), uniform(-1, 1));
  }
  Vec4 quaternion() { return quaternion_exp(vector(3)); }
};

// Two dynamic bodies (0 and 2), a fixed one (1) and one that swings (3), each with a marker of the
// same number; marker 4 is a second one on body 0.
struct Scene {
  Model model;
  State state;
};

constexpr std::pair<int, int> pairs[] = {{0, 2}, {2, 0}, {0, 1}, {1, 2}, {0, 3}, {3, 2}};

Scene random_scene(unsigned seed) {
  Random random(seed);
  Scene s;
  for (const BodyKind kind :
       {BodyKind::dynamic, BodyKind::fixed, BodyKind::dynamic, BodyKind::kinematic}) {
    Body body;
    body.kind = kind;
    body.mass = random.uniform(1, 3);
    body.start = {random.vector(2), random.quaternion()};
    body.velocity = random.vector(2);
    body.angular_velocity = random.vector(2);
    for (Function& f : body.motion.position)
      f = HarmonicFunction{.amplitude = 0.4, .frequency = random.uniform(0.3, 1), .phase = 0.7};
    body.motion.axis = random.vector();
    body.motion.angle = HarmonicFunction{.amplitude = 0.8, .frequency = 0.5, .phase = 0.2};
    add_body(s.model, body);
  }
  for (const int body : {0, 1, 2, 3, 0})
    add_marker(s.model, "", body, {random.vector(), random.quaternion()});
  return s;
}

void start(Scene& s) {
  finalize(s.model);
  s.state = initial_state(s.model);
  s.state.t = 0.3;
  update_angles(s.model, s.state);
}

Characteristic line(double slope) {
  Characteristic c;
  c.slope = slope;
  return c;
}

Characteristic cubic(double slope) {
  Characteristic c;
  c.user = [slope](double x) {
    return std::array<double, 2>{slope * (x + x * x * x / 2), slope * (1 + 1.5 * x * x)};
  };
  return c;
}

Characteristic table(double slope) {
  Characteristic c;
  c.table_x = {-2, -0.5, 0, 0.7, 1.5};
  c.table_y = {-3 * slope, -0.4 * slope, 0, 0.5 * slope, 2 * slope};
  return c;
}

// One of every kind between two markers, all with damping and most with a preload.
std::vector<Force> internal_forces(int a, int b) {
  std::vector<Force> all;
  const Measure measures[] = {{MeasureKind::distance, 0, 0}, {MeasureKind::along, 0, 0},
                              {MeasureKind::along, 2, 0},    {MeasureKind::dot, 0, 1},
                              {MeasureKind::dot, 2, 2},      {MeasureKind::angle, 2, 0},
                              {MeasureKind::angle, 0, 1},    {MeasureKind::swing, 2, 2}};
  for (const Measure& m : measures) {
    all.push_back(MeasureSpring{"line", a, b, m, 0.4, line(30), line(4), 2, -1});
    all.push_back(MeasureSpring{"cubic", a, b, m, 0.1, cubic(20), cubic(3), -1, -1});
    all.push_back(MeasureSpring{"table", a, b, m, 0.2, table(20), table(3), 0, -1});
  }
  Vec6 k, c;
  k << 10, 20, 30, 4, 5, 6;
  c << 1, 2, 3, 0.4, 0.5, 0.6;
  all.push_back(Bushing{"bushing", a, b, k, c});
  all.push_back(Bushing{"rubber", a, b, k, Vec6::Zero()});
  all.push_back(Bushing{"oil", a, b, Vec6::Zero(), c});
  return all;
}

std::vector<Force> external_forces() {
  std::vector<Force> all;
  for (const bool follows : {false, true}) {
    for (const int marker : {0, 2, 1, 3}) {
      all.push_back(Load{"load",
                         marker,
                         follows,
                         {HarmonicFunction{}, ConstantFunction{3}, PolynomialFunction{{1, 2}}},
                         {ConstantFunction{-1}, HarmonicFunction{}, ConstantFunction{2}}});
    }
  }
  all.push_back(CentralGravity{"sun", Vec3(3, 0.5, -0.2), 40});
  for (const int body : {0, 2, 1, 3}) all.push_back(Drag{"drag", body, 3, 0.7});
  return all;
}

Vector force_at(const Force& force, const Model& model, const State& state) {
  Vector f = Vector::Zero(model.nv());
  add_force(force, model, state, f);
  return f;
}

State moved(const Model& model, State state, const Vector& delta, double time) {
  const Configuration from = state.q;
  add_increment(model, from, delta, state.q);
  state.t += time;
  return state;
}

// Fourth-order central difference of g(h) at zero.
template <class G>
auto central(const G& g, double h) {
  return ((8 * (g(h) - g(-h)) - (g(2 * h) - g(-2 * h))) / (12 * h)).eval();
}

struct Dense {
  Matrix stiffness, damping;
};

Dense dense_tangents(const Force& force, const Model& model, const State& state, Tangent kind) {
  const auto tangent = [&](const TangentFactors& factors) {
    BlockMatrix A;
    A.start_assembly(model.layout.v_start, BlockMatrix::Symmetry::general);
    add_tangents(force, model, state, kind, factors, A);
    A.finish_assembly();
    return Matrix(to_sparse(A));
  };
  return {tangent({.stiffness = 1}), tangent({.damping = 1})};
}

Dense difference_tangents(const Force& force, const Model& model, const State& state) {
  Dense d{Matrix(model.nv(), model.nv()), Matrix(model.nv(), model.nv())};
  for (int j = 0; j < model.nv(); ++j) {
    const Vector unit = Vector::Unit(model.nv(), j);
    d.stiffness.col(j) = -central(
        [&](double h) { return force_at(force, model, moved(model, state, h * unit, 0)); }, 1e-4);
    d.damping.col(j) = -central(
        [&](double h) {
          State s = state;
          s.v += h * unit;
          return force_at(force, model, s);
        },
        1e-4);
  }
  return d;
}

double relative_error(const Matrix& a, const Matrix& b) {
  return (a - b).norm() / std::max(1., b.norm());
}

double tangent_error(const Force& force, const Model& model, const State& state) {
  const Dense exact = dense_tangents(force, model, state, Tangent::exact);
  const Dense numeric = difference_tangents(force, model, state);
  return std::max(relative_error(exact.stiffness, numeric.stiffness),
                  relative_error(exact.damping, numeric.damping));
}

// f·v + dV/dt + dissipated − supplied, with dV/dt along the motion (prescribed bodies move too).
double power_error(const Force& force, const Model& model, const State& state) {
  using One = Eigen::Matrix<double, 1, 1>;
  const auto potential = [&](double h) {
    return One(potential_energy(force, model, moved(model, state, h * state.v, h)));
  };
  const double rate = central(potential, 1e-4)[0];
  const double power = force_at(force, model, state).dot(state.v);
  const double error =
      power + rate + dissipated_power(force, model, state) - supplied_power(force, model, state);
  return std::abs(error) / (1 + std::abs(rate) + std::abs(power));
}

TEST(Force, PowerIsPotentialLostMinusDissipatedPlusSupplied) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    Scene s = random_scene(seed);
    for (const auto& [a, b] : pairs) {
      for (Force& force : internal_forces(a, b)) s.model.forces.push_back(force);
    }
    for (Force& force : external_forces()) s.model.forces.push_back(force);
    start(s);
    for (const Force& force : s.model.forces) {
      const double error = power_error(force, s.model, s.state);
      EXPECT_LE(error, 1e-8) << name_of(force) << ", scene " << seed;
      EXPECT_GE(dissipated_power(force, s.model, s.state), 0) << name_of(force);
    }
  }
}

TEST(Force, InternalForcesKeepMomentumAndAngularMomentum) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    Scene s = random_scene(seed);
    s.model.forces = internal_forces(0, 2);
    start(s);
    for (const Force& force : s.model.forces) {
      const Vector f = force_at(force, s.model, s.state);
      Vec3 momentum = Vec3::Zero(), moment = Vec3::Zero();
      for (const int body : {0, 2}) {
        const BodyPlace at = place(s.model, s.state, body);
        const int i = dof(s.model, body);
        momentum += f.segment<3>(i);
        moment += at.x.cross(f.segment<3>(i)) + at.A * f.segment<3>(i + 3);
      }
      EXPECT_GT(f.norm(), 0) << name_of(force);
      EXPECT_LE(momentum.norm(), 1e-13 * f.norm()) << name_of(force);
      EXPECT_LE(moment.norm(), 1e-13 * f.norm()) << name_of(force);
    }
  }
}

TEST(Force, ExactTangentsAreTheDerivativesOfTheForce) {
  for (unsigned seed = 1; seed <= 6; ++seed) {
    Scene s = random_scene(seed);
    for (const auto& [a, b] : pairs) {
      for (Force& force : internal_forces(a, b)) s.model.forces.push_back(force);
    }
    for (Force& force : external_forces()) s.model.forces.push_back(force);
    start(s);
    for (const Force& force : s.model.forces) {
      const double error = tangent_error(force, s.model, s.state);
      EXPECT_LE(error, 1e-8) << name_of(force) << ", scene " << seed;
    }
  }
}

TEST(Force, SemidefiniteTangentsAreSymmetricAndNeverNegative) {
  for (unsigned seed = 1; seed <= 8; ++seed) {
    Scene s = random_scene(seed);
    for (const auto& [a, b] : pairs) {
      for (Force& force : internal_forces(a, b)) s.model.forces.push_back(force);
    }
    for (Force& force : external_forces()) s.model.forces.push_back(force);
    // Softening and driving laws: both slopes are negative somewhere.
    s.model.forces.push_back(
        MeasureSpring{"buckled", 0, 2, {MeasureKind::distance, 0, 0}, 0, line(-5), line(-1), 0});
    start(s);
    for (const Force& force : s.model.forces) {
      const Dense t = dense_tangents(force, s.model, s.state, Tangent::semidefinite);
      for (const Matrix* m : {&t.stiffness, &t.damping}) {
        EXPECT_LE((*m - m->transpose()).norm(), 1e-14 * m->norm()) << name_of(force);
        const Matrix symmetric = 0.5 * (*m + m->transpose());
        const double lowest =
            Eigen::SelfAdjointEigenSolver<Matrix>(symmetric).eigenvalues().minCoeff();
        EXPECT_GE(lowest, -1e-13 * m->norm()) << name_of(force);
      }
    }
  }
}

// At rest and without preload, all that is left out of the exact tangent is proportional to the
// force.
TEST(Force, SemidefiniteTangentOfAnUnloadedSpringIsExact) {
  Scene s = random_scene(3);
  Scene probe = random_scene(3);
  start(probe);
  const Vec3 w = place(probe.model, probe.state, 2).x - place(probe.model, probe.state, 0).x;
  for (Marker& m : s.model.markers) m.frame.p.setZero();
  s.model.forces.push_back(
      MeasureSpring{"spring", 0, 2, {MeasureKind::distance, 0, 0}, w.norm(), line(9), line(2), 0});
  start(s);
  s.state.v.setZero();
  const Force& force = s.model.forces[0];
  const Dense exact = dense_tangents(force, s.model, s.state, Tangent::exact);
  const Dense positive = dense_tangents(force, s.model, s.state, Tangent::semidefinite);
  EXPECT_LE(relative_error(positive.stiffness, exact.stiffness), 1e-13);
  EXPECT_LE(relative_error(positive.damping, exact.damping), 1e-15);
  EXPECT_NEAR(positive.stiffness.norm(), 2 * 9, 1e-12);
}

TEST(Force, NegativeSlopesAreLeftOutOfTheSemidefiniteTangent) {
  Scene s = random_scene(4);
  s.model.forces.push_back(
      MeasureSpring{"soft", 0, 2, {MeasureKind::distance, 0, 0}, 0, line(-5), line(-1), 0});
  start(s);
  const Dense t = dense_tangents(s.model.forces[0], s.model, s.state, Tangent::semidefinite);
  EXPECT_EQ(t.stiffness.norm(), 0);
  EXPECT_EQ(t.damping.norm(), 0);
  EXPECT_GT(dense_tangents(s.model.forces[0], s.model, s.state, Tangent::exact).damping.norm(), 0);
}

TEST(Force, StretchedSpringPullsItsEndsTogetherByHookesLaw) {
  Model model;
  Body body;
  add_body(model, body);
  body.start.position = Vec3(0, 3, 4);
  body.velocity = Vec3(0, 0.6, 0.8);
  add_body(model, body);
  for (const int k : {0, 1}) add_marker(model, "", k, {});
  model.forces.push_back(
      MeasureSpring{"", 0, 1, {MeasureKind::distance, 0, 0}, 2, line(10), line(7), 0});
  finalize(model);
  const State state = initial_state(model);
  const Vector f = force_at(model.forces[0], model, state);
  EXPECT_LE((f.segment<3>(0) - (10 * 3 + 7) * Vec3(0, 0.6, 0.8)).norm(), 1e-13);
  EXPECT_LE((f.segment<3>(6) + (10 * 3 + 7) * Vec3(0, 0.6, 0.8)).norm(), 1e-13);
  EXPECT_DOUBLE_EQ(potential_energy(model.forces[0], model, state), 45);
  EXPECT_DOUBLE_EQ(dissipated_power(model.forces[0], model, state), 7);
}

TEST(Force, TorsionSpringRemembersWholeTurns) {
  Model model;
  Body body;
  body.kind = BodyKind::fixed;
  add_body(model, body);
  body.kind = BodyKind::dynamic;
  add_body(model, body);
  for (const int k : {0, 1}) add_marker(model, "", k, {});
  model.forces.push_back(
      MeasureSpring{"", 0, 1, {MeasureKind::angle, 2, 0}, 0, line(3), line(0), 0});
  finalize(model);
  State state = initial_state(model);
  const double turned = 2.25 * 2 * pi;
  for (double angle = 0; angle < turned + 1e-9; angle += turned / 20) {
    state.q.segment<4>(3) = quaternion_exp({0, 0, angle});
    update_angles(model, state);
  }
  const Vector f = force_at(model.forces[0], model, state);
  EXPECT_NEAR(f[5], -3 * turned, 1e-12);
  EXPECT_NEAR(potential_energy(model.forces[0], model, state), 1.5 * turned * turned, 1e-11);
}

TEST(Force, SpringBetweenTwoPointsOfOneBodyDoesNothing) {
  Scene s = random_scene(5);
  s.model.forces = internal_forces(0, 4);
  start(s);
  for (const Force& force : s.model.forces) {
    EXPECT_LE(force_at(force, s.model, s.state).norm(), 1e-12) << name_of(force);
    EXPECT_LE(std::abs(dissipated_power(force, s.model, s.state)), 1e-25);
    EXPECT_LE(dense_tangents(force, s.model, s.state, Tangent::exact).stiffness.norm(), 1e-11);
  }
}

TEST(Force, OnlyDynamicBodiesFeelForces) {
  Scene s = random_scene(6);
  s.model.forces = internal_forces(1, 3);
  for (const int fixed_or_moved : {1, 3}) {
    s.model.forces.push_back(Drag{"", fixed_or_moved, 1, 1});
    s.model.forces.push_back(Load{"", fixed_or_moved, false, {ConstantFunction{1}}, {}});
  }
  start(s);
  for (const Force& force : s.model.forces) {
    EXPECT_EQ(force_at(force, s.model, s.state).norm(), 0);
    EXPECT_EQ(dense_tangents(force, s.model, s.state, Tangent::exact).stiffness.norm(), 0);
  }
}

TEST(Force, MovingWallDragsABodyThroughADamper) {
  Model model;
  Body wall;
  wall.kind = BodyKind::kinematic;
  wall.motion.position[0] = PolynomialFunction{{0, 2}};
  add_body(model, wall);
  add_body(model, {});
  for (const int k : {0, 1}) add_marker(model, "", k, {});
  model.forces.push_back(
      MeasureSpring{"", 0, 1, {MeasureKind::along, 0, 0}, 0, line(0), line(5), 0});
  finalize(model);
  State state = initial_state(model);
  EXPECT_DOUBLE_EQ(force_at(model.forces[0], model, state)[0], 10);
  EXPECT_DOUBLE_EQ(supplied_power(model.forces[0], model, state), 20);
  EXPECT_DOUBLE_EQ(dissipated_power(model.forces[0], model, state), 20);
}

TEST(Force, TableCharacteristicGoesOnStraight) {
  const Characteristic c = table(10);
  EXPECT_DOUBLE_EQ(evaluate(c, 0.35)[0], 2.5);
  EXPECT_DOUBLE_EQ(evaluate(c, 0.35)[1], 5 / 0.7);
  EXPECT_DOUBLE_EQ(evaluate(c, 0)[0], 0);
  EXPECT_DOUBLE_EQ(evaluate(c, 2.3)[0], 35);
  EXPECT_NEAR(evaluate(c, -3.5)[0], -56, 1e-13);
  EXPECT_NEAR(evaluate(c, -3.5)[1], 26 / 1.5, 1e-13);
  EXPECT_EQ(evaluate(Characteristic{}, 5)[0], 0);
}

// A spring with a corner (a bump stop): the energy of the same law as a table and as a function.
TEST(Force, EnergyOfALawWithCornersIsFoundByQuadrature) {
  Characteristic stop_table, stop_user;
  stop_table.table_x = {-1, 0.3, 1};
  stop_table.table_y = {0, 0, 700};
  stop_user.user = [](double x) {
    return x < 0.3 ? std::array<double, 2>{0, 0} : std::array<double, 2>{1000 * (x - 0.3), 1000};
  };
  Scene s = random_scene(7);
  for (const double rest : {-2., -0.5, 0., 0.4, 1., 4.}) {
    for (const Characteristic& c : {stop_table, stop_user}) {
      s.model.forces.push_back(
          MeasureSpring{"", 0, 2, {MeasureKind::distance, 0, 0}, rest, c, line(0), 0});
    }
  }
  start(s);
  for (std::size_t k = 0; k < s.model.forces.size(); k += 2) {
    const double exact = potential_energy(s.model.forces[k], s.model, s.state);
    EXPECT_NEAR(potential_energy(s.model.forces[k + 1], s.model, s.state), exact,
                1e-7 * (1 + exact));
  }
}

// Every branch of the tangent of the rotation: no rotation, tiny ones, both sides of the series'
// end, and nearly half a turn; the rotation comes from either body.
TEST(Force, BushingTangentIsExactAtEveryRotation) {
  Vec6 k, c;
  k << 10, 20, 30, 4, 5, 6;
  c << 1, 2, 3, 0.4, 0.5, 0.6;
  for (const double angle : {0., 1e-9, 1e-5, 9e-4, 1.1e-3, 0.1, 0.499, 0.501, 1., 2., 3., 3.13}) {
    Random random(9);
    Scene s = random_scene(9);
    s.model.forces.push_back(Bushing{"", 0, 2, k, c});
    start(s);
    const Mat3 F = place(s.model, s.state, 0).A * s.model.markers[0].frame.R;
    const Mat3 turn = rotation_matrix(quaternion_exp(angle * random.vector().normalized()));
    const Mat3 A = F * turn * s.model.markers[2].frame.R.transpose();
    s.state.q.segment<4>(10) = quaternion_from_matrix(A);
    EXPECT_LE(tangent_error(s.model.forces[0], s.model, s.state), 1e-8) << "angle " << angle;
    EXPECT_LE(power_error(s.model.forces[0], s.model, s.state), 1e-9) << "angle " << angle;
  }
}

TEST(Force, BushingWorksInTheAxesOfItsFirstMarker) {
  Model model;
  Body body;
  body.kind = BodyKind::fixed;
  body.start.rotation = quaternion_exp({0, 0, pi / 2});
  add_body(model, body);
  body.kind = BodyKind::dynamic;
  body.start.position = Vec3(0, 0.1, 0);
  body.start.rotation = quaternion_product(body.start.rotation, quaternion_exp({0, 0.2, 0}));
  add_body(model, body);
  for (const int k : {0, 1}) add_marker(model, "", k, {});
  Vec6 k;
  k << 100, 1, 1, 1, 50, 1;
  model.forces.push_back(Bushing{"", 0, 1, k, Vec6::Zero()});
  finalize(model);
  const Vector f = force_at(model.forces[0], model, initial_state(model));
  EXPECT_LE((f.head<3>() - Vec3(0, -10, 0)).norm(), 1e-13);
  EXPECT_LE((f.tail<3>() - Vec3(0, -10, 0)).norm(), 1e-13);
}

TEST(Force, LoadTurnsABodyByItsLeverArm) {
  for (const bool follows : {false, true}) {
    Model model;
    Body body;
    body.start.rotation = quaternion_exp({0, 0, pi / 2});
    add_body(model, body);
    add_marker(model, "", 0, {Vec3(2, 0, 0), quaternion_exp({0, 0, pi / 2})});
    model.forces.push_back(Load{"",
                                0,
                                follows,
                                {ConstantFunction{3}, ConstantFunction{}, ConstantFunction{}},
                                {ConstantFunction{}, ConstantFunction{}, ConstantFunction{1}}});
    finalize(model);
    const Vector f = force_at(model.forces[0], model, initial_state(model));
    Vector expected(6);
    // The body's x axis, and so the arm, is along world y; the marker's x is along world −x.
    if (follows) {
      expected << -3, 0, 0, 0, 0, 2 * 3 + 1;
    } else {
      expected << 3, 0, 0, 0, 0, -2 * 3 + 1;
    }
    EXPECT_LE((f - expected).norm(), 1e-13);
  }
}

TEST(Force, CentralGravityHoldsACircularOrbitAndIsHarmonic) {
  Model model;
  Body moon;
  moon.mass = 7;
  moon.start.position = Vec3(1, 2, 5);
  add_body(model, moon);
  const Vec3 centre(1, 2, 1);
  model.forces.push_back(CentralGravity{"", centre, 100});
  finalize(model);
  State state = initial_state(model);
  const Vector f = force_at(model.forces[0], model, state);
  EXPECT_LE((f.head<3>() - Vec3(0, 0, -7 * 100. / 16)).norm(), 1e-13);
  // Laplace: the field has no divergence.
  const Dense t = dense_tangents(model.forces[0], model, state, Tangent::exact);
  EXPECT_NEAR(t.stiffness.trace(), 0, 1e-14);
  EXPECT_LT(t.stiffness(2, 2), 0);
  EXPECT_EQ(dense_tangents(model.forces[0], model, state, Tangent::semidefinite).stiffness.norm(),
            0);
  state.q.head<3>() = centre;
  EXPECT_EQ(force_at(model.forces[0], model, state).norm(), 0);
}

TEST(Force, UserForceIsAddedAndCountedAsSupply) {
  Scene s = random_scene(10);
  s.model.forces.push_back(
      UserForce{"wind", [](const Model&, const State& state, Vector& f) { f += 0.5 * state.v; }});
  s.model.forces.push_back(UserForce{"nothing", {}});
  start(s);
  EXPECT_LE((force_at(s.model.forces[0], s.model, s.state) - 0.5 * s.state.v).norm(), 1e-15);
  EXPECT_DOUBLE_EQ(supplied_power(s.model.forces[0], s.model, s.state),
                   0.5 * s.state.v.squaredNorm());
  EXPECT_LE(power_error(s.model.forces[0], s.model, s.state), 1e-14);
  EXPECT_EQ(dense_tangents(s.model.forces[0], s.model, s.state, Tangent::exact).damping.norm(), 0);
  EXPECT_EQ(force_at(s.model.forces[1], s.model, s.state).norm(), 0);
}

}  // namespace
}  // namespace urto
