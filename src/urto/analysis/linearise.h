// A system about a state at rest: M ẍ + D ẋ + K x = Jᵀμ + u, J x = 0, with x increments of the
// configuration, K = −∂(f + Jᵀλ)/∂q including the geometric term of joints and contacts. Soft rows
// are springs in K and D. Which rows are constraints is said by held_rows.h. From it static
// equilibria (statics.h), modes (modes.h) and a state space.
#pragma once

#include "urto/analysis/held_rows.h"

namespace urto {

struct Linearisation {
  SparseMatrix M, D, K;
  SparseMatrix J;  ///< rigid rows only
  Vector lambda;   ///< reactions of all rows, in the order of `rows`
  Vector force;    ///< f at the state
  Interactions rows;
  double unbalanced = 0;  ///< largest acceleration there: zero at an equilibrium
};

/// Velocities are taken as zero. Reactions are those that hold the system at the state. Throws
/// InputError where a contact, limit or dry friction acts.
Linearisation linearise(const System& system, const State& state);
/// About an equilibrium, with the rows and reactions that hold there.
Linearisation linearise(const System& system, const State& state, const HeldRows& held);

/// Motions that the rigid rows allow: columns N with J N = 0 and NᵀM N = 1 (dense).
Matrix allowed_motions(const SparseMatrix& M, const SparseMatrix& J);

/// ẏ = A y + B u for y = (z, ż), x = N z: u is one force a velocity of the system, C y are the
/// increments x.
struct StateSpace {
  Matrix A, B, C;
};
StateSpace state_space(const Linearisation& l);

}  // namespace urto
