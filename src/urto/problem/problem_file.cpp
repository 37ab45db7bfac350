#include "urto/problem/problem_file.h"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/read_file.h"
#include "urto/memory_limit.h"
#include "urto/problem/file_formats.h"

namespace urto {
namespace {

constexpr std::array<std::pair<FileFormat, std::string_view>, 10> format_names = {{
    {FileFormat::automatic, "auto"},
    {FileFormat::urto, "urto"},
    {FileFormat::fclib, "fclib"},
    {FileFormat::friction_text, "friction"},
    {FileFormat::rolling_text, "rolling"},
    {FileFormat::global_text, "global"},
    {FileFormat::lcp_text, "lcp"},
    {FileFormat::mlcp_text, "mlcp"},
    {FileFormat::relay_text, "relay"},
    {FileFormat::soclcp_text, "soclcp"},
}};

/// The signature stands at the start, or behind a user block of 512 bytes or a power of two of it
/// (HDF5 file format, II.A).
bool has_hdf5_signature(std::ifstream& in, std::uintmax_t size) {
  constexpr std::string_view signature = "\x89HDF\r\n\x1a\n";
  for (std::uintmax_t at = 0; at + signature.size() <= size; at = at == 0 ? 512 : 2 * at) {
    std::array<char, signature.size()> bytes{};
    in.clear();
    in.seekg(static_cast<std::streamoff>(at));
    if (in.read(bytes.data(), bytes.size()) &&
        std::string_view(bytes.data(), bytes.size()) == signature) {
      return true;
    }
  }
  return false;
}

}  // namespace

std::string_view to_string(FileFormat format) {
  for (const auto& [value, name] : format_names) {
    if (value == format) return name;
  }
  return "?";
}

FileFormat parse_file_format(std::string_view wanted) {
  std::string names;
  for (const auto& [value, name] : format_names) {
    if (name == wanted) return value;
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  throw InputError("file format", fmt::format("'{}'", wanted), "one of " + names);
}

ProblemFile read_problem(const std::filesystem::path& file, FileFormat format) {
  const std::string name = file.string();
  require_regular_file(file, "a problem file");
  std::error_code error;
  const std::uintmax_t size = std::filesystem::file_size(file, error);
  if (error) throw InputError(name, error.message(), "a readable file");
  if (size == 0) throw InputError(name, "an empty file", "a problem file");
  std::ifstream in(file, std::ios::binary);
  if (!in) throw InputError(name, std::strerror(errno), "a readable file");

  const bool hdf5 = has_hdf5_signature(in, size);
  const bool wants_hdf5 = format == FileFormat::urto || format == FileFormat::fclib;
  if (format != FileFormat::automatic && hdf5 != wants_hdf5) {
    throw InputError(
        name, hdf5 ? "an HDF5 file" : "a file without the signature of HDF5",
        fmt::format("the format {}, which is {}", to_string(format), hdf5 ? "text" : "HDF5"));
  }

  ProblemFile result;
  if (hdf5) {
    const Hdf5File hdf5_file = Hdf5File::open(file);
    const bool ours =
        format == FileFormat::urto || (format == FileFormat::automatic && hdf5_file.has("/urto"));
    result = ours ? read_urto(hdf5_file) : read_fclib(hdf5_file);
  } else {
    constexpr double memory_per_byte = 12;  // of text and the matrices made of it
    require_memory(memory_per_byte * static_cast<double>(size), name,
                   fmt::format("a text of {} bytes", size));
    std::string text(size, '\0');
    in.clear();
    in.seekg(0);
    in.read(text.data(), static_cast<std::streamsize>(size));
    if (in.gcount() != static_cast<std::streamsize>(size)) {
      throw InputError(name, fmt::format("{} bytes that could be read", in.gcount()),
                       fmt::format("{}", size));
    }
    result = read_text(name, text, format);
  }
  std::visit([&](const auto& problem) { validate(problem, name); }, result.problem);
  return result;
}

}  // namespace urto
