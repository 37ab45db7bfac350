// Errors a user can cause. Everything that crosses the border (files, options, API input) is
// checked and reported through these; inside, mistakes are assertions.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace urto {

/// How every message reads: the thing, what was found, what was expected.
inline std::string found_expected(std::string_view where, std::string_view found,
                                  std::string_view expected) {
  return std::string(where) + ": found " + std::string(found) + ", expected " +
         std::string(expected);
}

/// A message as it can be shown: at most a kilobyte. Names and values of a file may have any
/// length; of a message that is too long the beginning (the place) and the end (what was expected)
/// are kept.
inline std::string clipped(std::string text) {
  constexpr std::size_t longest = 1000, head = 680, tail = 300;
  if (text.size() <= longest) return text;
  const auto inside = [&](std::size_t at) {  // of a character of UTF-8
    return (static_cast<unsigned char>(text[at]) & 0xC0U) == 0x80U;
  };
  std::size_t first = head, last = text.size() - tail;
  while (first > 0 && inside(first)) --first;
  while (last < text.size() && inside(last)) ++last;
  return text.substr(0, first) + " … " + text.substr(last);
}

/// Bad input: a file, a problem or an option that cannot be used. The command exits with code 2.
/// The message always names the thing, what was found, and what was expected.
class InputError : public std::runtime_error {
 public:
  explicit InputError(std::string message) : std::runtime_error(clipped(std::move(message))) {}

  InputError(std::string_view where, std::string_view found, std::string_view expected)
      : InputError(found_expected(where, found, expected)) {}
};

}  // namespace urto
