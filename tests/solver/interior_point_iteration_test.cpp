// What each option of the interior point does to an iteration: every iterate beside that of a dense
// method written from the recipe, starts by hand, residuals recomputed from x and λ, counts.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "solver/interior_point_reference.h"
#include "solver/random_problem.h"
#include "urto/linalg/pivoting_factor.h"
#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

using Options = InteriorPointOptions;
using Start = Options::Start;
using Steps = Options::Steps;

/// Of one iterate, in the problem's units.
struct Kept {
  int iteration;
  Vector x, lambda, velocity, dual_residual, primal_residual;
  double mu, energy;
};

struct Watched {
  Solution solution;
  std::vector<Kept> iterates = {};  ///< the first is the start
  const std::vector<InteriorPointRecord>& log() const { return solution.interior_point_log; }
};

/// With nothing but the interior point: no Newton finish.
Watched watch(const StepProblem& p, Options options, double tolerance = 1e-10,
              const Vector* warm_start = nullptr) {
  Watched out;
  options.newton_finish = false;
  options.on_iterate = [&](const InteriorPointIterate& i) {
    out.iterates.push_back({i.iteration, i.x, i.lambda, i.velocity, i.dual_residual,
                            i.primal_residual, i.mu, i.energy});
  };
  out.solution = solve(p,
                       {.solver = "ipm",
                        .tolerance = tolerance,
                        .max_iterations = 60,
                        .friction = Friction::convex,
                        .record_history = true,
                        .interior_point = options},
                       warm_start);
  return out;
}

/// The source's iteration: Mehrotra's centring, no corrections of centrality.
Options of_the_source() {
  Options o;
  o.start = Start::least_squares;
  o.steps = Steps::separate;
  o.centring = Options::Centring::mehrotra;
  o.fixed_eta = 0.95;
  o.centrality_corrections = 0;
  return o;
}

StepProblem quadratic_program(unsigned seed, bool compliant) {
  RandomProblem random(seed);
  StepProblem p = random.make(
      {ConvexSet::free(2), ConvexSet::nonnegative(3), ConvexSet::nonnegative(4)}, false);
  if (compliant) {
    for (int r = 0; r < p.rows(); ++r) p.E.insert(r, r) = 0.02 * (1 + r % 5);
  }
  p.E.makeCompressed();
  return p;
}

StepProblem cone_program(unsigned seed, bool compliant) {
  RandomProblem random(1000 + seed);
  StepProblem p = random.make({ConvexSet::free(2), ConvexSet::cone(0.7), ConvexSet::nonnegative(2),
                               ConvexSet::cone(0.3), ConvexSet::cone(1.2, 2)},
                              false);
  if (compliant) {
    for (int r = 0; r < p.rows(); ++r) p.E.insert(r, r) = 0.02 * (1 + r % 5);
  }
  p.E.makeCompressed();
  return p;
}

// ---- Every iterate

struct Variant {
  const char* name;
  Options options;
  bool cones = true;  ///< start A and separate steps are for ℝ₊ (recipe 001 §2.7.6, 2.8.7)
};

std::vector<Variant> variants() {
  std::vector<Variant> all;
  const auto add = [&](const char* name, bool cones, auto change) {
    Variant v{name, of_the_source(), cones};
    if (cones) v.options.steps = Steps::common;
    change(v.options);
    all.push_back(v);
  };
  add("the source's iteration", false, [](Options&) {});
  add("common steps", true, [](Options&) {});
  add("start from ones", false, [](Options& o) { o.start = Start::ones; });
  add("adaptive eta", true, [](Options& o) { o.fixed_eta = -1; });
  add("another eta", true, [](Options& o) { o.fixed_eta = 0.7; });
  add("full steps shortened", true, [](Options& o) { o.shorten_full_steps = true; });
  add("predictor only", false, [](Options& o) { o.predictor_only = true; });
  add("residuals damped", true, [](Options& o) { o.damp_residuals = true; });
  add("residuals damped, separate steps", false, [](Options& o) { o.damp_residuals = true; });
  add("residuals carried along", true, [](Options& o) { o.recursive_residuals = true; });
  add("damped and carried along", false,
      [](Options& o) { o.recursive_residuals = o.damp_residuals = true; });
  add("the whole matrix by LU", true, [](Options& o) { o.use_symmetry = false; });
  add("steps by roots", true, [](Options& o) { o.step_length = Options::StepLength::roots; });
  add("steps by re-scaling", true,
      [](Options& o) { o.step_length = Options::StepLength::rescaling; });
  add("condensed", true, [](Options& o) { o.linear_path = LinearPath::condensed; });
  add("augmented", true, [](Options& o) { o.linear_path = LinearPath::augmented; });
  add("pivoting", true, [](Options& o) { o.linear_path = LinearPath::pivoting; });
  return all;
}

