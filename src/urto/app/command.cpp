#include "urto/app/command.h"

#include <cstdio>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/spelling.h"

namespace urto::app {

void print_error(std::string_view message) {
  // Rows already printed must stand above what went wrong after them.
  std::fflush(stdout);
  fmt::print(stderr, "urto: error: {}\n", clipped(std::string(message)));
}

std::filesystem::path result_file_of(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error) ? path / "result.h5" : path;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::vector<std::string_view> views(candidates.begin(), candidates.end());
  const std::string_view near = nearest_word(word, views);
  return near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near);
}

}  // namespace urto::app
