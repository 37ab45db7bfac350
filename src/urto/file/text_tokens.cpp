#include "urto/file/text_tokens.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// A word as it can stand in a message: short, and without control characters.
std::string quoted(std::string_view word) {
  constexpr std::size_t longest = 32;
  std::string out = "'";
  for (const char c : word.substr(0, longest)) out += c >= ' ' && c < 127 ? c : '?';
  return out + (word.size() > longest ? "…'" : "'");
}

}  // namespace

bool parse_number(std::string_view word, double& value) {
  if (word.starts_with('+')) {
    word.remove_prefix(1);
    if (word.starts_with('-')) return false;
  }
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (end != word.data() + word.size()) return false;
  if (error == std::errc::result_out_of_range) {
    value = std::strtod(std::string(word).c_str(), nullptr);  // 0 or infinity, by its exponent
    return true;
  }
  return error == std::errc();
}

std::string_view TokenReader::word_from(std::size_t& at, std::int64_t* line) const {
  while (at < text_.size() && is_space(text_[at])) {
    if (text_[at] == '\n' && line != nullptr) ++*line;
    ++at;
  }
  const std::size_t first = at;
  while (at < text_.size() && !is_space(text_[at])) ++at;
  return text_.substr(first, at - first);
}

std::string_view TokenReader::peek() const {
  std::size_t at = at_;
  return word_from(at, nullptr);
}

std::int64_t TokenReader::count_rest() const {
  std::int64_t count = 0;
  for (std::size_t at = at_; !word_from(at, nullptr).empty();) ++count;
  return count;
}

std::string_view TokenReader::next(std::string_view expected) {
  const std::string_view word = word_from(at_, &line_);
  ++token_;
  if (word.empty()) fail("the end of the file", expected);
  return word;
}

void TokenReader::literal(std::string_view expected) {
  const std::string_view word = next(expected);
  if (word != expected) fail(quoted(word), quoted(expected));
}

void TokenReader::skip_line() {
  for (bool inside = true; at_ < text_.size() && text_[at_] != '\n'; ++at_) {
    if (!inside && !is_space(text_[at_])) ++token_;
    inside = !is_space(text_[at_]);
  }
}

int TokenReader::integer(std::string_view what, std::int64_t lowest, std::int64_t highest) {
  const auto expected = [&] {
    return fmt::format("{}, an integer from {} to {}", what, lowest, highest);
  };
  const std::string_view word = next(what);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size() || value < lowest ||
      value > highest) {
    fail(quoted(word), expected());
  }
  return static_cast<int>(value);
}

double TokenReader::number(std::string_view what) {
  const std::string_view word = next(what);
  double value = 0;
  if (!parse_number(word, value) || !std::isfinite(value)) {
    fail(quoted(word), fmt::format("a finite number of {}", what));
  }
  return value;
}

double TokenReader::bound(std::string_view what) {
  const std::string_view word = next(what);
  double value = 0;
  if (!parse_number(word, value) || std::isnan(value)) {
    fail(quoted(word), fmt::format("a number of {}", what));
  }
  return value;
}

void TokenReader::require_room(std::int64_t count, std::string_view what) const {
  // The shortest word is one character and the space behind it.
  const auto room = static_cast<std::int64_t>((text_.size() - at_) / 2 + 1);
  if (count > room) {
    fail(fmt::format("a size that asks for {} numbers of {}", count, what),
         fmt::format("at most {}, which is all that the rest of the file can hold", room));
  }
}

std::vector<int> TokenReader::integers(std::int64_t count, std::string_view what,
                                       std::int64_t lowest, std::int64_t highest) {
  require_room(count, what);
  std::vector<int> values(static_cast<std::size_t>(count));
  for (int& value : values) value = integer(what, lowest, highest);
  return values;
}

Vector TokenReader::numbers(std::int64_t count, std::string_view what) {
  require_room(count, what);
  Vector values(count);
  for (double& value : values) value = number(what);
  return values;
}

Vector TokenReader::bounds(std::int64_t count, std::string_view what) {
  require_room(count, what);
  Vector values(count);
  for (double& value : values) value = bound(what);
  return values;
}

