// Contact, friction and impact through the DVI stepper, against closed forms (shared references:
// recipe 000 §3 T3–T5, benchmarks README).
#include <cmath>

#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr double g = 9.81;

// A cube that slides without tipping: one contact a corner.
Model sliding_cube(double mu, double speed) {
  Model m = empty_model();
  m.materials[0].friction = mu;
  add_floor(m);
  const int cube = add_cube(m, "cube", {0, 0, 0.05}, 0.1, 1);
  m.bodies[cube].velocity = {speed, 0, 0};
  // A wide cube: friction at the bottom does not tip it (μ < 1).
  finalize(m);
  return m;
}

TEST(DviContact, SlidingBoxStopsAtItsBrakingDistance) {
  // v₀²/(2μg), first-order schemes are v₀h/2 short (benchmarks README).
  for (const double h : {1e-3, 5e-4}) {
    const Model m = sliding_cube(0.3, 2);
    SimulationOptions o;
    o.step = h;
    o.duration = 1;
    Simulation run(m, o);
    run_to_end(run);
    EXPECT_NEAR(position(m, run.state(), 1)[0], 4 / (2 * 0.3 * g) - 2 * h / 2, 2e-2 * h);
    EXPECT_LT(linear_velocity(m, run.state(), 1).norm(), 1e-7);
    EXPECT_NEAR(position(m, run.state(), 1)[2], 0.05, 1e-9);
    EXPECT_EQ(run.checkpoint().missed, 0);
    // All its kinetic energy went into friction.
    EXPECT_NEAR(run.energy().friction, 2, 1e-6 + 4 * h);
  }
}

TEST(DviContact, ConvexFrictionLiftsASlidingMassToTheGapLaw) {
  // Recipe 000 T3: point mass 1 kg, μ = 0.3, u₀ = 2, h = 0.01: first step u_t = 1.80786, u_n =
  // 0.54236; then Φ = hμu_t.
  Model m = empty_model();
  m.materials[0].friction = 0.3;
  add_floor(m);
  // A frictionless spin would turn a ball; an enormous inertia makes it a point mass.
  const int ball = add_rigid(m, "mass", {0, 0, 0.1}, 1, 1e9 * Mat3::Identity());
  m.shapes.push_back({.kind = ShapeKind::sphere, .size = {0.1, 0, 0}, .pose = {}, .body = ball});
  m.bodies[ball].velocity = {2, 0, 0};
  finalize(m);
  SimulationOptions o;
  o.step = 0.01;
  o.duration = 1;
  o.stepper.friction = Friction::convex;
  o.solver.tolerance = 1e-10;
  Simulation run(m, o);
  run.start();
  ASSERT_TRUE(run.advance());
  EXPECT_NEAR(run.state().v[0], 1.80786, 1e-5);
  EXPECT_NEAR(run.state().v[2], 0.54236, 1e-5);
  bool law_seen = false;
  double stop = 0;
  while (run.advance()) {
    const double gap = run.state().q[2] - 0.1;
    if (run.report().active == 1 && run.state().t > 0.3 && run.state().v[0] > 0.2) {
      EXPECT_NEAR(gap, 0.01 * 0.3 * run.state().v[0], 1e-6);
      law_seen = true;
    }
    stop = run.state().q[0];
  }
  EXPECT_TRUE(law_seen);
  EXPECT_NEAR(stop, 0.670, 2e-3);
}

TEST(DviContact, ExactFrictionKeepsTheSlidingMassDown) {
  Model m = empty_model();
  m.materials[0].friction = 0.3;
  add_floor(m);
  const int ball = add_rigid(m, "mass", {0, 0, 0.1}, 1, 1e9 * Mat3::Identity());
  m.shapes.push_back({.kind = ShapeKind::sphere, .size = {0.1, 0, 0}, .pose = {}, .body = ball});
  m.bodies[ball].velocity = {2, 0, 0};
  finalize(m);
  SimulationOptions o;
  o.step = 0.01;
  o.duration = 0.5;
  o.solver.tolerance = 1e-10;
  Simulation run(m, o);
  run.start();
  while (run.advance()) EXPECT_NEAR(run.state().q[2], 0.1, 1e-9);
}

