#include "urto/result/model_scales.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Geometry>

#include "urto/model/inertia.h"
#include "urto/model/shape_geometry.h"

namespace urto {
namespace {

/// A joint between bodies that are nothing beside the model is not held to their size.
constexpr double least_part = 1e-3;

/// Largest distance of a shape's points from its own origin; zero for what has no end.
double radius(const Model& model, const Shape& shape) {
  const Vec3& s = shape.size;
  double most = 0;
  switch (shape.kind) {
    case ShapeKind::sphere:
      return s[0];
    case ShapeKind::capsule:
      return s[0] + s[1];
    case ShapeKind::cylinder:
    case ShapeKind::cone:
      return std::hypot(s[0], s[1]);
    case ShapeKind::box:
      return s.norm();
    case ShapeKind::ellipsoid:
      return s.maxCoeff();
    case ShapeKind::hull:
    case ShapeKind::mesh:
      for (const Vec3& v : model.meshes[shape.geometry].vertices) most = std::max(most, v.norm());
      return most;
    case ShapeKind::half_space:
    case ShapeKind::height_field:
      break;
  }
  return 0;
}

/// Half the length of the homogeneous rod that turns as heavily: of bodies without a form.
double rod_of(const Body& body) {
  const double largest = principal_moments(body.inertia)[2];
  return std::sqrt(3 * largest / body.mass);
}

/// How far from its centre of mass each body's shapes and joints reach; that of bodies that are
/// not dynamic is zero.
std::vector<double> reaches(const Model& model) {
  std::vector<double> out(model.bodies.size(), 0.0);
  for (const Shape& s : model.shapes)
    out[s.body] = std::max(out[s.body], s.pose.position.norm() + radius(model, s));
  for (const Joint& j : model.joints) {
    for (const int m : {j.marker_a, j.marker_b}) {
      const Marker& marker = model.markers[m];
      out[marker.body] = std::max(out[marker.body], marker.frame.p.norm());
    }
  }
  for (std::size_t k = 0; k < out.size(); ++k) {
    const Body& body = model.bodies[k];
    if (body.kind != BodyKind::dynamic) {
      out[k] = 0;
    } else if (out[k] == 0) {
      out[k] = rod_of(body);
    }
  }
  return out;
}

}  // namespace

ModelScales scales_of(const Model& model) {
  ModelScales out;
  const std::vector<double> reach = reaches(model);
  const State start = initial_state(model);
  Eigen::AlignedBox3d box;
  for (std::size_t k = 0; k < model.bodies.size(); ++k) {
    const Body& body = model.bodies[k];
    if (body.kind != BodyKind::dynamic) continue;
    box.extend(body.start.position + Vec3::Constant(reach[k]));
    box.extend(body.start.position - Vec3::Constant(reach[k]));
    out.fastest = std::max(out.fastest, body.velocity.norm());
  }
  for (const Joint& j : model.joints) {
    for (const int m : {j.marker_a, j.marker_b}) {
      const BodyPlace at = place(model, start, model.markers[m].body);
      box.extend(Vec3(at.x + at.A * model.markers[m].frame.p));
    }
  }
  if (!box.isEmpty()) {
    out.size = box.diagonal().norm();
    out.centre = box.center();
  }
  for (const Joint& j : model.joints) {
    double smaller = std::numeric_limits<double>::infinity();
    for (const int m : {j.marker_a, j.marker_b}) {
      const double of_body = 2 * reach[model.markers[m].body];
      if (of_body > 0) smaller = std::min(smaller, of_body);
    }
    out.joints.push_back(std::max(std::min(smaller, out.size), least_part * out.size));
  }
  out.shapes = smallest_extents(model);
  for (double& width : out.shapes) width *= 2;
  return out;
}

double least_energy(const Model& model, const ModelScales& scales, double h, double duration) {
  const double g = model.gravity.norm();
  double mass = 0;
  for (const Body& body : model.bodies) mass += body.kind == BodyKind::dynamic ? body.mass : 0.0;
  const double way = 1e-6 * scales.size;
  const double speed = duration > 0 ? way / duration : 0;
  return mass * std::max(g * std::max(g * h * h, way), 0.5 * speed * speed);
}

}  // namespace urto
