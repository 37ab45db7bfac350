// A run in a few numbers, as a value: what `urto run` and `urto info` print, what the page shows on
// top, and what a comparison of runs compares. It is made from the result, so that none of them can
// disagree with it.
#pragma once

#include <string>
#include <vector>

#include "urto/result/result_view.h"
#include "urto/result/verdict.h"

namespace urto {

struct NamedNumber {
  std::string name = {};
  double value = 0;
};

struct RunSummary {
  std::string title = {}, urto_version = {};
  SimulationOptions settings = {};
  RunStatus run = {};
  ResultCounts counts = {};
  int bodies = 0, joints = 0;
  int most_contacts = 0;
  std::vector<NamedNumber> energy = {};   ///< [J] at the end: the columns energy/…
  std::vector<NamedNumber> seconds = {};  ///< of all steps together: the columns seconds/…
  Verdict verdict = {};
  std::optional<Verification> verification = {};

  bool finished() const { return run.status == "finished"; }
  double energy_of(std::string_view name) const;  ///< zero before the first step
  double total_seconds() const;                   ///< of the phases
};

RunSummary summarise(const ResultView& result);

/// One line of the summary for people.
struct SummaryLine {
  enum Tone : std::uint8_t { plain, good, doubtful, bad };
  std::string name = {}, value = {};
  Tone tone = plain;
};
std::vector<SummaryLine> summary_lines(const RunSummary& summary);

/// "12 µs", "3.4 s".
std::string short_seconds(double seconds);

}  // namespace urto
