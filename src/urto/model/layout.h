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

/// Coordinates q of a layout. They are no vectors: q + δ and q − q' do not compile, for on a pose
/// they are not ⊕ and ⊖. Increments and velocities, of the tangent space, are plain vectors.
/// (Recipe 000, checklist 2: Chrono's ChState and ChStateDelta. An operator + that means ⊕ would
/// have to know the layout.)
class Configuration : public Vector {
 public:
  Configuration() = default;
  template <class Derived>
  explicit Configuration(const Eigen::MatrixBase<Derived>& numbers) : Vector(numbers) {}
  template <class Derived>
  Configuration& operator=(const Eigen::MatrixBase<Derived>& numbers) {
    Vector::operator=(numbers);
    return *this;
  }

  template <class Derived>
  void operator+=(const Eigen::MatrixBase<Derived>&) = delete;
  template <class Derived>
  void operator-=(const Eigen::MatrixBase<Derived>&) = delete;
  template <class Derived>
  friend void operator+(const Configuration&, const Eigen::MatrixBase<Derived>&) = delete;
  template <class Derived>
  friend void operator+(const Eigen::MatrixBase<Derived>&, const Configuration&) = delete;
  template <class Derived>
  friend void operator-(const Configuration&, const Eigen::MatrixBase<Derived>&) = delete;
  template <class Derived>
  friend void operator-(const Eigen::MatrixBase<Derived>&, const Configuration&) = delete;
};

/// q ⊕ δ; `out` may be `q`. Quaternions stay unit.
void add_increment(const Layout& layout, const Configuration& q, const Vector& delta,
                   Configuration& out, ThreadPool* threads = nullptr);
void add_increment(const Layout& layout, const Configuration& q, const Configuration& delta,
                   Configuration& out, ThreadPool* threads = nullptr) = delete;
/// The δ with from ⊕ δ = to.
void difference(const Layout& layout, const Configuration& to, const Configuration& from,
                Vector& delta);
/// T(δ) with q ⊕ (δ + ε) = (q ⊕ δ) ⊕ (T(δ) ε + O(ε²)): block-diagonal, not symmetric. Left without
/// nodes where ⊕ is a sum.
void increment_tangent(const Layout& layout, const Vector& delta, BlockMatrix& T);

}  // namespace urto
