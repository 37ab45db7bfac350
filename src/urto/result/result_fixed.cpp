#include "urto/result/result_fixed.h"

#include <fmt/format.h>

#include "urto/stepper/option_table.h"
#include "urto/version.h"

namespace urto {
namespace {

const char* name_of(BodyKind kind) {
  switch (kind) {
    case BodyKind::dynamic:
      return "dynamic";
    case BodyKind::fixed:
      return "fixed";
    case BodyKind::kinematic:
      return "kinematic";
  }
  return "";
}

/// Names and numbers of a list of things.
template <typename Items, typename Value>
auto collect(const Items& items, Value value) {
  std::vector<decltype(value(items[0]))> out;
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

void write_header(GrowingFile& file, const SimulationOptions& options, std::string_view title) {
  const int format_version = 1;
  file.write_attribute("format", "urto-result");
  file.write_attribute("format_version", H5T_NATIVE_INT, &format_version);
  file.write_attribute("urto_version", version);
  file.write_attribute("title", title);
  file.write_attribute("units", "SI");
  for (const OptionInfo& option : simulation_options()) {
    write_option(file, std::string(option.key), option.get(options));
  }
}

void write_vectors(GrowingFile& file, const std::string& path, const std::vector<Vec3>& list) {
  std::vector<double> flat;
  for (const Vec3& x : list) flat.insert(flat.end(), x.data(), x.data() + 3);
  file.write(path, H5T_NATIVE_DOUBLE, {list.size(), 3}, flat.data());
}

void write_bodies(GrowingFile& file, const Model& model) {
  const auto& bodies = model.bodies;
  file.write("/bodies/name", collect(bodies, [](const Body& b) { return b.name; }));
  file.write("/bodies/kind",
             collect(bodies, [](const Body& b) { return std::string(name_of(b.kind)); }));
  const auto mass = collect(bodies, [](const Body& b) { return b.mass; });
  file.write("/bodies/mass", H5T_NATIVE_DOUBLE, {mass.size()}, mass.data());
  std::vector<double> inertia;  // symmetric: rows or columns first is the same
  for (const Body& b : bodies) {
    inertia.insert(inertia.end(), b.inertia.data(), b.inertia.data() + 9);
  }
  file.write("/bodies/inertia", H5T_NATIVE_DOUBLE, {bodies.size(), 3, 3}, inertia.data());

  const auto& shapes = model.shapes;
  const auto write_ints = [&](const char* path, const std::vector<int>& x) {
    file.write(path, H5T_NATIVE_INT, {x.size()}, x.data());
  };
  file.write("/shapes/kind",
             collect(shapes, [](const Shape& s) { return std::string(to_string(s.kind)); }));
  write_ints("/shapes/body", collect(shapes, [](const Shape& s) { return s.body; }));
  write_ints("/shapes/material", collect(shapes, [](const Shape& s) { return s.material; }));
  write_ints("/shapes/collides",
             collect(shapes, [](const Shape& s) { return s.collides ? 1 : 0; }));
  write_vectors(file, "/shapes/size", collect(shapes, [](const Shape& s) { return s.size; }));
  write_vectors(file, "/shapes/position",
                collect(shapes, [](const Shape& s) { return s.pose.position; }));
  std::vector<double> turns;
  for (const Shape& s : shapes) {
    turns.insert(turns.end(), s.pose.rotation.data(), s.pose.rotation.data() + 4);
  }
  file.write("/shapes/rotation", H5T_NATIVE_DOUBLE, {shapes.size(), 4}, turns.data());
  write_ints("/model/shapes/geometry", collect(shapes, [](const Shape& s) { return s.geometry; }));
  for (std::size_t k = 0; k < model.meshes.size(); ++k) {
    const TriangleMesh& mesh = model.meshes[k];
    const std::string group = fmt::format("/model/meshes/{}", k);
    write_vectors(file, group + "/vertices", mesh.vertices);
    static_assert(sizeof(mesh.triangles[0]) == 3 * sizeof(int));
    file.write(group + "/triangles", H5T_NATIVE_INT, {mesh.triangles.size(), 3},
               mesh.triangles.data());
  }
  file.write("/materials/name", collect(model.materials, [](const Material& m) { return m.name; }));
}

void write_joints(GrowingFile& file, const Model& model) {
  const auto& joints = model.joints;
  const auto& markers = model.markers;
  file.write("/joints/name", collect(joints, [](const Joint& j) { return j.name; }));
  file.write("/joints/kind",
             collect(joints, [](const Joint& j) { return std::string(to_string(j.kind)); }));
  for (const char side : {'a', 'b'}) {
    const auto marker = [&](const Joint& j) {
      return markers[side == 'a' ? j.marker_a : j.marker_b];
    };
    const auto bodies = collect(joints, [&](const Joint& j) { return marker(j).body; });
    file.write(std::string("/joints/body_") + side, H5T_NATIVE_INT, {bodies.size()}, bodies.data());
    write_vectors(file, std::string("/joints/position_") + side,
                  collect(joints, [&](const Joint& j) { return Vec3(marker(j).frame.p); }));
    std::vector<double> axes;
    for (const Joint& j : joints) {
      const Eigen::Matrix<double, 3, 3, Eigen::RowMajor> R = marker(j).frame.R;
      axes.insert(axes.end(), R.data(), R.data() + 9);
    }
    file.write(std::string("/joints/axes_") + side, H5T_NATIVE_DOUBLE, {joints.size(), 3, 3},
               axes.data());
  }
  std::vector<int> owner;
  std::vector<std::string> names;
  for (std::size_t k = 0; k < joints.size(); ++k) {
    for (const JointCoordinate& c : coordinates(joints[k].kind)) {
      owner.push_back(static_cast<int>(k));
      names.emplace_back(c.name);
    }
  }
  file.write("/coordinates/joint", H5T_NATIVE_INT, {owner.size()}, owner.data());
  file.write("/coordinates/name", names);
}

void write_drives(GrowingFile& file, const Model& model) {
  const auto name = [](const auto& item) { return item.name; };
  file.write("/motors/name", collect(model.motors, name));
  file.write("/limits/name", collect(model.limits, name));
  file.write("/frictions/name", collect(model.frictions, name));
  file.write("/couplings/name", collect(model.couplings, name));
}

}  // namespace

void write_fixed_part(GrowingFile& file, const Model& model, const SimulationOptions& options,
                      std::string_view title, std::string_view scene) {
  write_header(file, options, title);
  file.write_text("/scene", scene);
  write_bodies(file, model);
  write_joints(file, model);
  write_drives(file, model);
}

}  // namespace urto