// Recipe 001 §2.7.12, 2.8: predictor, σ, corrector, both step rules, η, starts A and B, damping,
// compliance; checklist 25–28, 30–36, 39, 40, 47, 50–53, 55–59.
void expect_the_same_iterates(const StepProblem& p, const Variant& v, const std::string& where) {
  reference::Method method(reference::Problem(p), v.options);
  v.options.start == Start::ones ? method.start_from_ones() : method.start_from_least_squares();
  const Watched run = watch(p, v.options);
  ASSERT_GE(run.iterates.size(), 4U) << where;
  const double e = method.p.energy;
  EXPECT_NEAR(run.iterates[0].energy, e * e, 1e-12 * e * e) << where;
  for (std::size_t k = 0; k < run.iterates.size(); ++k) {
    const Kept& i = run.iterates[k];
    const double mu = method.mu();
    if (mu < 1e-7) break;  // rounding is magnified by 1/μ from here on
    const auto near = [&](const Vector& found, const Vector& wanted, double size) {
      return (found - wanted).norm() <= 1e-8 * size;
    };
    const Vector lambda = e * method.p.scale.cwiseProduct(method.at.l);
    const Vector velocity = e * method.at.y.cwiseQuotient(method.p.scale);
    const std::string step = where + ", iterate " + std::to_string(k);
    ASSERT_TRUE(near(i.x, e * method.at.x, e)) << step;
    ASSERT_TRUE(near(i.lambda, lambda, 1 + lambda.norm())) << step;
    ASSERT_TRUE(near(i.velocity, velocity, 1 + velocity.norm())) << step;
    ASSERT_NEAR(i.mu, mu, 1e-8 * (1 + mu)) << step;
    const reference::Step next = method.next();
    if (next.primal < 0.02 || next.dual < 0.02) break;  // … and by the nearness of the boundary
    if (k < run.log().size()) {
      const InteriorPointRecord& r = run.log()[k];
      ASSERT_NEAR(r.predictor_step, next.predictor, 1e-7) << step;
      ASSERT_NEAR(r.predictor_mu, next.predictor_mu, 1e-7 * (1 + mu)) << step;
      ASSERT_NEAR(r.sigma, next.sigma, 1e-6) << step;
      ASSERT_NEAR(r.eta, next.eta, 1e-9) << step;
      ASSERT_NEAR(r.primal_step, next.primal, 1e-7) << step;
      ASSERT_NEAR(r.dual_step, next.dual, 1e-7) << step;
    }
    method.take(next);
  }
}

TEST(InteriorPointIteration, IsThatOfADenseMethodForEveryOption) {
  for (const Variant& v : variants()) {
    if (v.options.linear_path == LinearPath::pivoting && !PivotingFactor::is_available()) continue;
    for (unsigned seed = 0; seed < 6; ++seed) {
      for (const bool compliant : {false, true}) {
        const std::string where = std::string(v.name) + (compliant ? ", compliant" : "") +
                                  ", seed " + std::to_string(seed);
        expect_the_same_iterates(quadratic_program(seed, compliant), v, where);
        if (v.cones) expect_the_same_iterates(cone_program(seed, compliant), v, where + ", cones");
      }
    }
  }
}

// Checklist 27: another factorisation of the same matrix; the same numbers, but not the same bits.
TEST(InteriorPointIteration, TheWholeMatrixIsFactorisedByLuWhereAskedFor) {
  int different = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    Options options = of_the_source();
    options.steps = Steps::common;
    const Watched symmetric = watch(cone_program(seed, false), options);
    options.use_symmetry = false;
    const Watched general = watch(cone_program(seed, false), options);
    ASSERT_GE(std::min(symmetric.iterates.size(), general.iterates.size()), 4U);
    const Vector& a = symmetric.iterates[3].x;
    const Vector& b = general.iterates[3].x;
    EXPECT_LT((a - b).norm(), 1e-10 * (1 + a.norm()));
    different += a != b ? 1 : 0;
  }
  EXPECT_GT(different, 0);
}

// ---- Starts

/// n unit masses, each above its own unilateral row: W = I, q = a.
StepProblem unit_masses(const Vector& a) {
  const int n = static_cast<int>(a.size());
  StepProblem p;
  BlockMatrix H;
  p.J.columns = n;
  for (int i = 0; i < n; ++i) {
    H.push_back(Matrix::Identity(1, 1));
    p.J.add_block(1);
    p.J.add_entry(i, Matrix(Matrix::Identity(1, 1)));
    p.K.push_back(ConvexSet::nonnegative());
  }
  p.H = H;
  p.a = a;
  p.b.setZero(n);
  p.E.resize(n, n);
  return p;
}

