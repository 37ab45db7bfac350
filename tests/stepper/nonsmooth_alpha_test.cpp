// The non-smooth generalised-α scheme in runs of a model: every law, the audit, resumed runs. Its
// published numbers are in tests/papers.
#include "urto/stepper/nonsmooth_alpha.h"

#include <gtest/gtest.h>

#include "stepper/every_law.h"

namespace urto {
namespace {

SimulationOptions alpha() {
  SimulationOptions o;
  o.stepper.name = "nonsmooth-alpha";
  o.duration = 1.2;  // the ball on its spring has bounced till about 0.6 s
  o.step = 1e-3;
  return o;
}

TEST(NonsmoothAlpha, TreatsEveryLawOfTheModel) {
  const Model m = testing::model_of_every_law();
  Simulation run(m, alpha());
  testing::run_to_end(run);
  ASSERT_EQ(run.run_state(), RunState::finished) << run.failure();
  EXPECT_EQ(run.checkpoint().missed, 0) << run.checkpoint().worst_residual;
  EXPECT_NEAR(run.energy().unexplained(), 0, 1e-6);
  EXPECT_LT(run.checkpoint().worst_joint_error, 1e-10);
  // At rest on its spring: k δ = m g.
  EXPECT_NEAR(testing::position(m, run.state(), 1).z(), 0.1 - 9.81 / 2e4, 1e-4);
  // Held by its glue, and by nothing that would let it creep.
  EXPECT_NEAR(testing::position(m, run.state(), 2).z(), 0.1, 1e-10);
  EXPECT_NEAR(testing::linear_velocity(m, run.state(), 2).norm(), 0, 1e-9);
}

// Memory is all in named arrays: a run that goes on from a checkpoint has the same bits.
TEST(NonsmoothAlpha, ResumedRunsHaveTheSameBits) {
  const Model m = testing::model_of_every_law();
  Simulation whole(m, alpha());
  whole.start();
  Checkpoint half;
  while (whole.advance()) {
    if (whole.checkpoint().steps == 300) half = whole.checkpoint();
  }
  Simulation second(m, alpha());
  second.start();
  second.resume(half);
  while (second.advance()) {
  }
  EXPECT_EQ(second.state().q, whole.state().q);
  EXPECT_EQ(second.state().v, whole.state().v);
}

}  // namespace
}  // namespace urto
