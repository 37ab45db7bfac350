// The result page: one HTML file with a 3D replay and plots, which needs no network and no other
// file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "urto/result/derived_files.h"
#include "urto/result/result_view.h"

namespace urto {

/// A stretch of the replay with a name: one mode of several.
struct PageChapter {
  std::string name = {};
  double from = 0, to = 0;  ///< [s]
};

struct PageOptions {
  /// Frames are thinned evenly until their arrays take no more than this. A browser opens a page of
  /// 32 MB (44 MB as text) in about two seconds.
  std::size_t frame_bytes = std::size_t{32} << 20;
  long step_points = 3000;  ///< of a plot over steps
  /// "run"; "scene" before it runs; "modes" and "statics", whose frames are no motion in time.
  std::string mode = "run";
  std::vector<PageChapter> chapters = {};  ///< to choose from; each is replayed round and round
  std::vector<std::string> remarks = {};   ///< notes at the head of the page
};

/// Writes the page of a result, in a file or in memory, also of one that failed, was interrupted or
/// is still growing. Complete or absent. Throws InputError.
void write_report(const ResultView& result, const std::filesystem::path& file,
                  const PageOptions& options = {});

/// The page "report.html" for a run to leave beside its result. The run is what counts: it need not
/// be there.
DerivedFiles page_files();

/// True for a page that `write_report` wrote; false for everything else.
bool is_report(const std::filesystem::path& file);
/// Throws InputError if there is a file of that name that is no page of urto.
void refuse_foreign_page(const std::filesystem::path& page);

}  // namespace urto