// Recipe 001 §2.7.6, checklist 39. Of 16 unit masses with Σq² = 16 the typical energy is 1; the
// predictor from ones, H Δv − Δλ = q, Δv + Δλ = −1, gives Δλ = −(1 + q)/2 and Δy = Δv = (q − 1)/2.
TEST(InteriorPointIteration, StartFromOnesIsThatOfAQuadraticProgramSolvedByHand) {
  for (const double sign : {1.0, -1.0}) {
    Vector a = Vector::Zero(16);
    a.head(4) << 3.5, -1.5, 1, std::sqrt(16 - 12.25 - 2.25 - 1);
    a *= sign;
    Options options = of_the_source();
    options.start = Start::ones;
    const Watched run = watch(unit_masses(a), options);
    const Kept& start = run.iterates.front();
    EXPECT_NEAR(start.energy, 1, 1e-14);
    for (int i = 0; i < 16; ++i) {
      EXPECT_NEAR(start.x[i], 1, 1e-14) << "ones, in units of e/√H";
      EXPECT_NEAR(start.lambda[i], std::max(1.0, std::abs(1 - (1 + a[i]) / 2)), 1e-13);
      EXPECT_NEAR(start.velocity[i], std::max(1.0, std::abs(1 + (a[i] - 1) / 2)), 1e-13);
    }
    // |1 − 4.5/2| = 1.25 of a multiplier below −1; |1 − 4.5/2| of a velocity, turned round.
    EXPECT_NEAR(sign > 0 ? start.lambda[0] : start.velocity[0], 1.25, 1e-13);
  }
}

// Recipe 001 §2.8.6, checklist 40, 59: v − λ = q, v + λ = 0, y = −λ; then the shift 1 + α.
TEST(InteriorPointIteration, StartFromLeastSquaresIsShiftedAlongTheAxes) {
  Vector a = Vector::Zero(4);
  a << -4, 1, 0, 0;
  a *= 2 / std::sqrt(17.0);  // e = 1
  const Watched run = watch(unit_masses(a), of_the_source());
  const Kept& start = run.iterates.front();
  const double unit = 2 / std::sqrt(17.0);
  // λ = −q/2 = unit (2, −½, 0, 0), its infimum α = ½ unit; y = −λ, α = 2 unit.
  const double lambda[] = {2, -0.5, 0, 0};
  for (int i = 0; i < 4; ++i) {
    EXPECT_NEAR(start.lambda[i], unit * lambda[i] + 1 + 0.5 * unit, 1e-13);
    EXPECT_NEAR(start.velocity[i], -unit * lambda[i] + 1 + 2 * unit, 1e-13);
    EXPECT_NEAR(start.x[i], unit * (i == 0 ? -2 : i == 1 ? 0.5 : 0), 1e-13);
  }
}

// A cone of friction ½ on a unit mass that moves with (−3, 4, 0): e = 5, S = diag(1, ½, ½), λ̂ = −(I
// + S²)⁻¹ S q/e = (0.3, −0.32, 0) and ŷ = −λ̂. Infima along the axis: 0.02 and 0.62.
TEST(InteriorPointIteration, StartOfAConeIsShiftedAlongItsAxisOnly) {
  StepProblem p;
  BlockMatrix H;
  H.push_back(Matrix::Identity(3, 3));
  p.H = H;
  p.a = Vec3(-3, 4, 0);
  p.J.columns = 3;
  p.J.add_block(3);
  p.J.add_entry(0, Matrix(Matrix::Identity(3, 3)));
  p.K.push_back(ConvexSet::cone(0.5));
  p.b.setZero(3);
  p.E.resize(3, 3);
  const Watched run = watch(p, of_the_source());
  const Kept& start = run.iterates.front();
  EXPECT_NEAR(start.energy, 25, 1e-12);
  EXPECT_LT((start.lambda - 5 * Vec3(1.32, 0.5 * -0.32, 0)).norm(), 1e-12);
  EXPECT_LT((start.velocity - 5 * Vec3(1.32, 2 * 0.32, 0)).norm(), 1e-12);
}

// The default: of the least-squares solution λ̂ − ŷ is kept, λ̂ ∘ ŷ = μ₀ e. μ₀ is 1, and 10 with
// cones.
TEST(InteriorPointIteration, CentredStartIsOnTheCentralPathNextToLeastSquares) {
  for (const bool cones : {false, true}) {
    const StepProblem p = cones ? cone_program(3, false) : quadratic_program(3, false);
    reference::Method method(reference::Problem(p), of_the_source());
    method.start_from_least_squares();
    Options options;
    const Watched run = watch(p, options);
    const Kept& start = run.iterates.front();
    const double e = method.p.energy;
    const Vector l = start.lambda.cwiseQuotient(e * method.p.scale);
    const Vector y = start.velocity.cwiseProduct(method.p.scale) / e;
    for (const reference::Block& k : method.p.blocks) {
      if (k.joint) continue;
      const auto of = [&k](const Vector& v) -> Vector { return v.segment(k.start, k.dim); };
      const Vector wanted = of(method.at.l) - of(method.at.y);
      const Vector found = of(l) - of(y);
      EXPECT_LT((found - wanted).tail(k.dim - 1).norm(), 1e-10);
      EXPECT_LT(
          (reference::product(of(l), of(y)) - (cones ? 10 : 1) * reference::unit(k.dim)).norm(),
          1e-9);
    }
    EXPECT_NEAR(start.mu, cones ? 10 : 1, 1e-10);
  }
}

