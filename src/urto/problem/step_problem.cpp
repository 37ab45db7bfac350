#include "urto/problem/step_problem.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

[[noreturn]] void fail(std::string_view name, const std::string& where, const std::string& found,
                       const std::string& expected) {
  throw InputError(fmt::format("{}: {}", name, where), found, expected);
}

void check_finite(std::string_view name, const char* what, const double* x, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) {
    if (!std::isfinite(x[i])) {
      fail(name, fmt::format("{}, value {}", what, i), fmt::format("{}", x[i]), "a finite number");
    }
  }
}

void check_finite(std::string_view name, const char* what, const SparseMatrix& A) {
  for (int c = 0; c < A.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(A, c); it; ++it) {
      if (!std::isfinite(it.value())) {
        fail(name, fmt::format("{}, row {}, column {}", what, it.row(), c),
             fmt::format("{}", it.value()), "a finite number");
      }
    }
  }
}

// Entries of one row block must stand on separate columns: they are assembled block by block.
void check_entries(std::string_view name, const BlockRows& J) {
  for (int i = 0; i < J.blocks(); ++i) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const auto& a = J.entries[e];
      const auto where = [&] {
        return fmt::format("J, row block {}, entry {}", i, e - J.entry_start[i]);
      };
      if (a.width < 1 || a.width > max_entry_width || a.column < 0 ||
          a.column + a.width > J.columns) {
        fail(name, where(), fmt::format("columns {} to {}", a.column, a.column + a.width - 1),
             fmt::format("1 to {} columns inside 0 to {}", max_entry_width, J.columns - 1));
      }
      for (int f = J.entry_start[i]; f < e; ++f) {
        const auto& b = J.entries[f];
        if (a.column < b.column + b.width && b.column < a.column + a.width) {
          fail(name, where(), "columns that another entry of the block has", "separate columns");
        }
      }
    }
  }
}

void check_size(std::string_view name, const char* what, Eigen::Index found,
                Eigen::Index expected) {
  if (found != expected) fail(name, what, fmt::format("{}", found), fmt::format("{}", expected));
}

void check_set(std::string_view name, int i, const ConvexSet& set) {
  const auto where = [&](const char* field) { return fmt::format("set {}, {}", i, field); };
  if (set.dim < 1 || set.dim > max_block) {
    fail(name, where("dimension"), fmt::format("{}", set.dim), fmt::format("1 to {}", max_block));
  }
  if (set.has_friction()) {
    const bool rolling = set.kind == SetKind::rolling_cone;
    if (rolling ? set.dim < 4 : set.dim < 2) {
      fail(name, where("dimension"), fmt::format("{}", set.dim),
           rolling ? "4, 5 or 6 for a rolling cone" : "at least 2 for a friction cone");
    }
    if (!(set.mu >= 0) || !std::isfinite(set.mu)) {
      fail(name, where("friction coefficient"), fmt::format("{}", set.mu),
           "a finite number that is not negative");
    }
    if (!(set.mu_rolling >= 0) || !std::isfinite(set.mu_rolling)) {
      fail(name, where("rolling friction"), fmt::format("{}", set.mu_rolling),
           "a finite number that is not negative");
    }
    if (!(set.mu_spinning >= 0) || !std::isfinite(set.mu_spinning)) {
      fail(name, where("spinning friction"), fmt::format("{}", set.mu_spinning),
           "a finite number that is not negative");
    }
  }
  if (set.kind == SetKind::box && !(set.lo <= set.hi)) {
    fail(name, where("bounds"), fmt::format("[{}, {}]", set.lo, set.hi), "lower ≤ upper");
  }
}

}  // namespace

int StepProblem::contacts() const {
  return static_cast<int>(std::count_if(K.sets.begin(), K.sets.end(), [](const ConvexSet& s) {
    return s.has_friction() || s.kind == SetKind::nonnegative;
  }));
}

StepProblem local_problem(const SparseMatrix& W, const Vector& q, SetProduct K) {
  StepProblem p;
  p.E = W;
  p.b = q;
  for (const ConvexSet& set : K.sets) p.J.add_block(set.dim);
  p.K = std::move(K);
  return p;
}

