// `urto report`, `view`, `plot` and `export` as their users meet them.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/wait.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "app/shell.h"
#include "result/result_samples.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

struct Output {
  int code = -1;
  std::string out, err;
};

std::string contents(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

class ReportCommand : public samples::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    std::ofstream(path("busy.json")) << samples::busy_scene;
    std::ofstream(path("hanging.json")) << samples::hanging_scene;
  }
  Output run(const std::string& arguments, const std::string& environment = "") const {
    const std::string line = "cd '" + path("").string() + "' && " + environment +
                             " '" URTO_COMMAND "' " + arguments + " >.out 2>.err </dev/null";
    const int status = samples::shell(line);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(path(".out")),
            contents(path(".err"))};
  }
  /// What the page knows: the JSON inside it.
  nlohmann::json page(const fs::path& file) const {
    const std::string text = contents(file);
    const std::size_t start = text.find('>', text.find("id=\"urto-json\"")) + 1;
    return nlohmann::json::parse(text.substr(start, text.find("</script>", start) - start));
  }
};

TEST_F(ReportCommand, EveryRunLeavesAPage) {
  const Output o = run("run busy.json");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_NE(o.out.find("out/busy/report.html"), std::string::npos);
  const auto whole = page(path("out/busy/report.html"));
  EXPECT_EQ(whole["title"], "Busy");
  EXPECT_EQ(whole["mode"], "run");
  EXPECT_EQ(whole["frames"]["count"], 101);
  EXPECT_EQ(whole["remarks"].size(), 0u);
  EXPECT_EQ(run("run busy.json --no-report").code, 0);
  EXPECT_FALSE(fs::exists(path("out/busy/report.html"))) << "the page of another run";
  const Output again = run("report out/busy");
  EXPECT_EQ(again.code, 0) << again.err;
  EXPECT_EQ(again.out, "out/busy/report.html\n");
  EXPECT_EQ(page(path("out/busy/report.html"))["summary"]["steps"], 1000);
  EXPECT_EQ(run("report out/busy/result.h5 -o small.html --megabytes 0.01").code, 0);
  EXPECT_GT(page(path("small.html"))["frames"]["stride"], 1);
}

TEST_F(ReportCommand, AFailedRunsPageBeginsWithTheFailure) {
  const Output o = run("run busy.json -o failed --tol 1e-30 --set simulation.stop_on_failure=true");
  EXPECT_EQ(o.code, 3);
  const auto failed = page(path("failed/report.html"));
  EXPECT_EQ(failed["summary"]["status"], "failed");
  ASSERT_GE(failed["remarks"].size(), 1u);
  EXPECT_EQ(failed["remarks"][0]["level"], "failure");
  EXPECT_EQ(failed["remarks"][0]["text"].get<std::string>().rfind("The run failed at t = ", 0), 0u);
}

TEST_F(ReportCommand, RedundantJointsAreOnThePage) {
  std::ofstream(path("twice.json")) << R"({"urto": 1,
    "bodies": [{"name": "a", "mass": 1, "inertia": [1, 1, 1]}],
    "joints": [{"name": "one", "kind": "revolute", "bodies": ["world", "a"], "position": [0, 0, 0], "axis": [0, 1, 0]},
               {"name": "two", "kind": "revolute", "bodies": ["world", "a"], "position": [0, 1, 0], "axis": [0, 1, 0]}],
    "simulation": {"duration": 0.01, "step": 0.001}})";
  EXPECT_EQ(run("run twice.json -o a").code, 0);
  EXPECT_EQ(run("view twice.json -o v.html").code, 0);
  for (const char* file : {"a/report.html", "v.html"}) {
    const auto p = page(path(file));
    ASSERT_EQ(p["remarks"].size(), 1u) << file;
    EXPECT_EQ(p["remarks"][0]["level"], "remark");
    EXPECT_NE(p["remarks"][0]["text"].get<std::string>().find("depend"), std::string::npos);
  }
}

