#include "urto/app/run_report.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/app/table.h"
#include "urto/version.h"

namespace urto::app {

using nlohmann::json;

const std::array<const char*, 8> energy_names = {"kinetic", "potential", "supplied", "friction",
                                                 "impact",  "damping",   "recovery", "numerical"};
const std::array<const char*, 5> phase_names = {"rows", "assemble", "solve", "certify", "advance"};

double RunSummary::total_seconds() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0);
}

RunSummary read_summary(const ResultReader& r) {
  RunSummary s;
  s.title = r.text_attribute("title");
  s.urto_version = r.text_attribute("urto_version");
  s.stepper = r.text_attribute("stepper");
  s.friction = r.text_attribute("friction");
  s.solver = r.text_attribute("solver");
  s.tolerance = r.number_attribute("tolerance");
  s.duration = r.number_attribute("duration");
  s.step = r.number_attribute("step");
  s.status = r.text("/run/status");
  s.failure = r.text("/run/failure");
  s.time = r.number("/run/time");
  s.wall_seconds = r.number("/run/wall_seconds");
  const auto integer = [&](const char* path) { return static_cast<int>(r.number(path)); };
  s.rejected = static_cast<long>(r.number("/run/rejected"));
  s.missed = static_cast<long>(r.number("/run/missed"));
  s.dofs = integer("/run/dofs");
  s.equality_rows = integer("/run/equality_rows");
  s.rank = integer("/run/rank");
  s.bodies = static_cast<int>(r.texts("/bodies/name").size());
  s.joints = static_cast<int>(r.texts("/joints/name").size());
  s.worst_residual = r.number("/run/worst_residual");
  s.worst_residual_time = r.number("/run/worst_residual_time");
  s.worst_joint_error = r.number("/run/worst_joint_error");
  s.worst_penetration = r.number("/run/worst_penetration");
  s.start_energy = r.number("/run/start_energy");
  const ResultCounts counts = r.counts();
  s.frames = counts.frames;
  s.steps = counts.steps;
  for (std::size_t k = 0; k < phase_names.size(); ++k) {
    const auto t = r.numbers(fmt::format("/steps/seconds/{}", phase_names[k]), 0, s.steps);
    s.seconds[k] = std::accumulate(t.begin(), t.end(), 0.0);
  }
  if (s.steps == 0) return s;
  for (std::size_t k = 0; k < energy_names.size(); ++k) {
    s.energy[k] = r.numbers(fmt::format("/steps/energy/{}", energy_names[k]), s.steps - 1, 1)[0];
  }
  const auto contacts = r.numbers("/steps/contacts", 0, s.steps);
  s.most_contacts = static_cast<int>(*std::max_element(contacts.begin(), contacts.end()));
  return s;
}