TEST(DviContact, RecoverySpeedBoundsPopping) {
  // Recipe 000 T4: Φ₀ = −0.01, h = 0.001: unclamped the mass leaves at 10 m/s, clamped at 0.01 m/s,
  // with 0 never.
  for (const double eta : {std::numeric_limits<double>::infinity(), 0.01, 0.0}) {
    Model m = empty_model();
    add_floor(m);
    add_ball(m, "ball", {0, 0, 0.09}, 0.1, 1);
    finalize(m);
    SimulationOptions o;
    o.step = 1e-3;
    o.duration = 1e-3;
    o.stepper.recovery_speed = eta;
    Simulation run(m, o);
    run_to_end(run);
    EXPECT_NEAR(run.state().v[2], std::isinf(eta) ? 10 : eta, 1e-9);
  }
}

// Recipe 001 checklist 17: with b = 0 nothing pushes an overlap apart, and nothing lets it grow.
TEST(DviContact, WithoutStabilisationAPenetrationStays) {
  for (const bool stabilise : {true, false}) {
    Model m = empty_model();
    add_floor(m);
    add_ball(m, "ball", {0, 0, 0.099}, 0.1, 1);
    finalize(m);
    SimulationOptions o;
    o.step = 1e-3;
    o.duration = 0.5;
    o.stepper.stabilise = stabilise;
    Simulation run(m, o);
    run_to_end(run);
    EXPECT_NEAR(run.state().q[2], stabilise ? 0.1 : 0.099, 1e-8);
    EXPECT_NEAR(run.impulses()[0], 9.81e-3, 1e-8);
    EXPECT_NEAR(run.energy().recovery, stabilise ? 9.81e-3 : 0, 1e-6) << "m g times a millimetre";
  }
}

// Recipe 001 checklist 24: one row a contact, and the motion that there is without friction.
TEST(DviContact, SkippingTangentialRowsIsTheRunWithoutFriction) {
  const auto pile = [](double mu) {
    Model m = empty_model();
    m.materials[0].friction = mu;
    m.materials[0].rolling_friction = 0.01 * mu;
    m.materials[0].restitution = 0.3;
    add_floor(m, {Vec3::Zero(), quaternion_exp(Vec3(0.1, 0.05, 0))});
    add_cube(m, "cube", {0, 0, 0.12}, 0.2, 1);
    add_ball(m, "ball", {0.05, 0.02, 0.4}, 0.1, 0.5);
    m.bodies[1].velocity = {0.4, 0, 0};
    finalize(m);
    return m;
  };
  const Model rough = pile(0.6), smooth = pile(0);
  for (const char* stepper : {"dvi", "dvi-newton"}) {
    SimulationOptions o;
    o.step = 2e-3;
    o.duration = 0.3;
    o.stepper.name = stepper;
    o.stepper.restitution = o.stepper.name == "dvi";
    Simulation with_friction(rough, o), frictionless(smooth, o);
    o.stepper.skip_tangential = true;
    Simulation skipping(rough, o);
    for (Simulation* run : {&with_friction, &frictionless, &skipping}) run->start();
    int contacts = 0, rows = 0;
    while (skipping.advance()) {
      frictionless.advance();
      with_friction.advance();
      ASSERT_EQ(skipping.state().q, frictionless.state().q) << skipping.state().t;
      ASSERT_EQ(skipping.state().v, frictionless.state().v);
      contacts += static_cast<int>(skipping.contacts().size());
      rows += skipping.rows().rows();
    }
    EXPECT_GT(contacts, 100);
    EXPECT_EQ(rows, contacts);
    EXPECT_GT((Vector(skipping.state().q) - Vector(with_friction.state().q)).norm(), 1e-2);
    EXPECT_EQ(skipping.energy().friction, 0);
  }
}

