#include "urto/page/compare_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "urto/error.h"
#include "urto/file/whole_file.h"
#include "urto/page/page_asset.h"
#include "urto/page/page_text.h"

namespace urto {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view page_mark = "<!doctype html><!-- urto-comparison -->";
constexpr std::string_view page_name = "compare.html", table_name = "runs.csv";
/// Points of all curves of a page: some 8 MB of text.
constexpr std::size_t most_points = 400000, least_points = 500, enough_points = 4000;

// ---- Panels

std::string label_of(const RunQuantity& q) {
  return fmt::format("{} [{}]", q.name, q.unit);
}

bool is_in(const std::optional<std::pair<double, double>>& zoom, double t) {
  return !zoom || (t >= zoom->first && t <= zoom->second);
}

PlotSeries curve(const ComparedRun& run, int colour, const std::vector<double>& time,
                 const std::vector<double>& values,
                 const std::optional<std::pair<double, double>>& zoom) {
  PlotSeries out{.name = run.label, .values = {}, .colour = colour};
  for (std::size_t k = 0; k < time.size(); ++k) {
    if (!is_in(zoom, time[k])) continue;
    out.along.push_back(time[k]);
    out.values.push_back(values[k]);
  }
  return out;
}

PlotPanel quantity_panel(const Comparison& comparison, std::size_t k,
                         const std::optional<std::pair<double, double>>& zoom) {
  const RunQuantity& q = comparison.quantities[k];
  PlotPanel panel{
      .title = zoom ? q.name + ", zoom" : q.name, .label = label_of(q), .log = q.decades};
  for (std::size_t r = 0; r < comparison.runs.size(); ++r) {
    const ComparedRun& run = comparison.runs[r];
    // A quantity that a run does not have is no curve.
    if (std::ranges::all_of(run.values[k], [](double x) { return std::isnan(x); })) continue;
    panel.series.push_back(curve(run, static_cast<int>(r), run.time, run.values[k], zoom));
  }
  return panel;
}

PlotPanel error_panel(const Comparison& comparison) {
  PlotPanel panel{.title = "error",
                  .label = "error [m, rad]",
                  .log = true,
                  .note = fmt::format("Largest difference to {}.", comparison.truth)};
  for (std::size_t r = 0; r < comparison.runs.size(); ++r) {
    const ComparedRun& run = comparison.runs[r];
    panel.series.push_back(curve(run, static_cast<int>(r), run.error_time, run.error, {}));
  }
  return panel;
}

/// Mean errors over a number of each run, a line for each method.
PlotPanel precision_panel(const Comparison& comparison, std::string title, std::string along,
                          bool adaptive_too, double (*number)(const ComparedRun&)) {
  PlotPanel panel{.title = std::move(title), .label = "mean error [m, rad]", .log = true};
  panel.along = std::move(along);
  panel.log_along = panel.marks = true;
  std::vector<std::pair<std::string, bool>> lines;
  for (std::size_t r = 0; r < comparison.runs.size(); ++r) {
    const ComparedRun& first = comparison.runs[r];
    if ((first.adaptive && !adaptive_too) ||
        std::ranges::find(lines, std::pair{first.method, first.adaptive}) != lines.end())
      continue;
    lines.emplace_back(first.method, first.adaptive);
    std::vector<std::pair<double, double>> points;
    for (const ComparedRun& run : comparison.runs) {
      if (run.method == first.method && run.adaptive == first.adaptive && run.failure.empty())
        points.emplace_back(number(run), run.mean_error);
    }
    std::ranges::sort(points);
    PlotSeries line{.name = first.method + (first.adaptive ? ", error-controlled" : ""),
                    .values = {},
                    .colour = static_cast<int>(r)};
    for (const auto& [x, error] : points) {
      line.along.push_back(x);
      line.values.push_back(error);
    }
    panel.series.push_back(std::move(line));
  }
  return panel;
}

void add_orders(const Comparison& comparison, bool of_tolerance, PlotPanel& panel) {
  for (PlotSeries& series : panel.series) {
    for (const ObservedOrder& o : comparison.orders) {
      const std::string name = o.method + (o.of_tolerance ? ", error-controlled" : "");
      if (o.of_tolerance == of_tolerance && name == series.name)
        series.name += fmt::format(", order {:.2f}", o.order);
    }
  }
}

// ---- The page

/// The lowest and the highest value of equal stretches, in their order: no peak is lost.
PlotSeries thinned(const PlotSeries& from, std::size_t points) {
  if (from.values.size() <= points) return from;
  PlotSeries out = from;
  out.values.clear();
  out.along.clear();
  const std::size_t stretches = points / 2, size = from.values.size();
  const auto add = [&](std::size_t k) {
    out.along.push_back(from.along[k]);
    out.values.push_back(from.values[k]);
  };
  for (std::size_t s = 0; s < stretches; ++s) {
    const std::size_t first = s * size / stretches, last = (s + 1) * size / stretches;
    std::size_t low = first, high = first;
    for (std::size_t k = first; k < last; ++k) {
      if (!(from.values[k] >= from.values[low])) low = k;
      if (!(from.values[k] <= from.values[high])) high = k;
    }
    add(std::min(low, high));
    if (low != high) add(std::max(low, high));
  }
  return out;
}

/// Seven digits, which is more than a plot shows; what is no number is null.
json short_numbers(const std::vector<double>& values) {
  json out = json::array();
  for (const double x : values)
    out.push_back(std::isfinite(x) ? json(std::stod(fmt::format("{:.7g}", x))) : json(nullptr));
  return out;
}

json to_json(const std::vector<PlotPanel>& panels) {
  std::size_t curves = 1;
  for (const PlotPanel& panel : panels) curves += panel.series.size();
  const std::size_t points = std::clamp(most_points / curves, least_points, enough_points);
  json out = json::array();
  for (const PlotPanel& panel : panels) {
    json series = json::array();
    for (const PlotSeries& whole : panel.series) {
      const PlotSeries s = thinned(whole, points);
      series.push_back({{"name", s.name},
                        {"colour", s.colour},
                        {"along", short_numbers(s.along)},
                        {"values", short_numbers(s.values)}});
    }
    out.push_back({{"title", panel.title},
                   {"label", panel.label},
                   {"log", panel.log},
                   {"along", panel.along},
                   {"log_along", panel.log_along},
                   {"marks", panel.marks},
                   {"zoom", panel.title.ends_with(", zoom")},
                   {"note", panel.note},
                   {"series", std::move(series)}});
  }
  return out;
}

struct TableColumn {
  std::string_view name;
  double (*number)(const ComparedRun&);
};

constexpr TableColumn columns[] = {
    {"step", [](const ComparedRun& r) { return r.step; }},
    {"tolerance", [](const ComparedRun& r) { return r.tolerance; }},
    {"steps", [](const ComparedRun& r) { return static_cast<double>(r.steps); }},
    {"rejected", [](const ComparedRun& r) { return static_cast<double>(r.rejected); }},
    {"missed", [](const ComparedRun& r) { return static_cast<double>(r.missed); }},
    {"seconds", [](const ComparedRun& r) { return r.seconds; }},
    {"mean error", [](const ComparedRun& r) { return r.mean_error; }},
    {"worst error", [](const ComparedRun& r) { return r.worst_error; }},
    {"last error", [](const ComparedRun& r) { return r.last_error; }},
    {"least gap", [](const ComparedRun& r) { return r.least_gap; }},
    {"largest gain", [](const ComparedRun& r) { return r.largest_gain; }},
    {"worst residual", [](const ComparedRun& r) { return r.worst_residual; }},
    {"most Newton", [](const ComparedRun& r) { return static_cast<double>(r.most_newton); }},
};

std::string end_of(const ComparedRun& run) {
  return run.failure.empty() ? "finished" : run.failure;
}

json table_of(const Comparison& comparison) {
  json names{"run"}, rows = json::array();
  for (const TableColumn& column : columns) names.push_back(column.name);
  names.push_back("end");
  for (const ComparedRun& run : comparison.runs) {
    json row{run.label};
    for (const TableColumn& column : columns) {
      const double x = column.number(run);
      row.push_back(std::isfinite(x) ? json(x) : json(nullptr));
    }
    row.push_back(end_of(run));
    rows.push_back(std::move(row));
  }
  return {{"columns", std::move(names)}, {"rows", std::move(rows)}};
}

std::vector<std::string> remarks_of(const Comparison& comparison) {
  std::vector<std::string> out;
  if (!comparison.truth_failure.empty())
    out.push_back(fmt::format("The reference run, {}, ended early: {}.", comparison.truth,
                              comparison.truth_failure));
  for (const ComparedRun& run : comparison.runs) {
    if (!run.failure.empty()) out.push_back(fmt::format("{}: {}.", run.label, run.failure));
    if (run.missed > 0)
      out.push_back(fmt::format("{}: {} of {} steps missed their tolerance.", run.label, run.missed,
                                run.steps));
  }
  return out;
}

std::string said(const Comparison& comparison) {
  if (comparison.truth.empty()) return "Errors were not measured: there was nothing to measure by.";
  return fmt::format(
      "Errors are differences to {}: of all bodies the largest distance or angle, its mean over "
      "time. Seconds are those of the thread.",
      comparison.truth);
}

void write_page(const Comparison& comparison, const ComparisonPage& page,
                const std::vector<PlotPanel>& panels, const fs::path& file) {
  const json document{{"title", page.title.empty() ? "Comparison" : page.title},
                      {"description", page.description},
                      {"said", said(comparison)},
                      {"remarks", remarks_of(comparison)},
                      {"table", table_of(comparison)},
                      {"panels", to_json(panels)}};
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  const std::string title = document["title"].get<std::string>() + " · Urto";
  const std::array<std::pair<std::string_view, std::string>, 2> parts = {
      {{"{{urto-title}}", html_text(title)}, {"{{urto-json}}", script_safe(text)}}};
  write_filled(comparison_template(), parts, file);
}

// ---- Tables

std::string csv_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    out += c;
    if (c == '"') out += c;
  }
  return out + '"';
}

