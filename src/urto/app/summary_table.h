// The summary of a run on a terminal.
#pragma once

#include "urto/result/summary.h"

namespace urto::app {

void print_summary(const RunSummary& summary, bool timings);

}  // namespace urto::app
