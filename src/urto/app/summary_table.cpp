#include "urto/app/summary_table.h"

#include <fmt/format.h>

#include "urto/app/table.h"

namespace urto::app {
namespace {

Tone tone_of(SummaryLine::Tone tone) {
  switch (tone) {
    case SummaryLine::plain:
      return Tone::plain;
    case SummaryLine::good:
      return Tone::good;
    case SummaryLine::doubtful:
      return Tone::doubtful;
    case SummaryLine::bad:
      return Tone::bad;
  }
  return Tone::plain;
}

void print_timings(const RunSummary& s) {
  fmt::print("\n");
  const Table table({{"phase", 10, Align::left}, {"time", 8}, {"a step", 8}, {"share", 7}},
                    stdout_wants_colour());
  table.print_header();
  const double total = s.total_seconds();
  const auto steps = static_cast<double>(s.counts.steps);
  for (const NamedNumber& phase : s.seconds) {
    table.print_row({phase.name, short_seconds(phase.value), short_seconds(phase.value / steps),
                     fmt::format("{:.1f} %", 100 * phase.value / total)});
  }
}

}  // namespace

void print_summary(const RunSummary& summary, bool timings) {
  const Table table({{"", 14, Align::left}, {"", 0, Align::left}}, stdout_wants_colour());
  for (const SummaryLine& line : summary_lines(summary))
    table.print_row({line.name, line.value}, tone_of(line.tone));
  if (timings && summary.counts.steps > 0) print_timings(summary);
}

}  // namespace urto::app
