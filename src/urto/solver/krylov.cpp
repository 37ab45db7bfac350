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

constexpr const char* exhausted = "the Krylov space is exhausted: the rows contradict each other";

// z = P⁻¹ r with P = blockdiag(H) (its diagonal where H is sparse) and the blocks W_ii.
class Preconditioner {
 public:
  void set(const Delassus& W) {
    W_ = &W;
    if (W.has_mass() && W.inverse_mass().blocks() == 0)
      inverse_diagonal_ = W.mass_diagonal().cwiseInverse();
  }

  void apply_rows(const double* r, double* z) const {
    const SetProduct& K = W_->K();
    for (int i = 0; i < K.blocks(); ++i) {
      descend(W_->row_blocks(), K.sets[i], i, -1.0, zeros_.data(), r + K.start[i], z + K.start[i]);
    }
  }

  void apply(const Vector& r, Vector& z) const {
    const int n = W_->has_mass() ? W_->problem().dofs() : 0;
    z.resize(r.size());
    const BlockMatrix& mass = W_->inverse_mass();
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
  const Delassus* W_ = nullptr;
  Vector inverse_diagonal_;
  std::array<double, max_block> zeros_{};
};

class Minres final : public Method {
 public:
  void solve(Run& run) override;

 private:
  void begin(Run& run);
  bool iterate(Run& run);

  SaddleSystem A_;
  Preconditioner P_;
  Vector rhs_, x_, y_, v_old_, v_, v_new_, z_, z_new_, w_old_, w_, w_new_;
};

void Minres::begin(Run& run) {
  A_.set(run.W);
  P_.set(run.W);
  A_.right_hand_side(rhs_);
  y_.setZero(A_.size());
  y_.tail(run.W.rows()) = -run.lambda;
  if (A_.dofs() > 0) {
    run.W.recover(run.lambda, x_);
    y_.head(A_.dofs()) = x_;
  }
  for (Vector* v : {&v_new_, &z_, &z_new_, &w_new_}) v->resize(A_.size());
  for (Vector* v : {&v_old_, &w_old_, &w_}) v->setZero(A_.size());
  A_.apply(y_, v_);
  v_ = rhs_ - v_;
  P_.apply(v_, z_);
}

// False if the Krylov space is exhausted.
bool Minres::iterate(Run& run) {
  double beta = std::sqrt(std::max(0.0, v_.dot(z_)));
  double beta_old = 1;
  double c_old = 1;
  double c = 1;
  double s_old = 0;
  double s = 0;
  double eta = beta;
  for (int iteration = 0;; ++iteration) {
    if (run.monitor.is_due(iteration) && A_.observe(iteration, y_, run)) return true;
    if (!(beta > 0)) break;
    // Lanczos in the inner product of P⁻¹ (Elman, Silvester, Wathen, algorithm 4.1).
    z_ /= beta;
    A_.apply(z_, v_new_);
    const double delta = v_new_.dot(z_);
    v_new_ -= (delta / beta) * v_ + (beta / beta_old) * v_old_;
    P_.apply(v_new_, z_new_);
    const double beta_new = std::sqrt(std::max(0.0, v_new_.dot(z_new_)));
    const double a0 = c * delta - c_old * s * beta;
    const double a1 = std::sqrt(a0 * a0 + beta_new * beta_new);
    const double a2 = s * delta + c_old * c * beta;
    const double a3 = s_old * beta;
    if (!(a1 > 0)) break;
    c_old = c;
    s_old = s;
    c = a0 / a1;
    s = beta_new / a1;
    w_new_ = (z_ - a3 * w_old_ - a2 * w_) / a1;
    y_ += c * eta * w_new_;
    eta *= -s;
    v_old_.swap(v_);
    v_.swap(v_new_);
    z_.swap(z_new_);
    w_old_.swap(w_);
    w_.swap(w_new_);
    beta_old = beta;
    beta = beta_new;
  }
  return A_.observe(run.iterations + 1, y_, run);
}

void Minres::solve(Run& run) {
  begin(run);
  if (iterate(run)) return;
  run.monitor.set_status(Status::stalled);
  run.message = exhausted;
}

class ConjugateGradient final : public Method {
 public:
  void solve(Run& run) override;

 private:
  bool iterate(Run& run);

  Preconditioner P_;
  Vector u_, z_, p_, Wp_;
};

// False if the Krylov space is exhausted.
bool ConjugateGradient::iterate(Run& run) {
  Delassus& W = run.W;
  W.apply(run.lambda, u_);
  u_ += W.q();  // the residual is −u
  P_.apply_rows(u_.data(), z_.data());
  p_ = -z_;
  double rz = u_.dot(z_);
  for (int iteration = 0;; ++iteration) {
    run.iterations = iteration;
    if (run.monitor.observe(iteration, run.lambda, u_)) return true;
    W.apply(p_, Wp_);
    const double curvature = p_.dot(Wp_);
    if (!(curvature > 0) || !(rz > 0)) break;
    const double alpha = rz / curvature;
    run.lambda += alpha * p_;
    if (iteration % 50 == 49) {
      W.apply(run.lambda, u_);
      u_ += W.q();
    } else {
      u_ += alpha * Wp_;
    }
    P_.apply_rows(u_.data(), z_.data());
    const double rz_new = u_.dot(z_);
    p_ = -z_ + (rz_new / rz) * p_;
    rz = rz_new;
  }
  return false;
}

void ConjugateGradient::solve(Run& run) {
  P_.set(run.W);
  for (Vector* v : {&u_, &z_, &p_, &Wp_}) v->resize(run.W.rows());
  if (iterate(run)) return;
  run.monitor.set_status(Status::stalled);
  run.message = exhausted;
}

}  // namespace

std::unique_ptr<Method> make_minres() {
  return std::make_unique<Minres>();
}

std::unique_ptr<Method> make_cg() {
  return std::make_unique<ConjugateGradient>();
}

}  // namespace urto
