#include "urto/solver/gauss_seidel.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "urto/solver/local_contact.h"
#include "urto/solver/natural_map.h"

namespace urto {
namespace {

// A contact without load whose bodies part: most of a pile's neighbours, and nothing to solve.
bool stays_open(const ConvexSet& set, Friction friction, const double* lambda, const double* u) {
  if (set.kind == SetKind::nonnegative) return set.dim == 1 && lambda[0] == 0 && u[0] >= 0;
  if (!set.has_friction() || lambda[0] != 0) return false;
  return u[0] >= (friction == Friction::exact ? 0 : de_saxce(set, u));
}

// r = −M⁻¹q where that is inside the cone: the contact sticks, in both laws, and needs no
// iteration. Else r is left alone.
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

}  // namespace

void GaussSeidel::begin(const Options& options) {
  options_ = options;
  const RowView& view = rows_.view();
  const SetProduct& K = view.problem->K;
  FreeMotion free;
  double largest = 0;
  for (const int i : view.blocks) {
    const double* q = view.rows->q.data() + K.start[i];
    free.add(q, K.sets[i].dim, view.rows->scale[i]);
    for (int k = 0; k < K.sets[i].dim; ++k) largest = std::max(largest, std::abs(q[k]));
  }
  norm_q_ = free.norm();
  energy_q_ = free.energy();
  local_tolerance_ = options.tolerance * (largest > 0 ? largest : 1);
  local_failures_ = 0;
}

bool GaussSeidel::solve_contact(const ConvexSet& set, const Eigen::Map<const Matrix>& M,
                                const double* q, double* r) const {
  constexpr int projection_steps = 100;
  const bool cone = set.kind == SetKind::cone && set.dim <= 3;
  if (options_.local == Local::newton && (cone || set.kind == SetKind::rolling_cone)) {
    return solve_local_newton(set, M, q, r, options_.friction, local_tolerance_).solved;
  }
  if (options_.local == Local::quartic && cone && solve_local_quartic(set, M, q, r).solved)
    return true;
  return solve_local_projection(set, M, q, r, options_.friction, local_tolerance_, projection_steps)
      .solved;
}

void GaussSeidel::update(int p) {
  const RowView& view = rows_.view();
  const RowBlocks& data = *view.rows;
  const int i = rows_.block(p);
  const ConvexSet& set = view.problem->K.sets[i];
  const int d = set.dim;
  double* lambda = rows_.lambda().data() + view.problem->K.start[i];
  std::array<double, max_block> u{};
  std::array<double, max_block> next{};
  rows_.velocity(p, u.data());
  if (stays_open(set, options_.friction, lambda, u.data())) return;
  const auto M = data.block(view.problem->K, i);
  if (set.has_friction() && M.trace() > 0) {
    std::array<double, max_block> q{};
    for (int r = 0; r < d; ++r) {
      q[r] = u[r];
      for (int c = 0; c < d; ++c) q[r] -= M(r, c) * lambda[c];
      next[r] = lambda[r];
    }
    // The projection is a method of its own: it finds out by itself what sticks.
    const bool stuck = options_.local != Local::projection &&
                       sticks(set, data.inverse(set, i), q.data(), next.data());
    if (!stuck && !solve_contact(set, M, q.data(), next.data())) ++local_failures_;
  } else {
    descend(data, set, i, 1.0, lambda, u.data(), next.data());
    project(set, next.data(), next.data());
  }
  for (int k = 0; k < d; ++k) {
    const double value = next[k];
    next[k] = value - lambda[k];
    lambda[k] = value;
  }
  rows_.changed(p, next.data());
}

void GaussSeidel::sweep() {
  local_failures_ = 0;
  for (int p = 0; p < rows_.size(); ++p) update(p);
}

double GaussSeidel::residual() {
  rows_.refresh();
  const RowView& view = rows_.view();
  const SetProduct& K = view.problem->K;
  NaturalMap map;
  std::array<double, max_block> u{};
  for (int p = 0; p < rows_.size(); ++p) {
    const int i = rows_.block(p);
    rows_.velocity(p, u.data());
    map.add(K.sets[i], options_.friction, rows_.lambda().data() + K.start[i], u.data(),
            view.rows->scale[i]);
  }
  return map.residual(norm_q_, energy_q_);
}

}  // namespace urto
