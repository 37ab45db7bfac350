#include "urto/model/shape_geometry.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/model/convex_hull.h"
#include "urto/model/triangle_mesh.h"

namespace urto {

bool has_geometry(ShapeKind kind) {
  return kind == ShapeKind::hull || kind == ShapeKind::mesh || kind == ShapeKind::height_field;
}

MeshFacts facts_of(const TriangleMesh& mesh, std::string_view name) {
  check_mesh(mesh, name, Surface::open);
  MeshFacts facts;
  facts.closed = is_closed(mesh, name);
  if (facts.closed) {
    facts.solid = mass_properties(mesh, 1, name);
    facts.convex = is_convex(mesh, name);
    if (facts.convex) facts.inner_radius = inner_radius(mesh);
  }
  const Vec3 widths = half_widths(mesh);
  facts.half_width = widths[0];
  return facts;
}

MassProperties mass_properties(const Shape& shape, std::span<const MeshFacts> facts,
                               double density) {
  if (!has_geometry(shape.kind)) return mass_properties(shape.kind, shape.size, density);
  const MeshFacts& known = facts[shape.geometry];
  if (shape.kind == ShapeKind::height_field || !known.closed) {
    throw InputError("mass of a shape",
                     shape.kind == ShapeKind::mesh ? "a mesh with a hole" : "a height field",
                     "a closed surface, the skin of a solid");
  }
  MassProperties solid = known.solid;
  solid.mass *= density;
  solid.inertia *= density;
  return solid;
}

double largest_margin(const Shape& shape, std::span<const MeshFacts> facts) {
  const Vec3& s = shape.size;
  switch (shape.kind) {
    case ShapeKind::box:
      return s.minCoeff();
    case ShapeKind::cylinder:
      return std::min(s[0], s[1]);
    case ShapeKind::cone:
      // Of the circle in the triangle of a cut through the axis.
      return 2 * s[0] * s[1] / (s[0] + std::hypot(s[0], 2 * s[1]));
    case ShapeKind::hull:
      return facts[shape.geometry].inner_radius;
    case ShapeKind::sphere:
    case ShapeKind::capsule:
    case ShapeKind::ellipsoid:
    case ShapeKind::half_space:
    case ShapeKind::mesh:
    case ShapeKind::height_field:
      break;
  }
  return 0;
}

std::vector<double> smallest_extents(const Model& model) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  std::vector<double> of_mesh(model.meshes.size(), -1);
  std::vector<double> extents;
  extents.reserve(model.shapes.size());
  for (const Shape& shape : model.shapes) {
    const Vec3& s = shape.size;
    double extent = infinite;
    switch (shape.kind) {
      case ShapeKind::sphere:
      case ShapeKind::capsule:
        extent = s[0];
        break;
      case ShapeKind::cylinder:
      case ShapeKind::cone:
        extent = std::min(s[0], s[1]);
        break;
      case ShapeKind::box:
      case ShapeKind::ellipsoid:
        extent = s.minCoeff();
        break;
      case ShapeKind::mesh:
      case ShapeKind::hull:
        if (shape.kind == ShapeKind::hull || model.bodies[shape.body].kind == BodyKind::dynamic) {
          double& known = of_mesh[shape.geometry];
          if (known < 0) known = half_widths(model.meshes[shape.geometry])[0];
          extent = known;
        }
        break;
      case ShapeKind::half_space:
      case ShapeKind::height_field:
        break;
    }
    extents.push_back(extent);
  }
  return extents;
}

void check_geometry(const Model& model) {
  std::vector<MeshFacts> facts;
  for (std::size_t k = 0; k < model.meshes.size(); ++k) {
    facts.push_back(facts_of(model.meshes[k], fmt::format("mesh {}", k)));
  }
  for (std::size_t k = 0; k < model.shapes.size(); ++k) {
    const Shape& s = model.shapes[k];
    const std::string where = fmt::format("shape {}", k);
    if (has_geometry(s.kind)) {
      if (s.geometry < 0 || s.geometry >= static_cast<int>(facts.size())) {
        throw InputError(where + ": geometry", std::to_string(s.geometry),
                         facts.empty() ? "an index into meshes, of which there are none"
                                       : fmt::format("an index from 0 to {}", facts.size() - 1));
      }
      if (s.kind == ShapeKind::hull && !facts[s.geometry].convex) {
        throw InputError(fmt::format("{}: mesh {}", where, s.geometry),
                         "a surface that is not closed and convex", "a hull, as of convex_hull()");
      }
      if (s.kind == ShapeKind::height_field && model.bodies[s.body].kind == BodyKind::dynamic) {
        throw InputError(
            where,
            fmt::format("a height field on the dynamic body '{}'", model.bodies[s.body].name),
            "a fixed or kinematic body");
      }
    }
    const double most = largest_margin(s, facts);
    if (!(s.margin >= 0 && s.margin <= most)) {
      throw InputError(where + ": margin", fmt::format("{}", s.margin),
                       most > 0 ? fmt::format("a length from 0 to {:.6g} (m)", most)
                                : fmt::format("0: a {} has no edges to round", to_string(s.kind)));
    }
  }
}

}  // namespace urto
