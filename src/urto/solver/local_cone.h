// One contact with Coulomb's law, solved exactly: the scalar form of the local problem
//
//     u = W r + q,   r ∈ {‖r_T‖ ≤ μ r_N},   −(u + (μ‖u_T‖, 0)) ∈ N(r)
//
// in tangents in which the Schur complement S = W_TT − w wᵀ/W_NN, w = W_TN, is diag(d₁, d₂). A
// closed contact has u_N = 0, which leaves S r_T + b = u_T = −α r_T with α ≥ 0, zero if it sticks:
//
//     r_i = −b_i/(d_i + α),   n = −μ (q_N + w·r_T)/W_NN,   n/‖r_T‖ = 1
//
// The left side of the last is almost linear in α (exactly so in the plane), so Newton from the α
// of the last sweep needs a step or two.
#pragma once

#include <cmath>

namespace urto {

struct LocalCone {
  double w_nn, inverse_nn;  ///< W_NN
  double w[2];              ///< W_TN
  double d[2], inverse_d[2];
  double mu;
  double alpha;  ///< of the last solution
};

/// r from u, the velocity at the present λ.
inline void solve_cone(LocalCone& c, const double* u, const double* lambda, double* r) {
  constexpr int most = 60;         // Newton's steps and bisections
  constexpr double almost = 1e-4;  // of n/‖r_T‖ − 1 before a step after which α is good enough
  constexpr double exact = 1e-13;
  const double q = u[0] - c.w_nn * lambda[0] - (c.w[0] * lambda[1] + c.w[1] * lambda[2]);
  r[0] = r[1] = r[2] = 0;
  if (q >= 0) return;
  const double factor = c.mu * c.inverse_nn;
  const double m0 = c.d[0] * lambda[1] - (u[1] - c.w[0] * c.inverse_nn * u[0]);
  const double m1 = c.d[1] * lambda[2] - (u[2] - c.w[1] * c.inverse_nn * u[0]);
  double r0 = m0 * c.inverse_d[0], r1 = m1 * c.inverse_d[1];
  double pull = q + (c.w[0] * r0 + c.w[1] * r1);
  double n = -factor * pull;
  double squares = r0 * r0 + r1 * r1;
  if (pull <= 0 && squares <= n * n) {
    c.alpha = 0;
    r[0] = -pull * c.inverse_nn;
    r[1] = r0;
    r[2] = r1;
    return;
  }
  if (factor == 0) {
    r[0] = -q * c.inverse_nn;
    return;
  }
  double low = 0, high = 0;  // of α; no upper bound while it is zero
  double alpha = c.alpha;
  bool last = false;
  double length = 0;
  for (int k = 0; k < most; ++k) {
    const double i0 = 1 / (c.d[0] + alpha), i1 = 1 / (c.d[1] + alpha);
    r0 = m0 * i0;
    r1 = m1 * i1;
    pull = q + (c.w[0] * r0 + c.w[1] * r1);
    n = -factor * pull;
    squares = r0 * r0 + r1 * r1;
    length = std::sqrt(squares);
    const double inverse_length = 1 / length;
    const double ratio = n * inverse_length;
    const double error = ratio - 1;
    if (last || std::abs(error) <= exact) break;
    if (error < 0) {
      low = alpha;
    } else {
      high = alpha;
    }
    // d‖r_T‖/dα and dn/dα.
    const double slope_length = -(r0 * r0 * i0 + r1 * r1 * i1) * inverse_length;
    const double slope_n = factor * (c.w[0] * r0 * i0 + c.w[1] * r1 * i1);
    const double slope = (slope_n - ratio * slope_length) * inverse_length;
    double next = alpha - error / slope;
    if (!(next > low && (high == 0 || next < high)))
      next = high == 0 ? 2 * alpha + c.d[0] + c.d[1] : 0.5 * (low + high);
    if (next == alpha) break;
    last = std::abs(error) <= almost;
    alpha = next;
  }
  c.alpha = alpha;
  // u_N = 0 for the tangential force that is left inside the cone.
  const double normal = n > 0 ? n : 0;
  const double shrink = length > 0 ? normal / length : 0;
  r[0] = normal / c.mu;
  r[1] = shrink * r0;
  r[2] = shrink * r1;
}

/// Tangents (c, s; −s, c) in which S is diagonal, and what `solve_cone` needs of W (3 × 3,
/// column-major; in the plane 2 × 2). False if the contact can hardly be moved in some direction.
bool prepare_cone(const double* W, int dim, double mu, LocalCone& out, double* rotation);

}  // namespace urto
