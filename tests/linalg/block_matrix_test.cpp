#include "urto/linalg/block_matrix.h"

#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include <Eigen/Dense>
#include <gtest/gtest.h>

#include "support/random_numbers.h"
#include "urto/error.h"

namespace urto {
namespace {

struct Random : samples::RandomNumbers {
  using RandomNumbers::RandomNumbers;
  Matrix matrix(int rows, int columns) {
    std::normal_distribution<double> normal;
    return Matrix::NullaryExpr(rows, columns, [&] { return normal(engine); });
  }
  Vector vector(int size) { return matrix(size, 1); }
  Matrix positive_definite(int size) {
    const Matrix a = matrix(size, size);
    return a * a.transpose() + Matrix::Identity(size, size);
  }
};

constexpr double rounding = 1e-13;

// A block-row matrix and the same as a dense one, built entry by entry.
struct Example {
  BlockRows J;
  Matrix dense;

  Example(Random& random, int blocks, int columns) {
    J.columns = columns;
    std::vector<Matrix> rows;
    for (int i = 0; i < blocks; ++i) {
      // Every third block is a contact's, whose widths have their own kernels.
      const bool contact = i % 3 == 0;
      const int height = contact ? 3 : random.integer(1, 6);
      Matrix row = Matrix::Zero(height, columns);
      J.add_block(height);
      const int entries = random.integer(0, 3);  // none is legal, and entries may overlap
      for (int e = 0; e < entries; ++e) {
        const int width = contact && e < 2 ? 3 * random.integer(1, 2) : random.integer(1, 7);
        const int column = random.integer(0, columns - width);
        const Matrix block = random.matrix(height, width);
        J.add_entry(column, block);
        row.middleCols(column, width) += block;
      }
      rows.push_back(row);
    }
    dense.resize(J.rows(), columns);
    for (int i = 0; i < blocks; ++i) dense.middleRows(J.row_start[i], J.height(i)) = rows[i];
  }
};

TEST(BlockRows, HasTheShapeItWasBuiltWith) {
  BlockRows J;
  EXPECT_EQ(J.rows(), 0);
  EXPECT_EQ(J.blocks(), 0);
  J.columns = 12;
  J.add_block(3);
  J.add_entry(0, Matrix::Ones(3, 6));
  J.add_entry(6, Matrix::Ones(3, 6));
  J.add_block(2);
  J.add_block(1);
  J.add_entry(4, Matrix::Ones(1, 3));
  EXPECT_EQ(J.rows(), 6);
  EXPECT_EQ(J.blocks(), 3);
  EXPECT_EQ(J.height(0), 3);
  EXPECT_EQ(J.height(1), 2);
  EXPECT_EQ(J.height(2), 1);
  EXPECT_EQ(J.entry_start, (std::vector<int>{0, 2, 2, 3}));
  EXPECT_EQ(J.values.size(), 39u);
}

TEST(BlockRows, StoresItsBlocksRowMajor) {
  BlockRows J;
  J.columns = 3;
  J.add_block(2);
  Matrix block(2, 3);
  block << 1, 2, 3, 4, 5, 6;
  J.add_entry(0, block);
  EXPECT_EQ(J.values, (std::vector<double>{1, 2, 3, 4, 5, 6}));
}

TEST(BlockRows, ProductsAreThoseOfTheDenseMatrix) {
  Random random(1);
  for (int repeat = 0; repeat < 50; ++repeat) {
    const Example example(random, random.integer(1, 12), 24);
    const BlockRows& J = example.J;
    const Vector x = random.vector(24), y = random.vector(J.rows());

    Vector Jx = Vector::Constant(1, 99);  // neither its size nor its content may matter
    multiply(J, x, Jx);
    ASSERT_EQ(Jx.size(), J.rows());
    EXPECT_LT((Jx - example.dense * x).norm(), rounding);

    Vector sum = x;
    transpose_multiply_add(J, y, sum);
    EXPECT_LT((sum - (x + example.dense.transpose() * y)).norm(), rounding);
    EXPECT_NEAR(Jx.dot(y), x.dot(sum - x), rounding * 100);
  }
}

TEST(BlockRows, ProductsOfOneBlockTouchOnlyItsRowsAndAddToThem) {
  Random random(2);
  const Example example(random, 9, 20);
  const BlockRows& J = example.J;
  const Vector x = random.vector(20);
  for (int i = 0; i < J.blocks(); ++i) {
    const Matrix dense = example.dense.middleRows(J.row_start[i], J.height(i));
    const Vector start = random.vector(J.height(i) + 1);
    Vector y = start;
    multiply_add_block(J, i, x.data(), y.data());
    EXPECT_LT((y.head(J.height(i)) - start.head(J.height(i)) - dense * x).norm(), rounding);
    EXPECT_EQ(y[J.height(i)], start[J.height(i)]);

    Vector z = x;
    transpose_multiply_add_block(J, i, start.data(), z.data());
    EXPECT_LT((z - x - dense.transpose() * start.head(J.height(i))).norm(), rounding);
  }
}

TEST(BlockRows, ContactKernelAgreesWithTheGeneralOne) {
  // The same 3 × 6 numbers once as one entry and once as two of odd widths, which have no kernel.
  Random random(3);
  const Matrix block = random.matrix(3, 6);
  BlockRows whole, split;
  whole.columns = split.columns = 8;
  whole.add_block(3);
  whole.add_entry(1, block);
  split.add_block(3);
  split.add_entry(1, block.leftCols(2));
  split.add_entry(3, block.rightCols(4));
  const Vector x = random.vector(8), y = random.vector(3);
  Vector a, b, at = x, bt = x;
  multiply(whole, x, a);
  multiply(split, x, b);
  EXPECT_LT((a - b).norm(), rounding);
  transpose_multiply_add(whole, y, at);
  transpose_multiply_add(split, y, bt);
  EXPECT_LT((at - bt).norm(), rounding);
}

TEST(BlockRows, SparseFormIsTheDenseMatrix) {
  Random random(4);
  for (int repeat = 0; repeat < 20; ++repeat) {
    const Example example(random, random.integer(1, 8), 15);
    const SparseMatrix sparse = to_sparse(example.J);
    EXPECT_EQ(sparse.rows(), example.J.rows());
    EXPECT_EQ(sparse.cols(), 15);
    EXPECT_LT((Matrix(sparse) - example.dense).norm(), rounding);
  }
}

TEST(BlockRows, TwoEntriesInTheSameColumnsAdd) {
  // A body that touches itself.
  BlockRows J;
  J.columns = 6;
  J.add_block(3);
  J.add_entry(0, Matrix::Ones(3, 6));
  J.add_entry(0, 2 * Matrix::Ones(3, 6));
  EXPECT_EQ(Matrix(to_sparse(J)), Matrix(3 * Matrix::Ones(3, 6)));
  Vector y;
  multiply(J, Vector::Ones(6), y);
  EXPECT_EQ(y, Vector(Vector::Constant(3, 18)));
}

// ---- block-diagonal matrices

BlockMatrix random_block_diagonal(Random& random, const std::vector<int>& sizes, Matrix& dense) {
  BlockMatrix H;
  int rows = 0;
  for (const int size : sizes) rows += size;
  dense = Matrix::Zero(rows, rows);
  int first = 0;
  for (const int size : sizes) {
    const Matrix block = random.positive_definite(size);
    H.push_back(block);
    dense.block(first, first, size, size) = block;
    first += size;
  }
  return H;
}

TEST(BlockMatrix, ProductsAndSparseFormAreThoseOfTheDenseMatrix) {
  Random random(5);
  for (int repeat = 0; repeat < 20; ++repeat) {
    std::vector<int> sizes(random.integer(1, 6));
    for (int& size : sizes) size = random.integer(1, 7);
    Matrix dense;
    const BlockMatrix H = random_block_diagonal(random, sizes, dense);
    ASSERT_EQ(H.rows(), dense.rows());
    ASSERT_EQ(H.blocks(), static_cast<int>(sizes.size()));
    for (int k = 0; k < H.blocks(); ++k) EXPECT_EQ(H.size(k), sizes[k]);
    const Vector x = random.vector(H.rows());
    Vector y = Vector::Constant(2, 99);
    multiply(H, x, y);
    EXPECT_LT((y - dense * x).norm(), rounding * dense.norm());
    EXPECT_EQ(Matrix(to_sparse(H)), dense);
  }
}

TEST(BlockMatrix, KeepsTheOrientationOfAnAsymmetricBlock) {
  Matrix block(2, 2);
  block << 1, 2, 3, 4;
  BlockMatrix H;
  H.push_back(Matrix::Ones(1, 1));
  H.push_back(block);
  EXPECT_EQ(H.block(1), block);
  EXPECT_EQ(Matrix(to_sparse(H)).bottomRightCorner(2, 2), block);
}

TEST(BlockMatrix, InverseInverts) {
  Random random(6);
  Matrix dense;
  const BlockMatrix H = random_block_diagonal(random, {6, 1, 3, 2, 6}, dense);
  const BlockMatrix inverted = inverse(H);
  EXPECT_EQ(inverted.start, H.start);
  const Matrix product = dense * Matrix(to_sparse(inverted));
  EXPECT_LT((product - Matrix::Identity(18, 18)).norm(), 1e-11);
}

std::string message_of_inverse(const BlockMatrix& H) {
  try {
    inverse(H);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

TEST(BlockMatrix, InverseRefusesABlockThatIsNotPositiveDefiniteAndNamesIt) {
  Matrix indefinite(3, 3);
  indefinite << 1, 2, 0, 2, 1, 0, 0, 0, 1;  // eigenvalues 3, −1, 1
  Matrix not_a_number = Matrix::Identity(3, 3);
  not_a_number(2, 1) = not_a_number(1, 2) = std::numeric_limits<double>::quiet_NaN();
  for (const Matrix& bad :
       {indefinite, Matrix(-Matrix::Identity(3, 3)), Matrix(Matrix::Zero(3, 3)), not_a_number}) {
    BlockMatrix H;
    H.push_back(Matrix::Identity(6, 6));
    H.push_back(2 * Matrix::Identity(1, 1));
    EXPECT_NO_THROW(inverse(H));
    H.push_back(bad);
    H.push_back(Matrix::Identity(2, 2));
    H.push_back(-Matrix::Identity(2, 2));  // only the first bad block is named
    EXPECT_THROW(inverse(H), InputError) << bad;
    const std::string message = message_of_inverse(H);
    EXPECT_NE(message.find("block 2 (rows 7 to 9)"), std::string::npos) << message;
    EXPECT_NE(message.find("positive definite"), std::string::npos) << message;
  }
}

// ---- finding the blocks of a sparse matrix

SparseMatrix sparse(int size, const std::vector<std::pair<int, int>>& couplings) {
  SparseMatrix A(size, size);
  for (int i = 0; i < size; ++i) A.insert(i, i) = 2 + i;
  for (const auto& [i, j] : couplings) A.coeffRef(i, j) = A.coeffRef(j, i) = 0.5;
  A.makeCompressed();
  return A;
}

TEST(FindBlockMatrix, RecoversTheBlocksOfABlockMatrixMatrix) {
  Random random(7);
  for (int repeat = 0; repeat < 30; ++repeat) {
    std::vector<int> sizes(random.integer(1, 8));
    for (int& size : sizes) size = random.integer(1, 6);
    Matrix dense;
    const BlockMatrix H = random_block_diagonal(random, sizes, dense);
    BlockMatrix found;
    ASSERT_TRUE(find_block_diagonal(to_sparse(H), 6, found));
    EXPECT_EQ(found, H);
    const int largest = *std::max_element(sizes.begin(), sizes.end());
    EXPECT_TRUE(find_block_diagonal(to_sparse(H), largest, found));
    EXPECT_FALSE(find_block_diagonal(to_sparse(H), largest - 1, found));
  }
}

TEST(FindBlockMatrix, FindsTheFinestBlocks) {
  BlockMatrix found;
  ASSERT_TRUE(find_block_diagonal(sparse(5, {}), 6, found));
  EXPECT_EQ(found.start, (std::vector<int>{0, 1, 2, 3, 4, 5}));
  ASSERT_TRUE(find_block_diagonal(sparse(6, {{0, 1}, {3, 5}, {3, 4}}), 3, found));
  EXPECT_EQ(found.start, (std::vector<int>{0, 2, 3, 6}));
}

TEST(FindBlockMatrix, FollowsChains) {
  const SparseMatrix chain = sparse(4, {{0, 1}, {1, 2}, {2, 3}});
  BlockMatrix found;
  ASSERT_TRUE(find_block_diagonal(chain, 4, found));
  EXPECT_EQ(found.start, (std::vector<int>{0, 4}));
  EXPECT_FALSE(find_block_diagonal(chain, 3, found));
}

TEST(FindBlockMatrix, RefusesDistantCouplings) {
  BlockMatrix found;
  EXPECT_FALSE(find_block_diagonal(sparse(20, {{0, 19}}), 12, found));
  EXPECT_FALSE(find_block_diagonal(sparse(20, {{0, 1}, {2, 3}, {5, 17}}), 12, found));
}

TEST(FindBlockMatrix, IgnoresStoredZeros) {
  SparseMatrix A = sparse(8, {{0, 7}, {1, 3}});
  A.coeffRef(0, 7) = A.coeffRef(7, 0) = 0;
  BlockMatrix found;
  ASSERT_TRUE(find_block_diagonal(A, 3, found));
  EXPECT_EQ(found.start, (std::vector<int>{0, 1, 4, 5, 6, 7, 8}));
}

TEST(FindBlockMatrix, NeverLosesAnEntry) {
  // Also of an asymmetric pattern, coupled in one triangle only, or with a hole on the diagonal.
  Random random(8);
  int accepted = 0, refused = 0;
  for (int repeat = 0; repeat < 500; ++repeat) {
    const int n = random.integer(1, 10);
    SparseMatrix A(n, n);
    for (int i = 0; i < n; ++i) {
      if (random.integer(0, 9) > 0) A.coeffRef(i, i) = 1 + i;
    }
    const int couplings = random.integer(0, 3);
    for (int k = 0; k < couplings; ++k) {
      A.coeffRef(random.integer(0, n - 1), random.integer(0, n - 1)) = 0.5 + k;
    }
    BlockMatrix found;
    if (find_block_diagonal(A, 4, found)) {
      ++accepted;
      EXPECT_EQ(Matrix(to_sparse(found)), Matrix(A));
      for (int k = 0; k < found.blocks(); ++k) EXPECT_LE(found.size(k), 4);
    } else {
      ++refused;
    }
  }
  EXPECT_GT(accepted, 50);
  EXPECT_GT(refused, 50);
}

TEST(FindBlockMatrix, ForgetsWhatTheOutputHeldBefore) {
  BlockMatrix found;
  found.push_back(Matrix::Identity(5, 5));
  ASSERT_TRUE(find_block_diagonal(sparse(2, {}), 6, found));
  EXPECT_EQ(found.start, (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(found.values.size(), 2u);
  ASSERT_TRUE(find_block_diagonal(SparseMatrix(0, 0), 6, found));
  EXPECT_EQ(found.rows(), 0);
}

}  // namespace
}  // namespace urto
