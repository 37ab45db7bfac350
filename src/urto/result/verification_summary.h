// The verification of a run for people, and as JSON.
#pragma once

#include <vector>

#include <nlohmann/json.hpp>

#include "urto/result/summary.h"

namespace urto {

/// Lines of the summary, the first of them "error".
std::vector<SummaryLine> verification_lines(const Verification& v);

/// Without the bands.
nlohmann::json to_json(const Verification& v);

}  // namespace urto
