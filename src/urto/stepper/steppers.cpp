// The list of steppers, what each can do, and what it refuses.
#include <cmath>
#include <mutex>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/error.h"
#include "urto/stepper/alpha_control.h"
#include "urto/stepper/dvi.h"
#include "urto/stepper/dvi_newton.h"
#include "urto/stepper/moreau_jean.h"
#include "urto/stepper/nonsmooth_alpha.h"
#include "urto/stepper/smooth_explicit.h"
#include "urto/stepper/smooth_implicit.h"
#include "urto/stepper/smooth_linearised.h"
#include "urto/stepper/trapezoidal_lcp.h"

namespace urto {
namespace {

struct Registered {
  StepperInfo info;
  StepperFactory make;
};

StepperFactory explicit_kind(ExplicitKind kind) {
  return [kind](const System& system, const SimulationOptions& options) {
    return std::make_unique<ExplicitStepper>(system, options, kind);
  };
}

StepperFactory implicit_scheme(ImplicitScheme (*scheme)(const StepperOptions&)) {
  return [scheme](const System& system, const SimulationOptions& options) {
    return std::make_unique<ImplicitStepper>(system, options, scheme(options.stepper));
  };
}

StepperFactory linearised(bool trapezoidal) {
  return [trapezoidal](const System& system, const SimulationOptions& options) {
    return std::make_unique<LinearisedStepper>(system, options, trapezoidal);
  };
}

std::unique_ptr<Stepper> make_dvi(const System& system, const SimulationOptions& options) {
  return std::make_unique<DviStepper>(system, options);
}

std::unique_ptr<Stepper> make_dvi_newton(const System& system, const SimulationOptions& options) {
  return std::make_unique<DviNewtonStepper>(system, options);
}

std::unique_ptr<Stepper> make_moreau_jean(const System& system, const SimulationOptions& options) {
  return std::make_unique<MoreauJeanStepper>(system, options);
}

std::unique_ptr<Stepper> make_nonsmooth_alpha(const System& system,
                                              const SimulationOptions& options) {
  if (options.adaptive) return std::make_unique<AlphaControl>(system, options);
  return std::make_unique<NonsmoothAlphaStepper>(system, options);
}

std::unique_ptr<Stepper> make_trapezoidal_lcp(const System& system,
                                              const SimulationOptions& options) {
  return std::make_unique<TrapezoidalLcpStepper>(system, options);
}

std::vector<Registered> built_in() {
  using Options = const StepperOptions&;
  return {
      {{.name = "dvi",
        .order = 1,
        .implicit = true,
        .contacts = true,
        .restitution = true,
        .summary = "one step problem a step: impacts, contacts, friction"},
       make_dvi},
      {{.name = "dvi-newton",
        .order = 1,
        .implicit = true,
        .contacts = true,
        .summary = "implicit Euler with contacts: step problems until forces and gaps are those of "
                   "the end; inelastic"},
       make_dvi_newton},
      {{.name = "moreau-jean",
        .order = 1,
        .implicit = true,
        .contacts = true,
        .restitution = true,
        .summary = "θ-method at velocity level: joints drift, contacts penetrate, by O(h)"},
       make_moreau_jean},
      {{.name = "nonsmooth-alpha",
        .order = 2,
        .implicit = true,
        .contacts = true,
        .restitution = true,
        .summary = "joints and gaps hold at positions and velocities; order 2 between impacts"},
       make_nonsmooth_alpha},
      {{.name = "trapezoidal-lcp",
        .order = 2,
        .implicit = true,
        .contacts = true,
        .restitution = true,
        .summary = "one step problem a step, collisions located within it, impacts in two phases"},
       make_trapezoidal_lcp},
      {{.name = "explicit-euler", .order = 1, .discouraged = true, .summary = "gains energy"},
       explicit_kind(ExplicitKind::euler)},
      {{.name = "semi-implicit-euler", .order = 1, .summary = "symplectic Euler"},
       explicit_kind(ExplicitKind::semi_implicit_euler)},
      {{.name = "heun", .order = 2, .summary = "explicit trapezoidal rule"},
       explicit_kind(ExplicitKind::heun)},
      {{.name = "leapfrog", .order = 2, .summary = "velocity Verlet"},
       explicit_kind(ExplicitKind::leapfrog)},
      {{.name = "rk4",
        .order = 2,
        .summary = "Runge-Kutta with one exponential: order 4, 2 on rotations"},
       explicit_kind(ExplicitKind::runge_kutta)},
      {{.name = "munthe-kaas", .order = 4, .summary = "Runge-Kutta of order 4 on rotations too"},
       explicit_kind(ExplicitKind::munthe_kaas)},
      {{.name = "crouch-grossman",
        .order = 3,
        .summary = "Runge-Kutta of order 3 with an exponential for each stage"},
       explicit_kind(ExplicitKind::crouch_grossman)},
      {{.name = "implicit-euler", .order = 1, .implicit = true, .summary = "damps most"},
       implicit_scheme([](Options) { return implicit_euler_scheme(); })},
      {{.name = "linear-implicit-euler",
        .order = 1,
        .implicit = true,
        .summary = "one linear solve a step; joints as in dvi"},
       linearised(false)},
      {{.name = "trapezoidal",
        .order = 2,
        .implicit = true,
        .summary = "no damping; reactions of joints oscillate"},
       implicit_scheme([](Options) { return newmark_scheme(0.5, 0.25); })},
      {{.name = "linear-trapezoidal",
        .order = 1,
        .implicit = true,
        .discouraged = true,
        .summary = "untested in the source, which advises against it; sawtooth reactions"},
       linearised(true)},
      {{.name = "newmark",
        .order = 2,
        .implicit = true,
        .summary = "gamma, beta; order 1 unless gamma = 1/2"},
       implicit_scheme([](Options o) { return newmark_scheme(o.newmark_gamma, o.newmark_beta); })},
      {{.name = "hht",
        .order = 2,
        .implicit = true,
        .summary = "alpha in [-1/3, 0] damps fast oscillations"},
       implicit_scheme([](Options o) { return hht_scheme(o.hht_alpha); })},
      {{.name = "generalised-alpha",
        .order = 2,
        .implicit = true,
        .summary = "spectral radius at infinity in [0, 1] chooses the damping"},
       implicit_scheme([](Options o) { return generalised_alpha_scheme(o.spectral_radius); })},
  };
}

[[noreturn]] void refuse(const StepperInfo& stepper, std::string_view what,
                         const std::string& name) {
  throw InputError(fmt::format("simulation: stepper '{}'", stepper.name),
                   name.empty() ? std::string(what) : fmt::format("{} '{}'", what, name),
                   "a model without it, or the stepper 'dvi', which treats it");
}

// Without a rebound there is nothing to ask for.
void refuse_restitution(const StepperInfo& stepper, const Model& model) {
  const auto rebounds = [](const Material& m) { return m.restitution > 0; };
  for (const Material& m : model.materials) {
    if (rebounds(m)) refuse(stepper, "restitution of material", m.name);
  }
  for (const Model::MaterialPair& pair : model.material_pairs) {
    if (rebounds(pair.properties)) refuse(stepper, "restitution of a pair of materials", "");
  }
  for (const Limit& limit : model.limits) {
    if (limit.restitution > 0) refuse(stepper, "restitution of limit", limit.name);
  }
}

// One list per process: that is what a name in a scene means. Filled on first use, under a lock.
struct Registry {
  std::mutex mutex;
  std::vector<Registered> list = built_in();
};

Registry& registry() {
  static Registry all;
  return all;
}

Registered find(std::string_view name) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<std::string> names;
  for (const Registered& s : all.list) {
    if (s.info.name == name) return s;
    names.push_back(s.info.name);
  }
  throw InputError("simulation: stepper", fmt::format("'{}'", name),
                   fmt::format("one of: {}", fmt::join(names, ", ")));
}

}  // namespace

