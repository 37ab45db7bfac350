// What there is to draw of a result: bodies with shapes and colours, joints, and where bodies were.
// The page, VTK and glTF draw the same things.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "urto/model/shape.h"
#include "urto/result/result_view.h"

namespace urto {

struct DrawnBody {
  std::string name, kind;  ///< kind: dynamic, fixed, kinematic
  double mass = 0;
  std::array<double, 3> colour{};  ///< sRGB, 0 to 1
  bool moves() const { return kind != "fixed"; }
};

struct DrawnShape {
  ShapeKind kind = ShapeKind::sphere;
  int body = 0;
  Vec3 size = Vec3::Zero();  ///< as in shape.h
  Pose pose = {};            ///< from the body's centre of mass
  int geometry = -1;         ///< into DrawnModel::meshes
  bool glyph = false;        ///< drawn because the body has no shape of its own
};

struct DrawnJoint {
  std::string name, kind;
  std::array<int, 2> body{};
  std::array<Vec3, 2> position{};  ///< of the markers in their bodies
  std::array<Vec4, 2> rotation{};
};

struct DrawnModel {
  std::vector<DrawnBody> bodies = {};
  std::vector<DrawnShape> shapes = {};
  std::vector<DrawnJoint> joints = {};
  std::vector<TriangleMesh> meshes = {};

  std::vector<int> moving() const;  ///< bodies that are not fixed
};

/// Bodies that move and have no shape get one: a ball at the centre of mass and rods to their
/// joints. Half-spaces get a mesh: a piece of their plane that is about as large as what moves,
/// without what lies inside other half-spaces, so that five of them look like the tray they are.
DrawnModel drawn_model(const ResultView& result);

/// Poses and velocities of all bodies at one frame.
struct DrawnFrame {
  double time = 0;
  std::vector<Pose> pose = {};
  std::vector<Vec3> velocity = {};          ///< of the centres of mass, world
  std::vector<Vec3> angular_velocity = {};  ///< world
};
DrawnFrame drawn_frame(const ResultView& result, long frame);

}  // namespace urto
