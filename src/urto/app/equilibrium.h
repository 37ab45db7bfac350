// What `urto statics` and `urto modes` share: a scene, moved to its equilibrium.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "urto/analysis/statics.h"
#include "urto/mechanics/rigid_system.h"
#include "urto/scene/scene.h"
#include "urto/stepper/consistent_start.h"

namespace urto::app {

struct EquilibriumRequest {
  std::string scene;
  std::vector<std::string> set;
  StaticsOptions options;
};

struct EquilibriumResult {
  Scene scene;
  StartReport assembled = {};
  State start = {};  ///< assembled
  State state = {};
  StaticsReport report = {};
  std::vector<std::string> remarks = {};  ///< what is not in the scene as it was read
};

void add_equilibrium_options(CLI::App& sub, EquilibriumRequest& request);
/// The scene's start on its joints.
EquilibriumResult load_as_given(const EquilibriumRequest& request);
EquilibriumResult load_equilibrium(const EquilibriumRequest& request);

}  // namespace urto::app
