#include "urto/stepper/smooth_implicit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace urto {
namespace {

double largest(const Eigen::Ref<const Vector>& v) {
  return v.size() > 0 ? v.cwiseAbs().maxCoeff() : 0.0;
}

}  // namespace

ImplicitScheme implicit_euler_scheme() {
  return {.b1 = 1, .c1 = 1};
}

ImplicitScheme newmark_scheme(double gamma, double beta) {
  return {.b0 = 0.5 - beta, .b1 = beta, .c0 = 1 - gamma, .c1 = gamma};
}

ImplicitScheme hht_scheme(double alpha) {
  ImplicitScheme s = newmark_scheme(0.5 - alpha, 0.25 * (1 - alpha) * (1 - alpha));
  s.alpha_f = -alpha;  // not α: recipe 000, E37
  return s;
}

ImplicitScheme generalised_alpha_scheme(double rho) {
  const double alpha_m = (2 * rho - 1) / (1 + rho);
  const double alpha_f = rho / (1 + rho);
  const double gamma = 0.5 + alpha_f - alpha_m;
  ImplicitScheme s = newmark_scheme(gamma, 0.25 * (gamma + 0.5) * (gamma + 0.5));
  s.alpha_m = alpha_m;
  s.alpha_f = alpha_f;
  return s;
}

ImplicitStepper::ImplicitStepper(const System& system, const SimulationOptions& options,
                                 const ImplicitScheme& scheme)
    : SmoothStepper(system, options),
      scheme_(scheme),
      mean_mass_(options.stepper.mean_mass && scheme.alpha_m == 0 && scheme.alpha_f == 0) {}

// q⁺, v⁺ from a⁺, always from the start of the step: adding up corrections on a group would depend
// on their order.
void ImplicitStepper::place(const MotionPoint& p, double h) {
  const ImplicitScheme& s = scheme_;
  increment_ = h * p.state.v + h * h * (s.b0 * p.a + s.b1 * a_);
  if (options_.velocity_constraints) increment_ += h * h * (start_rows_ * eta_);
  trial_state_.v = p.state.v + h * (s.c0 * p.a + s.c1 * a_);
  system_.add_increment(p.state.q, increment_, trial_state_.q);
}

void ImplicitStepper::start_mean_mass(const MotionPoint& p) {
  const double ratio = scheme_.c0 / scheme_.c1;
  start_ = &p.state;
  measure_rows(p.state);
  system_.mass(p.state, start_mass_);
  system_.force(p.state, start_force_);
  transpose_multiply_add(rows_.J, p.lambda, start_force_);
  start_force_ *= ratio;
  start_a_ = ratio * p.a;
}

// The right-hand side at the trial state. Returns the size of accelerations there, a scale for
// corrections.
double ImplicitStepper::evaluate(double h) {
  const int n = system_.nv();
  const ImplicitScheme& s = scheme_;
  measure_rows(trial_state_);
  system_.mass(trial_state_, mass_);
  system_.force(trial_state_, force_);
  const int m = rows_.rows();
  inertia_.resize(n);
  mean_a_ = a_true_;
  if (mean_mass_) mean_a_ += start_a_;
  multiply(mass_, mean_a_, inertia_);
  if (mean_mass_) {
    multiply_add(start_mass_, mean_a_, inertia_);
    inertia_ = 0.5 * inertia_ - start_force_;
  }
  reaction_.setZero(n);
  transpose_multiply_add(rows_.J, lambda_, reaction_);
  rhs_.setZero(n + (options_.velocity_constraints ? 2 : 1) * m);
  rhs_.head(n) = force_ + reaction_ - inertia_;
  for (int i = 0; i < rows_.blocks(); ++i) {
    const Law& law = rows_.laws[i];
    for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r) {
      if (is_soft(law)) {
        rhs_[n + r] = (soft_force(rows_, rate_, i, r) - lambda_[r]) /
                      (law.stiffness * h * h * s.b1 + law.damping * h * s.c1);
      } else if (law.on_velocity) {
        rhs_[n + r] = -rate_[r] / (h * s.c1);
      } else if (options_.velocity_constraints) {
        rhs_[n + r] = -rate_[r] / (h * s.c1);
        rhs_[n + m + r] = -rows_.g[r] / (h * h * s.b1);
      } else {
        rhs_[n + r] = -rows_.g[r] / (h * h * s.b1);
      }
    }
  }
  double scale = std::max(largest(a_true_), largest(a_));
  for (int k = 0; k < mass_.blocks(); ++k) {
    const auto block = mass_.block(k);
    for (int c = 0; c < block.cols(); ++c) {
      const double f =
          std::max(std::abs(force_[mass_.start[k] + c]), std::abs(reaction_[mass_.start[k] + c]));
      scale = std::max(scale, f / block(c, c));
    }
  }
  return scale;
}

// −(Jᵀλ)_q + (M â)_q.
void ImplicitStepper::add_geometric_terms(double factor, BlockMatrix& out) {
  if (!options_.geometric_stiffness) return;
  system_.add_geometric_stiffness(trial_state_, rows_, lambda_, factor, out);
  system_.add_inertial_stiffness(trial_state_, mean_a_, (mean_mass_ ? 0.5 : 1) * factor, out);
}

