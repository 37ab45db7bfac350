// `urto convert` as its users meet it.
#include <fstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "support/folder_test.h"
#include "support/urto_command.h"

namespace urto {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using samples::contents;
using samples::Output;

class ConvertCommand : public samples::FolderTest {
 protected:
  Output run(const std::string& arguments) const {
    return samples::run_command(path(""), arguments);
  }
  static std::string robot(const std::string& name) {
    return "'" + (samples::scenes_dir() / "robots" / name).string() + "'";
  }
};

TEST_F(ConvertCommand, TheBundledRobotsRun) {
  const Output arm = run("convert " + robot("arm.urdf") +
                         " --motors position --pose joint-2=0.5 --pose joint-4=1.2 -o arm.json");
  ASSERT_EQ(arm.code, 0) << arm.err;
  EXPECT_NE(arm.out.find("arm: 8 bodies, 7 joints, 9 links of arm.urdf"), std::string::npos)
      << arm.out;
  EXPECT_NE(arm.err.find("bound of the velocity (7 such elements)"), std::string::npos) << arm.err;
  const Output held = run("run arm.json --duration 0.2 --json --no-report -o arm");
  ASSERT_EQ(held.code, 0) << held.err;
  EXPECT_EQ(json::parse(held.out)["verdict"]["level"], "good") << held.out;

  const Output pole =
      run("convert " + robot("cart-pole.urdf") + " --pose pivot=0.05 --at 0 0 1 -o pole.json");
  ASSERT_EQ(pole.code, 0) << pole.err;
  const Output falls = run("run pole.json --duration 0.5 --json --no-report -o pole");
  EXPECT_EQ(falls.code, 0) << falls.out;
}

TEST_F(ConvertCommand, SaysWhatIsWrongAndWritesNothing) {
  const std::pair<std::string, const char*> wrong[] = {
      {"nowhere.urdf", "nowhere.urdf"},
      {robot("arm.urdf") + " --pose joint-9=1", "no moving joint 'joint-9'"},
      {robot("arm.urdf") + " --pose joint-1", "JOINT=NUMBER"},
      {robot("arm.urdf") + " --pose joint-1=up", "JOINT=NUMBER"},
      {robot("arm.urdf") + " --pose joint-1=1 --pose joint-1=2", "twice"},
      {robot("arm.urdf") + " --motors torque", "torque"},
      {robot("arm.urdf") + " --package here", "NAME=DIRECTORY"}};
  for (const auto& [words, message] : wrong) {
    const Output o = run("convert " + words + " -o out.json");
    EXPECT_EQ(o.code, 2) << words;
    EXPECT_NE(o.err.find(message), std::string::npos) << words << ": " << o.err;
    EXPECT_FALSE(fs::exists(path("out.json"))) << words;
  }
}

}  // namespace
}  // namespace urto
