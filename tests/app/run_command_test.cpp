// `urto run`, `urto check` and `urto info` as their users meet them: exit codes, messages and
// files.
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "result/result_samples.h"
#include "support/paths.h"
#include "support/urto_command.h"
#include "urto/error.h"
#include "urto/result/result_file.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

using samples::contents;
using samples::Output;
using samples::says;

class RunCommand : public samples::FolderTest {
 protected:
  void SetUp() override {
    FolderTest::SetUp();
    std::ofstream(path("busy.json")) << samples::busy_scene;
    std::ofstream(path("hanging.json")) << samples::hanging_scene;
  }

  /// Runs `urto arguments` inside the test's folder.
  Output run(const std::string& arguments) const {
    return samples::run_command(path(""), arguments);
  }

  /// Starts `urto run`, sends `signal` once there are steps in the result and `also` exists, and
  /// returns the exit code.
  int interrupt(const std::vector<std::string>& arguments, const fs::path& result, int signal,
                const fs::path& also = "/") const {
    const pid_t child = fork();
    if (child == 0) {
      if (chdir(path("").c_str()) != 0) std::_Exit(99);
      std::vector<char*> argv{const_cast<char*>("urto")};
      for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
      argv.push_back(nullptr);
      for (const int s : samples::inherited_signals) std::signal(s, SIG_DFL);
      execv(samples::command_file().c_str(), argv.data());
      std::_Exit(99);
    }
    for (int k = 0; k < 3000; ++k) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
      try {
        if (ResultReader(result).counts().steps > 0 && fs::exists(also)) break;
      } catch (const InputError&) {  // not there yet
      }
    }
    kill(child, signal);
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }
};

TEST_F(RunCommand, RunsASceneAndSaysHowItWent) {
  const Output o = run("run busy.json");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_EQ(o.err, "");
  for (const char* text : {"Busy: 3 moving bodies, 2 joints; 18 dofs", "mobility 8", "1000",
                           "101 frames", "worst residual", "0 of 1000 steps missed", "joint error",
                           "penetration", "energy", "out/busy/result.h5", "finished at t = 1 s"}) {
    EXPECT_TRUE(says(o.out, text));
  }
  EXPECT_EQ(o.out.find('\033'), std::string::npos) << "colour where there is no terminal";
  EXPECT_EQ(ResultReader(path("out/busy/result.h5")).counts().steps, 1000);
  EXPECT_TRUE(fs::exists(path("out/busy/checkpoint.h5")));
  EXPECT_TRUE(says(run("run hanging.json --timings").out, "share"));
  const Output quiet = run("run -q busy.json -o quiet");
  EXPECT_EQ(quiet.code, 0);
  EXPECT_EQ(quiet.out + quiet.err, "");
}

TEST_F(RunCommand, TwoRunsHaveTheSameBits) {
  EXPECT_EQ(run("run busy.json -o a").code, 0);
  EXPECT_EQ(run("run busy.json -o b").code, 0);
  samples::expect_same_results(path("a/result.h5"), path("b/result.h5"));
}

TEST_F(RunCommand, OptionsAndOverridesReachTheRun) {
  const Output o = run(
      "run busy.json -o a --duration 0.2 --step 0.002 --tol 1e-6 --solver nsgs --friction convex "
      "--set bodies.ball.position=[0,0,1] --set simulation.output_step=0.1 --json");
  EXPECT_EQ(o.code, 0) << o.err;
  const auto j = nlohmann::json::parse(o.out);
  EXPECT_EQ(j["steps"], 100);
  EXPECT_EQ(j["frames"], 3);
  EXPECT_EQ(j["friction"], "convex");
  EXPECT_EQ(j["solver"], "nsgs");
  EXPECT_EQ(j["tolerance"], 1e-6);
  EXPECT_EQ(j["exit_code"], 0);
  EXPECT_EQ(j["status"], "finished");
  EXPECT_EQ(j["start"]["mobility"], 8);
  EXPECT_EQ(j["files"].size(), 3u);
  EXPECT_LE(j["worst"]["residual"], 1e-6);
  const ResultReader r(path("a/result.h5"));
  EXPECT_EQ(r.numbers("/frames/position", 0, 1)[8], 1);
  EXPECT_TRUE(says(r.text("/scene"), "convex")) << "the scene in the result is the one that ran";
}

