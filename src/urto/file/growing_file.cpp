#include "urto/file/growing_file.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/stopping_driver.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t chunk_bytes = 16384, chunk_rows = 1024;
constexpr unsigned deflate_level = 1;  // higher ones cost twice the time for a few percent

/// The newest structures: sharing needs them, and they have checksums. A driver that stops where a
/// write fails.
Hdf5Handle newest_format() {
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
  use_stopping_driver(access);
  return access;
}

Hdf5Handle text_type(std::size_t size) {
  Hdf5Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type, std::max<std::size_t>(size, 1));
  H5Tset_strpad(type, H5T_STR_NULLPAD);
  H5Tset_cset(type, H5T_CSET_UTF8);
  return type;
}

Hdf5Handle space_of(const std::vector<hsize_t>& dims) {
  return dims.empty()
             ? Hdf5Handle(H5Screate(H5S_SCALAR), H5Sclose)
             : Hdf5Handle(H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
                          H5Sclose);
}

hsize_t rows_of_chunk(std::size_t row_bytes) {
  return std::clamp(chunk_bytes / row_bytes, std::size_t{1}, chunk_rows);
}

/// Gets space for a part of a file from the disk without changing the file. 0, or an error number.
int allocate(int descriptor, std::uint64_t from, std::uint64_t bytes) {
#ifdef FALLOC_FL_KEEP_SIZE
  int failed = 0;
  do {
    failed = fallocate(descriptor, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from),
                       static_cast<off_t>(bytes));
  } while (failed != 0 && errno == EINTR);
  return failed == 0 ? 0 : errno;
#else
  return EOPNOTSUPP;
#endif
}

std::vector<hsize_t> with_rows(hsize_t rows, const std::vector<hsize_t>& inner) {
  std::vector<hsize_t> dims{rows};
  dims.insert(dims.end(), inner.begin(), inner.end());
  return dims;
}

}  // namespace

GrowingFile::GrowingFile(Hdf5Handle file, std::string name, bool fresh)
    : name_(std::move(name)),
      fresh_(fresh),
      file_(std::move(file)),
      links_(H5Pcreate(H5P_LINK_CREATE), H5Pclose) {
  H5Pset_create_intermediate_group(links_, 1);
  find_descriptor();
}

GrowingFile GrowingFile::create(const fs::path& file) {
  const QuietHdf5 quiet;
  // Not truncated: somebody may be reading the old one, and keeps it.
  std::error_code ignored;
  fs::remove(file, ignored);
  Hdf5Handle id(H5Fcreate(file.c_str(), H5F_ACC_EXCL, H5P_DEFAULT, newest_format()), H5Fclose);
  if (!id.valid()) {
    throw InputError(file.string(),
                     fmt::format("a place that cannot be written ({})", hdf5_reason()),
                     "a writable directory");
  }
  return {std::move(id), file.string(), true};
}

GrowingFile GrowingFile::reopen(const fs::path& file) {
  const QuietHdf5 quiet;
  const Hdf5Handle access = newest_format();
  // A killed writer leaves a mark that it is still writing. h5clear -s removes it by this property.
  const hbool_t clear = 1;
  H5Pset(access, "clear_status_flags", &clear);
  Hdf5Handle id(H5Fopen(file.c_str(), H5F_ACC_RDWR, access), H5Fclose);
  if (!id.valid()) {
    throw InputError(file.string(),
                     fmt::format("a file that cannot be written on ({})", hdf5_reason()),
                     "a result that no other urto is writing");
  }
  return {std::move(id), file.string(), false};
}

void GrowingFile::fail(const std::string& path, std::string_view found,
                       std::string_view expected) const {
  throw InputError(fmt::format("{}: {}", name_, path), found, expected);
}

// Nothing else reaches the file, whoever found the fault (the driver has stopped at a write that
// failed, but not if the library itself gave up): what the library still holds goes to /dev/null.
void GrowingFile::fail_write(const std::string& path) const {
  const std::string reason = hdf5_reason();
  const int nowhere = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  if (descriptor_ >= 0 && nowhere >= 0) dup2(nowhere, descriptor_);
  if (nowhere >= 0) ::close(nowhere);
  fail(path, fmt::format("a failure to write ({})", reason), "space on the disk");
}

