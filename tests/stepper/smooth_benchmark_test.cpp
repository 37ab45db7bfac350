// Mechanisms with references of their own: double pendulum, heavy top, governor, four-bar windows,
// slider-crank, very stiff springs.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "oracles/governor.h"
#include "oracles/pendulum.h"
#include "oracles/runge_kutta.h"
#include "stepper/scenes.h"
#include "stepper/smooth_runs.h"
#include "support/paths.h"
#include "urto/mechanics/textbook.h"
#include "urto/scene/scene.h"
#include "urto/stepper/simulation.h"

namespace urto {
namespace {

using testing::order;
using testing::run_smooth;
using testing::smooth_options;
using testing::SmoothRun;

// Two uniform rods in minimal coordinates, angles from the x axis, both at rest along it.
Eigen::Vector4d double_pendulum_rate(const Eigen::Vector4d& y) {
  constexpr double g = 9.81;
  const double c = std::cos(y[0] - y[1]), s = std::sin(y[0] - y[1]);
  Eigen::Matrix2d M;
  M << 4.0 / 3, 0.5 * c, 0.5 * c, 1.0 / 3;
  const Eigen::Vector2d f(-0.5 * s * y[3] * y[3] - 1.5 * g * std::cos(y[0]),
                          0.5 * s * y[2] * y[2] - 0.5 * g * std::cos(y[1]));
  Eigen::Vector4d r;
  r << y[2], y[3], M.inverse() * f;
  return r;
}

TEST(SmoothBenchmark, DoublePendulumOfRodsConvergesToItsMinimalForm) {
  const Model m = testing::rod_chain(2);
  RigidSystem system(m);
  const Eigen::Vector4d y =
      oracle::runge_kutta([](double, const Eigen::Vector4d& s) { return double_pendulum_rate(s); },
                          Eigen::Vector4d(Eigen::Vector4d::Zero()), 0, 1, 1e-4);
  const Vec3 end(std::cos(y[0]) + 0.5 * std::cos(y[1]), std::sin(y[0]) + 0.5 * std::sin(y[1]), 0);
  for (const char* name : {"hht", "generalised-alpha"}) {
    std::array<double, 2> e{};
    for (int k = 0; k < 2; ++k) {
      const SmoothRun run =
          run_smooth(system, initial_state(m), smooth_options(name), 1, 1000 << k);
      e[k] = (testing::position(m, run.state, 2) - end).norm();
      EXPECT_LT(run.joint_error, 1e-12);
    }
    RecordProperty(name, fmt::format("{:.2e} {:.2e}", e[0], e[1]));
    EXPECT_LT(e[1], 1e-5);
    EXPECT_NEAR(order(e[0], e[1]), 2, 0.05);
  }
}

// The top of Brüls and Cardona (2010): 15 kg, one metre from the tip, spinning at 150 rad/s.
TEST(SmoothBenchmark, HeavyTopConvergesToEulersEquations) {
  const Vec3 inertia(0.234375, 0.46875, 0.234375);
  const Vec3 omega(0, 150, -4.61538);
  Model m = testing::empty_model();
  const int top = testing::add_rigid(m, "top", Vec3::UnitY(), 15, inertia.asDiagonal());
  testing::join(m, "tip", JointKind::spherical, 0, top, Vec3::Zero());
  m.bodies[top].angular_velocity = omega;
  m.bodies[top].velocity = omega.cross(Vec3::UnitY());
  finalize(m);

  // About the tip, with the quaternion as four numbers: (ρ, Ω).
  using State7 = Eigen::Matrix<double, 7, 1>;
  const Vec3 about_tip = inertia + 15 * Vec3(1, 0, 1);
  const auto rate = [&](double, const State7& y) {
    const Vec4 p = y.head<4>();
    const Vec3 w = y.tail<3>();
    State7 r;
    r.head<4>() = quaternion_rate_matrix(p) * w;
    r.tail<3>() = (-w.cross(about_tip.cwiseProduct(w)) +
                   Vec3::UnitY().cross(rotate_back(p, Vec3(0, 0, -9.81 * 15))))
                      .cwiseQuotient(about_tip);
    return r;
  };
  State7 y;
  y << identity_quaternion(), omega;
  y = oracle::runge_kutta(rate, y, 0, 1, 1e-5);
  const Vec3 end = rotate(Vec4(y.head<4>().normalized()), Vec3::UnitY());

  RigidSystem system(m);
  for (const char* name : {"generalised-alpha", "hht"}) {
    std::array<double, 2> e{};
    long iterations = 0, steps = 0;
    for (int k = 0; k < 2; ++k) {
      SimulationOptions o = smooth_options(name);
      o.stepper.reuse_factor = false;
      const SmoothRun run = run_smooth(system, initial_state(m), o, 1, 4000 << k);
      e[k] = (testing::position(m, run.state, top) - end).norm();
      iterations += run.iterations;
      steps += run.steps;
    }
    const double mean = static_cast<double>(iterations) / static_cast<double>(steps);
    RecordProperty(name, fmt::format("{:.2e} {:.2e}, {:.2f} iterations a step", e[0], e[1], mean));
    EXPECT_LT(e[1], 2e-4);
    EXPECT_NEAR(order(e[0], e[1]), 2, 0.1);
    EXPECT_LE(mean, 4);
  }
}

Scene iftomm_scene(const std::string& name, const std::vector<std::string>& overrides) {
  return load_scene(samples::scenes_dir() / "iftomm" / (name + ".json"), overrides);
}

// k = 8·10⁵ N/m and c = 4·10⁴ N·s/m, at steps of the slow motion.
TEST(SmoothBenchmark, StiffGovernorFollowsItsMinimalForm) {
  const Scene scene =
      iftomm_scene("a05-governor", {"simulation.stepper=hht", "simulation.adaptive=false",
                                    "simulation.step=2e-3", "simulation.duration=5"});
  Simulation run(scene.model, scene.options);
  run.start();
  const oracle::Governor governor;
  auto y = oracle::Governor::start();
  double worst = 0, t = 0;
  int slider = 0;
  while (scene.model.bodies[slider].name != "slider") ++slider;
  while (run.advance()) {
    y = governor.advanced(y, t, run.state().t, 4e-5);
    t = run.state().t;
    worst =
        std::max(worst, std::abs(testing::position(scene.model, run.state(), slider).z() - y[2]));
  }
  RecordProperty("worst", fmt::format("{:.2e} m", worst));
  EXPECT_EQ(run.run_state(), RunState::finished) << run.failure();
  EXPECT_EQ(run.checkpoint().missed, 0);
  EXPECT_LT(worst, 1e-4);
}

// Twice a turn all rods lie on one line and the rows lose rank: ten windows pass there, and keep
// their energy.
TEST(SmoothBenchmark, FourBarWindowsPassTheirSingularPositions) {
  const Scene scene = iftomm_scene(
      "a02-four-bar", {"simulation.stepper=generalised-alpha", "simulation.adaptive=false",
                       "simulation.step=1e-3", "simulation.duration=3"});
  Simulation run(scene.model, scene.options);
  run.start();
  constexpr int n = 10;
  const double inertia = (n + 1) / 3.0 + n;
  const double moment = 9.81 * (0.5 * (n + 1) + n);
  const auto pendulum = [&](double, const Eigen::Vector2d& y) {
    return Eigen::Vector2d(y[1], moment / inertia * std::sin(y[0]));
  };
  Eigen::Vector2d angle(0, 1);
  double t = 0, worst = 0, energy = 0;
  while (run.advance()) {
    angle = oracle::runge_kutta(pendulum, angle, t, run.state().t, 1e-4);
    t = run.state().t;
    const Vec3 x = testing::position(scene.model, run.state(), 1);
    worst =
        std::max(worst, (x - Vec3(0.5 * std::sin(angle[0]), 0.5 * std::cos(angle[0]), 0)).norm());
    energy = std::max(energy, std::abs(run.energy().numerical()));
  }
  RecordProperty("worst", fmt::format("{:.2e} m, energy {:.2e} J, {} turns", worst, energy,
                                      angle[0] / (2 * M_PI)));
  EXPECT_EQ(run.run_state(), RunState::finished) << run.failure();
  EXPECT_GT(angle[0], 2 * M_PI);
  EXPECT_LT(worst, 5e-3);
  EXPECT_LT(energy, 0.1);
}

/// A crank of 0.1 m turned at a constant speed, a rod of 0.3 m and a slider, in the x–y plane
/// without gravity.
struct SliderCrank {
  static constexpr double r = 0.1, l = 0.3, speed = 400;
  static constexpr double crank_inertia = 0.01, rod_mass = 0.4, rod_inertia = 0.004, slider = 0.7;
  Model m = testing::empty_model(Vec3::Zero());
  int motor = 0;

