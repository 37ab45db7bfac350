#include "urto/page/sweep_page.h"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/error.h"
#include "urto/file/whole_file.h"
#include "urto/page/plots_page.h"
#include "urto/result/result.h"
#include "urto/result/result_file.h"
#include "urto/result/summary.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view page_name = "sweep.html", table_name = "sweep.csv",
                           samples_name = "samples.csv";
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();
constexpr std::string_view statistic_words[] = {"end", "min", "max", "mean", "rms"};
/// Points of one quantity that a page shows.
constexpr std::size_t most_samples = 20000;

struct RunColumn {
  std::string_view name;
  double (*number)(const RunSummary&);
};

constexpr RunColumn run_columns[] = {
    {"time [s]", [](const RunSummary& s) { return s.run.time; }},
    {"steps", [](const RunSummary& s) { return static_cast<double>(s.counts.steps); }},
    {"missed", [](const RunSummary& s) { return static_cast<double>(s.run.missed); }},
    {"worst residual", [](const RunSummary& s) { return s.run.worst_residual; }},
    {"joint error [m, rad]", [](const RunSummary& s) { return s.run.worst_joint_error; }},
    {"penetration [m]", [](const RunSummary& s) { return s.run.worst_penetration; }},
    {"energy [J]",
     [](const RunSummary& s) { return s.energy_of("kinetic") + s.energy_of("potential"); }},
    {"numerical [J]", [](const RunSummary& s) { return s.energy_of("numerical"); }},
    {"wall [s]", [](const RunSummary& s) { return s.run.wall_seconds; }},
};

// ---- Quantities of a run

struct History {
  std::vector<double> time, values;
  std::string unit;
};

/// "arm.x" as `urto plot` names it: "body:arm:x". Names may contain dots, so the longest that there
/// is counts.
std::string plot_word(const Description& d, const std::string& quantity) {
  if (quantity.find(':') != std::string::npos) return quantity;
  const auto has = [](const auto& items, const std::string& name) {
    return std::ranges::any_of(items, [&](const auto& item) { return item.name == name; });
  };
  for (std::size_t dot = quantity.rfind('.'); dot != std::string::npos && dot > 0;
       dot = quantity.rfind('.', dot - 1)) {
    const std::string name = quantity.substr(0, dot), rest = quantity.substr(dot + 1);
    if (has(d.bodies, name)) return fmt::format("body:{}:{}", name, rest);
    if (has(d.joints, name)) return fmt::format("joint:{}:{}", name, rest);
    for (const NamedGroup& group : d.groups) {
      if (std::ranges::find(group.items, name) != group.items.end())
        return fmt::format("item:{}:{}", name, rest);
    }
  }
  throw InputError("--what", "'" + quantity + "'",
                   "a quantity of a body, joint or item such as arm.x, hinge.angle");
}

History history_of(const ResultView& result, const std::string& quantity) {
  PlotPanel panel = plot_panel(result, plot_word(result.description(), quantity));
  if (panel.series.size() != 1 || !panel.series.front().along.empty())
    throw InputError("--what", "'" + quantity + "'", "one quantity over time");
  const std::size_t open = panel.label.rfind('['), close = panel.label.rfind(']');
  const bool has_unit = open != std::string::npos && close != std::string::npos && open < close;
  return {std::move(panel.time), std::move(panel.series.front().values),
          has_unit ? panel.label.substr(open + 1, close - open - 1) : ""};
}

double at(const History& of, double t) {
  const auto after = std::ranges::lower_bound(of.time, t);
  if (after == of.time.end()) return unknown;
  const auto k = static_cast<std::size_t>(after - of.time.begin());
  if (k == 0 || *after == t) return of.values[k];
  const double part = (t - of.time[k - 1]) / (of.time[k] - of.time[k - 1]);
  return (1 - part) * of.values[k - 1] + part * of.values[k];
}

