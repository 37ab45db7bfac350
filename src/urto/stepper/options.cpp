#include "urto/stepper/options.h"

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/stepper/option_table.h"
#include "urto/stepper/stepper.h"

namespace urto {
namespace {

std::string place_of(std::string_view key) {
  return fmt::format("simulation: {}", key);
}

}  // namespace

void validate(const SimulationOptions& o) {
  for (const OptionInfo& option : simulation_options()) {
    const OptionValue value = option.get(o);
    if (accepts(option, value)) continue;
    const bool text = std::holds_alternative<std::string>(value);
    throw InputError(place_of(option.key),
                     text ? fmt::format("'{}'", to_text(value)) : to_text(value),
                     expectation(option));
  }
  // What two settings must be to each other.
  if (o.max_step < o.min_step) {
    throw InputError(place_of("max_step"), fmt::format("{}", o.max_step), "at least min_step");
  }
  // More would take weeks, and the time would stand still before long.
  constexpr double most_steps = 1e12;
  if (!o.adaptive && o.duration / o.step > most_steps) {
    throw InputError(
        place_of("step"), fmt::format("{} s for {} s", o.step, o.duration),
        fmt::format("at most {:g} steps: {:.3g} s or more", most_steps, o.duration / most_steps));
  }
  if (o.stepper.name == "moreau-jean" && o.stepper.activation == Activation::closed) {
    throw InputError(place_of("activation"), "'closed'",
                     "a prediction that moreau-jean has before its step: start, half, end or free");
  }
  const StepperOptions& s = o.stepper;
  const bool closed = s.activation == Activation::automatic || s.activation == Activation::closed;
  if (s.carried_contacts != CarriedContacts::none &&
      (s.alpha_algorithm != AlphaAlgorithm::one_pass || s.alpha_variant != AlphaVariant::both ||
       !closed)) {
    throw InputError(place_of("carried_contacts"),
                     "contacts to carry with another algorithm, variant or activation",
                     "alpha_algorithm one-pass, alpha_variant both and activation closed");
  }
  if (o.stepper.friction_bound == FrictionBound::polygon &&
      o.stepper.friction == Friction::convex) {
    throw InputError(place_of("friction_bound"), "'polygon' with the friction 'convex'",
                     "exact friction: the convex law has a circle");
  }
  if (o.stepper.penalty_contact && find_stepper(o.stepper.name).contacts) {
    throw InputError(place_of("penalty_contact"), fmt::format("the stepper '{}'", o.stepper.name),
                     "a smooth stepper: this one treats contacts as they are");
  }
}

}  // namespace urto
