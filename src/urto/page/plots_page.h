// Internal: a page of a table and plots in one file that needs no network, as comparisons and
// sweeps of runs write it. Its template is plots.html.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "urto/page/plot_figure.h"

namespace urto {

/// A word, perhaps a link to another page.
struct PageWord {
  std::string text = {};
  std::string link = {};  ///< relative to the page
  bool bad = false;
};
using PageCell = std::variant<double, PageWord>;

struct PageTable {
  std::vector<std::string> columns = {};
  std::vector<std::vector<PageCell>> rows = {};
  /// Each row has the colour of a curve.
  bool coloured = false;
};

struct PlotsPage {
  std::string title = {}, description = {};
  std::string said = {};                  ///< a sentence below them
  std::vector<std::string> remarks = {};  ///< what is wrong, above everything
  PageTable table = {};
  std::vector<PlotPanel> panels = {};
};

void write_plots_page(const PlotsPage& page, const std::filesystem::path& file);

/// Was this page written by write_plots_page? Then it may be replaced.
bool is_plots_page(const std::filesystem::path& file);

/// A place to write to: the directory is made. Throws InputError that says why it cannot be.
void make_directory(const std::filesystem::path& directory);

/// A text in quotes as CSV has it.
std::string csv_text(std::string_view text);

}  // namespace urto
