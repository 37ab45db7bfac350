// Contact manifolds: from two features that face each other to at most four contact points with
// gaps and stable names.
//
// The plane across the normal n carries both features as regions, each with its height along n.
// Corners of the common region are the candidates: vertices of one inside the other and crossings
// of their edges. gap = height of A − height of B there, so both gaps and points belong to material
// points of the two surfaces (recipe 000 §2.4.1: nearest points stay where they are on the surfaces
// during a step).
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "urto/collision/convex.h"

namespace urto {

struct ManifoldPoint {
  Vec3 point = Vec3::Zero();    ///< midway between the surfaces
  double gap = 0;               ///< [m]
  std::uint32_t feature = 0;    ///< names the features that meet; 0: the nearest points
  Vec3 normal = Vec3::UnitZ();  ///< unit, from B to A
  /// The normal is that of the named feature's own nearest points (line_ends.h), not the
  /// manifold's.
  bool own_normal = false;
};

struct Manifold {
  static constexpr int capacity = 4;
  Vec3 normal = Vec3::UnitZ();  ///< of all points but those with one of their own
  int count = 0;
  std::array<ManifoldPoint, capacity> points = {};
};

/// Names of contact points by what meets: vertex i of A on B, vertex j of B on A, edge i of A
/// across edge j of B.
inline std::uint32_t vertex_of_a(int i) {
  return (1U << 30) | static_cast<std::uint32_t>(i);
}
inline std::uint32_t vertex_of_b(int j) {
  return (2U << 30) | static_cast<std::uint32_t>(j);
}
inline std::uint32_t edges_of_both(int i, int j) {
  return (3U << 30) | (static_cast<std::uint32_t>(i & 0x7fff) << 15) |
         static_cast<std::uint32_t>(j & 0x7fff);
}

/// Buffers of the clipping, kept by the caller.
struct ManifoldScratch {
  struct Corner {
    Eigen::Vector2d x{0, 0};
    std::uint32_t feature = 0;
    int edge = 0;  ///< that leaves it: ≥ 0 of A, −1−j: edge j of B
  };
  struct Candidate {
    Eigen::Vector2d x{0, 0};  ///< across the normal
    double height = 0;        ///< along the normal, midway
    double gap = 0;
    std::uint32_t feature = 0;
    bool own_normal = false;
    Vec3 normal = Vec3::Zero();  ///< if it is its own
  };
  Feature a, b;
  std::vector<Corner> region, clipped;
  std::vector<Candidate> candidates;
};

/// Appends the corners of the region that the features `scratch.a` (of A, above) and `scratch.b`
/// (of B) share, with gaps up to `reach`. Features and the unit normal n are in one frame;
/// `tolerance` [m]: vertices this little outside count as inside, so that aligned faces keep their
/// names.
void shared_region(const Vec3& n, double reach, double tolerance, ManifoldScratch& scratch);

/// At most four candidates: the deepest, and those that span the largest area with it. Ties go to
/// smaller gaps, then smaller names. `tolerance` [m]: gaps and distances this close are ties.
void choose_points(const Vec3& n, double tolerance,
                   std::vector<ManifoldScratch::Candidate>& candidates, Manifold& out);

/// The candidate of a point x and its gap along n.
ManifoldScratch::Candidate candidate_at(const Vec3& n, const Vec3& midway, double gap,
                                        std::uint32_t feature);
/// All candidates as points.
void all_points(const Vec3& n, const std::vector<ManifoldScratch::Candidate>& candidates,
                std::vector<ManifoldPoint>& out);

}  // namespace urto
