// VTK XML PolyData, version 1.0, arrays appended as raw bytes: what ParaView writes itself (VTK
// file formats, "XML file formats").
#include "urto/result/vtk_export.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/whole_file.h"
#include "urto/result/drawn_model.h"
#include "urto/result/surface.h"

namespace urto {
namespace {

namespace fs = std::filesystem;

static_assert(std::endian::native == std::endian::little, "the files say LittleEndian");

/// One .vtp file: arrays are declared in the order in which their bytes follow.
class PolyData {
 public:
  template <typename Number>
  void add(std::string& section, const char* name, int components,
           const std::vector<Number>& values) {
    const char* type = std::is_same_v<Number, float> ? "Float32" : "Int32";
    section += fmt::format(
        "<DataArray type=\"{}\" Name=\"{}\" NumberOfComponents=\"{}\" format=\"appended\" "
        "offset=\"{}\"/>\n",
        type, name, components, bytes_.size());
    const std::uint64_t size = values.size() * sizeof(Number);
    bytes_.append(reinterpret_cast<const char*>(&size), sizeof size);
    bytes_.append(reinterpret_cast<const char*>(values.data()), size);
  }
  void add_vectors(std::string& section, const char* name, const std::vector<Vec3>& values) {
    std::vector<float> flat;
    for (const Vec3& x : values) {
      for (int i = 0; i < 3; ++i) flat.push_back(static_cast<float>(x[i]));
    }
    add(section, name, 3, flat);
  }

  std::string point_data, cell_data, points, vertices, polygons;
  std::size_t point_count = 0, vertex_count = 0, polygon_count = 0;

  void write(const fs::path& file, double time) {
    std::string field;
    field = fmt::format(
        "<DataArray type=\"Float64\" Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">{}"
        "</DataArray>\n",
        time);
    WholeFile out(file);
    out.write(fmt::format(
        "<?xml version=\"1.0\"?>\n<VTKFile type=\"PolyData\" version=\"1.0\" "
        "byte_order=\"LittleEndian\" header_type=\"UInt64\">\n<PolyData>\n<FieldData>\n{}"
        "</FieldData>\n<Piece NumberOfPoints=\"{}\" NumberOfVerts=\"{}\" NumberOfLines=\"0\" "
        "NumberOfStrips=\"0\" NumberOfPolys=\"{}\">\n<PointData>\n{}</PointData>\n<CellData>\n{}"
        "</CellData>\n<Points>\n{}</Points>\n<Verts>\n{}</Verts>\n<Polys>\n{}</Polys>\n</Piece>\n"
        "</PolyData>\n<AppendedData encoding=\"raw\">\n_",
        field, point_count, vertex_count, polygon_count, point_data, cell_data, points, vertices,
        polygons));
    out.write(bytes_);
    out.write("\n</AppendedData>\n</VTKFile>\n");
    out.finish();
  }

  /// A vertex cell for every point, so that points are drawn without further ado.
  void add_vertices() {
    std::vector<int> connectivity(point_count), offsets(point_count);
    for (std::size_t k = 0; k < point_count; ++k) {
      connectivity[k] = static_cast<int>(k);
      offsets[k] = static_cast<int>(k) + 1;
    }
    add(vertices, "connectivity", 1, connectivity);
    add(vertices, "offsets", 1, offsets);
    vertex_count = point_count;
  }

 private:
  std::string bytes_;
};

class SeriesWriter {
 public:
  SeriesWriter(const ResultView& result, const fs::path& directory)
      : result_(result), directory_(directory), model_(drawn_model(result)) {
    // Every frame repeats every triangle: of many shapes, fewer each.
    const int turns = model_.shapes.size() > 50 ? 12 : 24;
    for (const DrawnShape& shape : model_.shapes) {
      surfaces_.push_back(surface_of(shape, model_, turns));
    }
  }

  fs::path run() {
    std::string sets;
    const long frames = result_.counts().frames;
    for (long f = 0; f < frames; ++f) {
      const DrawnFrame frame = drawn_frame(result_, f);
      const auto part = [&](const char* name, int number) {
        const std::string file = fmt::format("{}-{:06}.vtp", name, f);
        sets += fmt::format(
            "<DataSet timestep=\"{}\" group=\"\" part=\"{}\" name=\"{}\" file=\"{}\"/>\n",
            frame.time, number, name, file);
        return directory_ / file;
      };
      write_bodies(part("bodies", 0), frame);
      write_contacts(part("contacts", 1), frame.time, f);
      if (!model_.joints.empty()) write_joints(part("joints", 2), frame, f);
    }
    WholeFile out(directory_ / "replay.pvd");
    out.write(
        fmt::format("<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\" "
                    "byte_order=\"LittleEndian\">\n<Collection>\n{}</Collection>\n</VTKFile>\n",
                    sets));
    return out.finish();
  }

