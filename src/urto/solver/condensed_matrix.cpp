#include "urto/solver/condensed_matrix.h"

#include <algorithm>

namespace urto {
namespace {

using RowMajorMap =
    Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using SmallMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_block, max_entry_width>;

}  // namespace

void CondensedMatrix::set(const Delassus& W, Symmetry symmetry, Kernel kernel) {
  release();
  problem_ = &W.problem();
  symmetry_ = symmetry;
  offset_.assign(1, 0);
  for (const ConvexSet& set : problem_->K.sets)
    offset_.push_back(offset_.back() + set.dim * set.dim);
  find_pattern();
  find_targets();
  dense_ = nullptr;
  if (kernel == Kernel::dense) {
    dense_ = symmetry == Symmetry::symmetric ? &cholesky_ : &dense_lu_;
  } else if (symmetry == Symmetry::symmetric) {
    factor_.emplace(W.symbolic_store(), matrix_);
  } else {
    lu_.emplace(W.symbolic_store(), matrix_);
  }
}

void CondensedMatrix::find_pattern() {
  const int n = problem_->dofs();
  builder_.start(n, n);
  std::visit([this](const auto& H) { builder_.add(H); }, problem_->H);
  builder_.finish(H_);
  builder_.start(n, n);
  for (int c = 0; c < H_.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(H_, c); it; ++it) {
      const int row = static_cast<int>(it.row());
      if (symmetry_ == Symmetry::general || row >= c) builder_.add(row, c, it.value());
    }
  }
  const BlockRows& J = problem_->J;
  for (int i = 0; i < J.blocks(); ++i) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      for (int f = J.entry_start[i]; f < J.entry_start[i + 1]; ++f) {
        const auto& a = J.entries[e];
        const auto& b = J.entries[f];
        if (skip(e, f)) continue;
        for (int c = 0; c < b.width; ++c) {
          for (int r = first_row(e, f, c); r < a.width; ++r)
            builder_.add(a.column + r, b.column + c, 0.0);
        }
      }
    }
  }
  builder_.finish(matrix_);
  mass_.assign(matrix_.valuePtr(), matrix_.valuePtr() + matrix_.nonZeros());
}

void CondensedMatrix::find_targets() {
  const BlockRows& J = problem_->J;
  const auto position = [&](int row, int column) {
    const int* begin = matrix_.innerIndexPtr() + matrix_.outerIndexPtr()[column];
    const int* end = matrix_.innerIndexPtr() + matrix_.outerIndexPtr()[column + 1];
    return static_cast<int>(std::lower_bound(begin, end, row) - matrix_.innerIndexPtr());
  };
  target_.clear();
  for (int i = 0; i < J.blocks(); ++i) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      for (int f = J.entry_start[i]; f < J.entry_start[i + 1]; ++f) {
        if (skip(e, f)) continue;
        for (int c = 0; c < J.entries[f].width; ++c) {
          target_.push_back(
              position(J.entries[e].column + first_row(e, f, c), J.entries[f].column + c));
        }
      }
    }
  }
}

void CondensedMatrix::solve(const Vector& rhs, Vector& x) const {
  if (dense_) {
    dense_->solve(rhs, x);
  } else if (lu_) {
    (*lu_)->solve(rhs, x);
  } else {
    (*factor_)->solve(rhs, x);
  }
}

bool CondensedMatrix::factorize(const std::vector<double>& D) {
  const BlockRows& J = problem_->J;
  double* values = matrix_.valuePtr();
  std::copy(mass_.begin(), mass_.end(), values);
  std::size_t next = 0;
  for (int i = 0; i < J.blocks(); ++i) {
    const int d = J.height(i);
    const Eigen::Map<const Matrix> Di(D.data() + offset_[i], d, d);
    const bool inactive = Di.isZero(0);
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const auto& a = J.entries[e];
      const RowMajorMap Ja(J.values.data() + a.offset, d, a.width);
      for (int f = J.entry_start[i]; f < J.entry_start[i + 1]; ++f) {
        const auto& b = J.entries[f];
        if (skip(e, f)) continue;
        if (inactive) {
          next += b.width;
          continue;
        }
        const RowMajorMap Jb(J.values.data() + b.offset, d, b.width);
        const SmallMatrix DJb = Di * Jb;
        const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_entry_width,
                            max_entry_width>
            block = Ja.transpose() * DJb;
        for (int c = 0; c < b.width; ++c) {
          double* run = values + target_[next++];
          const int first = first_row(e, f, c);
          for (int r = first; r < a.width; ++r) run[r - first] += block(r, c);
        }
      }
    }
  }
  if (dense_) return dense_->factorize(matrix_);
  return lu_ ? (*lu_)->factorize(matrix_) : (*factor_)->factorize(matrix_);
}

}  // namespace urto
