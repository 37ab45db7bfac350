// The core of a hull with a margin.
#pragma once

#include "urto/collision/polytope.h"

namespace urto {

/// All faces moved inwards by `margin` [m]; faces that vanish thereby are gone. Throws InputError
/// if nothing is left.
Polytope shrunk(const Polytope& p, double margin);

}  // namespace urto
