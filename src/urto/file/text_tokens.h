// Internal: the words of a text file, one at a time, with errors that say which word on which line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "urto/math/types.h"

namespace urto {

class TokenReader {
 public:
  /// Both must outlive the reader. `name` stands in front of messages.
  TokenReader(const std::string& name, std::string_view text) : name_(name), text_(text) {}

  /// The word that follows; empty at the end of the file.
  std::string_view peek() const;
  std::string_view next(std::string_view expected);
  void literal(std::string_view word);
  void skip_line();

  int integer(std::string_view what, std::int64_t lowest, std::int64_t highest);
  double number(std::string_view what);  ///< finite
  double bound(std::string_view what);   ///< may be infinite
  std::vector<int> integers(std::int64_t count, std::string_view what, std::int64_t lowest,
                            std::int64_t highest);
  Vector numbers(std::int64_t count, std::string_view what);
  Vector bounds(std::int64_t count, std::string_view what);

  /// Fails if the rest of the file cannot hold `count` more words: called before anything of that
  /// size is allocated.
  void require_room(std::int64_t count, std::string_view what) const;
  /// Fails at the word that was read last.
  [[noreturn]] void fail(std::string_view found, std::string_view expected) const;

  std::int64_t position() const { return token_; }  ///< words read so far
  std::int64_t count_rest() const;                  ///< words left

 private:
  std::string_view word_from(std::size_t& at, std::int64_t* line) const;

  const std::string& name_;
  std::string_view text_;
  std::size_t at_ = 0;
  std::int64_t token_ = 0;
  std::int64_t line_ = 1;
};

/// A number if the whole word is one (nan and inf included).
bool parse_number(std::string_view word, double& value);

/// A NumericsMatrix of Siconos: storage 0 (dense), 1 (blocks) or 2 (the print of CSparse).
SparseMatrix read_text_matrix(TokenReader& in, std::string_view what);

}  // namespace urto
