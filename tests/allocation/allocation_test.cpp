// The iterations of the projected and Krylov methods allocate nothing: running twice as many costs not one allocation more. malloc itself is
// replaced in this program, so what Eigen or the standard library do is counted as well.
#include <atomic>
#include <cstdlib>

#include <gtest/gtest.h>

#include "allocation/counting.h"
#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
}

namespace {
std::atomic<long> allocations{0};
}

long allocations_so_far() {
  return allocations.load();
}

extern "C" void* malloc(std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
extern "C" int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  *out = __libc_memalign(alignment, size);
  return *out == nullptr ? 12 : 0;
}
extern "C" void* aligned_alloc(std::size_t alignment, std::size_t size) {
  allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_memalign(alignment, size);
}

namespace urto {
namespace {

long allocations_for(const StepProblem& p, const char* solver, int iterations, Friction friction) {
  const SolveOptions options{
      .solver = solver, .tolerance = 1e-300, .max_iterations = iterations, .friction = friction};
  const long before = allocations.load();
  const Solution s = solve(p, options);
  const long after = allocations.load();
  EXPECT_EQ(s.iterations, iterations) << solver;
  return after - before;
}

TEST(Allocation, CounterCounts) {
  const long before = allocations.load();
  Vector v(100);
  v.setZero();
  volatile double* keep = v.data();
  EXPECT_EQ(keep[3], 0);
  EXPECT_GE(allocations.load() - before, 1);
}

TEST(Allocation, IterationsOfProjectedMethodsAllocateNothing) {
  ASSERT_FALSE(solvers().empty());  // which makes the registry
  const StepProblem packing = sphere_packing({.contacts = 100});
  const StepProblem local = random_local({.contacts = 30, .rank_deficiency = 0.3});
  for (const char* solver :
       {"jacobi", "sor", "ssor", "sor-colour", "nsgs", "nsgs-quartic", "nsgs-projection"}) {
    for (const StepProblem* p : {&packing, &local}) {
      EXPECT_EQ(allocations_for(*p, solver, 50, Friction::exact),
                allocations_for(*p, solver, 100, Friction::exact))
          << solver;
    }
  }
  for (const char* solver : {"spg", "apgd"}) {
    for (const StepProblem* p : {&packing, &local}) {
      EXPECT_EQ(allocations_for(*p, solver, 50, Friction::convex),
                allocations_for(*p, solver, 100, Friction::convex))
          << solver;
    }
  }
}

TEST(Allocation, IterationsOfKrylovMethodsAllocateNothing) {
  const StepProblem p = chain({.links = 200});
  for (const char* solver : {"minres", "cg"}) {
    EXPECT_EQ(allocations_for(p, solver, 50, Friction::exact),
              allocations_for(p, solver, 100, Friction::exact))
        << solver;
  }
}

}  // namespace
}  // namespace urto
