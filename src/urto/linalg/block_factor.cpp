#include "urto/linalg/block_factor.h"

#include <cassert>

namespace urto {

bool BlockFactor::factorize(const BlockMatrix& H) {
  assert(H.symmetry == BlockMatrix::Symmetry::symmetric);
  if (H.start != start_ || H.couplings != couplings_) {
    start_ = H.start;
    couplings_ = H.couplings;
    sizes_.clear();
    for (int k = 0; k < H.blocks(); ++k) sizes_.push_back(H.size(k));
    signs_.assign(sizes_.size(), 1);
    edges_.clear();
    for (const BlockMatrix::Coupling& c : H.couplings) edges_.emplace_back(c.row, c.column);
    factor_.analyse(sizes_, edges_);
  }
  factor_.clear();
  for (int k = 0; k < H.blocks(); ++k) {
    Eigen::Map<Matrix>(factor_.diagonal(k), H.size(k), H.size(k)) = H.block(k);
  }
  for (int e = 0; e < static_cast<int>(edges_.size()); ++e) {
    const auto block = H.coupling(e);
    if (factor_.edge_order(e).first == edges_[e].first) {
      Eigen::Map<Matrix>(factor_.edge(e), block.rows(), block.cols()) = block;
    } else {
      Eigen::Map<Matrix>(factor_.edge(e), block.cols(), block.rows()) = block.transpose();
    }
  }
  return factor_.factorize(signs_);
}

}  // namespace urto
