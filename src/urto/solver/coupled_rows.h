// W = J H⁻¹ Jᵀ + E of an island whose bodies are coupled by springs or joined, row block by row
// block: dense, through a factor of H. Joints are eliminated with the bodies where there are any:
// then H⁻¹ is that of the bodies with their joints, W that of the other row blocks, and sweeps
// never meet what they are worst at. For islands of some ten row blocks besides joints; larger ones
// are not swept by rows.
#pragma once

#include <array>

#include "urto/linalg/saddle_ldlt.h"
#include "urto/solver/row_access.h"

namespace urto {

/// δ of joints, relative to a row's own J H⁻¹ Jᵀ. Small: refinement removes δ against the smallest
/// eigenvalue of J H⁻¹ Jᵀ, which light parts push far below the diagonal. Large: a redundant row's
/// pivot is δ and must stay above rounding. So the small one is tried first.
inline constexpr std::array<double, 3> joint_regularisations{1e-12, 1e-9, 1e-6};

class CoupledRows {
 public:
  /// Factorises H on the island's nodes, and fills q and ρ of its row blocks. `mass_diagonal`: of
  /// H. False if H is not positive definite.
  [[nodiscard]] bool factorize(const StepProblem& p, const SaddleLdlt::System& island,
                               const Vector& mass_diagonal, RowBlocks& rows);
  /// Joints are held by the factor from now on, with this δ. False if they cannot be: then nothing
  /// has changed but that `factorize` has to be called again.
  [[nodiscard]] bool hold_joints(const StepProblem& p, const SaddleLdlt::System& island,
                                 double regularisation);
  /// Then, for sweeps: W itself, and W_ii with their inverses.
  void assemble(const StepProblem& p, const SaddleLdlt::System& island, RowBlocks& rows);
  /// All row blocks, without W: to measure.
  RowView view(const StepProblem& p, const SaddleLdlt::System& island, const RowBlocks& rows);
  /// Those that are not held, with it: to sweep.
  RowView view_by_rows(const StepProblem& p, const SaddleLdlt::System& island,
                       const RowBlocks& rows);

 private:
  SaddleLdlt& factor() { return held_.empty() ? mass_ : joined_; }
  std::span<const int> swept(const SaddleLdlt::System& island) const {
    return held_.empty() ? island.blocks : std::span<const int>(others_);
  }
  void lay_out(const StepProblem& p, std::span<const int> blocks);
  double at(const SaddleLdlt::System& island, const BlockRows& J, int i, int row);
  void scatter(const SaddleLdlt::System& island, const BlockRows& J, int i, int row);
  void load(const StepProblem& p, const SaddleLdlt::System& island);

  SaddleLdlt mass_, joined_;
  std::vector<int> held_ = {}, others_ = {};
  BlockRows W_;
  Vector q_, y_;
};

}  // namespace urto
