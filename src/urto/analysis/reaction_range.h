// What contacts with friction may carry at rest. The reactions of a configuration at rest,
//
//     f + Jᵀλ = 0,     λ ∈ K,
//
// are seldom unique: a ladder between floor and wall stands with a whole range of forces along the
// line of its two contacts. Where that freedom is one number, the range is found exactly: λ = λ₀ +
// s z, and each cone is an interval of s. Otherwise every row is driven to its least and largest
// value by a small cone program (cone_range.h), to about 1e-8 of the forces.
#pragma once

#include <limits>

#include "urto/mechanics/system.h"

namespace urto {

struct ReactionRange {
  bool balanced = false;  ///< some λ of any sign balances the forces
  int freedom = 0;        ///< dimension of the λ that balance
  bool possible = false;  ///< … and some of them lie in the cones: the configuration can rest
  bool exact = false;     ///< the ranges below are known: freedom is at most `largest_freedom`
  Vector low, high;       ///< of each row [N, N·m]
  Interactions rows;
};

/// A search over more freedoms takes seconds: two cone programs a row.
constexpr int largest_freedom = 24;

/// Velocities are taken as zero. Contacts with a gap of at most `touching` [m] act; limits alike;
/// joint friction by its bound.
ReactionRange reaction_range(const System& system, const State& state, double touching = 1e-6);

}  // namespace urto
