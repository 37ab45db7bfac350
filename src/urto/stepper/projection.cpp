#include "urto/stepper/projection.h"

#include <algorithm>
#include <cmath>

namespace urto {

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

// Leaves the right-hand side to the caller: problem_.a.
void JointProjection::solve(const State& state, bool velocities, Vector& x) {
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
  set_compliance(p, compliance_);
  lambda_.setZero(rows_.rows());
  if (x.size() != system_.nv()) x.resize(system_.nv());
  solver_->solve(p, options_, x, lambda_, report_);
}

double JointProjection::project_positions(State& state, double tolerance, int max_rounds) {
  for (int round = 0;; ++round) {
    system_.interactions(state, {.equalities_only = true}, rows_);
    const double error = joint_error(rows_);
    if (error <= tolerance || round == max_rounds || !std::isfinite(error)) return error;
    if (system_.nv() == 0) return error;  // joints may hold fixed and kinematic bodies alone
    problem_.a.setZero(system_.nv());
    solve(state, false, delta_);
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
  solve(state, true, delta_);
  state.v = delta_;
}

}  // namespace urto
