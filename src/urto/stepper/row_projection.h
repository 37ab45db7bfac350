// The least change, in the mass metric, of a configuration or a velocity that brings some rows to
// where they should be (recipe 002 §2.10):
//
//     min ½ δᵀM δ     with  J_r δ + s_r = 0 of rows that hold, ≥ 0 of rows that may part
//
// s the gaps for a configuration, the rates J v + g_t for a velocity.
#pragma once

#include <span>

#include "urto/mechanics/system.h"
#include "urto/solver/solver.h"

namespace urto {

class RowProjection {
 public:
  struct Row {
    int block = 0, row = 0;  ///< of measured rows
    bool holds = true;       ///< else it may part
    double off = 0;          ///< s
  };

  explicit RowProjection(const System& system) : system_(system) {}
  /// False where no such change was found: δ is then zero.
  bool solve(const State& state, const Interactions& rows, std::span<const Row> wanted,
             Vector& delta);

 private:
  SystemAccess system_;
  StepProblem problem_;
  std::unique_ptr<Solver> solver_ = make_solver("auto");
  SolveOptions options_ = {.islands = true, .settle = false};
  StepSolveReport report_;
  Vector multipliers_, diagonal_;
  std::vector<double> compliance_ = {};
};

}  // namespace urto
