// Numbers of recipe 000 §3 (A. Tasora, "Time integration in Chrono::Engine", with the extractor's
// measurements).
#include <cmath>

#include <gtest/gtest.h>

#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

// T3: m = 1, μ = 0.3, u₀ = 2, h = 0.01. One step of convex friction from a closed gap lifts the
// body.
TEST(ChronoNote, T3FirstStepHops) {
  const Solution s = solve(sliding_mass(), {.tolerance = 1e-12, .friction = Friction::convex});
  ASSERT_EQ(s.status, Status::converged);
  EXPECT_NEAR(s.x[0], 1.80786, 1e-5);
  EXPECT_NEAR(s.x[2], 0.54236, 1e-5);
}

// T3: in steady sliding the gap is h μ u_T exactly, and the forces are m g and μ m g.
TEST(ChronoNote, T3SteadySlidingGapLaw) {
  constexpr double h = 0.01;
  constexpr double mu = 0.3;
  double velocity = 2;
  double gap = h * mu * velocity;
  for (int k = 0; k < 20; ++k) {
    const Solution s = solve(sliding_mass({.mu = mu, .velocity = velocity, .gap = gap, .step = h}),
                             {.tolerance = 1e-12, .friction = Friction::convex});
    ASSERT_EQ(s.status, Status::converged);
    velocity = s.x[0];
    gap += h * s.x[2];
    EXPECT_NEAR(gap, h * mu * velocity, 1e-12);
    if (k > 0) {
      // The vertical velocity itself changes as the body slows down: N = m(g h + Δv_z).
      EXPECT_NEAR(s.lambda[1], -mu * s.lambda[0], 1e-12);
    }
  }
}

// T3: with De Saxcé's term the body stops after v₀/(μ g), having slid v₀²/(2 μ g) − v₀ h/2, and
// never leaves the ground.
TEST(ChronoNote, T3ExactFrictionStopsAtTheCoulombDistance) {
  constexpr double h = 0.001;
  constexpr double mu = 0.3;
  double velocity = 2;
  double gap = 0;
  double distance = 0;
  int steps = 0;
  while (velocity > 1e-9 && steps < 2000) {
    const Solution s = solve(sliding_mass({.mu = mu, .velocity = velocity, .gap = gap, .step = h}),
                             {.tolerance = 1e-12});
    ASSERT_EQ(s.status, Status::converged);
    velocity = s.x[0];
    gap += h * s.x[2];
    distance += h * velocity;
    ++steps;
  }
  EXPECT_LT(std::abs(gap), 1e-12);
  EXPECT_NEAR(steps * h, 2 / (mu * 9.81), 2 * h);
  EXPECT_NEAR(distance, 4 / (2 * mu * 9.81) - 2 * h / 2, 1e-5);
}

// The cube of the peers' report: at 6 m/s with μ = 0.5 the convex law of one engine lifts it by 318
// mm; exact friction must not.
TEST(ChronoNote, FastSlidingCubeStaysOnTheGroundWithExactFriction) {
  StepProblem p = box_stack({.levels = 1, .mu = 0.5});
  p.a[0] += 6 * std::get<BlockMatrix>(p.H).block(0)(0, 0);
  const Solution exact = solve(p, {.tolerance = 1e-10});
  ASSERT_EQ(exact.status, Status::converged) << exact.message;
  EXPECT_NEAR(exact.x[2], 0, 1e-8);
  const Solution convex = solve(p, {.tolerance = 1e-10, .friction = Friction::convex});
  ASSERT_EQ(convex.status, Status::converged);
  EXPECT_GT(convex.x[2], 1);  // thrown into the air
}

// T5: three cubes with a lateral push of 0.1 g: f = −0.0144835331 for h = 0.01, |v| < 2e-10, ΣF_N
// = 29.43 N at the base.
TEST(ChronoNote, T5ObjectiveOfTheStack) {
  const StepProblem p = box_stack({.levels = 3, .mu = 0.4, .push = 0.1, .step = 0.01});
  const Solution s = solve(p, {.solver = "prox", .tolerance = 1e-11, .friction = Friction::convex});
  ASSERT_EQ(s.status, Status::converged);
  EXPECT_LT(s.x.norm(), 2e-10);
  // f = ½λᵀWλ + qᵀλ; at rest x = 0 the momentum equation gives Jᵀλ = −a, so f = −½ aᵀH⁻¹a + bᵀλ.
  const Solution free = solve(p, {.solver = "sor", .max_iterations = 0});
  const double f = -0.5 * p.a.dot(free.x) + p.b.dot(s.lambda);
  EXPECT_NEAR(f, -0.0144835331, 1e-9);
  double base = 0;
  for (int i = 0; i < p.blocks(); ++i) {
    if (p.J.entry_start[i + 1] - p.J.entry_start[i] == 1) base += s.lambda[p.K.start[i]] / 0.01;
  }
  EXPECT_NEAR(base, 29.43, 1e-6);
}

}  // namespace
}  // namespace urto
