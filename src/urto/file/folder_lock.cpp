#include "urto/file/folder_lock.h"

#include <array>
#include <cctype>
#include <cerrno>
#include <fcntl.h>
#include <string>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

// Who wrote the file; only what looks like the number of a process.
std::string holder_of(int descriptor) {
  std::array<char, 24> text{};
  const ssize_t length = pread(descriptor, text.data(), text.size() - 1, 0);
  std::string number;
  for (ssize_t k = 0; k < length && std::isdigit(static_cast<unsigned char>(text[k])) != 0; ++k)
    number += text[k];
  return number.empty() ? "another process" : "process " + number;
}

// Whether the file of that name is still the one that was opened: the holder takes it away.
bool is_still(const fs::path& file, int descriptor) {
  struct stat opened = {}, named = {};
  return fstat(descriptor, &opened) == 0 && lstat(file.c_str(), &named) == 0 &&
         opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;
}

}  // namespace

FolderLock::FolderLock(const fs::path& directory) : file_(directory / ".urto-lock") {
  constexpr int attempts = 100;
  for (int k = 0; k < attempts; ++k) {
    descriptor_ = open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) {
      throw InputError(directory.string(),
                       std::error_code(errno, std::generic_category()).message(),
                       "a directory that can be written to");
    }
    const bool locked = flock(descriptor_, LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno == EWOULDBLOCK) {
      const std::string holder = holder_of(descriptor_);
      close(descriptor_);
      throw InputError(directory.string(),
                       fmt::format("a directory that {} is writing results into", holder),
                       "one of its own (-o), or to wait until that run has ended");
    }
    if (!is_still(file_, descriptor_)) {
      close(descriptor_);
      continue;
    }
    const std::string own = fmt::format("{}\n", getpid());
    static_cast<void>(ftruncate(descriptor_, 0) == 0 &&
                      pwrite(descriptor_, own.data(), own.size(), 0) >= 0);
    return;
  }
  throw InputError(directory.string(), "a lock that changes hands all the time",
                   "a directory for one run");
}

FolderLock::~FolderLock() {
  if (is_still(file_, descriptor_)) unlink(file_.c_str());
  close(descriptor_);
}

}  // namespace urto
