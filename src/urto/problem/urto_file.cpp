// Our own HDF5 format; its layout is described in problem_file.h.
#include <limits>

#include <fmt/format.h>

#include "urto/problem/file_formats.h"

namespace urto {
namespace {

void check_pointers(const Hdf5File& file, const std::string& path, const std::vector<int>& p,
                    int last) {
  if (p.empty() || p.front() != 0) file.fail(path, "no 0 at the start", "pointers from 0 on");
  for (std::size_t k = 1; k < p.size(); ++k) {
    if (p[k] < p[k - 1]) {
      file.fail(path, fmt::format("{} after {} at value {}", p[k], p[k - 1], k),
                "pointers that do not decrease");
    }
  }
  if (p.back() != last) {
    file.fail(path, fmt::format("{} as the last value", p.back()), fmt::format("{}", last));
  }
}

SparseMatrix read_sparse(const Hdf5File& file, const std::string& path, Eigen::Index rows,
                         Eigen::Index columns) {
  const int m = file.integer(path + "/rows");
  const int n = file.integer(path + "/columns");
  if (m != rows || n != columns) {
    file.fail(path, fmt::format("a {} × {} matrix", m, n), fmt::format("{} × {}", rows, columns));
  }
  const std::vector<int> start =
      file.integers(path + "/column_start", static_cast<std::size_t>(n) + 1);
  const std::vector<int> row = file.integers(path + "/row");
  const Vector values = file.numbers(path + "/values", row.size());
  check_pointers(file, path + "/column_start", start, static_cast<int>(row.size()));
  for (int c = 0; c < n; ++c) {
    for (int e = start[c], previous = -1; e < start[c + 1]; ++e) {
      if (row[e] <= previous || row[e] >= m) {
        file.fail(path + "/row", fmt::format("{} as value {}", row[e], e),
                  fmt::format("rows below {}, increasing in each column", m));
      }
      previous = row[e];
    }
  }
  return Eigen::Map<const SparseMatrix>(m, n, values.size(), start.data(), row.data(),
                                        values.data());
}

void write_sparse(Hdf5File& file, const std::string& path, SparseMatrix A) {
  A.makeCompressed();
  const auto entries = static_cast<std::size_t>(A.nonZeros());
  const int rows = static_cast<int>(A.rows());
  const int columns = static_cast<int>(A.cols());
  file.write(path + "/rows", std::span(&rows, 1));
  file.write(path + "/columns", std::span(&columns, 1));
  file.write(path + "/column_start", std::span<const int>(A.outerIndexPtr(), columns + 1));
  file.write(path + "/row", std::span<const int>(A.innerIndexPtr(), entries));
  file.write(path + "/values", std::span<const double>(A.valuePtr(), entries));
}

void write_vector(Hdf5File& file, const std::string& path, const Vector& v) {
  file.write(path, std::span<const double>(v.data(), static_cast<std::size_t>(v.size())));
}

BlockMatrix read_block_diagonal(const Hdf5File& file, int dofs) {
  BlockMatrix H;
  H.start = file.integers("/urto/H/start");
  check_pointers(file, "/urto/H/start", H.start, dofs);
  std::int64_t count = 0;
  for (int k = 0; k < H.blocks(); ++k) {
    count += std::int64_t{H.size(k)} * H.size(k);
    if (count > std::numeric_limits<int>::max()) {
      file.fail("/urto/H/start", "blocks with 2^31 values and more", "smaller blocks");
    }
    H.offset.push_back(static_cast<int>(count));
  }
  const Vector values = file.numbers("/urto/H/values", static_cast<std::size_t>(count));
  H.values.assign(values.begin(), values.end());
  return H;
}

BlockRows read_block_rows(const Hdf5File& file, int rows, int columns) {
  const std::string path = "/urto/J";
  BlockRows J;
  J.columns = file.integer(path + "/columns");
  if (J.columns != columns) {
    file.fail(path + "/columns", fmt::format("{}", J.columns), fmt::format("{}", columns));
  }
  J.row_start = file.integers(path + "/row_start");
  check_pointers(file, path + "/row_start", J.row_start, rows);
  J.entry_start = file.integers(path + "/entry_start", J.row_start.size());
  const std::vector<int> column = file.integers(path + "/entry_column");
  const std::vector<int> width = file.integers(path + "/entry_width", column.size());
  const std::vector<int> offset = file.integers(path + "/entry_offset", column.size());
  const Vector values = file.numbers(path + "/values");
  check_pointers(file, path + "/entry_start", J.entry_start, static_cast<int>(column.size()));
  J.values.assign(values.begin(), values.end());
  for (int i = 0; i < J.blocks(); ++i) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const std::int64_t end = std::int64_t{offset[e]} + std::int64_t{J.height(i)} * width[e];
      if (column[e] < 0 || width[e] < 0 || std::int64_t{column[e]} + width[e] > columns) {
        file.fail(path + "/entry_column",
                  fmt::format("entry {} with {} columns from {} on", e, width[e], column[e]),
                  fmt::format("columns below {}", columns));
      }
      if (offset[e] < 0 || end > values.size()) {
        file.fail(path + "/entry_offset", fmt::format("{} as value {}", offset[e], e),
                  fmt::format("a block inside the {} values", values.size()));
      }
      J.entries.push_back({.column = column[e], .width = width[e], .offset = offset[e]});
    }
  }
  return J;
}

