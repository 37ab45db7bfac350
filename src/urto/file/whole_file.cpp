#include "urto/file/whole_file.h"

#include <atomic>
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
