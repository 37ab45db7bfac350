#include "urto/problem/cvxopt_script.h"

#include <cmath>
#include <iterator>
#include <vector>

#include <fmt/format.h>

namespace urto {
namespace {

using Text = fmt::memory_buffer;
using Triplets = std::vector<Eigen::Triplet<double>>;

void append(Triplets& out, const SparseMatrix& A, int row, int column) {
  for (int c = 0; c < A.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(A, c); it; ++it)
      out.emplace_back(row + static_cast<int>(it.row()), column + c, it.value());
  }
}

void print_sparse(Text& out, const char* name, const Triplets& A, int rows, int columns) {
  auto at = std::back_inserter(out);
  fmt::format_to(at, "{} = spmatrix([", name);
  for (const auto& t : A) fmt::format_to(at, "{},", t.value());
  fmt::format_to(at, "], [");
  for (const auto& t : A) fmt::format_to(at, "{},", t.row());
  fmt::format_to(at, "], [");
  for (const auto& t : A) fmt::format_to(at, "{},", t.col());
  fmt::format_to(at, "], ({}, {}), 'd')\n", rows, columns);
}

void print_vector(Text& out, const char* name, const std::vector<double>& values) {
  auto at = std::back_inserter(out);
  fmt::format_to(at, "{} = matrix([", name);
  for (const double value : values) fmt::format_to(at, "{},", value);
  fmt::format_to(at, "], ({}, 1), 'd')\n", values.size());
}

/// G z + s = h with s ≥ 0 first, then the second-order cones.
struct Cones {
  Triplets G = {};
  std::vector<double> h = {};
  int linear = 0;
  std::vector<int> sizes = {};

  int add_row(double value) {
    h.push_back(value);
    return static_cast<int>(h.size()) - 1;
  }
};

Cones cones_of(const StepProblem& p) {
  Cones c;
  const int n = p.dofs();
  for (int i = 0; i < p.blocks(); ++i) {
    const ConvexSet& set = p.K.sets[i];
    for (int r = p.K.start[i]; r < p.K.start[i + 1]; ++r) {
      // A cone without friction bounds nothing but its normal.
      const bool ray = set.kind == SetKind::cone && set.mu == 0 && r == p.K.start[i];
      if (ray || set.kind == SetKind::nonnegative) c.G.emplace_back(c.add_row(0), n + r, -1);
      if (set.kind != SetKind::box) continue;
      if (std::isfinite(set.lo)) c.G.emplace_back(c.add_row(-set.lo), n + r, -1);
      if (std::isfinite(set.hi)) c.G.emplace_back(c.add_row(set.hi), n + r, 1);
    }
  }
  c.linear = static_cast<int>(c.h.size());
  for (int i = 0; i < p.blocks(); ++i) {
    for (const auto& part : cone_parts(p.K.sets[i])) {
      const int normal = n + p.K.start[i];
      c.G.emplace_back(c.add_row(0), normal, -part.bound);
      for (int k = part.first; k < part.first + part.count; ++k)
        c.G.emplace_back(c.add_row(0), normal + k, -1);
      c.sizes.push_back(1 + part.count);
    }
  }
  return c;
}

}  // namespace

std::string cvxopt_script(const StepProblem& p) {
  const int n = p.dofs();
  const int all = n + p.rows();
  Text out;
  auto at = std::back_inserter(out);
  fmt::format_to(at,
                 "# min 1/2 z'Pz + q'z,  Az = b,  Gz + s = h,  s in its cones;  z = (x, lambda), x "
                 "has {} entries; convex friction.\n"
                 "from cvxopt import matrix, spmatrix, solvers\n\n",
                 n);
  Triplets P, A;
  if (n > 0) {
    const SparseMatrix H = sparse_mass(p);
    append(P, H, 0, 0);
    append(A, H, 0, 0);
    append(A, SparseMatrix(-SparseMatrix(to_sparse(p.J).transpose())), 0, n);
  }
  append(P, p.E, n, n);
  std::vector<double> q(all, 0.0);
  std::copy(p.b.begin(), p.b.end(), q.begin() + n);
  const Cones cones = cones_of(p);
  print_sparse(out, "P", P, all, all);
  print_vector(out, "q", q);
  print_sparse(out, "A", A, n, all);
  print_vector(out, "b", {p.a.begin(), p.a.end()});
  print_sparse(out, "G", cones.G, static_cast<int>(cones.h.size()), all);
  print_vector(out, "h", cones.h);
  fmt::format_to(at, "dims = {{'l': {}, 'q': [{}], 's': []}}\n\n", cones.linear,
                 fmt::join(cones.sizes, ", "));
  fmt::format_to(at,
                 "if __name__ == '__main__':\n"
                 "    solution = solvers.coneqp(P, q, G, h, dims, A, b)\n"
                 "    print(solution['x'])\n");
  return {out.data(), out.size()};
}

}  // namespace urto
