#include "urto/mechanics/forward_dynamics.h"

namespace urto {

void measure_equalities(SystemAccess& system, const State& state, bool accelerations,
                        Interactions& rows, Vector& rate) {
  system.interactions(state, {.equalities_only = true, .velocity_equalities = true}, rows,
                      accelerations);
  if (rate.size() != rows.rows()) rate.resize(rows.rows());
  multiply(rows.J, state.v, rate);
  for (int r = 0; r < rows.rows(); ++r) rate[r] += rows.g_t[r];
}

bool ForwardDynamics::solve(SystemAccess& system, const State& state, double omega,
                            Interactions& rows, Vector& rate, Vector& a, Vector& lambda,
                            const Vector* besides) {
  const int n = system.nv();
  measure_equalities(system, state, true, rows, rate);
  system.mass(state, mass_);
  system.force(state, force_);
  if (besides != nullptr) force_ += *besides;
  const int m = rows.rows();
  factor_.start(n, n + m);
  factor_.add(mass_);
  rules_.clear();
  for (const Law& law : rows.laws) {
    // The force of a soft row is known: −1 · (−λ) = λ.
    rules_.push_back(is_soft(law) ? SaddleRow{.holds = false, .diagonal = -1, .shifted = false}
                                  : SaddleRow{});
  }
  factor_.add_rows(rows.J, rows.J, rules_);
  if (rhs_.size() != n + m) rhs_.resize(n + m);
  rhs_.head(n) = force_;
  for (int i = 0; i < rows.blocks(); ++i) {
    const bool position = !rows.laws[i].on_velocity;
    for (int r = rows.J.row_start[i]; r < rows.J.row_start[i + 1]; ++r) {
      rhs_[n + r] = is_soft(rows.laws[i]) ? soft_force(rows, rate, i, r)
                                          : -rows.jdot_v[r] - (position ? 2 : 1) * omega * rate[r] -
                                                (position ? omega * omega * rows.g[r] : 0);
    }
  }
  if (!factor_.factorize()) return false;
  factor_.solve(rhs_, solution_);
  a = solution_.head(n);
  lambda = -solution_.tail(m);
  return true;
}

}  // namespace urto
