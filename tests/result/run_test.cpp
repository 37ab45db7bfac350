// The run driver as a library: what `urto run` does without a command line.
#include "urto/result/run.h"

#include <fstream>

#include <gtest/gtest.h>

#include "result/result_samples.h"
#include "urto/error.h"
#include "urto/result/csv_export.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

class Run : public samples::FolderTest {};

TEST_F(Run, LeavesItsFilesAndASummary) {
  const Scene scene = parse_scene(samples::busy_scene, "test");
  int steps = 0, starts = 0;
  RunRequest request{.directory = path("a"), .derived = {csv_files()}};
  request.on_start = [&](const StartReport& start, const std::vector<std::string>&) {
    ++starts;
    EXPECT_EQ(start.mobility(), 6 + 2);
    EXPECT_FALSE(fs::exists(path("a"))) << "nothing is written before the start has succeeded";
  };
  request.on_step = [&](const RunProgress& now) {
    ++steps;
    EXPECT_EQ(now.end_time, 1);
  };
  const RunOutcome outcome = run_scene(scene, request);
  EXPECT_EQ(starts, 1);
  EXPECT_EQ(steps, 1000);
  EXPECT_TRUE(outcome.summary.finished());
  EXPECT_EQ(outcome.summary.counts.steps, 1000);
  EXPECT_EQ(outcome.summary.counts.frames, 101);
  EXPECT_EQ(outcome.summary.run.mobility(), 8);
  EXPECT_EQ(outcome.files.size(), 2u + 3);
  for (const fs::path& file : outcome.files) EXPECT_TRUE(fs::exists(file)) << file;
  EXPECT_TRUE(outcome.broken.empty());
}

TEST_F(Run, StoppedAndResumedIsTheSameRun) {
  const Scene scene = parse_scene(samples::busy_scene, "test");
  run_scene(scene, {.directory = path("whole")});
  int left = 321;
  RunRequest request{.directory = path("parts")};
  request.stop = [&] { return left-- == 0; };
  const RunOutcome half = run_scene(scene, request);
  EXPECT_EQ(half.summary.run.status, "interrupted");
  EXPECT_EQ(half.summary.counts.steps, 321);
  double from = 0;
  RunRequest rest{.directory = path("parts"), .resume = true};
  rest.on_resume = [&](double time, long) { from = time; };
  const RunOutcome all = run_scene(scene, rest);
  EXPECT_NEAR(from, 0.321, 1e-12);
  EXPECT_TRUE(all.summary.finished());
  EXPECT_EQ(all.summary.run.dofs, half.summary.run.dofs) << "the start is not repeated";
  EXPECT_GT(all.summary.run.wall_seconds, half.summary.run.wall_seconds);
  samples::expect_same_results(result_path(path("whole")), result_path(path("parts")));
}

TEST_F(Run, ReplacesItsOwnFilesAndNobodyElses) {
  const Scene scene = parse_scene(samples::hanging_scene, "test");
  run_scene(scene, {.directory = path("a"), .derived = {csv_files()}});
  RunRequest bare{.directory = path("a"), .derived = {csv_files()}};
  bare.derived[0].wanted = false;
  run_scene(scene, bare);
  EXPECT_FALSE(fs::exists(path("a/steps.csv"))) << "the table of another run";
  std::ofstream(path("a/steps.csv")) << "mine";
  run_scene(scene, bare);
  EXPECT_THROW(run_scene(scene, {.directory = path("a"), .derived = {csv_files()}}), InputError);
  fs::create_directories(path("b"));
  std::ofstream(path("b/result.h5")) << "mine";
  EXPECT_THROW(run_scene(scene, {.directory = path("b")}), InputError);
  std::ofstream(path("c")) << "mine";
  EXPECT_THROW(run_scene(scene, {.directory = path("c")}), InputError);
}