void register_stepper(StepperInfo info, StepperFactory factory) {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  for (const Registered& s : all.list) {
    if (s.info.name == info.name) {
      throw InputError("a stepper to register", fmt::format("the name '{}'", info.name),
                       "a name that no stepper has yet");
    }
  }
  if (info.name.empty() || !factory)
    throw InputError("a stepper to register", "no name or nothing that makes it", "both");
  all.list.push_back({std::move(info), std::move(factory)});
}

std::vector<StepperInfo> steppers() {
  Registry& all = registry();
  const std::lock_guard lock(all.mutex);
  std::vector<StepperInfo> out;
  for (const Registered& s : all.list) out.push_back(s.info);
  return out;
}

StepperInfo find_stepper(std::string_view name) {
  return find(name).info;
}

std::unique_ptr<Stepper> make_stepper(const System& system, const SimulationOptions& options) {
  return find(options.stepper.name).make(system, options);
}

// Shapes may be there without ever touching: contact is refused where it happens
// (SmoothStepper::refuse_contact).
void check_capabilities(const StepperInfo& stepper, const Model& model,
                        const StepperOptions& options) {
  if (stepper.contacts) {
    if (!stepper.restitution && options.restitution) refuse_restitution(stepper, model);
    return;
  }
  if (!model.limits.empty()) refuse(stepper, "limit", model.limits.front().name);
  if (!model.frictions.empty()) refuse(stepper, "joint friction", model.frictions.front().name);
  for (const Motor& motor : model.motors) {
    if (motor.mode == MotorMode::speed && std::isfinite(motor.max_force))
      refuse(stepper, "bounded motor", motor.name);
  }
}

}  // namespace urto
