// A comparison of runs for people: one page in the manner of the result page, tables for other
// programs, pictures for papers.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "urto/analysis/compare.h"
#include "urto/page/plot_figure.h"

namespace urto {

struct ComparisonPage {
  std::string title = {}, description = {};
  /// [s] a stretch of time that is drawn again by itself.
  std::optional<std::pair<double, double>> zoom = {};
  /// "", or the ending of a picture of every panel: "svg", "png", "pdf".
  std::string pictures = {};
};

/// The quantities over time, errors over time, convergence and work–precision.
std::vector<PlotPanel> comparison_panels(const Comparison& comparison, const ComparisonPage& page);

/// Writes compare.html, runs.csv, run-N.csv and the pictures into a directory, which may be new;
/// what an earlier comparison left under these names is replaced. Throws InputError, also if there
/// are files of these names that no comparison wrote.
std::vector<std::filesystem::path> write_comparison(const Comparison& comparison,
                                                    const ComparisonPage& page,
                                                    const std::filesystem::path& directory);

/// Before hours are spent: throws what write_comparison would throw.
void refuse_foreign_comparison(const std::filesystem::path& directory);

}  // namespace urto
