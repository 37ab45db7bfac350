// A scene can make every setting of the option table, and the schema and the book know them all.
#include <cstdlib>

#include "option_texts.h"
#include "scene_samples.h"
#include "stepper/option_samples.h"

namespace urto {
namespace {

using namespace samples;
using nlohmann::json;

/// A scene with the plain options and one more setting.
std::string with_setting(const OptionInfo* option, const json& value) {
  json settings = {{"stepper", plain_options().stepper.name}};
  if (option != nullptr) settings[std::string(option->key)] = value;
  return scene_text("\"simulation\": " + settings.dump());
}

json as_json(const OptionValue& value) {
  return std::visit([](const auto& x) { return json(x); }, value);
}

TEST(OptionScene, EveryKeySetsItsMemberAndNoOther) {
  const SimulationOptions plain = parsed(with_setting(nullptr, {})).options;
  expect_equal_but(nullptr, plain, plain_options());
  for (const OptionInfo& option : simulation_options()) {
    SCOPED_TRACE(option.key);
    const OptionValue value = another_value(option);
    const SimulationOptions options = parsed(with_setting(&option, as_json(value))).options;
    EXPECT_EQ(option.get(options), value);
    expect_equal_but(&option, options, plain);
  }
}

TEST(OptionScene, InfinityIsAValueOnlyWhereTheTableSaysSo) {
  for (const OptionInfo& option : simulation_options()) {
    if (option.kind != OptionKind::number) continue;
    const std::string message = message_of(with_setting(&option, "=inf"));
    EXPECT_EQ(message.empty(), option.range.infinite) << message;
  }
}

/// Expects that the message names the key, the value and what else there could be.
void expect_refused(const OptionInfo& option, const json& value, const std::string& found,
                    const std::string& expected) {
  const std::string message = message_of(with_setting(&option, value));
  EXPECT_TRUE(message.starts_with(fmt::format("s.json: /simulation/{}: ", option.key))) << message;
  EXPECT_NE(message.find(found), std::string::npos) << message;
  EXPECT_NE(message.find(expected), std::string::npos) << message;
}

TEST(OptionScene, EveryValueOutOfRangeIsRefusedWithItsPlace) {
  for (const OptionInfo& option : simulation_options()) {
    const std::string key(option.key);
    if (option.choices != nullptr) {
      expect_refused(option, "zzzzzzzz", "zzzzzzzz", std::string(option.choices().front()));
      expect_refused(option, 5, "found 5", "expected");
    } else if (is_number(option)) {
      const json bad = as_json(number_out_of_range(option));
      expect_refused(option, bad, "found " + bad.dump(), "expected a");
      expect_refused(option, "much", "found \"much\"", "expected a");
    } else {
      expect_refused(option, 7, "found 7", "expected true or false");
    }
  }
}

TEST(OptionScene, EndsThatDoNotBelongToARangeAreRefusedToo) {
  for (const OptionInfo& option : simulation_options()) {
    if (!option.range.below) continue;
    EXPECT_EQ(message_of(with_setting(&option, option.range.high)),
              fmt::format("s.json: simulation: {}: found {}, expected {}", option.key,
                          option.range.high, expectation(option)));
  }
}

TEST(OptionScene, MisspeltKeysAreRecognised) {
  for (const OptionInfo& option : simulation_options()) {
    const std::string misspelt = std::string(option.key) + "x";
    EXPECT_EQ(message_of(scene_text(fmt::format(R"("simulation": {{"{}": 1}})", misspelt))),
              fmt::format("s.json: /simulation/{0}: unknown key '{0}' in the simulation, did you "
                          "mean '{1}'?",
                          misspelt, option.key));
  }
}

/// Expects a file to be as the table wants it; `script/options` asks for it to be made so instead.
void expect_written(const fs::path& file, std::string (*as_the_table_says)(const std::string&)) {
  const std::string text = text_of(file);
  const std::string wanted = as_the_table_says(text);
  if (text == wanted) return;
  if (std::getenv("URTO_WRITE_OPTIONS") != nullptr) {
    std::ofstream(file, std::ios::binary) << wanted;
    return;
  }
  std::size_t at = 0;
  while (text[at] == wanted[at]) ++at;
  const std::size_t line = wanted.rfind('\n', at) + 1;
  ADD_FAILURE() << file << " is not what src/urto/stepper/option_table.cpp says; script/options "
                << "writes it. The first line that differs should read\n"
                << wanted.substr(line, wanted.find('\n', line) - line);
}

TEST(OptionTexts, TheSchemaIsWhatTheTableSays) {
  expect_written(source_directory() / "src/urto/scene/scene.schema.json", with_simulation_schema);
}

TEST(OptionTexts, TheBookIsWhatTheTableSays) {
  expect_written(source_directory() / "docs/scenes.md", with_option_rows);
}

TEST(OptionTexts, TheSchemaAndTheBookHaveEveryKey) {
  const json schema = json::parse(text_of(source_directory() / "src/urto/scene/scene.schema.json"));
  const std::string page = text_of(source_directory() / "docs/scenes.md");
  for (const OptionInfo& option : simulation_options()) {
    EXPECT_TRUE(schema["$defs"]["simulation"]["properties"].contains(std::string(option.key)));
    EXPECT_NE(page.find(fmt::format("\n| `{}` |", option.key)), std::string::npos) << option.key;
  }
}

}  // namespace
}  // namespace urto
