#include "urto/result/csv_export.h"

#include <array>
#include <fstream>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/file/whole_file.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view states_header = "time,body,x,y,z,qw,qx,qy,qz,vx,vy,vz,wx,wy,wz";
constexpr std::array step_columns = {"time",
                                     "step",
                                     "residual",
                                     "momentum",
                                     "natural_map",
                                     "scaled",
                                     "joint_error",
                                     "penetration",
                                     "contacts",
                                     "active",
                                     "islands",
                                     "sweeps",
                                     "handed_on",
                                     "iterations",
                                     "meets_tolerance",
                                     "energy/kinetic",
                                     "energy/potential",
                                     "energy/supplied",
                                     "energy/friction",
                                     "energy/impact",
                                     "energy/damping",
                                     "energy/recovery",
                                     "energy/numerical"};

std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string result = "\"";
  for (const char c : text) result += c == '"' ? std::string("\"\"") : std::string(1, c);
  return result + '"';
}

fs::path write_states(const ResultReader& result, const fs::path& file) {
  WholeFile out(file);
  const std::vector<std::string> names = result.texts("/bodies/name");
  const std::vector<std::string> kinds = result.texts("/bodies/kind");
  const long frames = result.counts().frames;
  fmt::memory_buffer text;
  const auto end = std::back_inserter(text);
  fmt::format_to(end, "{}\n", states_header);
  for (long f = 0; f < frames; ++f) {
    const double time = result.numbers("/frames/time", f, 1)[0];
    const std::vector<double> x = result.numbers("/frames/position", f, 1);
    const std::vector<double> p = result.numbers("/frames/rotation", f, 1);
    const std::vector<double> v = result.numbers("/frames/velocity", f, 1);
    const std::vector<double> w = result.numbers("/frames/angular_velocity", f, 1);
    for (std::size_t b = 0; b < names.size(); ++b) {
      if (kinds[b] == "fixed") continue;
      fmt::format_to(end, "{},{}", time, quoted(names[b]));
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

fs::path write_coordinates(const ResultReader& result, const fs::path& file) {
  WholeFile out(file);
  const std::vector<std::string> joints = result.texts("/joints/name");
  const std::vector<double> owner = result.numbers("/coordinates/joint");
  const std::vector<std::string> names = result.texts("/coordinates/name");
  fmt::memory_buffer text;
  const auto end = std::back_inserter(text);
  fmt::format_to(end, "time");
  for (const char* suffix : {"", ".rate"}) {
    for (std::size_t k = 0; k < names.size(); ++k) {
      const std::string& joint = joints.at(static_cast<std::size_t>(owner[k]));
      fmt::format_to(end, ",{}", quoted(fmt::format("{}.{}{}", joint, names[k], suffix)));
    }
  }
  text.push_back('\n');
  const long frames = result.counts().frames;
  const std::vector<double> time = result.numbers("/frames/time", 0, frames);
  const std::vector<double> value = result.numbers("/frames/coordinate", 0, frames);
  const std::vector<double> rate = result.numbers("/frames/coordinate_rate", 0, frames);
  const std::size_t width = names.size();
  for (std::size_t f = 0; f < time.size(); ++f) {
    fmt::format_to(end, "{}", time[f]);
    for (std::size_t k = 0; k < width; ++k) fmt::format_to(end, ",{}", value[f * width + k]);
    for (std::size_t k = 0; k < width; ++k) fmt::format_to(end, ",{}", rate[f * width + k]);
    text.push_back('\n');
  }
  out.write({text.data(), text.size()});
  return out.finish();
}

std::string steps_header() {
  std::string line;
  for (const std::string_view column : step_columns) {
    const std::size_t slash = column.find('/');
    line += line.empty() ? "" : ",";
    line += slash == std::string_view::npos ? column : column.substr(slash + 1);
  }
  return line;
}

fs::path write_steps(const ResultReader& result, const fs::path& file) {
  WholeFile out(file);
  fmt::memory_buffer text;
  const auto end = std::back_inserter(text);
  fmt::format_to(end, "{}\n", steps_header());
  const long steps = result.counts().steps;
  constexpr long block = 10000;
  for (long first = 0; first < steps; first += block) {
    const long count = std::min(block, steps - first);
    std::vector<std::vector<double>> columns;
    columns.reserve(std::size(step_columns));
    for (const char* column : step_columns) {
      columns.push_back(result.numbers(fmt::format("/steps/{}", column), first, count));
    }
    for (long k = 0; k < count; ++k) {
      for (std::size_t c = 0; c < columns.size(); ++c) {
        fmt::format_to(end, "{}{}", c == 0 ? "" : ",", columns[c][k]);
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

}  // namespace

std::vector<fs::path> write_csv(const ResultReader& result, const fs::path& directory) {
  std::vector<fs::path> written{write_states(result, directory / "states.csv")};
  if (result.has("/frames/coordinate")) {
    written.push_back(write_coordinates(result, directory / "coordinates.csv"));
  }
  written.push_back(write_steps(result, directory / "steps.csv"));
  return written;
}

std::vector<fs::path> find_csv(const fs::path& directory) {
  std::vector<fs::path> found;
  const auto look = [&](const char* name, auto is_ours) {
    const fs::path file = directory / name;
    std::error_code error;
    if (fs::is_regular_file(file, error) && is_ours(first_line(file))) found.push_back(file);
  };
  look("states.csv", [](const std::string& line) { return line == states_header; });
  look("coordinates.csv", [](const std::string& line) {
    return line.starts_with("time,") && line.ends_with(".rate");
  });
  look("steps.csv", [](const std::string& line) { return line == steps_header(); });
  return found;
}

}  // namespace urto
