#include "urto/file/whole_file.h"

#include <atomic>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <signal.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {

namespace fs = std::filesystem;

PartFile::PartFile(fs::path target) : target_(std::move(target)), part_(target_) {
  static std::atomic<unsigned> counter = 0;
  part_ += fmt::format(".{}-{}.part", static_cast<long>(getpid()), counter++);
  std::error_code error;
  if (fs::is_directory(target_, error)) {
    throw InputError(target_.string(), "a directory", "the name of a file to write");
  }
}

PartFile::~PartFile() {
  std::error_code ignored;
  fs::remove(part_, ignored);  // nothing is there once it was kept
}

void PartFile::keep() {
  std::error_code error;
  fs::rename(part_, target_, error);
  if (error) throw InputError(target_.string(), error.message(), "a file that can be replaced");
}

void write_complete(const fs::path& target, const std::function<void(const fs::path&)>& write) {
  PartFile part(target);
  write(part.path());
  part.keep();
}

void sync_file(const fs::path& file) {
  const int descriptor = open(file.c_str(), O_RDONLY | O_CLOEXEC);
  const bool done = descriptor >= 0 && fsync(descriptor) == 0;
  const std::error_code error(errno, std::generic_category());
  if (descriptor >= 0) close(descriptor);
  if (!done) {
    throw InputError(file.string(),
                     fmt::format("data that did not reach the disk ({})", error.message()),
                     "a disk that works, with space on it");
  }
}

namespace {

// The process in "NAME.PROCESS-NUMBER.part"; 0 if a file is not called so.
long process_of(const std::string& file, const std::string& name) {
  constexpr std::string_view end = ".part";
  if (!file.starts_with(name + ".") || !file.ends_with(end)) return 0;
  const std::string middle =
      file.substr(name.size() + 1, file.size() - name.size() - 1 - end.size());
  const std::size_t dash = middle.find('-');
  long process = 0;
  const auto is_number = [](std::string_view text) {
    return !text.empty() && text.size() < 10 &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  if (dash == std::string::npos || !is_number(middle.substr(0, dash)) ||
      !is_number(middle.substr(dash + 1)))
    return 0;
  std::from_chars(middle.data(), middle.data() + dash, process);
  return process;
}

}  // namespace

void remove_leftovers(const fs::path& directory, const std::vector<std::string>& names) {
  std::error_code ignored;
  std::vector<fs::path> left;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, ignored)) {
    const std::string file = entry.path().filename().string();
    for (const std::string& name : names) {
      const long process = process_of(file, name);
      if (process <= 0) continue;
      const bool gone =
          process == getpid() || (kill(static_cast<pid_t>(process), 0) != 0 && errno == ESRCH);
      if (gone && entry.is_regular_file(ignored)) left.push_back(entry.path());
    }
  }
  for (const fs::path& file : left) fs::remove(file, ignored);
}

WholeFile::WholeFile(const fs::path& file) : file_(file), part_(file) {
  out_.open(part_.path(), std::ios::binary);
}

void WholeFile::write(std::string_view bytes) {
  out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

fs::path WholeFile::finish() {
  out_.close();
  if (!out_) {
    throw InputError(file_.string(), "a file that cannot be written",
                     "a directory that can be written to, with space on the disk");
  }
  part_.keep();
  return file_;
}

}  // namespace urto
