#include "urto/solver/fixed_rows.h"

#include <algorithm>

namespace urto {
namespace {

bool is_ray(const ConvexSet& set) {
  return set.kind == SetKind::cone && set.mu == 0;
}
bool is_point(const ConvexSet& set) {
  return set.kind == SetKind::box && set.lo == set.hi;
}

}  // namespace

int fixed_rows(const ConvexSet& set) {
  if (is_point(set)) return set.dim;
  return is_ray(set) ? set.dim - 1 : 0;
}

bool without_fixed_rows(const StepProblem& problem, FreeRows& out) {
  const SetProduct& K = problem.K;
  if (std::none_of(K.sets.begin(), K.sets.end(),
                   [](const ConvexSet& s) { return is_ray(s) || is_point(s); }))
    return false;
  out.lambda.setZero(problem.rows());
  out.row.clear();
  StepProblem& p = out.problem;
  p.H = problem.H;
  p.a = problem.a;
  p.J.columns = problem.J.columns;
  p.J.row_start.resize(1);
  p.J.entry_start.resize(1);
  p.J.entries.clear();
  p.J.values.clear();
  p.K.sets.clear();
  p.K.start.resize(1);
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
      const double* rows = problem.J.values.data() + entry.offset;
      p.J.entries.push_back({entry.column, entry.width, static_cast<int>(p.J.values.size())});
      p.J.values.insert(p.J.values.end(), rows, rows + height * entry.width);
    }
    p.J.entry_start.back() = static_cast<int>(p.J.entries.size());
    for (int k = 0; k < height; ++k) out.row.push_back(K.start[i] + k);
  }
  if (problem.dofs() > 0) transpose_multiply_add(problem.J, out.lambda, p.a);
  out.shifted_b.noalias() = problem.E * out.lambda;
  out.shifted_b += problem.b;
  out.place.assign(problem.rows(), -1);
  p.b.resize(p.rows());
  for (int r = 0; r < p.rows(); ++r) {
    out.place[out.row[r]] = r;
    p.b[r] = out.shifted_b[out.row[r]];
  }
  out.builder.start(p.rows(), p.rows());
  for (int c = 0; c < problem.E.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(problem.E, c); it; ++it) {
      if (out.place[c] >= 0 && out.place[it.row()] >= 0)
        out.builder.add(out.place[it.row()], out.place[c], it.value());
    }
  }
  out.builder.finish(p.E);
  return true;
}

void without_block(const StepProblem& problem, int block, StepProblem& out) {
  const BlockRows& J = problem.J;
  const int first = problem.K.start[block], count = problem.K.sets[block].dim;
  out.H = problem.H;
  out.a = problem.a;
  out.b.resize(problem.rows() - count);
  out.b << problem.b.head(first), problem.b.tail(out.b.size() - first);
  out.K.sets.clear();
  out.K.start.resize(1);
  out.J.columns = J.columns;
  out.J.row_start.resize(1);
  out.J.entry_start.resize(1);
  out.J.entries.clear();
  out.J.values.clear();
  for (int i = 0; i < problem.blocks(); ++i) {
    if (i == block) continue;
    out.K.push_back(problem.K.sets[i]);
    out.J.add_block(J.height(i));
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = J.entries[e];
      const double* values = J.values.data() + entry.offset;
      out.J.entries.push_back({entry.column, entry.width, static_cast<int>(out.J.values.size())});
      out.J.values.insert(out.J.values.end(), values, values + J.height(i) * entry.width);
    }
    out.J.entry_start.back() = static_cast<int>(out.J.entries.size());
  }
  const auto place = [&](Eigen::Index row) { return row < first ? row : row - count; };
  const auto gone = [&](Eigen::Index row) { return row >= first && row < first + count; };
  out.E.resize(out.b.size(), out.b.size());
  for (int c = 0; c < problem.E.outerSize(); ++c) {
    if (gone(c)) continue;
    out.E.startVec(place(c));
    for (SparseMatrix::InnerIterator it(problem.E, c); it; ++it) {
      if (!gone(it.row())) out.E.insertBack(place(it.row()), place(c)) = it.value();
    }
  }
  out.E.finalize();
}

}  // namespace urto
