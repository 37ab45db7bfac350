// Overrides: "gravity=0", "simulation.step=1e-4", "bodies.arm.mass=2", "joints.0.motor.value=3",
// "N=20". They act on the scene as written, before expressions and generators are expanded, so that
// changing a parameter changes all that depends on it.
#include <charconv>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/scene/scene_document.h"

namespace urto::scene {
namespace {

struct Step {
  Json* json;
  std::string path;
};

struct Setting {
  const std::string& text;  ///< the whole override, for messages
  std::string_view path;
  Json value;
};

[[noreturn]] void fail_path(const Setting& s, std::string_view at, std::string_view missing,
                            std::span<const std::string_view> known) {
  const std::string near = suggestion(missing, known);
  std::string list;
  if (near.empty() && !known.empty() && known.size() <= 30) {
    list = fmt::format(" (there are: {})", fmt::join(known, ", "));
  }
  throw InputError(fmt::format("override '{}': there is no '{}' in {}{}", s.text, missing,
                               at.empty() ? "the scene" : at, near.empty() ? list : near));
}

std::vector<std::string_view> names_in(const Json& json) {
  std::vector<std::string_view> names;
  if (json.is_object()) {
    for (const auto& [key, unused] : json.items()) names.push_back(key);
  } else if (json.is_array()) {
    for (const Json& item : json) {
      if (!item.is_object()) continue;
      const auto name = item.find("name");
      if (name != item.end() && name->is_string()) {
        names.push_back(name->get_ref<const std::string&>());
      }
    }
  }
  return names;
}

Json* find_item(Json& array, std::string_view word, std::size_t& index) {
  index = 0;
  for (Json& item : array) {
    const auto name = item.is_object() ? item.find("name") : item.end();
    if (item.is_object() && name != item.end() && *name == std::string(word)) return &item;
    ++index;
  }
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), index);
  const bool number = error == std::errc{} && end == word.data() + word.size();
  return number && index < array.size() ? &array[index] : nullptr;
}

/// One level down. Names may contain dots, so the longest one that exists is taken; `rest` is what
/// is left of the path.
std::optional<Step> descend(const Step& from, std::string_view& rest) {
  for (std::size_t end = rest.size(); end != std::string_view::npos && end > 0;
       end = rest.rfind('.', end - 1)) {
    const std::string word(rest.substr(0, end));
    Json* next = nullptr;
    std::size_t index = 0;
    std::string place = word;
    if (from.json->is_object() && from.json->contains(word)) {
      next = &(*from.json)[word];
    } else if (from.json->is_array()) {
      next = find_item(*from.json, word, index);
      place = std::to_string(index);
    }
    if (next != nullptr) {
      rest = end == rest.size() ? std::string_view{} : rest.substr(end + 1);
      return Step{next, from.path + "/" + place};
    }
  }
  return std::nullopt;
}

std::string_view first_word(std::string_view path) {
  return path.substr(0, path.find('.'));
}

/// New keys may be set where the reader will check them; names of parameters and materials are the
/// scene's own, and one that is not there is a slip.
bool accepts_new_keys(const Step& step) {
  return step.json->is_object() && step.path != "/parameters" && step.path != "/materials";
}

Step start_of(Document& document, const Setting& s, std::string_view& rest) {
  Json& root = document.root;
  const std::string word(first_word(rest));
  if (contains(keys::scene.keys, word)) {
    if (word == "include" || word == "urto") {
      throw InputError(fmt::format("override '{}': '{}' cannot be overridden", s.text, word));
    }
    if (word == "simulation" && !root.contains(word)) root[word] = Json::object();
    return {&root, ""};
  }
  const auto parameters = root.find("parameters");
  const bool parameter = parameters != root.end() && parameters->contains(std::string(rest));
  if (parameter) return {&*parameters, "/parameters"};
  std::vector<std::string_view> known(keys::scene.keys.begin(), keys::scene.keys.end());
  std::vector<std::string_view> own;
  if (parameters != root.end()) own = names_in(*parameters);
  known.insert(known.end(), own.begin(), own.end());
  fail_path(s, "", word, known);
}

}  // namespace

void apply_override(Document& document, const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0) {
    throw InputError(fmt::format("override '{}'", text), "no path=value",
                     "for example simulation.step=1e-4");
  }
  const std::string value = text.substr(equals + 1);
  const std::string_view path = std::string_view(text).substr(0, equals);
  Setting s{text, path, Json(value)};
  if (Json::accept(value)) s.value = parse_json(value, fmt::format("override '{}'", text));

  std::string_view rest = s.path;
  Step step = start_of(document, s, rest);
  while (!rest.empty()) {
    const auto next = descend(step, rest);
    if (next) {
      step = *next;
      continue;
    }
    const bool last = rest.find('.') == std::string_view::npos;
    if (!last || !accepts_new_keys(step)) {
      fail_path(s, step.path, first_word(rest), names_in(*step.json));
    }
    if (step.path == "/simulation" && !contains(keys::simulation.keys, rest)) {
      fail_path(s, step.path, rest, keys::simulation.keys);
    }
    step = {&(*step.json)[std::string(rest)], fmt::format("{}/{}", step.path, rest)};
    rest = {};
  }
  *step.json = s.value;
  document.origins.overrides.emplace_back(origin_of(document.origins, step.path), text);
}

}  // namespace urto::scene
