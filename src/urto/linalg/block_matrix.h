// Block-sparse storage for mechanics: a row touches few nodes, and matrices have one dense block
// per node and per coupled pair of nodes. Plain arrays, sizes per block, kernels with fixed sizes
// for the common 3 × 6 case.
#pragma once

#include <cassert>
#include <cstdint>
#include <span>
#include <vector>

#include "urto/math/types.h"
#include "urto/thread/thread_pool.h"

namespace urto {

/// Largest number of columns of one entry of BlockRows: two rigid bodies' worth.
inline constexpr int max_entry_width = 12;

/// A matrix stored as rows of dense blocks: row block i holds entries entry_start[i] …
/// entry_start[i+1]−1, each a dense (row_start[i+1] − row_start[i]) × width block, row-major, at
/// column `column`.
struct BlockRows {
  struct Entry {
    int column = 0;  ///< first scalar column
    int width = 0;   ///< number of scalar columns
    int offset = 0;  ///< of its first value
    bool operator==(const Entry&) const = default;
  };

  int columns = 0;
  std::vector<int> row_start{0};
  std::vector<int> entry_start{0};
  std::vector<Entry> entries;
  std::vector<double> values;

  int blocks() const { return static_cast<int>(row_start.size()) - 1; }
  int rows() const { return row_start.back(); }
  int height(int block) const { return row_start[block + 1] - row_start[block]; }

  /// Appends an empty row block of `height` rows; entries are then added to it with `add_entry`.
  void add_block(int height);
  /// Appends an entry to the last row block: `block` is height × width.
  void add_entry(int column, const Eigen::Ref<const Matrix>& block);

  bool operator==(const BlockRows&) const = default;
};

/// y += J_i x for row block i (y has `height(i)` entries).
void multiply_add_block(const BlockRows& J, int i, const double* x, double* y);
/// x += J_iᵀ y for row block i.
void transpose_multiply_add_block(const BlockRows& J, int i, const double* y, double* x);

void multiply(const BlockRows& J, const Vector& x, Vector& y,
              ThreadPool* threads = nullptr);                                 ///< y = J x
void transpose_multiply_add(const BlockRows& J, const Vector& y, Vector& x);  ///< x += Jᵀ y
SparseMatrix to_sparse(const BlockRows& J);

/// A square matrix of dense blocks: one node per body, finite-element node or whatever else moves,
/// of any size. The diagonal blocks are always there, the others where two nodes are coupled
/// (springs, elements, a consistent mass). Column-major blocks.
///
/// Pushed back block by block it is a block-diagonal matrix. A matrix that is assembled anew in
/// every step keeps its pattern:
///
///     H.start_assembly(starts, BlockMatrix::Symmetry::symmetric);  // zeros, in kept storage
///     H.add(row, column, block);  …      // any order, any number of times
///     H.finish_assembly();               // sorted; nothing moves if the pattern is as before
struct BlockMatrix {
  enum class Symmetry : std::uint8_t { symmetric, general };
  struct Coupling {
    int row = 0, column = 0;  ///< nodes
    int offset = 0;           ///< of its first value
    bool operator==(const Coupling&) const = default;
  };

  std::vector<int> start{0};   ///< first scalar row of each node, and the number of rows
  std::vector<int> offset{0};  ///< of the diagonal blocks' values
  /// Sorted by row and column, each pair once. Symmetric: row < column, the transposed block is
  /// implied.
  std::vector<Coupling> couplings = {};
  std::vector<double> values = {};
  Symmetry symmetry = Symmetry::symmetric;

  int blocks() const { return static_cast<int>(start.size()) - 1; }
  int rows() const { return start.back(); }
  int size(int node) const { return start[node + 1] - start[node]; }
  bool is_block_diagonal() const { return couplings.empty(); }
  /// Appends a node with its diagonal block; not once there are couplings.
  void push_back(const Eigen::Ref<const Matrix>& block);
  Eigen::Map<const Matrix> block(int node) const {
    return {values.data() + offset[node], size(node), size(node)};
  }
  Eigen::Map<Matrix> block(int node) {
    return {values.data() + offset[node], size(node), size(node)};
  }
  Eigen::Map<const Matrix> coupling(int k) const {
    const Coupling& c = couplings[k];
    return {values.data() + c.offset, size(c.row), size(c.column)};
  }

  /// Zeros for nodes that start at `starts` (one more than there are nodes).
  void start_assembly(std::span<const int> starts, Symmetry wanted);
  /// += factor · block at a pair of nodes. A symmetric matrix takes the symmetric part of all that
  /// is added: ½(B + Bᵀ) on the diagonal, ½B from each of the two triangles.
  void add(int row, int column, const Eigen::Ref<const Matrix>& block, double factor = 1);
  /// Sorts new couplings in and drops those that nobody added to.
  void finish_assembly();

  bool operator==(const BlockMatrix& other) const {
    return start == other.start && couplings == other.couplings && values == other.values &&
           symmetry == other.symmetry;
  }

 private:
  void rehash();
  std::size_t place(int row, int column) const;
  int find(int row, int column);

  // Assembly: couplings found by a hash of their nodes, and which of them were added to.
  std::vector<int> places_ = {};  ///< hash table of indices into `couplings`, −1 is free
  std::vector<std::uint8_t> touched_ = {};  ///< per coupling
  int sorted_ = 0;                          ///< couplings of the kept pattern; later ones are new
  std::vector<Coupling> scratch_couplings_ = {};
  std::vector<double> scratch_values_ = {};
};

void multiply(const BlockMatrix& H, const Vector& x, Vector& y,
              ThreadPool* threads = nullptr);  ///< y = H x
void multiply_add(const BlockMatrix& H, const Vector& x, Vector& y,
                  ThreadPool* threads = nullptr);  ///< y += H x
/// y += |H| |x|: the size of the terms of H x, for the rounding of it.
void add_magnitudes(const BlockMatrix& H, const Vector& x, Vector& y);
SparseMatrix to_sparse(const BlockMatrix& H);

/// A ← A T with a block-diagonal T of the same nodes; also while A is being assembled. Nodes of at
/// most max_entry_width.
void multiply_right(BlockMatrix& A, const BlockMatrix& T);
/// out = J T, with the pattern of J.
void multiply_right(const BlockRows& J, const BlockMatrix& T, BlockRows& out);

/// The inverse of the diagonal blocks, of all of H where it is block-diagonal. Throws InputError
/// naming the first block that is not positive definite.
BlockMatrix inverse(const BlockMatrix& H);

/// The block-diagonal structure of a sparse matrix: its connected components, if each is a run of
/// consecutive rows of at most `largest` rows. Returns false if there is none.
bool find_block_diagonal(const SparseMatrix& A, int largest, BlockMatrix& out);

}  // namespace urto
