// A full disk is like a killed process: what was flushed before is there, complete and right, and
// the file can be written on when there is room again. A disk is full by a limit of the file's size
// (where writing fails in the middle of things), and by a small file system of its own (where no
// space can be had in advance).
#include <algorithm>
#include <cmath>
#include <csignal>
#include <fstream>
#include <iterator>
#include <sys/mount.h>
#include <sys/resource.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "urto/error.h"
#include "urto/file/growing_file.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

/// No file of this process may be longer while this exists.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    before_ = std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit wanted{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &wanted);
  }
  ~FileSizeLimit() {
    setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, before_);
  }

 private:
  rlimit old_{};
  void (*before_)(int) = nullptr;
};

double value(long row, int column) {
  return std::sin(1e3 * static_cast<double>(row) + column);
}

/// Three columns of different width, filled with numbers that do not compress.
struct Sample {
  explicit Sample(GrowingFile f, long rows = 0) : file(std::move(f)), put(rows), flushed(rows) {
    const auto there = static_cast<hsize_t>(rows);
    wide = file.column("/wide", H5T_NATIVE_DOUBLE, {7, 3}, there);
    narrow = file.column("/narrow", H5T_NATIVE_DOUBLE, {}, there);
    file.share();
  }
  void add_rows(long count) {
    for (; count > 0; --count, ++put) {
      for (int k = 0; k < 21; ++k) wide->put(value(put, k));
      narrow->put(value(put, 21));
    }
    file.swap_buffers();
    file.append();
    file.flush();
    flushed = put;
  }

  GrowingFile file;
  Column *wide = nullptr, *narrow = nullptr;
  long put = 0, flushed = 0;
};

std::vector<double> read(const fs::path& file, const char* path, std::size_t width) {
  const Hdf5Handle id(H5Fopen(file.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, H5P_DEFAULT),
                      H5Fclose);
  const Hdf5Handle dataset(H5Dopen2(id, path, H5P_DEFAULT), H5Dclose);
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  std::vector<double> values(static_cast<std::size_t>(H5Sget_simple_extent_npoints(space)));
  EXPECT_EQ(values.size() % width, 0u);
  EXPECT_GE(H5Dread(dataset, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), 0);
  return values;
}

/// At least `rows`, all of them right.
void expect_rows(const fs::path& file, long rows) {
  const std::vector<double> wide = read(file, "/wide", 21), narrow = read(file, "/narrow", 1);
  ASSERT_GE(wide.size(), 21 * static_cast<std::size_t>(rows));
  ASSERT_GE(narrow.size(), static_cast<std::size_t>(rows));
  for (long r = 0; r < rows; ++r) {
    for (int k = 0; k < 21; ++k) ASSERT_EQ(wide[21 * r + k], value(r, k)) << r << ", " << k;
    ASSERT_EQ(narrow[r], value(r, 21)) << r;
  }
}

/// Appends until it cannot, and says why; returns how many rows were flushed.
long fill(const fs::path& file, long most, std::string* why = nullptr) {
  Sample sample(GrowingFile::create(file));
  sample.file.write_text("/text", "fixed");
  try {
    for (long k = 0; sample.put < most; ++k) sample.add_rows(1 + 37 * k % 50);
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("space on the disk"), std::string::npos)
        << error.what();
    if (why != nullptr) *why = error.what();
  }
  return sample.flushed;
}

std::string bytes_of(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

class FullDisk : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("urto-full-disk-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path folder_;
};

TEST_F(FullDisk, LosesNothingThatWasFlushedWhereverAWriteFails) {
  const fs::path file = folder_ / "a.h5";
  long shortest = 1'000'000, longest = 0;
  for (rlim_t bytes = 20'000; bytes < 400'000; bytes = bytes * 11 / 10 + 13) {
    testing::internal::CaptureStderr();
    long flushed = 0;
    try {
      const FileSizeLimit limit(bytes);
      flushed = fill(file, 1'000'000);
    } catch (const InputError&) {  // not even the fixed part
    }
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "") << "the library's complaints";
    if (flushed == 0) continue;
    shortest = std::min(shortest, flushed);
    longest = std::max(longest, flushed);
    expect_rows(file, flushed);
    // Room again.
    {
      Sample more(GrowingFile::reopen(file), flushed);
      more.add_rows(500);
      more.file.close();
    }
    expect_rows(file, flushed + 500);
    if (HasFatalFailure()) FAIL() << bytes << " bytes";
  }
  EXPECT_GT(longest, 3 * shortest) << "limits that tell something";
}

TEST_F(FullDisk, IsSaidBeforeAnythingIsWritten) {
  if (mount("tmpfs", folder_.c_str(), "tmpfs", 0, "size=600k") != 0)
    GTEST_SKIP() << "no right to mount a small file system";
  const fs::path file = folder_ / "a.h5";
  std::string why;
  const long flushed = fill(file, 1'000'000, &why);
  EXPECT_GT(flushed, 100);
  EXPECT_NE(why.find(": found no room for "), std::string::npos) << why << ": it began to write";
  expect_rows(file, flushed);
  const std::string before = bytes_of(file);
  {
    // There is no room for one more chunk, and none is lost by trying.
    Sample again(GrowingFile::reopen(file), flushed);
    EXPECT_THROW(again.add_rows(3000), InputError);
  }
  expect_rows(file, flushed);
  EXPECT_TRUE(bytes_of(file) == before) << "something was written that had no room";
  umount2(folder_.c_str(), MNT_DETACH);
}

TEST_F(FullDisk, GivesSpaceBackThatWasNotNeeded) {
  const fs::path file = folder_ / "a.h5";
  {
    Sample sample(GrowingFile::create(file));
    sample.add_rows(10);
    sample.file.close();
  }
  struct stat now {};
  ASSERT_EQ(stat(file.c_str(), &now), 0);
  EXPECT_LE(512 * now.st_blocks, now.st_size + 65536);
}

TEST_F(FullDisk, AFileThatWasReplacedIsNoticed) {
  const fs::path file = folder_ / "a.h5";
  Sample sample(GrowingFile::create(file));
  EXPECT_TRUE(sample.file.is_in_place());
  fs::rename(file, folder_ / "b.h5");
  EXPECT_FALSE(sample.file.is_in_place());
  std::ofstream(file) << "another";
  EXPECT_FALSE(sample.file.is_in_place());
  fs::rename(folder_ / "b.h5", file);
  EXPECT_TRUE(sample.file.is_in_place());
}

}  // namespace
}  // namespace urto