// ---- Residuals

// Checklist 25: r_d = Hv + c − Cᵀγ − Dᵀλ, r_pγ = Cv − b_γ, r_pλ = Dv + Eλ − b_λ − y and μ from x, λ
// and y by dense products; the log has their norms.
TEST(InteriorPointIteration, ResidualsAreThoseOfTheIterate) {
  for (const bool cones : {false, true}) {
    for (unsigned seed = 0; seed < 4; ++seed) {
      const StepProblem p = cones ? cone_program(seed, true) : quadratic_program(seed, true);
      const reference::Problem scaled(p);
      const Watched run = watch(p, {});
      ASSERT_EQ(run.log().size() + 1, run.iterates.size());
      const Matrix H = sparse_mass(p), J = to_sparse(p.J), E = p.E;
      for (std::size_t k = 0; k < run.iterates.size(); ++k) {
        const Kept& i = run.iterates[k];
        const Vector dual = H * i.x - J.transpose() * i.lambda - p.a;
        const Vector primal = J * i.x + E * i.lambda + p.b - i.velocity;
        const double size = 1e-13 * (1 + i.x.norm() + i.lambda.norm() + i.velocity.norm());
        EXPECT_LT((i.dual_residual - dual).norm(), 10 * size);
        EXPECT_LT((i.primal_residual - primal).norm(), 10 * size);
        const double e = std::sqrt(i.energy);
        const Vector weighed = primal.cwiseProduct(scaled.scale) / e;
        EXPECT_NEAR(i.mu, i.lambda.dot(i.velocity) / (i.energy * scaled.degree()),
                    1e-12 * (1 + i.mu));
        if (k == 0) continue;
        const InteriorPointRecord& r = run.log()[k - 1];
        EXPECT_EQ(r.iteration, i.iteration);
        EXPECT_NEAR(r.dual_residual, dual.norm() / e, 10 * size / e);
        double joints = 0, others = 0;
        for (const reference::Block& b : scaled.blocks)
          (b.joint ? joints : others) += weighed.segment(b.start, b.dim).squaredNorm();
        EXPECT_NEAR(r.joint_residual, std::sqrt(joints), 10 * size / e);
        EXPECT_NEAR(r.primal_residual, std::sqrt(others), 10 * size / e);
      }
    }
  }
}

// Recipe 001 §2.7.4 with steps of different lengths, compliance and damping, checklist 37, 47:
//
//     r_d ← (1 − ακ) r_d + (α_P − α_D) H Δv,    r_p ← (1 − ακ) r_p + (α_D − α_P) E Δλ
//
// with κ = 1, or 1 − σ where the corrector damps the residuals.
TEST(InteriorPointIteration, ResidualsCarriedAlongAreThoseRecomputed) {
  for (const bool damped : {false, true}) {
    for (const auto centring : {Options::Centring::mehrotra, Options::Centring::searched}) {
      for (const Steps steps : {Steps::separate, Steps::common}) {
        bool unequal = false;
        double largest_sigma = 0;
        for (unsigned seed = 0; seed < 8; ++seed) {
          const bool cones = seed % 2 == 1;
          const StepProblem p = cones ? cone_program(seed, true) : quadratic_program(seed, true);
          Options options;
          options.centring = centring;
          options.steps = steps;
          options.damp_residuals = damped;
          options.recursive_residuals = true;
          const Watched run = watch(p, options, 1e-7);
          ASSERT_GE(run.log().size(), 5U);
          const Matrix H = sparse_mass(p), J = to_sparse(p.J), E = p.E;
          for (std::size_t k = 1; k < run.iterates.size(); ++k) {
            const Kept& i = run.iterates[k];
            const InteriorPointRecord& r = run.log()[k - 1];
            if (r.mu < 1e-6 || r.repaired > 0) break;
            // Each linear solve is refined to 1e-13.
            EXPECT_LT(r.recursion_gap, 1e-13 * static_cast<double>(k))
                << "seed " << seed << ", iteration " << k;
            const Vector dual = H * i.x - J.transpose() * i.lambda - p.a;
            const Vector primal = J * i.x + E * i.lambda + p.b - i.velocity;
            const double dual_terms = (H * i.x).norm() + p.a.norm() + i.lambda.norm();
            EXPECT_LT((i.dual_residual - dual).norm(), 3e-13 * dual_terms);
            EXPECT_LT((i.primal_residual - primal).norm(),
                      3e-13 * (primal + i.velocity).norm() + 3e-13 * i.velocity.norm());
            unequal = unequal || std::abs(r.primal_step - r.dual_step) > 1e-3;
            if (r.primal_step < 1) largest_sigma = std::max(largest_sigma, r.sigma);
          }
        }
        EXPECT_EQ(unequal, steps == Steps::separate);
        EXPECT_GT(largest_sigma, 1e-4) << "else damping would not show";
      }
    }
  }
}

