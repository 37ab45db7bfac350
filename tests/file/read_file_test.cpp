#include "urto/file/read_file.h"

#include <fstream>
#include <limits>
#include <sys/stat.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "urto/error.h"
#include "urto/file/hdf5_io.h"
#include "urto/memory_limit.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

class ReadFile : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("urto-read-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  static std::string refusal(const fs::path& file, double memory_per_byte = 1) {
    try {
      read_text_file(file, memory_per_byte);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
  fs::path folder_;
};

TEST_F(ReadFile, ReadsAllOfARegularFile) {
  const std::string text("a\0b\r\n\xff", 6);
  std::ofstream(folder_ / "a", std::ios::binary) << text;
  EXPECT_EQ(read_text_file(folder_ / "a"), text);
}

// A device never ends, and a pipe that nobody writes never begins.
TEST_F(ReadFile, RefusesWhatHasNoEnd) {
  ASSERT_EQ(mkfifo((folder_ / "pipe").c_str(), 0600), 0);
  fs::create_symlink("/dev/zero", folder_ / "zero.obj");
  const std::string device = ": found a device or a pipe, expected a file";
  EXPECT_EQ(refusal("/dev/zero"), "/dev/zero" + device);
  EXPECT_EQ(refusal(folder_ / "pipe"), (folder_ / "pipe").string() + device);
  EXPECT_EQ(refusal(folder_ / "zero.obj"), (folder_ / "zero.obj").string() + device);
  EXPECT_EQ(refusal(folder_), folder_.string() + ": found a directory, expected a file");
  EXPECT_EQ(refusal(folder_ / "none"), (folder_ / "none").string() + ": there is no such file");
  EXPECT_NE(refusal(std::string("a\0b", 3)).find("character of number zero"), std::string::npos);
  EXPECT_THROW(Hdf5File::open(folder_ / "pipe"), InputError);
  EXPECT_THROW(Hdf5File::open("/dev/zero"), InputError);
}

TEST_F(ReadFile, RefusesMoreThanThereIsMemoryFor) {
  // A hole: nothing of it is on the disk, or read.
  const fs::path file = folder_ / "long";
  std::ofstream(file) << "x";
  fs::resize_file(file, 2'000'000'000);
  EXPECT_EQ(refusal(file), file.string() + ": found a file of 2e+03 MB, expected at most 1 GiB");
  fs::resize_file(file, 500'000'000);
  const std::uint64_t before = memory_limit();
  set_memory_limit(std::uint64_t{4} << 30);
  const std::string found = refusal(file, 10);
  set_memory_limit(before);
  EXPECT_EQ(found, file.string() +
                       ": found a file of 500 MB, which needs about 4.7 GiB of memory, expected at "
                       "most 4.0 GiB in all (--memory-limit)");
}

TEST(Messages, AreAtMostAKilobyteAndKeepTheirEnds) {
  const std::string name(70'000, 'a');
  const std::string said = InputError("scene.json: /bodies/0", "'" + name + "'", "a mass").what();
  EXPECT_LE(said.size(), 1000u);
  EXPECT_TRUE(said.starts_with("scene.json: /bodies/0: found 'aaa"));
  EXPECT_TRUE(said.ends_with("aaa', expected a mass"));
  // Not in the middle of a character.
  std::string accents;
  for (int k = 0; k < 1000; ++k) accents += "é";
  for (int shift = 0; shift < 2; ++shift) {
    const std::string cut = InputError(std::string(shift, 'x') + accents).what();
    EXPECT_LE(cut.size(), 1000u);
    for (std::size_t k = shift; k < cut.size(); ++k) {
      const auto c = static_cast<unsigned char>(cut[k]);
      if (c != 0xC3) continue;
      ASSERT_EQ(static_cast<unsigned char>(cut[k + 1]), 0xA9);
    }
  }
}

TEST(MemoryLimit, RefusesOnlyWhatIsTooMuch) {
  const std::uint64_t before = memory_limit();
  set_memory_limit(std::uint64_t{1} << 30);
  EXPECT_NO_THROW(require_memory(1e6, "here", "a little"));
  EXPECT_NO_THROW(require_memory(1e8, "here", "a lot"));
  EXPECT_THROW(require_memory(1.1e9, "here", "too much"), InputError);
  EXPECT_THROW(require_memory(1e300, "here", "too much"), InputError);
  EXPECT_THROW(require_memory(std::numeric_limits<double>::infinity(), "here", "too much"),
               InputError);
  set_memory_limit(before);
}

}  // namespace
}  // namespace urto
