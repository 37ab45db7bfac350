// The problem of one step by blocks over the graph of interactions, and relative degrees (recipe
// 003 §§1.1, 4.1, 5.1 to 5.3).
#include "urto/firstorder/interaction_graph.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "urto/error.h"
#include "urto/firstorder/first_order_stepper.h"

namespace urto {
namespace {

Matrix scalar(double x) {
  return Matrix::Constant(1, 1, x);
}

/// Recipe 003 §6.2 with the numbers of T1: three scalar systems, two interactions that share the
/// third.
InteractionGraph recipe_t1() {
  InteractionGraph g;
  g.systems = {{scalar(-1)}, {scalar(-2)}, {scalar(-3)}};
  Interaction mu{.laws = {3, complementarity_law()}};
  mu.links = {{0, Vec3(1, 2, 3), Eigen::RowVector3d(1, 1, 0)},
              {2, Vec3(1, 0, -1), Eigen::RowVector3d(0, 1, 2)}};
  mu.D = Mat3::Identity();
  Interaction theta{.laws = {complementarity_law()}};
  theta.links = {{1, scalar(2), scalar(1)}, {2, scalar(1), scalar(-1)}};
  theta.D = scalar(0.5);
  g.interactions = {mu, theta};
  return g;
}

/// Numbers in [−1, 1] that are the same everywhere.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed) {}
  double next() {
    state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state_ >> 11) * 0x1p-52 - 1;
  }
  int below(int n) { return static_cast<int>((next() + 1) / 2 * n) % n; }
  Matrix matrix(int rows, int columns) {
    Matrix A(rows, columns);
    for (Eigen::Index k = 0; k < A.size(); ++k) A(k) = next();
    return A;
  }

 private:
  std::uint64_t state_;
};

InteractionGraph random_graph(std::uint64_t seed) {
  Numbers random(seed);
  InteractionGraph g;
  for (int i = 0; i < 6; ++i) {
    const int n = 1 + random.below(4);
    SubSystem s{random.matrix(n, n)};
    if (i % 2 == 0) s.M = random.matrix(n, n) + 3 * Matrix::Identity(n, n);
    if (i % 3 == 0) s.b = random.matrix(n, 1);
    s.theta = 0.5 + 0.1 * i;
    g.systems.push_back(s);
  }
  for (int a = 0; a < 7; ++a) {
    const int m = 1 + random.below(3);
    Interaction inter{.laws = {static_cast<std::size_t>(m), complementarity_law()}};
    // Some share two systems with each other.
    for (int i = 0; i < 6; ++i) {
      if (random.next() > -0.2) continue;
      const auto n = static_cast<int>(g.systems[static_cast<std::size_t>(i)].A.rows());
      inter.links.push_back({i, random.matrix(m, n), random.matrix(n, m)});
    }
    if (a % 2 == 0) inter.D = random.matrix(m, m);
    if (a % 3 == 0) inter.e = random.matrix(m, 1);
    g.interactions.push_back(inter);
  }
  return g;
}

TEST(InteractionGraph, AssemblesRecipeT1Exactly) {
  const OneStepProblem p = assemble_by_blocks(recipe_t1(), 0.1, Vec3(1, -1, 2));
  Matrix M(4, 4);
  M << 12. / 11, 24. / 143, 2. / 13, -1. / 13,  //
      2. / 11, 13. / 11, 0, 0,                  //
      3. / 11, 28. / 143, 11. / 13, 1. / 13,    //
      0, 1. / 13, 2. / 13, 23. / 39;
  const Vec4 q(350. / 143, 20. / 11, 170. / 143, -5. / 39);
  EXPECT_LT((p.M - M).cwiseAbs().maxCoeff(), 1e-15);
  EXPECT_LT((p.q - q).cwiseAbs().maxCoeff(), 1e-15);
}

TEST(InteractionGraph, LinksInteractionsThatShareASystem) {
  const auto linked = linked_interactions(recipe_t1());
  EXPECT_EQ(linked, (std::vector<std::vector<int>>{{1}, {0}}));
  InteractionGraph apart = recipe_t1();
  apart.interactions[1].links.pop_back();
  EXPECT_EQ(linked_interactions(apart), (std::vector<std::vector<int>>{{}, {}}));
}

