#include "urto/file/folder_lock.h"

#include <fstream>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

#include <gtest/gtest.h>

#include "urto/error.h"
#include "urto/file/whole_file.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

class Lock : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("urto-lock-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string refusal() const {
    try {
      const FolderLock lock(folder_);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  }
  fs::path folder_;
};

TEST_F(Lock, OneHasAFolderAtATimeAndTheOtherIsToldWho) {
  {
    const FolderLock first(folder_);
    EXPECT_EQ(refusal(), folder_.string() + ": found a directory that process " +
                             std::to_string(getpid()) +
                             " is writing results into, expected one of its own (-o), or to wait "
                             "until that run has ended");
  }
  EXPECT_EQ(refusal(), "");
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Lock, OfAProcessThatWasKilledIsFree) {
  int ready[2];
  ASSERT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const FolderLock lock(folder_);
    static_cast<void>(write(ready[1], "x", 1) == 1);
    for (;;) pause();
  }
  char x = 0;
  ASSERT_EQ(read(ready[0], &x, 1), 1);
  EXPECT_NE(refusal().find("process " + std::to_string(child) + " "), std::string::npos);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_TRUE(fs::exists(folder_ / ".urto-lock")) << "it could not tidy up";
  EXPECT_EQ(refusal(), "");
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Lock, ShowsNothingOfAForeignFile) {
  std::ofstream(folder_ / ".urto-lock") << "secret";
  const FolderLock lock(folder_);
  fs::create_symlink("/etc/passwd", folder_ / "link");
  fs::create_directories(folder_ / "other");
  fs::create_symlink(folder_ / "link", folder_ / "other/.urto-lock");
  EXPECT_THROW(FolderLock(folder_ / "other"), InputError) << "links are not followed";
}

TEST_F(Lock, LeftoversOfProcessesThatAreGoneGo) {
  const pid_t gone = fork();
  if (gone == 0) _exit(0);
  waitpid(gone, nullptr, 0);
  const std::string dead = std::to_string(gone), alive = std::to_string(getppid());
  const auto make = [&](const std::string& name) { std::ofstream(folder_ / name) << "x"; };
  for (const std::string& name :
       {"result.h5." + dead + "-0.part", "report.html." + dead + "-17.part"})
    make(name);
  const std::vector<std::string> kept = {
      "result.h5",       "result.h5." + alive + "-0.part", "mine.h5." + dead + "-0.part",
      "result.h5.part",  "result.h5." + dead + ".part",    "result.h5.x-1.part",
      "result.h5.-.part"};
  for (const std::string& name : kept) make(name);
  remove_leftovers(folder_, {"result.h5", "report.html"});
  long left = 0;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    ++left;
    EXPECT_NE(std::find(kept.begin(), kept.end(), entry.path().filename().string()), kept.end())
        << entry.path();
  }
  EXPECT_EQ(left, static_cast<long>(kept.size()));
}

}  // namespace
}  // namespace urto