/// Of the frames from a time on; means are of the line through them.
double statistic_of(const History& of, Statistic what, double from) {
  const auto first = std::ranges::lower_bound(of.time, from * (1 - 1e-12));
  const auto begin = static_cast<std::size_t>(first - of.time.begin()), end = of.time.size();
  if (begin == end) return unknown;
  if (what == Statistic::end || begin + 1 == end) return of.values.back();
  const auto stretch = std::span(of.values).subspan(begin);
  if (what == Statistic::least) return *std::ranges::min_element(stretch);
  if (what == Statistic::largest) return *std::ranges::max_element(stretch);
  double sum = 0;
  for (std::size_t k = begin; k + 1 < end; ++k) {
    const double a = of.values[k], b = of.values[k + 1], h = of.time[k + 1] - of.time[k];
    sum += h * (what == Statistic::mean ? (a + b) / 2 : (a * a + a * b + b * b) / 3);
  }
  const double mean = sum / (of.time.back() - of.time[begin]);
  return what == Statistic::mean ? mean : std::sqrt(mean);
}

// ---- Panels

/// The axis that plots go along: the first with more than one value, all of them numbers.
std::optional<std::size_t> axis_along(const Sweep& sweep) {
  for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
    if (sweep.axes[a].values.size() > 1 && !sweep.axes[a].numbers().empty()) return a;
  }
  return std::nullopt;
}

bool spans_decades(const std::vector<double>& x) {
  const auto [least, most] = std::ranges::minmax(x);
  return least > 0 && most / least >= 100;
}

/// The runs that differ along the axis only, each with the words of the other axes.
struct Line {
  std::string name;
  std::vector<std::pair<double, std::size_t>> runs;  ///< place on the axis, row
};

std::vector<Line> lines_along(const Sweep& sweep, std::size_t along) {
  const std::vector<double> x = sweep.axes[along].numbers();
  std::vector<Line> out;
  for (std::size_t k = 0; k < sweep.cases.size(); ++k) {
    std::vector<std::string> words;
    for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
      if (a != along && sweep.axes[a].values.size() > 1)
        words.push_back(sweep.cases[k].overrides[a]);
    }
    const std::string name = fmt::format("{}", fmt::join(words, ", "));
    auto line = std::ranges::find(out, name, &Line::name);
    if (line == out.end()) line = out.insert(out.end(), Line{name, {}});
    line->runs.emplace_back(x[sweep.cases[k].place[along]], k);
  }
  for (Line& line : out) std::ranges::sort(line.runs);
  return out;
}

PlotSeries series_of(const Sweep& sweep, const Line& line, std::size_t column, std::string name,
                     int colour) {
  PlotSeries out{.name = std::move(name), .values = {}, .colour = colour};
  for (const auto& [x, row] : line.runs) {
    const std::vector<double>& numbers = sweep.rows[row].numbers;
    out.along.push_back(x);
    out.values.push_back(column < numbers.size() ? numbers[column] : unknown);
  }
  return out;
}

std::string unit_of(const Sweep& sweep, std::size_t quantity) {
  return quantity < sweep.units.size() ? sweep.units[quantity] : "";
}

PlotPanel empty_panel(const Sweep& sweep, std::size_t along, std::string title, std::string label) {
  PlotPanel panel{.title = std::move(title), .label = std::move(label)};
  panel.along = sweep.axes[along].path;
  panel.log_along = spans_decades(sweep.axes[along].numbers());
  panel.marks = true;
  return panel;
}

