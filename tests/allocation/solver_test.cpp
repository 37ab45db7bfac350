// A solver that is kept allocates nothing for problems of the sizes and patterns that it knows
// (docs/architecture.md, Memory): every method of the registry, and all of auto's escalation.
#include "urto/solver/solver.h"

#include <algorithm>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "allocation/counting.h"
#include "urto/problem/generate.h"

namespace urto {
namespace {

struct Family {
  std::string name;
  StepProblem problem;
};

/// Compliance of the normal rows only: E is not the same on a whole block, and methods that
/// condense it fall back on W itself.
StepProblem with_soft_normals(StepProblem p) {
  std::vector<double> soft(p.rows(), 0.0);
  for (int i = 0; i < p.blocks(); ++i) soft[p.K.start[i]] = 1e-3;
  set_compliance(p, soft);
  return p;
}

/// H as mechanics gives it, a block for each node of three freedoms and each spring; files have
/// sparse matrices, which the certificate factorises anew each time.
StepProblem in_blocks(StepProblem p) {
  const SparseMatrix H = std::get<SparseMatrix>(p.H);
  std::vector<int> starts;
  for (int c = 0; c <= H.cols(); c += 3) starts.push_back(c);
  BlockMatrix blocks;
  blocks.start_assembly(starts, BlockMatrix::Symmetry::symmetric);
  const Matrix dense(H);
  const int nodes = static_cast<int>(starts.size()) - 1;
  for (int k = 0; k < nodes; ++k) {
    for (int l = 0; l < nodes; ++l) {
      const Matrix block = dense.block<3, 3>(3 * k, 3 * l);
      if (!block.isZero(0)) blocks.add(k, l, block);
    }
  }
  blocks.finish_assembly();
  p.H = blocks;
  return p;
}

/// Every third contact without friction, which the interior point takes out of its problem.
StepProblem with_ice(StepProblem p) {
  for (int i = 0; i < p.blocks(); i += 3) {
    if (p.K.sets[i].kind == SetKind::cone) p.K.sets[i].mu = 0;
  }
  return p;
}

/// Below the sizes from which CHOLMOD (300 rows) and MUMPS (150) allocate on their own.
std::vector<Family> families() {
  std::vector<Family> all;
  all.push_back({"packing", sphere_packing({.contacts = 14, .mass_ratio = 100})});
  all.push_back({"larger packing", sphere_packing({.contacts = 40, .mass_ratio = 10})});
  all.push_back({"box stack", box_stack({.levels = 3})});
  all.push_back({"pushed stack", box_stack({.levels = 2, .push = 0.3})});
  all.push_back({"wall", box_wall({.width = 2, .height = 2})});
  all.push_back({"joints and contacts", joint_contact_mix({.bodies = 5})});
  all.push_back({"springs", in_blocks(stiff_lattice({.nx = 3, .ny = 2, .nz = 2}))});
  all.push_back({"soft", with_soft_normals(sphere_packing({.contacts = 20}))});
  all.push_back(
      {"soft springs", with_soft_normals(in_blocks(stiff_lattice({.nx = 3, .ny = 2, .nz = 2})))});
  all.push_back({"ice", with_ice(sphere_packing({.contacts = 20}))});
  all.push_back({"chain", chain({.links = 10})});
  return all;
}

bool can_treat(const SolverInfo& info, const StepProblem& p, Friction friction) {
  if (p.K.is_linear()) return true;
  return info.can.cones &&
         (friction == Friction::exact || info.can.convex_friction || !p.K.has_friction());
}

/// Who asks: what it keeps is its own.
struct Caller {
  Vector x, lambda;
  StepSolveReport report = {};

  long allocations_of(Solver& solver, const StepProblem& p, const SolveOptions& options) {
    x.setZero(p.dofs());
    lambda.setZero(p.rows());
    const long before = allocations_so_far();
    solver.solve(p, options, x, lambda, report);
    const long after = allocations_so_far();
    EXPECT_TRUE(lambda.allFinite());
    return after - before;
  }
};

SolveOptions options_for(Friction friction, bool islands) {
  return {.tolerance = 1e-8, .max_iterations = 400, .friction = friction, .islands = islands};
}

class OfSolver : public ::testing::TestWithParam<std::string> {};

TEST_P(OfSolver, WholeProblemsOfSizesThatItHasSeenAllocateNothing) {
  if (GetParam() == "auto") GTEST_SKIP() << "finds islands, in arrays as long as the whole problem";
  const std::vector<Family> all = families();
  for (const Friction friction : {Friction::exact, Friction::convex}) {
    Solver solver(GetParam());
    Caller caller;
    for (int turn = 0; turn < 3; ++turn) {  // each problem follows one of another size
      for (const Family& family : all) {
        if (!can_treat(solver.info(), family.problem, friction)) continue;
        const long count =
            caller.allocations_of(solver, family.problem, options_for(friction, false));
        if (turn < 2) continue;
        EXPECT_EQ(count, 0) << family.name
                            << (friction == Friction::exact ? ", exact" : ", convex");
      }
    }
  }
}

TEST_P(OfSolver, IslandsAllocateNothingTheThirdTime) {
  for (const Family& family : families()) {
    for (const Friction friction : {Friction::exact, Friction::convex}) {
      Solver solver(GetParam());
      Caller caller;
      if (!can_treat(solver.info(), family.problem, friction)) continue;
      for (int turn = 0; turn < 3; ++turn) {
        const long count =
            caller.allocations_of(solver, family.problem, options_for(friction, true));
        if (turn < 2) continue;
        EXPECT_EQ(count, 0) << family.name
                            << (friction == Friction::exact ? ", exact" : ", convex");
      }
    }
  }
}

// sor-colour makes its threads anew in every solve.
INSTANTIATE_TEST_SUITE_P(SolverAllocation, OfSolver,
                         ::testing::Values("auto", "jacobi", "sor", "ssor", "nsgs", "nsgs-quartic",
                                           "nsgs-projection", "spg", "apgd", "admm", "prox", "ipm",
                                           "minres", "cg", "ldlt"),
                         [](const auto& of) {
                           std::string name = of.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace urto
