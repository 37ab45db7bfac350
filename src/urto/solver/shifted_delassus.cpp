#include "urto/solver/shifted_delassus.h"

namespace urto {

std::optional<Vector> isotropic_compliance(const Delassus& W) {
  Vector e = Vector::Zero(W.blocks());
  const SparseMatrix& E = W.compliance();
  if (E.nonZeros() == 0) return e;
  for (int i = 0; i < W.blocks(); ++i) {
    const int first = W.K().start[i];
    e[i] = E.coeff(first, first);
    for (int k = 0; k < W.K().sets[i].dim; ++k) {
      if (E.coeff(first + k, first + k) != e[i]) return std::nullopt;
      for (SparseMatrix::InnerIterator it(E, first + k); it; ++it) {
        if (it.row() != first + k && it.value() != 0) return std::nullopt;
      }
    }
  }
  return e;
}

SparseMatrix lower_triangle(const BlockRows& W) {
  std::vector<Eigen::Triplet<double>> triplets;
  triplets.reserve(W.values.size() / 2 + W.rows());
  for (int i = 0; i < W.blocks(); ++i) {
    for (int e = W.entry_start[i]; e < W.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = W.entries[e];
      for (int r = 0; r < W.height(i); ++r) {
        for (int c = 0; c < entry.width; ++c) {
          const int row = W.row_start[i] + r;
          const int column = entry.column + c;
          if (row >= column)
            triplets.emplace_back(row, column, W.values[entry.offset + r * entry.width + c]);
        }
      }
    }
  }
  // The diagonal must be stored even where it is zero: a shift goes there.
  for (int r = 0; r < W.rows(); ++r) triplets.emplace_back(r, r, 0.0);
  SparseMatrix L(W.rows(), W.rows());
  L.setFromTriplets(triplets.begin(), triplets.end());
  return L;
}

ShiftedDelassus::ShiftedDelassus(Delassus& W) : W_(W), inverse_shift_(W.rows()), work_(W.rows()) {
  if (W.has_mass()) compliance_ = isotropic_compliance(W);
  if (compliance_) {
    condensed_ = std::make_unique<CondensedMatrix>(W, CondensedMatrix::Symmetry::symmetric);
    D_.assign(condensed_->block_values(), 0.0);
    z_.resize(W.problem().dofs());
    return;
  }
  matrix_ = lower_triangle(W.matrix());
  for (int r = 0; r < matrix_.cols(); ++r) {
    // The first of its column in a lower triangle.
    diagonal_position_.push_back(matrix_.outerIndexPtr()[r]);
    diagonal_values_.push_back(matrix_.valuePtr()[diagonal_position_.back()]);
  }
  factor_.emplace(W.symbolic_store(), matrix_);
}

bool ShiftedDelassus::factorize(const Vector& shift) {
  const SetProduct& K = W_.K();
  for (int i = 0; i < K.blocks(); ++i) {
    const double total = shift[i] + (compliance_ ? (*compliance_)[i] : 0.0);
    for (int k = 0; k < K.sets[i].dim; ++k) {
      inverse_shift_[K.start[i] + k] = 1 / total;
      if (condensed_) {
        D_[condensed_->block_offset(i) + k * (K.sets[i].dim + 1)] = 1 / total;
      } else {
        const int r = K.start[i] + k;
        matrix_.valuePtr()[diagonal_position_[r]] = diagonal_values_[r] + shift[i];
      }
    }
  }
  return condensed_ ? condensed_->factorize(D_) : (*factor_)->factorize(matrix_);
}

void ShiftedDelassus::solve(const Vector& g, Vector& y) {
  if (!condensed_) {
    (*factor_)->solve(g, y);
    return;
  }
  // Woodbury: y = R⁻¹(g − J z), (H + JᵀR⁻¹J) z = JᵀR⁻¹g.
  work_.array() = inverse_shift_.array() * g.array();
  Vector rhs = Vector::Zero(z_.size());
  transpose_multiply_add(W_.jacobian(), work_, rhs);
  condensed_->solve(rhs, z_);
  multiply(W_.jacobian(), z_, work_);
  y.array() = inverse_shift_.array() * (g.array() - work_.array());
}

}  // namespace urto
