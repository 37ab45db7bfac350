// One thread inside BLAS. With several, the order of its sums depends on the machine, and so do the
// last bits of a large factorisation (design, section 3); and they compete with the solvers' own.
#pragma once

namespace urto {

/// For programs, to be called once at the start: it is a setting of the whole process, so the
/// library itself never makes it. The `urto` command does. Does nothing where BLAS is not OpenBLAS;
/// another one must be told in its own way (MKL_NUM_THREADS, BLIS_NUM_THREADS).
void use_one_blas_thread();

}  // namespace urto