namespace {

// A body's mass is often diagonal, and its dofs then are blocks of their own; but rows that act on
// one of them act on all of them. Whether `width` dofs after the other are a body: no block of the
// mass reaches from one to the next, and no row block touches more than two.
bool are_bodies(const BlockMatrix& M, const Eigen::SparseMatrix<double, Eigen::RowMajor>& J,
                const SetProduct& K, int width) {
  if (M.rows() % width != 0) return false;
  for (int k = 0; k < M.blocks(); ++k) {
    if (M.start[k] / width != (M.start[k + 1] - 1) / width) return false;
  }
  for (int i = 0; i < K.blocks(); ++i) {
    int first = -1, second = -1;
    for (int r = K.start[i]; r < K.start[i + 1]; ++r) {
      for (Eigen::SparseMatrix<double, Eigen::RowMajor>::InnerIterator it(J, r); it; ++it) {
        const int body = static_cast<int>(it.col()) / width;
        if (it.value() == 0 || body == first || body == second) continue;
        if (second >= 0) return false;
        (first < 0 ? first : second) = body;
      }
    }
  }
  return true;
}

// Six dofs in space, three in the plane.
void join_bodies(const Eigen::SparseMatrix<double, Eigen::RowMajor>& J, const SetProduct& K,
                 BlockMatrix& M) {
  const bool planar = std::any_of(K.sets.begin(), K.sets.end(), [](const ConvexSet& set) {
    return set.kind == SetKind::cone && set.dim == 2;
  });
  const int width = planar ? 3 : 6;
  if (!are_bodies(M, J, K, width)) return;
  BlockMatrix bodies;
  Matrix block;
  for (int k = 0; k < M.blocks();) {
    const int first = M.start[k];
    block.setZero(width, width);
    for (; k < M.blocks() && M.start[k] < first + width; ++k)
      block.block(M.start[k] - first, M.start[k] - first, M.size(k), M.size(k)) = M.block(k);
    bodies.push_back(block);
  }
  M = std::move(bodies);
}

}  // namespace

StepProblem global_problem(const SparseMatrix& M, const SparseMatrix& J, const Vector& f,
                           const Vector& w, SetProduct K) {
  if (M.rows() != M.cols() || J.cols() != M.cols() || J.rows() != K.rows()) {
    throw InputError("sizes of M and J",
                     fmt::format("{} × {} and {} × {}", M.rows(), M.cols(), J.rows(), J.cols()),
                     fmt::format("M square and J {} × {}", K.rows(), M.cols()));
  }
  StepProblem p;
  BlockMatrix blocks;
  // Column ranges that a Jacobian entry may span: the mass blocks where there are any, else three
  // at a time.
  std::vector<int> range_of(M.cols());
  std::vector<int> range_start;
  const Eigen::SparseMatrix<double, Eigen::RowMajor> by_rows(J);
  if (find_block_diagonal(M, max_entry_width, blocks)) {
    join_bodies(by_rows, K, blocks);
    range_start = blocks.start;
    p.H = std::move(blocks);
  } else {
    for (int c = 0; c < M.cols(); c += 3) range_start.push_back(c);
    range_start.push_back(static_cast<int>(M.cols()));
    p.H = M;
  }
  for (int k = 0; k + 1 < static_cast<int>(range_start.size()); ++k) {
    for (int c = range_start[k]; c < range_start[k + 1]; ++c) range_of[c] = k;
  }

  p.J.columns = static_cast<int>(M.cols());
  for (int i = 0; i < K.blocks(); ++i) {
    p.J.add_block(K.sets[i].dim);
    std::vector<int> touched;
    for (int r = K.start[i]; r < K.start[i + 1]; ++r) {
      for (decltype(by_rows)::InnerIterator it(by_rows, r); it; ++it) {
        if (it.value() != 0) touched.push_back(range_of[it.col()]);
      }
    }
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    for (const int range : touched) {
      const int first = range_start[range];
      Matrix block = Matrix::Zero(K.sets[i].dim, range_start[range + 1] - first);
      for (int r = 0; r < K.sets[i].dim; ++r) {
        for (decltype(by_rows)::InnerIterator it(by_rows, K.start[i] + r); it; ++it) {
          if (range_of[it.col()] == range) block(r, it.col() - first) += it.value();
        }
      }
      p.J.add_entry(first, block);
    }
  }
  p.a = f;
  p.b = w;
  p.E.resize(K.rows(), K.rows());
  p.K = std::move(K);
  return p;
}

double asymmetry(const SparseMatrix& A) {
  if (A.nonZeros() == 0) return 0;
  const SparseMatrix difference = A - SparseMatrix(A.transpose());
  const auto largest = [](const SparseMatrix& m) {  // works on uncompressed matrices too
    double value = 0;
    for (int c = 0; c < m.outerSize(); ++c) {
      for (SparseMatrix::InnerIterator it(m, c); it; ++it)
        value = std::max(value, std::abs(it.value()));
    }
    return value;
  };
  const double size = largest(A);
  return size > 0 ? largest(difference) / size : 0;
}

