#include "urto/solver/local_cone.h"

#include <algorithm>
#include <cmath>

namespace urto {

bool prepare_cone(const double* W, int dim, double mu, LocalCone& out, double* rotation) {
  // Of d against W: below, a direction in which no body can move needs a pseudo-inverse.
  constexpr double movable = 1e-10;
  out.mu = mu;
  out.alpha = 0;
  out.w_nn = W[0];
  rotation[0] = 1;
  rotation[1] = 0;
  if (!(out.w_nn > 0)) return false;
  out.inverse_nn = 1 / out.w_nn;
  out.w[0] = W[1];
  out.w[1] = 0;
  double largest = std::max(W[0], W[dim + 1]);
  if (dim == 2) {
    out.d[0] = W[3] - W[1] * W[1] * out.inverse_nn;
    out.d[1] = largest;
  } else {
    largest = std::max(largest, W[8]);
    out.w[1] = W[2];
    const double s00 = W[4] - W[1] * W[1] * out.inverse_nn;
    const double s11 = W[8] - W[2] * W[2] * out.inverse_nn;
    const double s01 = W[5] - W[1] * W[2] * out.inverse_nn;
    out.d[0] = s00;
    out.d[1] = s11;
    if (std::abs(s01) > 1e-16 * largest) {
      // Jacobi's rotation.
      const double tau = (s11 - s00) / (2 * s01);
      const double t = (tau >= 0 ? 1.0 : -1.0) / (std::abs(tau) + std::sqrt(1 + tau * tau));
      const double c = 1 / std::sqrt(1 + t * t);
      const double s = t * c;
      out.d[0] = s00 - t * s01;
      out.d[1] = s11 + t * s01;
      // New tangents: t₁' = c t₁ − s t₂, t₂' = s t₁ + c t₂.
      rotation[0] = c;
      rotation[1] = s;
      out.w[0] = c * W[1] - s * W[2];
      out.w[1] = s * W[1] + c * W[2];
    }
  }
  if (!(out.d[0] > movable * largest && out.d[1] > movable * largest &&
        out.w_nn > movable * largest))
    return false;
  out.inverse_d[0] = 1 / out.d[0];
  out.inverse_d[1] = 1 / out.d[1];
  return true;
}

}  // namespace urto