TEST_F(Run, SaysWhichFileItCouldDoWithout) {
  const Scene scene = parse_scene(samples::hanging_scene, "test");
  DerivedFiles broken{.names = {"x.txt"}, .is_ours = [](const fs::path&) { return true; }};
  broken.write = [](const ResultView&, const fs::path&) -> std::vector<fs::path> {
    throw InputError("no ink");
  };
  EXPECT_THROW(run_scene(scene, {.directory = path("a"), .derived = {broken}}), InputError);
  broken.required = false;
  const RunOutcome outcome = run_scene(scene, {.directory = path("a"), .derived = {broken}});
  EXPECT_EQ(outcome.unwritten, (std::vector<std::string>{"no ink"}));
  EXPECT_TRUE(outcome.summary.finished());
}

TEST_F(Run, BeginsWithAMomentThatCanBeLookedAt) {
  const Scene scene = parse_scene(samples::busy_scene, "test",
                                  std::vector<std::string>{"bodies.ball.position=[0,0,0.05]"});
  const FirstMoment first = first_moment(scene);
  EXPECT_EQ(first.start.mobility(), 8);
  ASSERT_EQ(first.result.frames.size(), 1u);
  ASSERT_EQ(first.result.frames[0].contacts.size(), 1u);
  EXPECT_NEAR(first.result.frames[0].contacts[0].gap, -0.05, 1e-12);
  EXPECT_EQ(first.result.frames[0].contacts[0].force, Vec3(Vec3::Zero())) << "nobody knows it yet";
  EXPECT_TRUE(first.result.steps.empty());
}

// A box that hovers a hundredth of a millimetre above the floor touches nothing yet, and has four
// contacts in its first step.
TEST_F(Run, TheFirstMomentHasEveryContactOfTheFirstStep) {
  const Scene scene = parse_scene(R"({"urto": 1, "bodies": [
    {"name": "floor", "kind": "fixed", "shapes": [{"kind": "half-space"}]},
    {"name": "box", "position": [0, 0, 0.10001], "density": 1000,
     "shapes": [{"kind": "box", "size": [0.2, 0.2, 0.2]}]},
    {"name": "ball", "position": [0, 0, 0.30102], "density": 1000,
     "shapes": [{"kind": "sphere", "radius": 0.1}]}],
    "simulation": {"duration": 0.01, "step": 0.001}})",
                                  "test");
  Simulation run(scene.model, scene.options);
  run.start();
  ASSERT_TRUE(run.advance());
  EXPECT_EQ(run.contacts().size(), 5U);
  EXPECT_EQ(first_moment(scene).result.frames[0].contacts.size(), run.contacts().size());
}

// About sixty frames a second; the result says how far they are apart.
TEST_F(Run, FramesAreAsManyAsCanBeLookedAtIfNobodySaysHowMany) {
  const auto frames = [&](const std::string& simulation) {
    const Scene scene = parse_scene(
        R"({"urto": 1, "gravity": 0, "bodies": [{"mass": 1, "inertia": [1, 1, 1]}],
            "simulation": )" +
            simulation + "}",
        "test");
    const RunOutcome outcome = run_scene(scene, {.directory = path("a")});
    return std::pair(outcome.summary.counts.frames, outcome.summary.settings.output_step);
  };
  // 5 s: 1/60 s is 16.67 steps, 17 are taken.
  EXPECT_EQ(frames(R"({"duration": 5, "step": 0.001})"), (std::pair{296L, 0.017}));
  EXPECT_EQ(frames(R"({"duration": 0.1, "step": 0.0001})"), (std::pair{201L, 0.0005}));
  EXPECT_EQ(frames(R"({"duration": 0.1, "step": 0.001})"), (std::pair{101L, 0.001}));
  EXPECT_EQ(frames(R"({"duration": 5, "step": 0.001, "output_step": 0.001})").first, 5001);
  // 20 000 steps of 10 µs are looked at 200 times; 10 000 steps of 10 ms would be 6000 frames, and
  // 3000 are enough.
  EXPECT_EQ(frames(R"({"duration": 0.2, "step": 1e-5})"), (std::pair{201L, 1e-3}));
  EXPECT_EQ(frames(R"({"duration": 100, "step": 0.01})"), (std::pair{3335L, 0.03}));
}

}  // namespace
}  // namespace urto