void write_runs(const Comparison& comparison, const fs::path& file) {
  fmt::memory_buffer text;
  const auto end = std::back_inserter(text);
  fmt::format_to(end, "number,run,method");
  for (const TableColumn& column : columns) fmt::format_to(end, ",{}", column.name);
  fmt::format_to(end, ",end\n");
  for (std::size_t k = 0; k < comparison.runs.size(); ++k) {
    const ComparedRun& run = comparison.runs[k];
    fmt::format_to(end, "{},{},{}", k + 1, csv_text(run.label), csv_text(run.method));
    for (const TableColumn& column : columns) fmt::format_to(end, ",{}", column.number(run));
    fmt::format_to(end, ",{}\n", csv_text(end_of(run)));
  }
  WholeFile out(file);
  out.write({text.data(), text.size()});
  out.finish();
}

void write_run(const Comparison& comparison, const ComparedRun& run, const fs::path& file) {
  fmt::memory_buffer text;
  const auto end = std::back_inserter(text);
  fmt::format_to(end, "time");
  for (const RunQuantity& q : comparison.quantities) fmt::format_to(end, ",{}", csv_text(q.name));
  const bool errors = run.error_time == run.time;
  fmt::format_to(end, "{}\n", errors ? ",error" : "");
  for (std::size_t s = 0; s < run.time.size(); ++s) {
    fmt::format_to(end, "{}", run.time[s]);
    for (const std::vector<double>& values : run.values) fmt::format_to(end, ",{}", values[s]);
    if (errors) fmt::format_to(end, ",{}", run.error[s]);
    text.push_back('\n');
  }
  WholeFile out(file);
  out.write({text.data(), text.size()});
  out.finish();
}