// Checklist 51: with equal steps all three residuals fall by 1 − α, damped by 1 − α(1 − σ).
TEST(InteriorPointIteration, DampedResidualsFallByOneLessTheStepTimesOneLessSigma) {
  for (const bool damped : {false, true}) {
    Options options = of_the_source();
    options.steps = Steps::common;
    options.damp_residuals = damped;
    int seen = 0;
    for (unsigned seed = 0; seed < 6; ++seed) {
      const Watched run = watch(cone_program(seed, false), options);
      for (std::size_t k = 1; k < run.log().size(); ++k) {
        const InteriorPointRecord& before = run.log()[k - 1];
        const InteriorPointRecord& r = run.log()[k];
        const double left = 1 - r.primal_step * (damped ? 1 - r.sigma : 1);
        if (before.primal_residual < 1e-6) continue;  // rounding
        EXPECT_NEAR(r.primal_residual / before.primal_residual, left, 1e-5);
        EXPECT_NEAR(r.dual_residual / before.dual_residual, left, 1e-5);
        if (r.sigma > 1e-3) ++seen;
      }
    }
    EXPECT_GT(seen, 5);
  }
}

// ---- Steps

// Checklist 33, 34, 61.
TEST(InteriorPointIteration, CommonStepsAreEqualAndSeparateOnesAreNot) {
  for (const Steps steps : {Steps::common, Steps::separate, Steps::automatic}) {
    for (const bool cones : {false, true}) {
      int equal = 0, all = 0;
      for (unsigned seed = 0; seed < 10; ++seed) {
        Options options;
        options.steps = steps;
        options.centrality_corrections = 0;
        const Watched run =
            watch(cones ? cone_program(seed, false) : quadratic_program(seed, false), options);
        for (const InteriorPointRecord& r : run.log()) {
          if (r.primal_step == 1 && r.dual_step == 1) continue;
          ++all;
          equal += r.primal_step == r.dual_step ? 1 : 0;
        }
      }
      if (steps == Steps::separate)
        EXPECT_EQ(equal, 0);
      else
        EXPECT_EQ(equal, all) << "automatic ones differ only where they would be short";
    }
  }
}

// Masses of 10 to 10¹² kg on top of each other: the multipliers have decades to grow while the
// velocity stands, and common steps would be short.
TEST(InteriorPointIteration, AutomaticStepsAreSeparateWhereTheyWouldBeShort) {
  const int n = 12;
  StepProblem p = unit_masses(Vector::Zero(n));
  BlockMatrix H;
  p.J = {};
  p.J.columns = n;
  double mass = 1;
  for (int i = 0; i < n; ++i) {
    mass *= 10;
    H.push_back(Matrix::Constant(1, 1, mass));
    p.a[i] = -9.81 * 0.05 * mass;
    p.J.add_block(1);
    p.J.add_entry(i, Matrix(Matrix::Identity(1, 1)));
    if (i > 0) p.J.add_entry(i - 1, Matrix(-Matrix::Identity(1, 1)));
  }
  p.H = H;
  const Watched run = watch(p, {}, 1e-8);
  ASSERT_EQ(run.solution.status, Status::converged);
  int separate = 0;
  for (const InteriorPointRecord& r : run.log()) {
    if (r.primal_step == r.dual_step) continue;
    ++separate;
    EXPECT_LE(std::min(r.primal_step, r.dual_step), 0.1);
  }
  EXPECT_GT(separate, 0);
}

// Recipe 001 §2.7.3, checklist 35, 61: fixed; 0.9 + 0.1 exp(−μ n) below a cap; ours is the cap.
TEST(InteriorPointIteration, EtaIsFixedAdaptiveOrItsCap) {
  for (const bool cones : {false, true}) {
    const StepProblem p = cones ? cone_program(1, false) : quadratic_program(1, false);
    const double degree = reference::Problem(p).degree();
    const double cap = cones ? 0.99 : 0.9999;
    for (const double wanted : {0.0, 0.95, -1.0}) {
      Options options;
      options.fixed_eta = wanted;
      const Watched run = watch(p, options);
      ASSERT_GE(run.log().size(), 4U);
      double least = 1;
      for (std::size_t k = 0; k < run.log().size(); ++k) {
        const double adaptive = 0.9 + 0.1 * std::exp(-run.iterates[k].mu * degree);
        const double eta = wanted > 0 ? wanted : wanted < 0 ? std::min(adaptive, cap) : cap;
        EXPECT_NEAR(run.log()[k].eta, eta, 1e-14) << wanted << " " << k;
        least = std::min(least, run.log()[k].eta);
      }
      if (wanted < 0) {
        EXPECT_LT(least, 0.95) << "far from the solution";
        EXPECT_EQ(run.log().back().eta, cap) << "near it";
      }
    }
  }
}