TEST_F(ReportCommand, PagesReplaceOnlyPages) {
  EXPECT_EQ(run("run hanging.json -o a --no-report").code, 0);
  std::ofstream(path("a/report.html")) << "mine";
  EXPECT_EQ(run("report a").code, 2);
  EXPECT_EQ(run("run hanging.json -o a").code, 2);
  EXPECT_EQ(run("run hanging.json -o a --no-report").code, 0);
  EXPECT_EQ(contents(path("a/report.html")), "mine");
  EXPECT_EQ(run("report a -o b.html").code, 0);
  EXPECT_EQ(run("report a -o b.html").code, 0) << "its own";
  EXPECT_EQ(run("report nothing").code, 2);
  EXPECT_EQ(run("report a a -o c.html").code, 2) << "two results, one name";
}

TEST_F(ReportCommand, ViewShowsTheFirstMomentWithItsContacts) {
  std::ofstream(path("rest.json")) << R"({"urto": 1, "title": "Rest", "bodies": [
    {"name": "floor", "kind": "fixed", "shapes": [{"kind": "half-space"}]},
    {"name": "ball", "position": [0, 0, 0.05], "density": 1000, "shapes": [{"kind": "sphere", "radius": 0.1}]}]})";
  const Output o = run("view rest.json");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, "rest.html\n");
  const auto p = page(path("rest.html"));
  EXPECT_EQ(p["mode"], "scene");
  EXPECT_EQ(p["frames"]["count"], 1);
  EXPECT_EQ(p["contacts"]["gap"]["n"], 1);
  EXPECT_FALSE(fs::exists(path("out"))) << "nothing has run";
  EXPECT_EQ(run("view rest.json -o moved.html --set bodies.ball.position=[0,0,1]").code, 0);
  EXPECT_EQ(page(path("moved.html"))["contacts"]["gap"]["n"], 0);
  EXPECT_EQ(run("view missing.json").code, 2);
}

TEST_F(ReportCommand, ExportsWhatIsAskedFor) {
  EXPECT_EQ(run("run busy.json -o a -q --no-report").code, 0);
  const Output o = run("export a --vtk series --gltf run.glb");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.out, "series/replay.pvd\nrun.glb\n");
  EXPECT_EQ(contents(path("run.glb")).substr(0, 4), "glTF");
  EXPECT_EQ(run("export a").code, 2) << "nothing was asked for";
  EXPECT_EQ(run("export a --gltf no/such/place.glb").code, 2);
}

TEST_F(ReportCommand, PlotsPicturesAndNumbers) {
  EXPECT_EQ(run("run busy.json -o a -q --no-report").code, 0);
  EXPECT_EQ(run("plot a --what energy -o e.csv").code, 0);
  EXPECT_EQ(contents(path("e.csv")).rfind("time,\"kinetic\",\"potential\",\"total\"\n", 0), 0u);
  EXPECT_EQ(run("plot a --what colour -o e.png").code, 2);
  EXPECT_EQ(run("plot a --what energy -o e.gif").code, 2);
  const Output without = run("plot a --what energy -o e.png", "URTO_PYTHON=/no/python");
  EXPECT_EQ(without.code, 2);
  EXPECT_NE(without.err.find("python3-matplotlib"), std::string::npos);
  EXPECT_FALSE(fs::exists(path("e.png")));
  EXPECT_EQ(std::distance(fs::directory_iterator(path("")), {}), 6)
      << "two scenes, the result, e.csv, and this test's .out and .err: nothing is left over";
  if (samples::shell("/usr/bin/python3 -c 'import matplotlib' >/dev/null 2>&1") != 0) {
    GTEST_SKIP() << "no matplotlib; script/setup bench installs it";
  }
  const Output o = run("plot a --what energy --what body:ball:z -o e.png");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(contents(path("e.png")).substr(1, 3), "PNG");
  for (const char* name : {"1.svg", "2.svg"}) {
    EXPECT_EQ(run(std::string("plot a --what certificate --csv -o ") + name).code, 0);
  }
  EXPECT_NE(contents(path("1.svg")).find("residual"), std::string::npos);
  EXPECT_EQ(contents(path("1.svg")), contents(path("2.svg"))) << "the same numbers, the same bytes";
  EXPECT_TRUE(fs::exists(path("1.csv")));
}

}  // namespace
}  // namespace urto
