// Numbers such as 34962 are those of the glTF 2.0 specification (OpenGL's names for types and
// targets).
#include "urto/result/gltf_export.h"

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <numbers>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "urto/error.h"
#include "urto/file/whole_file.h"
#include "urto/result/drawn_model.h"
#include "urto/result/surface.h"
#include "urto/version.h"

namespace urto {
namespace {

using nlohmann::json;

static_assert(std::endian::native == std::endian::little, "glTF is little-endian");

constexpr int array_buffer = 34962, element_array_buffer = 34963;
constexpr int float_type = 5126, unsigned_int_type = 5125;

class GltfWriter {
 public:
  explicit GltfWriter(const ResultView& result) : result_(result), model_(drawn_model(result)) {}

  std::string run() {
    add_nodes();
    add_animation();
    json& g = gltf_;
    g["asset"] = {{"version", "2.0"}, {"generator", fmt::format("urto {}", version)}};
    g["scene"] = 0;
    g["scenes"] = {{{"name", result_.description().title}, {"nodes", {0}}}};
    if (!bytes_.empty()) g["buffers"] = {{{"byteLength", bytes_.size()}}};
    return glb();
  }

 private:
  /// Appends numbers and describes them; `target` 0 for those of an animation.
  template <typename Number>
  int accessor(const std::vector<Number>& values, const char* type, int width, int target,
               bool bounds) {
    bytes_.resize((bytes_.size() + 3) / 4 * 4, '\0');
    json view{{"buffer", 0},
              {"byteOffset", bytes_.size()},
              {"byteLength", values.size() * sizeof(Number)}};
    if (target != 0) view["target"] = target;
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(Number));
    const bool real = std::is_same_v<Number, float>;
    json entry{{"bufferView", gltf_["bufferViews"].size()},
               {"componentType", real ? float_type : unsigned_int_type},
               {"count", values.size() / static_cast<std::size_t>(width)},
               {"type", type}};
    for (int i = 0; bounds && i < width; ++i) {
      Number low = std::numeric_limits<Number>::max(), high = std::numeric_limits<Number>::lowest();
      for (std::size_t k = static_cast<std::size_t>(i); k < values.size();
           k += static_cast<std::size_t>(width)) {
        low = std::min(low, values[k]);
        high = std::max(high, values[k]);
      }
      entry["min"].push_back(low);
      entry["max"].push_back(high);
    }
    gltf_["bufferViews"].push_back(std::move(view));
    gltf_["accessors"].push_back(std::move(entry));
    return static_cast<int>(gltf_["accessors"].size()) - 1;
  }

  int vectors(const std::vector<Vec3>& values, bool bounds) {
    std::vector<float> flat;
    for (const Vec3& x : values) {
      for (int i = 0; i < 3; ++i) flat.push_back(static_cast<float>(x[i]));
    }
    return accessor(flat, "VEC3", 3, array_buffer, bounds);
  }

  /// Points, normals and triangles; equal shapes share them. An empty object if there is nothing to
  /// draw.
  json geometry(const DrawnShape& shape) {
    const std::string key = fmt::format("{} {} {} {} {}", to_string(shape.kind), shape.size[0],
                                        shape.size[1], shape.size[2], shape.geometry);
    if (const auto known = geometries_.find(key); known != geometries_.end()) return known->second;
    const Surface surface = surface_of(shape, model_, 32);
    json out = json::object();
    if (!surface.triangles.empty()) {
      std::vector<std::uint32_t> corners;
      for (const auto& t : surface.triangles) {
        for (const int k : t) corners.push_back(static_cast<std::uint32_t>(k));
      }
      const int position = vectors(surface.points, true), normal = vectors(surface.normals, false);
      out = {{"attributes", {{"POSITION", position}, {"NORMAL", normal}}},
             {"indices", accessor(corners, "SCALAR", 1, element_array_buffer, false)}};
    }
    return geometries_.emplace(key, out).first->second;
  }

  int material(const std::array<double, 3>& colour) {
    const auto known = materials_.find(colour);
    if (known != materials_.end()) return known->second;
    json linear = json::array();  // glTF wants linear light, colours are sRGB (IEC 61966-2-1)
    for (const double c : colour) {
      linear.push_back(c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4));
    }
    linear.push_back(1.0);
    gltf_["materials"].push_back(
        {{"pbrMetallicRoughness",
          {{"baseColorFactor", linear}, {"metallicFactor", 0.05}, {"roughnessFactor", 0.5}}}});
    return materials_[colour] = static_cast<int>(gltf_["materials"].size()) - 1;
  }

  /// −1 if there is nothing to draw.
  int mesh(const DrawnShape& shape) {
    json primitive = geometry(shape);
    if (primitive.empty()) return -1;
    primitive["material"] = material(model_.bodies[static_cast<std::size_t>(shape.body)].colour);
    const std::string key = primitive.dump();
    if (const auto known = meshes_.find(key); known != meshes_.end()) return known->second;
    gltf_["meshes"].push_back({{"primitives", {primitive}}});
    return meshes_[key] = static_cast<int>(gltf_["meshes"].size()) - 1;
  }

  static void put_pose(json& node, const Pose& pose) {
    const Vec4 p = pose.rotation.normalized();
    node["translation"] = {pose.position[0], pose.position[1], pose.position[2]};
    node["rotation"] = {p[1], p[2], p[3], p[0]};
  }

