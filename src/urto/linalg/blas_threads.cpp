#include "urto/linalg/blas_threads.h"

#include <dlfcn.h>

namespace urto {

// Found at run time, because which BLAS stands behind CHOLMOD and MUMPS is the system's choice.
void use_one_blas_thread() {
  if (void* symbol = dlsym(RTLD_DEFAULT, "openblas_set_num_threads"))
    reinterpret_cast<void (*)(int)>(symbol)(1);
}

}  // namespace urto
