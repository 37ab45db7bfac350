// The paths of the interior point's linear algebra agree, are taken in their order, and are
// counted.
#include "urto/solver/interior_point_system.h"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "solver/duplicated_rows.h"
#include "solver/random_problem.h"
#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

constexpr LinearPath all_paths[] = {LinearPath::dense, LinearPath::condensed, LinearPath::augmented,
                                    LinearPath::pivoting};

class Random {
 public:
  explicit Random(unsigned seed) : generator_(seed) {}
  double number() { return distribution_(generator_); }
  Vector vector(int size) {
    return Vector::NullaryExpr(size, [&] { return number(); });
  }

 private:
  std::mt19937_64 generator_;
  std::uniform_real_distribution<double> distribution_{-1, 1};
};

/// T = G Gᵀ of every block that is no joint, with G a random matrix times 10^±decades; not
/// symmetric: T = G R with another R.
CurvatureBlocks random_curvature(const Delassus& W, double decades, bool symmetric,
                                 Random& random) {
  const SetProduct& K = W.K();
  CurvatureBlocks blocks(K);
  for (int i = 0; i < K.blocks(); ++i) {
    const int d = K.sets[i].dim;
    if (K.sets[i].kind == SetKind::free) continue;
    const double size = std::sqrt(W.mean_diagonal(i)) * std::pow(10, decades * random.number());
    Matrix left = Matrix::Identity(d, d);
    for (int k = 0; k < d * d; ++k) left.data()[k] += 0.2 * random.number();
    left *= size;
    Matrix right = left.transpose();
    if (!symmetric) {
      for (int k = 0; k < d * d; ++k) right.data()[k] += 0.1 * size * random.number();
    }
    const Matrix T = left * right;
    const Matrix inverse = T.inverse();
    const int at = blocks.start[i];
    std::copy(T.data(), T.data() + d * d, blocks.T.begin() + at);
    std::copy(inverse.data(), inverse.data() + d * d, blocks.inverse.begin() + at);
    std::copy(left.data(), left.data() + d * d, blocks.left.begin() + at);
    std::copy(right.data(), right.data() + d * d, blocks.right.begin() + at);
  }
  return blocks;
}

/// dx is unique; dλ is where no joint is redundant.
void expect_one_direction(const StepProblem& p, bool symmetric, bool unique_multipliers,
                          unsigned seed) {
  Delassus W(p);
  Random random(seed);
  const CurvatureBlocks blocks = random_curvature(W, 2, symmetric, random);
  const Vector r1 = random.vector(p.dofs());
  // In the range of the rows, so that redundant joints do not contradict each other.
  Vector r2;
  multiply(p.J, random.vector(p.dofs()), r2);
  Vector first_x, first_l;
  for (const LinearPath path : all_paths) {
    if (path == LinearPath::pivoting && !PivotingFactor::is_available()) continue;
    InteriorPointSystem system(W, path);
    ASSERT_EQ(system.path(), path);
    ASSERT_TRUE(system.factorize(blocks, symmetric)) << to_string(path) << " " << seed;
    Vector dx, dl;
    EXPECT_LT(system.solve(r1, r2, dx, dl), 1e-11) << to_string(path) << " " << seed;
    EXPECT_EQ(system.path(), path);
    EXPECT_EQ(system.counters().factorizations[static_cast<int>(path)], 1);
    EXPECT_EQ(system.counters().solves, 1);
    EXPECT_EQ(system.counters().missed, 0);
    if (first_x.size() == 0) {
      first_x = dx;
      first_l = dl;
    }
    EXPECT_LT((dx - first_x).norm(), 1e-8 * (1 + first_x.norm())) << to_string(path) << " " << seed;
    if (unique_multipliers) {
      EXPECT_LT((dl - first_l).norm(), 1e-7 * (1 + first_l.norm()))
          << to_string(path) << " " << seed;
    }
  }
}