TEST_F(RunCommand, InterruptedAndResumedHasTheBitsOfAWholeRun) {
  const std::vector<std::string> set{"--duration", "6", "--step", "1e-4", "--quiet"};
  const std::string options = "--duration 6 --step 1e-4 --quiet";
  EXPECT_EQ(run("run busy.json -o whole " + options).code, 0);
  std::vector<std::string> arguments{"run", "busy.json", "-o", "cut"};
  arguments.insert(arguments.end(), set.begin(), set.end());
  ASSERT_EQ(interrupt(arguments, path("cut/result.h5"), SIGINT), 130);
  {
    const ResultReader r(path("cut/result.h5"));
    EXPECT_EQ(r.text("/run/status"), "interrupted");
    EXPECT_TRUE(says(contents(path("cut/report.html")), "The run was interrupted at t = "));
    ASSERT_GT(r.counts().steps, 0);
    ASSERT_LT(r.counts().steps, 60'000) << "interrupted too late to tell anything";
  }
  const Output wrong = run("run busy.json -o cut --resume");
  EXPECT_EQ(wrong.code, 2) << "the options are part of the scene";
  EXPECT_TRUE(says(wrong.err, "another scene"));
  // Without a scene it goes on with the one in the result.
  const Output o = run("run -o cut --resume --quiet");
  EXPECT_EQ(o.code, 0) << o.err;
  samples::expect_same_results(path("whole/result.h5"), path("cut/result.h5"));
}

TEST_F(RunCommand, AKilledRunGoesOnFromItsLastCheckpoint) {
  const std::string options =
      "--duration 5 --step 1e-4 --set simulation.checkpoint_interval=0.1 -q";
  EXPECT_EQ(run("run busy.json -o whole " + options).code, 0);
  EXPECT_EQ(interrupt({"run", "busy.json", "-o", "cut", "--duration", "5", "--step", "1e-4",
                       "--set", "simulation.checkpoint_interval=0.1", "-q"},
                      path("cut/result.h5"), SIGKILL, path("cut/checkpoint.h5")),
            -SIGKILL);
  EXPECT_EQ(run("info cut").code, 0);
  const Output o = run("run busy.json -o cut --resume " + options);
  EXPECT_EQ(o.code, 0) << o.err;
  samples::expect_same_results(path("whole/result.h5"), path("cut/result.h5"));
}

// What ends a process in a queue of jobs, or with its terminal.
TEST_F(RunCommand, AskedToEndItWritesACheckpointToo) {
  for (const auto& [signal, code] : {std::pair(SIGTERM, 143), std::pair(SIGHUP, 129)}) {
    const fs::path folder = path("cut" + std::to_string(signal));
    EXPECT_EQ(interrupt({"run", "busy.json", "-o", folder.string(), "--duration", "6", "--step",
                         "1e-4", "-q"},
                        folder / "result.h5", signal),
              code);
    EXPECT_EQ(ResultReader(folder / "result.h5").text("/run/status"), "interrupted");
    EXPECT_TRUE(fs::exists(folder / "checkpoint.h5"));
    EXPECT_FALSE(fs::exists(folder / ".urto-lock"));
  }
}

// The first one failed every step, and exited with 0 and the summary of the second.
TEST_F(RunCommand, TwoInOneFolderAreRefusedAndTheFirstSaysHowItWent) {
  const fs::path go = path("go");
  const std::string missed =
      "('" + samples::command_file() +
      "' run busy.json -o both --tol 1e-30 --duration 20 -q 2>first; echo $? "
      ">code) & ";
  const std::string second = "while ! [ -e both/.urto-lock ]; do sleep 0.01; done; '" +
                             samples::command_file() +
                             "' run hanging.json -o both -q 2>second; echo $? >other; wait";
  ASSERT_EQ(samples::shell("cd '" + path("").string() + "'; " + missed + second), 0);
  EXPECT_EQ(contents(path("code")), "3\n") << contents(path("first"));
  EXPECT_EQ(contents(path("other")), "2\n");
  EXPECT_TRUE(says(contents(path("second")), "both: found a directory that process "));
  EXPECT_EQ(ResultReader(path("both/result.h5")).description().title, "Busy");
}

TEST_F(RunCommand, OutputThatCannotBeWrittenIsNoSuccess) {
  EXPECT_EQ(run("run busy.json -o a -q").code, 0);
  for (const char* command : {"check busy.json", "info a", "info a --json", "--version",
                              "run --help", "run busy.json -o b --duration 0.1"}) {
    EXPECT_EQ(run(std::string(command) + " >/dev/full 2>.said; echo $?").out, "2\n") << command;
    EXPECT_TRUE(says(contents(path(".said")), "the output could not be written")) << command;
  }
}

TEST_F(RunCommand, MemoryIsLimitedAndTheMessageSaysHow) {
  std::ofstream(path("crowd.json")) << R"({"urto": 1, "gravity": 0, "bodies": [
    {"generate": "grid", "count": [4000, 1, 1], "spacing": [1e-9, 0, 0],
     "body": {"density": 1, "shapes": [{"kind": "sphere", "radius": 1}]}}]})";
  const Output o = run("check crowd.json --memory-limit 256M");
  EXPECT_EQ(o.code, 2);
  EXPECT_TRUE(says(o.err, "crowd.json: collision: found more than"));
  EXPECT_TRUE(says(o.err, "256 MiB (--memory-limit)"));
  EXPECT_EQ(run("check busy.json --memory-limit 2G").code, 0);
  for (const char* bad : {"0", "-1G", "many", "1Q", "1e30T", "10M", "nan"}) {
    const Output refused = run(std::string("check busy.json --memory-limit=") + bad);
    EXPECT_EQ(refused.code, 2) << bad;
    EXPECT_TRUE(says(refused.err, "--memory-limit")) << bad;
  }
}

