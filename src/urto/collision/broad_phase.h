// Which boxes overlap? Two trees, one of the fixed boxes and one of the moving ones; the second is
// refitted every step and built anew when motion has stretched it. Measured against a sweep, a grid
// and FCL in docs/collision-broad-phase.md.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "urto/collision/aabb_tree.h"

namespace urto {

using Pairs = std::vector<std::array<int, 2>>;

/// Sorts pairs of small numbers by the first and then the second in linear time: a counting sort,
/// then each short run.
class PairSorter {
 public:
  /// First numbers are below `names`.
  void sort(std::size_t names, const Pairs& found, Pairs& sorted);

 private:
  std::vector<std::size_t> start_ = {};
};

/// Keeps its trees and buffers: a second call with similar boxes allocates nothing and is faster
/// than the first.
class BroadPhase {
 public:
  struct Counts {
    long moving_builds = 0, fixed_builds = 0;
  };

  /// All pairs {a, b}, a < b, of overlapping boxes, sorted, except of two fixed ones (`fixed[i]` ≠
  /// 0). The answer depends on the arguments alone and is exact. Boxes are finite and not inside
  /// out (the caller has refused others, and keeps half-spaces apart). Throws InputError where
  /// there are more pairs than memory has room for.
  void find(std::span<const Aabb> boxes, std::span<const std::uint8_t> fixed, Pairs& pairs);

  /// Trees built since the start; the rest were refits.
  const Counts& counts() const { return counts_; }

 private:
  bool update_members(std::span<const std::uint8_t> fixed);
  void update_fixed(std::span<const Aabb> boxes, bool other_members);
  void update_moving(std::span<const Aabb> boxes, bool other_members);

  AabbTree fixed_ = {}, moving_ = {};
  Vec3 origin_ = Vec3::Zero();  ///< of both trees
  std::vector<std::uint8_t> flags_ = {};
  std::vector<int> fixed_items_ = {}, moving_items_ = {};
  std::vector<Aabb> fixed_boxes_ = {};  ///< those of the last call
  double least_spread_ = 0;             ///< of the moving tree since it was built
  int refits_ = 0;                      ///< since then
  Pairs found_ = {};
  PairSorter sorter_ = {};
  Counts counts_ = {};
};

}  // namespace urto
