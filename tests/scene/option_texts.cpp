#include "option_texts.h"

#include <cmath>
#include <stdexcept>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/stepper/option_table.h"

namespace urto::samples {
namespace {

using nlohmann::ordered_json;

/// Infinity has no number in JSON; a scene writes it as an expression.
ordered_json scene_value(const OptionValue& value) {
  if (const auto* x = std::get_if<double>(&value); x != nullptr && std::isinf(*x)) return "=inf";
  return std::visit([](const auto& x) { return ordered_json(x); }, value);
}

void put_range(ordered_json& rule, const OptionRange& range) {
  const bool from_zero = range.low == 0;
  rule["$ref"] = !from_zero    ? "#/$defs/number"
                 : range.above ? "#/$defs/positive"
                               : "#/$defs/non-negative";
  if (!from_zero) rule[range.above ? "exclusiveMinimum" : "minimum"] = range.low;
  if (std::isfinite(range.high)) rule[range.below ? "exclusiveMaximum" : "maximum"] = range.high;
}

ordered_json property_of(const OptionInfo& option) {
  ordered_json rule;
  switch (option.kind) {
    case OptionKind::number:
      put_range(rule, option.range);
      break;
    case OptionKind::integer:
      rule["$ref"] = "#/$defs/count";
      rule["maximum"] = static_cast<int>(option.range.high);
      break;
    case OptionKind::flag:
      rule["type"] = "boolean";
      break;
    case OptionKind::word:
      rule["enum"] = option.choices();
      break;
    case OptionKind::name:  // a program may register more of them
      rule["type"] = "string";
      rule["examples"] = option.choices();
      break;
  }
  const auto with = [](const char* format, std::string_view text) {
    return text.empty() ? "" : fmt::format(fmt::runtime(format), text);
  };
  rule["description"] = fmt::format("{}{}{}", option.meaning, with(" [{}]", option.unit),
                                    with(" For {}.", option.scope));
  rule["default"] = scene_value(default_of(option));
  return rule;
}

std::string default_text(const OptionInfo& option) {
  const OptionValue value = default_of(option);
  if (std::holds_alternative<std::string>(value)) return fmt::format("`{}`", to_text(value));
  const ordered_json json = scene_value(value);
  const std::string text = json.is_string() ? fmt::format("`{}`", json.dump()) : to_text(value);
  return option.unit.empty() ? text : fmt::format("{} {}", text, option.unit);
}

std::string values_text(const OptionInfo& option) {
  if (option.choices != nullptr) {
    return fmt::format("`{}`", fmt::join(option.choices(), "`, `"));
  }
  return expectation(option) + (option.range.infinite ? ", or `\"=inf\"`" : "");
}

/// The text with what is between two marks replaced.
std::string replaced(const std::string& text, std::string_view begin, std::string_view end,
                     const std::string& inner) {
  const std::size_t first = text.find(begin);
  const std::size_t last = first == std::string::npos ? first : text.find(end, first);
  if (last == std::string::npos)
    throw std::runtime_error(fmt::format("no '{}' … '{}'", begin, end));
  return text.substr(0, first + begin.size()) + inner + text.substr(last);
}

}  // namespace

ordered_json simulation_schema() {
  ordered_json entry = {
      {"description", "Settings of the run."}, {"type", "object"}, {"additionalProperties", false}};
  for (const OptionInfo& option : simulation_options()) {
    entry["properties"][std::string(option.key)] = property_of(option);
  }
  return entry;
}

std::string with_simulation_schema(const std::string& schema) {
  // The lines of the entry, two levels deep, without those of the brackets around them.
  const std::string text = simulation_schema().dump(2);
  std::string inner = "    ";
  for (const char c : text.substr(2, text.size() - 4)) {
    inner += c;
    if (c == '\n') inner += "    ";
  }
  return replaced(schema, "\n    \"simulation\": {\n", "\n    }", inner);
}

std::string option_rows() {
  std::string rows = "| key | default | values | for | meaning |\n|---|---|---|---|---|\n";
  for (const OptionInfo& option : simulation_options()) {
    rows += fmt::format("| `{}` | {} | {} | {} | {} |\n", option.key, default_text(option),
                        values_text(option), option.scope, option.meaning);
  }
  return rows;
}

std::string with_option_rows(const std::string& page) {
  return replaced(page,
                  "<!-- options: script/options writes this table from "
                  "src/urto/stepper/option_table.cpp -->\n",
                  "<!-- end of options -->", option_rows());
}

}  // namespace urto::samples
