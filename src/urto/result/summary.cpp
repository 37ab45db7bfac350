#include "urto/result/summary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "urto/file/number_text.h"
#include "urto/result/step_columns.h"
#include "urto/result/verification_summary.h"

namespace urto {
namespace {

/// Largest absolute value; not-a-number does not count.
double largest(const std::vector<double>& values) {
  double most = 0;
  for (const double x : values) most = std::max(most, std::abs(std::isfinite(x) ? x : 0.0));
  return most;
}

std::string phases(const RunSummary& s) {
  std::vector<std::string> parts;
  const auto steps = static_cast<double>(s.counts.steps);
  for (const NamedNumber& phase : s.seconds)
    parts.push_back(fmt::format("{} {}", phase.name, short_seconds(phase.value / steps)));
  return fmt::format("{} ({})", short_seconds(s.total_seconds() / steps), fmt::join(parts, ", "));
}

SummaryLine::Tone tone_of(Level level) {
  return level == Level::failure  ? SummaryLine::bad
         : level == Level::remark ? SummaryLine::doubtful
                                  : SummaryLine::good;
}

/// The verdict last, where the eye is when a run has ended, with its reasons.
std::vector<SummaryLine> with_verdict(const Verdict& verdict, std::vector<SummaryLine> lines) {
  lines.push_back({"verdict", short_verdict(verdict), tone_of(verdict.level)});
  for (const Finding& f : verdict.findings) {
    if (f.level != Level::good)
      lines.push_back({fmt::format("  {}", to_string(f.level)), f.text, tone_of(f.level)});
  }
  return lines;
}

}  // namespace

double RunSummary::energy_of(std::string_view name) const {
  const auto at = std::ranges::find(energy, name, &NamedNumber::name);
  return at == energy.end() ? 0 : at->value;
}

double RunSummary::total_seconds() const {
  return std::accumulate(seconds.begin(), seconds.end(), 0.0,
                         [](double sum, const NamedNumber& phase) { return sum + phase.value; });
}

RunSummary summarise(const ResultView& result) {
  const Description& d = result.description();
  RunSummary s{.title = d.title,
               .urto_version = d.urto_version,
               .settings = d.settings,
               .run = result.status(),
               .counts = result.counts(),
               .bodies = static_cast<int>(d.bodies.size()),
               .joints = static_cast<int>(d.joints.size())};
  const long steps = s.counts.steps;
  for (std::size_t c = 0; c < step_columns().size(); ++c) {
    const std::string_view column = step_columns()[c].name;
    const std::string name(column.substr(column.find('/') + 1));
    if (column == "contacts") {
      s.most_contacts = static_cast<int>(largest(result.step_values(c, 0, steps)));
    } else if (column.starts_with("seconds/")) {
      const auto times = result.step_values(c, 0, steps);
      s.seconds.push_back({name, std::accumulate(times.begin(), times.end(), 0.0)});
    } else if (column.starts_with("energy/")) {
      const auto values = result.step_values(c, 0, steps);
      s.energy.push_back({name, values.empty() ? 0 : values.back()});
    }
  }
  s.verdict = judge(result);
  s.verification = result.verification();
  return s;
}

std::string short_seconds(double s) {
  if (s < 1e-4) return fmt::format("{:.3g} µs", 1e6 * s);  // phases of a step
  std::string text = format_seconds(s);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

std::vector<SummaryLine> summary_lines(const RunSummary& s) {
  std::vector<SummaryLine> out;
  const RunStatus& run = s.run;
  const auto say = [&](const char* name, std::string value,
                       SummaryLine::Tone tone = SummaryLine::plain) {
    out.push_back({name, std::move(value), tone});
  };
  say("status", run.failure.empty() ? fmt::format("{} at t = {:.9g} s", run.status, run.time)
                                    : fmt::format("{} at {}", run.status, run.failure));
  const std::string rejected = run.rejected > 0 ? fmt::format(", {} rejected", run.rejected) : "";
  const bool thinned = s.settings.output_step > s.settings.step * (1 + 1e-9);
  say("steps",
      fmt::format("{}{}, {}{}", s.counts.steps, rejected,
                  counted(s.counts.frames, "frame", "frames"),
                  thinned ? fmt::format(", one every {:.4g} s", s.settings.output_step) : ""));
  if (s.counts.steps == 0) return with_verdict(s.verdict, std::move(out));
  say("wall time", fmt::format("{}, {:.3g} times real time", short_seconds(run.wall_seconds),
                               run.time / run.wall_seconds));
  say("time a step", phases(s));
  const std::string friction =
      s.bodies > 0 ? fmt::format(", {} friction", friction_word(s.settings)) : "";
  say("worst residual", fmt::format("{} at t = {:.6g} s{}", format_residual(run.worst_residual),
                                    run.worst_residual_time, friction));
  say("missed", fmt::format("{} of {} steps missed the tolerance {:.0e}", run.missed,
                            s.counts.steps, s.settings.solver.tolerance));
  if (s.bodies == 0) return with_verdict(s.verdict, std::move(out));
  say("joint error", fmt::format("{} m, rad", format_residual(run.worst_joint_error)));
  say("contacts", fmt::format("at most {}, deepest penetration {} m", s.most_contacts,
                              format_residual(run.worst_penetration)));
  say("energy", fmt::format("{:.6g} J at the start, {:.6g} J at the end", run.start_energy,
                            s.energy_of("kinetic") + s.energy_of("potential")));
  say("", fmt::format("supplied {:.4g}, lost to friction {:.4g}, impact {:.4g}, drives {:.4g}, "
                      "damping {:.4g}; "
                      "given by pushing overlaps apart {:.3g}, numerical {:+.3g} J",
                      s.energy_of("supplied"), s.energy_of("friction"), s.energy_of("impact"),
                      s.energy_of("drive"), s.energy_of("damping"), s.energy_of("recovery"),
                      s.energy_of("numerical")));
  if (s.verification) {
    for (SummaryLine& line : verification_lines(*s.verification)) out.push_back(std::move(line));
  }
  return with_verdict(s.verdict, std::move(out));
}

}  // namespace urto
