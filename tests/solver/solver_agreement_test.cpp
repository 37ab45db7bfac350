// Different solvers on the same problem: velocities and objectives are unique for the convex law
// and must agree; forces of redundant contacts are not and may not (recipe 000 T5).
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "solver/duplicated_rows.h"
#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

StepProblem badly_scaled() {
  return sphere_packing({.contacts = 40, .mu = 0.4, .mass_ratio = 1e6, .step = 1e-3});
}
StepProblem random_regular() {
  return random_local({.contacts = 15, .mu = 0.6, .conditioning = 50, .seed = 3});
}
StepProblem random_redundant() {
  return random_local(
      {.contacts = 15, .rank_deficiency = 0.4, .mu = 0.6, .conditioning = 50, .seed = 4});
}
StepProblem redundant_stack() {
  return box_stack({.levels = 2, .mu = 0.4, .push = 0.1});
}
StepProblem stiff() {
  return stiff_lattice({.nx = 3, .ny = 3, .nz = 2, .stiffness = 1e4});
}
StepProblem mixed() {
  return joint_contact_mix({.bodies = 3});
}
StepProblem packing() {
  return sphere_packing({.contacts = 80, .mu = 0.3, .step = 1e-3});
}

// ‖u_a − u_b‖ relative to ‖q‖ of the free motion, from the problem itself.
double free_velocity_norm(const StepProblem& p) {
  const Solution free = solve(p, {.solver = "sor", .max_iterations = 0});
  return free.u.norm();
}

// Stopped by a limit while the residual was met and the velocity still moved.
bool is_unsettled(const Solution& s) {
  return (s.status == Status::time_limit || s.status == Status::iteration_limit) &&
         s.message.find("settled") != std::string::npos;
}

/// How many iterations a solver may take to 1e-7 with a settled velocity: half as many again as it
/// took. Negative: it does not arrive in that many.
struct Arrival {
  std::string_view solver;
  int iterations;
};

struct Agreement {
  const char* name;
  StepProblem (*make)();
  std::vector<Arrival> arrivals;
};

// Every solver that takes the convex law is in every list.
const std::vector<Agreement> agreements{
    {"RandomRegular",
     random_regular,
     {{"auto", 40},
      {"jacobi", 240},
      {"sor", 40},
      {"ssor", 40},
      {"sor-colour", 40},
      {"nsgs", 40},
      {"nsgs-projection", 40},
      {"spg", 50},
      {"apgd", 60},
      {"admm", 55},
      {"prox", 25},
      {"ipm", 18}}},
    {"RandomRedundant",
     random_redundant,
     {{"auto", 85},
      {"jacobi", 350},
      {"sor", 55},
      {"ssor", 105},
      {"sor-colour", 55},
      {"nsgs", 85},
      {"nsgs-projection", 75},
      {"spg", 80},
      {"apgd", 100},
      {"admm", 90},
      {"prox", 21},
      {"ipm", 17}}},
    {"RedundantStack",
     redundant_stack,
     {{"auto", 160},
      {"jacobi", 1320},
      {"sor", 430},
      {"ssor", 350},
      {"sor-colour", 430},
      {"nsgs", 290},
      {"nsgs-projection", 290},
      {"spg", 175},
      {"apgd", 215},
      {"admm", 85},
      {"prox", 17},
      {"ipm", 11}}},
    // Sweeps and plain gradients need more than 200 000: the velocity creeps.
    {"MassRatioMillion",
     badly_scaled,
     {{"auto", 180},
      {"jacobi", -5000},
      {"sor", -5000},
      {"ssor", -5000},
      {"sor-colour", -5000},
      {"nsgs", -5000},
      {"nsgs-projection", -1000},
      {"spg", -5000},
      {"apgd", 21500},
      {"admm", 14500},
      {"prox", 470},
      {"ipm", 24}}},
    {"StiffnessInH",
     stiff,
     {{"auto", 85},
      {"jacobi", 300},
      {"sor", 85},
      {"ssor", 105},
      {"sor-colour", 85},
      {"nsgs", 85},
      {"nsgs-projection", 85},
      {"spg", 62},
      {"apgd", 80},
      {"admm", 55},
      {"prox", 17},
      {"ipm", 14}}},
    {"JointsBoxesContacts",
     mixed,
     {{"auto", 165},
      {"jacobi", 1100},
      {"sor", 195},
      {"ssor", 160},
      {"sor-colour", 160},
      {"nsgs", 160},
      {"nsgs-projection", 160},
      {"spg", 4000},
      {"apgd", 320},
      {"admm", 625},
      {"prox", 48},
      {"ipm", 14}}},
    // Jacobi takes 84 000.
    {"Packing",
     packing,
     {{"auto", 170},
      {"jacobi", -20000},
      {"sor", 29500},
      {"ssor", 20000},
      {"sor-colour", 29500},
      {"nsgs", 12000},
      {"nsgs-projection", 12000},
      {"spg", 9900},
      {"apgd", 1700},
      {"admm", 24000},
      {"prox", 110},
      {"ipm", 18}}},
};

