// The verdict of a run: what is nonsense must fail, what is not must not, whatever its size; and it
// is the same wherever it is read.
#include "urto/result/verdict.h"

#include <cmath>
#include <fstream>
#include <limits>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "result/result_samples.h"
#include "support/paths.h"
#include "urto/result/run.h"

namespace urto {
namespace {

using nlohmann::json;

Result recorded(const Scene& scene) {
  Simulation run(scene.model, scene.options);
  run.start();
  Result result{.description = first_moment(scene).result.description};
  const ModelScales scales = scales_of(scene.model);
  while (run.advance()) result.steps.push_back(record_step(run, scales));
  result.status = record_status(run);
  return result;
}

Verdict verdict_of(const std::string& scene, const std::vector<std::string>& set = {}) {
  return judge(ResultValues(recorded(parse_scene(scene, "test", set))));
}

const Finding* find(const Verdict& verdict, std::string_view what) {
  const auto at = std::ranges::find(verdict.findings, what, &Finding::what);
  return at == verdict.findings.end() ? nullptr : &*at;
}

std::string texts(const Verdict& verdict) {
  std::string out;
  for (const Finding& f : verdict.findings)
    out += fmt::format("{} {}: {}\n", to_string(f.level), f.what, f.text);
  return out;
}

// ---- Runs that are nonsense, and runs that are not, in three sizes each

/// Scenes written in lengths of s metres, with gravity and stiffness such that the motion in units
/// of s is the same for every s.
const json& cases() {
  static const json all =
      json::parse(std::ifstream(samples::source_dir() / "tests/result/verdicts.json"));
  return all;
}

class VerdictOf : public testing::TestWithParam<std::size_t> {};

TEST_P(VerdictOf, ARunDoesNotDependOnItsSize) {
  const json& c = cases()[GetParam()];
  const std::string name = c["name"], wanted = c["verdict"], what = c.value("for", "");
  for (const char* size : {"1", "1e-3", "1e3"}) {
    const Verdict v = verdict_of(c["scene"].dump(), {fmt::format("parameters.s={}", size)});
    EXPECT_EQ(to_string(v.level), wanted) << name << " in units of " << size << " m\n" << texts(v);
    if (what.empty()) continue;
    const Finding* why = find(v, what);
    ASSERT_NE(why, nullptr) << texts(v);
    EXPECT_EQ(why->level, Level::failure) << name << " for its " << what << "\n" << texts(v);
  }
}

INSTANTIATE_TEST_SUITE_P(Scenes, VerdictOf, testing::Range(std::size_t{0}, cases().size()));

// ---- The example of the issue that asked for verdicts

/// An arm of 1 m on a motor that jumps to 300 rad/s: five turns a step of 0.1 s.
constexpr const char* too_fast = R"({"urto": 1,
  "bodies": [{"name": "arm", "position": [0.5, 0, 0], "mass": 1,
              "shapes": [{"kind": "box", "size": [1, 0.1, 0.1], "collides": false}]}],
  "joints": [{"name": "shaft", "kind": "revolute", "bodies": ["world", "arm"],
              "position": [0, 0, 0], "axis": [0, 1, 0],
              "motor": {"mode": "speed", "value": 300}}],
  "simulation": {"duration": 2, "step": 0.1}})";

TEST(Verdict, OfAMotorTooFastForItsStepIsFailureThoughEveryStepIsCertified) {
  const Verdict v = verdict_of(too_fast);
  EXPECT_EQ(v.level, Level::failure);
  EXPECT_EQ(find(v, "certificates")->level, Level::good) << "each problem was solved";
  const Finding* joint = find(v, "joint error");
  ASSERT_NE(joint, nullptr);
  EXPECT_EQ(joint->level, Level::failure);
  EXPECT_GT(joint->found, 10) << "of the arm's length";
  EXPECT_EQ(joint->tolerated, 0.1);
  EXPECT_NE(joint->text.find("'shaft'"), std::string::npos) << joint->text;
}

TEST(Verdict, KnowsTheFirstStepToo) {
  const Verdict v = verdict_of(too_fast, {"simulation.duration=0.1"});
  EXPECT_EQ(v.level, Level::failure) << texts(v);
  EXPECT_EQ(find(v, "joint error")->time, 0.1);
}

