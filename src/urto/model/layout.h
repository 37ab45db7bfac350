// The configuration of a system as a row of nodes: where each begins in q and in v, and what ⊕ is
// on it.
//
//     flat   q ⊕ δ = q + δ, any number of coordinates: point masses, textbook coordinates,
//            finite-element nodes
//     pose   a position (world) and a unit quaternion (w, x, y, z) with increments on the right: 7
//            numbers in q, 6 in v
#pragma once

#include <cstdint>
#include <vector>

#include "urto/linalg/block_matrix.h"
#include "urto/math/types.h"
#include "urto/thread/thread_pool.h"

namespace urto {

enum class NodeKind : std::uint8_t { flat, pose };

struct Layout {
  std::vector<int> q_start{0}, v_start{0};  ///< one more than there are nodes
  std::vector<NodeKind> kinds = {};

  int nodes() const { return static_cast<int>(kinds.size()); }
  int nq() const { return q_start.back(); }
  int nv() const { return v_start.back(); }
  int size(int node) const { return v_start[node + 1] - v_start[node]; }  ///< in v
  void add_flat(int size);
  void add_pose();
  bool is_flat() const { return nq() == nv(); }  ///< ⊕ is a sum everywhere
};

/// q ⊕ δ; `out` may be `q`. Quaternions stay unit.
void add_increment(const Layout& layout, const Vector& q, const Vector& delta, Vector& out,
                   ThreadPool* threads = nullptr);
/// The δ with from ⊕ δ = to.
void difference(const Layout& layout, const Vector& to, const Vector& from, Vector& delta);
/// T(δ) with q ⊕ (δ + ε) = (q ⊕ δ) ⊕ (T(δ) ε + O(ε²)): block-diagonal, not symmetric. Left without
/// nodes where ⊕ is a sum.
void increment_tangent(const Layout& layout, const Vector& delta, BlockMatrix& T);

}  // namespace urto
