// A result as its readers see it: the page, CSV, VTK, glTF, plots and summaries. It is in a file
// (ResultReader) or in memory (ResultValues), and nobody who shows it needs to know which; long
// ones are read in parts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "urto/analysis/verification.h"
#include "urto/result/description.h"
#include "urto/result/frame.h"

namespace urto {

/// Rows that a result holds. A checkpoint keeps them, because a resumed run goes on from there.
struct ResultCounts {
  long frames = 0, contacts = 0, steps = 0;
};

/// How a run stands: the group /run.
struct RunStatus {
  std::string status = "running";  ///< running, finished, interrupted, failed
  std::string failure = {};        ///< when and why it failed
  double time = 0;                 ///< [s] simulated
  long steps = 0, rejected = 0, missed = 0;
  double worst_residual = 0, worst_residual_time = 0;
  double worst_joint_error = 0, worst_penetration = 0;
  double start_energy = 0;                     ///< [J]
  double wall_seconds = 0;                     ///< of all runs that added to the result
  long dofs = 0, equality_rows = 0, rank = 0;  ///< of the consistent start
  long mobility() const { return dofs - rank; }
};

class ResultView {
 public:
  virtual ~ResultView() = default;

  virtual const Description& description() const = 0;
  virtual RunStatus status() const = 0;
  virtual ResultCounts counts() const = 0;  ///< complete rows

  // `count` frames or steps from `first`; all of them must be there, or InputError is thrown.
  virtual std::vector<double> times(long first, long count) const = 0;  ///< of frames
  /// Row by row: the numbers of the channel in each of the frames.
  virtual std::vector<double> channel(int channel, long first, long count) const = 0;
  virtual std::vector<std::vector<RecordedContact>> contacts(long first, long count) const = 0;
  /// A column of `step_columns`; not-a-number if the result is older than the column.
  virtual std::vector<double> step_values(std::size_t column, long first, long count) const = 0;
  /// How far the run is from its limit, if it was verified.
  virtual std::optional<Verification> verification() const { return std::nullopt; }
};

}  // namespace urto
