// Threads share the islands of a problem and of a run: the time changes, not the answer.
#include <cstring>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

using namespace urto::testing;

// Islands of every kind: columns that are swept and guessed, pairs coupled by springs on the floor,
// pendulums, balls in flight.
Model archipelago() {
  Model m = empty_model();
  add_floor(m);
  for (int k = 0; k < 8; ++k) {
    const double x = 2.0 * k;
    for (int i = 0; i <= k; ++i) add_cube(m, "", {x, 0, 0.25 + 0.5 * i}, 0.5, 1 + i % 3);
    add_ball(m, "", {x, 2, 0.5}, 0.1, 1);
    const int left = add_ball(m, "", {x, 3, 0.1}, 0.1, 1);
    const int right = add_ball(m, "", {x + 0.5, 3, 0.1}, 0.1, 2);
    MeasureSpring spring;
    spring.marker_a = add_marker(m, "", left, {});
    spring.marker_b = add_marker(m, "", right, {});
    spring.rest = 0.4;
    spring.stiffness.slope = 500;
    m.forces.push_back(spring);
    const int rod = add_rigid(m, "", {x + 0.5, 5, 2}, 1, 0.1 * Mat3::Identity());
    join(m, "", JointKind::revolute, 0, rod, {x, 5, 2}, Vec3::UnitY());
  }
  finalize(m);
  return m;
}

State state_after(const char* solver, int threads) {
  SimulationOptions o;
  o.duration = 0.03;
  o.solver.solver = solver;
  o.threads = threads;
  const Model m = archipelago();
  Simulation run(m, o);
  run.start();
  while (run.advance()) {
  }
  EXPECT_EQ(run.checkpoint().missed, 0) << solver;
  return run.state();
}

TEST(Islands, ThreadCountDoesNotChangeABitOfARun) {
  for (const char* solver : {"auto", "prox"}) {
    const State one = state_after(solver, 1);
    for (const int threads : {2, 3, 5}) {
      const State many = state_after(solver, threads);
      ASSERT_EQ(one.q.size(), many.q.size());
      EXPECT_EQ(std::memcmp(one.q.data(), many.q.data(), sizeof(double) * one.q.size()), 0)
          << solver << " " << threads;
      EXPECT_EQ(std::memcmp(one.v.data(), many.v.data(), sizeof(double) * one.v.size()), 0)
          << solver << " " << threads;
    }
  }
}

}  // namespace
}  // namespace urto
