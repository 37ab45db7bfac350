// What `urto statics` has to say: a verdict, then bodies, joints and contacts as tables with their
// units and frames, or all of it as JSON.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "urto/app/equilibrium.h"
#include "urto/result/frame.h"

namespace urto::app {

/// Where a scene rests, and with which forces.
struct RestReport {
  const SceneEquilibrium& at;
  Frame rest;           ///< with the forces of the report
  bool linear = false;  ///< the answer of the scene linearised at its start
};
RestReport report_rest(const SceneEquilibrium& at, bool linear);

/// "equilibrium in 7 iterations, …"
std::string conclusion(const RestReport& report);
/// What was taken to hold, what is one choice of many.
std::vector<std::string> remarks(const RestReport& report);

void print(const RestReport& report);
nlohmann::ordered_json to_json(const RestReport& report);

}  // namespace urto::app
