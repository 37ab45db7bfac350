#include "urto/solver/complementarity_solver.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>

#include "urto/error.h"
#include "urto/problem/problem_file.h"

namespace urto {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

ComplementarityProblem lcp(const Matrix& M, const Vector& q) {
  return {M.sparseView(), q, Vector::Zero(q.size()), Vector::Constant(q.size(), infinity)};
}

/// The same pseudo-random numbers everywhere.
class Numbers {
 public:
  explicit Numbers(unsigned seed) : state_(seed) {}
  double operator()() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<double>(state_ >> 33) / 0x1p30 - 1;
  }
  Matrix matrix(int rows, int columns) {
    return Matrix::NullaryExpr(rows, columns, [&] { return (*this)(); });
  }

 private:
  std::uint64_t state_;
};

class EachMethod : public testing::TestWithParam<const char*> {
 protected:
  ComplementaritySolution run(const ComplementarityProblem& p) const {
    return solve(p, {.solver = GetParam()});
  }
};
INSTANTIATE_TEST_SUITE_P(Complementarity, EachMethod,
                         testing::Values("auto", "pgs", "newton", "lemke"),
                         [](const auto& given) { return std::string(given.param); });

TEST_P(EachMethod, SolvesClosedForms) {
  // Both positive: the linear solution. One at its bound: the other row alone.
  const Matrix M{{2, 1}, {1, 2}};
  const auto inner = run(lcp(M, Eigen::Vector2d(-5, -6)));
  ASSERT_EQ(inner.status, Status::converged) << inner.message;
  EXPECT_NEAR(inner.z[0], 4.0 / 3, 1e-7);
  EXPECT_NEAR(inner.z[1], 7.0 / 3, 1e-7);
  const auto edge = run(lcp(M, Eigen::Vector2d(-4, 1)));
  ASSERT_EQ(edge.status, Status::converged) << edge.message;
  EXPECT_NEAR(edge.z[0], 2, 1e-7);
  EXPECT_NEAR(edge.z[1], 0, 1e-7);
  const auto none = run(lcp(M, Eigen::Vector2d(1, 2)));
  EXPECT_EQ(none.status, Status::converged);
  EXPECT_EQ(none.z, Vector::Zero(2));
}

TEST_P(EachMethod, SolvesEveryKindOfBound) {
  // Diagonal, so each row is its own closed form: free, lower, upper, box at either end and
  // between.
  const Vector diagonal = Vector::LinSpaced(6, 1, 6);
  ComplementarityProblem p{Matrix(diagonal.asDiagonal()).sparseView(), Vector(6), Vector(6),
                           Vector(6)};
  p.q << 3, -4, 3, 40, -50, -3;
  p.lo << -infinity, 1, -infinity, -1, -1, -1;
  p.hi << infinity, infinity, 2, 1, 1, 1;
  const auto s = run(p);
  ASSERT_EQ(s.status, Status::converged) << s.message;
  const Vector expected{{-3, 2, -1, -1, 1, 0.5}};
  EXPECT_LT((s.z - expected).norm(), 1e-6);
}

TEST_P(EachMethod, SolvesRandomPMatrices) {
  // A positive definite symmetric part makes a P-matrix: one solution for every q and all bounds.
  Numbers numbers(1);
  for (int trial = 0; trial < 30; ++trial) {
    const int n = 1 + trial;
    const Matrix A = numbers.matrix(n, n), B = numbers.matrix(n, n);
    // A weak skew part: Gauss–Seidel needs M to be not too far from symmetric.
    const Matrix M = A * A.transpose() + n * Matrix::Identity(n, n) + 0.5 * (B - B.transpose());
    ComplementarityProblem p = lcp(M, 10 * numbers.matrix(n, 1));
    for (int i = 0; i < n; ++i) {
      if (i % 4 == 1) p.lo[i] = -infinity;
      if (i % 4 == 2) p.hi[i] = 0.1;
      if (i % 4 == 3) p.lo[i] = -infinity, p.hi[i] = 0.05;
    }
    const auto s = run(p);
    EXPECT_EQ(s.status, Status::converged) << "n = " << n << ": " << s.message;
    EXPECT_LE(natural_map_residual(p, s.z), 1e-8);
    EXPECT_EQ(s.residual, natural_map_residual(p, s.z));
  }
}

TEST_P(EachMethod, SolvesMurtysExponentialProblem) {
  for (const int n : {2, 6, 10}) {
    Matrix M = Matrix::Identity(n, n);
    for (int c = 0; c < n; ++c) M.col(c).tail(n - c - 1).setConstant(2);
    for (const bool transposed : {false, true}) {
      const auto s = run(lcp(transposed ? Matrix(M.transpose()) : M, Vector::Constant(n, -1)));
      ASSERT_EQ(s.status, Status::converged) << s.message;
      Vector expected = Vector::Zero(n);
      expected[transposed ? n - 1 : 0] = 1;
      EXPECT_LT((s.z - expected).norm(), 1e-7) << "n = " << n;
    }
  }
}

