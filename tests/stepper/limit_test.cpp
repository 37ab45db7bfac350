// Limits that are broken when a run starts: they are brought back as penetrations are, at a bounded
// speed, and the energy that this takes is that of the speed.
#include <cmath>
#include <limits>
#include <random>

#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr double degree = 0.017453292519943295;

/// A rod of 1 kg and 1 m on a hinge, outside its limit by `outside`, without gravity.
struct Hinged {
  double outside = 5 * degree;
  double inertia = 1. / 3;  ///< about the hinge
  Model model = empty_model(Vec3::Zero());

  Hinged() {
    const double I = 1. / 12;
    const int rod = add_rigid(model, "rod", {.5, 0, 0}, 1, Vec3(1e-3, I, I).asDiagonal());
    const int hinge = join(model, "hinge", JointKind::revolute, 0, rod, Vec3::Zero());
    model.limits.push_back({.name = "stop", .on = {hinge, 0}, .upper = -outside});
    finalize(model);
  }
};

SimulationOptions stepping(double h, double duration) {
  SimulationOptions o;
  o.step = h;
  o.duration = duration;
  return o;
}

TEST(Limit, BrokenAtTheStartIsBroughtBackAtTheRecoveryRate) {
  // All at once it would take 87 rad/s and 1273 J.
  const Hinged rod;
  for (const double rate : {.1, .02, 0.}) {
    for (const double h : {1e-3, 1e-4}) {
      SimulationOptions o = stepping(h, .2);
      o.stepper.recovery_rate = rate;
      Simulation run(rod.model, o);
      run.start();
      while (run.advance())
        EXPECT_LT(run.energy().kinetic, .5 * rod.inertia * rate * rate * (1 + 1e-4) + 1e-12)
            << rate;
      EXPECT_NEAR(angular_velocity(rod.model, run.state(), 1)[2], -rate, 1e-6);
      EXPECT_NEAR(run.energy().recovery, .5 * rod.inertia * rate * rate, 1e-6) << rate;
    }
  }
  SimulationOptions o = stepping(1e-3, 1e-3);
  o.stepper.recovery_rate = std::numeric_limits<double>::infinity();
  Simulation run(rod.model, o);
  run_to_end(run);
  EXPECT_NEAR(run.energy().kinetic, 1273, 5);
}

TEST(Limit, BrokenOnASlideIsBroughtBackAtTheRecoverySpeed) {
  Model m = empty_model(Vec3::Zero());
  const int block = add_rigid(m, "block", Vec3::Zero(), 2, Mat3::Identity());
  const int slide = join(m, "slide", JointKind::prismatic, 0, block, Vec3::Zero(), Vec3::UnitX());
  m.limits.push_back({.name = "stop", .on = {slide, 0}, .lower = .05});
  finalize(m);
  SimulationOptions o = stepping(1e-3, 1);
  Simulation run(m, o);
  run_to_end(run);
  EXPECT_NEAR(linear_velocity(m, run.state(), block)[0], o.stepper.recovery_speed, 1e-9);
  EXPECT_NEAR(position(m, run.state(), block)[0], o.stepper.recovery_speed, 1e-9);
}

TEST(Limit, BrokenByAnythingNeverGivesMoreThanTheRecoveryRate) {
  // Chains of three rods, hinges anywhere beyond their limits on either side. Of all motions that
  // satisfy the rates, the impulses choose one of least energy: no more than if each hinge alone
  // turned at its rate, with the rods beyond it carried along.
  std::mt19937 engine(3);
  std::uniform_real_distribution<double> uniform;
  for (int k = 0; k < 50; ++k) {
    Model m = rod_chain(3);
    m.gravity = Vec3::Zero();
    for (int hinge = 0; hinge < 3; ++hinge) {
      const double outside = (.01 + uniform(engine)) * (uniform(engine) < .5 ? -1 : 1);
      Limit limit{.name = "stop", .on = {hinge, 0}};
      (outside > 0 ? limit.lower : limit.upper) = outside;
      m.limits.push_back(limit);
    }
    finalize(m);
    const SimulationOptions o = stepping(1e-3, .05);
    Simulation run(m, o);
    run.start();
    const double rate = o.stepper.recovery_rate;
    const double inertia = 27. / 3 + 8. / 3 + 1. / 3;  // of 3, 2 and 1 rods about a hinge
    double most = 0;
    while (run.advance()) most = std::max(most, run.energy().kinetic);
    EXPECT_GT(most, 0);
    EXPECT_LT(most, 3 * .5 * inertia * rate * rate) << k;
  }
}

}  // namespace
}  // namespace urto
