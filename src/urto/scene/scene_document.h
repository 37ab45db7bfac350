// A scene before its model is built: one JSON document, put together from files and overrides and
// then expanded to plain numbers and single items.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "urto/scene/scene_expression.h"
#include "urto/scene/scene_reader.h"

namespace urto::scene {

struct Document {
  Json root = Json::object();
  Origins origins;

  Value value() const { return {&root, "", &origins}; }
};

/// Text of a file that holds a part of a scene.
std::string read_part(const std::filesystem::path& file);

/// The document with everything it includes.
Document read_document(std::string_view text, std::string_view name);

/// Sets one "path=value".
void apply_override(Document& document, const std::string& text);

/// Parameters as numbers; they may use each other.
Variables evaluate_parameters(const Document& document);

/// The value with every "=…" in it evaluated. Infinity becomes "=inf".
Json evaluated(const Value& value, const Variables& variables);

/// The scene without expressions, generators and includes; itself a valid scene.
Document expand(const Document& document, const Variables& parameters);

/// Puts what the "file" keys of meshes and shapes name into an expanded scene. A file is read once.
void embed_files(Document& document);

/// Of a scene, generated or written.
constexpr std::int64_t most_bodies = 1'000'000;

/// What a generator in "bodies" stands for: `room` bodies at most.
struct Generated {
  Json bodies = Json::array(), joints = Json::array(), forces = Json::array();
};
Generated generate(const Value& generator, const Variables& parameters, std::int64_t room);

/// Sections of a scene that are arrays; files that are included add to them.
std::span<const std::string_view> array_sections();

}  // namespace urto::scene
