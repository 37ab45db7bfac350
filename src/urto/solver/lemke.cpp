// Lemke's complementary pivoting with the lexicographic ratio test (Cottle, Pang and Stone, The
// Linear Complementarity Problem, 4.4 and 4.9), which cannot cycle on degenerate problems. A mixed
// problem is first written as an LCP (standard_lcp.h). Dense; the tableau is made anew from the
// matrix now and then, and before its end is believed. May take exponentially many pivots (Murty),
// usually about as many as rows.
//
// It ends at a solution or on a secondary ray. By Farkas' lemma a y with y ≥ 0, Mᵀy ≤ 0, qᵀy < 0
// proves that no z ≥ 0 has M z + q ≥ 0, so that there is no solution. Where M is copositive-plus,
// as every positive semi-definite matrix is, the ray itself is such a y (Cottle, Pang and Stone,
// theorem 4.4.11). For any other M the y is sought by a linear program of its own,
//
//     min qᵀy  with  y ≥ 0, Mᵀy ≤ 0, Σ y ≤ 1
//
// whose optimality conditions are an LCP with a skew matrix: Lemke's method solves it.
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <fmt/format.h>

#include "urto/linalg/checked.h"
#include "urto/solver/complementarity_methods.h"
#include "urto/solver/standard_lcp.h"

namespace urto::complementarity {
namespace {

/// w − M y − d y₀ = q, kept as (basis inverse) × [I | −M | −d | q].
class Tableau {
 public:
  Tableau(const Matrix& M, const Vector& q) : n_(q.size()), basis_(n_) {
    start_.resize(n_, 2 * n_ + 2);
    start_.leftCols(n_).setIdentity();
    start_.middleCols(n_, n_) = -M;
    start_.col(artificial()).setConstant(-1);
    start_.col(artificial() + 1) = q;
    T_ = start_;
    for (Eigen::Index i = 0; i < n_; ++i) basis_[i] = i;
    scale_ = std::max(1.0, M.cwiseAbs().maxCoeff());
  }

  Eigen::Index artificial() const { return 2 * n_; }
  Eigen::Index complement(Eigen::Index variable) const {
    return variable < n_ ? variable + n_ : variable - n_;
  }
  const std::vector<Eigen::Index>& basis() const { return basis_; }
  Eigen::Index size() const { return n_; }
  auto values() const { return T_.col(artificial() + 1); }
  auto column(Eigen::Index variable) const { return T_.col(variable); }

  /// The row whose variable leaves first as `entering` grows; −1 for a ray. The artificial variable
  /// goes out whenever it can, other ties are broken by the rows of the basis inverse.
  Eigen::Index leaving_row(Eigen::Index entering) const {
    Eigen::Index row = -1;
    const double smallest = 1e-11 * scale_;
    for (Eigen::Index i = 0; i < n_; ++i) {
      if (T_(i, entering) <= smallest) continue;
      if (row < 0 || precedes(i, row, entering)) row = i;
    }
    if (row < 0) return row;
    const double ratio = values()[row] / T_(row, entering);
    for (Eigen::Index i = 0; i < n_; ++i) {
      if (basis_[i] != artificial() || T_(i, entering) <= smallest) continue;
      const double other = values()[i] / T_(i, entering);
      if (other <= ratio + 1e-12 * (1 + std::abs(ratio))) return i;
    }
    return row;
  }

  /// The row that the artificial variable replaces: lexicographically the most negative.
  Eigen::Index first_row() const {
    Eigen::Index row = 0;
    for (Eigen::Index i = 1; i < n_; ++i) {
      if (values()[i] < values()[row]) row = i;
    }
    return row;
  }

  Eigen::Index pivot(Eigen::Index row, Eigen::Index entering) {
    T_.row(row) /= T_(row, entering);
    for (Eigen::Index i = 0; i < n_; ++i) {
      if (i == row || T_(i, entering) == 0) continue;
      const double factor = T_(i, entering);
      T_.row(i) -= factor * T_.row(row);
      T_(i, entering) = 0;
    }
    return std::exchange(basis_[row], entering);
  }

  /// From the matrix, for the basis that is there: without what pivots have made of rounding.
  /// Leaves all as it is where that basis is singular.
  void refresh() {
    const Eigen::PartialPivLU<Matrix> factor{Matrix(start_(Eigen::all, basis_))};
    if (!(factor.rcond() > 1e-15)) return;
    Matrix fresh = factor.solve(Matrix(start_));
    if (!fresh.allFinite()) return;
    T_ = fresh;
    for (Eigen::Index i = 0; i < n_; ++i) T_.col(basis_[i]) = Vector::Unit(n_, i);
  }

