// What the result page shows, as JSON and one block of binary arrays. docs/report.md has the format.
//
// Internal: the page is for looking, so that arrays are single precision and long runs are thinned: frames evenly, until they fit `frame_bytes`; steps into pairs
// of the lowest and the highest value of equal stretches.
#pragma once

#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "urto/collision/contact.h"
#include "urto/page/report_page.h"
#include "urto/result/drawn_model.h"

namespace urto {

// NOLINTNEXTLINE(bugprone-exception-escape): moving a json checks its invariants
struct PageData {
  nlohmann::json json;
  std::string binary;  ///< little-endian; arrays begin at multiples of 8 bytes

  /// Appends an array; what the JSON says of it: {"at": byte, "n": count, "type": "f32" | "f64" | "i32"}.
  nlohmann::json add(const std::vector<float>& values);
  nlohmann::json add(const std::vector<double>& values);
  nlohmann::json add(const std::vector<int>& values);
};

PageData page_data(const ResultReader& result, const PageOptions& options);

/// Parts of the above, each in a file of its own.
nlohmann::json page_model(const DrawnModel& model, PageData& data);
nlohmann::json page_steps(const ResultReader& result, PageData& data, long most);
/// "frames", "contacts" and "series".
void add_page_frames(const ResultReader& result, const DrawnModel& model,
                     const PageOptions& options, PageData& data);
/// What the reader must know first, worst first: {"level": "failure" | "warning" | "note", "text"}.
nlohmann::json page_remarks(const ResultReader& result, const nlohmann::json& summary);

}  // namespace urto