/// The same with rows that give way by about a third of what they move.
StepProblem softened(StepProblem p) {
  const StepProblem rigid = p;
  const Delassus W(rigid);
  for (int i = 0; i < p.blocks(); ++i) {
    for (int r = p.K.start[i]; r < p.K.start[i + 1]; ++r)
      p.E.insert(r, r) = 0.3 * W.mean_diagonal(i);
  }
  p.E.makeCompressed();
  return p;
}

TEST(InteriorPointSystem, FourPathsAgreeWhereRowsAreSoft) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    for (const bool symmetric : {true, false}) {
      expect_one_direction(softened(sphere_packing({.contacts = 30, .seed = seed + 1})), symmetric,
                           true, seed);
      expect_one_direction(softened(joint_contact_mix({.bodies = 3})), symmetric, true, seed);
    }
  }
}

TEST(InteriorPointSystem, FourPathsGiveTheSameDirection) {
  for (unsigned seed = 0; seed < 20; ++seed) {
    for (const bool symmetric : {true, false}) {
      expect_one_direction(sphere_packing({.contacts = 60, .seed = seed + 1}), symmetric, true,
                           seed);
      expect_one_direction(joint_contact_mix({.bodies = 4}), symmetric, true, seed);
      expect_one_direction(stiff_lattice({.nx = 3, .ny = 3, .nz = 2}), symmetric, true, seed);
    }
  }
}

TEST(InteriorPointSystem, FourPathsAgreeWhereRowsAreRedundant) {
  for (unsigned seed = 0; seed < 10; ++seed) {
    for (const bool symmetric : {true, false}) {
      expect_one_direction(box_stack({.levels = 3}), symmetric, true, seed);
      expect_one_direction(with_every_row_twice(joint_contact_mix({.bodies = 3})), symmetric, false,
                           seed);
    }
  }
}

TEST(InteriorPointSystem, LocalProblemsHaveADenseASparseAndASafePath) {
  for (const double deficiency : {0.0, 0.4}) {
    const StepProblem p = random_local({.contacts = 12, .rank_deficiency = deficiency});
    Delassus W(p);
    Random random(3);
    const CurvatureBlocks blocks = random_curvature(W, 2, true, random);
    const Vector r2 = random.vector(p.rows());
    Vector first;
    for (const LinearPath path : {LinearPath::dense, LinearPath::local, LinearPath::pivoting}) {
      if (path == LinearPath::pivoting && !PivotingFactor::is_available()) continue;
      InteriorPointSystem system(W, path);
      ASSERT_EQ(system.path(), path);
      ASSERT_TRUE(system.factorize(blocks, true));
      Vector dx, dl;
      EXPECT_LT(system.solve(Vector(), r2, dx, dl), 1e-11) << to_string(path);
      if (first.size() == 0) first = dl;
      EXPECT_LT((dl - first).norm(), 1e-8 * first.norm()) << to_string(path);
    }
  }
}

TEST(InteriorPointSystem, SizeAndStructureChooseThePath) {
  const auto path_of = [](const StepProblem& p) {
    Delassus W(p);
    return InteriorPointSystem(W).path();
  };
  EXPECT_EQ(path_of(box_stack({.levels = 3})), LinearPath::dense);
  EXPECT_EQ(path_of(box_stack({.levels = 30})), LinearPath::condensed);
  EXPECT_EQ(path_of(random_local({.contacts = 5})), LinearPath::dense);
  EXPECT_EQ(path_of(random_local({.contacts = 50})), LinearPath::local);
  // Compliance between two contacts cannot be condensed.
  StepProblem coupled = box_stack({.levels = 3});
  coupled.E.resize(coupled.rows(), coupled.rows());
  coupled.E.insert(0, 0) = 1e-3;
  coupled.E.insert(3, 3) = 1e-3;
  coupled.E.insert(0, 3) = 5e-4;
  coupled.E.insert(3, 0) = 5e-4;
  EXPECT_EQ(path_of(coupled), LinearPath::augmented);
}

