// Error-controlled steps of the non-smooth generalised-α scheme: recipe 004, supplement §7, its
// cases V17 to V19, and stick and slip.
#include <cmath>
#include <numbers>

#include <gtest/gtest.h>

#include "papers/nonsmooth_runs.h"
#include "stepper/scenes.h"
#include "urto/stepper/alpha_control.h"
#include "urto/stepper/simulation.h"

namespace urto {
namespace {

using testing::resting;

SimulationOptions controlled(double tolerance, double duration, double largest) {
  SimulationOptions o;
  o.stepper.name = "nonsmooth-alpha";
  o.adaptive = true;
  o.error_tolerance = tolerance;
  o.duration = duration;
  o.step = 1e-3;
  o.max_step = largest;
  o.solver.tolerance = 1e-11;
  return o;
}

struct Result {
  long steps = 0, rejected = 0;
  double worst = 0, mean = 0;
};

/// Largest and mean error of one coordinate against a closed form, at the ends of steps.
template <class Exact>
Result follow(const System& system, const State& start, const SimulationOptions& options,
              int coordinate, const Exact& exact) {
  const std::unique_ptr<Stepper> stepper = make_stepper(system, options);
  Simulation run(system, *stepper, start, options);
  run.start();
  Result out;
  double last = 0;
  while (run.advance()) {
    const double error = std::abs(run.state().q[coordinate] - exact(run.state().t));
    out.worst = std::max(out.worst, error);
    out.mean += 0.5 * (error + last) * run.report().h;
    last = error;
    EXPECT_GT(run.report().h, 0);
  }
  EXPECT_EQ(run.run_state(), RunState::finished) << run.failure();
  out.mean /= run.state().t;
  out.steps = run.checkpoint().steps;
  out.rejected = run.checkpoint().rejected;
  return out;
}

/// The height of the ball's centre: K impacts after the first at t1.
double ball_height(double t) {
  const double g = 10, e = 0.8, R = 0.2, t1 = std::sqrt(2 * 0.801 / g);
  const double s = 1 - (t - t1) * (1 - e) / (2 * t1 * e);
  if (s <= 1e-12) return R;
  const double K = std::floor(std::log(s) / std::log(e));
  const double T = t1 + 2 * t1 * e * (1 - std::pow(e, K)) / (1 - e);
  return R + std::max(0.0, g * t1 * std::pow(e, K + 1) * (t - T) - 0.5 * g * (t - T) * (t - T));
}

// V19: 107, 114, 124 and 134 steps with 15, 20, 25 and 30 rejected; errors 1.8e-3, 2.1e-4, 2.2e-5
// and 2.3e-6. A fixed step of 0.5 ms takes 8000 steps for 5.1e-3.
TEST(AlphaControl, V19BallsErrorFollowsTheToleranceThroughItsAccumulation) {
  const BouncingBall ball;
  double last = 0;
  for (const double tolerance : {1e-3, 1e-4, 1e-5, 1e-6}) {
    const Result r = follow(ball, resting(Vector::Constant(1, 1.001)),
                            controlled(tolerance, 4, 0.05), 0, ball_height);
    EXPECT_LT(r.worst, 3 * tolerance);
    EXPECT_GT(r.worst, 0.1 * tolerance);
    EXPECT_LT(r.steps, 200);
    EXPECT_LT(r.rejected, 60);
    if (last > 0) {
      EXPECT_NEAR(std::log10(last / r.worst), 1, 0.35);
    }
    last = r.worst;
  }
  SimulationOptions fixed = controlled(1, 4, 0.05);
  fixed.adaptive = false;
  fixed.step = 5e-4;
  const Result r = follow(ball, resting(Vector::Constant(1, 1.001)), fixed, 0, ball_height);
  EXPECT_EQ(r.steps, 8000);
  EXPECT_GT(r.worst, 1e-3);
}

Model spatial_pendulum() {
  const Vec3 joint(0.1, 0.05, 0.4), spin(3, -2, 4);
  Model m = testing::empty_model();
  testing::add_rigid(m, "body", -joint, 2, Vec3(0.02, 0.03, 0.025).asDiagonal());
  m.bodies.back().angular_velocity = spin;
  m.bodies.back().velocity = -spin.cross(joint);
  testing::join(m, "pivot", JointKind::spherical, 0, 1, Vec3::Zero());
  finalize(m);
  return m;
}

// V18: the error at 1 s is as tol^(2/3); 99, 207, 435 steps, none rejected.
TEST(AlphaControl, V18SpatialPendulumsErrorFollowsTheTolerance) {
  const Model m = spatial_pendulum();
  const Vec3 x(-0.17591153, -0.17045306, -0.33541153);
  double last = 0;
  for (const double tolerance : {1e-5, 1e-6, 1e-7}) {
    Simulation run(m, controlled(tolerance, 1, 0.1));
    run.start();
    while (run.advance()) {
    }
    const double error = (run.state().q.head<3>() - x).norm();
    EXPECT_LT(run.checkpoint().steps, 3 * 99 * std::pow(1e-5 / tolerance, 1.0 / 3));
    EXPECT_LE(run.checkpoint().rejected, 4);
    EXPECT_LT(error, 3 * 2.6e-4 * std::pow(tolerance / 1e-5, 0.65));
    if (last > 0) {
      EXPECT_NEAR(std::log10(last / error), 0.65, 0.2);
    }
    last = error;
  }
}

// V17: the estimate of a step is its true error, 1.00 for a free body and 1.05 with a joint.
TEST(AlphaControl, V17EstimateIsTheLocalError) {
  const Model m = spatial_pendulum();
  const auto after = [&](double h, int parts) {
    SimulationOptions o = controlled(1e-3, 0.3 + h, h);
    o.step = o.min_step = h;
    o.adaptive = false;
    Simulation run(m, o);
    run.start();
    while (run.advance_to(0.3)) {
    }
    if (parts == 1) {
      run.advance();
      return run.state();
    }
    // The same state, a finer step: close to where the motion itself goes.
    SimulationOptions fine = o;
    fine.step = h / parts;
    Simulation rest(m, fine);
    rest.start();
    Checkpoint point = run.checkpoint();
    point.memory = {};
    rest.resume(point);
    while (rest.advance()) {
    }
    return rest.state();
  };
  for (const double h : {1e-2, 5e-3}) {
    SimulationOptions o = controlled(1e3, 0.3 + h, h);  // every step is accepted, as long as h
    o.step = h;
    Simulation run(m, o);
    run.start();
    double estimate = 0;
    while (run.advance()) estimate = run.report().local_error;
    const State one = after(h, 1), truth = after(h, 64);
    Vector q, v = one.v - truth.v;
    difference(m.layout, one.q, truth.q, q);
    const double error = q.lpNorm<Eigen::Infinity>() + h * v.lpNorm<Eigen::Infinity>();
    EXPECT_NEAR(estimate / error, 1, 0.2) << h;
  }
}

// A rebound that is over within a long step is not swallowed.
TEST(AlphaControl, ReturningContactsAreSeen) {
  BouncingBall ball;
  ball.restitution = 0.5;
  State start = resting(Vector::Constant(1, 0.2));
  start.v[0] = 0.1;  // back after 20 ms, at a height of 0.5 mm
  const auto hop = [](double t) {
    double u = 0.1, T = 0;
    while (t - T > 0.2 * u && u > 1e-9) {
      T += 0.2 * u;
      u *= 0.5;
    }
    return 0.2 + std::max(0.0, u * (t - T) - 5 * (t - T) * (t - T));
  };
  const Result r = follow(ball, start, controlled(1e-5, 0.1, 0.05), 0, hop);
  EXPECT_LT(r.worst, 3e-5);
}

// The same bits when a run goes on from a checkpoint.
TEST(AlphaControl, ResumedRunsHaveTheSameBits) {
  const Model m = spatial_pendulum();
  const SimulationOptions o = controlled(1e-5, 0.5, 0.1);
  Simulation whole(m, o);
  whole.start();
  for (int k = 0; k < 20; ++k) whole.advance();
  const Checkpoint point = whole.checkpoint();
  Simulation resumed(m, o);
  resumed.start();
  resumed.resume(point);
  while (whole.advance()) {
  }
  while (resumed.advance()) {
  }
  EXPECT_EQ(whole.state().q, resumed.state().q);
  EXPECT_EQ(whole.checkpoint().steps, resumed.checkpoint().steps);
}

}  // namespace
}  // namespace urto
