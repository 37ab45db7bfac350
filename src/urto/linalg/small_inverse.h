// The inverse of one small symmetric positive definite block: a body's mass.
#pragma once

namespace urto {

/// out = A⁻¹, both n × n and column-major. False, with `out` unchanged, if A is not positive
/// definite or not a number. Nothing is allocated up to n = 12.
[[nodiscard]] bool invert_positive_definite(int n, const double* A, double* out);

}  // namespace urto
