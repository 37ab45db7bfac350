// What there is to say of a start before the first step: limits that are broken, shapes that
// overlap, bodies that assembling moved, settings that cannot mean what they say. `urto check`
// prints it; a run keeps it, and its verdict remarks on it.
#pragma once

#include <string>
#include <vector>

#include "urto/mechanics/interactions.h"
#include "urto/result/model_scales.h"
#include "urto/stepper/consistent_start.h"

namespace urto {

struct StartLook {
  std::vector<std::string> warnings = {};
  double limit = 0, penetration = 0;  ///< the worst, as shares (step_shares.h)
};

/// Of the assembled start with the rows of its first step.
StartLook look_at_start(const Model& model, const SimulationOptions& options,
                        const StartReport& report, const State& state, const Interactions& rows);

}  // namespace urto
