#include "urto/solver/lorentz_cone.h"

#include <cmath>
#include <limits>

namespace urto::lorentz {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

double dot(const double* a, const double* b, int from, int d) {
  double sum = 0;
  for (int k = from; k < d; ++k) sum += a[k] * b[k];
  return sum;
}
double tail_norm(const double* u, int d) {
  return std::sqrt(dot(u, u, 1, d));
}
// uᵀJw
double bilinear(const double* u, const double* w, int d) {
  return u[0] * w[0] - dot(u, w, 1, d);
}

}  // namespace

double margin(const double* u, int d) {
  return u[0] - tail_norm(u, d);
}

double determinant(const double* u, int d) {
  const double t = tail_norm(u, d);
  return (u[0] - t) * (u[0] + t);
}

void product(const double* u, const double* w, int d, double* out) {
  const double axis = dot(u, w, 0, d);
  for (int k = 1; k < d; ++k) out[k] = u[0] * w[k] + w[0] * u[k];
  out[0] = axis;
}

void divide(const double* u, const double* w, int d, double* out) {
  const double axis = d == 1 ? w[0] / u[0] : bilinear(u, w, d) / determinant(u, d);
  for (int k = 1; k < d; ++k) out[k] = (w[k] - axis * u[k]) / u[0];
  out[0] = axis;
}

double barrier(const double* u, int d) {
  return d == 1 ? -std::log(u[0]) : -0.5 * std::log(determinant(u, d));
}

void barrier_gradient(const double* u, int d, double* out) {
  const double det = determinant(u, d);
  for (int k = 1; k < d; ++k) out[k] = u[k] / det;
  out[0] = -u[0] / det;
}

void Scaling::set(const double* y, const double* lambda, int dim) {
  d = dim;
  if (d == 1) {
    beta = std::sqrt(y[0] / lambda[0]);
    w[0] = 1;
    return;
  }
  const double ny = std::sqrt(determinant(y, d));
  const double nl = std::sqrt(determinant(lambda, d));
  beta = std::sqrt(ny / nl);
  double inner = 0;
  for (int k = 0; k < d; ++k) inner += (y[k] / ny) * (lambda[k] / nl);
  const double twice_g = 2 * std::sqrt(0.5 * (1 + inner));
  double tail = 0;
  for (int k = 1; k < d; ++k) {
    w[k] = (y[k] / ny - lambda[k] / nl) / twice_g;
    tail += w[k] * w[k];
  }
  // w̄ᵀJw̄ = 1, which the sum of the two axes keeps only up to cancellation.
  w[0] = std::sqrt(1 + tail);
}

void Scaling::apply(const double* v, double* out) const {
  const double inner = dot(w.data(), v, 1, d);
  const double axis = v[0];
  const double share = d == 1 ? 0 : axis + inner / (1 + w[0]);
  out[0] = beta * (w[0] * axis + inner);
  for (int k = 1; k < d; ++k) out[k] = beta * (v[k] + share * w[k]);
}

void Scaling::apply_inverse(const double* v, double* out) const {
  const double inner = dot(w.data(), v, 1, d);
  const double axis = v[0];
  const double share = d == 1 ? 0 : -axis + inner / (1 + w[0]);
  out[0] = (w[0] * axis - inner) / beta;
  for (int k = 1; k < d; ++k) out[k] = (v[k] + share * w[k]) / beta;
}

double Scaling::entry(int r, int c) const {
  if (r == 0 || c == 0) return beta * w[r + c];
  return beta * ((r == c ? 1.0 : 0.0) + w[r] * w[c] / (1 + w[0]));
}

double Scaling::square(int r, int c) const {
  const double j = r != c ? 0.0 : r == 0 ? 1.0 : -1.0;
  return beta * beta * (2 * w[r] * w[c] - j);
}