SetProduct read_sets(const Hdf5File& file) {
  const std::string path = "/urto/sets";
  const std::vector<int> kind = file.integers(path + "/kind");
  const std::vector<int> dim = file.integers(path + "/dim", kind.size());
  const Vector mu = file.numbers(path + "/mu", kind.size());
  const Vector mu_rolling = file.numbers(path + "/mu_rolling", kind.size());
  // Files from before there was spinning friction have none.
  const Vector mu_spinning = file.has(path + "/mu_spinning")
                                 ? file.numbers(path + "/mu_spinning", kind.size())
                                 : Vector(Vector::Zero(static_cast<Eigen::Index>(kind.size())));
  const Vector lo = file.numbers(path + "/lo", kind.size());
  const Vector hi = file.numbers(path + "/hi", kind.size());
  SetProduct K;
  for (std::size_t k = 0; k < kind.size(); ++k) {
    const auto i = static_cast<Eigen::Index>(k);
    if (kind[k] < 0 || kind[k] > static_cast<int>(SetKind::box)) {
      file.fail(path + "/kind", fmt::format("{} as value {}", kind[k], k), "0 to 4");
    }
    // validate() checks the rest of a set; its size is needed before, as the sum of the sizes must
    // not overflow.
    if (dim[k] < 1 || dim[k] > max_block) {
      file.fail(path + "/dim", fmt::format("{} as value {}", dim[k], k),
                fmt::format("1 to {}", max_block));
    }
    if (K.rows() > std::numeric_limits<int>::max() - max_block) {
      file.fail(path + "/dim", "2^31 rows and more", "fewer");
    }
    K.push_back({.kind = static_cast<SetKind>(kind[k]),
                 .dim = dim[k],
                 .mu = mu[i],
                 .mu_rolling = mu_rolling[i],
                 .mu_spinning = mu_spinning[i],
                 .lo = lo[i],
                 .hi = hi[i]});
  }
  return K;
}

StepProblem read_step(const Hdf5File& file) {
  StepProblem p;
  p.K = read_sets(file);
  p.a = file.numbers("/urto/a");
  p.b = file.numbers("/urto/b", static_cast<std::size_t>(p.rows()));
  const std::string kind = file.text("/urto/H/kind");
  if (kind == "blocks") {
    p.H = read_block_diagonal(file, p.dofs());
  } else if (kind == "sparse") {
    p.H = read_sparse(file, "/urto/H", p.dofs(), p.dofs());
  } else {
    file.fail("/urto/H/kind", "something else", "\"blocks\" or \"sparse\"");
  }
  p.J = read_block_rows(file, p.rows(), p.dofs());
  p.E = read_sparse(file, "/urto/E", p.rows(), p.rows());
  return p;
}