void GrowingFile::fail_space(double bytes, std::string_view why) const {
  throw InputError(name_, fmt::format("no room for {:.3g} MB more ({})", bytes / 1e6, why),
                   "space on the disk");
}

void GrowingFile::find_descriptor() {
  const QuietHdf5 quiet;
  void* handle = nullptr;
  if (H5Fget_vfd_handle(file_, H5P_DEFAULT, &handle) >= 0 && handle != nullptr)
    descriptor_ = *static_cast<int*>(handle);
}

bool GrowingFile::is_in_place() const {
  struct stat here = {}, there = {};
  return descriptor_ >= 0 && fstat(descriptor_, &here) == 0 && stat(name_.c_str(), &there) == 0 &&
         here.st_dev == there.st_dev && here.st_ino == there.st_ino;
}

// An upper limit of what appending the back of a column writes beyond the end of the file: new
// chunks, the compressed copies of those that become full, and their index.
double GrowingFile::room_for(const Column& c) const {
  if (c.back.empty()) return 0;
  const hsize_t chunk = rows_of_chunk(c.row_bytes), end = c.rows + c.back.size() / c.row_bytes;
  const hsize_t begun = (end + chunk - 1) / chunk - (c.rows + chunk - 1) / chunk;
  const hsize_t filled = end / chunk - c.rows / chunk;
  if (begun == 0 && filled == 0) return 0;
  constexpr double index = 4096;
  return static_cast<double>(begun + filled) * static_cast<double>(chunk * c.row_bytes) + index +
         static_cast<double>(end / chunk);
}

// From where the last space began: gaps that have been left there get theirs too.
void GrowingFile::reserve(double bytes) {
  hsize_t end = 0;
  if (descriptor_ < 0 || H5Fget_filesize(file_, &end) < 0) fail_write("/");
  const std::uint64_t from = std::min<std::uint64_t>(reserved_from_, end);
  const auto wanted = static_cast<std::uint64_t>(end - from) + static_cast<std::uint64_t>(bytes);
  const int error = allocate(descriptor_, from, wanted);
  reserved_from_ = end;
  if (error == 0) return;
  if (error == ENOSPC || error == EDQUOT || error == EFBIG) fail_space(bytes, std::strerror(error));
  // A file system that gives nothing in advance: what is free now must do.
  std::error_code unknown;
  const fs::space_info space = fs::space(name_, unknown);
  if (!unknown && static_cast<double>(space.available) < bytes)
    fail_space(bytes, std::strerror(ENOSPC));
}

void GrowingFile::check_own(const std::string& path) const {
  const std::string link = hdf5_link_in(file_, path);
  if (!link.empty()) fail(link, "a link", "data in this file");
}