double max_step(const double* u, const double* du, int d) {
  if (d == 1) return du[0] < 0 ? -u[0] / du[0] : infinity;
  const double a = bilinear(du, du, d);
  const double k = bilinear(u, du, d);
  const double c = determinant(u, d);
  const double below = std::sqrt(std::max(0.0, k * k - a * c)) - k;
  return below > 0 ? c / below : infinity;
}

namespace {

constexpr Interval nothing{infinity, -infinity}, everything{-infinity, infinity};

Interval common(const Interval& a, const Interval& b) {
  return {std::max(a.low, b.low), std::min(a.high, b.high)};
}

// Where from + α rate ≥ 0.
Interval half_line(double from, double rate) {
  if (rate > 0) return {-from / rate, infinity};
  if (rate < 0) return {-infinity, -from / rate};
  return from >= 0 ? everything : nothing;
}

}  // namespace

// The quadratic aα² + 2kα + c is not negative outside of its roots if a > 0 and between them if a <
// 0. There the line passes through one of the two nappes of the double cone, and the axis says
// through which; with a > 0 it passes through both.
Interval steps_inside(const double* u, const double* du, int d) {
  if (d == 1) return half_line(u[0], du[0]);
  const Interval axis = half_line(u[0], du[0]);
  const double a = bilinear(du, du, d);
  const double k = bilinear(u, du, d);
  const double c = determinant(u, d);
  if (a == 0) return common(half_line(c, 2 * k), axis);
  const double square = k * k - a * c;
  if (square < 0 && a < 0) return nothing;
  const double root = std::sqrt(std::max(0.0, square));
  // Without cancellation: along a ray of the cone a is rounding.
  const double sum = -(k + std::copysign(root, k));
  const double one = sum / a, other = sum != 0 ? c / sum : 0;
  const double low = std::min(one, other), high = std::max(one, other);  // α_m, α_M
  if (a < 0) return common({low, high}, axis);
  return common(du[0] > 0 ? Interval{high, infinity} : Interval{-infinity, low}, axis);
}

double max_step_by_roots(const double* u, const double* du, int d) {
  return steps_inside(u, du, d).high;
}

double max_step_by_scaling(const double* u, const double* du, int d) {
  if (d == 1) return du[0] < 0 ? -u[0] / du[0] : infinity;
  const double p = std::sqrt(determinant(u, d));
  Block unit{};
  for (int k = 0; k < d; ++k) unit[k] = u[k] / p;
  const double zeta = bilinear(unit.data(), du, d);
  const double share = (zeta + du[0]) / (unit[0] + 1);
  double tail = 0;
  for (int k = 1; k < d; ++k) {
    const double rho = (du[k] - share * unit[k]) / p;
    tail += rho * rho;
  }
  const double worst = std::sqrt(tail) - zeta / p;
  return worst > 0 ? 1 / worst : infinity;
}

void central_pair(const double* v, double mu, int d, double* lambda, double* y) {
  // On the eigenvalues v₀ ± ‖v₁‖ of v: (e ± √(e² + 4μ))/2, the small one by its product with the
  // large one.
  const auto positive = [mu](double e) {
    const double root = std::sqrt(e * e + 4 * mu);
    return e >= 0 ? (e + root) / 2 : 2 * mu / (root - e);
  };
  const double t = tail_norm(v, d);
  const double plus = positive(v[0] + t);
  if (d == 1) {
    lambda[0] = plus;
    y[0] = mu / plus;
    return;
  }
  const double minus = positive(v[0] - t);
  const double y_plus = mu / plus;
  const double y_minus = mu / minus;
  const double axis_lambda = (plus + minus) / 2;
  const double axis_y = (y_plus + y_minus) / 2;
  for (int k = 1; k < d; ++k) {
    const double direction = t > 0 ? v[k] / t : 0;
    lambda[k] = (plus - minus) / 2 * direction;
    y[k] = (y_plus - y_minus) / 2 * direction;
  }
  lambda[0] = axis_lambda;
  y[0] = axis_y;
}

}  // namespace urto::lorentz
