// The page and plots of a run without bodies: states over time, and over each other.
#include <gtest/gtest.h>

#include "result/result_samples.h"
#include "urto/error.h"
#include "urto/page/page_data.h"
#include "urto/page/plot_figure.h"
#include "urto/page/report_page.h"
#include "urto/result/result_file.h"
#include "urto/result/run.h"

namespace urto {
namespace {

class PageOfACircuit : public samples::FolderTest {
 protected:
  ResultReader result() {
    const Scene scene = parse_scene(R"({"urto": 1, "title": "LC",
      "circuit": {"components": [
        {"name": "L", "kind": "inductor", "nodes": ["a", "0"], "inductance": 1},
        {"name": "C", "kind": "capacitor", "nodes": ["a", "0"], "capacitance": 1, "voltage": 1}]},
      "watch": ["C.voltage"], "simulation": {"step": 0.01, "duration": 1}})",
                                    "test");
    run_scene(scene, {.directory = path("a"), .derived = {page_files()}});
    return ResultReader(path("a") / "result.h5");
  }
};

TEST_F(PageOfACircuit, HasASeriesOfEveryNumber) {
  const ResultReader r = result();
  EXPECT_TRUE(is_report(path("a") / "report.html"));
  const PageData page = page_data(r, {});
  EXPECT_EQ(page.json["model"]["bodies"].size(), 0u);
  EXPECT_EQ(page.json["frames"]["count"], 101);
  EXPECT_EQ(page.json["summary"]["dofs"], 2);
  EXPECT_EQ(page.json["watch"][0], "C.voltage");
  std::vector<std::string> names;
  for (const auto& s : page.json["series"]) {
    names.push_back(s["item"].get<std::string>() + "." + s["name"].get<std::string>() + " " +
                    s["unit"].get<std::string>());
  }
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"C.current A", "C.voltage V", "L.current A",
                                             "L.voltage V", "a.potential V"}));
}

TEST_F(PageOfACircuit, IsPlottedOverTimeAndAsAPhasePortrait) {
  const ResultReader r = result();
  const PlotPanel over_time = plot_panel(r, "item:C:voltage,current");
  ASSERT_EQ(over_time.series.size(), 2u);
  EXPECT_EQ(over_time.time.size(), 101u);
  EXPECT_EQ(over_time.label, "voltage,current [V, A]");
  const PlotPanel portrait = plot_panel(r, "phase:L:current:C:voltage");
  EXPECT_EQ(portrait.along, "L.current [A]");
  EXPECT_EQ(portrait.label, "C.voltage [V]");
  EXPECT_EQ(portrait.series[0].values, over_time.series[0].values);
  EXPECT_NE(portrait.time, over_time.time);
  for (const char* bad :
       {"item:Q:voltage", "item:C:potential", "phase:L:current", "phase:L:current:C:x"})
    EXPECT_THROW(plot_panel(r, bad), InputError) << bad;
  write_plot_csv(std::vector{portrait}, path("p.csv"));
  EXPECT_THROW(write_plot_csv(std::vector{portrait, over_time}, path("q.csv")), InputError);
}

}  // namespace
}  // namespace urto