class SolverAgreement : public testing::TestWithParam<Agreement> {};

TEST_P(SolverAgreement, VelocitiesOfTheConvexProblemAgree) {
  const StepProblem p = GetParam().make();
  constexpr double tolerance = 1e-7;
  const Solution reference =
      solve(p, {.solver = "prox", .tolerance = 1e-9, .friction = Friction::convex});
  ASSERT_EQ(reference.status, Status::converged)
      << reference.message << " " << reference.certificate.residual();
  const double size = free_velocity_norm(p);
  std::vector<std::string_view> missing;
  for (const SolverInfo& info : solvers()) {
    if (!info.can.cones || !info.can.convex_friction) continue;
    const auto& all = GetParam().arrivals;
    const auto expected = std::find_if(all.begin(), all.end(),
                                       [&](const Arrival& a) { return a.solver == info.name; });
    if (expected == all.end()) {
      missing.push_back(info.name);
      continue;
    }
    const Solution s = solve(p, {.solver = std::string(info.name),
                                 .tolerance = tolerance,
                                 .max_iterations = std::abs(expected->iterations),
                                 .friction = Friction::convex});
    if (expected->iterations < 0) {
      EXPECT_EQ(s.status, Status::iteration_limit) << info.name << " arrives: say so in the table";
      EXPECT_TRUE(s.certificate.residual() > tolerance || is_unsettled(s)) << info.name;
      continue;
    }
    EXPECT_EQ(s.status, Status::converged) << info.name << " " << s.message;
    // Velocities depend on the residual through the conditioning of the kept motion; ten times the
    // tolerance is the bound of issue 2.
    EXPECT_LT((s.u - reference.u).norm(), 10 * tolerance * size) << info.name;
    EXPECT_NEAR(s.certificate.objective, reference.certificate.objective,
                10 * tolerance * (1 + std::abs(reference.certificate.objective)))
        << info.name;
  }
  EXPECT_TRUE(missing.empty()) << missing.front() << " is not in the table";
}

std::string problem_name(const testing::TestParamInfo<Agreement>& p) {
  return p.param.name;
}
INSTANTIATE_TEST_SUITE_P(Problems, SolverAgreement, testing::ValuesIn(agreements), problem_name);

using Names = std::vector<std::string_view>;

/// A small packing with friction, and who does not arrive in 10 000 iterations: a list for each
/// tolerance, or one for all.
struct SmallPacking {
  StepProblem problem;
  std::vector<Names> late = {{}};
};

