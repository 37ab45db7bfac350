// The list of steppers, what each can do, and what it refuses.
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/error.h"
#include "urto/stepper/smooth_explicit.h"
#include "urto/stepper/smooth_implicit.h"

namespace urto {
namespace {

constexpr std::array<StepperInfo, 14> list{{
    {.name = "dvi",
     .order = 1,
     .implicit = true,
     .contacts = true,
     .summary = "one step problem a step: impacts, contacts, friction"},
    {.name = "explicit-euler",
     .order = 1,
     .discouraged = true,
     .summary = "for comparisons: gains energy"},
    {.name = "semi-implicit-euler", .order = 1, .summary = "symplectic Euler"},
    {.name = "heun", .order = 2, .summary = "explicit trapezoidal rule"},
    {.name = "leapfrog", .order = 2, .summary = "velocity Verlet"},
    {.name = "rk4",
     .order = 2,
     .summary = "Runge-Kutta with one exponential: order 4, 2 on rotations"},
    {.name = "munthe-kaas", .order = 4, .summary = "Runge-Kutta of order 4 on rotations too"},
    {.name = "implicit-euler", .order = 1, .implicit = true, .summary = "damps most"},
    {.name = "linear-implicit-euler",
     .order = 1,
     .implicit = true,
     .summary = "one linear solve a step; joints as in dvi"},
    {.name = "trapezoidal",
     .order = 2,
     .implicit = true,
     .summary = "no damping; reactions of joints oscillate"},
    {.name = "linear-trapezoidal",
     .order = 1,
     .implicit = true,
     .discouraged = true,
     .summary = "untested in the source, which advises against it; sawtooth reactions"},
    {.name = "newmark",
     .order = 2,
     .implicit = true,
     .summary = "gamma, beta; order 1 unless gamma = 1/2"},
    {.name = "hht",
     .order = 2,
     .implicit = true,
     .summary = "alpha in [-1/3, 0] damps fast oscillations"},
    {.name = "generalised-alpha",
     .order = 2,
     .implicit = true,
     .summary = "spectral radius at infinity in [0, 1] chooses the damping"},
}};

[[noreturn]] void refuse(const StepperInfo& stepper, std::string_view what,
                         const std::string& name) {
  throw InputError(fmt::format("simulation: stepper '{}'", stepper.name),
                   name.empty() ? std::string(what) : fmt::format("{} '{}'", what, name),
                   "a model without it, or the stepper 'dvi', which treats it");
}

}  // namespace

std::span<const StepperInfo> steppers() {
  return list;
}

const StepperInfo& find_stepper(std::string_view name) {
  std::vector<std::string_view> names;
  for (const StepperInfo& s : list) {
    if (s.name == name) return s;
    names.push_back(s.name);
  }
  throw InputError("simulation: stepper", fmt::format("'{}'", name),
                   fmt::format("one of: {}", fmt::join(names, ", ")));
}

// Shapes may be there without ever touching: contact is refused where it happens (SmoothStepper::refuse_contact).
void check_capabilities(const StepperInfo& stepper, const Model& model) {
  if (stepper.contacts) return;
  if (!model.limits.empty()) refuse(stepper, "limit", model.limits.front().name);
  if (!model.frictions.empty()) refuse(stepper, "joint friction", model.frictions.front().name);
  for (const Motor& motor : model.motors) {
    if (motor.mode == MotorMode::speed && std::isfinite(motor.max_force))
      refuse(stepper, "bounded motor", motor.name);
  }
}

std::unique_ptr<Stepper> make_smooth_stepper(System& system, const SimulationOptions& options) {
  const StepperOptions& s = options.stepper;
  const auto is_explicit = [&](ExplicitKind kind) {
    return std::make_unique<ExplicitStepper>(system, options, kind);
  };
  const auto is_implicit = [&](const ImplicitScheme& scheme) {
    return std::make_unique<ImplicitStepper>(system, options, scheme);
  };
  if (s.name == "explicit-euler") return is_explicit(ExplicitKind::euler);
  if (s.name == "semi-implicit-euler") return is_explicit(ExplicitKind::semi_implicit_euler);
  if (s.name == "heun") return is_explicit(ExplicitKind::heun);
  if (s.name == "leapfrog") return is_explicit(ExplicitKind::leapfrog);
  if (s.name == "rk4") return is_explicit(ExplicitKind::runge_kutta);
  if (s.name == "munthe-kaas") return is_explicit(ExplicitKind::munthe_kaas);
  if (s.name == "implicit-euler") return is_implicit(implicit_euler_scheme());
  if (s.name == "trapezoidal") return is_implicit(newmark_scheme(0.5, 0.25));
  if (s.name == "newmark") return is_implicit(newmark_scheme(s.newmark_gamma, s.newmark_beta));
  if (s.name == "hht") return is_implicit(hht_scheme(s.hht_alpha));
  if (s.name == "generalised-alpha")
    return is_implicit(generalised_alpha_scheme(s.spectral_radius));
  if (s.name == "linear-implicit-euler" || s.name == "linear-trapezoidal") {
    return std::make_unique<LinearisedStepper>(system, options, s.name == "linear-trapezoidal");
  }
  throw InputError("simulation: stepper", fmt::format("'{}'", s.name), "a smooth stepper");
}

}  // namespace urto
