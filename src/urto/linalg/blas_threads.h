// One thread inside BLAS: ours are outside, and the order of its sums must not depend on the machine (design, section 3).
#pragma once

namespace urto {

/// To be called before the first factorisation by a library that uses BLAS.
void use_one_blas_thread();

}  // namespace urto
