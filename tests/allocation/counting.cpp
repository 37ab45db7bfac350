// The program's own malloc, calloc, realloc, memalign and those that ask for alignment: each counts
// and hands on to glibc's. free needs no counting and stays glibc's, for every block is.
#include "allocation/counting.h"

#include <atomic>
#include <cerrno>
#include <cstdlib>

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {

std::atomic<long> allocations{0};

void count() {
  allocations.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

long allocations_so_far() {
  return allocations.load();
}

extern "C" void* malloc(std::size_t size) {
  count();
  return __libc_malloc(size);
}
extern "C" void* calloc(std::size_t number, std::size_t size) {
  count();
  return __libc_calloc(number, size);
}
extern "C" void* realloc(void* block, std::size_t size) {
  count();
  return __libc_realloc(block, size);
}
extern "C" void* reallocarray(void* block, std::size_t number, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(number, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return realloc(block, bytes);
}
extern "C" void* memalign(std::size_t alignment, std::size_t size) {
  count();
  return __libc_memalign(alignment, size);
}
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) {
  return memalign(alignment, size);
}
extern "C" int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  *out = memalign(alignment, size);
  return *out == nullptr ? ENOMEM : 0;
}
