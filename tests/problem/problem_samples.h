// Random problems, a directory that goes away, and edits of HDF5 files: for the tests of problem
// files.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <random>
#include <string>
#include <unistd.h>
#include <vector>

#include <hdf5.h>

#include "urto/problem/problem_file.h"

namespace urto::samples {

inline constexpr double infinity = std::numeric_limits<double>::infinity();

class Directory {
 public:
  explicit Directory(const std::string& name)
      : path_(std::filesystem::temp_directory_path() / (name + "-" + std::to_string(getpid()))) {
    std::filesystem::create_directories(path_);
  }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;
  ~Directory() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::filesystem::path operator/(const std::string& file) const { return path_ / file; }
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A new file each time: some file systems wait for the disk when a file is overwritten.
inline void write_bytes(const std::filesystem::path& file, const std::string& bytes) {
  std::filesystem::remove(file);
  std::ofstream(file, std::ios::binary) << bytes;
}

inline std::string read_bytes(const std::filesystem::path& file) {
  std::ifstream in(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Plain numbers from a generator whose output the standard fixes, so that every platform makes the
/// same problems.
class Random {
 public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  std::uint32_t below(std::uint32_t n) { return static_cast<std::uint32_t>(engine_()) % n; }
  double real() { return 2.0 * static_cast<double>(engine_()) / 4294967295.0 - 1.0; }
  Vector vector(Eigen::Index n) {
    Vector v(n);
    for (double& x : v) x = real();
    return v;
  }
  Matrix matrix(Eigen::Index m, Eigen::Index n) { return vector(m * n).reshaped(m, n); }
  /// Symmetric and positive definite; exactly symmetric.
  Matrix spd(Eigen::Index n) {
    const Matrix A = matrix(n, n);
    Matrix B = A * A.transpose() + Matrix::Identity(n, n);
    B.triangularView<Eigen::StrictlyUpper>() = B.transpose();
    return B;
  }

 private:
  std::mt19937 engine_;
};

inline ConvexSet random_set(Random& random, SetKind kind) {
  switch (kind) {
    case SetKind::free:
      return ConvexSet::free(1 + static_cast<int>(random.below(6)));
    case SetKind::nonnegative:
      return ConvexSet::nonnegative(1 + static_cast<int>(random.below(3)));
    case SetKind::cone:
      return ConvexSet::cone(std::abs(random.real()), 2 + static_cast<int>(random.below(2)));
    case SetKind::rolling_cone:
      switch (random.below(3)) {
        case 0:
          return ConvexSet::spinning_cone(std::abs(random.real()), std::abs(random.real()));
        case 1:
          return ConvexSet::rolling_cone(std::abs(random.real()), std::abs(random.real()),
                                         std::abs(random.real()));
        default:
          return ConvexSet::rolling_cone(std::abs(random.real()), std::abs(random.real()));
      }
    case SetKind::box:
      break;
  }
  const double low = random.real();
  return ConvexSet::box(random.below(3) == 0 ? -infinity : low,
                        random.below(3) == 0 ? infinity : low + 1, 2);
}

/// A band of 2 × 2 blocks: sparse, symmetric, and not block-diagonal for more than a few rows.
inline SparseMatrix band(Random& random, int n) {
  std::vector<Eigen::Triplet<double>> triplets;
  for (int r = 0; r < n; ++r) {
    triplets.emplace_back(r, r, 4 + std::abs(random.real()));
    if (r + 1 < n) {
      const double coupling = random.real();
      triplets.emplace_back(r, r + 1, coupling);
      triplets.emplace_back(r + 1, r, coupling);
    }
  }
  SparseMatrix A(n, n);
  A.setFromTriplets(triplets.begin(), triplets.end());
  return A;
}

inline SetProduct product(const std::vector<ConvexSet>& sets) {
  SetProduct K;
  for (const ConvexSet& set : sets) K.push_back(set);
  return K;
}

inline StepProblem local(Random& random, const SetProduct& K) {
  return local_problem(random.spd(K.rows()).sparseView(), random.vector(K.rows()), K);
}

/// `bodies` of six dofs each; every block of rows touches two of them. Without `blocks`, H is a
/// band.
inline StepProblem global(Random& random, const SetProduct& K, int bodies, bool blocks = true) {
  const int n = 6 * bodies;
  SparseMatrix M = band(random, n);
  if (blocks) {
    std::vector<Eigen::Triplet<double>> triplets;
    for (int b = 0; b < bodies; ++b) {
      const Matrix block = random.spd(6);
      for (int c = 0; c < 6; ++c) {
        for (int r = 0; r < 6; ++r) triplets.emplace_back(6 * b + r, 6 * b + c, block(r, c));
      }
    }
    M.setFromTriplets(triplets.begin(), triplets.end());
  }
  std::vector<Eigen::Triplet<double>> triplets;
  for (int i = 0; i < K.blocks(); ++i) {
    for (const int body : {i % bodies, (i + 1) % bodies}) {
      for (int r = K.start[i]; r < K.start[i + 1]; ++r) {
        for (int c = 0; c < 6; ++c) triplets.emplace_back(r, 6 * body + c, random.real());
      }
    }
  }
  SparseMatrix J(K.rows(), n);
  J.setFromTriplets(triplets.begin(), triplets.end());
  return global_problem(M, J, random.vector(n), random.vector(K.rows()), K);
}

inline ComplementarityProblem complementarity(Random& random, int n, double lo, double hi) {
  return {.M = random.matrix(n, n).sparseView(),
          .q = random.vector(n),
          .lo = Vector::Constant(n, lo),
          .hi = Vector::Constant(n, hi)};
}

inline bool same(const SparseMatrix& A, const SparseMatrix& B) {
  return A.rows() == B.rows() && A.cols() == B.cols() && A.nonZeros() == B.nonZeros() &&
         std::equal(A.outerIndexPtr(), A.outerIndexPtr() + A.outerSize() + 1, B.outerIndexPtr()) &&
         std::equal(A.innerIndexPtr(), A.innerIndexPtr() + A.nonZeros(), B.innerIndexPtr()) &&
         std::equal(A.valuePtr(), A.valuePtr() + A.nonZeros(), B.valuePtr());
}

inline bool same(const Vector& a, const Vector& b) {
  return a.size() == b.size() && a == b;
}

inline bool same(const StepProblem& p, const StepProblem& q) {
  if (p.H.index() != q.H.index()) return false;
  const bool mass = p.H.index() == 0
                        ? std::get<BlockMatrix>(p.H) == std::get<BlockMatrix>(q.H)
                        : same(std::get<SparseMatrix>(p.H), std::get<SparseMatrix>(q.H));
  return mass && p.J == q.J && same(p.E, q.E) && same(p.a, q.a) && same(p.b, q.b) && p.K == q.K;
}

inline bool same(const ComplementarityProblem& p, const ComplementarityProblem& q) {
  return same(p.M, q.M) && same(p.q, q.q) && same(p.lo, q.lo) && same(p.hi, q.hi);
}

/// Puts another dataset in the place of one: `type` is that of `data` and of the file.
inline void replace_dataset(const std::filesystem::path& file, const std::string& path, hid_t type,
                            const std::vector<hsize_t>& shape, const void* data) {
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  if (H5Lexists(id, path.c_str(), H5P_DEFAULT) > 0) H5Ldelete(id, path.c_str(), H5P_DEFAULT);
  const hid_t space = H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr);
  const hid_t set =
      H5Dcreate2(id, path.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT);
  if (data != nullptr) H5Dwrite(set, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data);
  H5Dclose(set);
  H5Sclose(space);
  H5Fclose(id);
}

inline void replace_integers(const std::filesystem::path& file, const std::string& path,
                             const std::vector<int>& values) {
  replace_dataset(file, path, H5T_NATIVE_INT, {values.size()}, values.data());
}

inline void replace_numbers(const std::filesystem::path& file, const std::string& path,
                            const std::vector<double>& values) {
  replace_dataset(file, path, H5T_NATIVE_DOUBLE, {values.size()}, values.data());
}

inline void remove_object(const std::filesystem::path& file, const std::string& path) {
  const hid_t id = H5Fopen(file.c_str(), H5F_ACC_RDWR, H5P_DEFAULT);
  H5Ldelete(id, path.c_str(), H5P_DEFAULT);
  H5Fclose(id);
}

}  // namespace urto::samples
