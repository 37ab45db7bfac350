// The interior point against an independent method, with every one of its options, on the
// degenerate cases and where no solution exists.
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "solver/duplicated_rows.h"
#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

/// Fewer under a sanitizer.
#ifdef NDEBUG
constexpr int random_programs = 5000;
#else
constexpr int random_programs = 200;
#endif

using Options = InteriorPointOptions;

class RandomProblem {
 public:
  explicit RandomProblem(unsigned seed) : generator_(seed) {}

  /// Two bodies of six dofs, rows in the sets given; a velocity strictly inside K* exists, so there
  /// is a solution.
  StepProblem make(const std::vector<ConvexSet>& sets, bool redundant) {
    StepProblem p;
    BlockMatrix H;
    for (int k = 0; k < 2; ++k) {
      Matrix A = matrix(6, 6);
      H.push_back(A * A.transpose() + 0.1 * Matrix::Identity(6, 6));
    }
    p.H = H;
    p.a = matrix(12, 1);
    p.J.columns = 12;
    const Vector x = matrix(12, 1);
    std::vector<double> b;
    for (const ConvexSet& set : sets) add(p, set, matrix(set.dim, 12), x, b);
    if (redundant) {
      // Every block once more, in the same rows: rank-deficient, and as feasible as before.
      const BlockRows J = p.J;
      for (std::size_t i = 0; i < sets.size(); ++i) {
        p.J.add_block(sets[i].dim);
        for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
          const auto& entry = J.entries[e];
          p.J.add_entry(
              entry.column,
              Matrix(Eigen::Map<
                     const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
                  J.values.data() + entry.offset, sets[i].dim, entry.width)));
        }
        p.K.push_back(sets[i]);
      }
      const std::vector<double> once = b;
      b.insert(b.end(), once.begin(), once.end());
    }
    p.b = Eigen::Map<const Vector>(b.data(), static_cast<Eigen::Index>(b.size()));
    p.E.resize(p.rows(), p.rows());
    return p;
  }
  double number() { return distribution_(generator_); }
  Matrix matrix(int rows, int columns) {
    return Matrix::NullaryExpr(rows, columns, [&] { return number(); });
  }

 private:
  void add(StepProblem& p, const ConvexSet& set, const Matrix& J, const Vector& x,
           std::vector<double>& b) {
    p.J.add_block(set.dim);
    p.J.add_entry(0, J.leftCols(6));
    p.J.add_entry(6, J.rightCols(6));
    p.K.push_back(set);
    const Vector u = J * x;
    for (int k = 0; k < set.dim; ++k) {
      const bool axis = k == 0 || set.kind == SetKind::nonnegative;
      // Inside the dual cone: u = (1, 0, 0) and more; anything is for a box.
      const double inside = set.kind == SetKind::free ? 0 : axis ? 0.1 + std::abs(number()) : 0;
      b.push_back(inside - u[k]);
    }
  }
  std::mt19937_64 generator_;
  std::uniform_real_distribution<double> distribution_{-1, 1};
};

double free_velocity_norm(const StepProblem& p) {
  return solve(p, {.solver = "sor", .max_iterations = 0}).u.norm();
}

struct Tally {
  int alone = 0, finished = 0;  ///< iterations
  int compared = 0,
      both = 0;  ///< problems that the other method solved; and the interior point alone too
};

// The interior point with its Newton finish and, where it reaches the tolerance so, without: then
// it has no step in common with the other method.
void expect_agreement(const StepProblem& p, int seed, const char* other, Tally& tally) {
  SolveOptions options{
      .solver = "ipm", .tolerance = 1e-9, .max_iterations = 100000, .friction = Friction::convex};
  const Solution finished = solve(p, options);
  ASSERT_EQ(finished.status, Status::converged)
      << seed << " " << finished.message << " " << finished.certificate.residual();
  options.interior_point.newton_finish = false;
  const Solution alone = solve(p, options);
  options.solver = other;
  const Solution r = solve(p, options);
  if (r.status != Status::converged) return;
  ++tally.compared;
  const double bound = 1e-8 * (1 + free_velocity_norm(p));
  EXPECT_LT((finished.u - r.u).norm(), bound) << seed;
  tally.finished += finished.iterations;
  tally.alone += alone.iterations;
  if (alone.status != Status::converged) return;
  ++tally.both;
  EXPECT_LT((alone.u - r.u).norm(), bound) << seed;
}