// It could only be killed.
TEST_F(RunCommand, ASearchForAnEquilibriumCanBeInterrupted) {
  std::ofstream(path("falling.json"))
      << R"({"urto": 1, "bodies": [{"name": "a", "mass": 1, "inertia": [1, 1, 1]}]})";
  const std::string line = "cd '" + path("").string() +
                           "' && timeout --preserve-status -s INT 2 '" + samples::command_file() +
                           "' statics falling.json --max-iterations 2000000000 2>.err >.out";
  const int status = samples::shell(line);
  EXPECT_EQ(WEXITSTATUS(status), 130) << contents(path(".err"));
  EXPECT_TRUE(says(contents(path(".err")), "interrupted after "));
}

TEST_F(RunCommand, MessagesAreShort) {
  const std::string name(70'000, 'a');
  std::ofstream(path("long.json"))
      << R"({"urto": 1, "bodies": [{"name": "b", "kind": ")" + name + R"("}]})";
  const Output o = run("check long.json");
  EXPECT_EQ(o.code, 2);
  EXPECT_LE(o.err.size(), 1024u);
  EXPECT_LE(run("check '" + name.substr(0, 3000) + "'").err.size(), 1024u);
  EXPECT_LE(run("run --" + name).err.size(), 1024u);
}

TEST_F(RunCommand, AFailedRunKeepsWhatItHasAndExitsWith3) {
  // A tolerance below rounding is missed by the first step.
  const Output missed = run("run busy.json -o missed --tol 1e-30");
  EXPECT_EQ(missed.code, 3);
  EXPECT_TRUE(says(missed.out, "steps missed the tolerance"));
  EXPECT_EQ(ResultReader(path("missed/result.h5")).text("/run/status"), "finished");

  const Output quiet = run("run busy.json -o missed --tol 1e-30 -q");
  EXPECT_EQ(quiet.code, 3);
  EXPECT_EQ(quiet.out, "");
  EXPECT_TRUE(says(quiet.err, "urto: error: ")) << "an exit code alone says nothing";
  EXPECT_TRUE(says(quiet.err, "steps missed the tolerance"));

  const Output failed =
      run("run busy.json -o failed --tol 1e-30 --set simulation.stop_on_failure=true");
  EXPECT_EQ(failed.code, 3);
  EXPECT_TRUE(says(failed.err, "t = 0.001 s"));
  EXPECT_TRUE(says(failed.err, "tolerance"));
  const ResultReader r(path("failed/result.h5"));
  EXPECT_EQ(r.text("/run/status"), "failed");
  EXPECT_TRUE(says(r.text("/run/failure"), "tolerance"));
  EXPECT_EQ(r.counts().steps, 1);
  EXPECT_EQ(r.counts().frames, 2);
}

/// An arm on a motor that turns five times a step: every step is certified, and the arm is torn
/// off.
constexpr const char* torn_scene = R"({"urto": 1, "title": "Torn",
  "bodies": [{"name": "arm", "position": [0.5, 0, 0], "mass": 1,
              "shapes": [{"kind": "box", "size": [1, 0.1, 0.1], "collides": false}]}],
  "joints": [{"name": "shaft", "kind": "revolute", "bodies": ["world", "arm"],
              "position": [0, 0, 0], "axis": [0, 1, 0],
              "motor": {"mode": "speed", "value": 300}}],
  "simulation": {"duration": 2, "step": 0.1}})";

