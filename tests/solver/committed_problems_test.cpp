// The small problems under tests/data, made by Urto: files that stay while the code changes.
#include <filesystem>

#include <gtest/gtest.h>

#include "urto/problem/problem_file.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

TEST(CommittedProblems, EachIsReadAndCertifiedByTwoSolversThatAgree) {
  int problems = 0;
  for (const auto& entry : std::filesystem::directory_iterator(URTO_DATA_DIR)) {
    if (entry.path().extension() == ".md") continue;
    const ProblemFile file = read_problem(entry.path());
    const auto& p = std::get<StepProblem>(file.problem);
    const Solution exact = solve(p, {.tolerance = 1e-8});
    EXPECT_EQ(exact.status, Status::converged) << entry.path() << " " << exact.message;
    // The motion is unique for the convex law; for the exact one it need not be, and packing.hdf5 has at least two.
    const Solution a = solve(p, {.tolerance = 1e-8, .friction = Friction::convex});
    const Solution b = solve(p, {.solver = "admm",
                                 .tolerance = 1e-8,
                                 .max_iterations = 1000000,
                                 .friction = Friction::convex});
    EXPECT_EQ(a.status, Status::converged) << entry.path() << " " << a.message;
    EXPECT_EQ(b.status, Status::converged) << entry.path() << " " << b.message;
    const double free_velocity = solve(p, {.solver = "sor", .max_iterations = 0}).u.norm();
    EXPECT_LT((a.u - b.u).norm(), 10 * 1e-8 * free_velocity) << entry.path();
    ++problems;
  }
  EXPECT_EQ(problems, 8);
}

}  // namespace
}  // namespace urto
