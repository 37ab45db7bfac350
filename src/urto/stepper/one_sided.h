// The refusal of what is not smooth, for steppers and analyses that have equalities only.
#pragma once

#include <string_view>

#include "urto/mechanics/system.h"

namespace urto {

/// Throws InputError, naming the row and the stepper 'dvi', if a contact, limit or dry friction acts at the state. `rows` is scratch.
void refuse_one_sided(System& system, const State& state, std::string_view who, Interactions& rows);

}  // namespace urto
