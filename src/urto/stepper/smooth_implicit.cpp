#include "urto/stepper/smooth_implicit.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace urto {
namespace {

using Mat6 = Eigen::Matrix<double, 6, 6>;

double largest(const Eigen::Ref<const Vector>& v) {
  return v.size() > 0 ? v.cwiseAbs().maxCoeff() : 0.0;
}

// Of six rows and columns, known to the compiler: no product of it allocates.
Eigen::Map<const Mat6> tangent_block(const BlockMatrix& T, int k) {
  return Eigen::Map<const Mat6>(T.values.data() + T.offset[k]);
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

void add_tangents(const ForceTangents& tangents, const BlockMatrix& T, double damping,
                  double stiffness, int dofs, SaddleLu& matrix) {
  for (const ForceTangents::Block& block : tangents.blocks) {
    Mat6 sum = stiffness * block.stiffness;
    if (T.blocks() > 0) sum *= tangent_block(T, block.column / 6);
    sum += damping * block.damping;
    // A system of fewer than six velocities fills the corner of a block.
    for (int c = 0; c < std::min(6, dofs - block.column); ++c) {
      for (int r = 0; r < std::min(6, dofs - block.row); ++r)
        matrix.add(block.row + r, block.column + c, sum(r, c));
    }
  }
}

ImplicitStepper::ImplicitStepper(System& system, const SimulationOptions& options,
                                 const ImplicitScheme& scheme)
    : SmoothStepper(system, options), scheme_(scheme) {}

// q⁺, v⁺ from a⁺, always from the start of the step: adding up corrections on a group would depend on their order.
void ImplicitStepper::place(const Point& p, double h) {
  const ImplicitScheme& s = scheme_;
  increment_ = h * p.state.v + h * h * (s.b0 * p.a + s.b1 * a_);
  if (options_.velocity_constraints) increment_ += h * h * (start_rows_ * eta_);
  trial_state_.v = p.state.v + h * (s.c0 * p.a + s.c1 * a_);
  system_.add_increment(p.state.q, increment_, trial_state_.q);
}

// The right-hand side at the trial state. Returns the size of accelerations there, a scale for corrections.
double ImplicitStepper::evaluate(double h) {
  const int n = system_.nv();
  const ImplicitScheme& s = scheme_;
  measure_rows(trial_state_);
  system_.mass(trial_state_, mass_);
  system_.force(trial_state_, force_);
  const int m = rows_.rows();
  inertia_.resize(n);
  multiply(mass_, a_true_, inertia_);
  reaction_.setZero(n);
  transpose_multiply_add(rows_.J, lambda_, reaction_);
  rhs_.setZero(n + (options_.velocity_constraints ? 2 : 1) * m);
  rhs_.head(n) = force_ + reaction_ - inertia_;
  for (int i = 0; i < rows_.blocks(); ++i) {
    const Law& law = rows_.laws[i];
    for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r) {
      if (is_soft(law)) {
        rhs_[n + r] = (soft_force(i, r) - lambda_[r]) /
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

void ImplicitStepper::add_tangents(double h) {
  const ImplicitScheme& s = scheme_;
  system_.tangents(trial_state_, Tangent::exact, tangents_);
  if (options_.geometric_stiffness)
    system_.geometric_stiffness(trial_state_, rows_, lambda_, tangents_);
  system_.increment_tangent(increment_, tangent_);
  urto::add_tangents(tangents_, tangent_, h * s.c1, h * h * s.b1, system_.nv(), factor_);
}

// [Jᵀ; J T −E]. Rows on velocities are without T: v⁺ depends on a⁺ directly.
void ImplicitStepper::add_constraint_rows(double h) {
  const int n = system_.nv();
  const BlockRows& J = rows_.J;
  for (int i = 0; i < J.blocks(); ++i) {
    const Law& law = rows_.laws[i];
    const bool on_velocity = law.on_velocity || options_.velocity_constraints;
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = J.entries[e];
      for (int r = 0; r < J.height(i); ++r) {
        const double* values = J.values.data() + entry.offset + r * entry.width;
        Eigen::Matrix<double, 1, Eigen::Dynamic, Eigen::RowMajor, 1, max_entry_width> turned =
            Eigen::Map<const Eigen::RowVectorXd>(values, entry.width);
        if (tangent_.blocks() > 0 && !on_velocity) {
          turned.head<6>() = Eigen::Map<const Eigen::Matrix<double, 1, 6>>(values) *
                             tangent_block(tangent_, entry.column / 6);
        }
        const int row = n + J.row_start[i] + r;
        for (int c = 0; c < entry.width; ++c) {
          factor_.add(entry.column + c, row, values[c]);
          factor_.add(row, entry.column + c, turned[c]);
        }
      }
    }
    for (int row = n + J.row_start[i]; row < n + J.row_start[i + 1]; ++row) {
      if (is_soft(law)) {
        const double stiffness = law.stiffness * h * h * scheme_.b1 + law.damping * h * scheme_.c1;
        factor_.add(row, row, -1 / stiffness);
      } else {
        factor_.shift(row, -1);
      }
    }
  }
}

// Columns of η: positions feel them through h² G δη, and so do forces and the rows g.
void ImplicitStepper::add_velocity_constraints(double h) {
  const int n = system_.nv();
  const int m = rows_.rows();
  SparseMatrix turn(n, n);
  std::vector<Eigen::Triplet<double>> entries;
  for (int k = 0; k < tangent_.blocks(); ++k) {
    const auto block = tangent_.block(k);
    for (int c = 0; c < block.cols(); ++c) {
      for (int r = 0; r < block.rows(); ++r)
        entries.emplace_back(tangent_.start[k] + r, tangent_.start[k] + c, block(r, c));
    }
  }
  turn.setFromTriplets(entries.begin(), entries.end());
  if (tangent_.blocks() == 0) turn.setIdentity();
  entries.clear();
  for (const ForceTangents::Block& block : tangents_.blocks) {
    for (int c = 0; c < std::min(6, n - block.column); ++c) {
      for (int r = 0; r < std::min(6, n - block.row); ++r)
        entries.emplace_back(block.row + r, block.column + c, block.stiffness(r, c));
    }
  }
  SparseMatrix K(n, n);
  K.setFromTriplets(entries.begin(), entries.end());
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

bool ImplicitStepper::factorize(double h, Work& work) {
  const int n = system_.nv();
  const int m = rows_.rows();
  factor_.start(n, n + (options_.velocity_constraints ? 2 : 1) * m);
  add_mass(factor_, (1 - scheme_.alpha_m) / (1 - scheme_.alpha_f));
  add_tangents(h);
  add_constraint_rows(h);
  if (options_.velocity_constraints) add_velocity_constraints(h);
  ++work.factorizations;
  return factor_.factorize();
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
double ImplicitStepper::rounding(const Point& p, double h) const {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  return 8 * eps * (1 + largest(p.state.q)) / (h * h * scheme_.b1);
}

double ImplicitStepper::relative_residual() const {
  const double r = rhs_.head(system_.nv()).norm();
  return r > 0 ? r / (force_.norm() + reaction_.norm() + inertia_.norm()) : 0;
}

bool ImplicitStepper::advance(Point& p, double h, Work& work) {
  const ImplicitScheme& s = scheme_;
  // Where a and â belong to different times, their distance is proportional to the step (Brüls and Arnold 2008).
  if (p.h > 0 && p.h != h) p.a = p.a_true + h / p.h * (p.a - p.a_true);
  trial_state_ = p.state;
  trial_state_.t += h;
  a_true_ = p.a_true;
  a_ = ((1 - s.alpha_f) * a_true_ + s.alpha_f * p.a_true - s.alpha_m * p.a) / (1 - s.alpha_m);
  lambda_ = p.lambda;
  if (options_.velocity_constraints) {
    measure_rows(p.state);
    system_.mass(p.state, mass_);
    start_rows_ = to_sparse(inverse(mass_)) * SparseMatrix(to_sparse(rows_.J).transpose());
    eta_.setZero(rows_.rows());
  }
  place(p, h);
  double scale = evaluate(h);
  double last = 0;
  double left = std::numeric_limits<double>::infinity();  // the correction still to come
  bool contracts = true;
  for (int k = 0; left > options_.newton_tolerance * scale && left > rounding(p, h); ++k) {
    // Within a step only: a factor of an earlier step would not be there after a checkpoint, and the bits would differ.
    const bool keep = options_.reuse_factor && k > 0 && contracts;
    if (k == options_.newton_iterations || (!keep && !factorize(h, work))) return false;
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
  const double moved = largest(increment_);
  const double correction = left * h * h * s.b1;
  // With springs so stiff that rounding of positions is a force, the equation of motion cannot hold to better than that.
  work.residual = relative_residual();
  if (moved > 0) work.residual = std::min(work.residual, correction / moved);
  std::swap(p.state, trial_state_);
  p.a = a_;
  p.a_true = a_true_;
  p.lambda = lambda_;
  return true;
}

}  // namespace urto
