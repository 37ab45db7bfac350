// Krylov methods for problems with joints only.
//   minres  Paige and Saunders on the saddle point, preconditioned by blockdiag(H)⁻¹ and W_ii⁻¹
//           (recipe 000 §2.8). Redundant rows allowed
//           (the system stays consistent); slow where masses differ much, as the source says.
//   cg      conjugate gradients on the Delassus system W λ = −q, preconditioned by W_ii⁻¹.
//           Redundant rows allowed.
// One product with the matrix an iteration, no allocation inside.
#include <cmath>

#include "urto/solver/linear_system.h"
#include "urto/solver/method.h"
#include "urto/solver/row_access.h"

namespace urto {
namespace {

// z = P⁻¹ r with P = blockdiag(H) (its diagonal where H is sparse) and the blocks W_ii.
class Preconditioner {
 public:
  explicit Preconditioner(const Delassus& W) : W_(W) {
    const StepProblem& p = W.problem();
    if (!W.has_mass()) return;
    if (W.inverse_mass().blocks() == 0) inverse_diagonal_ = mass_diagonal(p).cwiseInverse();
  }

  void apply_rows(const double* r, double* z) const {
    const SetProduct& K = W_.K();
    for (int i = 0; i < K.blocks(); ++i) {
      descend(W_.row_blocks(), K.sets[i], i, -1.0, zeros_.data(), r + K.start[i], z + K.start[i]);
    }
  }

  void apply(const Vector& r, Vector& z) const {
    const int n = W_.has_mass() ? W_.problem().dofs() : 0;
    z.resize(r.size());
    const BlockMatrix& mass = W_.inverse_mass();
    if (mass.blocks() > 0) {
      for (int k = 0; k < mass.blocks(); ++k) {
        z.segment(mass.start[k], mass.size(k)).noalias() =
            mass.block(k).lazyProduct(r.segment(mass.start[k], mass.size(k)));
      }
    } else if (n > 0) {
      z.head(n) = inverse_diagonal_.cwiseProduct(r.head(n));
    }
    apply_rows(r.data() + n, z.data() + n);
  }

 private:
  const Delassus& W_;
  Vector inverse_diagonal_;
  std::array<double, max_block> zeros_{};
};

}  // namespace

void minres(Run& run) {
  SaddleSystem A(run.W);
  const Preconditioner P(run.W);
  const Vector rhs = A.right_hand_side();
  Vector y = Vector::Zero(A.size());
  y.tail(run.W.rows()) = -run.lambda;
  if (A.dofs() > 0) {
    Vector x;
    run.W.recover(run.lambda, x);
    y.head(A.dofs()) = x;
  }
  Vector v_old = Vector::Zero(A.size());
  Vector v(A.size());
  Vector v_new(A.size());
  Vector z(A.size());
  Vector z_new(A.size());
  Vector w_old = Vector::Zero(A.size());
  Vector w = Vector::Zero(A.size());
  Vector w_new(A.size());
  A.apply(y, v);
  v = rhs - v;
  P.apply(v, z);
  double beta = std::sqrt(std::max(0.0, v.dot(z)));
  double beta_old = 1;
  double c_old = 1;
  double c = 1;
  double s_old = 0;
  double s = 0;
  double eta = beta;
  for (int iteration = 0;; ++iteration) {
    if (run.monitor.is_due(iteration) && A.observe(iteration, y, run)) return;
    if (!(beta > 0)) break;
    // Lanczos in the inner product of P⁻¹ (Elman, Silvester, Wathen, algorithm 4.1).
    z /= beta;
    A.apply(z, v_new);
    const double delta = v_new.dot(z);
    v_new -= (delta / beta) * v + (beta / beta_old) * v_old;
    P.apply(v_new, z_new);
    const double beta_new = std::sqrt(std::max(0.0, v_new.dot(z_new)));
    const double a0 = c * delta - c_old * s * beta;
    const double a1 = std::sqrt(a0 * a0 + beta_new * beta_new);
    const double a2 = s * delta + c_old * c * beta;
    const double a3 = s_old * beta;
    if (!(a1 > 0)) break;
    c_old = c;
    s_old = s;
    c = a0 / a1;
    s = beta_new / a1;
    w_new = (z - a3 * w_old - a2 * w) / a1;
    y += c * eta * w_new;
    eta *= -s;
    v_old.swap(v);
    v.swap(v_new);
    z.swap(z_new);
    w_old.swap(w);
    w.swap(w_new);
    beta_old = beta;
    beta = beta_new;
  }
  if (!A.observe(run.iterations + 1, y, run)) {
    run.monitor.set_status(Status::stalled);
    run.message = "the Krylov space is exhausted: the rows contradict each other";
  }
}

void conjugate_gradient(Run& run) {
  Delassus& W = run.W;
  const Preconditioner P(W);
  Vector u(W.rows());
  Vector z(W.rows());
  Vector p(W.rows());
  Vector Wp(W.rows());
  W.apply(run.lambda, u);
  u += W.q();  // the residual is −u
  P.apply_rows(u.data(), z.data());
  p = -z;
  double rz = u.dot(z);
  for (int iteration = 0;; ++iteration) {
    run.iterations = iteration;
    if (run.monitor.observe(iteration, run.lambda, u)) return;
    W.apply(p, Wp);
    const double curvature = p.dot(Wp);
    if (!(curvature > 0) || !(rz > 0)) break;
    const double alpha = rz / curvature;
    run.lambda += alpha * p;
    if (iteration % 50 == 49) {
      W.apply(run.lambda, u);
      u += W.q();
    } else {
      u += alpha * Wp;
    }
    P.apply_rows(u.data(), z.data());
    const double rz_new = u.dot(z);
    p = -z + (rz_new / rz) * p;
    rz = rz_new;
  }
  run.monitor.set_status(Status::stalled);
  run.message = "the Krylov space is exhausted: the rows contradict each other";
}

}  // namespace urto
