// Runs that are verified by the driver: what is in the file, and what may come between.
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "result/result_samples.h"
#include "urto/error.h"
#include "urto/result/run.h"
#include "urto/result/summary.h"

namespace urto {
namespace {

class VerifiedRunFile : public samples::FolderTest {};

Scene verified_scene(const std::vector<std::string>& set = {}) {
  std::vector<std::string> all{"simulation.verify=true", "simulation.duration=0.4"};
  all.insert(all.end(), set.begin(), set.end());
  return parse_scene(samples::busy_scene, "test", all);
}

void expect_same_numbers(const Verification& a, const Verification& b) {
  EXPECT_EQ(a.state, b.state);
  EXPECT_EQ(a.reason, b.reason);
  EXPECT_EQ(a.step, b.step);
  EXPECT_EQ(a.until, b.until);
  EXPECT_EQ(a.time, b.time);
  ASSERT_EQ(a.errors.size(), b.errors.size());
  for (std::size_t k = 0; k < a.errors.size(); ++k) {
    const QuantityError &x = a.errors[k], &y = b.errors[k];
    EXPECT_EQ(x.name, y.name);
    EXPECT_EQ(x.unit, y.unit);
    EXPECT_EQ(x.band, y.band) << x.name;
    EXPECT_EQ(x.worst_name, y.worst_name);
    for (const auto number :
         {&QuantityError::order, &QuantityError::worst, &QuantityError::worst_time,
          &QuantityError::mean, &QuantityError::last, &QuantityError::scale})
      EXPECT_TRUE(samples::same_bits({x.*number}, {y.*number})) << x.name;
  }
  ASSERT_EQ(a.statistics.size(), b.statistics.size());
  for (std::size_t k = 0; k < a.statistics.size(); ++k) {
    EXPECT_EQ(a.statistics[k].name, b.statistics[k].name);
    EXPECT_EQ(a.statistics[k].value, b.statistics[k].value);
  }
}

TEST_F(VerifiedRunFile, HoldsTheErrorAndTheRunItselfIsUnchanged) {
  const RunOutcome outcome = run_scene(verified_scene(), {.directory = path("verified")});
  run_scene(verified_scene({"simulation.verify=false"}), {.directory = path("plain")});
  samples::expect_same_results(result_path(path("verified")), result_path(path("plain")));
  EXPECT_FALSE(ResultReader(result_path(path("plain"))).verification());
  ASSERT_TRUE(outcome.summary.verification);
  const Verification& v = *outcome.summary.verification;
  EXPECT_EQ(v.state, VerificationState::converges);
  // Frames, but for some where the ball's impact began at one.
  EXPECT_EQ(v.time.front(), 0);
  EXPECT_EQ(v.time.back(), 0.4);
  EXPECT_GE(v.time.size(), 9u);
  const QuantityError* position = v.find("position");
  ASSERT_NE(position, nullptr);
  EXPECT_EQ(position->band.size(), v.time.size() * 5 * 3);
  // The ball falls for 0.2 s, the arms for 0.4 s: about g h t / 2 of each is missing.
  EXPECT_GT(position->worst, 5e-4);
  EXPECT_LT(position->worst, 1e-2);
  EXPECT_NEAR(position->order, 1, 0.3);
}

TEST_F(VerifiedRunFile, ReadsWhatWasWritten) {
  Result result = samples::invented_result();
  Verification& v = result.verification.emplace();
  v = {.state = VerificationState::parts,
       .reason = "",
       .step = 0.25,
       .expected_order = 1,
       .until = 0.5,
       .wall_seconds = 3,
       .time = {0, 0.5, 1}};
  v.errors.push_back({.name = "position",
                      .unit = "m",
                      .items = 2,
                      .width = 3,
                      .band = std::vector<double>(18, 0.25),
                      .order = 1.25,
                      .worst = 2,
                      .worst_time = 0.5,
                      .worst_item = 1,
                      .worst_name = "ball",
                      .mean = 0.5,
                      .last = 0.125,
                      .scale = 7});
  v.errors.push_back({.name = "energy",
                      .unit = "J",
                      .items = 3,
                      .width = 1,
                      .band = std::vector<double>(9, 0.5),
                      .order = std::numeric_limits<double>::quiet_NaN()});
  v.statistics.push_back({"mean kinetic energy", "J", {1, 2, 4}});
  write_result(path("r.h5"), result);
  const std::optional<Verification> read = ResultReader(path("r.h5")).verification();
  ASSERT_TRUE(read);
  expect_same_numbers(*read, v);
  EXPECT_EQ(read->statistics[0].spread(), 3);
  // Once more into the same file: the old one goes.
  v.state = VerificationState::exact;
  v.errors.pop_back();
  write_verification(path("r.h5"), v);
  expect_same_numbers(*ResultReader(path("r.h5")).verification(), v);
}

TEST_F(VerifiedRunFile, OfAResumedRunIsThatOfAWholeOne) {
  const Scene scene = verified_scene();
  const RunOutcome whole = run_scene(scene, {.directory = path("whole")});
  int left = 150;
  RunRequest request{.directory = path("parts")};
  request.stop = [&] { return left-- == 0; };
  const RunOutcome first = run_scene(scene, request);
  EXPECT_EQ(first.summary.run.status, "interrupted");
  EXPECT_FALSE(first.summary.verification) << "of a run that has not finished";
  const RunOutcome rest = run_scene(scene, {.directory = path("parts"), .resume = true});
  ASSERT_TRUE(rest.summary.verification);
  expect_same_numbers(*rest.summary.verification, *whole.summary.verification);
}

TEST_F(VerifiedRunFile, InterruptedWhileItIsVerifiedIsAWholeRunWithoutAnError) {
  const Scene scene = verified_scene();
  int left = 400 + 100;
  RunRequest request{.directory = path("a")};
  request.stop = [&] { return left-- == 0; };
  double reached = 0;
  request.on_verify = [&](const VerificationProgress& now) {
    EXPECT_EQ(now.parts, 2);
    EXPECT_EQ(now.end_time, 0.4);
    reached = now.time;
  };
  const RunOutcome outcome = run_scene(scene, request);
  EXPECT_TRUE(outcome.verification_interrupted);
  EXPECT_TRUE(outcome.summary.finished());
  EXPECT_FALSE(outcome.summary.verification);
  EXPECT_GT(reached, 0.01);
  EXPECT_LT(reached, 0.1);
  // What was interrupted can be done later.
  const RunOutcome again = run_scene(scene, {.directory = path("a"), .resume = true});
  EXPECT_TRUE(again.summary.verification);
}

TEST_F(VerifiedRunFile, OfRunsInWhichNothingHappens) {
  const RunOutcome nothing =
      run_scene(verified_scene({"simulation.duration=0"}), {.directory = path("nothing")});
  ASSERT_TRUE(nothing.summary.verification);
  EXPECT_EQ(nothing.summary.verification->state, VerificationState::exact);
  EXPECT_EQ(nothing.summary.verification->find("position")->worst, 0);
  // A kinematic body moves by its formula, whatever the step.
  const Scene told = parse_scene(R"({
    "urto": 1,
    "bodies": [{ "name": "arm", "kind": "kinematic",
                 "motion": { "axis": [0, 0, 1], "angle": { "polynomial": [0, 2] } } }],
    "simulation": { "duration": 0.5, "step": 0.01, "verify": true }
  })",
                                 "test");
  const RunOutcome kinematic = run_scene(told, {.directory = path("kinematic")});
  ASSERT_TRUE(kinematic.summary.verification);
  EXPECT_EQ(kinematic.summary.verification->state, VerificationState::exact);
}

