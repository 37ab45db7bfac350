#include "urto/linalg/block_matrix.h"

#include <algorithm>
#include <cmath>

#include <Eigen/Cholesky>
#include <fmt/format.h>

#include "urto/error.h"
#include "urto/linalg/checked.h"
#include "urto/linalg/lanes.h"
#include "urto/linalg/sparse_builder.h"

namespace urto {
namespace {

using RowMajor36 = Eigen::Matrix<double, 3, 6, Eigen::RowMajor>;
using RowMajor33 = Eigen::Matrix<double, 3, 3, Eigen::RowMajor>;
// Of a node, with its storage on the stack.
using NodeMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_entry_width, max_entry_width>;

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
    if (entry.width == 6) {
      add_products<6>(a, height, xe, y);
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

void multiply(const BlockRows& J, const Vector& x, Vector& y, ThreadPool* threads) {
  if (y.size() != J.rows()) y.resize(J.rows());
  share_items(threads, J.blocks(), 256, [&](int i) {
    double* rows = y.data() + J.row_start[i];
    std::fill_n(rows, J.height(i), 0.0);
    multiply_add_block(J, i, x.data(), rows);
  });
}

void transpose_multiply_add(const BlockRows& J, const Vector& y, Vector& x) {
  for (int i = 0; i < J.blocks(); ++i) {
    transpose_multiply_add_block(J, i, y.data() + J.row_start[i], x.data());
  }
}

SparseMatrix to_sparse(const BlockRows& J) {
  SparseBuilder builder;
  builder.start(J.rows(), J.columns);
  builder.add(J);
  SparseMatrix A;
  builder.finish(A);
  return A;
}

void BlockMatrix::push_back(const Eigen::Ref<const Matrix>& block) {
  assert(block.rows() == block.cols() && couplings.empty());
  start.push_back(start.back() + static_cast<int>(block.rows()));
  for (Eigen::Index c = 0; c < block.cols(); ++c) {
    for (Eigen::Index r = 0; r < block.rows(); ++r) values.push_back(block(r, c));
  }
  offset.push_back(static_cast<int>(values.size()));
}

void BlockMatrix::start_assembly(std::span<const int> starts, Symmetry wanted) {
  if (symmetry != wanted || !std::equal(starts.begin(), starts.end(), start.begin(), start.end())) {
    start.assign(starts.begin(), starts.end());
    symmetry = wanted;
    offset.resize(start.size());
    offset[0] = 0;
    for (int k = 0; k < blocks(); ++k) offset[k + 1] = offset[k] + size(k) * size(k);
    couplings.clear();
    places_.clear();
    values.resize(offset.back());
  }
  std::fill(values.begin(), values.end(), 0.0);
  sorted_ = static_cast<int>(couplings.size());
  touched_.assign(couplings.size(), 0);
  if (places_.empty() && sorted_ > 0) rehash();
}

// Open addressing, at most half full.
void BlockMatrix::rehash() {
  std::size_t room = 16;
  while (room < 4 * couplings.size()) room *= 2;
  places_.assign(std::max(room, places_.size()), -1);
  for (int k = 0; k < static_cast<int>(couplings.size()); ++k)
    places_[place(couplings[k].row, couplings[k].column)] = k;
}

std::size_t BlockMatrix::place(int row, int column) const {
  const std::size_t mask = places_.size() - 1;
  std::uint64_t key = (static_cast<std::uint64_t>(row) << 32U) | static_cast<unsigned>(column);
  key *= 0x9E3779B97F4A7C15ULL;  // Fibonacci hashing
  std::size_t at = (key >> 32U) & mask;
  while (places_[at] >= 0 &&
         (couplings[places_[at]].row != row || couplings[places_[at]].column != column))
    at = (at + 1) & mask;
  return at;
}

// The coupling of a pair of nodes, made when missing.
int BlockMatrix::find(int row, int column) {
  if (2 * (couplings.size() + 1) > places_.size()) rehash();
  const std::size_t at = place(row, column);
  if (places_[at] >= 0) return places_[at];
  const int k = static_cast<int>(couplings.size());
  places_[at] = k;
  couplings.push_back({row, column, static_cast<int>(values.size())});
  touched_.push_back(0);
  values.resize(values.size() + static_cast<std::size_t>(size(row)) * size(column), 0.0);
  return k;
}

void BlockMatrix::add(int row, int column, const Eigen::Ref<const Matrix>& B, double factor) {
  assert(B.rows() == size(row) && B.cols() == size(column));
  const bool halves = symmetry == Symmetry::symmetric;
  if (row == column) {
    if (halves) {
      block(row) += (0.5 * factor) * (B + B.transpose());
    } else {
      block(row) += factor * B;
    }
    return;
  }
  const bool transposed = halves && row > column;
  const int k = transposed ? find(column, row) : find(row, column);
  touched_[k] = 1;
  const Coupling& c = couplings[k];
  Eigen::Map<Matrix> out(values.data() + c.offset, size(c.row), size(c.column));
  if (transposed) {
    out += (0.5 * factor) * B.transpose();
  } else {
    out += (halves ? 0.5 * factor : factor) * B;
  }
}

void BlockMatrix::finish_assembly() {
  const bool kept = sorted_ == static_cast<int>(couplings.size()) &&
                    std::find(touched_.begin(), touched_.end(), 0) == touched_.end();
  if (kept) return;
  scratch_couplings_.clear();
  for (std::size_t k = 0; k < couplings.size(); ++k) {
    if (touched_[k] != 0) scratch_couplings_.push_back(couplings[k]);
  }
  std::sort(scratch_couplings_.begin(), scratch_couplings_.end(),
            [](const Coupling& a, const Coupling& b) {
              return a.row != b.row ? a.row < b.row : a.column < b.column;
            });
  scratch_values_.assign(values.begin(), values.begin() + offset.back());
  for (Coupling& c : scratch_couplings_) {
    const auto first = values.begin() + c.offset;
    c.offset = static_cast<int>(scratch_values_.size());
    scratch_values_.insert(scratch_values_.end(), first, first + size(c.row) * size(c.column));
  }
  couplings.swap(scratch_couplings_);
  values.swap(scratch_values_);
  rehash();
}

// A coupling adds to two nodes: only the diagonal blocks are shared out.
void multiply_add(const BlockMatrix& H, const Vector& x, Vector& y, ThreadPool* threads) {
  share_items(threads, H.blocks(), 512, [&](int k) {
    if (H.size(k) == 6) {
      const double* block = H.values.data() + H.offset[k];
      const double* from = x.data() + H.start[k];
      double* to = y.data() + H.start[k];
      Column<6> sum = Column<6>::zero(), out = Column<6>::of(to);
      for (int c = 0; c < 6; ++c) sum.add(Column<6>::of(block + 6 * c), from[c]);
      out.add(sum, 1);
      out.store_to(to);
      return;
    }
    y.segment(H.start[k], H.size(k)).noalias() += H.block(k) * x.segment(H.start[k], H.size(k));
  });
  const bool mirrored = H.symmetry == BlockMatrix::Symmetry::symmetric;
  for (int k = 0; k < static_cast<int>(H.couplings.size()); ++k) {
    const BlockMatrix::Coupling& c = H.couplings[k];
    const auto block = H.coupling(k);
    y.segment(H.start[c.row], H.size(c.row)) +=
        block.lazyProduct(x.segment(H.start[c.column], H.size(c.column)));
    if (mirrored) {
      y.segment(H.start[c.column], H.size(c.column)) +=
          block.transpose().lazyProduct(x.segment(H.start[c.row], H.size(c.row)));
    }
  }
}

void multiply(const BlockMatrix& H, const Vector& x, Vector& y, ThreadPool* threads) {
  y.setZero(H.rows());
  multiply_add(H, x, y, threads);
}

void add_magnitudes(const BlockMatrix& H, const Vector& x, Vector& y) {
  // By columns and entry by entry: products of absolute values would be evaluated on the heap.
  const auto add = [&](const Eigen::Map<const Matrix>& block, int row, int column, bool mirrored) {
    const int first = H.start[row];
    for (int c = 0; c < block.cols(); ++c) {
      const int at = H.start[column] + c;
      for (int r = 0; r < block.rows(); ++r) {
        const double size = std::abs(block(r, c));
        y[first + r] += size * std::abs(x[at]);
        if (mirrored) y[at] += size * std::abs(x[first + r]);
      }
    }
  };
  const bool symmetric = H.symmetry == BlockMatrix::Symmetry::symmetric;
  for (int k = 0; k < H.blocks(); ++k) add(H.block(k), k, k, false);
  for (int k = 0; k < static_cast<int>(H.couplings.size()); ++k)
    add(H.coupling(k), H.couplings[k].row, H.couplings[k].column, symmetric);
}

void multiply_right(BlockMatrix& A, const BlockMatrix& T) {
  assert(A.symmetry == BlockMatrix::Symmetry::general && T.is_block_diagonal());
  const auto turn = [&](double* values, int rows, int node) {
    Eigen::Map<Matrix> block(values, rows, T.size(node));
    const NodeMatrix product = block.lazyProduct(T.block(node));
    block = product;
  };
  for (int k = 0; k < A.blocks(); ++k) turn(A.values.data() + A.offset[k], A.size(k), k);
  for (const BlockMatrix::Coupling& c : A.couplings)
    turn(A.values.data() + c.offset, A.size(c.row), c.column);
}

void multiply_right(const BlockRows& J, const BlockMatrix& T, BlockRows& out) {
  out = J;
  for (int i = 0; i < J.blocks(); ++i) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = J.entries[e];
      const int node = static_cast<int>(
          std::upper_bound(T.start.begin(), T.start.end(), entry.column) - T.start.begin() - 1);
      using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
      Eigen::Map<RowMajor>(out.values.data() + entry.offset, J.height(i), entry.width) =
          Eigen::Map<const RowMajor>(J.values.data() + entry.offset, J.height(i), entry.width)
              .lazyProduct(T.block(node));
    }
  }
}

SparseMatrix to_sparse(const BlockMatrix& H) {
  SparseBuilder builder;
  builder.start(H.rows(), H.rows());
  builder.add(H);
  SparseMatrix A;
  builder.finish(A);
  return A;
}

BlockMatrix inverse(const BlockMatrix& H) {
  BlockMatrix result;
  for (int k = 0; k < H.blocks(); ++k) {
    const Checked<Eigen::LLT<Matrix>> factor(H.block(k));
    if (!factor.ok()) {
      throw InputError(
          fmt::format("H, block {} (rows {} to {})", k, H.start[k], H.start[k + 1] - 1),
          "a matrix that is not positive definite", "a positive definite mass block");
    }
    result.push_back(factor.solve(Matrix::Identity(H.size(k), H.size(k))));
  }
  return result;
}

bool find_block_diagonal(const SparseMatrix& A, int largest, BlockMatrix& out) {
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
