// Every stepper on every textbook system and on the 3D model, through one interface: nodes of any
// size, coupled masses, joints.
#include <cmath>
#include <memory>
#include <vector>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "stepper/smooth_runs.h"
#include "urto/mechanics/textbook_contact.h"

namespace urto {
namespace {

struct Sample {
  std::string name;
  std::shared_ptr<const Model> model = {};  ///< of the rigid ones
  std::shared_ptr<const System> system = {};
  State start = {};
};

template <class Made>
Sample sample(std::string name, Made system, State start) {
  return {std::move(name), {}, std::move(system), std::move(start)};
}

State at_rest(const Vector& q) {
  State s;
  s.q = q;
  s.v = Vector::Zero(q.size());
  return s;
}

Sample pendulum_of_points(bool spring) {
  auto system = std::make_shared<PointSystem>();
  State start;
  make_point_chain(2, 1, 1, Vec3(1, -1, 0), *system, start);
  if (spring) {
    system->rods.pop_back();
    system->springs.push_back(
        {.a = {.point = 0}, .b = {.point = 1}, .length = 0.9, .stiffness = 60, .damping = 0.2});
  }
  return sample(spring ? "pendulum and spring" : "double pendulum", system, start);
}

Sample oscillators(int n) {
  Matrix M = 2 * Matrix::Identity(n, n), D = 0.05 * Matrix::Identity(n, n);
  Matrix K = 40 * Matrix::Identity(n, n);
  for (int k = 0; k + 1 < n; ++k) {
    M(k, k + 1) = M(k + 1, k) = 0.5;
    K(k, k + 1) = K(k + 1, k) = -15;
  }
  return sample("linear system of " + std::to_string(n),
                std::make_shared<LinearSystem>(M, D, K, Vector::Ones(n)),
                at_rest(Vector::LinSpaced(n, 0.1, 0.5)));
}

Sample chain_of_nodes(bool held) {
  auto chain = std::make_shared<NodeChain>();
  chain->held = held;
  chain->stiffness = 30;
  chain->add_flat_node(1);
  chain->add_flat_node(2);
  chain->add_flat_node(3);
  chain->add_pose_node();
  chain->add_flat_node(7);
  chain->add_flat_node(6);
  State start = chain->start(0);
  start.q[chain->layout().q_start[2]] = 0.2;
  start.v[chain->layout().v_start[3] + 4] = 1.5;  // the pose turns
  start.v[chain->layout().v_start[4] + 6] = 0.3;
  return sample(held ? "held chain of nodes" : "chain of nodes", chain, start);
}

std::vector<Sample> samples() {
  std::vector<Sample> all{
      pendulum_of_points(false), pendulum_of_points(true), oscillators(1),      oscillators(6),
      oscillators(40),           chain_of_nodes(false),    chain_of_nodes(true)};
  State cart = at_rest(Eigen::Vector2d(0, 1.2));
  cart.v[0] = 0.3;
  all.push_back(sample("cart and pendulum", std::make_shared<CartPendulum>(), cart));
  auto block = std::make_shared<RockingBlock>();
  block->slope = 0.5;
  all.push_back(sample("rocking block", block, at_rest(Vector::Constant(1, 0.4))));
  // Those that meet something, on their way to it.
  auto ball = std::make_shared<BouncingBall>();
  all.push_back(sample("bouncing ball", ball, at_rest(Vector::Constant(1, 1.001))));
  auto pendulum = std::make_shared<BouncingPendulum>();
  all.push_back(sample("bouncing pendulum", pendulum, pendulum->start(0.26)));
  auto corners = std::make_shared<BlockOnCorners>();
  corners->friction = 0.3;
  all.push_back(sample("block on corners", corners, at_rest(Vec3(0, 1, 0.2))));
  const auto model = std::make_shared<const Model>(testing::rod_chain(3, 0.5, 0.5));
  auto rigid = std::make_shared<RigidSystem>(*model);
  all.push_back({"rigid chain", model, rigid, initial_state(*model)});
  return all;
}

constexpr double duration = 0.1;

// Both runs must agree with Munthe-Kaas at a far smaller step, the finer one better: a stepper that
// reads or writes beside a node fails, if not under a sanitizer, then here.
TEST(EveryStepper, ConvergesOnEverySystem) {
  for (const Sample& s : samples()) {
    const testing::SmoothRun exact = testing::run_smooth(
        *s.system, s.start, testing::smooth_options("munthe-kaas"), duration, 400);
    const SystemAccess access(*s.system);
    for (const StepperInfo& info : steppers()) {
      std::array<double, 2> error{};
      for (int k = 0; k < 2; ++k) {
        const testing::SmoothRun run = testing::run_smooth(
            *s.system, s.start, testing::smooth_options(info.name), duration, 20 << k);
        ASSERT_TRUE(run.state.q.allFinite()) << info.name << " on " << s.name;
        error[k] = access.difference(run.state.q, exact.state.q).norm() +
                   (run.state.v - exact.state.v).norm();
      }
      EXPECT_LT(error[1], 0.65 * error[0] + 1e-7) << info.name << " on " << s.name;
      EXPECT_LT(error[1], 0.1) << info.name << " on " << s.name;
    }
  }
}

TEST(EveryStepper, CertifiesEveryStepOnEverySystem) {
  for (const Sample& s : samples()) {
    for (const StepperInfo& info : steppers()) {
      const std::unique_ptr<Stepper> stepper =
          make_stepper(*s.system, testing::smooth_options(info.name));
      State state = s.start;
      StepMemory memory;
      StepReport report;
      for (int k = 0; k < 10; ++k) {
        const StepOutcome outcome = stepper->step(state, 5e-3, memory, report);
        ASSERT_FALSE(outcome.failed()) << outcome.message;
        EXPECT_DOUBLE_EQ(outcome.t, state.t);
        EXPECT_TRUE(report.meets_tolerance)
            << info.name << " on " << s.name << ": " << report.certificate.residual();
      }
    }
  }
}

// A run of any system with any stepper, the caller's own; step doubling is a wrapper around it.
TEST(EveryStepper, RunsInASimulationWithFixedAndAdaptiveSteps) {
  for (const Sample& s : samples()) {
    for (const StepperInfo& info : steppers()) {
      for (const bool adaptive : {false, true}) {
        SimulationOptions o = testing::smooth_options(info.name);
        o.duration = 0.02;
        o.step = 2e-3;
        o.adaptive = adaptive;
        o.error_tolerance = 1e-3;
        const std::unique_ptr<Stepper> stepper = make_stepper(*s.system, o);
        Simulation run(*s.system, *stepper, s.start, o);
        run.start();
        while (run.advance()) {
        }
        ASSERT_EQ(run.run_state(), RunState::finished) << info.name << ": " << run.failure();
        EXPECT_EQ(run.state().t, o.duration);
        EXPECT_TRUE(run.state().q.allFinite());
      }
    }
  }
}

// Certificates are measured, not copied: a result that is off by a millionth is seen by every
// smooth stepper's test.
TEST(EveryStepper, CertificatesSeeAWrongState) {
  const Sample s = pendulum_of_points(false);
  MotionPoint before{s.start, Vector::Zero(6), Vector::Zero(6), Vector::Zero(2)};
  SystemAccess access(*s.system);
  ForwardDynamics dynamics;
  Interactions rows;
  Vector rate;
  ASSERT_TRUE(dynamics.solve(access, before.state, 0, rows, rate, before.a_true, before.lambda));
  MotionPoint after = before;
  MotionCertifier certifier(*s.system);
  const auto residual = [&](auto check) {
    certifier.start();
    certifier.look_at(before, after, 1e-8);
    check();
    return certifier.result().residual();
  };
  EXPECT_LT(residual([&] { certifier.check_force_balance(); }), 1e-12);
  EXPECT_LT(residual([&] { certifier.check_accelerations(0); }), 1e-12);
  after.a_true[1] += 1e-6;
  EXPECT_GT(residual([&] { certifier.check_force_balance(); }), 1e-8);
  EXPECT_GT(residual([&] { certifier.check_accelerations(0); }), 1e-8);
  after = before;
  after.lambda[0] += 1e-5;
  EXPECT_GT(residual([&] { certifier.check_force_balance(); }), 1e-8);
  after = before;
  after.state.q[0] += 1e-6;
  EXPECT_GT(residual([&] { certifier.check_positions(); }), 1e-8);
  EXPECT_GT(residual([&] { certifier.check_increment(Vector::Zero(6)); }), 1e-8);
  after = before;
  after.state.v[0] += 1e-6;
  EXPECT_GT(residual([&] { certifier.check_velocities(false); }), 1e-8);
}

}  // namespace
}  // namespace urto
