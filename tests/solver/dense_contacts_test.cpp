// Small problems in local form, which auto solves with a dense W: against closed forms, against the
// proximal point, and by the certificate where forces and motions are not unique.
#include "urto/solver/dense_contacts.h"

#include <cmath>

#include <gtest/gtest.h>

#include "random_problem.h"
#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

SetProduct product(const std::vector<ConvexSet>& sets) {
  SetProduct K;
  for (const ConvexSet& set : sets) K.push_back(set);
  return K;
}

StepProblem local(const Matrix& W, const Vector& q, const std::vector<ConvexSet>& sets) {
  return local_problem(SparseMatrix(W.sparseView()), q, product(sets));
}

// W and q of a problem with bodies.
StepProblem local_form(const StepProblem& p) {
  Delassus operator_of_p(p);
  Matrix W(p.rows(), p.rows());
  Vector unit = Vector::Zero(p.rows()), column(p.rows());
  for (int c = 0; c < p.rows(); ++c) {
    unit[c] = 1;
    operator_of_p.apply(unit, column);
    W.col(c) = column;
    unit[c] = 0;
  }
  return local(W, operator_of_p.q(), p.K.sets);
}

// Recipe 003 T3.
TEST(DenseContacts, OneSlidingContactHasThePublishedForce) {
  const Matrix W{{2, 0.5, -0.3}, {0.5, 1.5, 0.2}, {-0.3, 0.2, 1}};
  const StepProblem p = local(W, Vector{{-1, 0.8, -1.2}}, {ConvexSet::cone(0.4)});
  const Solution s = solve(p, {.tolerance = 1e-13});
  ASSERT_EQ(s.status, Status::converged) << s.message;
  EXPECT_EQ(s.solver, "nsgs");
  EXPECT_NEAR(s.lambda[0], 0.56056880521867, 1e-12);
  EXPECT_NEAR(s.lambda[1], -0.13473578757097, 1e-12);
  EXPECT_NEAR(s.lambda[2], 0.17923238883951, 1e-12);
}

TEST(DenseContacts, RandomProblemsWithRedundantContactsAreCertified) {
  int by_newton = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const int contacts = 1 + static_cast<int>(seed % 20);
    const StepProblem p = random_local({.contacts = contacts,
                                        .rank_deficiency = seed % 2 == 0 ? 0.4 : 0,
                                        .mu = 0.05 * static_cast<double>(seed % 18),
                                        .conditioning = seed % 3 == 0 ? 1e5 : 50,
                                        .seed = seed});
    for (const double tolerance : {1e-6, 1e-10}) {
      const Solution s = solve(p, {.tolerance = tolerance});
      EXPECT_EQ(s.status, Status::converged) << seed << " " << s.certificate.residual();
      EXPECT_LE(s.certificate.residual(), tolerance) << seed;
      by_newton += s.solver == "nsgs+newton" ? 1 : 0;
    }
  }
  EXPECT_GT(by_newton, 4);
}

// Twelve rows a cube against six dofs.
TEST(DenseContacts, StacksOfBoxesNeedNewton) {
  for (int levels = 1; levels <= 8; ++levels) {
    for (const double push : {0.0, 0.1, 0.3}) {
      const StepProblem p = local_form(box_stack({.levels = levels, .mu = 0.5, .push = push}));
      const Solution s = solve(p, {.tolerance = 1e-10});
      EXPECT_EQ(s.status, Status::converged) << levels << " " << push;
      EXPECT_LE(s.certificate.residual(), 1e-10) << levels << " " << push;
    }
  }
}

// Without friction the velocity is unique.
TEST(DenseContacts, FrictionlessVelocitiesAreThoseOfTheProximalPoint) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    const StepProblem p =
        random_local({.contacts = 12, .rank_deficiency = 0.3, .mu = 0, .seed = seed});
    const Solution ours = solve(p, {.tolerance = 1e-10});
    const Solution theirs = solve(p, {.solver = "prox", .tolerance = 1e-10});
    ASSERT_EQ(ours.status, Status::converged) << seed;
    ASSERT_EQ(theirs.status, Status::converged) << seed;
    EXPECT_LT((ours.u - theirs.u).norm(), 1e-7 * theirs.u.norm()) << seed;
  }
}

TEST(DenseContacts, SetsOfAllKindsInOneProblem) {
  const std::vector<ConvexSet> sets{ConvexSet::cone(0.6),  ConvexSet::nonnegative(2),
                                    ConvexSet::cone(0, 3), ConvexSet::box(-0.2, 0.1, 2),
                                    ConvexSet::free(3),    ConvexSet::cone(0.3, 2)};
  for (unsigned seed = 1; seed <= 30; ++seed) {
    const StepProblem p = local_form(RandomProblem(seed).make(sets, seed % 2 == 0));
    ASSERT_TRUE(DenseContacts::suits(p));
    const Solution s = solve(p, {.tolerance = 1e-9});
    EXPECT_EQ(s.status, Status::converged) << seed << " " << s.certificate.residual();
  }
}

// Semi-explicit gyroscopic terms: nothing is lagged, so the certificate of W as it is holds at
// once.
TEST(DenseContacts, MatricesThatAreNotSymmetric) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    StepProblem p = random_local({.contacts = 6, .mu = 0.5, .seed = seed});
    Matrix W(p.E);
    for (int c = 0; c < W.cols(); ++c) {
      for (int r = 0; r < c; ++r) {
        W(r, c) *= 1 + 2e-3;
        W(c, r) *= 1 - 2e-3;
      }
    }
    p.E = SparseMatrix(W.sparseView());
    const Solution s = solve(p, {.tolerance = 1e-11});
    EXPECT_EQ(s.status, Status::converged) << seed;
    EXPECT_LE(s.iterations, 200) << seed;
  }
}

TEST(DenseContacts, LimitsEndTheSolveAndSaySo) {
  const StepProblem p = local_form(box_stack({.levels = 5, .push = 0.1}));
  const Solution limited = solve(p, {.tolerance = 1e-12, .max_iterations = 3});
  EXPECT_EQ(limited.status, Status::iteration_limit);
  EXPECT_LE(limited.iterations, 3);
  const Solution stopped = solve(
      p, {.tolerance = 1e-12, .on_progress = [](int iteration, double) { return iteration < 5; }});
  EXPECT_EQ(stopped.status, Status::interrupted);
  EXPECT_LT(stopped.certificate.residual(), 1);
}

// What no body can follow is left to others.
TEST(DenseContacts, AContactThatNothingCanMove) {
  Matrix W = Matrix::Zero(6, 6);
  W.topLeftCorner(3, 3) = Matrix::Identity(3, 3);
  const StepProblem p =
      local(W, Vector{{-1, 0.2, 0, 1, 0, 0}}, {ConvexSet::cone(0.5), ConvexSet::cone(0.5)});
  const Solution s = solve(p, {.tolerance = 1e-10});
  EXPECT_EQ(s.status, Status::converged) << s.message;
}

}  // namespace
}  // namespace urto