TEST_F(RunCommand, NonsenseExitsWith3AndSaysWhyEverywhere) {
  std::ofstream(path("torn.json")) << torn_scene;
  const Output o = run("run torn.json -o a");
  EXPECT_EQ(o.code, 3);
  EXPECT_TRUE(says(o.out, "finished at t = 2 s"));
  EXPECT_TRUE(says(o.out, "0 of 20 steps missed"));
  EXPECT_TRUE(says(o.out, "verdict         1 failure"));
  EXPECT_TRUE(says(o.out, "  failure       The error of joints reached"));
  const Output info = run("info a");
  EXPECT_EQ(info.code, 0) << "to look at a bad run is no failure";
  const std::string verdict = o.out.substr(o.out.find("verdict  "));
  EXPECT_TRUE(says(verdict, info.out.substr(info.out.find("verdict  ")))) << "the same words";
  const auto j = nlohmann::json::parse(run("info a --json").out)["verdict"];
  EXPECT_EQ(j["level"], "failure");
  EXPECT_EQ(j["findings"][0]["what"], "joint error");
  EXPECT_EQ(ResultReader(path("a/result.h5")).text("/verdict/level"), "failure");
  const std::string page = contents(path("a/report.html"));
  EXPECT_TRUE(page.find(j["findings"][0]["text"].get<std::string>()) != std::string::npos);
  EXPECT_TRUE(page.find(R"("level":"failure")") != std::string::npos);
  const auto again = nlohmann::json::parse(run("run torn.json -o b --json").out);
  EXPECT_EQ(again["exit_code"], 3);
  EXPECT_EQ(again["verdict"], j);
  EXPECT_EQ(run("run torn.json -o c --step 1e-4 -q").code, 0) << "30 mrad a step";
}

