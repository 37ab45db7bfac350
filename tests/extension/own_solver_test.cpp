// A program's own solver, written outside the library: projected Richardson iteration with De
// Saxcé's term at the current velocity, λ ← Π(λ − û/2m), m the mean diagonal of a block of W.
#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/error.h"
#include "urto/problem/generate.h"
#include "urto/solver/method.h"

namespace {

using namespace urto;

class Richardson final : public Method {
 public:
  void solve(Run& run) override {
    const SetProduct& K = run.W.K();
    for (int iteration = 0;; ++iteration) {
      run.iterations = iteration;
      run.W.apply(run.lambda, u_);
      u_ += run.W.q();
      if (run.monitor.observe(iteration, run.lambda, u_)) return;
      if (run.options.friction == Friction::exact) add_de_saxce(K, u_, u_);
      for (int i = 0; i < K.blocks(); ++i)
        u_.segment(K.start[i], K.sets[i].dim) *= 0.5 / run.W.mean_diagonal(i);
      run.lambda -= u_;
      project(K, run.lambda, run.lambda);
    }
  }

 private:
  Vector u_;  // kept from solve to solve
};

const Capabilities can{
    .cones = true, .boxes = true, .exact_friction = true, .convex_friction = true};

const bool registered = [] {
  register_solver({"richardson", "projected Richardson", can},
                  [] { return std::make_unique<Richardson>(); });
  return true;
}();

TEST(OwnSolver, SolvesAProblemByName) {
  ASSERT_TRUE(registered);
  EXPECT_EQ(solvers().back().name, "richardson");
  const StepProblem p = sphere_packing({.contacts = 20, .mu = 0.3, .step = 1e-3});
  const Solution own =
      solve(p, {.solver = "richardson", .tolerance = 1e-7, .max_iterations = 200'000});
  ASSERT_EQ(own.status, Status::converged) << own.message;
  const Solution reference = solve(p, {.tolerance = 1e-9});
  EXPECT_LT((own.x - reference.x).norm(), 1e-4 * reference.x.norm());
}

TEST(OwnSolver, SolvesTheStepsOfARun) {
  Model m = urto::testing::empty_model();
  urto::testing::add_floor(m);
  for (int k = 0; k < 3; ++k) urto::testing::add_ball(m, "", {0.5 * k, 0, 0.11}, 0.1, 1);
  finalize(m);
  SimulationOptions o;
  o.duration = 0.2;
  o.solver.solver = "richardson";
  Simulation run(m, o);
  run.start();
  while (run.advance()) {
  }
  EXPECT_EQ(run.checkpoint().missed, 0);
  EXPECT_NEAR(run.state().q[2], 0.1, 1e-4);
}

TEST(OwnSolver, NamesMustNotClashAndWhatItCannotDoIsRefused) {
  const auto make = [] { return std::make_unique<Richardson>(); };
  EXPECT_THROW(register_solver({"nsgs", "", can}, make), InputError);
  EXPECT_THROW(register_solver({"richardson", "", can}, make), InputError);
  EXPECT_THROW(solve(stiff_lattice({.nx = 2, .ny = 2, .nz = 2}), {.solver = "richardson"}),
               InputError);
}

}  // namespace