TEST(PackingAgreement, SolversAgreeWhereTheResidualHidesTheError) {
  // At a residual of half the tolerance the velocity was off by up to 64 tolerances. The bound is
  // issue 2's.
  const Names sweeps{"nsgs", "ssor"}, spectral{"spg", "nsgs", "ssor"},
      but_apgd{"admm", "spg", "nsgs", "ssor"}, but_admm{"apgd", "spg", "nsgs", "ssor"},
      first_order{"apgd", "admm", "spg", "nsgs", "ssor"};
  const SmallPacking packings[] = {
      {sphere_packing({.contacts = 6, .mu = 0.5, .seed = 2})},
      {sphere_packing({.contacts = 20, .mu = 0.8, .seed = 3}), {but_apgd}},
      {sphere_packing({.contacts = 40, .mu = 0.5, .seed = 2}), {spectral, spectral, but_apgd}},
      {sphere_packing({.contacts = 40, .mu = 0.8, .step = 1e-3, .seed = 3}),
       {sweeps, spectral, spectral}},
      {sphere_packing({.contacts = 60, .mu = 0.3, .seed = 1}), {spectral, spectral, but_admm}},
      {sphere_packing({.contacts = 120, .mu = 0.5, .seed = 2}), {first_order}},
      {box_wall({.width = 4, .height = 4, .push = 0.7}), {spectral}},
  };
  for (const auto& [p, expected] : packings) {
    const double size = free_velocity_norm(p);
    std::size_t row = 0;
    for (const double tolerance : {1e-4, 1e-6, 1e-8}) {
      std::vector<Solution> solved;
      Names late;
      for (const char* name : {"auto", "prox", "apgd", "admm", "spg", "nsgs", "ssor"}) {
        Solution s = solve(p, {.solver = name,
                               .tolerance = tolerance,
                               .max_iterations = 10000,
                               .friction = Friction::convex});
        if (s.status == Status::converged) {
          solved.push_back(std::move(s));
        } else {
          late.emplace_back(name);
          EXPECT_TRUE(s.certificate.residual() > tolerance || is_unsettled(s)) << name;
        }
      }
      EXPECT_EQ(late, expected[std::min(row++, expected.size() - 1)])
          << p.blocks() << " contacts at " << tolerance;
      for (const Solution& a : solved) {
        for (const Solution& b : solved) {
          EXPECT_LT((a.u - b.u).norm(), 10 * tolerance * size)
              << a.solver << " and " << b.solver << " on " << p.blocks() << " contacts at "
              << tolerance;
        }
      }
    }
  }
}

TEST(PackingAgreement, ALimitBeforeTheVelocitySettlesIsNotConvergence) {
  // Gauss–Seidel creeps here: the residual is met after some hundred sweeps, the velocity is far
  // from its limit.
  const StepProblem p = sphere_packing({.contacts = 60, .mu = 0.3, .seed = 1});
  const Solution s = solve(
      p,
      {.solver = "nsgs", .tolerance = 1e-4, .max_iterations = 4500, .friction = Friction::convex});
  EXPECT_LT(s.certificate.residual(), 1e-4);
  EXPECT_TRUE(is_unsettled(s)) << to_string(s.status) << " " << s.message;
}

// All that say they take Coulomb's law, whoever adds one.
std::vector<std::string> exact_solvers() {
  std::vector<std::string> names;
  for (const SolverInfo& info : solvers()) {
    if (info.can.cones && info.can.exact_friction) names.emplace_back(info.name);
  }
  return names;
}

class ExactFriction : public testing::TestWithParam<std::string> {};

TEST_P(ExactFriction, EverySolverStopsASlidingMassWithoutLiftingIt) {
  // Recipe 000 T3 with De Saxcé's term: gap stays closed, u_T falls by μ g h.
  const StepProblem p = sliding_mass();
  const Solution s = solve(p, {.solver = GetParam(), .tolerance = 1e-10});
  ASSERT_EQ(s.status, Status::converged) << s.message;
  EXPECT_NEAR(s.x[2], 0, 1e-9);
  EXPECT_NEAR(s.x[0], 2 - 0.3 * 9.81 * 0.01, 1e-9);
  EXPECT_NEAR(s.lambda[0], 9.81 * 0.01, 1e-9);
}

TEST_P(ExactFriction, EverySolverAgreesOnAStiffBlockWithSlip) {
  const StepProblem p = stiff();
  const Solution reference = solve(p, {.solver = "prox", .tolerance = 1e-11});
  ASSERT_EQ(reference.status, Status::converged) << reference.message;
  // Jacobi takes 170, the others less than 100; but admm begins with iterations of the live law.
  const Solution s = solve(p, {.solver = GetParam(), .tolerance = 1e-7, .max_iterations = 3000});
  ASSERT_EQ(s.status, Status::converged) << s.message << " " << s.certificate.residual();
  EXPECT_LT((s.u - reference.u).norm(), 1e-6 * free_velocity_norm(p));
}