TEST_F(RunCommand, SaysWhatCheckSaysOfTheStart) {
  std::ofstream(path("overlap.json")) << R"({"urto": 1, "bodies": [
    {"name": "floor", "kind": "fixed", "shapes": [{"kind": "half-space"}]},
    {"name": "ball", "position": [0, 0, 0.05], "density": 1000, "shapes": [{"kind": "sphere", "radius": 0.1}]}],
    "simulation": {"duration": 0.01, "step": 0.1}})";
  const Output check = run("check overlap.json"), o = run("run overlap.json -o a");
  for (const char* part : {"warning: 'ball' and 'floor' overlap by 0.05 m",
                           "warning: the step of 0.1 s is longer than the duration"}) {
    EXPECT_TRUE(says(check.out, part));
    EXPECT_TRUE(says(o.err, part));
  }
  EXPECT_TRUE(says(o.out, "  remark        At the start: 'ball' and 'floor' overlap by 0.05 m"));
  EXPECT_TRUE(says(run("info a").out, "At the start: 'ball' and 'floor' overlap by 0.05 m"));
  EXPECT_EQ(
      nlohmann::json::parse(run("run overlap.json --json -o b").out)["start"]["warnings"].size(),
      2u);
}

TEST_F(RunCommand, BadInputExitsWith2AndWritesNothing) {
  std::ofstream(path("bad.json")) << R"({"urto": 1, "bodies": [{"name": "a", "mass": -1}]})";
  std::ofstream(path("text.json")) << "not a scene";
  std::ofstream(path("shapes.json")) << R"({"urto": 1, "bodies": [
    {"name": "a", "density": 1, "shapes": [{"kind": "hull", "points": [[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]}]}]})";
  for (const char* name : {"bad.json", "text.json", "missing.json", "shapes.json"}) {
    const Output o = run(std::string("run ") + name + " -o results");
    EXPECT_EQ(o.code, 2) << name;
    EXPECT_TRUE(says(o.err, name));
    EXPECT_EQ(o.err.rfind("urto: error: ", 0), 0u) << o.err;
  }
  EXPECT_EQ(run("run busy.json -o results --step -1").code, 2);
  EXPECT_EQ(run("run busy.json -o results --set bodies.bal.mass=1").code, 2);
  EXPECT_EQ(run("run busy.json -o results --solver magic").code, 2);
  EXPECT_EQ(run("run busy.json -o results --resume").code, 2);
  EXPECT_EQ(run("run").code, 2);
  EXPECT_FALSE(fs::exists(path("results")));
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(RunCommand, ReplacesItsOwnResultsAndNobodyElses) {
  EXPECT_EQ(run("run hanging.json -o a --csv").code, 0);
  std::ofstream(path("a/notes.txt")) << "mine";
  EXPECT_EQ(run("run busy.json -o a").code, 0);
  EXPECT_EQ(ResultReader(path("a/result.h5")).text_attribute("title"), "Busy");
  EXPECT_TRUE(fs::exists(path("a/notes.txt")));
  EXPECT_FALSE(fs::exists(path("a/states.csv"))) << "the CSV of another run";

  for (const char* name : {"result.h5", "checkpoint.h5", "states.csv"}) {
    fs::create_directories(path("b"));
    std::ofstream(path("b") / name) << "mine";
    const Output o = run("run hanging.json -o b --csv");
    EXPECT_EQ(o.code, 2);
    EXPECT_TRUE(says(o.err, name));
    EXPECT_EQ(contents(path("b") / name), "mine");
    fs::remove_all(path("b"));
  }
}

TEST_F(RunCommand, VerifiesARunAndInfoRemembersIt) {
  const Output run_it = run("run busy.json --duration 0.2 --verify -o out");
  EXPECT_EQ(run_it.code, 0) << run_it.err;
  EXPECT_TRUE(says(run_it.out, "error           positions at most "));
  const Output info = run("info out");
  EXPECT_TRUE(says(info.out, "error           positions at most "));
  const auto json = nlohmann::json::parse(run("info out --json").out);
  EXPECT_EQ(json["verification"]["state"], "converges");
  EXPECT_GT(json["verification"]["errors"]["position"]["worst"].get<double>(), 1e-5);
  EXPECT_EQ(json["verification"]["errors"]["position"]["unit"], "m");
  // A run that was not verified can be afterwards.
  EXPECT_EQ(run("run busy.json --duration 0.2 -q -o later").code, 0);
  EXPECT_FALSE(nlohmann::json::parse(run("info later --json").out).contains("verification"));
  const Output later = run("run --resume --verify --json -o later");
  EXPECT_EQ(later.code, 0) << later.err;
  const auto found = nlohmann::json::parse(later.out)["verification"]["errors"];
  EXPECT_EQ(found["position"]["worst"], json["verification"]["errors"]["position"]["worst"]);
}

