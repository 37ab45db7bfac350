#include "urto/result/verification_summary.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace urto {
namespace {

using nlohmann::json;

/// "1.2e-3 m (ball, t = 0.31 s)".
std::string at_most(const QuantityError& e) {
  if (e.worst_item < 0) return fmt::format("0 {}", e.unit);
  return fmt::format("{:.2g} {} ({}, t = {:.4g} s)", e.worst, e.unit, e.worst_name, e.worst_time);
}

/// Energies and impulses jump at an impact, which the run takes a moment early or late: the mean
/// says more than the worst moment.
std::string on_average(const QuantityError& e) {
  return fmt::format("{:.2g} {} on average, at most {}", e.mean, e.unit, at_most(e));
}

std::string order_text(const Verification& v) {
  const QuantityError* position = v.find("position");
  const QuantityError* rotation = v.find("rotation");
  for (const QuantityError* e : {position, rotation}) {
    if (e == nullptr || !std::isfinite(e->order)) continue;
    // Where chance decides (the moment of an impact within its step), three runs show no order.
    const bool in_range = e->order >= 0.5 && e->order <= v.expected_order + 1;
    const bool rough = v.state == VerificationState::converges && !in_range;
    return fmt::format("order {:.2g}, expected {}{}", e->order, v.expected_order,
                       rough ? ": a rough estimate" : "");
  }
  return fmt::format("order {} expected", v.expected_order);
}

void add_errors(const Verification& v, const char* first, SummaryLine::Tone tone,
                std::vector<SummaryLine>& out) {
  const QuantityError* position = v.find("position");
  const QuantityError* rotation = v.find("rotation");
  const QuantityError* energy = v.find("energy");
  const QuantityError* impulse = v.find("contact_impulse");
  std::string motion;
  if (position != nullptr) motion = fmt::format("positions at most {}", at_most(*position));
  if (rotation != nullptr && rotation->worst_item >= 0)
    motion += fmt::format(", rotations {}", at_most(*rotation));
  if (v.state != VerificationState::exact) motion += "; " + order_text(v);
  out.push_back({first, motion, tone});
  if (energy != nullptr) out.push_back({"", fmt::format("energy {}", on_average(*energy))});
  if (impulse != nullptr && impulse->worst_item >= 0)
    out.push_back({"", fmt::format("contact impulses {}", on_average(*impulse))});
}

/// What a motion without a limit is described by.
void add_statistics(const Verification& v, std::vector<SummaryLine>& out) {
  const char* name = "statistics";
  for (const ComparedStatistic& s : v.statistics) {
    const double most =
        std::max({std::abs(s.value[0]), std::abs(s.value[1]), std::abs(s.value[2])});
    if (most == 0) continue;
    out.push_back({name, fmt::format("{}: {:.4g} {}, within {:.2g} {} in all three runs", s.name,
                                     s.value[0], s.unit, s.spread(), s.unit)});
    name = "";
  }
}

}  // namespace

std::vector<SummaryLine> verification_lines(const Verification& v) {
  std::vector<SummaryLine> out;
  switch (v.state) {
    case VerificationState::converges:
      add_errors(v, "error", SummaryLine::plain, out);
      break;
    case VerificationState::exact:
      out.push_back({"error", "none: at half the step the motion is the same to rounding",
                     SummaryLine::good});
      add_errors(v, "", SummaryLine::plain, out);
      break;
    case VerificationState::parts:
      out.push_back({"error",
                     fmt::format("from t = {:.4g} s on the motion depends on the step, and smaller "
                                 "ones do not settle it: chaos, or steps far too long",
                                 v.until),
                     SummaryLine::doubtful});
      add_errors(v, "until then", SummaryLine::plain, out);
      add_statistics(v, out);
      break;
    case VerificationState::incomplete:
      out.push_back({"error", "unknown: " + v.reason, SummaryLine::doubtful});
      break;
  }
  return out;
}

json to_json(const Verification& v) {
  json errors = json::object(), statistics = json::array();
  for (const QuantityError& e : v.errors) {
    errors[e.name] = {{"unit", e.unit},
                      {"worst", e.worst},
                      {"worst_time", e.worst_time},
                      {"worst_of", e.worst_name},
                      {"mean", e.mean},
                      {"last", e.last},
                      {"scale", e.scale},
                      // Not-a-number is null: the runs agreed to rounding.
                      {"order", std::isfinite(e.order) ? json(e.order) : json()}};
  }
  for (const ComparedStatistic& s : v.statistics) {
    statistics.push_back(
        {{"name", s.name}, {"unit", s.unit}, {"values", s.value}, {"spread", s.spread()}});
  }
  return {{"state", to_string(v.state)},
          {"reason", v.reason},
          {"step", v.step},
          {"expected_order", v.expected_order},
          {"until", v.until},
          {"wall_seconds", v.wall_seconds},
          {"errors", std::move(errors)},
          {"statistics", std::move(statistics)}};
}

}  // namespace urto
