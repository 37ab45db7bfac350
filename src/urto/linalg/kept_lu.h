// LU of sparse matrices that need not be symmetric, made for many matrices of one pattern: the
// symbolic analysis is kept while the pattern holds, and the pivots as long as the caller allows
// and they do for the new numbers. SuiteSparse's KLU where it is built in (T. Davis and E.
// Palamadai Natarajan, Algorithm 907, ACM TOMS 37:3, 2010: blocks of a triangular form, AMD,
// Gilbert and Peierls; no supernodes, which pays for matrices as sparse as those of mechanisms);
// else Eigen's sparse LU, which chooses pivots anew each time.
#pragma once

#include <memory>

#include "urto/math/types.h"

namespace urto {

class KeptLu {
 public:
  enum class Pivots {
    chosen,  ///< by the numbers of this matrix: the factors do not depend on what was before
    kept     ///< those of the matrix before, if there are any and they are good enough
  };

  KeptLu();
  ~KeptLu();
  KeptLu(KeptLu&&) noexcept;
  KeptLu& operator=(KeptLu&&) noexcept;

  static bool has_klu();

  /// For a new pattern; A is compressed. False if it cannot be analysed (structurally singular).
  [[nodiscard]] bool analyze(const SparseMatrix& A);
  /// A has the pattern analysed. False if it is singular to working precision or not finite.
  [[nodiscard]] bool factorize(const SparseMatrix& A, Pivots pivots);
  /// False, and x not-a-number, unless the last factorisation succeeded and the library solves.
  [[nodiscard]] bool solve(const Vector& rhs, Vector& x);
  /// How often pivots were chosen, and how often those at hand were used.
  int chosen() const { return chosen_; }
  int kept() const { return kept_; }

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
  int chosen_ = 0, kept_ = 0;
};

}  // namespace urto