std::string solver_name(const testing::TestParamInfo<std::string>& p) {
  std::string name = p.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Solvers, ExactFriction, testing::ValuesIn(exact_solvers()), solver_name);

TEST(ExactFrictionList, HasTheSolversOfTheDocumentation) {
  // docs/solvers/README.md: all but those for joints only.
  const std::vector<std::string> names = exact_solvers();
  EXPECT_EQ(names.size(), 13U);
  for (const char* name : {"auto", "ipm", "nsgs-quartic", "sor-colour"})
    EXPECT_NE(std::find(names.begin(), names.end(), name), names.end()) << name;
}

TEST(Redundancy, ForcesOfABrickDifferButItsVelocityDoesNot) {
  // Recipe 000 T5: three cubes, f = −0.0144835331 at the solution, base forces depend on the start.
  const StepProblem p = box_stack({.levels = 3, .mu = 0.4, .push = 0.1});
  const SolveOptions options{.solver = "prox", .tolerance = 1e-10, .friction = Friction::convex};
  const Solution a = solve(p, options);
  Vector start = Vector::LinSpaced(p.rows(), 0, 0.3);
  const Solution b = solve(
      p,
      {.solver = "spg", .tolerance = 1e-9, .max_iterations = 100000, .friction = Friction::convex},
      &start);
  ASSERT_EQ(a.status, Status::converged);
  ASSERT_EQ(b.status, Status::converged);
  EXPECT_LT((a.x - b.x).norm(), 1e-8);
  EXPECT_GT((a.lambda - b.lambda).norm(), 1e-3);
  // The dual objective ½λᵀWλ + qᵀλ of T5 is the primal of ours up to the free motion's: f = −½ xᵀH
  // x + … at rest x = 0.
  EXPECT_LT(a.x.norm(), 1e-8);
}

TEST(Infeasible, ContradictoryGapsAreRecognisedAndNeverCertified) {
  for (const double mu : {0.0, 0.5}) {
    const StepProblem p = infeasible_gap(mu);
    for (const SolverInfo& info : solvers()) {
      if (!info.can.cones) continue;
      if (mu > 0 && !info.can.exact_friction) continue;
      const Solution s = solve(p, {.solver = std::string(info.name), .max_iterations = 2000});
      EXPECT_NE(s.status, Status::converged) << info.name;
      EXPECT_GT(s.certificate.residual(), 1e-3) << info.name;
    }
    EXPECT_EQ(solve(p, {.solver = "prox"}).status, Status::infeasible);
    EXPECT_EQ(solve(p).status, Status::infeasible);
  }
}

TEST(Linear, JointsOnlySolversAgree) {
  StepProblem p = chain({.links = 20, .mass_ratio = 100});
  for (int r = 0; r < p.rows(); ++r) p.b[r] = 0.1 * std::sin(r);  // joints that are off
  const Solution direct = solve(p, {.solver = "ldlt", .tolerance = 1e-12});
  ASSERT_EQ(direct.status, Status::converged) << direct.certificate.residual();
  for (const char* name : {"minres", "cg", "prox", "sor", "admm"}) {
    const Solution s = solve(p, {.solver = name, .tolerance = 1e-8, .max_iterations = 200000});
    ASSERT_EQ(s.status, Status::converged) << name << " " << s.certificate.residual();
    EXPECT_LT((s.x - direct.x).norm(), 1e-7 * (1 + direct.x.norm())) << name;
  }
}

TEST(Linear, DuplicatedJointChangesNoVelocity) {
  const StepProblem once = chain({.links = 8});
  const StepProblem twice = with_every_row_twice(once);
  const Solution reference = solve(once, {.solver = "ldlt", .tolerance = 1e-12});
  for (const SolverInfo& info : solvers()) {
    const std::string name(info.name);
    const Solution s =
        solve(twice, {.solver = name, .tolerance = 1e-9, .max_iterations = 1'000'000});
    ASSERT_EQ(s.status, Status::converged) << name << " " << s.certificate.residual();
    EXPECT_LT((s.x - reference.x).norm(), 1e-8 * (1 + reference.x.norm())) << name;
  }
}