TEST_F(VerifiedRunFile, ARunThatFailedIsNotVerified) {
  const RunOutcome outcome =
      run_scene(verified_scene({"simulation.stop_on_failure=true", "simulation.tolerance=1e-30"}),
                {.directory = path("a")});
  EXPECT_EQ(outcome.summary.run.status, "failed");
  EXPECT_FALSE(outcome.summary.verification);
  EXPECT_FALSE(outcome.verification_interrupted);
}

/// Blown away between the steps of the run, which does not see it: at half the step nothing is a
/// number any more.
constexpr const char* fails_at_half_the_step = R"({
  "urto": 1, "gravity": 0,
  "bodies": [{ "name": "speck", "mass": 1e-3, "inertia": [1e-6, 1e-6, 1e-6],
               "velocity": [1, 0, 0] }],
  "forces": [{ "kind": "load", "body": "speck", "force": [
    { "table": [[0, 0], [0.004, 0], [0.005, 1e308], [0.006, 0], [0.01, 0]] }, 0, 0] }],
  "simulation": { "duration": 0.1, "step": 0.01, "verify": true }
})";

TEST_F(VerifiedRunFile, ARunWhoseHalfFailsIsAFailure) {
  const Scene scene = parse_scene(fails_at_half_the_step, "test");
  const RunOutcome outcome = run_scene(scene, {.directory = path("a")});
  EXPECT_EQ(outcome.summary.run.status, "finished");
  ASSERT_TRUE(outcome.summary.verification);
  EXPECT_EQ(outcome.summary.verification->state, VerificationState::incomplete);
  EXPECT_EQ(outcome.summary.verdict.level, Level::failure);
  const std::string why = "the run at a half of the step failed at t = 0.005 s";
  const Finding& finding = outcome.summary.verdict.findings.front();
  EXPECT_EQ(finding.what, "verification");
  EXPECT_TRUE(finding.text.starts_with("The run could not be verified: " + why)) << finding.text;
  const ResultReader file(result_path(path("a")));
  EXPECT_EQ(file.text("/verdict/level"), "failure");
  EXPECT_EQ(file.text("/verification/state"), "incomplete");
  EXPECT_TRUE(file.text("/verification/reason").starts_with(why));
  // The run itself, not verified, is a good one.
  const std::vector<std::string> unverified{"simulation.verify=false"};
  const Scene plain = parse_scene(fails_at_half_the_step, "test", unverified);
  EXPECT_EQ(run_scene(plain, {.directory = path("b")}).summary.verdict.level, Level::good);
}

