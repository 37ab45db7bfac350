// Direct factorisation of the saddle point of a mechanism, block by block:
//
//     [ H   Jᵀ ] [  x ]   [ a ]
//     [ J  −E_δ] [ −λ ] = [ −b ],   E_δ = E + δ
//
// One node a body (6 × 6) and one a joint (up to 6 × 6), eliminated in an order of least degree: a
// tree of joints costs time linear in its size, and a closed loop adds what the loop adds. The
// matrix is symmetric quasi-definite for every δ > 0, so that any order is stable enough without
// pivoting (Vanderbei 1995) and the pattern can be analysed once and for all. The factor is
// refilled without allocation.
//
// A well-kept library is the default for sparse factors here (CHOLMOD, MUMPS). This one exists
// because a step of a small mechanism takes a few microseconds, which is less than a library's call
// overhead, and because the step loop must not allocate (docs/architecture.md has the numbers).
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "urto/math/types.h"

namespace urto {

class BlockLdlt {
 public:
  /// Nodes by size, edges by pairs of nodes (each pair once, any order, no loops). Chooses the
  /// order of elimination and the fill. Throws InputError where the factor would have more numbers
  /// than memory has room for, or than int can count.
  void analyse(std::span<const int> sizes, std::span<const std::pair<int, int>> edges);

  int nodes() const { return static_cast<int>(size_.size()); }
  int rows() const { return start_.empty() ? 0 : start_.back(); }
  int row(int node) const {
    return start_[node];
  }  ///< first entry of a node in the vectors of `solve`

  /// Zeroes all blocks.
  void clear();
  /// No factorisation is there any more.
  void forget() { usable_ = false; }
  /// Only those that are neither a node's nor an edge's, where the caller writes all of the others.
  void clear_fill();
  /// Diagonal block of a node, column-major, size × size; both triangles are to be filled.
  double* diagonal(int node) { return values_.data() + diagonal_[node]; }
  /// Block of an edge, to be filled column-major as (rows of `first`) × (rows of `second`) with
  /// `edge_order`.
  double* edge(int e) { return values_.data() + edge_[e].offset; }
  /// (row node, column node) of the stored block of an edge: fill A(row, column).
  std::pair<int, int> edge_order(int e) const { return {edge_[e].row, edge_[e].column}; }

  /// `sign` of each node: +1 where the diagonal is positive definite after elimination (bodies), −1
  /// where negative (constraints). Returns false, with the node in `failed`, if a pivot has the
  /// wrong sign.
  [[nodiscard]] bool factorize(std::span<const int> sign, int* failed = nullptr);
  /// Solves in place; not-a-number unless the last factorisation succeeded.
  void solve(double* x) const;

  long factor_size() const { return static_cast<long>(values_.size()); }

 private:
  struct Off {
    int node = 0;    ///< row node
    int offset = 0;  ///< of its block, size(node) × size(column), column-major
  };
  struct Edge {
    int row = 0, column = 0, offset = 0;
  };
  // Steps of `analyse`; `position` of each node in `order_`.
  void place_blocks(std::span<const int> position, std::vector<std::vector<int>>& neighbours);
  int offset_of(int row, int column, std::span<const int> position) const;
  void list_targets(std::span<const int> position);
  void list_fill();

  std::vector<int> size_, start_;
  std::vector<int> order_;      ///< nodes in order of elimination
  std::vector<int> diagonal_;   ///< node → offset
  std::vector<int> off_start_;  ///< per position in `order_`
  std::vector<Off> off_;
  std::vector<int> target_start_;  ///< per position: into target_
  std::vector<int>
      target_;  ///< offsets of the blocks that eliminating a node updates, pairs (i ≥ j)
  std::vector<Edge> edge_;
  std::vector<std::pair<int, int>> fill_;  ///< ranges of values that belong to no node and no edge
  std::vector<int> sign_;
  std::vector<double> values_;
  bool usable_ = false;
  std::vector<double> scratch_;  ///< A_ik of the column being eliminated
};

}  // namespace urto
