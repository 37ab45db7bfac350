// Errors a user can cause. Everything that crosses the border (files, options, API input) is
// checked and reported through these; inside, mistakes are assertions.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace urto {

/// How every message reads: the thing, what was found, what was expected.
inline std::string found_expected(std::string_view where, std::string_view found,
                                  std::string_view expected) {
  return std::string(where) + ": found " + std::string(found) + ", expected " +
         std::string(expected);
}

/// Bad input: a file, a problem or an option that cannot be used. The command exits with code 2.
/// The message always names the thing, what was found, and what was expected.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;

  InputError(std::string_view where, std::string_view found, std::string_view expected)
      : std::runtime_error(found_expected(where, found, expected)) {}
};

}  // namespace urto
