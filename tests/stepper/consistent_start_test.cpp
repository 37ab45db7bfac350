// Assembly, redundancy and contradiction.
#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/error.h"

namespace urto {
namespace {

using namespace urto::testing;

TEST(ConsistentStart, BodiesAreMovedOntoTheirJoints) {
  Model m = rod_chain(3);
  m.bodies[2].start.position += Vec3(0.05, -0.03, 0.02);
  m.bodies[3].start.rotation = quaternion_exp({0.1, -0.2, 0.3});
  m.bodies[1].velocity = {1, 0, 0};  // along the rod: the hinge forbids it
  finalize(m);
  RigidSystem system(m);
  State state = initial_state(m);
  const StartReport r = consistent_start(system, {}, state);
  EXPECT_EQ(r.dofs, 18);
  EXPECT_EQ(r.rows, 15);
  EXPECT_EQ(r.mobility(), 3);
  EXPECT_TRUE(r.redundant.empty());
  EXPECT_GT(r.position_error, 0.01);
  Interactions rows;
  SystemAccess(system).interactions(state, {.equalities_only = true}, rows);
  for (const double g : rows.g) EXPECT_NEAR(g, 0, 1e-12);
  Vector u;
  multiply(rows.J, state.v, u);
  EXPECT_LT(u.cwiseAbs().maxCoeff(), 1e-12);
}

TEST(ConsistentStart, DuplicatedJointIsReportedAndRuns) {
  Model m = rod_chain(1);
  join(m, "second hinge", JointKind::revolute, 0, 1, Vec3::Zero());
  finalize(m);
  SimulationOptions o;
  o.duration = 1;
  Simulation run(m, o);
  const StartReport& r = run.start();
  ASSERT_EQ(r.redundant.size(), 1U);
  EXPECT_EQ(r.redundant[0].name, "joint 'second hinge'");
  EXPECT_EQ(r.redundant[0].rows, 5);
  ASSERT_EQ(r.redundant[0].on.size(), 1U);
  EXPECT_EQ(r.redundant[0].on[0], "joint 'hinge-0'");
  EXPECT_EQ(r.mobility(), 1);
  while (run.advance()) {
  }
  EXPECT_EQ(run.checkpoint().missed, 0);
  // The motion is the one of the single joint.
  const Model single = rod_chain(1);
  Simulation reference(single, o);
  run_to_end(reference);
  EXPECT_LT(difference(single, run.state().q, reference.state().q).cwiseAbs().maxCoeff(), 1e-9);
}

TEST(ConsistentStart, ContradictoryJointsAreRefusedByName) {
  Model m = rod_chain(1);
  const int other = join(m, "other hinge", JointKind::revolute, 0, 1, Vec3::Zero());
  m.markers[m.joints[other].marker_a].frame.p += Vec3(0, 0, 0.1);
  finalize(m);
  Simulation run(m, {});
  try {
    run.start();
    FAIL() << "contradictory joints were accepted";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("'other hinge'"), std::string::npos) << text;
    EXPECT_NE(text.find("'hinge-0'"), std::string::npos) << text;
    // The nearest position is half way between the two.
    EXPECT_NE(text.find("0.05"), std::string::npos) << text;
  }
}

TEST(ConsistentStart, ContradictoryMotorsAreRefusedByName) {
  Model m = rod_chain(1);
  for (const char* name : {"slow", "fast"}) {
    Motor motor;
    motor.name = name;
    motor.on = {0, 0};
    motor.value = PolynomialFunction{{0, std::string(name) == "fast" ? 2.0 : 1.0}};
    m.motors.push_back(motor);
  }
  finalize(m);
  Simulation run(m, {});
  try {
    run.start();
    FAIL() << "contradictory motors were accepted";
  } catch (const InputError& error) {
    const std::string text = error.what();
    EXPECT_NE(text.find("'slow'"), std::string::npos) << text;
    EXPECT_NE(text.find("'fast'"), std::string::npos) << text;
  }
}

TEST(ConsistentStart, BodyWithoutJointsKeepsSixFreedoms) {
  Model m = empty_model();
  add_rigid(m, "free", Vec3::Zero(), 1, Mat3::Identity());
  finalize(m);
  RigidSystem system(m);
  State state = initial_state(m);
  EXPECT_EQ(consistent_start(system, {}, state).mobility(), 6);
}

TEST(ConsistentStart, NoBodiesAtAllIsAModelToo) {
  Model m = empty_model();
  finalize(m);
  Simulation run(m, {});
  run_to_end(run);
  EXPECT_EQ(run.run_state(), RunState::finished);
}

TEST(ConsistentStart, JointsMayHoldBodiesThatDoNotMove) {
  for (const BodyKind kind : {BodyKind::fixed, BodyKind::kinematic}) {
    Model m = rod_chain(1);
    m.bodies[1].kind = kind;
    finalize(m);
    Simulation run(m, {.duration = 0.01});
    run_to_end(run);
    EXPECT_EQ(run.run_state(), RunState::finished) << run.failure();
    EXPECT_EQ(run.checkpoint().missed, 0);
    m.bodies[1].start.position[1] = 0.5;  // beside its hinge, and nothing can bring it there
    Simulation wrong(m, {.duration = 0.01});
    EXPECT_THROW(wrong.start(), InputError);
  }
}

}  // namespace
}  // namespace urto
