// What the benchmark programs share: a clock that other programs on the machine do not disturb, CSV
// cells, and files that are complete or absent.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto::bench {

/// The share of its time that this process had a processor. Times of a long solve on one thread are
/// multiplied by it, so that a busy machine does not make a solver look slow. A short solve is
/// repeated instead and the best taken: it is interrupted rarely, but then nobody knows in which of
/// its phases.
class ProcessorShare {
 public:
  static constexpr double short_solve = 0.05;  // [s]

  double get() const {
    const double wall = wall_now() - wall_;
    if (wall < short_solve) return 1;
    const double share = (processor_now() - processor_) / wall;
    return share > 0 && share < 1 ? share : 1;
  }

 private:
  static double wall_now() {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return std::chrono::duration<double>(now).count();
  }
  static double processor_now() {
    timespec t{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
  }
  double wall_ = wall_now(), processor_ = processor_now();
};

/// A cell with quotes where the text needs them.
inline std::string cell(std::string_view text) {
  if (text.find_first_of(",\"\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

/// Four digits say all that a timing can; an empty cell where there is no number.
inline std::string cell(double value) {
  return std::isnan(value) ? std::string() : fmt::format("{:.4g}", value);
}

inline void write_text(const std::string& file, const std::string& text) {
  const std::string part = file + ".part";
  std::ofstream out(part, std::ios::binary);
  out << text;
  out.close();
  if (!out || std::rename(part.c_str(), file.c_str()) != 0) {
    std::remove(part.c_str());
    throw InputError(fmt::format("{}: cannot be written", file));
  }
}

}  // namespace urto::bench
