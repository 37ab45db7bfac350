// Principal pivoting: the basis holds one of each complementary pair, and pivots exchange whole
// pairs. First many at once, as M. M. Kostreva (1978) and, so that it ends, J. J. Júdice and F. M.
// Pires (Computers and Operations Research 21 (1994) 587–596) do: all pairs with the wrong sign,
// as long as their number falls. Then one after the other by the least index (K. G. Murty 1974): a
// pair alone where its diagonal entry is positive, else with the first partner that its row offers
// (the criss-cross method of D. den Hertog, C. Roos and T. Terlaky, Linear Algebra and its
// Applications 187 (1993) 1–14). That ends for every sufficient matrix, which P-matrices and
// positive semi-definite ones are, at a solution or at a row that no y ≥ 0 can satisfy.
#include <cmath>
#include <utility>
#include <vector>

#include <Eigen/LU>
#include <fmt/format.h>

#include "urto/solver/complementarity_methods.h"
#include "urto/solver/standard_lcp.h"

namespace urto::complementarity {
namespace {

/// Pivots after which the tableau is made anew from M.
constexpr int refresh_every = 30;

class PrincipalTableau {
 public:
  explicit PrincipalTableau(const StandardLcp& lcp)
      : n_(lcp.size()), scale_(row_scale(lcp.M)), basic_(n_, 0) {
    start_ = scale_.asDiagonal() * lcp.M;
    start_load_ = scale_.cwiseProduct(lcp.q);
    zero_ = 1e-11 * std::max(1.0, start_.cwiseAbs().maxCoeff());
    negative_ = -1e-13 * std::max(1e-300, start_load_.cwiseAbs().maxCoeff());
    T_ = start_;
    q_ = start_load_;
  }

  bool is_wrong(int i) const { return q_[i] < negative_; }
  double entry(int i, int k) const { return std::abs(T_(i, k)) > zero_ ? T_(i, k) : 0; }

  /// The pairs `flipped` exchanged in the tableau as it stands; false if their block is singular.
  bool pivot(const std::vector<int>& flipped) {
    const auto count = static_cast<Eigen::Index>(flipped.size());
    const Eigen::FullPivLU<Matrix> block{Matrix(T_(flipped, flipped))};
    if (!block.isInvertible()) return false;
    const Matrix inverse = block.inverse();
    // What a pivot alone may not be, a block of them may not be either.
    if (!(inverse.cwiseAbs().maxCoeff() * zero_ < 1)) return false;
    const Matrix columns = T_(Eigen::all, flipped) * inverse;
    const Matrix rows = T_(flipped, Eigen::all);
    const Vector loads = q_(flipped);
    T_.noalias() -= columns * rows;
    q_.noalias() -= columns * loads;
    const Matrix turned = inverse * rows;
    const Vector values = inverse * loads;
    for (Eigen::Index k = 0; k < count; ++k) {
      T_.row(flipped[k]) = -turned.row(k);
      q_[flipped[k]] = -values[k];
    }
    for (Eigen::Index k = 0; k < count; ++k) T_.col(flipped[k]) = columns.col(k);
    for (Eigen::Index r = 0; r < count; ++r) {
      for (Eigen::Index c = 0; c < count; ++c) T_(flipped[r], flipped[c]) = inverse(r, c);
    }
    for (const int i : flipped) basic_[i] ^= 1;
    return true;
  }

  /// From M, for the pairs that are exchanged now. Leaves all as it is where that is singular.
  void refresh() {
    std::vector<int> flipped;
    for (int i = 0; i < n_; ++i) {
      if (basic_[i] != 0) flipped.push_back(i);
    }
    if (flipped.empty()) return;
    Matrix T = std::exchange(T_, start_);
    Vector q = std::exchange(q_, start_load_);
    std::vector<char> basic = std::exchange(basic_, std::vector<char>(n_, 0));
    if (pivot(flipped)) return;
    T_ = std::move(T);
    q_ = std::move(q);
    basic_ = std::move(basic);
  }

