// Triangle meshes and height fields in contact. Each triangle near a solid is met as a convex of
// its own; what makes them one surface is the rule for normals: at an edge or a vertex a normal
// counts only if it lies in the normal cone of the surface there, else the triangle's own normal is
// taken. A flat floor of many triangles so is as smooth as one face, and a concave edge cannot be
// hit.
#pragma once

#include <vector>

#include "urto/collision/aabb_tree.h"
#include "urto/collision/narrow_phase.h"

namespace urto {

/// A mesh with what the narrow phase needs; made once.
class MeshSurface {
 public:
  explicit MeshSurface(const TriangleMesh& mesh);

  const TriangleMesh& mesh() const { return *mesh_; }
  const AabbTree& tree() const { return tree_; }
  double extent() const { return extent_; }  ///< farthest vertex from the origin [m]
  const Aabb& box() const { return box_; }
  Vec3 center(int t) const;
  /// About its centre: terrain is large, and rounding is judged by the size of a solid.
  Convex triangle(int t) const;
  const Vec3& normal(int t) const { return normals_[t]; }
  /// Whether the unit vector n, seen from the point with these weights in triangle t, leaves the
  /// surface: n·(q − p) ≤ 0 for its surroundings.
  bool leaves(int t, const Vec3& weights, const Vec3& n) const;
  /// For a solid inside triangle t (both about its centre): n and gap become those along the best
  /// normal of a convex edge, if larger.
  void try_edges(const Convex& a, const Place& at_a, int t, const Convex& triangle, Vec3& n,
                 double& gap) const;

 private:
  const TriangleMesh* mesh_;
  AabbTree tree_ = {};
  Aabb box_ = {};
  double extent_ = 0;
  std::vector<Vec3> normals_ = {};
  std::vector<std::array<int, 3>> neighbours_ = {};
  std::vector<int> ring_start_ = {}, ring_ = {};  ///< vertices beside a vertex
};

struct SurfacePointContact {
  Vec3 point = Vec3::Zero(),
       normal = Vec3::UnitZ();  ///< world; the normal from the mesh to the solid
  double gap = 0;
  std::uint32_t feature = 0;
  int triangle_b = -1;      ///< of the mesh
  int triangle_a = -1;      ///< of the solid, where that is a mesh too
  bool own_normal = false;  ///< as in ManifoldPoint
};

/// Contacts of solids with meshes; keeps its buffers.
class MeshPhase {
 public:
  /// The convex solid a against the mesh.
  void collide(const Convex& a, const Place& at_a, const MeshSurface& mesh, const Place& at_mesh,
               double reach, std::vector<SurfacePointContact>& out);
  /// The mesh against the half-space n·x ≤ offset, as B: its vertices.
  void collide_half_space(const MeshSurface& mesh, const Place& at, const Vec3& n, double offset,
                          double reach, Manifold& out);
  /// Two meshes: the triangles of the first as thin solids.
  void collide(const MeshSurface& a, const Place& at_a, const MeshSurface& b, const Place& at_b,
               double reach, std::vector<SurfacePointContact>& out);
  /// What `collide` gives, and after it all points that it chooses from, to find one again by its
  /// name; returns how many are chosen.
  int measure(const Convex& a, const Place& at_a, const MeshSurface& mesh, const Place& at_mesh,
              double reach, std::vector<SurfacePointContact>& out);
  int measure(const MeshSurface& a, const Place& at_a, const MeshSurface& b, const Place& at_b,
              double reach, std::vector<SurfacePointContact>& out);

 private:
  struct Found {
    SurfacePointContact contact = {};
    int group = 0;
  };
  void against_triangle(const Convex& a, const Place& in_mesh, const MeshSurface& mesh, int t,
                        double reach, bool lenient);
  void gather(const Convex& a, const Place& at_a, const MeshSurface& mesh, const Place& at_mesh,
              double reach);
  void gather(const MeshSurface& a, const Place& at_a, const MeshSurface& b, const Place& at_b,
              double reach);
  void push_out(const Convex& a, const Place& in_mesh, const MeshSurface& mesh);
  void reduce(double size, const Place& at_mesh, std::vector<SurfacePointContact>& out);
  int take_all(double size, const Place& at_mesh, std::vector<SurfacePointContact>& out);

  NarrowPhase narrow_ = {};
  Manifold manifold_ = {};
  std::vector<Found> found_ = {};
  std::vector<int> triangles_ = {};
  bool refused_ = false;  ///< a triangle overlaps and gave no contact
  std::vector<ManifoldScratch::Candidate> candidates_ = {};
};

}  // namespace urto
