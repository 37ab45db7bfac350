// W = J H⁻¹ Jᵀ + E of an island whose bodies are coupled by springs, row block by row block: dense,
// through a factor of H. For islands of some ten row blocks; larger ones are not swept.
#pragma once

#include "urto/linalg/saddle_ldlt.h"
#include "urto/solver/row_blocks.h"

namespace urto {

class CoupledRows {
 public:
  /// Factorises H on the island's nodes, and fills q and ρ of its row blocks. `mass_diagonal`: of
  /// H. False if H is not positive definite.
  [[nodiscard]] bool factorize(const StepProblem& p, const SaddleLdlt::System& island,
                               const Vector& mass_diagonal, RowBlocks& rows);
  /// Then, for sweeps: W itself, and W_ii with their inverses.
  void assemble(const StepProblem& p, const SaddleLdlt::System& island, const Vector& mass_diagonal,
                RowBlocks& rows);

  const SaddleLdlt& mass() const { return mass_; }
  const BlockRows& W() const {
    return W_;
  }  ///< row block p: the island's p-th, on the columns of λ

 private:
  void lay_out(const StepProblem& p, const SaddleLdlt::System& island);
  double at(const SaddleLdlt::System& island, const BlockRows& J, int i, int row) const;
  void scatter(const SaddleLdlt::System& island, const BlockRows& J, int i, int row);

  SaddleLdlt mass_;
  BlockRows W_;
  Vector y_;
};

}  // namespace urto
