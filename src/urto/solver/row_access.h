// Gauss–Seidel's view of u = W λ + q: the velocity of one block at the current multipliers, and the news that a block changed.
// Factored problems carry x = H⁻¹(a + Jᵀλ) along, so that a block costs its own entries of J only; others use rows of W.
#pragma once

#include <algorithm>

#include "urto/solver/delassus.h"

namespace urto {

class RowAccess {
 public:
  RowAccess(Delassus& W, const Vector& lambda)
      : operator_(W), factored_(W.is_factored()), E_(W.compliance()), skewed_(!W.is_symmetric()) {
    if (!factored_) W_ = &W.matrix();
    refresh(lambda);
  }

  /// Recomputes x from λ: incremental updates collect rounding.
  void refresh(const Vector& lambda) {
    if (factored_) operator_.recover(lambda, x_);
    if (skewed_) operator_.apply_skew(lambda, skew_);
  }

  /// u_i = (W λ + q)_i. A skew part of W (files only) is taken from the last `refresh`.
  void velocity(int i, const Vector& lambda, double* u) const {
    const SetProduct& K = operator_.K();
    const int first = K.start[i];
    const int d = K.sets[i].dim;
    if (factored_) {
      const Vector& b = operator_.problem().b;
      for (int k = 0; k < d; ++k) u[k] = b[first + k];
      multiply_add_block(operator_.jacobian(), i, x_.data(), u);
      if (E_.nonZeros() > 0) {
        for (int k = 0; k < d; ++k) {
          for (SparseMatrix::InnerIterator it(E_, first + k); it; ++it)
            u[k] += it.value() * lambda[it.row()];
        }
      }
    } else {
      for (int k = 0; k < d; ++k) u[k] = operator_.q()[first + k];
      multiply_add_block(*W_, i, lambda.data(), u);
    }
    if (skewed_) {
      for (int k = 0; k < d; ++k) u[k] += skew_[first + k];
    }
  }

  /// λ_i has grown by `delta`.
  void changed(int i, const double* delta) {
    if (factored_)
      transpose_multiply_add_block(operator_.jacobian_times_inverse_mass(), i, delta, x_.data());
  }

  /// All of u at the current λ, after a refresh.
  void velocities(const Vector& lambda, Vector& u) {
    refresh(lambda);
    u.resize(lambda.size());
    for (int i = 0; i < operator_.blocks(); ++i)
      velocity(i, lambda, u.data() + operator_.K().start[i]);
  }

 private:
  Delassus& operator_;
  bool factored_;
  const SparseMatrix& E_;
  bool skewed_;
  const BlockRows* W_ = nullptr;
  Vector x_, skew_;
};

/// Steps of the projected fixed point, block by block: 1/W_kk for separable sets, W_ii⁻¹ for joints, and one number
/// d/tr(W_ii) for cones, whose Euclidean projection allows no other (recipe 000 §2.8).
class BlockStep {
 public:
  explicit BlockStep(const Delassus& W);
  /// out = λ_i − ω·step·u_i
  void descend(int i, double omega, const double* lambda, const double* u, double* out) const;

 private:
  const SetProduct& K_;
  std::vector<int> start_;
  std::vector<double> values_;
};

}  // namespace urto
