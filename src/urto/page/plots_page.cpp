#include "urto/page/plots_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "urto/error.h"
#include "urto/page/page_asset.h"
#include "urto/page/page_text.h"

namespace urto {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr std::string_view page_mark = "<!doctype html><!-- urto-plots -->";
/// Points of all curves of a page: some 8 MB of text.
constexpr std::size_t most_points = 400000, least_points = 500, enough_points = 4000;

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
      const PlotSeries s = panel.points ? whole : thinned(whole, points);
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
                   {"points", panel.points},
                   {"zoom", panel.title.ends_with(", zoom")},
                   {"note", panel.note},
                   {"series", std::move(series)}});
  }
  return out;
}

json to_json(const PageCell& cell) {
  if (const double* x = std::get_if<double>(&cell))
    return std::isfinite(*x) ? json(*x) : json(nullptr);
  const PageWord& word = std::get<PageWord>(cell);
  return {{"text", word.text}, {"link", word.link}, {"bad", word.bad}};
}

json to_json(const PageTable& table) {
  json rows = json::array();
  for (const std::vector<PageCell>& row : table.rows) {
    json cells = json::array();
    for (const PageCell& cell : row) cells.push_back(to_json(cell));
    rows.push_back(std::move(cells));
  }
  return {{"columns", table.columns}, {"rows", std::move(rows)}, {"coloured", table.coloured}};
}

}  // namespace

void write_plots_page(const PlotsPage& page, const fs::path& file) {
  const json document{{"title", page.title},
                      {"description", page.description},
                      {"said", page.said},
                      {"remarks", page.remarks},
                      {"table", to_json(page.table)},
                      {"panels", to_json(page.panels)}};
  const std::string text = document.dump(-1, ' ', false, json::error_handler_t::replace);
  const std::array<std::pair<std::string_view, std::string>, 2> parts = {
      {{"{{urto-title}}", html_text(page.title + " · Urto")},
       {"{{urto-json}}", script_safe(text)}}};
  write_filled(plots_template(), parts, file);
}

bool is_plots_page(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string start(page_mark.size(), '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  return in && start == page_mark;
}

void make_directory(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) {
    throw InputError(directory.string(), "a directory that cannot be made: " + error.message(),
                     "a place to write to");
  }
}

std::string csv_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    out += c;
    if (c == '"') out += c;
  }
  return out + '"';
}

}  // namespace urto
