#include "urto/file/hdf5_io.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <hdf5.h>

#include "urto/error.h"
#include "urto/file/hdf5_handle.h"
#include "urto/file/stopping_driver.h"
#include "urto/memory_limit.h"

namespace urto {
namespace {

// Problem files are hardly packed, if at all: a few megabytes that unfold to gigabytes are an
// attack.
constexpr std::uint64_t most_expanded = std::uint64_t{1} << 28, most_expansion = 100;

/// Only the plain types of the format are read: the conversion code of the library is not for
/// hostile bit layouts.
bool is_plain_type(hid_t type, bool integers) {
  const std::array<hid_t, 16> integer_types = {
      H5T_STD_I8LE,  H5T_STD_I8BE,  H5T_STD_I16LE, H5T_STD_I16BE, H5T_STD_I32LE, H5T_STD_I32BE,
      H5T_STD_I64LE, H5T_STD_I64BE, H5T_STD_U8LE,  H5T_STD_U8BE,  H5T_STD_U16LE, H5T_STD_U16BE,
      H5T_STD_U32LE, H5T_STD_U32BE, H5T_STD_U64LE, H5T_STD_U64BE};
  const std::array<hid_t, 4> real_types = {H5T_IEEE_F64LE, H5T_IEEE_F64BE, H5T_IEEE_F32LE,
                                           H5T_IEEE_F32BE};
  const auto equal = [&](hid_t other) { return H5Tequal(type, other) > 0; };
  return integers ? std::any_of(integer_types.begin(), integer_types.end(), equal)
                  : std::any_of(real_types.begin(), real_types.end(), equal);
}

std::string describe_type(hid_t type) {
  switch (H5Tget_class(type)) {
    case H5T_INTEGER:
      return "integers";
    case H5T_FLOAT:
      return "real numbers";
    case H5T_STRING:
      return "text";
    case H5T_COMPOUND:
      return "a compound type";
    case H5T_ENUM:
      return "an enumeration";
    default:
      return "an unsupported type";
  }
}

}  // namespace

std::vector<std::string> hdf5_names(hid_t file, const std::string& group) {
  std::vector<std::string> out;
  const auto add = [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
    static_cast<std::vector<std::string>*>(list)->emplace_back(name);
    return 0;
  };
  const Hdf5Handle id(H5Gopen2(file, group.c_str(), H5P_DEFAULT), H5Gclose);
  if (id.valid()) H5Literate(id, H5_INDEX_NAME, H5_ITER_INC, nullptr, add, &out);
  return out;
}

std::string hdf5_link_in(hid_t file, const std::string& path) {
  const QuietHdf5 quiet;
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    H5L_info_t info;
    if (part.empty() || part == "/" || H5Lget_info(file, part.c_str(), &info, H5P_DEFAULT) < 0)
      return "";
    if (info.type != H5L_TYPE_HARD) return part;
    if (end == std::string::npos) return "";
  }
}

bool hdf5_is_stored_here(hid_t dataset) {
  const QuietHdf5 quiet;
  const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  const H5D_layout_t layout = creation.valid() ? H5Pget_layout(creation) : H5D_LAYOUT_ERROR;
  const bool own = layout == H5D_CONTIGUOUS || layout == H5D_COMPACT || layout == H5D_CHUNKED;
  return own && H5Pget_external_count(creation) == 0;
}

std::string hdf5_reason() {
  std::string reason;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned depth, const H5E_error2_t* error, void* data) -> herr_t {
        if (depth == 0 && error->desc != nullptr) *static_cast<std::string*>(data) = error->desc;
        return 0;
      },
      &reason);
  return reason.empty() ? "no reason given" : reason;
}

void leave_hdf5_at_exit() {
  H5dont_atexit();
}

Hdf5File Hdf5File::open(const std::filesystem::path& file) {
  const QuietHdf5 quiet;
  std::error_code error;
  if (std::filesystem::exists(file, error) && !std::filesystem::is_regular_file(file, error))
    throw InputError(file.string(), "a directory, a device or a pipe", "a file");
  const std::uint64_t length = std::filesystem::file_size(file, error);
  if (error) throw InputError(file.string(), error.message(), "a readable file");
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
  if (id < 0) {
    throw InputError(file.string(),
                     fmt::format("a file that the HDF5 library cannot open ({})", hdf5_reason()),
                     "a complete HDF5 file");
  }
  return {id, file.string(), length};
}

