// Expressions into numbers, generators into bodies and joints.
#include <cmath>

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

/// Evaluates parameters on demand, because they may use each other in any order.
struct ParameterTable {
  Value section;
  Variables values = {};
  std::vector<std::string> open = {};

  double get(const std::string& name) {
    if (const auto it = values.find(name); it != values.end()) return it->second;
    const Value v = section.at(name);
    for (const std::string& other : open) {
      if (other == name) throw ExpressionError(fmt::format("'{}' depends on itself", name));
    }
    open.push_back(name);
    const double x =
        is_expression(*v.json) ? evaluate_at(v, [&](auto n) { return find(n); }) : to_number(v);
    open.pop_back();
    return values[name] = x;
  }

  double find(std::string_view name) {
    const std::string key(name);
    if (section.json->contains(key)) return get(key);
    Variables known;
    for (const auto& [other, unused] : section.json->items()) known[other] = 0;
    fail_name(name, known);
  }
};

/// Infinity has no number in JSON.
Json number_json(double x) {
  if (std::isinf(x)) return x > 0 ? "=inf" : "=-inf";
  return x;
}

/// Puts the bodies, joints and forces of a generator into the expanded scene.
void append_generated(const Value& generator, const Variables& parameters, Document& out) {
  Generated made = generate(generator, parameters);
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
    out.origins.moved[fmt::format("/bodies/{}", target.size())] =
        origin_of(*item.origins, item.path);
    target.push_back(evaluated(item, parameters));
  }
}

}  // namespace

Variables evaluate_parameters(const Document& document) {
  if (!document.root.contains("parameters")) return {};
  ParameterTable table{document.value().at("parameters")};
  if (!table.section.json->is_object()) fail(table.section, "an object of numbers");
  for (const auto& [name, unused] : table.section.json->items()) {
    const Value v = table.section.at(name);
    if (!is_identifier(name)) {
      refuse(v, fmt::format("'{}' cannot be used in expressions, expected letters, digits and _",
                            name));
    }
    if (is_reserved_name(name)) refuse(v, fmt::format("'{}' is a name of its own", name));
    try {
      table.get(name);
    } catch (const ExpressionError& error) {
      fail_expression(v, error);
    }
  }
  return table.values;
}

Json evaluated(const Value& value, const Variables& variables) {
  const Json& json = *value.json;
  if (is_expression(json)) {
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
      result.push_back(json[i].is_number() ? json[i] : evaluated(value.at(i), variables));
    }
    return result;
  }
  if (json.is_object()) {
    Json result = Json::object();
    for (const auto& [key, unused] : json.items()) {
      result[key] = evaluated(value.at(key), variables);
    }
    return result;
  }
  return json;
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
    if (key == "title" || key == "description") {
      out.root[key] = json;
    } else if (key == "parameters") {
      for (const auto& [name, unused] : json.items()) {
        out.root[key][name] = number_json(parameters.find(name)->second);
      }
    } else if (key != "bodies") {
      out.root[key] = evaluated(v, parameters);
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
