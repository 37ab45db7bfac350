// Reading results. A file that is being written is opened as one of its many readers; so is the
// file of a writer that was killed, whose last rows may be missing but whose structure is whole.
#include <algorithm>
#include <limits>
#include <optional>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/hdf5_handle.h"
#include "urto/file/read_file.h"
#include "urto/memory_limit.h"
#include "urto/result/description_file.h"
#include "urto/result/run_fields.h"
#include "urto/result/step_columns.h"

namespace urto {

namespace {

constexpr std::size_t longest_text = std::size_t{1} << 30, longest_attribute = 1 << 20;

// A reader beside the writer may meet half-written metadata, and tries again after twice the time,
// 1 ns at first. HDF5 tries a hundred times: a damaged file would keep it for ever. These attempts
// take 17 ms in all.
constexpr unsigned attempts = 24;

Hdf5Handle open_shared(const std::filesystem::path& file) {
  const Hdf5Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  H5Pset_metadata_read_attempts(access, attempts);
  Hdf5Handle id(H5Fopen(file.c_str(), H5F_ACC_RDONLY | H5F_ACC_SWMR_READ, access), H5Fclose);
  // Files of the older format, which nobody can be writing, refuse to be shared.
  if (!id.valid()) id = Hdf5Handle(H5Fopen(file.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), H5Fclose);
  return id;
}

std::string trimmed(std::string text) {
  text.resize(std::min(text.find('\0'), text.size()));
  return text;
}

}  // namespace

struct ResultReader::Impl {
  std::string name;
  Hdf5Handle file;
  std::optional<Description> description;

  [[noreturn]] void fail(const std::string& path, std::string_view found,
                         std::string_view expected) const {
    throw InputError(fmt::format("{}: {}", name, path), found, expected);
  }

  struct Dataset {
    Hdf5Handle id, type, space;
    std::vector<hsize_t> dims;
    std::uint64_t points = 1;
  };

  /// Fails where a path leads elsewhere.
  void check_own(const std::string& path) const {
    const std::string link = hdf5_link_in(file, path);
    if (!link.empty()) fail(link, "a link", "data in this file");
  }

  /// Opens a dataset whose declared size its stored bytes can account for.
  Dataset open(const std::string& path, H5T_class_t wanted, std::string_view kind) const {
    Dataset d;
    check_own(path);
    d.id = Hdf5Handle(H5Dopen2(file, path.c_str(), H5P_DEFAULT), H5Dclose);
    if (!d.id.valid()) fail(path, "nothing", kind);
    if (!hdf5_is_stored_here(d.id)) fail(path, "data kept outside this file", "data in this file");
    d.type = Hdf5Handle(H5Dget_type(d.id), H5Tclose);
    d.space = Hdf5Handle(H5Dget_space(d.id), H5Sclose);
    const H5T_class_t found = H5Tget_class(d.type);
    const bool number = found == H5T_INTEGER || found == H5T_FLOAT;
    if (wanted == H5T_STRING ? found != H5T_STRING || H5Tis_variable_str(d.type) != 0 : !number) {
      fail(path, "data of another type", kind);
    }
    const int rank = H5Sget_simple_extent_ndims(d.space);
    if (rank < 0) fail(path, "data without a size", kind);
    d.dims.resize(static_cast<std::size_t>(rank));
    if (rank > 0) H5Sget_simple_extent_dims(d.space, d.dims.data(), nullptr);
    // Deflate cannot expand by more than 1032; chunks are stored whole. Anything above is a lie.
    const std::uint64_t bytes_stored = H5Dget_storage_size(d.id);
    std::uint64_t most = 1032 * (bytes_stored + 1) / std::max<std::size_t>(H5Tget_size(d.type), 1);
    for (const hsize_t n : d.dims) {
      if (n != 0 && d.points > std::numeric_limits<std::uint64_t>::max() / n) {
        fail(path, "an impossible size", kind);
      }
      d.points *= n;
    }
    if (d.points > std::max<std::uint64_t>(most, 1)) {
      fail(path, fmt::format("{} values declared but {} bytes stored", d.points, bytes_stored),
           kind);
    }
    return d;
  }
};

ResultReader::ResultReader(const std::filesystem::path& file) : impl_(std::make_unique<Impl>()) {
  const QuietHdf5 quiet;
  impl_->name = file.string();
  require_regular_file(file, "a result of urto run");
  impl_->file = open_shared(file);
  if (!impl_->file.valid()) {
    throw InputError(file.string(),
                     fmt::format("a file that the HDF5 library cannot open ({})", hdf5_reason()),
                     "a result of urto run");
  }
  if (H5Aexists(impl_->file, "format") <= 0 || text_attribute("format") != "urto-result") {
    throw InputError(file.string(), "an HDF5 file of another kind", "a result of urto run");
  }
  if (const double found = number_attribute("format_version"); found != 1) {
    throw InputError(file.string(), fmt::format("format version {}", found),
                     "version 1; a newer urto has written it");
  }
}

ResultReader::ResultReader(ResultReader&&) noexcept = default;
ResultReader::~ResultReader() = default;

bool ResultReader::has(const std::string& path) const {
  const QuietHdf5 quiet;
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string part = path.substr(0, end);
    if (H5Lexists(impl_->file, part.c_str(), H5P_DEFAULT) <= 0) return false;
    impl_->check_own(part);
    if (end == std::string::npos) return true;
  }
}