// Told everywhere: on the screen, in the file, on the page, in the exit code.
TEST_F(RunCommand, SaysThatARunFailsAtHalfItsStep) {
  std::ofstream(path("speck.json")) << R"({"urto": 1, "gravity": 0,
    "bodies": [{"name": "speck", "mass": 1e-3, "inertia": [1e-6, 1e-6, 1e-6]}],
    "forces": [{"kind": "load", "body": "speck", "force": [
      {"table": [[0, 0], [0.004, 0], [0.005, 1e308], [0.006, 0], [0.01, 0]]}, 0, 0]}],
    "simulation": {"duration": 0.1, "step": 0.01}})";
  const std::string why = "the run at a half of the step failed at t = 0.005 s";
  const Output o = run("run speck.json --verify -o out");
  EXPECT_EQ(o.code, 3);
  EXPECT_TRUE(says(o.err, "the run could not be verified: " + why)) << o.err;
  EXPECT_TRUE(says(o.out, "error           unknown: " + why)) << o.out;
  EXPECT_TRUE(says(o.out, "verdict         1 failure")) << o.out;
  EXPECT_TRUE(says(contents(path("out/report.html")), why));
  const Output info = run("info out");
  EXPECT_TRUE(says(info.out, why)) << info.out;
  EXPECT_EQ(run("run speck.json --verify -q -o quiet").code, 3);
  EXPECT_EQ(run("run speck.json -q -o plain").code, 0) << "what nobody verified";
}

TEST_F(RunCommand, WritesCsv) {
  EXPECT_EQ(run("run busy.json -o a --csv").code, 0);
  std::ifstream states(path("a/states.csv")), steps(path("a/steps.csv"));
  std::string line;
  std::getline(states, line);
  EXPECT_EQ(line, "time,body,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz");
  std::getline(states, line);
  EXPECT_TRUE(line.starts_with("0,ball,0,0,0.3,1,0,0,0,0.5,0,0,")) << line;
  int rows = 1;
  while (std::getline(states, line)) ++rows;
  EXPECT_EQ(rows, 101 * 3) << "a row a frame and moving body";
  std::getline(steps, line);
  EXPECT_TRUE(line.starts_with("time,step,residual,momentum")) << line;
  rows = 0;
  while (std::getline(steps, line)) ++rows;
  EXPECT_EQ(rows, 1000);
  EXPECT_TRUE(says(contents(path("a/coordinates.csv")),
                   "time,shoulder.angle,elbow.angle,shoulder.angle.rate,elbow.angle.rate\n"));
}

TEST_F(RunCommand, CheckReportsMobilityOverlapsAndLimits) {
  std::ofstream(path("overlap.json")) << R"({"urto": 1, "bodies": [
    {"name": "floor", "kind": "fixed", "shapes": [{"kind": "half-space"}]},
    {"name": "ball", "position": [0, 0, 0.05], "density": 1000, "shapes": [{"kind": "sphere", "radius": 0.1}]}]})";
  const Output o = run("check busy.json hanging.json overlap.json");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(says(o.out, "busy.json: 3 moving bodies"));
  EXPECT_TRUE(says(o.out, "mobility 8"));
  EXPECT_TRUE(says(o.out, "'ball' and 'floor' overlap by 0.05 m"));
  EXPECT_EQ(run("check busy.json missing.json").code, 2);
  EXPECT_FALSE(fs::exists(path("out")));
}

