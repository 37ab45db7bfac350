#include "urto/result/result_file.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <random>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include "result/result_samples.h"
#include "urto/error.h"
#include "urto/version.h"

#ifdef URTO_ADDRESS_SANITIZER
// libhdf5 loses memory when it gives up on a damaged file.
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:libhdf5";
}
#endif

namespace urto {
namespace {

namespace fs = std::filesystem;
using samples::record;
using samples::same_bits;
using samples::write_run;

class ResultFile : public samples::FolderTest {};

/// Runs another test of this program in another process: HDF5 shares open files within one.
int run_elsewhere(const std::string& test, const fs::path& file) {
  // A shard of this executable need not be one of that test's.
  const std::string line = "unset GTEST_TOTAL_SHARDS GTEST_SHARD_INDEX; URTO_TEST_FILE='" +
                           file.string() + "' '" + fs::read_symlink("/proc/self/exe").string() +
                           "' --gtest_also_run_disabled_tests --gtest_filter=" + test +
                           " >/dev/null 2>&1";
  const int status = std::system(line.c_str());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(ResultFile, HoldsTheModelAndTheRun) {
  const State end = write_run(path("r.h5"), samples::busy_scene);
  const ResultReader r(path("r.h5"));
  EXPECT_EQ(r.text_attribute("title"), "Busy");
  EXPECT_EQ(r.text_attribute("urto_version"), version);
  EXPECT_EQ(r.text_attribute("friction"), "exact");
  EXPECT_EQ(r.text_attribute("units"), "SI");
  EXPECT_EQ(r.number_attribute("step"), 0.001);
  EXPECT_EQ(r.texts("/bodies/name"),
            (std::vector<std::string>{"world", "floor", "ball", "arm", "fore"}));
  EXPECT_EQ(r.texts("/bodies/kind"),
            (std::vector<std::string>{"fixed", "fixed", "dynamic", "dynamic", "dynamic"}));
  EXPECT_EQ(r.texts("/shapes/kind"), (std::vector<std::string>{"half-space", "sphere"}));
  EXPECT_EQ(r.texts("/joints/name"), (std::vector<std::string>{"shoulder", "elbow"}));
  EXPECT_EQ(r.texts("/coordinates/name"), (std::vector<std::string>{"angle", "angle"}));
  EXPECT_EQ(r.text("/run/status"), "finished");
  EXPECT_EQ(r.number("/run/steps"), 1000);
  EXPECT_EQ(r.counts().frames, 101);
  EXPECT_EQ(r.counts().steps, 1000);
  EXPECT_EQ(r.shape("/frames/position"), (std::vector<std::int64_t>{101, 5, 3}));
  EXPECT_EQ(r.shape("/frames/joint_reaction"), (std::vector<std::int64_t>{101, 2, 6}));
  EXPECT_FALSE(r.has("/frames/motor_force")) << "there is no motor";

  const std::vector<double> x = r.numbers("/frames/position", 100, 1);
  const std::vector<double> q = r.numbers("/frames/rotation", 100, 1);
  EXPECT_TRUE(same_bits({x[6], x[7], x[8]}, {end.q[0], end.q[1], end.q[2]}));
  EXPECT_TRUE(
      same_bits({q[12], q[13], q[14], q[15]}, {end.q[10], end.q[11], end.q[12], end.q[13]}));
  const Scene again = parse_scene(r.text("/scene"), "result");
  EXPECT_EQ(again.model.bodies.size(), 5u);
}

TEST_F(ResultFile, EnergyColumnsBalance) {
  write_run(path("r.h5"), samples::busy_scene);
  const ResultReader r(path("r.h5"));
  const auto column = [&](const char* name) {
    return r.numbers(std::string("/steps/energy/") + name);
  };
  const auto kinetic = column("kinetic"), potential = column("potential"),
             supplied = column("supplied"), friction = column("friction"),
             impact = column("impact"), drive = column("drive"), damping = column("damping"),
             recovery = column("recovery"), numerical = column("numerical"),
             unexplained = column("unexplained");
  const double start = r.number("/run/start_energy");
  for (std::size_t k = 0; k < kinetic.size(); ++k) {
    EXPECT_NEAR(kinetic[k] + potential[k],
                start + supplied[k] + recovery[k] - friction[k] - impact[k] - drive[k] -
                    damping[k] + numerical[k],
                1e-9);
    EXPECT_NEAR(unexplained[k], 0, 1e-9);
  }
  EXPECT_GT(impact.back(), 0.0);
}

TEST_F(ResultFile, AJointsReactionCarriesTheWeight) {
  for (const bool turned : {false, true}) {
    const std::vector<std::string> set =
        turned ? std::vector<std::string>{R"(joints.hook.bodies=["bob","world"])"}
               : std::vector<std::string>{};
    write_run(path("r.h5"), samples::hanging_scene, set);
    const ResultReader r(path("r.h5"));
    const std::vector<double> first = r.numbers("/frames/joint_reaction", 0, 1);
    EXPECT_TRUE(std::isnan(first[0])) << "nobody knows the forces before the first step";
    const std::vector<double> w = r.numbers("/frames/joint_reaction", 50, 1);
    EXPECT_NEAR(w[2], turned ? -2 * 9.81 : 2 * 9.81, 1e-9) << "on body b";
    for (const int k : {0, 1, 3, 4, 5}) EXPECT_NEAR(w[k], 0, 1e-9);
  }
}

TEST_F(ResultFile, ABallJointHasNoMomentWhileItSwings) {
  write_run(path("r.h5"), samples::hanging_scene,
            {R"(bodies.bob.velocity=[1,0.5,0])", "simulation.duration=0.5"});
  const ResultReader r(path("r.h5"));
  const std::vector<double> all = r.numbers("/frames/joint_reaction");
  for (std::size_t f = 1; f < all.size() / 6; ++f) {
    EXPECT_GT(all[6 * f + 2], 10.0);
    for (int k = 3; k < 6; ++k) EXPECT_NEAR(all[6 * f + k], 0, 1e-12);
  }
}

TEST_F(ResultFile, ContactForcesCarryTheWeight) {
  write_run(path("r.h5"), samples::busy_scene,
            {"bodies.ball.position=[0,0,0.1]", "bodies.ball.velocity=[0,0,0]"});
  const ResultReader r(path("r.h5"));
  const auto names = r.texts("/bodies/name");
  const double weight = 9.81 * r.numbers("/bodies/mass")[2];
  const auto start = r.numbers("/contacts/start"), count = r.numbers("/contacts/count");
  ASSERT_EQ(start.size(), 101u);
  EXPECT_EQ(count[0], 0) << "no step yet";
  for (std::size_t f = 1; f < start.size(); ++f) {
    ASSERT_EQ(count[f], 1);
    const auto row = static_cast<std::int64_t>(start[f]);
    EXPECT_EQ(names[static_cast<std::size_t>(r.numbers("/contacts/body_a", row, 1)[0])], "ball");
    EXPECT_EQ(names[static_cast<std::size_t>(r.numbers("/contacts/body_b", row, 1)[0])], "floor");
    EXPECT_EQ(r.numbers("/contacts/normal", row, 1)[2], 1);
    EXPECT_NEAR(r.numbers("/contacts/force", row, 1)[2], weight, 1e-6 * weight);
  }
}

// Not a test: the other process of those below.
TEST(ResultFileReader, DISABLED_SeesRowsOfARunThatGoesOn) {
  const ResultReader r(std::getenv("URTO_TEST_FILE"));
  EXPECT_EQ(r.text("/run/status"), "running");
  const ResultCounts counts = r.counts();
  EXPECT_EQ(counts.steps, 300);
  EXPECT_EQ(r.number("/run/steps"), 300);
  for (const std::string& name : samples::reproducible()) {
    if (!r.has(name)) continue;
    const auto values = r.numbers(name);
    if (name.starts_with("/steps")) {
      EXPECT_EQ(values.size(), 300u) << name;
    }
  }
  EXPECT_NEAR(r.numbers("/steps/time").back(), 0.3, 1e-12);
}

TEST_F(ResultFile, CanBeReadWhileItIsWritten) {
  const Scene scene = parse_scene(samples::busy_scene, "test");
  Simulation run(scene.model, scene.options);
  run.start();
  ResultWriter writer = ResultWriter::create(path("r.h5"), describe(scene));
  record(run, writer, 300);
  writer.flush(record_status(run));
  EXPECT_EQ(run_elsewhere("ResultFileReader.DISABLED_SeesRowsOfARunThatGoesOn", path("r.h5")), 0);
  record(run, writer);
  writer.finish(record_status(run));
  EXPECT_EQ(ResultReader(path("r.h5")).counts().steps, 1000);
}

TEST(ResultFileWriter, DISABLED_IsKilled) {
  const Scene scene = parse_scene(samples::busy_scene, "test");
  Simulation run(scene.model, scene.options);
  run.start();
  ResultWriter writer = ResultWriter::create(std::getenv("URTO_TEST_FILE"), describe(scene));
  record(run, writer, 300);
  writer.flush(record_status(run));
  std::_Exit(0);  // nothing is closed
}

TEST_F(ResultFile, OfAKilledRunIsReadableAndCanGoOn) {
  ASSERT_EQ(run_elsewhere("ResultFileWriter.DISABLED_IsKilled", path("r.h5")), 0);
  {
    const ResultReader r(path("r.h5"));
    EXPECT_EQ(r.text("/run/status"), "running");
    EXPECT_EQ(r.counts().steps, 300);
  }
  const Scene scene = parse_scene(samples::busy_scene, "test");
  ResultWriter writer = ResultWriter::reopen(path("r.h5"), describe(scene),
                                             {.frames = 5, .contacts = 0, .steps = 200});
  EXPECT_EQ(writer.counts().steps, 200);
  Simulation run(scene.model, scene.options);
  run.start();
  record(run, writer, 10);
  writer.finish(record_status(run));
  EXPECT_EQ(ResultReader(path("r.h5")).counts().steps, 210);
  EXPECT_EQ(ResultReader(path("r.h5")).counts().frames, 5 + 2);
}

TEST_F(ResultFile, RefusesToGoOnWithMoreRowsThanItHas) {
  write_run(path("r.h5"), samples::hanging_scene);
  const Scene scene = parse_scene(samples::hanging_scene, "test");
  EXPECT_THROW(ResultWriter::reopen(path("r.h5"), describe(scene), {.steps = 5000}), InputError);
  const Scene other = parse_scene(samples::busy_scene, "test");
  EXPECT_THROW(ResultWriter::reopen(path("r.h5"), describe(other), {}), InputError);
}

// A compressed chunk that is rewritten by every append would leave its old self behind: a file of
// 100 MB.
TEST_F(ResultFile, StaysSmallHoweverOftenItIsAppendedTo) {
  const Scene scene = parse_scene(samples::busy_scene, "test");
  Simulation run(scene.model, scene.options);
  run.start();
  ResultWriter writer = ResultWriter::create(path("r.h5"), describe(scene));
  for (int k = 0; k < 500; ++k) {
    record(run, writer, 2);
    writer.flush(record_status(run));
  }
  writer.finish(record_status(run));
  EXPECT_LT(fs::file_size(path("r.h5")), 2'500'000u);
}

// HDF5 tries a hundred times, each after twice the time, to read what another process may be
// writing: for ever, where it is damage. The structures have checksums, the numbers have none.
TEST_F(ResultFile, DamageIsFoundSoon) {
  write_run(path("r.h5"), samples::hanging_scene);
  std::ifstream in(path("r.h5"), std::ios::binary);
  const std::string whole{std::istreambuf_iterator<char>(in), {}};
  std::mt19937 engine(17);
  int refused = 0;
  for (int round = 0; round < 150; ++round) {
    std::string damaged = whole;
    // Most of the structures are at the beginning and at the end.
    const std::size_t part = std::min<std::size_t>(whole.size(), 6000);
    const std::size_t at = engine() % part + (round % 3 == 0 ? whole.size() - part : 0);
    damaged[at] = static_cast<char>(damaged[at] ^ (1 << engine() % 8));
    std::ofstream(path("damaged.h5"), std::ios::binary) << damaged;
    try {
      const ResultReader r(path("damaged.h5"));
      r.status();
      const ResultCounts counts = r.counts();
      r.times(0, counts.frames);
      for (std::size_t k = 0; k < r.description().channels.size(); ++k)
        r.channel(static_cast<int>(k), 0, counts.frames);
    } catch (const InputError& error) {
      ++refused;
      EXPECT_LT(std::string(error.what()).size(), 1000u);
    }
  }
  EXPECT_GT(refused, 15);
}

TEST_F(ResultFile, RefusesForeignFiles) {
  std::ofstream(path("text.h5")) << "not HDF5";
  EXPECT_FALSE(is_result_file(path("text.h5")));
  EXPECT_FALSE(is_result_file(path("missing.h5")));
  EXPECT_THROW(ResultReader{path("text.h5")}, InputError);
  EXPECT_THROW(ResultReader{path("missing.h5")}, InputError);
  write_run(path("r.h5"), samples::hanging_scene);
  EXPECT_TRUE(is_result_file(path("r.h5")));
  EXPECT_THROW(ResultReader(path("r.h5")).numbers("/nothing"), InputError);
  EXPECT_THROW(ResultReader(path("r.h5")).numbers("/bodies/name"), InputError);
  EXPECT_THROW(ResultReader(path("r.h5")).numbers("/steps/time", 90, 11), InputError);
  fs::resize_file(path("r.h5"), fs::file_size(path("r.h5")) / 2);
  EXPECT_THROW(ResultReader(path("r.h5")).numbers("/steps/time"), InputError);
}

}  // namespace
}  // namespace urto
