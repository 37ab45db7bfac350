#include "urto/stepper/motion_certificate.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace urto {
namespace {

constexpr double eps = std::numeric_limits<double>::epsilon();
constexpr double ulps = 16;  ///< of a coordinate that passed through a few operations

double largest_entry(const Vector& v) {
  return v.size() > 0 ? v.cwiseAbs().maxCoeff() : 0.0;
}

}  // namespace

void MotionCertifier::grow(double& worst, double value) {
  if (!(value <= worst)) worst = value;  // a NaN stays
}

void MotionCertifier::look_at(const MotionPoint& before, const MotionPoint& after,
                              double tolerance) {
  before_ = &before;
  after_ = &after;
  tolerance_ = tolerance;
  const State& s = after.state;
  system_.interactions(s, {.equalities_only = true, .velocity_equalities = true}, rows_, true);
  rate_.setZero(rows_.rows());
  multiply(rows_.J, s.v, rate_);
  for (int r = 0; r < rows_.rows(); ++r) rate_[r] += rows_.g_t[r];
  difference(system_.layout(), s.q, before.state.q, increment_);
  reach_ = 1 + largest_entry(s.q);
  moved_ = std::max(largest_entry(increment_), ulps * eps * reach_);
}

// What a few units in the last place of q do to the forces: Σ_j |∂f_i/∂q_j| · ulps · ε (1 + ‖q‖),
// and to M â. `matrix_` is M.
double MotionCertifier::force_rounding(double unknown) {
  Vector& sum = increment_;
  work_.setConstant(system_.nv(), unknown);
  sum.setZero(system_.nv());
  add_magnitudes(matrix_, work_, sum);
  const double of_inertia = sum.norm();
  matrix_.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::general);
  system_.assemble(after_->state, {.stiffness = 1}, Tangent::exact, matrix_);
  matrix_.finish_assembly();
  work_.setConstant(system_.nv(), ulps * eps * reach_);
  sum.setZero();
  add_magnitudes(matrix_, work_, sum);
  const double rounding = sum.norm();
  // Stiff joints are forces as well.
  double soft = 0;
  for (int i = 0; i < rows_.blocks(); ++i) {
    if (is_soft(rows_.laws[i])) soft += rows_.laws[i].stiffness * rows_.laws[i].dim;
  }
  return of_inertia + rounding + soft * ulps * eps * reach_;
}

void MotionCertifier::check_force_balance(double unknown, const Vector* besides) {
  const State& s = after_->state;
  system_.force(s, force_);
  if (besides != nullptr) force_ += *besides;
  matrix_.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::symmetric);
  system_.assemble(s, {.mass = 1}, Tangent::exact, matrix_);
  matrix_.finish_assembly();
  multiply(matrix_, after_->a_true, inertia_);
  reaction_.setZero(system_.nv());
  for (int i = 0; i < rows_.blocks(); ++i) {
    transpose_multiply_add_block(rows_.J, i, after_->lambda.data() + rows_.J.row_start[i],
                                 reaction_.data());
  }
  judge_balance((inertia_ - force_ - reaction_).norm(),
                inertia_.norm() + force_.norm() + reaction_.norm(), unknown);
}

void MotionCertifier::check_mean_balance(double h, double theta, double unknown) {
  const auto add_forces = [&](const State& s, const Interactions& rows, const Vector& lambda,
                              double part) {
    system_.force(s, off_);
    force_ += part * off_;
    along_ = part * lambda;
    transpose_multiply_add(rows.J, along_, reaction_);
  };
  force_.setZero(system_.nv());
  reaction_.setZero(system_.nv());
  system_.interactions(before_->state, {.equalities_only = true, .velocity_equalities = true},
                       at_rows_);
  add_forces(before_->state, at_rows_, before_->lambda, 1 - theta);
  add_forces(after_->state, rows_, after_->lambda, theta);
  matrix_.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::symmetric);
  for (const State* s : {&before_->state, &after_->state})
    system_.assemble(*s, {.mass = 0.5}, Tangent::exact, matrix_);
  matrix_.finish_assembly();
  work_ = (after_->state.v - before_->state.v) / h;
  multiply(matrix_, work_, inertia_);
  judge_balance((inertia_ - force_ - reaction_).norm(),
                inertia_.norm() + force_.norm() + reaction_.norm(), unknown);
}

// What forces lack, and that soft joints are the springs they should be.
void MotionCertifier::judge_balance(double off, double size, double unknown) {
  double soft_off = 0, soft_size = 0;
  for (int i = 0; i < rows_.blocks(); ++i) {
    const Law& law = rows_.laws[i];
    if (!is_soft(law)) continue;
    for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r) {
      const double spring = -(law.stiffness * rows_.g[r] + law.damping * rate_[r]);
      soft_off = std::max(soft_off, std::abs(after_->lambda[r] - spring));
      soft_size += std::abs(spring) + std::abs(after_->lambda[r]);
    }
  }
  if (off > tolerance_ * size || soft_off > tolerance_ * (size + soft_size)) {
    const double rounding = force_rounding(unknown);
    off = std::max(0.0, off - rounding);
    soft_off = std::max(0.0, soft_off - rounding);
  }
  grow(out_.momentum, size > 0 ? off / size : off);
  grow(out_.momentum, size + soft_size > 0 ? soft_off / (size + soft_size) : soft_off);
}

