// Pages of results that no simulation made: of values, of modes and of a scene at rest.
#include <cstring>
#include <set>

#include <gtest/gtest.h>

#include "result/result_samples.h"
#include "urto/error.h"
#include "urto/page/analysis_page.h"
#include "urto/page/page_data.h"
#include "urto/page/plot_figure.h"
#include "urto/result/step_columns.h"

namespace urto {
namespace {

using nlohmann::json;

class PageOfValues : public samples::FolderTest {};

/// Somebody else's view, which counts what is read of its frames and steps.
class CountingView final : public ResultView {
 public:
  explicit CountingView(const ResultView& of) : of_(of) {}

  const Description& description() const override { return of_.description(); }
  RunStatus status() const override { return of_.status(); }
  ResultCounts counts() const override { return of_.counts(); }
  std::vector<double> times(long first, long count) const override {
    note(count);
    return of_.times(first, count);
  }
  std::vector<double> channel(int channel, long first, long count) const override {
    note(count);
    return of_.channel(channel, first, count);
  }
  std::vector<std::vector<RecordedContact>> contacts(long first, long count) const override {
    note(count);
    return of_.contacts(first, count);
  }
  std::vector<double> step_values(std::size_t column, long first, long count) const override {
    note(count);
    return of_.step_values(column, first, count);
  }

  long reads() const { return reads_; }
  long rows() const { return rows_; }