void GrowingFile::write(const std::string& path, hid_t type, const Dims& dims, const void* data) {
  const QuietHdf5 quiet;
  const Hdf5Handle space = space_of(dims);
  const Hdf5Handle dataset(
      H5Dcreate2(file_, path.c_str(), type, space, links_, H5P_DEFAULT, H5P_DEFAULT), H5Dclose);
  const bool empty = H5Sget_simple_extent_npoints(space) == 0;
  if (!dataset.valid() ||
      (!empty && H5Dwrite(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0)) {
    fail_write(path);
  }
}

void GrowingFile::write(const std::string& path, const std::vector<std::string>& texts) {
  std::size_t longest = 1;
  for (const std::string& text : texts) longest = std::max(longest, text.size());
  std::string padded;
  for (std::string text : texts) {
    text.resize(longest, '\0');
    padded += text;
  }
  write(path, text_type(longest), {texts.size()}, padded.data());
}

void GrowingFile::write_text(const std::string& path, std::string_view text) {
  const std::string one(text.empty() ? std::string_view("\0", 1) : text);
  write(path, text_type(one.size()), {}, one.data());
}

void GrowingFile::attach(hid_t to, const std::string& key, hid_t type, const void* value) const {
  const QuietHdf5 quiet;
  const Hdf5Handle attribute(
      H5Acreate2(to, key.c_str(), type, space_of({}), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  if (!attribute.valid() || H5Awrite(attribute, type, value) < 0) fail_write(key);
}

void GrowingFile::attach(hid_t to, const std::string& key, std::string_view text) const {
  const std::string one(text.empty() ? std::string_view("\0", 1) : text);
  attach(to, key, text_type(one.size()), one.data());
}

void GrowingFile::write_attribute(const std::string& key, hid_t type, const void* value) {
  attach(file_, key, type, value);
}

void GrowingFile::write_attribute(const std::string& key, std::string_view text) {
  attach(file_, key, text);
}

void GrowingFile::remove(const std::string& path) {
  const QuietHdf5 quiet;
  check_own(path);
  if (H5Lexists(file_, path.c_str(), H5P_DEFAULT) <= 0) return;
  if (H5Ldelete(file_, path.c_str(), H5P_DEFAULT) < 0) fail_write(path);
}

Hdf5Handle GrowingFile::create_column(const Column& c) const {
  const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const Dims chunk = with_rows(rows_of_chunk(c.row_bytes), c.inner);
  const int rank = static_cast<int>(chunk.size());
  H5Pset_chunk(creation, rank, chunk.data());
  H5Pset_chunk_opts(creation, H5D_CHUNK_DONT_FILTER_PARTIAL_CHUNKS);
  H5Pset_shuffle(creation);
  H5Pset_deflate(creation, deflate_level);
  const Dims now = with_rows(0, c.inner);
  const Dims most = with_rows(H5S_UNLIMITED, c.inner);
  const Hdf5Handle space(H5Screate_simple(rank, now.data(), most.data()), H5Sclose);
  Hdf5Handle dataset(
      H5Dcreate2(file_, c.path.c_str(), c.type, space, links_, creation, H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) fail_write(c.path);
  return dataset;
}

// As `create_column` made it: what is in the file is not believed.
Hdf5Handle GrowingFile::open_column(Column& c, hsize_t rows) const {
  check_own(c.path);
  Hdf5Handle dataset(H5Dopen2(file_, c.path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) fail(c.path, "nothing", "a growing dataset");
  const Hdf5Handle type(H5Dget_type(dataset), H5Tclose);
  const Hdf5Handle creation(H5Dget_create_plist(dataset), H5Pclose);
  Dims chunk(c.inner.size() + 1);
  if (!type.valid() || H5Tequal(type, c.type) <= 0 || !creation.valid() ||
      H5Pget_layout(creation) != H5D_CHUNKED ||
      H5Pget_chunk(creation, static_cast<int>(chunk.size()), chunk.data()) !=
          static_cast<int>(chunk.size()) ||
      chunk != with_rows(rows_of_chunk(c.row_bytes), c.inner)) {
    fail(c.path, "data of another kind", "a result of this scene");
  }
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  const Dims expected = with_rows(rows, c.inner);
  Dims dims(static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(space), 0)));
  H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  if (dims.size() != expected.size() ||
      !std::equal(dims.begin() + 1, dims.end(), c.inner.begin())) {
    fail(c.path, "rows of another size", "a result of this scene");
  }
  if (dims[0] < rows) {
    fail(c.path, fmt::format("{} rows", dims[0]),
         fmt::format("at least the {} that the checkpoint counted", rows));
  }
  if (H5Dset_extent(dataset, expected.data()) < 0) fail_write(c.path);
  c.rows = rows;
  return dataset;
}

Column* GrowingFile::column(const std::string& path, hid_t type, const Dims& inner, hsize_t rows,
                            const Attributes& attributes) {
  const QuietHdf5 quiet;
  Column& c = columns_.emplace_back();
  c.path = path;
  c.type = type;
  c.inner = inner;
  c.row_bytes = H5Tget_size(type);
  for (const hsize_t n : inner) c.row_bytes *= n;
  if (c.row_bytes == 0) return &c;
  c.dataset = fresh_ ? create_column(c) : open_column(c, rows);
  if (!fresh_) return &c;
  for (const auto& [key, text] : attributes) attach(c.dataset, key, text);
  return &c;
}

Hdf5Handle GrowingFile::field(const std::string& path, hid_t type, std::size_t size) {
  const QuietHdf5 quiet;
  if (fresh_ && size == 0) {
    const std::int64_t zero = 0;  // also the bits of 0.0
    write(path, type, {}, &zero);
  } else if (fresh_) {
    write_text(path, std::string(size, '\0'));
  }
  check_own(path);
  Hdf5Handle dataset(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) fail(path, "nothing", "a dataset");
  // `set` writes one value, from the address of one.
  const Hdf5Handle space(H5Dget_space(dataset), H5Sclose);
  const Hdf5Handle found(H5Dget_type(dataset), H5Tclose);
  const bool text = H5Tget_class(found) == H5T_STRING && H5Tis_variable_str(found) == 0;
  if (H5Sget_simple_extent_type(space) != H5S_SCALAR || !hdf5_is_stored_here(dataset) ||
      (size > 0 ? !text || H5Tget_size(found) != size : H5Tequal(found, type) <= 0)) {
    fail(path, "data of another kind", size > 0 ? "a text" : "one number");
  }
  return dataset;
}

void GrowingFile::set(const Hdf5Handle& field, double value) {
  const QuietHdf5 quiet;
  if (H5Dwrite(field, H5T_NATIVE_DOUBLE, H5S_ALL, H5S_ALL, H5P_DEFAULT, &value) < 0) {
    fail_write("/run");
  }
}

void GrowingFile::set(const Hdf5Handle& field, std::string_view text, std::size_t size) {
  const QuietHdf5 quiet;
  std::string padded(text.substr(0, size));
  padded.resize(size, '\0');
  if (H5Dwrite(field, text_type(size), H5S_ALL, H5S_ALL, H5P_DEFAULT, padded.data()) < 0) {
    fail_write("/run");
  }
}

void GrowingFile::share() {
  const QuietHdf5 quiet;
  if (H5Fstart_swmr_write(file_) < 0) fail_write("/");
}

std::size_t GrowingFile::gathered() const {
  std::size_t bytes = 0;
  for (const Column& c : columns_) bytes += c.front.size();
  return bytes;
}

void GrowingFile::swap_buffers() {
  for (Column& c : columns_) std::swap(c.front, c.back);
}

void GrowingFile::append(Column& c) const {
  if (c.back.empty()) return;
  const Dims count = with_rows(c.back.size() / c.row_bytes, c.inner);
  const Dims size = with_rows(c.rows + count[0], c.inner);
  Dims start(count.size(), 0);
  start[0] = c.rows;
  bool good = H5Dset_extent(c.dataset, size.data()) >= 0;
  const Hdf5Handle space(H5Dget_space(c.dataset), H5Sclose);
  good = good && H5Sselect_hyperslab(space, H5S_SELECT_SET, start.data(), nullptr, count.data(),
                                     nullptr) >= 0;
  if (!good ||
      H5Dwrite(c.dataset, c.type, space_of(count), space, H5P_DEFAULT, c.back.data()) < 0) {
    fail_write(c.path);
  }
  c.rows = size[0];
  c.back.clear();
}

void GrowingFile::append() {
  const QuietHdf5 quiet;
  constexpr double headers = 65536;
  double room = 0;
  for (const Column& c : columns_) room += room_for(c);
  reserve(room + headers);
  for (Column& c : columns_) append(c);
}

void GrowingFile::flush() {
  const QuietHdf5 quiet;
  if (H5Fflush(file_, H5F_SCOPE_GLOBAL) < 0) fail_write("/");
}

void GrowingFile::sync() {
  if (descriptor_ >= 0 && fsync(descriptor_) == 0) return;
  fail(name_, fmt::format("data that did not reach the disk ({})", std::strerror(errno)),
       "a disk that works");
}

void GrowingFile::close() {
  const QuietHdf5 quiet;
  const int own = dup(descriptor_);
  bool good = true;
  for (Column& c : columns_) good = c.dataset.reset() && good;
  good = file_.reset() && good;
  descriptor_ = -1;
  // Space that was asked for and not needed goes back.
  struct stat now = {};
  if (own >= 0 && fstat(own, &now) == 0 && S_ISREG(now.st_mode))
    static_cast<void>(ftruncate(own, now.st_size) == 0);
  if (own >= 0) ::close(own);
  if (!good) fail_write("/");
}

}  // namespace urto
