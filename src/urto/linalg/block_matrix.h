// Block-sparse storage for mechanics: a contact row touches at most two bodies' 6-blocks, and the mass matrix is
// one block a body. Plain arrays, sizes per block, kernels with fixed sizes for the common 3 × 6 case.
#pragma once

#include <cassert>
#include <vector>

#include "urto/math/types.h"

namespace urto {

/// Largest number of columns of one entry of BlockRows: two rigid bodies' worth.
inline constexpr int max_entry_width = 12;

/// A matrix stored as rows of dense blocks: row block i holds entries entry_start[i] … entry_start[i+1]−1, each a
/// dense (row_start[i+1] − row_start[i]) × width block, row-major, at column `column`.
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

void multiply(const BlockRows& J, const Vector& x, Vector& y);                ///< y = J x
void transpose_multiply_add(const BlockRows& J, const Vector& y, Vector& x);  ///< x += Jᵀ y
SparseMatrix to_sparse(const BlockRows& J);

/// A symmetric block-diagonal matrix: block k is dense, column-major, and starts at row start[k].
struct BlockDiagonal {
  std::vector<int> start{0};
  std::vector<int> offset{0};
  std::vector<double> values;

  int blocks() const { return static_cast<int>(start.size()) - 1; }
  int rows() const { return start.back(); }
  int size(int block) const { return start[block + 1] - start[block]; }
  void push_back(const Eigen::Ref<const Matrix>& block);
  Eigen::Map<const Matrix> block(int k) const {
    return {values.data() + offset[k], size(k), size(k)};
  }
  bool operator==(const BlockDiagonal&) const = default;
};

void multiply(const BlockDiagonal& H, const Vector& x, Vector& y);  ///< y = H x
SparseMatrix to_sparse(const BlockDiagonal& H);

/// The inverse, block by block. Throws InputError naming the first block that is not positive definite.
BlockDiagonal inverse(const BlockDiagonal& H);

/// The block-diagonal structure of a sparse matrix: its connected components, if each is a run of consecutive
/// rows of at most `largest` rows. Returns false if there is none.
bool find_block_diagonal(const SparseMatrix& A, int largest, BlockDiagonal& out);

}  // namespace urto