void TokenReader::fail(std::string_view found, std::string_view expected) const {
  throw InputError(fmt::format("{}: token {} (line {})", name_, token_, line_), found, expected);
}

// Matrices. The layouts are those of NM_write_in_file, SBM_write_in_file and cs_print in Siconos'
// numerics.
namespace {

constexpr std::int64_t largest_int = std::numeric_limits<int>::max();
using Triplets = std::vector<Eigen::Triplet<double>>;

/// Storage 0: "rows columns" again, then all values in column-major order (the line breaks of the
/// files suggest rows).
Triplets read_dense(TokenReader& in, std::string_view what, int rows, int columns) {
  const int rows_again = in.integer("the number of rows again", 0, largest_int);
  if (rows_again != rows) {
    in.fail(fmt::format("{} rows of {}", rows_again, what), fmt::format("{}", rows));
  }
  const int columns_again = in.integer("the number of columns again", 0, largest_int);
  if (columns_again != columns) {
    in.fail(fmt::format("{} columns of {}", columns_again, what), fmt::format("{}", columns));
  }
  in.require_room(std::int64_t{rows} * columns, what);
  Triplets triplets;
  for (int c = 0; c < columns; ++c) {
    for (int r = 0; r < rows; ++r) {
      const double value = in.number(what);
      if (value != 0) triplets.emplace_back(r, c, value);
    }
  }
  return triplets;
}

/// Ends of the block rows or columns, cumulative; with a 0 in front.
std::vector<int> read_block_ends(TokenReader& in, const std::string& what, int blocks, int size) {
  in.require_room(blocks, what);
  std::vector<int> start{0};
  for (int k = 0; k < blocks; ++k) start.push_back(in.integer(what, start.back(), size));
  if (start.back() != size) {
    in.fail(fmt::format("{} as the last of the {}", start.back(), what), fmt::format("{}", size));
  }
  return start;
}

/// Storage 1: compressed rows of dense blocks, each block after its number, column-major.
Triplets read_blocks(TokenReader& in, std::string_view what, int rows, int columns) {
  const int blocks = in.integer("the number of blocks", 0, largest_int);
  in.require_room(blocks, what);
  const int block_rows = in.integer("the number of block rows", 0, rows);
  const int block_columns = in.integer("the number of block columns", 0, columns);
  const std::vector<int> row_start =
      read_block_ends(in, fmt::format("row ends of the blocks of {}", what), block_rows, rows);
  const std::vector<int> column_start = read_block_ends(
      in, fmt::format("column ends of the blocks of {}", what), block_columns, columns);
  const int pointers = in.integer("the number of row pointers", 1, std::int64_t{block_rows} + 1);
  const int filled = in.integer("the number of column indices", blocks, blocks);
  std::vector<int> row_of(static_cast<std::size_t>(blocks));
  in.require_room(pointers, what);
  int end = in.integer("the first row pointer", 0, 0);
  for (int r = 0; r + 1 < pointers; ++r) {
    const int first = end;
    end = in.integer("a row pointer that does not decrease", first, blocks);
    std::fill(row_of.begin() + first, row_of.begin() + end, r);
  }
  if (end != blocks) {
    in.fail(fmt::format("{} as the last row pointer", end), fmt::format("{}", blocks));
  }
  const std::vector<int> column_of = in.integers(filled, fmt::format("block columns of {}", what),
                                                 0, std::int64_t{block_columns} - 1);

  Triplets triplets;
  std::vector<bool> seen(static_cast<std::size_t>(blocks), false);
  for (int b = 0; b < blocks; ++b) {
    const int k = in.integer("the number of a block", 0, std::int64_t{blocks} - 1);
    if (seen[k]) in.fail(fmt::format("block {} twice", k), "each block once");
    seen[k] = true;
    const int br = row_of[k];
    const int bc = column_of[k];
    in.require_room(
        std::int64_t{row_start[br + 1] - row_start[br]} * (column_start[bc + 1] - column_start[bc]),
        what);
    for (int c = column_start[bc]; c < column_start[bc + 1]; ++c) {
      for (int r = row_start[br]; r < row_start[br + 1]; ++r) {
        triplets.emplace_back(r, c, in.number(what));
      }
    }
  }
  return triplets;
}

/// "900-by-900,"
void read_csparse_size(TokenReader& in, std::string_view what, int rows, int columns) {
  const std::string expected = fmt::format("{}-by-{},", rows, columns);
  const std::string_view word = in.next(expected);
  if (word != expected) in.fail(fmt::format("{} for {}", quoted(word), what), quoted(expected));
}

/// "900" or "900,". cs_print writes %g: a million and more comes out rounded, so such a print is
/// not a matrix any more.
int read_csparse_count(TokenReader& in) {
  const std::string_view word = in.next("the number of entries");
  int value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  const std::string_view rest(end, static_cast<std::size_t>(word.data() + word.size() - end));
  if (error != std::errc() || (!rest.empty() && rest != ",") || value < 0) {
    in.fail(quoted(word),
            "the number of entries, in full (CSparse rounds it from a million on: use FCLIB then)");
  }
  return value;
}

/// Storage 2: what the matrix came from (1 triplets, 2 compressed columns), then the print of
/// CSparse. The values have only the six digits of %g when Siconos wrote them.
Triplets read_csparse(TokenReader& in, std::string_view what, int rows, int columns) {
  const int origin =
      in.integer("the origin of a sparse matrix, 1 (triplets) or 2 (columns),", 1, 2);
  in.literal("CSparse");
  in.skip_line();
  if (origin == 1) in.literal("triplet:");
  read_csparse_size(in, what, rows, columns);
  in.literal("nzmax:");
  read_csparse_count(in);
  in.literal("nnz:");
  const int entries = read_csparse_count(in);
  if (origin == 2) {
    in.literal("1-norm:");
    in.next("the norm of the matrix");
  }
  in.require_room(std::int64_t{3} * entries, what);

  Triplets triplets;
  triplets.reserve(static_cast<std::size_t>(entries));
  const auto read_entry = [&](int r, int c) {
    in.literal(":");
    triplets.emplace_back(r, c, in.number(what));
  };
  if (origin == 1) {
    for (int k = 0; k < entries; ++k) {
      const int r = in.integer(fmt::format("a row of {}", what), 0, std::int64_t{rows} - 1);
      const int c = in.integer(fmt::format("a column of {}", what), 0, std::int64_t{columns} - 1);
      read_entry(r, c);
    }
    return triplets;
  }
  int at = 0;
  for (int c = 0; c < columns; ++c) {
    in.literal("col");
    in.integer("the number of the column", c, c);
    in.literal(":");
    in.literal("locations");
    in.integer("the location of the column's first entry", at, at);
    in.literal("to");
    const int last =
        in.integer("the location of the column's last entry", at - 1, std::int64_t{entries} - 1);
    for (; at <= last; ++at) {
      read_entry(in.integer(fmt::format("a row of {}", what), 0, std::int64_t{rows} - 1), c);
    }
  }
  if (at != entries) {
    in.fail(fmt::format("{} entries of {}", at, what), fmt::format("{}", entries));
  }
  return triplets;
}

}  // namespace

SparseMatrix read_text_matrix(TokenReader& in, std::string_view what) {
  const int storage = in.integer(
      fmt::format("the storage of {}, 0 (dense), 1 (blocks) or 2 (sparse),", what), 0, 2);
  const int rows = in.integer(fmt::format("the number of rows of {}", what), 0, largest_int);
  const int columns = in.integer(fmt::format("the number of columns of {}", what), 0, largest_int);
  // Every row and every column of a matrix of these files belongs to a vector further down.
  in.require_room(rows, what);
  in.require_room(columns, what);
  const Triplets triplets = storage == 0   ? read_dense(in, what, rows, columns)
                            : storage == 1 ? read_blocks(in, what, rows, columns)
                                           : read_csparse(in, what, rows, columns);
  SparseMatrix matrix(rows, columns);
  matrix.setFromTriplets(triplets.begin(), triplets.end());
  return matrix;
}

}  // namespace urto
