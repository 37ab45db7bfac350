#include "urto/scene/scene_reader.h"

#include <cassert>
#include <cmath>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto::scene {
namespace {

bool is_within(std::string_view path, std::string_view outer) {
  return path.starts_with(outer) &&
         (path.size() == outer.size() || path[outer.size()] == '/' || path[outer.size()] == ' ');
}

std::string expectation(const NumberRule& rule) {
  std::string text = "a number";
  if (rule.low == 0 && rule.above && std::isinf(rule.high)) {
    text = "a positive number";
  } else if (std::isfinite(rule.low) && std::isfinite(rule.high)) {
    text += fmt::format(" {} {} to {}", rule.above ? "above" : "from", rule.low, rule.high);
  } else if (std::isfinite(rule.low)) {
    text += fmt::format(" {} {}", rule.above ? "above" : "of at least", rule.low);
  }
  if (!rule.unit.empty()) text += fmt::format(" [{}]", rule.unit);
  if (rule.infinite) text += " or \"=inf\"";
  return text;
}

/// Infinity has no number in JSON; expanded scenes write it as these expressions.
std::optional<double> infinity_of(const Json& json) {
  if (!json.is_string()) return std::nullopt;
  const auto& text = json.get_ref<const std::string&>();
  if (text == "=inf") return std::numeric_limits<double>::infinity();
  if (text == "=-inf") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

}  // namespace

Origin origin_of(const Origins& origins, std::string_view path) {
  std::string_view head = path;
  while (!head.empty()) {
    const auto it = origins.moved.find(std::string(head));
    if (it != origins.moved.end()) {
      return {it->second.file, it->second.path + std::string(path.substr(head.size()))};
    }
    head = head.substr(0, head.rfind('/'));
  }
  return {origins.file, std::string(path)};
}

std::string where(const Origins& origins, std::string_view path) {
  const Origin origin = origin_of(origins, path);
  std::string text = origin.file;
  if (!origin.path.empty()) text += ": " + origin.path;
  for (const auto& [place, override_text] : origins.overrides) {
    if (place.file == origin.file && is_within(origin.path, place.path)) {
      return text + fmt::format(" (set by '{}')", override_text);
    }
  }
  return text;
}

Value Value::at(std::size_t index) const {
  return {&(*json)[index], fmt::format("{}/{}", path, index), origins};
}

Value Value::at(std::string_view key) const {
  return {&json->at(std::string(key)), fmt::format("{}/{}", path, key), origins};
}

void fail(const Value& v, std::string_view found, std::string_view expected) {
  throw InputError(where(*v.origins, v.path), found, expected);
}

void fail(const Value& v, std::string_view expected) {
  fail(v, describe(*v.json), expected);
}

void refuse(const Value& v, std::string_view message) {
  throw InputError(fmt::format("{}: {}", where(*v.origins, v.path), message));
}

std::string describe(const Json& json) {
  constexpr std::size_t longest = 60;
  // Long containers are not worth their text, and deep ones not the time to write it.
  if (json.is_object()) return json.empty() ? "{}" : "an object";
  if (json.is_array() && json.size() > 12) return fmt::format("an array of {}", json.size());
  std::string text = json.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() <= longest) return text;
  std::size_t cut = longest;
  while (cut > 0 && (static_cast<unsigned char>(text[cut]) & 0xC0U) == 0x80U) --cut;
  return text.substr(0, cut) + "…";
}

bool Object::has(std::string_view key) const {
  assert(contains(table->keys, key));
  return value.json->contains(std::string(key));
}

Value Object::at(std::string_view key) const {
  if (!has(key)) {
    refuse(value, fmt::format("the key '{}' is missing in {}", key, table->noun));
  }
  return value.at(key);
}

std::optional<Value> Object::find(std::string_view key) const {
  if (!has(key)) return std::nullopt;
  return value.at(key);
}

Object to_object(const Value& v, const KeyTable& table) {
  if (!v.json->is_object()) fail(v, fmt::format("an object, {}", table.noun));
  for (const auto& [key, unused] : v.json->items()) {
    if (contains(table.keys, key)) continue;
    const std::string near = suggestion(key, table.keys);
    // The override that set the key is found by the key's own place.
    const Value place{v.json, fmt::format("{}/{}", v.path, key), v.origins};
    const std::string list =
        near.empty() ? fmt::format(" (its keys: {})", fmt::join(table.keys, ", ")) : near;
    refuse(place, fmt::format("unknown key '{}' in {}{}", key, table.noun, list));
  }
  return {v, &table};
}

double to_number(const Value& v, const NumberRule& rule) {
  double x = 0;
  if (const auto infinite = infinity_of(*v.json)) {
    x = *infinite;
    if (!rule.infinite) fail(v, expectation(rule));
  } else if (v.json->is_number()) {
    x = v.json->get<double>();
  } else {
    fail(v, expectation(rule));
  }
  const bool inside = x >= rule.low && x <= rule.high && !(rule.above && x <= rule.low);
  if (!inside) fail(v, expectation(rule));
  return x;
}

double number_or(const Object& o, std::string_view key, double fallback, const NumberRule& rule) {
  const auto v = o.find(key);
  return v ? to_number(*v, rule) : fallback;
}

