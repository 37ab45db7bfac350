#include "urto/page/plot_figure.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/error.h"
#include "urto/file/spelling.h"
#include "urto/file/whole_file.h"

namespace urto {
namespace {

struct StepColumn {
  const char* path;
  const char* name;
  double factor = 1;
};

/// A panel over steps.
struct StepPanel {
  const char* what;
  const char* title;
  const char* label;
  bool log;
  std::vector<StepColumn> columns;
};

const std::vector<StepPanel>& step_panels() {
  static const std::vector<StepPanel> panels = {
      {"energy",
       "Energy",
       "energy [J]",
       false,
       {{"energy/kinetic", "kinetic"}, {"energy/potential", "potential"}}},
      {"balance",
       "Energy since the start",
       "energy [J]",
       false,
       {{"energy/supplied", "supplied"},
        {"energy/friction", "friction"},
        {"energy/impact", "impact"},
        {"energy/damping", "damping"},
        {"energy/recovery", "recovery"},
        {"energy/numerical", "numerical"}}},
      {"certificate",
       "Certificates",
       "residual [–]",
       true,
       {{"natural_map", "natural map"}, {"scaled", "scaled"}, {"momentum", "momentum"}}},
      {"contacts",
       "Contacts and limits",
       "number",
       false,
       {{"contacts", "within reach"}, {"active", "active"}}},
      {"iterations",
       "Iterations",
       "number",
       false,
       {{"sweeps", "sweeps"}, {"iterations", "iterations"}, {"islands", "islands"}}},
      {"timings",
       "Wall time of a step",
       "time [ms]",
       true,
       {{"seconds/rows", "rows", 1e3},
        {"seconds/assemble", "assemble", 1e3},
        {"seconds/solve", "solve", 1e3},
        {"seconds/certify", "certify", 1e3},
        {"seconds/advance", "advance", 1e3}}},
      {"penetration", "Deepest penetration", "depth [m]", true, {{"penetration", "penetration"}}},
      {"joint_error",
       "Worst joint error",
       "error [m, rad]",
       true,
       {{"joint_error", "joint error"}}},
      {"step", "Step length", "step [s]", true, {{"step", "step"}}},
  };
  return panels;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at) {
      parts.emplace_back();
    } else {
      parts.back() += c;
    }
  }
  return parts;
}

PlotPanel over_steps(const ResultReader& result, const StepPanel& from) {
  const long steps = result.counts().steps;
  PlotPanel panel{from.title, from.label, from.log};
  panel.time = result.numbers("/steps/time", 0, steps);
  for (const StepColumn& c : from.columns) {
    panel.series.push_back({c.name, result.numbers(fmt::format("/steps/{}", c.path), 0, steps)});
    for (double& x : panel.series.back().values) x *= c.factor;
  }
  if (std::string_view(from.what) == "certificate") {
    panel.level = result.number_attribute("tolerance");
  }
  if (std::string_view(from.what) == "energy") {
    PlotSeries total{"total", panel.series[0].values};
    for (std::size_t k = 0; k < total.values.size(); ++k) {
      total.values[k] += panel.series[1].values[k];
    }
    panel.series.push_back(std::move(total));
  }
  return panel;
}

/// Index of a name; otherwise an error that suggests the nearest.
std::size_t find(const std::vector<std::string>& names, const std::string& name,
                 const std::string& kind) {
  const auto at = std::ranges::find(names, name);
  if (at != names.end()) return static_cast<std::size_t>(at - names.begin());
  const std::vector<std::string_view> views(names.begin(), names.end());
  const std::string_view near = nearest_word(name, views);
  throw InputError("--what", fmt::format("no {} '{}'", kind, name),
                   near.empty() ? fmt::format("the name of a {}", kind)
                                : fmt::format("a {} such as '{}'", kind, near));
}

/// Columns of a row of a frames' dataset.
std::vector<double> frame_column(const ResultReader& result, const std::string& path,
                                 std::size_t column) {
  const long frames = result.counts().frames;
  const std::vector<double> values = result.numbers(path, 0, frames);
  const std::size_t width = frames > 0 ? values.size() / static_cast<std::size_t>(frames) : 0;
  std::vector<double> out;
  for (std::size_t k = column; k < values.size(); k += width) out.push_back(values[k]);
  return out;
}

struct Quantity {
  std::string name, path, unit;
  std::size_t column;
};

std::vector<double> values_of(const ResultReader& result, const Quantity& q) {
  if (q.name != "speed") return frame_column(result, q.path, q.column);
  auto x = frame_column(result, q.path, q.column), y = frame_column(result, q.path, q.column + 1),
       z = frame_column(result, q.path, q.column + 2);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = std::hypot(x[k], y[k], z[k]);
  return x;
}

