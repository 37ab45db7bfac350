// The walks through an AabbTree: templates over what is done with what they find. Included by
// aabb_tree.h only.
#pragma once

#include <algorithm>

namespace urto {

inline bool AabbTree::overlap(const Bounds& a, const Bounds& b) {
  const auto both = (a.lower <= b.upper) & (b.lower <= a.upper);
#ifdef __SSE2__
  return (_mm_movemask_ps(std::bit_cast<__m128>(both)) & 7) == 7;
#else
  return (both[0] & both[1] & both[2]) != 0;
#endif
}

inline bool AabbTree::overlap_strictly(const Bounds& a, const Bounds& b) {
  const auto both = (a.lower < b.upper) & (b.lower < a.upper);
  return (both[0] & both[1] & both[2]) != 0;
}

inline double AabbTree::entry(const Ray& ray, const Node& node, double reach) {
  double enter = 0;
  double leave = reach;
  for (int k = 0; k < 3; ++k) {
    const double low = (double{node.lower[k]} - ray.pad - ray.from[k]) * ray.inverse[k];
    const double high = (double{node.upper[k]} + ray.pad - ray.from[k]) * ray.inverse[k];
    enter = std::max(enter, std::min(low, high));
    leave = std::min(leave, std::max(low, high));
  }
  // The products are rounded; a ray that starts far away would otherwise slip between neighbouring
  // boxes.
  return enter <= leave * (1 + 1e-15) ? enter : -1;
}

template <class F>
void AabbTree::for_overlaps(const Aabb& box, F&& f) const {
  if (nodes_.empty()) return;
  const Bounds query = bounds(rounded(box));
  std::array<int, stack_size> stack;
  int top = 0;
  if (overlap(query, bounds(nodes_[0]))) stack[top++] = 0;
  while (top > 0) {
    const Node& node = nodes_[stack[--top]];
    if (node.count > 0) {
      for (int k = node.first; k < node.first + node.count; ++k) {
        if (overlap(query, bounds(leaves_[k]))) f(leaves_[k].first);
      }
      continue;
    }
    for (int child = node.first; child < node.first + 2; ++child) {
      if (overlap(query, bounds(nodes_[child]))) stack[top++] = child;
    }
  }
}

template <class F>
void AabbTree::for_ray(const Vec3& from, const Vec3& direction, double reach, F&& f) const {
  if (nodes_.empty()) return;
  const Ray ray = local_ray(from, direction);
  struct Waiting {
    int node;
    double enter;
  };
  std::array<Waiting, stack_size> stack;
  int top = 0;
  stack[top++] = {0, 0};
  while (top > 0) {
    const Waiting next = stack[--top];
    if (next.enter > reach) continue;
    const Node& node = nodes_[next.node];
    if (node.count > 0) {
      for (int k = node.first; k < node.first + node.count; ++k) {
        if (entry(ray, leaves_[k], reach) >= 0) reach = f(leaves_[k].first, reach);
      }
      continue;
    }
    Waiting near{node.first, entry(ray, nodes_[node.first], reach)};
    Waiting far{node.first + 1, entry(ray, nodes_[node.first + 1], reach)};
    if (far.enter < near.enter) std::swap(near, far);
    if (far.enter >= 0) stack[top++] = far;
    if (near.enter >= 0) stack[top++] = near;
  }
}

template <class F>
void AabbTree::pairs_of_leaves(const AabbTree& ta, const Node& a, const AabbTree& tb, const Node& b,
                               F& f) {
  const Bounds all_b = bounds(b);
  // Written first, counted if it holds: whether boxes overlap is not to be predicted, and a wrong
  // guess costs more than a store.
  std::array<std::array<int, 2>, leaf_size * leaf_size + 1> hits;
  int count = 0;
  for (int i = a.first; i < a.first + a.count; ++i) {
    const Bounds box = bounds(ta.leaves_[i]);
    if (!overlap(box, all_b)) continue;
    for (int j = b.first; j < b.first + b.count; ++j) {
      hits[count] = {i, j};
      count += static_cast<int>(overlap(box, bounds(tb.leaves_[j])));
    }
  }
  for (int k = 0; k < count; ++k) {
    const Node& item_a = ta.leaves_[hits[k][0]];
    const Node& item_b = tb.leaves_[hits[k][1]];
    f(item_a.first, item_b.first, overlap_strictly(bounds(item_a), bounds(item_b)));
  }
}

/// Goes down both sides at once, and down one of them when the other has come to a leaf. A level
/// leaves at most three pairs waiting.
template <class F>
void AabbTree::cross_pairs(const AabbTree& ta, int a, const AabbTree& tb, int b, F& f) {
  if (!overlap(bounds(ta.nodes_[a]), bounds(tb.nodes_[b]))) return;
  std::array<std::array<int, 2>, 4 * stack_size> stack;
  int top = 0;
  stack[top++] = {a, b};
  while (top > 0) {
    const auto [i, j] = stack[--top];
    const Node& na = ta.nodes_[i];
    const Node& nb = tb.nodes_[j];
    if (na.count > 0 && nb.count > 0) {
      pairs_of_leaves(ta, na, tb, nb, f);
      continue;
    }
    const int first_a = na.count > 0 ? i : na.first;
    const int last_a = na.count > 0 ? i : na.first + 1;
    const int first_b = nb.count > 0 ? j : nb.first;
    const int last_b = nb.count > 0 ? j : nb.first + 1;
    for (int p = first_a; p <= last_a; ++p) {
      const Bounds box = bounds(ta.nodes_[p]);
      for (int q = first_b; q <= last_b; ++q) {
        stack[top] = {p, q};  // counted if it holds, as in pairs_of_leaves
        top += static_cast<int>(overlap(box, bounds(tb.nodes_[q])));
      }
    }
  }
}

template <class F>
void AabbTree::for_pairs(F&& f) const {
  for (const Node& node : nodes_) {
    if (node.count == 0) {
      cross_pairs(*this, node.first, *this, node.first + 1, f);
      continue;
    }
    for (int i = node.first; i < node.first + node.count; ++i) {
      const Bounds box = bounds(leaves_[i]);
      for (int j = i + 1; j < node.first + node.count; ++j) {
        const Bounds other = bounds(leaves_[j]);
        if (overlap(box, other))
          f(leaves_[i].first, leaves_[j].first, overlap_strictly(box, other));
      }
    }
  }
}

template <class F>
void AabbTree::for_pairs_with(const AabbTree& other, F&& f) const {
  if (nodes_.empty() || other.nodes_.empty()) return;
  assert(origin_ == other.origin_);
  cross_pairs(*this, 0, other, 0, f);
}

}  // namespace urto
