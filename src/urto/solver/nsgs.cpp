// Non-smooth Gauss–Seidel as a solver of its own (gauss_seidel.h), with one of three local solvers
// (local_contact.h): projection fixed point, the quartic, Newton with fallbacks. Fast on
// well-conditioned problems; linear rate, and it stalls where contacts are redundant.
#include <cmath>

#include "urto/solver/gauss_seidel.h"
#include "urto/solver/method.h"

namespace urto {
namespace {

class Nsgs final : public Method {
 public:
  explicit Nsgs(GaussSeidel::Local local) : local_(local) {}

  void solve(Run& run) override {
    // Local problems are solved well below the global tolerance: their errors add up.
    const double relative =
        std::max(1e-14, 0.01 * run.options.tolerance / std::sqrt(std::max(1, run.W.blocks())));
    sweeps_.rows().set(run.W, x_, run.lambda);
    sweeps_.begin({.friction = run.options.friction,
                   .local = local_,
                   .tolerance = relative,
                   .momentum = run.options.momentum});
    for (int iteration = 0;; ++iteration) {
      run.iterations = iteration;
      if (run.monitor.is_due(iteration)) {
        sweeps_.velocities(u_);
        if (run.monitor.observe(iteration, run.lambda, u_)) break;
      }
      sweeps_.sweep();
    }
    if (sweeps_.local_failures() > 0) {
      run.message = std::to_string(sweeps_.local_failures()) +
                    " local problems missed their tolerance in the last sweep";
    }
  }

 private:
  GaussSeidel::Local local_;
  GaussSeidel sweeps_;
  Vector x_, u_;
};

}  // namespace

std::unique_ptr<Method> make_nsgs_projection() {
  return std::make_unique<Nsgs>(GaussSeidel::Local::projection);
}
std::unique_ptr<Method> make_nsgs_quartic() {
  return std::make_unique<Nsgs>(GaussSeidel::Local::quartic);
}
std::unique_ptr<Method> make_nsgs_alart_curnier() {
  return std::make_unique<Nsgs>(GaussSeidel::Local::newton);
}

}  // namespace urto
