// What `urto compare` is asked for in words, as runs: which steppers with which settings, and what
// the truth is.
#pragma once

#include <string>
#include <vector>

#include "urto/analysis/compare.h"
#include "urto/scene/scene.h"

namespace urto::app {

struct CompareWords {
  std::string scene = {};
  std::vector<std::string> set = {};  ///< overrides of the scene
  std::string steppers = {}, steps = {}, tolerances = {}, solvers = {};
  std::string reference = {};           ///< "STEPPER:STEP", "none"
  std::vector<std::string> truth = {};  ///< "QUANTITY=EXPRESSION", or a CSV file
};

/// "a,b[c=1,d=2]" at the commas outside of brackets.
std::vector<std::string> split_list(const std::string& text);

/// All runs, the reference and the truth. Throws InputError naming what it does not understand.
CompareRequest compare_request(const CompareWords& words, const Scene& scene);

}  // namespace urto::app
