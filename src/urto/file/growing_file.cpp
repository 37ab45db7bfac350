#include "urto/file/growing_file.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t chunk_bytes = 16384, chunk_rows = 1024;
constexpr unsigned deflate_level = 1;  // higher ones cost twice the time for a few percent

/// The newest structures: sharing needs them, and they have checksums.
Hdf5Handle newest_format() {
  Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_libver_bounds(access, H5F_LIBVER_LATEST, H5F_LIBVER_LATEST);
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

void GrowingFile::fail_write(const std::string& path) const {
  fail(path, fmt::format("a failure to write ({})", hdf5_reason()), "space on the disk");
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
  if (H5Lexists(file_, path.c_str(), H5P_DEFAULT) <= 0) return;
  if (H5Ldelete(file_, path.c_str(), H5P_DEFAULT) < 0) fail_write(path);
}

Hdf5Handle GrowingFile::create_column(const Column& c) const {
  const Hdf5Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const Dims chunk =
      with_rows(std::clamp(chunk_bytes / c.row_bytes, std::size_t{1}, chunk_rows), c.inner);
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

Hdf5Handle GrowingFile::open_column(Column& c, hsize_t rows) const {
  Hdf5Handle dataset(H5Dopen2(file_, c.path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) fail(c.path, "nothing", "a growing dataset");
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
  Hdf5Handle dataset(H5Dopen2(file_, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!dataset.valid()) fail(path, "nothing", "a dataset");
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
  for (Column& c : columns_) append(c);
}

void GrowingFile::flush() {
  const QuietHdf5 quiet;
  if (H5Fflush(file_, H5F_SCOPE_GLOBAL) < 0) fail_write("/");
}

void GrowingFile::close() {
  const QuietHdf5 quiet;
  bool good = true;
  for (Column& c : columns_) good = c.dataset.reset() && good;
  good = file_.reset() && good;
  if (!good) fail_write("/");
}

}  // namespace urto
