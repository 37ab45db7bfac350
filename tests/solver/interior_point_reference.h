// The interior point of recipe 001 §2.7–2.8 in dense algebra, written from the recipe; it shares no
// code with the solver. All unknowns of a Newton step stand in one unsymmetric matrix, which is
// factorised with full pivoting; Nesterov–Todd scalings come from the Jordan algebra's square
// roots, step lengths from bisection. For joints, unilateral rows and cones of friction; convex
// law.
//
//     H x − Jᵀl = c,    J x + E l + b = y,    l, y in Lorentz cones or ℝ₊; joints: y = 0, l free
//
// in the dimensionless variables of src/urto/solver/barrier_pairs.h.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include <Eigen/Cholesky>
#include <Eigen/LU>

#include "urto/problem/step_problem.h"
#include "urto/solver/interior_point_options.h"

namespace urto::reference {

struct Block {
  int start = 0, dim = 1;
  bool joint = false;
};

/// x = energy · x̂, λ_r = energy · scale_r λ̂_r, û_r = energy/scale_r ŷ_r.
struct Problem {
  Matrix H, J, E;
  Vector c, b, scale;
  std::vector<Block> blocks = {};  ///< a row of ℝ₊ is a block of its own
  double energy = 1;

  explicit Problem(const StepProblem& p) : H(sparse_mass(p)), J(to_sparse(p.J)), E(p.E), c(p.a) {
    b = p.b;
    const Matrix W = J * H.llt().solve(J.transpose()) + E;
    const Vector q = J * H.llt().solve(c) + b;
    scale.resize(p.rows());
    double squares = 0;
    for (int i = 0; i < p.blocks(); ++i) {
      const ConvexSet& set = p.K.sets[i];
      const int first = p.K.start[i];
      const double w = W.block(first, first, set.dim, set.dim).trace() / set.dim;
      squares += q.segment(first, set.dim).squaredNorm() / w;
      const bool cone = set.kind == SetKind::cone;
      for (int k = 0; k < set.dim; ++k) {
        scale[first + k] = (cone && k > 0 ? set.mu : 1) / std::sqrt(w);
        if (!cone || k == 0)
          blocks.push_back({first + k, cone ? set.dim : 1, set.kind == SetKind::free});
      }
    }
    energy = std::sqrt(squares / p.blocks());
    c /= energy;
    b = b.cwiseProduct(scale) / energy;
    J = scale.asDiagonal() * J;
    E = scale.asDiagonal() * E * scale.asDiagonal();
  }
  int dofs() const { return static_cast<int>(c.size()); }
  int rows() const { return static_cast<int>(b.size()); }
  int degree() const {
    int count = 0;
    for (const Block& k : blocks) count += k.joint ? 0 : 1;
    return count;
  }
};

// ---- Jordan algebra of one block

inline double margin(const Vector& u) {
  return u[0] - u.tail(u.size() - 1).norm();
}
inline Vector product(const Vector& u, const Vector& w) {
  Vector out = u[0] * w + w[0] * u;
  out[0] = u.dot(w);
  return out;
}
inline Vector unit(int dim) {
  return Vector::Unit(dim, 0);
}
/// u = η₁ c₁ + η₂ c₂ with idempotents c: f(η₁) c₁ + f(η₂) c₂.
template <class Function>
Vector spectral(const Vector& u, Function f) {
  const int d = static_cast<int>(u.size());
  if (d == 1) return Vector::Constant(1, f(u[0]));
  const double tail = u.tail(d - 1).norm();
  Vector direction = Vector::Zero(d);
  if (tail > 0)
    direction.tail(d - 1) = u.tail(d - 1) / tail;
  else
    direction[1] = 1;
  const double plus = f(u[0] + tail), minus = f(u[0] - tail);
  Vector out = 0.5 * (plus - minus) * direction;
  out[0] = 0.5 * (plus + minus);
  return out;
}
/// P(u) = 2 u uᵀ − det(u) diag(1, −I); u² on ℝ₊.
inline Matrix quadratic(const Vector& u) {
  const int d = static_cast<int>(u.size());
  if (d == 1) return Matrix::Constant(1, 1, u[0] * u[0]);
  Matrix J = -Matrix::Identity(d, d);
  J(0, 0) = 1;
  const double determinant = u[0] * u[0] - u.tail(d - 1).squaredNorm();
  return 2 * u * u.transpose() - determinant * J;
}
/// The symmetric W with W l = W⁻¹ y: W² = P(w), w = P(y^½)(P(y^½) l)^(−½).
inline Matrix scaling(const Vector& y, const Vector& l) {
  const Matrix root = quadratic(spectral(y, [](double e) { return std::sqrt(e); }));
  const Vector inner = root * l;
  const Vector w = root * spectral(inner, [](double e) { return 1 / std::sqrt(e); });
  return quadratic(spectral(w, [](double e) { return std::sqrt(e); }));
}
/// sup {α : u + α du inside}, by doubling and halving.
inline double longest(const Vector& u, const Vector& du) {
  double inside = 0, outside = 1;
  while (margin(u + outside * du) > 0) {
    inside = outside;
    outside *= 2;
    if (outside > 1e30) return std::numeric_limits<double>::infinity();
  }
  for (int k = 0; k < 200; ++k) {
    const double middle = 0.5 * (inside + outside);
    (margin(u + middle * du) > 0 ? inside : outside) = middle;
  }
  return inside;
}

// ---- One iteration

struct Point {
  Vector x, l, y;
};

struct Step {
  double predictor = 0, predictor_mu = 0, sigma = 0, eta = 0, primal = 0, dual = 0;
  Point direction;
};

class Method {
 public:
  Method(const Problem& problem, const InteriorPointOptions& options)
      : p(problem), options_(options) {}

