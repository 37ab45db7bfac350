// Friction that falls with the slip, μ(v) = μ + (μ_s − μ) exp(−(v/v_s)^δ), against closed forms;
// and contacts of several coefficients in one step (recipe 000, checklist 18).
#include <cmath>
#include <numbers>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/analysis/statics.h"
#include "urto/error.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr double g = 9.81;

Material falling(double friction, double static_friction, double speed, double exponent) {
  return {.friction = friction,
          .static_friction = static_friction,
          .stribeck_speed = speed,
          .stribeck_exponent = exponent};
}

SimulationOptions steps_of(double h, double duration) {
  SimulationOptions o;
  o.step = h;
  o.duration = duration;
  return o;
}

/// A cube of 0.1 m and 1 kg on a floor; its four corners carry whatever friction makes of them, and
/// slide at one speed. The second material is the cube's, so that the pair is mixed of two.
Model cube_on_floor(const Material& material, const Vec3& gravity, double speed) {
  Model m = empty_model(gravity);
  m.materials = {material, material};
  add_floor(m);
  const int cube = add_cube(m, "cube", {0, 0, 0.05}, 0.1, 1);
  m.shapes.back().material = 1;
  m.bodies[cube].velocity = {speed, 0, 0};
  return m;
}

TEST(FrictionCoefficient, FallsFromRestToSlidingWithItsDerivative) {
  const Material m = falling(0.2, 0.6, 0.05, 1.7);
  EXPECT_DOUBLE_EQ(friction_at(m, 0).value, 0.6);
  EXPECT_NEAR(friction_at(m, 0.05).value, 0.2 + 0.4 / std::numbers::e, 1e-15);
  EXPECT_NEAR(friction_at(m, 10).value, 0.2, 1e-15);
  for (const double v : {1e-3, 0.02, 0.05, 0.2}) {
    const double slope = (friction_at(m, v + 1e-7).value - friction_at(m, v - 1e-7).value) / 2e-7;
    EXPECT_NEAR(friction_at(m, v).slope, slope, 1e-6) << v;
  }
  EXPECT_DOUBLE_EQ(friction_at({.friction = 0.3}, 2).value, 0.3);
  EXPECT_EQ(friction_at({.friction = 0.3}, 2).slope, 0);
}

TEST(FrictionCoefficient, OfAPairIsMixedOfBoth) {
  const Material steel = falling(0.2, 0.5, 0.1, 1), wood = falling(0.8, 0.9, 0.01, 2);
  const Material pair = mixed(steel, wood);
  EXPECT_DOUBLE_EQ(pair.friction, std::sqrt(0.2 * 0.8));
  EXPECT_DOUBLE_EQ(pair.static_friction, std::sqrt(0.5 * 0.9));
  EXPECT_EQ(pair.stribeck_speed, 0.1);
  EXPECT_EQ(pair.stribeck_exponent, 1);
  // A surface without one has its friction for both.
  EXPECT_DOUBLE_EQ(mixed(steel, {.friction = 0.4}).static_friction, std::sqrt(0.5 * 0.4));
  EXPECT_EQ(mixed({.friction = 0.3}, {.friction = 0.4}).static_friction, 0);
}

