// A seeded fuzz of scene files: every mutation of a shipped scene loads or throws InputError. No
// other exception, no crash, no hang. Half of the mutations are of the text (which mostly meets
// the parser), half of the JSON tree (which gets past it). The same on every run.
#include <random>

#include <nlohmann/json.hpp>

#include "../scene/scene_samples.h"
#include "fuzz/rounds.h"

namespace urto {
namespace {

using namespace samples;
using nlohmann::json;
using Random = std::mt19937;

int pick(Random& random, std::size_t count) {
  return static_cast<int>(random() % static_cast<unsigned>(count));
}

std::string mutated_text(std::string text, Random& random) {
  const std::string alphabet = "{}[]\":,=-+.e0189 /\\\n\xC3\x80truenlfas";
  for (int change = 0, changes = 1 + pick(random, 4); change < changes && !text.empty(); ++change) {
    const std::size_t at = static_cast<std::size_t>(pick(random, text.size()));
    const char letter = alphabet[static_cast<std::size_t>(pick(random, alphabet.size()))];
    switch (pick(random, 4)) {
      case 0:
        text[at] = letter;
        break;
      case 1:
        text.insert(at, 1, letter);
        break;
      case 2:
        text.erase(at, static_cast<std::size_t>(1 + pick(random, 5)));
        break;
      default:
        text.resize(at + static_cast<std::size_t>(pick(random, text.size() - at)));
        break;
    }
  }
  return text;
}

/// All places in a tree.
void collect(json& node, std::vector<json*>& places) {
  places.push_back(&node);
  if (node.is_structured()) {
    for (json& child : node) collect(child, places);
  }
}

std::string mutated_tree(json tree, Random& random) {
  const json strange[] = {nullptr,
                          true,
                          0,
                          -1,
                          1e-300,
                          1e300,
                          1e9,
                          "",
                          "world",
                          "=",
                          "=inf",
                          "=1/0",
                          "=-1",
                          "=((",
                          "x",
                          "a/b",
                          json::array(),
                          json::object(),
                          json::array({0, 0, 0}),
                          json::array({1, 2}),
                          json::array({1e200, 0, 0}),
                          json::object({{"axis", {0, 0, 1}}, {"angle", 1}}),
                          "\xC3\xA9"};
  for (int change = 0, changes = 1 + pick(random, 3); change < changes; ++change) {
    std::vector<json*> places;
    collect(tree, places);
    json& place = *places[static_cast<std::size_t>(pick(random, places.size()))];
    const json other = *places[static_cast<std::size_t>(pick(random, places.size()))];
    switch (pick(random, 4)) {
      case 0:
        place = strange[pick(random, std::size(strange))];
        break;
      case 1:
        place = other;
        break;
      case 2:
        if (place.is_structured() && !place.empty()) place.erase(place.begin());
        break;
      default:
        if (place.is_array()) {
          place.push_back(other);
        } else if (place.is_object()) {
          place["extra"] = other;
        } else if (place.is_number()) {
          place = -place.get<double>();
        }
        break;
    }
  }
  return tree.dump(1, ' ', false, json::error_handler_t::replace);
}

/// Loads, and then expands to a scene that loads; or refuses with a message that names the file.
void check(const std::string& text, const std::string& name) {
  try {
    const Scene s = parse_scene(text, name);
    EXPECT_TRUE(initial_state(s.model).q.allFinite());
    EXPECT_EQ(parse_scene(s.normalized_json, name).normalized_json, s.normalized_json);
  } catch (const InputError& error) {
    // The file, or one that a mutated "include" has found.
    const std::string folder = fs::path(name).parent_path().string();
    EXPECT_TRUE(std::string_view(error.what()).starts_with(folder)) << error.what();
    EXPECT_LT(std::string_view(error.what()).size(), 2000U);
  }
}

TEST(SceneFuzz, MutatedScenesLoadOrAreRefused) {
  const int rounds = fuzz_rounds(16);
  Random random(20240501);
  for (const fs::path& file : shipped_scenes()) {
    const std::string text = text_of(file);
    const json tree = json::parse(text, nullptr, true, true);
    for (int round = 0; round < rounds; ++round) {
      for (const std::string& mutated : {mutated_text(text, random), mutated_tree(tree, random)}) {
        SCOPED_TRACE(mutated.substr(0, 4000));
        try {
          check(mutated, file.string());
        } catch (const std::exception& error) {
          ADD_FAILURE() << "not an InputError: " << error.what();
        }
      }
    }
  }
}

TEST(SceneFuzz, MutatedGeometryIsTakenOrRefused) {
  const json tree = json::parse(R"({"urto": 1,
    "meshes": {"m": {"vertices": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]],
                     "triangles": [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]}},
    "bodies": [
      {"name": "ground", "kind": "fixed", "shapes": [
        {"kind": "height-field", "heights": [[0, 1, 0], [1, 0, 1]], "spacing": [1, 2], "margin": 0.1}]},
      {"name": "stone", "density": 10, "shapes": [
        {"kind": "hull", "mesh": "m", "scale": [1, -2, 3], "margin": 0.01},
        {"kind": "mesh", "mesh": "m", "position": [3, 0, 0]},
        {"kind": "hull", "points": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1], [1, 1, 1]]},
        {"kind": "box", "size": [1, 2, 3], "margin": 0.2}]}]})");
  const std::string name = (source_directory() / "scenes/geometry.json").string();
  const int rounds = fuzz_rounds(400);
  Random random(11);
  for (int round = 0; round < rounds; ++round) {
    for (const std::string& mutated :
         {mutated_text(tree.dump(1), random), mutated_tree(tree, random)}) {
      SCOPED_TRACE(mutated);
      try {
        check(mutated, name);
      } catch (const std::exception& error) {
        ADD_FAILURE() << "not an InputError: " << error.what();
      }
    }
  }
}

TEST(SceneFuzz, MutatedOverridesAreTakenOrRefused) {
  const std::string text = text_of(source_directory() / "scenes/geneva.json");
  Random random(7);
  for (int round = 0; round < fuzz_rounds(200); ++round) {
    const std::vector<std::string> overrides{
        mutated_text("bodies.wheel.shapes.1.radius=0.012", random)};
    try {
      parse_scene(text, "s.json", overrides);
    } catch (const InputError&) {
      // Refused, as it may be.
    } catch (const std::exception& error) {
      ADD_FAILURE() << overrides[0] << ": not an InputError: " << error.what();
    }
  }
}

}  // namespace
}  // namespace urto