// Recipe 001 checklist 73: what the steps of a run report is what its solver did.
TEST(DviContact, CountersOfARunAreTheIterationsThatWereTaken) {
  Model m = empty_model();
  m.materials[0].friction = 0;
  add_floor(m);
  for (int k = 0; k < 3; ++k) add_cube(m, "cube", {0, 0, 0.11 + 0.21 * k}, 0.2, 1);
  add_ball(m, "ball", {2, 0, 0.5}, 0.1, 1);
  finalize(m);
  SimulationOptions o;
  o.step = 5e-3;
  o.duration = 0.5;
  o.solver.solver = "ipm";
  o.solver.interior_point.newton_finish = false;
  o.solver.interior_point.centrality_corrections = 0;
  int calls = 0, iterations = 0;
  o.solver.interior_point.on_iterate = [&](const InteriorPointIterate& i) {
    ++(i.iteration == 0 ? calls : iterations);
  };
  Simulation run(m, o);
  run.start();
  int handed = 0, reported = 0, solves = 0, strengthened = 0, most_islands = 0;
  while (run.advance()) {
    const StepSolveReport& solve = run.report().solve;
    ASSERT_EQ(solve.bad_starts, 0);
    handed += solve.handed_on;
    reported += solve.iterations;
    solves += solve.linear.solves;
    strengthened += solve.linear.strengthened;
    most_islands = std::max(most_islands, solve.islands);
  }
  EXPECT_EQ(most_islands, 2);
  EXPECT_GT(calls, 50);
  EXPECT_GE(handed, calls) << "some are solved by what they start from";
  EXPECT_EQ(reported, iterations);
  EXPECT_GE(solves, 3 * iterations) << "predictor and two of the corrector";
  EXPECT_LE(solves, 3 * iterations + calls + 3 * strengthened);
}

TEST(DviContact, RecoveryFromOneCentimetreTakesOneSecond) {
  // Recipe 000 T4: at η_s = 0.01 m/s a penetration of 0.01 m is gone after about 1 s; at 0 never.
  for (const double eta : {0.01, 0.02, 0.0}) {
    Model m = empty_model();
    add_floor(m);
    add_ball(m, "ball", {0, 0, 0.09}, 0.1, 1);
    finalize(m);
    SimulationOptions o;
    o.step = 1e-3;
    o.duration = 1.5;
    o.stepper.recovery_speed = eta;
    Simulation run(m, o);
    run.start();
    double out = std::numeric_limits<double>::infinity(), highest = 0;
    while (run.advance()) {
      const double z = run.state().q[2];
      highest = std::max(highest, z);
      if (z >= 0.1 - 1e-9) out = std::min(out, run.state().t);
    }
    if (eta == 0) {
      EXPECT_NEAR(highest, 0.09, 1e-9);
    } else {
      EXPECT_NEAR(out, 0.01 / eta, 2e-3);
      EXPECT_LT(highest, 0.1 + eta * o.step) << "no hop at the end";
    }
  }
}

TEST(DviContact, TheRelaxationChangesNothingInRollingAndStatics) {
  // Recipe 000 §11: without slip De Saxcé's term is zero, and both laws are one.
  const auto end = [](const Model& m, Friction law, double duration) {
    SimulationOptions o;
    o.step = 1e-3;
    o.duration = duration;
    o.stepper.friction = law;
    o.solver.tolerance = 1e-11;
    Simulation run(m, o);
    run_to_end(run);
    return run.state();
  };
  Model rolling = empty_model({1.5, 0, -9.81});  // on a slope
  add_floor(rolling);
  const int ball = add_ball(rolling, "ball", {0, 0, 0.1}, 0.1, 1);
  rolling.bodies[ball].velocity = {1, 0.5, 0};
  rolling.bodies[ball].angular_velocity = {-5, 10, 0};
  Model resting = empty_model({2, 0, -9.81});
  add_floor(resting);
  for (int k = 0; k < 3; ++k) add_cube(resting, "cube", {0, 0, 0.5 + k}, 1, 1);
  Model sliding = empty_model();
  add_floor(sliding);
  sliding.bodies[add_cube(sliding, "cube", {0, 0, 0.5}, 1, 1)].velocity = {1, 0, 0};
  for (Model* m : {&rolling, &resting, &sliding}) {
    finalize(*m);
    const double duration = m == &sliding ? 0.05 : 0.5;  // while it slides
    const State exact = end(*m, Friction::exact, duration);
    const State convex = end(*m, Friction::convex, duration);
    const double apart = difference(*m, exact.q, convex.q).norm() + (exact.v - convex.v).norm();
    if (m == &sliding) {
      EXPECT_GT(apart, 1e-4) << "lifted by h μ |u|";
    } else {
      EXPECT_LT(apart, 1e-8);
    }
  }
}