// Every joint of a chain twice, [H Jᵀ; J 0] without a shift: half of the rows are null pivots, the
// others as many negative ones.
TEST(InteriorPointSystem, PivotingFindsTheNullPivotsOfDoubledJoints) {
  if (!PivotingFactor::is_available()) GTEST_SKIP() << "built without MUMPS";
  const StepProblem p = with_every_row_twice(chain({.links = 3}));
  const SparseMatrix H = to_sparse(std::get<BlockMatrix>(p.H));
  const SparseMatrix J = to_sparse(p.J);
  const int n = p.dofs();
  std::vector<Eigen::Triplet<double>> lower;
  for (int c = 0; c < n; ++c) {
    for (SparseMatrix::InnerIterator it(H, c); it; ++it) {
      if (it.row() >= c) lower.emplace_back(it.row(), c, it.value());
    }
    for (SparseMatrix::InnerIterator it(J, c); it; ++it)
      lower.emplace_back(n + it.row(), c, it.value());
  }
  SparseMatrix A(n + p.rows(), n + p.rows());
  A.setFromTriplets(lower.begin(), lower.end());
  PivotingFactor factor(PivotingFactor::Symmetry::symmetric);
  ASSERT_TRUE(factor.analyze(A));
  ASSERT_TRUE(factor.factorize(A, PivotingFactor::NullPivots::taken, 0.1));
  EXPECT_EQ(factor.null_pivots(), p.rows() / 2);
  EXPECT_EQ(factor.negative_pivots(), p.rows() / 2);
  Random random(5);
  const Vector wanted = random.vector(n + p.rows());
  const Vector rhs = A.selfadjointView<Eigen::Lower>() * wanted;
  Vector x;
  ASSERT_TRUE(factor.solve(rhs, x));
  EXPECT_LT((A.selfadjointView<Eigen::Lower>() * x - rhs).norm(), 1e-12 * rhs.norm());
  EXPECT_LT((x.head(n) - wanted.head(n)).norm(), 1e-11) << "motion is unique, forces are not";
  EXPECT_LT(factor.backward_error(), 1e-13);
}

// Bodies of hardly any mass, so that nearly all pivots are delayed until their rows come: far more
// memory than the analysis expects. Recipe 001 §2.7.13, checklist 69: asked for up to five times.
TEST(InteriorPointSystem, PivotingAsksForMoreMemoryUntilItIsEnough) {
  if (!PivotingFactor::is_available()) GTEST_SKIP() << "built without MUMPS";
  const StepProblem p = sphere_packing({.contacts = 100});
  const SparseMatrix H = to_sparse(std::get<BlockMatrix>(p.H));
  const SparseMatrix J = to_sparse(p.J);
  const int n = p.dofs();
  std::vector<Eigen::Triplet<double>> lower;
  for (int c = 0; c < n; ++c) {
    for (SparseMatrix::InnerIterator it(H, c); it; ++it) {
      if (it.row() >= c) lower.emplace_back(it.row(), c, 1e-12 * it.value());
    }
    for (SparseMatrix::InnerIterator it(J, c); it; ++it)
      lower.emplace_back(n + it.row(), c, it.value());
  }
  SparseMatrix A(n + p.rows(), n + p.rows());
  A.setFromTriplets(lower.begin(), lower.end());
  Random random(5);
  const Vector rhs = A.selfadjointView<Eigen::Lower>() * random.vector(n + p.rows());
  int before = 0;
  for (const int workspace : {400, 50, -50}) {
    PivotingFactor factor(PivotingFactor::Symmetry::symmetric, workspace);
    ASSERT_TRUE(factor.analyze(A));
    ASSERT_TRUE(factor.factorize(A, PivotingFactor::NullPivots::taken, 0.1)) << workspace;
    EXPECT_EQ(factor.workspace_retries() > 0, workspace < 400);
    EXPECT_GE(factor.workspace_retries(), before);
    before = factor.workspace_retries();
    Vector x;
    ASSERT_TRUE(factor.solve(rhs, x));
    // As well as null pivots and masses of 1e-12 allow.
    EXPECT_LT((A.selfadjointView<Eigen::Lower>() * x - rhs).norm(), 1e-4 * rhs.norm());
  }
  EXPECT_GE(before, 3);
  PivotingFactor starved(PivotingFactor::Symmetry::symmetric, -90);
  ASSERT_TRUE(starved.analyze(A));
  EXPECT_FALSE(starved.factorize(A, PivotingFactor::NullPivots::taken, 0.1)) << "five tries";
  EXPECT_EQ(starved.workspace_retries(), 5);
}

