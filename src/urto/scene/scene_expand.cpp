// Expressions into numbers, generators into bodies and joints.
#include <cmath>
#include <unordered_map>
#include <unordered_set>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/scene/scene_document.h"

namespace urto::scene {
namespace {

bool is_expression(const Json& json) {
  return json.is_string() && json.get_ref<const std::string&>().starts_with('=');
}

[[noreturn]] void fail_expression(const Value& v, const ExpressionError& error) {
  refuse(v, fmt::format("cannot evaluate {}: {}", describe(*v.json), error.what()));
}

double evaluate_at(const Value& v, const Lookup& lookup) {
  try {
    return evaluate_expression(std::string_view(v.json->get_ref<const std::string&>()).substr(1),
                               lookup);
  } catch (const ExpressionError& error) {
    fail_expression(v, error);
  }
}

[[noreturn]] void fail_name(std::string_view name, const Variables& variables) {
  std::vector<std::string_view> known;
  for (const auto& [key, unused] : variables) known.push_back(key);
  throw ExpressionError(fmt::format("there is no parameter '{}'{}", name, suggestion(name, known)));
}

/// Evaluates parameters, which may use each other in any order: those that one uses first. However
/// many are chained, none calls another.
class ParameterTable {
 public:
  explicit ParameterTable(const Value& section) : section_(section) {
    for (const auto& [name, json] : section.json->items()) entries_[name] = &json;
  }

  void evaluate(const std::string& name) {
    std::vector<Visit> open;
    visit(name, open);
    while (!open.empty()) {
      Visit& last = open.back();
      if (last.next < last.uses.size()) {
        visit(last.uses[last.next++], open);
        continue;
      }
      values_[last.name] = value_of(last.name);
      open.pop_back();
    }
  }
  const Variables& values() const { return values_; }

 private:
  struct Visit {
    std::string name;
    std::vector<std::string> uses = {};  ///< other parameters
    std::size_t next = 0;
  };

  // One that was begun before and is not done yet uses itself: `value_of` says so.
  void visit(const std::string& name, std::vector<Visit>& open) {
    if (!begun_.insert(name).second) return;
    Visit visit{name};
    const Json& json = *entries_.at(name);
    if (is_expression(json)) {
      for (const std::string_view word : identifiers_in(json.get_ref<const std::string&>())) {
        if (entries_.contains(std::string(word))) visit.uses.emplace_back(word);
      }
    }
    open.push_back(std::move(visit));
  }

  double value_of(const std::string& name) const {
    const Value v{entries_.at(name), fmt::format("{}/{}", section_.path, name), section_.origins};
    if (!is_expression(*v.json)) return to_number(v);
    return evaluate_at(v, [&](std::string_view used) {
      if (const auto it = values_.find(used); it != values_.end()) return it->second;
      if (entries_.contains(std::string(used)))
        throw ExpressionError(fmt::format("'{}' depends on itself", used));
      Variables known;
      for (const auto& [other, unused] : entries_) known[other] = 0;
      fail_name(used, known);
    });
  }