// Recipe 001 §2.7.3, checklist 36: min{1, η ratio}, or η min{1, ratio} as the source's code has it.
TEST(InteriorPointIteration, AFullStepIsTakenOrShortenedAsTheRuleSays) {
  for (const bool cones : {false, true}) {
    for (const bool shorten : {false, true}) {
      Options options;
      options.fixed_eta = 0.95;
      options.shorten_full_steps = shorten;
      double longest = 0;
      for (unsigned seed = 0; seed < 6; ++seed) {
        const Watched run =
            watch(cones ? cone_program(seed, false) : quadratic_program(seed, false), options);
        for (const InteriorPointRecord& r : run.log())
          longest = std::max({longest, r.primal_step, r.dual_step});
      }
      EXPECT_EQ(longest, shorten ? 0.95 : 1.0);
    }
  }
}

// ---- What an iteration costs

// Checklist 29, 50: factorisations and solves, one more of each for the start.
TEST(InteriorPointIteration, CountsOfSolvesAreThoseOfTheOptions) {
  struct Case {
    const char* name;
    Options options;
    int solves;  ///< an iteration
  };
  std::vector<Case> cases(4);
  cases[0] = {"predictor only", of_the_source(), 1};
  cases[0].options.predictor_only = true;
  cases[1] = {"predictor only, corrections asked for", {}, 1};
  cases[1].options.predictor_only = true;
  cases[2] = {"Mehrotra", of_the_source(), 2};
  cases[3] = {"searched", of_the_source(), 3};
  cases[3].options.centring = Options::Centring::searched;
  for (const Case& c : cases) {
    for (unsigned seed = 0; seed < 4; ++seed) {
      const Watched run = watch(quadratic_program(seed, false), c.options, 1e-5);
      ASSERT_EQ(run.solution.status, Status::converged) << c.name;
      const LinearCounters& count = run.solution.linear;
      // A solve that misses its residual is repeated by a safer path.
      ASSERT_LE(count.strengthened, 1);
      EXPECT_EQ(count.all_factorizations(), run.solution.iterations + 1 + count.strengthened)
          << c.name;
      const int solves = c.solves * run.solution.iterations + 1;
      EXPECT_GE(count.solves, solves) << c.name;
      EXPECT_LE(count.solves, solves + count.strengthened) << c.name;
    }
  }
  // Each correction is one more substitution, fifteen at most; none where the step is long enough.
  for (const int most : {1, 6, 15}) {
    Options options = of_the_source();
    options.steps = Steps::common;
    options.centrality_corrections = most;
    int solves = 0, iterations = 0;
    for (unsigned seed = 0; seed < 10; ++seed) {
      const Watched run = watch(cone_program(seed, false), options, 1e-5);
      EXPECT_LE(run.solution.linear.solves, (2 + most) * run.solution.iterations + 1);
      solves += run.solution.linear.solves - 1;
      iterations += run.solution.iterations;
    }
    EXPECT_GT(solves, 2 * iterations);
  }
}

// The predictor alone, with its step: nothing keeps pairs from the boundary, so it is for ℝ₊.
TEST(InteriorPointIteration, PredictorAloneHasNoCentring) {
  Options options;
  options.predictor_only = true;
  for (unsigned seed = 0; seed < 4; ++seed) {
    const Watched run = watch(quadratic_program(seed, false), options, 1e-6);
    EXPECT_EQ(run.solution.status, Status::converged);
    for (const InteriorPointRecord& r : run.log()) EXPECT_EQ(r.sigma, 0);
  }
}

// ---- Repair

// Recipe 001 §2.8.7, checklist 60: with η = 1 steps end on the boundary, and what rounding has put
// there or beyond is pushed back; residuals are those of the pushed iterate, although they were to
// be carried along.
TEST(InteriorPointIteration, PairsOnTheBoundaryAreRepairedAndResidualsRecomputed) {
  int repaired = 0;
  for (unsigned seed = 0; seed < 20; ++seed) {
    const StepProblem p = cone_program(seed, false);
    Options options = of_the_source();
    options.steps = Steps::common;
    options.fixed_eta = 1;
    options.recursive_residuals = true;
    const Watched run = watch(p, options, 1e-6);
    const Matrix H = sparse_mass(p), J = to_sparse(p.J);
    const reference::Problem scaled(p);
    for (std::size_t k = 1; k < run.iterates.size(); ++k) {
      const InteriorPointRecord& r = run.log()[k - 1];
      if (r.repaired == 0) continue;
      repaired += r.repaired;
      EXPECT_EQ(r.recursion_gap, 0);
      const Kept& i = run.iterates[k];
      const Vector dual = H * i.x - J.transpose() * i.lambda - p.a;
      EXPECT_LT((i.dual_residual - dual).norm(), 1e-13 * (1 + i.lambda.norm() + i.x.norm()));
      const double e = std::sqrt(i.energy);
      for (const reference::Block& b : scaled.blocks) {
        if (b.joint) continue;
        const Vector l = i.lambda.cwiseQuotient(e * scaled.scale).segment(b.start, b.dim);
        const Vector y = (i.velocity.cwiseProduct(scaled.scale) / e).segment(b.start, b.dim);
        EXPECT_GT(reference::margin(l), -1e-15 * l[0]);
        EXPECT_GT(reference::margin(y), -1e-15 * y[0]);
      }
    }
  }
  EXPECT_GT(repaired, 0);
}

