// The complementarity form of a step problem without friction (recipe 001 §2.6, checklist 19): N
// and r into Lemke's pivoting, which shares nothing with the interior point, and back to the
// motion.
#include "urto/solver/complementarity_form.h"

#include <Eigen/LU>
#include <gtest/gtest.h>

#include "solver/random_problem.h"
#include "urto/error.h"
#include "urto/problem/generate.h"
#include "urto/solver/complementarity_solver.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

void expect_one_motion(const StepProblem& p, const std::string& where) {
  const ComplementarityProblem lcp = complementarity_form(p);
  validate(lcp, where);
  const ComplementaritySolution pivoted = solve(lcp, {.solver = "lemke", .tolerance = 1e-9});
  ASSERT_EQ(pivoted.status, Status::converged) << where << ": " << pivoted.message;
  const Vector x = velocity_of(p, pivoted.z);
  EXPECT_LT(certify(p, x, pivoted.z, Friction::exact).residual(), 1e-8) << where;
  const Solution s = solve(p, {.solver = "ipm", .tolerance = 1e-10});
  ASSERT_EQ(s.status, Status::converged) << where;
  EXPECT_LT((x - s.x).norm(), 1e-7 * (1 + s.x.norm())) << where;
}

// Recipe 001 §2.6: 0 ≤ Nλ + r ⟂ λ ≥ 0, N = D H⁻¹Dᵀ, r = −D H⁻¹c − b_λ; with joints and motors the
// rows have other bounds.
TEST(ComplementarityForm, LemkesPivotsFindTheMotionOfTheInteriorPoint) {
  for (unsigned seed = 0; seed < 40; ++seed) {
    RandomProblem random(seed);
    std::vector<ConvexSet> sets{ConvexSet::nonnegative(3), ConvexSet::nonnegative(),
                                ConvexSet::nonnegative(2)};
    if (seed % 2 == 1) sets.push_back(ConvexSet::free(2));
    if (seed % 3 == 1) sets.push_back(ConvexSet::box(-0.2, 0.3));
    if (seed % 5 == 1) sets.push_back(ConvexSet::cone(0));
    expect_one_motion(random.make(sets, false), "seed " + std::to_string(seed));
  }
  expect_one_motion(box_stack({.levels = 3, .mu = 0, .push = 0.1}), "a stack");
  expect_one_motion(sphere_packing({.contacts = 40, .mu = 0}), "a packing");
}

TEST(ComplementarityForm, IsTheDelassusMatrixAndTheFreeVelocity) {
  RandomProblem random(3);
  StepProblem p = random.make({ConvexSet::free(2), ConvexSet::nonnegative(4)}, false);
  for (int r = 0; r < p.rows(); ++r) p.E.insert(r, r) = 0.1 * (r + 1);
  const Matrix H = sparse_mass(p), J = to_sparse(p.J), E = p.E;
  const ComplementarityProblem lcp = complementarity_form(p);
  EXPECT_LT((Matrix(lcp.M) - J * H.inverse() * J.transpose() - E).norm(), 1e-12);
  EXPECT_LT((lcp.q - J * H.inverse() * p.a - p.b).norm(), 1e-12);
  EXPECT_EQ(lcp.lo[0], -std::numeric_limits<double>::infinity());
  EXPECT_EQ(lcp.lo[2], 0);
  const Vector lambda = random.matrix(p.rows(), 1);
  EXPECT_LT((H * velocity_of(p, lambda) - p.a - J.transpose() * lambda).norm(), 1e-12);
}

TEST(ComplementarityForm, ALocalProblemThatIsNotSymmetricKeepsItsSkewPart) {
  SparseMatrix W(3, 3);
  for (int r = 0; r < 3; ++r) {
    for (int c = 0; c < 3; ++c) W.insert(r, c) = r == c ? 2 : 0.1 + 1e-3 * (r - c);
  }
  SetProduct K;
  for (int k = 0; k < 3; ++k) K.push_back(ConvexSet::nonnegative());
  const ComplementarityProblem lcp = complementarity_form(local_problem(W, Vec3(-1, 1, 0), K));
  EXPECT_LT((Matrix(lcp.M) - Matrix(W)).norm(), 1e-15);
}

TEST(ComplementarityForm, FrictionIsRefused) {
  EXPECT_THROW(complementarity_form(sliding_mass()), InputError);
}

}  // namespace
}  // namespace urto
