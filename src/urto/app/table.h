// Aligned tables on a terminal, printed row by row: a solve may take long, and its row should not
// wait for the others.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace urto::app {

enum class Align { left, right };
enum class Tone { plain, good, bad, doubtful };

class Table {
 public:
  struct Column {
    std::string title;
    int width = 0;  ///< at least; a title or cell that is wider is shown in full
    Align align = Align::right;
  };

  /// Colour only where `colour` is true; the tone applies to a row's last cell.
  Table(std::vector<Column> columns, bool colour);
  void print_header() const;
  void print_row(const std::vector<std::string>& cells, Tone tone = Tone::plain) const;

 private:
  std::vector<Column> columns_;
  bool colour_;
};

/// Is stdout a terminal whose user wants colour?
bool stdout_wants_colour();
bool stderr_is_terminal();

int display_width(std::string_view text);  ///< code points, which is columns for our texts
std::string shorten(std::string_view text, int width);  ///< cuts the middle out

}  // namespace urto::app
