#include "urto/file/read_file.h"

#include <cerrno>
#include <fstream>
#include <system_error>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/memory_limit.h"

namespace urto {

namespace fs = std::filesystem;

void require_regular_file(const fs::path& file, std::string_view expected) {
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found)
    throw InputError(file.string(), "no such file", expected);
  if (error) throw InputError(file.string(), error.message(), expected);
  if (!fs::is_regular_file(status)) {
    throw InputError(file.string(), fs::is_directory(status) ? "a directory" : "a device or a pipe",
                     expected);
  }
}

std::string read_text_file(const fs::path& file, double memory_per_byte) {
  const std::string name = file.string();
  if (name.find('\0') != std::string::npos)
    throw InputError("a file name", "a character of number zero", "a name without it");
  std::error_code error;
  const fs::file_status status = fs::status(file, error);
  if (status.type() == fs::file_type::not_found)
    throw InputError(fmt::format("{}: there is no such file", name));
  require_regular_file(file, "a file");
  const std::uintmax_t size = fs::file_size(file, error);
  if (error) throw InputError(name, error.message(), "a readable file");
  if (size == 0) throw InputError(name, "an empty file", "a file with something in it");
  const std::string found = fmt::format("a file of {:.3g} MB", static_cast<double>(size) / 1e6);
  if (size > longest_text_file) throw InputError(name, found, "at most 1 GiB");
  require_memory(memory_per_byte * static_cast<double>(size), name, found);
  std::ifstream in(file, std::ios::binary);
  if (!in) {
    throw InputError(name, std::error_code(errno, std::generic_category()).message(),
                     "a readable file");
  }
  std::string text(size, '\0');
  in.read(text.data(), static_cast<std::streamsize>(size));
  if (in.gcount() != static_cast<std::streamsize>(size)) {
    throw InputError(name, fmt::format("{} bytes that could be read", in.gcount()),
                     fmt::format("{}", size));
  }
  return text;
}

}  // namespace urto
