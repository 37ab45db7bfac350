// Housner's rocking block: as a formula between impacts, with hard contact through them, and as a
// box on the floor of the full model.
#include <cmath>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "stepper/smooth_runs.h"
#include "urto/error.h"
#include "urto/mechanics/textbook.h"
#include "urto/stepper/dvi.h"

namespace urto {
namespace {

struct Block {
  RockingBlock system;
  explicit Block(double slope) {
    system.weight = 20;
    system.radius = 0.5;
    system.slope = slope;
  }
};

State tilted(double tilt) {
  State s;
  s.q = Vector::Constant(1, tilt);
  s.v = Vector::Zero(1);
  return s;
}

/// Time of a state's fall to φ = 0: a quarter of the period, by ∫ dφ/φ̇ with the energy for φ̇. φ =
/// φ₀ − (φ₀)s² takes the root out of the start.
double quarter_period(const RockingBlock& block, double tilt) {
  constexpr int parts = 20000;
  double sum = 0;
  for (int k = 0; k < parts; ++k) {
    const double s = (k + 0.5) / parts;
    const double phi = tilt * (1 - s * s);
    const double fallen = std::cos(block.slope - tilt) - std::cos(block.slope - phi);
    sum += 2 * tilt * s / std::sqrt(2 * block.rate_squared() * fallen) / parts;
  }
  return sum;
}

/// Steps until φ < 0, then the root between the last two states.
double time_of_impact(RockingBlock& block, double tilt, const std::string& stepper, double h) {
  const std::unique_ptr<Stepper> step = make_stepper(block, testing::smooth_options(stepper));
  State s = tilted(tilt);
  State last = s;
  StepMemory memory;
  StepReport report;
  for (int k = 0; k < 100000; ++k) {
    last = s;
    const StepOutcome outcome = step->step(s, h, memory, report);
    if (!outcome.failed()) continue;
    EXPECT_NE(outcome.message.find("the edge that comes down"), std::string::npos);
    const double a = -block.rate_squared() * std::sin(block.slope - last.q[0]);
    const double v = last.v[0];
    return last.t + (-v - std::sqrt(v * v - 2 * a * last.q[0])) / a;
  }
  return NAN;
}

TEST(RockingBlock, FallsInHousnersQuarterPeriod) {
  for (const double part : {0.2, 0.5, 0.8}) {
    Block made(0.05);
    RockingBlock& block = made.system;
    const double tilt = part * block.slope;
    const double t = time_of_impact(block, tilt, "generalised-alpha", 1e-4);
    // Housner takes the angles as small: an error of α²/6 and less.
    EXPECT_NEAR(t, block.slender_period(tilt) / 4, 5e-4 * t) << part;
    EXPECT_NEAR(t, quarter_period(block, tilt), 1e-6 * t) << part;
  }
  Block stocky(0.6);
  EXPECT_NEAR(time_of_impact(stocky.system, 0.3, "munthe-kaas", 1e-3),
              quarter_period(stocky.system, 0.3), 1e-6);
}

TEST(RockingBlock, LosesHousnersShareAtEveryImpact) {
  Block made(0.25);
  RockingBlock& block = made.system;
  SimulationOptions o;
  o.contact_envelope = 1e-3;
  DviStepper stepper(block, o);
  State s = tilted(0.1);
  StepMemory memory;
  StepReport report;
  int impacts = 0;
  double before = 0;
  SystemAccess access(block);
  double energy = access.energies(s).kinetic + access.energies(s).potential;
  const double rest = access.energies(tilted(0)).potential;
  for (int k = 0; k < 200000 && impacts < 5; ++k) {
    before = s.v[0];
    stepper.step(s, 2e-5, memory, report);
    if (!(before < 0 && s.v[0] > 0)) continue;
    ++impacts;
    EXPECT_NEAR(s.v[0] / before, -block.impact_ratio(), 1e-3);
    const double after = access.energies(s).kinetic + access.energies(s).potential;
    // r = (1 − (3/2) sin²α)² of the energy above rest.
    EXPECT_NEAR((after - rest) / (energy - rest), std::pow(block.impact_ratio(), 2), 5e-3);
    energy = after;
  }
  EXPECT_EQ(impacts, 5);
}

// The box of the full model, inelastic and rough: the ratio is nobody's input, contacts give it.
TEST(RockingBlock, ABoxOnARoughFloorKeepsTheMomentumAboutTheNextEdge) {
  const double slope = 0.3;
  const double R = 0.5;
  const Vec3 half(R * std::sin(slope), 0.2, R * std::cos(slope));
  Model m = testing::empty_model();
  m.materials[0].friction = 2;
  const double mass = 10;
  const Vec3 I =
      mass / 3 *
      Vec3(half.y() * half.y() + half.z() * half.z(), half.x() * half.x() + half.z() * half.z(),
           half.x() * half.x() + half.y() * half.y());
  const int body = testing::add_rigid(m, "block", Vec3::Zero(), mass, I.asDiagonal());
  m.shapes.push_back({.kind = ShapeKind::box, .size = half, .pose = {}, .body = body});
  testing::add_floor(m);
  const double tilt = 0.15;
  m.bodies[body].start.rotation = quaternion_exp(Vec3(0, tilt, 0));
  m.bodies[body].start.position = {0, 0, R * std::cos(slope - tilt)};
  finalize(m);
  const Block made(slope);
  const RockingBlock& formula = made.system;
  SimulationOptions o;
  o.step = 1e-4;
  o.duration = 1.2 * quarter_period(formula, tilt);
  Simulation run(m, o);
  run.start();
  double before = 0, after = 0, when = 0;
  double last = 0;
  while (run.advance()) {
    const double rate = testing::angular_velocity(m, run.state(), body).y();
    const double angle = 2 * run.state().q[5];
    // The impact takes a step or two; its end is where the block has begun to rise again.
    if (angle > 2e-4) before = rate;
    if (angle < -2e-4 && after == 0) {
      after = rate;
      when = last;
    }
    if (angle > 0) last = run.state().t;
  }
  ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
  EXPECT_NEAR(after / before, formula.impact_ratio(), 2e-3);
  EXPECT_NEAR(when, quarter_period(formula, tilt), 2e-3 * when);
}

}  // namespace
}  // namespace urto
