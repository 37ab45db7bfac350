#include "urto/linalg/block_matrix.h"

#include <algorithm>

#include <Eigen/Cholesky>
#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

using RowMajor36 = Eigen::Matrix<double, 3, 6, Eigen::RowMajor>;
using RowMajor33 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;

}  // namespace

void BlockRows::add_block(int height) {
  row_start.push_back(row_start.back() + height);
  entry_start.push_back(entry_start.back());
}

void BlockRows::add_entry(int column, const Eigen::Ref<const Matrix>& block) {
  assert(blocks() > 0 && block.rows() == height(blocks() - 1));
  assert(column >= 0 && column + block.cols() <= columns);
  entries.push_back({column, static_cast<int>(block.cols()), static_cast<int>(values.size())});
  entry_start.back() = static_cast<int>(entries.size());
  for (Eigen::Index r = 0; r < block.rows(); ++r) {
    for (Eigen::Index c = 0; c < block.cols(); ++c) values.push_back(block(r, c));
  }
}

void multiply_add_block(const BlockRows& J, int i, const double* x, double* y) {
  const int height = J.height(i);
  for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    const double* a = J.values.data() + entry.offset;
    const double* xe = x + entry.column;
    if (height == 3 && entry.width == 6) {
      Eigen::Map<Vec3>(y) +=
          Eigen::Map<const RowMajor36>(a) * Eigen::Map<const Eigen::Matrix<double, 6, 1>>(xe);
      continue;
    }
    if (height == 3 && entry.width == 3) {
      Eigen::Map<Vec3>(y) += Eigen::Map<const RowMajor33>(a) * Eigen::Map<const Vec3>(xe);
      continue;
    }
    for (int r = 0; r < height; ++r) {
      double sum = 0;
      for (int c = 0; c < entry.width; ++c) sum += a[r * entry.width + c] * xe[c];
      y[r] += sum;
    }
  }
}

void transpose_multiply_add_block(const BlockRows& J, int i, const double* y, double* x) {
  const int height = J.height(i);
  for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    const double* a = J.values.data() + entry.offset;
    double* xe = x + entry.column;
    if (height == 3 && entry.width == 6) {
      Eigen::Map<Eigen::Matrix<double, 6, 1>>(xe).noalias() +=
          Eigen::Map<const RowMajor36>(a).transpose() * Eigen::Map<const Vec3>(y);
      continue;
    }
    for (int r = 0; r < height; ++r) {
      for (int c = 0; c < entry.width; ++c) xe[c] += a[r * entry.width + c] * y[r];
    }
  }
}

void multiply(const BlockRows& J, const Vector& x, Vector& y) {
  y.setZero(J.rows());
  for (int i = 0; i < J.blocks(); ++i) {
    multiply_add_block(J, i, x.data(), y.data() + J.row_start[i]);
  }
}

void transpose_multiply_add(const BlockRows& J, const Vector& y, Vector& x) {
  for (int i = 0; i < J.blocks(); ++i) {
    transpose_multiply_add_block(J, i, y.data() + J.row_start[i], x.data());
  }
}

SparseMatrix to_sparse(const BlockRows& J) {
  std::vector<Eigen::Triplet<double>> triplets;
  triplets.reserve(J.values.size());
  for (int i = 0; i < J.blocks(); ++i) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = J.entries[e];
      for (int r = 0; r < J.height(i); ++r) {
        for (int c = 0; c < entry.width; ++c) {
          triplets.emplace_back(J.row_start[i] + r, entry.column + c,
                                J.values[entry.offset + r * entry.width + c]);
        }
      }
    }
  }
  SparseMatrix A(J.rows(), J.columns);
  A.setFromTriplets(triplets.begin(), triplets.end());
  return A;
}

void BlockDiagonal::push_back(const Eigen::Ref<const Matrix>& block) {
  assert(block.rows() == block.cols());
  start.push_back(start.back() + static_cast<int>(block.rows()));
  for (Eigen::Index c = 0; c < block.cols(); ++c) {
    for (Eigen::Index r = 0; r < block.rows(); ++r) values.push_back(block(r, c));
  }
  offset.push_back(static_cast<int>(values.size()));
}

void multiply(const BlockDiagonal& H, const Vector& x, Vector& y) {
  y.resize(H.rows());
  for (int k = 0; k < H.blocks(); ++k) {
    y.segment(H.start[k], H.size(k)).noalias() = H.block(k) * x.segment(H.start[k], H.size(k));
  }
}

SparseMatrix to_sparse(const BlockDiagonal& H) {
  std::vector<Eigen::Triplet<double>> triplets;
  triplets.reserve(H.values.size());
  for (int k = 0; k < H.blocks(); ++k) {
    const auto block = H.block(k);
    for (int c = 0; c < H.size(k); ++c) {
      for (int r = 0; r < H.size(k); ++r) {
        triplets.emplace_back(H.start[k] + r, H.start[k] + c, block(r, c));
      }
    }
  }
  SparseMatrix A(H.rows(), H.rows());
  A.setFromTriplets(triplets.begin(), triplets.end());
  return A;
}

BlockDiagonal inverse(const BlockDiagonal& H) {
  BlockDiagonal result;
  for (int k = 0; k < H.blocks(); ++k) {
    const Eigen::LLT<Matrix> factor(H.block(k));
    // Eigen's factorisation passes over NaN, which always reaches the diagonal of the factor.
    if (factor.info() != Eigen::Success || !factor.matrixLLT().diagonal().allFinite()) {
      throw InputError(
          fmt::format("H, block {} (rows {} to {})", k, H.start[k], H.start[k + 1] - 1),
          "a matrix that is not positive definite", "a positive definite mass block");
    }
    result.push_back(factor.solve(Matrix::Identity(H.size(k), H.size(k))));
  }
  return result;
}

bool find_block_diagonal(const SparseMatrix& A, int largest, BlockDiagonal& out) {
  // The farthest row reached from any column so far: a component ends where nothing reaches beyond.
  out = {};
  const int n = static_cast<int>(A.cols());
  int first = 0;
  int reach = 0;
  for (int c = 0; c < n; ++c) {
    reach = std::max(reach, c);
    for (SparseMatrix::InnerIterator it(A, c); it; ++it) {
      if (it.value() == 0) continue;
      if (it.row() < first) return false;  // reaches back into a finished block
      reach = std::max(reach, static_cast<int>(it.row()));
    }
    if (reach - first >= largest) return false;
    if (reach == c) {
      out.push_back(Matrix(A.block(first, first, c - first + 1, c - first + 1)));
      first = c + 1;
    }
  }
  return true;
}

}  // namespace urto
