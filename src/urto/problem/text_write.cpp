// Writes the text formats of Siconos; text_file.cpp reads them. Numbers are written with the digits
// that give the same bits back.
#include <algorithm>
#include <iterator>
#include <limits>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/problem/file_formats.h"

namespace urto {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
/// Up to this size a dense matrix is the easiest to look at and to read with other tools.
constexpr int largest_dense = 30;

using Text = fmt::memory_buffer;

template <typename... Args>
void print(Text& out, fmt::format_string<Args...> format, Args&&... args) {
  fmt::format_to(std::back_inserter(out), format, std::forward<Args>(args)...);
}

void print_numbers(Text& out, const Vector& values) {
  for (const double value : values) print(out, "{} ", value);
  print(out, "\n");
}

void print_header(Text& out, int storage, const SparseMatrix& A) {
  print(out, "{}\n{}\n{}\n", storage, A.rows(), A.cols());
}

void print_dense(Text& out, const SparseMatrix& A) {
  print_header(out, 0, A);
  print(out, "{}\t{}\n", A.rows(), A.cols());
  const Matrix dense(A);
  for (Eigen::Index c = 0; c < dense.cols(); ++c) print_numbers(out, dense.col(c));
}

/// Blocks of one size, those that have an entry; a row of blocks after the other.
void print_blocks(Text& out, const SparseMatrix& A, int size) {
  const int blocks = static_cast<int>(A.rows()) / size;
  std::vector<std::vector<int>> columns(blocks);
  for (int c = 0; c < A.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(A, c); it; ++it) {
      std::vector<int>& row = columns[it.row() / size];
      if (row.empty() || row.back() != c / size) row.push_back(c / size);
    }
  }
  int count = 0;
  for (std::vector<int>& row : columns) {
    std::sort(row.begin(), row.end());
    row.erase(std::unique(row.begin(), row.end()), row.end());
    count += static_cast<int>(row.size());
  }
  print_header(out, 1, A);
  print(out, "{}\n{}\n{}\n", count, blocks, blocks);
  for (int side = 0; side < 2; ++side) {
    for (int b = 1; b <= blocks; ++b) print(out, "{}\t", b * size);
    print(out, "\n");
  }
  print(out, "{}\n{}\n", blocks + 1, count);
  int pointer = 0;
  print(out, "0\t");
  for (const std::vector<int>& row : columns) {
    pointer += static_cast<int>(row.size());
    print(out, "{}\t", pointer);
  }
  print(out, "\n");
  for (const std::vector<int>& row : columns) {
    for (const int c : row) print(out, "{}\t", c);
  }
  print(out, "\n");
  int number = 0;
  for (int r = 0; r < blocks; ++r) {
    for (const Eigen::Index c : columns[r]) {
      print(out, "{}\n", number++);
      const Matrix block(A.block(Eigen::Index{r} * size, c * size, size, size));
      for (const double value : block.reshaped()) print(out, "{}\n", value);
    }
  }
}

/// Triplets in the print of CSparse, the head included, which Siconos skips by lines.
void print_csparse(Text& out, const SparseMatrix& A) {
  print_header(out, 2, A);
  print(out, "1\nCSparse Version 3.1.9, May 4, 2016.  Copyright (c) Timothy A. Davis, 2006-2016\n");
  print(out, "triplet: {}-by-{}, nzmax: {} nnz: {}\n", A.rows(), A.cols(), A.nonZeros(),
        A.nonZeros());
  for (int c = 0; c < A.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(A, c); it; ++it) {
      print(out, "    {} {} : {}\n", it.row(), it.col(), it.value());
    }
  }
}

void print_matrix(Text& out, const SparseMatrix& A) {
  const bool small = A.rows() <= largest_dense && A.cols() <= largest_dense;
  const bool full = 2 * A.nonZeros() > A.rows() * A.cols();
  small || full ? print_dense(out, A) : print_csparse(out, A);
}

void write_file(const std::filesystem::path& target, const Text& text) {
  WholeFile out(target);
  out.write({text.data(), text.size()});
  out.finish();
}

}  // namespace

void write_text(const std::filesystem::path& target, const StepProblem& problem) {
  validate(problem, target.string());
  int dim = 0;
  bool rolling = false;
  for (int i = 0; i < problem.blocks(); ++i) {
    const ConvexSet& set = problem.K.sets[i];
    const bool fits = (set.kind == SetKind::rolling_cone && set.dim == 5) ||
                      (set.kind == SetKind::cone && (set.dim == 2 || set.dim == 3));
    if (!fits || (dim != 0 && dim != set.dim)) {
      throw InputError(
          fmt::format("{}: set {}", target.string(), i),
          "a set that is no friction cone, has spinning friction or another dimension than the "
          "first",
          "friction cones of one dimension (2 or 3), or rolling cones: the text format has "
          "no other; write the urto format");
    }
    dim = set.dim;
    rolling = set.kind == SetKind::rolling_cone;
  }
  if (dim == 0) dim = 3;
  const bool local = problem.dofs() == 0;
  if (!local && largest_entry(problem.E) > 0) {
    throw InputError(target.string(), "a global problem with compliance E",
                     "none: the text format has no place for it; write the urto format");
  }

  Text out;
  print(out, "{}\n{}\n", dim, problem.blocks());
  if (local) {
    problem.rows() <= largest_dense ? print_dense(out, problem.E)
                                    : print_blocks(out, problem.E, dim);
  } else {
    print_matrix(out, sparse_mass(problem));
    print_matrix(out, to_sparse(problem.J).transpose());
    print_numbers(out, problem.a);
  }
  print_numbers(out, problem.b);
  for (const ConvexSet& set : problem.K.sets) print(out, "{} ", set.mu);
  print(out, "\n");
  if (rolling) {
    for (const ConvexSet& set : problem.K.sets) print(out, "{} ", set.mu_rolling);
    print(out, "\n");
  }
  write_file(target, out);
}

void write_text(const std::filesystem::path& target, const ComplementarityProblem& problem) {
  validate(problem, target.string());
  const int size = problem.size();
  const auto is_equality = [&](int r) {
    return problem.lo[r] == -infinity && problem.hi[r] == infinity;
  };
  int equalities = 0;
  bool only_zero_bounds = true;
  for (int r = 0; r < size; ++r) {
    if (is_equality(r)) {
      ++equalities;
    } else if (problem.lo[r] != 0 || problem.hi[r] != infinity) {
      only_zero_bounds = false;
    }
  }

  Text out;
  if (only_zero_bounds && equalities > 0) {
    print(out, "1\n0\n{}\n{}\n0 ", equalities, size - equalities);
    std::string kinds;
    for (int r = 0; r < size; ++r) {
      if (r + 1 < size && is_equality(r) == is_equality(r + 1)) continue;
      print(out, "{} ", r + 1);
      kinds += is_equality(r) ? "0 " : "1 ";
    }
    print(out, "\n{}\n", kinds);
  } else {
    print(out, "{}\n", size);
  }
  print_matrix(out, problem.M);
  print_numbers(out, problem.q);
  if (!only_zero_bounds) {
    print_numbers(out, problem.lo);
    print_numbers(out, problem.hi);
  }
  write_file(target, out);
}

}  // namespace urto
