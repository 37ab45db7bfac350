#include "urto/app/table.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <unistd.h>

#include <fmt/color.h>
#include <fmt/format.h>

namespace urto::app {

Table::Table(std::vector<Column> columns, bool colour)
    : columns_(std::move(columns)), colour_(colour) {
  for (Column& column : columns_) {
    column.width = std::max(column.width, display_width(column.title));
  }
}

void Table::print_header() const {
  std::vector<std::string> titles;
  int total = 2 * static_cast<int>(columns_.size() - 1);
  for (const Column& column : columns_) {
    titles.push_back(column.title);
    total += column.width;
  }
  print_row(titles);
  for (int k = 0; k < total; ++k) fmt::print("─");
  fmt::print("\n");
}

void Table::print_row(const std::vector<std::string>& cells, Tone tone) const {
  std::string line;
  for (std::size_t k = 0; k < columns_.size(); ++k) {
    const auto& [title, width, align] = columns_[k];
    if (k > 0) line += "  ";
    const bool last = k + 1 == columns_.size();
    const int padding = std::max(0, width - display_width(cells[k]));
    if (align == Align::right) line.append(padding, ' ');
    if (last && colour_ && tone != Tone::plain) {
      const auto shade = tone == Tone::good  ? fmt::terminal_color::green
                         : tone == Tone::bad ? fmt::terminal_color::red
                                             : fmt::terminal_color::yellow;
      line += fmt::format(fmt::fg(shade), "{}", cells[k]);
    } else {
      line += cells[k];
    }
    if (align == Align::left && !last) line.append(padding, ' ');
  }
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

bool stdout_wants_colour() {
  return isatty(STDOUT_FILENO) == 1 && std::getenv("NO_COLOR") == nullptr;
}
bool stderr_is_terminal() {
  return isatty(STDERR_FILENO) == 1;
}

int display_width(std::string_view text) {
  return static_cast<int>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string shorten(std::string_view text, int width) {
  // Only plain ASCII is cut: a cut inside a character would not be text.
  const int size = static_cast<int>(text.size());
  if (size <= width || display_width(text) != size) return std::string(text);
  const int tail = (width - 1) / 2;
  return fmt::format("{}…{}", text.substr(0, width - 1 - tail), text.substr(size - tail));
}

}  // namespace urto::app