std::vector<ConvexSet> quadratic_rows(int seed) {
  std::vector<ConvexSet> sets{ConvexSet::free(2), ConvexSet::nonnegative(4),
                              ConvexSet::nonnegative(4)};
  if (seed % 3 == 0) sets.push_back(ConvexSet::box(-0.2, 0.3, 2));
  return sets;
}

std::vector<ConvexSet> cone_rows(int seed, double mu) {
  std::vector<ConvexSet> sets{ConvexSet::free(2),       ConvexSet::cone(mu),
                              ConvexSet::nonnegative(), ConvexSet::cone(0.3),
                              ConvexSet::nonnegative(), ConvexSet::cone(mu, 2)};
  if (seed % 3 == 0) sets.push_back(ConvexSet::box(-0.2, 0.3));
  if (seed % 5 == 0) sets.push_back(ConvexSet::cone(0));
  return sets;
}

TEST(InteriorPoint, RandomQuadraticProgramsAgreeWithTheProximalPoint) {
  constexpr int count = random_programs;
  Tally tally;
  for (int seed = 0; seed < count; ++seed) {
    RandomProblem random(seed);
    expect_agreement(random.make(quadratic_rows(seed), seed % 4 == 0), seed, "prox", tally);
  }
  EXPECT_EQ(tally.both, count);
  EXPECT_LT(tally.alone, 14 * count);
  EXPECT_LT(tally.finished, 0.9 * tally.alone);
}

TEST(InteriorPoint, RandomConeProgramsAgreeWithTheProximalPoint) {
  constexpr int count = random_programs;
  Tally tally;
  for (int seed = 0; seed < count; ++seed) {
    RandomProblem random(100000 + seed);
    const double mu = 0.05 + std::abs(random.number());
    expect_agreement(random.make(cone_rows(seed, mu), seed % 4 == 0), seed, "prox", tally);
  }
  EXPECT_EQ(tally.compared, count);
  // Degenerate cones, most of them redundant, end at 1e-8 without the finish.
  EXPECT_GT(tally.both, 0.8 * count);
  EXPECT_LT(tally.finished, 18 * count);
}

TEST(InteriorPoint, RandomProgramsAgreeWithTheAcceleratedGradient) {
  // A method without any factorisation; it does not always arrive.
  constexpr int count = random_programs;
  Tally tally;
  for (int seed = 0; seed < count; ++seed) {
    RandomProblem random(300000 + seed);
    const auto sets = seed % 2 == 0 ? quadratic_rows(seed) : cone_rows(seed, 0.4);
    expect_agreement(random.make(sets, seed % 4 == 1), seed, "apgd", tally);
  }
  EXPECT_GT(tally.compared, 0.8 * count);
}

TEST(InteriorPoint, RandomContradictionsAreRecognised) {
  for (int seed = 0; seed < 500; ++seed) {
    RandomProblem random(200000 + seed);
    StepProblem p = random.make({ConvexSet::nonnegative(3), ConvexSet::cone(0.4)}, false);
    // The first row again with the opposite sign and no room between the two.
    const auto& entry = p.J.entries;
    p.J.add_block(1);
    for (int e = p.J.entry_start[0]; e < p.J.entry_start[1]; ++e) {
      Matrix row(1, entry[e].width);
      for (int c = 0; c < entry[e].width; ++c) row(0, c) = -p.J.values[entry[e].offset + c];
      p.J.add_entry(entry[e].column, row);
    }
    p.K.push_back(ConvexSet::nonnegative());
    Vector b(p.rows());
    b << p.b, -p.b[0] - (0.5 + std::abs(random.number()));
    p.b = b;
    p.E.resize(p.rows(), p.rows());
    for (const Friction law : {Friction::convex, Friction::exact}) {
      const Solution s = solve(p, {.solver = "ipm", .friction = law});
      EXPECT_EQ(s.status, Status::infeasible) << seed << " " << s.iterations;
    }
  }
}

