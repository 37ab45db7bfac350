// The iterations of the projected and Krylov methods allocate nothing: running twice as many costs
// not one allocation more. malloc itself is replaced in this program, so what Eigen or the standard
// library do is counted as well.
#include <cstdlib>
#include <new>

#include <gtest/gtest.h>

#include "allocation/counting.h"
#include "urto/problem/generate.h"
#include "urto/solver/solver.h"

namespace urto {
namespace {

long allocations_for(const StepProblem& p, const char* solver, int iterations, Friction friction) {
  const SolveOptions options{.solver = solver,
                             .tolerance = 1e-300,
                             .max_iterations = iterations,
                             .friction = friction,
                             .momentum = true};
  (void)solvers();  // the list of solvers is made when it is first asked for
  const long before = allocations_so_far();
  const Solution s = solve(p, options);
  const long after = allocations_so_far();
  EXPECT_EQ(s.iterations, iterations) << solver;
  return after - before;
}

TEST(Allocation, CounterCounts) {
  const long before = allocations_so_far();
  Vector v(100);
  v.setZero();
  volatile double* keep = v.data();
  EXPECT_EQ(keep[3], 0);
  EXPECT_GE(allocations_so_far() - before, 1);
}

/// What one call adds to the count; the block is freed uncounted.
template <class Allocate>
long counted(Allocate allocate) {
  const long before = allocations_so_far();
  void* volatile block = allocate();  // volatile: a compiler may leave out a block that nobody uses
  const long after = allocations_so_far();
  EXPECT_NE(block, nullptr);
  std::free(block);
  return after - before;
}

TEST(Allocation, EveryWayToAllocateCountsOnce) {
  EXPECT_EQ(counted([] { return std::malloc(100); }), 1);
  EXPECT_EQ(counted([] { return std::calloc(10, 10); }), 1);
  EXPECT_EQ(counted([] { return std::aligned_alloc(64, 128); }), 1);
  EXPECT_EQ(counted([] { return std::realloc(nullptr, 100); }), 1);
  EXPECT_EQ(counted([] {
              void* volatile block = std::malloc(100);
              return std::realloc(block, 100000);
            }),
            2);
  EXPECT_EQ(counted([] { return reallocarray(nullptr, 10, 10); }), 1);
  EXPECT_EQ(counted([] {
              void* block = nullptr;
              return posix_memalign(&block, 64, 100) == 0 ? block : nullptr;
            }),
            1);
  // A block of operator new is one of malloc.
  EXPECT_EQ(counted([] { return ::operator new(100); }), 1);
  EXPECT_EQ(counted([] { return ::operator new(100, std::align_val_t(64)); }), 1);
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
  // Few: once the certificate is zero, which rounding allows, their messages differ.
  for (const char* solver : {"spg", "apgd"}) {
    for (const StepProblem* p : {&packing, &local}) {
      EXPECT_EQ(allocations_for(*p, solver, 20, Friction::convex),
                allocations_for(*p, solver, 40, Friction::convex))
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
