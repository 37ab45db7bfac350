// Hulls, meshes and height fields. Shapes whose form is written the same share one mesh of the
// model, so that a grid of a thousand stones has one stone.
#include <cmath>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/model/convex_hull.h"
#include "urto/model/triangle_mesh.h"
#include "urto/scene/scene_builder.h"

namespace urto::scene {
namespace {

/// Long arrays: a place is written down only for what is wrong.
std::vector<Vec3> to_points(const Value& v) {
  if (!v.json->is_array()) fail(v, "an array of points [x, y, z]");
  std::vector<Vec3> points;
  points.reserve(v.json->size());
  for (std::size_t k = 0; k < v.json->size(); ++k) {
    const Json& p = (*v.json)[k];
    const bool plain =
        p.is_array() && p.size() == 3 && p[0].is_number() && p[1].is_number() && p[2].is_number();
    points.push_back(plain ? Vec3(p[0].get<double>(), p[1].get<double>(), p[2].get<double>())
                           : to_vec3(v.at(k), "m"));
  }
  return points;
}

std::vector<std::array<int, 3>> to_triangles(const Value& v, std::size_t vertices) {
  if (!v.json->is_array()) fail(v, "an array of triangles [a, b, c]");
  const auto last = static_cast<std::int64_t>(vertices) - 1;
  std::vector<std::array<int, 3>> triangles;
  triangles.reserve(v.json->size());
  for (std::size_t k = 0; k < v.json->size(); ++k) {
    const Json& t = (*v.json)[k];
    if (!t.is_array() || t.size() != 3) fail(v.at(k), "three numbers of vertices");
    std::array<int, 3> triangle{};
    for (std::size_t i = 0; i < 3; ++i) {
      const double x = t[i].is_number() ? t[i].get<double>() : -1;
      const bool good = x >= 0 && x <= static_cast<double>(last) && x == std::floor(x);
      triangle[i] = static_cast<int>(good ? static_cast<std::int64_t>(x)
                                          : to_integer(v.at(k).at(i), 0, last));
    }
    triangles.push_back(triangle);
  }
  return triangles;
}

TriangleMesh to_mesh(const Object& o) {
  TriangleMesh mesh;
  mesh.vertices = to_points(o.at("vertices"));
  if (const auto triangles = o.find("triangles")) {
    mesh.triangles = to_triangles(*triangles, mesh.vertices.size());
  }
  return mesh;
}

Vec3 read_scale(const Object& o) {
  const auto v = o.find("scale");
  if (!v) return Vec3::Ones();
  Vec3 scale = v->json->is_array() ? to_vec3(*v) : Vec3::Constant(to_number(*v));
  if (!(scale.cwiseAbs().minCoeff() > 0)) fail(*v, "factors that are not zero");
  return scale;
}

/// One of the ways to say the form must be there, and only one.
void check_one_of(const Object& o, std::span<const std::string_view> ways) {
  std::size_t count = 0;
  for (const std::string_view way : ways) count += o.has(way) ? 1 : 0;
  if (count != 1) {
    refuse(o.value, fmt::format("{} has one of: '{}'", o.table->noun, fmt::join(ways, "', '")));
  }
}

/// The name for messages of a mesh: the shape's place in the scene, and where its triangles are
/// from, a file or the scene's "meshes".
std::string name_of_mesh(const Builder& b, const Object& o) {
  std::string name = where(*o.value.origins, o.value.path);
  if (!contains(o.table->keys, "mesh") || !o.has("mesh")) return name;
  const std::string& path = b.meshes.entries.find(to_text(o.at("mesh")))->second.path;
  const Origin mesh = origin_of(*o.value.origins, path);
  const bool same_file = mesh.file == origin_of(*o.value.origins, o.value.path).file;
  return name + ": " + (same_file ? mesh.path : where(*o.value.origins, path));
}

TriangleMesh read_hull(const Builder& b, const Object& o) {
  constexpr std::string_view ways[] = {"points", "mesh", "file"};
  check_one_of(o, ways);
  std::vector<Vec3> points = o.has("points")
                                 ? to_points(o.at("points"))
                                 : b.mesh_data[find_named(b.meshes, o.at("mesh"))].vertices;
  const Vec3 scale = read_scale(o);
  for (Vec3& x : points) x = x.cwiseProduct(scale);
  return convex_hull(points, name_of_mesh(b, o));
}

TriangleMesh read_mesh(const Builder& b, const Object& o) {
  constexpr std::string_view ways[] = {"vertices", "mesh", "file"};
  check_one_of(o, ways);
  if (o.has("triangles") && !o.has("vertices")) {
    refuse(o.at("triangles"), "'triangles' needs 'vertices'");
  }
  TriangleMesh mesh =
      o.has("vertices") ? to_mesh(o) : b.mesh_data[find_named(b.meshes, o.at("mesh"))];
  mesh = weld(scaled(std::move(mesh), read_scale(o)), name_of_mesh(b, o));
  return bool_or(o, "flip", false) ? flipped(std::move(mesh)) : mesh;
}

TriangleMesh read_height_field(const Object& o) {
  constexpr std::string_view ways[] = {"heights", "file"};
  constexpr std::string_view extents[] = {"spacing", "size"};
  check_one_of(o, ways);
  check_one_of(o, extents);
  const Value v = o.at("heights");
  constexpr std::string_view expected = "at least two rows of at least two heights";
  const auto rows = to_items(v, expected);
  std::vector<double> heights;
  std::size_t columns = 0;
  for (const Value& row : rows) {
    const std::vector<double> numbers = to_numbers(row, -1, any("m"));
    if (columns == 0) columns = numbers.size();
    if (numbers.size() != columns) {
      fail(row, fmt::format("{} heights", numbers.size()),
           fmt::format("{}, as in the rows before", columns));
    }
    heights.insert(heights.end(), numbers.begin(), numbers.end());
  }
  if (rows.size() < 2 || columns < 2) {
    fail(v, fmt::format("{} × {} heights", rows.size(), columns), expected);
  }
  double dx = 0, dy = 0;
  if (const auto size = o.find("size")) {
    const std::vector<double> full = to_numbers(*size, 2, positive("m"));
    dx = full[0] / static_cast<double>(columns - 1);
    dy = full[1] / static_cast<double>(rows.size() - 1);
  } else if (const Value spacing = o.at("spacing"); spacing.json->is_array()) {
    const std::vector<double> both = to_numbers(spacing, 2, positive("m"));
    dx = both[0];
    dy = both[1];
  } else {
    dx = dy = to_number(spacing, positive("m"));
  }
  return height_field(heights, static_cast<int>(columns), dx, dy);
}

TriangleMesh make_mesh(const Builder& b, const Object& o, ShapeKind kind) {
  if (kind == ShapeKind::hull) return read_hull(b, o);
  return kind == ShapeKind::mesh ? read_mesh(b, o) : read_height_field(o);
}

/// What was written about the form: same text, same mesh.
std::string text_of_form(const Object& o) {
  std::string text;
  for (const std::string_view key : o.table->keys) {
    const bool other = key == "position" || key == "rotation" || key == "material" ||
                       key == "collides" || key == "margin";
    if (other || !o.has(key)) continue;
    text += fmt::format("{}:{}\n", key, o.at(key).json->dump());
  }
  return text;
}

}  // namespace

void read_meshes(Builder& b, const Object& scene) {
  const auto section = scene.find("meshes");
  if (!section) return;
  if (!section->json->is_object()) fail(*section, "an object, names and meshes");
  for (const auto& [name, unused] : section->json->items()) {
    const Value v = section->at(name);
    const Json name_json = name;
    to_name({&name_json, v.path, v.origins});
    take_name(b.meshes, v, name, static_cast<int>(b.mesh_data.size()));
    b.mesh_data.push_back(to_mesh(to_object(v, keys::mesh_data)));
  }
}

int read_geometry(Builder& b, const Object& o, ShapeKind kind) {
  const auto [it, is_new] =
      b.geometries.try_emplace(text_of_form(o), static_cast<int>(b.model.meshes.size()));
  if (!is_new) return it->second;
  TriangleMesh mesh = make_mesh(b, o, kind);
  b.mesh_facts.push_back(facts_of(mesh, name_of_mesh(b, o)));
  b.model.meshes.push_back(std::move(mesh));
  return it->second;
}

}  // namespace urto::scene
