// The verdict of a run: whether its motion can be believed. A step's certificate says that the
// step's problem was solved; this says what became of it. docs/results.md has the table of what is
// weighed, with the reasons for its numbers.
//
// It is made from a result alone, by one function, so that the screen, the file, the page and the
// exit code cannot disagree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "urto/result/result_view.h"

namespace urto {

enum class Level : std::uint8_t { good, remark, failure };
std::string_view to_string(Level level);

/// One thing that was weighed.
struct Finding {
  Level level = Level::good;
  std::string what = {};  ///< "joint error": a line of the table
  std::string text = {};  ///< a sentence
  // Pure numbers, as the table has them; zero for what is not measured (how the run ended).
  double found = 0;
  double remarked = 0;   ///< above it, a remark …
  double tolerated = 0;  ///< … and above this, a failure; infinite if it is never one
  double time = 0;       ///< [s] when it was found, or at its worst
};

struct Verdict {
  Level level = Level::good;           ///< of the worst finding
  std::vector<Finding> findings = {};  ///< all that was weighed, worst first
  int count(Level level) const;
};

Verdict judge(const ResultView& result);

/// "good", "2 remarks", "1 failure, 2 remarks".
std::string short_verdict(const Verdict& verdict);

}  // namespace urto
