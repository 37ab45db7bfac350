// The text formats of Siconos (the printInFile and newFromFile functions of its numerics), and
// which of them a file is in.
#include <array>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/file/text_tokens.h"
#include "urto/problem/file_formats.h"

namespace urto {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t largest_int = std::numeric_limits<int>::max();

void check_matrix_size(const TokenReader& in, const char* what, const SparseMatrix& A,
                       Eigen::Index rows, Eigen::Index columns) {
  if (A.rows() != rows || A.cols() != columns) {
    in.fail(fmt::format("{} with {} rows and {} columns", what, A.rows(), A.cols()),
            fmt::format("{} and {}", rows, columns));
  }
}

/// Friction files may end in one flag, 0 or 1, which Siconos does not read.
void check_friction_end(TokenReader& in) {
  const std::string_view flag = in.peek();
  if (flag == "0" || flag == "1") in.next("the end of the file");
  if (!in.peek().empty()) {
    in.next("the end of the file");
    in.fail("more numbers", "the end of the file (or a flag, 0 or 1, before it)");
  }
}

SetProduct read_cones(TokenReader& in, int dim, int contacts) {
  const Vector mu = in.numbers(contacts, "mu");
  SetProduct K;
  if (dim == 5) {
    const Vector mu_rolling = in.numbers(contacts, "mu_r");
    for (int i = 0; i < contacts; ++i) {
      K.push_back(ConvexSet::rolling_cone(mu[i], mu_rolling[i]));
    }
  } else {
    for (const double coefficient : mu) K.push_back(ConvexSet::cone(coefficient, dim));
  }
  return K;
}

StepProblem read_local(TokenReader& in, bool rolling) {
  const int dim = rolling ? in.integer("the dimension", 5, 5) : in.integer("the dimension", 2, 3);
  const int contacts = in.integer("the number of contacts", 1, largest_int / dim);
  const SparseMatrix W = read_text_matrix(in, "W");
  check_matrix_size(in, "W", W, Eigen::Index{dim} * contacts, Eigen::Index{dim} * contacts);
  const Vector q = in.numbers(W.rows(), "q");
  SetProduct K = read_cones(in, dim, contacts);
  check_friction_end(in);
  return local_problem(W, q, std::move(K));
}

/// The H of these files is FCLIB's: M v = H r + q, u = Hᵀ v + b. A file may have no contact at all.
StepProblem read_global(TokenReader& in) {
  const int dim = in.integer("the dimension", 2, 5);
  if (dim == 4) in.fail("dimension 4", "2, 3, or 5 with rolling friction");
  const int contacts = in.integer("the number of contacts", 0, largest_int / dim);
  const SparseMatrix M = read_text_matrix(in, "M");
  if (M.rows() == 0) in.fail("M without rows", "at least one degree of freedom");
  check_matrix_size(in, "M", M, M.rows(), M.rows());
  const SparseMatrix H = read_text_matrix(in, "H");
  check_matrix_size(in, "H", H, M.rows(), Eigen::Index{dim} * contacts);
  const Vector f = in.numbers(M.rows(), "q");
  const Vector w = in.numbers(H.cols(), "b");
  SetProduct K = read_cones(in, dim, contacts);
  check_friction_end(in);
  return global_problem(M, H.transpose(), f, w, std::move(K));
}

/// n, M, q. `any_remark`: what follows may also be numbers; a file whose format is not known must
/// not.
ComplementarityProblem read_lcp(TokenReader& in, bool any_remark) {
  const int n = in.integer("the size", 1, largest_int);
  ComplementarityProblem p;
  p.M = read_text_matrix(in, "M");
  check_matrix_size(in, "M", p.M, n, n);
  p.q = in.numbers(n, "q");
  p.lo = Vector::Zero(n);
  p.hi = Vector::Constant(n, infinity);
  double number = 0;
  if (!any_remark && !in.peek().empty() && parse_number(in.peek(), number)) {
    in.next("the end of the file");
    in.fail("more numbers after q", "the end of the file or a remark");
  }
  return p;
}

ComplementarityProblem read_relay(TokenReader& in) {
  const int n = in.integer("the size", 1, largest_int);
  ComplementarityProblem p;
  p.M = read_text_matrix(in, "M");
  check_matrix_size(in, "M", p.M, n, n);
  p.q = in.numbers(n, "q");
  p.lo = in.bounds(n, "the lower bounds");
  p.hi = in.bounds(n, "the upper bounds");
  if (!in.peek().empty()) {
    in.next("the end of the file");
    in.fail("more words after the bounds", "the end of the file");
  }
  return p;
}

/// The form (M, q): rows in blocks, each of equalities (0) or of complementarity rows (1).
void read_mlcp_matrix(TokenReader& in, int n, int m, ComplementarityProblem& p) {
  std::vector<int> start{in.integer("the first row of the first block", 0, 0)};
  while (start.back() < n + m) {
    start.push_back(
        in.integer("the first row of the next block", std::int64_t{start.back()} + 1, n + m));
  }
  int equalities = 0;
  for (std::size_t k = 0; k + 1 < start.size(); ++k) {
    if (in.integer("the kind of a block, 0 (equalities) or 1,", 0, 1) == 1) continue;
    for (int r = start[k]; r < start[k + 1]; ++r) p.lo[r] = -infinity;
    equalities += start[k + 1] - start[k];
  }
  if (equalities != n) {
    in.fail(fmt::format("blocks with {} equalities", equalities), fmt::format("{}", n));
  }
  p.M = read_text_matrix(in, "M");
  check_matrix_size(in, "M", p.M, n + m, n + m);
  p.q = in.numbers(n + m, "q");
}

/// The form (A, C; D, B), (a; b): equalities first. Unlike M, these are printed row by row.
ComplementarityProblem read_mlcp_blocks(TokenReader& in, int n, int m) {
  ComplementarityProblem p;
  std::vector<Eigen::Triplet<double>> triplets;
  const auto read = [&](const char* name, int first_row, int rows, int first_column, int columns) {
    in.require_room(std::int64_t{rows} * columns, name);
    for (int r = 0; r < rows; ++r) {
      for (int c = 0; c < columns; ++c) {
        const double value = in.number(name);
        if (value != 0) triplets.emplace_back(first_row + r, first_column + c, value);
      }
    }
  };
  read("A", 0, n, 0, n);
  read("B", n, m, n, m);
  read("C", 0, n, n, m);
  read("D", n, m, 0, n);
  p.M.resize(n + m, n + m);
  p.M.setFromTriplets(triplets.begin(), triplets.end());
  p.q.resize(n + m);
  p.q.head(n) = in.numbers(n, "a");
  p.q.tail(m) = in.numbers(m, "b");
  p.lo = Vector::Zero(n + m);
  p.lo.head(n).setConstant(-infinity);
  p.hi = Vector::Constant(n + m, infinity);
  return p;
}

/// Both forms may be there; then they must say the same, the rows of (A, C; D, B) being those of M,
/// equalities first.
void compare_mlcp_forms(const TokenReader& in, const ComplementarityProblem& p,
                        const ComplementarityProblem& blocks) {
  const int size = p.size();
  std::vector<int> order;
  for (const bool equality : {true, false}) {
    for (int r = 0; r < size; ++r) {
      if ((p.lo[r] == -infinity) == equality) order.push_back(r);
    }
  }
  Eigen::PermutationMatrix<Eigen::Dynamic> permutation(size);
  for (int k = 0; k < size; ++k) permutation.indices()[k] = order[k];
  const SparseMatrix expanded =
      SparseMatrix(permutation * blocks.M) * permutation.inverse();  // row k goes to order[k]
  const SparseMatrix difference = expanded - p.M;
  constexpr double printed = 1e-12;
  if (!(largest_entry(difference) <= printed * largest_entry(p.M)) ||
      !((permutation * blocks.q - p.q).cwiseAbs().maxCoeff() <=
        printed * p.q.cwiseAbs().maxCoeff())) {
    in.fail("A, B, C, D, a, b that are not the blocks of M and q", "the same problem twice");
  }
}

/// Two flags say which forms follow. Numbers behind them are somebody's solution (at most z and w)
/// and are not used.
ComplementarityProblem read_mlcp(TokenReader& in) {
  const bool has_matrix = in.integer("the flag of the form (M, q)", 0, 1) == 1;
  const bool has_blocks = in.integer("the flag of the form (A, B, C, D, a, b)", 0, 1) == 1;
  if (!has_matrix && !has_blocks) in.fail("neither form of an MLCP", "one of the flags set");
  const int n = in.integer("the number of equalities", 0, largest_int / 2);
  const int m = in.integer("the number of inequalities", n == 0 ? 1 : 0, largest_int / 2);
  in.require_room(std::int64_t{n} + m, "q");
  ComplementarityProblem p;
  p.lo = Vector::Zero(n + m);
  p.hi = Vector::Constant(n + m, infinity);
  if (has_matrix) read_mlcp_matrix(in, n, m, p);
  if (has_blocks) {
    const ComplementarityProblem blocks = read_mlcp_blocks(in, n, m);
    if (has_matrix) {
      compare_mlcp_forms(in, p, blocks);
    } else {
      p = blocks;
    }
  }
  const std::int64_t rest = in.count_rest();
  if (rest > std::int64_t{n} + 2 * std::int64_t{m}) {
    in.next("the end of the file");
    in.fail(fmt::format("{} more words", rest),
            fmt::format("the end of the file, or a solution of at most {} numbers", n + 2 * m));
  }
  return p;
}

/// u = M r + q, K* ∋ u ⟂ r ∈ K, with second-order cones ‖(r₁, …)‖ ≤ μ r₀ of any dimension: convex
/// friction without its mechanics. A cone of one component is a half-line.
StepProblem read_soclcp(TokenReader& in) {
  const int n = in.integer("the size", 1, largest_int);
  const int cones = in.integer("the number of cones", 1, n);
  const SparseMatrix M = read_text_matrix(in, "M");
  check_matrix_size(in, "M", M, n, n);
  const Vector q = in.numbers(n, "q");
  std::vector<int> start{in.integer("the first row of the first cone", 0, 0)};
  for (int k = 1; k <= cones; ++k) {
    const bool last = k == cones;
    start.push_back(
        in.integer(last ? "the number of rows behind the cones" : "the first row of the next cone",
                   last ? n : std::int64_t{start.back()} + 1, n));
    const int size = start.back() - start[static_cast<std::size_t>(k) - 1];
    if (size < 1 || size > max_block) {
      in.fail(fmt::format("cone {} with {} components", k - 1, size),
              fmt::format("from 1 to {}", max_block));
    }
  }
  SetProduct K;
  for (int k = 0; k < cones; ++k) {
    const double mu = in.number("a cone's coefficient");
    const int size = start[static_cast<std::size_t>(k) + 1] - start[static_cast<std::size_t>(k)];
    K.push_back(size == 1 ? ConvexSet::nonnegative() : ConvexSet::cone(mu, size));
  }
  if (!in.peek().empty()) {
    in.next("the end of the file");
    in.fail("more words after the cones' coefficients", "the end of the file");
  }
  return local_problem(M, q, std::move(K));
}

Problem read_layout(TokenReader& in, FileFormat format, bool forced) {
  switch (format) {
    case FileFormat::rolling_text:
      return read_local(in, true);
    case FileFormat::global_text:
      return read_global(in);
    case FileFormat::lcp_text:
      return read_lcp(in, forced);
    case FileFormat::mlcp_text:
      return read_mlcp(in);
    case FileFormat::relay_text:
      return read_relay(in);
    case FileFormat::soclcp_text:
      return read_soclcp(in);
    default:
      return read_local(in, false);
  }
}

ProblemFile read_as(TokenReader& in, FileFormat format, bool forced) {
  ProblemFile out{.problem = read_layout(in, format, forced), .format = format};
  if (format == FileFormat::soclcp_text) out.friction = Friction::convex;
  return out;
}

}  // namespace

