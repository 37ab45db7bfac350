// Accelerated projected gradient descent (Nesterov) with backtracking, adaptive restart and the
// best iterate returned. Solves min ½λᵀWλ + qᵀλ over K (recipe 000 §2.8; Mazhar, Heyn, Tasora,
// Negrut 2015), in scaled multipliers. One product with W an iteration: the product at the
// extrapolated point follows from the two before it by linearity.
#include <cmath>

#include "urto/solver/method.h"
#include "urto/solver/scaled_operator.h"

namespace urto {
namespace {

class AcceleratedGradient final : public ConvexMethod {
 public:
  void solve(ConvexTask& task) override {
    begin(task);
    iterate(task);
    task.lambda = task.monitor.best();
  }
  bool takes_live_terms() const override { return true; }

 private:
  void begin(ConvexTask& task);
  void iterate(ConvexTask& task);

  ScaledOperator N_;
  Vector r_, gamma_, Ngamma_, next_, Nnext_, y_, Ny_, g_, lambda_, u_, skew_;
};

void AcceleratedGradient::begin(ConvexTask& task) {
  N_.set(task.W, task.options.precondition);
  const auto m = task.W.rows();
  r_ = N_.S().cwiseProduct(task.q);
  gamma_ = task.lambda.cwiseQuotient(N_.S());
  for (Vector* v : {&Ngamma_, &next_, &Nnext_, &Ny_, &g_, &lambda_, &u_}) v->resize(m);
  y_ = gamma_;
  N_.apply(gamma_, Ngamma_);
  Ny_ = Ngamma_;
  next_.setOnes();
  N_.apply(next_, Nnext_);
}

void AcceleratedGradient::iterate(ConvexTask& task) {
  const auto m = task.W.rows();
  const bool skewed = task.live && !task.W.is_symmetric();
  double L = std::max(Nnext_.norm() / std::sqrt(static_cast<double>(m)), 1e-12);
  double theta = 1;
  for (int iteration = 0;; ++iteration) {
    task.iterations = iteration;
    lambda_.array() = N_.S().array() * gamma_.array();
    u_.array() = Ngamma_.array() / N_.S().array() + task.q.array();
    if (skewed) {
      task.W.apply_skew(lambda_, skew_);
      u_ += skew_;
    }
    if (task.monitor.observe(iteration, lambda_, u_)) break;

    g_ = Ny_ + r_;
    if (task.live) add_de_saxce(N_.K(), g_, g_);
    if (skewed) {
      lambda_.array() = N_.S().array() * y_.array();
      task.W.apply_skew(lambda_, skew_);
      g_.array() += N_.S().array() * skew_.array();
    }
    for (int trial = 0; trial < 60; ++trial) {
      next_ = y_ - g_ / L;
      project(N_.K(), next_, next_);
      N_.apply(next_, Nnext_);
      // f(γ⁺) ≤ f(y) + g·(γ⁺−y) + L/2‖γ⁺−y‖² for a quadratic f: only its curvature along the step
      // counts. From the differences: the expanded square loses a short step in the rounding of
      // ‖y‖², L grows without end, and the method stands still.
      const double curvature = (next_ - y_).dot(Nnext_ - Ny_);
      if (curvature <= L * (next_ - y_).squaredNorm() * (1 + 1e-12)) break;
      L *= 2;
    }
    const double theta_next = 0.5 * theta * (std::sqrt(theta * theta + 4) - theta);
    double beta = theta * (1 - theta) / (theta * theta + theta_next);
    theta = theta_next;
    if (g_.dot(next_ - gamma_) > 0) {
      beta = 0;
      theta = 1;
    }
    y_ = next_ + beta * (next_ - gamma_);
    Ny_ = Nnext_ + beta * (Nnext_ - Ngamma_);
    gamma_.swap(next_);
    Ngamma_.swap(Nnext_);
    L *= 0.9;
    // Linear recurrences for N γ collect rounding: start afresh now and then.
    if (iteration % 100 == 99) {
      N_.apply(gamma_, Ngamma_);
      N_.apply(y_, Ny_);
    }
  }
}

}  // namespace

std::unique_ptr<Method> make_apgd() {
  return with_lagged_terms(std::make_unique<AcceleratedGradient>());
}

}  // namespace urto