TEST(DviContact, SphereRollsAfterSlippingForTwoSevenths) {
  // t = 2v₀/(7μg), v = 5v₀/7 (benchmarks README).
  Model m = empty_model();
  m.materials[0].friction = 0.2;
  add_floor(m);
  const int ball = add_ball(m, "ball", {0, 0, 0.1}, 0.1, 3);
  m.bodies[ball].velocity = {1.4, 0, 0};
  finalize(m);
  SimulationOptions o;
  o.step = 1e-4;
  o.duration = 0.5;
  Simulation run(m, o);
  run.start();
  double rolling_since = 0;
  while (run.advance()) {
    const double slip = run.state().v[0] - 0.1 * run.state().v[4];
    if (std::abs(slip) < 1e-6 && rolling_since == 0) rolling_since = run.state().t;
  }
  EXPECT_NEAR(rolling_since, 2 * 1.4 / (7 * 0.2 * g), 3e-4);
  EXPECT_NEAR(run.state().v[0], 1.0, 1e-4);
  EXPECT_NEAR(run.state().v[4], 10.0, 1e-3);
}

TEST(DviContact, InclineHoldsWhileItsTangentIsBelowFriction) {
  for (const double angle : {0.28, 0.30}) {  // tan: 0.2876, 0.3093 around μ = 0.3
    Model m = empty_model({g * std::sin(angle), 0, -g * std::cos(angle)});
    m.materials[0].friction = 0.3;
    add_floor(m);
    add_cube(m, "cube", {0, 0, 0.05}, 0.1, 1);
    finalize(m);
    SimulationOptions o;
    o.step = 1e-3;
    o.duration = 1;
    Simulation run(m, o);
    run_to_end(run);
    const double a = std::max(0.0, g * (std::sin(angle) - 0.3 * std::cos(angle)));
    EXPECT_NEAR(run.state().v[0], a, 1e-6);
    EXPECT_TRUE(a > 0 || std::abs(run.state().q[0]) < 1e-8);
  }
}

TEST(DviContact, HeavyOnLightStackCarriesItsWeight) {
  // 9 × 1 kg + 1000 kg: ground reaction 1009 g = 9898.29 N (benchmarks README).
  Model m = empty_model();
  add_floor(m);
  for (int k = 0; k < 10; ++k)
    add_ball(m, "ball-" + std::to_string(k), {0, 0, 0.1 + 0.2 * k}, 0.1, k == 9 ? 1000 : 1);
  finalize(m);
  SimulationOptions o;
  o.step = 2e-3;
  o.duration = 0.2;
  Simulation run(m, o);
  run_to_end(run);
  EXPECT_EQ(run.checkpoint().missed, 0);
  double reaction = 0;
  for (int i = 0; i < run.rows().blocks(); ++i) {
    const Contact& c = run.contacts()[run.rows().origins[i].index];
    if (c.body_b == 0) reaction += run.impulses()[run.rows().J.row_start[i]] / o.step;
  }
  EXPECT_NEAR(reaction, 1009 * g, 1e-3);
  EXPECT_LT(run.checkpoint().worst_penetration, 1e-8);
}

TEST(DviContact, BouncingBallRestsAtItsAccumulationTime) {
  // t∞ = √(2h₀/g)(1+e)/(1−e) from rest at gap h₀ (benchmarks README); first order: within a few
  // steps a bounce.
  Model m = empty_model();
  m.materials[0] = {.name = "rubber", .friction = 0, .restitution = 0.5};
  add_floor(m);
  add_ball(m, "ball", {0, 0, 1.1}, 0.1, 1);
  finalize(m);
  SimulationOptions o;
  o.step = 1e-4;
  o.duration = 2;
  o.contact_envelope = 1e-3;
  Simulation run(m, o);
  run.start();
  double highest_after_first = 0;
  bool bounced = false;
  double rest = 0;
  while (run.advance()) {
    bounced = bounced || run.state().v[2] > 0;
    if (bounced && run.state().t < 0.95)
      highest_after_first = std::max(highest_after_first, run.state().q[2] - 0.1);
    if (std::abs(run.state().v[2]) > 1e-6) rest = run.state().t;
  }
  EXPECT_NEAR(highest_after_first, 0.25, 1e-3);
  EXPECT_NEAR(rest, std::sqrt(2 / g) * 1.5 / 0.5, 5e-3);
  // ½mv² of every impact: all of m g h₀ in the end.
  EXPECT_NEAR(run.energy().impact, g, 2e-3);
}

