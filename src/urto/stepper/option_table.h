// The settings of a run as a table, one line each: what it is called in a scene, where it lives in
// SimulationOptions, which values it takes and what it means. Everything that has to know all
// settings walks this table: `validate`, the reader of scenes, the schema and the table of
// docs/scenes.md, the result file.
//
// A new setting is a member in options.h (or of SolveOptions or PenaltyLaw) and a line here; then
// `script/options` writes the schema and the book. Tests fail where a member has no line or where
// what is written is not what the table says.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "urto/stepper/options.h"

namespace urto {

/// Which numbers a setting takes. Finite ones only, unless `infinite`.
struct OptionRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above = false;           ///< low itself is not allowed
  bool below = false;           ///< high itself is not allowed
  bool infinite = false;        ///< infinity is a value too
  std::string_view words = {};  ///< what was expected, for messages and the book
};

/// Whether a number is in the range; bounds that belong to it (-1/3, say) are met within rounding.
bool contains(const OptionRange& range, double x);

enum class OptionKind : std::uint8_t {
  number,
  integer,
  flag,
  word,  ///< one of the words of an enumeration
  name,  ///< the name of something registered: a stepper, a solver
};

/// Words and names are text.
using OptionValue = std::variant<double, int, bool, std::string>;
/// As it stands in messages and in the book.
std::string to_text(const OptionValue& value);

struct OptionInfo {
  std::string_view key = {};  ///< in the scene's "simulation" object, and in the result file
  OptionKind kind = OptionKind::number;
  std::string_view unit = {};     ///< SI; empty where there is none
  std::string_view scope = {};    ///< what has to be chosen for it to matter; empty: nothing
  std::string_view meaning = {};  ///< one sentence or two
  OptionRange range = {};         ///< numbers and integers
  std::string_view noun = {};     ///< words and names: "a friction law", "stepper"
  std::vector<std::string> (*choices)() = nullptr;  ///< words and names: all there are
  OptionValue (*get)(const SimulationOptions&) = nullptr;
  /// The value must be of the kind and, of words and names, one of the choices.
  void (*set)(SimulationOptions&, const OptionValue&) = nullptr;
};

/// Every setting that a scene can make, in the order of the book.
std::span<const OptionInfo> simulation_options();
/// Their keys, in the same order.
std::span<const std::string_view> simulation_option_keys();

/// What was expected of a value: "a number from 1/2 to 1", "one of: exact, convex".
std::string expectation(const OptionInfo& option);
/// What the setting is when nobody sets it.
OptionValue default_of(const OptionInfo& option);

/// Whether a value of the right kind is one that the setting takes.
bool accepts(const OptionInfo& option, const OptionValue& value);

}  // namespace urto
