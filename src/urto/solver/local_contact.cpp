#include "urto/solver/local_contact.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/LU>

#include "urto/linalg/checked.h"

namespace urto {
namespace {

using Small = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, max_block, 1>;
using SmallMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_block, max_block>;
using Mat2 = Eigen::Matrix2d;
using Vec2 = Eigen::Vector2d;

Small velocity(const Eigen::Ref<const Matrix>& M, const double* q, const double* r, int d) {
  // lazyProduct: evaluated in place, without a heap temporary.
  return M.lazyProduct(Eigen::Map<const Vector>(r, d)) + Eigen::Map<const Vector>(q, d);
}

// Take-off and stick need no search. Returns true and r if one of them is the solution.
bool solve_without_slip(const ConvexSet& set, const Eigen::Ref<const Matrix>& M, const double* q,
                        double* r) {
  const int d = set.dim;
  if (q[0] >= 0) {
    std::fill_n(r, d, 0.0);
    return true;
  }
  const Small stick =
      -Checked<Eigen::LLT<SmallMatrix>>(M).solve(Small(Eigen::Map<const Vector>(q, d)));
  if (stick[0] >= 0 && stick.tail(d - 1).norm() <= set.mu * stick[0]) {
    Eigen::Map<Vector>(r, d) = stick;
    return true;
  }
  return false;
}

// Sliding in 2D: r_T = ±μ r_N against the velocity, u_N = 0.
bool solve_slip_2d(double mu, const Eigen::Ref<const Matrix>& M, const double* q, double* r) {
  for (const double sign : {1.0, -1.0}) {
    const double stiffness = M(0, 0) + sign * mu * M(0, 1);
    if (stiffness <= 0) continue;
    const double n = -q[0] / stiffness;
    const double slip = M(1, 0) * n + sign * M(1, 1) * mu * n + q[1];
    if (n >= 0 && slip * sign <= 0) {
      r[0] = n;
      r[1] = sign * mu * n;
      return true;
    }
  }
  return false;
}

// Roots θ of A cos² + B sin² + C sin cos + D sin + E cos = 0 by t = tan(θ/2) (recipe 003 §5.15,
// step 5), each polished by Newton on the trigonometric form, which is well conditioned where t is
// not. t = ∞ (θ = π) is reached through 1/t.
struct TrigQuartic {
  double A, B, C, D, E;
  double value(double c, double s) const {
    return A * c * c + B * s * s + C * s * c + D * s + E * c;
  }
  double slope(double c, double s) const {
    return 2 * (B - A) * s * c + C * (c * c - s * s) + D * c - E * s;
  }
  int roots(std::array<double, 4>& theta) const {
    std::array<double, 5> p{A + E, 2 * C + 2 * D, 4 * B - 2 * A, 2 * D - 2 * C, A - E};
    const bool reversed = std::abs(p[4]) < std::abs(p[0]);
    if (reversed) std::reverse(p.begin(), p.end());
    const double size =
        std::max({std::abs(p[0]), std::abs(p[1]), std::abs(p[2]), std::abs(p[3]), std::abs(p[4])});
    int degree = 4;
    while (degree > 0 && std::abs(p[degree]) <= 1e-15 * size) --degree;
    int count = 0;
    const auto keep = [&](double t) {
      double angle = 2 * std::atan(t);
      if (reversed) angle = M_PI - angle;
      for (int k = 0; k < 8; ++k) {
        const double s = std::sin(angle);
        const double c = std::cos(angle);
        const double g = slope(c, s);
        if (g == 0) break;
        const double step = value(c, s) / g;
        if (!(std::abs(step) < 0.3)) break;
        angle -= step;
        if (std::abs(step) < 1e-16) break;
      }
      theta[count++] = angle;
    };
    if (degree < 4 && reversed) keep(0);  // the lost root is 1/t = 0 seen from the other side
    if (degree == 0) return count;
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 4, 4> companion =
        Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, 4, 4>::Zero(degree, degree);
    for (int i = 0; i < degree; ++i) {
      companion(i, degree - 1) = -p[i] / p[degree];
      if (i > 0) companion(i, i - 1) = 1;
    }
    const Checked<Eigen::EigenSolver<decltype(companion)>> eigen(companion, false);
    if (!eigen.ok()) return count;
    for (int i = 0; i < degree && count < 4; ++i) {
      const std::complex<double> root = eigen->eigenvalues()[i];
      // A double root splits into a conjugate pair by rounding: √ε apart.
      if (std::abs(root.imag()) <= 1e-6 * (1 + std::abs(root.real()))) keep(root.real());
    }
    return count;
  }
};

bool solve_slip_3d(double mu, const Eigen::Ref<const Matrix>& M, const double* q, double* r) {
  const double e = mu * std::hypot(M(0, 1), M(0, 2)) / M(0, 0);
  const double p = -mu * q[0] / M(0, 0);
  const Checked<Eigen::SelfAdjointEigenSolver<Mat2>> eigen(Mat2(M.block<2, 2>(1, 1)));
  if (!eigen.ok()) return false;
  const Mat2 V = eigen->eigenvectors().transpose();
  const Vec2& d = eigen->eigenvalues();
  const Vec2 m1 = V * Vec2(M(1, 0), M(2, 0));
  const Vec2 qb = V * Vec2(q[1], q[2]);
  const Vec2 a = -m1 / mu;
  const double phi = std::atan2(m1[1], m1[0]);
  const TrigQuartic quartic{
      .A = -e * qb[1] * std::cos(phi),
      .B = e * qb[0] * std::sin(phi),
      .C = (d[0] - d[1]) * p + e * (qb[0] * std::cos(phi) - qb[1] * std::sin(phi)),
      .D = qb[0] - p * a[0],
      .E = -qb[1] + p * a[1]};
  std::array<double, 4> theta{};
  const int count = quartic.roots(theta);
  const double size = d.cwiseAbs().maxCoeff();
  bool found = false;
  double best = -1e-9 * size;  // a hair below zero: α = 0 is the edge of sticking
  for (int k = 0; k < count; ++k) {
    const Vec2 direction(std::cos(theta[k]), std::sin(theta[k]));
    const double denominator = 1 + e * std::cos(theta[k] - phi);
    if (denominator <= 0) continue;
    const double radius = p / denominator;
    if (!(radius > 0)) continue;
    const Vec2 rt = radius * direction;
    const int i = std::abs(rt[0]) > std::abs(rt[1]) ? 0 : 1;
    const double alpha = (-qb[i] + a[i] * radius) / rt[i] - d[i];
    if (alpha < best) continue;
    best = alpha;
    found = true;
    const Vec2 t = V.transpose() * rt;
    r[0] = radius / mu;
    r[1] = t[0];
    r[2] = t[1];
  }
  return found;
}

struct NewtonSystem {
  Small F;
  SmallMatrix jacobian;
};

// Steps of Alart and Curnier's function: of the normal row and of each part. Moments and forces
// have scales of their own.
struct Steps {
  double normal = 0;
  std::array<double, 3> part = {};
};

Steps steps_of(const ConeParts& parts, const SmallMatrix& M) {
  Steps rho{.normal = 1 / M(0, 0)};
  for (int k = 0; k < parts.size; ++k) {
    const auto& p = parts.part[k];
    const double trace = M.diagonal().segment(p.first, p.count).sum();
    rho.part[k] = p.count / std::max(trace, 1e-300);
  }
  return rho;
}

// Alart–Curnier's function and one element of its generalised Jacobian with respect to r (recipe
// 003 §5.16, U eliminated). A rolling cone's law is that of each of its parts, bounded by the one
// normal impulse: De Saxcé's term splits into a sum.
NewtonSystem alart_curnier(const ConvexSet& set, const ConeParts& parts, const SmallMatrix& M,
                           const double* q, const Small& r, const Steps& rho) {
  const int d = set.dim;
  const Small u = M * r + Eigen::Map<const Vector>(q, d);
  const double s = r[0] - rho.normal * u[0];
  NewtonSystem system{Small(d), SmallMatrix::Zero(d, d)};
  if (s >= 0) {
    system.F[0] = rho.normal * u[0];
    system.jacobian.row(0) = rho.normal * M.row(0);
  } else {
    system.F[0] = r[0];
    system.jacobian(0, 0) = 1;
  }
  for (int k = 0; k < parts.size; ++k) {
    const auto& [first, t, bound] = parts.part[k];
    const double step = rho.part[k];
    const Small z = r.segment(first, t) - step * u.segment(first, t);
    const double radius = bound * std::max(0.0, s);
    const double length = z.norm();
    if (length <= radius && radius > 0) {
      system.F.segment(first, t) = step * u.segment(first, t);
      system.jacobian.middleRows(first, t) = step * M.middleRows(first, t);
      continue;
    }
    system.F.segment(first, t) = r.segment(first, t);
    system.jacobian.block(first, first, t, t).setIdentity();
    if (radius <= 0) continue;
    const Small direction = z / length;
    system.F.segment(first, t) -= radius * direction;
    const SmallMatrix gamma =
        (SmallMatrix::Identity(t, t) - direction * direction.transpose()) / length;
    // ∂F_T/∂(s, z) with ∂s/∂r = e_N − ρ_N M_N and ∂z/∂r = e_T − ρ_T M_T.
    system.jacobian.block(first, first, t, t) -= radius * gamma;
    system.jacobian.middleRows(first, t) += radius * step * gamma * M.middleRows(first, t);
    system.jacobian.block(first, 0, t, 1) -= bound * direction;
    system.jacobian.middleRows(first, t) += bound * rho.normal * direction * M.row(0);
  }
  return system;
}

// r − Π(r − ρ(M r + q)) and its generalised Jacobian: the convex law.
NewtonSystem natural_map(const ConvexSet& set, const SmallMatrix& M, const double* q,
                         const Small& r, double rho) {
  const int d = set.dim;
  const Small z = r - rho * (M * r + Eigen::Map<const Vector>(q, d));
  Small p(d);
  project(set, z.data(), p.data());
  std::array<double, std::size_t{max_block} * max_block> factor{};
  const int rank = projection_derivative(set, z.data(), factor.data());
  const Eigen::Map<const Matrix> C(factor.data(), d, rank);
  const SmallMatrix D = C * C.transpose();
  return {r - p, SmallMatrix::Identity(d, d) - D * (SmallMatrix::Identity(d, d) - rho * M)};
}

}  // namespace

double local_residual(const ConvexSet& set, const Eigen::Ref<const Matrix>& M, const double* q,
                      const double* r, Friction friction) {
  const int d = set.dim;
  Small u = velocity(M, q, r, d);
  if (friction == Friction::exact) u[0] += de_saxce(set, u.data());
  const double m = std::max(M.trace() / d, 1e-300);
  Small z = Eigen::Map<const Vector>(r, d) - u / m;
  project(set, z.data(), z.data());
  return (Eigen::Map<const Vector>(r, d) - z).norm() * m;
}

LocalResult solve_local_projection(const ConvexSet& set, const Eigen::Ref<const Matrix>& M,
                                   const double* q, double* r, Friction friction, double tolerance,
                                   int max_iterations) {
  const int d = set.dim;
  const double m = std::max(M.trace() / d, 1e-300);
  double rho = 1 / m;
  const auto modified = [&](const double* at) {
    Small u = velocity(M, q, at, d);
    if (friction == Friction::exact) u[0] += de_saxce(set, u.data());
    return u;
  };
  Small current = Eigen::Map<const Vector>(r, d);
  Small u = modified(current.data());
  LocalResult result;
  for (result.iterations = 0; result.iterations < max_iterations; ++result.iterations) {
    Small next(d);
    Small u_next(d);
    // Shrink ρ until the map is a contraction along this step: ρ‖Δû‖ < 0.9‖Δr‖ (Khobotov's rule).
    for (int trial = 0; trial < 60; ++trial) {
      Small z = current - rho * u;
      project(set, z.data(), next.data());
      u_next = modified(next.data());
      const double step = (next - current).norm();
      if (rho * (u_next - u).norm() <= 0.9 * step) break;
      rho *= 2.0 / 3.0;
    }
    const double change = (next - current).norm();
    const bool slow = rho * (u_next - u).norm() < 0.3 * change;
    current = next;
    u = u_next;
    if (change / rho <= tolerance) {
      result.solved = true;
      break;
    }
    if (slow) rho *= 1.5;
  }
  Eigen::Map<Vector>(r, d) = current;
  return result;
}

LocalResult solve_local_quartic(const ConvexSet& set, const Eigen::Ref<const Matrix>& M,
                                const double* q, double* r) {
  assert(set.kind == SetKind::cone && (set.dim == 2 || set.dim == 3));
  if (solve_without_slip(set, M, q, r)) return {true, 0};
  if (set.mu == 0) {
    std::fill_n(r, set.dim, 0.0);
    r[0] = -q[0] / M(0, 0);
    return {true, 0};
  }
  const bool found = set.dim == 2 ? solve_slip_2d(set.mu, M, q, r) : solve_slip_3d(set.mu, M, q, r);
  return {found, 1};
}

namespace {

// Newton with a line search on Alart–Curnier's function (exact law) or the natural map (convex
// law). `current` moves to the best point.
LocalResult newton(const ConvexSet& set, const SmallMatrix& M, const double* q, Small& current,
                   Friction friction, double tolerance) {
  const ConeParts parts = cone_parts(set);
  const Steps steps = steps_of(parts, M);
  const double rho = set.dim / M.trace();
  const auto system_at = [&](const Small& at) {
    return friction == Friction::exact ? alart_curnier(set, parts, M, q, at, steps)
                                       : natural_map(set, M, q, at, rho);
  };
  NewtonSystem system = system_at(current);
  const double goal = tolerance * rho;  // F is an impulse, the tolerance a velocity
  constexpr int newton_limit = 25;
  LocalResult result;
  for (; result.iterations < newton_limit && system.F.norm() > goal; ++result.iterations) {
    const Small step = -Eigen::FullPivLU<SmallMatrix>(system.jacobian).solve(system.F);
    if (!step.allFinite()) break;
    double t = 1;
    NewtonSystem next = system_at(current + step);
    for (int k = 0; k < 8 && !(next.F.norm() < (1 - 1e-4 * t) * system.F.norm()); ++k) {
      t *= 0.5;
      next = system_at(current + t * step);
    }
    if (!(next.F.norm() < system.F.norm())) break;
    current += t * step;
    system = next;
  }
  result.solved = system.F.norm() <= goal;
  return result;
}

// A rolling cone in units of its own, in which every part of M has the mean diagonal 1: forces and
// moments differ by the square of a length, which a common step cannot serve. r = S r̄ turns M into
// S M S and the bounds μ_k into μ_k s_N/s_k.
struct UnitFree {
  ConvexSet set;
  SmallMatrix M;
  Small q, scale;
};

UnitFree unit_free(const ConvexSet& set, const Eigen::Ref<const Matrix>& M, const double* q) {
  const int d = set.dim;
  UnitFree out{.set = set, .M = M, .q = Small(d), .scale = Small(d)};
  const auto scale_of = [&](int first, int count) {
    const double mean = M.diagonal().segment(first, count).sum() / count;
    const double s = mean > 0 ? 1 / std::sqrt(mean) : 1;
    out.scale.segment(first, count).setConstant(s);
    return s;
  };
  const double normal = scale_of(0, 1);
  out.set.mu *= normal / scale_of(1, 2);
  if (d != 4) out.set.mu_rolling *= normal / scale_of(3, 2);
  if (d != 5) out.set.mu_spinning *= normal / scale_of(d - 1, 1);
  for (int c = 0; c < d; ++c) {
    out.q[c] = out.scale[c] * q[c];
    for (int r = 0; r < d; ++r) out.M(r, c) *= out.scale[r] * out.scale[c];
  }
  return out;
}

// Newton; where it fails, the projection brings it near enough to try again.
LocalResult solve_rolling(const ConvexSet& given, const Eigen::Ref<const Matrix>& M,
                          const double* q, double* r, Friction friction, double tolerance) {
  constexpr int rounds = 4, projections = 100;
  const UnitFree p = unit_free(given, M, q);
  // The tolerance is a velocity of the rows as given: u = S⁻¹ ū.
  const double goal = tolerance * p.scale.minCoeff();
  Small current = Eigen::Map<const Vector>(r, given.dim).cwiseQuotient(p.scale);
  LocalResult result;
  for (int round = 0; round < rounds && !result.solved; ++round) {
    Small trial = current;
    const LocalResult attempt = newton(p.set, p.M, p.q.data(), trial, friction, goal);
    result.iterations += attempt.iterations;
    result.solved = attempt.solved;
    if (attempt.solved) {
      project(p.set, trial.data(), current.data());
      break;
    }
    const LocalResult fixed_point =
        solve_local_projection(p.set, p.M, p.q.data(), current.data(), friction, goal, projections);
    result.iterations += fixed_point.iterations;
    result.solved = fixed_point.solved;
  }
  Eigen::Map<Vector>(r, given.dim) = current.cwiseProduct(p.scale);
  return result;
}

}  // namespace

LocalResult solve_local_newton(const ConvexSet& set, const Eigen::Ref<const Matrix>& M,
                               const double* q, double* r, Friction friction, double tolerance) {
  const int d = set.dim;
  const bool exact = friction == Friction::exact;
  if (q[0] >= (exact ? 0 : de_saxce(set, q))) {
    std::fill_n(r, d, 0.0);
    return {true, 0};
  }
  if (set.kind == SetKind::rolling_cone) return solve_rolling(set, M, q, r, friction, tolerance);
  Small current = Eigen::Map<const Vector>(r, d);
  const LocalResult result = newton(set, M, q, current, friction, tolerance);
  if (result.solved) {
    // Alart–Curnier's zero satisfies the law but for rounding; end inside the cone.
    project(set, current.data(), r);
    return result;
  }
  const Small start = Eigen::Map<const Vector>(r, d);
  if (exact) {
    const LocalResult quartic = solve_local_quartic(set, M, q, r);
    if (quartic.solved && local_residual(set, M, q, r, friction) <= 1e3 * tolerance) {
      return {true, result.iterations + 1};
    }
    Eigen::Map<Vector>(r, d) = start;
  }
  const LocalResult fallback = solve_local_projection(set, M, q, r, friction, tolerance, 200);
  return {fallback.solved, result.iterations + fallback.iterations};
}

}  // namespace urto