Hdf5File Hdf5File::create(const std::filesystem::path& file, const std::filesystem::path& target) {
  const QuietHdf5 quiet;
  // The structures of version 1.8 have checksums. Those of the default, 1.6, do not, and the
  // library can crash on damaged ones.
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18);
  use_stopping_driver(access);  // so that a file on a full disk can be closed
  const hid_t id = H5Fcreate(file.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, access);
  if (id < 0) {
    throw InputError(target.string(),
                     fmt::format("a place that cannot be written ({})", hdf5_reason()),
                     "a writable directory");
  }
  return {id, target.string(), 0};
}

Hdf5File::~Hdf5File() {
  const QuietHdf5 quiet;
  if (id_ >= 0) H5Fclose(id_);
}

void Hdf5File::close() {
  const QuietHdf5 quiet;
  const bool flushed = H5Fflush(id_, H5F_SCOPE_GLOBAL) >= 0;
  const bool closed = H5Fclose(std::exchange(id_, -1)) >= 0;
  if (!flushed || !closed) fail("/", "a file that could not be written", "space on the disk");
}

void Hdf5File::fail(const std::string& path, std::string_view found,
                    std::string_view expected) const {
  throw InputError(fmt::format("{}: {}", name_, path), found, expected);
}

bool Hdf5File::has(const std::string& path) const {
  const QuietHdf5 quiet;
  // H5Lexists is an error, not "no", when a group on the way is missing: ask link by link.
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (H5Lexists(id_, part.c_str(), H5P_DEFAULT) <= 0) return false;
    H5L_info_t info;
    if (H5Lget_info(id_, part.c_str(), &info, H5P_DEFAULT) < 0) return false;
    if (info.type != H5L_TYPE_HARD) fail(part, "a link to another file", "data in this file");
    if (H5Oexists_by_name(id_, part.c_str(), H5P_DEFAULT) <= 0) return false;
    if (end == std::string::npos) return true;
  }
}

std::vector<std::string> Hdf5File::names(const std::string& group) const {
  const QuietHdf5 quiet;
  return has(group) ? hdf5_names(id_, group) : std::vector<std::string>();
}

bool Hdf5File::is_written(const std::string& path) const {
  if (!has(path)) return false;
  const QuietHdf5 quiet;
  const Hdf5Handle dataset(H5Dopen2(id_, path.c_str(), H5P_DEFAULT), H5Dclose);
  return dataset.valid() && H5Dget_storage_size(dataset) > 0;
}

