// Accelerated projected gradient descent (Nesterov) with backtracking, adaptive restart and the
// best iterate returned. Solves min ½λᵀWλ + qᵀλ over K (recipe 000 §2.8; Mazhar, Heyn, Tasora,
// Negrut 2015), in scaled multipliers. One product with W an iteration: the product at the
// extrapolated point follows from the two before it by linearity.
#include <cmath>

#include "urto/solver/method.h"
#include "urto/solver/scaled_operator.h"

namespace urto {
namespace {

void accelerated_gradient(ConvexTask& task) {
  ScaledOperator N(task.W);
  const auto m = task.W.rows();
  const Vector r = N.S().cwiseProduct(task.q);
  Vector gamma = task.lambda.cwiseQuotient(N.S());
  Vector Ngamma(m);
  Vector next(m);
  Vector Nnext(m);
  Vector y = gamma;
  Vector Ny(m);
  Vector g(m);
  Vector lambda(m);
  Vector u(m);
  N.apply(gamma, Ngamma);
  Ny = Ngamma;
  next.setOnes();
  N.apply(next, Nnext);
  double L = std::max(Nnext.norm() / std::sqrt(static_cast<double>(m)), 1e-12);
  double theta = 1;
  for (int iteration = 0;; ++iteration) {
    task.iterations = iteration;
    lambda.array() = N.S().array() * gamma.array();
    u.array() = Ngamma.array() / N.S().array() + task.q.array();
    if (task.monitor.observe(iteration, lambda, u)) break;

    g = Ny + r;
    for (int trial = 0; trial < 60; ++trial) {
      next = y - g / L;
      project(N.K(), next, next);
      N.apply(next, Nnext);
      // f(γ⁺) ≤ f(y) + g·(γ⁺−y) + L/2‖γ⁺−y‖² for a quadratic f: only its curvature along the step
      // counts. From the differences: the expanded square loses a short step in the rounding of
      // ‖y‖², L grows without end, and the method stands still.
      const double curvature = (next - y).dot(Nnext - Ny);
      if (curvature <= L * (next - y).squaredNorm() * (1 + 1e-12)) break;
      L *= 2;
    }
    const double theta_next = 0.5 * theta * (std::sqrt(theta * theta + 4) - theta);
    double beta = theta * (1 - theta) / (theta * theta + theta_next);
    theta = theta_next;
    if (g.dot(next - gamma) > 0) {
      beta = 0;
      theta = 1;
    }
    y = next + beta * (next - gamma);
    Ny = Nnext + beta * (Nnext - Ngamma);
    gamma.swap(next);
    Ngamma.swap(Nnext);
    L *= 0.9;
    // Linear recurrences for N γ collect rounding: start afresh now and then.
    if (iteration % 100 == 99) {
      N.apply(gamma, Ngamma);
      N.apply(y, Ny);
    }
  }
  task.lambda = task.monitor.best();
}

}  // namespace

void apgd(Run& run) {
  solve_with_lagged_terms(run, accelerated_gradient);
}

}  // namespace urto
