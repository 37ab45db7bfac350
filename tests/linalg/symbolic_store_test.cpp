// Orderings and symbolic factors kept from solve to solve (design §6; issue of the interior point,
// linear algebra).
#include "urto/linalg/symbolic_store.h"

#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

SparseMatrix tridiagonal(int n, double diagonal) {
  std::vector<Eigen::Triplet<double>> entries;
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(i, i, diagonal);
    if (i > 0) entries.emplace_back(i, i - 1, -1.0);
  }
  SparseMatrix A(n, n);
  A.setFromTriplets(entries.begin(), entries.end());
  return A;
}

TEST(SymbolicStore, FindsAFactorByItsPattern) {
  SymbolicStore store;
  const SparseMatrix A = tridiagonal(50, 3);
  const SparseMatrix other = tridiagonal(51, 3);
  { EXPECT_TRUE(LentFactor<SpdFactor>(&store, A).is_new()); }
  EXPECT_EQ(store.factors(), 1);
  { EXPECT_TRUE(LentFactor<SpdFactor>(&store, other).is_new()); }
  { EXPECT_TRUE(LentFactor<SparseLdlt>(&store, A).is_new()) << "another kernel"; }
  EXPECT_EQ(store.factors(), 3);
  const SparseMatrix same = tridiagonal(50, 4);  // other values
  LentFactor<SpdFactor> again(&store, same);
  EXPECT_FALSE(again.is_new());
  ASSERT_TRUE(again->factorize(same));
  const Vector rhs = Vector::LinSpaced(50, -1, 2);
  Vector x;
  again->solve(rhs, x);
  EXPECT_LT((same.selfadjointView<Eigen::Lower>() * x - rhs).norm(), 1e-13);
}

TEST(SymbolicStore, LendsAFactorToOneUserAtATime) {
  SymbolicStore store;
  const SparseMatrix A = tridiagonal(20, 3);
  {
    const LentFactor<SparseLdlt> first(&store, A);
    const LentFactor<SparseLdlt> second(&store, A);
    EXPECT_TRUE(second.is_new());
    EXPECT_EQ(store.factors(), 0);
  }
  EXPECT_EQ(store.factors(), 2);
  const LentFactor<SparseLdlt> first(&store, A);
  const LentFactor<SparseLdlt> second(&store, A);
  EXPECT_FALSE(first.is_new());
  EXPECT_FALSE(second.is_new());
}

TEST(SymbolicStore, ForgetsTheOldestWhenItHasTooMuch) {
  SymbolicStore store;
  for (const int n :
       {200'000, 200'001, 200'002, 200'003}) {  // 400 000 entries each, a million at most
    const LentFactor<SparseLdlt> factor(&store, tridiagonal(n, 3));
  }
  EXPECT_EQ(store.factors(), 2);
  const LentFactor<SparseLdlt> last(&store, tridiagonal(200'003, 3));
  EXPECT_FALSE(last.is_new());
  const LentFactor<SparseLdlt> oldest(&store, tridiagonal(200'000, 3));
  EXPECT_TRUE(oldest.is_new());
}

// The next step of a scene whose contacts persist: other velocities and gaps, the same bodies
// touch.
StepProblem next_step(StepProblem p, double by) {
  p.a *= 1 + by;
  p.b *= 1 - by;
  return p;
}

TEST(SymbolicStore, StepsWithTheSameContactsAnalyseNothingAndGetTheSameBits) {
  for (const Friction law : {Friction::convex, Friction::exact}) {
    const StepProblem first = sphere_packing({.contacts = 150, .mu = 0.3});
    const SolveOptions options{.solver = "ipm", .friction = law};
    const auto kept = make_solver("ipm");
    const Solution begin = kept->solve(first, options);
    ASSERT_EQ(begin.status, Status::converged) << begin.message;
    EXPECT_GT(begin.linear.analyses, 0);
    for (const double by : {0.01, 0.02, 0.05}) {
      const StepProblem p = next_step(first, by);
      const Solution s = kept->solve(p, options);
      const Solution anew = solve(p, options);
      ASSERT_EQ(s.status, Status::converged) << s.message;
      EXPECT_GT(s.linear.reused, 0);
      EXPECT_EQ(s.linear.reused + s.linear.analyses, anew.linear.analyses);
      EXPECT_LE(s.linear.analyses,
                anew.linear.factorizations[static_cast<int>(LinearPath::pivoting)] > 0 ? 1 : 0)
          << "MUMPS reads values, nothing else is analysed";
      EXPECT_EQ(s.iterations, anew.iterations);
      EXPECT_TRUE((s.x.array() == anew.x.array()).all());
      EXPECT_TRUE((s.lambda.array() == anew.lambda.array()).all());
    }
  }
}

TEST(SymbolicStore, OtherContactsAreAnalysedAnew) {
  const auto solver = make_solver("ipm");
  const SolveOptions options{.friction = Friction::convex};
  solver->solve(sphere_packing({.contacts = 150, .mu = 0.3}), options);
  const Solution s = solver->solve(sphere_packing({.contacts = 160, .mu = 0.3}), options);
  EXPECT_EQ(s.linear.reused, 0);
  EXPECT_GT(s.linear.analyses, 0);
}

TEST(SymbolicStore, ServesTheOtherFactorisingSolversToo) {
  const StepProblem p = sphere_packing({.contacts = 150, .mu = 0.3});
  for (const char* name : {"admm", "prox"}) {
    const auto solver = make_solver(name);
    const SolveOptions options{.tolerance = 1e-6, .friction = Friction::convex};
    const Solution once = solver->solve(p, options);
    const Solution twice = solver->solve(p, options);
    EXPECT_TRUE((once.lambda.array() == twice.lambda.array()).all());
  }
}

}  // namespace
}  // namespace urto
