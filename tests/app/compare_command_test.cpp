// `urto compare` as its users meet it.
#include <fstream>

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

class CompareCommand : public samples::FolderTest {
 protected:
  Output run(const std::string& scene, const std::string& rest) const {
    const std::string file = (samples::scenes_dir() / "papers" / (scene + ".json")).string();
    return samples::run_command(path(""), "compare '" + file + "' " + rest);
  }
};

TEST_F(CompareCommand, WritesAPageAndTables) {
  const Output o = run("bouncing-ball",
                       "--duration 0.5 --steppers dvi,nonsmooth-alpha[alpha_algorithm=sequential] "
                       "--steps 1e-2,5e-3 --zoom 0.39:0.42 -o a");
  ASSERT_EQ(o.code, 0) << o.err;
  const std::string page = contents(path("a/compare.html"));
  EXPECT_TRUE(page.starts_with("<!doctype html><!-- urto-plots -->"));
  EXPECT_EQ(page.find("{{urto"), std::string::npos);
  EXPECT_EQ(page.find("http://"), page.find("http://www.w3.org/2000/svg")) << "no network";
  // Its data are JSON, with every panel.
  const std::string mark = "type=\"application/json\">";
  const std::size_t from = page.find(mark) + mark.size();
  const json data = json::parse(page.substr(from, page.find("</script>", from) - from));
  std::vector<std::string> titles;
  for (const json& panel : data["panels"]) titles.push_back(panel["title"]);
  for (const char* title : {"ball.z", "ball.z, zoom", "gap", "energy", "normal-nu", "error",
                            "convergence", "work and precision"})
    EXPECT_NE(std::ranges::find(titles, title), titles.end()) << title;
  EXPECT_EQ(data["table"]["rows"].size(), 4U);
  const std::string runs = contents(path("a/runs.csv"));
  EXPECT_EQ(std::ranges::count(runs, '\n'), 5);
  EXPECT_NE(runs.find("nonsmooth-alpha[alpha_algorithm=sequential], h = 0.005"), std::string::npos);
  const std::string first = contents(path("a/run-1.csv"));
  EXPECT_TRUE(first.starts_with("time,\"ball.z\",\"ball.vz\",\"gap\""));
  EXPECT_EQ(std::ranges::count(first, '\n'), 52);
  EXPECT_TRUE(fs::exists(path("a/run-4.csv")));
  // An earlier comparison is replaced, a file of somebody else is not.
  EXPECT_EQ(run("bouncing-ball", "--duration 0.1 -o a -q").code, 0);
  std::ofstream(path("b.txt")) << "mine";
  fs::create_directory(path("c"));
  std::ofstream(path("c/runs.csv")) << "mine";
  EXPECT_EQ(run("bouncing-ball", "--duration 0.1 -o b.txt").code, 2);
  EXPECT_EQ(run("bouncing-ball", "--duration 0.1 -o c").code, 2);
  EXPECT_EQ(contents(path("c/runs.csv")), "mine");
}

TEST_F(CompareCommand, MeasuresByFormulasAndTables) {
  const Output o = run("bouncing-ball",
                       "--duration 0.36 --steppers semi-implicit-euler --steps 4e-3 --json "
                       "--truth fall=g/2*t^2 --truth ball.z=h0-fall");
  ASSERT_EQ(o.code, 0) << o.err;
  const json found = json::parse(o.out);
  EXPECT_NEAR(found["runs"][0]["last_error"].get<double>(), 7.2e-3, 1e-12);
  EXPECT_EQ(found["truth"], "closed form");
  std::ofstream(path("truth.csv")) << "time,ball.vz\n0,0\n0.36,-3.6\n";
  const Output by_table = run("bouncing-ball",
                              "--duration 0.36 --steppers semi-implicit-euler --steps 4e-3 --json "
                              "--truth truth.csv");
  ASSERT_EQ(by_table.code, 0) << by_table.err;
  EXPECT_LT(json::parse(by_table.out)["runs"][0]["worst_error"].get<double>(), 1e-12);
}

TEST_F(CompareCommand, SaysWhatIsWrongBeforeItRuns) {
  const std::pair<const char*, const char*> wrong[] = {
      {"--steps 1e-3,fast", "found 'fast', expected positive numbers"},
      {"--steps -1", "found '-1'"},
      {"--steppers dvii", "there is no stepper 'dvii', did you mean 'dvi'?"},
      {"--steppers dvi[speed=3]", "simulation"},
      {"--steppers dvi[speed", "NAME or NAME[setting=value"},
      {"--solvers nsgss", "nsgss"},
      {"--what ball.height", "found 'height', expected one of: x, y, z"},
      {"--zoom 3", "FROM:TO"},
      {"--reference dvi:0", "--reference"},
      {"--truth ball.z=h+t", "there is no 'h'"},
      {"--truth 'ball.z=log(0.2-t)'", "at t = 0.2"},
      {"--truth nowhere.csv", "no file 'nowhere.csv'"},
      {"--truth a=1", "definitions only"},
      {"--truth a=b --truth b=a --truth ball.z=a", "in a ring"}};
  for (const auto& [words, message] : wrong) {
    const Output o = run("bouncing-ball", std::string("-o out --duration 1 ") + words);
    EXPECT_EQ(o.code, 2) << words;
    EXPECT_NE(o.err.find(message), std::string::npos) << words << ": " << o.err;
    EXPECT_FALSE(fs::exists(path("out"))) << words;
  }
}

TEST_F(CompareCommand, ARunThatFailsIsSaid) {
  const Output o =
      run("bouncing-ball", "--duration 0.6 --steppers trapezoidal,dvi --reference none -o a");
  EXPECT_EQ(o.code, 3);
  EXPECT_NE(o.out.find("t = 0.4"), std::string::npos) << o.out;
  EXPECT_TRUE(fs::exists(path("a/compare.html")));
}

}  // namespace
}  // namespace urto
