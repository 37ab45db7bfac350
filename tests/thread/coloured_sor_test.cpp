// Threads change the time, not the answer.
#include <cstring>

#include <gtest/gtest.h>

#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

TEST(ColouredSor, ThreadCountDoesNotChangeABit) {
  for (const StepProblem& p :
       {sphere_packing({.contacts = 200, .step = 1e-3}), stiff_lattice({.nx = 3, .ny = 3, .nz = 2}),
        box_wall({.width = 3, .height = 3})}) {
    SolveOptions options{.solver = "sor-colour", .tolerance = 1e-12, .max_iterations = 40};
    const Solution one = solve(p, options);
    for (const int threads : {2, 3}) {
      options.threads = threads;
      const Solution many = solve(p, options);
      ASSERT_EQ(one.lambda.size(), many.lambda.size());
      EXPECT_EQ(
          std::memcmp(one.lambda.data(), many.lambda.data(), sizeof(double) * one.lambda.size()), 0)
          << threads;
    }
  }
}

TEST(ColouredSor, ConvergesToTheVelocityOfTheSequentialSolver) {
  const StepProblem p = sphere_packing({.contacts = 150, .mu = 0.3, .step = 1e-3});
  const Solution reference = solve(p, {.solver = "prox", .tolerance = 1e-10});
  const Solution s =
      solve(p, {.solver = "sor-colour", .tolerance = 1e-7, .max_iterations = 200000, .threads = 2});
  ASSERT_EQ(s.status, Status::converged) << s.certificate.residual();
  EXPECT_LT((s.u - reference.u).norm(),
            1e-6 * solve(p, {.solver = "sor", .max_iterations = 0}).u.norm());
}

}  // namespace
}  // namespace urto
