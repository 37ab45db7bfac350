// A compressed sparse matrix from its entries in any order, in storage that is kept: what Eigen's
// setFromTriplets does, without the copies that it allocates each time. The result allocates
// nothing while it keeps its number of columns and does not outgrow what it once held.
#pragma once

#include <vector>

#include "urto/linalg/block_matrix.h"
#include "urto/math/types.h"

namespace urto {

class SparseBuilder {
 public:
  void start(int rows, int columns);
  void add(int row, int column, double value) { entries_.push_back({row, column, value}); }
  /// All entries of a matrix, its first one at (row, column); of H both triangles.
  void add(const SparseMatrix& A, int row = 0, int column = 0);
  void add(const BlockMatrix& H, int row = 0, int column = 0);
  void add(const BlockRows& J, int row = 0, int column = 0);
  /// Sorted; entries of one place are summed in the order in which they were added.
  void finish(SparseMatrix& out);

 private:
  struct Entry {
    int row = 0, column = 0;
    double value = 0;
  };

  int rows_ = 0, columns_ = 0;
  std::vector<Entry> entries_ = {}, sorted_ = {};
  std::vector<int> next_ = {};
};

}  // namespace urto
