// Result files: everything a run showed, as HDF5. docs/results.md is the layout.
//
// A file grows while the run goes on and can be read meanwhile by anybody (HDF5's single writer, many
// readers). Rows are gathered in memory and appended by a thread of the writer's own now and then, so
// that compressing and writing do not stand in the run's way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "urto/stepper/simulation.h"

namespace urto {

/// Rows that a result holds. A checkpoint keeps them, because a resumed run goes on from there.
struct ResultCounts {
  long frames = 0, contacts = 0, steps = 0;
};

/// How a run stands: the group /run.
struct RunStatus {
  std::string status = "running";  ///< running, finished, interrupted, failed
  std::string failure;             ///< when and why it failed
  double wall_seconds = 0;
  int dofs = 0, equality_rows = 0, rank = 0;  ///< of the consistent start
  int mobility() const { return dofs - rank; }
};

/// Writes a result. While it has something to append it uses the HDF5 library from its thread: call
/// `flush` before using that library otherwise.
class ResultWriter {
 public:
  /// Replaces `file`. The title, the scene's text and what the consistent start warned of are kept in it. Throws InputError if it cannot.
  static ResultWriter create(const std::filesystem::path& file, const Model& model,
                             const SimulationOptions& options, std::string_view title,
                             std::string_view scene, const std::vector<std::string>& warnings = {});
  /// Goes on with a result of the same model, cut down to `counts`. Throws InputError if it holds
  /// fewer rows or is of another model.
  static ResultWriter reopen(const std::filesystem::path& file, const Model& model,
                             const ResultCounts& counts);
  ResultWriter(ResultWriter&&) noexcept;
  ResultWriter& operator=(ResultWriter&&) = delete;
  ~ResultWriter();

  /// The state of the run, and the forces of the step that led to it (none before the first step).
  void add_frame(Simulation& run);
  /// The step that was just accepted.
  void add_step(const Simulation& run);
  /// Appends if it is time to; costs a look at the clock otherwise.
  void append_when_due(const Simulation& run);
  /// Returns when all is in the file.
  void flush(const Simulation& run);
  /// Says how the run ended, and closes. The destructor closes too, but then it says "running".
  void finish(const Simulation& run);

  RunStatus status;  ///< written with every append
  ResultCounts counts() const;

 private:
  struct Impl;
  explicit ResultWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Reads a result, also of a run that is still going on or was killed. Sizes in the file are not
/// believed. Everything throws InputError with the file, the place in it and what was expected.
class ResultReader {
 public:
  explicit ResultReader(const std::filesystem::path& file);
  ResultReader(ResultReader&&) noexcept;
  ResultReader& operator=(ResultReader&&) = delete;
  ~ResultReader();

  bool has(const std::string& path) const;
  /// Size of a dataset as it is now; a scalar has none.
  std::vector<std::int64_t> shape(const std::string& path) const;
  /// Row-major values of any dataset of numbers: all of them, or `count` rows from `first`.
  std::vector<double> numbers(const std::string& path) const;
  std::vector<double> numbers(const std::string& path, std::int64_t first,
                              std::int64_t count) const;
  double number(const std::string& path) const;
  std::string text(const std::string& path) const;
  std::vector<std::string> texts(const std::string& path) const;
  /// Attributes of the file.
  std::string text_attribute(const std::string& name) const;
  double number_attribute(const std::string& name) const;
  /// Complete rows.
  ResultCounts counts() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// True if `file` was written by ResultWriter (of any version); false for everything else, also if it
/// does not exist.
bool is_result_file(const std::filesystem::path& file);

}  // namespace urto
