#include "urto/collision/aabb_tree.h"

#include <algorithm>
#include <limits>

namespace urto {
namespace {

constexpr int bin_count = 16;
/// Coordinates further from the origin are moved here: their areas are still finite in single
/// precision.
constexpr double farthest = 1e18;
/// Centres closer together than this are not told apart.
constexpr float smallest_range = 1e-30F;

}  // namespace

Vec3 typical_center(std::span<const Aabb> boxes) {
  constexpr std::size_t most = 63;
  const std::size_t count = std::min(most, boxes.size());
  if (count == 0) return Vec3::Zero();
  Vec3 center;
  for (int axis = 0; axis < 3; ++axis) {
    std::array<double, most> some{};
    for (std::size_t k = 0; k < count; ++k) {
      const Aabb& box = boxes[k * boxes.size() / count];
      some[k] = 0.5 * (box.lower[axis] + box.upper[axis]);
    }
    std::nth_element(some.data(), some.data() + count / 2, some.data() + count);
    center[axis] = some[count / 2];
  }
  return center;
}

AabbTree::Node AabbTree::rounded(const Aabb& box) const {
  Node node;
  for (int k = 0; k < 3; ++k) {
    // In this order of arguments NaN becomes a number, so that a caller's mistake never indexes out
    // of an array.
    node.lower[k] =
        static_cast<float>(std::min(farthest, std::max(-farthest, box.lower[k] - origin_[k])));
    node.upper[k] =
        static_cast<float>(std::min(farthest, std::max(-farthest, box.upper[k] - origin_[k])));
  }
  return node;
}

void AabbTree::set_leaf_items(std::span<const Aabb> boxes) {
  for (Node& item : leaves_) {
    const int name = item.first;
    assert(is_bounded(boxes[name]));
    item = rounded(boxes[name]);
    item.first = name;
  }
}

void AabbTree::fit_nodes() {
  double spread = 0;
  for (int n = node_count() - 1; n >= 0; --n) {
    Node& node = nodes_[n];
    const Node* children = node.count > 0 ? &leaves_[node.first] : &nodes_[node.first];
    const int count = node.count > 0 ? node.count : 2;
    Bounds box = bounds(children[0]);
    for (int k = 1; k < count; ++k) {
      const Bounds child = bounds(children[k]);
      box.lower = child.lower < box.lower ? child.lower : box.lower;
      box.upper = child.upper > box.upper ? child.upper : box.upper;
    }
    const Lanes edges = box.upper - box.lower;
    spread += double{edges[0]} + double{edges[1]} + double{edges[2]};
    node.lower = {box.lower[0], box.lower[1], box.lower[2]};
    node.upper = {box.upper[0], box.upper[1], box.upper[2]};
  }
  spread_ = spread;
  largest_ = 0;
  for (int k = 0; k < 3 && !nodes_.empty(); ++k) {
    largest_ = std::max(
        {largest_, std::abs(double{nodes_[0].lower[k]}), std::abs(double{nodes_[0].upper[k]})});
  }
}

void AabbTree::build(std::span<const Aabb> boxes) {
  origin_ = typical_center(boxes);
  leaves_.resize(boxes.size());
  for (int k = 0; k < size(); ++k) leaves_[k].first = k;
  set_leaf_items(boxes);
  build_nodes();
}

void AabbTree::build(std::span<const Aabb> boxes, std::span<const int> items, const Vec3& origin) {
  origin_ = origin;
  leaves_.resize(items.size());
  for (int k = 0; k < size(); ++k) leaves_[k].first = items[k];
  set_leaf_items(boxes);
  build_nodes();
}

void AabbTree::refit(std::span<const Aabb> boxes) {
  set_leaf_items(boxes);
  fit_nodes();
}

void AabbTree::build_nodes() {
  nodes_.clear();
  depth_ = 0;
  if (leaves_.empty()) {
    fit_nodes();
    return;
  }
  nodes_.reserve(leaves_.size());
  struct Waiting {
    int node, depth;
  };
  std::array<Waiting, stack_size> stack;
  int top = 0;
  nodes_.push_back({.first = 0, .count = size()});
  stack[top++] = {0, 0};
  while (top > 0) {
    const auto [n, depth] = stack[--top];
    depth_ = std::max(depth_, depth);
    const int first = nodes_[n].first;
    const int count = nodes_[n].count;
    if (count <= leaf_size) continue;
    const int middle = split(first, count, depth);
    const int child = node_count();
    nodes_.push_back({.first = first, .count = middle - first});
    nodes_.push_back({.first = middle, .count = first + count - middle});
    nodes_[n].first = child;
    nodes_[n].count = 0;
    stack[top++] = {child + 1, depth + 1};
    stack[top++] = {child, depth + 1};
  }
  fit_nodes();
}

/// Orders the items of a range so that two groups come out, and says where the second begins.
int AabbTree::split(int first, int count, int depth) {
  const Bounds start = bounds(leaves_[first]);
  Lanes low = start.lower + start.upper;  // twice the centre
  Lanes high = low;
  for (int k = first + 1; k < first + count; ++k) {
    const Bounds box = bounds(leaves_[k]);
    const Lanes c = box.lower + box.upper;
    low = c < low ? c : low;
    high = c > high ? c : high;
  }
  const Lanes range = high - low;
  int axis = range[1] > range[0] ? 1 : 0;
  if (range[2] > range[axis]) axis = 2;
  const int half = first + count / 2;
  if (!(range[axis] > smallest_range)) return half;
  if (count > 2 * leaf_size && depth < sah_depth)
    return split_by_area(first, count, axis, low[axis], high[axis]);
  std::nth_element(leaves_.begin() + first, leaves_.begin() + half, leaves_.begin() + first + count,
                   [axis](const Node& a, const Node& b) {
                     return a.lower[axis] + a.upper[axis] < b.lower[axis] + b.upper[axis];
                   });
  return half;
}

/// The cheapest of bin_count − 1 planes by the surface area heuristic: area times items, summed
/// over both sides.
int AabbTree::split_by_area(int first, int count, int axis, float low, float high) {
  struct Bin {
    Bounds box;
    int count;
  };
  constexpr float inf = std::numeric_limits<float>::infinity();
  const Bounds nothing{{inf, inf, inf, inf}, {-inf, -inf, -inf, -inf}};
  std::array<Bin, bin_count> bins;
  bins.fill({nothing, 0});
  const auto grow = [](Bounds& box, const Bounds& by) {
    box.lower = by.lower < box.lower ? by.lower : box.lower;
    box.upper = by.upper > box.upper ? by.upper : box.upper;
  };
  const auto half_area = [](const Bounds& box) {
    const Lanes e = box.upper - box.lower;
    return e[0] * e[1] + e[1] * e[2] + e[2] * e[0];
  };
  const float scale = bin_count / (high - low);
  const auto bin_of = [axis, low, scale](const Node& item) {
    const auto bin = static_cast<int>((item.lower[axis] + item.upper[axis] - low) * scale);
    return std::min(bin, bin_count - 1);
  };
  for (int k = first; k < first + count; ++k) {
    Bin& bin = bins[bin_of(leaves_[k])];
    grow(bin.box, bounds(leaves_[k]));
    ++bin.count;
  }
  std::array<float, bin_count> right_area{};
  Bounds right = nothing;
  for (int b = bin_count - 1; b > 0; --b) {
    grow(right, bins[b].box);
    right_area[b] = half_area(right);
  }
  // The first and the last bin hold something, so every plane has items on both sides.
  Bounds left = nothing;
  int left_count = 0;
  int best = bin_count / 2;
  double best_cost = std::numeric_limits<double>::infinity();
  for (int b = 1; b < bin_count; ++b) {
    grow(left, bins[b - 1].box);
    left_count += bins[b - 1].count;
    const double cost =
        double{half_area(left)} * left_count + double{right_area[b]} * (count - left_count);
    if (cost < best_cost) {
      best_cost = cost;
      best = b;
    }
  }
  const auto middle =
      std::partition(leaves_.begin() + first, leaves_.begin() + first + count,
                     [&bin_of, best](const Node& item) { return bin_of(item) < best; });
  return static_cast<int>(middle - leaves_.begin());
}

AabbTree::Ray AabbTree::local_ray(const Vec3& from, const Vec3& direction) const {
  assert(from.allFinite() && direction.allFinite() && !direction.isZero(0));
  Ray ray;
  for (int k = 0; k < 3; ++k) {
    ray.from[k] = from[k] - origin_[k];
    // Large but finite along an axis the ray does not move on: 0 · ∞ would be NaN.
    ray.inverse[k] = std::min(1e300, std::max(-1e300, 1 / direction[k]));
  }
  // Half an ulp of any coordinate of the tree, and the rounding of the ray's own start.
  const double own = (from - origin_).cwiseAbs().maxCoeff();
  ray.pad = std::numeric_limits<float>::epsilon() * largest_ +
            std::numeric_limits<double>::epsilon() * (own + origin_.cwiseAbs().maxCoeff()) +
            double{std::numeric_limits<float>::min()};
  return ray;
}

}  // namespace urto
