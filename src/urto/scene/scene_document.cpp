// Files into one document. Included files come first, in the order named; then the including file,
// whose single values (gravity, parameters, settings) win. Named things must be unique, and a file
// that is reached twice counts once, so that two parts may share a file of materials.
#include "urto/scene/scene_document.h"

#include <algorithm>
#include <set>
#include <system_error>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/read_file.h"

namespace urto::scene {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view arrays[] = {
    "material_pairs", "bodies", "markers",         "joints", "motors",    "limits", "frictions",
    "gears",          "forces", "rack_and_pinion", "watch",  "couplings", "exclude"};

constexpr std::size_t deepest_inclusion = 64;

struct Inclusion {
  std::vector<fs::path> open;  ///< from the scene down to the file being read
  std::set<fs::path> finished;
};

fs::path identity_of(const fs::path& file) {
  std::error_code failed;
  fs::path canonical = fs::weakly_canonical(file, failed);
  return failed ? file : canonical;
}

void check_head(const Object& scene) {
  const Value version = scene.at("urto");
  if (!version.json->is_number() || version.json->get<double>() != 1) {
    fail(version, "1, the version of the scene format");
  }
  if (const auto units = scene.find("units")) {
    if (*units->json != "SI") fail(*units, "\"SI\": m, kg, s, rad");
  }
}

/// Where a part of the added document stands in the base.
void move_origin(Document& base, const Document& added, const std::string& from,
                 const std::string& to) {
  base.origins.moved[to] = origin_of(added.origins, from);
}

void append_array(Document& base, const Document& added, const std::string& key, const Value& v) {
  if (!v.json->is_array()) fail(v, "an array");
  Json& target = base.root[key];
  if (target.is_null()) target = Json::array();
  for (std::size_t i = 0; i < v.json->size(); ++i) {
    move_origin(base, added, fmt::format("/{}/{}", key, i),
                fmt::format("/{}/{}", key, target.size()));
    target.push_back((*v.json)[i]);
  }
}

/// The added value replaces one of the base only if it `wins`; else they must agree.
void set_single(Document& base, const Document& added, Json& target, const Value& v, bool wins) {
  if (!target.is_null() && !wins && target != *v.json) {
    refuse(v, fmt::format("found {}, but {} says {}", describe(*v.json),
                          where(base.origins, v.path), describe(target)));
  }
  target = *v.json;
  move_origin(base, added, v.path, v.path);
}

void merge_object(Document& base, const Document& added, const std::string& key, const Value& v,
                  bool wins) {
  if (!v.json->is_object()) fail(v, "an object");
  Json& target = base.root[key];
  if (target.is_null()) target = Json::object();
  for (const auto& [name, unused] : v.json->items()) {
    const Value entry = v.at(name);
    if ((key == "materials" || key == "meshes") && target.contains(name)) {
      refuse(entry, fmt::format("duplicate {} name '{}', first used at {}",
                                key == "meshes" ? "mesh" : "material", name,
                                where(base.origins, entry.path)));
    }
    set_single(base, added, target[name], entry, wins);
  }
}

bool is_heading(std::string_view key) {
  return key == "title" || key == "description";
}

/// Adds a document to another. `own`: it is the including file itself, not one that it includes.
void combine(Document& base, const Document& added, bool own) {
  for (const auto& [key, unused] : added.root.items()) {
    const Value v = added.value().at(key);
    if (contains(arrays, key)) {
      append_array(base, added, key, v);
    } else if (key == "materials" || key == "meshes" || key == "mixing" || key == "parameters" ||
               key == "simulation") {
      merge_object(base, added, key, v, own);
    } else if (key == "gravity" ||
               (own ? key != "include" : is_heading(key) && !base.root.contains(key))) {
      // A scene that only includes another is known by the other's title.
      set_single(base, added, base.root[key], v, own);
    }
  }
}

Document read_included(const Value& entry, const fs::path& beside, Inclusion& inclusion);

Document read_text(std::string_view text, std::string_view name, Inclusion& inclusion) {
  Document own;
  own.origins.file = name;
  const bool included = inclusion.open.size() > 1;
  own.root = parse_json(text, name, included ? Quoting::nothing : Quoting::what_was_read);
  // Whatever it is, it is nobody's business.
  if (included && !(own.root.is_object() && own.root.contains("urto")))
    throw InputError(fmt::format("{}: no scene: the key 'urto' is missing", name));
  const Object scene = to_object(own.value(), keys::scene);
  check_head(scene);
  Document document;
  document.origins.file = name;
  // These two stand first in an expanded scene, whatever the files begin with.
  document.root["urto"] = 1;
  document.root["units"] = "SI";
  if (const auto include = scene.find("include")) {
    const fs::path beside = fs::path(name).parent_path();
    for (const Value& entry : to_items(*include, "an array of file names")) {
      combine(document, read_included(entry, beside, inclusion), false);
    }
  }
  combine(document, own, true);
  return document;
}

Document read_included(const Value& entry, const fs::path& beside, Inclusion& inclusion) {
  if (inclusion.open.size() >= deepest_inclusion)
    refuse(entry, fmt::format("files include each other more than {} deep", deepest_inclusion));
  const fs::path file = beside / to_text(entry);
  const fs::path identity = identity_of(file);
  const auto& open = inclusion.open;
  if (const auto first = std::find(open.begin(), open.end(), identity); first != open.end()) {
    std::string circle;
    for (auto it = first; it != open.end(); ++it) circle += it->filename().string() + " → ";
    refuse(entry,
           fmt::format("files include each other: {}{}", circle, identity.filename().string()));
  }
  if (inclusion.finished.contains(identity)) return {};
  std::string text;
  try {
    text = read_part(file);
  } catch (const InputError& error) {
    refuse(entry, error.what());
  }
  inclusion.open.push_back(identity);
  Document document = read_text(text, file.string(), inclusion);
  inclusion.open.pop_back();
  inclusion.finished.insert(identity);
  return document;
}

}  // namespace

std::span<const std::string_view> array_sections() {
  return arrays;
}

std::string read_part(const fs::path& file) {
  constexpr double memory_per_byte = 12;  // of text, JSON and model: measured on lists of numbers
  return read_text_file(file, memory_per_byte);
}

Document read_document(std::string_view text, std::string_view name) {
  Inclusion inclusion;
  inclusion.open.push_back(identity_of(fs::path(name)));
  return read_text(text, name, inclusion);
}

}  // namespace urto::scene