/// A quantity's statistics: beside each other for one line of runs, else a panel for each.
void add_quantity(const Sweep& sweep, std::size_t along, const std::vector<Line>& lines,
                  std::size_t q, std::vector<PlotPanel>& out) {
  const SweepMeasures& m = sweep.measures;
  const std::string& name = m.quantities[q];
  const std::string label = fmt::format("{} [{}]", name, unit_of(sweep, q));
  const std::size_t first = std::size(run_columns) + q * m.statistics.size();
  if (lines.size() == 1) out.push_back(empty_panel(sweep, along, name, label));
  for (std::size_t s = 0; s < m.statistics.size(); ++s) {
    const std::string word(statistic_words[static_cast<std::size_t>(m.statistics[s])]);
    if (lines.size() > 1)
      out.push_back(empty_panel(sweep, along, fmt::format("{}, {}", name, word), label));
    for (std::size_t l = 0; l < lines.size(); ++l) {
      const bool one = lines.size() == 1;
      out.back().series.push_back(series_of(sweep, lines[l], first + s, one ? word : lines[l].name,
                                            static_cast<int>(one ? s : l)));
    }
  }
}

/// A point for every sample: what a quantity of a periodic motion comes back to.
void add_samples(const Sweep& sweep, std::size_t along, const std::vector<Line>& lines,
                 std::size_t q, std::vector<PlotPanel>& out) {
  const std::string& name = sweep.measures.quantities[q];
  PlotPanel panel = empty_panel(sweep, along, name + ", samples",
                                fmt::format("{} [{}]", name, unit_of(sweep, q)));
  panel.points = true;
  std::size_t all = 0;
  for (const SweepRow& row : sweep.rows) all += row.samples.empty() ? 0 : row.samples[q].size();
  const std::size_t stride = all / most_samples + 1;
  if (stride > 1) panel.note = fmt::format("One sample of {} is drawn.", stride);
  for (std::size_t l = 0; l < lines.size(); ++l) {
    PlotSeries series{.name = lines[l].name, .values = {}, .colour = static_cast<int>(l)};
    for (const auto& [x, row] : lines[l].runs) {
      if (sweep.rows[row].samples.empty()) continue;
      const std::vector<double>& samples = sweep.rows[row].samples[q];
      for (std::size_t k = 0; k < samples.size(); k += stride) {
        series.along.push_back(x);
        series.values.push_back(samples[k]);
      }
    }
    panel.series.push_back(std::move(series));
  }
  out.push_back(std::move(panel));
}

// ---- Files

std::string verdict_word(const SweepRow& row) {
  return row.status == "finished" ? std::string(to_string(row.verdict)) : row.status;
}

bool is_bad(const SweepRow& row) {
  return row.status != "finished" || row.verdict == Level::failure;
}

PageTable table_of(const Sweep& sweep, const fs::path& directory) {
  PageTable table{.columns = {"run"}, .rows = {}};
  for (const SweepAxis& axis : sweep.axes) {
    if (axis.values.size() > 1) table.columns.push_back(axis.path);
  }
  for (std::string& name : sweep_columns(sweep.measures)) table.columns.push_back(std::move(name));
  table.columns.emplace_back("verdict");
  for (std::size_t k = 0; k < sweep.cases.size(); ++k) {
    const SweepCase& c = sweep.cases[k];
    const SweepRow& of = sweep.rows[k];
    const bool page = fs::exists(directory / c.name / "report.html");
    std::vector<PageCell> row{
        PageWord{fmt::format("{}", k + 1), page ? c.name + "/report.html" : "", is_bad(of)}};
    for (std::size_t a = 0; a < sweep.axes.size(); ++a) {
      if (sweep.axes[a].values.size() > 1)
        row.emplace_back(PageWord{sweep.axes[a].values[c.place[a]]});
    }
    for (std::size_t n = 0; row.size() + 1 < table.columns.size(); ++n)
      row.emplace_back(n < of.numbers.size() ? of.numbers[n] : unknown);
    row.emplace_back(PageWord{.text = verdict_word(of), .bad = is_bad(of)});
    table.rows.push_back(std::move(row));
  }
  return table;
}

