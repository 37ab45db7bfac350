#include "urto/solver/linear_system.h"

namespace urto {

void SaddleSystem::apply(const Vector& y, Vector& out) {
  const StepProblem& p = W_->problem();
  out.resize(size());
  x_ = y.head(n_);
  minus_lambda_ = y.tail(m_);
  if (n_ > 0) {
    multiply_mass(p, x_, top_);
    transpose_multiply_add(p.J, minus_lambda_, top_);
    out.head(n_) = top_;
    multiply(p.J, x_, bottom_);
  } else {
    bottom_.setZero(m_);
  }
  if (W_->compliance().nonZeros() > 0) bottom_.noalias() -= W_->compliance() * minus_lambda_;
  out.tail(m_) = bottom_;
}

void SaddleSystem::right_hand_side(Vector& rhs) const {
  rhs.resize(size());
  if (n_ > 0) rhs.head(n_) = W_->problem().a;
  rhs.tail(m_) = -(n_ > 0 ? W_->problem().b : W_->q());
}

bool SaddleSystem::observe(int iteration, const Vector& y, Run& run) {
  const StepProblem& p = W_->problem();
  run.x = y.head(n_);
  run.has_x = n_ > 0;
  run.lambda = -y.tail(m_);
  u_ = n_ > 0 ? p.b : W_->q();
  double momentum = 0;
  if (n_ > 0) {
    multiply(p.J, run.x, bottom_);
    u_ += bottom_;
    multiply_mass(p, run.x, top_);
    const double size = p.a.norm() + top_.norm();
    top_ -= p.a;
    minus_lambda_ = -run.lambda;
    transpose_multiply_add(p.J, minus_lambda_, top_);
    momentum = size > 0 ? top_.norm() / size : 0;
  }
  if (W_->compliance().nonZeros() > 0) u_.noalias() += W_->compliance() * run.lambda;
  run.iterations = iteration;
  if (!run.monitor.observe(iteration, run.lambda, u_)) return false;
  if (run.monitor.status() != Status::converged || momentum <= run.monitor.tolerance()) return true;
  return run.monitor.limit_reached(iteration);
}

const SparseMatrix& SaddleSystem::lower_triangle(double relative_shift) {
  const StepProblem& p = W_->problem();
  builder_.start(size(), size());
  if (n_ > 0) {
    std::visit([this](const auto& H) { builder_.add(H); }, p.H);
    builder_.add(p.J, n_, 0);
  }
  builder_.finish(part_);
  builder_.start(size(), size());
  const auto add_lower = [this](const SparseMatrix& A, int first, double sign) {
    for (int c = 0; c < A.outerSize(); ++c) {
      for (SparseMatrix::InnerIterator it(A, c); it; ++it) {
        const int row = static_cast<int>(it.row());
        if (row >= c) builder_.add(first + row, first + c, sign * it.value());
      }
    }
  };
  add_lower(part_, 0, 1);
  add_lower(W_->compliance(), n_, -1);
  for (int i = 0; i < W_->blocks(); ++i) {
    for (int r = W_->K().start[i]; r < W_->K().start[i + 1]; ++r)
      builder_.add(n_ + r, n_ + r, -relative_shift * W_->mean_diagonal(i));
  }
  builder_.finish(lower_);
  return lower_;
}

}  // namespace urto
