// A stepper of somebody else's, registered from outside the library and chosen by its name in a run
// of the full model: Störmer's leapfrog in its kick–drift–kick form, for models without joints and
// contacts.
#include <gtest/gtest.h>

#include "urto/error.h"
#include "urto/stepper/simulation.h"

namespace {

class KickDriftKick final : public urto::Stepper {
 public:
  explicit KickDriftKick(const urto::System& system) : system_(system) {}

  urto::StepOutcome step(urto::State& state, double h, urto::StepMemory&,
                         urto::StepReport& report) override {
    report.t = state.t;
    report.h = h;
    kick(state, 0.5 * h);
    increment_ = h * state.v;
    system_.add_increment(state.q, increment_, state.q);
    state.t += h;
    kick(state, 0.5 * h);
    system_.accept(state);
    return {.t = state.t};
  }
  const urto::Interactions& rows() const override { return rows_; }
  const urto::Vector& impulses() const override { return impulses_; }

 private:
  void kick(urto::State& state, double h) {
    system_.force(state, force_);
    system_.mass(state, mass_);
    multiply(inverse(mass_), force_, acceleration_);
    state.v += h * acceleration_;
  }

  urto::SystemAccess system_;
  urto::Interactions rows_;
  urto::BlockMatrix mass_;
  urto::Vector force_, acceleration_, increment_, impulses_;
};

TEST(OwnStepper, IsRegisteredAndRunsAModelByName) {
  urto::register_stepper(
      {.name = "kick-drift-kick", .order = 2, .summary = "somebody else's leapfrog"},
      [](const urto::System& system, const urto::SimulationOptions&) {
        return std::make_unique<KickDriftKick>(system);
      });
  EXPECT_EQ(urto::find_stepper("kick-drift-kick").order, 2);
  EXPECT_THROW(urto::register_stepper({.name = "dvi"}, {}), urto::InputError);

  urto::Model model;
  model.bodies.push_back({.name = "ball", .mass = 2});
  finalize(model);
  urto::SimulationOptions options;
  options.stepper.name = "kick-drift-kick";
  options.duration = 0.5;
  urto::Simulation run(model, options);
  run.start();
  while (run.advance()) {
  }
  ASSERT_EQ(run.run_state(), urto::RunState::finished) << run.failure();
  EXPECT_NEAR(run.state().q[2], -0.5 * 9.81 * 0.25, 1e-12);  // exact for a constant force
  // Without an auditor of its own, what the balance leaves over is numerical: none here.
  EXPECT_NEAR(run.energy().numerical(), 0, 1e-12);
  EXPECT_EQ(run.energy().numerical(), run.energy().total() - run.energy().start);
}

}  // namespace
