// LDLᵀ (or LU) with pivoting for accuracy, by MUMPS: the safe path behind the interior point.
// Symmetric indefinite matrices of any scaling, 1 × 1 and 2 × 2 pivots, null pivots of singular
// matrices (the solution is zero there), the inertia and a backward error with every solve.
//
// MUMPS's sequential build is not re-entrant, not even with separate instances: every call is under
// one lock. Built in with URTO_WITH_MUMPS; without it `is_available` is false and nothing else may
// be called.
#pragma once

#include <memory>

#include "urto/math/types.h"

namespace urto {

class PivotingFactor {
 public:
  enum class Symmetry { symmetric, general };
  /// `workspace`: per cent more memory than the analysis estimates, at first; where pivoting needs
  /// more, a factorisation asks for it (recipe 001 §2.7.13).
  explicit PivotingFactor(Symmetry symmetry, int workspace = 50);
  ~PivotingFactor();
  PivotingFactor(const PivotingFactor&) = delete;
  PivotingFactor& operator=(const PivotingFactor&) = delete;

  static bool is_available();

  /// Orders the pattern; the lower triangle of a symmetric matrix, all of a general one. Reads the
  /// values too: they tell which 2 × 2 pivots to expect.
  [[nodiscard]] bool analyze(const SparseMatrix& A);
  /// Taken: pivots that are rounding get no part in the solution. Not so for a barrier's matrix
  /// that MUMPS does not find singular: its smallest pivots share the forces among redundant
  /// contacts (measured: 25 iterations instead of 13).
  enum class NullPivots { kept, taken };
  /// A pivot is taken if it is at least `threshold` times the largest entry of its column: from 0,
  /// the least fill, to 0.5, the most digits. False if memory runs out, or the matrix is singular
  /// and its null pivots were to be kept.
  [[nodiscard]] bool factorize(const SparseMatrix& A, NullPivots nulls, double threshold);
  /// False, and x not-a-number, unless the last factorisation succeeded and the solution is finite.
  [[nodiscard]] bool solve(const Vector& rhs, Vector& x);

  int workspace_retries() const;  ///< how often more memory was asked for, in all
  // Of a factorisation, and a solve, that succeeded.
  int negative_pivots() const;  ///< of the last factorisation; symmetric only
  int null_pivots() const;      ///< of the last factorisation
  double backward_error() const;  ///< of the last solve: ω₁ + ω₂ of Arioli, Demmel and Duff (1989)

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace urto
