#include "urto/linalg/saddle_lu.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/LU>

#include "urto/linalg/sparse_factors.h"

namespace urto {
namespace {

constexpr int largest_dense = 160;
constexpr double relative_shift = 1e-12;

}  // namespace

struct SaddleLu::DenseLu : Eigen::PartialPivLU<Matrix> {};

SaddleLu::SaddleLu() : lu_(std::make_unique<DenseLu>()) {}
SaddleLu::~SaddleLu() = default;
SaddleLu::SaddleLu(SaddleLu&&) noexcept = default;
SaddleLu& SaddleLu::operator=(SaddleLu&&) noexcept = default;

void SaddleLu::start(int dofs, int size) {
  dofs_ = dofs;
  size_ = size;
  dense_ = size <= largest_dense;
  usable_ = false;
  shifts_.clear();
  triplets_.clear();
  if (dense_) A_.setZero(size, size);
}

void SaddleLu::add(const BlockMatrix& A, double factor) {
  const auto add_block = [&](const Eigen::Map<const Matrix>& block, int row, int column,
                             bool transposed) {
    for (int c = 0; c < block.cols(); ++c) {
      for (int r = 0; r < block.rows(); ++r) {
        if (transposed) {
          add(column + c, row + r, factor * block(r, c));
        } else {
          add(row + r, column + c, factor * block(r, c));
        }
      }
    }
  };
  for (int k = 0; k < A.blocks(); ++k) add_block(A.block(k), A.start[k], A.start[k], false);
  for (int k = 0; k < static_cast<int>(A.couplings.size()); ++k) {
    const int row = A.start[A.couplings[k].row], column = A.start[A.couplings[k].column];
    add_block(A.coupling(k), row, column, false);
    if (A.symmetry == BlockMatrix::Symmetry::symmetric) add_block(A.coupling(k), row, column, true);
  }
}

void SaddleLu::add(const SparseMatrix& A, int row, int column) {
  for (int c = 0; c < A.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(A, c); it; ++it)
      add(row + static_cast<int>(it.row()), column + c, it.value());
  }
}

void SaddleLu::add_rows(const BlockRows& upper, const BlockRows& lower,
                        std::span<const SaddleRow> rules) {
  for (int i = 0; i < upper.blocks(); ++i) {
    const SaddleRow& rule = rules[i];
    for (int e = upper.entry_start[i]; e < upper.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = upper.entries[e];
      for (int r = 0; r < upper.height(i); ++r) {
        const int row = dofs_ + upper.row_start[i] + r;
        for (int c = 0; c < entry.width; ++c) {
          const int at = entry.offset + r * entry.width + c;
          if (rule.acts) add(entry.column + c, row, upper.values[at]);
          if (rule.holds) add(row, entry.column + c, lower.values[at]);
        }
      }
    }
    for (int row = dofs_ + upper.row_start[i]; row < dofs_ + upper.row_start[i + 1]; ++row) {
      if (rule.shifted) {
        shift(row, -1);
      } else {
        add(row, row, rule.diagonal);
      }
    }
  }
}

void SaddleLu::add_rows(const SparseMatrix& J) {
  for (int c = 0; c < J.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(J, c); it; ++it) {
      const int row = dofs_ + static_cast<int>(it.row());
      add(row, c, it.value());
      add(c, row, it.value());
    }
  }
  for (int row = dofs_; row < dofs_ + J.rows(); ++row) shift(row, -1);
}

bool SaddleLu::factorize(KeptLu::Pivots pivots) {
  usable_ = dense_ ? factorize_dense() : factorize_sparse(pivots);
  return usable_;
}

// A row's own inertia is about Σ J²/H_jj.
bool SaddleLu::factorize_dense() {
  if (!A_.allFinite()) return false;
  shifted_ = A_;
  for (const Shift& s : shifts_) {
    double inertia = 0;
    for (int j = 0; j < dofs_; ++j) {
      if (A_(s.row, j) != 0 && A_(j, j) != 0)
        inertia += A_(s.row, j) * A_(s.row, j) / std::abs(A_(j, j));
    }
    shifted_(s.row, s.row) += s.sign * relative_shift * inertia;
  }
  lu_->compute(shifted_);
  return lu_->matrixLU().diagonal().cwiseAbs().minCoeff() > std::numeric_limits<double>::min();
}

// False if the entries are not those of the matrix before.
bool SaddleLu::fill_kept_pattern() {
  if (S_.rows() != size_ || triplets_.size() != places_.size()) return false;
  S_.coeffs().setZero();
  double* values = S_.valuePtr();
  for (std::size_t k = 0; k < places_.size(); ++k) {
    const Place& place = places_[k];
    if (triplets_[k].row() != place.row || triplets_[k].col() != place.column) return false;
    values[place.slot] += triplets_[k].value();
  }
  return true;
}

bool SaddleLu::find_pattern() {
  const auto slot = [this](int row, int column) {
    const int* begin = S_.innerIndexPtr() + S_.outerIndexPtr()[column];
    const int* end = S_.innerIndexPtr() + S_.outerIndexPtr()[column + 1];
    return static_cast<int>(std::lower_bound(begin, end, row) - S_.innerIndexPtr());
  };
  places_.clear();
  const std::size_t given = triplets_.size();
  // Every diagonal entry exists, so that the shifts do not change the pattern.
  for (int i = 0; i < size_; ++i) triplets_.emplace_back(i, i, 0.0);
  S_.resize(size_, size_);
  S_.setFromTriplets(triplets_.begin(), triplets_.end());
  triplets_.resize(given);
  for (const auto& entry : triplets_)
    places_.push_back({entry.row(), entry.col(), slot(entry.row(), entry.col())});
  diagonal_slot_.resize(size_);
  for (int i = 0; i < size_; ++i) diagonal_slot_[i] = slot(i, i);
  shifted_sparse_ = S_;
  return sparse_lu_.analyze(S_);
}

void SaddleLu::shift_sparse() {
  shifted_sparse_.coeffs() = S_.coeffs();
  inertia_.setZero(size_);
  for (int j = 0; j < dofs_; ++j) {
    const double diagonal = S_.valuePtr()[diagonal_slot_[j]];
    if (diagonal == 0) continue;
    for (SparseMatrix::InnerIterator it(S_, j); it; ++it)
      inertia_[it.row()] += it.value() * it.value() / std::abs(diagonal);
  }
  for (const Shift& s : shifts_)
    shifted_sparse_.valuePtr()[diagonal_slot_[s.row]] += s.sign * relative_shift * inertia_[s.row];
}

bool SaddleLu::factorize_sparse(KeptLu::Pivots pivots) {
  if (!fill_kept_pattern() && !find_pattern()) return false;
  shift_sparse();
  return sparse_lu_.factorize(shifted_sparse_, pivots);
}

void SaddleLu::solve(const Vector& rhs, Vector& x) {
  if (!usable_) {
    x.setConstant(rhs.size(), not_solved);
    relative_residual_ = not_solved;
    return;
  }
  if (dense_) {
    x = lu_->solve(rhs);
    residual_ = rhs;
    residual_.noalias() -= A_ * x;
    correction_ = lu_->solve(residual_);
  } else {
    bool solved = sparse_lu_.solve(rhs, x);
    residual_ = rhs;
    residual_.noalias() -= S_ * x;
    solved = solved && sparse_lu_.solve(residual_, correction_);
    if (!solved) correction_.setConstant(size_, not_solved);
  }
  x += correction_;
  const double size = rhs.norm();
  relative_residual_ = size > 0 ? residual_.norm() / size : 0;
}

}  // namespace urto
