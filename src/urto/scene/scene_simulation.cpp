// The settings of a run. One flat object: the fields of SimulationOptions, and of its stepper and
// solver, have different names except for the names of the two themselves.
#include <fmt/format.h>

#include "urto/scene/scene_builder.h"
#include "urto/stepper/stepper.h"

namespace urto::scene {
namespace {

struct Settings {
  const Object& o;

  void set(std::string_view key, double& x, const NumberRule& rule) const {
    x = number_or(o, key, x, rule);
  }
  void set(std::string_view key, bool& x) const { x = bool_or(o, key, x); }
  void set(std::string_view key, int& x, int low, int high) const {
    if (const auto v = o.find(key)) x = static_cast<int>(to_integer(*v, low, high));
  }
};

void refuse_unknown(const Value& at, std::string_view what, const std::string& name,
                    const std::vector<std::string_view>& known) {
  if (contains(known, name)) return;
  const std::string near = suggestion(name, known);
  refuse(at, fmt::format(
                 "there is no {} '{}'{}", what, name,
                 near.empty() ? fmt::format(" (there are: {})", fmt::join(known, ", ")) : near));
}

void read_run(const Settings& s, SimulationOptions& options) {
  s.set("duration", options.duration, positive("s"));
  s.set("step", options.step, positive("s"));
  s.set("adaptive", options.adaptive);
  s.set("error_tolerance", options.error_tolerance, positive());
  s.set("min_step", options.min_step, positive("s"));
  s.set("max_step", options.max_step, positive("s"));
  s.set("extrapolate", options.extrapolate);
  s.set("output_step", options.output_step, non_negative("s"));
  s.set("checkpoint_interval", options.checkpoint_interval, non_negative("s"));
  s.set("contact_envelope", options.contact_envelope, non_negative("m"));
  s.set("assemble", options.assemble);
  s.set("islands", options.islands);
  s.set("threads", options.threads, 1, 1024);
  s.set("stop_on_failure", options.stop_on_failure);
}

void read_stepper(const Settings& s, StepperOptions& stepper) {
  if (const auto name = s.o.find("stepper")) {
    stepper.name = to_name(*name);
    std::vector<std::string_view> known;
    for (const StepperInfo& info : steppers()) known.push_back(info.name);
    refuse_unknown(*name, "stepper", stepper.name, known);
  }
  if (const auto v = s.o.find("friction")) {
    stepper.friction = to_word(*v, words::friction_law) == 0 ? Friction::exact : Friction::convex;
  }
  if (const auto v = s.o.find("implicit_forces")) {
    stepper.implicit_forces = static_cast<ImplicitForces>(to_word(*v, words::implicit_forces));
  }
  s.set("recovery_speed", stepper.recovery_speed, or_infinite(non_negative("m/s")));
  s.set("stabilise", stepper.stabilise);
  s.set("restitution", stepper.restitution);
  s.set("project_joints", stepper.project_joints);
  s.set("projection_tolerance", stepper.projection_tolerance, positive("m, rad"));
  s.set("newmark_gamma", stepper.newmark_gamma, {.low = 0.5, .high = 1});
  s.set("newmark_beta", stepper.newmark_beta, {.low = 0, .high = 1, .above = true});
  s.set("hht_alpha", stepper.hht_alpha, {.low = -1.0 / 3, .high = 0});
  s.set("spectral_radius", stepper.spectral_radius, {.low = 0, .high = 1});
  s.set("newton_tolerance", stepper.newton_tolerance, {.low = 0, .high = 1, .above = true});
  s.set("newton_iterations", stepper.newton_iterations, 1, 10'000);
  s.set("geometric_stiffness", stepper.geometric_stiffness);
  s.set("reuse_factor", stepper.reuse_factor);
  s.set("velocity_constraints", stepper.velocity_constraints);
  s.set("baumgarte", stepper.baumgarte, non_negative("1/s"));
  s.set("penalty_contact", stepper.penalty_contact);
  s.set("penalty_stiffness", stepper.penalty.stiffness, positive("N/m^exponent"));
  s.set("penalty_exponent", stepper.penalty.exponent, {.low = 1, .high = 3});
  s.set("penalty_damping", stepper.penalty.damping, non_negative("s/m"));
  s.set("penalty_slip", stepper.penalty.slip, positive("m/s"));
  s.set("penalty_tangential_stiffness", stepper.penalty.tangential_stiffness, non_negative("N/m"));
  s.set("penalty_tangential_damping", stepper.penalty.tangential_damping, non_negative("N·s/m"));
}

void read_solver(const Settings& s, SolveOptions& solver) {
  if (const auto name = s.o.find("solver")) {
    solver.solver = to_text(*name);
    std::vector<std::string_view> known;
    for (const SolverInfo& info : solvers()) known.push_back(info.name);
    refuse_unknown(*name, "solver", solver.solver, known);
  }
  s.set("tolerance", solver.tolerance, positive());
  s.set("max_iterations", solver.max_iterations, 1, 2'000'000'000);
  s.set("time_limit", solver.time_limit, or_infinite(positive("s")));
  s.set("relaxation", solver.relaxation, {.low = 0, .high = 2, .above = true});
  s.set("jacobi_relaxation", solver.jacobi_relaxation, {.low = 0, .high = 2, .above = true});
  s.set("sharpness", solver.sharpness, {.low = 0, .high = 1, .above = true});
}

}  // namespace

void read_simulation(SimulationOptions& options, const Object& scene) {
  const auto section = scene.find("simulation");
  if (!section) return;
  const Object o = to_object(*section, keys::simulation);
  const Settings s{o};
  read_run(s, options);
  read_stepper(s, options.stepper);
  read_solver(s, options.solver);
  // One setting of the scene, two places in the options.
  options.solver.friction = options.stepper.friction;
  options.solver.threads = options.threads;
}

}  // namespace urto::scene
