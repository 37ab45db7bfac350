// Convergence through impacts: as h → 0, positions converge uniformly and velocities at every time
// that is none of an impact (recipe 000 §7; D. Stewart, J. Differential Equations 175 (2001)
// 108–129). Both to first order here.
#include <cmath>
#include <random>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr double g = 9.81;

/// Errors of one run: the largest of the positions, the mean of the velocities' over the times that
/// are farther from impacts than `away`.
struct Errors {
  double position = 0, velocity = 0;
};

/// log₂ of the mean ratio from halving to halving, of means over runs.
double order_of(const std::vector<double>& means) {
  return std::log2(means.front() / means.back()) / static_cast<double>(means.size() - 1);
}

/// A ball that falls from `height` with the speed `along`, bounces with e and slides where it
/// touches. Its motion in closed form: parabolas, and Coulomb's impulse μ(1 + e)v at each impact
/// until the slip is gone (a ball that does not turn: it has an enormous inertia).
struct BouncingBall {
  double height, along, restitution, friction;

  struct Truth {
    double x, z, v_x, v_z;
    double apart;  ///< [s] from the next impact, in time
  };
  Truth at(double t) const {
    double begin = 0, x = 0, z = height, v_x = along, v_z = 0, last = -1;
    for (;;) {
      const double fall = (v_z + std::sqrt(v_z * v_z + 2 * g * z)) / g;
      const double s = t - begin;
      if (fall < 1e-6) {  // it lies, and slides until friction has stopped it
        const double slides = std::min(s, v_x / (friction * g));
        const double v = v_x - friction * g * slides;
        return {x + 0.5 * (v_x + v) * slides, 0, v, 0, t - last};
      }
      if (begin + fall >= t) {
        const double apart = std::min(last < 0 ? INFINITY : t - last, begin + fall - t);
        return {x + v_x * s, z + v_z * s - 0.5 * g * s * s, v_x, v_z - g * s, apart};
      }
      begin = last = begin + fall;
      const double hit = g * fall - v_z;
      x += v_x * fall;
      z = 0;
      v_z = restitution * hit;
      v_x = std::max(0.0, v_x - friction * (1 + restitution) * hit);
    }
  }

  Errors run(double h, double duration) const {
    constexpr double radius = 0.1, away = 0.02;
    Model m = empty_model();
    m.materials[0] = {.friction = friction, .restitution = restitution};
    add_floor(m);
    const int ball = add_ball(m, "ball", {0, 0, height + radius}, radius, 1);
    m.bodies[ball].inertia = 1e6 * Mat3::Identity();
    m.bodies[ball].velocity = {along, 0, 0};
    finalize(m);
    SimulationOptions o;
    o.step = h;
    o.duration = duration;
    Simulation run(m, o);
    run.start();
    Errors out;
    int counted = 0;
    while (run.advance()) {
      EXPECT_TRUE(run.report().meets_tolerance);
      const Truth truth = at(run.state().t);
      const Vec3 x = position(m, run.state(), ball), v = linear_velocity(m, run.state(), ball);
      out.position = std::max(out.position, std::hypot(x.x() - truth.x, x.z() - radius - truth.z));
      if (truth.apart < away) continue;
      out.velocity += std::hypot(v.x() - truth.v_x, v.z() - truth.v_z);
      ++counted;
    }
    out.velocity /= std::max(1, counted);
    return out;
  }
};

// The phase of a step at which a ball lands is chance, and so is the error: means over many.
TEST(Impacts, PositionsAndVelocitiesConvergeThroughThemToFirstOrder) {
  std::mt19937 random(11);
  const auto uniform = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  for (const double restitution : {0.0, 0.7}) {
    std::vector<double> position(4), velocity(4);
    for (int trial = 0; trial < 24; ++trial) {
      const BouncingBall ball{uniform(0.4, 0.6), uniform(1, 2), restitution, uniform(0.05, 0.3)};
      for (int k = 0; k < 4; ++k) {
        const Errors e = ball.run(2e-3 / (1 << k), 0.9);
        position[k] += e.position / 24;
        velocity[k] += e.velocity / 24;
      }
    }
    const auto note = fmt::format("e = {}: {:.2e} {:.2e} {:.2e} {:.2e} m, {:.2e} {:.2e} {:.2e} {:.2e} m/s",
                                  restitution, position[0], position[1], position[2], position[3],
                                  velocity[0], velocity[1], velocity[2], velocity[3]);
    RecordProperty(fmt::format("e{}", restitution), note);
    EXPECT_NEAR(order_of(position), 1, 0.15) << note;
    EXPECT_LT(position[3], 2e-3) << note;
    if (restitution > 0) {
      EXPECT_NEAR(order_of(velocity), 1, 0.2) << note;
    } else {
      // All of the ball's weight has gone into the floor by then, whenever it landed.
      EXPECT_LT(velocity[0], 1e-8) << note;
    }
  }
}

}  // namespace
}  // namespace urto