TEST(InteriorPoint, EveryOptionLeadsToTheSameMotion) {
  const StepProblem p = sphere_packing({.contacts = 40, .mu = 0.4});
  StepProblem smooth = box_stack({.levels = 2, .mu = 0, .push = 0.1});
  std::vector<Options> all(12);
  all[1].start = Options::Start::ones;
  all[2].start = Options::Start::least_squares;
  all[3].steps = Options::Steps::separate;
  all[4].step_length = Options::StepLength::roots;
  all[5].step_length = Options::StepLength::rescaling;
  all[6].fixed_eta = 0.95;
  all[7].shorten_full_steps = true;
  all[8].damp_residuals = true;
  all[9].recursive_residuals = true;
  all[10].predictor_only = true;
  all[11].centring = Options::Centring::mehrotra;
  for (const StepProblem* problem : {&p, static_cast<const StepProblem*>(&smooth)}) {
    const Solution reference =
        solve(*problem, {.solver = "prox", .tolerance = 1e-10, .friction = Friction::convex});
    ASSERT_EQ(reference.status, Status::converged);
    for (std::size_t k = 0; k < all.size(); ++k) {
      if (k == 10 && problem == &p) continue;  // without a corrector nothing keeps cones central
      SolveOptions options{.solver = "ipm", .tolerance = 1e-9, .friction = Friction::convex};
      options.interior_point = all[k];
      const Solution s = solve(*problem, options);
      EXPECT_EQ(s.status, Status::converged) << "option " << k << " " << s.certificate.residual();
      EXPECT_LT((s.u - reference.u).norm(), 1e-8 * (1 + reference.u.norm())) << "option " << k;
    }
  }
}

// Recipe 001 §2.7.11, checklist 44: all four criteria, in the problem's units or relative to it.
TEST(InteriorPoint, StopTestsOfTheSourceAreWhatTheySay) {
  using Stop = Options::Stop;
  for (const double friction : {0.0, 0.4}) {
    const StepProblem p = sphere_packing({.contacts = 60, .mu = friction});
    for (const Stop stop : {Stop::absolute, Stop::relative}) {
      std::vector<int> iterations;
      for (const double mu : {1e-3, 1e-8, 1e-15}) {
        SolveOptions options{.solver = "ipm", .friction = Friction::convex, .record_history = true};
        options.interior_point.stop = stop;
        options.interior_point.mu_tolerance = mu;
        options.interior_point.residual_tolerance = 1e-9;
        options.interior_point.newton_finish = false;
        const Solution s = solve(p, options);
        ASSERT_FALSE(s.interior_point_log.empty());
        EXPECT_EQ(s.status == Status::converged, s.certificate.meets(options.tolerance));
        iterations.push_back(s.iterations);
        if (stop == Stop::relative) {
          EXPECT_LE(s.interior_point_log.back().mu, mu);
        } else {
          // One pair a contact: μ is the mean of λ·u, as the residuals are far smaller.
          EXPECT_LE(s.lambda.dot(s.u), 1.01 * mu * p.blocks() + 1e-9);
        }
      }
      EXPECT_LE(iterations[0], iterations[1]);
      EXPECT_LT(iterations[1], iterations[2]);
    }
  }
}

TEST(InteriorPoint, LoopAndDirectTreatmentFindTheSameSlidingMass) {
  for (const auto coulomb : {Options::Coulomb::direct, Options::Coulomb::loop}) {
    SolveOptions options{.solver = "ipm", .tolerance = 1e-10};
    options.interior_point.coulomb = coulomb;
    const Solution s = solve(sliding_mass(), options);
    ASSERT_EQ(s.status, Status::converged) << s.message;
    EXPECT_NEAR(s.x[2], 0, 1e-9);
    EXPECT_NEAR(s.x[0], 2 - 0.3 * 9.81 * 0.01, 1e-9);
  }
}

TEST(InteriorPoint, JointsOnlyAndDuplicatedJointsAreOneLinearSolve) {
  const StepProblem once = chain({.links = 20, .mass_ratio = 100});
  const Solution direct = solve(once, {.solver = "ldlt", .tolerance = 1e-12});
  for (const StepProblem& p : {once, with_every_row_twice(once)}) {
    const Solution s = solve(p, {.solver = "ipm", .tolerance = 1e-10});
    ASSERT_EQ(s.status, Status::converged) << s.message << s.certificate.residual();
    RecordProperty(std::to_string(p.rows()), fmt::format("{} {}", s.iterations, s.factorizations));
    EXPECT_LE(s.iterations, 3) << p.rows();
    EXPECT_LT((s.x - direct.x).norm(), 1e-9 * (1 + direct.x.norm())) << p.rows();
  }
}

