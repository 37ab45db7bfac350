// The generalised friction cone of a configuration, and whether it is pointed (recipe 000 §11,
// (205)-(206)):
//
//     Y = { Jᵀλ : λ ∈ K },     pointed:  λ ∈ K, Jᵀλ = 0  ⇒  λ = 0 on the contacts
//
// K is that of the contacts and limits that touch; joints are rows without a sign. Where Y is
// pointed some velocity takes all contacts apart at once, within their cones: J v ∈ int K*, 0 on
// joints. Reactions are then bounded, and the problem of a step with convex friction has a solution
// whatever the gaps. Where it is not, a body is held between contacts that press on each other with
// any force: a peg in a rough hole. Both answers have a witness, which is checked: that velocity, or
// those forces.
//
// The source has it that reactions are unique where Y is pointed, and not pointed for a body on
// three points of a table. Neither is so: those normals all point upwards, Y is pointed, and the
// forces are not unique. Uniqueness is a matter of rank: `freedom`.
#pragma once

#include <vector>

#include "urto/mechanics/system.h"

namespace urto {

struct FrictionCone {
  int touching = 0;          ///< blocks of contacts and limits with a gap of at most that asked for
  bool known = false;        ///< pointed or not: one of the two witnesses was found
  bool pointed = false;
  std::vector<int> jammed = {};  ///< blocks that may carry any force, if it is not
  /// Dimension of the contacts' λ with Jᵀλ = 0; −1 above `largest_ranked` rows: not looked at.
  int freedom = -1;
};

constexpr int largest_examined = 6000;  ///< rows
constexpr int largest_ranked = 400;     ///< rows

/// `rows` are those of the state. Soft rows and bounded ones carry no force of any size: they are
/// left out.
FrictionCone friction_cone(const System& system, const State& state, const Interactions& rows,
                           double touching);

}  // namespace urto