void write_table(const Sweep& sweep, const fs::path& file) {
  fmt::memory_buffer text;
  const auto end = std::back_inserter(text);
  fmt::format_to(end, "run,directory");
  for (const SweepAxis& axis : sweep.axes) fmt::format_to(end, ",{}", csv_text(axis.path));
  const std::vector<std::string> columns = sweep_columns(sweep.measures);
  for (const std::string& name : columns) fmt::format_to(end, ",{}", csv_text(name));
  fmt::format_to(end, ",verdict,failure\n");
  for (std::size_t k = 0; k < sweep.cases.size(); ++k) {
    const SweepCase& c = sweep.cases[k];
    const SweepRow& row = sweep.rows[k];
    fmt::format_to(end, "{},{}", k + 1, csv_text(c.name));
    for (std::size_t a = 0; a < sweep.axes.size(); ++a)
      fmt::format_to(end, ",{}", csv_text(sweep.axes[a].values[c.place[a]]));
    for (std::size_t n = 0; n < columns.size(); ++n)
      fmt::format_to(end, ",{}", n < row.numbers.size() ? row.numbers[n] : unknown);
    fmt::format_to(end, ",{},{}\n", csv_text(verdict_word(row)), csv_text(row.failure));
  }
  WholeFile out(file);
  out.write({text.data(), text.size()});
  out.finish();
}

void write_samples(const Sweep& sweep, const fs::path& file) {
  fmt::memory_buffer text;
  const auto end = std::back_inserter(text);
  fmt::format_to(end, "run,time");
  for (const std::string& name : sweep.measures.quantities)
    fmt::format_to(end, ",{}", csv_text(name));
  text.push_back('\n');
  for (std::size_t k = 0; k < sweep.rows.size(); ++k) {
    const auto& samples = sweep.rows[k].samples;
    for (std::size_t s = 0; !samples.empty() && s < samples.front().size(); ++s) {
      fmt::format_to(end, "{},{}", k + 1,
                     sweep.measures.from + static_cast<double>(s) * sweep.measures.every);
      for (const std::vector<double>& values : samples) fmt::format_to(end, ",{}", values[s]);
      text.push_back('\n');
    }
  }
  WholeFile out(file);
  out.write({text.data(), text.size()});
  out.finish();
}

std::vector<std::string> remarks_of(const Sweep& sweep) {
  const auto bad = std::ranges::count_if(sweep.rows, is_bad);
  if (bad == 0) return {};
  std::vector<std::string> out{
      fmt::format("{} of {} runs did not finish well.", bad, sweep.rows.size())};
  constexpr std::size_t most = 10;
  for (std::size_t k = 0; k < sweep.rows.size() && out.size() <= most; ++k) {
    if (is_bad(sweep.rows[k]) && !sweep.rows[k].failure.empty()) {
      out.push_back(
          fmt::format("Run {}, {}: {}", k + 1, sweep.cases[k].name, sweep.rows[k].failure));
    }
  }
  return out;
}

}  // namespace

Statistic statistic_named(const std::string& word) {
  const auto* const found = std::ranges::find(statistic_words, word);
  if (found == std::end(statistic_words)) {
    throw InputError("--statistics", "'" + word + "'",
                     fmt::format("some of {}", fmt::join(statistic_words, ", ")));
  }
  return static_cast<Statistic>(found - std::begin(statistic_words));
}

std::vector<std::string> sweep_columns(const SweepMeasures& measures) {
  std::vector<std::string> out;
  for (const RunColumn& column : run_columns) out.emplace_back(column.name);
  for (const std::string& quantity : measures.quantities) {
    for (const Statistic s : measures.statistics)
      out.push_back(fmt::format("{} {}", quantity, statistic_words[static_cast<std::size_t>(s)]));
  }
  return out;
}

std::vector<std::string> sweep_units(const Description& description,
                                     const SweepMeasures& measures) {
  Result before;  // no frame yet
  before.description = description;
  std::vector<std::string> units;
  for (const std::string& quantity : measures.quantities)
    units.push_back(history_of(ResultValues(before), quantity).unit);
  return units;
}

