// Matrices assembled block by block: any sizes, any order, the pattern kept from one assembly to
// the next.
#include <random>

#include <gtest/gtest.h>

#include "urto/linalg/block_factor.h"
#include "urto/linalg/block_matrix.h"

namespace urto {
namespace {

using Symmetry = BlockMatrix::Symmetry;

const std::vector<int> sizes{1, 2, 3, 6, 7, 12, 1};

std::vector<int> starts() {
  std::vector<int> out{0};
  for (const int n : sizes) out.push_back(out.back() + n);
  return out;
}

Matrix random_block(int rows, int columns, std::mt19937& random) {
  std::normal_distribution<double> normal;
  return Matrix::NullaryExpr(rows, columns, [&] { return normal(random); });
}

TEST(BlockAssembly, SumsWhatIsAddedInAnyOrder) {
  std::mt19937 random(3);
  const std::vector<int> start = starts();
  const int nodes = static_cast<int>(sizes.size());
  for (const Symmetry symmetry : {Symmetry::general, Symmetry::symmetric}) {
    BlockMatrix A;
    for (int round = 0; round < 3; ++round) {
      A.start_assembly(start, symmetry);
      Matrix dense = Matrix::Zero(start.back(), start.back());
      for (int k = 0; k < 60; ++k) {
        const int row = static_cast<int>(random() % nodes),
                  column = static_cast<int>(random() % nodes);
        const Matrix block = random_block(sizes[row], sizes[column], random);
        A.add(row, column, block, 0.5);
        dense.block(start[row], start[column], sizes[row], sizes[column]) += 0.5 * block;
      }
      A.finish_assembly();
      if (symmetry == Symmetry::symmetric) dense = (0.5 * (dense + dense.transpose())).eval();
      EXPECT_LT((Matrix(to_sparse(A)) - dense).norm(), 1e-12 * dense.norm());
      const Vector x = random_block(start.back(), 1, random);
      Vector y;
      multiply(A, x, y);
      EXPECT_LT((y - dense * x).norm(), 1e-12 * dense.norm() * x.norm());
      for (std::size_t k = 1; k < A.couplings.size(); ++k) {
        const auto& a = A.couplings[k - 1];
        const auto& b = A.couplings[k];
        EXPECT_TRUE(a.row < b.row || (a.row == b.row && a.column < b.column));
      }
    }
  }
}

TEST(BlockAssembly, KeepsItsPatternAndStorageWhileTheSamePairsAreAdded) {
  std::mt19937 random(4);
  BlockMatrix A;
  const auto assemble = [&](bool more) {
    A.start_assembly(starts(), Symmetry::symmetric);
    A.add(4, 1, random_block(7, 2, random));
    A.add(0, 6, random_block(1, 1, random));
    if (more) A.add(2, 3, random_block(3, 6, random));
    A.finish_assembly();
  };
  assemble(false);
  const auto pattern = A.couplings;
  const double* storage = A.values.data();
  assemble(false);
  EXPECT_EQ(A.couplings, pattern);
  EXPECT_EQ(A.values.data(), storage);
  assemble(true);
  EXPECT_EQ(A.couplings.size(), 3U);
  assemble(false);  // what nobody adds to any more is gone
  EXPECT_EQ(A.couplings.size(), 2U);
  EXPECT_EQ(A.couplings, pattern);
}

TEST(BlockAssembly, ManyPairsAreFoundAgain) {
  const int nodes = 200;
  std::vector<int> start;
  for (int k = 0; k <= nodes; ++k) start.push_back(6 * k);
  BlockMatrix A;
  for (int round = 0; round < 3; ++round) {
    A.start_assembly(start, Symmetry::general);
    double sum = 0;
    for (int twice = 0; twice < 2; ++twice) {
      for (int k = 0; k < nodes; ++k) {
        for (const int other : {0, k, (7 * k + 3) % nodes}) {
          A.add(k, other, Matrix::Identity(6, 6), k);
          sum += k;
        }
      }
    }
    A.finish_assembly();
    double found = 0;
    for (std::size_t k = 0; k < A.values.size(); ++k) found += A.values[k];
    EXPECT_DOUBLE_EQ(found, 6 * sum);
  }
}

TEST(BlockAssembly, FactorSolvesWithBlocksOfAnySize) {
  std::mt19937 random(5);
  BlockMatrix A;
  BlockFactor factor;
  for (int round = 0; round < 4; ++round) {
    A.start_assembly(starts(), Symmetry::symmetric);
    for (int k = 0; k < A.blocks(); ++k) {
      A.add(k, k, 20 * Matrix::Identity(sizes[k], sizes[k]));
      if (k > 0) A.add(k, k - 1, random_block(sizes[k], sizes[k - 1], random));
    }
    A.add(0, 4, random_block(1, 7, random));
    A.finish_assembly();
    ASSERT_TRUE(factor.factorize(A));
    const Vector x = random_block(A.rows(), 1, random);
    Vector y;
    multiply(A, x, y);
    factor.solve(y);
    EXPECT_LT((y - x).norm(), 1e-12 * x.norm());
  }
  A.block(3)(2, 2) = -1000;
  EXPECT_FALSE(factor.factorize(A));
}

TEST(BlockAssembly, IsMultipliedByABlockDiagonalFromTheRight) {
  std::mt19937 random(6);
  BlockMatrix A, T;
  A.start_assembly(starts(), Symmetry::general);
  T.start_assembly(starts(), Symmetry::general);
  for (int k = 0; k < static_cast<int>(sizes.size()); ++k) {
    T.add(k, k, random_block(sizes[k], sizes[k], random));
    A.add(k, k, random_block(sizes[k], sizes[k], random));
  }
  A.add(1, 5, random_block(2, 12, random));
  A.add(5, 0, random_block(12, 1, random));
  const Matrix before = to_sparse(A), turn = to_sparse(T);
  multiply_right(A, T);
  A.finish_assembly();
  EXPECT_LT((Matrix(to_sparse(A)) - before * turn).norm(), 1e-12 * before.norm() * turn.norm());

  BlockRows J, turned;
  J.columns = A.rows();
  J.add_block(2);
  J.add_entry(starts()[3], random_block(2, 6, random));
  J.add_entry(starts()[4], random_block(2, 7, random));
  multiply_right(J, T, turned);
  EXPECT_LT((Matrix(to_sparse(turned)) - Matrix(to_sparse(J)) * turn).norm(), 1e-12);
}

}  // namespace
}  // namespace urto
