// What `urto statics` and `urto modes` share: a scene, moved to its equilibrium.
#pragma once

#include <string>
#include <vector>

#include <CLI/App.hpp>

#include "urto/mechanics/rigid_system.h"
#include "urto/result/equilibrium.h"

namespace urto::app {

struct EquilibriumRequest {
  std::string scene;
  std::vector<std::string> set;
  StaticsOptions options;
};

void add_equilibrium_options(CLI::App& sub, EquilibriumRequest& request);
/// The scene's start on its joints.
SceneEquilibrium load_as_given(const EquilibriumRequest& request);
/// Ctrl-C ends the search: to be asked for by `interrupt_requested` before anything else.
SceneEquilibrium load_equilibrium(const EquilibriumRequest& request);
/// Says so; returns the exit code.
int interrupted_at(const StaticsReport& report);

}  // namespace urto::app