std::vector<std::string> ResultReader::names(const std::string& group) const {
  const QuietHdf5 quiet;
  impl_->check_own(group);
  return hdf5_names(impl_->file, group);
}

std::vector<std::int64_t> ResultReader::shape(const std::string& path) const {
  const QuietHdf5 quiet;
  impl_->check_own(path);
  const Hdf5Handle id(H5Dopen2(impl_->file, path.c_str(), H5P_DEFAULT), H5Dclose);
  if (!id.valid()) impl_->fail(path, "nothing", "a dataset");
  H5Drefresh(id);
  const Hdf5Handle space(H5Dget_space(id), H5Sclose);
  std::vector<hsize_t> dims(
      static_cast<std::size_t>(std::max(H5Sget_simple_extent_ndims(space), 0)));
  if (!dims.empty()) H5Sget_simple_extent_dims(space, dims.data(), nullptr);
  return {dims.begin(), dims.end()};
}

std::vector<double> ResultReader::numbers(const std::string& path) const {
  const std::vector<std::int64_t> size = shape(path);
  return numbers(path, 0, size.empty() ? 1 : size[0]);
}

std::vector<double> ResultReader::numbers(const std::string& path, std::int64_t first,
                                          std::int64_t count) const {
  const QuietHdf5 quiet;
  Impl::Dataset d = impl_->open(path, H5T_FLOAT, "numbers");
  const auto rows = static_cast<std::int64_t>(d.dims.empty() ? 1 : d.dims[0]);
  if (first < 0 || count < 0 || first > rows || count > rows - first) {
    impl_->fail(path, fmt::format("{} rows", rows),
                fmt::format("rows {} to {}", first, first + count));
  }
  const std::uint64_t wanted = rows == 0 ? 0 : d.points / rows * count;
  require_memory(8.0 * static_cast<double>(wanted), fmt::format("{}: {}", impl_->name, path),
                 fmt::format("{} values", wanted));
  std::vector<double> values(wanted);
  if (values.empty()) return values;
  Hdf5Handle memory;
  if (!d.dims.empty()) {
    std::vector<hsize_t> start(d.dims.size(), 0);
    start[0] = static_cast<hsize_t>(first);
    d.dims[0] = static_cast<hsize_t>(count);
    H5Sselect_hyperslab(d.space, H5S_SELECT_SET, start.data(), nullptr, d.dims.data(), nullptr);
  }
  const hsize_t total = values.size();
  memory = Hdf5Handle(H5Screate_simple(1, &total, nullptr), H5Sclose);
  if (H5Dread(d.id, H5T_NATIVE_DOUBLE, memory, d.space, H5P_DEFAULT, values.data()) < 0) {
    impl_->fail(path, fmt::format("data that cannot be read ({})", hdf5_reason()), "numbers");
  }
  return values;
}