TEST(DviContact, IslandsDoNotChangeTheMotion) {
  Model m = empty_model();
  add_floor(m);
  for (int k = 0; k < 5; ++k) {
    add_ball(m, "a", {k * 1.0, 0, 0.1}, 0.1, 1);
    const int top = add_ball(m, "b", {k * 1.0 + 0.03, 0, 0.299}, 0.1, 2);
    m.bodies[top].velocity = {0.1 * k, 0, 0};
  }
  finalize(m);
  SimulationOptions o;
  o.step = 1e-3;
  o.duration = 0.2;
  o.solver.tolerance = 1e-10;
  Simulation apart(m, o);
  run_to_end(apart);
  o.islands = false;
  Simulation together(m, o);
  run_to_end(together);
  EXPECT_LT(difference(m, apart.state().q, together.state().q).cwiseAbs().maxCoeff(), 1e-7);
  EXPECT_EQ(apart.checkpoint().missed, 0);
}

TEST(DviContact, FallingBodiesWithoutAnyRowFallFreely) {
  Model m = empty_model();
  add_ball(m, "ball", {0, 0, 0}, 0.1, 1);
  finalize(m);
  SimulationOptions o;
  o.step = 1e-2;
  o.duration = 1;
  Simulation run(m, o);
  run_to_end(run);
  // Semi-implicit Euler: q = −½ g t (t + h).
  EXPECT_NEAR(run.state().q[2], -0.5 * g * 1.01, 1e-12);
  EXPECT_EQ(run.report().certificate.worst_block, -1);
}

TEST(DviContact, EnergyAuditClosesOnATumblingPile) {
  Model m = empty_model();
  m.materials[0].restitution = 0.3;
  add_floor(m);
  for (int k = 0; k < 12; ++k)
    add_ball(m, "ball", {0.05 * (k % 3), 0.04 * (k % 2), 0.2 + 0.21 * k}, 0.1, 1);
  finalize(m);
  SimulationOptions o;
  o.step = 1e-3;
  o.duration = 1;
  Simulation run(m, o);
  run_to_end(run);
  EXPECT_EQ(run.checkpoint().missed, 0);
  EXPECT_GT(run.energy().impact, 1);
  EXPECT_GT(run.energy().friction, 0.1);
  // Gravity works on q⁺ − q = h v⁺ but is accounted with the mean of v and v⁺: ½ m g h Δv a step,
  // which telescopes.
  EXPECT_LT(std::abs(run.energy().numerical()), 1e-4 * run.energy().start);
}

TEST(DviContact, PatternsAreAnalysedOnceWhileTheSameBodiesTouch) {
  // Design §6. Cubes on top of each other that slide to and fro come to rest at different times, so
  // that every step has something new to solve with the same contacts. Twelve bodies are too many
  // for the interior point's dense path.
  Model m = empty_model();
  m.materials[0].friction = 0.5;
  add_floor(m);
  for (int k = 0; k < 12; ++k) {
    add_cube(m, "cube" + std::to_string(k), {0, 0, 0.05 + 0.1 * k}, 0.1, 1);
    m.bodies.back().velocity = {(k % 2 == 0 ? 0.02 : -0.02) * k, 0, 0};
  }
  finalize(m);
  SimulationOptions o;
  o.step = 1e-3;
  o.duration = 0.02;
  o.solver.solver = "ipm";
  o.stepper.friction = Friction::convex;
  Simulation run(m, o);
  run.start();
  int analyses = 0, reused = 0, solved = 0, pivoted = 0;
  while (run.advance()) {
    const LinearCounters& linear = run.report().solve.linear;
    analyses += linear.analyses;
    reused += linear.reused;
    solved += linear.all_factorizations() > 0 ? 1 : 0;
    pivoted += linear.factorizations[static_cast<int>(LinearPath::pivoting)] > 0 ? 1 : 0;
  }
  EXPECT_EQ(run.checkpoint().missed, 0);
  EXPECT_GE(solved, 10);
  EXPECT_LE(analyses, 2 + pivoted) << "condensed and augmented form; MUMPS reads values";
  EXPECT_GE(reused, solved - 1);
}

}  // namespace
}  // namespace urto
