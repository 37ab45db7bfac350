// Scenes that are wrong, each in its own way (tests/data/bad_scenes.json): refused with the place
// and what was expected there, or run with a remark, or ended as a failure. None is silent, none
// crashes.
//
// An entry has the scene ("scene", or its bytes in "text"), overrides ("set"), files beside it
// ("files"), its outcome (refused, remark, failure), and what has to be said of it.
#include <filesystem>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "result/result_samples.h"
#include "support/paths.h"
#include "support/urto_command.h"

namespace urto {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

using samples::contents;
using samples::Output;
using samples::says;

class BadScenes : public samples::FolderTest {
 protected:
  static const json& all() {
    static const json list = json::parse(contents(samples::data_dir() / "bad_scenes.json"));
    return list;
  }

  /// Writes the scene and its files into a folder of its own and runs `urto command` there.
  Output run(const json& entry, const std::string& command) {
    const fs::path folder = path("scene");
    fs::remove_all(folder);
    fs::create_directory(folder);
    json scene{{"urto", 1}};
    if (entry.contains("scene")) scene.update(entry["scene"]);
    std::ofstream(folder / "s.json", std::ios::binary)
        << (entry.contains("text") ? entry["text"].get<std::string>() : scene.dump());
    const json files = entry.value("files", json::object());
    for (const auto& [name, text] : files.items())
      std::ofstream(folder / name, std::ios::binary) << text.get<std::string>();
    std::string set;
    const json overrides = entry.value("set", json::array());
    for (const json& value : overrides) set += fmt::format(" --set '{}'", value.get<std::string>());
    return samples::run_command(folder, command + " s.json" + set);
  }
  bool left_a_result() const { return fs::exists(path("scene/out")); }
  /// What the page of `view -o out` tells of the scene.
  std::string remarks_of_page() const {
    const std::string text = contents(path("scene/out"));
    const std::size_t start = text.find('>', text.find("id=\"urto-json\"")) + 1;
    const json page = json::parse(text.substr(start, text.find("</script>", start) - start));
    std::string out;
    for (const json& remark : page["remarks"]) out += remark["text"].get<std::string>() + '\n';
    return out;
  }

  /// Calls use(entry, says) for the scenes with this outcome, and counts them.
  template <typename Use>
  int for_each(const std::string& outcome, Use use) {
    int count = 0;
    for (const json& entry : all()) {
      if (entry["outcome"] != outcome) continue;
      SCOPED_TRACE(entry["name"].get<std::string>());
      use(entry, entry["says"].get<std::string>());
      ++count;
    }
    return count;
  }
};

TEST_F(BadScenes, AreManyAndDifferent) {
  std::set<std::string> names;
  for (const json& entry : all()) names.insert(entry["name"]);
  EXPECT_EQ(names.size(), all().size());
  EXPECT_GE(names.size(), 105U);
}

/// A share of them: a process for each takes its time.
constexpr int shares = 4;
class ShareOfBadScenes : public BadScenes, public testing::WithParamInterface<int> {
 protected:
  /// Whether the next one asked about belongs to this share.
  bool is_mine() { return seen_++ % shares == GetParam(); }

 private:
  int seen_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Quarter, ShareOfBadScenes, testing::Range(0, shares));

TEST_P(ShareOfBadScenes, IsRefusedWithItsPlaceAndWhatWasExpected) {
  const int count = for_each("refused", [&](const json& entry, const std::string& expected) {
    if (!is_mine()) return;
    for (const char* command : {"check", "run -o out --no-progress", "view -o out"}) {
      const Output o = run(entry, command);
      EXPECT_EQ(o.code, 2) << command;
      EXPECT_TRUE(says(o.err, "urto: error: "));
      EXPECT_TRUE(says(o.err, entry.value("place", "s.json")));
      EXPECT_TRUE(says(o.err, expected));
      EXPECT_LT(o.err.size(), 1000U);
      EXPECT_FALSE(left_a_result()) << "something was written";
    }
  });
  EXPECT_GT(count, 100);
}

// What the start tells, every command that looks at it says; what only the motion tells ("when":
// "end"), the run.
TEST_F(BadScenes, AreRunWithARemark) {
  for_each("remark", [&](const json& entry, const std::string& remark) {
    const Output o = run(entry, "run -o out --no-progress --no-report");
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_TRUE(says(o.out, "  remark "));
    EXPECT_TRUE(says(o.out + o.err, remark));
    const Output checked = run(entry, "check"), seen = run(entry, "view -o out");
    EXPECT_EQ(checked.code, 0) << checked.err;
    EXPECT_EQ(seen.code, 0) << seen.err;
    if (entry.value("when", "start") == "end") return;
    EXPECT_TRUE(says(checked.out + checked.err, remark));
    EXPECT_TRUE(says(remarks_of_page(), remark));
  });
}

TEST_F(BadScenes, EndAsAFailure) {
  for_each("failure", [&](const json& entry, const std::string& reason) {
    const Output o = run(entry, "run -o out --no-progress --no-report");
    EXPECT_EQ(o.code, 3) << o.err;
    EXPECT_TRUE(says(o.out, "  failure "));
    EXPECT_TRUE(says(o.out + o.err, reason));
    EXPECT_TRUE(left_a_result()) << "what was recorded is kept";
    // Nothing is wrong with its first moment.
    for (const char* command : {"check", "view -o out"}) EXPECT_EQ(run(entry, command).code, 0);
  });
}

// Whatever looks at a scene: an answer, or a message that names the file. What every command
// refuses, because they read it by the same function, meets one of them in turn.
TEST_P(ShareOfBadScenes, CrashesNothingAndIsNeverSilent) {
  const std::vector<const char*> commands = {"info", "statics", "modes"};
  std::size_t turn = 0;
  for (const json& entry : all()) {
    if (!is_mine()) continue;
    SCOPED_TRACE(entry["name"].get<std::string>());
    const bool refused = entry["outcome"] == "refused";
    for (const char* command :
         refused ? std::vector{commands[turn++ % commands.size()]} : commands) {
      const Output o = run(entry, command);
      EXPECT_TRUE(o.code == 0 || o.code == 2 || o.code == 3) << command << ": " << o.code;
      EXPECT_FALSE(o.out.empty() && o.err.empty()) << command;
      if (o.code == 0) continue;
      EXPECT_TRUE(says(o.err, "urto: error: ")) << command;
      EXPECT_LT(o.err.size(), 1100U) << command;
    }
  }
}

}  // namespace
}  // namespace urto