  SliderCrank() {
    const int crank = testing::add_rigid(m, "crank", Vec3::Zero(), 1,
                                         crank_inertia * Vec3(0.6, 0.6, 1).asDiagonal());
    const int rod = testing::add_rigid(m, "rod", {r + 0.5 * l, 0, 0}, rod_mass,
                                       rod_inertia * Vec3(0.1, 1, 1).asDiagonal());
    const int piston =
        testing::add_rigid(m, "piston", {r + l, 0, 0}, slider, 1e-3 * Mat3::Identity());
    const int shaft = testing::join(m, "shaft", JointKind::revolute, 0, crank, Vec3::Zero());
    testing::join(m, "crank-pin", JointKind::revolute, crank, rod, {r, 0, 0});
    testing::join(m, "piston-pin", JointKind::point_on_line, rod, piston, {r + l, 0, 0});
    testing::join(m, "rail", JointKind::prismatic, 0, piston, {r + l, 0, 0}, Vec3::UnitX());
    Motor drive;
    drive.name = "drive";
    drive.on = {shaft, 0};
    drive.value = PolynomialFunction{{0, speed}};
    m.motors.push_back(drive);
    m.bodies[crank].angular_velocity = {0, 0, speed};
    m.bodies[rod].velocity = {0, 0.5 * r * speed, 0};
    m.bodies[rod].angular_velocity = {0, 0, -r * speed / l};
    finalize(m);
  }
  static double place(double t) {
    const double s = r * std::sin(speed * t);
    return r * std::cos(speed * t) + std::sqrt(l * l - s * s);
  }
  /// Kinetic energy as a function of the crank's angle, and from it the torque τ = ½ dT/dφ.
  static double kinetic(double phi) {
    const double s = r / l * std::sin(phi);
    const double turn = -r / l * std::cos(phi) / std::sqrt(1 - s * s) * speed;  // of the rod
    const double beta = -std::asin(s);
    const Eigen::Vector2d pin = r * speed * Eigen::Vector2d(-std::sin(phi), std::cos(phi));
    const Eigen::Vector2d across(-std::sin(beta), std::cos(beta));
    const Eigen::Vector2d middle = pin + 0.5 * l * turn * across;
    const Eigen::Vector2d end = pin + l * turn * across;
    return 0.5 * (crank_inertia * speed * speed + rod_mass * middle.squaredNorm() +
                  rod_inertia * turn * turn + slider * end[0] * end[0]);
  }
  static double torque(double t) {
    constexpr double d = 1e-4;
    const double phi = speed * t;
    return (8 * (kinetic(phi + d) - kinetic(phi - d)) -
            (kinetic(phi + 2 * d) - kinetic(phi - 2 * d))) /
           (12 * d);
  }
};

// 3800 turns a minute: the place is kinematics, the motor's torque is dT/dφ.
TEST(SmoothBenchmark, SliderCrankAtSpeedHasThePlaceAndTheTorqueOfItsClosedForm) {
  const SliderCrank c;
  std::array<double, 2> torque_error{};
  for (int k = 0; k < 2; ++k) {
    SimulationOptions o = smooth_options("generalised-alpha");
    o.duration = 0.05;
    o.step = 5e-5 / (1 << k);
    Simulation run(c.m, o);
    run.start();
    double place = 0;
    while (run.advance()) {
      const double t = run.state().t;
      place = std::max(
          place, std::abs(testing::position(c.m, run.state(), 3).x() - SliderCrank::place(t)));
      if (t < 0.02) continue;
      for (int i = 0; i < run.rows().blocks(); ++i) {
        if (run.rows().origins[i].kind != Origin::motor) continue;
        const double torque = run.impulses()[run.rows().J.row_start[i]] / run.report().h;
        torque_error[k] = std::max(torque_error[k], std::abs(torque - SliderCrank::torque(t)));
      }
    }
    EXPECT_EQ(run.run_state(), RunState::finished) << run.failure();
    EXPECT_LT(place, 1e-12);
  }
  RecordProperty("torque", fmt::format("{:.2e} {:.2e} N·m of {:.0f}", torque_error[0],
                                       torque_error[1], SliderCrank::torque(0.3 / 400)));
  EXPECT_NEAR(order(torque_error[0], torque_error[1]), 2, 0.2);
  EXPECT_LT(torque_error[1], 0.2);
}

// A pendulum whose rod is a spring of 10¹² N/m: 10⁶ rad/s beside 3 rad/s, at a hundredth of a
// second.
TEST(SmoothBenchmark, SpringsOfTenToTheTwelveRunAtStepsOfTheSlowMotion) {
  for (const char* name : {"implicit-euler", "linear-implicit-euler", "hht", "generalised-alpha"}) {
    PointSystem system;
    system.add_point(1);
    system.springs.push_back({.a = {}, .b = {.point = 0}, .length = 1, .stiffness = 1e12});
    State start;
    start.q = Vec3(std::sin(0.5), -std::cos(0.5), 0);
    start.v = Vector::Zero(3);
    const bool second = std::string(name) == "hht" || std::string(name) == "generalised-alpha";
    const SmoothRun run = run_smooth(system, start, smooth_options(name), 2, 200);
    const double angle = oracle::pendulum_angle(2, 0.5, 9.81, 1);
    const double error = (Vec3(run.state.q) - Vec3(std::sin(angle), -std::cos(angle), 0)).norm();
    RecordProperty(name, fmt::format("{:.2e}, {} cuts", error, run.cuts));
    EXPECT_EQ(run.cuts, 0) << name;
    // One linear solve leaves the spring stretched by the square of the angle turned in a step.
    EXPECT_NEAR(run.state.q.norm(), 1, std::string(name) == "linear-implicit-euler" ? 1e-7 : 1e-9)
        << name;
    EXPECT_LT(error, second ? 3e-3 : 0.2) << name;
  }
}

}  // namespace
}  // namespace urto
