// Meshes and heights of files become part of the scene, so that an expanded scene stands alone: it
// gives the same model in another directory, after the files have changed, and in a result that is
// resumed.
#include <fmt/format.h>

#include "urto/error.h"
#include "urto/scene/mesh_file.h"
#include "urto/scene/scene_document.h"

namespace urto::scene {
namespace {

namespace fs = std::filesystem;

Json mesh_json(const TriangleMesh& mesh) {
  Json vertices = Json::array(), triangles = Json::array();
  for (const Vec3& x : mesh.vertices) vertices.push_back({x[0], x[1], x[2]});
  for (const auto& t : mesh.triangles) triangles.push_back({t[0], t[1], t[2]});
  Json json = {{"vertices", std::move(vertices)}};
  if (!triangles.empty()) json["triangles"] = std::move(triangles);
  return json;
}

Json heights_json(const NumberTable& table) {
  Json rows = Json::array();
  for (int j = 0; j < table.rows(); ++j) {
    Json row = Json::array();
    for (int i = 0; i < table.columns; ++i) row.push_back(table.values[j * table.columns + i]);
    rows.push_back(std::move(row));
  }
  return rows;
}

struct Embedder {
  Document& document;
  std::map<fs::path, std::string> names = {};  ///< of meshes by file

  /// The file that a value names, beside the scene file in which the value stands.
  fs::path file_of(const Value& v) const {
    return fs::path(origin_of(document.origins, v.path).file).parent_path() / to_text(v);
  }

  /// What `read` makes of the file; its errors name the file, and then the place that named it.
  template <typename Read>
  static auto contents(const Value& v, const fs::path& file, Read read) {
    try {
      return read(read_file(file));
    } catch (const InputError& error) {
      refuse(v, error.what());
    }
  }
  static TriangleMesh mesh_in(const Value& v, const fs::path& file) {
    return contents(v, file, [&](const std::string& bytes) { return parse_mesh(bytes, file); });
  }

  Json& meshes() {
    Json& section = document.root["meshes"];
    if (section.is_null()) section = Json::object();
    return section;
  }

  /// The name of the mesh in a file, which is read when it is first met.
  std::string mesh_of(const Value& v) {
    const fs::path file = file_of(v);
    std::error_code failed;
    fs::path identity = fs::weakly_canonical(file, failed);
    if (failed) identity = file;
    if (const auto it = names.find(identity); it != names.end()) return it->second;
    const TriangleMesh mesh = mesh_in(v, file);
    std::string stem = file.filename().string();
    for (char& c : stem) {
      if (static_cast<unsigned char>(c) < 0x20U || c == 0x7F) c = '_';
    }
    std::string name = stem;
    for (int k = 2; meshes().contains(name); ++k) name = fmt::format("{}-{}", stem, k);
    meshes()[name] = mesh_json(mesh);
    document.origins.moved["/meshes/" + name] = {file.string(), ""};
    return names[identity] = name;
  }

  /// A "file" among the meshes themselves.
  void embed_named(const std::string& name) {
    const Value entry = document.value().at("meshes").at(name);
    if (!entry.json->is_object() || !entry.json->contains("file")) return;
    const Value v = entry.at("file");
    const fs::path file = file_of(v);
    Json json = mesh_json(mesh_in(v, file));
    Json& target = document.root["meshes"][name];
    target.erase("file");
    for (const auto& [key, unused] : json.items()) {
      if (target.contains(key)) refuse(entry, "a mesh has either 'file' or 'vertices'");
    }
    target.update(json);
    document.origins.moved["/meshes/" + name] = {file.string(), ""};
  }

  void embed_shape(const Value& shape) {
    if (!shape.json->is_object() || !shape.json->contains("file")) return;
    const auto kind = shape.json->find("kind");
    const bool heights = kind != shape.json->end() && *kind == "height-field";
    const bool mesh = kind != shape.json->end() && (*kind == "mesh" || *kind == "hull");
    if (!heights && !mesh) return;  // the reader does not know the key either
    const Value v = shape.at("file");
    for (const char* other : {"mesh", "points", "vertices", "triangles", "heights"}) {
      if (shape.json->contains(other)) {
        refuse(v, fmt::format("'file' does not go with '{}', which says the same", other));
      }
    }
    Json json;
    if (heights) {
      const fs::path file = file_of(v);
      json = heights_json(contents(
          v, file, [&](const std::string& text) { return parse_table(text, file.string()); }));
    } else {
      json = mesh_of(v);
    }
    Json& target = document.root[Json::json_pointer(shape.path)];
    target.erase("file");
    target[heights ? "heights" : "mesh"] = std::move(json);
  }
};

}  // namespace

void embed_files(Document& document) {
  Embedder embedder{document};
  if (document.root.contains("meshes") && document.root["meshes"].is_object()) {
    std::vector<std::string> names;
    for (const auto& [name, unused] : document.root["meshes"].items()) names.push_back(name);
    for (const std::string& name : names) embedder.embed_named(name);
  }
  if (!document.root.contains("bodies") || !document.root["bodies"].is_array()) return;
  for (std::size_t i = 0; i < document.root["bodies"].size(); ++i) {
    // Looked up again each time: embedding adds to the document.
    const auto shapes = [&]() -> const Json* {
      const Json& body = document.root["bodies"][i];
      const bool any = body.is_object() && body.contains("shapes") && body["shapes"].is_array();
      return any ? &body["shapes"] : nullptr;
    };
    for (std::size_t k = 0; shapes() != nullptr && k < shapes()->size(); ++k) {
      embedder.embed_shape(
          {&(*shapes())[k], fmt::format("/bodies/{}/shapes/{}", i, k), &document.origins});
    }
  }
}

}  // namespace urto::scene