std::string file_name(std::string_view title) {
  std::string out;
  for (const char c : title) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (plain) {
      out += c;
    } else if (!out.empty() && out.back() != '-') {
      out += '-';
    }
  }
  return out;
}

bool is_ours(const fs::path& page) {
  std::ifstream in(page, std::ios::binary);
  std::string start(page_mark.size(), '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  return in && start == page_mark;
}

}  // namespace

std::vector<PlotPanel> comparison_panels(const Comparison& comparison, const ComparisonPage& page) {
  std::vector<PlotPanel> out;
  for (std::size_t k = 0; k < comparison.quantities.size(); ++k) {
    PlotPanel whole = quantity_panel(comparison, k, {});
    if (whole.series.empty()) continue;
    out.push_back(std::move(whole));
    if (page.zoom) out.push_back(quantity_panel(comparison, k, page.zoom));
  }
  if (comparison.truth.empty()) return out;
  out.push_back(error_panel(comparison));
  const bool fixed = std::ranges::any_of(comparison.runs, [](auto& r) { return !r.adaptive; });
  const bool adaptive = std::ranges::any_of(comparison.runs, [](auto& r) { return r.adaptive; });
  if (fixed) {
    out.push_back(precision_panel(comparison, "convergence", "step [s]", false,
                                  [](const ComparedRun& r) { return r.step; }));
    add_orders(comparison, false, out.back());
  }
  if (adaptive) {
    PlotPanel all = precision_panel(comparison, "error over tolerance", "tolerance", true,
                                    [](const ComparedRun& r) { return r.tolerance; });
    std::erase_if(all.series, [](const PlotSeries& s) { return !(s.along.front() > 0); });
    add_orders(comparison, true, all);
    out.push_back(std::move(all));
  }
  out.push_back(precision_panel(comparison, "work and precision", "time of the thread [s]", true,
                                [](const ComparedRun& r) { return r.seconds; }));
  out.push_back(precision_panel(
      comparison, "steps and precision", "steps", true,
      [](const ComparedRun& r) { return static_cast<double>(r.steps + r.rejected); }));
  return out;
}

