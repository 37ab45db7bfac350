// P-SPG-FB: spectral projected gradient with a diagonal preconditioner, a non-monotone line search
// and the best iterate as fallback (recipe 000 §2.8; Heyn, Anitescu, Tasora, Negrut 2013; Birgin,
// Martínez, Raydan 2000). The preconditioner is the change of variables of scaled_operator.h. One
// product with W an iteration.
#include <algorithm>
#include <array>
#include <cmath>

#include "urto/solver/method.h"
#include "urto/solver/scaled_operator.h"

namespace urto {
namespace {

constexpr int memory = 10;           // of the non-monotone search
constexpr double sufficient = 1e-4;  // Armijo
constexpr double step_min = 1e-9, step_max = 1e9;

void spectral_gradient(ConvexTask& task) {
  ScaledOperator N(task.W);
  const auto m = task.W.rows();
  const Vector r = N.S().cwiseProduct(task.q);
  Vector gamma = task.lambda.cwiseQuotient(N.S());
  Vector Ngamma(m);
  Vector d(m);
  Vector Nd(m);
  Vector g(m);
  Vector lambda(m);
  Vector u(m);
  project(N.K(), gamma, gamma);
  N.apply(gamma, Ngamma);
  std::array<double, memory> values{};
  double step = 1;
  for (int iteration = 0;; ++iteration) {
    task.iterations = iteration;
    lambda.array() = N.S().array() * gamma.array();
    u.array() = Ngamma.array() / N.S().array() + task.q.array();
    if (task.monitor.observe(iteration, lambda, u)) break;

    g = Ngamma + r;
    const double f = 0.5 * gamma.dot(Ngamma) + gamma.dot(r);
    if (iteration == 0) values.fill(f);
    values[iteration % memory] = f;
    const double reference = *std::max_element(values.begin(), values.end());

    d = gamma - step * g;
    project(N.K(), d, d);
    d -= gamma;
    N.apply(d, Nd);
    const double slope = g.dot(d);
    const double curvature = d.dot(Nd);
    // Along d the objective is the parabola f + t·slope + t²/2·curvature.
    double t = 1;
    for (int trial = 0; trial < 40; ++trial) {
      const double value = f + t * slope + 0.5 * t * t * curvature;
      if (value <= reference + sufficient * t * slope) break;
      const double vertex = curvature > 0 ? -slope / curvature : 0.5 * t;
      t = std::clamp(vertex, 0.1 * t, 0.9 * t);
    }
    gamma += t * d;
    Ngamma += t * Nd;
    // Barzilai–Borwein steps in turn: s·s/s·y and s·y/y·y with s = t d, y = t N d.
    const double other = Nd.squaredNorm();
    if (curvature > 0 && other > 0) {
      step = iteration % 2 == 0 ? d.squaredNorm() / curvature : curvature / other;
      step = std::clamp(step, step_min, step_max);
    } else {
      step = d.squaredNorm() > 0 ? step_max : 1;
    }
    if (iteration % 100 == 99) N.apply(gamma, Ngamma);
  }
  task.lambda = task.monitor.best();
}

}  // namespace

void spg(Run& run) {
  solve_with_lagged_terms(run, spectral_gradient);
}

}  // namespace urto
