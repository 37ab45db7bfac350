#include "urto/result/description_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/stepper/option_table.h"

namespace urto {
namespace {

using RowMajor3 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;

/// Names and numbers of a list of things.
template <typename Items, typename Value>
auto collect(const Items& items, Value value) {
  std::vector<std::decay_t<decltype(value(items[0]))>> out;
  out.reserve(items.size());
  for (const auto& item : items) out.push_back(value(item));
  return out;
}

// Flags are 0 and 1.
void write_option(GrowingFile& file, const std::string& key, const OptionValue& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    file.write_attribute(key, *text);
  } else if (const auto* x = std::get_if<double>(&value)) {
    file.write_attribute(key, H5T_NATIVE_DOUBLE, x);
  } else {
    const int* whole = std::get_if<int>(&value);
    const int number = whole != nullptr ? *whole : static_cast<int>(std::get<bool>(value));
    file.write_attribute(key, H5T_NATIVE_INT, &number);
  }
}

OptionValue read_option(const ResultReader& file, const OptionInfo& option) {
  const std::string key(option.key);
  switch (option.kind) {
    case OptionKind::number:
      return file.number_attribute(key);
    case OptionKind::integer:
      return static_cast<int>(file.number_attribute(key));
    case OptionKind::flag:
      return file.number_attribute(key) != 0;
    default:
      return file.text_attribute(key);
  }
}

void write_header(GrowingFile& file, const Description& d) {
  const int format_version = 1;
  file.write_attribute("format", "urto-result");
  file.write_attribute("format_version", H5T_NATIVE_INT, &format_version);
  file.write_attribute("urto_version", d.urto_version);
  file.write_attribute("title", d.title);
  file.write_attribute("units", "SI");
  for (const OptionInfo& option : simulation_options())
    write_option(file, std::string(option.key), option.get(d.settings));
}

void write_ints(GrowingFile& file, const std::string& path, const std::vector<int>& x) {
  file.write(path, H5T_NATIVE_INT, {x.size()}, x.data());
}

/// A list of vectors or matrices of one size, `dims`.
template <typename List>
void write_arrays(GrowingFile& file, const std::string& path, const List& list,
                  GrowingFile::Dims dims) {
  std::vector<double> flat;
  for (const auto& x : list) flat.insert(flat.end(), x.data(), x.data() + x.size());
  dims.insert(dims.begin(), list.size());
  file.write(path, H5T_NATIVE_DOUBLE, dims, flat.data());
}

void write_bodies(GrowingFile& file, const Description& d) {
  using Body = DescribedBody;
  file.write("/bodies/name", collect(d.bodies, [](const Body& b) { return b.name; }));
  file.write("/bodies/kind", collect(d.bodies, [](const Body& b) { return b.kind; }));
  const auto mass = collect(d.bodies, [](const Body& b) { return b.mass; });
  file.write("/bodies/mass", H5T_NATIVE_DOUBLE, {mass.size()}, mass.data());
  write_arrays(file, "/bodies/inertia",
               collect(d.bodies, [](const Body& b) { return RowMajor3(b.inertia); }), {3, 3});
}

void write_shapes(GrowingFile& file, const Description& d) {
  using Shape = DescribedShape;
  const auto& shapes = d.shapes;
  file.write("/shapes/kind",
             collect(shapes, [](const Shape& s) { return std::string(to_string(s.kind)); }));
  write_ints(file, "/shapes/body", collect(shapes, [](const Shape& s) { return s.body; }));
  write_ints(file, "/shapes/material", collect(shapes, [](const Shape& s) { return s.material; }));
  write_ints(file, "/shapes/collides",
             collect(shapes, [](const Shape& s) { return s.collides ? 1 : 0; }));
  write_arrays(file, "/shapes/size", collect(shapes, [](const Shape& s) { return s.size; }), {3});
  write_arrays(file, "/shapes/position",
               collect(shapes, [](const Shape& s) { return s.pose.position; }), {3});
  write_arrays(file, "/shapes/rotation",
               collect(shapes, [](const Shape& s) { return s.pose.rotation; }), {4});
  write_ints(file, "/model/shapes/geometry",
             collect(shapes, [](const Shape& s) { return s.geometry; }));
  for (std::size_t k = 0; k < d.meshes.size(); ++k) {
    const TriangleMesh& mesh = d.meshes[k];
    const std::string group = fmt::format("/model/meshes/{}", k);
    write_arrays(file, group + "/vertices", mesh.vertices, {3});
    static_assert(sizeof(mesh.triangles[0]) == 3 * sizeof(int));
    file.write(group + "/triangles", H5T_NATIVE_INT, {mesh.triangles.size(), 3},
               mesh.triangles.data());
  }
  file.write("/materials/name", d.materials);
}

void write_joints(GrowingFile& file, const Description& d) {
  using Joint = DescribedJoint;
  file.write("/joints/name", collect(d.joints, [](const Joint& j) { return j.name; }));
  file.write("/joints/kind", collect(d.joints, [](const Joint& j) { return j.kind; }));
  for (const std::size_t side : {0, 1}) {
    const char letter = side == 0 ? 'a' : 'b';
    write_ints(file, fmt::format("/joints/body_{}", letter),
               collect(d.joints, [&](const Joint& j) { return j.body[side]; }));
    write_arrays(file, fmt::format("/joints/position_{}", letter),
                 collect(d.joints, [&](const Joint& j) { return j.position[side]; }), {3});
    write_arrays(file, fmt::format("/joints/axes_{}", letter),
                 collect(d.joints, [&](const Joint& j) { return RowMajor3(j.axes[side]); }),
                 {3, 3});
  }
  write_ints(file, "/coordinates/joint",
             collect(d.coordinates, [](const DescribedCoordinate& c) { return c.joint; }));
  file.write("/coordinates/name",
             collect(d.coordinates, [](const DescribedCoordinate& c) { return c.name; }));
}

// ---- Reading. Sizes are those that the names announce; indices point to something.

std::vector<double> numbers_of(const ResultReader& file, const std::string& path,
                               std::size_t count) {
  std::vector<double> values = file.numbers(path);
  if (values.size() != count) {
    throw InputError(path, fmt::format("{} numbers", values.size()), fmt::format("{}", count));
  }
  return values;
}

template <typename Scale, typename Visit>
void visit_scale(Scale& s, Visit visit) {
  visit("/model/size", s.size);
  visit("/model/free_flight", s.free_flight);
  visit("/model/least_energy", s.least_energy);
  visit("/model/start_limit", s.start_limit);
  visit("/model/start_penetration", s.start_penetration);
}

std::vector<std::string> texts_of(const ResultReader& file, const std::string& path,
                                  std::size_t count) {
  std::vector<std::string> texts = file.texts(path);
  if (texts.size() != count) {
    throw InputError(path, fmt::format("{} texts", texts.size()), fmt::format("{}", count));
  }
  return texts;
}

int index_of(double value, std::size_t count, const std::string& path) {
  if (!(value >= 0) || !(value < static_cast<double>(count))) {
    throw InputError(path, fmt::format("{}", value), fmt::format("an index below {}", count));
  }
  return static_cast<int>(value);
}

Mat3 mat3(const std::vector<double>& flat, std::size_t k) {
  return Eigen::Map<const RowMajor3>(flat.data() + 9 * k);
}

ShapeKind kind_of(const std::string& name) {
  for (int k = 0; k <= static_cast<int>(ShapeKind::height_field); ++k) {
    if (to_string(static_cast<ShapeKind>(k)) == name) return static_cast<ShapeKind>(k);
  }
  throw InputError("/shapes/kind", "'" + name + "'", "a kind of shape that this urto knows");
}

void read_header(const ResultReader& file, Description& d) {
  d.title = file.text_attribute("title");
  d.urto_version = file.text_attribute("urto_version");
  d.scene = file.text("/scene");
  if (file.has("/run/warnings")) d.warnings = file.texts("/run/warnings");
  visit_scale(d.scale, [&](const std::string& path, double& x) {
    if (file.has(path)) x = file.number(path);  // results of earlier versions have none
  });
  for (const OptionInfo& option : simulation_options()) {
    if (file.has_attribute("/", std::string(option.key)))
      option.set(d.settings, read_option(file, option));
  }
}

void read_bodies(const ResultReader& file, Description& d) {
  const auto names = file.texts("/bodies/name");
  const auto kinds = texts_of(file, "/bodies/kind", names.size());
  const auto mass = numbers_of(file, "/bodies/mass", names.size());
  const auto inertia = numbers_of(file, "/bodies/inertia", 9 * names.size());
  for (std::size_t k = 0; k < names.size(); ++k)
    d.bodies.push_back({names[k], kinds[k], mass[k], mat3(inertia, k)});
}

TriangleMesh read_mesh(const ResultReader& file, const std::string& place) {
  const auto vertices = file.numbers(place + "/vertices");
  const auto triangles = file.numbers(place + "/triangles");
  TriangleMesh mesh;
  for (std::size_t v = 0; v < vertices.size() / 3; ++v)
    mesh.vertices.emplace_back(vertices.data() + 3 * v);
  for (std::size_t t = 0; t < triangles.size() / 3; ++t) {
    std::array<int, 3> corner{};
    for (std::size_t i = 0; i < 3; ++i)
      corner[i] = index_of(triangles[3 * t + i], mesh.vertices.size(), place + "/triangles");
    mesh.triangles.push_back(corner);
  }
  return mesh;
}

void read_shapes(const ResultReader& file, Description& d) {
  const auto kinds = file.texts("/shapes/kind");
  const auto body = numbers_of(file, "/shapes/body", kinds.size());
  const auto material = numbers_of(file, "/shapes/material", kinds.size());
  const auto collides = numbers_of(file, "/shapes/collides", kinds.size());
  const auto size = numbers_of(file, "/shapes/size", 3 * kinds.size());
  const auto position = numbers_of(file, "/shapes/position", 3 * kinds.size());
  const auto rotation = numbers_of(file, "/shapes/rotation", 4 * kinds.size());
  d.materials = file.texts("/materials/name");
  for (std::size_t k = 0; k < kinds.size(); ++k) {
    d.shapes.push_back({.kind = kind_of(kinds[k]),
                        .body = index_of(body[k], d.bodies.size(), "/shapes/body"),
                        .size = Vec3(size.data() + 3 * k),
                        .pose = {Vec3(position.data() + 3 * k), Vec4(rotation.data() + 4 * k)},
                        .material = static_cast<int>(material[k]),
                        .collides = collides[k] != 0});
  }
  for (std::size_t k = 0; file.has(fmt::format("/model/meshes/{}/vertices", k)); ++k)
    d.meshes.push_back(read_mesh(file, fmt::format("/model/meshes/{}", k)));
  if (!file.has("/model/shapes/geometry")) return;  // results of earlier versions
  const auto geometry = numbers_of(file, "/model/shapes/geometry", d.shapes.size());
  for (std::size_t k = 0; k < geometry.size(); ++k) {
    if (geometry[k] < 0) continue;
    d.shapes[k].geometry = index_of(geometry[k], d.meshes.size(), "/model/shapes/geometry");
  }
}

void read_joints(const ResultReader& file, Description& d) {
  const auto names = file.texts("/joints/name");
  const auto kinds = texts_of(file, "/joints/kind", names.size());
  for (std::size_t k = 0; k < names.size(); ++k) d.joints.push_back({names[k], kinds[k]});
  for (std::size_t side = 0; side < 2 && !names.empty(); ++side) {
    const char letter = side == 0 ? 'a' : 'b';
    const auto body = numbers_of(file, fmt::format("/joints/body_{}", letter), names.size());
    const auto position =
        numbers_of(file, fmt::format("/joints/position_{}", letter), 3 * names.size());
    const auto axes = numbers_of(file, fmt::format("/joints/axes_{}", letter), 9 * names.size());
    for (std::size_t k = 0; k < names.size(); ++k) {
      d.joints[k].body[side] = index_of(body[k], d.bodies.size(), "/joints/body");
      d.joints[k].position[side] = Vec3(position.data() + 3 * k);
      d.joints[k].axes[side] = mat3(axes, k);
    }
  }
  const auto owned = file.texts("/coordinates/name");
  const auto owner = numbers_of(file, "/coordinates/joint", owned.size());
  for (std::size_t k = 0; k < owned.size(); ++k)
    d.coordinates.push_back({index_of(owner[k], names.size(), "/coordinates/joint"), owned[k]});
}

/// Channels that are no model's say themselves what they are; files of earlier versions have none.
void read_channels(const ResultReader& file, Description& d) {
  d.channels.assign(model_channels().begin(), model_channels().end());
  for (const std::string& name : file.names("/frames")) {
    const std::string path = "/frames/" + name;
    if (std::ranges::find(d.channels, name, &Channel::name) != d.channels.end() ||
        !file.has_attribute(path, "group")) {
      continue;
    }
    const std::vector<std::int64_t> shape = file.shape(path);
    d.channels.push_back({name, file.text_attribute("group", path),
                          file.text_attribute("label", path), file.text_attribute("unit", path),
                          shape.size() > 2 ? static_cast<int>(shape[2]) : 1});
  }
  const auto read_group = [&](std::string_view group) {
    if (group == "bodies" || group == "joints" || group == "coordinates") return;
    const std::string path = fmt::format("/{}/name", group);
    if (std::ranges::find(d.groups, group, &NamedGroup::name) != d.groups.end()) return;
    if (file.has(path)) d.groups.push_back({std::string(group), file.texts(path)});
  };
  for (const Channel& channel : d.channels) read_group(channel.group);
}

}  // namespace

void write_description(GrowingFile& file, const Description& d) {
  write_header(file, d);
  file.write_text("/scene", d.scene);
  write_bodies(file, d);
  write_shapes(file, d);
  write_joints(file, d);
  for (const NamedGroup& group : d.groups)
    file.write(fmt::format("/{}/name", group.name), group.items);
  if (!d.warnings.empty()) file.write("/run/warnings", d.warnings);
  visit_scale(d.scale, [&](const std::string& path, const double& x) {
    file.write(path, H5T_NATIVE_DOUBLE, {}, &x);
  });
}

Description read_description(const ResultReader& file) {
  Description d;
  read_header(file, d);
  read_bodies(file, d);
  read_shapes(file, d);
  read_joints(file, d);
  read_channels(file, d);
  return d;
}

}  // namespace urto
