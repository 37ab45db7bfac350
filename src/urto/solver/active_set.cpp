#include "urto/solver/active_set.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace urto {
namespace {

// δ relative to a row's own J H⁻¹ Jᵀ. Redundant contacts contradict each other by the rounding of their gaps, and every correction adds that rounding, divided by δ, to forces that move nothing: δ must be
// large against it, and corrections end as soon as they do for the tolerance. What δ holds back of the rest, the next correction brings.
constexpr double regularisation = 1e-7;
constexpr int corrections = 8;
// A contact at the edge of its cone whose slip is this small a part of its force (through ρ) is held first.
constexpr double hardly_slips = 1e-3;

double tangential_norm(const double* v, int dim) {
  double sum = 0;
  for (int k = 1; k < dim; ++k) sum += v[k] * v[k];
  return std::sqrt(sum);
}

}  // namespace

bool ActiveSet::guess(const StepProblem& p, const Island& island, Friction friction,
                      const Vector& x, const Vector& lambda) {
  const BlockRows& J = p.J;
  role_.resize(island.blocks.size());
  for (std::size_t k = 0; k < island.blocks.size(); ++k) {
    const int i = island.blocks[k];
    const ConvexSet& set = p.K.sets[i];
    const int first = J.row_start[i];
    const double* force = lambda.data() + first;
    std::array<double, max_block> u{};
    for (int r = 0; r < set.dim; ++r)
      u[r] = p.b[first + r] + island.compliance[first + r] * force[r];
    multiply_add_block(J, i, x.data(), u.data());
    const double rho = island.rho[i];
    if (set.kind == SetKind::free) {
      role_[k] = Role::held;
    } else if (set.kind == SetKind::nonnegative && set.dim == 1) {
      role_[k] = force[0] - rho * u[0] > 0 ? Role::held : Role::apart;
    } else if (set.kind == SetKind::cone) {
      const double normal = force[0] - rho * u[0];
      std::array<double, max_block> z{};
      for (int r = 1; r < set.dim; ++r) z[r] = force[r] - rho * u[r];
      const double slip = rho * tangential_norm(u.data(), set.dim);
      if (!(normal > 0)) {
        role_[k] = Role::apart;
      } else if (tangential_norm(z.data(), set.dim) <= set.mu * normal ||
                 slip <= hardly_slips * set.mu * normal) {
        role_[k] = Role::held;
      } else if (friction == Friction::exact) {
        role_[k] = Role::sliding;
      } else {
        return false;  // the convex law lifts sliding contacts: no equality along the normal
      }
    } else {
      return false;
    }
  }
  return true;
}

void ActiveSet::analyse(const StepProblem& p, const Island& island) {
  const BlockRows& J = p.J;
  node_index_.assign(island.H->blocks(), -1);
  sizes_.clear();
  sign_.clear();
  edges_.clear();
  row_blocks_.clear();
  for (const int n : island.nodes) {
    node_index_[n] = static_cast<int>(sizes_.size());
    sizes_.push_back(island.H->size(n));
    sign_.push_back(1);
  }
  for (std::size_t k = 0; k < island.blocks.size(); ++k) {
    if (role_[k] == Role::apart) continue;
    const int i = island.blocks[k];
    row_blocks_.push_back(static_cast<int>(k));
    const int node = static_cast<int>(sizes_.size());
    sizes_.push_back(role_[k] == Role::sliding ? 1 : J.height(i));
    sign_.push_back(-1);
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e)
      edges_.emplace_back(node, node_index_[island.node_of_dof[J.entries[e].column]]);
  }
  pattern_.assign(sizes_.begin(), sizes_.end());
  for (const auto& [a, b] : edges_) {
    pattern_.push_back(a);
    pattern_.push_back(b);
  }
  if (pattern_ == last_pattern_) return;
  last_pattern_ = pattern_;
  factor_.analyse(sizes_, edges_);
  rhs_.resize(factor_.rows());
}

void ActiveSet::fill(const StepProblem& p, const Island& island) {
  const BlockRows& J = p.J;
  const int bodies = static_cast<int>(island.nodes.size());
  factor_.clear();
  for (int n = 0; n < bodies; ++n) {
    const auto block = island.H->block(island.nodes[n]);
    std::copy(block.data(), block.data() + block.size(), factor_.diagonal(n));
  }
  int e = 0;
  for (std::size_t r = 0; r < row_blocks_.size(); ++r) {
    const int node = bodies + static_cast<int>(r);
    const int i = island.blocks[row_blocks_[r]];
    const int height = sizes_[node];
    std::array<double, max_block> own{};  // about the diagonal of J H⁻¹ Jᵀ
    for (int k = J.entry_start[i]; k < J.entry_start[i + 1]; ++k, ++e) {
      const BlockRows::Entry& entry = J.entries[k];
      const double* values = J.values.data() + entry.offset;
      const bool as_given = factor_.edge_order(e).first == node;
      double* out = factor_.edge(e);
      const auto H = island.H->block(island.node_of_dof[entry.column]);
      for (int a = 0; a < height; ++a) {
        for (int c = 0; c < entry.width; ++c) {
          const double v = values[a * entry.width + c];
          out[as_given ? c * height + a : a * entry.width + c] += v;
          own[a] += v * v / H(c, c);
        }
      }
    }
    double* D = factor_.diagonal(node);
    for (int a = 0; a < height; ++a) {
      D[a * height + a] =
          -island.compliance[J.row_start[i] + a] - regularisation * (own[a] > 0 ? own[a] : 1);
    }
  }
}