// Three nearly parallel joints between bodies of 1 and 10¹⁴ kg: condensing squares what little is
// left, and the shift of joints is larger than it. One such pair is pivoted in full, forty by
// MUMPS.
TEST(InteriorPointSystem, SafePathIsTakenWhereTheOthersMissTheirResidual) {
  for (const int pairs : {1, 40}) {
    if (pairs > 1 && !PivotingFactor::is_available()) continue;
    Random random(11);
    StepProblem p;
    BlockMatrix H;
    p.J.columns = 6 * pairs;
    for (int k = 0; k < pairs; ++k) {
      H.push_back(Matrix::Identity(3, 3));
      H.push_back(1e14 * Matrix::Identity(3, 3));
      const Vector direction = random.vector(3);
      for (int r = 0; r < 3; ++r) {
        const Matrix row = (direction + 1e-6 * random.vector(3)).transpose();
        p.J.add_block(1);
        p.J.add_entry(6 * k, row);
        p.J.add_entry(6 * k + 3, -row);
        p.K.push_back(ConvexSet::free(1));
      }
    }
    p.H = H;
    p.a = Vector::Zero(6 * pairs);
    p.b = Vector::Zero(3 * pairs);
    p.E.resize(3 * pairs, 3 * pairs);
    Delassus W(p);
    InteriorPointSystem system(W);
    const LinearPath first = system.path();
    const CurvatureBlocks blocks(p.K);
    ASSERT_TRUE(system.factorize(blocks, true));
    Vector dx, dl;
    const Vector r1 = random.vector(6 * pairs);
    const Vector r2 = random.vector(3 * pairs);
    double error = system.solve(r1, r2, dx, dl);
    while (error > InteriorPointSystem::residual_limit && system.strengthen())
      error = system.solve(r1, r2, dx, dl);
    EXPECT_LE(error, InteriorPointSystem::residual_limit);
    EXPECT_EQ(system.path(), LinearPath::pivoting);
    const LinearCounters& counted = system.counters();
    EXPECT_GT(counted.factorizations[static_cast<int>(first)], 0);
    EXPECT_GT(counted.factorizations[static_cast<int>(LinearPath::augmented)], 0);
    EXPECT_EQ(counted.factorizations[static_cast<int>(LinearPath::pivoting)], 1);
    EXPECT_GT(counted.missed, 0);
    EXPECT_EQ(counted.backward_error > 0, pairs > 1) << "only MUMPS analyses its errors";
  }
}

TEST(InteriorPointSystem, EveryPathSolvesTheWholeProblem) {
  const StepProblem p = sphere_packing({.contacts = 80, .mu = 0.3});
  for (const Friction law : {Friction::convex, Friction::exact}) {
    Vector u;
    for (const LinearPath path : all_paths) {
      if (path == LinearPath::pivoting && !PivotingFactor::is_available()) continue;
      SolveOptions options{.solver = "ipm", .tolerance = 1e-9, .friction = law};
      options.interior_point.linear_path = path;
      const Solution s = solve(p, options);
      ASSERT_EQ(s.status, Status::converged) << to_string(path) << " " << s.message;
      EXPECT_EQ(s.linear.factorizations[static_cast<int>(path)], s.linear.all_factorizations());
      EXPECT_GT(s.linear.factorization_seconds, 0);
      if (u.size() == 0) u = s.u;
      EXPECT_LT((s.u - u).norm(), 1e-7 * (1 + u.norm())) << to_string(path);
    }
  }
}

}  // namespace
}  // namespace urto
