// auto: what a user may rely on when he turns the tolerance, and that it agrees with a method that
// shares no code with its sweeps.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

struct Family {
  const char* name;
  StepProblem problem;
};

// Eight families with what is degenerate: redundant contacts, μ = 0, mass ratios of 10⁶, gaps of
// zero, no contacts.
std::vector<Family> families(std::uint64_t seed) {
  std::vector<Family> all;
  all.push_back(
      {"packing", sphere_packing({.contacts = 90, .mu = 0.4, .step = 2e-3, .seed = seed})});
  all.push_back(
      {"smooth packing", sphere_packing({.contacts = 60, .mu = 0, .step = 2e-3, .seed = seed})});
  all.push_back({"mass ratio",
                 sphere_packing({.contacts = 20, .mass_ratio = 1e6, .step = 1e-3, .seed = seed})});
  all.push_back({"stack", box_stack({.levels = 4, .push = 0.05 * static_cast<double>(seed % 4)})});
  all.push_back(
      {"wall", box_wall({.width = 3, .height = 3, .push = 0.2 * static_cast<double>(seed % 5)})});
  all.push_back(
      {"joints", joint_contact_mix({.bodies = 4, .velocity = static_cast<double>(seed % 3)})});
  all.push_back(
      {"redundant", random_local({.contacts = 20, .rank_deficiency = 0.3, .seed = seed})});
  all.push_back({"chain", chain({.links = 12})});
  all.push_back({"mass", sliding_mass({.velocity = 2, .gap = 0})});
  return all;
}

// What a solve did, in sweeps: a step of another method counts as a hundred.
double work(const StepSolveReport& report) {
  return report.sweeps + 100.0 * (report.iterations + report.factorizations);
}

struct Answer {
  StepSolveReport report;
  double residual = 0;
};

Answer answer(const StepProblem& p, double tolerance) {
  Answer a;
  Vector x, lambda = Vector::Zero(p.rows());
  make_solver("auto")->solve(p, {.tolerance = tolerance, .settle = false}, x, lambda, a.report);
  a.residual = certify(p, x, lambda, Friction::exact).residual();
  return a;
}

TEST(Automatic, TighterTolerancesNeverGiveAWorseResidualAndLooserOnesNeverTakeMoreWork) {
  for (const std::uint64_t seed : {11, 12}) {
    for (const Family& family : families(seed)) {
      Answer before = answer(family.problem, 1e-2);
      for (const double tolerance : {1e-3, 1e-4, 1e-6, 1e-8}) {
        const Answer now = answer(family.problem, tolerance);
        // Rounding apart, where both are exact.
        EXPECT_LE(now.residual, std::max(before.residual, 1e-12))
            << family.name << " " << seed << " " << tolerance;
        EXPECT_LE(work(before.report), 1.1 * work(now.report) + 10)
            << family.name << " " << seed << " " << tolerance;
        before = now;
      }
      EXPECT_LE(before.residual, 1e-8) << family.name << " " << seed;
    }
  }
}

TEST(Automatic, AgreesWithTheProximalPointOnEightFamilies) {
  for (const std::uint64_t seed : {21, 22, 23}) {
    for (const Family& family : families(seed)) {
      // Convex: there the velocity is unique whatever the method.
      const auto solved = [&](const char* solver, double tolerance) {
        SolveOptions options{.solver = solver, .tolerance = tolerance, .max_iterations = 20000};
        options.friction = Friction::convex;
        options.momentum = true;
        return solve(family.problem, options);
      };
      const Solution reference = solved("prox", 1e-9);
      ASSERT_EQ(reference.status, Status::converged) << family.name << " " << seed;
      const double size = std::max(1e-3, reference.u.norm());
      for (const char* solver : {"auto", "nsgs"}) {
        const Solution s = solved(solver, 1e-8);
        if (s.status != Status::converged) {
          // Sweeps may be slow; auto may not.
          EXPECT_STRNE(solver, "auto") << family.name << " " << seed;
          continue;
        }
        EXPECT_LT((s.u - reference.u).norm(), 1e-5 * size)
            << family.name << " " << seed << " " << solver;
      }
    }
  }
}

// One large island may use up the time; the others are solved all the same.
TEST(Automatic, ATimeLimitLeavesNoIslandWithoutSweeps) {
  const StepProblem p = sphere_packing({.contacts = 1000, .step = 2e-3, .seed = 72});
  const Solution s = solve(p, {.tolerance = 1e-12, .time_limit = 1e-6});
  const Solution untouched = solve(p, {.max_iterations = 0});
  EXPECT_EQ(s.status, Status::time_limit);
  EXPECT_LT(s.certificate.residual(), 0.5 * untouched.certificate.residual());
}

TEST(Automatic, TheSameInputGivesTheSameBits) {
  // Decisions hang on predicted prices, not on a clock.
  const StepProblem p = box_wall({.width = 6, .height = 6, .push = 0.1});
  const Solution first = solve(p, {.tolerance = 1e-7});
  for (int k = 0; k < 3; ++k) {
    const Solution again = solve(p, {.tolerance = 1e-7});
    EXPECT_EQ(first.iterations, again.iterations);
    EXPECT_EQ(first.solver, again.solver);
    EXPECT_TRUE((first.lambda.array() == again.lambda.array()).all());
  }
}

}  // namespace
}  // namespace urto
