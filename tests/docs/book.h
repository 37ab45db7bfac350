// The book as text: README.md, docs/ and the READMEs beside the sources, line by line.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace urto::book {

/// Where the sources are.
const std::filesystem::path& root();
std::string read(const std::filesystem::path& file);

struct Line {
  int number = 1;
  std::string text;
  std::string block = {};  ///< of a fenced block: its language, or "text"; empty outside
};

struct Page {
  std::filesystem::path file;  ///< relative to the root
  std::vector<Line> lines;

  std::string place(const Line& line) const;  ///< "docs/start.md:12"
};

/// All of them, in the order of their names.
const std::vector<Page>& pages();
const Page& page(const std::string& file);

/// What stands between backticks in a line of prose.
std::vector<std::string> code_spans(const Line& line);
/// The cells of a line of a table, trimmed; empty for another line.
std::vector<std::string> cells(const Line& line);

/// A fenced block: its language and its lines.
struct Block {
  const Page* page = nullptr;
  std::vector<const Line*> lines;
};
std::vector<Block> blocks(std::string_view language);

}  // namespace urto::book
