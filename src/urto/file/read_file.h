// Whole files into memory, for every reader of text.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace urto {

/// The longest text that is read: 1 GiB.
constexpr std::uint64_t longest_text_file = std::uint64_t{1} << 30;

/// Throws InputError if there is no such file, or none with an end: a directory, a device, a pipe.
void require_regular_file(const std::filesystem::path& file, std::string_view expected);

/// All of a file. `memory_per_byte` is what the text and all that is made of it takes. Throws
/// InputError if there is no such file, if it is no regular one (devices and pipes have no end), if
/// it is too long or cannot be read.
std::string read_text_file(const std::filesystem::path& file, double memory_per_byte = 1);

}  // namespace urto
