// A file that gets its name when it is complete: a reader never meets half of one.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "urto/error.h"

namespace urto {

class WholeFile {
 public:
  explicit WholeFile(const std::filesystem::path& file)
      : file_(file), part_(file.string() + ".part") {
    out_.open(part_, std::ios::binary);
  }
  WholeFile(const WholeFile&) = delete;
  WholeFile& operator=(const WholeFile&) = delete;
  ~WholeFile() {
    std::error_code ignored;
    if (!done_) std::filesystem::remove(part_, ignored);
  }
  void write(std::string_view bytes) {
    out_.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  }
  /// Throws InputError if something could not be written.
  std::filesystem::path finish() {
    out_.close();
    std::error_code failed;
    if (out_) std::filesystem::rename(part_, file_, failed);
    done_ = out_ && !failed;
    if (!done_) {
      throw InputError(file_.string(), "a file that cannot be written",
                       "a directory that can be written to, with space on the disk");
    }
    return file_;
  }

 private:
  std::filesystem::path file_, part_;
  std::ofstream out_;
  bool done_ = false;
};

}  // namespace urto
