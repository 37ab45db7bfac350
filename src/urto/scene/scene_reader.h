// The reader layer: JSON values that know where they stand, and the few types scenes are made of.
// Every function either returns a good value or throws an InputError that names the place.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "urto/model/measure.h"
#include "urto/scene/scene_keys.h"

namespace urto::scene {

/// Keeps the order of keys: materials are numbered as written, expanded scenes read like theirs.
using Json = nlohmann::ordered_json;

/// A place in a file the user wrote.
struct Origin {
  std::string file, path;
};

/// Where the parts of a merged and expanded scene come from, for messages.
struct Origins {
  std::string file;                     ///< of everything that is not listed
  std::map<std::string, Origin> moved;  ///< place in the scene → place in a file
  std::vector<std::pair<Origin, std::string>> overrides;  ///< places that an override has set
};

Origin origin_of(const Origins& origins, std::string_view path);
/// "file: /bodies/3/mass", with a note when an override set it.
std::string where(const Origins& origins, std::string_view path);

/// A JSON value and its place. Refers to both; they outlive the reading.
struct Value {
  const Json* json = nullptr;
  std::string path;  ///< "" is the scene itself
  const Origins* origins = nullptr;

  Value at(std::size_t index) const;
  Value at(std::string_view key) const;
};

[[noreturn]] void fail(const Value& v, std::string_view found, std::string_view expected);
[[noreturn]] void fail(const Value& v, std::string_view expected);  ///< found: the value itself
[[noreturn]] void refuse(const Value& v, std::string_view message);

/// The value as a user would recognise it, shortened.
std::string describe(const Json& json);

/// An object all of whose keys are in the table.
struct Object {
  Value value;
  const KeyTable* table = nullptr;

  bool has(std::string_view key) const;
  Value at(std::string_view key) const;  ///< fails when it is missing
  std::optional<Value> find(std::string_view key) const;
};
Object to_object(const Value& v, const KeyTable& table);

/// Whether a message about bad syntax shows what stands there. Not that of a file which a scene
/// names: somebody else may have written the scene, and the file may be no part of one.
enum class Quoting : std::uint8_t { what_was_read, nothing };

/// Text into JSON (with // and /* */ comments). Throws InputError with line and column for bad
/// syntax, and for keys that stand twice in an object and nesting that no scene needs.
Json parse_json(std::string_view text, std::string_view name,
                Quoting quoting = Quoting::what_was_read);

// ---- Numbers

struct NumberRule {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool above = false;     ///< low itself is not allowed
  bool infinite = false;  ///< "=inf" is allowed
  std::string_view unit = {};
};
constexpr NumberRule any(std::string_view unit = {}) {
  return {.unit = unit};
}
constexpr NumberRule positive(std::string_view unit = {}) {
  return {.low = 0, .above = true, .unit = unit};
}
constexpr NumberRule non_negative(std::string_view unit = {}) {
  return {.low = 0, .unit = unit};
}
constexpr NumberRule fraction() {
  return {.low = 0, .high = 1};
}
constexpr NumberRule or_infinite(NumberRule rule) {
  rule.infinite = true;
  return rule;
}

double to_number(const Value& v, const NumberRule& rule = {});
double number_or(const Object& o, std::string_view key, double fallback,
                 const NumberRule& rule = {});
std::int64_t to_integer(const Value& v, std::int64_t low, std::int64_t high);

// ---- Everything else

bool to_bool(const Value& v);
bool bool_or(const Object& o, std::string_view key, bool fallback);
/// At most `longest` bytes, without control characters except ends of lines and tabs.
std::string to_text(const Value& v, std::size_t longest = 4096);
/// A name: not empty, at most 255 bytes, no '/' and no control characters, so that results can be
/// filed under it.
std::string to_name(const Value& v);
/// The place of the word in the table.
int to_word(const Value& v, const WordTable& table);

/// The elements of an array; `count` < 0 takes any number of them.
std::vector<Value> to_items(const Value& v, std::string_view expected, int count = -1);
std::vector<double> to_numbers(const Value& v, int count, const NumberRule& rule = {});
Vec3 to_vec3(const Value& v, std::string_view unit = {});
Vec3 vec3_or(const Object& o, std::string_view key, const Vec3& fallback,
             std::string_view unit = {});
Vec3 to_direction(const Value& v);  ///< made a unit vector
/// [w, x, y, z], {"axis", "angle"} or {"axis", "degrees"}; a unit quaternion.
Vec4 to_rotation(const Value& v);
/// "position" and "rotation" of an object, both optional.
Pose to_pose(const Object& o);

/// Axes whose z is the direction; x is a function of z alone, and e_z gives the identity.
Mat3 axes_with_z(const Vec3& z);

}  // namespace urto::scene
