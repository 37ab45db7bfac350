// What a scene may ask for: every kind of growth has a limit and a message, nothing of a file that
// is no scene is shown, and names are names whatever they begin with.
#include <algorithm>
#include <cmath>
#include <functional>
#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "scene_samples.h"
#include "urto/memory_limit.h"
#include "urto/scene/scene_keys.h"
#include "urto/stepper/simulation.h"

namespace urto {
namespace {

using namespace samples;
using nlohmann::json;

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

// Eight thousand of them were a stack overflow.
TEST(SceneLimits, ParametersMayBeChainedHoweverLong) {
  const int n = 20'000;
  json parameters;
  for (int k = 0; k < n; ++k)
    parameters["p" + std::to_string(k)] = "=p" + std::to_string(k + 1) + "+1";
  parameters["p" + std::to_string(n)] = 1;
  const Scene scene = parsed(json({{"urto", 1}, {"parameters", parameters}}).dump());
  EXPECT_EQ(scene.parameters.at("p0"), n + 1);
  parameters["p" + std::to_string(n)] = "=p0";
  EXPECT_TRUE(says(message_of(json({{"urto", 1}, {"parameters", parameters}}).dump()),
                   "depends on itself"));
}

TEST(SceneLimits, ParametersThatUseEachOtherTwiceAreEvaluatedOnce) {
  json parameters;
  for (int k = 0; k < 60; ++k) {
    const std::string next = "p" + std::to_string(k + 1);
    parameters["p" + std::to_string(k)] = "=" + next + "+" + next;
  }
  parameters["p60"] = 1;
  EXPECT_EQ(parsed(json({{"urto", 1}, {"parameters", parameters}}).dump()).parameters.at("p0"),
            std::ldexp(1, 60));
}

std::string grid(int count, const std::string& name) {
  return fmt::format(
      R"({{"generate": "grid", "count": [{}, 1, 1], "spacing": [1, 1, 1], "name": "{}-{{i}}",
          "body": {{"mass": 1, "inertia": [1, 1, 1]}}}})",
      count, name);
}

// The limit was one of each generator.
TEST(SceneLimits, BodiesAreCountedInAll) {
  const std::string said = message_of(scene_text(fmt::format(
      R"("bodies": [{{"name": "x", "kind": "fixed"}}, {}, {{"generate": "chain", "count": 999999,
      "from": [0, 0, 0], "direction": [1, 0, 0], "link_length": 1, "radius": 0.1, "density": 1,
      "joint": "spherical"}}])",
      grid(2, "a"))));
  EXPECT_TRUE(says(said,
                   "/bodies/2/count: found 999999, expected at most 1000000 bodies in all, of "
                   "which 3 are there already"))
      << said;
  EXPECT_TRUE(says(message_of(scene_text(R"("bodies": [)" + grid(1'000'001, "a") + "]")),
                   "/bodies/0/count/0"));
}

TEST(SceneLimits, NamesAndTextsHaveALength) {
  const std::string letters(256, 'x');
  EXPECT_TRUE(says(message_of(with_body(R"("name": ")" + letters + R"(", "kind": "fixed")")),
                   "/bodies/0/name: found a name of 256 bytes, expected at most 255"));
  EXPECT_EQ(message_of(with_body(R"("name": ")" + letters.substr(1) + R"(", "kind": "fixed")")),
            "");
  EXPECT_TRUE(says(message_of(scene_text(R"("title": ")" + std::string(5000, 'x') + '"')),
                   "/title: found a text of 5000 bytes, expected at most 4096"));
  for (const char* odd :
       {R"("title": "a\u0000b")", R"("title": "\u001b[2J")", R"("include": ["part.json\u0000x"])",
        R"("watch": ["a\u0000.x"])", R"("description": "\u007f")"})
    EXPECT_TRUE(says(message_of(scene_text(odd)), "without control characters")) << odd;
  EXPECT_EQ(message_of(scene_text(R"("description": "two\nlines\tand a tab")")), "");
}

TEST(SceneLimits, AStepIsNoSmallerThanTimeCanCount) {
  const std::string text = with_ball(R"("simulation": {"duration": 1e-3, "step": 1e-300})");
  EXPECT_TRUE(says(message_of(text), "at most 1e+12 steps: 1e-15 s or more"));
  EXPECT_EQ(message_of(with_ball(R"("simulation": {"duration": 1e-10, "step": 1e-12})")), "");
}

// Ten thousand in one place were fifty million contacts and 4.4 GiB.
TEST(SceneLimits, BodiesInOnePlaceAreTooManyContacts) {
  const std::string text = scene_text(
      R"("gravity": 0, "bodies": [{"generate": "grid", "count": [1500, 1, 1],
      "spacing": [1e-9, 0, 0], "body": {"density": 1, "shapes": [{"kind": "sphere", "radius": 1}]}}])");
  const Scene scene = parsed(text);
  const std::uint64_t before = memory_limit();
  const auto said = [&](std::uint64_t limit) -> std::string {
    set_memory_limit(limit);
    try {
      ContactFinder finder(scene.model);
      std::vector<Contact> contacts;
      finder.find(initial_state(scene.model), 1e-3, 1e-3, contacts);
      return std::to_string(contacts.size());
    } catch (const InputError& error) {
      return error.what();
    }
  };
  const std::string pairs = said(std::uint64_t{32} << 20), contacts = said(std::uint64_t{1} << 30),
                    all = said(std::uint64_t{6} << 30);
  set_memory_limit(before);
  EXPECT_TRUE(says(pairs, "more than 0 million pairs of shapes") || says(pairs, "contacts at once"))
      << pairs;
  EXPECT_TRUE(says(contacts, "more than 268435 contacts at once")) << contacts;
  EXPECT_TRUE(says(contacts, "do bodies stand in one place?"));
  EXPECT_EQ(all, std::to_string(1500 * 1499 / 2));
}

