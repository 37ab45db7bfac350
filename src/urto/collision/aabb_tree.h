// A binary tree of boxes in one flat array, for triangle meshes and for the broad phase: built by
// binned surface-area splits, refitted when boxes move, asked by box, by ray and for pairs.
//
// Bounds are kept in single precision relative to an origin, 32 bytes a node. Subtracting the
// origin and rounding to float are monotone, so boxes that overlap still overlap when both have
// gone through the same map: no pair is lost, and a strict overlap of the rounded boxes proves that
// of the exact ones.
#pragma once

#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#include "urto/collision/aabb.h"

namespace urto {

/// Where most boxes are: the median of the centres of some. One stray box does not take it away
/// from the rest, as it would the centre of all.
Vec3 typical_center(std::span<const Aabb> boxes);

/// Boxes much smaller than 1e-7 of their distance from the origin are told apart no more: queries
/// stay right and become slow.
class AabbTree {
 public:
  /// Over all boxes; items are named by their index, the origin is their typical centre.
  void build(std::span<const Aabb> boxes);
  /// Over `boxes[items[k]]`, named by items[k]. Two trees can be paired if they have the same
  /// origin.
  void build(std::span<const Aabb> boxes, std::span<const int> items, const Vec3& origin);
  /// New bounds, same shape of the tree; `boxes` is indexed as in build().
  void refit(std::span<const Aabb> boxes);

  int size() const { return static_cast<int>(leaves_.size()); }
  int node_count() const { return static_cast<int>(nodes_.size()); }
  int depth() const { return depth_; }
  const Vec3& origin() const { return origin_; }
  /// Sum of the edges of all nodes. It grows when moved items stretch the nodes that hold them;
  /// unlike the sum of areas it also does so on a line.
  double spread() const { return spread_; }

  /// f(item) for every item whose rounded box overlaps the rounded `box`: all that overlap, and
  /// some that miss by less than the rounding.
  template <class F>
  void for_overlaps(const Aabb& box, F&& f) const;

  /// Items whose boxes the ray from + t · direction meets at 0 ≤ t ≤ reach, nearer nodes first.
  /// `f(item, reach)` returns up to which t to go on: the nearest hit so far, or reach to see them
  /// all.
  template <class F>
  void for_ray(const Vec3& from, const Vec3& direction, double reach, F&& f) const;

  /// f(item_a, item_b, certain) once for every two items whose rounded boxes overlap; `certain` if
  /// so do the exact ones.
  template <class F>
  void for_pairs(F&& f) const;
  /// The same for an item of this tree and one of `other`.
  template <class F>
  void for_pairs_with(const AabbTree& other, F&& f) const;

 private:
  static constexpr int leaf_size = 4;
  /// Beyond it ranges are halved by count, so no input makes a tree deeper than this + 31.
  static constexpr int sah_depth = 60;
  static constexpr int stack_size = sah_depth + 36;

  /// An inner node (count = 0) has the children first and first + 1; a leaf has the items [first,
  /// first + count). A leaf's item has its name in `first`.
  struct alignas(16) Node {
    std::array<float, 3> lower = {};
    int first = 0;
    std::array<float, 3> upper = {};
    int count = 0;
  };
  using Lanes __attribute__((vector_size(16))) = float;
  struct Bounds {  ///< the fourth lanes mean nothing
    Lanes lower, upper;
  };
  static Bounds bounds(const Node& n) { return std::bit_cast<Bounds>(n); }
  /// Whether a ≤ b, or a < b, holds in the first three lanes of both pairs.
  static bool overlap(const Bounds& a, const Bounds& b);
  static bool overlap_strictly(const Bounds& a, const Bounds& b);

  /// A ray in the tree's frame.
  struct Ray {
    std::array<double, 3> from = {}, inverse = {};
    double pad = 0;
  };
  /// Where it enters the node (0 from inside), or −1 if it does not do so up to `reach`.
  static double entry(const Ray& ray, const Node& node, double reach);
  Ray local_ray(const Vec3& from, const Vec3& direction) const;

  Node rounded(const Aabb& box) const;
  void build_nodes();
  int split(int first, int count, int depth);
  int split_by_area(int first, int count, int axis, float low, float high);
  void set_leaf_items(std::span<const Aabb> boxes);
  void fit_nodes();

  template <class F>
  static void pairs_of_leaves(const AabbTree& ta, const Node& a, const AabbTree& tb, const Node& b,
                              F& f);
  template <class F>
  static void cross_pairs(const AabbTree& ta, int a, const AabbTree& tb, int b, F& f);

  Vec3 origin_ = Vec3::Zero();
  double spread_ = 0;
  double largest_ = 0;  ///< of all coordinates from the origin
  int depth_ = 0;
  std::vector<Node> nodes_ = {};   ///< root first, children after their parent
  std::vector<Node> leaves_ = {};  ///< boxes of the items, in the order of the leaves
};

}  // namespace urto

#include "urto/collision/aabb_tree_walk.h"
