// The page's error bands: what a verified run is known to be off by.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "urto/page/page_data.h"
#include "urto/result/verification_summary.h"

namespace urto {
namespace {

using nlohmann::json;

std::string_view word(SummaryLine::Tone tone) {
  constexpr std::string_view words[] = {"plain", "good", "doubtful", "bad"};
  return words[static_cast<std::size_t>(tone)];
}

/// Numbers of some of the items of a band, sample by sample.
std::vector<float> band_of(const QuantityError& e, std::size_t samples,
                           const std::vector<int>& items) {
  std::vector<float> out;
  const auto width = static_cast<std::size_t>(e.width);
  for (std::size_t s = 0; s < samples; ++s) {
    for (const int item : items) {
      const std::size_t first =
          (s * static_cast<std::size_t>(e.items) + static_cast<std::size_t>(item)) * width;
      for (std::size_t c = 0; c < width; ++c) out.push_back(static_cast<float>(e.band[first + c]));
    }
  }
  return out;
}

/// The largest error of all items at each sample, components together.
std::vector<float> largest_of(const QuantityError& e, std::size_t samples) {
  std::vector<float> out;
  const auto width = static_cast<std::size_t>(e.width);
  const auto items = static_cast<std::size_t>(e.items);
  for (std::size_t s = 0; s < samples; ++s) {
    double most = 0;
    for (std::size_t i = 0; i < items; ++i) {
      double square = 0;
      for (std::size_t c = 0; c < width; ++c)
        square += std::pow(e.band[(s * items + i) * width + c], 2);
      most = std::max(most, std::sqrt(square));
    }
    out.push_back(static_cast<float>(most));
  }
  return out;
}

json coordinate_bands(const Description& d, const QuantityError& e, std::size_t samples,
                      PageData& data) {
  json out = json::array();
  const auto known = static_cast<int>(d.coordinates.size());
  for (int k = 0; k < std::min(e.items, known); ++k) {
    const DescribedCoordinate& c = d.coordinates[static_cast<std::size_t>(k)];
    out.push_back({{"item", d.joints[static_cast<std::size_t>(c.joint)].name},
                   {"name", c.name},
                   {"values", data.add(band_of(e, samples, {k}))}});
  }
  return out;
}

}  // namespace

json page_verification(const ResultView& result, const std::vector<int>& moving, PageData& data) {
  const std::optional<Verification> v = result.verification();
  if (!v) return nullptr;
  json lines = json::array();
  for (const SummaryLine& line : verification_lines(*v))
    lines.push_back({{"name", line.name}, {"value", line.value}, {"tone", word(line.tone)}});
  json out{{"state", to_string(v->state)},
           {"lines", std::move(lines)},
           {"until", v->until},
           {"time", data.add(v->time)},
           {"largest", json::array()}};
  const std::size_t samples = v->time.size();
  const auto bodies = static_cast<int>(result.description().bodies.size());
  for (const QuantityError& e : v->errors) {
    if (e.name != "coordinate") {
      out["largest"].push_back(
          {{"name", e.name}, {"unit", e.unit}, {"values", data.add(largest_of(e, samples))}});
    }
    if (e.name == "energy" && e.items == 3) {
      out["energy"] = {{"kinetic", data.add(band_of(e, samples, {0}))},
                       {"potential", data.add(band_of(e, samples, {1}))},
                       {"total", data.add(band_of(e, samples, {2}))}};
    } else if (e.name == "position" && e.items == bodies) {
      out["position"] = data.add(band_of(e, samples, moving));
    } else if (e.name == "coordinate") {
      out["coordinates"] = coordinate_bands(result.description(), e, samples, data);
    }
  }
  return out;
}

}  // namespace urto
