#include "urto/page/page_text.h"

#include "urto/error.h"
#include "urto/file/whole_file.h"

namespace urto {

std::string script_safe(std::string_view text) {
  std::string out;
  for (const char c : text) out += c == '<' ? std::string("\\u003c") : std::string(1, c);
  return out;
}

std::string html_text(std::string_view text) {
  std::string out;
  for (const char c : text) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '&':
        out += "&amp;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

void write_filled(std::string_view page,
                  std::span<const std::pair<std::string_view, std::string>> parts,
                  const std::filesystem::path& file) {
  WholeFile out(file);
  for (const auto& [mark, value] : parts) {
    const std::size_t at = page.find(mark);
    if (at == std::string_view::npos) throw InputError("page template", "no place for data", mark);
    out.write(page.substr(0, at));
    out.write(value);
    page.remove_prefix(at + mark.size());
  }
  out.write(page);
  out.finish();
}

}  // namespace urto