  const Problem p;
  Point at;

  double mu() const { return at.l.dot(at.y) / p.degree(); }
  Vector dual_residual() const { return p.H * at.x - p.J.transpose() * at.l - p.c; }
  Vector primal_residual() const { return p.J * at.x + p.E * at.l + p.b - at.y; }

  /// Recipe 001 §2.7.6: the source's start A; ones in units of e/√H_jj.
  void start_from_ones() {
    at = {p.H.diagonal().cwiseSqrt().cwiseInverse(), Vector::Ones(p.rows()),
          Vector::Zero(p.rows())};
    for (const Block& k : p.blocks) {
      if (k.joint) continue;
      at.l.segment(k.start, k.dim) = at.y.segment(k.start, k.dim) = unit(k.dim);
    }
    const Point d = newton(1, [&](const Block& k) { return scaled(k, at.l); });
    for (const Block& k : p.blocks) {
      if (k.joint) continue;
      for (int r = k.start; r < k.start + k.dim; ++r) {
        at.l[r] = std::max(1.0, std::abs(at.l[r] + d.l[r]));
        at.y[r] = std::max(1.0, std::abs(at.y[r] + d.y[r]));
      }
    }
  }

  /// Recipe 001 §2.8.6: start B.
  void start_from_least_squares() {
    const int n = p.dofs(), m = p.rows();
    Matrix A = Matrix::Zero(n + m, n + m);
    A.topLeftCorner(n, n) = p.H;
    A.topRightCorner(n, m) = -p.J.transpose();
    A.bottomLeftCorner(m, n) = p.J;
    A.bottomRightCorner(m, m) = p.E;
    for (const Block& k : p.blocks) {
      for (int r = k.start; r < k.start + k.dim; ++r) A(n + r, n + r) += k.joint ? 0 : 1;
    }
    Vector rhs(n + m);
    rhs << p.c, -p.b;
    const Vector solution = A.fullPivLu().solve(rhs);
    at = {solution.head(n), solution.tail(m), Vector::Zero(m)};
    double shift_l = -1e300, shift_y = -1e300;
    for (const Block& k : p.blocks) {
      if (k.joint) continue;
      at.y.segment(k.start, k.dim) = -at.l.segment(k.start, k.dim);
      shift_l = std::max(shift_l, -margin(at.l.segment(k.start, k.dim)));
      shift_y = std::max(shift_y, -margin(at.y.segment(k.start, k.dim)));
    }
    for (const Block& k : p.blocks) {
      if (k.joint) continue;
      if (shift_l >= -1e-8) at.l[k.start] += 1 + shift_l;
      if (shift_y >= -1e-8) at.y[k.start] += 1 + shift_y;
    }
  }

