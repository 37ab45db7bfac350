// scene.schema.json tells the truth: its keys and words are those of the loader, its defaults those
// of the C++ structures, and the scenes we ship satisfy it.
#include <set>

#include <nlohmann/json.hpp>

#include "scene_samples.h"
#include "urto/scene/scene_keys.h"
#include "urto/stepper/option_table.h"

namespace urto {
namespace {

using namespace samples;
using nlohmann::json;

const json& schema() {
  static const json parsed_schema =
      json::parse(text_of(source_directory() / "src/urto/scene/scene.schema.json"));
  return parsed_schema;
}

const json& definition(const std::string& name) {
  return name == "scene" ? schema() : schema().at("$defs").at(name);
}

bool validates(const json& value, const json& rule);

bool has_type(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  return type == "number" && value.is_number();
}

bool object_validates(const json& value, const json& rule) {
  for (const json& key : rule.value("required", json::array())) {
    if (!value.contains(key.get<std::string>())) return false;
  }
  if (value.size() < rule.value("minProperties", 0U)) return false;
  if (value.size() > rule.value("maxProperties", 1000000U)) return false;
  const json properties = rule.value("properties", json::object());
  for (const auto& [key, entry] : value.items()) {
    if (properties.contains(key)) {
      if (!validates(entry, properties.at(key))) return false;
    } else if (rule.contains("additionalProperties")) {
      if (!validates(entry, rule.at("additionalProperties"))) return false;
    }
  }
  return true;
}

bool array_validates(const json& value, const json& rule) {
  if (value.size() < rule.value("minItems", 0U)) return false;
  if (value.size() > rule.value("maxItems", 1000000U)) return false;
  for (const json& item : value) {
    if (rule.contains("items") && !validates(item, rule.at("items"))) return false;
  }
  return true;
}

bool number_validates(double x, const json& rule) {
  return x >= rule.value("minimum", -1e300) && x <= rule.value("maximum", 1e300) &&
         (!rule.contains("exclusiveMinimum") || x > rule.at("exclusiveMinimum").get<double>()) &&
         (!rule.contains("exclusiveMaximum") || x < rule.at("exclusiveMaximum").get<double>());
}

int count_valid(const json& value, const json& rules) {
  int count = 0;
  for (const json& rule : rules) count += validates(value, rule) ? 1 : 0;
  return count;
}

/// The part of JSON Schema 2020-12 that our schema uses; of patterns only that of expressions.
bool validates(const json& value, const json& rule) {
  if (rule.is_boolean()) return rule.get<bool>();
  if (rule.contains("$ref")) {
    const std::string path = rule.at("$ref").get<std::string>().substr(1);
    if (!validates(value, schema().at(json::json_pointer(path)))) return false;
  }
  if (rule.contains("type") && !has_type(value, rule.at("type"))) return false;
  if (rule.contains("const") && value != rule.at("const")) return false;
  if (rule.contains("enum")) {
    const json& words = rule.at("enum");
    if (std::find(words.begin(), words.end(), value) == words.end()) return false;
  }
  if (rule.contains("anyOf") && count_valid(value, rule.at("anyOf")) == 0) return false;
  if (rule.contains("oneOf") && count_valid(value, rule.at("oneOf")) != 1) return false;
  if (rule.contains("allOf") &&
      count_valid(value, rule.at("allOf")) != static_cast<int>(rule.at("allOf").size())) {
    return false;
  }
  if (rule.contains("if")) {
    const char* branch = validates(value, rule.at("if")) ? "then" : "else";
    if (!validates(value, rule.at(branch))) return false;
  }
  if (rule.value("pattern", "") == "^=" && !value.get<std::string>().starts_with('=')) return false;
  if (value.is_object()) return object_validates(value, rule);
  if (value.is_array()) return array_validates(value, rule);
  return !value.is_number() || number_validates(value.get<double>(), rule);
}

TEST(SceneSchema, KnowsTheKeysOfTheLoader) {
  std::set<std::string> tables;
  for (const scene::KeyTable* table : scene::all_key_tables()) {
    SCOPED_TRACE(table->name);
    tables.insert(std::string(table->name));
    const json& entry = definition(std::string(table->name));
    EXPECT_EQ(entry.at("additionalProperties"), false);
    EXPECT_TRUE(entry.contains("description"));
    std::set<std::string> keys(table->keys.begin(), table->keys.end()), known;
    for (const auto& [key, rule] : entry.at("properties").items()) {
      known.insert(key);
      EXPECT_TRUE(rule.contains("description") || rule.contains("$ref")) << key;
    }
    EXPECT_EQ(known, keys);
    EXPECT_EQ(keys.size(), table->keys.size()) << "a key stands twice";
  }
  for (const auto& [name, rule] : schema().at("$defs").items()) {
    EXPECT_TRUE(!rule.contains("properties") || tables.contains(name)) << name;
  }
}

TEST(SceneSchema, KnowsTheWordsOfTheLoader) {
  std::set<std::string> tables;
  for (const scene::WordTable* table : scene::all_word_tables()) {
    tables.insert(std::string(table->name));
    const json& entry = definition(std::string(table->name));
    const std::vector<std::string> words(table->words.begin(), table->words.end());
    EXPECT_EQ(entry.at("enum").get<std::vector<std::string>>(), words) << table->name;
  }
  for (const auto& [name, rule] : schema().at("$defs").items()) {
    EXPECT_TRUE(!rule.contains("enum") || tables.contains(name)) << name;
  }
}

TEST(SceneSchema, WordsAreThoseOfTheEnumerations) {
  const auto& joints = scene::words::joint_kind.words;
  for (std::size_t i = 0; i < joints.size(); ++i) {
    EXPECT_EQ(joints[i], to_string(static_cast<JointKind>(i)));
  }
  const auto& shapes = scene::words::shape_kind.words;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    EXPECT_EQ(shapes[i], to_string(static_cast<ShapeKind>(i)));
  }
}

/// The defaults of an entry as a scene would write them.
json defaults_of(const std::string& name) {
  json object = json::object();
  for (const auto& [key, rule] : definition(name).at("properties").items()) {
    if (rule.contains("default")) object[key] = rule.at("default");
  }
  return object;
}

TEST(SceneSchema, DefaultsOfTheSimulationAreThoseOfTheOptions) {
  const json defaults = defaults_of("simulation");
  EXPECT_EQ(defaults.size(), scene::keys::simulation.keys.size());
  const SimulationOptions a = parsed(scene_text("\"simulation\": " + defaults.dump())).options;
  for (const OptionInfo& option : simulation_options()) {
    EXPECT_EQ(option.get(a), default_of(option)) << option.key;
  }
}

TEST(SceneSchema, DefaultsOfPartsAreThoseOfTheLoader) {
  const auto model = [](const std::string& sections) {
    return fingerprint(parsed(sections).model);
  };
  const std::string material = R"("materials": {"m": )";
  EXPECT_EQ(model(scene_text(material + defaults_of("material").dump() + "}")),
            model(scene_text(material + "{}}")));
  EXPECT_EQ(model(scene_text("\"mixing\": " + defaults_of("mixing").dump())),
            model(scene_text("")));
  EXPECT_EQ(defaults_of("mixing").size(), scene::keys::mixing.keys.size());
  EXPECT_EQ(defaults_of("material").size(), scene::keys::material.keys.size());
  const auto motion = [](const char* kind, const json& settings) {
    return with_body(fmt::format(R"("kind": "kinematic", "motion": {{"angle": {{"{}": {}}}}})",
                                 kind, settings.dump()));
  };
  for (const char* kind : {"harmonic", "step"}) {
    EXPECT_EQ(model(motion(kind, defaults_of(kind))), model(motion(kind, json::object())));
  }
  // A body and its shape with every default written out.
  json body = defaults_of("body"), sphere = defaults_of("sphere");
  sphere["kind"] = "sphere";
  body["mass"] = sphere["radius"] = 1;
  body["shapes"] = json::array({sphere});
  EXPECT_EQ(model(scene_text("\"bodies\": [" + body.dump() + "]")),
            model(with_body(R"("mass": 1, "shapes": [{"kind": "sphere", "radius": 1}])")));
  json whole = defaults_of("scene");
  whole["urto"] = 1;
  EXPECT_EQ(model(whole.dump()), model(scene_text("")));
}

TEST(SceneSchema, ShippedScenesSatisfyItAsWrittenAndExpanded) {
  for (const fs::path& file : shipped_scenes()) {
    const json written = json::parse(text_of(file), nullptr, true, true);
    EXPECT_TRUE(validates(written, schema())) << file;
    // The schema that an editor finds beside it, by the relative path.
    EXPECT_TRUE(fs::exists(file.parent_path() / written.value("$schema", "none"))) << file;
    const json expanded = json::parse(load_scene(file).normalized_json);
    EXPECT_TRUE(validates(expanded, schema())) << file;
  }
}

TEST(SceneSchema, TheExamplesOfTheBookAreScenes) {
  const std::string page = text_of(source_directory() / "docs/scenes.md");
  int count = 0;
  for (std::size_t at = page.find("```json\n"); at != std::string::npos;
       at = page.find("```json\n", at + 8)) {
    const std::string text = page.substr(at + 8, page.find("```", at + 8) - at - 8);
    EXPECT_EQ(message_of(text), "");
    EXPECT_TRUE(validates(json::parse(text, nullptr, true, true), schema())) << text;
    ++count;
  }
  EXPECT_EQ(count, 2);
}

TEST(SceneSchema, RefusesWhatTheLoaderRefuses) {
  for (const std::string& text :
       {std::string("{}"), scene_text(R"("bodeis": [])"), scene_text(R"("units": "cgs")"),
        with_body(R"("mass": -1)"), with_body(R"("kind": "fixd")"),
        with_body(R"("kind": "fixed", "shapes": [{"kind": "sphere", "length": 1}])"),
        scene_text(R"("bodies": [{"generate": "gird"}])"),
        scene_text(R"("simulation": {"step": 0})")}) {
    EXPECT_NE(message_of(text), "") << text;
    EXPECT_FALSE(validates(json::parse(text), schema())) << text;
  }
}

}  // namespace
}  // namespace urto
