// P-SPG-FB: spectral projected gradient with a diagonal preconditioner, a non-monotone line search
// and the best iterate as fallback (recipe 000 §2.8; Heyn, Anitescu, Tasora, Negrut 2013; Birgin,
// Martínez, Raydan 2000). The preconditioner is the change of variables of scaled_operator.h. One
// product with W an iteration.
#include <algorithm>
#include <cmath>
#include <vector>

#include "urto/solver/method.h"
#include "urto/solver/scaled_operator.h"

namespace urto {
namespace {

constexpr double sufficient = 1e-4;  // Armijo
constexpr double step_min = 1e-9, step_max = 1e9;

class SpectralGradient final : public ConvexMethod {
 public:
  void solve(ConvexTask& task) override {
    begin(task);
    iterate(task);
    task.lambda = task.monitor.best();
  }

 private:
  void begin(ConvexTask& task);
  void iterate(ConvexTask& task);

  ScaledOperator N_;
  Vector r_, gamma_, Ngamma_, d_, Nd_, g_, lambda_, u_;
  std::vector<double> values_ = {};  ///< of the objective, the last ones
};

void SpectralGradient::begin(ConvexTask& task) {
  N_.set(task.W, task.options.precondition);
  const auto m = task.W.rows();
  r_ = N_.S().cwiseProduct(task.q);
  gamma_ = task.lambda.cwiseQuotient(N_.S());
  for (Vector* v : {&Ngamma_, &d_, &Nd_, &g_, &lambda_, &u_}) v->resize(m);
  project(N_.K(), gamma_, gamma_);
  N_.apply(gamma_, Ngamma_);
}

void SpectralGradient::iterate(ConvexTask& task) {
  const auto memory = static_cast<std::size_t>(task.options.search_memory);
  double step = 1;
  for (int iteration = 0;; ++iteration) {
    task.iterations = iteration;
    lambda_.array() = N_.S().array() * gamma_.array();
    u_.array() = Ngamma_.array() / N_.S().array() + task.q.array();
    if (task.monitor.observe(iteration, lambda_, u_)) break;

    g_ = Ngamma_ + r_;
    const double f = 0.5 * gamma_.dot(Ngamma_) + gamma_.dot(r_);
    if (iteration == 0) values_.assign(memory, f);
    values_[static_cast<std::size_t>(iteration) % memory] = f;
    const double reference = *std::max_element(values_.begin(), values_.end());

    d_ = gamma_ - step * g_;
    project(N_.K(), d_, d_);
    d_ -= gamma_;
    N_.apply(d_, Nd_);
    const double slope = g_.dot(d_);
    const double curvature = d_.dot(Nd_);
    // Along d the objective is the parabola f + t·slope + t²/2·curvature.
    double t = 1;
    for (int trial = 0; trial < 40; ++trial) {
      const double value = f + t * slope + 0.5 * t * t * curvature;
      if (value <= reference + sufficient * t * slope) break;
      const double vertex = curvature > 0 ? -slope / curvature : 0.5 * t;
      t = std::clamp(vertex, 0.1 * t, 0.9 * t);
    }
    gamma_ += t * d_;
    Ngamma_ += t * Nd_;
    // Barzilai–Borwein steps in turn: s·s/s·y and s·y/y·y with s = t d, y = t N d.
    const double other = Nd_.squaredNorm();
    if (curvature > 0 && other > 0) {
      step = iteration % 2 == 0 ? d_.squaredNorm() / curvature : curvature / other;
      step = std::clamp(step, step_min, step_max);
    } else {
      step = d_.squaredNorm() > 0 ? step_max : 1;
    }
    if (iteration % 100 == 99) N_.apply(gamma_, Ngamma_);
  }
}

}  // namespace

std::unique_ptr<Method> make_spg() {
  return with_lagged_terms(std::make_unique<SpectralGradient>());
}

}  // namespace urto