  Vector solution() const {
    Vector y = Vector::Zero(n_);
    for (int i = 0; i < n_; ++i) {
      if (basic_[i] != 0) y[i] = std::max(0.0, q_[i]);
    }
    return y;
  }

  /// Row i says that a variable is a combination, without positive terms, of variables ≥ 0 and a
  /// negative number. The weights of the rows of w = M y + q in it are a proof.
  Vector weights(int i) const {
    Vector y = Vector::Zero(n_);
    for (int k = 0; k < n_; ++k) {
      if (basic_[k] != 0) y[k] = std::max(0.0, -T_(i, k));
    }
    if (basic_[i] == 0) y[i] = 1;
    return y.cwiseProduct(scale_);
  }

 private:
  static Vector row_scale(const Matrix& M) {
    Vector sizes = Vector::Ones(M.rows());
    for (Eigen::Index i = 0; i < M.rows(); ++i) {
      const double size = M.row(i).cwiseAbs().maxCoeff();
      if (size > 1e-200) sizes[i] = 1 / size;
    }
    return sizes;
  }

  int n_;
  Vector scale_;
  Matrix start_, T_;
  Vector start_load_, q_;
  std::vector<char> basic_;  ///< 1: y of the pair is basic, else w
  double zero_ = 0, negative_ = 0;
};

std::vector<int> wrong_pairs(const PrincipalTableau& tableau, int n) {
  std::vector<int> out;
  for (int i = 0; i < n; ++i) {
    if (tableau.is_wrong(i)) out.push_back(i);
  }
  return out;
}

}  // namespace

Attempt principal_pivoting(const ComplementarityProblem& p, const Limits& limits) {
  Attempt attempt;
  attempt.z = clamp(p, Vector::Zero(p.size()));
  if (p.size() > largest_dense) {
    attempt.message = fmt::format("{} rows, at most {}", p.size(), largest_dense);
    return attempt;
  }
  const StandardLcp lcp = standard_lcp(p);
  const int n = lcp.size();
  PrincipalTableau tableau(lcp);
  // Many pairs at once may go round in circles: that is allowed for so many pivots.
  constexpr int patience = 10;
  int best = n + 1, left = patience;
  attempt.status = Status::iteration_limit;
  for (; attempt.iterations < limits.max_iterations; ++attempt.iterations) {
    if (limits.out_of_time()) {
      attempt.status = Status::time_limit;
      break;
    }
    std::vector<int> wrong = wrong_pairs(tableau, n);
    if (wrong.empty()) {
      tableau.refresh();
      wrong = wrong_pairs(tableau, n);
    } else if (attempt.iterations % refresh_every == refresh_every - 1) {
      tableau.refresh();
      wrong = wrong_pairs(tableau, n);
    }
    if (wrong.empty()) {
      attempt.status = Status::converged;
      break;
    }
    const int count = static_cast<int>(wrong.size());
    left = count < best ? patience : left - 1;
    best = std::min(best, count);
    if (left > 0 && tableau.pivot(wrong)) continue;
    left = std::min(left, 0);
    const int i = wrong.front();
    if (tableau.entry(i, i) > 0 && tableau.pivot({i})) continue;
    int partner = -1;
    for (int k = 0; k < n && partner < 0; ++k) {
      if (k != i && tableau.entry(i, k) > 0 && tableau.entry(k, i) != 0) partner = k;
    }
    if (partner >= 0 && tableau.pivot({std::min(i, partner), std::max(i, partner)})) continue;
    const Vector y = tableau.weights(i);
    attempt.status = Status::failed;
    if (proves_infeasible(lcp, y)) {
      attempt.status = Status::infeasible;
      attempt.message = "no y ≥ 0 satisfies one of the rows";
      if (lcp.is_itself) attempt.certificate = y / y.maxCoeff();
    } else {
      attempt.message = "a row without a pivot: the matrix is not sufficient";
    }
    break;
  }
  if (attempt.status == Status::iteration_limit)
    attempt.message = fmt::format("{} pivots", attempt.iterations);
  attempt.z = lcp.recover(p, tableau.solution());
  return attempt;
}

}  // namespace urto::complementarity
