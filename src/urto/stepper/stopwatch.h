// Wall time, by phases of a step and of a run.
#pragma once

#include <chrono>

namespace urto {

class Stopwatch {
 public:
  /// Seconds since the last lap, or since it was made.
  double lap() {
    const Clock::time_point now = Clock::now();
    const double seconds = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return seconds;
  }
  /// The same without beginning another lap.
  double seconds() const { return std::chrono::duration<double>(Clock::now() - last_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

}  // namespace urto
