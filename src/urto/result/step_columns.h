// The one table of what is known of every step. The result file and its reader, CSV, the page and
// its viewer, plots and the summary take their columns from here: a new column is one line in
// step_columns.cpp.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace urto {

struct StepRecord;

struct StepColumn {
  std::string_view name;   ///< the dataset is /steps/<name>
  std::string_view unit;   ///< "–" for pure numbers
  std::string_view panel;  ///< the plot that draws it, one of `step_panels`; "" for none
  std::string_view label;  ///< what that plot calls it
  std::string_view meaning;
  double (*value)(const StepRecord& step);
  bool integer = false;
};

/// The first is the time, of which the others are functions.
std::span<const StepColumn> step_columns();
/// The place of a column in the table; the name must be one of it.
std::size_t step_column(std::string_view name);

/// A plot of step columns, on the page and by `urto plot`.
struct StepPanel {
  std::string_view name;  ///< as `urto plot --what` has it
  std::string_view title, note;
  std::string_view axis;  ///< what the y axis shows, with its unit
  bool log = false;
  int decades = 0;         ///< a logarithmic axis shows no more of them; 0: as many as there are
  double factor = 1;       ///< from the columns' unit to the axis'
  bool total = false;      ///< draws the sum of its columns too
  bool tolerance = false;  ///< draws the solver's tolerance too
  bool adaptive = false;   ///< says something only where steps differ in length
};

std::span<const StepPanel> step_panels();

}  // namespace urto