TEST_F(VerifiedRunFile, TheVerdictKnowsAMotionThatDependsOnTheStep) {
  Result r = samples::invented_result();
  for (StepRecord& s : r.steps) {
    s.energy = {};
    s.energy.kinetic = s.energy.start = 1;
    s.report.meets_tolerance = true;
  }
  r.description.joints.clear();
  r.description.scale.size = 2;
  r.status.start_energy = 1;
  const auto found = [&](const Verification& v) {
    r.verification = v;
    const Verdict verdict = judge(ResultValues(r));
    const auto at = std::ranges::find(verdict.findings, "verification", &Finding::what);
    EXPECT_NE(at, verdict.findings.end());
    return at == verdict.findings.end() ? Finding{} : *at;
  };
  EXPECT_EQ(found({.state = VerificationState::exact}).level, Level::good);
  const Finding parts = found({.state = VerificationState::parts, .until = 0.5});
  EXPECT_EQ(parts.level, Level::remark);
  EXPECT_EQ(parts.time, 0.5);
  Verification v{.state = VerificationState::converges};
  v.errors.push_back({.name = "position", .worst = 0.1});
  EXPECT_EQ(found(v).level, Level::good) << "a twentieth of its 2 m";
  v.errors[0].worst = 0.5;
  EXPECT_EQ(found(v).level, Level::remark);
  EXPECT_EQ(found(v).found, 0.25);
  EXPECT_EQ(found({.state = VerificationState::incomplete, .reason = "why"}).level, Level::failure);
}

TEST_F(VerifiedRunFile, TheSummarySaysTheErrorForPeople) {
  const RunOutcome outcome = run_scene(verified_scene(), {.directory = path("a")});
  std::string text;
  for (const SummaryLine& line : summary_lines(outcome.summary))
    text += line.name + " " + line.value + "\n";
  EXPECT_NE(text.find("error positions at most "), std::string::npos) << text;
  EXPECT_NE(text.find("expected 1"), std::string::npos) << text;
  EXPECT_NE(text.find("energy "), std::string::npos) << text;
  EXPECT_NE(text.find("contact impulses "), std::string::npos) << text;
}

}  // namespace
}  // namespace urto