TEST(FrictionCoefficient, ThatMakesNoSenseIsRefused) {
  const auto message = [](const Material& material) {
    Model m = cube_on_floor(material, {0, 0, -g}, 0);
    try {
      finalize(m);
    } catch (const InputError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(message(falling(0.2, 0.6, 0.05, 2)), "");
  EXPECT_NE(message(falling(0.6, 0.2, 0.05, 2)).find("at least 0.6"), std::string::npos);
  EXPECT_NE(message(falling(0.2, 0.6, 0, 2)).find("stribeck_speed"), std::string::npos);
  EXPECT_NE(message(falling(0.2, 0.6, 0.05, 0)).find("stribeck_exponent"), std::string::npos);
  EXPECT_NE(message(falling(0.2, 0.6, -1, 2)).find("stribeck_speed"), std::string::npos);
  EXPECT_NE(message(falling(0.2, NAN, 0.05, 2)).find("static_friction"), std::string::npos);
}

// m v̇ = −m g μ(v) with δ = 1: w = exp(v/v_s) obeys ẇ = −(a w + b)/v_s, a = g μ, b = g (μ_s − μ).
TEST(Stribeck, ASlidingBlockSlowsDownByItsClosedForm) {
  constexpr double mu = 0.2, mu_s = 0.6, v_s = 0.3, start = 1;
  constexpr double a = g * mu, b = g * (mu_s - mu);
  const auto speed = [&](double t) {
    const double w = (std::exp(start / v_s) + b / a) * std::exp(-a * t / v_s) - b / a;
    return w > 1 ? v_s * std::log(w) : 0;
  };
  const double stop = v_s / a * std::log((std::exp(start / v_s) + b / a) / (1 + b / a));
  Model m = cube_on_floor(falling(mu, mu_s, v_s, 1), {0, 0, -g}, start);
  finalize(m);
  std::array<double, 3> error{}, late{};
  for (int k = 0; k < 3; ++k) {
    const double h = 2e-3 / (1 << k);
    Simulation run(m, steps_of(h, 0.5));
    run.start();
    double worst = 0, stopped = 0;
    while (run.advance()) {
      worst = std::max(worst, std::abs(run.state().v[0] - speed(run.state().t)));
      if (run.state().v[0] > 1e-9) stopped = run.state().t;
      EXPECT_TRUE(run.report().meets_tolerance);
    }
    error[k] = worst;
    late[k] = std::abs(stopped - stop);
    EXPECT_NEAR(run.energy().unexplained(), 0, 1e-9);
  }
  RecordProperty("errors", fmt::format("{:.2e} {:.2e} {:.2e} m/s, stop {:.3e} {:.3e} {:.3e} s",
                                       error[0], error[1], error[2], late[0], late[1], late[2]));
  EXPECT_LT(error[2], 3e-3);
  EXPECT_NEAR(std::log2(error[0] / error[2]), 2, 0.2);  // first order, two halvings
  EXPECT_LT(late[2], 2 * 5e-4);
}

/// Times at which the block on the belt begins to stick, after the first.
std::vector<double> sticking_times(const Model& m, int cube, double belt, double h, double until) {
  Simulation run(m, steps_of(h, until));
  run.start();
  std::vector<double> times;
  bool stuck = true;
  while (run.advance()) {
    const bool now = std::abs(linear_velocity(m, run.state(), cube).x() - belt) < 1e-6;
    if (now && !stuck) times.push_back(run.state().t);
    stuck = now;
  }
  return times;
}

/// A block on a belt of speed V, held by a spring: it is carried along until k x = μ_s m g, slides
/// about μ m g/k with the amplitude √(D² + V²/ω²), D = (μ_s − μ) m g/k, and sticks again.
struct StickSlip {
  double omega = 10, belt = 0.1;
  Model model;
  int cube = 0;

  StickSlip(double mu, double mu_s, double v_s) {
    model = empty_model({0, 0, -g});
    model.materials[0] = falling(mu, mu_s, v_s, 2);
    Body moving{.name = "belt", .kind = BodyKind::kinematic};
    moving.motion.position[0] = PolynomialFunction{{0, belt}};
    const int belt_body = add_body(model, moving);
    model.shapes.push_back(
        {.kind = ShapeKind::half_space, .size = Vec3::Zero(), .pose = {}, .body = belt_body});
    cube = add_cube(model, "cube", {0, 0, 0.05}, 0.1, 1);
    model.bodies[cube].velocity = {belt, 0, 0};
    MeasureSpring spring;
    spring.marker_a = add_marker(model, "wall", 0, {{-3, 0, 0.05}, identity_quaternion()});
    spring.marker_b = add_marker(model, "eye", cube, {});
    spring.rest = 3;
    spring.stiffness.slope = omega * omega;
    model.forces.emplace_back(spring);
    finalize(model);
  }
  /// While it sticks D is made up for twice, while it slides ẋ = V cos ωt − ωD sin ωt is V again
  /// at tan(ωt/2) = −ωD/V.
  double period(double mu, double mu_s) const {
    const double D = (mu_s - mu) * g / (omega * omega);
    return 2 * D / belt + 2 / omega * (std::numbers::pi - std::atan(omega * D / belt));
  }
};

TEST(Stribeck, ABlockOnABeltSticksAndSlipsWithTheKnownPeriod) {
  constexpr double mu = 0.3, mu_s = 0.6;
  const StickSlip oscillator(mu, mu_s, 1e-6);
  const double expected = oscillator.period(mu, mu_s);
  std::array<double, 3> found{};
  for (int k = 0; k < 3; ++k) {
    const std::vector<double> times =
        sticking_times(oscillator.model, oscillator.cube, oscillator.belt, 2e-3 / (1 << k), 5);
    ASSERT_GE(times.size(), 4U);
    found[k] = (times.back() - times.front()) / static_cast<double>(times.size() - 1);
  }
  const auto note =
      fmt::format("{:.5f} {:.5f} {:.5f} for {:.5f}", found[0], found[1], found[2], expected);
  RecordProperty("periods", note);
  EXPECT_NEAR(found[2], expected, 2e-3) << note;
  EXPECT_LT(std::abs(found[2] - expected), 0.75 * std::abs(found[0] - expected) + 2e-4) << note;
}

// Without the fall there is no stick-slip: the block stops sticking once, and swings about
// μ m g/k with the belt's speed at most.
TEST(Stribeck, WithoutTheFallTheBlockSlidesForGood) {
  const StickSlip oscillator(0.3, 0, 0);
  const std::vector<double> times =
      sticking_times(oscillator.model, oscillator.cube, oscillator.belt, 1e-3, 5);
  EXPECT_LE(times.size(), 10U);  // the swing touches the belt's speed once a period, 2π/ω
  Simulation run(oscillator.model, steps_of(1e-3, 5));
  run.start();
  double farthest = 0;
  while (run.advance())
    farthest = std::max(farthest, position(oscillator.model, run.state(), oscillator.cube).x());
  const double middle = 0.3 * g / 100;
  EXPECT_NEAR(farthest, middle + oscillator.belt / oscillator.omega, 2e-4);
}

// tan α between μ and μ_s: what rests stays, what slides goes on, and statics finds it at rest.
TEST(Stribeck, OnASlopeBetweenTheTwoAnglesRestAndMotionAreBothPossible) {
  const double alpha = std::atan(0.4);
  const Vec3 gravity(g * std::sin(alpha), 0, -g * std::cos(alpha));
  const Material material = falling(0.3, 0.5, 0.01, 2);
  for (const double speed : {0.0, 0.1}) {
    Model m = cube_on_floor(material, gravity, speed);
    finalize(m);
    Simulation run(m, steps_of(1e-3, 1));
    run_to_end(run);
    const double acceleration = g * (std::sin(alpha) - 0.3 * std::cos(alpha));
    EXPECT_NEAR(run.state().v[0], speed > 0 ? speed + acceleration : 0, 2e-3) << speed;
  }
  Model m = cube_on_floor(material, gravity, 0);
  finalize(m);
  RigidSystem system(m);
  State rest = initial_state(m);
  StaticsOptions options;
  options.envelope = 1e-3;
  EXPECT_TRUE(find_equilibrium(system, rest, options).converged);
}

// Contacts as springs have the same coefficient, at the slip of every stage.
TEST(Stribeck, PenaltyContactFallsLikewise) {
  constexpr double mu = 0.2, mu_s = 0.6, v_s = 0.3, start = 1, t = 0.2;
  constexpr double a = g * mu, b = g * (mu_s - mu);
  const double expected =
      v_s * std::log((std::exp(start / v_s) + b / a) * std::exp(-a * t / v_s) - b / a);
  Model m = cube_on_floor(falling(mu, mu_s, v_s, 1), {0, 0, -g}, start);
  m.bodies[1].start.position[2] -= g / 4 / 1e5;  // where four springs carry it
  finalize(m);
  for (const char* stepper : {"generalised-alpha", "heun", "trapezoidal"}) {
    SimulationOptions o = steps_of(5e-4, t);
    o.stepper.name = stepper;
    o.stepper.penalty_contact = true;
    o.stepper.penalty = {.stiffness = 1e5, .exponent = 1, .damping = 30, .slip = 1e-4};
    Simulation run(m, o);
    run_to_end(run);
    ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
    EXPECT_NEAR(run.state().v[0], expected, 2e-4) << stepper;
  }
}

// Two blocks side by side, and one step: each has the coefficient of its own pair.
TEST(Friction, EveryContactHasTheCoefficientOfItsPair) {
  Model m = empty_model();
  m.materials = {{.name = "floor", .friction = 1},
                 {.name = "ice", .friction = 0.1},
                 {.name = "felt", .friction = 0.7}};
  m.mixing.friction = MixingRule::minimum;
  add_floor(m);
  for (int k = 0; k < 2; ++k) {
    const int cube = add_cube(m, fmt::format("cube {}", k), {0, 2.0 * k, 0.05}, 0.1, 1 + k);
    m.shapes.back().material = 1 + k;
    m.bodies[cube].velocity = {3, 0, 0};
  }
  finalize(m);
  constexpr double h = 1e-3;
  SimulationOptions o = steps_of(h, h);
  o.solver.tolerance = 1e-11;
  Simulation run(m, o);
  run_to_end(run);
  EXPECT_NEAR(linear_velocity(m, run.state(), 1).x(), 3 - 0.1 * g * h, 1e-9);
  EXPECT_NEAR(linear_velocity(m, run.state(), 2).x(), 3 - 0.7 * g * h, 1e-9);
  int seen = 0;
  const Interactions& rows = run.rows();
  for (int i = 0; i < rows.blocks(); ++i) {
    const Contact& c = rows.contacts[rows.origins[i].index];
    const int cube = std::max(c.body_a, c.body_b);
    const int first = rows.J.row_start[i];
    const double friction = run.impulses().segment<2>(first + 1).norm();
    EXPECT_NEAR(friction, (cube == 1 ? 0.1 : 0.7) * run.impulses()[first], 1e-12);
    ++seen;
  }
  EXPECT_EQ(seen, 8);
}

}  // namespace
}  // namespace urto
