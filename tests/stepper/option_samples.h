// Values to try on every setting of the option table, whatever it is.
#pragma once

#include <cmath>

#include <gtest/gtest.h>

#include "urto/stepper/option_table.h"

namespace urto::samples {

/// Settings to start from: the defaults with a smooth stepper, which every setting agrees with.
inline SimulationOptions plain_options() {
  SimulationOptions options;
  options.stepper.name = "newmark";
  return options;
}

/// A value that the setting takes and does not have in the plain options.
inline OptionValue another_value(const OptionInfo& option) {
  const OptionValue now = option.get(plain_options());
  const OptionRange& range = option.range;
  switch (option.kind) {
    case OptionKind::number: {
      if (std::isfinite(range.high)) return range.low + 0.37 * (range.high - range.low);
      const double x = std::get<double>(now);
      return x > 0 && std::isfinite(x) ? 1.5 * x : 0.75;
    }
    case OptionKind::integer:
      return std::get<int>(now) + 1;
    case OptionKind::flag:
      return !std::get<bool>(now);
    case OptionKind::word:
    case OptionKind::name:
      break;
  }
  for (const std::string_view choice : option.choices()) {
    if (choice != std::get<std::string>(now)) return std::string(choice);
  }
  return now;
}

/// A number that the setting does not take.
inline OptionValue number_out_of_range(const OptionInfo& option) {
  const double low = option.range.above ? option.range.low : option.range.low - 1;
  if (option.kind == OptionKind::integer) return static_cast<int>(low);
  return low;
}

inline bool is_number(const OptionInfo& option) {
  return option.kind == OptionKind::number || option.kind == OptionKind::integer;
}

/// Expects that two sets of options differ in this one setting, or in none if it is null.
inline void expect_equal_but(const OptionInfo* changed, const SimulationOptions& a,
                             const SimulationOptions& b) {
  for (const OptionInfo& option : simulation_options()) {
    EXPECT_EQ(option.get(a) == option.get(b), &option != changed) << option.key;
  }
}

}  // namespace urto::samples