// Recipe 000 §10: "troublesome with large mass ratios" is said of MINRES, "no issue" of the direct
// solver. With each joint scaled by its own inverse inertia MINRES takes a step a link.
TEST(Linear, ScaledJointByJointMinresTakesAStepALinkWhateverTheMassRatio) {
  std::array<int, 3> iterations{};
  for (int k = 0; k < 3; ++k) {
    const StepProblem p = chain({.links = 40, .mass_ratio = std::pow(1000.0, k)});
    const Solution direct = solve(p, {.solver = "ldlt", .tolerance = 1e-11});
    EXPECT_EQ(direct.status, Status::converged) << k;
    const Solution krylov =
        solve(p, {.solver = "minres", .tolerance = 1e-8, .max_iterations = 100000});
    EXPECT_EQ(krylov.status, Status::converged) << k << ' ' << krylov.certificate.residual();
    iterations[k] = krylov.iterations;
  }
  RecordProperty("iterations",
                 fmt::format("{} {} {}", iterations[0], iterations[1], iterations[2]));
  for (const int count : iterations) EXPECT_LE(count, 44);
}

// blockdiag(W_ii) as preconditioner: in which units a joint's rows are is nothing that MINRES sees.
TEST(Linear, MinresDoesNotSeeTheUnitsOfAJoint) {
  const StepProblem p = chain({.links = 60});
  StepProblem scaled = p;
  for (int i = 0; i < p.blocks(); ++i) {
    const double unit = std::pow(1000.0, i % 3 - 1);
    for (int e = p.J.entry_start[i]; e < p.J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = p.J.entries[e];
      for (int k = 0; k < p.J.height(i) * entry.width; ++k)
        scaled.J.values[entry.offset + k] *= unit;
    }
    for (int r = p.J.row_start[i]; r < p.J.row_start[i + 1]; ++r) scaled.b[r] *= unit;
  }
  const SolveOptions options{.solver = "minres", .tolerance = 1e-8, .max_iterations = 1000};
  const Solution one = solve(p, options), other = solve(scaled, options);
  ASSERT_EQ(one.status, Status::converged) << one.message;
  ASSERT_EQ(other.status, Status::converged) << other.message;
  EXPECT_LT((one.x - other.x).norm(), 1e-6 * one.x.norm());
  // The stop test weighs rows by their size, the method does not: two steps a link will do.
  EXPECT_LE(one.iterations, 120);
  EXPECT_LE(other.iterations, 120);
}

TEST(Compliance, SoftContactYieldsByItsCompliance) {
  // u = x + e λ: resting under gravity, the compliant contact sinks at the velocity that gives λ =
  // m g h.
  StepProblem p = sliding_mass({.velocity = 0});
  const double e = 0.5;
  for (int r = 0; r < 3; ++r) p.E.insert(r, r) = e;
  p.E.makeCompressed();
  // m(v + g h) = λ and v + e λ = 0.
  const double lambda = 9.81 * 0.01 / (1 + e);
  for (const SolverInfo& info : solvers()) {
    if (!info.can.cones) continue;
    const Solution s =
        solve(p, {.solver = std::string(info.name), .tolerance = 1e-10, .max_iterations = 100000});
    ASSERT_EQ(s.status, Status::converged) << info.name << " " << s.message;
    EXPECT_NEAR(s.lambda[0], lambda, 1e-9) << info.name;
    EXPECT_NEAR(s.x[2], -e * lambda, 1e-9) << info.name;
  }
}

TEST(EmptyProblem, WithoutAnyRowsEverySolverReturnsTheFreeMotion) {
  StepProblem p = sliding_mass();
  p.J = {};
  p.J.columns = 3;
  p.K = {};
  p.b.resize(0);
  p.E.resize(0, 0);
  for (const SolverInfo& info : solvers()) {
    const Solution s = solve(p, {.solver = std::string(info.name)});
    EXPECT_EQ(s.status, Status::converged) << info.name << " " << s.message;
    EXPECT_NEAR(s.x[2], -9.81 * 0.01, 1e-15) << info.name;
  }
}

}  // namespace
}  // namespace urto
