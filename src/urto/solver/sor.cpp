// Projected successive over-relaxation, plain and symmetric: one block after the other, each from
// the newest velocities. Source: recipe 000 §2.8, fixed-point family (SOR, SYMMSOR). Linear rate;
// stalls on long chains of contacts. A sweep costs the entries of J twice.
#include "urto/solver/projected_relaxation.h"

namespace urto {
namespace {

class Sor final : public Method {
 public:
  explicit Sor(bool symmetric) : symmetric_(symmetric) {}

  void solve(Run& run) override {
    const int blocks = run.W.blocks();
    relaxation_.begin(run);
    for (int iteration = 0;; ++iteration) {
      run.iterations = iteration;
      if (run.monitor.is_due(iteration)) {
        relaxation_.velocities(u_);
        if (run.monitor.observe(iteration, run.lambda, u_)) return;
      }
      for (int i = 0; i < blocks; ++i) relaxation_.relax(i);
      for (int i = blocks - 1; symmetric_ && i >= 0; --i) relaxation_.relax(i);
    }
  }

 private:
  bool symmetric_;
  ProjectedRelaxation relaxation_;
  Vector u_;
};

}  // namespace

std::unique_ptr<Method> make_sor() {
  return std::make_unique<Sor>(false);
}
std::unique_ptr<Method> make_symmetric_sor() {
  return std::make_unique<Sor>(true);
}

}  // namespace urto
