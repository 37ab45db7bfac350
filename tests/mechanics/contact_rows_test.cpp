// Contact rows at other states than where they were detected, and their second derivatives (recipe
// 004, supplement §4).
#include <random>

#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

struct Touching {
  std::string name;
  Model model;
};

int add_ellipsoid(Model& m, const Vec3& position, const Vec3& axes, const Vec3& turned) {
  const int body =
      testing::add_rigid(m, "ellipsoid", position, 2, Vec3(0.02, 0.03, 0.04).asDiagonal());
  m.bodies[body].start.rotation = quaternion_exp(turned);
  m.shapes.push_back({.kind = ShapeKind::ellipsoid, .size = axes, .pose = {}, .body = body});
  return body;
}

std::vector<Touching> pairs_that_roll() {
  std::vector<Touching> all;
  const auto add = [&](std::string name, auto fill) {
    Model m = testing::empty_model();
    m.materials[0].friction = 0.5;
    m.materials[0].rolling_friction = 0.01;
    m.materials[0].spinning_friction = 0.02;
    fill(m);
    finalize(m);
    all.push_back({std::move(name), std::move(m)});
  };
  add("ball on a floor", [](Model& m) {
    testing::add_floor(m);
    testing::add_ball(m, "ball", {0, 0, 0.1002}, 0.1, 1);
  });
  add("ball on a ball", [](Model& m) {
    testing::add_ball(m, "lower", {0, 0, 0}, 0.2, 1);
    testing::add_ball(m, "upper", {0.1, 0.05, 0.2785}, 0.1, 1);
  });
  add("ellipsoid on a floor", [](Model& m) {
    testing::add_floor(m);
    add_ellipsoid(m, {0, 0, 0.23}, {0.3, 0.2, 0.15}, {0.4, -0.5, 0.2});
  });
  add("ellipsoid on an ellipsoid", [](Model& m) {
    add_ellipsoid(m, {0, 0, 0}, {0.3, 0.25, 0.2}, {0.1, 0.2, 0});
    add_ellipsoid(m, {0.05, 0.1, 0.4}, {0.2, 0.3, 0.25}, {0.3, -0.1, 0.5});
  });
  return all;
}

State moving(const Model& m, unsigned seed) {
  State s = initial_state(m);
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  for (double& x : s.v) x = 0.5 * normal(random);
  return s;
}

State moved(const Model& m, const State& s, const Vector& delta) {
  State out = s;
  add_increment(m, s.q, delta, out.q);
  return out;
}

TEST(ContactRows, MeasuredElsewhereAreThoseDetectedThere) {
  for (const Touching& t : pairs_that_roll()) {
    const RigidSystem rigid(t.model);
    SystemAccess system(rigid);
    const State s = moving(t.model, 1);
    Interactions rows, fresh;
    const DetectionQuery query{.envelope = 0.05};
    system.interactions(s, query, rows);
    ASSERT_EQ(rows.contacts.size(), 1U) << t.name;
    const State there = moved(t.model, s, 3e-3 * s.v);
    system.measure(there, rows);
    system.interactions(there, query, fresh);
    ASSERT_EQ(fresh.ids, rows.ids) << t.name;
    EXPECT_NEAR(rows.g[0], fresh.g[0], 1e-9) << t.name;
    const Matrix apart = Matrix(to_sparse(rows.J)) - Matrix(to_sparse(fresh.J));
    EXPECT_LT(apart.cwiseAbs().maxCoeff(), 1e-7) << t.name;
    EXPECT_GT((Matrix(to_sparse(rows.J)) - Matrix(to_sparse(fresh.J))).rows(), 0);
  }
}

// (J(q ⊕ εv) − J(q ⊕ −εv)) v / 2ε. A ball that rolls has no normal term: n·v̇ is all there is.
TEST(ContactRows, AccelerationTermIsTheRateOfTheRowsAlongTheMotion) {
  for (const Touching& t : pairs_that_roll()) {
    const RigidSystem rigid(t.model);
    SystemAccess system(rigid);
    const State s = moving(t.model, 2);
    Interactions rows, other;
    system.interactions(s, {.envelope = 0.05}, rows, true);
    ASSERT_EQ(rows.contacts.size(), 1U) << t.name;
    constexpr double eps = 1e-5;
    other = rows;
    Vector up, down;
    system.measure(moved(t.model, s, eps * s.v), other);
    multiply(other.J, s.v, up);
    system.measure(moved(t.model, s, -eps * s.v), other);
    multiply(other.J, s.v, down);
    for (int r = 0; r < rows.rows(); ++r)
      EXPECT_NEAR(rows.jdot_v[r], (up[r] - down[r]) / (2 * eps), 1e-5) << t.name << " row " << r;
    if (t.name == "ball on a floor") {
      EXPECT_NEAR(rows.jdot_v[0], 0, 1e-12);
    }
  }
}

TEST(ContactRows, GeometricStiffnessIsTheDerivativeOfTheReactions) {
  for (const Touching& t : pairs_that_roll()) {
    const RigidSystem rigid(t.model);
    SystemAccess system(rigid);
    const State s = moving(t.model, 3);
    Interactions rows, other;
    system.interactions(s, {.envelope = 0.05}, rows);
    ASSERT_EQ(rows.rows(), 6) << t.name;
    Vector lambda(6);
    lambda << 5, 1, -2, 0.3, 0.2, -0.1;
    BlockMatrix stiffness;
    stiffness.start_assembly(system.layout().v_start, BlockMatrix::Symmetry::general);
    system.add_geometric_stiffness(s, rows, lambda, 1, stiffness);
    stiffness.finish_assembly();
    const Matrix K = to_sparse(stiffness);
    constexpr double eps = 1e-6;
    other = rows;
    for (int k = 0; k < t.model.nv(); ++k) {
      const Vector delta = eps * Vector::Unit(t.model.nv(), k);
      Vector up = Vector::Zero(t.model.nv()), down = up;
      system.measure(moved(t.model, s, delta), other);
      transpose_multiply_add(other.J, lambda, up);
      system.measure(moved(t.model, s, -delta), other);
      transpose_multiply_add(other.J, lambda, down);
      EXPECT_LT((K.col(k) + (up - down) / (2 * eps)).cwiseAbs().maxCoeff(), 2e-4)
          << t.name << " column " << k;
    }
  }
}

}  // namespace
}  // namespace urto
