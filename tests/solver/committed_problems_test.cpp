// The small problems under tests/data, made by Urto: files that stay while the code changes.
#include <filesystem>

#include <gtest/gtest.h>

#include "support/paths.h"
#include "urto/problem/problem_file.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

TEST(CommittedProblems, EachIsReadAndCertifiedByTwoSolversThatAgree) {
  int problems = 0;
  for (const auto& entry : std::filesystem::directory_iterator(samples::data_dir())) {
    if (entry.path().extension() == ".md" || entry.path().extension() == ".json") continue;
    const ProblemFile file = read_problem(entry.path());
    const auto& p = std::get<StepProblem>(file.problem);
    const Solution exact = solve(p, {.tolerance = 1e-8});
    EXPECT_EQ(exact.status, Status::converged) << entry.path() << " " << exact.message;
    // The motion is unique for the convex law; for the exact one it need not be, and packing.hdf5
    // has at least two.
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
  EXPECT_EQ(problems, 9);
}

// Four contacts of a face slide, but at most three can touch: sweeps would need 10⁶ steps to see
// who does not.
TEST(CommittedProblems, OneContactOfAFlatFaceIsLeftOut) {
  const ProblemFile file = read_problem(samples::data_dir() / "flat_face.hdf5");
  const auto& p = std::get<StepProblem>(file.problem);
  const Solution s = solve(p, {.tolerance = 1e-8});
  EXPECT_EQ(s.status, Status::converged);
  EXPECT_LT(s.iterations, 2000);
  int open = 0;
  for (int i = 0; i < p.blocks(); ++i) open += s.lambda[p.K.start[i]] == 0 ? 1 : 0;
  EXPECT_EQ(open, 1);
  for (const char* alone : {"nsgs", "prox"}) {
    EXPECT_NE(solve(p, {.solver = alone, .tolerance = 1e-8, .max_iterations = 2000}).status,
              Status::converged)
        << alone << " needs no help: choose another problem";
  }
}

}  // namespace
}  // namespace urto
