// What the broad phase is measured against: a sweep along one axis, a grid with a level for every
// octave of size, and FCL's dynamic tree. All get the same boxes and report only overlapping pairs
// that are not both fixed. The first two also sort their pairs; FCL only has to count.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <vector>

#ifdef URTO_HAVE_FCL
#include <fcl/broadphase/broadphase_dynamic_AABB_tree.h>
#include <fcl/geometry/shape/box.h>
#include <fcl/narrowphase/collision_object.h>
#endif

#include "urto/collision/broad_phase.h"

namespace urto::bench {

inline void add_if_overlapping(std::span<const Aabb> boxes, std::span<const std::uint8_t> fixed,
                               int a, int b, Pairs& pairs) {
  if (fixed[a] != 0 && fixed[b] != 0) return;
  if (overlap(boxes[a], boxes[b])) pairs.push_back({std::min(a, b), std::max(a, b)});
}

/// Sorted by the lower end on the axis along which the centres vary most; the order of the last
/// step is mended by insertion, or sorted anew if that gets long.
class Sweep {
 public:
  void find(std::span<const Aabb> boxes, std::span<const std::uint8_t> fixed, Pairs& pairs) {
    found_.clear();
    const int n = static_cast<int>(boxes.size());
    Vec3 sum = Vec3::Zero();
    Vec3 squares = Vec3::Zero();
    for (const Aabb& box : boxes) {
      sum += box.center();
      squares += box.center().cwiseAbs2();
    }
    int axis = 0;
    (squares - sum.cwiseAbs2() / std::max(n, 1)).maxCoeff(&axis);
    if (static_cast<int>(entries_.size()) != n) {
      entries_.resize(n);
      for (int k = 0; k < n; ++k) entries_[k].box = k;
    }
    for (Entry& e : entries_) {
      const Aabb& box = boxes[e.box];
      e = {box.lower[axis],
           box.upper[axis],
           box.lower[(axis + 1) % 3],
           box.upper[(axis + 1) % 3],
           box.lower[(axis + 2) % 3],
           box.upper[(axis + 2) % 3],
           e.box};
    }
    sort();
    for (int i = 0; i < n; ++i) {
      const Entry& p = entries_[i];
      for (int j = i + 1; j < n && entries_[j].low <= p.high; ++j) {
        const Entry& q = entries_[j];
        if (p.low1 <= q.high1 && q.low1 <= p.high1 && p.low2 <= q.high2 && q.low2 <= p.high2 &&
            (fixed[p.box] == 0 || fixed[q.box] == 0)) {
          found_.push_back({std::min(p.box, q.box), std::max(p.box, q.box)});
        }
      }
    }
    sorter_.sort(boxes.size(), found_, pairs);
  }

 private:
  struct Entry {
    double low, high, low1, high1, low2, high2;
    int box;
  };
  void sort() {
    long moves = 0;
    const long most = 20 * static_cast<long>(entries_.size());
    for (std::size_t i = 1; i < entries_.size() && moves < most; ++i) {
      const Entry e = entries_[i];
      std::size_t j = i;
      for (; j > 0 && entries_[j - 1].low > e.low; --j, ++moves) entries_[j] = entries_[j - 1];
      entries_[j] = e;
    }
    if (moves >= most) {
      std::sort(entries_.begin(), entries_.end(),
                [](const Entry& a, const Entry& b) { return a.low < b.low; });
    }
  }
  std::vector<Entry> entries_;
  Pairs found_;
  PairSorter sorter_;
};

/// A box lies on the level whose cells are just larger than its longest edge, in the cell of its
/// lower corner. Cells are sorted by (level, z, y, x); rows of three neighbours along x are found
/// by cursors that only move forward, larger levels by binary search.
class Grid {
 public:
  void find(std::span<const Aabb> boxes, std::span<const std::uint8_t> fixed, Pairs& pairs) {
    found_.clear();
    pairs.clear();
    if (boxes.empty()) return;
    fill(boxes);
    for (int level = 0; level < levels; ++level) {
      same_level(boxes, fixed, level, found_);
      for (int above = level + 1; above < levels; ++above) {
        if (first_[above] < first_[above + 1]) against(boxes, fixed, level, above, found_);
      }
    }
    sorter_.sort(boxes.size(), found_, pairs);
  }

