#include "urto/page/report_page.h"

#include <array>
#include <cstdint>
#include <fstream>
#include <zlib.h>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/page/page_asset.h"
#include "urto/page/page_data.h"
#include "urto/page/page_text.h"

namespace urto {
namespace {

// What the template has in place of the data.
constexpr std::string_view title_mark = "{{urto-title}}";
constexpr std::string_view json_mark = "{{urto-json}}";
constexpr std::string_view binary_mark = "{{urto-binary}}";
constexpr std::string_view page_mark = "<!doctype html><!-- urto-page";

/// Half the size, for a second a hundred megabytes; browsers inflate by themselves.
std::string deflated(std::string_view bytes) {
  std::string out(compressBound(bytes.size()), '\0');
  uLongf size = out.size();
  const int code = compress2(reinterpret_cast<Bytef*>(out.data()), &size,
                             reinterpret_cast<const Bytef*>(bytes.data()), bytes.size(), 5);
  if (code != Z_OK) throw InputError("page", fmt::format("zlib's error {}", code), "memory");
  out.resize(size);
  return out;
}

std::string base64(std::string_view bytes) {
  constexpr std::string_view digits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  const auto byte = [&](std::size_t k) {
    return k < bytes.size() ? static_cast<std::uint32_t>(static_cast<unsigned char>(bytes[k])) : 0U;
  };
  for (std::size_t k = 0; k < bytes.size(); k += 3) {
    const std::uint32_t three = byte(k) << 16 | byte(k + 1) << 8 | byte(k + 2);
    out += digits[three >> 18];
    out += digits[three >> 12 & 63];
    out += k + 1 < bytes.size() ? digits[three >> 6 & 63] : '=';
    out += k + 2 < bytes.size() ? digits[three & 63] : '=';
  }
  return out;
}

}  // namespace

void write_report(const ResultView& result, const std::filesystem::path& file,
                  const PageOptions& options) {
  const PageData data = page_data(result, options);
  // Names in a file need not be UTF-8; a page must be.
  const std::string text = data.json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  const std::string title = data.json["title"].get<std::string>();
  const std::array<std::pair<std::string_view, std::string>, 3> parts = {
      {{title_mark, html_text(title.empty() ? "Urto" : title + " · Urto")},
       {json_mark, script_safe(text)},
       {binary_mark, base64(deflated(data.binary))}}};
  write_filled(page_template(), parts, file);
}

DerivedFiles page_files() {
  const auto write = [](const ResultView& result, const std::filesystem::path& directory) {
    write_report(result, directory / "report.html");
    return std::vector{directory / "report.html"};
  };
  return {.names = {"report.html"}, .is_ours = is_report, .write = write, .required = false};
}

bool is_report(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  std::string start(page_mark.size(), '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  return in && start == page_mark;
}

void refuse_foreign_page(const std::filesystem::path& page) {
  std::error_code error;
  if (std::filesystem::exists(page, error) && !is_report(page)) {
    throw InputError(page.string(), "a file that urto did not write",
                     "another name, or none of that name");
  }
}

}  // namespace urto
