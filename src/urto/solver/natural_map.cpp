#include "urto/solver/natural_map.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace urto {
namespace {

// ‖λ − Π(λ − ρû)‖² of one block.
double natural_map_squared(const ConvexSet& set, const double* lambda, const double* u,
                           double de_saxce_term, double rho) {
  std::array<double, max_block> z{};
  std::array<double, max_block> p{};
  double sum = 0;
  if (set.kind == SetKind::free) {
    for (int k = 0; k < set.dim; ++k) sum += rho * rho * u[k] * u[k];
    return sum;
  }
  z[0] = lambda[0] - rho * (u[0] + de_saxce_term);
  for (int k = 1; k < set.dim; ++k) z[k] = lambda[k] - rho * u[k];
  project(set, z.data(), p.data());
  bool inside = true;
  for (int k = 0; k < set.dim; ++k) inside = inside && p[k] == z[k];
  for (int k = 0; k < set.dim; ++k) {
    // Inside the set the map is ρû itself; the subtraction would lose it beside a large λ.
    const double e = inside ? rho * (u[k] + (k == 0 ? de_saxce_term : 0)) : lambda[k] - p[k];
    sum += e * e;
  }
  return sum;
}

// The same for Coulomb's cone of two or three rows, in closed form: a sweep's measurement is most
// of these. `slip` = ‖u_T‖.
double cone_squared(const ConvexSet& set, const double* lambda, const double* u, double normal,
                    double slip, double rho) {
  const double n = lambda[0] - rho * normal;
  const double t1 = lambda[1] - rho * u[1];
  const double t2 = set.dim == 3 ? lambda[2] - rho * u[2] : 0;
  const double length = std::sqrt(t1 * t1 + t2 * t2);
  if (n >= 0 && length <= set.mu * n) return rho * rho * (normal * normal + slip * slip);
  const double last = set.dim == 3 ? lambda[2] : 0;
  if (set.mu * length <= -n) return lambda[0] * lambda[0] + lambda[1] * lambda[1] + last * last;
  const double s = (n + set.mu * length) / (1 + set.mu * set.mu);
  const double factor = length > 0 ? set.mu * s / length : 0;
  const double e0 = lambda[0] - s, e1 = lambda[1] - factor * t1, e2 = last - factor * t2;
  return e0 * e0 + e1 * e1 + e2 * e2;
}

}  // namespace

void NaturalMap::add(const ConvexSet& set, Friction law, const double* lambda, const double* u,
                     double rho) {
  if (set.kind == SetKind::cone && set.dim <= 3) {
    const double slip = set.dim == 3 ? std::sqrt(u[1] * u[1] + u[2] * u[2]) : std::abs(u[1]);
    const double normal = u[0] + (law == Friction::exact ? set.mu * slip : 0);
    plain += cone_squared(set, lambda, u, normal, slip, 1);
    scaled += cone_squared(set, lambda, u, normal, slip, rho) / rho;
    return;
  }
  const double term = law == Friction::exact ? de_saxce(set, u) : 0;
  plain += natural_map_squared(set, lambda, u, term, 1);
  scaled += natural_map_squared(set, lambda, u, term, rho) / rho;
}

double NaturalMap::residual(double norm_q, double energy_q) const {
  const double a = std::sqrt(plain) / norm_q;
  const double b = std::sqrt(scaled) / energy_q;
  return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
}

double FreeMotion::norm() const {
  return plain > 0 ? std::sqrt(plain) : 1;
}

double FreeMotion::energy() const {
  return scaled > 0 ? std::sqrt(scaled) : 1;
}

}  // namespace urto
