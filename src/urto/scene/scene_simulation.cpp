// The settings of a run: one flat object, read by the table of all settings.
#include <fmt/format.h>

#include "urto/scene/scene_builder.h"
#include "urto/stepper/option_table.h"

namespace urto::scene {
namespace {

NumberRule rule_of(const OptionInfo& option) {
  const OptionRange& range = option.range;
  return {.low = range.low,
          .high = range.high,
          .above = range.above,
          .infinite = range.infinite,
          .unit = option.unit};
}

std::string to_registered_name(const Value& v, const OptionInfo& option) {
  std::string name = to_name(v);
  const std::vector<std::string> names = option.choices();
  const std::vector<std::string_view> known(names.begin(), names.end());
  if (contains(known, name)) return name;
  const std::string near = suggestion(name, known);
  refuse(v, fmt::format(
                "there is no {} '{}'{}", option.noun, name,
                near.empty() ? fmt::format(" (there are: {})", fmt::join(known, ", ")) : near));
}

OptionValue to_setting(const Value& v, const OptionInfo& option) {
  switch (option.kind) {
    case OptionKind::number:
      return to_number(v, rule_of(option));
    case OptionKind::integer:
      return static_cast<int>(to_integer(v, static_cast<std::int64_t>(option.range.low),
                                         static_cast<std::int64_t>(option.range.high)));
    case OptionKind::flag:
      return to_bool(v);
    case OptionKind::word: {
      const std::vector<std::string> choices = option.choices();
      const std::vector<std::string_view> words(choices.begin(), choices.end());
      return choices[to_word(v, {option.key, option.noun, words})];
    }
    case OptionKind::name:
      break;
  }
  return to_registered_name(v, option);
}

}  // namespace

void read_simulation(SimulationOptions& options, const Object& scene) {
  const auto section = scene.find("simulation");
  if (!section) return;
  const Object o = to_object(*section, keys::simulation);
  for (const OptionInfo& option : simulation_options()) {
    if (const auto v = o.find(option.key)) option.set(options, to_setting(*v, option));
  }
  // One setting of the scene, two places in the options.
  options.solver.friction = options.stepper.friction;
  options.solver.threads = options.threads;
}

}  // namespace urto::scene
