#include "urto/solver/standard_lcp.h"

#include <cmath>
#include <limits>
#include <vector>

#include <Eigen/LU>

namespace urto::complementarity {
namespace {

/// Entries that are nothing but the rounding of their sums, and of the elimination before them,
/// become zero: rows that follow from joints (a contact of what joints hold) would be scaled up to
/// noise. `terms`, `loads`: the sizes of what M and q are sums of.
void drop_rounding(const Matrix& terms, const Vector& loads, StandardLcp& out) {
  // M itself comes from a solve, of a matrix that may be a thousand times worse than one.
  constexpr double rounding = 1e-12;
  for (Eigen::Index i = 0; i < terms.rows(); ++i) {
    for (Eigen::Index k = 0; k < terms.cols(); ++k) {
      if (std::abs(out.M(i, k)) <= rounding * terms(i, k)) out.M(i, k) = 0;
    }
    if (std::abs(out.q[i]) <= rounding * loads[i]) out.q[i] = 0;
  }
}

}  // namespace

StandardLcp standard_lcp(const ComplementarityProblem& p) {
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
  StandardLcp result;
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
  result.is_itself =
      (p.lo.array() == 0).all() && (p.hi.array() == std::numeric_limits<double>::infinity()).all();
  return result;
}

bool proves_infeasible(const StandardLcp& lcp, const Vector& y) {
  const double size = y.cwiseAbs().maxCoeff();
  if (!(size > 0)) return false;
  const double slack = 1e-9 * size * std::max(1.0, lcp.M.cwiseAbs().maxCoeff());
  return y.minCoeff() >= -1e-9 * size && (lcp.M.transpose() * y).maxCoeff() <= slack &&
         lcp.q.dot(y) < -1e-7 * size * lcp.q.cwiseAbs().maxCoeff();
}

}  // namespace urto::complementarity
