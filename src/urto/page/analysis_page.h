// Pages of analyses, in the format of the pages of runs: modes that oscillate, and a scene before
// and after it came to rest. Their results are values that nobody simulated.
#pragma once

#include <complex>
#include <filesystem>
#include <string>
#include <vector>

#include "urto/analysis/statics.h"
#include "urto/page/report_page.h"
#include "urto/result/result.h"
#include "urto/scene/scene.h"
#include "urto/stepper/consistent_start.h"

namespace urto {

/// A result and how its page is to be made.
struct AnalysisPage {
  Result result;
  PageOptions options;
};

struct DrawnMode {
  std::string name = {};
  Eigen::VectorXcd shape = {};  ///< increments of the configuration
};

/// Every mode is a chapter of two seconds, one period each, x = Re(X exp(−iπ/2 + iφ)); real shapes
/// pass through `at` at both ends. Drawn so large that the body that moves most goes a tenth of the
/// scene's size, or turns by 0.3 rad.
AnalysisPage mode_page(const Scene& scene, const StartReport& start, const State& at,
                       const std::vector<DrawnMode>& modes,
                       const std::vector<std::string>& remarks = {});

/// A state at rest with the reactions of the report: the channels of a model's frame, and contacts
/// with their forces. Without reactions the forces stay unknown.
Frame rest_frame(const Model& model, const State& rest, const StaticsReport& report);

/// The scene as given, and at rest with the forces of its contacts and joints there, or where the
/// search for rest ended. `said` is told first.
struct FoundRest {
  const State& given;
  const State& rest;
  const StaticsReport& report;  ///< its rows and reactions, where it has them
  bool found = true;
  std::string said = {};
  std::vector<std::string> remarks = {};
};
AnalysisPage statics_page(const Scene& scene, const StartReport& start, const FoundRest& found);

/// Throws InputError, also if there is a file of that name that is no page of urto.
void write_page(const AnalysisPage& page, const std::filesystem::path& file);

/// The factor of a shape that fits the above.
double drawn_amplitude(const Model& model, const State& at, const Eigen::VectorXcd& shape);

}  // namespace urto