TEST_F(RunCommand, CheckSaysWhetherContactsMayJam) {
  std::ofstream(path("table.json")) << R"({"urto": 1, "bodies": [
    {"name": "floor", "kind": "fixed", "shapes": [{"kind": "half-space"}]},
    {"name": "box", "position": [0, 0, 0.5], "density": 1000, "shapes": [{"kind": "box", "size": [1, 1, 1]}]}]})";
  const Output table = run("check table.json");
  EXPECT_TRUE(says(table.out,
                   "  4 contacts and limits touch, with forces that are not unique (6 freedoms); "
                   "their friction cone is pointed: forces are bounded\n"))
      << table.out;
  std::ofstream(path("peg.json")) << R"({"urto": 1, "bodies": [
    {"name": "left", "kind": "fixed", "position": [-1, 0, 0], "shapes": [{"kind": "box", "size": [1, 1, 1]}]},
    {"name": "right", "kind": "fixed", "position": [1, 0, 0], "shapes": [{"kind": "box", "size": [1, 1, 1]}]},
    {"name": "peg", "density": 1000, "shapes": [{"kind": "sphere", "radius": 0.5}]}]})";
  const Output peg = run("check peg.json");
  EXPECT_TRUE(says(peg.out,
                   "  2 contacts and limits touch, with forces that are not unique (1 freedom); "
                   "their friction cone is not pointed\n"))
      << peg.out;
  for (const char* wall : {"'left'", "'right'"}) EXPECT_TRUE(says(peg.out, wall)) << peg.out;
  EXPECT_TRUE(says(peg.out, "may press with any force, against the others\n")) << peg.out;
}

TEST_F(RunCommand, CheckIsContentWithOverlapsThatAreFilteredAway) {
  const std::string ball = R"("mass": 1, "shapes": [{"kind": "sphere", "radius": 0.1}])";
  std::ofstream(path("filtered.json")) << R"({"urto": 1, "bodies": [
    {"name": "floor", "kind": "fixed", "shapes": [{"kind": "half-space"}]},
    {"name": "a", "layers": ["ghosts"], "ignores": ["default", "ghosts"], )" +
                                              ball + R"(},
    {"name": "b", "layers": ["ghosts"], )" + ball +
                                              R"(},
    {"name": "c", )" + ball + R"(}],
    "exclude": [["b", "c"], ["floor", "b"], ["c", "floor"]]})";
  const Output o = run("check filtered.json");
  EXPECT_EQ(o.code, 0) << o.err;
  EXPECT_TRUE(says(o.out, "filtered.json: 3 moving bodies"));
  EXPECT_FALSE(says(o.out, "warning")) << o.out;
  EXPECT_EQ(run("run filtered.json -o filtered -q").code, 0);
}

TEST_F(RunCommand, InfoShowsScenesAndResults) {
  const Output scene = run("info busy.json");
  EXPECT_EQ(scene.code, 0) << scene.err;
  EXPECT_TRUE(says(scene.out, "2 revolute"));
  EXPECT_TRUE(says(scene.out, "mobility"));
  EXPECT_EQ(run("run busy.json -o a -q").code, 0);
  for (const char* place : {"info a", "info a/result.h5"}) {
    const Output o = run(place);
    EXPECT_EQ(o.code, 0) << o.err;
    EXPECT_TRUE(says(o.out, "Busy"));
    EXPECT_TRUE(says(o.out, "101 frames"));
  }
  EXPECT_EQ(nlohmann::json::parse(run("info a --json").out)["steps"], 1000);
  std::ofstream(path("again.json")) << run("info a --scene").out;
  EXPECT_EQ(run("run again.json -o b -q").code, 0);
  samples::expect_same_results(path("a/result.h5"), path("b/result.h5"));
  EXPECT_EQ(run("info nothing").code, 2);
}

}  // namespace
}  // namespace urto
