// What the result page shows, as JSON and one block of binary arrays. docs/report.md has the
// format.
//
// Internal: the page is for looking, so that arrays are single precision and long runs are thinned:
// frames evenly, until they fit `frame_bytes`; steps into pairs of the lowest and the highest value
// of equal stretches.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "urto/page/report_page.h"
#include "urto/result/drawn_model.h"
#include "urto/result/summary.h"

namespace urto {

// NOLINTNEXTLINE(bugprone-exception-escape): moving a json checks its invariants
struct PageData {
  nlohmann::json json;
  std::string binary;  ///< little-endian; arrays begin at multiples of 8 bytes

  /// Appends an array; what the JSON says of it is
  /// {"at": byte, "n": count, "type": "f32" | "f64" | "i32"}.
  nlohmann::json add(const std::vector<float>& values);
  nlohmann::json add(const std::vector<double>& values);
  nlohmann::json add(const std::vector<int>& values);
};

PageData page_data(const ResultView& result, const PageOptions& options);

/// Parts of the above, each in a file of its own.
nlohmann::json page_model(const DrawnModel& model, PageData& data);
nlohmann::json page_steps(const ResultView& result, PageData& data, long most);
/// "frames", "contacts" and "series".
void add_page_frames(const ResultView& result, const DrawnModel& model, const PageOptions& options,
                     PageData& data);
/// Error bands of a verified run for the bodies that move; null for others.
nlohmann::json page_verification(const ResultView& result, const std::vector<int>& moving,
                                 PageData& data);

}  // namespace urto
