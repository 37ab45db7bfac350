// Runs of this very command as processes of their own: one that crashes or wants too much memory
// takes no other with it.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace urto::app {

struct ChildResult {
  int code = 0;            ///< as of a shell: 128 and the number of the signal that ended it
  std::string error = {};  ///< what it wrote to stderr, the first kilobyte
};

struct ChildPool {
  int at_once = 1;
  /// Asked some fifty times a second; true asks the children to end in order, and starts no more.
  std::function<bool()> stop = {};
  std::function<void(std::size_t child, const ChildResult& result)> on_end = {};
};

/// Runs `urto arguments...` once for each entry. Their errors pass through files in `scratch`, a
/// directory that exists. Throws InputError if a process cannot be started.
void run_children(const std::vector<std::vector<std::string>>& arguments,
                  const std::filesystem::path& scratch, const ChildPool& pool);

}  // namespace urto::app
