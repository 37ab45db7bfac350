#include "urto/firstorder/box_step.h"

#include <algorithm>
#include <cmath>

#include <Eigen/SparseLU>
#include <fmt/format.h>

#include "urto/linalg/checked.h"
#include "urto/solver/complementarity_solver.h"

namespace urto {
namespace {

constexpr double accepted = 1e-11;  // of the scaled natural map
constexpr double rounding = 1e-13;  // a row that is off by less is not changed
constexpr double solved_to = 1e-9;  // componentwise, of a linear solve that can be believed
constexpr int largest_condensed = 1000;

/// Of y.
Vector terms_of(const BoxStep& p, const Vector& x, const Vector& lambda) {
  RowTerms terms(p.e);
  terms.add(p.C, x);
  terms.add(p.D, lambda);
  return terms.sizes();
}

bool bounded(double lower, double upper) {
  return std::isfinite(lower) || std::isfinite(upper);
}

/// What a multiplier of a row with a bound is small beside.
double multiplier_scale(const Vector& lambda, const Vector& lower, const Vector& upper) {
  double scale = 0;
  for (Eigen::Index i = 0; i < lambda.size(); ++i) {
    if (!bounded(lower[i], upper[i])) continue;
    scale = std::max(scale, std::abs(lambda[i]));
    if (std::isfinite(lower[i])) scale = std::max(scale, std::abs(lower[i]));
    if (std::isfinite(upper[i])) scale = std::max(scale, std::abs(upper[i]));
  }
  return scale > 0 ? scale : 1;
}

double row_violation(double y, double terms, double lambda, double lower, double upper,
                     double scale) {
  const double w = terms > 0 ? y / terms : 0;
  if (!bounded(lower, upper)) return std::abs(w);
  const double z = lambda / scale;
  return std::abs(z - std::min(std::max(z - w, lower / scale), upper / scale));
}

}  // namespace

RowTerms::RowTerms(const Vector& rest)
    : sum_(rest.cwiseAbs()), largest_(Vector::Zero(rest.size())) {}

void RowTerms::add(const SparseMatrix& A, const Vector& v) {
  for (int c = 0; c < A.outerSize(); ++c) {
    const double size = std::abs(v[c]);
    for (SparseMatrix::InnerIterator it(A, c); it; ++it) {
      const double a = std::abs(it.value());
      sum_[it.row()] += a * size;
      largest_[it.row()] = std::max(largest_[it.row()], a);
    }
  }
  if (v.size() > 0) unknown_ = std::max(unknown_, v.cwiseAbs().maxCoeff());
  unknowns_ += v.size();
}

Vector RowTerms::sizes() const {
  const double share =
      1e3 * static_cast<double>(unknowns_) * std::numeric_limits<double>::epsilon();
  Vector out = sum_;
  for (Eigen::Index i = 0; i < out.size(); ++i) {
    const double beside = largest_[i] * unknown_;
    if (out[i] < share * beside) out[i] += beside;
  }
  return out;
}

double scaled_natural_map(const Vector& y, const Vector& terms, const Vector& lambda,
                          const Vector& lower, const Vector& upper) {
  const double scale = multiplier_scale(lambda, lower, upper);
  double worst = 0;
  for (Eigen::Index i = 0; i < y.size(); ++i) {
    const double v = row_violation(y[i], terms[i], lambda[i], lower[i], upper[i], scale);
    if (!(v <= worst)) worst = v;  // not-a-number is worse than anything
  }
  return worst;
}

void BoxStepSolver::guess(const BoxStep& p, const Vector& lambda) {
  const int m = p.rows();
  if (static_cast<int>(at_.size()) == m) return;
  at_.assign(static_cast<std::size_t>(m), At::between);
  for (int i = 0; i < m; ++i) {
    if (lambda[i] <= p.lower[i]) at_[i] = At::lower;
    if (lambda[i] >= p.upper[i]) at_[i] = At::upper;
  }
}

// The equations of the guess. A row at a bound keeps its places in the matrix, as zeros, so that
// the pattern is that of the system and its analysis is kept.
bool BoxStepSolver::solve_guess(const BoxStep& p, const Vector& delta, const Vector& center,
                                Vector& z, BoxStepReport& report) {
  const int n = p.states(), m = p.rows();
  builder_.start(n + m, n + m);
  Vector right(n + m);
  right.head(n) = p.a;
  builder_.add(p.W);
  for (int c = 0; c < p.G.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(p.G, c); it; ++it)
      builder_.add(static_cast<int>(it.row()), n + c, -it.value());
  }
  const auto add_rows = [&](const SparseMatrix& A, int column) {
    for (int c = 0; c < A.outerSize(); ++c) {
      for (SparseMatrix::InnerIterator it(A, c); it; ++it) {
        const auto row = static_cast<int>(it.row());
        builder_.add(n + row, column + c, at_[row] == At::between ? it.value() : 0.0);
      }
    }
  };
  add_rows(p.C, 0);
  add_rows(p.D, n);
  for (int i = 0; i < m; ++i) {
    const bool between = at_[i] == At::between;
    builder_.add(n + i, n + i, between ? delta[i] : 1.0);
    right[n + i] = between               ? delta[i] * center[i] - p.e[i]
                   : at_[i] == At::lower ? p.lower[i]
                                         : p.upper[i];
  }
  builder_.finish(K_);
  const int* outer = K_.outerIndexPtr();
  const int* inner = K_.innerIndexPtr();
  const auto outer_size = static_cast<std::size_t>(K_.outerSize() + 1);
  const auto inner_size = static_cast<std::size_t>(K_.nonZeros());
  const bool same = analysed_ && pattern_outer_.size() == outer_size &&
                    pattern_inner_.size() == inner_size &&
                    std::equal(outer, outer + outer_size, pattern_outer_.begin()) &&
                    std::equal(inner, inner + inner_size, pattern_inner_.begin());
  if (!same) {
    analysed_ = lu_.analyze(K_);
    pattern_outer_.assign(outer, outer + outer_size);
    pattern_inner_.assign(inner, inner + inner_size);
  }
  ++report.factorizations;
  if (!analysed_ || !lu_.factorize(K_, KeptLu::Pivots::kept) || !lu_.solve(right, z)) return false;
  // One refinement makes the solution as good as its data row by row.
  Vector correction;
  if (!lu_.solve(right - K_ * z, correction)) return false;
  // Of a matrix that is singular but for rounding the correction is as large as the solution.
  const bool regular = correction.lpNorm<Eigen::Infinity>() <= 1e-4 * z.lpNorm<Eigen::Infinity>();
  z += correction;
  if (!z.allFinite() || !regular) return false;
  const Vector defect = (right - K_ * z).cwiseAbs();
  RowTerms terms(right);
  terms.add(K_, z);
  const Vector sizes = terms.sizes();
  for (int i = 0; i < n + m; ++i) {
    if (defect[i] > solved_to * sizes[i]) return false;
  }
  for (int i = 0; i < m; ++i) {  // exactly
    if (at_[i] != At::between) z[n + i] = right[n + i];
  }
  return true;
}

