#include "urto/result/csv_export.h"

#include <algorithm>
#include <fstream>
#include <iterator>

#include <fmt/format.h>

#include "urto/file/whole_file.h"
#include "urto/result/step_columns.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view states_header = "time,body,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz";
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

fs::path write_states(const ResultView& result, const fs::path& file) {
  WholeFile out(file);
  const Description& d = result.description();
  const auto row = [&](const char* name, long frame) {
    const int channel = find_channel(d, name);
    return channel < 0 ? std::vector<double>() : result.channel(channel, frame, 1);
  };
  const long frames = result.counts().frames;
  fmt::memory_buffer text;
  const auto end = std::back_inserter(text);
  fmt::format_to(end, "{}\n", states_header);
  for (long f = 0; f < frames; ++f) {
    const double time = result.times(f, 1)[0];
    const std::vector<double> x = row("position", f), p = row("rotation", f),
                              v = row("velocity", f), w = row("angular_velocity", f);
    for (std::size_t b = 0; b < d.bodies.size(); ++b) {
      if (d.bodies[b].kind == "fixed") continue;
      fmt::format_to(end, "{},{}", time, quoted(d.bodies[b].name));
      for (int i = 0; i < 3; ++i) fmt::format_to(end, ",{}", x[3 * b + i]);
      for (int i = 0; i < 4; ++i) fmt::format_to(end, ",{}", p[4 * b + i]);
      for (int i = 0; i < 3; ++i) fmt::format_to(end, ",{}", v[3 * b + i]);
      for (int i = 0; i < 3; ++i) fmt::format_to(end, ",{}", w[3 * b + i]);
      text.push_back('\n');
    }
    out.write({text.data(), text.size()});
    text.clear();
  }
  out.write({text.data(), text.size()});
  return out.finish();
}

fs::path write_coordinates(const ResultView& result, const fs::path& file) {
  WholeFile out(file);
  const Description& d = result.description();
  fmt::memory_buffer text;
  const auto end = std::back_inserter(text);
  fmt::format_to(end, "time");
  for (const char* suffix : {"", ".rate"}) {
    for (const DescribedCoordinate& c : d.coordinates) {
      const std::string& joint = d.joints.at(static_cast<std::size_t>(c.joint)).name;
      fmt::format_to(end, ",{}", quoted(fmt::format("{}.{}{}", joint, c.name, suffix)));
    }
  }
  text.push_back('\n');
  const long frames = result.counts().frames;
  const std::vector<double> time = result.times(0, frames);
  const std::vector<double> value = result.channel(find_channel(d, "coordinate"), 0, frames);
  const std::vector<double> rate = result.channel(find_channel(d, "coordinate_rate"), 0, frames);
  const std::size_t width = d.coordinates.size();
  for (std::size_t f = 0; f < time.size(); ++f) {
    fmt::format_to(end, "{}", time[f]);
    for (std::size_t k = 0; k < width; ++k) fmt::format_to(end, ",{}", value[f * width + k]);
    for (std::size_t k = 0; k < width; ++k) fmt::format_to(end, ",{}", rate[f * width + k]);
    text.push_back('\n');
  }
  out.write({text.data(), text.size()});
  return out.finish();
}

constexpr std::string_view values_start = "time [s],";

/// Every channel that bodies do not have, a column each: "R1.current [A]".
fs::path write_values(const ResultView& result, const fs::path& file) {
  WholeFile out(file);
  const Description& d = result.description();
  fmt::memory_buffer text;
  const auto end = std::back_inserter(text);
  fmt::format_to(end, "time [s]");
  std::vector<int> channels;
  for (const NamedGroup& group : d.groups) {
    for (const Channel& c : d.channels) {
      if (c.group != group.name || find_channel(d, c.name) < 0) continue;
      channels.push_back(find_channel(d, c.name));
      for (const std::string& item : group.items)
        fmt::format_to(end, ",{}", quoted(fmt::format("{}.{} [{}]", item, c.label, c.unit)));
    }
  }
  text.push_back('\n');
  const long frames = result.counts().frames;
  constexpr long block = 1000;
  for (long first = 0; first < frames; first += block) {
    const long count = std::min(block, frames - first);
    const std::vector<double> time = result.times(first, count);
    std::vector<std::vector<double>> values;
    for (const int c : channels) values.push_back(result.channel(c, first, count));
    for (long k = 0; k < count; ++k) {
      fmt::format_to(end, "{}", time[static_cast<std::size_t>(k)]);
      for (const std::vector<double>& v : values) {
        const std::size_t width = v.size() / static_cast<std::size_t>(count);
        for (std::size_t i = 0; i < width; ++i)
          fmt::format_to(end, ",{}", v[static_cast<std::size_t>(k) * width + i]);
      }
      text.push_back('\n');
    }
    out.write({text.data(), text.size()});
    text.clear();
  }
  out.write({text.data(), text.size()});
  return out.finish();
}

/// The energies go by their own names, as they always did: "kinetic", but "seconds_solve".
std::string csv_name(std::string_view column) {
  std::string name(column.substr(column.starts_with("energy/") ? 7 : 0));
  std::ranges::replace(name, '/', '_');
  return name;
}

fs::path write_steps(const ResultView& result, const fs::path& file) {
  WholeFile out(file);
  fmt::memory_buffer text;
  const auto end = std::back_inserter(text);
  for (const StepColumn& c : step_columns())
    fmt::format_to(end, "{}{}", text.size() == 0 ? "" : ",", csv_name(c.name));
  text.push_back('\n');
  const long steps = result.counts().steps;
  constexpr long block = 10000;
  for (long first = 0; first < steps; first += block) {
    const long count = std::min(block, steps - first);
    std::vector<std::vector<double>> columns;
    for (std::size_t c = 0; c < step_columns().size(); ++c)
      columns.push_back(result.step_values(c, first, count));
    for (long k = 0; k < count; ++k) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        fmt::format_to(end, "{}{}", c == 0 ? "" : ",", columns[c][static_cast<std::size_t>(k)]);
      }
      text.push_back('\n');
    }
    out.write({text.data(), text.size()});
    text.clear();
  }
  out.write({text.data(), text.size()});
  return out.finish();
}

std::string first_line(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string line;
  std::getline(in, line);
  return line;
}

/// Told by its first line.
bool is_csv(const fs::path& file) {
  const std::string line = first_line(file);
  if (file.filename() == "states.csv") return line == states_header;
  if (file.filename() == "values.csv")
    return line.starts_with(values_start) && (line.ends_with(']') || line.ends_with("]\""));
  if (file.filename() == "coordinates.csv")
    return line.starts_with("time,") && line.ends_with(".rate");
  // The columns of another version may be others, but they begin with these.
  return line.starts_with("time,step,residual,");
}

}  // namespace

std::vector<fs::path> write_csv(const ResultView& result, const fs::path& directory) {
  std::vector<fs::path> written;
  if (result.description().bodies.empty()) {
    written.push_back(write_values(result, directory / "values.csv"));
  } else {
    written.push_back(write_states(result, directory / "states.csv"));
  }
  if (find_channel(result.description(), "coordinate") >= 0) {
    written.push_back(write_coordinates(result, directory / "coordinates.csv"));
  }
  written.push_back(write_steps(result, directory / "steps.csv"));
  return written;
}

DerivedFiles csv_files() {
  return {.names = {"states.csv", "coordinates.csv", "values.csv", "steps.csv"},
          .is_ours = is_csv,
          .write = write_csv};
}

}  // namespace urto
