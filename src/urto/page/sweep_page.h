// A sweep of runs (result/sweep.h) for people and other programs: one page, one table.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "urto/result/sweep.h"
#include "urto/result/verdict.h"

namespace urto {

/// What is kept of a quantity between a time and the end of a run.
enum class Statistic : std::uint8_t { end, least, largest, mean, rms };
/// Throws InputError that lists them for a word that is none.
Statistic statistic_named(const std::string& word);

struct SweepMeasures {
  std::vector<std::string> quantities = {};  ///< "ball.z", as a scene's "watch" has them
  std::vector<Statistic> statistics = {Statistic::end, Statistic::least, Statistic::largest,
                                       Statistic::mean};
  double from = 0;   ///< [s]
  double every = 0;  ///< [s] between samples of the quantities, from `from` on; 0 for none
};

/// A run of the sweep, as it stands.
struct SweepRow {
  std::string status = "missing";  ///< of the run
  std::string failure = {};        ///< why it failed, or could not begin
  Level verdict = Level::failure;
  /// Of the run as a whole (sweep_columns), then quantity by quantity, statistic by statistic.
  std::vector<double> numbers = {};
  std::vector<std::vector<double>> samples = {};  ///< of each quantity
};

struct Sweep {
  std::string title = {}, description = {};
  std::vector<SweepAxis> axes = {};
  SweepMeasures measures = {};
  std::vector<SweepCase> cases = {};
  std::vector<SweepRow> rows = {};      ///< as many, in the same order
  std::vector<std::string> units = {};  ///< of the quantities
};

/// Names of a row's numbers.
std::vector<std::string> sweep_columns(const SweepMeasures& measures);

/// The units of the quantities. Throws InputError if a scene of this description has not one.
std::vector<std::string> sweep_units(const Description& description, const SweepMeasures& measures);

/// The row of one result.
SweepRow measure_run(const std::filesystem::path& result_file, const SweepMeasures& measures);

std::vector<PlotPanel> sweep_panels(const Sweep& sweep);

/// Writes sweep.html and sweep.csv, and samples.csv where there are samples, into the directory of
/// the runs. Throws InputError, also if there are files of these names that no sweep wrote.
std::vector<std::filesystem::path> write_sweep(const Sweep& sweep,
                                               const std::filesystem::path& directory);

/// Before hours are spent: throws what write_sweep would throw.
void refuse_foreign_sweep(const std::filesystem::path& directory);

}  // namespace urto