 private:
  void write_bodies(const fs::path& file, const DrawnFrame& frame) const {
    std::vector<Vec3> points, normals, velocity;
    std::vector<int> connectivity, offsets, body, shape;
    for (std::size_t s = 0; s < surfaces_.size(); ++s) {
      const DrawnShape& drawn = model_.shapes[s];
      const auto b = static_cast<std::size_t>(drawn.body);
      const Mat3 A = rotation_matrix(frame.pose[b].rotation);
      const Mat3 R = A * rotation_matrix(drawn.pose.rotation);
      const Vec3 arm = A * drawn.pose.position;
      const int first = static_cast<int>(points.size());
      for (std::size_t k = 0; k < surfaces_[s].points.size(); ++k) {
        const Vec3 from_centre = arm + R * surfaces_[s].points[k];
        points.emplace_back(frame.pose[b].position + from_centre);
        normals.emplace_back(R * surfaces_[s].normals[k]);
        velocity.emplace_back(frame.velocity[b] + frame.angular_velocity[b].cross(from_centre));
      }
      for (const auto& triangle : surfaces_[s].triangles) {
        for (const int corner : triangle) connectivity.push_back(first + corner);
        offsets.push_back(static_cast<int>(connectivity.size()));
        body.push_back(drawn.body);
        shape.push_back(static_cast<int>(s));
      }
    }
    PolyData data;
    data.point_count = points.size();
    data.polygon_count = offsets.size();
    data.add_vectors(data.points, "Points", points);
    data.add_vectors(data.point_data, "Normals", normals);
    data.add_vectors(data.point_data, "velocity", velocity);
    data.add(data.cell_data, "body", 1, body);
    data.add(data.cell_data, "shape", 1, shape);
    data.add(data.polygons, "connectivity", 1, connectivity);
    data.add(data.polygons, "offsets", 1, offsets);
    data.write(file, frame.time);
  }

  void write_contacts(const fs::path& file, double time, long frame) const {
    const std::vector<RecordedContact> contacts = result_.contacts(frame, 1)[0];
    PolyData data;
    data.point_count = contacts.size();
    const auto vectors = [&](std::string& section, const char* name, Vec3 RecordedContact::*part) {
      std::vector<Vec3> values;
      values.reserve(contacts.size());
      for (const RecordedContact& c : contacts) values.push_back(c.*part);
      data.add_vectors(section, name, values);
    };
    vectors(data.points, "Points", &RecordedContact::point);
    vectors(data.point_data, "force", &RecordedContact::force);
    vectors(data.point_data, "normal", &RecordedContact::normal);
    std::vector<float> gap;
    std::vector<int> body_a, body_b;
    for (const RecordedContact& c : contacts) {
      gap.push_back(static_cast<float>(c.gap));
      body_a.push_back(c.body_a);
      body_b.push_back(c.body_b);
    }
    data.add(data.point_data, "gap", 1, gap);
    data.add(data.point_data, "body_a", 1, body_a);
    data.add(data.point_data, "body_b", 1, body_b);
    data.add_vertices();
    data.write(file, time);
  }

  void write_joints(const fs::path& file, const DrawnFrame& frame, long f) const {
    const int channel = find_channel(result_.description(), "joint_reaction");
    const std::vector<double> reaction = result_.channel(channel, f, 1);
    std::vector<Vec3> points, force, moment;
    std::vector<int> joint;
    for (std::size_t k = 0; k < model_.joints.size(); ++k) {
      const Pose& pose = frame.pose[static_cast<std::size_t>(model_.joints[k].body[1])];
      points.emplace_back(pose.position +
                          rotation_matrix(pose.rotation) * model_.joints[k].position[1]);
      force.emplace_back(reaction[6 * k], reaction[6 * k + 1], reaction[6 * k + 2]);
      moment.emplace_back(reaction[6 * k + 3], reaction[6 * k + 4], reaction[6 * k + 5]);
      joint.push_back(static_cast<int>(k));
    }
    PolyData data;
    data.point_count = points.size();
    data.add_vectors(data.points, "Points", points);
    data.add_vectors(data.point_data, "force", force);
    data.add_vectors(data.point_data, "moment", moment);
    data.add(data.point_data, "joint", 1, joint);
    data.add_vertices();
    data.write(file, frame.time);
  }

  const ResultView& result_;
  fs::path directory_;
  DrawnModel model_;
  std::vector<Surface> surfaces_ = {};
};

bool is_ours(const std::string& name) {
  if (name == "replay.pvd") return true;
  return name.ends_with(".vtp") &&
         std::ranges::any_of(std::array{"bodies-", "contacts-", "joints-"},
                             [&](const char* start) { return name.starts_with(start); });
}

/// Makes room: takes an earlier series away, refuses anything else.
void prepare(const fs::path& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error || !fs::is_directory(directory)) {
    throw InputError(directory.string(), error ? error.message() : "no directory",
                     "a directory that can be made or written to");
  }
  std::vector<fs::path> old;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory)) {
    if (!is_ours(entry.path().filename().string())) {
      throw InputError(entry.path().string(), "a file that urto did not write",
                       "an empty or new directory");
    }
    old.push_back(entry.path());
  }
  for (const fs::path& file : old) fs::remove(file, error);
}

}  // namespace

fs::path write_vtk(const ResultView& result, const fs::path& directory) {
  prepare(directory);
  return SeriesWriter(result, directory).run();
}

}  // namespace urto