std::int64_t to_integer(const Value& v, std::int64_t low, std::int64_t high) {
  const std::string expected = fmt::format("a whole number from {} to {}", low, high);
  if (!v.json->is_number()) fail(v, expected);
  const double x = v.json->get<double>();
  if (x != std::floor(x) || x < static_cast<double>(low) || x > static_cast<double>(high)) {
    fail(v, expected);
  }
  return static_cast<std::int64_t>(x);
}

bool to_bool(const Value& v) {
  if (!v.json->is_boolean()) fail(v, "true or false");
  return v.json->get<bool>();
}

bool bool_or(const Object& o, std::string_view key, bool fallback) {
  const auto v = o.find(key);
  return v ? to_bool(*v) : fallback;
}

std::string to_text(const Value& v, std::size_t longest) {
  if (!v.json->is_string()) fail(v, "a string");
  std::string text = v.json->get<std::string>();
  if (text.size() > longest)
    fail(v, fmt::format("a text of {} bytes", text.size()), fmt::format("at most {}", longest));
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) < 0x20U && c != '\n' && c != '\t') || c == 0x7F) {
      fail(v, fmt::format("a text with the character of number {}", static_cast<int>(c)),
           "one without control characters");
    }
  }
  return text;
}

std::string to_name(const Value& v) {
  constexpr std::size_t longest = 255;
  constexpr std::string_view expected =
      "a name: some characters, without '/' and control characters";
  if (!v.json->is_string()) fail(v, expected);
  std::string name = v.json->get<std::string>();
  if (name.size() > longest)
    fail(v, fmt::format("a name of {} bytes", name.size()), fmt::format("at most {}", longest));
  bool good = !name.empty() && name.find('/') == std::string::npos;
  for (const char c : name) good = good && static_cast<unsigned char>(c) >= 0x20U && c != 0x7F;
  if (!good) fail(v, expected);
  return name;
}

int to_word(const Value& v, const WordTable& table) {
  if (v.json->is_string()) {
    const auto& word = v.json->get_ref<const std::string&>();
    for (std::size_t i = 0; i < table.words.size(); ++i) {
      if (table.words[i] == word) return static_cast<int>(i);
    }
    const std::string near = suggestion(word, table.words);
    if (!near.empty()) refuse(v, fmt::format("'{}' is not {}{}", word, table.noun, near));
  }
  fail(v, fmt::format("{}: {}", table.noun, fmt::join(table.words, ", ")));
}

std::vector<Value> to_items(const Value& v, std::string_view expected, int count) {
  const bool good =
      v.json->is_array() && (count < 0 || v.json->size() == static_cast<std::size_t>(count));
  if (!good) fail(v, expected);
  std::vector<Value> items;
  items.reserve(v.json->size());
  for (std::size_t i = 0; i < v.json->size(); ++i) items.push_back(v.at(i));
  return items;
}

std::vector<double> to_numbers(const Value& v, int count, const NumberRule& rule) {
  const std::string expected =
      count < 0 ? "an array of numbers" : fmt::format("an array of {} numbers", count);
  std::vector<double> numbers;
  for (const Value& item : to_items(v, expected, count)) numbers.push_back(to_number(item, rule));
  return numbers;
}

Vec3 to_vec3(const Value& v, std::string_view unit) {
  const std::vector<double> x = to_numbers(v, 3, any(unit));
  return {x[0], x[1], x[2]};
}

Vec3 vec3_or(const Object& o, std::string_view key, const Vec3& fallback, std::string_view unit) {
  const auto v = o.find(key);
  return v ? to_vec3(*v, unit) : fallback;
}

Vec3 to_direction(const Value& v) {
  const Vec3 d = to_vec3(v);
  const double length = d.stableNorm();
  if (!(length > 0) || !std::isfinite(length)) fail(v, "a direction, not the zero vector");
  return (d / d.cwiseAbs().maxCoeff()).normalized();
}

Vec4 to_rotation(const Value& v) {
  if (v.json->is_array()) {
    const std::vector<double> p = to_numbers(v, 4);
    const Vec4 quaternion(p[0], p[1], p[2], p[3]);
    if (!(quaternion.cwiseAbs().maxCoeff() > 0)) fail(v, "a quaternion that is not zero");
    return normalize(quaternion);
  }
  if (!v.json->is_object()) {
    fail(v, R"(a quaternion [w, x, y, z] or {"axis": [x, y, z], "angle" or "degrees": number})");
  }
  const Object o = to_object(v, keys::axis_angle);
  const Vec3 axis = to_direction(o.at("axis"));
  if (o.has("angle") == o.has("degrees")) {
    refuse(v, "a rotation has either 'angle' [rad] or 'degrees'");
  }
  const double angle = o.has("angle") ? to_number(o.at("angle"), any("rad"))
                                      : to_number(o.at("degrees"), any("°")) * (M_PI / 180);
  return quaternion_exp(axis * angle);
}

Pose to_pose(const Object& o) {
  Pose pose;
  pose.position = vec3_or(o, "position", Vec3::Zero(), "m");
  if (const auto rotation = o.find("rotation")) pose.rotation = to_rotation(*rotation);
  return pose;
}

Mat3 axes_with_z(const Vec3& z) {
  const Mat3 frame = contact_frame(z);
  Mat3 axes;
  axes << frame.col(1), frame.col(2), frame.col(0);
  return axes;
}

}  // namespace urto::scene
