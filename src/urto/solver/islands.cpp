// The linear half of StepSolver: islands, and the islands that are one linear system.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "urto/solver/step_solver.h"

namespace urto {
namespace {

// δ relative to a row's own J H⁻¹ Jᵀ. Small: refinement removes δ against the smallest eigenvalue of J H⁻¹ Jᵀ, which light parts push far below the diagonal.
// Large: a redundant row's pivot is δ and must stay above rounding. So the small one is tried first.
constexpr std::array<double, 3> regularisations{1e-12, 1e-9, 1e-6};
constexpr int refinements = 8;
constexpr double good_enough = 1e-13;  // relative; certificates of 1e-10 stay far above
constexpr double acceptable = 1e-10;   // else the next δ is tried

}  // namespace

int StepSolver::find_root(int node) {
  while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
  return node;
}

void StepSolver::find_islands(const StepProblem& p, bool apart) {
  const int nodes = H_->blocks();
  const BlockRows& J = p.J;
  parent_.resize(nodes);
  node_of_dof_.resize(H_->rows());
  for (int k = 0; k < nodes; ++k) {
    parent_[k] = k;
    for (int d = H_->start[k]; d < H_->start[k + 1]; ++d) node_of_dof_[d] = k;
  }
  const auto join = [&](int a, int b) {
    a = find_root(a);
    b = find_root(b);
    // The lower number becomes the root: numbering does not depend on the order of rows.
    if (a != b) parent_[std::max(a, b)] = std::min(a, b);
  };
  for (int i = 0; i < J.blocks(); ++i) {
    for (int e = J.entry_start[i] + 1; e < J.entry_start[i + 1]; ++e) {
      join(node_of_dof_[J.entries[J.entry_start[i]].column], node_of_dof_[J.entries[e].column]);
    }
  }
  for (const BlockMatrix::Coupling& c : H_->couplings) join(c.row, c.column);
  if (!apart) {
    for (int k = 1; k < nodes; ++k) join(0, k);
  }

  islands_.clear();
  island_of_node_.assign(nodes, -1);
  for (int k = 0; k < nodes; ++k) {
    const int root = find_root(k);
    if (root == k) {
      island_of_node_[k] = static_cast<int>(islands_.size());
      islands_.emplace_back();
    } else {
      island_of_node_[k] = island_of_node_[root];
    }
    ++islands_[island_of_node_[k]].nodes;
  }
  for (const BlockMatrix::Coupling& c : H_->couplings)
    islands_[island_of_node_[c.row]].coupled = true;
  // Rows between bodies that do not move (no entries) belong to no island: their multiplier stays zero.
  block_island_.assign(J.blocks(), -1);
  for (int i = 0; i < J.blocks(); ++i) {
    if (J.entry_start[i] == J.entry_start[i + 1]) continue;
    const int island = island_of_node_[node_of_dof_[J.entries[J.entry_start[i]].column]];
    block_island_[i] = island;
    ++islands_[island].blocks;
    islands_[island].rows += J.height(i);
    if (p.K.sets[i].kind != SetKind::free) islands_[island].linear = false;
  }
  list_members(J.blocks());
}

// Counts become ranges; the ranges are then filled in the order of the numbers.
void StepSolver::list_members(int blocks) {
  int block = 0;
  int node = 0;
  for (Island& island : islands_) {
    island.first_block = block;
    island.first_node = node;
    block += std::exchange(island.blocks, 0);
    node += std::exchange(island.nodes, 0);
  }
  island_blocks_.resize(block);
  island_nodes_.resize(node);
  for (int i = 0; i < blocks; ++i) {
    if (block_island_[i] < 0) continue;
    Island& island = islands_[block_island_[i]];
    island_blocks_[island.first_block + island.blocks++] = i;
  }
  for (int k = 0; k < node; ++k) {
    Island& island = islands_[island_of_node_[k]];
    island_nodes_[island.first_node + island.nodes++] = k;
  }
}

// The pattern of the linear part as one list of numbers; rows are told apart by the bodies they touch.
bool StepSolver::pattern_changed() {
  std::swap(pattern_, last_pattern_);
  pattern_.clear();
  pattern_.push_back(static_cast<int>(linear_nodes_.size()));
  pattern_.insert(pattern_.end(), linear_nodes_.begin(), linear_nodes_.end());
  pattern_.insert(pattern_.end(), linear_blocks_.begin(), linear_blocks_.end());
  for (const auto& [a, b] : edges_) {
    pattern_.push_back(a);
    pattern_.push_back(b);
  }
  return pattern_ != last_pattern_;
}

void StepSolver::analyse_linear(const StepProblem& p) {
  const BlockRows& J = p.J;
  linear_nodes_.clear();
  linear_blocks_.clear();
  edges_.clear();
  node_index_.assign(H_->blocks(), -1);
  for (int k = 0; k < H_->blocks(); ++k) {
    if (!islands_[island_of_node_[k]].linear) continue;
    node_index_[k] = static_cast<int>(linear_nodes_.size());
    linear_nodes_.push_back(k);
  }
  for (int i = 0; i < J.blocks(); ++i) {
    if (block_island_[i] >= 0 && islands_[block_island_[i]].linear) linear_blocks_.push_back(i);
  }
  const int bodies = static_cast<int>(linear_nodes_.size());
  for (int r = 0; r < static_cast<int>(linear_blocks_.size()); ++r) {
    const int i = linear_blocks_[r];
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      edges_.emplace_back(bodies + r, node_index_[node_of_dof_[J.entries[e].column]]);
    }
  }
  for (const BlockMatrix::Coupling& c : H_->couplings) {
    if (node_index_[c.row] >= 0) edges_.emplace_back(node_index_[c.row], node_index_[c.column]);
  }
  if (!pattern_changed()) return;
  std::vector<int> sizes;
  sign_.clear();
  for (const int k : linear_nodes_) {
    sizes.push_back(H_->size(k));
    sign_.push_back(1);
  }
  for (const int i : linear_blocks_) {
    sizes.push_back(J.height(i));
    sign_.push_back(-1);
  }
  factor_.analyse(sizes, edges_);
  rhs_.resize(factor_.rows());
}

