// FCLIB's HDF5 (fclib.h of the FCLIB project; files also made by Siconos and LMGC90).
//
//   /fclib_local           W, V, R; vectors/q, s, mu; spacedim
//                          u = W r + V λ + q,  0 = Vᵀ r + R λ + s
//   /fclib_global          M, H, G; vectors/f, w, b, mu; spacedim
//                          M v = H r + G λ + f,  u = Hᵀ v + w,  0 = Gᵀ v + b
//   /fclib_global_rolling  as global, with vectors/mu_r and spacedim 5
//   /solution, /guesses/1  v, u, r, l
//
// V, R, s and G, b are there only with equality constraints.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/problem/file_formats.h"

namespace urto {
namespace {

using Triplets = std::vector<Eigen::Triplet<double>>;

/// A matrix group m, n, nz, p, i, x. With nz ≥ 0 it holds triplets, i the rows and p the columns:
/// fclib.h says the opposite, but FCLIB itself hands the arrays to CSparse unchanged, where i are
/// rows, and so does every file that was ever seen.
SparseMatrix read_matrix(const Hdf5File& file, const std::string& path, Eigen::Index rows,
                         Eigen::Index columns) {
  const int m = file.integer(path + "/m");
  const int n = file.integer(path + "/n");
  if (m != rows || n != columns) {
    file.fail(path, fmt::format("a {} × {} matrix", m, n),
              fmt::format("{} × {} as the vectors have it", rows, columns));
  }
  const int nz = file.integer(path + "/nz");
  const std::vector<int> p = file.integers(path + "/p");
  const std::vector<int> i = file.integers(path + "/i");
  const Vector x = file.numbers(path + "/x");
  const auto check_index = [&](const char* name, std::size_t k, int index, int end) {
    if (index < 0 || index >= end) {
      file.fail(fmt::format("{}/{}", path, name), fmt::format("index {} as value {}", index, k),
                fmt::format("0 to {}", end - 1));
    }
  };
  const auto check_room = [&](const char* name, std::size_t found, std::size_t entries) {
    if (found < entries) {
      file.fail(fmt::format("{}/{}", path, name), fmt::format("{} values", found),
                fmt::format("at least {}", entries));
    }
  };

  Triplets triplets;
  if (nz >= 0) {
    const auto entries = static_cast<std::size_t>(nz);
    check_room("p", p.size(), entries);
    check_room("i", i.size(), entries);
    check_room("x", static_cast<std::size_t>(x.size()), entries);
    triplets.reserve(entries);
    for (std::size_t k = 0; k < entries; ++k) {
      check_index("i", k, i[k], m);
      check_index("p", k, p[k], n);
      triplets.emplace_back(i[k], p[k], x[static_cast<Eigen::Index>(k)]);
    }
  } else if (nz == -1 || nz == -2) {
    const bool by_columns = nz == -1;
    const int outer = by_columns ? n : m;
    if (p.size() != static_cast<std::size_t>(outer) + 1) {
      file.fail(path + "/p", fmt::format("{} values", p.size()), fmt::format("{}", outer + 1));
    }
    if (p[0] != 0) file.fail(path + "/p", fmt::format("{} as value 0", p[0]), "0");
    for (int k = 0; k < outer; ++k) {
      if (p[k + 1] < p[k]) {
        file.fail(path + "/p", fmt::format("{} after {} at value {}", p[k + 1], p[k], k + 1),
                  "pointers that do not decrease");
      }
    }
    const auto entries = static_cast<std::size_t>(p[outer]);
    check_room("i", i.size(), entries);
    check_room("x", static_cast<std::size_t>(x.size()), entries);
    triplets.reserve(entries);
    for (int k = 0; k < outer; ++k) {
      for (int e = p[k]; e < p[k + 1]; ++e) {
        check_index("i", static_cast<std::size_t>(e), i[e], by_columns ? m : n);
        triplets.emplace_back(by_columns ? i[e] : k, by_columns ? k : i[e], x[e]);
      }
    }
  } else {
    file.fail(path + "/nz", fmt::format("{}", nz),
              "-1 (compressed columns), -2 (compressed rows) or a number of triplets");
  }
  SparseMatrix matrix(m, n);
  matrix.setFromTriplets(triplets.begin(), triplets.end());
  return matrix;
}

void append(Triplets& out, const SparseMatrix& A, int first_row, int first_column,
            bool transposed = false) {
  for (int c = 0; c < A.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(A, c); it; ++it) {
      const int r = static_cast<int>(it.row());
      out.emplace_back(first_row + (transposed ? c : r), first_column + (transposed ? r : c),
                       it.value());
    }
  }
}

SetProduct read_sets(const Hdf5File& file, const std::string& group, int dim, Eigen::Index rows,
                     const char* rows_from) {
  const Vector mu = file.numbers(group + "/vectors/mu");
  if (mu.size() * dim != rows) {
    file.fail(group + "/vectors/mu",
              fmt::format("{} friction coefficients of contacts with {} rows", mu.size(), dim),
              fmt::format("{} rows as in {}", rows, rows_from));
  }
  SetProduct K;
  if (dim == 5) {
    const Vector mu_rolling =
        file.numbers(group + "/vectors/mu_r", static_cast<std::size_t>(mu.size()));
    for (Eigen::Index i = 0; i < mu.size(); ++i) {
      K.push_back(ConvexSet::rolling_cone(mu[i], mu_rolling[i]));
    }
  } else {
    for (const double coefficient : mu) K.push_back(ConvexSet::cone(coefficient, dim));
  }
  return K;
}

void append_equalities(SetProduct& K, Eigen::Index rows) {
  for (Eigen::Index r = 0; r < rows; r += max_block) {
    K.push_back(ConvexSet::free(static_cast<int>(std::min<Eigen::Index>(max_block, rows - r))));
  }
}

StepProblem read_local(const Hdf5File& file) {
  const std::string group = "/fclib_local";
  const int dim = file.integer(group + "/spacedim");
  if (dim != 2 && dim != 3) file.fail(group + "/spacedim", fmt::format("{}", dim), "2 or 3");
  const Vector q = file.numbers(group + "/vectors/q");
  SetProduct K = read_sets(file, group, dim, q.size(), "vectors/q");
  const SparseMatrix W = read_matrix(file, group + "/W", q.size(), q.size());
  if (!file.has(group + "/V") && !file.has(group + "/R")) {
    return local_problem(W, q, std::move(K));
  }

  const Vector s = file.numbers(group + "/vectors/s");
  const int m = static_cast<int>(q.size());
  const int p = static_cast<int>(s.size());
  const SparseMatrix V = read_matrix(file, group + "/V", m, p);
  const SparseMatrix R = read_matrix(file, group + "/R", p, p);
  Triplets triplets;
  append(triplets, W, 0, 0);
  append(triplets, V, 0, m);
  append(triplets, V, m, 0, true);
  append(triplets, R, m, m);
  SparseMatrix E(m + p, m + p);
  E.setFromTriplets(triplets.begin(), triplets.end());
  Vector b(m + p);
  b << q, s;
  append_equalities(K, p);
  return local_problem(E, b, std::move(K));
}

StepProblem read_global(const Hdf5File& file, const std::string& group, bool rolling) {
  const int dim = file.integer(group + "/spacedim");
  if (rolling ? dim != 5 : (dim != 2 && dim != 3)) {
    file.fail(group + "/spacedim", fmt::format("{}", dim), rolling ? "5" : "2 or 3");
  }
  const Vector f = file.numbers(group + "/vectors/f");
  const Vector w = file.numbers(group + "/vectors/w");
  const int n = static_cast<int>(f.size());
  const int m = static_cast<int>(w.size());
  if (n == 0) file.fail(group + "/vectors/f", "0 values", "one for each degree of freedom");
  SetProduct K = read_sets(file, group, dim, m, "vectors/w");
  const SparseMatrix M = read_matrix(file, group + "/M", n, n);
  const SparseMatrix H = read_matrix(file, group + "/H", n, m);
  if (!file.has(group + "/G")) {
    return global_problem(M, H.transpose(), f, w, std::move(K));
  }

  const Vector b = file.numbers(group + "/vectors/b");
  const int p = static_cast<int>(b.size());
  const SparseMatrix G = read_matrix(file, group + "/G", n, p);
  Triplets triplets;
  append(triplets, H, 0, 0, true);
  append(triplets, G, m, 0, true);
  SparseMatrix J(m + p, n);
  J.setFromTriplets(triplets.begin(), triplets.end());
  Vector all(m + p);
  all << w, b;
  append_equalities(K, p);
  return global_problem(M, J, f, all, std::move(K));
}

/// Siconos' dumps have a /solution/r that was created but never written (it reads as zeros): such a
/// group is no solution.
std::optional<StoredSolution> read_solution(const Hdf5File& file, const StepProblem& problem) {
  if (problem.rows() == 0) return std::nullopt;
  const auto complete = [&](const std::string& candidate) {
    return file.is_written(candidate + "/r") && file.is_written(candidate + "/u");
  };
  const std::string group = complete("/solution") ? "/solution" : "/guesses/1";
  if (!complete(group)) return std::nullopt;
  int equalities = 0;
  for (const ConvexSet& set : problem.K.sets) {
    if (set.kind == SetKind::free) equalities += set.dim;
  }
  const int contact_rows = problem.rows() - equalities;
  const auto rows = static_cast<std::size_t>(contact_rows);
  StoredSolution solution;
  solution.u = Vector::Zero(problem.rows());
  solution.lambda = Vector::Zero(problem.rows());
  solution.u.head(contact_rows) = file.numbers(group + "/u", rows);
  solution.lambda.head(contact_rows) = file.numbers(group + "/r", rows);
  if (equalities > 0 && file.is_written(group + "/l")) {
    solution.lambda.tail(equalities) =
        file.numbers(group + "/l", static_cast<std::size_t>(equalities));
  }
  if (problem.dofs() > 0 && file.is_written(group + "/v")) {
    solution.x = file.numbers(group + "/v", static_cast<std::size_t>(problem.dofs()));
  }
  if (!solution.x.allFinite() || !solution.u.allFinite() || !solution.lambda.allFinite()) {
    return std::nullopt;
  }
  return solution;
}

// Writing.

void write_matrix(Hdf5File& file, const std::string& path, SparseMatrix A) {
  A.makeCompressed();
  const auto entries = static_cast<std::size_t>(A.nonZeros());
  const auto integer = [&](const char* name, Eigen::Index value) {
    const int number = static_cast<int>(value);
    file.write(fmt::format("{}/{}", path, name), std::span(&number, 1));
  };
  integer("nzmax", A.nonZeros());
  integer("m", A.rows());
  integer("n", A.cols());
  integer("nz", -1);
  file.write(path + "/p", std::span<const int>(A.outerIndexPtr(), A.outerSize() + 1));
  file.write(path + "/i", std::span<const int>(A.innerIndexPtr(), entries));
  file.write(path + "/x", std::span<const double>(A.valuePtr(), entries));
}

void write_vector(Hdf5File& file, const std::string& path, const Vector& v) {
  file.write(path, std::span<const double>(v.data(), static_cast<std::size_t>(v.size())));
}

/// The rows of a problem as FCLIB orders them: contacts, then equalities.
struct RowSplit {
  std::vector<int> contact_rows, free_rows;
  int dim = 0;  // of the contacts; 0 without any
  bool rolling = false;
  std::vector<double> mu, mu_rolling;
};

RowSplit split_rows(const std::filesystem::path& target, const StepProblem& problem) {
  const auto refuse = [&](int set, const std::string& found) {
    throw InputError(fmt::format("{}: set {}", target.string(), set), found,
                     "free rows and friction cones of one dimension (2 or 3, or rolling cones): "
                     "FCLIB has no other; write the urto format");
  };
  RowSplit split;
  for (int i = 0; i < problem.blocks(); ++i) {
    const ConvexSet& set = problem.K.sets[i];
    std::vector<int>* rows = &split.contact_rows;
    switch (set.kind) {
      case SetKind::free:
        rows = &split.free_rows;
        break;
      case SetKind::nonnegative:
        refuse(i, "a unilateral row without friction");
        break;
      case SetKind::box:
        refuse(i, "a box");
        break;
      case SetKind::cone:
      case SetKind::rolling_cone:
        if (set.kind == SetKind::cone && set.dim != 2 && set.dim != 3) {
          refuse(i, fmt::format("a cone of dimension {}", set.dim));
        }
        if (set.kind == SetKind::rolling_cone && set.dim != 5) {
          refuse(i, fmt::format("a rolling cone of dimension {}, with spinning friction", set.dim));
        }
        if (split.dim != 0 && split.dim != set.dim) {
          refuse(i, fmt::format("a cone of dimension {} after one of dimension {}", set.dim,
                                split.dim));
        }
        split.dim = set.dim;
        split.rolling = set.kind == SetKind::rolling_cone;
        split.mu.push_back(set.mu);
        split.mu_rolling.push_back(set.mu_rolling);
        break;
    }
    for (int r = problem.K.start[i]; r < problem.K.start[i + 1]; ++r) rows->push_back(r);
  }
  return split;
}

SparseMatrix select(const SparseMatrix& A, const std::vector<int>& rows,
                    const std::vector<int>& columns) {
  std::vector<int> new_row(A.rows(), -1);
  for (std::size_t k = 0; k < rows.size(); ++k) new_row[rows[k]] = static_cast<int>(k);
  Triplets triplets;
  for (std::size_t c = 0; c < columns.size(); ++c) {
    for (SparseMatrix::InnerIterator it(A, columns[c]); it; ++it) {
      if (new_row[it.row()] >= 0) {
        triplets.emplace_back(new_row[it.row()], static_cast<int>(c), it.value());
      }
    }
  }
  SparseMatrix out(static_cast<Eigen::Index>(rows.size()),
                   static_cast<Eigen::Index>(columns.size()));
  out.setFromTriplets(triplets.begin(), triplets.end());
  return out;
}

Vector select(const Vector& v, const std::vector<int>& rows) {
  return v(rows);
}

void write_local(Hdf5File& file, const std::string& group, const StepProblem& problem,
                 const RowSplit& split) {
  write_matrix(file, group + "/W", select(problem.E, split.contact_rows, split.contact_rows));
  write_vector(file, group + "/vectors/q", select(problem.b, split.contact_rows));
  if (split.free_rows.empty()) return;
  write_matrix(file, group + "/V", select(problem.E, split.contact_rows, split.free_rows));
  write_matrix(file, group + "/R", select(problem.E, split.free_rows, split.free_rows));
  write_vector(file, group + "/vectors/s", select(problem.b, split.free_rows));
}

void write_global(Hdf5File& file, const std::string& group, const StepProblem& problem,
                  const RowSplit& split) {
  write_matrix(file, group + "/M", sparse_mass(problem));
  const SparseMatrix Jt = to_sparse(problem.J).transpose();
  std::vector<int> all(problem.dofs());
  for (int k = 0; k < problem.dofs(); ++k) all[k] = k;
  write_matrix(file, group + "/H", select(Jt, all, split.contact_rows));
  write_vector(file, group + "/vectors/f", problem.a);
  write_vector(file, group + "/vectors/w", select(problem.b, split.contact_rows));
  if (split.free_rows.empty()) return;
  write_matrix(file, group + "/G", select(Jt, all, split.free_rows));
  write_vector(file, group + "/vectors/b", select(problem.b, split.free_rows));
}

}  // namespace

