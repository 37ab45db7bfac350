// Results as CSV, for tools that do not read HDF5. Numbers are written with all their digits.
#pragma once

#include <filesystem>
#include <vector>

#include "urto/result/derived_files.h"
#include "urto/result/result_view.h"

namespace urto {

/// Writes into `directory`: states.csv (a row for every frame and body that can move),
/// coordinates.csv (a row for every frame; only if there are joint coordinates) and steps.csv (a
/// row for every step, with all `step_columns`). Returns what it wrote; each is complete or absent.
/// Throws InputError if one cannot be written.
std::vector<std::filesystem::path> write_csv(const ResultView& result,
                                             const std::filesystem::path& directory);

/// The same for a run to leave beside its result.
DerivedFiles csv_files();

}  // namespace urto