using SceneFileLimits = SceneFiles;

TEST_F(SceneFileLimits, FilesMayIncludeEachOther64Deep) {
  const auto chain = [&](int files) {
    for (int k = 0; k < files; ++k) {
      write("c" + std::to_string(k) + ".json",
            scene_text(k + 1 < files ? R"("include": ["c)" + std::to_string(k + 1) + R"(.json"])"
                                     : ""));
    }
    return message(directory_ / "c0.json");
  };
  EXPECT_EQ(chain(64), "");
  EXPECT_EQ(chain(65), "c63.json: /include/0: files include each other more than 64 deep");
  EXPECT_EQ(chain(3000), "c63.json: /include/0: files include each other more than 64 deep");
}

TEST_F(SceneFileLimits, OnlyRegularFilesAreRead) {
  ASSERT_EQ(mkfifo((directory_ / "pipe").c_str(), 0600), 0);
  ASSERT_EQ(mkfifo((directory_ / "pipe.obj").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", directory_ / "zero.obj");
  const auto mesh = [&](const char* file) {
    return message(write(
        "s.json", with_body(fmt::format(
                      R"("kind": "fixed", "shapes": [{{"kind": "mesh", "file": "{}"}}])", file))));
  };
  for (const char* file : {"pipe.obj", "zero.obj"}) {
    EXPECT_EQ(mesh(file), fmt::format("s.json: /bodies/0/shapes/0/file: {}: found a device or a "
                                      "pipe, expected a file",
                                      file));
  }
  for (const char* file : {"pipe", "/dev/zero", "/dev/urandom"}) {
    EXPECT_TRUE(
        says(message(write("s.json", scene_text(fmt::format(R"("include": ["{}"])", file)))),
             "found a device or a pipe"));
  }
  EXPECT_TRUE(says(message(directory_ / "pipe"), "found a device or a pipe"));
}

// Somebody else may have written the scene, and chosen the file.
TEST_F(SceneFileLimits, NothingOfAFileThatIsNoSceneIsShown) {
  const std::string secret = "hunter2:x:0:0";
  write("secret", secret + "\n");
  write("secret.json", R"({"password": "hunter2", "hunter2": [1, "hunter2"]})");
  write("list.json", R"(["hunter2"])");
  write("word.json", R"("hunter2")");
  write("secret.obj", secret + "\n");
  write("secret.stl", "solid " + secret + "\n" + secret + "\n");
  write("secret.csv", secret + "\n");
  std::vector<std::string> scenes;
  for (const char* file : {"secret", "secret.json", "list.json", "word.json"})
    scenes.push_back(scene_text(fmt::format(R"("include": ["{}"])", file)));
  for (const char* shape :
       {R"("kind": "mesh", "file": "secret.obj")", R"("kind": "hull", "file": "secret.stl")",
        R"("kind": "height-field", "file": "secret.csv", "spacing": 1)"})
    scenes.push_back(with_body(fmt::format(R"("kind": "fixed", "shapes": [{{{}}}])", shape)));
  for (const std::string& text : scenes) {
    const std::string said = message(write("s.json", text));
    EXPECT_NE(said, "") << text;
    EXPECT_FALSE(says(said, "hunter2")) << said;
    EXPECT_FALSE(says(said, "last read")) << said;
  }
  // What the user named is shown.
  EXPECT_TRUE(says(message_of("{\"urto\": nonsense}"), "last read: '"));
}

TEST(SceneNames, ThatBeginWithAnEqualsSignAreNames) {
  const std::string text = scene_text(R"(
    "title": "=a title", "parameters": {"m": 2},
    "materials": {"=steel": {"friction": "=0.1*m"}, "=ice": {}},
    "material_pairs": [{"materials": ["=steel", "=ice"], "friction": "=m"}],
    "bodies": [
      {"name": "=cmd", "mass": "=m", "inertia": [1, 1, 1],
       "layers": ["=l"], "shapes": [{"kind": "sphere", "radius": "=m", "material": "=steel"}]},
      {"generate": "chain", "name": "=c{i}", "count": 2, "from": [5, 0, 0], "direction": [1, 0, 0],
       "link_length": 1, "radius": 0.1, "density": 1, "joint": "spherical", "anchor": "=cmd",
       "material": "=ice"}],
    "markers": [{"name": "=marker", "body": "=cmd"}],
    "joints": [{"name": "=hinge", "kind": "revolute", "bodies": ["world", "=cmd"],
                "position": [0, 0, 0], "axis": [0, "=m", 0]}],
    "motors": [{"name": "=motor", "joint": "=hinge", "mode": "speed", "value": "=m"}],
    "exclude": [["=cmd", "=c1"]],
    "watch": ["=hinge.angle", "=cmd.x"])");
  const Scene scene = parsed(text);
  EXPECT_EQ(scene.title, "=a title");
  EXPECT_EQ(scene.model.bodies[1].name, "=cmd");
  EXPECT_EQ(scene.model.bodies[1].mass, 2);
  EXPECT_EQ(scene.model.bodies[3].name, "=c1");
  EXPECT_EQ(scene.model.joints[0].name, "=hinge");
  EXPECT_EQ(scene.watch[0], "=hinge.angle");
  EXPECT_EQ(scene.model.material_pairs[0].properties.friction, 2);
  const Scene again = parsed(scene.normalized_json);
  EXPECT_EQ(fingerprint(again.model), fingerprint(scene.model));
}

/// Whether an entry of the schema, or what it lists, refers to one of $defs.
bool refers(const json& entry, const std::string& definition) {
  if (entry.is_object()) {
    if (entry.value("$ref", "") == "#/$defs/" + definition) return true;
    for (const char* key : {"items", "anyOf", "oneOf", "prefixItems"}) {
      if (entry.contains(key) && refers(entry[key], definition)) return true;
    }
  } else if (entry.is_array()) {
    return std::any_of(entry.begin(), entry.end(),
                       [&](const json& one) { return refers(one, definition); });
  }
  return false;
}

void visit_properties(const json& node,
                      const std::function<void(std::string, const json&)>& visit) {
  if (node.is_object() && node.contains("properties") && node["properties"].is_object()) {
    for (const auto& [key, entry] : node["properties"].items()) visit(key, entry);
  }
  if (!node.is_structured()) return;
  for (const json& child : node) visit_properties(child, visit);
}

// The table of keys whose values are texts is that of the schema.
TEST(SceneNames, AreWhereTheSchemaHasThem) {
  const json schema = json::parse(text_of(source_directory() / "src/urto/scene/scene.schema.json"));
  int names = 0, numbers = 0;
  visit_properties(schema, [&](const std::string& key, const json& entry) {
    if (refers(entry, "name") || (entry.value("type", "") == "string" && !entry.contains("enum"))) {
      EXPECT_TRUE(scene::is_text_key(key)) << key;
      ++names;
    }
    for (const char* number :
         {"number", "positive", "non-negative", "fraction", "count", "vector"}) {
      if (!refers(entry, number)) continue;
      EXPECT_FALSE(scene::is_text_key(key)) << key;
      ++numbers;
    }
  });
  EXPECT_GT(names, 40);
  EXPECT_GT(numbers, 80);
}

TEST(SceneEnergy, OfABodyInTheCentreOfAGravityIsRefused) {
  const Scene scene = parsed(scene_text(
      R"("gravity": 0, "bodies": [{"name": "star", "mass": 1, "inertia": [1, 1, 1]}],
         "forces": [{"kind": "central-gravity", "center": [0, 0, 0], "strength": 1}])"));
  Simulation run(scene.model, scene.options);
  try {
    run.start();
    FAIL() << "its potential energy is minus infinity";
  } catch (const InputError& error) {
    EXPECT_TRUE(says(error.what(), "body 'star' in the centre of a central gravity"));
  }
}

}  // namespace
}  // namespace urto