// Of the equations that are active, left in rhs_ as the right-hand side of a correction; relative to the data.
double ActiveSet::residual(const StepProblem& p, const Island& island, const Vector& x,
                           const Vector& lambda) {
  const BlockRows& J = p.J;
  const int bodies = static_cast<int>(island.nodes.size());
  double size = 0, flow = 0;
  for (int n = 0; n < bodies; ++n) {
    const int k = island.nodes[n], first = island.H->start[k], dofs = island.H->size(k);
    auto r = rhs_.segment(factor_.row(n), dofs);
    r = p.a.segment(first, dofs);
    size += r.squaredNorm();
    for (int d = 0; d < dofs; ++d) {
      const double speed = p.a[first + d] / island.H->block(k)(d, d);
      flow += speed * speed;
    }
    r.noalias() -= island.H->block(k).lazyProduct(x.segment(first, dofs));
  }
  for (std::size_t k = 0; k < island.blocks.size(); ++k) {
    const int i = island.blocks[k];
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = J.entries[e];
      double* at = rhs_.data() + factor_.row(node_index_[island.node_of_dof[entry.column]]);
      for (int a = 0; a < J.height(i); ++a) {
        const double* row = J.values.data() + entry.offset + a * entry.width;
        for (int c = 0; c < entry.width; ++c) at[c] += row[c] * lambda[J.row_start[i] + a];
      }
    }
  }
  double violation = 0;
  for (std::size_t r = 0; r < row_blocks_.size(); ++r) {
    const int node = bodies + static_cast<int>(r);
    const int i = island.blocks[row_blocks_[r]];
    const int first = J.row_start[i];
    std::array<double, max_block> u{};
    for (int a = 0; a < J.height(i); ++a)
      u[a] = p.b[first + a] + island.compliance[first + a] * lambda[first + a];
    multiply_add_block(J, i, x.data(), u.data());
    for (int a = 0; a < sizes_[node]; ++a) {
      rhs_[factor_.row(node) + a] = -u[a];
      violation += u[a] * u[a];
      flow += p.b[first + a] * p.b[first + a];
    }
  }
  double momentum = 0;
  for (int n = 0; n < bodies; ++n)
    momentum += rhs_.segment(factor_.row(n), island.H->size(island.nodes[n])).squaredNorm();
  return std::sqrt(momentum / (size > 0 ? size : 1)) + std::sqrt(violation / (flow > 0 ? flow : 1));
}

bool ActiveSet::solve(const StepProblem& p, const Island& island, double tolerance, Vector& x,
                      Vector& lambda) {
  const BlockRows& J = p.J;
  const int bodies = static_cast<int>(island.nodes.size());
  for (std::size_t k = 0; k < island.blocks.size(); ++k) {
    if (role_[k] != Role::apart) continue;
    const int i = island.blocks[k];
    std::fill_n(lambda.data() + J.row_start[i], J.height(i), 0.0);
  }
  analyse(p, island);
  fill(p, island);
  if (!factor_.factorize(sign_)) return false;
  double last = std::numeric_limits<double>::infinity();
  for (int round = 0; round < corrections; ++round) {
    const double now = residual(p, island, x, lambda);
    if (now <= 0.01 * tolerance || !(now < 0.5 * last)) break;
    if (round > 0) last = now;
    factor_.solve(rhs_.data());
    for (int n = 0; n < bodies; ++n) {
      const int k = island.nodes[n];
      x.segment(island.H->start[k], island.H->size(k)) += rhs_.segment(factor_.row(n), island.H->size(k));
    }
    for (std::size_t r = 0; r < row_blocks_.size(); ++r) {
      const int node = bodies + static_cast<int>(r);
      double* force = lambda.data() + J.row_start[island.blocks[row_blocks_[r]]];
      for (int a = 0; a < sizes_[node]; ++a) force[a] -= rhs_[factor_.row(node) + a];
    }
  }
  // Into the cones: sliding contacts pull against their slip with all they have.
  for (std::size_t k = 0; k < island.blocks.size(); ++k) {
    const int i = island.blocks[k];
    const ConvexSet& set = p.K.sets[i];
    double* force = lambda.data() + J.row_start[i];
    if (role_[k] == Role::sliding) {
      std::array<double, max_block> u{};
      for (int r = 0; r < set.dim; ++r) u[r] = p.b[J.row_start[i] + r];
      multiply_add_block(J, i, x.data(), u.data());
      for (int r = 1; r < set.dim; ++r) force[r] -= island.rho[i] * u[r];
      const double length = tangential_norm(force, set.dim);
      const double bound = set.mu * std::max(force[0], 0.0);
      for (int r = 1; r < set.dim; ++r) force[r] *= length > 0 ? bound / length : 0;
    }
    project(set, force, force);
  }
  return true;
}

}  // namespace urto
