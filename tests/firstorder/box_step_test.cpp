// The problem of one step: against pivoting, on degenerate data, and large.
#include "urto/firstorder/box_step.h"

#include <cstdint>

#include <Eigen/LU>
#include <gtest/gtest.h>

#include "urto/solver/complementarity_solver.h"

namespace urto {
namespace {

constexpr double inf = std::numeric_limits<double>::infinity();

class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  double next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 11) * 0x1p-52 - 1;
  }
  Matrix matrix(Eigen::Index rows, Eigen::Index columns) {
    Matrix A(rows, columns);
    for (Eigen::Index k = 0; k < A.size(); ++k) A(k) = next();
    return A;
  }

 private:
  std::uint64_t state_;
};

/// Monotone: C W⁻¹G + D is positive definite and not symmetric. Rows of all kinds.
BoxStep random_step(std::uint64_t seed, int n, int m) {
  Numbers random(seed);
  BoxStep p;
  const Matrix W = Matrix::Identity(n, n) + 0.3 / n * random.matrix(n, n);
  const Matrix C = random.matrix(m, n), skew = random.matrix(m, m);
  p.W = W.sparseView();
  p.C = C.sparseView();
  p.G = Matrix(W * C.transpose() * 0.5).sparseView();
  p.D = Matrix(skew - skew.transpose() + 0.01 * Matrix::Identity(m, m)).sparseView();
  p.a = random.matrix(n, 1);
  p.e = 2 * random.matrix(m, 1);
  p.lower = Vector::Zero(m);
  p.upper = Vector::Constant(m, inf);
  for (int i = 0; i < m; ++i) {
    if (i % 3 == 1) {
      p.lower[i] = -0.5;
      p.upper[i] = 0.25;
    } else if (i % 7 == 2) {
      p.lower[i] = -inf;
    }
  }
  return p;
}

double law_of(const BoxStep& p, const Vector& y, const Vector& lambda) {
  return (lambda - (lambda - y).cwiseMax(p.lower).cwiseMin(p.upper)).lpNorm<Eigen::Infinity>();
}

TEST(BoxStep, AgreesWithPivotingOnRandomMonotoneProblems) {
  int escalated = 0;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    const int n = 1 + static_cast<int>(seed % 7), m = 1 + static_cast<int>(seed % 23);
    const BoxStep p = random_step(seed, n, m);
    BoxStepSolver solver;
    BoxStepReport report;
    Vector x, lambda = Vector::Zero(m), y;
    ASSERT_TRUE(solver.solve(p, x, lambda, y, report)) << report.failure << " seed " << seed;
    EXPECT_LT((p.W * x - p.G * lambda - p.a).lpNorm<Eigen::Infinity>(), 1e-12);
    EXPECT_LT(law_of(p, y, lambda), 1e-12) << "seed " << seed;
    escalated += report.escalated ? 1 : 0;
    ComplementarityProblem q;
    const Matrix inverse = Matrix(p.W).inverse();
    q.M = Matrix(Matrix(p.C) * inverse * Matrix(p.G) + Matrix(p.D)).sparseView();
    q.q = Matrix(p.C) * inverse * p.a + p.e;
    q.lo = p.lower;
    q.hi = p.upper;
    const ComplementaritySolution other = solve(q, {.solver = "lemke", .tolerance = 1e-10});
    ASSERT_EQ(other.status, Status::converged) << other.message;
    EXPECT_LT((other.z - lambda).norm(), 1e-8 * (1 + lambda.norm())) << "seed " << seed;
  }
  EXPECT_LE(escalated, 4);  // of 200, nearly skew ones
}

// A guess is kept: the same problem again needs one factorisation.
TEST(BoxStep, KeepsItsGuess) {
  const BoxStep p = random_step(5, 6, 30);
  BoxStepSolver solver;
  BoxStepReport first, again;
  Vector x, lambda = Vector::Zero(30), y;
  ASSERT_TRUE(solver.solve(p, x, lambda, y, first));
  ASSERT_TRUE(solver.solve(p, x, lambda, y, again));
  EXPECT_GT(first.factorizations, 1);
  EXPECT_EQ(again.factorizations, 1);
}

// Multipliers that several rows share, rows that do nothing, and data that are zero.
TEST(BoxStep, SolvesDegenerateProblems) {
  BoxStep p;
  p.W.resize(1, 1);
  p.W.insert(0, 0) = 1;
  p.a = Vector::Constant(1, -1);
  p.C = Matrix(Matrix::Ones(3, 1)).sparseView();  // the same row three times
  p.G = Matrix(Matrix::Ones(1, 3)).sparseView();
  p.D.resize(3, 3);
  p.e = Vector::Zero(3);
  p.lower = Vector::Zero(3);
  p.upper = Vector::Constant(3, inf);
  BoxStepReport report;
  Vector x, lambda = Vector::Ones(3), y;
  ASSERT_TRUE(BoxStepSolver().solve(p, x, lambda, y, report)) << report.failure;
  EXPECT_NEAR(x[0], 0, 1e-10);
  EXPECT_NEAR(lambda.sum(), 1, 1e-10);
  EXPECT_GE(lambda.minCoeff(), 0);
  p.C.setZero();
  p.G.setZero();
  lambda = Vector::Ones(3);
  ASSERT_TRUE(BoxStepSolver().solve(p, x, lambda, y, report)) << report.failure;
  EXPECT_EQ(x[0], -1);
}

TEST(BoxStep, SaysSoWhereThereIsNoSolution) {
  BoxStep p;  // 0 ≤ −1 ⟂ λ ≥ 0
  p.W.resize(0, 0);
  p.G.resize(0, 1);
  p.C.resize(1, 0);
  p.D.resize(1, 1);
  p.e = Vector::Constant(1, -1);
  p.lower = Vector::Zero(1);
  p.upper = Vector::Constant(1, inf);
  BoxStepReport report;
  Vector x(0), lambda = Vector::Zero(1), y;
  EXPECT_FALSE(BoxStepSolver().solve(p, x, lambda, y, report));
  EXPECT_FALSE(report.failure.empty());
}

// Masses and multipliers 1e6 apart.
TEST(BoxStep, IsExactForUnitsFarApart) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    BoxStep p = random_step(seed, 4, 9);
    Vector scale(9);
    for (int i = 0; i < 9; ++i) scale[i] = i % 2 == 0 ? 1e6 : 1e-6;
    p.C = SparseMatrix(scale.asDiagonal() * p.C);
    p.D = SparseMatrix(scale.asDiagonal() * p.D);
    p.e = scale.cwiseProduct(p.e);
    BoxStepReport report;
    Vector x, lambda = Vector::Zero(9), y;
    ASSERT_TRUE(BoxStepSolver().solve(p, x, lambda, y, report)) << report.failure;
    EXPECT_FALSE(report.escalated);
    for (int i = 0; i < 9; ++i) {
      const double w = y[i] / scale[i];
      EXPECT_NEAR(lambda[i], std::min(std::max(lambda[i] - w, p.lower[i]), p.upper[i]), 1e-11);
    }
  }
}

}  // namespace
}  // namespace urto