double ResultReader::number(const std::string& path) const {
  const std::vector<double> values = numbers(path);
  if (values.size() != 1) impl_->fail(path, fmt::format("{} values", values.size()), "one");
  return values[0];
}

std::vector<std::string> ResultReader::texts(const std::string& path) const {
  const QuietHdf5 quiet;
  const Impl::Dataset d = impl_->open(path, H5T_STRING, "text");
  const std::size_t size = H5Tget_size(d.type);
  if (size > longest_text || d.points > longest_text / size) impl_->fail(path, "too much", "text");
  require_memory(2.0 * static_cast<double>(size * d.points),
                 fmt::format("{}: {}", impl_->name, path),
                 fmt::format("{} texts of {} bytes", d.points, size));
  std::string all(size * d.points, '\0');
  if (d.points > 0 && H5Dread(d.id, d.type, H5S_ALL, H5S_ALL, H5P_DEFAULT, all.data()) < 0) {
    impl_->fail(path, fmt::format("data that cannot be read ({})", hdf5_reason()), "text");
  }
  std::vector<std::string> texts;
  for (std::size_t k = 0; k < d.points; ++k) texts.push_back(trimmed(all.substr(k * size, size)));
  return texts;
}

std::string ResultReader::text(const std::string& path) const {
  const std::vector<std::string> list = texts(path);
  if (list.size() != 1) impl_->fail(path, fmt::format("{} texts", list.size()), "one");
  return list[0];
}

bool ResultReader::has_attribute(const std::string& path, const std::string& name) const {
  const QuietHdf5 quiet;
  impl_->check_own(path);
  return H5Aexists_by_name(impl_->file, path.c_str(), name.c_str(), H5P_DEFAULT) > 0;
}

