// The summary of a run and the report of its start as JSON: what `--json` prints.
#pragma once

#include <nlohmann/json.hpp>

#include "urto/result/summary.h"
#include "urto/stepper/consistent_start.h"

namespace urto {

nlohmann::json to_json(const RunSummary& summary);
nlohmann::json to_json(const Verdict& verdict);
nlohmann::json to_json(const StartReport& report);

}  // namespace urto