ProblemFile read_fclib(const Hdf5File& file) {
  const std::array<const char*, 3> groups = {"/fclib_local", "/fclib_global",
                                             "/fclib_global_rolling"};
  int found = -1;
  for (int k = 0; k < 3; ++k) {
    if (!file.has(groups[k])) continue;
    if (found >= 0) {
      file.fail("/", fmt::format("both {} and {}", groups[found], groups[k]), "one problem a file");
    }
    found = k;
  }
  if (found < 0) {
    file.fail("/", "no problem", "a group fclib_local, fclib_global, fclib_global_rolling or urto");
  }
  StepProblem problem =
      found == 0 ? read_local(file) : read_global(file, groups[found], found == 2);
  std::optional<StoredSolution> guess = read_solution(file, problem);
  return {.problem = std::move(problem), .format = FileFormat::fclib, .guess = std::move(guess)};
}

void write_fclib(const std::filesystem::path& target, const StepProblem& problem,
                 const StoredSolution* solution, std::string_view title) {
  validate(problem, target.string());
  const RowSplit split = split_rows(target, problem);
  const bool local = problem.dofs() == 0;
  if (local && split.rolling) {
    throw InputError(
        target.string(), "rolling cones in a local problem",
        "a global problem: FCLIB has no local rolling one; write the urto format or text");
  }
  if (local) {
    // V serves for both couplings: an E that is not symmetric there would change.
    const SparseMatrix V = select(problem.E, split.contact_rows, split.free_rows);
    const SparseMatrix Vt = select(problem.E, split.free_rows, split.contact_rows);
    const SparseMatrix difference = V - SparseMatrix(Vt.transpose());
    if (largest_entry(difference) > 1e-12 * largest_entry(V)) {
      throw InputError(target.string(),
                       "couplings of contacts and free rows that are not symmetric",
                       "symmetric ones: FCLIB stores one of the two; write the urto format");
    }
  }
  if (!local && largest_entry(problem.E) > 0) {
    throw InputError(target.string(), "a global problem with compliance E",
                     "none: FCLIB has no place for it; write the urto format");
  }
  if (solution != nullptr) {
    const auto check = [&](const char* what, Eigen::Index found, Eigen::Index expected) {
      if (found != expected) {
        throw InputError(fmt::format("{}: size of the solution's {}", target.string(), what),
                         fmt::format("{}", found), fmt::format("{}", expected));
      }
    };
    check("x", solution->x.size(), problem.dofs());
    check("u", solution->u.size(), problem.rows());
    check("lambda", solution->lambda.size(), problem.rows());
  }
  const std::string group =
      local ? "/fclib_local" : (split.rolling ? "/fclib_global_rolling" : "/fclib_global");
  write_complete(target, [&](const std::filesystem::path& temporary) {
    Hdf5File file = Hdf5File::create(temporary, target);
    const int spacedim = split.dim > 0 ? split.dim : 3;
    file.write(group + "/spacedim", std::span(&spacedim, 1));
    file.write(group + "/info/title", title);
    file.write(group + "/info/description", std::string_view("written by Urto"));
    file.write(group + "/info/math_info", std::string_view());
    file.write(group + "/vectors/mu", split.mu);
    if (split.rolling) file.write(group + "/vectors/mu_r", split.mu_rolling);
    local ? write_local(file, group, problem, split) : write_global(file, group, problem, split);
    if (solution != nullptr) {
      if (!local) write_vector(file, "/solution/v", solution->x);
      write_vector(file, "/solution/u", select(solution->u, split.contact_rows));
      write_vector(file, "/solution/r", select(solution->lambda, split.contact_rows));
      if (!split.free_rows.empty()) {
        write_vector(file, "/solution/l", select(solution->lambda, split.free_rows));
      }
    }
    file.close();
  });
}

}  // namespace urto
