// Accelerations and reactions at a state of a system with joints (index 1):
//
//     [ M  Jᵀ ] {  a }   { f                     }
//     [ J  0  ] { −λ } = { −J̇v − 2ω ġ − ω² g    }         ω: Baumgarte's, 0 for the motion itself
//
// Soft rows are the spring λ = −(k g + c ġ).
#pragma once

#include "urto/linalg/saddle_lu.h"
#include "urto/mechanics/system.h"

namespace urto {

/// The equality rows at a state, speed motors too, with their rates J v + g_t.
void measure_equalities(SystemAccess& system, const State& state, bool accelerations,
                        Interactions& rows, Vector& rate);

/// −(k g + c ġ) of a soft row.
inline double soft_force(const Interactions& rows, const Vector& rate, int block, int row) {
  return -(rows.laws[block].stiffness * rows.g[row] + rows.laws[block].damping * rate[row]);
}

class ForwardDynamics {
 public:
  /// Measures `rows` and `rate` and solves; `besides` are forces that the system does not know.
  /// False if the mass matrix is singular on what the joints
  /// allow, or not a number.
  bool solve(SystemAccess& system, const State& state, double omega, Interactions& rows,
             Vector& rate, Vector& a, Vector& lambda, const Vector* besides = nullptr);

 private:
  BlockMatrix mass_;
  SaddleLu factor_;
  std::vector<SaddleRow> rules_ = {};
  Vector force_, rhs_, solution_;
};

}  // namespace urto
