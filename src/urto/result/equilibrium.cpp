#include "urto/result/equilibrium.h"

#include "urto/error.h"
#include "urto/mechanics/rigid_system.h"
#include "urto/stepper/simulation.h"

namespace urto {

SceneEquilibrium assembled_start(Scene scene, std::string_view name) {
  SceneEquilibrium out{.scene = std::move(scene)};
  if (out.scene.model.slots == 0) {
    throw InputError(name, "no moving body",
                     "at least one of kind \"dynamic\", for its equilibrium and its modes");
  }
  StillModel still = hold_still(std::move(out.scene.model), 0);
  out.scene.model = std::move(still.model);
  for (const std::string& moving : still.moving)
    out.remarks.push_back(moving + " moves at the start; here it stays where it is then");
  const RigidSystem system(out.scene.model);
  out.start = initial_state(out.scene.model);
  out.assembled = consistent_start(system, out.scene.options, out.start);
  out.state = out.start;
  return out;
}

SceneEquilibrium equilibrium_of(Scene scene, std::string_view name, StaticsOptions options) {
  SceneEquilibrium out = assembled_start(std::move(scene), name);
  const RigidSystem system(out.scene.model);
  options.envelope = with_choices(out.scene.options, out.scene.model).contact_envelope;
  try {
    out.report = find_equilibrium(system, out.state, options);
  } catch (const InputError& error) {  // it does not know the scene
    throw InputError(std::string(name) + ": " + error.what());
  }
  return out;
}

}  // namespace urto
