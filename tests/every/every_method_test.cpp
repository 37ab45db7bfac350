// Every registered stepper and solver runs once, on something small. Whether the answers are right,
// other tests say; this one is for the sanitizers and the assertions, which script/test runs on a
// part of the tests only.
#include <string>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/error.h"
#include "urto/problem/generate.h"
#include "urto/solver/complementarity_solver.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

/// Reaches its end, with numbers in it.
void expect_finishes(const Model& model, const SimulationOptions& options,
                     const std::string& what) {
  Simulation run(model, options);
  testing::run_to_end(run);
  EXPECT_EQ(run.run_state(), RunState::finished) << what << ": " << run.failure();
  EXPECT_TRUE(run.state().q.allFinite() && run.state().v.allFinite()) << what;
}

TEST(EveryMethod, SteppersMoveAChain) {
  const Model chain = testing::rod_chain(3);
  for (const StepperInfo& info : steppers()) {
    for (const bool adaptive : {false, true}) {
      SimulationOptions o;
      o.stepper.name = std::string(info.name);
      o.duration = 0.02;
      o.adaptive = adaptive;
      expect_finishes(chain, o, o.stepper.name);
    }
  }
}

/// A ball and two cubes fall on each other and on the floor; one hinge holds a rod.
Model heap() {
  Model m = testing::empty_model();
  testing::add_floor(m);
  testing::add_cube(m, "lower", {0, 0, 0.1001}, 0.2, 1);
  testing::add_cube(m, "upper", {0.05, 0, 0.3003}, 0.2, 1);
  testing::add_ball(m, "ball", {0.3, 0, 0.1002}, 0.1, 1);
  const int rod = testing::add_rigid(m, "rod", {1, 0, 1}, 1, 0.1 * Mat3::Identity());
  testing::join(m, "hinge", JointKind::revolute, 0, rod, {0.8, 0, 1}, Vec3::UnitY());
  finalize(m);
  return m;
}

TEST(EveryMethod, SteppersMeetContactsByTheLawOrAsSprings) {
  const Model m = heap();
  for (const StepperInfo& info : steppers()) {
    SimulationOptions o;
    o.stepper.name = std::string(info.name);
    o.duration = 0.01;
    if (!info.contacts) {
      o.stepper.penalty_contact = true;
      o.step = 2e-4;
    }
    expect_finishes(m, o, o.stepper.name);
  }
}

TEST(EveryMethod, SolversInsideAStepper) {
  const Model contacts = heap(), joints = testing::rod_chain(3);
  for (const SolverInfo& info : solvers()) {
    SimulationOptions o;
    o.duration = 0.005;
    o.solver.solver = std::string(info.name);
    o.solver.tolerance = 1e-4;
    o.solver.max_iterations = 500;
    if (!info.can.exact_friction) o.stepper.friction = Friction::convex;
    expect_finishes(info.can.cones ? contacts : joints, o, o.solver.solver);
  }
}

TEST(EveryMethod, SolversOfStepProblems) {
  const StepProblem problems[] = {sphere_packing({.contacts = 30, .step = 1e-3}),
                                  stiff_lattice({.nx = 2, .ny = 2, .nz = 2}), chain({})};
  for (const StepProblem& p : problems) {
    for (const SolverInfo& info : solvers()) {
      for (const Friction friction : {Friction::exact, Friction::convex}) {
        try {
          const Solution s = solve(p, {.solver = std::string(info.name),
                                       .max_iterations = 200,
                                       .friction = friction,
                                       .threads = info.can.threads ? 2 : 1});
          EXPECT_EQ(s.lambda.size(), p.rows()) << info.name;
          EXPECT_TRUE(s.lambda.allFinite()) << info.name;
        } catch (const InputError&) {
          // Refused: it does not claim to treat this one.
        }
      }
    }
  }
}

TEST(EveryMethod, SolversOfComplementarityProblems) {
  const Matrix M{{2, 1, 0}, {-1, 2, 1}, {0, -1, 3}};
  const ComplementarityProblem p{M.sparseView(), Vector{{-5, -6, 1}}, Vector{{0, -1, 0}},
                                 Vector{{10, 1, 10}}};
  for (const ComplementaritySolverInfo& info : complementarity_solvers()) {
    const ComplementaritySolution s = solve(p, {.solver = std::string(info.name)});
    EXPECT_TRUE(s.z.allFinite()) << info.name;
  }
}

}  // namespace
}  // namespace urto
