#include "urto/solver/step_solver.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <Eigen/Cholesky>
#include <Eigen/QR>

#include "urto/solver/local_contact.h"

namespace urto {
namespace {

using Small = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, max_block, 1>;
using SmallMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_block, max_block>;

// A mechanism's joints inside an island of contacts may be redundant: the pseudo-inverse leaves alone what no body can follow.
SmallMatrix pseudo_inverse(const SmallMatrix& D) {
  const Eigen::LLT<SmallMatrix> llt(D);
  if (llt.info() == Eigen::Success && llt.rcond() > 1e-10) {
    return llt.solve(SmallMatrix::Identity(D.rows(), D.cols()));
  }
  return Eigen::CompleteOrthogonalDecomposition<SmallMatrix>(D).pseudoInverse();
}

// A contact without load whose bodies part: most of a pile's neighbours, and nothing to solve.
bool stays_open(const ConvexSet& set, Friction friction, const double* lambda, const double* u) {
  if (set.kind == SetKind::nonnegative) return set.dim == 1 && lambda[0] == 0 && u[0] >= 0;
  if (!set.has_friction() || lambda[0] != 0) return false;
  return u[0] >= (friction == Friction::exact ? 0 : de_saxce(set, u));
}

// r = −M⁻¹q where that is inside the cone: the contact sticks, in both laws, and needs no iteration. Else r is left alone.
bool sticks(const ConvexSet& set, const double* inverse, const double* q, double* r) {
  std::array<double, max_block> trial{};
  for (int c = 0; c < set.dim; ++c) {
    for (int k = 0; k < set.dim; ++k) trial[k] -= inverse[c * set.dim + k] * q[c];
  }
  if (!(trial[0] > 0)) return false;
  for (const auto& part : cone_parts(set)) {
    const double radius = part.bound * trial[0];
    double squares = 0;
    for (int k = part.first; k < part.first + part.count; ++k) squares += trial[k] * trial[k];
    if (!(squares <= radius * radius)) return false;
  }
  std::copy_n(trial.begin(), set.dim, r);
  return true;
}

// ‖λ − Π(λ − ρu)‖²
double natural_map_squared(const ConvexSet& set, const double* lambda, const double* u,
                           double rho) {
  std::array<double, max_block> z{};
  double sum = 0;
  if (set.kind == SetKind::free) {
    for (int r = 0; r < set.dim; ++r) sum += rho * rho * u[r] * u[r];
    return sum;
  }
  for (int r = 0; r < set.dim; ++r) z[r] = lambda[r] - rho * u[r];
  project(set, z.data(), z.data());
  for (int r = 0; r < set.dim; ++r) sum += (lambda[r] - z[r]) * (lambda[r] - z[r]);
  return sum;
}

}  // namespace

// W_ii, J_i H⁻¹ and the step of block i.
void StepSolver::prepare_block(const StepProblem& p, int i) {
  const BlockRows& J = p.J;
  const ConvexSet& set = p.K.sets[i];
  const int d = set.dim;
  const int first = J.row_start[i];
  SmallMatrix D = SmallMatrix::Zero(d, d);
  for (int r = 0; r < d; ++r) {
    D(r, r) = compliance_[first + r];
    q_[first + r] = p.b[first + r];
  }
  for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    const auto inverse = inverse_mass_.block(node_of_dof_[entry.column]);
    const double* values = J.values.data() + entry.offset;
    double* out = JHinv_.data() + entry.offset;
    for (int r = 0; r < d; ++r) {
      for (int c = 0; c < entry.width; ++c) {
        double sum = 0;
        for (int k = 0; k < entry.width; ++k) sum += values[r * entry.width + k] * inverse(k, c);
        out[r * entry.width + c] = sum;
        q_[first + r] += sum * p.a[entry.column + c];
      }
    }
    for (int r = 0; r < d; ++r) {
      for (int s = 0; s <= r; ++s) {
        double sum = 0;
        for (int c = 0; c < entry.width; ++c)
          sum += out[r * entry.width + c] * values[s * entry.width + c];
        D(r, s) += sum;
        if (s != r) D(s, r) += sum;
      }
    }
  }
  double* stored = diagonal_.data() + diagonal_start_[i];
  std::copy(D.data(), D.data() + d * d, stored);
  scale_[i] = D.trace() > 0 ? d / D.trace() : 1;
  if (set.kind != SetKind::free && !set.has_friction()) return;
  const SmallMatrix inverse = pseudo_inverse(D);
  std::copy(inverse.data(), inverse.data() + d * d, inverse_diagonal_.data() + diagonal_start_[i]);
}