const BlockMatrix* block_diagonal_mass(const StepProblem& problem) {
  const auto* blocks = std::get_if<BlockMatrix>(&problem.H);
  return blocks != nullptr && blocks->is_block_diagonal() ? blocks : nullptr;
}

SparseMatrix sparse_mass(const StepProblem& problem) {
  const auto* blocks = std::get_if<BlockMatrix>(&problem.H);
  return blocks != nullptr ? to_sparse(*blocks) : std::get<SparseMatrix>(problem.H);
}

Vector mass_diagonal(const StepProblem& problem) {
  const auto* blocks = std::get_if<BlockMatrix>(&problem.H);
  if (blocks == nullptr) return std::get<SparseMatrix>(problem.H).diagonal();
  Vector diagonal(blocks->rows());
  for (int k = 0; k < blocks->blocks(); ++k)
    diagonal.segment(blocks->start[k], blocks->size(k)) = blocks->block(k).diagonal();
  return diagonal;
}

double compliance(const StepProblem& problem, int row) {
  for (SparseMatrix::InnerIterator it(problem.E, row); it; ++it) {
    if (it.row() == row) return it.value();
  }
  return 0;
}

// Column by column into the storage that is there: triplets would allocate.
void set_compliance(StepProblem& problem, std::span<const double> values) {
  SparseMatrix& E = problem.E;
  const int rows = static_cast<int>(values.size());
  if (E.rows() != rows || E.nonZeros() > 0) E.resize(rows, rows);
  if (std::all_of(values.begin(), values.end(), [](double v) { return v == 0; })) return;
  for (int r = 0; r < rows; ++r) {
    E.startVec(r);
    if (values[r] != 0) E.insertBack(r, r) = values[r];
  }
  E.finalize();
}

void multiply_mass(const StepProblem& problem, const Vector& x, Vector& y, ThreadPool* threads) {
  if (const auto* blocks = std::get_if<BlockMatrix>(&problem.H)) {
    multiply(*blocks, x, y, threads);
  } else {
    y.noalias() = std::get<SparseMatrix>(problem.H) * x;
  }
}

void validate(const StepProblem& p, std::string_view name, double symmetry_tolerance) {
  const int m = p.K.rows();
  const int n = p.dofs();
  if (p.blocks() == 0 && n == 0)
    fail(name, "problem", "no unknowns at all", "dofs or contact rows");
  for (int i = 0; i < p.blocks(); ++i) check_set(name, i, p.K.sets[i]);
  check_size(name, "size of b", p.b.size(), m);
  check_size(name, "row blocks of J", p.J.blocks(), p.blocks());
  check_size(name, "rows of J", p.J.rows(), m);
  check_size(name, "columns of J", p.J.columns, n);
  for (int i = 0; i < p.blocks(); ++i) {
    if (p.J.height(i) != p.K.sets[i].dim) {
      fail(name, fmt::format("J, row block {}, height", i), fmt::format("{}", p.J.height(i)),
           fmt::format("{} as its set", p.K.sets[i].dim));
    }
  }
  check_entries(name, p.J);
  check_size(name, "rows of E", p.E.rows(), m);
  check_size(name, "columns of E", p.E.cols(), m);
  check_finite(name, "a", p.a.data(), n);
  check_finite(name, "b", p.b.data(), m);
  check_finite(name, "J", p.J.values.data(), p.J.values.size());
  check_finite(name, "E", p.E);

  const auto check_symmetry = [&](const SparseMatrix& A, const char* what) {
    const double skew = asymmetry(A);
    if (skew > symmetry_tolerance) {
      fail(name, what, fmt::format("an asymmetry of {:.3g} relative to its largest entry", skew),
           fmt::format("a symmetric matrix (at most {:.3g})", symmetry_tolerance));
    }
  };
  if (const auto* blocks = std::get_if<BlockMatrix>(&p.H)) {
    check_size(name, "rows of H", blocks->rows(), n);
    check_finite(name, "H", blocks->values.data(), blocks->values.size());
    check_symmetry(to_sparse(*blocks), "H");
  } else {
    const auto& sparse = std::get<SparseMatrix>(p.H);
    check_size(name, "rows of H", sparse.rows(), n);
    check_size(name, "columns of H", sparse.cols(), n);
    check_finite(name, "H", sparse);
    check_symmetry(sparse, "H");
  }
  check_symmetry(p.E, "E (the Delassus matrix W of a local problem)");
}

}  // namespace urto