void refuse_foreign_comparison(const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(directory, error)) return;
  if (!fs::is_directory(directory, error))
    throw InputError(directory.string(), "no directory", "a directory, or none of that name");
  if (is_ours(directory / page_name)) return;
  for (const std::string_view name : {page_name, table_name, std::string_view("run-1.csv")}) {
    if (fs::exists(directory / name, error)) {
      throw InputError((directory / name).string(), "a file that no comparison wrote",
                       "another directory, or none of that name");
    }
  }
}

std::vector<fs::path> write_comparison(const Comparison& comparison, const ComparisonPage& page,
                                       const fs::path& directory) {
  refuse_foreign_comparison(directory);
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    throw InputError(directory.string(), "a directory that cannot be made: " + error.message(),
                     "a place to write to");
  }
  const std::vector<PlotPanel> panels = comparison_panels(comparison, page);
  std::vector<fs::path> out{directory / page_name};
  write_page(comparison, page, panels, out.back());
  out.push_back(directory / table_name);
  write_runs(comparison, out.back());
  for (std::size_t k = 0; k < comparison.runs.size(); ++k) {
    out.push_back(directory / fmt::format("run-{}.csv", k + 1));
    write_run(comparison, comparison.runs[k], out.back());
  }
  if (page.pictures.empty()) return out;
  for (const PlotPanel& panel : panels) {
    out.push_back(directory / fmt::format("{}.{}", file_name(panel.title), page.pictures));
    draw_plot({&panel, 1}, page.title, out.back());
  }
  return out;
}

}  // namespace urto