  Value section_;
  std::unordered_map<std::string, const Json*> entries_ = {};
  std::unordered_set<std::string> begun_ = {};
  Variables values_ = {};
};

/// Infinity has no number in JSON.
Json number_json(double x) {
  if (std::isinf(x)) return x > 0 ? "=inf" : "=-inf";
  return x;
}

/// Puts the bodies, joints and forces of a generator into the expanded scene.
void append_generated(const Value& generator, const Variables& parameters, Document& out) {
  const auto placed = static_cast<std::int64_t>(out.root["bodies"].size());
  Generated made = generate(generator, parameters, most_bodies - placed);
  const auto append = [&](Json& items, const char* section) {
    Json& target = out.root[section];
    if (target.is_null()) target = Json::array();
    for (Json& item : items) {
      Origin origin = origin_of(*generator.origins, generator.path);
      origin.path += fmt::format(" ('{}')", item["name"].get_ref<const std::string&>());
      out.origins.moved[fmt::format("/{}/{}", section, target.size())] = std::move(origin);
      target.push_back(std::move(item));
    }
  };
  append(made.bodies, "bodies");
  append(made.joints, "joints");
  append(made.forces, "forces");
}

bool is_generator(const Json& json) {
  return json.is_object() && json.contains("generate");
}

void expand_bodies(const Value& bodies, const Variables& parameters, Document& out) {
  out.root["bodies"] = Json::array();
  for (std::size_t i = 0; i < bodies.json->size(); ++i) {
    const Value item = bodies.at(i);
    if (is_generator(*item.json)) {
      append_generated(item, parameters, out);
      continue;
    }
    Json& target = out.root["bodies"];
    if (static_cast<std::int64_t>(target.size()) >= most_bodies)
      refuse(item, fmt::format("more than {} bodies in all", most_bodies));
    out.origins.moved[fmt::format("/bodies/{}", target.size())] =
        origin_of(*item.origins, item.path);
    target.push_back(evaluated(item, parameters));
  }
}

}  // namespace

Variables evaluate_parameters(const Document& document) {
  if (!document.root.contains("parameters")) return {};
  const Value section = document.value().at("parameters");
  if (!section.json->is_object()) fail(section, "an object of numbers");
  ParameterTable table(section);
  for (const auto& [name, json] : section.json->items()) {
    const Value v{&json, fmt::format("{}/{}", section.path, name), section.origins};
    if (!is_identifier(name)) {
      refuse(v, fmt::format("'{}' cannot be used in expressions, expected letters, digits and _",
                            name));
    }
    if (is_reserved_name(name)) refuse(v, fmt::format("'{}' is a name of its own", name));
    table.evaluate(name);
  }
  return table.values();
}

namespace {

/// `texts`: the strings are names and other texts, whatever they begin with.
Json evaluated(const Value& value, const Variables& variables, bool texts) {
  const Json& json = *value.json;
  if (!texts && is_expression(json)) {
    return number_json(evaluate_at(value, [&](std::string_view name) {
      const auto it = variables.find(name);
      if (it == variables.end()) fail_name(name, variables);
      return it->second;
    }));
  }
  if (json.is_array()) {
    Json result = Json::array();
    for (std::size_t i = 0; i < json.size(); ++i) {
      // Plain numbers, of which meshes have many, need no place.
      result.push_back(json[i].is_number() ? json[i] : evaluated(value.at(i), variables, texts));
    }
    return result;
  }
  if (json.is_object()) {
    Json result = Json::object();
    for (const auto& [key, item] : json.items()) {
      result[key] = evaluated({&item, fmt::format("{}/{}", value.path, key), value.origins},
                              variables, is_text_key(key));
    }
    return result;
  }
  return json;
}

}  // namespace

Json evaluated(const Value& value, const Variables& variables) {
  return evaluated(value, variables, false);
}

Document expand(const Document& document, const Variables& parameters) {
  Document out;
  out.origins = document.origins;
  // Moved items keep their places except in "bodies", whose numbers change, and in "joints", which
  // get more at the end: the user's own joints therefore go first.
  std::erase_if(out.origins.moved,
                [](const auto& entry) { return entry.first.starts_with("/bodies/"); });
  for (const auto& [key, json] : document.root.items()) {
    const Value v = document.value().at(key);
    if (key == "$schema") continue;  // a path that holds only where the file stands
    if (key == "parameters") {
      Json numbers = Json::object();
      for (const auto& [name, unused] : json.items())
        numbers.push_back({name, number_json(parameters.find(name)->second)});
      out.root[key] = std::move(numbers);
    } else if (key != "bodies") {
      out.root[key] = evaluated(v, parameters, is_text_key(key));
    } else {
      out.root[key] = Json::array();  // holds its place in the order
    }
  }
  if (document.root.contains("bodies")) {
    const Value bodies = document.value().at("bodies");
    if (!bodies.json->is_array()) fail(bodies, "an array");
    if (out.root.contains("joints") && !out.root["joints"].is_array()) {
      fail(document.value().at("joints"), "an array");
    }
    expand_bodies(bodies, parameters, out);
  }
  return out;
}

}  // namespace urto::scene
