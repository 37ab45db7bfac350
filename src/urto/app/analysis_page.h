// Pages of analyses, in the format of the pages of runs: modes that oscillate, and a scene before and after it came to rest.
#pragma once

#include <complex>
#include <filesystem>
#include <string>
#include <vector>

#include "urto/scene/scene.h"

namespace urto::app {

struct DrawnMode {
  std::string name = {};
  Eigen::VectorXcd shape = {};  ///< increments of the configuration
};

/// Every mode is a chapter of two seconds, one period each, x = Re(X exp(−iπ/2 + iφ)); real shapes pass through `at` at both ends. Drawn so large that the body that moves most goes a tenth of the
/// scene's size, or turns by 0.3 rad.
void write_mode_page(const Scene& scene, const State& at, const std::vector<DrawnMode>& modes,
                     const std::filesystem::path& page);

/// The scene as given, and at rest with the forces of its contacts and joints there, or where the search for rest ended. `said` is told first.
struct StaticsPage {
  State start, rest;
  bool found = true;
  std::string said = {};
};
void write_statics_page(const Scene& scene, const StaticsPage& content,
                        const std::filesystem::path& page);

/// The factor of a shape that fits the above.
double drawn_amplitude(const Model& model, const State& at, const Eigen::VectorXcd& shape);

/// Throws InputError if there is a file of that name that is no page of urto.
void refuse_foreign_page(const std::filesystem::path& page);

}  // namespace urto::app
