// Orders of convergence of every smooth stepper on a nonlinear spatial problem with joints, and on
// free rotation.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "stepper/smooth_runs.h"
#include "urto/stepper/consistent_start.h"

namespace urto {
namespace {

using testing::order;
using testing::run_smooth;
using testing::smooth_options;
using testing::SmoothRun;

/// An asymmetric body on a ball joint, a second one hinged to it about a skew axis, and a spring
/// with a damper from there to the ground.
struct SpatialPendulum {
  Model model = testing::empty_model();
  State start;

  SpatialPendulum() {
    const int upper = testing::add_rigid(model, "upper", {0.3, 0.1, -0.2}, 1.5,
                                         Vec3(0.04, 0.07, 0.09).asDiagonal());
    const int lower = testing::add_rigid(model, "lower", {0.7, 0.3, -0.3}, 0.8,
                                         Vec3(0.02, 0.05, 0.04).asDiagonal());
    testing::join(model, "ball", JointKind::spherical, 0, upper, {0, 0, 0});
    testing::join(model, "hinge", JointKind::revolute, upper, lower, {0.5, 0.2, -0.3},
                  {0.3, 1, 0.2});
    MeasureSpring spring;
    spring.name = "spring";
    spring.marker_a = add_marker(model, "ground", 0, {{1, 0.5, 0.5}, identity_quaternion()});
    spring.marker_b = add_marker(model, "eye", lower, {{0.1, 0, 0.05}, identity_quaternion()});
    spring.rest = 0.6;
    spring.stiffness.slope = 40;
    spring.damping.slope = 1.5;
    model.forces.emplace_back(spring);
    model.bodies[upper].angular_velocity = {0.5, 2, 1};
    finalize(model);
    RigidSystem system(model);
    start = initial_state(model);
    consistent_start(system, {}, start);
  }
};

struct Errors {
  double q = 0, v = 0, lambda = 0;
};

Errors errors_of(const System& system, const SmoothRun& run, const SmoothRun& reference) {
  return {SystemAccess(system).difference(run.state.q, reference.state.q).norm(),
          (run.state.v - reference.state.v).norm(), (run.lambda - reference.lambda).norm()};
}

struct Study {
  const char* name;
  int order;
  int multiplier_order;
  bool held_velocities = false;
  double gamma = 0.5;
};

class SmoothOrder : public ::testing::TestWithParam<Study> {};

TEST_P(SmoothOrder, OfPositionsVelocitiesAndMultipliers) {
  const Study study = GetParam();
  const SpatialPendulum p;
  RigidSystem system(p.model);
  static const SmoothRun reference =
      run_smooth(system, p.start, smooth_options("munthe-kaas"), 0.5, 4000);
  SimulationOptions o = smooth_options(study.name);
  o.stepper.velocity_constraints = study.held_velocities;
  o.stepper.newmark_gamma = study.gamma;
  o.stepper.newmark_beta = 0.25 * (study.gamma + 0.5) * (study.gamma + 0.5);
  const int steps = study.order == 4 ? 25 : 200;
  std::array<Errors, 3> e;
  for (int k = 0; k < 3; ++k) {
    const SmoothRun run = run_smooth(system, p.start, o, 0.5, steps << k);
    EXPECT_EQ(run.cuts, 0);
    e[k] = errors_of(system, run, reference);
  }
  const auto note =
      fmt::format("q {:.2e} {:.2e} {:.2e}  v {:.2e} {:.2e} {:.2e}  λ {:.2e} {:.2e} {:.2e}", e[0].q,
                  e[1].q, e[2].q, e[0].v, e[1].v, e[2].v, e[0].lambda, e[1].lambda, e[2].lambda);
  RecordProperty("errors", note);
  EXPECT_NEAR(order(e[1].q, e[2].q), study.order, 0.15) << note;
  EXPECT_NEAR(order(e[1].v, e[2].v), study.order, 0.15) << note;
  EXPECT_NEAR(order(e[1].lambda, e[2].lambda), study.multiplier_order, 0.2) << note;
}

// The trapezoidal rule's multipliers do not converge with positions alone held: every step turns
// the error of J v around, the ripple of λ keeps its size. Held velocities end it.
INSTANTIATE_TEST_SUITE_P(
    Steppers, SmoothOrder,
    ::testing::Values(Study{"explicit-euler", 1, 1}, Study{"semi-implicit-euler", 1, 1},
                      Study{"heun", 2, 2}, Study{"leapfrog", 2, 2}, Study{"rk4", 2, 2},
                      Study{"munthe-kaas", 4, 4}, Study{"implicit-euler", 1, 1},
                      Study{"linear-implicit-euler", 1, 1}, Study{"trapezoidal", 2, 0},
                      Study{"linear-trapezoidal", 1, 1}, Study{"newmark", 2, 0},
                      Study{"newmark", 1, 1, false, 0.6}, Study{"newmark", 2, 2, true},
                      Study{"hht", 2, 2}, Study{"generalised-alpha", 2, 2},
                      Study{"trapezoidal", 2, 2, true}, Study{"hht", 2, 2, true},
                      Study{"generalised-alpha", 2, 2, true}),
    [](const auto& study) {
      std::string name = study.param.name;
      std::erase(name, '-');
      return name + (study.param.held_velocities ? "WithHeldVelocities" : "") +
             (study.param.gamma > 0.5 ? "Damped" : "");
    });

// The ripple of the trapezoidal rule alternates: (λ₋ + 2λ + λ₊)/4 over three steps has the second
// order that λ itself lacks where positions alone are held.
TEST(SmoothMultipliers, TheMeanOfThreeTrapezoidalOnesIsOfSecondOrder) {
  const SpatialPendulum p;
  RigidSystem system(p.model);
  const SmoothRun reference = run_smooth(system, p.start, smooth_options("munthe-kaas"), 0.5, 1000);
  for (const char* name : {"trapezoidal", "newmark"}) {
    std::array<double, 3> error{};
    for (int k = 0; k < 3; ++k) {
      const int steps = 200 << k;
      std::vector<Vector> lambda;
      run_smooth(system, p.start, smooth_options(name), 0.5 * (steps + 1) / steps, steps + 1,
                 [&](const State&, const Vector& l) { lambda.push_back(l); });
      const std::size_t n = lambda.size();
      const Vector mean = 0.25 * (lambda[n - 3] + 2 * lambda[n - 2] + lambda[n - 1]);
      error[k] = (mean - reference.lambda).norm();
    }
    const auto note = fmt::format("{}: {:.2e} {:.2e} {:.2e}", name, error[0], error[1], error[2]);
    RecordProperty("errors", note);
    EXPECT_NEAR(order(error[0], error[1]), 2, 0.2) << note;
    EXPECT_NEAR(order(error[1], error[2]), 2, 0.2) << note;
  }
}

// The torque-free body of recipe 000 §2.2, ω₀ = (1, 0.8, 1.2), T = 2, with an inertia that a body
// can have: (1, 2, 3.5) of the recipe violates the triangle inequality.
TEST(SmoothRotation, MuntheKaasKeepsOrderFourAndOneExponentialFallsToTwo) {
  Model m = testing::empty_model(Vec3::Zero());
  testing::add_rigid(m, "body", Vec3::Zero(), 1, Vec3(1.5, 2, 3).asDiagonal());
  m.bodies[1].angular_velocity = {1, 0.8, 1.2};
  finalize(m);
  RigidSystem system(m);
  const State start = initial_state(m);
  const SmoothRun reference = run_smooth(system, start, smooth_options("munthe-kaas"), 2, 4000);
  const auto errors = [&](const char* name) {
    std::array<double, 3> e{};
    for (int k = 0; k < 3; ++k) {
      const SmoothRun run = run_smooth(system, start, smooth_options(name), 2, 20 << k);
      e[k] = SystemAccess(system).difference(run.state.q, reference.state.q).norm();
    }
    RecordProperty(name, fmt::format("{:.2e} {:.2e} {:.2e}", e[0], e[1], e[2]));
    return e;
  };
  const auto plain = errors("rk4");
  EXPECT_NEAR(order(plain[1], plain[2]), 2, 0.1);
  const auto corrected = errors("munthe-kaas");
  EXPECT_NEAR(order(corrected[1], corrected[2]), 4, 0.1);
  EXPECT_LT(corrected[2], 1e-3 * plain[2]);
  const auto trapezoidal = errors("trapezoidal");
  EXPECT_NEAR(order(trapezoidal[1], trapezoidal[2]), 2, 0.1);
}

}  // namespace
}  // namespace urto