 private:
  void note(long count) const {
    ++reads_;
    rows_ += count;
  }
  const ResultView& of_;
  mutable long reads_ = 0, rows_ = 0;
};

/// The invented result once more, with so many frames and steps.
Result long_result(int frames, int steps) {
  Result out = samples::invented_result();
  const Frame frame = out.frames.back();
  const StepRecord step = out.steps.back();
  out.frames.clear();
  out.steps.clear();
  for (int f = 0; f < frames; ++f) {
    out.frames.push_back(frame);
    out.frames.back().time = 1e-3 * f;
    out.frames.back().step = f;
  }
  for (int k = 0; k < steps; ++k) {
    out.steps.push_back(step);
    out.steps.back().time = 1e-3 * (k + 1);
  }
  out.status.steps = steps;
  return out;
}

std::vector<float> floats_of(const PageData& page, const json& where) {
  std::vector<float> out(where["n"].get<std::size_t>());
  std::memcpy(out.data(), page.binary.data() + where["at"].get<std::size_t>(),
              out.size() * sizeof(float));
  return out;
}

TEST_F(PageOfValues, IsThePageOfItsFile) {
  const Result result = samples::invented_result();
  write_result(path("r.h5"), result);
  const PageData one = page_data(ResultValues(result), {});
  const PageData other = page_data(ResultReader(path("r.h5")), {});
  EXPECT_EQ(one.json.dump(), other.json.dump());
  EXPECT_EQ(one.binary, other.binary);
  EXPECT_EQ(one.json["frames"]["count"], 3);
  EXPECT_EQ(one.json["summary"]["steps"], 5);
  EXPECT_EQ(floats_of(one, one.json["contacts"]["force"]),
            (std::vector<float>{0, 0, 10, 0, 0, 20}));
  write_report(ResultValues(result), path("page.html"));
  EXPECT_TRUE(is_report(path("page.html")));
}

TEST_F(PageOfValues, HasSeriesOfChannelsThatOnlyItKnows) {
  const Result result = samples::invented_result();
  const PageData page = page_data(ResultValues(result), {});
  std::set<std::string> names;
  for (const json& s : page.json["series"]) {
    names.insert(s["group"].get<std::string>() + " " + s["item"].get<std::string>() + " " +
                 s["name"].get<std::string>());
  }
  for (const char* name : {"joint crank angle", "joint crank angle rate", "joint crank moment z",
                           "motor drive force", "sensor left strain", "sensor right strain"}) {
    EXPECT_TRUE(names.contains(name)) << name;
  }
}

TEST_F(PageOfValues, HasEveryStepColumnAndDrawsThoseOfAPanel) {
  const Result result = samples::invented_result();
  const PageData page = page_data(ResultValues(result), {});
  const json& steps = page.json["steps"];
  std::set<std::string> drawn;
  for (const json& panel : steps["panels"]) {
    for (const json& column : panel["columns"]) drawn.insert(column["column"].get<std::string>());
  }
  for (const StepColumn& c : step_columns()) {
    const std::string name(c.name);
    if (name == "time") continue;
    ASSERT_TRUE(steps["columns"].contains(name)) << name;
    EXPECT_EQ(floats_of(page, steps["columns"][name]).back(),
              static_cast<float>(c.value(result.steps.back())))
        << name;
    const bool only_adaptive = c.panel == "step" || c.panel == "local_error";
    EXPECT_EQ(drawn.contains(name), !c.panel.empty() && !only_adaptive) << name;
    if (c.panel.empty()) continue;
    const PlotPanel plot = plot_panel(ResultValues(result), std::string(c.panel));
    EXPECT_NE(std::ranges::find(plot.series, c.label, &PlotSeries::name), plot.series.end())
        << "urto plot " << c.panel << " has no " << c.label;
  }
  for (const json& phase : page.json["summary"]["seconds"]) {
    EXPECT_NO_THROW(step_column("seconds/" + phase["phase"].get<std::string>()));
  }
}

// Reading frame by frame made the page of 20 000 recorded steps dearer than the run: every read
// opens a dataset and inflates a chunk.
TEST_F(PageOfValues, OfALongRunIsReadInBulk) {
  const Result recorded = long_result(20'001, 20'000);
  const ResultValues values(recorded);
  // What a page looks at: channels of frames, their times and contacts, columns of steps; the
  // summary reads a few of them once more.
  const auto series = static_cast<long>(recorded.description.channels.size() + 2);
  const auto columns = static_cast<long>(step_columns().size());
  const CountingView whole(values);
  EXPECT_EQ(page_data(whole, {}).json["frames"]["count"], 20'001);
  EXPECT_LE(whole.reads(), 2 * (series + columns)) << "independent of the number of frames";
  EXPECT_LE(whole.rows(), 2 * (series + columns) * 20'001);
  // Thinned to some hundreds, those in between are read along or left out, but never twice.
  PageOptions thinned;
  thinned.frame_bytes = 60'000;
  const CountingView sparse(values);
  const json frames = page_data(sparse, thinned).json["frames"];
  EXPECT_LE(frames["count"], 500);
  EXPECT_LE(sparse.reads(), 2 * (series + columns));
  EXPECT_LE(sparse.rows(), whole.rows());
}

TEST_F(PageOfValues, ShowsAChapterForEveryMode) {
  const Scene scene = parse_scene(samples::hanging_scene, "test");
  const State at = initial_state(scene.model);
  Eigen::VectorXcd swing = Eigen::VectorXcd::Zero(6);
  swing[0] = 1;
  const AnalysisPage page = mode_page(scene, {}, at, {{"swing", swing}, {"again", swing}});
  EXPECT_EQ(page.options.chapters.size(), 2u);
  ASSERT_EQ(page.result.frames.size(), 2u * 49);
  const int position = find_channel(page.result.description, "position");
  const auto x = [&](std::size_t frame) { return page.result.frames[frame].channels[position][3]; };
  EXPECT_NEAR(x(0), 0, 1e-12);
  EXPECT_NEAR(x(12), -x(36), 1e-12);
  EXPECT_NEAR(std::abs(x(12)), 0.1, 1e-12) << "a tenth of the scene";
  const PageData data = page_data(ResultValues(page.result), page.options);
  EXPECT_EQ(data.json["mode"], "modes");
  EXPECT_TRUE(data.json["remarks"].empty()) << "nothing ran, nothing was missed";
}

TEST_F(PageOfValues, OfASceneAtRestHasItsReactions) {
  const Scene scene = parse_scene(samples::hanging_scene, "test",
                                  std::vector<std::string>{R"(bodies.bob.velocity=[1,0,0])"});
  RigidSystem system(scene.model);
  const State given = initial_state(scene.model);
  State rest = given;
  const StaticsReport report = find_equilibrium(system, rest);
  ASSERT_TRUE(report.converged);
  const AnalysisPage page = statics_page(scene, {}, {given, rest, report, true, "at rest"});
  ASSERT_EQ(page.result.frames.size(), 2u);
  EXPECT_LT(page.result.frames[0].time, page.result.frames[1].time);
  const int reaction = find_channel(page.result.description, "joint_reaction");
  EXPECT_TRUE(std::isnan(page.result.frames[0].channels[reaction][2]));
  EXPECT_NEAR(page.result.frames[1].channels[reaction][2], 2 * 9.81, 1e-8);
  const AnalysisPage lost = statics_page(scene, {}, {given, rest, {}, false, "no rest"});
  EXPECT_EQ(lost.result.status.status, "failed");
  EXPECT_TRUE(std::isnan(lost.result.frames[1].channels[reaction][2])) << "nobody knows it";
  write_page(lost, path("lost.html"));
  EXPECT_TRUE(is_report(path("lost.html")));
}

}  // namespace
}  // namespace urto
