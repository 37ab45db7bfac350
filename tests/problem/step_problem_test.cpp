// What validate() catches, and the conversions between the forms of a problem.
#include "urto/problem/step_problem.h"

#include <functional>
#include <limits>

#include <gtest/gtest.h>

#include "problem_samples.h"
#include "urto/error.h"
#include "urto/problem/complementarity.h"

namespace urto {
namespace {

using namespace samples;

const SetProduct sets = product({ConvexSet::free(2), ConvexSet::cone(0.5), ConvexSet::box(-1, 1),
                                 ConvexSet::rolling_cone(0.3, 0.1), ConvexSet::nonnegative()});

template <typename T>
std::string message_of(const T& problem) {
  try {
    validate(problem, "the problem");
    return "";
  } catch (const InputError& error) {
    return error.what();
  }
}

/// `edit` turns a valid problem into one that validate() refuses with a message that has all of
/// `words`.
void expect_defect(StepProblem problem, const std::function<void(StepProblem&)>& edit,
                   const std::vector<std::string>& words) {
  ASSERT_EQ(message_of(problem), "");
  edit(problem);
  const std::string message = message_of(problem);
  EXPECT_TRUE(message.starts_with("the problem: ")) << message;
  for (const std::string& word : words) {
    EXPECT_NE(message.find(word), std::string::npos) << "\"" << word << "\" in: " << message;
  }
}

StepProblem valid(bool blocks = true) {
  Random random(1);
  StepProblem p = global(random, sets, 4, blocks);
  p.E = band(random, sets.rows());
  return p;
}

TEST(ValidateStepProblem, AcceptsValidProblems) {
  Random random(2);
  EXPECT_EQ(message_of(valid(true)), "");
  EXPECT_EQ(message_of(valid(false)), "");
  EXPECT_EQ(message_of(local(random, sets)), "");
  EXPECT_EQ(message_of(global(random, SetProduct{}, 2)), "");  // no contact at all
}

TEST(ValidateStepProblem, NothingToSolve) {
  const StepProblem nothing;
  EXPECT_EQ(message_of(nothing),
            "the problem: problem: found no unknowns at all, expected dofs or contact rows");
}

TEST(ValidateStepProblem, Sizes) {
  expect_defect(valid(), [](auto& p) { p.b.conservativeResize(3); },
                {"size of b", "found 3", "12"});
  expect_defect(valid(), [](auto& p) { p.a.conservativeResize(23); },
                {"columns of J", "found 24", "expected 23"});
  expect_defect(valid(), [](auto& p) { p.J.columns = 25; }, {"columns of J", "found 25", "24"});
  expect_defect(valid(), [](auto& p) { p.J.add_block(1); }, {"row blocks of J", "found 6", "5"});
  expect_defect(valid(), [](auto& p) { p.J.row_start[1] += 1; },
                {"J, row block 0, height", "found 3", "2 as its set"});
  expect_defect(valid(), [](auto& p) { p.J.row_start.back() += 1; }, {"rows of J", "found 13"});
  expect_defect(valid(), [](auto& p) { p.E.resize(11, 12); }, {"rows of E", "found 11", "12"});
  expect_defect(valid(), [](auto& p) { p.E.resize(12, 11); }, {"columns of E", "found 11", "12"});
  expect_defect(valid(), [](auto& p) { std::get<BlockMatrix>(p.H).push_back(Matrix::Ones(1, 1)); },
                {"rows of H", "found 25", "24"});
  expect_defect(valid(false), [](auto& p) { p.H = SparseMatrix(23, 24); }, {"rows of H", "23"});
  expect_defect(valid(false), [](auto& p) { p.H = SparseMatrix(24, 23); }, {"columns of H", "23"});
}

TEST(ValidateStepProblem, Sets) {
  const auto with = [](int i, const ConvexSet& set) {
    return [=](StepProblem& p) { p.K.sets[i] = set; };
  };
  expect_defect(valid(), with(0, ConvexSet::free(7)), {"set 0, dimension", "found 7", "1 to 6"});
  expect_defect(valid(), with(0, ConvexSet::free(0)), {"set 0, dimension", "found 0", "1 to 6"});
  expect_defect(valid(), with(1, ConvexSet::cone(0.5, 1)),
                {"set 1, dimension", "found 1", "at least 2 for a friction cone"});
  ConvexSet rolling = ConvexSet::rolling_cone(0.3, 0.1);
  rolling.dim = 3;
  expect_defect(valid(), with(3, rolling),
                {"set 3, dimension", "found 3", "4, 5 or 6 for a rolling cone"});
  expect_defect(valid(), with(1, ConvexSet::cone(-0.5)),
                {"set 1, friction coefficient", "found -0.5", "not negative"});
  expect_defect(valid(), with(1, ConvexSet::cone(NAN)), {"set 1, friction coefficient", "nan"});
  expect_defect(valid(), with(1, ConvexSet::cone(infinity)),
                {"set 1, friction coefficient", "inf"});
  expect_defect(valid(), with(3, ConvexSet::rolling_cone(0.3, -1)),
                {"set 3, rolling friction", "found -1", "not negative"});
  ConvexSet spinning = ConvexSet::rolling_cone(0.3, 0.1);
  spinning.mu_spinning = -1;
  expect_defect(valid(), with(3, spinning),
                {"set 3, spinning friction", "found -1", "not negative"});
  expect_defect(valid(), with(2, ConvexSet::box(1, -1)),
                {"set 2, bounds", "found [1, -1]", "lower ≤ upper"});
  expect_defect(valid(), with(2, ConvexSet::box(NAN, 1)), {"set 2, bounds", "nan"});
}

TEST(ValidateStepProblem, Numbers) {
  expect_defect(valid(), [](auto& p) { p.a[3] = NAN; }, {"a, value 3", "found nan", "finite"});
  expect_defect(valid(), [](auto& p) { p.b[4] = infinity; }, {"b, value 4", "found inf"});
  expect_defect(valid(), [](auto& p) { p.J.values[5] = NAN; }, {"J, value 5", "found nan"});
  expect_defect(valid(), [](auto& p) { p.E.valuePtr()[6] = -infinity; },
                {"E, row 2, column 2", "-inf"});
  expect_defect(valid(), [](auto& p) { std::get<BlockMatrix>(p.H).values[7] = NAN; },
                {"H, value 7", "found nan"});
  expect_defect(valid(false), [](auto& p) { std::get<SparseMatrix>(p.H).valuePtr()[8] = NAN; },
                {"H, row 2, column 3", "found nan"});
}

TEST(ValidateStepProblem, Symmetry) {
  expect_defect(valid(), [](auto& p) { std::get<BlockMatrix>(p.H).values[1] += 10; },
                {"H", "an asymmetry of", "a symmetric matrix"});
  expect_defect(valid(false), [](auto& p) { std::get<SparseMatrix>(p.H).coeffRef(0, 1) += 10; },
                {"H", "an asymmetry of", "a symmetric matrix"});
  expect_defect(valid(), [](auto& p) { p.E.coeffRef(1, 0) += 10; },
                {"E (the Delassus matrix W", "an asymmetry of", "at most 0.02"});
  StepProblem slightly = valid();
  slightly.E.coeffRef(1, 0) += 1e-3;
  EXPECT_EQ(message_of(slightly), "");
  EXPECT_THROW(validate(slightly, "strict", 1e-6), InputError);
}

TEST(Asymmetry, IsRelativeToTheLargestEntry) {
  EXPECT_EQ(asymmetry(SparseMatrix(3, 3)), 0);
  EXPECT_EQ(asymmetry(SparseMatrix(0, 0)), 0);
  const Matrix A = (Matrix(2, 2) << 4, 1, 2, 0).finished();
  EXPECT_DOUBLE_EQ(asymmetry(A.sparseView()), 0.25);
  EXPECT_EQ(asymmetry((A + A.transpose()).eval().sparseView()), 0);
}

TEST(LocalProblem, HoldsWAndQ) {
  Random random(3);
  const SparseMatrix W = random.spd(sets.rows()).sparseView();
  const Vector q = random.vector(sets.rows());
  const StepProblem p = local_problem(W, q, sets);
  EXPECT_EQ(p.dofs(), 0);
  EXPECT_EQ(p.rows(), 12);
  EXPECT_EQ(p.contacts(), 3);  // two cones and the unilateral row
  EXPECT_TRUE(same(p.E, W));
  EXPECT_EQ(p.b, q);
  EXPECT_EQ(p.J.rows(), 12);
  EXPECT_EQ(p.J.columns, 0);
  Vector y;
  multiply_mass(p, Vector(), y);
  EXPECT_EQ(y.size(), 0);
}

TEST(GlobalProblem, FindsTheBlocksOfTheMass) {
  Random random(4);
  for (const bool blocks : {true, false}) {
    const StepProblem p = global(random, sets, 4, blocks);
    EXPECT_EQ(std::holds_alternative<BlockMatrix>(p.H), blocks);
    if (blocks) {
      EXPECT_EQ(std::get<BlockMatrix>(p.H).start, (std::vector<int>{0, 6, 12, 18, 24}));
      EXPECT_EQ(p.J.entries[0].width, 6);
    }
    EXPECT_EQ(p.E.nonZeros(), 0);
    const SparseMatrix M =
        blocks ? to_sparse(std::get<BlockMatrix>(p.H)) : std::get<SparseMatrix>(p.H);
    const Vector x = random.vector(24);
    Vector y;
    multiply_mass(p, x, y);
    EXPECT_LT((y - M * x).norm(), 1e-13 * y.norm());
  }
}

TEST(GlobalProblem, KeepsTheJacobian) {
  Random random(5);
  const Matrix dense = random.matrix(12, 20);
  Matrix J = dense.unaryExpr([](double x) { return std::abs(x) < 0.5 ? 0 : x; });
  for (const SparseMatrix& M : {SparseMatrix(random.spd(20).sparseView()), band(random, 20),
                                SparseMatrix(Matrix::Identity(20, 20).sparseView())}) {
    const StepProblem p =
        global_problem(M, J.sparseView(), random.vector(20), random.vector(12), sets);
    EXPECT_EQ(message_of(p), "");
    EXPECT_EQ(Matrix(to_sparse(p.J)), J);
  }
}

TEST(ComplementarityProblem, Validate) {
  Random random(6);
  const ComplementarityProblem good = complementarity(random, 4, 0, infinity);
  EXPECT_EQ(message_of(good), "");
  const auto expect = [&](const std::function<void(ComplementarityProblem&)>& edit,
                          const std::string& message) {
    ComplementarityProblem p = good;
    edit(p);
    EXPECT_EQ(message_of(p), "the problem: " + message);
  };
  expect([](auto& p) { p = {}; }, "size: found 0, expected at least one unknown");
  expect([](auto& p) { p.M.resize(4, 3); }, "size of M: found 4 × 3, expected 4 × 4");
  expect([](auto& p) { p.lo.conservativeResize(3); },
         "size of the bounds: found 3 and 4, expected 4");
  expect([](auto& p) { p.M.valuePtr()[2] = NAN; },
         "M, value 2: found nan, expected a finite number");
  expect([](auto& p) { p.q[1] = infinity; }, "q, value 1: found inf, expected a finite number");
  expect([](auto& p) { p.hi[1] = -1; }, "bounds of row 1: found [0, -1], expected lower ≤ upper");
  expect([](auto& p) { p.lo[1] = NAN; },
         "bounds of row 1: found [nan, inf], expected lower ≤ upper");
}

TEST(ComplementarityProblem, ResidualVanishesAtASolution) {
  // One row each: free, at its lower bound, inside, at its upper bound.
  ComplementarityProblem p;
  p.M = Matrix::Identity(4, 4).sparseView();
  p.q = Vector({{3, 2, -0.5, -7}});
  p.lo = Vector({{-infinity, 0, 0, -1}});
  p.hi = Vector({{infinity, infinity, 1, 1}});
  const Vector z({{-3, 0, 0.5, 1}});
  EXPECT_EQ(natural_map_residual(p, z), 0);
  const Vector off = z + Vector({{0, 0.25, 0, 0}});
  EXPECT_DOUBLE_EQ(natural_map_residual(p, off), 0.25 / p.q.norm());
  p.q.setZero();
  EXPECT_DOUBLE_EQ(natural_map_residual(p, Vector({{2, 0, 0, 0}})), 2);  // absolute when q = 0
}

// The mass of spheres is diagonal: rows tell what a body is.
TEST(StepProblem, DofsThatRowsMoveTogetherAreABody) {
  const SparseMatrix M =
      SparseMatrix(Matrix(Vector::LinSpaced(18, 1, 2).asDiagonal()).sparseView());
  Matrix J = Matrix::Zero(6, 18);
  J.row(0).segment(0, 3) << 0, 0, 1;
  J.row(1).segment(0, 6) << 1, 0, 0, 0, 0.5, 0;
  J.row(2).segment(0, 6) << 0, 1, 0, -0.5, 0, 0;
  J.middleRows(3, 3).leftCols(6) = J.topRows(3).leftCols(6);
  J.middleRows(3, 3).rightCols(6) = -J.topRows(3).leftCols(6);
  const SetProduct K = product({ConvexSet::cone(0.5), ConvexSet::cone(0.5)});
  const Vector f = Vector::Constant(18, -1), w = Vector::Zero(6);
  const StepProblem bodies = global_problem(M, J.sparseView(), f, w, K);
  EXPECT_EQ(std::get<BlockMatrix>(bodies.H).start, (std::vector<int>{0, 6, 12, 18}));
  EXPECT_EQ(bodies.J.entries.size(), 3u);
  EXPECT_TRUE(Matrix(sparse_mass(bodies)).isApprox(Matrix(M), 0));
  EXPECT_TRUE(Matrix(to_sparse(bodies.J)).isApprox(J, 0));
  // A row that acts on three of them: not bodies.
  J(3, 6) = 1;
  const StepProblem mesh = global_problem(M, J.sparseView(), f, w, K);
  EXPECT_EQ(std::get<BlockMatrix>(mesh.H).blocks(), 18);
  EXPECT_TRUE(Matrix(to_sparse(mesh.J)).isApprox(J, 0));
}

}  // namespace
}  // namespace urto
