// Problems with rolling and spinning friction: solvers of different kinds agree, and their
// certificates are those of the law.
#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

using namespace urto::testing;

// The step problem of a small pile of balls that slide, roll and spin, after some steps; cones of
// every dimension.
StepProblem pile() {
  Model m = empty_model({0.5, 0, -9.81});
  m.materials = {{.name = "floor", .friction = 0.4, .rolling_friction = 3e-3},
                 {.name = "a", .friction = 0.3, .spinning_friction = 2e-3},
                 {.name = "b", .friction = 0.2}};
  m.mixing.rolling_friction = MixingRule::average;
  m.mixing.spinning_friction = MixingRule::average;
  m.material_pairs.push_back(
      {.a = 1, .b = 2, .properties = {.friction = 0, .spinning_friction = 4e-3}});
  m.material_pairs.push_back({.a = 2, .b = 2, .properties = {.friction = 0.3}});
  add_floor(m);
  for (int k = 0; k < 9; ++k) {
    const int ball =
        add_ball(m, "", {0.19 * (k % 3) + 0.02 * (k / 3), 0.04 * (k % 2), 0.1 + 0.18 * (k / 3)},
                 0.1, 0.5 + k % 4);
    m.bodies[ball].velocity = {0.2 * k, 0.1, 0};
    m.bodies[ball].angular_velocity = {2.0 * (k % 3), -3, 5};
  }
  for (std::size_t k = 1; k < m.shapes.size(); ++k) m.shapes[k].material = k % 3 == 0 ? 1 : 2;
  finalize(m);
  SimulationOptions o;
  o.duration = 0.02;
  Simulation run(m, o);
  run_to_end(run);
  return *run.problem();
}

StepProblem random_problem() {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  SetProduct K;
  for (int i = 0; i < 4; ++i) {
    K.push_back(ConvexSet::rolling_cone(0.1 + 0.2 * i, 0.3));
    K.push_back(ConvexSet::rolling_cone(0.5, 0.1 * i, 0.2));
    K.push_back(ConvexSet::spinning_cone(0.2 * i, 0.4));
    K.push_back(ConvexSet::cone(0.3));
  }
  Matrix A(K.rows(), K.rows());
  for (double& x : A.reshaped()) x = normal(random);
  const Matrix W = A * A.transpose() / K.rows() + 0.3 * Matrix::Identity(K.rows(), K.rows());
  const Vector q = Vector::NullaryExpr(K.rows(), [&] { return normal(random); });
  return local_problem(W.sparseView(), q, K);
}

int dims_of(const StepProblem& p) {
  int bits = 0;
  for (const ConvexSet& set : p.K.sets) bits |= 1 << set.dim;
  return bits;
}

TEST(RollingCones, ThePileHasThemAll) {
  EXPECT_EQ(dims_of(pile()) & 0b1111000, 0b1111000);
}

TEST(RollingCones, VelocitiesOfTheConvexProblemAgree) {
  for (const StepProblem& p : {pile(), random_problem()}) {
    constexpr double tolerance = 1e-7;
    const Solution reference =
        solve(p, {.solver = "prox", .tolerance = 1e-10, .friction = Friction::convex});
    ASSERT_EQ(reference.status, Status::converged) << reference.message;
    const double size = solve(p, {.solver = "sor", .max_iterations = 0}).u.norm();
    for (const SolverInfo& info : solvers()) {
      if (!info.can.rolling || !info.can.convex_friction) continue;
      // The slowest, ssor on the pile, takes 3800.
      const Solution s = solve(p, {.solver = std::string(info.name),
                                   .tolerance = tolerance,
                                   .max_iterations = 6000,
                                   .friction = Friction::convex});
      ASSERT_EQ(s.status, Status::converged) << info.name << " " << s.certificate.residual();
      EXPECT_LT((s.u - reference.u).norm(), 10 * tolerance * size) << info.name;
    }
  }
}

TEST(RollingCones, ExactSolutionsAgreeAndDissipateMaximally) {
  for (const StepProblem& p : {pile(), random_problem()}) {
    const Solution reference = solve(p, {.solver = "prox", .tolerance = 1e-11});
    ASSERT_EQ(reference.status, Status::converged) << reference.message;
    for (const SolverInfo& info : solvers()) {
      if (!info.can.rolling || !info.can.exact_friction) continue;
      // The slowest, jacobi on the pile, takes 2300.
      const Solution s =
          solve(p, {.solver = std::string(info.name), .tolerance = 1e-9, .max_iterations = 4000});
      ASSERT_EQ(s.status, Status::converged) << info.name << " " << s.certificate.residual();
      EXPECT_LT((s.u - reference.u).norm(), 1e-6 * reference.u.norm()) << info.name;
    }
    // Each part by itself: at its bound and against its velocity where it moves.
    for (int i = 0; i < p.blocks(); ++i) {
      const ConvexSet& set = p.K.sets[i];
      if (!set.has_friction()) continue;
      const Vector l = reference.lambda.segment(p.K.start[i], set.dim);
      const Vector u = reference.u.segment(p.K.start[i], set.dim);
      const auto check = [&](int first, int count, double bound) {
        const double moved = u.segment(first, count).norm();
        EXPECT_NEAR(l.segment(first, count).dot(u.segment(first, count)), -bound * l[0] * moved,
                    1e-8 * (1 + l.norm()) * (1 + u.norm()));
        EXPECT_LE(l.segment(first, count).norm(), bound * l[0] + 1e-9 * l.norm());
      };
      check(1, std::min(2, set.dim - 1), set.mu);
      if (set.kind != SetKind::rolling_cone) continue;
      if (set.dim != 4) check(3, 2, set.mu_rolling);
      if (set.dim != 5) check(set.dim - 1, 1, set.mu_spinning);
    }
  }
}

TEST(RollingCones, CertificateSeesAMomentBeyondItsBound) {
  StepProblem p = random_problem();
  const Solution s = solve(p, {.solver = "prox", .tolerance = 1e-10});
  ASSERT_EQ(s.status, Status::converged);
  for (int i = 0; i < p.blocks(); ++i) {
    const ConvexSet& set = p.K.sets[i];
    if (set.kind != SetKind::rolling_cone || s.lambda[p.K.start[i]] < 1e-3) continue;
    Vector wrong = s.lambda;
    double& moment = wrong[p.K.start[i] + set.dim - 1];
    moment += moment >= 0 ? 1 : -1;
    EXPECT_GT(certify(p, s.x, wrong, Friction::exact).cone_violation, 0.1);
    EXPECT_GT(certify(p, s.x, wrong, Friction::exact).residual(), 1e-2);
  }
}

}  // namespace
}  // namespace urto