TEST(InteriorPoint, FixedMultipliersAreTakenOut) {
  // A brake of ±h·5 N·m and one that always pushes with 0.01: the latter is a force.
  RandomProblem random(7);
  StepProblem p =
      random.make({ConvexSet::nonnegative(2), ConvexSet::box(0.4, 0.4), ConvexSet::cone(0)}, false);
  const Solution reference = solve(p, {.solver = "prox", .tolerance = 1e-10});
  const Solution s = solve(p, {.solver = "ipm", .tolerance = 1e-10});
  ASSERT_EQ(s.status, Status::converged) << s.message;
  EXPECT_EQ(s.lambda[2], 0.4);
  EXPECT_EQ(s.lambda[4], 0);
  EXPECT_LT((s.x - reference.x).norm(), 1e-8);
}

TEST(InteriorPoint, WritesDownWhatItDid) {
  const StepProblem p = sphere_packing({.contacts = 40, .mu = 0.4});
  const Solution s = solve(
      p,
      {.solver = "ipm", .tolerance = 1e-5, .friction = Friction::convex, .record_history = true});
  ASSERT_EQ(s.status, Status::converged);
  ASSERT_FALSE(s.interior_point_log.empty());
  EXPECT_LE(s.interior_point_log.size(), static_cast<std::size_t>(s.iterations));
  double mu = std::numeric_limits<double>::infinity();
  for (const InteriorPointRecord& r : s.interior_point_log) {
    EXPECT_GT(r.primal_step, 0);
    EXPECT_LE(r.primal_step, 1);
    EXPECT_LT(r.linear_residual, 1e-6);
    EXPECT_GE(r.sigma, 0);
    EXPECT_LE(r.sigma, 1);
    mu = r.mu;
  }
  EXPECT_LT(mu, 1e-6);
  EXPECT_LT(s.interior_point_log.back().primal_residual, 1e-6);
  EXPECT_LT(s.interior_point_log.back().dual_residual, 1e-6);
}

// Recipe 001 §2.7.5, checklist 29: one more for the start and each linear solve that had to be
// repeated.
TEST(InteriorPoint, MehrotrasIterationIsOneFactorisationAndTwoSolves) {
  for (const double friction : {0.0, 0.4}) {
    SolveOptions options{.solver = "ipm", .tolerance = 1e-5, .friction = Friction::convex};
    options.interior_point.centring = Options::Centring::mehrotra;
    options.interior_point.centrality_corrections = 0;
    options.interior_point.newton_finish = false;
    const Solution s = solve(sphere_packing({.contacts = 60, .mu = friction}), options);
    ASSERT_EQ(s.status, Status::converged);
    EXPECT_LE(s.linear.strengthened, 1);
    EXPECT_EQ(s.linear.all_factorizations(), s.iterations + 1 + s.linear.strengthened);
    EXPECT_EQ(s.linear.solves, 2 * s.iterations + 1 + s.linear.strengthened);
  }
}

// Recipe 001 §2.7.5, checklist 31.
TEST(InteriorPoint, MehrotrasCentringIsTheCubeOfThePredictorsGain) {
  for (const double friction : {0.0, 0.4}) {
    SolveOptions options{.solver = "ipm", .friction = Friction::convex, .record_history = true};
    options.interior_point.centring = Options::Centring::mehrotra;
    const Solution s = solve(sphere_packing({.contacts = 60, .mu = friction}), options);
    ASSERT_GT(s.interior_point_log.size(), 3U);
    for (std::size_t k = 1; k < s.interior_point_log.size(); ++k) {
      const InteriorPointRecord& r = s.interior_point_log[k];
      if (r.iteration != s.interior_point_log[k - 1].iteration + 1)
        continue;  // a Newton finish between
      const double gain = std::clamp(r.predictor_mu / s.interior_point_log[k - 1].mu, 0.0, 1.0);
      EXPECT_NEAR(r.sigma, gain * gain * gain, 1e-12 + 1e-9 * r.sigma) << k;
    }
  }
}

}  // namespace
}  // namespace urto
