// The refusal of what is not smooth, for steppers and analyses that have equalities only.
#pragma once

#include <string>
#include <string_view>

#include "urto/mechanics/system.h"

namespace urto {

/// A sentence about the first contact, limit or dry friction that acts at the state; empty if none
/// does. `rows` is scratch.
std::string one_sided_at_work(SystemAccess& system, const State& state, Interactions& rows);

/// Throws InputError, naming the row and the stepper 'dvi', if one does.
void refuse_one_sided(const System& system, const State& state, std::string_view who);

}  // namespace urto
