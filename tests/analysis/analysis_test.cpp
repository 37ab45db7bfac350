// Static equilibria and small oscillations against closed forms.
#include <cmath>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/analysis/modes.h"
#include "urto/analysis/statics.h"
#include "urto/error.h"
#include "urto/mechanics/penalty_system.h"
#include "urto/mechanics/rigid_system.h"
#include "urto/mechanics/textbook.h"

namespace urto {
namespace {

// ---- Statics

/// Equal links with their masses at the inner joints between two points at one height `span` apart:
/// link k stands at the angle θ_k with tan θ_k = w(n/2 − k − ½)/H, the horizontal pull H such that
/// Σ L cos θ_k = span.
struct Funicular {
  int links;
  double length, weight, pull = 0;
  double angle(int k) const { return std::atan(weight * (k + 0.5 - 0.5 * links) / pull); }
  double reach(double H) const {
    double sum = 0;
    for (int k = 0; k < links; ++k)
      sum += length * std::cos(std::atan(weight * (k + 0.5 - 0.5 * links) / H));
    return sum;
  }
  Funicular(int n, double l, double w, double span) : links(n), length(l), weight(w) {
    double low = 1e-6, high = 1e9;
    for (int k = 0; k < 200; ++k) {
      pull = std::sqrt(low * high);
      (reach(pull) < span ? low : high) = pull;
    }
  }
};

TEST(Statics, AHangingChainIsItsFunicularPolygon) {
  constexpr int links = 40;
  constexpr double length = 0.05, mass = 0.1, span = 1.4;
  PointSystem chain;
  State state;
  state.q.resize(3 * (links - 1));
  state.v.setZero(3 * (links - 1));
  for (int k = 0; k < links; ++k) {
    if (k + 1 < links) chain.add_point(mass);
    chain.rods.push_back({.a = {.point = k - 1},
                          .b = k + 1 < links ? LinkEnd{.point = k} : LinkEnd{.place = {span, 0, 0}},
                          .length = length});
  }
  // A straight line with a zigzag: far away, and not on the rods.
  for (int k = 0; k + 1 < links; ++k)
    state.q.segment<3>(3 * k) = Vec3(span * (k + 1) / links, k % 2 == 0 ? -0.02 : 0, 0.001 * k);
  const StaticsReport report = find_equilibrium(chain, state);
  ASSERT_TRUE(report.converged) << report.message;
  RecordProperty("iterations", report.iterations);
  EXPECT_LT(report.joint_error, 1e-11);
  const Funicular exact(links, length, mass * 9.81, span);
  Vec3 at = Vec3::Zero();
  for (int k = 0; k + 1 < links; ++k) {
    at += length * Vec3(std::cos(exact.angle(k)), std::sin(exact.angle(k)), 0);
    EXPECT_LT((state.q.segment<3>(3 * k) - at).norm(), 1e-8) << k;
    // λ of ½(d² − L²) is tension over length, and a pull is negative.
    EXPECT_NEAR(-report.lambda[k] * length, exact.pull / std::cos(exact.angle(k)), 1e-7);
  }
  // The curve of the continuous chain y = c cosh(x/c) with the same length and span: nearer by
  // 1/n².
  double low = 1e-3, high = 1e3;
  for (int k = 0; k < 200; ++k) {
    const double c = std::sqrt(low * high);
    (2 * c * std::sinh(0.5 * span / c) > links * length ? low : high) = c;
  }
  const double sag = low * (std::cosh(0.5 * span / low) - 1);
  EXPECT_NEAR(-state.q[3 * (links / 2 - 1) + 1], sag, 1e-3);
}

TEST(Statics, RigidChainHangsFromItsHinge) {
  const Model m = testing::rod_chain(5);
  RigidSystem system(m);
  State state = initial_state(m);
  const StaticsReport report = find_equilibrium(system, state);
  ASSERT_TRUE(report.converged) << report.message;
  RecordProperty("iterations", report.iterations);
  for (int k = 0; k < 5; ++k)
    EXPECT_LT((testing::position(m, state, k + 1) - Vec3(0, -(k + 0.5), 0)).norm(), 1e-8);
  // Force of the first hinge: the whole weight.
  EXPECT_NEAR(report.lambda.head<3>().norm(), 5 * 9.81, 1e-9);
}

TEST(Statics, ANetworkOfSpringsIsLinearAlgebra) {
  // Four masses in a row between walls, stretched springs of different stiffness, gravity along the
  // row.
  const std::array<double, 5> k{100, 250, 80, 400, 150};
  const std::array<double, 4> mass{1, 2, 0.5, 3};
  PointSystem row;
  State state;
  state.q.setZero(12);
  state.v.setZero(12);
  row.gravity = {9.81, 0, 0};
  Matrix K = Matrix::Zero(4, 4);
  Vector f(4);
  for (int i = 0; i < 5; ++i) {
    const LinkEnd a = i > 0 ? LinkEnd{.point = i - 1} : LinkEnd{};
    const LinkEnd b = i < 4 ? LinkEnd{.point = i} : LinkEnd{.place = {5, 0, 0}};
    row.springs.push_back({.a = a, .b = b, .length = 0.4, .stiffness = k[i]});
    if (i < 4) {
      row.add_point(mass[i]);
      state.q[3 * i] = i + 1;
      f[i] = 9.81 * mass[i] + (k[i + 1] - k[i]) * 0.6;
      K(i, i) = k[i] + k[i + 1];
      if (i < 3) K(i, i + 1) = K(i + 1, i) = -k[i + 1];
    }
  }
  const Vector exact = K.ldlt().solve(f);
  const LinearStatics linear = linear_statics(row, state);
  const StaticsReport report = find_equilibrium(row, state, {.load_steps = 3});
  ASSERT_TRUE(report.converged) << report.message;
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(linear.displacement[3 * i], exact[i], 1e-12);
    EXPECT_NEAR(state.q[3 * i] - (i + 1), exact[i], 1e-10);
  }
}

TEST(Statics, SoftJointsGiveWayByTheirCompliance) {
  Model m = testing::empty_model();
  const int body = testing::add_rigid(m, "body", Vec3::Zero(), 2, Mat3::Identity());
  const int joint = testing::join(m, "mount", JointKind::fixed, 0, body, Vec3::Zero());
  m.joints[joint].softness = {.stiffness = 800};
  finalize(m);
  RigidSystem system(m);
  State state = initial_state(m);
  EXPECT_NEAR(linear_statics(system, state).displacement[2], -2 * 9.81 / 800, 1e-12);
  const StaticsReport report = find_equilibrium(system, state);
  ASSERT_TRUE(report.converged) << report.message;
  EXPECT_NEAR(testing::position(m, state, body).z(), -2 * 9.81 / 800, 1e-10);
}

// A spin about the vertical is resisted by nothing and driven by nothing.
TEST(Statics, ABallJointLeavesTheSpinAlone) {
  Model m = testing::empty_model();
  const int bob = testing::add_rigid(m, "bob", {0.6, 0.3, -0.2}, 2, Mat3::Identity());
  testing::join(m, "hook", JointKind::spherical, 0, bob, Vec3::Zero());
  finalize(m);
  RigidSystem system(m);
  State state = initial_state(m);
  const StaticsReport report = find_equilibrium(system, state);
  ASSERT_TRUE(report.converged) << report.message;
  EXPECT_LT((testing::position(m, state, bob) - Vec3(0, 0, -0.7)).norm(), 1e-8);
}

// With contacts as springs statics has contacts too: a ball sinks to Hertz's depth and lies
// wherever it is.
TEST(Statics, ABallOnASpringyFloorSinksToHertzsDepth) {
  Model m = testing::empty_model();
  testing::add_ball(m, "ball", {0.2, 0, 0.0995}, 0.1, 2);
  testing::add_floor(m);
  finalize(m);
  RigidSystem rigid(m);
  PenaltySystem system(rigid, {.stiffness = 1e6});
  State state = initial_state(m);
  const StaticsReport report = find_equilibrium(system, state);
  ASSERT_TRUE(report.converged) << report.message;
  EXPECT_NEAR(0.1 - testing::position(m, state, 1).z(), std::pow(2 * 9.81 / 1e6, 2.0 / 3), 1e-12);
  EXPECT_NEAR(testing::position(m, state, 1).x(), 0.2, 1e-12);
}

TEST(Statics, WhatCannotRestIsSaid) {
  Model m = testing::empty_model();
  testing::add_rigid(m, "body", Vec3::Zero(), 2, Mat3::Identity());
  finalize(m);
  RigidSystem system(m);
  State state = initial_state(m);
  EXPECT_FALSE(find_equilibrium(system, state, {.max_iterations = 20}).converged);
  EXPECT_THROW(linear_statics(system, initial_state(m)), InputError);
}

// ---- Modes

/// Roots of the Laguerre polynomial L_n: a hanging chain of n equal point masses has ω² = (g/L)
/// x_i.
Vector laguerre_roots(int n) {
  Matrix T = Matrix::Zero(n, n);
  for (int i = 0; i < n; ++i) {
    T(i, i) = 2 * i + 1;
    if (i + 1 < n) T(i, i + 1) = T(i + 1, i) = i + 1;
  }
  return Eigen::SelfAdjointEigenSolver<Matrix>(T).eigenvalues();
}

TEST(Modes, AChainOfPointsHasTheRootsOfLaguerre) {
  for (const int largest_dense : {600, 0}) {
    PointSystem chain;
    State state;
    constexpr int links = 30;
    make_point_chain(links, 0.4, 0.7, -Vec3::UnitY(), chain, state);
    const Linearisation l = linearise(chain, state);
    EXPECT_LT(l.unbalanced, 1e-10);
    const Modes modes = find_modes(l, {.count = 12, .largest_dense = largest_dense});
    EXPECT_EQ(modes.by_lanczos, largest_dense == 0);
    const Vector roots = laguerre_roots(links);
    // Each frequency twice: along x and along z.
    for (int k = 0; k < 12; ++k)
      EXPECT_NEAR(modes.squared[k] / (9.81 / 0.4 * roots[k / 2]), 1, 1e-8) << k;
    const Matrix mass = modes.shapes.transpose() * (l.M * modes.shapes);
    EXPECT_LT((mass - Matrix::Identity(12, 12)).norm(), 1e-8);
    EXPECT_LT((l.J * modes.shapes).norm(), 1e-8);
  }
}

TEST(Modes, TwoRigidRodsHaveTheFrequenciesOfTheDoublePendulum) {
  const Model m = testing::rod_chain(2);
  RigidSystem system(m);
  State state = initial_state(m);
  ASSERT_TRUE(find_equilibrium(system, state).converged);
  const Modes modes = find_modes(linearise(system, state));
  // M = [4/3, 1/2; 1/2, 1/3], K = g [3/2, 0; 0, 1/2].
  Eigen::Matrix2d M, K;
  M << 4.0 / 3, 0.5, 0.5, 1.0 / 3;
  K << 1.5 * 9.81, 0, 0, 0.5 * 9.81;
  const Eigen::GeneralizedSelfAdjointEigenSolver<Eigen::Matrix2d> exact(K, M);
  ASSERT_EQ(modes.squared.size(), 2);
  for (int k = 0; k < 2; ++k) EXPECT_NEAR(modes.squared[k] / exact.eigenvalues()[k], 1, 1e-8);
  EXPECT_LT(modes.asymmetry, 1e-8);
}

/// A square frame of four rods with hinges, kept square by a torsion spring at one of them: one
/// motion, the shear.
TEST(Modes, AFrameOfFourRodsShearsAtItsClosedForm) {
  Model m = testing::empty_model(Vec3::Zero());
  constexpr double L = 0.8, mass = 1.5, k = 30;
  const double I = mass * L * L / 12;
  const Mat3 lying = Vec3(0.01 * I, I, I).asDiagonal();
  const Mat3 standing = Vec3(I, 0.01 * I, I).asDiagonal();
  const int left = testing::add_rigid(m, "left", {0, L / 2, 0}, mass, standing);
  const int top = testing::add_rigid(m, "top", {L / 2, L, 0}, mass, lying);
  const int right = testing::add_rigid(m, "right", {L, L / 2, 0}, mass, standing);
  testing::join(m, "a", JointKind::revolute, 0, left, {0, 0, 0});
  testing::join(m, "b", JointKind::revolute, left, top, {0, L, 0});
  testing::join(m, "c", JointKind::spherical, top, right, {L, L, 0});
  testing::join(m, "d", JointKind::revolute, 0, right, {L, 0, 0});  // with redundant rows
  MeasureSpring spring;
  spring.name = "corner";
  spring.marker_a = m.joints[0].marker_a;
  spring.marker_b = m.joints[0].marker_b;
  spring.measure = coordinates(JointKind::revolute)[0].measure;
  spring.stiffness.slope = k;
  spring.damping.slope = 0.4;
  m.forces.emplace_back(spring);
  finalize(m);
  RigidSystem system(m);
  const Linearisation l = linearise(system, initial_state(m));
  const double inertia = 2 * mass * L * L / 3 + mass * L * L;
  const Modes modes = find_modes(l);
  ASSERT_EQ(modes.squared.size(), 1);
  EXPECT_NEAR(modes.squared[0] / (k / inertia), 1, 1e-8);
  const std::vector<ComplexMode> damped = find_complex_modes(l);
  ASSERT_EQ(damped.size(), 1);
  EXPECT_NEAR(damped[0].frequency(), std::sqrt(k / inertia), 1e-8);
  EXPECT_NEAR(damped[0].damping_ratio(), 0.4 / (2 * std::sqrt(k * inertia)), 1e-9);
  const StateSpace s = state_space(l);
  EXPECT_EQ(s.A.rows(), 2);
  EXPECT_NEAR(s.A.determinant(), k / inertia, 1e-8);
}

TEST(Modes, AnUprightPendulumIsUnstable) {
  Model m = testing::empty_model({0, 9.81, 0});
  const int rod =
      testing::add_rigid(m, "rod", {0, -0.5, 0}, 1, Vec3(1.0 / 12, 1e-3, 1.0 / 12).asDiagonal());
  testing::join(m, "hinge", JointKind::revolute, 0, rod, Vec3::Zero());
  finalize(m);
  RigidSystem system(m);
  const Modes modes = find_modes(linearise(system, initial_state(m)));
  ASSERT_EQ(modes.squared.size(), 1);
  EXPECT_NEAR(modes.squared[0], -1.5 * 9.81, 1e-8);
}

TEST(Modes, LargeSystemsByLanczosAgreeWithDenseOnes) {
  const Model m = testing::rod_chain(30);
  RigidSystem system(m);
  State state = initial_state(m);
  const StaticsReport rest = find_equilibrium(system, state);
  ASSERT_TRUE(rest.converged) << rest.message;
  const Linearisation l = linearise(system, state);
  const Modes dense = find_modes(l, {.count = 8});
  const Modes sparse = find_modes(l, {.count = 8, .largest_dense = 0});
  for (int k = 0; k < 8; ++k) EXPECT_NEAR(sparse.squared[k] / dense.squared[k], 1, 1e-8) << k;
}

}  // namespace
}  // namespace urto
