// Implicit Euler with contacts, iterated by Newton (recipe 001 §2.5, the source's (3.23)–(3.29)):
// the equations of a step recomputed at its end, the first iteration beside dvi, the smooth one
// beside implicit Euler.
#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "stepper/smooth_runs.h"
#include "urto/error.h"
#include "urto/mechanics/textbook.h"

namespace urto {
namespace {

using namespace urto::testing;

SimulationOptions newton_options(double h, double duration) {
  SimulationOptions o;
  o.stepper.name = "dvi-newton";
  o.step = h;
  o.duration = duration;
  o.solver.tolerance = 1e-10;
  return o;
}

// (3.23)–(3.26) by dense products, from nothing but the states before and after a step and its
// impulses:
//
//     ½ (M + M⁺)(v⁺ − v) = h f(q⁺, v⁺, t⁺) + J(q⁺)ᵀγ,     q⁺ = q ⊕ h v⁺
struct Balance {
  double momentum = 0;  ///< relative to its terms
  double position = 0;  ///< ‖q⁺ ⊖ q − h v⁺‖
};

Balance balance(const System& system, const State& before, const State& after, double h,
                const Interactions& rows_of_step, const Vector& impulses) {
  SystemAccess access(system);
  BlockMatrix M0, M1;
  access.mass(before, M0);
  access.mass(after, M1);
  Vector f, reaction = Vector::Zero(access.nv());
  access.force(after, f);
  Interactions rows = rows_of_step;
  access.measure(after, rows);
  transpose_multiply_add(rows.J, impulses, reaction);
  const Matrix mean = 0.5 * (Matrix(to_sparse(M0)) + Matrix(to_sparse(M1)));
  const Vector change = mean * (after.v - before.v);
  const double terms =
      (mean * after.v).norm() + (mean * before.v).norm() + h * f.norm() + reaction.norm();
  return {(change - h * f - reaction).norm() / std::max(terms, 1e-300),
          (access.difference(after.q, before.q) - h * after.v).norm()};
}

// ---- Without contact

// Where nothing touches it is implicit Euler, whose own stepper solves for accelerations by LU.
TEST(DviNewton, IsImplicitEulerWhereNothingTouches) {
  PointSystem points;
  State hanging;
  make_point_chain(3, 1, 1, Vec3(1, -1, 0.3), points, hanging);
  points.springs.push_back(
      {.a = {.point = 0}, .b = {.point = 2}, .length = 1.7, .stiffness = 200, .damping = 0.3});
  NodeChain chain;
  chain.held = true;
  chain.add_flat_node(1);
  chain.add_pose_node();
  chain.add_flat_node(3);
  State stretched = chain.start(0);
  stretched.v[chain.layout().v_start[1] + 4] = 1.5;
  const Model rods = rod_chain(3, 0.5, 0.5);
  const RigidSystem rigid(rods);
  struct Case {
    const System* system;
    const State* start;
    bool linear;  ///< one problem a step is enough
  };
  const State rest = initial_state(rods);
  for (const Case c : {Case{&points, &hanging, false}, Case{&chain, &stretched, true},
                       Case{&rigid, &rest, false}}) {
    const double end = 0.3;
    const int steps = 30;
    SimulationOptions options = newton_options(end / steps, end);
    const SmoothRun ours = run_smooth(*c.system, *c.start, options, end, steps);
    SimulationOptions smooth = smooth_options("implicit-euler");
    const SmoothRun theirs = run_smooth(*c.system, *c.start, smooth, end, steps);
    EXPECT_LT(SystemAccess(*c.system).difference(ours.state.q, theirs.state.q).norm(), 1e-7);
    EXPECT_LT((ours.state.v - theirs.state.v).norm(), 1e-6);
    EXPECT_LT((ours.lambda - theirs.lambda).norm(), 1e-5 * (1 + theirs.lambda.norm()));
    EXPECT_LT(ours.joint_error, 1e-9) << "g(q⁺) = 0, not J v⁺ = −g/h";
    EXPECT_EQ(ours.iterations > steps, !c.linear);
    EXPECT_LT(ours.iterations, 6 * steps);
  }
}

// M̂ = ½ (M + M⁺) where the mass depends on the configuration.
TEST(DviNewton, TakesTheMeanOfTheMassesAtBothEnds) {
  CartPendulum system;
  State state;
  state.q = Eigen::Vector2d(0, 1.2);
  state.v = Eigen::Vector2d(0.3, -2);
  const double h = 0.02;
  const auto stepper = make_stepper(system, newton_options(h, 1));
  StepMemory memory;
  StepReport report;
  for (int k = 0; k < 20; ++k) {
    const State before = state;
    ASSERT_FALSE(stepper->step(state, h, memory, report).failed());
    ASSERT_TRUE(report.meets_tolerance);
    const Balance b = balance(system, before, state, h, stepper->rows(), stepper->impulses());
    EXPECT_LT(b.momentum, 1e-9);
    EXPECT_LT(b.position, 1e-14);
  }
}

// ---- With contact

/// A ball that rolls and slides on a larger one, which is held, with a spring that pulls it down.
Model ball_on_a_ball(double mu) {
  Model m = empty_model();
  m.materials[0].friction = mu;
  m.shapes.push_back({.kind = ShapeKind::sphere, .size = {1, 0, 0}, .pose = {}, .body = 0});
  const int ball = add_ball(m, "ball", {0.1, 0.05, 0}, 0.1, 1);
  m.bodies[ball].start.position.z() =
      std::sqrt(1.21 - m.bodies[ball].start.position.head<2>().squaredNorm());
  m.bodies[ball].velocity = {1, 0.5, 0};
  finalize(m);
  return m;
}

// Recipe 001 §2.5: every equation of the step holds at its end, friction included.
TEST(DviNewton, EveryEquationHoldsAtTheEndOfTheStep) {
  for (const double mu : {0.0, 0.1, 0.8}) {
    const Model m = ball_on_a_ball(mu);
    const RigidSystem system(m);
    SystemAccess access(system);
    const double h = 5e-3;
    SimulationOptions o = newton_options(h, 1);
    o.contact_envelope = 0.01;
    const auto stepper = make_stepper(system, o);
    State state = initial_state(m);
    StepMemory memory;
    StepReport report;
    int pressed = 0, slid = 0;
    for (int k = 0; k < 60; ++k) {
      const State before = state;
      ASSERT_FALSE(stepper->step(state, h, memory, report).failed());
      ASSERT_TRUE(report.meets_tolerance) << k << " " << report.certificate.residual();
      if (stepper->rows().rows() == 0) continue;
      const Balance b = balance(system, before, state, h, stepper->rows(), stepper->impulses());
      EXPECT_LT(b.momentum, 1e-8) << k;
      EXPECT_LT(b.position, 1e-13) << k;
      Interactions rows = stepper->rows();
      access.measure(state, rows);
      const Vector& impulse = stepper->impulses();
      EXPECT_GT(rows.g[0], -1e-10);
      EXPECT_LT(std::abs(impulse[0] * rows.g[0]), 1e-10);
      if (impulse[0] < 1e-6) continue;
      ++pressed;
      if (mu == 0) continue;
      Vector u;
      multiply(rows.J, state.v, u);
      const Eigen::Vector2d slip = u.segment<2>(1), force = impulse.segment<2>(1);
      EXPECT_LE(force.norm(), mu * impulse[0] * (1 + 1e-6));
      if (slip.norm() < 1e-6) continue;
      ++slid;
      EXPECT_LT((force + mu * impulse[0] * slip.normalized()).norm(), 1e-6 * impulse[0]);
    }
    EXPECT_GT(pressed, 20) << mu;
    if (mu > 0) {
      EXPECT_GT(slid, 3) << mu;
    }
  }
}

// On a curved surface one linearisation leaves a gap of ½ κ v² h² in every step; Newton leaves
// none.
TEST(DviNewton, GapOnACurvedSurfaceIsClosed) {
  const Model m = ball_on_a_ball(0);
  double worst[2] = {0, 0};
  for (const bool newton : {true, false}) {
    SimulationOptions o = newton_options(5e-3, 0.1);
    if (!newton) o.stepper.name = "dvi";
    Simulation run(m, o);
    run.start();
    while (run.advance()) {
      if (run.state().t < 0.022) continue;  // it starts level, flies, and lands
      const double gap = run.state().q.head<3>().norm() - 1.1;
      worst[newton ? 0 : 1] = std::max(worst[newton ? 0 : 1], std::abs(gap));
    }
    EXPECT_EQ(run.checkpoint().missed, 0);
  }
  EXPECT_LT(worst[0], 1e-10);
  // ½ v²h²/r = ½ · 1.26² · 25e-6/1.1 at the end.
  EXPECT_NEAR(worst[1], 1.8e-5, 1e-6);
}

// The source: v⁺ = γ = λ = 0 as the first guess and one iteration is (3.22), the step of dvi.
TEST(DviNewton, OneIterationIsTheStepOfDvi) {
  PointSystem points;
  State start;
  make_point_chain(3, 1, 1, Vec3(1, -1, 0.3), points, start);
  start.v = Vector::LinSpaced(9, -1, 1);
  points.springs.push_back(
      {.a = {.point = 0}, .b = {.point = 2}, .length = 1.7, .stiffness = 200, .damping = 0.3});
  points.guides.push_back({.point = 2, .normal = Vec3::UnitZ(), .offset = start.q[8], .rate = 0.5});
  State result[2];
  for (const bool newton : {true, false}) {
    SimulationOptions o = newton_options(0.01, 1);
    o.stepper.name = newton ? "dvi-newton" : "dvi";
    o.stepper.newton_iterations = 1;
    o.stepper.implicit_forces = ImplicitForces::exact;
    const auto stepper = make_stepper(points, o);
    State state = start;
    StepMemory memory;
    StepReport report;
    stepper->step(state, 0.01, memory, report);
    result[newton ? 0 : 1] = state;
    EXPECT_EQ(report.meets_tolerance, !newton) << "one iteration does not solve the step";
  }
  EXPECT_LT((Vector(result[0].q) - Vector(result[1].q)).norm(), 1e-13);
  EXPECT_LT((result[0].v - result[1].v).norm(), 1e-12);
}

// Two problems where dvi takes one: the gap is closed in one step, the approach stopped in the
// next.
TEST(DviNewton, ABallLandsWithoutReboundAndRests) {
  Model m = empty_model();
  add_floor(m);
  add_ball(m, "ball", {0, 0, 0.6}, 0.1, 1);
  finalize(m);
  Simulation run(m, newton_options(4e-3, 1));
  run.start();
  double lowest = 1;
  while (run.advance()) {
    lowest = std::min(lowest, run.state().q[2] - 0.1);
    EXPECT_LE(run.report().newton_iterations, 3);
  }
  EXPECT_GT(lowest, -1e-12);
  EXPECT_LT(run.state().v.norm(), 1e-9);
  EXPECT_NEAR(run.state().q[2], 0.1, 1e-10);
  EXPECT_NEAR(run.impulses()[0], 9.81 * 4e-3, 1e-9);
  EXPECT_EQ(run.checkpoint().missed, 0);
  EXPECT_NEAR(run.energy().unexplained(), 0, 1e-9);
}

// Springs that harden: one linearisation is not enough, Newton's steps shrink with the square.
TEST(DviNewton, PileOnHardSpringsSolvesItsForces) {
  PointSystem points;
  State state;
  make_point_chain(1, 1, 1, Vec3(1, 0, 0), points, state);
  points.rods.clear();
  // Two springs across: geometric stiffness that grows with the deflection.
  points.springs.push_back({.a = {.point = 0},
                            .b = {.point = -1, .place = Vec3(0, 0, 0)},
                            .length = 1,
                            .stiffness = 1e5});
  points.springs.push_back({.a = {.point = 0},
                            .b = {.point = -1, .place = Vec3(2, 0, 0)},
                            .length = 1,
                            .stiffness = 1e5});
  state.v[1] = -8;
  const double h = 0.01;
  const auto stepper = make_stepper(points, newton_options(h, 1));
  StepMemory memory;
  StepReport report;
  int most = 0;
  for (int k = 0; k < 20; ++k) {
    const State before = state;
    ASSERT_FALSE(stepper->step(state, h, memory, report).failed());
    ASSERT_TRUE(report.meets_tolerance);
    EXPECT_LT(balance(points, before, state, h, stepper->rows(), stepper->impulses()).momentum,
              1e-8);
    most = std::max(most, report.newton_iterations);
  }
  EXPECT_GE(most, 3);
  EXPECT_LE(most, 8);
}

// ---- What it is not

TEST(DviNewton, RestitutionIsRefused) {
  Model m = empty_model();
  m.materials[0].restitution = 0.5;
  add_floor(m);
  add_ball(m, "ball", {0, 0, 0.6}, 0.1, 1);
  finalize(m);
  SimulationOptions o = newton_options(1e-3, 1);
  try {
    const Simulation run(m, o);
    FAIL() << "not refused";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("restitution"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("'dvi'"), std::string::npos) << error.what();
  }
  o.stepper.restitution = false;
  EXPECT_NO_THROW(Simulation(m, o));
  o.stepper.name = "dvi";
  o.stepper.restitution = true;
  EXPECT_NO_THROW(Simulation(m, o));
}

}  // namespace
}  // namespace urto
