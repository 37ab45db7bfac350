// Files that get their names when they are complete: a reader never meets half of one, and what had
// the name before stays until then. Every writer of whole files uses this; results, which grow, use
// GrowingFile.
#pragma once

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace urto {

/// A file in the making, beside its target. It goes away unless it is kept.
class PartFile {
 public:
  /// Throws InputError if the target is a directory.
  explicit PartFile(std::filesystem::path target);
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  ~PartFile();

  /// To be written; no two part files of this machine have the same.
  const std::filesystem::path& path() const { return part_; }
  /// Moves it to the target. Throws InputError if that cannot be.
  void keep();

 private:
  std::filesystem::path target_, part_;
};

/// Has `write` write a part file, then keeps it. Whatever goes wrong, a target that was there
/// before is untouched.
void write_complete(const std::filesystem::path& target,
                    const std::function<void(const std::filesystem::path& part)>& write);

/// Returns when a file is on the disk, not only in the system's memory. Throws InputError.
void sync_file(const std::filesystem::path& file);

/// Takes away what processes that are gone left of files of these names in a directory.
void remove_leftovers(const std::filesystem::path& directory,
                      const std::vector<std::string>& names);

/// A stream into a part file.
class WholeFile {
 public:
  explicit WholeFile(const std::filesystem::path& file);
  void write(std::string_view bytes);
  /// Throws InputError if something could not be written.
  std::filesystem::path finish();

 private:
  std::filesystem::path file_;
  PartFile part_;
  std::ofstream out_;
};

}  // namespace urto
