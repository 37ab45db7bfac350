// Which rows are constraints of small motions about a state of rest. Joints are. Of what acts on
// one side, that which presses holds: a contact that carries force sticks, in its friction cone
// both ways along the surface and without rolling where it resists that; a limit that pushes stays
// closed; dry friction and a bounded motor hold the coordinate while they are within their bound.
// What touches without a force, and what has reached its bound, is free: it gives a force that does
// not change to first order. What presses through a spring is that spring.
#pragma once

#include <string>
#include <vector>

#include "urto/analysis/statics.h"

namespace urto {

enum class RowRole : std::uint8_t {
  free,   ///< no row of small motions
  rigid,  ///< J x = 0
  soft,   ///< a spring and a damper of its law
};

struct HeldRows {
  Interactions rows = {};
  Vector lambda = {};              ///< forces at rest
  std::vector<RowRole> role = {};  ///< one per row
  // What was taken to hold, and what to be free, though it touches or acts; by name.
  std::vector<std::string> contacts = {}, limits = {}, motors = {}, frictions = {}, free = {};
  /// Contacts with as much friction as their cone allows: taken to stick all the same.
  std::vector<std::string> at_bound = {};
};

/// Of the joints alone: every equality row of the state.
HeldRows held_equalities(const System& system, const State& state);
/// At an equilibrium, with the reactions found there.
HeldRows held_at_rest(const System& system, const StaticsReport& report);

}  // namespace urto