void StepSolver::fill_linear(const StepProblem& p, double relative_regularisation) {
  const BlockRows& J = p.J;
  const int bodies = static_cast<int>(linear_nodes_.size());
  factor_.clear();
  for (int n = 0; n < bodies; ++n) {
    const auto block = H_->block(linear_nodes_[n]);
    std::copy(block.data(), block.data() + block.size(), factor_.diagonal(n));
  }
  int e = 0;
  regularisation_.clear();
  for (int r = 0; r < static_cast<int>(linear_blocks_.size()); ++r) {
    const int i = linear_blocks_[r];
    const int height = J.height(i);
    const auto first_row = regularisation_.size();
    regularisation_.resize(first_row + height, 0.0);
    for (int k = J.entry_start[i]; k < J.entry_start[i + 1]; ++k, ++e) {
      const BlockRows::Entry& entry = J.entries[k];
      const double* values = J.values.data() + entry.offset;
      const bool as_given = factor_.edge_order(e).first == bodies + r;
      double* out = factor_.edge(e);
      const int node = linear_nodes_[edges_[e].second];
      const auto H = H_->block(node);
      for (int a = 0; a < height; ++a) {
        double sum = 0;
        for (int c = 0; c < entry.width; ++c) {
          const double v = values[a * entry.width + c];
          out[as_given ? c * height + a : a * entry.width + c] += v;
          sum += v * v / H(c, c);
        }
        regularisation_[first_row + a] += sum;
      }
    }
    double* D = factor_.diagonal(bodies + r);
    for (int a = 0; a < height; ++a) {
      double& delta = regularisation_[first_row + a];
      delta = relative_regularisation * (delta > 0 ? delta : 1);
      D[a * height + a] = -compliance_[J.row_start[i] + a] - delta;
    }
  }
  for (int k = 0; k < static_cast<int>(H_->couplings.size()); ++k) {
    const int row = node_index_[H_->couplings[k].row];
    if (row < 0) continue;
    const auto block = H_->coupling(k);
    const bool as_given = factor_.edge_order(e).first == row;
    double* out = factor_.edge(e++);
    if (as_given) {
      Eigen::Map<Matrix>(out, block.rows(), block.cols()) += block;
    } else {
      Eigen::Map<Matrix>(out, block.cols(), block.rows()) += block.transpose();
    }
  }
}