// κM + h c₁ D + h² b₁ K T: T stands behind what depends on positions only.
void ImplicitStepper::add_tangents(double h) {
  const ImplicitScheme& s = scheme_;
  const double by_position = h * h * s.b1;
  system_.increment_tangent(increment_, tangent_);
  matrix_.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::general);
  system_.assemble(trial_state_, {.stiffness = by_position}, Tangent::exact, matrix_);
  add_geometric_terms(by_position, matrix_);
  if (tangent_.blocks() > 0) multiply_right(matrix_, tangent_);
  const double kappa = (mean_mass_ ? 0.5 : 1) * (1 - s.alpha_m) / (1 - s.alpha_f);
  system_.assemble(trial_state_, {.mass = kappa, .damping = h * s.c1}, Tangent::exact, matrix_);
  if (mean_mass_) system_.assemble(*start_, {.mass = kappa}, Tangent::exact, matrix_);
  matrix_.finish_assembly();
  factor_.add(matrix_);
}

// [Jᵀ; J T −E]. Rows on velocities are without T: v⁺ depends on a⁺ directly.
void ImplicitStepper::add_constraint_rows(double h) {
  rules_.clear();
  for (const Law& law : rows_.laws) {
    const double stiffness = law.stiffness * h * h * scheme_.b1 + law.damping * h * scheme_.c1;
    rules_.push_back(is_soft(law) ? SaddleRow{.diagonal = -1 / stiffness, .shifted = false}
                                  : SaddleRow{});
  }
  const bool turns = tangent_.blocks() > 0 && !options_.velocity_constraints;
  if (turns) {
    multiply_right(rows_.J, tangent_, turned_);
    for (int i = 0; i < rows_.blocks(); ++i) {
      if (!rows_.laws[i].on_velocity || rows_.J.entry_start[i] == rows_.J.entry_start[i + 1])
        continue;
      const int first = rows_.J.entries[rows_.J.entry_start[i]].offset;
      const BlockRows::Entry& last = rows_.J.entries[rows_.J.entry_start[i + 1] - 1];
      std::copy(rows_.J.values.begin() + first,
                rows_.J.values.begin() + last.offset + last.width * rows_.J.height(i),
                turned_.values.begin() + first);
    }
  }
  factor_.add_rows(rows_.J, turns ? turned_ : rows_.J, rules_);
}

// Columns of η: positions feel them through h² G δη, and so do forces and the rows g.
void ImplicitStepper::add_velocity_constraints(double h) {
  const int n = system_.nv();
  const int m = rows_.rows();
  SparseMatrix turn(n, n);
  if (tangent_.blocks() > 0) {
    turn = to_sparse(tangent_);
  } else {
    turn.setIdentity();
  }
  BlockMatrix stiffness;
  stiffness.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::general);
  system_.assemble(trial_state_, {.stiffness = 1}, Tangent::exact, stiffness);
  add_geometric_terms(1, stiffness);
  stiffness.finish_assembly();
  const SparseMatrix K = to_sparse(stiffness);
  const SparseMatrix moved = turn * start_rows_;
  const SparseMatrix force = h * h * (K * moved);
  const SparseMatrix J = to_sparse(rows_.J);
  const SparseMatrix turned = J * turn;
  const SparseMatrix error = J * moved / scheme_.b1;
  const auto held = [&](int row) {
    const auto& start = rows_.J.row_start;
    const int block =
        static_cast<int>(std::upper_bound(start.begin(), start.end(), row) - start.begin()) - 1;
    return !is_soft(rows_.laws[block]) && !rows_.laws[block].on_velocity;
  };
  const auto add = [&](const SparseMatrix& A, int row, int column, bool check) {
    for (int c = 0; c < A.outerSize(); ++c) {
      for (SparseMatrix::InnerIterator it(A, c); it; ++it) {
        if (!check || held(static_cast<int>(it.row())))
          factor_.add(row + static_cast<int>(it.row()), column + c, it.value());
      }
    }
  };
  add(force, 0, n + m, false);
  add(turned, n + m, 0, true);
  add(error, n + m, n + m, true);
  for (int r = 0; r < m; ++r) {
    if (held(r)) {
      factor_.shift(n + m + r, 1);
    } else {
      factor_.add(n + m + r, n + m + r, 1);
    }
  }
}

bool ImplicitStepper::factorize(double h, KeptLu::Pivots pivots, Work& work) {
  const int n = system_.nv();
  const int m = rows_.rows();
  factor_.start(n, n + (options_.velocity_constraints ? 2 : 1) * m);
  add_tangents(h);
  add_constraint_rows(h);
  if (options_.velocity_constraints) add_velocity_constraints(h);
  ++work.factorizations;
  return factor_.factorize(pivots);
}