TEST(Verdict, IsTheSameOnEveryPathToIt) {
  const Scene scene = parse_scene(too_fast, "test");
  const Result result = recorded(scene);
  const auto file = std::filesystem::temp_directory_path() / fmt::format("urto-v-{}.h5", getpid());
  write_result(file, result);
  {
    const ResultReader read(file);
    const Verdict v = judge(ResultValues(result)), again = judge(read);
    EXPECT_EQ(texts(v), texts(again));
    EXPECT_EQ(summarise(read).verdict.level, Level::failure);
    EXPECT_EQ(read.text("/verdict/level"), "failure");
    const auto stored = read.texts("/verdict/findings/text");
    const auto found = read.numbers("/verdict/findings/found");
    ASSERT_EQ(stored.size(), v.findings.size());
    for (std::size_t k = 0; k < stored.size(); ++k) {
      EXPECT_EQ(stored[k], v.findings[k].text);
      EXPECT_EQ(found[k], v.findings[k].found);
      EXPECT_EQ(read.texts("/verdict/findings/level")[k], to_string(v.findings[k].level));
    }
  }
  std::filesystem::remove(file);
}

class VerdictFile : public samples::FolderTest {};

TEST_F(VerdictFile, OfAResumedRunIsThatOfTheWhole) {
  const Scene scene = parse_scene(samples::busy_scene, "test");
  int left = 100;
  RunRequest request{.directory = path("a")};
  request.stop = [&] { return left-- == 0; };
  const RunOutcome half = run_scene(scene, request);
  EXPECT_EQ(half.summary.verdict.level, Level::remark) << "interrupted";
  EXPECT_EQ(ResultReader(path("a/result.h5")).text("/verdict/level"), "remark");
  const RunOutcome all = run_scene(scene, {.directory = path("a"), .resume = true});
  EXPECT_EQ(all.summary.verdict.level, Level::good) << texts(all.summary.verdict);
  EXPECT_EQ(ResultReader(path("a/result.h5")).text("/verdict/level"), "good");
}

// ---- The rules one by one, on results that nobody simulated

EnergyAudit energies(double kinetic, double potential, double start) {
  EnergyAudit out;
  out.kinetic = kinetic;
  out.potential = potential;
  out.start = start;
  return out;
}

/// Steps of a run in which 1 J is moved.
Result quiet() {
  Result out = samples::invented_result();
  out.description.joints.clear();
  for (StepRecord& s : out.steps) {
    s.energy = energies(1, 0, 1);
    s.report.meets_tolerance = true;
  }
  out.status.start_energy = 1;
  return out;
}

/// Sets what the account called "numerical" holds, and another so that the balance closes.
void set_numerical(Result& result, const std::vector<double>& values) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    EnergyAudit& e = result.steps[k].energy;
    e = energies(1, 0, 1);
    e.supplied = -values[k];
    e.defect = values[k];
  }
}

Level energy_level(const Result& result) {
  return find(judge(ResultValues(result)), "numerical energy")->level;
}

TEST(VerdictRules, EnergyFromNowhereCountsFromAnyMoment) {
  Result r = quiet();
  EXPECT_EQ(judge(ResultValues(r)).level, Level::good) << texts(judge(ResultValues(r)));
  set_numerical(r, {0, 0.005, 0.009, 0.005, 0});
  EXPECT_EQ(energy_level(r), Level::good) << "less than a hundredth of the 1 J that moves";
  set_numerical(r, {0, 0.1, 0.2, 0.3, 0.4});
  EXPECT_EQ(energy_level(r), Level::remark);
  set_numerical(r, {0, 0.1, 0.2, 0.3, 0.6});
  EXPECT_EQ(energy_level(r), Level::failure);
  set_numerical(r, {0, -0.6, -0.6, 0, 0});
  EXPECT_EQ(energy_level(r), Level::failure) << "what was lost before does not pay for it";
  set_numerical(r, {0, -0.3, -0.6, -0.9, -0.95});
  EXPECT_EQ(energy_level(r), Level::remark) << "a method that damps makes nothing up";
}

TEST(VerdictRules, EnergyThatNoAccountExplainsCountsAsWell) {
  Result r = quiet();
  r.steps[3].energy.kinetic = 3;  // of which two came from nowhere
  EXPECT_EQ(energy_level(r), Level::failure);
}

TEST(VerdictRules, EnergyThatIsNoNumberIsFailure) {
  for (const double x :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    Result r = quiet();
    r.steps[3].energy.kinetic = x;
    EXPECT_EQ(judge(ResultValues(r)).level, Level::failure) << x;
  }
}

