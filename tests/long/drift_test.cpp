// Runs of many steps; the sanitizer builds leave this folder out.
#include <algorithm>

#include <gtest/gtest.h>

#include "stepper/scenes.h"

namespace urto {
namespace {

using namespace urto::testing;

TEST(DviJoint, JointErrorOfADoublePendulumStaysBoundedOverAMillionSteps) {
  const Model m = rod_chain(2);
  SimulationOptions o;
  o.step = 1e-3;
  o.duration = 1000;
  Simulation run(m, o);
  run.start();
  double early = 0;
  double late = 0;
  while (run.advance()) {
    double& worst = run.state().t < 100 ? early : late;
    worst = std::max(worst, run.report().joint_error);
  }
  EXPECT_EQ(run.checkpoint().steps, 1000000);
  EXPECT_LT(late, 3 * early);
  EXPECT_LT(late, 1e-3);
  EXPECT_EQ(run.checkpoint().missed, 0);
}

}  // namespace
}  // namespace urto
