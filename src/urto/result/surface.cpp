#include "urto/result/surface.h"

#include <cmath>
#include <numbers>

namespace urto {
namespace {

constexpr double pi = std::numbers::pi;

/// A point of an outline in the half-plane (r, z) and its outward normal.
struct OutlinePoint {
  double r, z, normal_r, normal_z;
};
using Outline = std::vector<OutlinePoint>;

/// Turns an outline, drawn from −z to +z, about z.
void add_turned(Surface& out, const Outline& outline, int turns) {
  const int first = static_cast<int>(out.points.size());
  for (const OutlinePoint& p : outline) {
    for (int j = 0; j <= turns; ++j) {
      const double angle = 2 * pi * (j % turns) / turns;
      const double c = std::cos(angle), s = std::sin(angle);
      out.points.emplace_back(p.r * c, p.r * s, p.z);
      out.normals.emplace_back(p.normal_r * c, p.normal_r * s, p.normal_z);
    }
  }
  for (int i = 0; i + 1 < static_cast<int>(outline.size()); ++i) {
    for (int j = 0; j < turns; ++j) {
      const int a = first + i * (turns + 1) + j, b = a + turns + 1;
      // At a pole one of the two has no area.
      if (outline[i].r > 0) out.triangles.push_back({a, a + 1, b + 1});
      if (outline[i + 1].r > 0) out.triangles.push_back({a, b + 1, b});
    }
  }
}

/// A quarter or half of a circle about (0, z), from the angle `low` to `high` above the plane z.
Outline arc(double radius, double z, double low, double high, int parts) {
  Outline out;
  for (int k = 0; k <= parts; ++k) {
    const double angle = low + (high - low) * k / parts;
    const bool pole = std::abs(std::abs(angle) - pi / 2) < 1e-9;
    const double c = pole ? 0.0 : std::cos(angle), s = std::sin(angle);
    out.push_back({radius * c, z + radius * s, c, s});
  }
  return out;
}

Surface ellipsoid(const Vec3& half, int turns) {
  Surface out;
  add_turned(out, arc(1, 0, -pi / 2, pi / 2, turns / 2), turns);
  for (Vec3& x : out.points) x = x.cwiseProduct(half);
  for (Vec3& n : out.normals) n = n.cwiseQuotient(half).normalized();
  return out;
}

Surface cylinder(double r, double h, int turns) {
  Surface out;
  add_turned(out, {{0, -h, 0, -1}, {r, -h, 0, -1}}, turns);
  add_turned(out, {{r, -h, 1, 0}, {r, h, 1, 0}}, turns);
  add_turned(out, {{r, h, 0, 1}, {0, h, 0, 1}}, turns);
  return out;
}

Surface cone(double r, double h, int turns) {
  const double slant = std::hypot(r, 2 * h);
  Surface out;
  add_turned(out, {{0, -h, 0, -1}, {r, -h, 0, -1}}, turns);
  add_turned(out, {{r, -h, 2 * h / slant, r / slant}, {0, h, 2 * h / slant, r / slant}}, turns);
  return out;
}

Surface capsule(double r, double h, int turns) {
  Outline outline = arc(r, -h, -pi / 2, 0, turns / 4);
  const Outline top = arc(r, h, 0, pi / 2, turns / 4);
  outline.insert(outline.end(), top.begin(), top.end());
  Surface out;
  add_turned(out, outline, turns);
  return out;
}

/// Every triangle with its own normal.
Surface facets(const std::vector<Vec3>& vertices,
               const std::vector<std::array<int, 3>>& triangles) {
  Surface out;
  for (const auto& [a, b, c] : triangles) {
    const Vec3 normal = (vertices[b] - vertices[a]).cross(vertices[c] - vertices[a]);
    if (!(normal.norm() > 0)) continue;
    const int first = static_cast<int>(out.points.size());
    for (const int k : {a, b, c}) {
      out.points.push_back(vertices[k]);
      out.normals.emplace_back(normal.normalized());
    }
    out.triangles.push_back({first, first + 1, first + 2});
  }
  return out;
}

Surface box(const Vec3& half) {
  std::vector<Vec3> corners;
  corners.reserve(8);
  for (int k = 0; k < 8; ++k) {
    corners.push_back(half.cwiseProduct(
        Vec3((k & 1) != 0 ? 1 : -1, (k & 2) != 0 ? 1 : -1, (k & 4) != 0 ? 1 : -1)));
  }
  return facets(corners, {{{0, 2, 3}},
                          {{0, 3, 1}},
                          {{4, 5, 7}},
                          {{4, 7, 6}},
                          {{0, 1, 5}},
                          {{0, 5, 4}},
                          {{2, 6, 7}},
                          {{2, 7, 3}},
                          {{0, 4, 6}},
                          {{0, 6, 2}},
                          {{1, 3, 7}},
                          {{1, 7, 5}}});
}

}  // namespace

Surface surface_of(const DrawnShape& shape, const DrawnModel& model, int turns) {
  const Vec3& size = shape.size;
  switch (shape.kind) {
    case ShapeKind::sphere:
      return ellipsoid(Vec3::Constant(size[0]), turns);
    case ShapeKind::ellipsoid:
      return ellipsoid(size, turns);
    case ShapeKind::box:
      return box(size);
    case ShapeKind::cylinder:
      return cylinder(size[0], size[1], turns);
    case ShapeKind::capsule:
      return capsule(size[0], size[1], turns);
    case ShapeKind::cone:
      return cone(size[0], size[1], turns);
    case ShapeKind::half_space:
    case ShapeKind::hull:
    case ShapeKind::mesh:
    case ShapeKind::height_field:
      break;
  }
  if (shape.geometry < 0) return {};
  const TriangleMesh& mesh = model.meshes[static_cast<std::size_t>(shape.geometry)];
  return facets(mesh.vertices, mesh.triangles);
}

}  // namespace urto
