#include "urto/problem/certificate_sets.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace urto {
namespace {

using Block = CertificateBlock;

// The parts of a block that its normal bounds, with their lengths: sliding, rolling, spinning.
struct Bounds {
  int size = 0;
  std::array<int, 3> first{}, count{};
  std::array<double, 3> mu{}, length{};
  void add(const Block& z, int at, int rows, double bound) {
    first[size] = at;
    count[size] = rows;
    mu[size] = bound;
    length[size++] = z.segment(at, rows).norm();
  }
};

Bounds bounds_of(const ConvexSet& set, const Block& z) {
  Bounds out;
  if (set.kind == SetKind::cone) out.add(z, 1, set.dim - 1, set.mu);
  if (set.kind != SetKind::rolling_cone) return out;
  out.add(z, 1, 2, set.mu);
  if (set.dim >= 5) out.add(z, 3, 2, set.mu_rolling);
  if (set.dim == 4 || set.dim == 6) out.add(z, set.dim - 1, 1, set.mu_spinning);
  return out;
}

// Moves z to the nearest point where the bounds in `active` hold with equality; false if that
// breaks another.
bool nearest_on_bounds(const Bounds& bounds, int active, Block& z) {
  double sum = z[0];
  double weight = 1;
  double largest = 0;
  for (int k = 0; k < bounds.size; ++k) {
    largest = std::max(largest, bounds.length[k]);
    if ((active >> k & 1) == 0) continue;
    sum += bounds.mu[k] * bounds.length[k];
    weight += bounds.mu[k] * bounds.mu[k];
  }
  const double n = sum / weight;
  const double slack = 1e-12 * std::max(std::abs(n), largest);
  if (n < 0) return false;
  for (int k = 0; k < bounds.size; ++k) {
    const double limit = bounds.mu[k] * n;
    if ((active >> k & 1) == 0) {
      if (bounds.length[k] > limit + slack) return false;
      continue;
    }
    z.segment(bounds.first[k], bounds.count[k]) *=
        bounds.length[k] > 0 ? limit / bounds.length[k] : 0;
  }
  z[0] = n;
  return true;
}

}  // namespace

double bounded_rates(const ConvexSet& set, const Block& u) {
  const Bounds bounds = bounds_of(set, u);
  double sum = 0;
  for (int k = 0; k < bounds.size; ++k) sum += bounds.mu[k] * bounds.length[k];
  return sum;
}

// Written so that an inactive constraint returns v or λ themselves: with heavy
// bodies ‖λ‖ is so large that forming λ − (λ − v) would lose v in rounding, and the certificate
// would blame the solver for it.
Block certificate_natural_map(const ConvexSet& set, const Block& lambda, const Block& v) {
  const Block z = lambda - v;
  switch (set.kind) {
    case SetKind::free:
      return v;
    case SetKind::nonnegative:
      return lambda.cwiseMin(v);
    case SetKind::box: {
      Block e(set.dim);
      for (int i = 0; i < set.dim; ++i) {
        e[i] = z[i] < set.lo ? lambda[i] - set.lo : z[i] > set.hi ? lambda[i] - set.hi : v[i];
      }
      return e;
    }
    case SetKind::cone: {
      const double t = z.tail(set.dim - 1).norm();
      if (z[0] >= 0 && t <= set.mu * z[0]) return v;
      if (z[0] + set.mu * t <= 0) return lambda;
      // The boundary ray nearest to z has direction (1, μ t̂).
      Block direction(set.dim);
      direction[0] = 1;
      direction.tail(set.dim - 1) = set.mu * z.tail(set.dim - 1) / t;
      return lambda - direction * (z.dot(direction) / direction.squaredNorm());
    }
    case SetKind::rolling_cone: {
      // Dykstra-free: the nearest point over all choices of active bounds that are feasible for the
      // others.
      const Bounds bounds = bounds_of(set, z);
      bool inside = z[0] >= 0;
      for (int k = 0; k < bounds.size; ++k) {
        inside = inside && bounds.length[k] <= bounds.mu[k] * z[0];
      }
      if (inside) return v;
      Block best = Block::Zero(set.dim);
      double best_distance = z.squaredNorm();
      for (int active = 1; active < 1 << bounds.size; ++active) {
        Block candidate = z;
        if (!nearest_on_bounds(bounds, active, candidate)) continue;
        const double d = (z - candidate).squaredNorm();
        if (d < best_distance) {
          best_distance = d;
          best = candidate;
        }
      }
      return lambda - best;
    }
  }
  return v;
}

double certificate_distance_to(const ConvexSet& set, const Block& lambda) {
  return certificate_natural_map(set, lambda, Block::Zero(set.dim)).norm();
}

double certificate_box_support(const ConvexSet& set, const Block& minus_u) {
  if (set.kind != SetKind::box) return 0;
  double sum = 0;
  for (int i = 0; i < set.dim; ++i) {
    const double bound = minus_u[i] > 0 ? set.hi : set.lo;
    if (minus_u[i] != 0 && std::isfinite(bound)) sum += minus_u[i] * bound;
  }
  return sum;
}

}  // namespace urto
