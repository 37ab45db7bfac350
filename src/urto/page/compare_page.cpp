#include "urto/page/compare_page.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/whole_file.h"
#include "urto/page/plots_page.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view page_name = "compare.html", table_name = "runs.csv";

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

PageTable table_of(const Comparison& comparison) {
  PageTable table{.columns = {"run"}, .coloured = true};
  for (const TableColumn& column : columns) table.columns.emplace_back(column.name);
  table.columns.emplace_back("end");
  for (const ComparedRun& run : comparison.runs) {
    std::vector<PageCell> row{PageWord{run.label}};
    for (const TableColumn& column : columns) row.emplace_back(column.number(run));
    row.emplace_back(PageWord{.text = end_of(run), .bad = !run.failure.empty()});
    table.rows.push_back(std::move(row));
  }
  return table;
}

std::vector<std::string> remarks_of(const Comparison& comparison) {
  std::vector<std::string> out;
  if (!comparison.truth_failure.empty()) {
    out.push_back(fmt::format("The reference run, {}, ended early: {}.", comparison.truth,
                              comparison.truth_failure));
  }
  for (const ComparedRun& run : comparison.runs) {
    if (!run.failure.empty()) out.push_back(fmt::format("{}: {}.", run.label, run.failure));
    if (run.missed > 0) {
      out.push_back(fmt::format("{}: {} of {} steps missed their tolerance.", run.label, run.missed,
                                run.steps));
    }
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

// ---- Tables

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
  if (is_plots_page(directory / page_name)) return;
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
  make_directory(directory);
  const PlotsPage drawn{.title = page.title.empty() ? "Comparison" : page.title,
                        .description = page.description,
                        .said = said(comparison),
                        .remarks = remarks_of(comparison),
                        .table = table_of(comparison),
                        .panels = comparison_panels(comparison, page)};
  std::vector<fs::path> out{directory / page_name};
  write_plots_page(drawn, out.back());
  out.push_back(directory / table_name);
  write_runs(comparison, out.back());
  for (std::size_t k = 0; k < comparison.runs.size(); ++k) {
    out.push_back(directory / fmt::format("run-{}.csv", k + 1));
    write_run(comparison, comparison.runs[k], out.back());
  }
  if (page.pictures.empty()) return out;
  for (const PlotPanel& panel : drawn.panels) {
    out.push_back(directory / fmt::format("{}.{}", file_name(panel.title), page.pictures));
    draw_plot({&panel, 1}, page.title, out.back());
  }
  return out;
}

}  // namespace urto