void ImplicitStepper::correct() {
  const int n = system_.nv();
  const int m = rows_.rows();
  factor_.solve(rhs_, solution_);
  a_ += solution_.head(n);
  a_true_ += (1 - scheme_.alpha_m) / (1 - scheme_.alpha_f) * solution_.head(n);
  lambda_ -= solution_.segment(n, m);
  if (options_.velocity_constraints) eta_ += solution_.tail(m);
}

// What the rounding of positions does to an acceleration: below it Newton only stirs.
double ImplicitStepper::rounding(const MotionPoint& p, double h) const {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  return 8 * eps * (1 + largest(p.state.q)) / (h * h * scheme_.b1);
}

void ImplicitStepper::certify(const MotionPoint& before, const MotionPoint& after, double h,
                              MotionCertifier& certifier) const {
  const ImplicitScheme& s = scheme_;
  if (mean_mass_)
    certifier.check_mean_balance(h, s.c1, rounding(after, h));
  else
    certifier.check_force_balance(rounding(after, h));
  // The method's acceleration before, as it belongs to a step of this length.
  const double ratio = before.h > 0 ? h / before.h : 1;
  Vector& wanted = certifier.buffer(0);
  Vector& found = certifier.buffer(1);
  const auto a = before.a_true + ratio * (before.a - before.a_true);
  wanted = before.state.v + h * (s.c0 * a + s.c1 * after.a);
  certifier.check_equal(after.state.v, wanted);
  found = (1 - s.alpha_m) * after.a + s.alpha_m * a;
  wanted = (1 - s.alpha_f) * after.a_true + s.alpha_f * before.a_true;
  certifier.check_equal(found, wanted);
  // With velocity constraints positions move by the second multipliers besides, which only the
  // joints can judge.
  if (!options_.velocity_constraints) {
    wanted = h * before.state.v + h * h * (s.b0 * a + s.b1 * after.a);
    certifier.check_increment(wanted);
  }
  certifier.check_positions();
  certifier.check_velocities(!options_.velocity_constraints);
}

// G = M⁻¹Jᵀ, a column per row of J. False where M is not positive definite.
bool ImplicitStepper::condense_start_rows() {
  if (!mass_factor_.factorize(mass_)) return false;
  std::vector<Eigen::Triplet<double>> entries;
  const SparseMatrix rows = SparseMatrix(to_sparse(rows_.J).transpose());
  Vector column;
  for (int r = 0; r < rows.cols(); ++r) {
    column = rows.col(r);
    mass_factor_.solve(column);
    for (int k = 0; k < column.size(); ++k) {
      if (column[k] != 0) entries.emplace_back(k, r, column[k]);
    }
  }
  start_rows_.resize(system_.nv(), rows_.rows());
  start_rows_.setFromTriplets(entries.begin(), entries.end());
  return true;
}

bool ImplicitStepper::advance(MotionPoint& p, double h, Work& work) {
  const ImplicitScheme& s = scheme_;
  // Where a and â belong to different times, their distance is proportional to the step (Brüls and
  // Arnold 2008).
  if (p.h > 0 && p.h != h) p.a = p.a_true + h / p.h * (p.a - p.a_true);
  trial_state_ = p.state;
  trial_state_.t += h;
  a_true_ = p.a_true;
  a_ = ((1 - s.alpha_f) * a_true_ + s.alpha_f * p.a_true - s.alpha_m * p.a) / (1 - s.alpha_m);
  lambda_ = p.lambda;
  if (options_.velocity_constraints) {
    measure_rows(p.state);
    system_.mass(p.state, mass_);
    if (!condense_start_rows()) return false;
    eta_.setZero(rows_.rows());
  }
  if (mean_mass_) start_mean_mass(p);
  place(p, h);
  double scale = evaluate(h);
  double last = 0;
  double left = std::numeric_limits<double>::infinity();  // the correction still to come
  bool contracts = true;
  for (int k = 0; left > options_.newton_tolerance * scale && left > rounding(p, h); ++k) {
    // Within a step only: neither a factor nor the pivots of an earlier step would be there after a
    // checkpoint, and the bits would differ.
    const bool keep = options_.reuse_factor && k > 0 && contracts;
    const KeptLu::Pivots pivots = k > 0 ? KeptLu::Pivots::kept : KeptLu::Pivots::chosen;
    if (k == options_.newton_iterations || (!keep && !factorize(h, pivots, work))) return false;
    correct();
    ++work.iterations;
    const double size = largest(solution_.head(system_.nv()));
    if (!std::isfinite(size)) return false;
    place(p, h);
    scale = evaluate(h);
    // Without a measured rate a correction promises no more than itself.
    const double rate = k > 0 && last > 0 ? size / last : 1;
    left = rate < 1 ? size * rate / (1 - rate) : size;
    contracts = k == 0 || rate < 0.1;
    last = size;
  }
  if (!trial_state_.q.allFinite()) return false;
  change_ = h * (s.c0 * p.a + s.c1 * a_);
  to_rounding_ = left <= rounding(p, h);
  std::swap(p.state, trial_state_);
  p.a = a_;
  p.a_true = a_true_;
  p.lambda = lambda_;
  return true;
}

}  // namespace urto
