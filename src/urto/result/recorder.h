// From a running simulation to values, and from states that nobody simulated: the only place that
// knows both what a run offers and what is recorded of it.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "urto/collision/contact.h"
#include "urto/mechanics/interactions.h"
#include "urto/result/frame.h"
#include "urto/result/result_view.h"
#include "urto/result/step_record.h"

namespace urto {

/// The state of the run, and the forces of the step that led to it (none before the first step).
/// The channels are `model_channels`.
Frame record_frame(Simulation& run);
/// The step that was just accepted. The scales are those of the run's model.
StepRecord record_step(const Simulation& run, const ModelScales& scales);
/// How the run stands, but for its wall time.
RunStatus record_status(const Simulation& run);

/// Bodies and joint coordinates of a state. Forces are unknown: not-a-number, but for motors that
/// are given as forces.
Frame still_frame(const Model& model, const State& state);

/// Forces [N, N·m] of rows by the item that gives them, and contacts that touch, push or pull. Rows
/// and contacts may be of a moment just before the state; the impulses are those of a time h (1:
/// they are forces).
struct RowForces {
  const Interactions& rows;
  const Vector& impulses;
  double h = 1;
};
void add_forces(const Model& model, const State& state, const RowForces& forces, Frame& frame);

}  // namespace urto
