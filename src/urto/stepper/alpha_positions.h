// The positions of a step of the non-smooth generalised-α scheme as a step problem (recipe 004,
// supplement §5): the least correction U, in the metric of the mass, that closes joints and keeps
// gaps from being negative, linearised again and again at its last solution,
//
//     H x − J̄ᵀλ = ½ J̄_Tᵀ P_T,     u = J̄ x + (g − J̄ U)/h,     x = U/h,  λ = ν/h
//     J̄ = J T(δ),   λ ∈ ℝ of joints, ℝ₊ of contacts and limits along their normals
//
// Where forces are stiff H = M + κh²K, or U would be what only the mass allows and the rest would
// come back as a blow (supplement §5, step 4).
#pragma once

#include <vector>

#include "urto/linalg/block_factor.h"
#include "urto/stepper/alpha_step.h"
#include "urto/stepper/options.h"

namespace urto {

class AlphaPositions {
 public:
  AlphaPositions(SystemAccess& system, const SimulationOptions& options, ThreadPool& threads);

  /// For a step from here on: which rows take part, and H at the state q̃ if `flexible`.
  void begin(const Interactions& detected, const AlphaStep& step, bool flexible);
  /// ν that contacts are known to have by forces of their own, per row: where U is nothing it is
  /// that.
  void expect(const Vector& nu) { expected_ = nu; }
  /// Corrects U until the certificate and the gaps hold, at most `most` linearisations. `rows` and
  /// the step are left at its end; ν per row [kg m]; `half`: ½ P_T per row.
  void solve(AlphaStep& step, Interactions& rows, const Vector& half, Vector& nu, int most);
  /// Measures a correction found by somebody else.
  void certify(const AlphaStep& step, const Interactions& rows, const Vector& half,
               const Vector& nu);
  /// Moves what stiffness holds of U into the smooth motion, if H is not M; q⁺ stays. The step has
  /// then its a⁺ and U.
  void share(AlphaStep& step, const Interactions& rows, const Vector& half, const Vector& nu);

  bool is_flexible() const { return flexible_; }
  const Certificate& certificate() const { return certificate_; }
  const StepSolveReport& report() const { return report_; }
  int passes() const { return passes_; }
  /// The largest joint error and penetration left [m, rad].
  double error() const { return error_; }

 private:
  bool is_nothing(const AlphaStep& step);
  void include(const Interactions& rows, const Vector& nu);
  void pose(const AlphaStep& step, const Interactions& rows, const Vector& half, const Vector& nu);
  void measure_error(const AlphaStep& step, const Interactions& rows, const Vector& nu);
  int height(const Interactions& rows, int block) const;
  void load(const Interactions& rows, const Vector& half, Vector& out) const;

  SystemAccess& system_;
  const SimulationOptions& options_;
  std::unique_ptr<Solver> solver_;
  SolveOptions solver_options_;
  Certifier certifier_;
  Certificate certificate_;
  StepSolveReport report_;
  StepProblem problem_;
  std::vector<int> blocks_ = {};  ///< of the rows: those with a position to keep
  std::vector<double> compliance_ = {};
  BlockRows turned_;
  BlockMatrix mass_;
  BlockFactor factor_, mass_factor_;  ///< of H, which may couple nodes, and of the mass alone
  Vector x_, lambda_, along_, work_;
  Vector expected_, row_work_;
  bool flexible_ = false, with_springs_ = false;
  double kappa_ = 0;
  std::vector<std::uint8_t> included_ = {};  ///< per block of the rows
  int passes_ = 0;
  double error_ = 0;
};

}  // namespace urto