void StepSolver::update_block(const StepProblem& p, int i, Friction friction,
                              double local_tolerance, Vector& x, Vector& lambda) {
  const BlockRows& J = p.J;
  const ConvexSet& set = p.K.sets[i];
  const int d = set.dim;
  const int first = J.row_start[i];
  std::array<double, max_block> u{};
  for (int r = 0; r < d; ++r)
    u[r] = p.b[first + r] + compliance_[first + r] * lambda[first + r];
  multiply_add_block(J, i, x.data(), u.data());
  double* current = lambda.data() + first;
  if (stays_open(set, friction, current, u.data())) return;
  std::array<double, max_block> next{};
  const Eigen::Map<const Matrix> D(diagonal_.data() + diagonal_start_[i], d, d);
  if (set.has_friction()) {
    std::array<double, max_block> q{};
    for (int r = 0; r < d; ++r) {
      q[r] = u[r];
      for (int c = 0; c < d; ++c) q[r] -= D(r, c) * current[c];
      next[r] = current[r];
    }
    const double* inverse = inverse_diagonal_.data() + diagonal_start_[i];
    if (!sticks(set, inverse, q.data(), next.data())) {
      solve_local_newton(set, D, q.data(), next.data(), friction, local_tolerance);
    }
  } else if (set.kind == SetKind::free) {
    const double* inverse = inverse_diagonal_.data() + diagonal_start_[i];
    for (int r = 0; r < d; ++r) {
      next[r] = current[r];
      for (int c = 0; c < d; ++c) next[r] -= inverse[c * d + r] * u[c];
    }
  } else {
    for (int r = 0; r < d; ++r) next[r] = D(r, r) > 0 ? current[r] - u[r] / D(r, r) : current[r];
    project(set, next.data(), next.data());
  }
  std::array<double, max_block> delta{};
  for (int r = 0; r < d; ++r) {
    delta[r] = next[r] - current[r];
    current[r] = next[r];
  }
  for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    for (int r = 0; r < d; ++r) {
      const double* row = JHinv_.data() + entry.offset + r * entry.width;
      for (int c = 0; c < entry.width; ++c) x[entry.column + c] += row[c] * delta[r];
    }
  }
}

// x = H⁻¹(a + Jᵀλ) anew: incremental updates collect rounding.
void StepSolver::refresh_velocity(const StepProblem& p, const Island& island, Vector& x,
                                  const Vector& lambda) const {
  for (int n = 0; n < island.nodes; ++n) {
    const int k = island_nodes_[island.first_node + n];
    const int first = H_->start[k];
    x.segment(first, H_->size(k)).noalias() =
        inverse_mass_.block(k).lazyProduct(p.a.segment(first, H_->size(k)));
  }
  const BlockRows& J = p.J;
  for (int b = 0; b < island.blocks; ++b) {
    const int i = island_blocks_[island.first_block + b];
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = J.entries[e];
      for (int r = 0; r < J.height(i); ++r) {
        const double* row = JHinv_.data() + entry.offset + r * entry.width;
        for (int c = 0; c < entry.width; ++c)
          x[entry.column + c] += row[c] * lambda[J.row_start[i] + r];
      }
    }
  }
}

// The two natural-map residuals of the certificate, restricted to the island; the larger one.
double StepSolver::island_residual(const StepProblem& p, const Island& island,
                                   Friction friction, const Vector& x, const Vector& lambda) const {
  const BlockRows& J = p.J;
  double plain = 0, scaled = 0, q_plain = 0, q_scaled = 0;
  for (int b = 0; b < island.blocks; ++b) {
    const int i = island_blocks_[island.first_block + b];
    const ConvexSet& set = p.K.sets[i];
    const int first = J.row_start[i];
    std::array<double, max_block> u{};
    for (int r = 0; r < set.dim; ++r)
      u[r] = p.b[first + r] + compliance_[first + r] * lambda[first + r];
    multiply_add_block(J, i, x.data(), u.data());
    if (friction == Friction::exact) u[0] += de_saxce(set, u.data());
    plain += natural_map_squared(set, lambda.data() + first, u.data(), 1);
    scaled += natural_map_squared(set, lambda.data() + first, u.data(), scale_[i]) / scale_[i];
    for (int r = 0; r < set.dim; ++r) {
      q_plain += q_[first + r] * q_[first + r];
      q_scaled += scale_[i] * q_[first + r] * q_[first + r];
    }
  }
  const double a = std::sqrt(plain) / (q_plain > 0 ? std::sqrt(q_plain) : 1);
  const double c = std::sqrt(scaled) / (q_scaled > 0 ? std::sqrt(q_scaled) : 1);
  return std::isnan(a) || std::isnan(c) ? NAN : std::max(a, c);
}

