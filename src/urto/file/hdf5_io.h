// Internal: a thin owner of an HDF5 file. Every failure is an InputError with the file, the path
// inside it, what was found and what was expected. Sizes in a file are not believed: a dataset is
// read only if the file really stores that much.
//
// One thing is not in our hands: libhdf5 1.10 can crash on damaged structures of its old format,
// which has no checksums (FCLIB's library writes it). Files that we create have them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "urto/math/types.h"

namespace urto {

/// For the command, before anything of HDF5: at the exit the library looks for what it lost in
/// damaged files, and complains at length. Our files are closed by then.
void leave_hdf5_at_exit();

class Hdf5File {
 public:
  static Hdf5File open(const std::filesystem::path& file);
  /// Creates `file`; messages name `target` (the file that it will be renamed to).
  static Hdf5File create(const std::filesystem::path& file, const std::filesystem::path& target);
  Hdf5File(const Hdf5File&) = delete;
  Hdf5File& operator=(const Hdf5File&) = delete;
  ~Hdf5File();

  /// Whether there is an object at `path`; no error if a group on the way is missing.
  bool has(const std::string& path) const;
  /// Of what is in a group, in alphabetical order; none if there is no such group.
  std::vector<std::string> names(const std::string& group) const;
  /// Whether there is a dataset whose values were written. HDF5 lets a writer create a dataset and
  /// never fill it; it then reads as zeros.
  bool is_written(const std::string& path) const;
  int integer(const std::string& path) const;
  std::vector<int> integers(const std::string& path,
                            std::optional<std::size_t> size = std::nullopt) const;
  Vector numbers(const std::string& path, std::optional<std::size_t> size = std::nullopt) const;
  std::string text(const std::string& path) const;  ///< a fixed-length string

  /// Groups on the way are created.
  void write(const std::string& path, std::span<const int> values);
  void write(const std::string& path, std::span<const double> values);
  void write(const std::string& path, std::string_view text);
  /// Flushes and closes, so that errors of the disk are reported; the destructor cannot.
  void close();

  [[noreturn]] void fail(const std::string& path, std::string_view found,
                         std::string_view expected) const;

 private:
  Hdf5File(std::int64_t id, std::string name, std::uint64_t length)
      : id_(id), name_(std::move(name)), length_(length) {}

  struct Values {
    std::vector<std::int64_t> integers;
    Vector numbers;
  };
  Values read(const std::string& path, bool as_integers, std::optional<std::size_t> size) const;
  void write_array(const std::string& path, std::int64_t type, std::size_t size, const void* data);

  std::int64_t id_;                      // hid_t, which this header does not want to know
  std::string name_;                     // for messages
  std::uint64_t length_;                 // of the file, in bytes
  mutable std::uint64_t delivered_ = 0;  // bytes read out of it so far
};

}  // namespace urto
