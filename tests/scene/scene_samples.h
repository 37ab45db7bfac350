// Small scenes and helpers for the tests of scene files.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "support/paths.h"
#include "urto/error.h"
#include "urto/scene/scene.h"

namespace urto::samples {

namespace fs = std::filesystem;

inline fs::path source_directory() {
  return samples::source_dir();
}

inline std::vector<fs::path> shipped_scenes() {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(source_directory() / "scenes")) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>()};
}

/// A scene around some sections: scene_text(R"("gravity": 0)").
inline std::string scene_text(const std::string& sections) {
  return "{\"urto\": 1" + (sections.empty() ? "" : ", " + sections) + "}";
}

/// One ball, and whatever else.
inline std::string with_ball(const std::string& sections) {
  return scene_text(R"("bodies": [{"name": "ball", "mass": 2, "position": [1, 2, 3],
                              "shapes": [{"kind": "sphere", "radius": 0.5}]}])" +
                    (sections.empty() ? "" : ", " + sections));
}

/// A body that is all of the scene: with_body(R"("mass": 1, …)").
inline std::string with_body(const std::string& body) {
  return scene_text(R"("bodies": [{)" + body + "}]");
}

inline Scene parsed(const std::string& text, const std::vector<std::string>& overrides = {}) {
  return parse_scene(text, "s.json", overrides);
}

/// What the loader says about a bad scene; "" if it takes it.
inline std::string message_of(const std::string& text,
                              const std::vector<std::string>& overrides = {}) {
  try {
    parsed(text, overrides);
  } catch (const InputError& error) {
    return error.what();
  }
  return "";
}

inline std::string print(const Eigen::MatrixXd& m) {
  std::string text = "(";
  for (Eigen::Index i = 0; i < m.size(); ++i) text += fmt::format("{} ", m.data()[i]);
  return text + ")";
}

inline std::string print(const Softness& s) {
  return fmt::format("soft {} {}", s.stiffness, s.damping);
}

inline std::string print(const Function& f) {
  std::string text = fmt::format("f{}", f.index());
  for (const double t : {0.0, 0.1, 0.77, 3.0}) {
    const FunctionValue v = evaluate(f, t);
    text += fmt::format(" {} {} {}", v.value, v.rate, v.acceleration);
  }
  return text;
}

/// Every number of a model, to the last digit.
inline std::string fingerprint(const Model& model) {
  std::string text = print(model.gravity);
  for (const Body& b : model.bodies) {
    text += fmt::format("\n{} {} {} {} {}", b.name, static_cast<int>(b.kind), b.mass, b.gyroscopic,
                        b.continuous) +
            print(b.inertia) + print(b.start.position) + print(b.start.rotation) +
            print(b.velocity) + print(b.angular_velocity) + print(b.motion.angle);
  }
  for (const Marker& m : model.markers) {
    text += fmt::format("\n{} {}", m.name, m.body) + print(m.frame.p) + print(m.frame.R);
  }
  for (const Joint& j : model.joints) {
    text += fmt::format("\n{} {} {} {} {} {} {}", j.name, to_string(j.kind), j.marker_a, j.marker_b,
                        j.length, j.pitch, j.collide) +
            print(j.softness);
  }
  for (const Coupling& c : model.couplings) {
    text += "\n" + c.name + print(c.target) + print(c.softness);
    for (const double factor : c.factors) text += fmt::format(" {}", factor);
  }
  for (const Motor& m : model.motors) {
    text += fmt::format("\n{} {} {} {} {}", m.name, m.on.joint, m.on.coordinate,
                        static_cast<int>(m.mode), m.max_force) +
            print(m.value);
  }
  for (const Limit& l : model.limits) {
    text += fmt::format("\n{} {} {} {} {}", l.name, l.on.joint, l.lower, l.upper, l.restitution);
  }
  for (const JointFriction& f : model.frictions) text += fmt::format("\n{} {}", f.name, f.bound);
  for (const Force& f : model.forces) text += "\n" + name_of(f);
  for (const Shape& s : model.shapes) {
    text += fmt::format("\n{} {} {} {} {} {} {:x} {:x}", to_string(s.kind), s.body, s.material,
                        s.collides, s.geometry, s.margin, s.layers, s.mask) +
            print(s.size) + print(s.pose.position) + print(s.pose.rotation);
  }
  for (const TriangleMesh& m : model.meshes) {
    text += fmt::format("\nmesh {}", m.triangles.size());
    for (const Vec3& x : m.vertices) text += print(x);
    for (const auto& t : m.triangles) text += fmt::format(" {} {} {}", t[0], t[1], t[2]);
  }
  for (const Material& m : model.materials) {
    text += fmt::format("\n{} {} {} {} {} {} {} {} {} {} {} {} {}", m.name, m.friction,
                        m.static_friction, m.stribeck_speed, m.stribeck_exponent, m.restitution,
                        m.restitution_threshold, m.rolling_friction, m.spinning_friction,
                        m.stiffness, m.damping, m.cohesion, m.cohesion_range);
  }
  const Mixing& x = model.mixing;
  for (const MixingRule rule :
       {x.friction, x.restitution, x.restitution_threshold, x.rolling_friction, x.spinning_friction,
        x.cohesion, x.cohesion_range}) {
    text += fmt::format(" {}", static_cast<int>(rule));
  }
  for (const auto& [a, b] : model.excluded) text += fmt::format(" {}-{}", a, b);
  return text;
}

/// A directory of its own for each test, gone afterwards.
class SceneFiles : public testing::Test {
 protected:
  void SetUp() override {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    directory_ = fs::temp_directory_path() /
                 fmt::format("urto-scene-{}-{}", info->name(), static_cast<const void*>(this));
    fs::create_directories(directory_);
  }
  void TearDown() override { fs::remove_all(directory_); }

  fs::path write(const std::string& name, const std::string& text) const {
    fs::create_directories((directory_ / name).parent_path());
    std::ofstream(directory_ / name) << text;
    return directory_ / name;
  }
  /// The message for a file, without the path of the directory.
  std::string message(const fs::path& file) const {
    try {
      load_scene(file);
    } catch (const InputError& error) {
      std::string text = error.what();
      const std::string prefix = directory_.string() + "/";
      for (auto at = text.find(prefix); at != std::string::npos; at = text.find(prefix)) {
        text.erase(at, prefix.size());
      }
      return text;
    }
    return "";
  }
  fs::path directory_;
};

}  // namespace urto::samples
