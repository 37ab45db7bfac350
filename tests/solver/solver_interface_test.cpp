// The promises of solver.h: refusals with names, option checks, warm starts, determinism, history,
// limits.
#include <cstring>

#include <gtest/gtest.h>

#include "urto/error.h"
#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

template <class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(SolverInterface, LinearSolversRefuseContactsAndNameSolversThatCan) {
  for (const char* name : {"minres", "cg", "ldlt"}) {
    const std::string message = message_of([&] { solve(sliding_mass(), {.solver = name}); });
    EXPECT_NE(message.find(std::string("'") + name + "' cannot treat contacts"), std::string::npos)
        << message;
    EXPECT_NE(message.find("nsgs"), std::string::npos) << message;
  }
}

TEST(SolverInterface, QuarticRefusesTheConvexLaw) {
  const std::string message = message_of(
      [] { solve(sliding_mass(), {.solver = "nsgs-quartic", .friction = Friction::convex}); });
  EXPECT_NE(message.find("convex friction"), std::string::npos) << message;
}

TEST(SolverInterface, UnknownSolverListsTheNames) {
  const std::string message = message_of([] { solve(sliding_mass(), {.solver = "magic"}); });
  EXPECT_NE(message.find("'magic'"), std::string::npos);
  EXPECT_NE(message.find("apgd"), std::string::npos);
}

TEST(SolverInterface, OptionsOutOfRangeAreRefusedByName) {
  const auto refuses = [](const SolveOptions& options, const char* what) {
    const std::string message = message_of([&] { solve(sliding_mass(), options); });
    EXPECT_NE(message.find(what), std::string::npos) << message;
  };
  refuses({.tolerance = 0}, "tolerance");
  refuses({.tolerance = std::numeric_limits<double>::quiet_NaN()}, "tolerance");
  refuses({.max_iterations = -1}, "max_iterations");
  refuses({.time_limit = 0}, "time_limit");
  refuses({.threads = 0}, "threads");
  refuses({.relaxation = 2}, "relaxation");
  refuses({.sharpness = 0}, "sharpness");
  refuses({.interior_point = {.residual_tolerance = 0}}, "residual_tolerance");
  refuses({.interior_point = {.mu_tolerance = -1}}, "mu_tolerance");
  const Vector wrong = Vector::Zero(7);
  EXPECT_NE(message_of([&] { solve(sliding_mass(), {}, &wrong); }).find("warm start"),
            std::string::npos);
}

TEST(SolverInterface, SolvingTwiceGivesTheSameBits) {
  const StepProblem p = sphere_packing({.contacts = 60, .step = 1e-3});
  for (const SolverInfo& info : solvers()) {
    if (!info.can.cones) continue;
    const SolveOptions options{.solver = std::string(info.name), .max_iterations = 50};
    const Solution a = solve(p, options);
    const Solution b = solve(p, options);
    ASSERT_EQ(a.lambda.size(), b.lambda.size());
    EXPECT_EQ(std::memcmp(a.lambda.data(), b.lambda.data(), sizeof(double) * a.lambda.size()), 0)
        << info.name;
    EXPECT_EQ(std::memcmp(a.x.data(), b.x.data(), sizeof(double) * a.x.size()), 0) << info.name;
  }
}

TEST(SolverInterface, WarmStartFromTheSolutionNeedsNoIterations) {
  const StepProblem p = sphere_packing({.contacts = 60, .mu = 0.3, .step = 1e-3});
  const Solution first = solve(p, {.solver = "prox", .tolerance = 1e-10});
  ASSERT_EQ(first.status, Status::converged);
  for (const SolverInfo& info : solvers()) {
    if (!info.can.cones) continue;
    const Solution again =
        solve(p, {.solver = std::string(info.name), .tolerance = 1e-8}, &first.lambda);
    EXPECT_EQ(again.status, Status::converged) << info.name;
    EXPECT_EQ(again.iterations, 0) << info.name;
  }
}

TEST(SolverInterface, StopsAtTheIterationLimitAndSaysSo) {
  const StepProblem p = box_stack({.levels = 6, .mass_ratio = 1000});
  const Solution s = solve(p, {.solver = "sor", .tolerance = 1e-12, .max_iterations = 7});
  EXPECT_EQ(s.status, Status::iteration_limit);
  EXPECT_EQ(s.iterations, 7);
  EXPECT_GT(s.certificate.residual(), 1e-12);
}

TEST(SolverInterface, StopsAtTheTimeLimitAndSaysSo) {
  const StepProblem p = box_wall({.width = 6, .height = 6});
  const Solution s = solve(
      p, {.solver = "jacobi", .tolerance = 1e-14, .max_iterations = 100000000, .time_limit = 0.05});
  EXPECT_EQ(s.status, Status::time_limit);
}

