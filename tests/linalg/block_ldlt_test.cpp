// The block factor of bodies and joints against a dense solve.
#include "urto/linalg/block_ldlt.h"

#include <random>

#include <Eigen/LU>
#include <gtest/gtest.h>

namespace urto {
namespace {

struct Saddle {
  BlockLdlt factor;
  std::vector<int> sign;
  Matrix dense;
};

// `bodies` blocks of six and `joints` of one to six rows between two bodies each; δ on the joints'
// diagonal.
void build(Saddle& s, int bodies, const std::vector<std::vector<int>>& joints, std::mt19937& random,
           double delta) {
  std::normal_distribution<double> normal;
  std::vector<int> sizes(bodies, 6);
  s.sign.assign(bodies, 1);
  std::vector<std::pair<int, int>> edges;
  for (const auto& joint : joints) {
    const int node = static_cast<int>(sizes.size());
    sizes.push_back(1 + static_cast<int>(random() % 6));
    s.sign.push_back(-1);
    for (const int body : joint) edges.emplace_back(node, body);
  }
  s.factor.analyse(sizes, edges);
  s.factor.clear();
  s.dense = Matrix::Zero(s.factor.rows(), s.factor.rows());
  const auto noise = [&](int rows, int columns) {
    return Matrix::NullaryExpr(rows, columns, [&] { return normal(random); }).eval();
  };
  for (int k = 0; k < s.factor.nodes(); ++k) {
    const int n = sizes[k];
    const Matrix A = noise(n, n);
    const Matrix D = s.sign[k] > 0 ? Matrix(A * A.transpose() + Matrix::Identity(n, n))
                                   : Matrix(-delta * Matrix::Identity(n, n));
    Eigen::Map<Matrix>(s.factor.diagonal(k), n, n) = D;
    s.dense.block(s.factor.row(k), s.factor.row(k), n, n) = D;
  }
  for (int e = 0; e < static_cast<int>(edges.size()); ++e) {
    const auto [row, column] = s.factor.edge_order(e);
    const Matrix B = noise(sizes[row], sizes[column]);
    Eigen::Map<Matrix>(s.factor.edge(e), sizes[row], sizes[column]) = B;
    s.dense.block(s.factor.row(row), s.factor.row(column), sizes[row], sizes[column]) = B;
    s.dense.block(s.factor.row(column), s.factor.row(row), sizes[column], sizes[row]) =
        B.transpose();
  }
}

TEST(BlockLdlt, SolvesWhatADenseFactorSolves) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 60; ++trial) {
    const int bodies = 1 + trial % 9;
    std::vector<std::vector<int>> joints;
    for (int k = 0; k < trial % 7; ++k) {
      const int a = static_cast<int>(random() % bodies);
      joints.push_back({a});
      if (bodies > 1)
        joints.back().push_back((a + 1 + static_cast<int>(random() % (bodies - 1))) % bodies);
    }
    Saddle s;
    build(s, bodies, joints, random, 1e-3);
    ASSERT_TRUE(s.factor.factorize(s.sign));
    const Vector x = Vector::Random(s.factor.rows());
    Vector y = s.dense * x;
    s.factor.solve(y.data());
    EXPECT_LT((y - x).norm(), 1e-9 * x.norm()) << "trial " << trial;
  }
}

TEST(BlockLdlt, FillOfAChainGrowsLinearly) {
  std::mt19937 random(4);
  long last = 0;
  for (const int links : {50, 100, 200}) {
    std::vector<std::vector<int>> joints{{0}};
    for (int k = 1; k < links; ++k) joints.push_back({k - 1, k});
    std::vector<int> sizes(links, 6);
    std::vector<std::pair<int, int>> edges;
    for (const auto& joint : joints) {
      sizes.push_back(5);
      for (const int body : joint) edges.emplace_back(static_cast<int>(sizes.size()) - 1, body);
    }
    BlockLdlt factor;
    factor.analyse(sizes, edges);
    if (last > 0) {
      EXPECT_LT(factor.factor_size(), 2.1 * static_cast<double>(last));
    }
    last = factor.factor_size();
  }
}

TEST(BlockLdlt, HubWithManyArmsFillsLinearly) {
  // Eliminating the hub first would join all arms: least degree leaves it to the end.
  std::vector<int> sizes{6};
  std::vector<std::pair<int, int>> edges;
  for (int k = 0; k < 100; ++k) {
    const int body = static_cast<int>(sizes.size());
    sizes.push_back(6);
    sizes.push_back(5);
    edges.emplace_back(body + 1, 0);
    edges.emplace_back(body + 1, body);
  }
  BlockLdlt factor;
  factor.analyse(sizes, edges);
  EXPECT_LT(factor.factor_size(), 36 + 100 * (36 + 25 + 30 + 30 + 36));
}

TEST(BlockLdlt, WrongSignOfAPivotIsReported) {
  BlockLdlt factor;
  const std::vector<int> sizes{6};
  factor.analyse(sizes, {});
  Eigen::Map<Matrix>(factor.diagonal(0), 6, 6) = -Matrix::Identity(6, 6);
  const std::vector<int> sign{1};
  int failed = -1;
  EXPECT_FALSE(factor.factorize(sign, &failed));
  EXPECT_EQ(failed, 0);
}

TEST(BlockLdlt, EmptySystemIsNoTrouble) {
  BlockLdlt factor;
  factor.analyse({}, {});
  EXPECT_TRUE(factor.factorize({}));
  factor.solve(nullptr);
  EXPECT_EQ(factor.rows(), 0);
}

}  // namespace
}  // namespace urto
