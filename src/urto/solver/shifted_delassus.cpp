#include "urto/solver/shifted_delassus.h"

namespace urto {

bool isotropic_compliance(const Delassus& W, Vector& e) {
  e.setZero(W.blocks());
  const SparseMatrix& E = W.compliance();
  if (E.nonZeros() == 0) return true;
  for (int i = 0; i < W.blocks(); ++i) {
    const int first = W.K().start[i];
    e[i] = E.coeff(first, first);
    for (int k = 0; k < W.K().sets[i].dim; ++k) {
      if (E.coeff(first + k, first + k) != e[i]) return false;
      for (SparseMatrix::InnerIterator it(E, first + k); it; ++it) {
        if (it.row() != first + k && it.value() != 0) return false;
      }
    }
  }
  return true;
}

void ShiftedDelassus::set(Delassus& W) {
  release();
  W_ = &W;
  inverse_shift_.resize(W.rows());
  work_.resize(W.rows());
  is_condensed_ = W.has_mass() && isotropic_compliance(W, compliance_);
  if (!is_condensed_) {
    set_explicit();
    return;
  }
  condensed_.set(W, CondensedMatrix::Symmetry::symmetric);
  D_.assign(condensed_.block_values(), 0.0);
  z_.resize(W.problem().dofs());
}

void ShiftedDelassus::release() {
  condensed_.release();
  factor_.reset();
}

// The lower triangle of W.
void ShiftedDelassus::set_explicit() {
  compliance_.setZero(W_->blocks());
  const BlockRows& W = W_->matrix();
  builder_.start(W.rows(), W.rows());
  for (int i = 0; i < W.blocks(); ++i) {
    for (int e = W.entry_start[i]; e < W.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = W.entries[e];
      for (int r = 0; r < W.height(i); ++r) {
        for (int c = 0; c < entry.width; ++c) {
          const int row = W.row_start[i] + r;
          const int column = entry.column + c;
          if (row >= column)
            builder_.add(row, column, W.values[entry.offset + r * entry.width + c]);
        }
      }
    }
  }
  // The diagonal must be stored even where it is zero: a shift goes there.
  for (int r = 0; r < W.rows(); ++r) builder_.add(r, r, 0.0);
  builder_.finish(matrix_);
  diagonal_position_.clear();
  diagonal_values_.clear();
  for (int r = 0; r < matrix_.cols(); ++r) {
    // The first of its column in a lower triangle.
    diagonal_position_.push_back(matrix_.outerIndexPtr()[r]);
    diagonal_values_.push_back(matrix_.valuePtr()[diagonal_position_.back()]);
  }
  factor_.emplace(W_->symbolic_store(), matrix_);
}

bool ShiftedDelassus::factorize(const Vector& shift) {
  const SetProduct& K = W_->K();
  for (int i = 0; i < K.blocks(); ++i) {
    const double total = shift[i] + compliance_[i];
    for (int k = 0; k < K.sets[i].dim; ++k) {
      inverse_shift_[K.start[i] + k] = 1 / total;
      if (is_condensed_) {
        D_[condensed_.block_offset(i) + k * (K.sets[i].dim + 1)] = 1 / total;
      } else {
        const int r = K.start[i] + k;
        matrix_.valuePtr()[diagonal_position_[r]] = diagonal_values_[r] + shift[i];
      }
    }
  }
  return is_condensed_ ? condensed_.factorize(D_) : (*factor_)->factorize(matrix_);
}

void ShiftedDelassus::solve(const Vector& g, Vector& y) {
  if (!is_condensed_) {
    (*factor_)->solve(g, y);
    return;
  }
  // Woodbury: y = R⁻¹(g − J z), (H + JᵀR⁻¹J) z = JᵀR⁻¹g.
  work_.array() = inverse_shift_.array() * g.array();
  rhs_.setZero(z_.size());
  transpose_multiply_add(W_->jacobian(), work_, rhs_);
  condensed_.solve(rhs_, z_);
  multiply(W_->jacobian(), z_, work_);
  y.array() = inverse_shift_.array() * (g.array() - work_.array());
}

}  // namespace urto