std::string ResultReader::text_attribute(const std::string& name, const std::string& path) const {
  const QuietHdf5 quiet;
  impl_->check_own(path);
  const Hdf5Handle id(
      H5Aopen_by_name(impl_->file, path.c_str(), name.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose);
  const Hdf5Handle type(id.valid() ? H5Aget_type(id) : -1, H5Tclose);
  if (!type.valid() || H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 ||
      H5Tget_size(type) > longest_attribute) {
    impl_->fail(name, "something else", "an attribute with a text");
  }
  std::string text(H5Tget_size(type), '\0');
  const Hdf5Handle space(H5Aget_space(id), H5Sclose);
  if (H5Sget_simple_extent_npoints(space) != 1 || H5Aread(id, type, text.data()) < 0) {
    impl_->fail(name, "something else", "an attribute with a text");
  }
  return trimmed(std::move(text));
}

double ResultReader::number_attribute(const std::string& name) const {
  const QuietHdf5 quiet;
  const Hdf5Handle id(H5Aopen(impl_->file, name.c_str(), H5P_DEFAULT), H5Aclose);
  const Hdf5Handle space(id.valid() ? H5Aget_space(id) : -1, H5Sclose);
  double value = 0;
  if (!space.valid() || H5Sget_simple_extent_npoints(space) != 1 ||
      H5Aread(id, H5T_NATIVE_DOUBLE, &value) < 0) {
    impl_->fail(name, "something else", "an attribute with a number");
  }
  return value;
}

ResultCounts ResultReader::counts() const {
  const auto rows = [&](const char* path) {
    const std::vector<std::int64_t> size = shape(path);
    return static_cast<long>(size.empty() ? 0 : size[0]);
  };
  return {rows("/frames/time"), rows("/contacts/gap"), rows("/steps/time")};
}

const Description& ResultReader::description() const {
  if (!impl_->description) impl_->description = read_description(*this);
  return *impl_->description;
}

RunStatus ResultReader::status() const {
  RunStatus out;
  out.status = text("/run/status");
  out.failure = text("/run/failure");
  visit_run_fields(out, [&](const char* field, auto& x) {
    x = static_cast<std::decay_t<decltype(x)>>(number(fmt::format("/run/{}", field)));
  });
  return out;
}

std::vector<double> ResultReader::times(long first, long count) const {
  return numbers("/frames/time", first, count);
}

std::vector<double> ResultReader::channel(int channel, long first, long count) const {
  const Channel& c = description().channels.at(static_cast<std::size_t>(channel));
  const std::size_t size = description().size(c);
  if (size == 0) return {};
  const std::string path = fmt::format("/frames/{}", c.name);
  std::vector<double> rows = numbers(path, first, count);
  if (rows.size() != size * static_cast<std::size_t>(count)) {
    impl_->fail(path, "rows of another size", fmt::format("{} numbers in each", size));
  }
  return rows;
}

std::vector<std::vector<RecordedContact>> ResultReader::contacts(long first, long count) const {
  std::vector<std::vector<RecordedContact>> out(static_cast<std::size_t>(count));
  if (count == 0) return out;
  const auto starts = numbers("/contacts/start", first, count);
  const auto counts = numbers("/contacts/count", first, count);
  // Those of frames in a row stand in a row.
  const auto begin = static_cast<std::int64_t>(starts.front());
  const auto total = static_cast<std::int64_t>(starts.back() + counts.back()) - begin;
  const auto a = numbers("/contacts/body_a", begin, total),
             b = numbers("/contacts/body_b", begin, total),
             point = numbers("/contacts/point", begin, total),
             normal = numbers("/contacts/normal", begin, total),
             force = numbers("/contacts/force", begin, total),
             gap = numbers("/contacts/gap", begin, total);
  const std::size_t rows = gap.size();
  if (std::min({point.size(), normal.size(), force.size()}) != 3 * rows) {
    impl_->fail("/contacts/point", "rows of another size", "three numbers in each");
  }
  std::size_t k = 0;
  for (std::size_t f = 0; f < out.size(); ++f) {
    for (double left = counts[f]; left > 0 && k < rows; --left, ++k) {
      out[f].push_back({static_cast<int>(a[k]), static_cast<int>(b[k]), Vec3(point.data() + 3 * k),
                        Vec3(normal.data() + 3 * k), Vec3(force.data() + 3 * k), gap[k]});
    }
  }
  return out;
}

std::vector<double> ResultReader::step_values(std::size_t column, long first, long count) const {
  const std::string path = fmt::format("/steps/{}", step_columns()[column].name);
  if (!has(path)) {
    return std::vector<double>(static_cast<std::size_t>(count),
                               std::numeric_limits<double>::quiet_NaN());
  }
  return numbers(path, first, count);
}

bool is_result_file(const std::filesystem::path& file) {
  const QuietHdf5 quiet;
  std::error_code error;
  if (!std::filesystem::is_regular_file(file, error)) return false;
  const Hdf5Handle id = open_shared(file);
  if (!id.valid() || H5Aexists(id, "format") <= 0) return false;
  const Hdf5Handle attribute(H5Aopen(id, "format", H5P_DEFAULT), H5Aclose);
  const Hdf5Handle type(H5Aget_type(attribute), H5Tclose);
  if (H5Tget_class(type) != H5T_STRING || H5Tis_variable_str(type) != 0 ||
      H5Tget_size(type) > longest_attribute)
    return false;
  std::string text(H5Tget_size(type), '\0');
  const Hdf5Handle space(H5Aget_space(attribute), H5Sclose);
  return H5Sget_simple_extent_npoints(space) == 1 && H5Aread(attribute, type, text.data()) >= 0 &&
         trimmed(text) == "urto-result";
}

}  // namespace urto
