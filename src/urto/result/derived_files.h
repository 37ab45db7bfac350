// Files that are made from a result when its run is over, beside it: CSV tables, the page.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "urto/result/result_view.h"

namespace urto {

struct DerivedFiles {
  std::vector<std::string> names = {};  ///< that they may have in the directory
  std::function<bool(const std::filesystem::path& file)> is_ours = {};
  /// Returns what it wrote. Throws InputError.
  std::function<std::vector<std::filesystem::path>(const ResultView& result,
                                                   const std::filesystem::path& directory)>
      write = {};
  bool wanted =
      true;  ///< of those that are not, what an earlier run left is taken away all the same
  bool required = true;  ///< otherwise a run without them is a good run, and only says so
};

}  // namespace urto
