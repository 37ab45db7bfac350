#include "urto/file/whole_file.h"

#include <fstream>
#include <sstream>
#include <unistd.h>

#include <gtest/gtest.h>

#include "urto/error.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

class WholeFiles : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() /
              (std::string("urto-") + test->name() + "-" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  fs::path path(const char* name) const { return folder_ / name; }
  long files() const { return std::distance(fs::directory_iterator(folder_), {}); }
  static std::string contents(const fs::path& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  }

 private:
  fs::path folder_;
};

TEST_F(WholeFiles, AreThereWhenTheyAreComplete) {
  std::ofstream(path("a")) << "before";
  WholeFile out(path("a"));
  out.write("aft");
  EXPECT_EQ(contents(path("a")), "before");
  out.write("er");
  EXPECT_EQ(out.finish(), path("a"));
  EXPECT_EQ(contents(path("a")), "after");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFiles, LeaveNothingWhenTheyAreGivenUp) {
  { WholeFile(path("a")).write("half"); }
  EXPECT_EQ(files(), 0);
  const auto fail = [](const fs::path& part) {
    std::ofstream(part) << "half";
    throw InputError("no more");
  };
  std::ofstream(path("b")) << "before";
  EXPECT_THROW(write_complete(path("b"), fail), InputError);
  EXPECT_EQ(contents(path("b")), "before");
  EXPECT_EQ(files(), 1);
}

TEST_F(WholeFiles, RefuseDirectoriesAndPlacesThatAreNotThere) {
  EXPECT_THROW(PartFile{path("")}, InputError);
  EXPECT_THROW(WholeFile(path("no/such/place")).finish(), InputError);
  EXPECT_THROW(write_complete(path("c"), [](const fs::path&) {}), InputError)
      << "nothing was written";
}

TEST_F(WholeFiles, OfOneNameDoNotMeet) {
  PartFile one(path("a")), other(path("a"));
  EXPECT_NE(one.path(), other.path());
  std::ofstream(one.path()) << "one";
  std::ofstream(other.path()) << "other";
  other.keep();
  one.keep();
  EXPECT_EQ(contents(path("a")), "one");
}

}  // namespace
}  // namespace urto