// ---- When it stops

bool meets(const StepProblem& p, const Kept& i, double residual, double mu) {
  double joints = 0, others = 0;
  int joint_rows = 0, other_rows = 0;
  for (int k = 0; k < p.blocks(); ++k) {
    const int d = p.K.sets[k].dim;
    const bool joint = p.K.sets[k].kind == SetKind::free;
    (joint ? joints : others) += i.primal_residual.segment(p.K.start[k], d).squaredNorm();
    (joint ? joint_rows : other_rows) += d;
  }
  return std::sqrt(joints) <= residual * joint_rows && std::sqrt(others) <= residual * other_rows &&
         i.dual_residual.norm() <= residual * p.dofs() && i.mu * i.energy <= mu;
}

// Recipe 001 §2.7.11, checklist 44: the first iterate at which all four hold is the last one. With
// a coarse μ the residuals decide, with coarse residuals μ does.
TEST(InteriorPointIteration, StopsAtTheFirstIterateThatMeetsAllFourCriteria) {
  struct Case {
    double residual, mu;
  };
  const Options defaults;
  EXPECT_EQ(defaults.residual_tolerance, 1e-10);
  EXPECT_EQ(defaults.mu_tolerance, 1e-9);
  int mu_met_first = 0, residuals_met_first = 0;
  for (const Case c : {Case{1e-10, 1e-9}, Case{1e-10, 1e3}, Case{1e2, 1e-9}, Case{1e-4, 1e-4}}) {
    for (unsigned seed = 0; seed < 6; ++seed) {
      for (const bool cones : {false, true}) {
        const StepProblem p = cones ? cone_program(seed, false) : quadratic_program(seed, false);
        // From ones, or H x − Jᵀλ = a holds at once; separate steps, or all fall together.
        Options options = of_the_source();
        options.start = Start::ones;
        if (cones) options = {};
        options.stop = Options::Stop::absolute;
        options.residual_tolerance = c.residual;
        options.mu_tolerance = c.mu;
        const Watched run = watch(p, options, 1e-15);
        ASSERT_GE(run.iterates.size(), 2U);
        for (std::size_t k = 0; k + 1 < run.iterates.size(); ++k) {
          const Kept& i = run.iterates[k];
          EXPECT_FALSE(meets(p, i, c.residual, c.mu)) << "stopped too late";
          const double infinite = std::numeric_limits<double>::infinity();
          mu_met_first += meets(p, i, infinite, c.mu) ? 1 : 0;
          residuals_met_first += meets(p, i, c.residual, infinite) ? 1 : 0;
        }
        EXPECT_TRUE(meets(p, run.iterates.back(), c.residual, c.mu)) << "stopped too early";
      }
    }
  }
  EXPECT_GT(mu_met_first, 10);
  EXPECT_GT(residuals_met_first, 10);
}

// ---- Warm starts

/// The largest difference of two runs, iterate by iterate.
double distance(const Watched& a, const Watched& b) {
  if (a.iterates.size() != b.iterates.size()) return std::numeric_limits<double>::infinity();
  double most = 0;
  for (std::size_t k = 0; k < a.iterates.size(); ++k)
    most = std::max(most, (a.iterates[k].lambda - b.iterates[k].lambda).norm());
  return most;
}