bool StepSolver::sweep_island(const StepProblem& p, const Island& island,
                              const StepSolverOptions& options, Vector& x, Vector& lambda,
                              StepSolveReport& report) {
  constexpr int check_every = 5;
  // Sweeps that settle who touches. A guess of a large island costs many sweeps, and is seldom right while things move.
  const int guess_after = island.blocks <= 64 ? 10 : 200;
  constexpr int patience = 100;  // sweeps before the rate is believed
  double q_largest = 0;
  for (int b = 0; b < island.blocks; ++b) {
    const int i = island_blocks_[island.first_block + b];
    prepare_block(p, i);
    for (int r = 0; r < p.K.sets[i].dim; ++r)
      q_largest = std::max(q_largest, std::abs(q_[p.K.start[i] + r]));
    project(p.K.sets[i], lambda.data() + p.K.start[i],
            lambda.data() + p.K.start[i]);
  }
  // Below the tolerance, so that islands together meet it with the certificate's own rounding.
  const double tolerance = 0.8 * options.solve.tolerance;
  const double local =
      std::max(1e-14, 0.1 * tolerance / std::sqrt(island.blocks)) * (q_largest > 0 ? q_largest : 1);
  refresh_velocity(p, island, x, lambda);
  double last = island_residual(p, island, options.solve.friction, x, lambda);
  int sweeps = 0, next_guess = guess_after;
  while (!(last <= tolerance)) {
    if (sweeps >= options.sweep_limit || !std::isfinite(last)) return false;
    if (sweeps >= next_guess) {
      if (guess_island(p, island, options, tolerance, x, lambda)) {
        ++report.guessed;
        return true;
      }
      next_guess = 4 * sweeps;
    }
    for (int s = 0; s < check_every; ++s) {
      for (int b = 0; b < island.blocks; ++b) {
        update_block(p, island_blocks_[island.first_block + b], options.solve.friction, local, x,
                     lambda);
      }
    }
    sweeps += check_every;
    report.sweeps = std::max(report.sweeps, sweeps);
    refresh_velocity(p, island, x, lambda);
    const double residual = island_residual(p, island, options.solve.friction, x, lambda);
    // Sweeps still needed at the rate of the last few; a direct method is cheaper than a crawl.
    const double rate = residual / last;
    if (sweeps >= patience && residual > tolerance) {
      const double needed =
          rate < 1 ? check_every * std::log(tolerance / residual) / std::log(rate) : 1e9;
      if (sweeps + needed > options.sweep_limit) {
        if (!guess_island(p, island, options, tolerance, x, lambda)) return false;
        ++report.guessed;
        return true;
      }
    }
    last = residual;
  }
  return true;
}

// Tries the active set from where the sweeps stand; puts everything back if it leads nowhere.
bool StepSolver::guess_island(const StepProblem& p, const Island& island,
                              const StepSolverOptions& options, double tolerance, Vector& x,
                              Vector& lambda) {
  constexpr int rounds = 6;
  const ActiveSet::Island view{
      .nodes = {island_nodes_.data() + island.first_node, static_cast<std::size_t>(island.nodes)},
      .blocks = {island_blocks_.data() + island.first_block,
                 static_cast<std::size_t>(island.blocks)},
      .node_of_dof = node_of_dof_,
      .rho = scale_,
      .compliance = compliance_,
      .H = H_};
  kept_lambda_ = lambda;
  const Friction friction = options.solve.friction;
  for (int round = 0; round < rounds; ++round) {
    if (!active_set_.guess(p, view, friction, x, lambda)) break;
    if (!active_set_.solve(p, view, tolerance, x, lambda)) break;
    refresh_velocity(p, island, x, lambda);
    if (island_residual(p, island, friction, x, lambda) <= tolerance) return true;
  }
  lambda = kept_lambda_;
  refresh_velocity(p, island, x, lambda);
  return false;
}

