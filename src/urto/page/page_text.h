// Internal: templates of pages and what is put into them.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace urto {

/// Names and titles may hold anything, also the end of a script element.
std::string script_safe(std::string_view text);
std::string html_text(std::string_view text);

/// Writes a template with its marks, in their order, replaced.
void write_filled(std::string_view page,
                  std::span<const std::pair<std::string_view, std::string>> parts,
                  const std::filesystem::path& file);

}  // namespace urto
