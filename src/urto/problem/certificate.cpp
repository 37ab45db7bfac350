#include "urto/problem/certificate.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <Eigen/LU>
#include <Eigen/SparseLU>

namespace urto {
namespace {

using Block = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, max_block, 1>;

// λ − Π_K(λ − v), written so that an inactive constraint returns v or λ themselves: with heavy bodies ‖λ‖ is so large
// that forming λ − (λ − v) would lose v in rounding, and the certificate would blame the solver for it.
Block natural_map(const ConvexSet& set, const Block& lambda, const Block& v) {
  const Block z = lambda - v;
  switch (set.kind) {
    case SetKind::free:
      return v;
    case SetKind::nonnegative:
      return lambda.cwiseMin(v);
    case SetKind::box: {
      Block e(set.dim);
      for (int i = 0; i < set.dim; ++i) {
        e[i] = z[i] < set.lo ? lambda[i] - set.lo : z[i] > set.hi ? lambda[i] - set.hi : v[i];
      }
      return e;
    }
    case SetKind::cone: {
      const double t = z.tail(set.dim - 1).norm();
      if (z[0] >= 0 && t <= set.mu * z[0]) return v;
      if (z[0] + set.mu * t <= 0) return lambda;
      // The boundary ray nearest to z has direction (1, μ t̂).
      Block direction(set.dim);
      direction[0] = 1;
      direction.tail(set.dim - 1) = set.mu * z.tail(set.dim - 1) / t;
      return lambda - direction * (z.dot(direction) / direction.squaredNorm());
    }
    case SetKind::rolling_cone: {
      // Dykstra-free: the nearest point over the four choices of active bounds that are feasible for both.
      const double t = z.segment(1, 2).norm();
      const double m = z.segment(3, 2).norm();
      if (z[0] >= 0 && t <= set.mu * z[0] && m <= set.mu_rolling * z[0]) return v;
      Block best = Block::Zero(5);
      double best_distance = z.squaredNorm();
      for (int active = 1; active <= 3; ++active) {
        const double mu = (active & 1) != 0 ? set.mu : 0;
        const double mr = (active & 2) != 0 ? set.mu_rolling : 0;
        const double n = (z[0] + mu * t + mr * m) / (1 + mu * mu + mr * mr);
        const double slack = 1e-12 * std::max({std::abs(n), t, m});
        if (n < 0) continue;
        if ((active & 1) == 0 && t > set.mu * n + slack) continue;
        if ((active & 2) == 0 && m > set.mu_rolling * n + slack) continue;
        Block candidate = z;
        candidate[0] = n;
        if ((active & 1) != 0) candidate.segment(1, 2) *= t > 0 ? mu * n / t : 0;
        if ((active & 2) != 0) candidate.segment(3, 2) *= m > 0 ? mr * n / m : 0;
        const double d = (z - candidate).squaredNorm();
        if (d < best_distance) {
          best_distance = d;
          best = candidate;
        }
      }
      return lambda - best;
    }
  }
  return v;
}

// The distance of λ to K is the natural map with v = 0.
double distance_to(const ConvexSet& set, const Block& lambda) {
  return natural_map(set, lambda, Block::Zero(set.dim)).norm();
}

// σ_K(−û) of the blocks where it is finite and not zero: boxes. For cones the infeasibility shows in the natural map.
double box_support(const ConvexSet& set, const Block& minus_u) {
  if (set.kind != SetKind::box) return 0;
  double sum = 0;
  for (int i = 0; i < set.dim; ++i) {
    const double bound = minus_u[i] > 0 ? set.hi : set.lo;
    if (minus_u[i] != 0 && std::isfinite(bound)) sum += minus_u[i] * bound;
  }
  return sum;
}

// LU, not Cholesky: finite-element files have mass matrices that are not quite symmetric, and q must be the one of the matrix given.
Vector solve_mass(const StepProblem& p, const Vector& rhs) {
  if (const auto* blocks = std::get_if<BlockDiagonal>(&p.H)) {
    Vector x(rhs.size());
    for (int k = 0; k < blocks->blocks(); ++k) {
      const int first = blocks->start[k];
      x.segment(first, blocks->size(k)) =
          Matrix(blocks->block(k)).partialPivLu().solve(rhs.segment(first, blocks->size(k)));
    }
    return x;
  }
  return Eigen::SparseLU<SparseMatrix>(std::get<SparseMatrix>(p.H)).solve(rhs);
}

// ρ_i = d / tr(J_i B⁻¹ J_iᵀ + E_ii), B the block diagonal of H (its diagonal where H is sparse).
Vector block_scales(const StepProblem& p, const SparseMatrix& J) {
  Vector trace = p.E.diagonal();
  if (const auto* blocks = std::get_if<BlockDiagonal>(&p.H)) {
    BlockDiagonal inverse_blocks;
    for (int k = 0; k < blocks->blocks(); ++k) {
      inverse_blocks.push_back(Matrix(blocks->block(k)).inverse());
    }
    trace += SparseMatrix(J * to_sparse(inverse_blocks)).cwiseProduct(J) * Vector::Ones(J.cols());
  } else {
    trace += J.cwiseProduct(J) * std::get<SparseMatrix>(p.H).diagonal().cwiseInverse();
  }
  Vector scale(p.blocks());
  for (int i = 0; i < p.blocks(); ++i) {
    const double sum = trace.segment(p.K.start[i], p.K.sets[i].dim).sum();
    scale[i] = sum > 0 ? p.K.sets[i].dim / sum : 1;
  }
  return scale;
}

double relative(double value, double size) {
  return size > 0 ? value / size : value;
}

double worst(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
}

}  // namespace

double Certificate::residual() const {
  return worst(worst(momentum, natural_map), natural_map_scaled);
}

Certificate certify(const StepProblem& p, const Vector& x, const Vector& lambda,
                    Friction friction) {
  Certificate c;
  c.friction = friction;
  const SparseMatrix J = to_sparse(p.J);
  Vector Hx = Vector::Zero(p.dofs());
  if (p.dofs() > 0) multiply_mass(p, x, Hx);
  const Vector reaction = J.transpose() * lambda;
  c.momentum = relative((Hx - reaction - p.a).norm(), p.a.norm() + reaction.norm() + Hx.norm());

  const Vector Elambda = p.E * lambda;
  const Vector u = J * x + Elambda + p.b;
  Vector q = p.b;
  if (p.dofs() > 0) q += J * solve_mass(p, p.a);
  const Vector rho = block_scales(p, J);

  double sum = 0;
  double energy = 0;
  double energy_of_q = 0;
  double largest = -1;
  for (int i = 0; i < p.blocks(); ++i) {
    const ConvexSet& set = p.K.sets[i];
    const Block l = lambda.segment(p.K.start[i], set.dim);
    const Block ui = u.segment(p.K.start[i], set.dim);
    Block hat = ui;
    double sliding = 0;  // μ‖u_T‖ + μ_r‖u_R‖
    if (set.kind == SetKind::cone) sliding = set.mu * ui.tail(set.dim - 1).norm();
    if (set.kind == SetKind::rolling_cone) {
      sliding = set.mu * ui.segment(1, 2).norm() + set.mu_rolling * ui.segment(3, 2).norm();
    }
    if (friction == Friction::exact) hat[0] += sliding;

    sum += natural_map(set, l, hat).squaredNorm();
    const double share = natural_map(set, l, rho[i] * hat).squaredNorm() / rho[i];
    energy += share;
    energy_of_q += rho[i] * q.segment(p.K.start[i], set.dim).squaredNorm();
    if (!(share <= largest)) {
      largest = share;
      c.worst_block = i;
    }
    c.cone_violation = worst(c.cone_violation, distance_to(set, l));
    c.duality_gap += l.dot(hat) + box_support(set, -hat);
    switch (set.kind) {
      case SetKind::free:
        c.penetration = worst(c.penetration, ui.cwiseAbs().maxCoeff());
        break;
      case SetKind::nonnegative:
        c.penetration = worst(c.penetration, std::max(0.0, -ui.minCoeff()));
        c.complementarity = worst(c.complementarity, l.cwiseProduct(ui).cwiseAbs().maxCoeff());
        break;
      case SetKind::cone:
      case SetKind::rolling_cone:
        c.penetration = worst(c.penetration, std::max(0.0, -ui[0]));
        c.complementarity = worst(c.complementarity, std::abs(l.dot(hat)));
        c.dissipation =
            worst(c.dissipation, std::abs(l.tail(set.dim - 1).dot(ui.tail(set.dim - 1)) +
                                          std::max(0.0, l[0]) * sliding));
        break;
      case SetKind::box:
        break;
    }
  }
  c.natural_map_absolute = std::sqrt(sum);
  c.natural_map = relative(c.natural_map_absolute, q.norm());
  c.natural_map_scaled = relative(std::sqrt(energy), std::sqrt(energy_of_q));
  c.objective = (p.dofs() > 0 ? 0.5 * x.dot(Hx) - p.a.dot(x) : 0.0) + 0.5 * lambda.dot(Elambda);
  return c;
}

}  // namespace urto