std::vector<Quantity> body_quantities(const ResultReader& result, const std::string& name) {
  const std::size_t body = find(result.texts("/bodies/name"), name, "body");
  std::vector<Quantity> list;
  const std::array axes = {"x", "y", "z"};
  for (std::size_t i = 0; i < 3; ++i) {
    list.push_back({axes[i], "/frames/position", "m", 3 * body + i});
    list.push_back({fmt::format("v{}", axes[i]), "/frames/velocity", "m/s", 3 * body + i});
    list.push_back(
        {fmt::format("w{}", axes[i]), "/frames/angular_velocity", "rad/s", 3 * body + i});
  }
  list.push_back({"speed", "/frames/velocity", "m/s", 3 * body});
  const std::array parts = {"qw", "qx", "qy", "qz"};
  for (std::size_t i = 0; i < 4; ++i) {
    list.push_back({parts[i], "/frames/rotation", "–", 4 * body + i});
  }
  return list;
}

std::vector<Quantity> joint_quantities(const ResultReader& result, const std::string& name) {
  const std::size_t joint = find(result.texts("/joints/name"), name, "joint");
  std::vector<Quantity> list;
  const auto owner = result.numbers("/coordinates/joint");
  const auto names = result.texts("/coordinates/name");
  for (std::size_t k = 0; k < names.size(); ++k) {
    if (k >= owner.size() || owner[k] != static_cast<double>(joint)) continue;
    const bool angle = names[k].starts_with("angle") || names[k] == "swing";
    list.push_back({names[k], "/frames/coordinate", angle ? "rad" : "m", k});
    list.push_back({names[k] + "-rate", "/frames/coordinate_rate", angle ? "rad/s" : "m/s", k});
  }
  const std::array parts = {"fx", "fy", "fz", "mx", "my", "mz"};
  for (std::size_t i = 0; i < 6; ++i) {
    list.push_back({parts[i], "/frames/joint_reaction", i < 3 ? "N" : "N·m", 6 * joint + i});
  }
  return list;
}

PlotPanel over_frames(const ResultReader& result, const std::string& what) {
  const std::vector<std::string> parts = split(what, ':');
  if (parts.size() != 3) {
    throw InputError("--what", "'" + what + "'", "body:NAME:QUANTITY or joint:NAME:QUANTITY");
  }
  const auto quantities =
      parts[0] == "body" ? body_quantities(result, parts[1]) : joint_quantities(result, parts[1]);
  std::vector<std::string> names;
  names.reserve(quantities.size());
  for (const Quantity& q : quantities) names.push_back(q.name);
  PlotPanel panel{parts[1], ""};
  panel.time = result.numbers("/frames/time", 0, result.counts().frames);
  std::vector<std::string> units;
  for (const std::string& name : split(parts[2], ',')) {
    const auto at = std::ranges::find(names, name);
    if (at == names.end()) {
      throw InputError("--what " + what, "'" + name + "'",
                       fmt::format("one of {}", fmt::join(names, ", ")));
    }
    const Quantity& q = quantities[static_cast<std::size_t>(at - names.begin())];
    panel.series.push_back({name, values_of(result, q)});
    if (std::ranges::find(units, q.unit) == units.end()) units.push_back(q.unit);
  }
  panel.label = fmt::format("{} [{}]", parts[2], fmt::join(units, ", "));
  return panel;
}

}  // namespace

PlotPanel plot_panel(const ResultReader& result, const std::string& what) {
  if (what.starts_with("body:") || what.starts_with("joint:")) return over_frames(result, what);
  std::vector<std::string> names;
  for (const StepPanel& panel : step_panels()) {
    if (what == panel.what) return over_steps(result, panel);
    names.emplace_back(panel.what);
  }
  throw InputError(
      "--what", "'" + what + "'",
      fmt::format("{}, body:NAME:QUANTITY or joint:NAME:QUANTITY", fmt::join(names, ", ")));
}

void write_plot_csv(std::span<const PlotPanel> panels, const std::filesystem::path& file) {
  fmt::memory_buffer text;
  const auto end = std::back_inserter(text);
  fmt::format_to(end, "time");
  for (const PlotPanel& panel : panels) {
    if (panel.time != panels[0].time) {
      throw InputError("--csv", "some over steps and some over frames", "one kind in one file");
    }
    for (const PlotSeries& s : panel.series) {
      fmt::format_to(end, ",\"{}{}\"", panels.size() > 1 ? panel.title + " " : "", s.name);
    }
  }
  text.push_back('\n');
  for (std::size_t k = 0; k < panels[0].time.size(); ++k) {
    fmt::format_to(end, "{}", panels[0].time[k]);
    for (const PlotPanel& panel : panels) {
      for (const PlotSeries& s : panel.series) fmt::format_to(end, ",{}", s.values[k]);
    }
    text.push_back('\n');
  }
  WholeFile out(file);
  out.write({text.data(), text.size()});
  out.finish();
}

}  // namespace urto
