// What is recorded of one accepted step. step_columns.h says what is shown of it.
#pragma once

#include "urto/result/step_shares.h"
#include "urto/stepper/simulation.h"

namespace urto {

struct StepRecord {
  double time = 0;          ///< [s] at its end
  StepReport report = {};   ///< certificate, solve, joint error, timings …
  EnergyAudit energy = {};  ///< [J] since the start of the run
  StepShares shares = {};   ///< errors beside the sizes of what has them
};

}  // namespace urto
