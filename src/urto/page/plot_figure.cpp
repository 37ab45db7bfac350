#include "urto/page/plot_figure.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/error.h"
#include "urto/file/spelling.h"
#include "urto/file/whole_file.h"
#include "urto/result/step_columns.h"

namespace urto {
namespace {

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

PlotPanel over_steps(const ResultView& result, const StepPanel& from) {
  const long steps = result.counts().steps;
  PlotPanel panel{std::string(from.title), std::string(from.axis), from.log};
  panel.time = result.step_values(step_column("time"), 0, steps);
  for (std::size_t c = 0; c < step_columns().size(); ++c) {
    const StepColumn& column = step_columns()[c];
    if (column.panel != from.name) continue;
    panel.series.push_back({std::string(column.label), result.step_values(c, 0, steps)});
    for (double& x : panel.series.back().values) x *= from.factor;
  }
  if (from.tolerance) panel.level = result.description().settings.solver.tolerance;
  if (from.total) {
    PlotSeries total{"total", std::vector<double>(panel.time.size(), 0.0)};
    for (const PlotSeries& part : panel.series) {
      for (std::size_t k = 0; k < total.values.size(); ++k) total.values[k] += part.values[k];
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

struct Quantity {
  std::string name, channel, unit;
  std::size_t column;
};

/// One number of a channel in every frame.
std::vector<double> frame_column(const ResultView& result, const Quantity& q,
                                 std::size_t part = 0) {
  const int channel = find_channel(result.description(), q.channel);
  const std::vector<double> values = result.channel(channel, 0, result.counts().frames);
  const std::size_t width =
      result.description().size(result.description().channels[static_cast<std::size_t>(channel)]);
  std::vector<double> out;
  for (std::size_t k = q.column + part; k < values.size(); k += width) out.push_back(values[k]);
  return out;
}

std::vector<double> values_of(const ResultView& result, const Quantity& q) {
  auto x = frame_column(result, q);
  if (q.name != "speed") return x;
  const auto y = frame_column(result, q, 1), z = frame_column(result, q, 2);
  for (std::size_t k = 0; k < x.size(); ++k) x[k] = std::hypot(x[k], y[k], z[k]);
  return x;
}

template <typename Items>
std::vector<std::string> names_of(const Items& items) {
  std::vector<std::string> out;
  out.reserve(items.size());
  for (const auto& item : items) out.push_back(item.name);
  return out;
}

std::vector<Quantity> body_quantities(const Description& d, const std::string& name) {
  const std::size_t body = find(names_of(d.bodies), name, "body");
  std::vector<Quantity> list;
  const std::array axes = {"x", "y", "z"};
  for (std::size_t i = 0; i < 3; ++i) {
    list.push_back({axes[i], "position", "m", 3 * body + i});
    list.push_back({fmt::format("v{}", axes[i]), "velocity", "m/s", 3 * body + i});
    list.push_back({fmt::format("w{}", axes[i]), "angular_velocity", "rad/s", 3 * body + i});
  }
  list.push_back({"speed", "velocity", "m/s", 3 * body});
  const std::array parts = {"qw", "qx", "qy", "qz"};
  for (std::size_t i = 0; i < 4; ++i) list.push_back({parts[i], "rotation", "–", 4 * body + i});
  return list;
}

std::vector<Quantity> joint_quantities(const Description& d, const std::string& name) {
  const std::size_t joint = find(names_of(d.joints), name, "joint");
  std::vector<Quantity> list;
  for (std::size_t k = 0; k < d.coordinates.size(); ++k) {
    const DescribedCoordinate& c = d.coordinates[k];
    if (c.joint != static_cast<int>(joint)) continue;
    list.push_back({c.name, "coordinate", c.is_angle() ? "rad" : "m", k});
    list.push_back({c.name + "-rate", "coordinate_rate", c.is_angle() ? "rad/s" : "m/s", k});
  }
  const std::array parts = {"fx", "fy", "fz", "mx", "my", "mz"};
  for (std::size_t i = 0; i < 6; ++i)
    list.push_back({parts[i], "joint_reaction", i < 3 ? "N" : "N·m", 6 * joint + i});
  return list;
}

/// What has a name and channels of its own, and is no body or joint.
std::vector<Quantity> item_quantities(const Description& d, const std::string& name) {
  std::vector<Quantity> list;
  std::vector<std::string> known;
  for (const NamedGroup& group : d.groups) {
    known.insert(known.end(), group.items.begin(), group.items.end());
    const auto at = std::ranges::find(group.items, name);
    if (at == group.items.end()) continue;
    const auto place = static_cast<std::size_t>(at - group.items.begin());
    for (const Channel& c : d.channels) {
      if (c.group == group.name && c.width == 1) list.push_back({c.label, c.name, c.unit, place});
    }
  }
  if (list.empty()) find(known, name, "item");  // says which there are
  return list;
}

PlotPanel over_frames(const ResultView& result, const std::string& what) {
  const std::vector<std::string> parts = split(what, ':');
  if (parts.size() != 3) {
    throw InputError("--what", "'" + what + "'",
                     "body:NAME:QUANTITY, joint:NAME:QUANTITY or item:NAME:QUANTITY");
  }
  const Description& d = result.description();
  const auto quantities = parts[0] == "body"    ? body_quantities(d, parts[1])
                          : parts[0] == "joint" ? joint_quantities(d, parts[1])
                                                : item_quantities(d, parts[1]);
  std::vector<std::string> names;
  names.reserve(quantities.size());
  for (const Quantity& q : quantities) names.push_back(q.name);
  PlotPanel panel{parts[1], ""};
  panel.time = result.times(0, result.counts().frames);
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

const Quantity& quantity_named(const std::vector<Quantity>& list, const std::string& name,
                               const std::string& what) {
  const auto at = std::ranges::find(list, name, &Quantity::name);
  if (at != list.end()) return *at;
  std::vector<std::string> names;
  for (const Quantity& q : list) names.push_back(q.name);
  throw InputError("--what " + what, "'" + name + "'",
                   fmt::format("one of {}", fmt::join(names, ", ")));
}

PlotPanel phase_portrait(const ResultView& result, const std::string& what) {
  const std::vector<std::string> parts = split(what, ':');
  if (parts.size() != 5)
    throw InputError("--what", "'" + what + "'", "phase:NAME:QUANTITY:NAME:QUANTITY");
  const auto column = [&](std::size_t at, std::string& label) {
    const std::vector<Quantity> list = item_quantities(result.description(), parts[at]);
    const Quantity& q = quantity_named(list, parts[at + 1], what);
    label = fmt::format("{}.{} [{}]", parts[at], q.name, q.unit);
    return values_of(result, q);
  };
  PlotPanel panel{"phase portrait", ""};
  panel.time = column(1, panel.along);
  panel.series.push_back({parts[3], column(3, panel.label)});
  return panel;
}

}  // namespace

PlotPanel plot_panel(const ResultView& result, const std::string& what) {
  if (what.starts_with("phase:")) return phase_portrait(result, what);
  for (const char* kind : {"body:", "joint:", "item:"}) {
    if (what.starts_with(kind)) return over_frames(result, what);
  }
  std::vector<std::string> names;
  for (const StepPanel& panel : step_panels()) {
    if (what == panel.name) return over_steps(result, panel);
    names.emplace_back(panel.name);
  }
  throw InputError("--what", "'" + what + "'",
                   fmt::format("{}, body:NAME:QUANTITY, joint:NAME:QUANTITY, item:NAME:QUANTITY or "
                               "phase:NAME:QUANTITY:NAME:QUANTITY",
                               fmt::join(names, ", ")));
}

void write_plot_csv(std::span<const PlotPanel> panels, const std::filesystem::path& file) {
  fmt::memory_buffer text;
  const auto end = std::back_inserter(text);
  const bool over_time = panels[0].along == PlotPanel{}.along;
  fmt::format_to(end, "{}", over_time ? "time" : "\"" + panels[0].along + "\"");
  for (const PlotPanel& panel : panels) {
    if (panel.time != panels[0].time || panel.along != panels[0].along) {
      throw InputError("--csv", "some over steps and some over frames or states",
                       "one kind in one file");
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
