// Results that somebody crafted, or that a disk damaged, and runs whose disk is full or whose
// folder is not theirs.
#include <cmath>
#include <csignal>
#include <fstream>
#include <functional>
#include <sys/resource.h>

#include <gtest/gtest.h>
#include <hdf5.h>

#include "result/result_samples.h"
#include "urto/error.h"
#include "urto/file/folder_lock.h"
#include "urto/file/hdf5_io.h"
#include "urto/memory_limit.h"
#include "urto/result/checkpoint.h"
#include "urto/result/run.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

/// At the exit the library looks for what it lost on a full disk (nothing of ours: all is closed),
/// and complains.
[[maybe_unused]] const bool left_at_exit = (leave_hdf5_at_exit(), true);

class DamagedResult : public samples::FolderTest {
 protected:
  static std::string refusal(const std::function<void()>& read) {
    try {
      read();
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
  static bool says(const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  }
};

TEST_F(DamagedResult, ThatLeadsToOtherFilesIsRefused) {
  samples::write_run(path("r.h5"), samples::hanging_scene);
  std::ofstream(path("secret.txt")) << "TOP-SECRET-TEXT-OF-THE-USER, many bytes of it";
  const auto craft = [&](const char* name, const auto& replace) {
    fs::copy_file(path("r.h5"), path(name));
    const hid_t id = H5Fopen(path(name).c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
    H5Ldelete(id, "/scene", H5P_DEFAULT);
    replace(id);
    H5Fclose(id);
    return refusal([&] { ResultReader(path(name)).text("/scene"); });
  };
  EXPECT_TRUE(says(craft("external.h5",
                         [&](hid_t id) {
                           H5Lcreate_external(path("r.h5").c_str(), "/scene", id, "/scene",
                                              H5P_DEFAULT, H5P_DEFAULT);
                         }),
                   "/scene: found a link"));
  EXPECT_TRUE(says(craft("soft.h5",
                         [&](hid_t id) {
                           H5Lcreate_soft("/bodies/name", id, "/scene", H5P_DEFAULT, H5P_DEFAULT);
                         }),
                   "/scene: found a link"));
  EXPECT_TRUE(says(craft("stored.h5",
                         [&](hid_t id) {
                           const hid_t type = H5Tcopy(H5T_C_S1);
                           H5Tset_size(type, 40);
                           const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
                           H5Pset_external(creation, path("secret.txt").c_str(), 0, 40);
                           const hid_t space = H5Screate(H5S_SCALAR);
                           H5Dclose(H5Dcreate2(id, "/scene", type, space, H5P_DEFAULT, creation,
                                               H5P_DEFAULT));
                           H5Sclose(space);
                           H5Pclose(creation);
                           H5Tclose(type);
                         }),
                   "found data kept outside this file"));
}

// Resuming writes one number into /run/frames: into a list of a hundred million it wrote as many,
// from the address of one.
TEST_F(DamagedResult, WithAListForANumberIsNotWrittenOn) {
  const Scene scene = parse_scene(samples::busy_scene, "test", {{"simulation.duration=0.05"}});
  run_scene(scene, {.directory = path("a")});
  const hid_t id = H5Fopen(result_path(path("a")).c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(id, "/run/frames", H5P_DEFAULT);
  const hsize_t many = 100'000'000, chunk = 1 << 20;
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 1, &chunk);
  H5Pset_deflate(creation, 1);
  const hid_t space = H5Screate_simple(1, &many, nullptr);
  H5Dclose(
      H5Dcreate2(id, "/run/frames", H5T_NATIVE_INT64, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  H5Sclose(space);
  H5Pclose(creation);
  H5Fclose(id);
  const std::string said =
      refusal([&] { run_scene(scene, {.directory = path("a"), .resume = true}); });
  EXPECT_TRUE(says(said, "/run/frames: found data of another kind, expected one number")) << said;
}

TEST_F(DamagedResult, WithACountThatIsNoNumberIsRefused) {
  samples::write_run(path("r.h5"), samples::hanging_scene);
  const hid_t id = H5Fopen(path("r.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(id, "/run/rejected", H5P_DEFAULT);
  const hid_t space = H5Screate(H5S_SCALAR);
  const hid_t data = H5Dcreate2(id, "/run/rejected", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT,
                                H5P_DEFAULT, H5P_DEFAULT);
  const double no_number = std::nan("");
  H5Dwrite(data, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &no_number);
  H5Dclose(data);
  H5Sclose(space);
  H5Fclose(id);
  const std::string said = refusal([&] { static_cast<void>(ResultReader(path("r.h5")).status()); });
  EXPECT_TRUE(says(said, "/run/rejected: found nan, expected a count")) << said;
}

TEST_F(DamagedResult, TooLargeForTheMemoryIsRefusedBeforeItIsRead) {
  samples::write_run(path("r.h5"), samples::hanging_scene);
  const hid_t id = H5Fopen(path("r.h5").c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  const hsize_t many = 500'000'000, chunk = 1 << 22;
  const hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
  H5Pset_chunk(creation, 1, &chunk);
  H5Pset_deflate(creation, 9);
  H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
  const hid_t space = H5Screate_simple(1, &many, nullptr);
  H5Dclose(H5Dcreate2(id, "/bomb", H5T_NATIVE_DOUBLE, space, H5P_DEFAULT, creation, H5P_DEFAULT));
  H5Sclose(space);
  H5Pclose(creation);
  H5Fclose(id);
  const std::uint64_t before = memory_limit();
  set_memory_limit(std::uint64_t{2} << 30);
  const std::string said = refusal([&] { ResultReader(path("r.h5")).numbers("/bomb"); });
  set_memory_limit(before);
  EXPECT_TRUE(says(said, "--memory-limit")) << said;
}

/// No file of this process may be longer while this exists: a full disk.
class FullDisk {
 public:
  explicit FullDisk(rlim_t bytes) {
    before_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit wanted{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &wanted);
  }
  ~FullDisk() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, before_);
  }

 private:
  rlimit old_{};
  void (*before_)(int) = nullptr;
};

// It corrupted what had been recorded before the checkpoint, and resuming ended in abort().
TEST_F(DamagedResult, OfAFullDiskIsWholeUpToItsCheckpointAndGoesOn) {
  const Scene scene = parse_scene(samples::busy_scene, "test",
                                  {{"simulation.duration=2", "simulation.output_step=0",
                                    "simulation.checkpoint_interval=0.1"}});
  run_scene(scene, {.directory = path("whole")});
  int resumed = 0;
  const auto size = static_cast<double>(fs::file_size(result_path(path("whole"))));
  for (const double share : {0.25, 0.4, 0.55, 0.7, 0.85}) {
    const auto bytes = static_cast<rlim_t>(share * size);
    const fs::path folder = path(std::to_string(bytes));
    RunOutcome full;
    testing::internal::CaptureStderr();
    try {
      const FullDisk disk(bytes);
      full = run_scene(scene, {.directory = folder});
    } catch (const InputError&) {  // no room for the first frame
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
    if (full.summary.finished()) continue;
    EXPECT_NE(full.broken.find("space on the disk"), std::string::npos) << full.broken;
    if (!fs::exists(checkpoint_path(folder))) continue;
    const StoredCheckpoint point =
        read_checkpoint(checkpoint_path(folder), scene.model, scene.normalized_json);
    {
      const ResultReader there(result_path(folder)), whole(result_path(path("whole")));
      const long frames = point.recorded.frames;
      ASSERT_GE(there.counts().steps, point.recorded.steps);
      ASSERT_GE(there.counts().frames, frames);
      EXPECT_TRUE(samples::same_bits(there.numbers("/frames/position", 0, frames),
                                     whole.numbers("/frames/position", 0, frames)));
    }
    const RunOutcome rest = run_scene(scene, {.directory = folder, .resume = true});
    EXPECT_TRUE(rest.summary.finished());
    samples::expect_same_results(result_path(path("whole")), result_path(folder));
    ++resumed;
    EXPECT_EQ(H5Fget_obj_count(H5F_OBJ_ALL, H5F_OBJ_ALL), 0) << "files and datasets left open";
  }
  EXPECT_GE(resumed, 2) << "limits that tell something";
}

TEST_F(DamagedResult, OfARunWhoseFilesWereTakenAwayIsNoSuccess) {
  const Scene scene =
      parse_scene(samples::busy_scene, "test", {{"simulation.checkpoint_interval=0.1"}});
  for (const bool replaced : {false, true}) {
    const fs::path folder = path(replaced ? "replaced" : "removed");
    RunRequest request{.directory = folder};
    request.on_step = [&](const RunProgress& now) {
      if (std::abs(now.time - 0.55) > 1e-9) return;
      fs::remove(result_path(folder));
      if (replaced) samples::write_run(result_path(folder), samples::hanging_scene);
    };
    const RunOutcome outcome = run_scene(scene, request);
    EXPECT_TRUE(says(outcome.broken, "removed or replaced")) << outcome.broken;
    EXPECT_EQ(outcome.summary.verdict.level, Level::failure);
  }
}

TEST_F(DamagedResult, ByTwoRunsInOneFolderCannotBe) {
  const Scene scene = parse_scene(samples::hanging_scene, "test");
  fs::create_directories(path("a"));
  {
    const FolderLock other(path("a"));
    const std::string said = refusal([&] { run_scene(scene, {.directory = path("a")}); });
    EXPECT_TRUE(says(said, "is writing results into")) << said;
    EXPECT_FALSE(fs::exists(result_path(path("a"))));
  }
  EXPECT_TRUE(run_scene(scene, {.directory = path("a")}).summary.finished());
  EXPECT_FALSE(fs::exists(path("a/.urto-lock")));
}

TEST_F(DamagedResult, LeftoversOfAKilledRunGo) {
  const Scene scene = parse_scene(samples::hanging_scene, "test");
  fs::create_directories(path("a"));
  std::ofstream(path("a/checkpoint.h5.999999999-3.part")) << "half";
  std::ofstream(path("a/mine.part")) << "mine";
  run_scene(scene, {.directory = path("a")});
  EXPECT_FALSE(fs::exists(path("a/checkpoint.h5.999999999-3.part")));
  EXPECT_TRUE(fs::exists(path("a/mine.part")));
}

}  // namespace
}  // namespace urto
