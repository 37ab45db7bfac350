// A directory for a moment, for results that only their page needs.
#pragma once

#include <filesystem>
#include <unistd.h>

#include <fmt/format.h>

namespace urto::app {

struct Scratch {
  std::filesystem::path directory = std::filesystem::temp_directory_path() /
                                    fmt::format("urto-view-{}", static_cast<long>(getpid()));
  Scratch() { std::filesystem::create_directories(directory); }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }
};

}  // namespace urto::app
