// Errors of a step beside the size of what has them: pure numbers, so that one rule judges models
// of all sizes. An error of 0.1 in a joint is a tenth of the smaller body that it joins, or a tenth
// of a radian.
#pragma once

#include "urto/mechanics/interactions.h"
#include "urto/result/model_scales.h"

namespace urto {

struct StepShares {
  struct Worst {
    double share = 0;
    int index = -1;  ///< of the joint, limit or body that has it; −1: nothing, or a coupling
  };
  Worst joint = {};        ///< of rigid joints, couplings and position motors
  Worst limit = {};        ///< of rigid limits
  Worst penetration = {};  ///< of rigid contacts; `index` is a shape's body …
  int against = -1;        ///< … and this the other one
  /// Distance of a moving body from the middle of where all was at the start, in sizes of the
  /// model.
  Worst reach = {};
};

/// Joints, limits and bodies at the state; contacts as the rows have them, those of the step that
/// led to it.
StepShares shares_of(const Model& model, const ModelScales& scales, const State& state,
                     const Interactions& rows);

}  // namespace urto
