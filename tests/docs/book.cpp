#include "docs/book.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "support/paths.h"

namespace urto::book {
namespace {

namespace fs = std::filesystem;

std::string trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(" \t");
  if (first == std::string_view::npos) return {};
  return std::string(text.substr(first, text.find_last_not_of(" \t") - first + 1));
}

Page load(const fs::path& file) {
  Page out{.file = fs::relative(file, root()), .lines = {}};
  std::istringstream in(read(file));
  std::string text, block;
  for (int number = 1; std::getline(in, text); ++number) {
    const std::string start = trimmed(text);
    if (start.starts_with("```")) {
      const std::string language = start.substr(3);
      block = !block.empty() ? "" : language.empty() ? "text" : language;
      continue;
    }
    out.lines.push_back({number, text, block});
  }
  return out;
}

std::vector<Page> load_all() {
  std::vector<fs::path> files{root() / "README.md"};
  for (const char* folder : {"docs", "src/urto", "tests", "bench"}) {
    for (const auto& entry : fs::recursive_directory_iterator(root() / folder)) {
      if (entry.path().extension() == ".md") files.push_back(entry.path());
    }
  }
  std::sort(files.begin() + 1, files.end());
  std::vector<Page> out;
  for (const fs::path& file : files) out.push_back(load(file));
  return out;
}

}  // namespace

const fs::path& root() {
  return samples::source_dir();
}

std::string read(const fs::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::string Page::place(const Line& line) const {
  return file.string() + ":" + std::to_string(line.number);
}

const std::vector<Page>& pages() {
  static const std::vector<Page> all = load_all();
  return all;
}

const Page& page(const std::string& file) {
  for (const Page& p : pages()) {
    if (p.file == file) return p;
  }
  throw std::runtime_error("no page " + file);
}

std::vector<std::string> code_spans(const Line& line) {
  std::vector<std::string> out;
  if (!line.block.empty()) return out;
  std::size_t at = line.text.find('`');
  while (at != std::string::npos) {
    const std::size_t end = line.text.find('`', at + 1);
    if (end == std::string::npos) break;
    out.push_back(line.text.substr(at + 1, end - at - 1));
    at = line.text.find('`', end + 1);
  }
  return out;
}

std::vector<std::string> cells(const Line& line) {
  std::vector<std::string> out;
  const std::string text = trimmed(line.text);
  if (!line.block.empty() || !text.starts_with('|')) return out;
  std::string cell;
  for (std::size_t k = 1; k < text.size(); ++k) {
    if (text[k] == '\\' && k + 1 < text.size() && text[k + 1] == '|') {
      cell += text[++k];
    } else if (text[k] == '|') {
      out.push_back(trimmed(cell));
      cell.clear();
    } else {
      cell += text[k];
    }
  }
  return out;
}

std::vector<Block> blocks(std::string_view language) {
  std::vector<Block> out;
  for (const Page& p : pages()) {
    int last = -1;
    for (const Line& line : p.lines) {
      if (line.block != language) continue;
      if (last != line.number - 1) out.push_back({&p, {}});
      out.back().lines.push_back(&line);
      last = line.number;
    }
  }
  return out;
}

}  // namespace urto::book
