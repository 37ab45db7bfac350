// What the option table says, as the part of scene.schema.json and as the table of docs/scenes.md.
#pragma once

#include <string>
#include <string_view>

#include <nlohmann/json.hpp>

namespace urto::samples {

/// The entry "simulation" of the schema's $defs.
nlohmann::ordered_json simulation_schema();
/// The schema's text with that entry in place of its own.
std::string with_simulation_schema(const std::string& schema);

/// The rows of the book's table, with their heading.
std::string option_rows();
/// The page's text with those rows between its two marks.
std::string with_option_rows(const std::string& page);

}  // namespace urto::samples
