#include "urto/solver/active_set.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace urto {
namespace {

// δ relative to a row's own J H⁻¹ Jᵀ. Redundant contacts contradict each other by the rounding of
// their gaps, and every correction adds that rounding, divided by δ, to forces that move nothing: δ
// must be large against it, and corrections end as soon as they do for the tolerance.
constexpr double regularisation = 1e-7;
constexpr int corrections = 8;
// A contact at the edge of its cone whose slip is this small a part of its force (through ρ) is
// held first.
constexpr double hardly_slips = 1e-3;

double tangential_norm(const double* v, int dim) {
  double sum = 0;
  for (int k = 1; k < dim; ++k) sum += v[k] * v[k];
  return std::sqrt(sum);
}

}  // namespace

bool ActiveSet::role_of(const ConvexSet& set, Friction friction, const double* force,
                        const double* u, double rho, Role& role, double& bound) const {
  bound = 0;
  const double normal = force[0] - rho * u[0];
  switch (set.kind) {
    case SetKind::free:
      role = Role::held;
      return true;
    case SetKind::nonnegative:
      role = normal > 0 ? Role::held : Role::apart;
      return set.dim == 1;
    case SetKind::box:
      bound = std::clamp(normal, set.lo, set.hi);
      role = normal > set.lo && normal < set.hi ? Role::held : Role::apart;
      return set.dim == 1 && std::isfinite(bound);
    case SetKind::rolling_cone:
      return false;
    case SetKind::cone:
      break;
  }
  std::array<double, max_block> z{};
  for (int r = 1; r < set.dim; ++r) z[r] = force[r] - rho * u[r];
  const double slip = rho * tangential_norm(u, set.dim);
  if (!(normal > 0)) {
    role = Role::apart;
  } else if (tangential_norm(z.data(), set.dim) <= set.mu * normal ||
             slip <= hardly_slips * set.mu * normal) {
    role = Role::held;
  } else {
    role = Role::sliding;
    // The convex law lifts sliding contacts: no equality along the normal.
    return friction == Friction::exact;
  }
  return true;
}

bool ActiveSet::guess(const RowAccess& rows, Friction friction) {
  const RowView& view = rows.view();
  const SetProduct& K = view.problem->K;
  role_.resize(rows.size());
  bound_.resize(rows.size());
  std::array<double, max_block> u{};
  for (int p = 0; p < rows.size(); ++p) {
    const int i = rows.block(p);
    rows.velocity(p, u.data());
    if (!role_of(K.sets[i], friction, rows.lambda().data() + K.start[i], u.data(),
                 view.rows->scale[i], role_[p], bound_[p]))
      return false;
  }
  return true;
}

// Forces of what is apart, and the row blocks that are left as equations.
void ActiveSet::release(RowAccess& rows) {
  const SetProduct& K = rows.view().problem->K;
  blocks_.assign(rows.view().held.begin(), rows.view().held.end());
  heights_.clear();
  for (const int i : blocks_) heights_.push_back(K.sets[i].dim);
  for (int p = 0; p < rows.size(); ++p) {
    const int i = rows.block(p);
    if (role_[p] == Role::apart) {
      std::fill_n(rows.lambda().data() + K.start[i], K.sets[i].dim, 0.0);
      rows.lambda()[K.start[i]] = bound_[p];
      continue;
    }
    blocks_.push_back(i);
    heights_.push_back(role_[p] == Role::sliding ? 1 : K.sets[i].dim);
  }
}

// Sliding contacts pull against their slip with all they have.
void ActiveSet::enter_cones(RowAccess& rows) const {
  const StepProblem& problem = *rows.view().problem;
  for (int p = 0; p < rows.size(); ++p) {
    const int i = rows.block(p);
    const ConvexSet& set = problem.K.sets[i];
    const int first = problem.K.start[i];
    double* force = rows.lambda().data() + first;
    if (role_[p] == Role::sliding) {
      std::array<double, max_block> u{};
      for (int r = 0; r < set.dim; ++r) u[r] = problem.b[first + r];
      multiply_add_block(problem.J, i, rows.x().data(), u.data());
      for (int r = 1; r < set.dim; ++r) force[r] -= rows.view().rows->scale[i] * u[r];
      const double length = tangential_norm(force, set.dim);
      const double bound = set.mu * std::max(force[0], 0.0);
      for (int r = 1; r < set.dim; ++r) force[r] *= length > 0 ? bound / length : 0;
    }
    project(set, force, force);
  }
}

bool ActiveSet::solve(RowAccess& rows, const SaddleLdlt::System& island, double tolerance) {
  const StepProblem& problem = *rows.view().problem;
  release(rows);
  SaddleLdlt::System system = island;
  system.blocks = blocks_;
  system.heights = heights_;
  saddle_.set(system);
  if (!saddle_.factorize(regularisation)) return false;
  // Four digits below the certificate, which is relative to what the step changes, q; rows of a
  // fast rotor are sums of terms that are larger by orders.
  const double goal = std::clamp(1e-4 * tolerance, 1e-13, 1e-12);
  const RowView& view = rows.view();
  const std::span<const int> loads = view.all.empty() ? view.blocks : view.all;
  saddle_.refine({.a = &problem.a, .b = &problem.b, .loads = loads}, goal, corrections, rows.x(),
                 rows.lambda());
  enter_cones(rows);
  return true;
}

}  // namespace urto
