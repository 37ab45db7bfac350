// Numbers of a result arranged for plotting: `urto plot` draws them with matplotlib, or writes them
// as CSV.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "urto/result/result_view.h"

namespace urto {

struct PlotSeries {
  std::string name;
  std::vector<double> values;
  std::vector<double> along = {};  ///< where they stand; empty: at the panel's times
  int colour = -1;                 ///< of the eight lines'; −1: the next one
};

/// One pair of axes; series share the times unless they bring their own.
struct PlotPanel {
  std::string title, label;  ///< label of the y axis, with its unit
  bool log = false;
  double level = 0;  ///< a horizontal line such as the tolerance; 0 for none
  std::vector<double> time = {};
  std::vector<PlotSeries> series = {};
  std::string along = "time [s]";  ///< label of the x axis
  bool log_along = false;
  bool marks = false;     ///< a point for every value
  bool points = false;    ///< … and no line
  std::string note = {};  ///< a sentence for pages
};

/// What can be asked for: energy, balance, certificate, contacts, iterations, timings, penetration,
/// joint_error, step, local_error, body:NAME:QUANTITY[,QUANTITY…], joint:NAME:QUANTITY[,…],
/// item:NAME:QUANTITY[,…] of whatever else has a name (a node, component, state, law, motor …), and
/// phase:NAME:QUANTITY:NAME:QUANTITY, the second over the first. Throws InputError that lists them
/// for anything else.
PlotPanel plot_panel(const ResultView& result, const std::string& what);

/// time and all series as columns. Throws InputError if the panels have different times (steps and
/// frames).
void write_plot_csv(std::span<const PlotPanel> panels, const std::filesystem::path& file);

/// Draws PNG, SVG or PDF (by the ending) with matplotlib of /usr/bin/python3, or of the interpreter
/// that URTO_PYTHON names. Complete or absent.
void draw_plot(std::span<const PlotPanel> panels, const std::string& title,
               const std::filesystem::path& file);

}  // namespace urto