TEST(VerdictRules, WhatRestsHasNoEnergyToLose) {
  Result r = quiet();
  // A body of 1 kg under gravity: rounding of its potential energy, and no motion.
  for (std::size_t k = 0; k < r.steps.size(); ++k)
    r.steps[k].energy = energies(1e-20, 100 + 1e-13 * static_cast<double>(k), 100);
  r.status.start_energy = 100;
  EXPECT_EQ(energy_level(r), Level::good);
}

TEST(VerdictRules, HaveTheirBorders) {
  const auto with = [](StepShares shares) {
    Result r = quiet();
    r.description.joints = samples::invented_result().description.joints;
    r.description.groups = {{"limits", {"stop"}}};
    r.description.scale.size = 2;
    r.description.scale.start_limit = 0.5;
    r.description.scale.start_penetration = 0.3;
    r.steps[2].shares = shares;
    return judge(ResultValues(r));
  };
  using Worst = StepShares::Worst;
  EXPECT_EQ(with({.joint = {0.009, 0}}).level, Level::good);
  EXPECT_EQ(with({.joint = {0.011, 0}}).level, Level::remark);
  const Verdict torn = with({.joint = {0.11, 0}});
  EXPECT_EQ(torn.level, Level::failure);
  EXPECT_EQ(torn.findings[0].what, "joint error") << "the worst is first";
  EXPECT_EQ(torn.findings[0].time, 0.75) << "the end of the third step";
  EXPECT_EQ(with({.joint = {std::nan(""), 0}}).level, Level::failure);
  EXPECT_EQ(with({.limit = Worst{0.505, 0}}).level, Level::good) << "it was broken at the start";
  EXPECT_EQ(with({.limit = Worst{0.55, 0}}).level, Level::remark);
  EXPECT_EQ(with({.limit = Worst{0.65, 0}}).level, Level::failure);
  EXPECT_EQ(with({.penetration = {0.3, 1}, .against = 0}).level, Level::good);
  EXPECT_EQ(with({.penetration = {0.4, 1}, .against = 0}).level, Level::remark);
  EXPECT_EQ(with({.penetration = {0.9, 1}, .against = 0}).level, Level::failure);
  EXPECT_EQ(with({.reach = {99, 1}}).level, Level::good);
  EXPECT_EQ(with({.reach = {101, 1}}).level, Level::remark);
  EXPECT_EQ(with({.reach = {1e7, 1}}).level, Level::failure);
}

TEST(VerdictRules, CutStepsMissedStepsAndTheEndAreWeighed) {
  Result r = quiet();
  r.steps[1].report.cuts = 2;
  EXPECT_EQ(find(judge(ResultValues(r)), "Newton")->level, Level::remark);
  r = quiet();
  r.status.missed = 1;
  r.steps[1].report.meets_tolerance = false;
  const Verdict missed = judge(ResultValues(r));
  EXPECT_EQ(missed.level, Level::failure);
  EXPECT_NE(missed.findings[0].text.find("the first at t = 0.5 s"), std::string::npos);
  for (const auto& [status, level] :
       {std::pair("interrupted", Level::remark), std::pair("running", Level::remark),
        std::pair("failed", Level::failure), std::pair("finished", Level::good)}) {
    r = quiet();
    r.status.status = status;
    EXPECT_EQ(judge(ResultValues(r)).level, level) << status;
  }
}

TEST(VerdictRules, RemarksCountAndAreListed) {
  Result r = quiet();
  r.description.warnings = {"limit 'stop' is broken", "a joint too many"};
  const Verdict v = judge(ResultValues(r));
  EXPECT_EQ(short_verdict(v), "2 remarks");
  r.status.status = "failed";
  EXPECT_EQ(short_verdict(judge(ResultValues(r))), "1 failure, 2 remarks");
  EXPECT_EQ(short_verdict(judge(ResultValues(quiet()))), "good");
}

