#include "urto/stepper/alpha_index3.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "urto/stepper/alpha_helpers.h"

namespace urto {

std::string AlphaIndex3::unknown(const Interactions& rows) {
  for (const Law& law : rows.laws) {
    if (law.kind == LawKind::box) return "dry friction or a bounded motor";
    if (alpha_rows::is_contact(law) && (is_soft(law) || law.cohesion != 0))
      return "a soft or cohesive contact";
    if (alpha_rows::is_contact(law) && law.dim > 1) return "a contact with friction";
    if (law.kind == LawKind::equality && law.on_velocity && is_soft(law)) return "a soft motor";
  }
  return "";
}

// Of what is zero at the solution, divided so that all has the unit of a momentum or a velocity.
void AlphaIndex3::residual(const AlphaStep& step, const Interactions& rows, const Vector& lambda,
                           const Request& request) {
  const int n = system_.nv(), m = rows.rows();
  const double h = step.h, s = step.scheme.s();
  system_.force(step.end, force_);
  force_ += request.besides;
  system_.mass(step.end, mass_);
  multiply(mass_, step.a_hat, inertia_);
  rate_.resize(m);
  multiply(rows.J, step.end.v, rate_);
  active_.assign(rows.blocks(), 1);
  Vector acting = lambda;
  rhs_.setZero(n + m);
  double off_rows = 0;
  const double rounding = gap_rounding(step.start.q) / (h * s);
  for (int i = 0; i < rows.blocks(); ++i) {
    const Law& law = rows.laws[i];
    const int first = rows.J.row_start[i];
    if (alpha_rows::is_contact(law) &&
        lambda[first] - request.weight[first] / (h * h) * rows.g[first] < 0) {
      active_[i] = 0;
      acting[first] = 0;
      rhs_[n + first] = h * lambda[first];
      continue;
    }
    for (int r = first; r < first + law.dim; ++r) {
      const double rate = rate_[r] + rows.g_t[r];
      if (is_soft(law)) {
        const double scale = h * s * law.stiffness + law.damping;
        rhs_[n + r] = -(lambda[r] + law.stiffness * rows.g[r] + law.damping * rate) / scale;
      } else {
        rhs_[n + r] = law.on_velocity ? -rate : -rows.g[r] / (h * s);
      }
      off_rows = std::max(off_rows, std::abs(rhs_[n + r]) - (law.on_velocity ? 0 : rounding));
    }
  }
  reaction_.setZero(n);
  transpose_multiply_add(rows.J, acting, reaction_);
  rhs_.head(n) = -h * (inertia_ - force_ - reaction_);
  multiply(mass_, step.end.v, solution_);
  const double momentum =
      h * (inertia_.norm() + force_.norm() + reaction_.norm()) + solution_.norm();
  const double velocity = step.end.v.lpNorm<Eigen::Infinity>() +
                          step.start.v.lpNorm<Eigen::Infinity>() +
                          h * step.a.lpNorm<Eigen::Infinity>();
  relative_ = momentum > 0 ? rhs_.head(n).norm() / momentum : rhs_.head(n).norm();
  relative_ = std::max(relative_, velocity > 0 ? off_rows / velocity : off_rows);
  // A contact that has left must have given its force back.
  for (int i = 0; i < rows.blocks(); ++i) {
    if (active_[i] == 0 && lambda[rows.J.row_start[i]] != 0) relative_ = std::max(relative_, 1.0);
  }
}

bool AlphaIndex3::correct(AlphaStep& step, const Interactions& rows, Vector& lambda) {
  const int n = system_.nv(), m = rows.rows();
  const double h = step.h, s = step.scheme.s();
  matrix_.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::general);
  system_.assemble(step.end, {.stiffness = h * h * s}, Tangent::exact, matrix_);
  system_.add_geometric_stiffness(step.end, rows, lambda, h * h * s, matrix_);
  system_.add_inertial_stiffness(step.end, step.a_hat, h * h * s, matrix_);
  if (step.turn.blocks() > 0) multiply_right(matrix_, step.turn);
  system_.assemble(step.end, {.mass = step.scheme.k(), .damping = h}, Tangent::exact, matrix_);
  matrix_.finish_assembly();
  system_.rate_tangent(step.end, rows, turning_);
  if (step.turn.blocks() > 0) {
    multiply_right(rows.J, step.turn, lower_);
    multiply_right(turning_, step.turn, turned_);
  } else {
    lower_ = rows.J;
    turned_ = turning_;
  }
  rules_.clear();
  for (int i = 0; i < rows.blocks(); ++i) {
    const Law& law = rows.laws[i];
    if (active_[i] == 0) {
      rules_.push_back({.acts = false, .holds = false, .diagonal = 1, .shifted = false});
      continue;
    }
    const double scale = h * s * law.stiffness + law.damping;
    rules_.push_back(is_soft(law) ? SaddleRow{.diagonal = -1 / (h * scale), .shifted = false}
                                  : SaddleRow{});
    if (!law.on_velocity) continue;
    for (int e = lower_.entry_start[i]; e < lower_.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = lower_.entries[e];
      for (int k = entry.offset; k < entry.offset + entry.width * law.dim; ++k)
        lower_.values[k] = rows.J.values[k] + h * s * turned_.values[k];
    }
  }
  factor_.start(n, n + m);
  factor_.add(matrix_);
  factor_.add_rows(rows.J, lower_, rules_);
  if (!factor_.factorize()) return false;
  factor_.solve(rhs_, solution_);
  if (!solution_.allFinite()) return false;
  step.add_free_velocity(solution_.head(n));
  lambda -= solution_.tail(m) / h;
  for (int i = 0; i < rows.blocks(); ++i) {
    if (active_[i] == 0) lambda[rows.J.row_start[i]] = 0;
  }
  return true;
}

std::string AlphaIndex3::solve(AlphaStep& step, Interactions& rows, Vector& lambda,
                               const Request& request) {
  double last = std::numeric_limits<double>::infinity();
  for (iterations_ = 0;; ++iterations_) {
    step.follow(system_);
    system_.measure(step.end, rows);
    residual(step, rows, lambda, request);
    if (!std::isfinite(relative_)) return "a residual that is not a number";
    // Rounding ends the descent where the goal is below it.
    if (relative_ <= request.goal ||
        (iterations_ > 3 && relative_ <= 10 * request.goal && relative_ >= 0.5 * last))
      return {};
    if (iterations_ == request.iterations)
      return fmt::format("no convergence of Newton's iteration: a residual of {:.1e}", relative_);
    last = relative_;
    if (!correct(step, rows, lambda)) return "a singular Newton matrix";
  }
}

}  // namespace urto
