// A scene, moved to where it rests: what `urto statics`, `urto modes` and the Python module begin
// with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "urto/analysis/statics.h"
#include "urto/scene/scene.h"
#include "urto/stepper/consistent_start.h"

namespace urto {

struct SceneEquilibrium {
  Scene scene;  ///< what followed a function of time stays where it was at the start
  StartReport assembled = {};
  State start = {};  ///< assembled
  State state = {};  ///< at rest
  StaticsReport report = {};
  std::vector<std::string> remarks = {};  ///< what is not in the scene as it was read
};

/// The scene's start on its joints; `state` is the same, and there is no report. `name` stands for
/// the scene in messages. Throws InputError if nothing can move.
SceneEquilibrium assembled_start(Scene scene, std::string_view name);

/// The same, moved to an equilibrium as far as the report says.
SceneEquilibrium equilibrium_of(Scene scene, std::string_view name, StaticsOptions options = {});

}  // namespace urto