void write_step(Hdf5File& file, const StepProblem& p) {
  if (const BlockMatrix* blocks = block_diagonal_mass(p)) {
    file.write("/urto/H/kind", std::string_view("blocks"));
    file.write("/urto/H/start", blocks->start);
    file.write("/urto/H/values", blocks->values);
  } else {
    file.write("/urto/H/kind", std::string_view("sparse"));
    write_sparse(file, "/urto/H", sparse_mass(p));
  }
  std::vector<int> column, width, offset;
  for (const BlockRows::Entry& entry : p.J.entries) {
    column.push_back(entry.column);
    width.push_back(entry.width);
    offset.push_back(entry.offset);
  }
  file.write("/urto/J/columns", std::span(&p.J.columns, 1));
  file.write("/urto/J/row_start", p.J.row_start);
  file.write("/urto/J/entry_start", p.J.entry_start);
  file.write("/urto/J/entry_column", column);
  file.write("/urto/J/entry_width", width);
  file.write("/urto/J/entry_offset", offset);
  file.write("/urto/J/values", p.J.values);
  write_sparse(file, "/urto/E", p.E);
  write_vector(file, "/urto/a", p.a);
  write_vector(file, "/urto/b", p.b);
  std::vector<int> kind, dim;
  std::vector<double> mu, mu_rolling, mu_spinning, lo, hi;
  for (const ConvexSet& set : p.K.sets) {
    kind.push_back(static_cast<int>(set.kind));
    dim.push_back(set.dim);
    mu.push_back(set.mu);
    mu_rolling.push_back(set.mu_rolling);
    mu_spinning.push_back(set.mu_spinning);
    lo.push_back(set.lo);
    hi.push_back(set.hi);
  }
  file.write("/urto/sets/kind", kind);
  file.write("/urto/sets/dim", dim);
  file.write("/urto/sets/mu", mu);
  file.write("/urto/sets/mu_rolling", mu_rolling);
  file.write("/urto/sets/mu_spinning", mu_spinning);
  file.write("/urto/sets/lo", lo);
  file.write("/urto/sets/hi", hi);
}

ComplementarityProblem read_complementarity(const Hdf5File& file) {
  ComplementarityProblem p;
  p.q = file.numbers("/urto/q");
  const auto size = static_cast<std::size_t>(p.q.size());
  p.lo = file.numbers("/urto/lo", size);
  p.hi = file.numbers("/urto/hi", size);
  p.M = read_sparse(file, "/urto/M", p.q.size(), p.q.size());
  return p;
}

}  // namespace

ProblemFile read_urto(const Hdf5File& file) {
  const int version = file.integer("/urto/version");
  if (version != 1) {
    file.fail("/urto/version", fmt::format("{}", version), "1, the only one this Urto knows");
  }
  const std::string kind = file.text("/urto/kind");
  ProblemFile result{.problem = {}, .format = FileFormat::urto};
  if (kind == "step") {
    result.problem = read_step(file);
  } else if (kind == "complementarity") {
    result.problem = read_complementarity(file);
  } else {
    file.fail("/urto/kind", "something else", "\"step\" or \"complementarity\"");
  }
  return result;
}

void write_problem(const std::filesystem::path& target, const Problem& problem) {
  std::visit([&](const auto& p) { validate(p, target.string()); }, problem);
  write_complete(target, [&](const std::filesystem::path& temporary) {
    Hdf5File file = Hdf5File::create(temporary, target);
    const int version = 1;
    file.write("/urto/version", std::span(&version, 1));
    if (const auto* step = std::get_if<StepProblem>(&problem)) {
      file.write("/urto/kind", std::string_view("step"));
      write_step(file, *step);
    } else {
      const auto& p = std::get<ComplementarityProblem>(problem);
      file.write("/urto/kind", std::string_view("complementarity"));
      write_sparse(file, "/urto/M", p.M);
      write_vector(file, "/urto/q", p.q);
      write_vector(file, "/urto/lo", p.lo);
      write_vector(file, "/urto/hi", p.hi);
    }
    file.close();
  });
}

}  // namespace urto
