// The problem of one step of a first-order system, linearised (recipe 003 §5.4, steps 4 to 8):
//
//     W x − G λ = a,    y = C x + D λ + e,    −y ∈ N_[lower,upper](λ)
//
// It is solved as it stands, sparse, in (x, λ): the condensed matrix C W⁻¹G + D of the recipe is
// full where W couples everything, and its assembly cubic. The method guesses which rows are at
// their bounds, solves the linear equations of that guess and corrects it (Newton's method on
// min(λ − lower, y)); block principal pivoting of Júdice and Pires (1994) keeps it from cycling,
// and makes it finite for P-matrices. Guesses are kept from step to step, so that most steps take
// one or two factorisations. Where the equations of a guess are singular (all diodes of a bridge
// open: nothing says at which potential it floats) proximal terms δ(λ − λ_before) are added and
// iterated away; where all this fails the solvers of solver/complementarity_solver.h have their
// turn.
#pragma once

#include <string>
#include <vector>

#include "urto/linalg/kept_lu.h"
#include "urto/linalg/sparse_builder.h"
#include "urto/math/types.h"

namespace urto {

struct BoxStep {
  SparseMatrix W = {}, G = {}, C = {}, D = {};
  Vector a = {}, e = {}, lower = {}, upper = {};

  int states() const { return static_cast<int>(a.size()); }
  int rows() const { return static_cast<int>(e.size()); }
};

/// What may have been hard about a solve.
struct BoxStepReport {
  int factorizations = 0;
  int proximal = 0;        ///< passes with proximal terms
  bool escalated = false;  ///< the general solvers had to help
  std::string failure = {};
};

/// What the rows of A₁v₁ + A₂v₂ + … + rest are sums of: |A₁||v₁| + |A₂||v₂| + … + |rest|. A row
/// that is nothing but rounding (all its unknowns are zero, a few of them not exactly) is measured
/// beside the largest unknown, as Arioli, Demmel and Duff do (1989, their ω₂).
struct RowTerms {
  explicit RowTerms(const Vector& rest);
  void add(const SparseMatrix& A, const Vector& v);
  Vector sizes() const;

 private:
  Vector sum_, largest_;  ///< of each row: Σ |a||v|, and its largest |a|
  double unknown_ = 0;    ///< the largest of all unknowns
  Eigen::Index unknowns_ = 0;
};

/// The worst of the rows of |λ − Π(λ − y)|, each with λ beside the largest multiplier of a row
/// with a bound (or the bounds, if they are larger) and y beside the sizes of its terms.
double scaled_natural_map(const Vector& y, const Vector& terms, const Vector& lambda,
                          const Vector& lower, const Vector& upper);

class BoxStepSolver {
 public:
  /// λ in: a guess, which decides where several solutions are possible. True if what it found meets
  /// the law to 1e-11 (scaled_natural_map).
  bool solve(const BoxStep& problem, Vector& x, Vector& lambda, Vector& y, BoxStepReport& report);

 private:
  enum class At : std::uint8_t { lower, between, upper };

  void guess(const BoxStep& p, const Vector& lambda);
  bool solve_guess(const BoxStep& p, const Vector& delta, const Vector& center, Vector& z,
                   BoxStepReport& report);
  bool pivot(const BoxStep& p, const Vector& delta, const Vector& center, Vector& z,
             BoxStepReport& report);
  bool proximal(const BoxStep& p, Vector& z, BoxStepReport& report);
  bool escalate(const BoxStep& p, Vector& z) const;
  double violation(const BoxStep& p, const Vector& z, std::vector<int>& rows) const;

  std::vector<At> at_ = {};  ///< kept from step to step
  KeptLu lu_;
  SparseBuilder builder_;
  SparseMatrix K_;
  std::vector<int> pattern_outer_ = {}, pattern_inner_ = {};
  bool analysed_ = false;
};

}  // namespace urto