// Residual of the linear part, left in rhs_ as the right-hand side of a correction; returns its size relative to the data's.
double StepSolver::linear_residual(const StepProblem& p, const Vector& x,
                                   const Vector& lambda) {
  const BlockRows& J = p.J;
  const int bodies = static_cast<int>(linear_nodes_.size());
  double momentum = 0;
  double size = 0;
  for (int n = 0; n < bodies; ++n) {
    const int k = linear_nodes_[n];
    const int first = H_->start[k];
    auto r = rhs_.segment(factor_.row(n), H_->size(k));
    r = p.a.segment(first, H_->size(k));
    size += r.squaredNorm();
    r.noalias() -= H_->block(k).lazyProduct(x.segment(first, H_->size(k)));
  }
  for (int k = 0; k < static_cast<int>(H_->couplings.size()); ++k) {
    const auto [row, column, offset] = H_->couplings[k];
    if (node_index_[row] < 0) continue;
    const auto block = H_->coupling(k);
    rhs_.segment(factor_.row(node_index_[row]), block.rows()) -=
        block.lazyProduct(x.segment(H_->start[column], block.cols()));
    rhs_.segment(factor_.row(node_index_[column]), block.cols()) -=
        block.transpose().lazyProduct(x.segment(H_->start[row], block.rows()));
  }
  double violation = 0;
  double flow = 0;
  for (int r = 0; r < static_cast<int>(linear_blocks_.size()); ++r) {
    const int i = linear_blocks_[r];
    const int first = J.row_start[i];
    double* u = rhs_.data() + factor_.row(bodies + r);
    for (int a = 0; a < J.height(i); ++a) {
      const double b = p.b[first + a];
      double sum = b + compliance_[first + a] * lambda[first + a];
      double size_of_sum = std::abs(b);
      for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
        const BlockRows::Entry& entry = J.entries[e];
        const double* row = J.values.data() + entry.offset + a * entry.width;
        double* at = rhs_.data() + factor_.row(node_index_[node_of_dof_[entry.column]]);
        for (int c = 0; c < entry.width; ++c) {
          const double flux = row[c] * x[entry.column + c];
          sum += flux;
          // A mechanism at rest has no flux but rounding: what gravity would do without the joints counts too.
          size_of_sum += std::abs(flux) + std::abs(row[c] * free_[entry.column + c]);
          at[c] += row[c] * lambda[first + a];
        }
      }
      violation += sum * sum;
      flow += size_of_sum * size_of_sum;
      u[a] = -sum;
    }
  }
  for (int n = 0; n < bodies; ++n)
    momentum += rhs_.segment(factor_.row(n), H_->size(linear_nodes_[n])).squaredNorm();
  return std::sqrt(momentum / (size > 0 ? size : 1)) + std::sqrt(violation / (flow > 0 ? flow : 1));
}

// Solves with K_δ and refines on the residual of K itself; returns the residual reached.
double StepSolver::refine_linear(const StepProblem& p, Vector& x, Vector& lambda) {
  const BlockRows& J = p.J;
  const int bodies = static_cast<int>(linear_nodes_.size());
  // From rest and the last multipliers: the first correction is the whole solution.
  for (const int k : linear_nodes_) x.segment(H_->start[k], H_->size(k)).setZero();
  double last = std::numeric_limits<double>::infinity();
  for (int round = 0;; ++round) {
    const double residual = linear_residual(p, x, lambda);
    if (round > 0) {
      if (residual < good_enough || !(residual < 0.5 * last) || round == refinements)
        return residual;
      last = residual;
    }
    factor_.solve(rhs_.data());
    for (int n = 0; n < bodies; ++n) {
      const int k = linear_nodes_[n];
      x.segment(H_->start[k], H_->size(k)) += rhs_.segment(factor_.row(n), H_->size(k));
    }
    for (int r = 0; r < static_cast<int>(linear_blocks_.size()); ++r) {
      const int i = linear_blocks_[r];
      lambda.segment(J.row_start[i], J.height(i)) -=
          rhs_.segment(factor_.row(bodies + r), J.height(i));
    }
  }
}

void StepSolver::solve_linear(const StepProblem& p, Vector& x, Vector& lambda,
                              StepSolveReport& report) {
  analyse_linear(p);
  if (linear_nodes_.empty()) return;
  if (free_.size() != p.a.size()) free_.resize(p.a.size());
  for (const int k : linear_nodes_) {
    for (int d = 0; d < H_->size(k); ++d)
      free_[H_->start[k] + d] = p.a[H_->start[k] + d] / H_->block(k)(d, d);
  }
  for (const double delta : regularisations) {
    // Multipliers that went astray are no start for the next attempt.
    if (delta != regularisations.front()) {
      for (const int i : linear_blocks_)
        lambda.segment(p.J.row_start[i], p.J.height(i)).setZero();
    }
    fill_linear(p, delta);
    if (factor_.factorize(sign_) && refine_linear(p, x, lambda) < acceptable) return;
  }
  report.status = Status::infeasible;
  report.message = "the joints contradict each other, or nearly so: no velocity satisfies them all";
}

}  // namespace urto