/// A result of before there were shares.
class OlderResult final : public ResultView {
 public:
  explicit OlderResult(const Result& result) : now_(result) {}
  const Description& description() const override { return now_.description(); }
  RunStatus status() const override { return now_.status(); }
  ResultCounts counts() const override { return now_.counts(); }
  std::vector<double> times(long a, long n) const override { return now_.times(a, n); }
  std::vector<double> channel(int c, long a, long n) const override {
    return now_.channel(c, a, n);
  }
  std::vector<std::vector<RecordedContact>> contacts(long a, long n) const override {
    return now_.contacts(a, n);
  }
  std::vector<double> step_values(std::size_t column, long a, long n) const override {
    const std::string_view name = step_columns()[column].name;
    if (!name.ends_with("_share") && !name.starts_with("worst_") && name != "reach" &&
        name != "cuts")
      return now_.step_values(column, a, n);
    return std::vector<double>(static_cast<std::size_t>(n), std::nan(""));
  }

 private:
  ResultValues now_;
};

TEST(VerdictRules, AnOlderResultIsJudgedByWhatItKnows) {
  Result r = quiet();
  r.description.joints = samples::invented_result().description.joints;
  r.description.groups = {{"limits", {"stop"}}};
  r.description.scale.size = 2;
  const Verdict v = judge(OlderResult(r));
  EXPECT_EQ(v.level, Level::good) << texts(v);
  for (const char* what : {"joint error", "limits", "penetration", "reach", "Newton"})
    EXPECT_EQ(find(v, what), nullptr) << what << " is not known";
  r.status.missed = 1;
  EXPECT_EQ(judge(OlderResult(r)).level, Level::failure);
}

// ---- Sizes

TEST(ModelScales, OfAChainAreThoseOfItsLinks) {
  const Scene scene = parse_scene(R"({"urto": 1, "bodies": [
      {"name": "a", "position": [0.5, 0, 0], "mass": 1, "inertia": [1, 1, 1]},
      {"name": "b", "position": [1.1, 0, 0], "mass": 1, "inertia": [1, 1, 1]}],
    "joints": [
      {"name": "p", "kind": "spherical", "bodies": ["world", "a"], "position": [0, 0, 0]},
      {"name": "q", "kind": "spherical", "bodies": ["a", "b"], "position": [1, 0, 0]}]})",
                                  "test");
  const ModelScales s = scales_of(scene.model);
  EXPECT_NEAR(s.joints[0], 1, 1e-12) << "from hinge to hinge";
  EXPECT_NEAR(s.joints[1], 0.2, 1e-12) << "the smaller: its hinge is 0.1 m from its centre";
  // b is taken to reach as far to its other side: the box is 1.2 long and 1 across (from a).
  EXPECT_NEAR(s.size, std::sqrt(1.2 * 1.2 + 1 + 1), 1e-12);
}

TEST(ModelScales, OfAFormlessBodyIsTheRodOfItsInertia) {
  // A homogeneous rod of 3 m and 2 kg: m l²/12 = 1.5.
  const Scene scene = parse_scene(R"({"urto": 1, "gravity": [0, 0, -10], "bodies": [
      {"name": "rod", "mass": 2, "inertia": [1.5, 1.5, 0.01]}]})",
                                  "test");
  const ModelScales s = scales_of(scene.model);
  EXPECT_NEAR(s.size, 3 * std::sqrt(3.0), 1e-12) << "a cube around it";
  EXPECT_NEAR(least_energy(scene.model, s, 0.1, 1), 2 * 10 * 10 * 0.01, 1e-12) << "m g · g h²";
}

// ---- The start

/// A ball in the floor, a hinge that is a centimetre off and beyond its stop, a step twice the
/// duration, and frames farther apart than it lasts.
constexpr const char* odd_start = R"({"urto": 1, "gravity": [0, 0, 0],
  "bodies": [
    {"name": "floor", "kind": "fixed", "shapes": [{"kind": "half-space"}]},
    {"name": "ball", "position": [3, 0, 0.05], "mass": 1,
     "shapes": [{"kind": "sphere", "radius": 0.1}]},
    {"name": "arm", "position": [0, 0, 2.01], "mass": 1, "inertia": [0.1, 0.1, 0.1]}],
  "markers": [{"name": "here", "body": "world", "position": [0, 0, 2], "z": [0, 1, 0]},
              {"name": "there", "body": "arm", "position": [0, 0, 0], "z": [0, 1, 0]}],
  "joints": [{"name": "pin", "kind": "revolute", "markers": ["here", "there"],
              "limits": {"angle": [0.1, 1]}}],
  "simulation": {"duration": 0.05, "step": 0.1, "output_step": 1}})";

