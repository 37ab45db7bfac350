// `urto sweep` as its users meet it.
#include <cstdio>
#include <fstream>
#include <sstream>

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

/// A brick that slides until friction has taken its speed: v²/(2 μ g) far.
constexpr const char* sliding_brick = R"({
  "urto": 1, "title": "Sliding brick",
  "parameters": { "mu": 0.3, "v": 2 },
  "gravity": 10,
  "materials": { "wood": { "friction": "=mu" } },
  "bodies": [
    { "name": "floor", "kind": "fixed", "shapes": [{ "kind": "half-space", "material": "wood" }] },
    { "name": "brick", "position": [0, 0, 0.05], "velocity": ["=v", 0, 0], "mass": 1,
      "shapes": [{ "kind": "box", "size": [0.4, 0.2, 0.1], "material": "wood" }] }
  ],
  "watch": ["brick.x", "brick.vx"],
  "simulation": { "duration": 2, "step": 1e-3, "output_step": 0.01 }
})";

class SweepCommand : public samples::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    std::ofstream(path("brick.json")) << sliding_brick;
  }
  Output run(const std::string& arguments) const {
    return samples::run_command(path(""), "sweep " + arguments);
  }
  std::string table() const { return contents(path("s/sweep.csv")); }
};

TEST_F(SweepCommand, MeasuresEveryRunOfTheGrid) {
  const Output o = run("brick.json --set mu=0.2:0.1:0.5 --set v=1,2 -o s --json --no-report");
  ASSERT_EQ(o.code, 0) << o.err;
  const json found = json::parse(o.out);
  ASSERT_EQ(found["runs"].size(), 8U);
  for (const json& one : found["runs"]) {
    const double mu = std::stod(one["set"]["mu"].get<std::string>());
    const double v = std::stod(one["set"]["v"].get<std::string>());
    // Within what one step of implicit Euler moves further.
    EXPECT_NEAR(one["numbers"]["brick.x end"].get<double>(), v * v / (2 * mu * 10), 1e-3 * v);
    EXPECT_NEAR(one["numbers"]["brick.vx end"].get<double>(), 0, 1e-9);
    EXPECT_EQ(one["numbers"]["brick.vx max"].get<double>(), v);
    EXPECT_EQ(one["status"], "finished");
  }
  EXPECT_EQ(found["runs"][0]["directory"], "mu=0.2,v=1");
  const std::string page = contents(path("s/sweep.html"));
  EXPECT_TRUE(page.starts_with("<!doctype html><!-- urto-plots -->"));
  const std::string mark = "type=\"application/json\">";
  const std::size_t from = page.find(mark) + mark.size();
  const json data = json::parse(page.substr(from, page.find("</script>", from) - from));
  EXPECT_EQ(data["panels"][0]["title"], "brick.x, end");
  EXPECT_EQ(data["panels"][0]["along"], "mu");
  ASSERT_EQ(data["panels"][0]["series"].size(), 2U);
  EXPECT_EQ(data["panels"][0]["series"][1]["name"], "v=2");
  EXPECT_EQ(data["panels"][0]["series"][1]["along"], json({0.2, 0.3, 0.4, 0.5}));
  EXPECT_TRUE(table().starts_with("run,directory,\"mu\",\"v\",\"time [s]\","));
  EXPECT_EQ(std::ranges::count(table(), '\n'), 9);
}

TEST_F(SweepCommand, GoesOnWhereItWas) {
  ASSERT_EQ(run("brick.json --set mu=0.2,0.3 -o s -q").code, 0);
  const auto written = fs::last_write_time(path("s/mu=0.2/result.h5"));
  EXPECT_TRUE(fs::exists(path("s/mu=0.3/report.html")));
  EXPECT_NE(contents(path("s/sweep.html")).find("mu=0.3/report.html"), std::string::npos);
  fs::remove(path("s/mu=0.3/result.h5"));
  // A wider grid has the runs that are there already, and runs what is missing.
  const Output more = run("brick.json --set mu=0.2,0.3,0.4 -o s");
  EXPECT_EQ(more.code, 0) << more.err;
  EXPECT_NE(more.out.find("1 of 3 runs are there"), std::string::npos) << more.out;
  EXPECT_EQ(fs::last_write_time(path("s/mu=0.2/result.h5")), written);
  // Of another scene they are not the same runs.
  const Output other = run("brick.json --set mu=0.2,0.3,0.4 --set v=1 -o s");
  EXPECT_EQ(other.out.find("are there"), std::string::npos) << other.out;
  EXPECT_NE(fs::last_write_time(path("s/mu=0.2/result.h5")), written);
}