Hdf5File::Values Hdf5File::read(const std::string& path, bool as_integers,
                                std::optional<std::size_t> size) const {
  const std::string_view kind = as_integers ? "integers" : "real numbers";
  if (!has(path)) fail(path, "nothing", fmt::format("a dataset of {}", kind));
  const QuietHdf5 quiet;
  const Hdf5Handle dataset(H5Dopen2(id_, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) {
    fail(path, "an object that is no readable dataset", fmt::format("a dataset of {}", kind));
  }
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  if (!type.valid() || !is_plain_type(type, as_integers)) {
    fail(path, type.valid() ? describe_type(type) : "an unreadable type", kind);
  }
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  const int rank = space.valid() ? H5Sget_simple_extent_ndims(space) : -1;
  if (rank < 0 || rank > 1 || H5Sget_simple_extent_type(space) == H5S_NULL) {
    fail(path, fmt::format("a dataset of {} dimensions", rank), "a list");
  }
  const hssize_t points = H5Sget_simple_extent_npoints(space);
  if (points < 0) fail(path, "a dataset of unknown size", "a list");
  const auto count = static_cast<std::uint64_t>(points);
  if (size && count != *size) {
    fail(path, fmt::format("{} values", count), fmt::format("{}", *size));
  }

  // A few bytes can declare any size. Stored data cannot exceed the file, and deflate, the
  // strongest filter in use, cannot expand by more than 1032.
  if (!hdf5_is_stored_here(dataset)) fail(path, "data kept outside this file", "data in this file");
  const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  const std::uint64_t stored = H5Dget_storage_size(dataset);
  const std::uint64_t expansion = H5Pget_nfilters(creation) > 0 ? 1032 : 1;
  const std::uint64_t type_size = H5Tget_size(type);
  if (stored > length_ || count > stored / type_size * expansion + (expansion - 1)) {
    fail(path, fmt::format("{} values declared but {} bytes stored", count, stored),
         "a dataset that is in the file completely");
  }
  if (count > static_cast<std::uint64_t>(std::numeric_limits<int>::max())) {
    fail(path, fmt::format("{} values", count), "fewer than 2^31");
  }
  delivered_ += 8 * count;
  if (delivered_ > most_expanded && delivered_ / most_expansion > length_) {
    fail(path, fmt::format("{} values in a file of {} bytes", count, length_),
         fmt::format("a file that is packed at most {} to 1, beyond 256 MiB", most_expansion));
  }
  require_memory(static_cast<double>(count) * (as_integers ? 12 : 8),
                 fmt::format("{}: {}", name_, path), fmt::format("{} values", count));

  Values values;
  void* target = nullptr;
  if (as_integers) {
    values.integers.resize(count);
    target = values.integers.data();
  } else {
    values.numbers.resize(static_cast<Eigen::Index>(count));
    target = values.numbers.data();
  }
  if (count > 0 && H5Dread(dataset, as_integers ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, H5S_ALL,
                           H5S_ALL, H5P_DEFAULT, target) < 0) {
    fail(path, fmt::format("data that the HDF5 library cannot read ({})", hdf5_reason()),
         fmt::format("{} {}", count, kind));
  }
  return values;
}

std::vector<int> Hdf5File::integers(const std::string& path,
                                    std::optional<std::size_t> size) const {
  const Values values = read(path, true, size);
  std::vector<int> result(values.integers.size());
  for (std::size_t k = 0; k < result.size(); ++k) {
    const std::int64_t value = values.integers[k];
    if (!std::in_range<int>(value)) {
      fail(path, fmt::format("{} as value {}", value, k), "a 32-bit integer");
    }
    result[k] = static_cast<int>(value);
  }
  return result;
}

int Hdf5File::integer(const std::string& path) const {
  return integers(path, 1).front();
}

Vector Hdf5File::numbers(const std::string& path, std::optional<std::size_t> size) const {
  return read(path, false, size).numbers;
}

std::string Hdf5File::text(const std::string& path) const {
  if (!has(path)) fail(path, "nothing", "text");
  const QuietHdf5 quiet;
  const Hdf5Handle dataset(H5Dopen2(id_, path.c_str(), H5P_DEFAULT), H5Dclose);
  const Hdf5Handle type(dataset.valid() ? H5Dget_type(dataset) : -1, H5Tclose);
  const Hdf5Handle space(dataset.valid() ? H5Dget_space(dataset) : -1, H5Sclose);
  if (!type.valid() || !space.valid() || H5Tget_class(type) != H5T_STRING ||
      H5Tis_variable_str(type) != 0 || H5Sget_simple_extent_npoints(space) != 1) {
    fail(path, "something else", "one text of fixed length");
  }
  constexpr std::size_t longest = 4096;
  const std::size_t size = H5Tget_size(type);
  if (!hdf5_is_stored_here(dataset)) fail(path, "data kept outside this file", "data in this file");
  if (size > longest || H5Dget_storage_size(dataset) < size) {
    fail(path, fmt::format("a text of {} bytes", size),
         fmt::format("at most {}, all of it in the file", longest));
  }
  std::string text(size, '\0');
  if (H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text.data()) < 0) {
    fail(path, "data that the HDF5 library cannot read", "text");
  }
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

void Hdf5File::write_array(const std::string& path, std::int64_t type, std::size_t size,
                           const void* data) {
  const QuietHdf5 quiet;
  const Hdf5Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  const hsize_t count = size;
  const Hdf5Handle space(H5Screate_simple(1, &count, nullptr), H5Sclose);
  const Hdf5Handle dataset(
      H5Dcreate2(id_, path.c_str(), type, space, links, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  if (!dataset.valid() ||
      (size > 0 && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)) {
    fail(path, fmt::format("a failure to write ({})", hdf5_reason()), "space on the disk");
  }
}

void Hdf5File::write(const std::string& path, std::span<const int> values) {
  write_array(path, H5T_NATIVE_INT, values.size(), values.data());
}

void Hdf5File::write(const std::string& path, std::span<const double> values) {
  write_array(path, H5T_NATIVE_DOUBLE, values.size(), values.data());
}

void Hdf5File::write(const std::string& path, std::string_view text) {
  // As H5LTmake_dataset_string does it, which FCLIB reads with: a scalar, with its terminating
  // zero.
  const QuietHdf5 quiet;
  const std::string terminated(text.substr(0, text.find('\0')));
  const Hdf5Handle links(H5Pcreate(H5P_LINK_CREATE), H5Pclose);
  H5Pset_create_intermediate_group(links, 1);
  const Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, terminated.size() + 1);
  H5Tset_strpad(type, H5T_STR_NULLTERM);
  const Hdf5Handle space(H5Screate(H5S_SCALAR), H5Sclose);
  const Hdf5Handle dataset(
      H5Dcreate2(id_, path.c_str(), type, space, links, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  if (!dataset.valid() ||
      H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, terminated.c_str()) < 0) {
    fail(path, fmt::format("a failure to write ({})", hdf5_reason()), "space on the disk");
  }
}

}  // namespace urto
