// Tests that write files: each has a folder of its own, which goes away with it.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <unistd.h>

#include <gtest/gtest.h>

namespace urto::samples {

class FolderTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    std::string name = test->name();  // that of a test with parameters has a slash
    std::ranges::replace(name, '/', '-');
    folder_ =
        std::filesystem::temp_directory_path() / ("urto-" + name + "-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path path(const std::string& name) const { return folder_ / name; }

 private:
  std::filesystem::path folder_;
};

}  // namespace urto::samples
