// Every stepper on every textbook system and on the 3D model, through one interface: nodes of any
// size, coupled masses, joints.
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <ostream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "stepper/smooth_runs.h"
#include "urto/mechanics/textbook_contact.h"

namespace urto {
namespace {

struct Sample {
  std::shared_ptr<const Model> model = {};  ///< of the rigid ones
  std::shared_ptr<const System> system = {};
  State start = {};
};

template <class Made>
Sample sample(Made system, State start) {
  return {{}, std::move(system), std::move(start)};
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
  return sample(system, start);
}

Sample oscillators(int n) {
  Matrix M = 2 * Matrix::Identity(n, n), D = 0.05 * Matrix::Identity(n, n);
  Matrix K = 40 * Matrix::Identity(n, n);
  for (int k = 0; k + 1 < n; ++k) {
    M(k, k + 1) = M(k + 1, k) = 0.5;
    K(k, k + 1) = K(k + 1, k) = -15;
  }
  return sample(std::make_shared<LinearSystem>(M, D, K, Vector::Ones(n)),
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
  return sample(chain, start);
}

Sample machine() {
  Model m = testing::empty_model({0, -9.81, 0});
  const Mat3 I = 0.02 * Mat3::Identity();
  const int arm = testing::add_rigid(m, "arm", {0.2, 0, 0}, 1, I);
  const int fork = testing::add_rigid(m, "fork", {0.6, 0, 0}, 0.5, I);
  const int bearing = testing::join(m, "bearing", JointKind::revolute, 0, arm, Vec3::Zero());
  m.joints[bearing].softness = {.stiffness = 500, .damping = 5};
  testing::join(m, "cross", JointKind::universal, arm, fork, {0.4, 0, 0});
  MeasureSpring spring{.marker_a = add_marker(m, "", 0, {{0.5, 1, 0.2}, identity_quaternion()}),
                       .marker_b = add_marker(m, "", fork, {}),
                       .rest = 0.9};
  spring.stiffness.slope = 100;
  spring.damping.slope = 1;
  m.forces.emplace_back(spring);
  Bushing bushing{.marker_a = add_marker(m, "", 0, {{0.7, 0, 0}, identity_quaternion()}),
                  .marker_b = add_marker(m, "", fork, {})};
  bushing.stiffness.setConstant(20);
  bushing.damping.setConstant(0.5);
  m.forces.emplace_back(bushing);
  finalize(m);
  const auto model = std::make_shared<const Model>(m);
  return {model, std::make_shared<RigidSystem>(*model), initial_state(*model)};
}

/// Each system of textbook.h and textbook_contact.h, and the 3D model. Those that meet something
/// are on their way to it.
using Make = Sample (*)();
struct Case {
  const char* name;
  Make make;
  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }
};
const std::array cases{
    Case{"Pendulum", [] { return pendulum_of_points(false); }},
    Case{"PendulumAndSpring", [] { return pendulum_of_points(true); }},
    Case{"Oscillator", [] { return oscillators(1); }},
    Case{"SixOscillators", [] { return oscillators(6); }},
    Case{"FortyOscillators", [] { return oscillators(40); }},
    Case{"NodesOfOneTwoThreeSixAndSeven", [] { return chain_of_nodes(false); }},
    Case{"HeldNodesOfOneTwoThreeSixAndSeven", [] { return chain_of_nodes(true); }},
    Case{"Cart",
         [] {
           State cart = at_rest(Eigen::Vector2d(0, 1.2));
           cart.v[0] = 0.3;
           return sample(std::make_shared<CartPendulum>(), cart);
         }},
    Case{"RockingBlock",
         [] {
           auto block = std::make_shared<RockingBlock>();
           block->slope = 0.5;
           return sample(block, at_rest(Vector::Constant(1, 0.4)));
         }},
    Case{"BouncingBall",
         [] {
           return sample(std::make_shared<BouncingBall>(), at_rest(Vector::Constant(1, 1.001)));
         }},
    Case{"BouncingPendulum",
         [] {
           auto pendulum = std::make_shared<BouncingPendulum>();
           return sample(pendulum, pendulum->start(0.26));
         }},
    Case{"BlockOnCorners",
         [] {
           auto corners = std::make_shared<BlockOnCorners>();
           corners->friction = 0.3;
           return sample(corners, at_rest(Vec3(0, 1, 0.2)));
         }},
    Case{"MassInBowl",
         [] {
           auto bowl = std::make_shared<MassInBowl>();
           bowl->friction = 0.3;
           State start = at_rest(Vec3(0.2, 0.1, 0.3));
           start.v = Vec3(1, -0.5, 0.2);
           return sample(bowl, start);
         }},
    Case{"PendulumAtWall",
         [] { return sample(std::make_shared<PendulumAtWall>(), PendulumAtWall::start()); }},
    Case{"CartsAtStopper",
         [] {
           State start = CartsAtStopper::start(0.5, -1);
           start.q[1] = start.q[3] = 0.5;  // over the floor
           return sample(std::make_shared<CartsAtStopper>(CartsAtStopper::Data{.damper = 2}),
                         start);
         }},
    // In its slowest mode: of the others explicit steps make too much and implicit ones too little.
    Case{"ImpactingBar",
         [] {
           constexpr int elements = 8;
           auto bar = std::make_shared<ImpactingBar>(ImpactingBar::Data{.elements = elements});
           State start = bar->start(10);
           for (int k = 0; k <= elements; ++k)
             start.q[k] = 0.05 * std::cos(std::numbers::pi * k / elements);
           return sample(bar, start);
         }},
    Case{"RigidChain",
         [] {
           const auto model = std::make_shared<const Model>(testing::rod_chain(3, 0.5, 0.5));
           return Sample{model, std::make_shared<RigidSystem>(*model), initial_state(*model)};
         }},
    Case{"RigidMachine", machine},
};

class EveryStepper : public ::testing::TestWithParam<Case> {};

INSTANTIATE_TEST_SUITE_P(On, EveryStepper, ::testing::ValuesIn(cases),
                         [](const auto& made) { return std::string(made.param.name); });

constexpr double duration = 0.1;

// Both runs must agree with Munthe-Kaas at a far smaller step, the finer one better: a stepper that
// reads or writes beside a node fails, if not under a sanitizer, then here.
TEST_P(EveryStepper, ConvergesOnEverySystem) {
  const Sample s = GetParam().make();
  const testing::SmoothRun exact = testing::run_smooth(
      *s.system, s.start, testing::smooth_options("munthe-kaas"), duration, 400);
  const SystemAccess access(*s.system);
  for (const StepperInfo& info : steppers()) {
    std::array<double, 2> error{};
    for (int k = 0; k < 2; ++k) {
      const testing::SmoothRun run = testing::run_smooth(
          *s.system, s.start, testing::smooth_options(info.name), duration, 20 << k);
      ASSERT_TRUE(run.state.q.allFinite()) << info.name;
      error[k] = access.difference(run.state.q, exact.state.q).norm() +
                 (run.state.v - exact.state.v).norm();
    }
    EXPECT_LT(error[1], 0.65 * error[0] + 1e-7) << info.name;
    EXPECT_LT(error[1], 0.1) << info.name;
  }
}

TEST_P(EveryStepper, CertifiesEveryStepOnEverySystem) {
  const Sample s = GetParam().make();
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
      EXPECT_TRUE(report.meets_tolerance) << info.name << ": " << report.certificate.residual();
    }
  }
}

// A run of any system with any stepper, the caller's own; step doubling is a wrapper around it.
TEST_P(EveryStepper, RunsInASimulationWithFixedAndAdaptiveSteps) {
  const Sample s = GetParam().make();
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

// Certificates are measured, not copied: a result that is off by a millionth is seen by every
// smooth stepper's test.
TEST(MotionCertificate, SeesAWrongState) {
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
