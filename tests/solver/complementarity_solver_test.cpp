#include "urto/solver/complementarity_solver.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <limits>

#include <gtest/gtest.h>

#include "support/paths.h"
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
                         testing::Values("auto", "pgs", "newton", "lemke", "principal"),
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
  for (const char* method : {"auto", "newton", "lemke", "principal"}) {
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

/// Does y ≥ 0 prove by Mᵀy ≤ 0 and qᵀy < 0 that no z ≥ 0 has M z + q ≥ 0?
void expect_proof(const ComplementarityProblem& p, const Vector& y, const std::string& of) {
  ASSERT_EQ(y.size(), p.size()) << of;
  EXPECT_GE(y.minCoeff(), -1e-9) << of;
  EXPECT_LE((p.M.transpose() * y).maxCoeff(), 1e-7 * Matrix(p.M).cwiseAbs().maxCoeff()) << of;
  EXPECT_LT(p.q.dot(y), 0) << of;
}

/// Whole numbers from −most to most: sums and products of them are exact.
Matrix whole(Numbers& numbers, int rows, int columns, double most) {
  return (most * numbers.matrix(rows, columns)).array().round().matrix();
}

// M = N A Nᵀ with Nᵀy = 0 for a y > 0 and A positive semi-definite with a skew part, qᵀy < 0, in
// whole numbers: M y = 0 exactly, or rounding would give a feasible problem with a solution of
// 1e16. For such M the ends of Lemke's path are a solution or a proof (Cottle, Pang and Stone,
// theorem 4.4.11).
TEST(Complementarity, ProvesThatSemidefiniteProblemsAreInfeasible) {
  Numbers numbers(21);
  for (const int n : {2, 3, 5, 8, 13, 21, 34}) {
    for (int trial = 0; trial < 10; ++trial) {
      Vector y = whole(numbers, n, 1, 2).cwiseAbs().array() + 1;
      Matrix N = Matrix::Zero(n, n - 1);
      for (int k = 0; k + 1 < n; ++k) {
        N(k, k) = y[k + 1];
        N(k + 1, k) = -y[k];
      }
      const Matrix C = whole(numbers, n - 1, std::max(1, n / 2), 2);
      const Matrix S = whole(numbers, n - 1, n - 1, 2);
      const Matrix M = N * (C * C.transpose() + S - S.transpose()) * N.transpose();
      Vector q = whole(numbers, n, 1, 5);
      q[0] -= std::ceil((q.dot(y) + 1) / y[0]);
      ASSERT_LT(q.dot(y), 0);
      const ComplementarityProblem p = lcp(M, q);
      const std::string of = "n = " + std::to_string(n) + ", trial " + std::to_string(trial);
      for (const char* solver : {"lemke", "principal", "auto"}) {
        const auto s = solve(p, {.solver = solver});
        EXPECT_EQ(s.status, Status::infeasible) << of << ": " << s.message;
        expect_proof(p, s.certificate, of);
      }
    }
  }
}

// Where M is no such matrix the ray says nothing by itself: w₁ = −z₁ + 4 z₂ − 1, w₂ = z₁ − 4 z₂ − 1
// cannot both be positive, w₁ + w₂ = −2.
TEST(Complementarity, ProvesInfeasibilityForEveryMatrix) {
  Numbers numbers(5);
  const auto two = lcp(Matrix{{-1, 4}, {1, -4}}, Eigen::Vector2d(-1, -1));
  const auto s = solve(two);
  EXPECT_EQ(s.status, Status::infeasible) << s.message;
  expect_proof(two, s.certificate, "two");
  for (int trial = 0; trial < 30; ++trial) {
    const int n = 3 + trial % 12;
    const Vector y = numbers.matrix(n, 1).cwiseAbs();
    Matrix M = 3 * numbers.matrix(n, n);
    // Mᵀy ≤ 0, row by row of Mᵀ.
    for (int c = 0; c < n; ++c) {
      const double excess = y.dot(M.col(c));
      if (excess > 0) M.col(c) -= 1.2 * excess / y.squaredNorm() * y;
    }
    Vector q = numbers.matrix(n, 1);
    q -= (q.dot(y) + 0.1 * y.norm()) / y.squaredNorm() * y;
    const ComplementarityProblem p = lcp(M, q);
    const auto found = solve(p);
    EXPECT_EQ(found.status, Status::infeasible) << "trial " << trial << ": " << found.message;
    expect_proof(p, found.certificate, "trial " + std::to_string(trial));
  }
}

TEST(Complementarity, CallsNothingInfeasibleThatHasASolution) {
  // q = w − M z with complementary z, w: whatever M is, z is a solution.
  Numbers numbers(9);
  for (int trial = 0; trial < 60; ++trial) {
    const int n = 2 + trial % 10;
    const Matrix M = 3 * numbers.matrix(n, n);
    Vector z = Vector::Zero(n), w = Vector::Zero(n);
    for (int i = 0; i < n; ++i) (numbers() > 0 ? z : w)[i] = std::abs(numbers());
    for (const char* solver : {"lemke", "principal", "auto"}) {
      const auto s = solve(lcp(M, w - M * z), {.solver = solver});
      EXPECT_NE(s.status, Status::infeasible) << "trial " << trial;
      EXPECT_EQ(s.certificate.size(), 0);
    }
  }
}

// Least-index pivots end for sufficient matrices (den Hertog, Roos and Terlaky 1993), positive
// semi-definite ones with zeros on their diagonal among them: linear programs, min cᵀx with A x ≥ b
// and x ≥ 0, whose optimality conditions have a skew matrix. Feasible and dual feasible by choice.
TEST(Complementarity, PrincipalPivotsSolveLinearPrograms) {
  Numbers numbers(31);
  for (int trial = 0; trial < 40; ++trial) {
    const int variables = 1 + trial / 3, rows = 1 + trial / 2;
    const Matrix A = numbers.matrix(rows, variables);
    const Vector x = numbers.matrix(variables, 1).cwiseMax(0),
                 y = numbers.matrix(rows, 1).cwiseMax(0);
    const Vector b = A * x - numbers.matrix(rows, 1).cwiseMax(0);
    const Vector c = A.transpose() * y + numbers.matrix(variables, 1).cwiseMax(0);
    const int n = variables + rows;
    Matrix M = Matrix::Zero(n, n);
    M.topRightCorner(variables, rows) = -A.transpose();
    M.bottomLeftCorner(rows, variables) = A;
    Vector q(n);
    q << c, -b;
    double value[2];
    for (const bool pivots : {false, true}) {
      const auto s =
          solve(lcp(M, q), {.solver = pivots ? "principal" : "lemke", .tolerance = 1e-10});
      ASSERT_EQ(s.status, Status::converged) << trial << ": " << s.message;
      value[pivots ? 1 : 0] = c.dot(s.z.head(variables));
    }
    EXPECT_NEAR(value[0], value[1], 1e-9 * (1 + std::abs(value[0]))) << trial;
  }
}

/// q such that a z with its w is a solution: both drawn, one of each pair of a bounded row zero.
void choose_load(Numbers& numbers, ComplementarityProblem& p) {
  const int n = p.size();
  Vector z(n), w(n);
  for (int i = 0; i < n; ++i) {
    const bool below = std::isfinite(p.lo[i]), above = std::isfinite(p.hi[i]);
    const double pick = numbers(), size = std::abs(numbers());
    z[i] = below && above ? 0.5 * (p.lo[i] + p.hi[i]) : below ? p.lo[i] + size : numbers();
    w[i] = 0;
    if (below && pick > 0.3) {
      z[i] = p.lo[i];
      w[i] = std::abs(numbers());
    } else if (above && pick < -0.3) {
      z[i] = p.hi[i];
      w[i] = -std::abs(numbers());
    }
  }
  p.q = w - p.M * z;
}

// The kinds that other codes collect: positive semi-definite LCPs of low rank with a skew part,
// circuits (free voltages with a conductance matrix, currents of diodes between nodes, whose block
// is zero), relays between bounds. All are monotone and have a solution: `auto` finds one to 1e-10.
TEST(Complementarity, SolvesGeneratedFamiliesOfTheCollectedKinds) {
  Numbers numbers(77);
  for (int trial = 0; trial < 60; ++trial) {
    const int n = 2 + trial % 30;
    const Matrix C = numbers.matrix(n, std::max(1, n / 2)), S = numbers.matrix(n, n);
    ComplementarityProblem semidefinite =
        lcp(C * C.transpose() + 0.3 * (S - S.transpose()), Vector::Zero(n));
    choose_load(numbers, semidefinite);

    const int nodes = 1 + n / 2, diodes = n;
    Matrix circuit = Matrix::Zero(nodes + diodes, nodes + diodes);
    for (int k = 0; k < nodes; ++k) circuit(k, k) = 0.1 + std::abs(numbers());
    for (int k = 0; k < diodes; ++k) {
      const int from = k % nodes, to = (k + 1 + k / nodes) % nodes;
      circuit(nodes + k, from) += 1;
      circuit(from, nodes + k) -= 1;
      if (to == from) continue;
      circuit(nodes + k, to) -= 1;
      circuit(to, nodes + k) += 1;
    }
    ComplementarityProblem bridge = lcp(circuit, Vector::Zero(nodes + diodes));
    bridge.lo.head(nodes).setConstant(-infinity);
    choose_load(numbers, bridge);

    ComplementarityProblem relay =
        lcp(C * C.transpose() + 0.01 * Matrix::Identity(n, n), Vector::Zero(n));
    relay.lo.setConstant(-1);
    relay.hi.setConstant(1);
    choose_load(numbers, relay);

    for (const auto& [name, p] :
         {std::pair<const char*, const ComplementarityProblem&>("semidefinite", semidefinite),
          {"bridge", bridge},
          {"relay", relay}}) {
      const auto s = solve(p, {.tolerance = 1e-10});
      EXPECT_EQ(s.status, Status::converged) << name << " " << trial << ": " << s.message;
      EXPECT_LE(natural_map_residual(p, s.z), 1e-10) << name << " " << trial;
    }
  }
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
  const std::filesystem::path folder = samples::problems_dir();
  if (!std::filesystem::is_directory(folder / "lcp")) {
    GTEST_SKIP() << "no collected problems in " << folder;
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
