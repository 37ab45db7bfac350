// Non-smooth Gauss–Seidel: one block after the other solved exactly, with the others frozen (recipe 003 appendix B; Jean, Moreau). Three local
// solvers (local_contact.h): projection fixed point, the quartic, Newton with fallbacks. Treats Coulomb's law directly. Fast on
// well-conditioned problems; linear rate, and it stalls where contacts are redundant.
#include <array>
#include <cmath>

#include "urto/solver/local_contact.h"
#include "urto/solver/method.h"
#include "urto/solver/row_access.h"

namespace urto {
namespace {

enum class LocalSolver { projection, quartic, newton };

class GaussSeidel {
 public:
  /// `local_tolerance` bounds the residual of one contact [velocity].
  GaussSeidel(Delassus& W, const Vector& lambda, Friction friction, LocalSolver local,
              double local_tolerance)
      : W_(W),
        friction_(friction),
        local_(local),
        local_tolerance_(local_tolerance),
        step_(W),
        rows_(W, lambda) {}

  void sweep(Vector& lambda) {
    local_failures_ = 0;
    for (int i = 0; i < W_.blocks(); ++i) update(i, lambda);
  }
  void velocities(const Vector& lambda, Vector& u) { rows_.velocities(lambda, u); }
  int local_failures() const { return local_failures_; }  ///< in the last sweep

 private:
  using Small = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, max_block, 1>;

  void update(int i, Vector& all) {
    const ConvexSet& set = W_.K().sets[i];
    const int d = set.dim;
    double* lambda = all.data() + W_.K().start[i];
    std::array<double, max_block> u{};
    std::array<double, max_block> next{};
    rows_.velocity(i, all, u.data());
    if (set.has_friction() && W_.diagonal(i).trace() > 0) {
      const auto M = W_.diagonal(i);
      const Small q = Eigen::Map<const Vector>(u.data(), d) -
                      M.lazyProduct(Eigen::Map<const Vector>(lambda, d));
      std::copy_n(lambda, d, next.begin());
      if (!solve_contact(set, M, q.data(), next.data())) ++local_failures_;
    } else {
      step_.descend(i, 1.0, lambda, u.data(), next.data());
      project(set, next.data(), next.data());
    }
    for (int k = 0; k < d; ++k) {
      const double value = next[k];
      next[k] = value - lambda[k];
      lambda[k] = value;
    }
    rows_.changed(i, next.data());
  }

  bool solve_contact(const ConvexSet& set, const Eigen::Map<const Matrix>& M, const double* q,
                     double* r) const {
    constexpr int projection_steps = 100;
    const bool cone = set.kind == SetKind::cone && set.dim <= 3;
    if (local_ == LocalSolver::newton && (cone || set.kind == SetKind::rolling_cone)) {
      return solve_local_newton(set, M, q, r, friction_, local_tolerance_).solved;
    }
    if (local_ == LocalSolver::quartic && cone && solve_local_quartic(set, M, q, r).solved)
      return true;
    return solve_local_projection(set, M, q, r, friction_, local_tolerance_, projection_steps)
        .solved;
  }

  Delassus& W_;
  Friction friction_;
  LocalSolver local_;
  double local_tolerance_;
  BlockStep step_;
  RowAccess rows_;
  int local_failures_ = 0;
};

void gauss_seidel(Run& run, LocalSolver local) {
  Delassus& W = run.W;
  const double scale = W.rows() > 0 ? W.q().cwiseAbs().maxCoeff() : 0;
  // Local problems are solved well below the global tolerance: their errors add up over the blocks.
  const double relative =
      std::max(1e-14, 0.01 * run.options.tolerance / std::sqrt(std::max(1, W.blocks())));
  GaussSeidel sweeps(W, run.lambda, run.options.friction, local,
                     relative * (scale > 0 ? scale : 1));
  Vector u(W.rows());
  for (int iteration = 0;; ++iteration) {
    run.iterations = iteration;
    if (run.monitor.is_due(iteration)) {
      sweeps.velocities(run.lambda, u);
      if (run.monitor.observe(iteration, run.lambda, u)) break;
    }
    sweeps.sweep(run.lambda);
  }
  if (sweeps.local_failures() > 0) {
    run.message = std::to_string(sweeps.local_failures()) +
                  " local problems missed their tolerance in the last sweep";
  }
}

}  // namespace

void nsgs_projection(Run& run) {
  gauss_seidel(run, LocalSolver::projection);
}
void nsgs_quartic(Run& run) {
  gauss_seidel(run, LocalSolver::quartic);
}
void nsgs_alart_curnier(Run& run) {
  gauss_seidel(run, LocalSolver::newton);
}

}  // namespace urto
