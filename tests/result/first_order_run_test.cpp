// Runs of scenes without bodies leave the files that runs with bodies leave.
#include "urto/result/first_order_run.h"

#include <cmath>
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>

#include "result/result_samples.h"
#include "urto/error.h"
#include "urto/result/csv_export.h"
#include "urto/result/result_file.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

/// 5 V through 1 kΩ into 1 µF and a diode that lets nothing through.
constexpr const char* charging = R"({"urto": 1, "title": "RC",
  "circuit": {"components": [
    {"name": "V", "kind": "voltage-source", "nodes": ["in", "0"], "voltage": 5},
    {"name": "R", "kind": "resistor", "nodes": ["in", "out"], "resistance": 1e3},
    {"name": "D", "kind": "diode", "nodes": ["0", "out"]},
    {"name": "C", "kind": "capacitor", "nodes": ["out", "0"], "capacitance": 1e-6}]},
  "simulation": {"step": 1e-6, "duration": 2e-3, "output_step": 1e-5, "tolerance": 1e-12}})";

class FirstOrderRun : public samples::FolderTest {};

TEST_F(FirstOrderRun, RecordsWhatItsCircuitDoes) {
  const Scene scene = parse_scene(charging, "test");
  int starts = 0;
  RunRequest request{.directory = path("a"), .derived = {csv_files()}};
  request.on_start = [&](const StartReport& start, const std::vector<std::string>&) {
    ++starts;
    EXPECT_EQ(start.dofs, 1);
    EXPECT_FALSE(fs::exists(path("a")));
  };
  const RunOutcome outcome = run_scene(scene, request);
  EXPECT_EQ(starts, 1);
  EXPECT_TRUE(outcome.summary.finished());
  EXPECT_EQ(outcome.summary.verdict.level, Level::good);
  EXPECT_EQ(outcome.summary.counts.steps, 2000);
  EXPECT_EQ(outcome.summary.counts.frames, 201);
  EXPECT_LT(outcome.summary.run.worst_residual, 1e-12);

  const ResultReader result(path("a") / "result.h5");
  const Description& d = result.description();
  EXPECT_EQ(d.title, "RC");
  EXPECT_EQ(d.count("nodes"), 2u);
  EXPECT_EQ(d.count("components"), 4u);
  const std::vector<double> t = result.times(0, 201);
  const std::vector<double> v = result.channel(find_channel(d, "voltage"), 0, 201);
  const std::vector<double> i = result.channel(find_channel(d, "current"), 0, 201);
  EXPECT_NEAR(t.back(), 2e-3, 1e-15);
  for (std::size_t k = 1; k < t.size(); ++k) {
    const double exact = 5 * (1 - std::exp(-t[k] / 1e-3));
    EXPECT_NEAR(v[4 * k + 3], exact, 3e-3);  // implicit Euler: first order
    EXPECT_NEAR(i[4 * k + 1], (5 - v[4 * k + 3]) / 1e3, 1e-15);
    EXPECT_EQ(i[4 * k + 2], 0);
  }
}

TEST_F(FirstOrderRun, WritesItsNumbersAsCsv) {
  const Scene scene = parse_scene(charging, "test");
  run_scene(scene, {.directory = path("a"), .derived = {csv_files()}});
  EXPECT_FALSE(fs::exists(path("a") / "states.csv"));
  std::ifstream file(path("a") / "values.csv");
  std::string header, line, last;
  std::getline(file, header);
  EXPECT_EQ(header,
            "time [s],V.current [A],R.current [A],D.current [A],C.current [A],V.voltage [V],"
            "R.voltage [V],D.voltage [V],C.voltage [V],in.potential [V],out.potential [V]");
  int lines = 0;
  for (; std::getline(file, line); ++lines) last = line;
  EXPECT_EQ(lines, 201);
  std::stringstream numbers(last);
  std::string cell;
  for (int k = 0; k < 11; ++k) ASSERT_TRUE(std::getline(numbers, cell, ','));
  EXPECT_NEAR(std::stod(cell), 5 * (1 - std::exp(-2)), 3e-3);
  // A second run replaces its own files.
  run_scene(scene, {.directory = path("a"), .derived = {csv_files()}});
}

TEST_F(FirstOrderRun, StopsWhenAskedAndIsNotResumed) {
  const Scene scene = parse_scene(charging, "test");
  int left = 100;
  RunRequest request{.directory = path("a")};
  request.stop = [&] { return left-- == 0; };
  const RunOutcome outcome = run_scene(scene, request);
  EXPECT_EQ(outcome.summary.run.status, "interrupted");
  EXPECT_EQ(outcome.summary.counts.steps, 100);
  EXPECT_THROW(run_scene(scene, {.directory = path("a"), .resume = true}), InputError);
}

// Two sources against each other: no step, the reason is in the result, and what was recorded
// stays.
TEST_F(FirstOrderRun, FailureIsRecorded) {
  const Scene scene = parse_scene(R"({"urto": 1, "circuit": {"components": [
    {"name": "V", "kind": "voltage-source", "nodes": ["a", "0"], "voltage": 5},
    {"name": "W", "kind": "voltage-source", "nodes": ["b", "0"], "voltage": 3},
    {"name": "S", "kind": "switch", "nodes": ["a", "b"],
     "closed": {"pulse": {"period": 1, "delay": 0.5}}}]},
    "simulation": {"step": 0.1, "duration": 1}})",
                                  "test");
  const RunOutcome outcome = run_scene(scene, {.directory = path("a")});
  EXPECT_EQ(outcome.summary.run.status, "failed");
  EXPECT_EQ(outcome.summary.verdict.level, Level::failure);
  EXPECT_NEAR(outcome.summary.run.time, 0.5, 1e-12);
  EXPECT_EQ(outcome.summary.counts.steps, 5);
  EXPECT_NE(outcome.summary.run.failure.find("t = 0.5 s"), std::string::npos)
      << outcome.summary.run.failure;
}

TEST_F(FirstOrderRun, FirstMomentIsShownWithoutARun) {
  const FirstMoment moment = first_moment(parse_scene(charging, "test"));
  EXPECT_EQ(moment.start.dofs, 1);
  ASSERT_EQ(moment.result.frames.size(), 1u);
  EXPECT_EQ(moment.result.frames[0].channels.size(), 3u);
}

TEST_F(FirstOrderRun, ChoosesHowOftenToRecord) {
  SimulationOptions o;
  o.step = 1e-6;
  o.duration = 1;
  EXPECT_NEAR(output_step_of(o), 5e-4, 1e-12);
  o.duration = 1e-4;
  EXPECT_EQ(output_step_of(o), 1e-6);
  o.output_step = 1e-5;
  EXPECT_EQ(output_step_of(o), 1e-5);
}

}  // namespace
}  // namespace urto