TEST(InteractionGraph, BlocksGiveTheGlobalProduct) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const InteractionGraph g = random_graph(seed);
    Numbers random(100 + seed);
    Eigen::Index n = 0;
    for (const SubSystem& s : g.systems) n += s.A.rows();
    const Vector x = random.matrix(static_cast<int>(n), 1);
    const OneStepProblem blocks = assemble_by_blocks(g, 0.05, x);
    const OneStepProblem global = assemble_globally(g, 0.05, x);
    EXPECT_LT((blocks.M - global.M).cwiseAbs().maxCoeff(), 1e-13) << "seed " << seed;
    EXPECT_LT((blocks.q - global.q).cwiseAbs().maxCoeff(), 1e-13) << "seed " << seed;
  }
}

// y = q + M λ with what the stepper finds: the stepper does not form M, so each checks the other.
TEST(InteractionGraph, StepOfTheJoinedSystemSolvesTheAssembledProblem) {
  const InteractionGraph g = recipe_t1();
  const FirstOrderSystem system = joined_system(g);
  const Vec3 x(1, -1, 2);
  FirstOrderStepper stepper(system, {});
  FirstOrderState state{
      .x = x, .lambda = Vector::Zero(4), .y = Vector::Zero(4), .r = Vector::Zero(3)};
  FirstOrderReport report;
  ASSERT_TRUE(stepper.step(0.1, state, report)) << report.failure;
  const OneStepProblem p = assemble_by_blocks(g, 0.1, x);
  EXPECT_LT((p.M * state.lambda + p.q - state.y).cwiseAbs().maxCoeff(), 1e-14);
  EXPECT_GE(state.y.minCoeff(), -1e-15);
  EXPECT_GE(state.lambda.minCoeff(), 0);
  EXPECT_LT(std::abs(state.lambda.dot(state.y)), 1e-14);
}

TEST(InteractionGraph, RefusesWhatDoesNotFit) {
  InteractionGraph g = recipe_t1();
  g.interactions[0].links[0].system = 7;
  EXPECT_THROW(validate(g), InputError);
  g = recipe_t1();
  g.interactions[0].links[1].C = scalar(1);
  EXPECT_THROW(validate(g), InputError);
  g = recipe_t1();
  g.interactions[1].links[1].system = 1;  // twice
  EXPECT_THROW(validate(g), InputError);
}

// A chain of n integrators from λ to y has degree n.
TEST(RelativeDegree, CountsTheIntegratorsBetweenInputAndOutput) {
  for (int n = 1; n <= 5; ++n) {
    Matrix A = Matrix::Zero(n, n);
    for (int i = 0; i + 1 < n; ++i) A(i, i + 1) = 1;
    Matrix B = Matrix::Zero(n, 1), C = Matrix::Zero(1, n);
    B(n - 1, 0) = 2;
    C(0, 0) = 3;
    EXPECT_EQ(relative_degree(A, B, C, scalar(0)), n);
    EXPECT_EQ(relative_degree(A, B, C, scalar(0.1)), 0);
  }
}

TEST(RelativeDegree, OfSeveralRowsIsThatOfARegularMarkovParameter) {
  const Matrix A = Matrix::Zero(2, 2), I = Matrix::Identity(2, 2);
  EXPECT_EQ(relative_degree(A, I, I, Matrix::Zero(2, 2)), 1);
  Matrix singular(2, 2);
  singular << 1, 1, 1, 1;  // neither zero nor regular: no uniform degree
  EXPECT_EQ(relative_degree(A, I, singular, Matrix::Zero(2, 2)), std::nullopt);
  EXPECT_EQ(relative_degree(A, I, I, singular), std::nullopt);
  EXPECT_EQ(relative_degree(A, Matrix::Zero(2, 2), I, Matrix::Zero(2, 2)), std::nullopt);
}

TEST(RelativeDegree, RowByRowSumsOverTheSystemsThatAnInteractionTouches) {
  // D ≠ 0: zero. Without it C B = 1·1 + 1·0, 2·1 + 0·1, 3·0 − 1·2.
  InteractionGraph g = recipe_t1();
  EXPECT_EQ(row_relative_degrees(g, 0), (std::vector<int>{0, 0, 0}));
  g.interactions[0].D.resize(0, 0);
  EXPECT_EQ(row_relative_degrees(g, 0), (std::vector<int>{1, 1, 1}));
  // Two systems that cancel at first: C B = 1 − 1, C A B = −1 + 3.
  g.interactions = {{.links = {{0, scalar(1), scalar(1)}, {2, scalar(1), scalar(-1)}},
                     .laws = {complementarity_law()}}};
  EXPECT_EQ(row_relative_degrees(g, 0), (std::vector<int>{2}));
  g.interactions[0].links[0].C = g.interactions[0].links[1].C = scalar(0);
  EXPECT_EQ(row_relative_degrees(g, 0), (std::vector<int>{-1}));
}

}  // namespace
}  // namespace urto
