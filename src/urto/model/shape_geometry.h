// What follows from a shape's form, for all kinds: weight, the largest margin, the size that the
// contact envelope goes by; and the checks of meshes.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "urto/model/model.h"

namespace urto {

/// Whether the form is a mesh of Model::meshes.
bool has_geometry(ShapeKind kind);

/// What there is to know of a mesh; found once, shared by all shapes that use it.
struct MeshFacts {
  bool closed = false;
  bool convex = false;
  MassProperties solid = {};  ///< closed ones, of density 1
  double half_width = 0;      ///< the smallest, along a principal axis [m]
  double inner_radius = 0;    ///< convex ones: of a ball inside [m]
};

/// Throws InputError for what check_mesh refuses, of a closed surface if there is no border.
MeshFacts facts_of(const TriangleMesh& mesh, std::string_view name);

/// Of the homogeneous solid in the shape's own frame; `facts` by Shape::geometry. Throws InputError
/// for what has no inside: half-spaces, height fields, open meshes.
MassProperties mass_properties(const Shape& shape, std::span<const MeshFacts> facts,
                               double density);

/// A shape with margin ε is a core, shrunk by ε, swept by a ball of radius ε: the core must not
/// vanish. Boxes, cylinders: half the smallest length; cones, hulls: the radius of a ball inside.
/// Zero for what is round already, for half-spaces, and for meshes and height fields, which touch
/// with their triangles as they are.
double largest_margin(const Shape& shape, std::span<const MeshFacts> facts);

/// Half the smallest width of each shape [m]; infinite for half-spaces, for meshes of bodies that
/// are not dynamic and for height fields: terrain is large, whatever its bumps.
std::vector<double> smallest_extents(const Model& model);

/// Part of finalize(): geometry indices, meshes, hulls that are convex, margins, height fields on
/// bodies that do not move freely.
void check_geometry(const Model& model);

}  // namespace urto