TEST_F(SweepCommand, InterruptedRunsAreTakenUpWithTheSameBits) {
  const std::string words =
      "'" + samples::command_file() +
      "' sweep brick.json --set mu=0.2,0.3 --set simulation.duration=20 --no-report --threads 1 "
      "-o s ";
  // Its first run has begun when it is asked to end.
  const int status = samples::shell(
      "cd '" + path("").string() + "'; " + words +
      "--no-progress >/dev/null 2>&1 & child=$!; cd '" + path("").string() +
      "'; until [ -e s/mu=0.2/result.h5 ]; do sleep 0.01; done; kill -TERM $child; wait $child");
  EXPECT_EQ(WEXITSTATUS(status), 143);
  EXPECT_NE(table().find("interrupted"), std::string::npos) << table();
  EXPECT_NE(table().find("missing"), std::string::npos) << "the second has not begun";
  const Output rest =
      run("brick.json --set mu=0.2,0.3 --set simulation.duration=20 --no-report "
          "--threads 1 -o s --json");
  ASSERT_EQ(rest.code, 0) << rest.err;
  const Output whole =
      run("brick.json --set mu=0.2,0.3 --set simulation.duration=20 --no-report "
          "-o whole --json");
  const json a = json::parse(rest.out)["runs"], b = json::parse(whole.out)["runs"];
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t k = 0; k < a.size(); ++k) {
    for (const auto& [name, value] : b[k]["numbers"].items()) {
      if (name == "wall [s]") continue;
      EXPECT_EQ(a[k]["numbers"][name], value) << name;
    }
  }
}

TEST_F(SweepCommand, ARunThatIsKilledIsALineOfTheTable) {
  const int status = samples::shell(
      "cd '" + path("").string() + "'; '" + samples::command_file() +
      "' sweep brick.json --set mu=0.2,0.3 --set simulation.duration=20 --no-report --threads 1 "
      "-o s >/dev/null 2>&1 & child=$!; cd '" +
      path("").string() +
      "'; until [ -e s/mu=0.2/result.h5 ]; do sleep 0.01; done; "
      "kill -KILL $(cat /proc/$child/task/$child/children); wait $child");
  EXPECT_EQ(WEXITSTATUS(status), 3);
  EXPECT_NE(table().find("\"crashed\",\"ended with code 137\""), std::string::npos) << table();
  EXPECT_NE(table().find("\"good\",\"\""), std::string::npos) << "the other went on";
}

TEST_F(SweepCommand, SamplesAPeriodicMotion) {
  // A mass on a spring: x(t) = cos(2π f t), seen every half second.
  std::ofstream(path("spring.json")) << R"({
    "urto": 1, "gravity": 0, "parameters": { "f": 1 },
    "bodies": [{ "name": "m", "position": [3, 0, 0], "mass": 1, "inertia": [1, 1, 1] }],
    "forces": [{ "name": "s", "kind": "spring", "bodies": ["world", "m"],
                 "points": [[0, 0, 0], [3, 0, 0]], "rest_length": 2, "stiffness": "=4*pi^2*f^2" }],
    "watch": ["m.x"],
    "simulation": { "stepper": "trapezoidal", "duration": 6, "step": 1e-3, "output_step": 0.005 }
  })";
  const Output o = run("spring.json --set f=1,2 --from 1 --every 0.5 -o s -q");
  ASSERT_EQ(o.code, 0) << o.err;
  std::istringstream rows(contents(path("s/samples.csv")));
  std::string row;
  std::getline(rows, row);
  EXPECT_EQ(row, "run,time,\"m.x\"");
  int count = 0;
  for (; std::getline(rows, row); ++count) {
    int run = 0;
    double t = 0, x = 0;
    ASSERT_EQ(std::sscanf(row.c_str(), "%d,%lf,%lf", &run, &t, &x), 3) << row;
    EXPECT_EQ(t, 1 + 0.5 * (count % 11));
    EXPECT_NEAR(x, 2 + (run == 1 && count % 2 == 1 ? -1 : 1), 1e-5) << row;
  }
  EXPECT_EQ(count, 22);
}

TEST_F(SweepCommand, SaysWhatIsWrongBeforeAnyRun) {
  const std::pair<const char*, const char*> wrong[] = {
      {"", "--set"},
      {"--set mu=1:0:2", "one that leads there"},
      {"--set nu=1,2", "there is no 'nu'"},
      {"--set mu=0.1,0.2 --set mu=1", "'mu' twice"},
      {"--set mu=0.1,-1", "friction"},
      {"--set mu=1,2 --statistics end,median", "'median'"},
      {"--set mu=1,2 --step 1e-3 --set simulation.step=1", "which a flag sets too"}};
  for (const auto& [words, message] : wrong) {
    const Output o = run(std::string("brick.json -o s ") + words);
    EXPECT_EQ(o.code, 2) << words;
    EXPECT_NE(o.err.find(message), std::string::npos) << words << ": " << o.err;
    EXPECT_FALSE(fs::exists(path("s"))) << words;
  }
  std::ofstream(path("s")) << "mine";
  EXPECT_EQ(run("brick.json -o s --set mu=1,2").code, 2);
}

TEST_F(SweepCommand, ARunThatFailsCostsNoOther) {
  // A residual that no rounding allows.
  const Output o =
      run("brick.json --set simulation.tolerance=1e-30,1e-8 --duration 0.02 -o s --no-report");
  EXPECT_EQ(o.code, 3);
  EXPECT_NE(table().find("missed the tolerance"), std::string::npos) << table();
  EXPECT_NE(table().find(",\"good\",\"\""), std::string::npos) << table();
  EXPECT_NE(contents(path("s/sweep.html")).find("1 of 2 runs did not finish well"),
            std::string::npos);
  const Output unknown = run("brick.json --set mu=0.1,0.2 --what brick.height -o t");
  EXPECT_EQ(unknown.code, 2);
  EXPECT_NE(unknown.err.find("height"), std::string::npos) << unknown.err;
}

}  // namespace
}  // namespace urto
