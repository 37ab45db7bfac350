#include "urto/solver/condensed_matrix.h"

#include <algorithm>

namespace urto {
namespace {

using RowMajorMap =
    Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
using SmallMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_block, max_entry_width>;

}  // namespace

CondensedMatrix::CondensedMatrix(const Delassus& W, Symmetry symmetry, Kernel kernel)
    : problem_(W.problem()), symmetry_(symmetry) {
  const StepProblem& problem = problem_;
  offset_.push_back(0);
  for (const ConvexSet& set : problem.K.sets) offset_.push_back(offset_.back() + set.dim * set.dim);

  const SparseMatrix H = sparse_mass(problem);
  const BlockRows& J = problem.J;
  std::vector<Eigen::Triplet<double>> pattern;
  for (int c = 0; c < H.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(H, c); it; ++it) {
      if (symmetry == Symmetry::general || it.row() >= c)
        pattern.emplace_back(it.row(), c, it.value());
    }
  }
  for (int i = 0; i < J.blocks(); ++i) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      for (int f = J.entry_start[i]; f < J.entry_start[i + 1]; ++f) {
        const auto& a = J.entries[e];
        const auto& b = J.entries[f];
        if (skip(e, f)) continue;
        for (int c = 0; c < b.width; ++c) {
          for (int r = first_row(e, f, c); r < a.width; ++r) {
            pattern.emplace_back(a.column + r, b.column + c, 0.0);
          }
        }
      }
    }
  }
  matrix_.resize(H.rows(), H.cols());
  matrix_.setFromTriplets(pattern.begin(), pattern.end());
  mass_.assign(matrix_.valuePtr(), matrix_.valuePtr() + matrix_.nonZeros());

  const auto position = [&](int row, int column) {
    const int* begin = matrix_.innerIndexPtr() + matrix_.outerIndexPtr()[column];
    const int* end = matrix_.innerIndexPtr() + matrix_.outerIndexPtr()[column + 1];
    return static_cast<int>(std::lower_bound(begin, end, row) - matrix_.innerIndexPtr());
  };
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
  if (kernel == Kernel::dense) {
    dense_ = std::make_unique<DenseFactor>(
        symmetry == Symmetry::symmetric ? DenseFactor::Kind::cholesky : DenseFactor::Kind::lu);
  } else if (symmetry == Symmetry::symmetric) {
    factor_.emplace(W.symbolic_store(), matrix_);
  } else {
    lu_.emplace(W.symbolic_store(), matrix_);
  }
}

void CondensedMatrix::solve(const Vector& rhs, Vector& x) const {
  if (dense_) {
    dense_->solve(rhs, x);
  } else if (lu_) {
    x = (*lu_)->solve(rhs);
  } else {
    (*factor_)->solve(rhs, x);
  }
}

bool CondensedMatrix::factorize(const std::vector<double>& D) {
  const BlockRows& J = problem_.J;
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
  if (!lu_) return (*factor_)->factorize(matrix_);
  (*lu_)->factorize(matrix_);
  return (*lu_)->info() == Eigen::Success;
}

}  // namespace urto
