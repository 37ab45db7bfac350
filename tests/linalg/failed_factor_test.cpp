// No kernel computes with what a failed factorisation left behind. Each is given a matrix that it
// cannot factorise after one that it can: from then on solutions are not-a-number, until it is
// given a good one again.
#include <cmath>
#include <limits>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>
#include <gtest/gtest.h>

#include "urto/linalg/block_factor.h"
#include "urto/linalg/checked.h"
#include "urto/linalg/dense_factor.h"
#include "urto/linalg/kept_lu.h"
#include "urto/linalg/pivoting_factor.h"
#include "urto/linalg/saddle_lu.h"
#include "urto/linalg/small_inverse.h"
#include "urto/linalg/spd_factor.h"
#include "urto/linalg/symbolic_store.h"

namespace urto {
namespace {

constexpr double nan = std::numeric_limits<double>::quiet_NaN();

/// A tridiagonal matrix, 2 and −1: positive definite. `bad`: two of its rows are zero.
SparseMatrix band(int n, bool bad = false) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < n; ++i) {
    for (int j = std::max(0, i - 1); j <= std::min(n - 1, i + 1); ++j) {
      const bool empty = bad && (i / 2 == n / 4 || j / 2 == n / 4);
      entries.emplace_back(i, j, empty ? 0.0 : i == j ? 2.0 : -1.0);
    }
  }
  SparseMatrix A(n, n);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

SparseMatrix with_nan(SparseMatrix A) {
  A.coeffRef(A.rows() / 2, A.rows() / 2) = nan;
  return A;
}

bool all_nan(const Vector& x, Eigen::Index size) {
  return x.size() == size && x.array().isNaN().all();
}

/// `factorize(A)` and `solve(b)` of a kernel on matrices of one pattern.
template <class Factorize, class Solve>
void expect_no_use_of_failures(int n, const Factorize& factorize, const Solve& solve) {
  const SparseMatrix good = band(n);
  const Vector b = Vector::Ones(n);
  EXPECT_TRUE(all_nan(solve(b), n)) << "nothing was factorised yet";
  for (const SparseMatrix& bad : {band(n, true), with_nan(good)}) {
    ASSERT_TRUE(factorize(good));
    ASSERT_LT((good * solve(b) - b).norm(), 1e-9 * n);
    EXPECT_FALSE(factorize(bad));
    EXPECT_TRUE(all_nan(solve(b), n));
  }
  ASSERT_TRUE(factorize(good)) << "a failure is forgotten";
  EXPECT_LT((good * solve(b) - b).norm(), 1e-9 * n);
}

template <class Kernel>
void expect_of_analysed(int n) {
  Kernel kernel;
  if constexpr (requires { kernel.analyze(band(n)); }) {
    static_cast<void>(kernel.analyze(band(n)));
  } else {
    kernel.analyzePattern(band(n));
  }
  expect_no_use_of_failures(
      n, [&](const SparseMatrix& A) { return kernel.factorize(A); },
      [&](const Vector& b) {
        Vector x;
        kernel.solve(b, x);
        return x;
      });
}

// 400 rows are CHOLMOD's.
TEST(FailedFactor, OfCholeskyIsNotUsed) {
  for (const int n : {1, 12, 400}) expect_of_analysed<SpdFactor>(n);
}

TEST(FailedFactor, OfCholeskyGivesNoColumnsEither) {
  for (const int n : {12, 400}) {
    SpdFactor factor;
    factor.analyze(band(n));
    Matrix x = Matrix::Zero(n, 3);
    factor.solve(Matrix::Ones(n, 3), x);
    EXPECT_TRUE(x.array().isNaN().all());
  }
}

TEST(FailedFactor, OfSparseLdltIsNotUsed) {
  expect_of_analysed<SparseLdlt>(12);
}

// Eigen's own solves with arrays that were never filled: this was a segmentation fault.
TEST(FailedFactor, OfSparseLuIsNotUsed) {
  for (const int n : {12, 300}) expect_of_analysed<SparseLu>(n);
}

TEST(FailedFactor, OfKeptLuIsNotUsed) {
  const int n = 40;
  for (const KeptLu::Pivots pivots : {KeptLu::Pivots::chosen, KeptLu::Pivots::kept}) {
    KeptLu lu;
    ASSERT_TRUE(lu.analyze(band(n)));
    bool solved = false;
    expect_no_use_of_failures(
        n, [&](const SparseMatrix& A) { return lu.factorize(A, pivots); },
        [&](const Vector& b) {
          Vector x;
          solved = lu.solve(b, x);
          EXPECT_EQ(solved, x.allFinite());
          return x;
        });
  }
}

TEST(FailedFactor, OfDenseKernelsIsNotUsed) {
  for (const auto kind : {DenseFactor::Kind::cholesky, DenseFactor::Kind::lu}) {
    DenseFactor factor(kind);
    expect_no_use_of_failures(
        12, [&](const SparseMatrix& A) { return factor.factorize(A); },
        [&](const Vector& b) {
          Vector x;
          factor.solve(b, x);
          return x;
        });
  }
}

// A matrix of another size besides: the old factor would read and write beyond its end.
TEST(FailedFactor, OfFullPivotingIsNotUsed) {
  using Storage = FullPivotFactor::Storage;
  FullPivotFactor factor;
  Vector x;
  factor.solve(Vector::Ones(4), x);
  EXPECT_TRUE(all_nan(x, 4));
  ASSERT_TRUE(factor.factorize(band(4), Storage::all, Vector::Ones(4)));
  EXPECT_FALSE(factor.factorize(with_nan(band(9)), Storage::all, Vector::Ones(9)));
  factor.solve(Vector::Ones(9), x);
  EXPECT_TRUE(all_nan(x, 9));
}

TEST(FailedFactor, OfMumpsIsNotUsed) {
  if (!PivotingFactor::is_available()) GTEST_SKIP() << "built without MUMPS";
  const int n = 12;
  PivotingFactor factor(PivotingFactor::Symmetry::general);
  Vector x;
  EXPECT_FALSE(factor.factorize(band(n), PivotingFactor::NullPivots::kept, 0.01))
      << "nothing was analysed";
  EXPECT_FALSE(factor.solve(Vector::Ones(n), x));
  EXPECT_TRUE(all_nan(x, n));
  ASSERT_TRUE(factor.analyze(band(n)));
  ASSERT_TRUE(factor.factorize(band(n), PivotingFactor::NullPivots::kept, 0.01));
  EXPECT_TRUE(factor.solve(Vector::Ones(n), x));
  EXPECT_FALSE(factor.factorize(band(n, true), PivotingFactor::NullPivots::kept, 0.01));
  EXPECT_FALSE(factor.solve(Vector::Ones(n), x));
  EXPECT_TRUE(all_nan(x, n));
}

TEST(FailedFactor, OfBlocksIsNotUsed) {
  BlockMatrix good;
  good.push_back(Matrix::Identity(6, 6));
  good.push_back(2 * Matrix::Identity(3, 3));
  BlockFactor factor;
  Vector x = Vector::Ones(9);
  ASSERT_TRUE(factor.factorize(good));
  factor.solve(x);
  EXPECT_NEAR(x[8], 0.5, 1e-15);
  for (const double wrong : {0.0, -1.0, nan}) {
    BlockMatrix bad = good;
    bad.values.back() = wrong;
    EXPECT_FALSE(factor.factorize(bad));
    x.setOnes();
    factor.solve(x);
    EXPECT_TRUE(x.array().isNaN().all()) << wrong;
  }
}

// Dense up to 160 unknowns, sparse above.
TEST(FailedFactor, OfNewtonsMatrixIsNotUsed) {
  for (const int n : {9, 200}) {
    SaddleLu lu;
    expect_no_use_of_failures(
        n,
        [&](const SparseMatrix& A) {
          lu.start(n, n);
          lu.add(A, 0, 0);
          return lu.factorize();
        },
        [&](const Vector& b) {
          Vector x;
          lu.solve(b, x);
          return x;
        });
  }
}

// Who gets a factor from the store gets its analysis, not the numbers of whoever had it before.
TEST(FailedFactor, AFactorFromTheStoreHasNoNumbers) {
  const SparseMatrix A = band(12);
  SymbolicStore store;
  {
    LentFactor<SpdFactor> first(&store, A);
    ASSERT_TRUE(first->factorize(A));
  }
  LentFactor<SpdFactor> second(&store, A);
  ASSERT_FALSE(second.is_new());
  Vector x;
  second->solve(Vector::Ones(12), x);
  EXPECT_TRUE(all_nan(x, 12));
}

TEST(FailedFactor, OfEigensOwnIsNotUsedWhereItIsChecked) {
  const Matrix singular = Matrix::Zero(3, 3), odd = Matrix::Constant(3, 3, nan);
  const Vector b = Vector::Ones(3);
  EXPECT_TRUE(all_nan(Checked<Eigen::LLT<Matrix>>(singular).solve(b), 3));
  EXPECT_TRUE(all_nan(Checked<Eigen::LLT<Matrix>>(odd).solve(b), 3)) << "Eigen takes no notice";
  EXPECT_TRUE(all_nan(Checked<Eigen::LDLT<Matrix>>(odd).solve(b), 3));
  EXPECT_TRUE(all_nan(
      Checked<Eigen::SparseLU<SparseMatrix>>(band(300, true)).solve(Vector(Vector::Ones(300))),
      300));
  EXPECT_TRUE(all_nan(Checked<Eigen::SimplicialLDLT<SparseMatrix>>(with_nan(band(9)))
                          .solve(Vector(Vector::Ones(9))),
                      9));
  const Checked<Eigen::SelfAdjointEigenSolver<Matrix>> eigen(odd);
  EXPECT_FALSE(eigen.ok());
  EXPECT_THROW(eigen->eigenvalues(), std::logic_error);
  EXPECT_FALSE(Checked<Eigen::JacobiSVD<Matrix>>(odd, Eigen::ComputeThinU).ok());
  const Checked<Eigen::LLT<Matrix>> good(Matrix(2 * Matrix::Identity(3, 3)));
  EXPECT_NEAR((good.solve(b) - 0.5 * b).norm(), 0, 1e-15);
  EXPECT_EQ(Checked<Eigen::LLT<Matrix>>().ok(), false) << "nothing was given yet";
}

TEST(FailedFactor, OfASmallInverseIsSaid) {
  const Matrix singular = Matrix::Zero(6, 6), odd = Matrix::Constant(6, 6, nan);
  Matrix out(6, 6);
  EXPECT_FALSE(invert_positive_definite(6, singular.data(), out.data()));
  EXPECT_FALSE(invert_positive_definite(6, odd.data(), out.data()));
}

}  // namespace
}  // namespace urto