TEST(Start, SaysAllThatIsOdd) {
  const FirstMoment first = first_moment(parse_scene(odd_start, "test"));
  std::string all;
  for (const std::string& w : first.result.description.warnings) all += w + "\n";
  for (const char* part :
       {"assembling moved a body by 0.01 m or rad (the joints were off by 0.01)",
        "'ball' and 'floor' overlap by 0.05 m", "pin.angle starts at 0, outside [0.1, 1]",
        "the step of 0.1 s is longer than the duration: one step of 0.05 s is taken",
        "frames every 1 s are farther apart than the duration of 0.05 s"}) {
    EXPECT_NE(all.find(part), std::string::npos) << part << " in:\n" << all;
  }
  EXPECT_EQ(first.result.description.warnings.size(), 5u) << all;
  EXPECT_NEAR(first.result.description.scale.start_limit, 0.1, 1e-12) << "rad";
  EXPECT_NEAR(first.result.description.scale.start_penetration, 0.25, 1e-12) << "of its 0.2 m";
}

TEST(Start, ThatIsAsItShouldBeSaysNothing) {
  for (const char* scene : {samples::busy_scene, samples::hanging_scene}) {
    const FirstMoment first = first_moment(parse_scene(scene, "test"));
    EXPECT_TRUE(first.result.description.warnings.empty())
        << first.result.description.warnings.front();
  }
}

// Recipe 000, checklist 44: the source discourages the linearised trapezoidal rule. Whoever takes
// it hears why.
TEST(Start, WarnsOfSteppersThatAreDiscouraged) {
  int discouraged = 0;
  for (const StepperInfo& info : steppers()) {
    json scene = json::parse(samples::hanging_scene);
    scene["simulation"]["stepper"] = info.name;
    const FirstMoment first = first_moment(parse_scene(scene.dump(), "test"));
    const std::vector<std::string>& warnings = first.result.description.warnings;
    if (!info.discouraged) {
      EXPECT_TRUE(warnings.empty()) << info.name << ": " << warnings.front();
      continue;
    }
    ++discouraged;
    ASSERT_EQ(warnings.size(), 1u) << info.name;
    EXPECT_EQ(warnings[0], fmt::format("the stepper '{}' is here to be compared with others: {}",
                                       info.name, info.summary));
  }
  EXPECT_EQ(discouraged, 2) << "explicit-euler and linear-trapezoidal";
}

TEST(Start, ListsTheDeepestOverlapsOfEachPairOnce) {
  json scene = json::parse(R"({"urto": 1, "bodies": [
    {"name": "floor", "kind": "fixed", "shapes": [{"kind": "half-space"}]}]})");
  for (int k = 0; k < 25; ++k) {
    scene["bodies"].push_back({{"name", fmt::format("box-{}", k)},
                               {"mass", 1},
                               {"position", {k, 0, 0.1 - 0.001 * (k + 1)}},
                               {"shapes", {{{"kind", "box"}, {"size", {0.2, 0.2, 0.2}}}}}});
  }
  const FirstMoment first = first_moment(parse_scene(scene.dump(), "test"));
  const std::vector<std::string>& warnings = first.result.description.warnings;
  ASSERT_EQ(warnings.size(), 21u) << "a box has four corners in the floor, and one line";
  EXPECT_TRUE(warnings[0].starts_with("'box-24' and 'floor' overlap by 0.025 m")) << warnings[0];
  EXPECT_EQ(warnings.back(), "and 5 more overlapping pairs");
}

TEST_F(VerdictFile, RemarksOnTheStartAndKeepsIt) {
  std::vector<std::string> said;
  RunRequest request{.directory = path("a")};
  request.on_start = [&](const StartReport&, const std::vector<std::string>& warnings) {
    said = warnings;
  };
  const RunOutcome outcome = run_scene(parse_scene(odd_start, "test"), request);
  EXPECT_EQ(said.size(), 5u);
  EXPECT_EQ(outcome.warnings, said);
  EXPECT_EQ(ResultReader(path("a/result.h5")).texts("/run/warnings"), said);
  std::vector<std::string> remarks;
  for (const Finding& f : outcome.summary.verdict.findings) {
    if (f.what == "start") remarks.push_back(f.text);
  }
  ASSERT_EQ(remarks.size(), said.size());
  for (std::size_t k = 0; k < said.size(); ++k)
    EXPECT_EQ(remarks[k], "At the start: " + said[k] + ".");
}

}  // namespace
}  // namespace urto