 private:
  static constexpr int levels = 48;
  struct Entry {
    std::uint64_t key;
    int box;
  };
  using Cell = std::array<std::int64_t, 3>;
  // 19 bits a coordinate; each wraps around, which costs tests and loses nothing.
  static std::uint64_t key_of(int level, const Cell& c) {
    const auto bits = [](std::int64_t v) { return static_cast<std::uint64_t>(v) & 0x7ffff; };
    return (static_cast<std::uint64_t>(level) << 57) | (bits(c[2]) << 38) | (bits(c[1]) << 19) |
           bits(c[0]);
  }
  Cell cell_of(const Vec3& p, int level) const {
    const Vec3 c = (p - origin_) / (smallest_ * std::ldexp(1.0, level));
    // Two free cells on every side, so that neighbours never wrap.
    return {static_cast<std::int64_t>(std::floor(c[0])) + 2,
            static_cast<std::int64_t>(std::floor(c[1])) + 2,
            static_cast<std::int64_t>(std::floor(c[2])) + 2};
  }
  void fill(std::span<const Aabb> boxes) {
    smallest_ = std::numeric_limits<double>::infinity();
    Aabb all = boxes[0];
    for (const Aabb& box : boxes) {
      smallest_ = std::min(smallest_, box.extent().maxCoeff());
      all = merged(all, box);
    }
    // No finer than what the keys can tell apart.
    smallest_ = std::max({smallest_, all.extent().maxCoeff() / 500000, 1e-300});
    origin_ = all.lower;
    entries_.resize(boxes.size());
    for (int k = 0; k < static_cast<int>(boxes.size()); ++k) {
      const double ratio = boxes[k].extent().maxCoeff() / smallest_;
      const int level = ratio <= 1 ? 0 : std::min(levels - 1, std::ilogb(ratio) + 1);
      entries_[k] = {key_of(level, cell_of(boxes[k].lower, level)), k};
    }
    radix_sort();
    for (int level = 0; level <= levels; ++level) {
      first_[level] = static_cast<int>(
          std::lower_bound(entries_.begin(), entries_.end(),
                           static_cast<std::uint64_t>(level) << 57,
                           [](const Entry& e, std::uint64_t key) { return e.key < key; }) -
          entries_.begin());
    }
  }
  void radix_sort() {
    other_.resize(entries_.size());
    for (int shift = 0; shift < 64; shift += 11) {
      std::array<int, 2049> start{};
      for (const Entry& e : entries_) ++start[((e.key >> shift) & 2047) + 1];
      if (*std::max_element(start.begin(), start.end()) == static_cast<int>(entries_.size()))
        continue;
      std::partial_sum(start.begin(), start.end(), start.begin());
      for (const Entry& e : entries_) other_[start[(e.key >> shift) & 2047]++] = e;
      entries_.swap(other_);
    }
  }
  void same_level(std::span<const Aabb> boxes, std::span<const std::uint8_t> fixed, int level,
                  Pairs& pairs) const {
    constexpr std::array<std::array<int, 2>, 4> rows{{{1, 0}, {-1, 1}, {0, 1}, {1, 1}}};
    std::array<int, 4> cursor;
    cursor.fill(first_[level]);
    const int end = first_[level + 1];
    for (int i = first_[level]; i < end; ++i) {
      const std::uint64_t key = entries_[i].key;
      for (int j = i + 1; j < end && entries_[j].key <= key + 1; ++j)
        add_if_overlapping(boxes, fixed, entries_[i].box, entries_[j].box, pairs);
      for (int r = 0; r < 4; ++r) {
        const std::uint64_t row = key + (static_cast<std::uint64_t>(rows[r][1]) << 38) +
                                  (static_cast<std::uint64_t>(rows[r][0]) << 19);
        int& c = cursor[r];
        while (c < end && entries_[c].key < row - 1) ++c;
        for (int j = c; j < end && entries_[j].key <= row + 1; ++j)
          add_if_overlapping(boxes, fixed, entries_[i].box, entries_[j].box, pairs);
      }
    }
  }
  void against(std::span<const Aabb> boxes, std::span<const std::uint8_t> fixed, int level,
               int above, Pairs& pairs) const {
    const auto begin = entries_.begin() + first_[above];
    const auto end = entries_.begin() + first_[above + 1];
    for (int i = first_[level]; i < first_[level + 1]; ++i) {
      const Aabb& box = boxes[entries_[i].box];
      Cell low = cell_of(box.lower, above);
      const Cell high = cell_of(box.upper, above);
      for (std::int64_t z = low[2] - 1; z <= high[2]; ++z) {
        for (std::int64_t y = low[1] - 1; y <= high[1]; ++y) {
          const std::uint64_t last = key_of(above, {high[0], y, z});
          auto e = std::lower_bound(begin, end, key_of(above, {low[0] - 1, y, z}),
                                    [](const Entry& a, std::uint64_t key) { return a.key < key; });
          for (; e != end && e->key <= last; ++e)
            add_if_overlapping(boxes, fixed, entries_[i].box, e->box, pairs);
        }
      }
    }
  }

  std::vector<Entry> entries_, other_;
  Pairs found_;
  PairSorter sorter_;
  std::array<int, levels + 1> first_{};
  double smallest_ = 1;
  Vec3 origin_ = Vec3::Zero();
};

#ifdef URTO_HAVE_FCL
/// As a user of FCL would do it: one manager of the fixed objects, one of the moving ones, update()
/// every step. Setting the boxes is not timed.
class FclTree {
 public:
  void set(std::span<const Aabb> boxes, std::span<const std::uint8_t> fixed) {
    const bool fresh = objects_.empty();
    for (std::size_t k = 0; k < boxes.size(); ++k) {
      if (fresh) {
        const Vec3 e = boxes[k].extent();
        objects_.push_back(
            std::make_unique<fcl::CollisionObjectd>(std::make_shared<fcl::Boxd>(e[0], e[1], e[2])));
      }
      objects_[k]->setTranslation(boxes[k].center());
      objects_[k]->computeAABB();
    }
    if (!fresh) return;
    for (std::size_t k = 0; k < boxes.size(); ++k)
      (fixed[k] != 0 ? fixed_ : moving_).registerObject(objects_[k].get());
    fixed_.setup();
    moving_.setup();
  }
  long find() {
    long pairs = 0;
    const auto count = [](fcl::CollisionObjectd*, fcl::CollisionObjectd*, void* data) {
      ++*static_cast<long*>(data);
      return false;
    };
    moving_.update();
    moving_.collide(&pairs, count);
    if (!fixed_.empty()) moving_.collide(&fixed_, &pairs, count);
    return pairs;
  }

 private:
  std::vector<std::unique_ptr<fcl::CollisionObjectd>> objects_;
  fcl::DynamicAABBTreeCollisionManagerd fixed_, moving_;
};
#endif

}  // namespace urto::bench
