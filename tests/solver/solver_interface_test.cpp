// The promises of solver.h: refusals with names, option checks, warm starts, determinism, history,
// limits.
#include <chrono>
#include <cstring>
#include <thread>

#include <gtest/gtest.h>

#include "support/message_of.h"
#include "urto/error.h"
#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

using samples::message_of;

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

TEST(SolverInterface, AMassThatIsNotPositiveDefiniteIsAStatusNotAnError) {
  StepProblem blocks = sliding_mass();
  std::get<BlockMatrix>(blocks.H).values[0] = -1;
  StepProblem sparse = blocks;
  sparse.H = sparse_mass(blocks);
  StepProblem nothing_touches = blocks;
  nothing_touches.J = {};
  nothing_touches.J.columns = blocks.dofs();
  nothing_touches.K = {};
  nothing_touches.b.resize(0);
  nothing_touches.E.resize(0, 0);
  for (const SolverInfo& info : solvers()) {
    for (const StepProblem* p : {&blocks, &sparse, &nothing_touches}) {
      if (p != &nothing_touches && !info.can.cones) continue;
      const Solution s = solve(*p, {.solver = std::string(info.name)});
      EXPECT_EQ(s.status, Status::failed) << info.name;
      EXPECT_NE(s.message.find("positive definite"), std::string::npos) << s.message;
    }
  }
}

TEST(SolverInterface, ASolverKeptBetweenProblemsGivesTheBitsOfANewOne) {
  const StepProblem problems[] = {
      sphere_packing({.contacts = 60, .step = 1e-3}),     box_stack({.levels = 3}),
      stiff_lattice({.nx = 3, .ny = 3, .nz = 2}),         chain({.links = 10}),
      random_local({.contacts = 10, .conditioning = 20}), joint_contact_mix({.bodies = 3})};
  for (const SolverInfo& info : solvers()) {
    if (!info.can.cones) continue;
    for (const bool islands : {false, true}) {
      const auto kept = make_solver(info.name);
      for (const StepProblem& p : problems) {
        SolveOptions options{.solver = std::string(info.name), .max_iterations = 50};
        options.islands = islands;
        const Solution a = kept->solve(p, options);
        const Solution b = solve(p, options);
        ASSERT_EQ(a.lambda.size(), b.lambda.size());
        EXPECT_TRUE((a.lambda.array() == b.lambda.array()).all()) << info.name;
        EXPECT_TRUE((a.x.array() == b.x.array()).all()) << info.name;
        EXPECT_EQ(a.status, b.status) << info.name;
      }
    }
  }
}

TEST(SolverInterface, IslandsAndTheWholeHaveTheSameMotion) {
  // Three stacks and a chain side by side, as one problem.
  StepProblem p = joint_contact_mix({.bodies = 3});
  const StepProblem one = p;
  auto& H = std::get<BlockMatrix>(p.H);
  for (int copy = 1; copy < 4; ++copy) {
    const auto& mass = std::get<BlockMatrix>(one.H);
    for (int k = 0; k < mass.blocks(); ++k) H.push_back(mass.block(k));
    p.J.columns += one.dofs();
    for (int i = 0; i < one.blocks(); ++i) {
      p.J.add_block(one.J.height(i));
      for (int e = one.J.entry_start[i]; e < one.J.entry_start[i + 1]; ++e) {
        using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
        const BlockRows::Entry& entry = one.J.entries[e];
        p.J.add_entry(copy * one.dofs() + entry.column,
                      Eigen::Map<const RowMajor>(one.J.values.data() + entry.offset,
                                                 one.J.height(i), entry.width));
      }
      p.K.push_back(one.K.sets[i]);
    }
    Vector a(p.a.size() + one.dofs()), b(p.b.size() + one.rows());
    a << p.a, (1 + 0.1 * copy) * one.a;
    b << p.b, one.b;
    p.a = a;
    p.b = b;
  }
  p.E.resize(p.rows(), p.rows());
  validate(p, "four copies");
  for (const char* name : {"auto", "prox", "nsgs"}) {
    SolveOptions options{.solver = name, .tolerance = 1e-9, .friction = Friction::convex};
    options.islands = true;
    const auto solver = make_solver(name);
    Vector x, lambda = Vector::Zero(p.rows());
    StepSolveReport report;
    solver->solve(p, options, x, lambda, report);
    EXPECT_GE(report.islands, 4);
    EXPECT_TRUE(certify(p, x, lambda, Friction::convex).meets(1e-9)) << name;
    options.islands = false;
    const Solution whole = solver->solve(p, options);
    ASSERT_EQ(whole.status, Status::converged) << name << " " << whole.message;
    EXPECT_LT((x - whole.x).norm(), 1e-8) << name;
  }
}

TEST(SolverInterface, StopsAtTheIterationLimitAndSaysSo) {
  const StepProblem p = box_stack({.levels = 6, .mass_ratio = 1000});
  const Solution s = solve(p, {.solver = "sor", .tolerance = 1e-12, .max_iterations = 7});
  EXPECT_EQ(s.status, Status::iteration_limit);
  EXPECT_EQ(s.iterations, 7);
  EXPECT_GT(s.certificate.residual(), 1e-12);
}

// The caller holds up a solve until its time is over, so that no machine is too fast or too slow.
SolveOptions held_up(const char* solver, int at_call, int& calls) {
  constexpr double limit = 0.4;
  SolveOptions options{.solver = solver, .tolerance = 1e-14, .max_iterations = 100000000};
  options.time_limit = limit;
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(1.5 * limit);
  options.on_progress = [=, &calls](int, double) {
    if (++calls == at_call) std::this_thread::sleep_until(end);
    return true;
  };
  return options;
}

TEST(SolverInterface, StopsAtTheTimeLimitAndSaysSo) {
  int calls = 0;
  const Solution s = solve(box_wall({.width = 6, .height = 6}), held_up("jacobi", 3, calls));
  EXPECT_EQ(s.status, Status::time_limit);
  EXPECT_LE(calls, 3) << "the time was over then";
}

TEST(SolverInterface, TheClockStopsNewtonInsideAProximalStep) {
  // A proximal step of this packing takes some ten factorisations: whoever looks at the clock
  // between such steps only is late by them.
  int calls = 0;
  const Solution s = solve(sphere_packing({.contacts = 300}), held_up("prox", 3, calls));
  EXPECT_EQ(s.status, Status::time_limit);
  EXPECT_LE(calls, 3);
  EXPECT_LE(s.outer_iterations, 1);
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