  void add_nodes() {
    const double half = std::numbers::sqrt2 / 2;
    json& nodes = gltf_["nodes"];
    nodes.push_back({{"name", "z is up"}, {"rotation", {-half, 0, 0, half}}});
    const DrawnFrame first = result_.counts().frames > 0 ? drawn_frame(result_, 0) : DrawnFrame{};
    std::vector<bool> drawn(model_.bodies.size());
    for (const DrawnShape& shape : model_.shapes)
      drawn[static_cast<std::size_t>(shape.body)] = true;
    for (std::size_t b = 0; b < model_.bodies.size(); ++b) {
      body_node_.push_back(drawn[b] ? static_cast<int>(nodes.size()) : -1);
      if (!drawn[b]) continue;
      nodes[0]["children"].push_back(nodes.size());
      json node{{"name", model_.bodies[b].name}};
      if (b < first.pose.size()) put_pose(node, first.pose[b]);
      nodes.push_back(std::move(node));
    }
    for (const DrawnShape& shape : model_.shapes) {
      const int seen = mesh(shape);
      if (seen < 0) continue;
      json node{{"mesh", seen}};
      put_pose(node, shape.pose);
      nodes[static_cast<std::size_t>(body_node_[static_cast<std::size_t>(shape.body)])]["children"]
          .push_back(nodes.size());
      nodes.push_back(std::move(node));
    }
  }

  void add_animation() {
    const long frames = result_.counts().frames;
    const std::vector<int> moving = model_.moving();
    if (frames < 2 || moving.empty()) return;
    std::vector<float> time;
    std::vector<std::vector<float>> place(moving.size()), turn(moving.size());
    for (long f = 0; f < frames; ++f) {
      const DrawnFrame frame = drawn_frame(result_, f);
      // Times must grow, also in single precision.
      if (!time.empty() && !(static_cast<float>(frame.time) > time.back())) continue;
      time.push_back(static_cast<float>(frame.time));
      for (std::size_t k = 0; k < moving.size(); ++k) {
        const Pose& pose = frame.pose[static_cast<std::size_t>(moving[k])];
        Vec4 p = pose.rotation.normalized();
        // q and −q are one rotation; the shorter way round lies between neighbours of like sign.
        if (!turn[k].empty()) {
          const float* last = turn[k].data() + turn[k].size() - 4;
          if (p[1] * last[0] + p[2] * last[1] + p[3] * last[2] + p[0] * last[3] < 0) p = -p;
        }
        for (int i = 0; i < 3; ++i) place[k].push_back(static_cast<float>(pose.position[i]));
        for (const int i : {1, 2, 3, 0}) turn[k].push_back(static_cast<float>(p[i]));
      }
    }
    const int input = accessor(time, "SCALAR", 1, 0, true);
    json samplers = json::array(), channels = json::array();
    const auto add = [&](std::size_t k, const char* path, int output) {
      channels.push_back(
          {{"sampler", samplers.size()},
           {"target",
            {{"node", body_node_[static_cast<std::size_t>(moving[k])]}, {"path", path}}}});
      samplers.push_back({{"input", input}, {"output", output}, {"interpolation", "LINEAR"}});
    };
    for (std::size_t k = 0; k < moving.size(); ++k) {
      add(k, "translation", accessor(place[k], "VEC3", 3, 0, false));
      add(k, "rotation", accessor(turn[k], "VEC4", 4, 0, false));
    }
    gltf_["animations"] = {
        {{"name", "run"}, {"samplers", std::move(samplers)}, {"channels", std::move(channels)}}};
  }

  std::string glb() const {
    std::string text = gltf_.dump(-1, ' ', false, json::error_handler_t::replace);
    text.resize((text.size() + 3) / 4 * 4, ' ');
    std::string binary = bytes_;
    binary.resize((binary.size() + 3) / 4 * 4, '\0');
    std::string out;
    const auto word = [&](std::size_t x) {
      const auto value = static_cast<std::uint32_t>(x);
      out.append(reinterpret_cast<const char*>(&value), 4);
    };
    out += "glTF";
    word(2);
    word(12 + 8 + text.size() + (binary.empty() ? 0 : 8 + binary.size()));
    word(text.size());
    out += "JSON" + text;
    if (!binary.empty()) {
      word(binary.size());
      out += std::string("BIN\0", 4) + binary;
    }
    return out;
  }

  const ResultView& result_;
  DrawnModel model_;
  json gltf_ = json::object();
  std::string bytes_ = {};
  std::map<std::string, json> geometries_ = {};
  std::map<std::string, int> meshes_ = {};
  std::map<std::array<double, 3>, int> materials_ = {};
  std::vector<int> body_node_ = {};  ///< −1 for bodies without shapes; those that move have one
};

}  // namespace

void write_gltf(const ResultView& result, const std::filesystem::path& file) {
  const std::string bytes = GltfWriter(result).run();
  if (bytes.size() > std::numeric_limits<std::uint32_t>::max()) {
    throw InputError(file.string(), fmt::format("{} bytes", bytes.size()),
                     "at most 4 GiB, which is all that .glb can hold; fewer frames (output_step)");
  }
  WholeFile out(file);
  out.write(bytes);
  out.finish();
}

}  // namespace urto