SweepRow measure_run(const fs::path& result_file, const SweepMeasures& measures) {
  const ResultReader result(result_file);
  const RunSummary summary = summarise(result);
  SweepRow row{.status = summary.run.status,
               .failure = summary.run.failure,
               .verdict = summary.verdict.level,
               .numbers = {},
               .samples = {}};
  if (row.failure.empty() && row.verdict == Level::failure && !summary.verdict.findings.empty())
    row.failure = summary.verdict.findings.front().text;
  for (const RunColumn& column : run_columns) row.numbers.push_back(column.number(summary));
  for (const std::string& quantity : measures.quantities) {
    const History history = history_of(result, quantity);
    for (const Statistic s : measures.statistics)
      row.numbers.push_back(statistic_of(history, s, measures.from));
    if (!(measures.every > 0)) continue;
    std::vector<double>& samples = row.samples.emplace_back();
    for (long k = 0;; ++k) {
      const double x = at(history, measures.from + static_cast<double>(k) * measures.every);
      if (std::isnan(x)) break;
      samples.push_back(x);
    }
  }
  return row;
}

std::vector<PlotPanel> sweep_panels(const Sweep& sweep) {
  std::vector<PlotPanel> out;
  const std::optional<std::size_t> along = axis_along(sweep);
  if (!along) return out;
  const std::vector<Line> lines = lines_along(sweep, *along);
  for (std::size_t q = 0; q < sweep.measures.quantities.size(); ++q) {
    add_quantity(sweep, *along, lines, q, out);
    if (sweep.measures.every > 0) add_samples(sweep, *along, lines, q, out);
  }
  for (std::size_t c = 0; c < std::size(run_columns); ++c) {
    const std::string name(run_columns[c].name);
    if (name == "time [s]" || name == "steps" || name == "missed") continue;
    PlotPanel panel = empty_panel(sweep, *along, name.substr(0, name.find(" [")), name);
    for (std::size_t l = 0; l < lines.size(); ++l)
      panel.series.push_back(series_of(sweep, lines[l], c, lines[l].name, static_cast<int>(l)));
    out.push_back(std::move(panel));
  }
  return out;
}

void refuse_foreign_sweep(const fs::path& directory) {
  std::error_code error;
  if (!fs::exists(directory, error)) return;
  if (!fs::is_directory(directory, error))
    throw InputError(directory.string(), "no directory", "a directory, or none of that name");
  if (is_plots_page(directory / page_name)) return;
  for (const std::string_view name : {page_name, table_name, samples_name}) {
    if (fs::exists(directory / name, error)) {
      throw InputError((directory / name).string(), "a file that no sweep wrote",
                       "another directory, or none of that name");
    }
  }
}

std::vector<fs::path> write_sweep(const Sweep& sweep, const fs::path& directory) {
  refuse_foreign_sweep(directory);
  make_directory(directory);
  std::vector<std::string> fixed;
  for (const SweepAxis& axis : sweep.axes) {
    if (axis.values.size() == 1) fixed.push_back(axis.path + "=" + axis.values.front());
  }
  const PlotsPage page{.title = sweep.title.empty() ? "Sweep" : sweep.title,
                       .description = sweep.description,
                       .said = fixed.empty()
                                   ? "A run's number leads to its page."
                                   : fmt::format("All with {}. A run's number leads to its page.",
                                                 fmt::join(fixed, ", ")),
                       .remarks = remarks_of(sweep),
                       .table = table_of(sweep, directory),
                       .panels = sweep_panels(sweep)};
  std::vector<fs::path> out{directory / page_name};
  write_plots_page(page, out.back());
  out.push_back(directory / table_name);
  write_table(sweep, out.back());
  if (sweep.measures.every > 0) {
    out.push_back(directory / samples_name);
    write_samples(sweep, out.back());
  }
  return out;
}

}  // namespace urto