ProblemFile read_text(const std::string& name, std::string_view text, FileFormat format) {
  if (format != FileFormat::automatic) {
    TokenReader in(name, text);
    return read_as(in, format, true);
  }
  constexpr std::array layouts = {FileFormat::friction_text, FileFormat::rolling_text,
                                  FileFormat::global_text,   FileFormat::lcp_text,
                                  FileFormat::mlcp_text,     FileFormat::relay_text,
                                  FileFormat::soclcp_text};
  std::vector<ProblemFile> fitting;
  std::int64_t farthest = -1;
  FileFormat closest = layouts[0];
  std::string reason;
  for (const FileFormat layout : layouts) {
    TokenReader in(name, text);
    try {
      fitting.push_back(read_as(in, layout, false));
    } catch (const InputError& error) {
      if (in.position() > farthest) {
        farthest = in.position();
        closest = layout;
        reason = error.what();
      }
    }
  }
  if (fitting.size() > 1) {
    throw InputError(name,
                     fmt::format("text that fits both layouts {} and {}",
                                 to_string(fitting[0].format), to_string(fitting[1].format)),
                     "one of them, chosen with --format");
  }
  if (fitting.empty()) {
    if (reason.starts_with(name + ": ")) reason.erase(0, name.size() + 2);
    throw InputError(name,
                     fmt::format("neither HDF5 nor text of a known layout (the closest is {}: {})",
                                 to_string(closest), reason),
                     "a layout that fits the whole file, or one forced with --format");
  }
  return std::move(fitting.front());
}

}  // namespace urto