  Step next() const {
    Step s;
    const double before = mu();
    // z ∘ (W Δl + W⁻¹ Δy) = −z ∘ z: Newton on the complementarity alone.
    const Point predictor = newton(1, [&](const Block& k) { return scaled(k, at.l); });
    Step affine = lengths(predictor);
    affine.primal = std::min(1.0, affine.primal);
    affine.dual = std::min(1.0, affine.dual);
    equalise(affine);
    s.predictor = std::min(affine.primal, affine.dual);
    s.predictor_mu =
        (at.l + affine.dual * predictor.l).dot(at.y + affine.primal * predictor.y) / p.degree();
    s.direction = predictor;
    if (!options_.predictor_only) {
      s.sigma = std::pow(std::clamp(s.predictor_mu / before, 0.0, 1.0), 3);
      const double keep = options_.damp_residuals ? 1 - s.sigma : 1;
      s.direction = newton(keep, [&](const Block& k) {
        const Vector z = scaled(k, at.l);
        const Vector second = product(scaled_velocity(k, predictor.y), scaled(k, predictor.l));
        const Vector wanted = product(z, z) - s.sigma * before * unit(k.dim) + second;
        return divided(z, wanted);
      });
    }
    Step found = lengths(s.direction);
    const double adaptive = 0.9 + 0.1 * std::exp(-before * p.degree());
    s.eta = options_.fixed_eta > 0 ? options_.fixed_eta : std::min(adaptive, cap());
    const auto shorten = [&](double length) {
      return options_.shorten_full_steps ? s.eta * std::min(1.0, length)
                                         : std::min(1.0, s.eta * length);
    };
    found.primal = shorten(found.primal);
    found.dual = shorten(found.dual);
    equalise(found);
    s.primal = found.primal;
    s.dual = found.dual;
    return s;
  }

  void take(const Step& s) {
    at.x += s.primal * s.direction.x;
    at.y += s.primal * s.direction.y;
    at.l += s.dual * s.direction.l;
  }

 private:
  bool has_cones() const {
    for (const Block& k : p.blocks) {
      if (k.dim > 1) return true;
    }
    return false;
  }
  double cap() const { return has_cones() ? 0.99 : 0.9999; }  // docs/solvers/ipm.md
  Matrix scaling_of(const Block& k) const {
    return scaling(at.y.segment(k.start, k.dim), at.l.segment(k.start, k.dim));
  }
  Vector scaled(const Block& k, const Vector& l) const {
    return scaling_of(k) * l.segment(k.start, k.dim);
  }
  Vector scaled_velocity(const Block& k, const Vector& y) const {
    return scaling_of(k).fullPivLu().solve(y.segment(k.start, k.dim));
  }
  /// The x with z ∘ x = w, by its matrix.
  static Vector divided(const Vector& z, const Vector& w) {
    Matrix arrow = z[0] * Matrix::Identity(z.size(), z.size());
    arrow.row(0) = z.transpose();
    arrow.col(0) = z;
    return arrow.fullPivLu().solve(w);
  }

  // H Δx − JᵀΔl = −keep r_d,  J Δx + E Δl − Δy = −keep r_p,  W Δl + W⁻¹ Δy = −target
  template <class Target>
  Point newton(double keep, Target target) const {
    const int n = p.dofs(), m = p.rows();
    Matrix A = Matrix::Zero(n + 2 * m, n + 2 * m);
    Vector rhs = Vector::Zero(n + 2 * m);
    A.topLeftCorner(n, n) = p.H;
    A.block(0, n, n, m) = -p.J.transpose();
    A.block(n, 0, m, n) = p.J;
    A.block(n, n, m, m) = p.E;
    A.block(n, n + m, m, m) = -Matrix::Identity(m, m);
    rhs.head(n) = -keep * dual_residual();
    rhs.segment(n, m) = -keep * primal_residual();
    for (const Block& k : p.blocks) {
      const int row = n + m + k.start;
      if (k.joint) {
        A(row, row) = 1;
        continue;
      }
      const Matrix W = scaling_of(k);
      A.block(row, n + k.start, k.dim, k.dim) = W;
      A.block(row, row, k.dim, k.dim) = W.fullPivLu().inverse();
      rhs.segment(row, k.dim) = -target(k);
    }
    const Vector d = A.fullPivLu().solve(rhs);
    return {d.head(n), d.segment(n, m), d.tail(m)};
  }

  Step lengths(const Point& d) const {
    Step s;
    s.primal = s.dual = std::numeric_limits<double>::infinity();
    for (const Block& k : p.blocks) {
      if (k.joint) continue;
      s.primal =
          std::min(s.primal, longest(at.y.segment(k.start, k.dim), d.y.segment(k.start, k.dim)));
      s.dual = std::min(s.dual, longest(at.l.segment(k.start, k.dim), d.l.segment(k.start, k.dim)));
    }
    return s;
  }
  void equalise(Step& s) const {
    if (options_.steps != InteriorPointOptions::Steps::common) return;
    s.primal = s.dual = std::min(s.primal, s.dual);
  }

  InteriorPointOptions options_;
};

}  // namespace urto::reference
