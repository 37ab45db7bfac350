// The `urto` command as its users meet it: exit code and what it writes.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <sys/wait.h>

#include <gtest/gtest.h>

#include "support/paths.h"
#include "support/shell.h"

namespace urto::samples {

struct Output {
  int code = -1;  ///< negative for a signal
  std::string out, err;
};

inline std::string contents(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline testing::AssertionResult says(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos) return testing::AssertionSuccess();
  return testing::AssertionFailure() << "no '" << part << "' in:\n" << text;
}

/// Runs `prefix urto arguments` in a folder.
inline Output run_command(const std::filesystem::path& folder, const std::string& arguments,
                          const std::string& prefix = "") {
  const std::string line = "cd '" + folder.string() + "' && " + prefix + " '" + command_file() +
                           "' " + arguments + " >.out 2>.err </dev/null";
  const int status = shell(line);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status), contents(folder / ".out"),
          contents(folder / ".err")};
}

}  // namespace urto::samples
