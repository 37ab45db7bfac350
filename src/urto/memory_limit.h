// How much memory this process may take. What would need more is refused before it is allocated,
// with a message that says what and how much: a scene of a few lines, or a file of a few kilobytes,
// can ask for any amount. One number for the whole process, because memory is; the command sets it
// (--memory-limit), a program that uses the library may.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <unistd.h>

#include "urto/error.h"

namespace urto {

namespace memory_detail {

inline std::uint64_t physical_memory() {
  const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  return pages > 0 && page > 0
             ? static_cast<std::uint64_t>(pages) * static_cast<std::uint64_t>(page)
             : std::uint64_t{8} << 30;
}

inline std::atomic<std::uint64_t>& limit() {
  static std::atomic<std::uint64_t> bytes = physical_memory() / 4 * 3;
  return bytes;
}

/// What is resident now; 0 where the system does not tell.
inline std::uint64_t memory_in_use() {
  unsigned long size = 0, resident = 0;
  std::FILE* file = std::fopen("/proc/self/statm", "r");
  if (file == nullptr) return 0;
  const bool read = std::fscanf(file, "%lu %lu", &size, &resident) == 2;
  std::fclose(file);
  return read ? resident * static_cast<std::uint64_t>(sysconf(_SC_PAGE_SIZE)) : 0;
}

}  // namespace memory_detail

/// "512 MiB", "3.4 GiB".
inline std::string memory_text(double bytes) {
  constexpr double mebi = 1 << 20;
  constexpr double gibi = 1 << 30;
  char text[64];
  if (bytes < gibi) {
    std::snprintf(text, sizeof text, "%.0f MiB", bytes / mebi);
  } else {
    std::snprintf(text, sizeof text, bytes < 1e6 * gibi ? "%.1f GiB" : "%.1e GiB", bytes / gibi);
  }
  return text;
}

/// [bytes]; three quarters of the machine's memory unless it was set.
inline std::uint64_t memory_limit() {
  return memory_detail::limit();
}
inline void set_memory_limit(std::uint64_t bytes) {
  memory_detail::limit() = bytes;
}

/// Whether `bytes` more would be too many. Small amounts are never asked about the system.
inline bool exceeds_memory(double bytes) {
  constexpr double small = 1 << 24;
  const auto limit = static_cast<double>(memory_limit());
  if (bytes <= small && bytes <= limit) return false;
  return bytes + static_cast<double>(memory_detail::memory_in_use()) > limit;
}

/// What to say when an allocation has failed.
inline std::string out_of_memory() {
  return "out of memory: the limit is " + memory_text(static_cast<double>(memory_limit())) +
         " (--memory-limit)";
}

/// Throws InputError if `bytes` more are too many: "where: found WHAT, which needs about 12 GiB of
/// memory, expected at most …".
inline void require_memory(double bytes, std::string_view where, std::string_view what) {
  if (!exceeds_memory(bytes)) return;
  throw InputError(
      where, std::string(what) + ", which needs about " + memory_text(bytes) + " of memory",
      "at most " + memory_text(static_cast<double>(memory_limit())) + " in all (--memory-limit)");
}

}  // namespace urto
