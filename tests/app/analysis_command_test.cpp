// `urto statics`, `urto modes` and `urto run --stepper` as their users meet them.
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/wait.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "io/result_samples.h"

namespace urto {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

struct Output {
  int code = -1;
  std::string out, err;
};

std::string contents(const fs::path& file) {
  std::ifstream in(file);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class AnalysisCommand : public samples::FolderTest {
 protected:
  Output run(const std::string& command, const std::string& scene, const std::string& rest) const {
    const std::string line = "cd '" + path("").string() + "' && '" URTO_COMMAND "' " + command +
                             " '" URTO_SCENES_DIR "/" + scene + ".json' " + rest +
                             " >.out 2>.err </dev/null";
    const int status = std::system(line.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(path(".out")),
            contents(path(".err"))};
  }
};

TEST_F(AnalysisCommand, StaticsHangsTheDoublePendulum) {
  const Output o = run("statics", "double-pendulum", "--json");
  ASSERT_EQ(o.code, 0) << o.err;
  const json found = json::parse(o.out);
  EXPECT_TRUE(found["converged"].get<bool>());
  EXPECT_NEAR(found["bodies"]["upper"]["position"][2].get<double>(), -0.25, 1e-9);
  EXPECT_NEAR(found["bodies"]["lower"]["position"][2].get<double>(), -0.75, 1e-9);
  EXPECT_GT(found["lowest_omega_squared"].get<double>(), 0);
  const Output text = run("statics", "double-pendulum", "");
  EXPECT_NE(text.out.find("equilibrium in"), std::string::npos);
}

TEST_F(AnalysisCommand, ModesOfTheLongChainAreThoseOfBessel) {
  const Output o = run("modes", "chain-100", "-n 3 --json");
  ASSERT_EQ(o.code, 0) << o.err;
  const json modes = json::parse(o.out)["modes"];
  ASSERT_EQ(modes.size(), 3U);
  // Zeros of J₀ over two, times √(g/L); a hundred links are not yet a string.
  const std::array<double, 3> zeros{2.404825557695773, 5.520078110286311, 8.653727912911012};
  for (int k = 0; k < 3; ++k) {
    const double omega = 0.5 * zeros[k] * std::sqrt(9.81 / 5);
    EXPECT_NEAR(std::sqrt(modes[k]["omega_squared"].get<double>()) / omega, 1, 1e-3);
  }
}

TEST_F(AnalysisCommand, ModesWritesTheStateSpace) {
  const Output o = run("modes", "double-pendulum", "--damped --state-space abc.json");
  ASSERT_EQ(o.code, 0) << o.err;
  const json s = json::parse(contents(path("abc.json")));
  EXPECT_EQ(s["A"].size(), 4U);
  EXPECT_EQ(s["B"][0].size(), 12U);
  EXPECT_EQ(s["C"].size(), 12U);
}

TEST_F(AnalysisCommand, ContactsAreRefusedByName) {
  const Output o = run("modes", "marbles", "");
  EXPECT_EQ(o.code, 2);
  EXPECT_NE(o.err.find("contact of 'marble-"), std::string::npos) << o.err;
  EXPECT_NE(o.err.find("'dvi'"), std::string::npos);
}

TEST_F(AnalysisCommand, RunTakesAStepperByName) {
  const Output o =
      run("run", "double-pendulum", "--stepper hht --duration 0.1 -o d --json --no-report");
  ASSERT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(json::parse(o.out)["stepper"].get<std::string>(), "hht");
  const Output wrong = run("run", "double-pendulum", "--stepper newmrk");
  EXPECT_EQ(wrong.code, 2);
  EXPECT_NE(wrong.err.find("did you mean 'newmark'"), std::string::npos) << wrong.err;
}

}  // namespace
}  // namespace urto
