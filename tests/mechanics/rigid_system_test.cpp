// The assembled system: every derivative against finite differences of what it is the derivative
// of.
#include <random>

#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

/// One of each: joints of several kinds, a gear, a screw, motors, a limit in reach, joint friction,
/// a kinematic body, a ball near the floor.
Model menagerie() {
  Model m = empty_model();
  add_floor(m);
  Body turntable;
  turntable.name = "turntable";
  turntable.kind = BodyKind::kinematic;
  turntable.start.position = {0, 3, 0};
  turntable.motion.position[1] = HarmonicFunction{.amplitude = 0.2, .frequency = 0.5};
  turntable.motion.angle = PolynomialFunction{{0.1, 0.7, 0.2}};
  const int table = add_body(m, turntable);
  std::vector<int> body;
  for (int k = 0; k < 6; ++k) {
    const int b = add_rigid(m, "b" + std::to_string(k), {1.0 * k, 0.2 * k, 1}, 1 + k,
                            Vec3(0.1, 0.2, 0.25).asDiagonal());
    m.bodies[b].start.rotation = quaternion_exp(Vec3(0.3 * k, -0.2, 0.1 * k));
    body.push_back(b);
  }
  const int a = join(m, "a", JointKind::revolute, 0, body[0], {0.5, 0, 1}, {0, 1, 1});
  const int b = join(m, "b", JointKind::cylindrical, body[0], body[1], {0.7, 0, 1}, {1, 0, 1});
  join(m, "c", JointKind::universal, body[1], body[2], {1.5, 0.3, 1}, {1, 1, 0});
  const int d = join(m, "d", JointKind::screw, body[2], body[3], {2.5, 0.3, 1}, {0, 1, 0});
  m.joints[d].pitch = 0.3;
  join(m, "e", JointKind::spherical, table, body[4], {3.5, 1, 1});
  const int f = join(m, "f", JointKind::distance, body[4], body[5], {4.5, 0.3, 1});
  m.markers[m.joints[f].marker_b].frame.p += Vec3(0.3, 0.1, 0.2);
  m.joints[f].length = 0.4;
  m.couplings.push_back({.name = "gear", .coordinates = {{a, 0}, {b, 1}}, .factors = {1, -2}});
  Motor motor;
  motor.on = {b, 0};
  motor.value = HarmonicFunction{.amplitude = 0.3, .frequency = 1};
  m.motors.push_back(motor);
  motor.mode = MotorMode::force;
  motor.on = {a, 0};
  m.motors.push_back(motor);
  m.limits.push_back({.on = {a, 0}, .lower = -0.001, .upper = 0.001});
  add_ball(m, "ball", {7, 0, 0.1}, 0.1, 1);
  finalize(m);
  return m;
}

State random_state(const Model& m, std::mt19937& random) {
  std::normal_distribution<double> normal;
  State s = initial_state(m);
  Vector delta(m.nv());
  for (int k = 0; k < m.nv(); ++k) {
    delta[k] = 0.05 * normal(random);
    s.v[k] = normal(random);
  }
  delta.tail<6>().setZero();  // the ball stays by the floor
  add_increment(m, s.q, delta, s.q);
  s.t = 0.3;
  update_angles(m, s);
  return s;
}

State moved(const Model& m, const State& s, const Vector& delta, double dt = 0) {
  State out = s;
  add_increment(m, s.q, delta, out.q);
  out.t += dt;
  return out;
}

DetectionQuery everything() {
  return {.h = 1e-3, .envelope = 10};
}

TEST(RigidSystem, RowsAreTheDerivativesOfTheirValues) {
  const Model m = menagerie();
  const RigidSystem rigid(m);
  SystemAccess system(rigid);
  std::mt19937 random(7);
  for (int trial = 0; trial < 20; ++trial) {
    const State s = random_state(m, random);
    Interactions rows, plus, minus;
    system.interactions(s, everything(), rows, true);
    const Matrix J = Matrix(to_sparse(rows.J));
    constexpr double eps = 1e-6;
    for (int k = 0; k <= m.nv(); ++k) {  // the last is time
      Vector delta = Vector::Zero(m.nv());
      if (k < m.nv()) delta[k] = eps;
      const double dt = k == m.nv() ? eps : 0;
      system.interactions(moved(m, s, delta, dt), everything(), plus, true);
      system.interactions(moved(m, s, -delta, -dt), everything(), minus, true);
      for (int i = 0; i < rows.blocks(); ++i) {
        if (rows.origins[i].kind == Origin::contact) continue;
        for (int r = rows.J.row_start[i]; r < rows.J.row_start[i + 1]; ++r) {
          const double found = k < m.nv() ? J(r, k) : rows.g_t[r];
          ASSERT_NEAR(found, (plus.g[r] - minus.g[r]) / (2 * eps), 1e-7)
              << system.describe(rows, i) << " column " << k;
        }
      }
    }
  }
}