TEST(SolverInterface, TheClockStopsNewtonInsideAProximalStep) {
  // A proximal step of this packing takes some ten factorisations: whoever looks at the clock between such steps only is seconds late.
  const StepProblem p = sphere_packing({.contacts = 3000});
  for (const char* name : {"prox", "auto"}) {
    const Solution s = solve(p, {.solver = name, .tolerance = 1e-10, .time_limit = 0.2});
    EXPECT_EQ(s.status, Status::time_limit) << name;
    if (s.solver == "prox") {
      EXPECT_LE(s.iterations, 50);
    }
  }
}

TEST(SolverInterface, ProgressCanStopNewtonInsideAProximalStep) {
  const StepProblem p = sphere_packing({.contacts = 300});
  int calls = 0;
  SolveOptions options{.solver = "prox", .tolerance = 1e-10};
  options.on_progress = [&](int, double) { return ++calls < 4; };
  const Solution s = solve(p, options);
  EXPECT_EQ(s.status, Status::interrupted);
  EXPECT_EQ(calls, 4);
  EXPECT_EQ(s.outer_iterations, 1);
}

TEST(SolverInterface, ProgressCanStopEverySolver) {
  const StepProblem p = box_wall({.width = 4, .height = 4});
  for (const SolverInfo& info : solvers()) {
    if (!info.can.cones) continue;
    int calls = 0;
    SolveOptions options{
        .solver = std::string(info.name), .tolerance = 1e-15, .threads = info.can.threads ? 2 : 1};
    options.on_progress = [&](int, double) { return ++calls < 3; };
    const Solution s = solve(p, options);
    EXPECT_EQ(s.status, Status::interrupted) << info.name;
    EXPECT_GE(calls, 3) << info.name;
  }
}

TEST(SolverInterface, HistoryFallsToTheReportedResidual) {
  const StepProblem p = sphere_packing({.contacts = 60, .step = 1e-3});
  const Solution s = solve(p, {.solver = "nsgs", .tolerance = 1e-8, .record_history = true});
  ASSERT_EQ(s.status, Status::converged);
  ASSERT_GT(s.history.size(), 2U);
  EXPECT_EQ(s.history.front().iteration, 0);
  EXPECT_LE(s.history.back().residual, 1e-8);
  // The running measure and the certificate are written apart; they must agree.
  EXPECT_NEAR(s.history.back().residual, s.certificate.residual(), 0.05 * s.certificate.residual());
}

TEST(SolverInterface, ZeroFrictionReducesToTheUnilateralRow) {
  // A cone with μ = 0 leaves the tangent free: the same motion as a scalar row.
  const StepProblem cone = sliding_mass({.mu = 0});
  StepProblem scalar = cone;
  scalar.K = {};
  scalar.K.push_back(ConvexSet::nonnegative());
  scalar.J = {};
  scalar.J.columns = 3;
  scalar.J.add_block(1);
  scalar.J.add_entry(0, Matrix(Eigen::RowVector3d(0, 0, 1)));
  scalar.b = cone.b.head(1);
  scalar.E.resize(1, 1);
  for (const SolverInfo& info : solvers()) {
    if (!info.can.cones) continue;
    const SolveOptions options{.solver = std::string(info.name), .tolerance = 1e-10};
    const Solution a = solve(cone, options);
    const Solution b = solve(scalar, options);
    ASSERT_EQ(a.status, Status::converged) << info.name;
    ASSERT_EQ(b.status, Status::converged) << info.name;
    EXPECT_LT((a.x - b.x).norm(), 1e-9) << info.name;
  }
}

TEST(SolverInterface, SlightAsymmetryOfAFileIsSolvedOnTheOriginal) {
  // Files carry asymmetries of 1e-3 (semi-explicit gyroscopic terms); the certificate is that of
  // the matrix given.
  StepProblem p = random_local({.contacts = 10, .mu = 0.5, .conditioning = 20, .seed = 9});
  SparseMatrix skew(p.rows(), p.rows());
  for (int r = 0; r + 4 < p.rows(); ++r) {
    skew.coeffRef(r, r + 4) += 2e-3;
    skew.coeffRef(r + 4, r) -= 2e-3;
  }
  p.E = SparseMatrix(p.E + skew);
  validate(p, "skew");
  for (const SolverInfo& info : solvers()) {
    if (!info.can.cones) continue;
    const Solution s =
        solve(p, {.solver = std::string(info.name), .tolerance = 1e-8, .max_iterations = 100000});
    EXPECT_EQ(s.status, Status::converged)
        << info.name << " " << s.message << " " << s.certificate.residual();
  }
}

}  // namespace
}  // namespace urto
