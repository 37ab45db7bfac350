// Cholesky factor of a symmetric positive definite BlockMatrix, block by block (block_ldlt.h). The
// order of elimination and the fill are kept while the pattern stays, so that a step with the same
// springs allocates nothing.
#pragma once

#include <utility>
#include <vector>

#include "urto/linalg/block_ldlt.h"
#include "urto/linalg/block_matrix.h"

namespace urto {

class BlockFactor {
 public:
  /// False if the matrix is not positive definite, or not a number.
  [[nodiscard]] bool factorize(const BlockMatrix& H);
  /// x ← H⁻¹ x; not-a-number unless the last factorisation succeeded.
  void solve(Vector& x) const { factor_.solve(x.data()); }

 private:
  std::vector<int> start_ = {}, sizes_ = {}, signs_ = {};
  std::vector<BlockMatrix::Coupling> couplings_ = {};  ///< of the pattern that was analysed
  std::vector<std::pair<int, int>> edges_ = {};
  BlockLdlt factor_;
};

}  // namespace urto