// Recipe 001 §2.7.8, checklist 41: v only; what multipliers there are is not looked at.
TEST(InteriorPointIteration, PartialWarmStartTakesTheVelocityAndNothingElse) {
  for (unsigned seed = 0; seed < 6; ++seed) {
    for (const bool cones : {false, true}) {
      const StepProblem p = cones ? cone_program(seed, false) : quadratic_program(seed, false);
      RandomProblem random(77 + seed);
      const Vector x = random.matrix(p.dofs(), 1);
      const Vector wrong = 1e3 * random.matrix(p.rows(), 1);
      // So good that it would end the solve at once if it were looked at.
      const Vector right =
          solve(p, {.solver = "prox", .tolerance = 1e-11, .friction = Friction::convex}).lambda;
      Options options;
      options.warm_start = Options::WarmStart::partial;
      options.start_velocity = &x;
      const Watched without = watch(p, options, 1e-8);
      ASSERT_FALSE(without.iterates.empty());
      EXPECT_EQ(without.iterates.front().x, x);
      for (const Vector* given : {&wrong, &right})
        EXPECT_EQ(distance(watch(p, options, 1e-8, given), without), 0);
      // Without a velocity the start is cold, and so it is where nothing is to be taken.
      const Watched cold = watch(p, {}, 1e-8);
      options.start_velocity = nullptr;
      EXPECT_EQ(distance(watch(p, options, 1e-8, &right), cold), 0);
      options.warm_start = Options::WarmStart::none;
      options.start_velocity = &x;
      EXPECT_EQ(distance(watch(p, options, 1e-8, &right), cold), 0);
      const Vector nan = Vector::Constant(p.dofs(), std::nan(""));
      options.warm_start = Options::WarmStart::partial;
      options.start_velocity = &nan;
      EXPECT_EQ(distance(watch(p, options, 1e-8), cold), 0);
    }
  }
}

// Two islands, one after the other in the problem: each gets its own part of the velocity.
TEST(InteriorPointIteration, PartialWarmStartReachesEveryIsland) {
  const StepProblem p = sphere_packing({.contacts = 30, .mu = 0.4});
  const Solution solved = solve(p, {.solver = "ipm", .friction = Friction::convex});
  SolveOptions options{.solver = "ipm", .friction = Friction::convex};
  options.islands = true;
  options.interior_point.warm_start = Options::WarmStart::partial;
  options.interior_point.start_velocity = &solved.x;
  std::vector<Vector> starts;
  options.interior_point.on_iterate = [&](const InteriorPointIterate& i) {
    if (i.iteration == 0) starts.push_back(i.x);
  };
  const Solution s = solve(p, options);
  ASSERT_EQ(s.status, Status::converged);
  double squares = 0;
  for (const Vector& x : starts) squares += x.squaredNorm();
  EXPECT_NEAR(squares, solved.x.squaredNorm(), 1e-12 * squares);
  Vector short_one = Vector::Zero(p.dofs() - 1);
  options.interior_point.start_velocity = &short_one;
  EXPECT_THROW(solve(p, options), std::exception);
}

// Checklist 42: starts of nonsense end where the cold one does, and it is said that they were given
// up.
TEST(InteriorPointIteration, ABadWarmStartIsGivenUpForAColdOne) {
  for (const double size : {1.0, 1e3, 1e8, 1e30, 1e300}) {
    int given_up = 0;
    for (unsigned seed = 0; seed < 10; ++seed) {
      for (const bool cones : {false, true}) {
        const StepProblem p = cones ? cone_program(seed, false) : quadratic_program(seed, false);
        SolveOptions options{.solver = "ipm", .tolerance = 1e-9, .friction = Friction::convex};
        const Solution cold = solve(p, options);
        ASSERT_EQ(cold.status, Status::converged);
        EXPECT_EQ(cold.bad_starts, 0);
        RandomProblem random(500 + seed);
        const Vector lambda = size * random.matrix(p.rows(), 1);
        const Solution s = solve(p, options, &lambda);
        ASSERT_EQ(s.status, Status::converged) << size << " " << seed << " " << s.message;
        EXPECT_LT((s.u - cold.u).norm(), 1e-7 * (1 + cold.u.norm()));
        EXPECT_LE(s.iterations, cold.iterations + 5);
        given_up += s.bad_starts;
      }
    }
    EXPECT_EQ(given_up, size > 1 ? 20 : 0);
  }
}

// The same for velocities of a partial warm start.
TEST(InteriorPointIteration, AFarVelocityIsGivenUpForAColdStart) {
  for (const double size : {1.0, 1e8, 1e30}) {
    int given_up = 0;
    for (unsigned seed = 0; seed < 10; ++seed) {
      const StepProblem p = cone_program(seed, false);
      SolveOptions options{.solver = "ipm", .tolerance = 1e-9, .friction = Friction::convex};
      const Solution cold = solve(p, options);
      RandomProblem random(500 + seed);
      const Vector x = size * random.matrix(p.dofs(), 1);
      options.interior_point.warm_start = Options::WarmStart::partial;
      options.interior_point.start_velocity = &x;
      const Solution s = solve(p, options);
      ASSERT_EQ(s.status, Status::converged) << size << " " << seed << " " << s.message;
      EXPECT_LT((s.u - cold.u).norm(), 1e-7 * (1 + cold.u.norm()));
      EXPECT_LE(s.iterations, cold.iterations + 5);
      given_up += s.bad_starts;
    }
    EXPECT_EQ(given_up, size > 1 ? 10 : 0);
  }
}

}  // namespace
}  // namespace urto