 private:
  bool precedes(Eigen::Index i, Eigen::Index k, Eigen::Index entering) const {
    const double pi = T_(i, entering), pk = T_(k, entering);
    const auto compare = [&](Eigen::Index c) {
      const double x = T_(i, c) / pi, y = T_(k, c) / pk;
      const double slack = 1e-12 * std::max({1.0, std::abs(x), std::abs(y)});
      return x < y - slack ? -1 : x > y + slack ? 1 : 0;
    };
    if (const int order = compare(artificial() + 1)) return order < 0;
    for (Eigen::Index c = 0; c < n_; ++c) {
      if (const int order = compare(c)) return order < 0;
    }
    return false;
  }

  using RowMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::Index n_;
  RowMatrix start_, T_;
  std::vector<Eigen::Index> basis_;
  double scale_ = 1;
};

Vector row_scale(const Matrix& M) {
  Vector sizes = Vector::Ones(M.rows());
  for (Eigen::Index i = 0; i < M.rows(); ++i) {
    const double size = M.row(i).cwiseAbs().maxCoeff();
    if (size > 1e-200) sizes[i] = 1 / size;
  }
  return sizes;
}

/// Where a path of pivots ended.
struct Path {
  enum class End : std::uint8_t { solution, ray, iteration_limit, time_limit } end = End::ray;
  Vector y;  ///< of the solution, or the direction of the ray
  int pivots = 0;
};

/// From the covering vector on. The artificial variable enters once, at the start.
Path follow(const Matrix& M, const Vector& q, const Limits& limits) {
  // Rows of like size make the ratio tests' thresholds meaningful.
  Tableau tableau(row_scale(M).asDiagonal() * M, row_scale(M).cwiseProduct(q));
  const Eigen::Index n = tableau.size();
  Path path{.end = Path::End::iteration_limit, .y = Vector::Zero(n), .pivots = 1};
  Eigen::Index left = tableau.pivot(tableau.first_row(), tableau.artificial());
  const Eigen::Index refresh_every = 30 + n / 4;
  while (path.pivots < limits.max_iterations) {
    if (limits.out_of_time()) {
      path.end = Path::End::time_limit;
      return path;
    }
    if (path.pivots % refresh_every == 0) tableau.refresh();
    const Eigen::Index entering = tableau.complement(left);
    Eigen::Index row = tableau.leaving_row(entering);
    if (row < 0) {
      tableau.refresh();
      row = tableau.leaving_row(entering);
    }
    if (row < 0) {
      path.end = Path::End::ray;
      if (entering >= n) path.y[entering - n] = 1;
      for (Eigen::Index i = 0; i < n; ++i) {
        const Eigen::Index variable = tableau.basis()[i];
        if (variable >= n && variable < 2 * n) path.y[variable - n] = -tableau.column(entering)[i];
      }
      return path;
    }
    left = tableau.pivot(row, entering);
    ++path.pivots;
    if (left != tableau.artificial()) continue;
    path.end = Path::End::solution;
    tableau.refresh();
    for (Eigen::Index i = 0; i < n; ++i) {
      if (tableau.basis()[i] >= n)
        path.y[tableau.basis()[i] - n] = std::max(0.0, tableau.values()[i]);
    }
    return path;
  }
  return path;
}

/// How far y is from a solution.
double defect(const StandardLcp& lcp, const Vector& y) {
  const double size = lcp.q.norm();
  return y.cwiseMin(lcp.M * y + lcp.q).norm() / (size > 0 ? size : 1);
}

/// Where rounding led to a ray, or to a basis that is none. The theorem needs zᵀM z ≥ 0 for z ≥ 0,
/// and qᵀz ≥ 0 where M z is complementary to z: redundant rows have exact zeros there, which
/// rounding may make negative. A little of the diagonal and of a positive vector makes up for that,
/// and a proximal iteration takes the first of them back.
Path follow_safely(const StandardLcp& lcp, const Limits& limits, int& pivots) {
  const Vector sizes = row_scale(lcp.M).cwiseInverse();
  const double load = row_scale(lcp.M).cwiseProduct(lcp.q).cwiseAbs().maxCoeff();
  Path best;
  double least = std::numeric_limits<double>::infinity();
  for (const double little : {1e-11, 1e-10, 1e-9, 1e-8}) {
    Matrix M = lcp.M;
    M.diagonal() += little * sizes;
    Vector y = Vector::Zero(lcp.size());
    constexpr int rounds = 4;
    for (int round = 0; round < rounds; ++round) {
      const double added = round == 0 ? little * load : 0;
      const Vector q = lcp.q + sizes.cwiseProduct(Vector::Constant(lcp.size(), added) - little * y);
      Path path = follow(M, q, limits);
      pivots += path.pivots;
      if (path.end != Path::End::solution) break;
      y = path.y;
      const double left = defect(lcp, y);
      if (!(left < least)) break;
      least = left;
      best = std::move(path);
      if (least <= limits.tolerance) return best;
    }
  }
  return best;
}

/// A y that proves that the inequalities have no point; empty if there is none or it was not found.
Vector certificate_of(const StandardLcp& lcp, const Limits& limits) {
  const Eigen::Index n = lcp.q.size();
  constexpr Eigen::Index largest = 400;  // the program has twice the size
  if (n > largest) return {};
  // Farkas' lemma does not mind the length of a row.
  Matrix M = lcp.M;
  Vector q = lcp.q;
  for (Eigen::Index i = 0; i < n; ++i) {
    const double size = std::max(M.row(i).cwiseAbs().maxCoeff(), std::abs(q[i]));
    if (!(size > 0)) continue;
    M.row(i) /= size;
    q[i] /= size;
  }
  Matrix A = Matrix::Zero(2 * n + 1, 2 * n + 1);
  A.block(0, n, n, n) = M;
  A.block(n, 0, n, n) = -M.transpose();
  A.col(2 * n).head(n).setOnes();
  A.row(2 * n).head(n).setConstant(-1);
  Vector b = Vector::Zero(2 * n + 1);
  b.head(n) = q;
  b[2 * n] = 1;
  const Path path = follow(A, b, limits);
  if (path.end != Path::End::solution) return {};
  Vector y = path.y.head(n);
  for (Eigen::Index i = 0; i < n; ++i) {
    const double size = std::max(lcp.M.row(i).cwiseAbs().maxCoeff(), std::abs(lcp.q[i]));
    if (size > 0) y[i] /= size;
  }
  return proves_infeasible(lcp, y) ? y : Vector();
}

/// True if yᵀM y ≥ 0 for all y, to rounding.
bool is_semidefinite(const Matrix& M) {
  const Matrix symmetric = 0.5 * (M + M.transpose());
  const Checked<Eigen::SelfAdjointEigenSolver<Matrix>> eigen(symmetric, Eigen::EigenvaluesOnly);
  if (!eigen.ok()) return false;
  const Vector values = eigen->eigenvalues();
  return values.size() == 0 || values[0] >= -1e-10 * std::max(1e-300, values.cwiseAbs().maxCoeff());
}

void explain_ray(const StandardLcp& lcp, const Vector& ray, const Limits& limits,
                 Attempt& attempt) {
  Vector y = proves_infeasible(lcp, ray) ? ray : certificate_of(lcp, limits);
  if (y.size() > 0) {
    attempt.status = Status::infeasible;
    attempt.message =
        "no point satisfies the inequalities, as a y ≥ 0 with Mᵀy ≤ 0 and qᵀy < 0 proves";
    if (lcp.is_itself) attempt.certificate = y / y.maxCoeff();
    return;
  }
  attempt.status = Status::failed;
  attempt.message = is_semidefinite(lcp.M)
                        ? "ended on a secondary ray by rounding: M is positive semi-definite and "
                          "nothing contradicts the inequalities"
                        : "ended on a secondary ray; a solution may exist";
}

}  // namespace

Attempt lemke(const ComplementarityProblem& p, const Limits& limits) {
  Attempt attempt;
  attempt.z = clamp(p, Vector::Zero(p.size()));
  if (p.size() > largest_dense) {
    attempt.message = fmt::format("{} rows, at most {}", p.size(), largest_dense);
    return attempt;
  }
  const StandardLcp lcp = standard_lcp(p);
  if (lcp.size() == 0 || lcp.q.minCoeff() >= 0) {
    attempt.z = lcp.recover(p, Vector::Zero(lcp.size()));
    attempt.status = Status::converged;
    return attempt;
  }
  Path path = follow(lcp.M, lcp.q, limits);
  attempt.iterations = path.pivots;
  const bool lost = path.end == Path::End::solution ? !(defect(lcp, path.y) <= limits.tolerance)
                                                    : path.end == Path::End::ray;
  if (lost && !proves_infeasible(lcp, path.y)) {
    Path safer = follow_safely(lcp, limits, attempt.iterations);
    if (safer.end == Path::End::solution &&
        (path.end == Path::End::ray || defect(lcp, safer.y) < defect(lcp, path.y)))
      path = std::move(safer);
  }
  switch (path.end) {
    case Path::End::solution:
      attempt.z = lcp.recover(p, path.y);
      attempt.status = Status::converged;
      break;
    case Path::End::ray:
      explain_ray(lcp, path.y, limits, attempt);
      break;
    case Path::End::iteration_limit:
      attempt.status = Status::iteration_limit;
      attempt.message = fmt::format("{} pivots", path.pivots);
      break;
    case Path::End::time_limit:
      attempt.status = Status::time_limit;
      break;
  }
  return attempt;
}

}  // namespace urto::complementarity
