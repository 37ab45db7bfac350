// Every setting of a run is in the option table, and `validate` refuses what the table refuses.
#include <set>

#include <fmt/format.h>

#include "stepper/option_samples.h"
#include "urto/error.h"

namespace urto {
namespace {

using namespace samples;

/// Stands for any value where members are counted.
struct Anything {
  template <typename T>
  operator T() const;
};

/// How many members a plain structure has: as many as an initialiser list may be long.
template <typename T, typename... Members>
consteval int count_members() {
  if constexpr (requires { T{Members{}..., Anything{}}; }) {
    return count_members<T, Members..., Anything>();
  } else {
    return sizeof...(Members);
  }
}

std::string message_of_validate(const SimulationOptions& options) {
  try {
    validate(options);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

const OptionInfo& option_named(std::string_view key) {
  for (const OptionInfo& option : simulation_options()) {
    if (option.key == key) return option;
  }
  throw std::logic_error("no such option");
}

TEST(OptionTable, HasALineForEveryMember) {
  // Structures in structures have lines for their own members.
  const int structures = 3;  // stepper, solver; penalty
  const int ours = count_members<SimulationOptions>() + count_members<StepperOptions>() +
                   count_members<PenaltyLaw>() - structures;
  // The rest of SolveOptions is the program's business, or set by friction and threads.
  const std::set<std::string_view> of_solver{
      "solver",    "tolerance", "max_iterations", "time_limit",   "relaxation", "jacobi_relaxation",
      "sharpness", "momentum",  "precondition",   "search_memory"};
  EXPECT_EQ(simulation_options().size(), ours + of_solver.size())
      << "a member of options.h without a line in option_table.cpp, or the other way round";
  for (const std::string_view key : of_solver) EXPECT_EQ(option_named(key).key, key);
}

TEST(OptionTable, KeysAreUniqueAndEntriesComplete) {
  std::set<std::string_view> keys;
  for (const OptionInfo& option : simulation_options()) {
    SCOPED_TRACE(option.key);
    EXPECT_TRUE(keys.insert(option.key).second);
    EXPECT_FALSE(option.meaning.empty());
    EXPECT_FALSE(expectation(option).empty());
    EXPECT_TRUE(accepts(option, default_of(option)));
    EXPECT_EQ(simulation_option_keys()[keys.size() - 1], option.key);
  }
}

TEST(OptionTable, EveryLineSetsItsOwnMember) {
  for (const OptionInfo& option : simulation_options()) {
    SCOPED_TRACE(option.key);
    SimulationOptions options = plain_options();
    option.set(options, another_value(option));
    EXPECT_EQ(option.get(options), another_value(option));
    expect_equal_but(&option, options, plain_options());
    EXPECT_EQ(message_of_validate(options), "");
  }
}

TEST(OptionTable, ValidateRefusesEveryNumberOutOfItsRange) {
  for (const OptionInfo& option : simulation_options()) {
    if (!is_number(option)) continue;
    const auto expect_refused = [&](const OptionValue& bad) {
      SimulationOptions options = plain_options();
      option.set(options, bad);
      EXPECT_EQ(message_of_validate(options),
                fmt::format("simulation: {}: found {}, expected {}", option.key, to_text(bad),
                            expectation(option)));
    };
    expect_refused(number_out_of_range(option));
    if (option.kind == OptionKind::integer) {
      expect_refused(static_cast<int>(option.range.high + 1));
      continue;
    }
    expect_refused(std::nan(""));
    if (!option.range.infinite) expect_refused(std::numeric_limits<double>::infinity());
    if (option.range.below) expect_refused(option.range.high);
  }
}

TEST(OptionTable, ValidateRefusesNamesThatAreNone) {
  SimulationOptions options;
  options.stepper.name = "eulr";
  EXPECT_TRUE(message_of_validate(options).starts_with(
      "simulation: stepper: found 'eulr', expected one of: dvi, dvi-newton, moreau-jean"));
  options = {};
  options.solver.solver = "nsg";
  EXPECT_TRUE(message_of_validate(options).starts_with(
      "simulation: solver: found 'nsg', expected one of: auto, jacobi"));
}

TEST(OptionTable, ValidateComparesSettingsWithEachOther) {
  SimulationOptions options;
  options.max_step = 1e-9;
  EXPECT_EQ(message_of_validate(options),
            "simulation: max_step: found 1e-09, expected at least min_step");
  options = {};
  options.stepper.penalty_contact = true;
  EXPECT_EQ(message_of_validate(options),
            "simulation: penalty_contact: found the stepper 'dvi', expected a smooth stepper: this "
            "one treats contacts as they are");
}

TEST(OptionTable, BoundsAreMetWithinRounding) {
  SimulationOptions options;
  options.stepper.hht_alpha = -0.33333333333334;
  EXPECT_EQ(message_of_validate(options), "");
  options.stepper.hht_alpha = -0.3334;
  EXPECT_EQ(message_of_validate(options),
            "simulation: hht_alpha: found -0.3334, expected a number from -1/3 to 0");
}

}  // namespace
}  // namespace urto
