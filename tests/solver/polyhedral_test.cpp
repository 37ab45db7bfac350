// Polyhedral friction as a mixed linear complementarity problem (recipe 002 §2.3).
#include "urto/solver/polyhedral.h"

#include <cmath>
#include <random>
#include <vector>

#include <Eigen/Dense>
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "urto/error.h"
#include "urto/problem/generate.h"

namespace urto {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Random contacts, joints and a mass matrix that is positive definite but not symmetric; some rows
/// repeat others.
StepProblem random_problem(std::mt19937& random, int dofs, int contacts, int joints, bool twisted) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  const auto matrix = [&](int r, int c) {
    Matrix out(r, c);
    for (double& x : out.reshaped()) x = normal(random);
    return out;
  };
  StepProblem p;
  const Matrix A = matrix(dofs, dofs), S = matrix(dofs, dofs);
  const double mass = std::pow(10, 2 * normal(random));
  Matrix H = mass * (A * A.transpose() / dofs + 0.05 * Matrix::Identity(dofs, dofs));
  if (twisted) H += mass * (S - S.transpose());
  BlockMatrix blocks;
  blocks.push_back(H);
  blocks.symmetry = BlockMatrix::Symmetry::general;
  p.H = blocks;
  p.J.columns = dofs;
  const auto add = [&](const ConvexSet& set) {
    Matrix rows = matrix(set.dim, dofs);
    // Now and then a row block that is there already: redundant.
    if (p.J.blocks() > 0 && p.J.height(0) == set.dim && uniform(random) < 0.2)
      rows = Matrix(to_sparse(p.J)).topRows(set.dim);
    p.J.add_block(set.dim);
    p.J.add_entry(0, rows);
    p.K.push_back(set);
  };
  for (int k = 0; k < joints; ++k) add(ConvexSet::free(1));
  for (int k = 0; k < contacts; ++k) {
    const double mu = uniform(random) < 0.2 ? 0 : uniform(random);
    add(ConvexSet::cone(mu, uniform(random) < 0.5 ? 2 : 3));
  }
  p.E.resize(p.rows(), p.rows());
  p.a = mass * matrix(dofs, 1);
  p.b = Vector::Zero(p.rows());
  return p;
}

// Theorem 5.1: M̃ with a positive definite symmetric part makes the condensed matrix copositive, r
// in the range that Lemke's method needs, so that it ends at a solution, never on a ray, in exact
// arithmetic. A fifth of the rows repeat others, whose zeros rounding may make negative.
class Lemke : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Polyhedral, Lemke, testing::Values(2004U, 90001U, 90002U));

TEST_P(Lemke, SolvesTenThousandRandomStepProblems) {
  std::mt19937 random(GetParam());
  double worst = 0;
  for (int trial = 0; trial < 10000; ++trial) {
    const auto number = [&](int low, int high) {
      return std::uniform_int_distribution<int>(low, high)(random);
    };
    const StepProblem p =
        random_problem(random, number(2, 7), number(1, 4), number(0, 2), trial % 2 == 0);
    const PolyhedralForm form = polyhedral_form(p, {.edges = number(3, 8)}, true);
    const ComplementaritySolution s = solve(form.problem, {.solver = "lemke", .tolerance = 1e-9});
    EXPECT_EQ(s.status, Status::converged) << "trial " << trial << ": " << s.message;
    worst = std::max(worst, s.residual);
  }
  RecordProperty("worst", fmt::format("{:.1e}", worst));
}

// zᵀA z = xᵀGᵀPG x + λᵀμ c_n ≥ 0 for z ≥ 0, of problems without joints.
TEST(Polyhedral, CondensedMatrixIsCopositive) {
  std::mt19937 random(5);
  std::uniform_real_distribution<double> uniform(0, 1);
  for (int trial = 0; trial < 200; ++trial) {
    const StepProblem p = random_problem(random, 5, 3, 0, true);
    const PolyhedralForm form = polyhedral_form(p, {.edges = 6}, true);
    const double size = Matrix(form.problem.M).norm();
    for (int k = 0; k < 50; ++k) {
      Vector z(form.problem.size());
      for (double& x : z) x = std::max(0.0, uniform(random) - 0.5);
      EXPECT_GE(z.dot(form.problem.M * z), -1e-12 * size * z.squaredNorm());
    }
  }
}

TEST(Polyhedral, CondensedAndSparseFormsHaveTheSameMotion) {
  std::mt19937 random(12);
  for (int trial = 0; trial < 100; ++trial) {
    StepProblem p = random_problem(random, 9, 2, 1, false);
    // With little friction the motion is unique.
    for (ConvexSet& set : p.K.sets) set.mu *= 0.05;
    const FrictionLaw law{.edges = 8};
    Vector x[2];
    for (const bool condensed : {true, false}) {
      const PolyhedralForm form = polyhedral_form(p, law, condensed);
      const ComplementaritySolution s = solve(form.problem, {.tolerance = 1e-10});
      ASSERT_EQ(s.status, Status::converged) << s.message;
      const Vector lambda = impulses_of(form, s.z);
      Vector a = p.a;
      transpose_multiply_add(p.J, lambda, a);
      x[condensed ? 1 : 0] = Matrix(std::get<BlockMatrix>(p.H).block(0)).partialPivLu().solve(a);
    }
    EXPECT_LT((x[0] - x[1]).norm(), 1e-6 * (1 + x[0].norm())) << trial;
  }
}

