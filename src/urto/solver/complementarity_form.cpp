#include "urto/solver/complementarity_form.h"

#include <limits>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/solver/delassus.h"

namespace urto {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

void set_bounds(const StepProblem& p, int block, ComplementarityProblem& out) {
  const ConvexSet& set = p.K.sets[block];
  for (int k = 0; k < set.dim; ++k) {
    const int row = p.K.start[block] + k;
    switch (set.kind) {
      case SetKind::free:
        out.lo[row] = -infinity;
        out.hi[row] = infinity;
        break;
      case SetKind::nonnegative:
        out.lo[row] = 0;
        out.hi[row] = infinity;
        break;
      case SetKind::box:
        out.lo[row] = set.lo;
        out.hi[row] = set.hi;
        break;
      case SetKind::cone:
      case SetKind::rolling_cone:
        if (set.mu != 0 || set.mu_rolling != 0 || set.mu_spinning != 0) {
          throw InputError(fmt::format("block {}", block), "friction",
                           "a problem whose multipliers have bounds row by row");
        }
        out.lo[row] = 0;
        out.hi[row] = k == 0 ? infinity : 0;
    }
  }
}

void require_operator(const Delassus& W) {
  if (!W.failure().empty()) throw InputError("complementarity form", W.failure(), "a regular H");
}

}  // namespace

ComplementarityProblem complementarity_form(const StepProblem& problem) {
  const int m = problem.rows();
  ComplementarityProblem out;
  out.lo.resize(m);
  out.hi.resize(m);
  for (int i = 0; i < problem.blocks(); ++i) set_bounds(problem, i, out);
  Delassus W(problem);
  require_operator(W);
  out.q = W.q();
  out.M = to_sparse(W.matrix());
  if (W.is_symmetric()) return out;
  std::vector<Eigen::Triplet<double>> skew;
  Vector column;
  for (int c = 0; c < m; ++c) {
    W.apply_skew(Vector::Unit(m, c), column);
    for (int r = 0; r < m; ++r) {
      if (column[r] != 0) skew.emplace_back(r, c, column[r]);
    }
  }
  SparseMatrix rest(m, m);
  rest.setFromTriplets(skew.begin(), skew.end());
  out.M += rest;
  return out;
}

Vector velocity_of(const StepProblem& problem, const Vector& lambda) {
  Delassus W(problem);
  require_operator(W);
  Vector x;
  W.recover(lambda, x);
  return x;
}

}  // namespace urto
