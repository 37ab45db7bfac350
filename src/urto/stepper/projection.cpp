#include "urto/stepper/projection.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace urto {
namespace {

// Relative to a row's own J diag(M)⁻¹ Jᵀ. The least is above the 1e-12 that factors add and correct
// for; with the most, far joints still close nearly as fast as by Newton steps.
constexpr double least_damping = 1e-10;
constexpr double most_damping = 1e-3;

}  // namespace

double joint_error(const Interactions& rows) {
  double error = 0;
  for (int i = 0; i < rows.blocks(); ++i) {
    if (!holds_position(rows.laws[i])) continue;
    for (int r = rows.J.row_start[i]; r < rows.J.row_start[i + 1]; ++r) {
      if (!(std::abs(rows.g[r]) <= error)) error = std::abs(rows.g[r]);
    }
  }
  return error;
}

// Σ J diag(M)⁻¹ Jᵀ of one row of a block.
double JointProjection::own_inverse_inertia(int block, int row) const {
  const BlockRows& J = rows_.J;
  double sum = 0;
  for (int e = J.entry_start[block]; e < J.entry_start[block + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    const double* values = J.values.data() + entry.offset + row * entry.width;
    for (int c = 0; c < entry.width; ++c)
      sum += values[c] * values[c] / mass_diagonal_[entry.column + c];
  }
  return sum;
}

// Joints that hold positions give way by as much as the damping says, which is relative.
void JointProjection::add_damping(double damping) {
  const BlockMatrix& M = std::get<BlockMatrix>(problem_.H);
  if (mass_diagonal_.size() != M.rows()) mass_diagonal_.resize(M.rows());
  for (int node = 0; node < M.blocks(); ++node)
    mass_diagonal_.segment(M.start[node], M.size(node)) = M.block(node).diagonal();
  for (int i = 0; i < rows_.blocks(); ++i) {
    if (!holds_position(rows_.laws[i])) continue;
    for (int r = 0; r < rows_.laws[i].dim; ++r)
      compliance_[rows_.J.row_start[i] + r] = damping * own_inverse_inertia(i, r);
  }
}

// Leaves the right-hand side to the caller: problem_.a.
void JointProjection::solve(const State& state, bool velocities, double damping, Vector& x) {
  StepProblem& p = problem_;
  if (!std::holds_alternative<BlockMatrix>(p.H)) p.H = BlockMatrix();
  system_.mass(state, std::get<BlockMatrix>(p.H));
  p.J = rows_.J;
  if (p.b.size() != rows_.rows()) p.b.resize(rows_.rows());
  compliance_.assign(rows_.rows(), 0.0);
  p.K.sets.clear();
  p.K.start.resize(1);
  for (int i = 0; i < rows_.blocks(); ++i) {
    const Law& law = rows_.laws[i];
    p.K.push_back(ConvexSet::free(law.dim));
    for (int row = rows_.J.row_start[i]; row < rows_.J.row_start[i + 1]; ++row) {
      p.b[row] = velocities ? rows_.g_t[row] : rows_.g[row];
      // A soft row is a force, not a place to be, and a speed is no position: so much compliance
      // that the row gives way freely.
      if (is_soft(law) || (!velocities && law.on_velocity)) compliance_[row] = 1e30;
    }
  }
  if (damping > 0) add_damping(damping);
  set_compliance(p, compliance_);
  lambda_.setZero(rows_.rows());
  if (x.size() != system_.nv()) x.resize(system_.nv());
  solver_->solve(p, options_, x, lambda_, report_);
}

// Where joints are redundant on the joints alone (a mechanism that moves although its rows count no
// freedom), J beside them by ε has a singular value of O(ε) in place of a zero, and g a part of
// O(ε²) on it. A Newton step would remove that part by O(ε) along the very motion that the joints
// leave free. Levenberg's damping, relative to |g|, bounds this by O(ε²) and leaves the convergence
// quadratic without any condition on the rank (Fan and Yuan, Computing 74 (2005) 23-39). Where it
// hinders instead, as in long chains that are bent as a whole, there is less of it.
double JointProjection::project_positions(State& state, double tolerance, int max_rounds) {
  double share = 1, last = std::numeric_limits<double>::infinity();
  for (int round = 0;; ++round) {
    system_.interactions(state, {.equalities_only = true}, rows_);
    const double error = joint_error(rows_);
    if (error <= tolerance || round == max_rounds || !std::isfinite(error)) return error;
    if (system_.nv() == 0) return error;  // joints may hold fixed and kinematic bodies alone
    if (error > 0.5 * last) share *= 1e-3;
    last = error;
    problem_.a.setZero(system_.nv());
    solve(state, false, share * std::clamp(error, least_damping, most_damping), delta_);
    // Far from the joints a Newton step may leap: half a metre or radian at a time.
    const double leap = delta_.cwiseAbs().maxCoeff();
    if (leap > 0.5) delta_ *= 0.5 / leap;
    system_.add_increment(state.q, delta_, state.q);
    system_.accept(state);
  }
}

void JointProjection::project_velocities(State& state, bool speed_motors) {
  system_.interactions(state, {.equalities_only = true, .velocity_equalities = speed_motors},
                       rows_);
  auto& H = problem_.H;
  if (!std::holds_alternative<BlockMatrix>(H)) H = BlockMatrix();
  system_.mass(state, std::get<BlockMatrix>(H));
  multiply(std::get<BlockMatrix>(H), state.v, problem_.a);
  solve(state, true, 0, delta_);
  state.v = delta_;
}

}  // namespace urto