std::string counted(long count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

namespace {

std::string trimmed_seconds(double s) {
  if (s < 1e-4) return fmt::format("{:.3g} µs", 1e6 * s);  // phases of a step
  std::string text = format_seconds(s);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::string phases(const RunSummary& s) {
  std::vector<std::string> parts;
  const auto steps = static_cast<double>(s.steps);
  for (std::size_t k = 0; k < phase_names.size(); ++k) {
    parts.push_back(fmt::format("{} {}", phase_names[k], trimmed_seconds(s.seconds[k] / steps)));
  }
  return fmt::format("{} ({})", trimmed_seconds(s.total_seconds() / steps), fmt::join(parts, ", "));
}

void print_timings(const RunSummary& s) {
  fmt::print("\n");
  const Table table({{"phase", 10, Align::left}, {"time", 8}, {"a step", 8}, {"share", 7}},
                    stdout_wants_colour());
  table.print_header();
  const double total = s.total_seconds();
  for (std::size_t k = 0; k < phase_names.size(); ++k) {
    table.print_row({phase_names[k], trimmed_seconds(s.seconds[k]),
                     trimmed_seconds(s.seconds[k] / static_cast<double>(s.steps)),
                     fmt::format("{:.1f} %", 100 * s.seconds[k] / total)});
  }
}

}  // namespace

void print_summary(const RunSummary& s, bool timings) {
  const Table table({{"", 14, Align::left}, {"", 0, Align::left}}, stdout_wants_colour());
  const auto row = [&](const char* name, const std::string& value, Tone tone = Tone::plain) {
    table.print_row({name, value}, tone);
  };
  row("status",
      s.failure.empty() ? fmt::format("{} at t = {:.9g} s", s.status, s.time)
                        : fmt::format("{} at {}", s.status, s.failure),
      s.finished()           ? Tone::good
      : s.status == "failed" ? Tone::bad
                             : Tone::doubtful);
  const std::string rejected = s.rejected > 0 ? fmt::format(", {} rejected", s.rejected) : "";
  row("steps", fmt::format("{}{}, {}", s.steps, rejected, counted(s.frames, "frame", "frames")));
  if (s.steps == 0) return;
  row("wall time", fmt::format("{}, {:.3g} times real time", trimmed_seconds(s.wall_seconds),
                               s.time / s.wall_seconds));
  row("time a step", phases(s));
  row("worst residual",
      fmt::format("{} at t = {:.6g} s, {} friction", format_residual(s.worst_residual),
                  s.worst_residual_time, s.friction));
  row("missed",
      fmt::format("{} of {} steps missed the tolerance {:.0e}", s.missed, s.steps, s.tolerance),
      s.missed > 0 ? Tone::bad : Tone::good);
  row("joint error", fmt::format("{} m, rad", format_residual(s.worst_joint_error)));
  row("contacts", fmt::format("at most {}, deepest penetration {} m", s.most_contacts,
                              format_residual(s.worst_penetration)));
  row("energy", fmt::format("{:.6g} J at the start, {:.6g} J at the end", s.start_energy,
                            s.energy[0] + s.energy[1]));
  row("",
      fmt::format("supplied {:.4g}, lost to friction {:.4g}, impact {:.4g}, damping {:.4g}; "
                  "given by pushing overlaps apart {:.3g}, numerical {:+.3g} J",
                  s.energy[2], s.energy[3], s.energy[4], s.energy[5], s.energy[6], s.energy[7]));
  if (timings) print_timings(s);
}

json to_json(const RunSummary& s) {
  json energy{{"start", s.start_energy}}, seconds = json::object();
  for (std::size_t k = 0; k < energy_names.size(); ++k) energy[energy_names[k]] = s.energy[k];
  for (std::size_t k = 0; k < phase_names.size(); ++k) seconds[phase_names[k]] = s.seconds[k];
  return {{"version", s.urto_version},
          {"title", s.title},
          {"stepper", s.stepper},
          {"solver", s.solver},
          {"friction", s.friction},
          {"tolerance", s.tolerance},
          {"duration", s.duration},
          {"step", s.step},
          {"status", s.status},
          {"failure", s.failure},
          {"time", s.time},
          {"wall_seconds", s.wall_seconds},
          {"steps", s.steps},
          {"rejected", s.rejected},
          {"missed", s.missed},
          {"frames", s.frames},
          {"bodies", s.bodies},
          {"joints", s.joints},
          {"dofs", s.dofs},
          {"equality_rows", s.equality_rows},
          {"mobility", s.dofs - s.rank},
          {"most_contacts", s.most_contacts},
          {"worst",
           {{"residual", s.worst_residual},
            {"residual_time", s.worst_residual_time},
            {"joint_error", s.worst_joint_error},
            {"penetration", s.worst_penetration}}},
          {"energy", std::move(energy)},
          {"phase_seconds", std::move(seconds)}};
}

std::vector<std::string> warnings_of(const StartReport& report) {
  std::vector<std::string> out;
  for (const RedundantRows& r : report.redundant) {
    const std::string on = r.on.empty() ? "" : fmt::format(" on {}", fmt::join(r.on, ", "));
    out.push_back(fmt::format("{}: {} of its {} depend{}; its reaction is not unique", r.name,
                              r.rows, counted(r.of, "row", "rows"), on));
  }
  out.insert(out.end(), report.warnings.begin(), report.warnings.end());
  return out;
}

json to_json(const StartReport& report) {
  json redundant = json::array();
  for (const RedundantRows& r : report.redundant) {
    redundant.push_back({{"name", r.name}, {"rows", r.rows}, {"of", r.of}, {"on", r.on}});
  }
  return {{"dofs", report.dofs},
          {"equality_rows", report.rows},
          {"rank", report.rank},
          {"mobility", report.mobility()},
          {"position_error", report.position_error},
          {"position_change", report.position_change},
          {"velocity_change", report.velocity_change},
          {"redundant", std::move(redundant)},
          {"warnings", report.warnings}};
}

}  // namespace urto::app
