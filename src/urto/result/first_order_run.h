// Runs a scene without bodies (circuits, equations) and leaves the files of a run in a directory:
// the same as those of run_scene, but for checkpoints.
#pragma once

#include "urto/result/run.h"

namespace urto {

/// What a result of the scene says of it.
Description describe_first_order(const Scene& scene);
/// Every how many seconds a frame is recorded: as the scene says, or 2000 in all.
double output_step_of(const SimulationOptions& options);

/// The start, with the multipliers of a first step, from which nothing else is taken.
FirstMoment first_moment_of_equations(const Scene& scene);

/// "4 states, 9 rows" and what is known of them.
std::string counted_unknowns(const FirstOrderScene& scene);

/// As run_scene. Throws InputError for a request to resume.
RunOutcome run_first_order(const Scene& scene, const RunRequest& request);

}  // namespace urto
