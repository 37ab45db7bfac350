// Sparse LU with kept analysis and pivots, by itself and under a saddle matrix. The numbers follow
// from the matrices: a solution is put in, its right-hand side computed, and the solution found
// again.
#include "urto/linalg/kept_lu.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "urto/linalg/saddle_lu.h"

namespace urto {
namespace {

// Tridiagonal: −0.5, `diagonal`, 1.
SparseMatrix kept_lu_chain(int n, double diagonal) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(i, i, diagonal);
    if (i + 1 < n) {
      entries.emplace_back(i, i + 1, 1.0);
      entries.emplace_back(i + 1, i, -0.5);
    }
  }
  SparseMatrix A(n, n);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

double kept_lu_error(KeptLu& lu, const SparseMatrix& A) {
  const Vector wanted = Vector::LinSpaced(A.rows(), -1, 2);
  Vector x;
  EXPECT_TRUE(lu.solve(A * wanted, x));
  return (x - wanted).lpNorm<Eigen::Infinity>();
}

TEST(KeptLu, PivotsAreKeptWhileTheyAreGood) {
  KeptLu lu;
  SparseMatrix A = kept_lu_chain(200, 4);
  ASSERT_TRUE(lu.analyze(A));
  ASSERT_TRUE(lu.factorize(A, KeptLu::Pivots::kept));  // none yet: chosen
  EXPECT_LT(kept_lu_error(lu, A), 1e-13);
  A = kept_lu_chain(200, 3);
  ASSERT_TRUE(lu.factorize(A, KeptLu::Pivots::kept));
  EXPECT_LT(kept_lu_error(lu, A), 1e-13);
  EXPECT_EQ(lu.chosen(), KeptLu::has_klu() ? 1 : 2);
  ASSERT_TRUE(lu.factorize(A, KeptLu::Pivots::chosen));
  EXPECT_EQ(lu.chosen(), KeptLu::has_klu() ? 2 : 3);
}

// With diagonals of 1e-13 the pivots of the dominant matrix lose all digits: growth is 1e13.
TEST(KeptLu, PivotsThatBecameBadAreChosenAnew) {
  KeptLu lu;
  SparseMatrix A = kept_lu_chain(200, 4);
  ASSERT_TRUE(lu.analyze(A));
  ASSERT_TRUE(lu.factorize(A, KeptLu::Pivots::chosen));
  A = kept_lu_chain(200, 1e-13);
  ASSERT_TRUE(lu.factorize(A, KeptLu::Pivots::kept));
  EXPECT_EQ(lu.kept(), 0);
  EXPECT_EQ(lu.chosen(), 2);
  // Products of couplings reach 2^±100 along the chain, so the residual is what can be asked for.
  const Vector rhs = Vector::LinSpaced(200, -1, 2);
  Vector x;
  ASSERT_TRUE(lu.solve(rhs, x));
  EXPECT_LT((A * x - rhs).norm(), 1e-12 * (rhs.norm() + x.norm()));
}

TEST(KeptLu, SingularMatricesAreAStatus) {
  KeptLu lu;
  SparseMatrix A = kept_lu_chain(10, 4);
  ASSERT_TRUE(lu.analyze(A));
  for (const KeptLu::Pivots pivots : {KeptLu::Pivots::chosen, KeptLu::Pivots::kept}) {
    SparseMatrix bad = A;
    bad.coeffs().setZero();
    EXPECT_FALSE(lu.factorize(bad, pivots));
    ASSERT_TRUE(lu.factorize(A, pivots));  // and is none for the next matrix
    EXPECT_LT(kept_lu_error(lu, A), 1e-14);
  }
}

// 100 unit masses in a row, neighbours held together and the last row said twice: 200 unknowns, so
// sparse. Rows that depend on each other share one multiplier; the accelerations are unique: all
// masses move with the mean of the loads.
TEST(SaddleLu, LargeMatricesWithDependentRowsAreSolved) {
  const int n = 100;
  SaddleLu lu;
  for (const double mass : {1.0, 2.0, 3.0}) {
    lu.start(n, 2 * n);
    for (int i = 0; i < n; ++i) lu.add(i, i, mass);
    for (int r = 0; r < n; ++r) {
      const int left = std::min(r, n - 2);
      for (const auto& [column, value] : {std::pair{left, -1.0}, std::pair{left + 1, 1.0}}) {
        lu.add(n + r, column, value);
        lu.add(column, n + r, value);
      }
      lu.shift(n + r, -1);
    }
    ASSERT_TRUE(lu.factorize(mass > 1 ? KeptLu::Pivots::kept : KeptLu::Pivots::chosen));
    Vector rhs = Vector::Zero(2 * n), x;
    rhs[0] = 300;
    lu.solve(rhs, x);
    EXPECT_LT((x.head(n).array() - 3 / mass).abs().maxCoeff(), 1e-9) << mass;
  }
}

}  // namespace
}  // namespace urto