// The polygon's law is measured without knowing edges: a solution passes, one that is off does not.
TEST(Polyhedral, CertificateOfThePolygonSeesAWrongImpulse) {
  std::mt19937 random(3);
  const StepProblem p = random_problem(random, 6, 3, 1, true);
  PolyhedralSolver solver;
  const FrictionLaw law{.edges = 8};
  Vector x, lambda;
  StepSolveReport report;
  solver.solve(p, law, {.tolerance = 1e-10}, x, lambda, report);
  ASSERT_EQ(report.status, Status::converged) << report.message;
  Certifier certifier;
  certifier.use_law(law);
  Certificate c;
  certifier.certify(p, x, lambda, Friction::exact, c);
  EXPECT_LT(c.residual(), 1e-10);
  lambda[p.rows() - 1] += 1e-5 * lambda.norm();
  certifier.certify(p, x, lambda, Friction::exact, c);
  EXPECT_GT(c.residual(), 1e-9);
}

/// A unit mass on a floor, pressed with one, pushed along it with `push` at an angle.
StepProblem pushed_mass(double push, double angle, double mu) {
  StepProblem p;
  BlockMatrix H;
  H.push_back(Matrix::Identity(3, 3));
  p.H = H;
  p.J.columns = 3;
  p.J.add_block(3);
  p.J.add_entry(0, Matrix::Identity(3, 3));
  p.K.push_back(ConvexSet::cone(mu));
  p.E.resize(3, 3);
  p.a = Vec3(-1, push * std::cos(angle), push * std::sin(angle));
  p.b = Vec3::Zero();
  return p;
}

// What friction takes of the energy has an error of the second order in the angle of an edge, what
// it does to the direction one of the first order: the mean over all directions of the push.
TEST(Polyhedral, EdgesConvergeToTheCircle) {
  const double mu = 0.5;
  double last_energy = 0, last_speed = 0;
  for (const int edges : {8, 16, 32, 64}) {
    double energy = 0, speed = 0;
    const int directions = 100;
    for (int k = 0; k < directions; ++k) {
      const StepProblem p = pushed_mass(2, 0.0123 + 2 * M_PI * k / directions, mu);
      PolyhedralSolver solver;
      Vector x, lambda;
      StepSolveReport report;
      solver.solve(p, {.edges = edges}, {.tolerance = 1e-11}, x, lambda, report);
      ASSERT_EQ(report.status, Status::converged) << report.message;
      // The circle takes μ of the speed.
      energy += (x.squaredNorm() - 1.5 * 1.5) / directions;
      speed += std::abs(x.norm() - 1.5) / directions;
    }
    EXPECT_GT(energy, 0);
    if (last_energy > 0) {
      EXPECT_NEAR(last_energy / energy, 4, 0.3) << edges;
    }
    if (last_speed > 0) {
      EXPECT_NEAR(last_speed / speed, 4, 0.3) << edges;
    }
    last_energy = energy;
    last_speed = speed;
  }
}

// Turned until a corner lies against the slip, a polygon gives the circle's solution; with a floor
// under the normal impulse too.
TEST(Polyhedral, TurnedPolygonsSolveTheCirclesProblem) {
  for (const double floor : {0.0, 0.7}) {
    for (const double angle : {0.1, 1.0, 2.5}) {
      const StepProblem p = pushed_mass(2, angle, 0.5);
      PolyhedralSolver solver;
      Vector x, lambda;
      StepSolveReport report;
      solver.solve(p, {.edges = 0, .floor = {1 + floor}}, {.tolerance = 1e-11}, x, lambda, report);
      ASSERT_EQ(report.status, Status::converged) << report.message;
      EXPECT_NEAR(lambda[0], 1 + floor, 1e-10);
      EXPECT_NEAR(x[0], floor, 1e-10);
      EXPECT_NEAR(x.tail<2>().norm(), 2 - 0.5 * (1 + floor), 1e-9);
      EXPECT_NEAR(std::atan2(x[2], x[1]), angle, 1e-9);
    }
  }
}

// Some thousand rows: Newton's method on the condensed matrix, which is sparse.
TEST(Polyhedral, SolvesAPackingWithAFewThousandUnknowns) {
  std::mt19937 random(6);
  StepProblem p;
  BlockMatrix H;
  const int bodies = 120;
  p.J.columns = 3 * bodies;
  for (int k = 0; k < bodies; ++k) H.push_back((1 + k % 3) * Matrix::Identity(3, 3));
  p.H = H;
  p.a = Vector::Zero(3 * bodies);
  std::normal_distribution<double> normal;
  for (int k = 0; k < bodies; ++k) {
    p.a.segment<3>(3 * k) = Vec3(-1, 0.3 * normal(random), 0.3 * normal(random));
    // Each on the one below, the first on the ground, with tangents of their own.
    Mat3 turn = Eigen::AngleAxisd(0.2 * normal(random), Vec3::UnitZ()).toRotationMatrix();
    p.J.add_block(3);
    p.J.add_entry(3 * k, turn);
    if (k % 10 != 0) p.J.add_entry(3 * (k - 1), -turn);
    p.K.push_back(ConvexSet::cone(0.4));
  }
  p.E.resize(p.rows(), p.rows());
  p.b = Vector::Zero(p.rows());
  PolyhedralSolver solver;
  Vector x, lambda;
  StepSolveReport report;
  solver.solve(p, {.edges = 8}, {.tolerance = 1e-8}, x, lambda, report);
  EXPECT_EQ(report.status, Status::converged) << report.message;
}

TEST(Polyhedral, RefusesCirclesWithoutEdges) {
  EXPECT_THROW(polyhedral_form(pushed_mass(1, 0, 0.5), {.edges = 0}, true), InputError);
}

}  // namespace
}  // namespace urto