// Rows that contradict the guess, and by how much the worst of them does.
double BoxStepSolver::violation(const BoxStep& p, const Vector& z, std::vector<int>& rows) const {
  const int n = p.states(), m = p.rows();
  const Vector x = z.head(n), lambda = z.tail(m);
  const Vector terms = terms_of(p, x, lambda);
  const Vector y = p.C * x + p.D * lambda + p.e;
  const double scale = multiplier_scale(lambda, p.lower, p.upper);
  double worst = 0;
  rows.clear();
  for (int i = 0; i < m; ++i) {
    double v = 0;
    if (at_[i] == At::between) {
      v = std::max(p.lower[i] - lambda[i], lambda[i] - p.upper[i]) / scale;
    } else if (terms[i] > 0 && p.lower[i] < p.upper[i]) {
      v = (at_[i] == At::lower ? -y[i] : y[i]) / terms[i];
    }
    if (!(v > rounding)) continue;
    worst = std::max(worst, v);
    rows.push_back(i);
  }
  return worst;
}

bool BoxStepSolver::pivot(const BoxStep& p, const Vector& delta, const Vector& center, Vector& z,
                          BoxStepReport& report) {
  const int n = p.states(), m = p.rows();
  constexpr int patience = 10;
  const int most = 500 + 4 * m;
  std::vector<int> wrong;
  std::size_t fewest = static_cast<std::size_t>(m) + 1;
  int left = patience;
  const auto change = [&](int i) {
    if (at_[i] != At::between) {
      at_[i] = At::between;
    } else {
      at_[i] = z[n + i] < p.lower[i] ? At::lower : At::upper;
    }
  };
  for (int k = 0; k < most; ++k) {
    if (!solve_guess(p, delta, center, z, report)) return false;
    const double worst = violation(p, z, wrong);
    // A row that is at its bound and would not move from it either goes to and fro by rounding.
    if (wrong.empty() || (left <= 0 && worst <= 0.1 * accepted)) return true;
    if (wrong.size() < fewest) {
      fewest = wrong.size();
      left = patience;
    } else {
      --left;
    }
    if (left > 0) {
      for (const int i : wrong) change(i);
    } else {
      change(wrong.back());  // Murty's rule, until there are fewer
    }
  }
  return false;
}

