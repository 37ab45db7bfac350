// Semismooth Newton for the mixed complementarity problem, after Billups (1995) and De Luca,
// Facchinei and Kanzow (1996). With ψ(a, b) = a + b − √(a² + b²), zero exactly when a ≥ 0, b ≥ 0,
// ab = 0, each row becomes one equation Φ_i = 0:
//     lower bound only    ψ(z − lo, w)                  upper bound only   −ψ(hi − z, −w)
//     both                ψ(z − lo, −ψ(hi − z, −w))     none               w
// Newton on Φ, with a non-monotone Armijo search on ½‖Φ‖², and a regularised step where the matrix
// is singular or the direction does not descend. Cost: one factorisation a step. Assumes nothing;
// converges for P₀ matrices, often beyond.
#include <algorithm>
#include <cmath>
#include <deque>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>
#include <fmt/format.h>

#include "urto/linalg/checked.h"
#include "urto/solver/complementarity_methods.h"

namespace urto::complementarity {
namespace {

struct Value {
  double value, da, db;
};

Value psi(double a, double b) {
  const double r = std::hypot(a, b);
  // At the kink any (1 − ξ, 1 − η) with ξ² + η² ≤ 1 will do.
  if (r == 0) return {0, 1 - std::sqrt(0.5), 1 - std::sqrt(0.5)};
  // a + b − r cancels where both are positive; this form does not.
  const double value = a > 0 && b > 0 ? 2 * a * b / (a + b + r) : a + b - r;
  return {value, 1 - a / r, 1 - b / r};
}

/// One row: Φ and its derivatives by z and by w.
Value equation(double z, double w, double lo, double hi) {
  const bool below = std::isfinite(lo), above = std::isfinite(hi);
  if (!below && !above) return {w, 0, 1};
  if (below && !above) return psi(z - lo, w);
  const Value upper = psi(hi - z, -w);
  if (!below) return {-upper.value, upper.da, upper.db};
  const Value both = psi(z - lo, -upper.value);
  return {both.value, both.da + both.db * upper.da, both.db * upper.db};
}

class Newton {
 public:
  Newton(const ComplementarityProblem& p) : p_(p), M_(p.M), q_(p.q) {
    // Rows may be scaled by any positive number; ψ likes z and w of like size.
    Vector scale = Vector::Zero(p.size());
    for (int c = 0; c < M_.cols(); ++c) {
      for (SparseMatrix::InnerIterator it(M_, c); it; ++it) {
        scale[it.row()] = std::max(scale[it.row()], std::abs(it.value()));
      }
    }
    scale = scale.unaryExpr([](double s) { return s > 0 ? 1 / s : 1; });
    M_ = scale.asDiagonal() * M_;
    q_ = q_.cwiseProduct(scale);
  }

  double evaluate(const Vector& z) {
    const Vector w = M_ * z + q_;
    const int n = p_.size();
    phi_.resize(n);
    dz_.resize(n);
    dw_.resize(n);
    for (int i = 0; i < n; ++i) {
      const Value v = equation(z[i], w[i], p_.lo[i], p_.hi[i]);
      phi_[i] = v.value;
      dz_[i] = v.da;
      dw_[i] = v.db;
    }
    return 0.5 * phi_.squaredNorm();
  }

  /// Direction at the last evaluated point, with its slope of the merit function.
  Vector direction(double& slope) {
    SparseMatrix A = dw_.asDiagonal() * M_;
    A += SparseMatrix(Vector(dz_).asDiagonal());
    const Vector gradient = A.transpose() * phi_;
    const double size = gradient.norm();
    Vector d;
    if (solve(A, d)) {
      slope = gradient.dot(d);
      if (slope < -1e-10 * size * d.norm()) return d;
    }
    // Levenberg–Marquardt: between Newton and the gradient; a descent direction for every weight >
    // 0.
    SparseMatrix normal = SparseMatrix(A.transpose()) * A;
    const double weight = std::max(1e-10, 1e-3 * std::min(1.0, phi_.norm())) *
                          std::max(1.0, normal.diagonal().maxCoeff());
    SparseMatrix identity(normal.rows(), normal.cols());
    identity.setIdentity();
    normal += weight * identity;
    d = -Checked<Eigen::SimplicialLDLT<SparseMatrix>>(normal).solve(gradient);
    slope = gradient.dot(d);
    if (!d.allFinite() || slope >= 0) {
      d = -gradient;
      slope = -size * size;
    }
    return d;
  }

 private:
  bool solve(const SparseMatrix& A, Vector& d) const {
    if (A.rows() <= 200) {
      const Eigen::PartialPivLU<Matrix> factor{Matrix(A)};
      d = factor.solve(-phi_);
    } else {
      d = Checked<Eigen::SparseLU<SparseMatrix>>(A).solve(-phi_);
    }
    return d.allFinite() && (A * d + phi_).norm() <= 1e-6 * phi_.norm();
  }

  const ComplementarityProblem& p_;
  SparseMatrix M_;
  Vector q_, phi_, dz_, dw_;
};

}  // namespace

Attempt newton(const ComplementarityProblem& p, const Vector& start, const Limits& limits) {
  constexpr int memory = 5;
  constexpr double armijo = 1e-4, shortest = 1e-12;
  Attempt attempt;
  attempt.z = start;
  attempt.status = Status::iteration_limit;
  Newton system(p);
  Vector z = start;
  double merit = system.evaluate(z);
  double best = natural_map_residual(p, z);
  std::deque<double> recent{merit};
  // Newton that needs hundreds of steps is not converging.
  const int steps = std::min(limits.max_iterations, 300);
  int at_floor = 0;
  for (int k = 0; k <= steps; ++k) {
    attempt.iterations = k;
    const double residual = natural_map_residual(p, clamp(p, z));
    if (residual < best) {
      best = residual;
      attempt.z = clamp(p, z);
    }
    if (best <= limits.tolerance) {
      attempt.status = Status::converged;
      return attempt;
    }
    if (k == steps) break;
    if (limits.out_of_time()) {
      attempt.status = Status::time_limit;
      return attempt;
    }
    double slope = 0;
    const Vector d = system.direction(slope);
    const double reference = *std::max_element(recent.begin(), recent.end());
    double t = 1;
    Vector trial = z + d;
    double next = system.evaluate(trial);
    while (!(next <= reference + armijo * t * slope) && t > shortest) {
      t *= 0.5;
      trial = z + t * d;
      next = system.evaluate(trial);
    }
    at_floor = t <= shortest ? at_floor + 1 : 0;
    if (!std::isfinite(next) || at_floor >= 2) {
      attempt.status = Status::stalled;
      attempt.message = fmt::format("no descent at a residual of {:.1e}", best);
      return attempt;
    }
    z = trial;
    merit = next;
    recent.push_back(merit);
    if (recent.size() > memory) recent.pop_front();
  }
  attempt.message = fmt::format("{} steps", steps);
  return attempt;
}

}  // namespace urto::complementarity