TEST(Complementarity, SolvesDegenerateProblems) {
  // All solutions of z₁ + z₂ = 1; ties in every ratio test; a zero row.
  const Matrix ones = Matrix::Ones(2, 2);
  EXPECT_EQ(solve(lcp(ones, Eigen::Vector2d(-1, -1))).status, Status::converged);
  EXPECT_EQ(solve(lcp(Matrix::Ones(8, 8), Vector::Constant(8, -1)), {.solver = "lemke"}).status,
            Status::converged);
  Matrix M = Matrix::Zero(3, 3);
  M.topLeftCorner(2, 2).setIdentity();
  EXPECT_EQ(solve(lcp(M, Eigen::Vector3d(-1, 0, 0))).status, Status::converged);
  // Beale-like cycling data: lexicographic ratios must end.
  const Matrix cycling{{1, 2, 0}, {0, 1, 2}, {2, 0, 1}};
  const auto s = solve(lcp(cycling, Eigen::Vector3d(-1, -1, -1)), {.solver = "lemke"});
  ASSERT_EQ(s.status, Status::converged) << s.message;
  EXPECT_LT((s.z - Vector::Constant(3, 1.0 / 3)).norm(), 1e-12);
}

TEST(Complementarity, SolvesSaddlePointsWithZeroDiagonal) {
  // min ½‖x‖² subject to x₁ + x₂ = 2, x ≤ 1.2 in the first: free rows with a zero on the diagonal.
  const Matrix M{{1, 0, -1}, {0, 1, -1}, {1, 1, 0}};
  ComplementarityProblem p = lcp(M, Eigen::Vector3d(0, 0, -2));
  p.lo.setConstant(-infinity);
  p.hi[0] = 0.5;
  for (const char* method : {"auto", "newton", "lemke"}) {
    const auto s = solve(p, {.solver = method});
    ASSERT_EQ(s.status, Status::converged) << method << ": " << s.message;
    EXPECT_LT((s.z - Eigen::Vector3d(0.5, 1.5, 1.5)).norm(), 1e-7) << method;
  }
}

TEST(Complementarity, ProvesInfeasibilityWhereLemkesRayDoes) {
  // w = −z − 1 ≥ 0 has no z ≥ 0.
  const auto s = solve(lcp(Matrix::Constant(1, 1, -1), Vector::Constant(1, -1)));
  EXPECT_EQ(s.status, Status::infeasible);
  EXPECT_NE(s.message.find("lemke"), std::string::npos);
  EXPECT_GT(s.residual, 1e-8);
}

TEST(Complementarity, SaysSoWhenItDoesNotConverge) {
  // Feasible, but w₁ = z₂ − 1 ≥ 0 asks for z₂ > 0, where w₂ = z₂ + 1 is not zero: no solution.
  const Matrix M{{0, 1}, {0, 1}};
  const auto s = solve(lcp(M, Eigen::Vector2d(-1, 1)));
  EXPECT_NE(s.status, Status::converged);
  EXPECT_FALSE(s.message.empty());
  EXPECT_GT(s.residual, 1e-8);
}

TEST(Complementarity, KeepsItsLimits) {
  Numbers numbers(3);
  const Matrix A = numbers.matrix(40, 40);
  const auto p =
      lcp(A * A.transpose() + 1e-6 * Matrix::Identity(40, 40), 10 * numbers.matrix(40, 1));
  const auto s = solve(p, {.solver = "pgs", .tolerance = 1e-14, .max_iterations = 3});
  EXPECT_NE(s.status, Status::converged);
  EXPECT_LE(s.iterations, 3);
}

TEST(Complementarity, RefusesBadOptions) {
  const auto p = lcp(Matrix::Identity(2, 2), Vector::Ones(2));
  EXPECT_THROW(solve(p, {.solver = "simplex"}), InputError);
  EXPECT_THROW(solve(p, {.tolerance = 0}), InputError);
  EXPECT_THROW(solve(p, {.max_iterations = 0}), InputError);
  EXPECT_THROW(solve(p, {.time_limit = -1}), InputError);
  const Vector wrong = Vector::Zero(3);
  EXPECT_THROW(solve(p, ComplementarityOptions{}, &wrong), InputError);
}

TEST(Complementarity, SolvesTheCollectedProblems) {
#ifdef URTO_PROBLEMS_DIR
  const std::filesystem::path folder = URTO_PROBLEMS_DIR;
#else
  const char* given = std::getenv("URTO_PROBLEMS_DIR");
  const std::filesystem::path folder = given ? given : "";
#endif
  if (folder.empty() || !std::filesystem::is_directory(folder / "lcp")) {
    GTEST_SKIP() << "no collected problems: URTO_PROBLEMS_DIR is not set";
  }
  int converged = 0, total = 0;
  for (const char* kind : {"lcp", "mlcp", "relay"}) {
    for (const auto& file : std::filesystem::directory_iterator(folder / kind)) {
      if (file.path().extension() != ".dat") continue;
      ProblemFile data;
      try {
        data = read_problem(file.path());
      } catch (const InputError&) {
        continue;  // what cannot be read is the business of the file tests
      }
      const auto& p = std::get<ComplementarityProblem>(data.problem);
      const auto s = solve(p);
      ++total;
      if (s.status == Status::converged) {
        ++converged;
        EXPECT_LE(natural_map_residual(p, s.z), 1e-8) << file.path();
      } else {
        EXPECT_FALSE(s.message.empty()) << file.path();
        std::cout << file.path().filename() << ": " << to_string(s.status) << ", " << s.message
                  << "\n";
      }
    }
  }
  EXPECT_GE(converged, total - 2) << "of " << total;
}

}  // namespace
}  // namespace urto