// Each pass adds δ(λ − λ_before) to y. For a monotone problem the passes converge to a solution,
// whatever δ; nothing of δ is left in it.
bool BoxStepSolver::proximal(const BoxStep& p, Vector& z, BoxStepReport& report) {
  const int n = p.states(), m = p.rows();
  Vector size = Vector::Zero(m);
  for (const SparseMatrix* A : {&p.C, &p.D}) {
    for (int c = 0; c < A->outerSize(); ++c) {
      for (SparseMatrix::InnerIterator it(*A, c); it; ++it)
        size[it.row()] = std::max(size[it.row()], std::abs(it.value()));
    }
  }
  constexpr int most = 50;
  for (const double weight : {1e-9, 1e-6, 1e-3}) {
    const Vector delta = weight * size.cwiseMax(1e-12);
    Vector center = z.tail(m);
    for (int pass = 0; pass < most; ++pass) {
      ++report.proximal;
      if (!pivot(p, delta, center, z, report)) break;
      const Vector x = z.head(n), lambda = z.tail(m);
      const Vector terms = terms_of(p, x, lambda);
      const Vector y = p.C * x + p.D * lambda + p.e;
      if (scaled_natural_map(y, terms, lambda, p.lower, p.upper) <= 0.01 * accepted) return true;
      center = lambda;
    }
  }
  return false;
}

// As a problem of λ alone, where that is small enough to be full.
bool BoxStepSolver::escalate(const BoxStep& p, Vector& z) const {
  const int n = p.states(), m = p.rows();
  if (m > largest_condensed) return false;
  ComplementarityProblem problem;
  problem.lo = p.lower;
  problem.hi = p.upper;
  Vector free = Vector::Zero(n);
  Matrix response = Matrix::Zero(n, m);
  if (n > 0) {
    const Checked<Eigen::SparseLU<SparseMatrix>> factor(p.W);
    if (!factor.ok()) return false;
    free = factor.solve(p.a);
    response = factor.solve(Matrix(p.G));
  }
  problem.M = SparseMatrix((Matrix(p.C * response) + Matrix(p.D)).sparseView());
  problem.q = p.C * free + p.e;
  const Vector start = z.tail(m);
  const ComplementaritySolution found =
      urto::solve(problem, {.tolerance = 0.1 * accepted}, start.allFinite() ? &start : nullptr);
  z.tail(m) = found.z;
  z.head(n) = free + response * found.z;
  return z.allFinite();
}

bool BoxStepSolver::solve(const BoxStep& p, Vector& x, Vector& lambda, Vector& y,
                          BoxStepReport& report) {
  const int n = p.states(), m = p.rows();
  guess(p, lambda);
  Vector z = Vector::Zero(n + m);
  const Vector start = lambda.cwiseMax(p.lower).cwiseMin(p.upper);
  const auto take = [&](const Vector& from) {
    x = from.head(n);
    lambda = from.tail(m).cwiseMax(p.lower).cwiseMin(p.upper);
    y = p.C * x + p.D * lambda + p.e;
    const double found = scaled_natural_map(y, terms_of(p, x, lambda), lambda, p.lower, p.upper);
    if (found <= accepted) return true;
    report.failure = fmt::format("the complementarity problem is solved to {:.1e} only", found);
    return false;
  };
  const Vector none = Vector::Zero(m);
  if (pivot(p, none, none, z, report) && take(z)) return true;
  z.head(n).setZero();
  z.tail(m) = start;
  if (proximal(p, z, report) && take(z)) return true;
  if (m > 0) {
    report.escalated = true;
    z.tail(m) = start;
    if (escalate(p, z)) {
      at_.clear();
      guess(p, z.tail(m));
      if (take(z)) return true;
    } else {
      report.failure = "the matrix of the step is singular";
    }
  } else {
    report.failure = "the matrix of the step is singular";
  }
  at_.clear();
  return false;
}

}  // namespace urto
