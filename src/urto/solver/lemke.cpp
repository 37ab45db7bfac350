// Lemke's complementary pivoting with the lexicographic ratio test (Cottle, Pang and Stone, The
// Linear Complementarity Problem, 4.4 and 4.9), which cannot cycle on degenerate problems. A mixed
// problem is first written as an LCP: bounds are shifted to zero, upper bounds get a slack row, and
// a free unknown is eliminated, or where its block is singular split in two of opposite sign.
// Dense; may take exponentially many pivots (Murty), usually about as many as rows.
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

namespace urto::complementarity {
namespace {

/// z = z₀ + S y with y ≥ 0, M y + q ≥ 0 complementary.
struct Standard {
  Matrix M;
  Vector q;
  Matrix S;
  Vector z0;
};

/// Entries that are nothing but the rounding of their sums, and of the elimination before them,
/// become zero: rows that follow from joints (a contact of what joints hold) would be scaled up to
/// noise. `terms`, `loads`: the sizes of what M and q are sums of.
void drop_rounding(const Matrix& terms, const Vector& loads, Standard& out) {
  // M itself comes from a solve, of a matrix that may be a thousand times worse than one.
  constexpr double rounding = 1e-12;
  for (Eigen::Index i = 0; i < terms.rows(); ++i) {
    for (Eigen::Index k = 0; k < terms.cols(); ++k) {
      if (std::abs(out.M(i, k)) <= rounding * terms(i, k)) out.M(i, k) = 0;
    }
    if (std::abs(out.q[i]) <= rounding * loads[i]) out.q[i] = 0;
  }
}

Standard standard_form(const ComplementarityProblem& p) {
  const Matrix M(p.M);
  std::vector<int> bounded, free;
  for (int i = 0; i < p.size(); ++i) {
    (std::isfinite(p.lo[i]) || std::isfinite(p.hi[i]) ? bounded : free).push_back(i);
  }
  const auto nb = static_cast<Eigen::Index>(bounded.size());
  const auto nf = static_cast<Eigen::Index>(free.size());
  // First an equivalent problem G y + g in the unknowns y: shifted bounds, then free ones
  // eliminated or split.
  Matrix S = Matrix::Zero(p.size(), nb);
  Vector z0 = Vector::Zero(p.size());
  std::vector<Eigen::Index> boxed;
  for (Eigen::Index k = 0; k < nb; ++k) {
    const int i = bounded[k];
    const bool lower = std::isfinite(p.lo[i]);
    S(i, k) = lower ? 1 : -1;
    z0[i] = lower ? p.lo[i] : p.hi[i];
    if (lower && std::isfinite(p.hi[i])) boxed.push_back(k);
  }
  Matrix eliminated;  // per free unknown, the sizes of the terms of its dependence on y, and on 1
  Matrix rows = S.transpose();  // w of y: a sign change where y runs down from the upper bound
  if (nf > 0) {
    const Matrix Mff = M(free, free);
    const Eigen::FullPivLU<Matrix> factor(Mff);
    if (factor.isInvertible() && factor.rcond() > 1e-12) {
      const Matrix Z = factor.solve(Matrix(M(free, Eigen::all)));
      const Vector c = factor.solve(Vector(p.q(free) + M(free, Eigen::all) * z0));
      const Matrix ZS = Z * S;
      const Matrix sizes = M(free, Eigen::all).cwiseAbs();
      eliminated.resize(nf, nb + 1);
      eliminated.leftCols(nb) = Mff.cwiseAbs() * ZS.cwiseAbs() + sizes * S.cwiseAbs();
      eliminated.col(nb) =
          Mff.cwiseAbs() * c.cwiseAbs() + sizes * z0.cwiseAbs() + p.q(free).cwiseAbs();
      eliminated = factor.inverse().cwiseAbs() * eliminated;
      for (Eigen::Index k = 0; k < nf; ++k) {
        z0[free[k]] = -c[k];
        S.row(free[k]) = -ZS.row(k);
      }
    } else {
      S.conservativeResize(Eigen::NoChange, nb + 2 * nf);
      S.rightCols(2 * nf).setZero();
      for (Eigen::Index k = 0; k < nf; ++k) {
        S(free[k], nb + 2 * k) = 1;
        S(free[k], nb + 2 * k + 1) = -1;
      }
      rows = S.transpose();
    }
  }
  const Eigen::Index n = S.cols(), m = static_cast<Eigen::Index>(boxed.size());
  Standard result;
  result.M = Matrix::Zero(n + m, n + m);
  result.M.topLeftCorner(n, n) = rows * M * S;
  result.q.resize(n + m);
  result.q.head(n) = rows * (M * z0 + p.q);
  if (nf > 0) {
    const Matrix sizes = rows.cwiseAbs() * M.cwiseAbs();
    Matrix terms = sizes * S.cwiseAbs();
    Vector loads = sizes * z0.cwiseAbs() + rows.cwiseAbs() * p.q.cwiseAbs();
    if (eliminated.size() > 0) {
      terms += sizes(Eigen::all, free) * eliminated.leftCols(nb);
      loads += sizes(Eigen::all, free) * eliminated.col(nb);
    }
    drop_rounding(terms, loads, result);
  }
  for (Eigen::Index k = 0; k < m; ++k) {
    result.M(boxed[k], n + k) = 1;
    result.M(n + k, boxed[k]) = -1;
    result.q[n + k] = p.hi[bounded[boxed[k]]] - p.lo[bounded[boxed[k]]];
  }
  result.S = Matrix::Zero(p.size(), n + m);
  result.S.leftCols(n) = S;
  result.z0 = z0;
  return result;
}

/// w − M y − d y₀ = q, kept as (basis inverse) × [I | −M | −d | q].
class Tableau {
 public:
  Tableau(const Matrix& M, const Vector& q) : n_(q.size()), T_(n_, 2 * n_ + 2), basis_(n_) {
    T_.leftCols(n_).setIdentity();
    T_.middleCols(n_, n_) = -M;
    T_.col(artificial()).setConstant(-1);
    T_.col(artificial() + 1) = q;
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
  RowMatrix T_;
  std::vector<Eigen::Index> basis_;
  double scale_ = 1;
};

/// Does y prove that no point satisfies the inequalities?
bool proves_infeasible(const Standard& lcp, const Vector& y) {
  const double size = y.cwiseAbs().maxCoeff();
  if (!(size > 0)) return false;
  const double slack = 1e-9 * size * std::max(1.0, lcp.M.cwiseAbs().maxCoeff());
  return y.minCoeff() >= -1e-9 * size && (lcp.M.transpose() * y).maxCoeff() <= slack &&
         lcp.q.dot(y) < -1e-7 * size * lcp.q.cwiseAbs().maxCoeff();
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
  Vector scale = M.cwiseAbs().rowwise().maxCoeff().cwiseMax(1e-300);
  scale = scale.unaryExpr([](double s) { return s > 1e-200 ? 1 / s : 1; });
  Tableau tableau(scale.asDiagonal() * M, scale.cwiseProduct(q));
  const Eigen::Index n = tableau.size();
  Path path{.end = Path::End::iteration_limit, .y = Vector::Zero(n), .pivots = 1};
  Eigen::Index left = tableau.pivot(tableau.first_row(), tableau.artificial());
  while (path.pivots < limits.max_iterations) {
    if (limits.out_of_time()) {
      path.end = Path::End::time_limit;
      return path;
    }
    const Eigen::Index entering = tableau.complement(left);
    const Eigen::Index row = tableau.leaving_row(entering);
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
    for (Eigen::Index i = 0; i < n; ++i) {
      if (tableau.basis()[i] >= n)
        path.y[tableau.basis()[i] - n] = std::max(0.0, tableau.values()[i]);
    }
    return path;
  }
  return path;
}

/// A y that proves that the inequalities have no point; empty if there is none or it was not found.
Vector certificate_of(const Standard& lcp, const Limits& limits) {
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

bool is_lcp(const ComplementarityProblem& p) {
  return (p.lo.array() == 0).all() &&
         (p.hi.array() == std::numeric_limits<double>::infinity()).all();
}

void explain_ray(const ComplementarityProblem& p, const Standard& lcp, const Vector& ray,
                 const Limits& limits, Attempt& attempt) {
  Vector y = proves_infeasible(lcp, ray) ? ray : certificate_of(lcp, limits);
  if (y.size() > 0) {
    attempt.status = Status::infeasible;
    attempt.message =
        "no point satisfies the inequalities, as a y ≥ 0 with Mᵀy ≤ 0 and qᵀy < 0 proves";
    if (is_lcp(p)) attempt.certificate = y / y.maxCoeff();
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
  const Standard lcp = standard_form(p);
  const auto recover = [&](const Vector& y) { attempt.z = clamp(p, lcp.z0 + lcp.S * y); };
  if (lcp.q.size() == 0 || lcp.q.minCoeff() >= 0) {
    recover(Vector::Zero(lcp.q.size()));
    attempt.status = Status::converged;
    return attempt;
  }
  const Path path = follow(lcp.M, lcp.q, limits);
  attempt.iterations = path.pivots;
  switch (path.end) {
    case Path::End::solution:
      recover(path.y);
      attempt.status = Status::converged;
      break;
    case Path::End::ray:
      explain_ray(p, lcp, path.y, limits, attempt);
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
