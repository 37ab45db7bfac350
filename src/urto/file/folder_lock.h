// A directory that one process writes into at a time: the results of two runs must not be mixed.
#pragma once

#include <filesystem>

namespace urto {

/// Held while it exists. The system gives the lock back when a process ends, however it ends; the
/// file .urto-lock in the directory says who has it, and goes away with it.
class FolderLock {
 public:
  /// Throws InputError that names the process which has it, or if the directory cannot be written
  /// to. A file system without locks is trusted.
  explicit FolderLock(const std::filesystem::path& directory);
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  ~FolderLock();

 private:
  std::filesystem::path file_;
  int descriptor_ = -1;
};

}  // namespace urto