void MotionCertifier::check_positions() {
  for (int i = 0; i < rows_.blocks(); ++i) {
    if (!holds_position(rows_.laws[i])) continue;
    for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r) {
      const double off = std::max(0.0, std::abs(rows_.g[r]) - ulps * eps * reach_ * reach_);
      grow(out_.natural_map, std::isnan(rows_.g[r]) ? rows_.g[r] : off / moved_);
    }
  }
}

void MotionCertifier::check_velocities(bool motors_only) {
  double fastest = std::max(largest_entry(after_->state.v), largest_entry(before_->state.v));
  // Slower than what a position could show, a body is at rest.
  const double time = after_->state.t - before_->state.t;
  if (time > 0) fastest = std::max(fastest, ulps * eps * reach_ / time);
  for (int i = 0; i < rows_.blocks(); ++i) {
    if (is_soft(rows_.laws[i]) || (motors_only && !rows_.laws[i].on_velocity)) continue;
    for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r) {
      const double size = fastest + std::abs(rows_.g_t[r]);
      grow(out_.natural_map, size > 0 ? std::abs(rate_[r]) / size : std::abs(rate_[r]));
    }
  }
}

void MotionCertifier::check_accelerations(double omega) {
  along_.setZero(rows_.rows());
  multiply(rows_.J, after_->a_true, along_);
  const double scale = largest_entry(after_->a_true);
  for (int i = 0; i < rows_.blocks(); ++i) {
    const Law& law = rows_.laws[i];
    if (is_soft(law)) continue;
    const bool position = !law.on_velocity;
    for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r) {
      const double pull =
          (position ? 2 : 1) * omega * rate_[r] + (position ? omega * omega * rows_.g[r] : 0);
      const double size = scale + std::abs(rows_.jdot_v[r]) + std::abs(pull);
      const double off = std::abs(along_[r] + rows_.jdot_v[r] + pull);
      grow(out_.natural_map, size > 0 ? off / size : off);
    }
  }
}

void MotionCertifier::check_increment(const Vector& increment) {
  system_.add_increment(before_->state.q, increment, placed_);
  difference(system_.layout(), placed_, after_->state.q, off_);
  const double rounding = ulps * eps * reach_;
  grow(out_.momentum, std::max(0.0, largest_entry(off_) - rounding) / moved_);
  if (!off_.allFinite()) out_.momentum = NAN;
}

void MotionCertifier::check_equal(const Vector& x, const Vector& y) {
  const double size = largest_entry(x) + largest_entry(y);
  const double off = x.size() > 0 ? (x - y).cwiseAbs().maxCoeff() : 0;
  grow(out_.momentum, size > 0 ? std::max(0.0, off - ulps * eps * size) / size : off);
}

void MotionCertifier::check_linearised(double h, bool trapezoidal) {
  const DetectionQuery held{.equalities_only = true, .velocity_equalities = true};
  at_ = before_->state;
  system_.interactions(at_, held, at_rows_);
  errors_ = at_rows_.g;
  drifts_ = at_rows_.g_t;
  system_.force(at_, force_);
  if (trapezoidal) {
    work_ = h * before_->state.v;
    system_.add_increment(before_->state.q, work_, at_.q);
    at_.t += h;
    system_.interactions(at_, held, at_rows_);
    system_.force(at_, off_);
    force_ = 0.5 * (force_ + off_);
  }
  const double part = trapezoidal ? 0.5 * h : h;
  matrix_.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::general);
  system_.assemble(at_, {.mass = 1, .damping = part}, Tangent::exact, matrix_);
  matrix_.finish_assembly();
  stiffness_.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::general);
  system_.assemble(at_, {.stiffness = part * part}, Tangent::exact, stiffness_);
  stiffness_.finish_assembly();
  // (M + θhD)(v⁺ − v) + θ²h²K (v⁺, less v where the forces were predicted) = h f + h Jᵀλ.
  off_ = after_->state.v - before_->state.v;
  multiply(matrix_, off_, inertia_);
  if (trapezoidal) {
    multiply_add(stiffness_, off_, inertia_);
  } else {
    multiply_add(stiffness_, after_->state.v, inertia_);
  }
  reaction_.setZero(system_.nv());
  transpose_multiply_add(at_rows_.J, after_->lambda, reaction_);
  const double size = inertia_.norm() + h * force_.norm() + h * reaction_.norm();
  const double off = (inertia_ - h * force_ - h * reaction_).norm();
  grow(out_.momentum, size > 0 ? off / size : off);
  check_linearised_rows(h, part);
  Vector& increment = buffers_[0];
  increment = h * after_->state.v;
  if (trapezoidal) increment = 0.5 * (increment + h * before_->state.v);
  check_increment(increment);
}

void MotionCertifier::check_linearised_rows(double h, double part) {
  along_.setZero(at_rows_.rows());
  multiply(at_rows_.J, after_->state.v, along_);
  const double fastest = largest_entry(after_->state.v);
  for (int i = 0; i < at_rows_.blocks(); ++i) {
    const Law& law = at_rows_.laws[i];
    const double resistance = part * law.stiffness + law.damping;
    for (int r = at_rows_.J.row_start[i]; r < at_rows_.J.row_start[i + 1]; ++r) {
      double wanted = -drifts_[r];
      if (is_soft(law)) {
        wanted -= law.stiffness / resistance * errors_[r] + after_->lambda[r] / resistance;
      } else if (!law.on_velocity) {
        wanted -= errors_[r] / h;
      }
      const double speed = fastest + std::abs(wanted);
      const double missed = std::abs(along_[r] - wanted);
      grow(out_.natural_map, speed > 0 ? missed / speed : missed);
    }
  }
}

}  // namespace urto
