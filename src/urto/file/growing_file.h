// Internal: an HDF5 file with datasets that grow while others read it (single writer, many
// readers).
//
// First the fixed part is written and every growing dataset made; `share` then lets readers in, and
// from there on datasets can grow and fields change, but nothing can be added (a rule of HDF5).
//
// A full disk is like a killed process: what was appended and flushed before is in the file and can
// be read. Space for all that an append will write is asked for before the first byte of it is
// written; and where a write fails nevertheless, nothing else of what the library holds reaches the
// file.
//
// Chunks are compressed when they are full and kept as they are before: a compressed chunk that is
// rewritten changes its size, and space in a shared file cannot be used again. Ten thousand appends
// of a few rows would leave a file a hundred times the size of its data (measured).
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "urto/file/hdf5_handle.h"
#include "urto/math/types.h"

namespace urto {

/// A growing dataset. Rows are gathered in `front` and swapped to `back` to be appended, possibly
/// by another thread. Of no width (no joints, say) there is no dataset, and what is put is dropped.
struct Column {
  std::string path;
  Hdf5Handle dataset;
  hid_t type = -1;
  std::size_t row_bytes = 0;
  std::vector<hsize_t> inner;  ///< size of a row
  hsize_t rows = 0;            ///< in the file
  std::vector<char> front, back;

  template <typename Number>
  void put(const Number* values, std::size_t count) {
    if (!dataset.valid()) return;
    const auto* bytes = reinterpret_cast<const char*>(values);
    front.insert(front.end(), bytes, bytes + count * sizeof(Number));
  }
  void put(double x) { put(&x, 1); }
  void put(int x) { put(&x, 1); }
  void put(const std::vector<double>& x) { put(x.data(), x.size()); }
  void put(const Vec3& x) { put(x.data(), 3); }
  void put(const Vec4& x) { put(x.data(), 4); }
};

class GrowingFile {
 public:
  using Dims = std::vector<hsize_t>;
  using Attributes = std::vector<std::pair<const char*, std::string_view>>;

  /// Both throw InputError, as all that follows does.
  static GrowingFile create(const std::filesystem::path& file);
  /// Also a file whose writer was killed.
  static GrowingFile reopen(const std::filesystem::path& file);

  /// The fixed part; of a reopened file what is not there yet. Not of one that is shared.
  void write(const std::string& path, hid_t type, const Dims& dims, const void* data);
  void write(const std::string& path, const std::vector<std::string>& texts);
  void write_text(const std::string& path, std::string_view text);
  void write_attribute(const std::string& key, std::string_view text);
  void write_attribute(const std::string& key, hid_t type, const void* value);
  /// Takes away what is at a path, if something is. Before the file is shared.
  void remove(const std::string& path);

  /// A growing dataset, cut to `rows` if the file was reopened. The pointer stays good.
  Column* column(const std::string& path, hid_t type, const Dims& inner, hsize_t rows = 0,
                 const Attributes& attributes = {});
  /// One value that can change; text when `size` is not 0.
  Hdf5Handle field(const std::string& path, hid_t type, std::size_t size = 0);
  void set(const Hdf5Handle& field, double value);
  void set(const Hdf5Handle& field, std::string_view text, std::size_t size);

  void share();

  std::size_t gathered() const;  ///< bytes in the fronts
  void swap_buffers();
  void append();  ///< the backs, in the order in which the columns were made
  void flush();
  void sync();  ///< returns when what was flushed is on the disk
  /// Closes everything, so that errors of the disk are reported.
  void close();
  /// False once somebody has removed or replaced the file. Asks the system only: a thread that
  /// appends is not disturbed.
  bool is_in_place() const;

  [[noreturn]] void fail(const std::string& path, std::string_view found,
                         std::string_view expected) const;

 private:
  GrowingFile(Hdf5Handle file, std::string name, bool fresh);
  [[noreturn]] void fail_write(const std::string& path) const;
  [[noreturn]] void fail_space(double bytes, std::string_view why) const;
  void find_descriptor();
  double room_for(const Column& c) const;
  void reserve(double bytes);
  void check_own(const std::string& path) const;
  void attach(hid_t to, const std::string& key, hid_t type, const void* value) const;
  void attach(hid_t to, const std::string& key, std::string_view text) const;
  Hdf5Handle create_column(const Column& c) const;
  Hdf5Handle open_column(Column& c, hsize_t rows) const;
  void append(Column& c) const;

  std::string name_;
  bool fresh_;
  Hdf5Handle file_;
  int descriptor_ = -1;  ///< the system's number of the file
  Hdf5Handle links_;     ///< makes groups on the way
  std::deque<Column> columns_;
  std::uint64_t reserved_from_ = 0;  ///< the space from here on was asked for last
};

}  // namespace urto
