// What the inertia of a body says.
#pragma once

#include "urto/math/types.h"

namespace urto {

/// In ascending order; not-a-number where the matrix is not finite.
Vec3 principal_moments(const Mat3& inertia);

}  // namespace urto
