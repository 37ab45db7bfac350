#include "urto/app/command.h"

#include <algorithm>
#include <cstdio>
#include <numeric>

#include <fmt/format.h>

namespace urto::app {
namespace {

int edit_distance(std::string_view a, std::string_view b) {
  std::vector<int> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 0; i < a.size(); ++i) {
    int diagonal = std::exchange(row[0], static_cast<int>(i) + 1);
    for (std::size_t j = 0; j < b.size(); ++j) {
      const int replace = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({replace, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

}  // namespace

void print_error(std::string_view message) {
  // Rows already printed must stand above what went wrong after them.
  std::fflush(stdout);
  fmt::print(stderr, "urto: error: {}\n", message);
}

std::string nearest(std::string_view word, const std::vector<std::string>& candidates) {
  std::string best;
  int least =
      static_cast<int>(word.size()) / 2 + 1;  // beyond half of the letters it is another word
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(word, candidate);
    if (distance >= least) continue;
    least = distance;
    best = candidate;
  }
  return best;
}

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near);
}

}  // namespace urto::app
