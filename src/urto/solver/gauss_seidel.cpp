#include "urto/solver/gauss_seidel.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "urto/solver/local_contact.h"
#include "urto/solver/natural_map.h"

namespace urto {
namespace {

constexpr int refresh_every = 200;  // sweeps, after which velocities are computed anew
// Momentum (docs/solvers/nsgs.md): more of it, or less caution, diverges on walls.
constexpr double most_ahead = 0.8;
constexpr double growth_allowed = 1.2;

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
  for (const int i : view.all.empty() ? view.blocks : view.all) {
    const double* q = view.rows->q.data() + K.start[i];
    free.add(q, K.sets[i].dim, view.rows->scale[i]);
    for (int k = 0; k < K.sets[i].dim; ++k) largest = std::max(largest, std::abs(q[k]));
  }
  norm_q_ = free.norm();
  energy_q_ = free.energy();
  local_tolerance_ = options.tolerance * (largest > 0 ? largest : 1);
  local_failures_ = 0;
  is_packed_ = is_prepared_ = false;
  contacts_.clear();
  load();
}

// What sweeps need and a measurement does not: most islands of a scene at rest are solved by their
// warm start, for which packing would be the larger half of the work.
void GaussSeidel::prepare() {
  is_prepared_ = true;
  const RowView& view = rows_.view();
  const bool scalar = options_.local == Local::newton && options_.friction == Friction::exact;
  is_packed_ = packed_.set(view, scalar);
  if (!is_packed_ && scalar) prepare_contacts();
  if (options_.momentum) {
    int forces = 0;
    for (const int i : view.blocks) forces += view.problem->K.sets[i].dim;
    from_.resize(forces);
    previous_.resize(forces);
  }
  if (is_packed_) packed_.load(rows_.lambda());
}

void GaussSeidel::prepare_contacts() {
  const RowView& view = rows_.view();
  const SetProduct& K = view.problem->K;
  contacts_.resize(view.blocks.size());
  for (int p = 0; p < rows_.size(); ++p) {
    const int i = rows_.block(p);
    const ConvexSet& set = K.sets[i];
    Contact& contact = contacts_[p];
    contact.known = set.kind == SetKind::cone && set.dim <= 3 &&
                    prepare_cone(view.rows->diagonal.data() + view.rows->start[i], set.dim, set.mu,
                                 contact.local, contact.turn.data());
  }
}

void GaussSeidel::load() {
  unrefreshed_ = 0;
  since_restart_ = 0;
  ahead_ = 0;
  smallest_ = std::numeric_limits<double>::infinity();
  if (is_packed_) {
    packed_.load(rows_.lambda());
  } else {
    rows_.refresh();
  }
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

// In the contact's own tangents and back.
void GaussSeidel::solve_known(Contact& contact, int dim, const double* u, const double* lambda,
                              double* r) {
  const auto [c, s] = contact.turn;
  const double u2 = dim == 3 ? u[2] : 0, lambda2 = dim == 3 ? lambda[2] : 0;
  const std::array<double, 3> own_u{u[0], c * u[1] - s * u2, s * u[1] + c * u2};
  const std::array<double, 3> own_force{lambda[0], c * lambda[1] - s * lambda2,
                                        s * lambda[1] + c * lambda2};
  std::array<double, 3> own{};
  solve_cone(contact.local, own_u.data(), own_force.data(), own.data());
  r[0] = own[0];
  r[1] = c * own[1] + s * own[2];
  if (dim == 3) r[2] = c * own[2] - s * own[1];
}

template <class Access>
void GaussSeidel::update(Access& access, int p) {
  const RowView& view = rows_.view();
  const RowBlocks& data = *view.rows;
  const int i = rows_.block(p);
  const ConvexSet& set = view.problem->K.sets[i];
  const int d = set.dim;
  double* lambda = force(p);
  std::array<double, max_block> u{};
  std::array<double, max_block> next{};
  access.velocity(p, u.data());
  if (stays_open(set, options_.friction, lambda, u.data())) return;
  const auto M = data.block(view.problem->K, i);
  if (!contacts_.empty() && contacts_[p].known) {
    solve_known(contacts_[p], d, u.data(), lambda, next.data());
  } else if (set.has_friction() && M.trace() > 0) {
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
  access.changed(p, next.data());
}

double* GaussSeidel::force(int p) {
  return is_packed_ ? packed_.force(p)
                    : rows_.lambda().data() + rows_.view().problem->K.start[rows_.block(p)];
}

void GaussSeidel::sweep_packed(int step) {
  const auto& runs = packed_.runs();
  const int count = static_cast<int>(runs.size());
  for (int k = step > 0 ? 0 : count - 1; k >= 0 && k < count; k += step) {
    const PackedRows::Run& run = runs[k];
    if (run.kind != PackedRows::Run::Kind::others) {
      packed_.sweep(run, step);
      continue;
    }
    const int first = step > 0 ? run.first : run.first + run.count - 1;
    for (int n = 0; n < run.count; ++n) update(packed_, first + step * n);
  }
}

void GaussSeidel::sweep() {
  local_failures_ = 0;
  if (!is_prepared_) prepare();
  if (++unrefreshed_ > refresh_every) {
    if (is_packed_) packed_.refresh();
    unrefreshed_ = 1;
  }
  if (options_.momentum) extrapolate();
  pass(1);
  if (options_.order == Order::symmetric) pass(-1);
  if (options_.momentum) judge();
}

void GaussSeidel::pass(int step) {
  if (is_packed_) return sweep_packed(step);
  const int all = rows_.size();
  for (int p = step > 0 ? 0 : all - 1; p >= 0 && p < all; p += step) update(rows_, p);
}

// λ = s → y = s + ahead · (s − s_previous), velocities alike.
void GaussSeidel::extrapolate() {
  const RowView& view = rows_.view();
  const double ahead = ahead_;
  double* from = from_.data();
  double* previous = previous_.data();
  for (int p = 0; p < rows_.size(); ++p) {
    double* lambda = force(p);
    const int d = view.problem->K.sets[rows_.block(p)].dim;
    for (int k = 0; k < d; ++k, ++from, ++previous) {
      const double s = lambda[k];
      if (ahead > 0) lambda[k] = s + ahead * (s - *previous);
      *previous = s;
      *from = lambda[k];
    }
  }
  if (!is_packed_) {
    if (ahead > 0 && view.W == nullptr) rows_.refresh();
    return;
  }
  std::vector<BodyLine>& bodies = packed_.bodies();
  if (ahead > 0) {
    for (std::size_t n = 0; n < bodies.size(); ++n) {
      for (int k = 0; k < 8; ++k) {
        const double s = bodies[n].y[k];
        bodies[n].y[k] = s + ahead * (s - previous_bodies_[n].y[k]);
        previous_bodies_[n].y[k] = s;
      }
    }
  } else {
    previous_bodies_ = bodies;
  }
}

// How far the next sweep may start ahead.
void GaussSeidel::judge() {
  const RowView& view = rows_.view();
  const double* from = from_.data();
  const double* previous = previous_.data();
  double along = 0, squares = 0;
  for (int p = 0; p < rows_.size(); ++p) {
    const int i = rows_.block(p);
    const double* lambda = force(p);
    double a = 0, b = 0;
    for (int k = 0; k < view.problem->K.sets[i].dim; ++k, ++from, ++previous) {
      const double f = lambda[k] - *from;
      a += f * (lambda[k] - *previous);
      b += f * f;
    }
    along += view.rows->mean_diagonal[i] * a;
    squares += view.rows->mean_diagonal[i] * b;
  }
  if (along < 0 || squares > growth_allowed * smallest_) {
    since_restart_ = 0;
    smallest_ = squares;
  } else {
    ++since_restart_;
    smallest_ = std::min(smallest_, squares);
  }
  ahead_ = std::min(most_ahead, since_restart_ / (since_restart_ + 3.0));
}

// visit(p, λ, u) for every block, in the tangents in which its force is kept.
template <class Visit>
void GaussSeidel::for_each_velocity(const Visit& visit) const {
  std::array<double, std::size_t{8} * PackedRows::at_once> u{};
  if (!is_packed_) {
    const SetProduct& K = rows_.view().problem->K;
    for (int p = 0; p < rows_.size(); ++p) {
      rows_.velocity(p, u.data());
      visit(p, rows_.lambda().data() + K.start[rows_.block(p)], u.data());
    }
    return;
  }
  for (const PackedRows::Run& run : packed_.runs()) {
    const int stride = packed_.stride(run);
    for (int from = 0; from < run.count; from += PackedRows::at_once) {
      const int count = std::min(PackedRows::at_once, run.count - from);
      packed_.velocities(run, from, count, u.data());
      for (int k = 0; k < count; ++k) {
        const int p = run.first + from + k;
        visit(p, packed_.force(p), u.data() + stride * k);
      }
    }
  }
}

double GaussSeidel::estimate() const {
  const RowView& view = rows_.view();
  NaturalMap map;
  for_each_velocity([&](int p, const double* lambda, const double* u) {
    const int i = rows_.block(p);
    map.add(view.problem->K.sets[i], options_.friction, lambda, u, view.rows->scale[i]);
  });
  return map.residual(norm_q_, energy_q_);
}

double GaussSeidel::restlessness() const {
  const RowView& view = rows_.view();
  const SetProduct& K = view.problem->K;
  double moving = 0, free = 0;
  for_each_velocity([&](int p, const double* lambda, const double* u) {
    const int i = rows_.block(p);
    if (!K.sets[i].has_friction() || !(lambda[0] > 0)) return;
    const double* q = view.rows->q.data() + K.start[i];
    for (int k = 0; k < K.sets[i].dim; ++k) {
      moving += view.rows->scale[i] * u[k] * u[k];
      free += view.rows->scale[i] * q[k] * q[k];
    }
  });
  return free > 0 ? std::sqrt(moving / free) : 0;
}

void GaussSeidel::synchronise() {
  if (unrefreshed_ == 0 && !is_packed_) return;
  unrefreshed_ = 0;
  if (is_packed_) {
    packed_.refresh();
    packed_.store(rows_.x(), rows_.lambda());
  } else {
    rows_.refresh();
  }
}

double GaussSeidel::residual() {
  synchronise();
  return estimate();
}

void GaussSeidel::velocities(Vector& u) {
  synchronise();
  if (u.size() != rows_.lambda().size()) u.resize(rows_.lambda().size());
  const SetProduct& K = rows_.view().problem->K;
  for_each_velocity([&](int p, const double*, const double* own) {
    double* given = u.data() + K.start[rows_.block(p)];
    if (is_packed_) {
      packed_.turn_back(p, own, given);
    } else {
      std::copy_n(own, K.sets[rows_.block(p)].dim, given);
    }
  });
}

}  // namespace urto