TEST(RigidSystem, AccelerationTermIsTheSecondDerivativeAlongTheMotion) {
  const Model m = menagerie();
  const RigidSystem rigid(m);
  SystemAccess system(rigid);
  std::mt19937 random(8);
  for (int trial = 0; trial < 20; ++trial) {
    const State s = random_state(m, random);
    Interactions rows, plus, minus;
    system.interactions(s, everything(), rows, true);
    constexpr double eps = 1e-4;
    system.interactions(moved(m, s, eps * s.v, eps), everything(), plus, true);
    system.interactions(moved(m, s, -eps * s.v, -eps), everything(), minus, true);
    for (int i = 0; i < rows.blocks(); ++i) {
      if (rows.origins[i].kind == Origin::contact) continue;
      for (int r = rows.J.row_start[i]; r < rows.J.row_start[i + 1]; ++r) {
        ASSERT_NEAR(rows.jdot_v[r], (plus.g[r] - 2 * rows.g[r] + minus.g[r]) / (eps * eps), 2e-5)
            << system.describe(rows, i);
      }
    }
  }
}

TEST(RigidSystem, GeometricStiffnessIsTheDerivativeOfTheReactions) {
  const Model m = menagerie();
  const RigidSystem rigid(m);
  SystemAccess system(rigid);
  std::mt19937 random(9);
  std::normal_distribution<double> normal;
  const State s = random_state(m, random);
  Interactions rows, plus, minus;
  system.interactions(s, everything(), rows, true);
  Vector lambda(rows.rows());
  for (double& l : lambda) l = normal(random);
  // A contact's rows take the nearest points as fixed: no second derivative to compare.
  for (int i = 0; i < rows.blocks(); ++i) {
    if (rows.origins[i].kind == Origin::contact)
      lambda.segment(rows.J.row_start[i], rows.laws[i].dim).setZero();
  }
  BlockMatrix stiffness;
  stiffness.start_assembly(system.layout().v_start, BlockMatrix::Symmetry::general);
  system.add_geometric_stiffness(s, rows, lambda, 1, stiffness);
  stiffness.finish_assembly();
  const Matrix K = to_sparse(stiffness);
  constexpr double eps = 1e-6;
  for (int k = 0; k < m.nv(); ++k) {
    Vector delta = Vector::Zero(m.nv());
    delta[k] = eps;
    system.interactions(moved(m, s, delta), everything(), plus, true);
    system.interactions(moved(m, s, -delta), everything(), minus, true);
    Vector up = Vector::Zero(m.nv());
    Vector down = Vector::Zero(m.nv());
    transpose_multiply_add(plus.J, lambda, up);
    transpose_multiply_add(minus.J, lambda, down);
    EXPECT_LT((K.col(k) + (up - down) / (2 * eps)).cwiseAbs().maxCoeff(), 1e-7) << "column " << k;
  }
}

TEST(RigidSystem, GyroscopicTangentIsTheDerivativeOfItsForce) {
  Model m = empty_model(Vec3::Zero());
  add_rigid(m, "top", Vec3::Zero(), 1, Vec3(1, 2, 2.5).asDiagonal());
  finalize(m);
  const RigidSystem rigid(m);
  SystemAccess system(rigid);
  State s = initial_state(m);
  s.v << 0, 0, 0, 1, -2, 3;
  BlockMatrix damping;
  damping.start_assembly(system.layout().v_start, BlockMatrix::Symmetry::general);
  system.assemble(s, {.damping = 1}, Tangent::exact, damping);
  damping.finish_assembly();
  Vector up, down;
  for (int k = 0; k < 6; ++k) {
    State plus = s, minus = s;
    plus.v[k] += 1e-6;
    minus.v[k] -= 1e-6;
    system.force(plus, up);
    system.force(minus, down);
    EXPECT_LT((damping.block(0).col(k) + (up - down) / 2e-6).cwiseAbs().maxCoeff(), 1e-8);
  }
}

TEST(RigidSystem, TurningFreelyKeepsTheEnergyAndIsTheMomentToFirstOrder) {
  std::mt19937 engine(7);
  std::normal_distribution<double> normal;
  Model m = empty_model(Vec3::Zero());
  add_rigid(m, "top", Vec3::Zero(), 1, Vec3(1, 2, 2.5).asDiagonal());
  finalize(m);
  const Mat3 I = m.bodies[1].inertia;
  const RigidSystem rigid(m);
  SystemAccess system(rigid);
  State s = initial_state(m);
  Vector f;
  // Up to many radians in a step.
  for (const double h : {1e-6, 1e-3, 0.1, 1.0, 100.0}) {
    for (int k = 0; k < 200; ++k) {
      s.v << 0, 0, 0, normal(engine), normal(engine), normal(engine);
      system.force(s, f);
      const Vec3 moment = f.tail<3>(), omega = s.v.tail<3>();
      rigid.remove_gyroscopic(s, system.workspace(), f);
      Vector v = s.v, increment;
      rigid.turn_freely(h, system.workspace(), v, increment);
      const Vec3 turned = v.tail<3>();
      EXPECT_LT(f.norm(), 1e-14);
      EXPECT_NEAR(turned.dot(I * turned), omega.dot(I * omega), 1e-13 * omega.dot(I * omega));
      if (h > 1e-3) continue;
      EXPECT_NEAR((I * turned).norm(), (I * omega).norm(), 1e-12 * (I * omega).norm());
      EXPECT_LT((I * (turned - omega) - h * moment).norm(), 20 * h * h * std::pow(omega.norm(), 3));
    }
  }
}

}  // namespace
}  // namespace urto
