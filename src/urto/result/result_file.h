// Result files: everything a run showed, as HDF5. docs/results.md is the layout.
//
// A file grows while the run goes on and can be read meanwhile by anybody (HDF5's single writer,
// many readers). Rows are gathered in memory and appended by a thread of the writer's own now and
// then, so that compressing and writing do not stand in the run's way.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "urto/result/result_view.h"

namespace urto {

struct Result;
struct StepRecord;
struct Verdict;

/// Writes a result from values. While it has something to append it uses the HDF5 library from its
/// thread: call `flush` before using that library otherwise.
class ResultWriter {
 public:
  /// Replaces `file`. Throws InputError if it cannot.
  static ResultWriter create(const std::filesystem::path& file, const Description& description);
  /// Goes on with a result of the same model, cut down to `counts`. Throws InputError if it holds
  /// fewer rows or is of another model.
  static ResultWriter reopen(const std::filesystem::path& file, const Description& description,
                             const ResultCounts& counts);
  ResultWriter(ResultWriter&&) noexcept;
  ResultWriter& operator=(ResultWriter&&) = delete;
  ~ResultWriter();

  /// Throws InputError if the frame has not the channels of the description.
  void add_frame(const Frame& frame);
  void add_step(const StepRecord& step);
  /// True now and then: when it is time to append.
  bool append_due() const;
  void append(const RunStatus& status);
  /// Returns when all is in the file.
  void flush(const RunStatus& status);
  /// Returns when all is on the disk: whatever happens to the process or the disk's space from now
  /// on, it can be read again.
  void secure(const RunStatus& status);
  /// Says how the run ended, and closes. The destructor closes too, but then it says "running".
  void finish(const RunStatus& status);
  /// After an error of writing: what was appended before stays as it is, the rest is dropped, and
  /// the file says that the run failed, and why.
  void give_up(const std::string& why);
  /// False once somebody has removed or replaced the file.
  bool is_in_place() const;

  ResultCounts counts() const;

 private:
  struct Impl;
  explicit ResultWriter(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Writes the verdict into a result that is complete, in the place of an earlier one.
void write_verdict(const std::filesystem::path& file, const Verdict& verdict);
/// Puts the verification of a run into its finished file, in place of an earlier one. Throws
/// InputError if it cannot.
void write_verification(const std::filesystem::path& file, const Verification& verification);

/// A whole result at once, with its verdict.
void write_result(const std::filesystem::path& file, const Result& result);

/// Reads a result, also of a run that is still going on or was killed. Sizes in the file are not
/// believed. Everything throws InputError with the file, the place in it and what was expected.
class ResultReader final : public ResultView {
 public:
  explicit ResultReader(const std::filesystem::path& file);
  ResultReader(ResultReader&&) noexcept;
  ResultReader& operator=(ResultReader&&) = delete;
  ~ResultReader() override;

  const Description& description() const override;  ///< read when first asked for
  RunStatus status() const override;
  ResultCounts counts() const override;
  std::vector<double> times(long first, long count) const override;
  std::vector<double> channel(int channel, long first, long count) const override;
  std::vector<std::vector<RecordedContact>> contacts(long first, long count) const override;
  std::vector<double> step_values(std::size_t column, long first, long count) const override;
  std::optional<Verification> verification() const override;

  // The file itself, by path.
  bool has(const std::string& path) const;
  std::vector<std::string> names(const std::string& group) const;  ///< of what is in a group
  /// Size of a dataset as it is now; a scalar has none.
  std::vector<std::int64_t> shape(const std::string& path) const;
  /// Row-major values of any dataset of numbers: all of them, or `count` rows from `first`.
  std::vector<double> numbers(const std::string& path) const;
  std::vector<double> numbers(const std::string& path, std::int64_t first,
                              std::int64_t count) const;
  double number(const std::string& path) const;
  std::string text(const std::string& path) const;
  std::vector<std::string> texts(const std::string& path) const;
  /// Attributes of the file, or of what is at `path`.
  bool has_attribute(const std::string& path, const std::string& name) const;
  std::string text_attribute(const std::string& name, const std::string& path = "/") const;
  double number_attribute(const std::string& name) const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// True if `file` was written by ResultWriter (of any version); false for everything else, also if
/// it does not exist.
bool is_result_file(const std::filesystem::path& file);

}  // namespace urto
