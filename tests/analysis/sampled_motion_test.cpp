// Runs sampled in bounded memory, and verifications that cannot be made.
#include <cmath>
#include <limits>

#include "analysis/verified_runs.h"
#include "urto/error.h"

namespace urto {
namespace {

using namespace urto::testing;

constexpr double g = 9.81;

Model one_ball(const Vec3& velocity, const Vec3& gravity = {0, 0, -g}) {
  Model m = empty_model(gravity);
  m.bodies[add_ball(m, "ball", Vec3::Zero(), 0.1, 2)].velocity = velocity;
  return m;
}

SimulationOptions settings(double duration, double step) {
  SimulationOptions o;
  o.duration = duration;
  o.step = step;
  return o;
}

// ---- Runs that cannot be compared

TEST(Verification, OfARunWhoseHalfFailsGivesTheReason) {
  // A load that is no number between the steps of the run.
  Model m = one_ball(Vec3::Zero());
  Load load{.marker = add_marker(m, "centre", 1, {})};
  load.force[0] = UserFunction{[](double t) {
    const double steps = t / 0.01;
    const bool between = std::abs(steps - std::round(steps)) > 0.2;
    return FunctionValue{between ? std::numeric_limits<double>::quiet_NaN() : 1.0, 0, 0};
  }};
  m.forces.emplace_back(load);
  finalize(m);
  const VerifiedRun run = verified(m, settings(0.1, 0.01));
  EXPECT_EQ(run.found.state, VerificationState::incomplete);
  EXPECT_NE(run.found.reason.find("the run at a half of the step failed at t = "),
            std::string::npos)
      << run.found.reason;
  EXPECT_TRUE(run.found.errors.empty());
}

TEST(Verification, OfARunWhoseHalfIsNotSolvedGivesTheReason) {
  // Two motors on one hinge that ask for the same at the steps of the run, and contradict each
  // other between them.
  Model m = empty_model();
  const int arm = add_rigid(m, "arm", Vec3::Zero(), 1, Mat3::Identity());
  const int hinge = join(m, "hinge", JointKind::revolute, 0, arm, Vec3::Zero());
  const UserFunction between{[](double t) {
    const double steps = t / 0.01;
    return FunctionValue{std::abs(steps - std::round(steps)) > 0.2 ? 1.0 : 0.0, 0, 0};
  }};
  m.motors.push_back({.name = "one", .on = {hinge, 0}, .mode = MotorMode::speed, .value = {}});
  m.motors.push_back({.name = "two", .on = {hinge, 0}, .mode = MotorMode::speed, .value = between});
  finalize(m);
  const VerifiedRun run = verified(m, settings(0.1, 0.01));
  EXPECT_EQ(run.motion.missed, 0);
  EXPECT_EQ(run.found.state, VerificationState::incomplete);
  EXPECT_EQ(run.found.reason,
            "the run at a half of the step missed its tolerance in 10 of 20 steps, the first at "
            "t = 0.005 s");
  EXPECT_TRUE(run.found.errors.empty());
}

TEST(Verification, StopsWhenItIsAskedTo) {
  Model m = one_ball(Vec3::Zero());
  finalize(m);
  const SimulationOptions o = settings(1, 0.01);
  const SampledMotion run = sampled(m, o);
  int asked = 0;
  const Verification found = verify_run(m, o, run, [&](const VerificationProgress& now) {
    EXPECT_EQ(now.parts, asked < 200 ? 2 : 4);
    return ++asked < 250;
  });
  EXPECT_EQ(asked, 250);
  EXPECT_EQ(found.state, VerificationState::incomplete);
  EXPECT_EQ(found.reason, "the run at a quarter of the step was interrupted");
}

TEST(Verification, RefusesMotionsAtOtherTimes) {
  const SampledMotion run{.time = {0, 1}, .steps = {0, 1}}, half{.time = {0, 0.5}, .steps = {0, 2}};
  EXPECT_THROW(verify_motions({run, half}), InputError);
}

// ---- Samples

TEST(SampledMotion, OfALongRunFitsMemoryAndReachesFromStartToEnd) {
  Model m = one_ball({1, 0, 0}, Vec3::Zero());
  finalize(m);
  const SampledMotion motion = sampled(m, settings(1, 1e-4));
  EXPECT_LE(motion.samples(), 1024u);
  EXPECT_GT(motion.samples(), 500u);
  EXPECT_EQ(motion.time.front(), 0);
  EXPECT_EQ(motion.time.back(), 1);
  for (std::size_t s = 0; s < motion.samples(); ++s) {
    EXPECT_NEAR(position_at(motion, s, 1)[0], motion.time[s], 1e-12);
    EXPECT_NEAR(motion.steps[s], 1e4 * motion.time[s], 1e-6);
  }
  EXPECT_NEAR(motion.mean_speed, 1, 1e-12);
}

TEST(SampledMotion, SumsTheImpulsesOfAllContactsOfABody) {
  // A cube of 3 kg at rest: 3 g t, whatever its four corners share.
  Model m = empty_model();
  add_cube(m, "cube", {0, 0, 0.1}, 0.2, 3);
  add_floor(m);
  finalize(m);
  const SampledMotion motion = sampled(m, settings(0.4, 0.002));
  for (std::size_t s = 0; s < motion.samples(); ++s) {
    EXPECT_NEAR(motion.contact_impulse[3 * (2 * s + 1) + 2], 3 * g * motion.time[s], 1e-6);
    EXPECT_NEAR(motion.contact_impulse[3 * (2 * s) + 2], -3 * g * motion.time[s], 1e-6);
  }
}

}  // namespace
}  // namespace urto