void StepSolver::hand_on(const StepProblem& p, const Island& island,
                         const StepSolverOptions& options, Vector& x, Vector& lambda,
                         StepSolveReport& report) {
  std::vector<int> new_dof(H_->rows(), -1);
  StepProblem s;
  BlockMatrix H;
  int dofs = 0;
  for (int n = 0; n < island.nodes; ++n) {
    const int k = island_nodes_[island.first_node + n];
    for (int d = H_->start[k]; d < H_->start[k + 1]; ++d) new_dof[d] = dofs++;
    H.push_back(H_->block(k));
  }
  s.a.resize(dofs);
  for (int d = 0; d < H_->rows(); ++d) {
    if (new_dof[d] >= 0) s.a[new_dof[d]] = p.a[d];
  }
  if (island.coupled) {
    std::vector<int> new_node(H_->blocks(), -1);
    for (int n = 0; n < island.nodes; ++n) new_node[island_nodes_[island.first_node + n]] = n;
    const std::vector<int> starts = H.start;
    BlockMatrix coupled;
    coupled.start_assembly(starts, BlockMatrix::Symmetry::symmetric);
    for (int n = 0; n < island.nodes; ++n) coupled.add(n, n, H.block(n));
    for (int k = 0; k < static_cast<int>(H_->couplings.size()); ++k) {
      const BlockMatrix::Coupling& c = H_->couplings[k];
      if (new_node[c.row] >= 0) coupled.add(new_node[c.row], new_node[c.column], H_->coupling(k), 2);
    }
    coupled.finish_assembly();
    H = std::move(coupled);
  }
  s.H = std::move(H);
  const BlockRows& J = p.J;
  s.J.columns = dofs;
  s.b.resize(island.rows);
  Vector warm(island.rows);
  std::vector<Eigen::Triplet<double>> compliance;
  for (int b = 0; b < island.blocks; ++b) {
    const int i = island_blocks_[island.first_block + b];
    const int at = s.J.rows();
    s.J.add_block(J.height(i));
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
      const BlockRows::Entry& entry = J.entries[e];
      s.J.add_entry(
          new_dof[entry.column],
          Eigen::Map<const RowMajor>(J.values.data() + entry.offset, J.height(i), entry.width));
    }
    s.K.push_back(p.K.sets[i]);
    for (int r = 0; r < J.height(i); ++r) {
      const int row = J.row_start[i] + r;
      s.b[at + r] = p.b[row];
      warm[at + r] = lambda[row];
      if (compliance_[row] > 0) compliance.emplace_back(at + r, at + r, compliance_[row]);
    }
  }
  s.E.resize(island.rows, island.rows);
  s.E.setFromTriplets(compliance.begin(), compliance.end());

  SolveOptions solve_options = options.solve;
  solve_options.symbolic_store = &symbolic_store_;
  const Solution solution = urto::solve(s, solve_options, &warm);
  for (int d = 0; d < H_->rows(); ++d) {
    if (new_dof[d] >= 0) x[d] = solution.x[new_dof[d]];
  }
  int at = 0;
  for (int b = 0; b < island.blocks; ++b) {
    const int i = island_blocks_[island.first_block + b];
    for (int r = 0; r < J.height(i); ++r) lambda[J.row_start[i] + r] = solution.lambda[at++];
  }
  ++report.handed_on;
  report.iterations += solution.iterations;
  report.linear += solution.linear;
  report.solver = solution.solver;
  if (solution.status != Status::converged) {
    report.status = solution.status;
    report.message = solution.message;
  }
}

void StepSolver::solve(const StepProblem& p, const StepSolverOptions& options, Vector& x,
                       Vector& lambda, StepSolveReport& report) {
  report.islands = report.largest_island = report.sweeps = report.guessed = report.handed_on =
      report.iterations = 0;
  report.linear = {};
  report.status = Status::converged;
  report.message.clear();
  report.solver.clear();
  H_ = &std::get<BlockMatrix>(p.H);
  compliance_.resize(p.rows());
  for (int r = 0; r < p.rows(); ++r) compliance_[r] = compliance(p, r);
  find_islands(p, options.islands);
  solve_linear(p, x, lambda, report);

  bool nonlinear = false;
  for (const Island& island : islands_) {
    if (island.blocks > 0) ++report.islands;
    report.largest_island = std::max(report.largest_island, island.rows);
    nonlinear = nonlinear || !island.linear;
  }
  if (!nonlinear) return;
  if (last_mass_ != H_->values) {
    inverse_mass_ = inverse(*H_);
    last_mass_ = H_->values;
  }
  const int rows = p.rows();
  JHinv_.resize(p.J.values.size());
  q_.resize(rows);
  scale_.resize(p.blocks());
  diagonal_start_.resize(p.blocks());
  int offset = 0;
  for (int i = 0; i < p.blocks(); ++i) {
    diagonal_start_[i] = offset;
    offset += p.K.sets[i].dim * p.K.sets[i].dim;
  }
  diagonal_.resize(offset);
  inverse_diagonal_.resize(offset);
  for (const Island& island : islands_) {
    if (island.linear) continue;
    const bool named = options.solve.solver != "auto";
    if (!island.coupled && !named && sweep_island(p, island, options, x, lambda, report)) continue;
    hand_on(p, island, options, x, lambda, report);
  }
}

}  // namespace urto
