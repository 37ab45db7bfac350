// Results as CSV, for tools that do not read HDF5. Numbers are written with all their digits.
#pragma once

#include <filesystem>
#include <vector>

#include "urto/result/result_file.h"

namespace urto {

/// Writes into `directory`: states.csv (a row a frame and body that can move), coordinates.csv (a row a
/// frame; only if there are joint coordinates) and steps.csv (a row a step). Returns what it wrote; each
/// is complete or absent. Throws InputError if one cannot be written.
std::vector<std::filesystem::path> write_csv(const ResultReader& result,
                                             const std::filesystem::path& directory);

/// The files that `write_csv` may have left in `directory`, told by their first lines.
std::vector<std::filesystem::path> find_csv(const std::filesystem::path& directory);

}  // namespace urto
