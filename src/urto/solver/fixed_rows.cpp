#include "urto/solver/fixed_rows.h"

#include <algorithm>

namespace urto {
namespace {

using RowMajorMap =
    Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

bool is_ray(const ConvexSet& set) {
  return set.kind == SetKind::cone && set.mu == 0;
}
bool is_point(const ConvexSet& set) {
  return set.kind == SetKind::box && set.lo == set.hi;
}

}  // namespace

std::optional<FreeRows> without_fixed_rows(const StepProblem& problem) {
  const SetProduct& K = problem.K;
  if (std::none_of(K.sets.begin(), K.sets.end(),
                   [](const ConvexSet& s) { return is_ray(s) || is_point(s); })) {
    return std::nullopt;
  }
  FreeRows out;
  out.lambda.setZero(problem.rows());
  StepProblem& p = out.problem;
  p.H = problem.H;
  p.a = problem.a;
  p.J.columns = problem.J.columns;
  for (int i = 0; i < K.blocks(); ++i) {
    const ConvexSet& set = K.sets[i];
    if (is_point(set)) {
      out.lambda.segment(K.start[i], set.dim).setConstant(set.lo);
      continue;
    }
    const int height = is_ray(set) ? 1 : set.dim;
    p.K.push_back(is_ray(set) ? ConvexSet::nonnegative() : set);
    p.J.add_block(height);
    for (int e = problem.J.entry_start[i]; e < problem.J.entry_start[i + 1]; ++e) {
      const auto& entry = problem.J.entries[e];
      p.J.add_entry(entry.column, Matrix(RowMajorMap(problem.J.values.data() + entry.offset, height,
                                                     entry.width)));
    }
    for (int k = 0; k < height; ++k) out.row.push_back(K.start[i] + k);
  }
  if (problem.dofs() > 0) transpose_multiply_add(problem.J, out.lambda, p.a);
  const Vector b = problem.b + problem.E * out.lambda;
  std::vector<int> reduced(problem.rows(), -1);
  p.b.resize(p.rows());
  for (int r = 0; r < p.rows(); ++r) {
    reduced[out.row[r]] = r;
    p.b[r] = b[out.row[r]];
  }
  std::vector<Eigen::Triplet<double>> triplets;
  for (int c = 0; c < problem.E.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(problem.E, c); it; ++it) {
      if (reduced[c] >= 0 && reduced[it.row()] >= 0)
        triplets.emplace_back(reduced[it.row()], reduced[c], it.value());
    }
  }
  p.E.resize(p.rows(), p.rows());
  p.E.setFromTriplets(triplets.begin(), triplets.end());
  return out;
}

}  // namespace urto
