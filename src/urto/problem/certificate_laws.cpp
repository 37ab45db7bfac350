#include "urto/problem/certificate_laws.h"

#include <algorithm>
#include <cmath>

namespace urto {
namespace {

// Moves z to the nearest point where the bounds in `active` hold with equality; false if that
// breaks another.
bool nearest_on_bounds(const NormalBounds& bounds, int active, LawBlock& z) {
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

NormalBounds bounds_of(const ConvexSet& set, const LawBlock& z) {
  NormalBounds out;
  if (set.kind == SetKind::cone) out.add(z, 1, set.dim - 1, set.mu);
  if (set.kind != SetKind::rolling_cone) return out;
  out.add(z, 1, 2, set.mu);
  if (set.dim >= 5) out.add(z, 3, 2, set.mu_rolling);
  if (set.dim == 4 || set.dim == 6) out.add(z, set.dim - 1, 1, set.mu_spinning);
  return out;
}

// Written so that an inactive constraint returns v or λ themselves: with heavy bodies ‖λ‖ is so
// large that forming λ − (λ − v) would lose v in rounding, and the certificate would blame the
// solver for it.
LawBlock law_error(const ConvexSet& set, const LawBlock& lambda, const LawBlock& v) {
  const LawBlock z = lambda - v;
  switch (set.kind) {
    case SetKind::free:
      return v;
    case SetKind::nonnegative:
      return lambda.cwiseMin(v);
    case SetKind::box: {
      LawBlock e(set.dim);
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
      LawBlock direction(set.dim);
      direction[0] = 1;
      direction.tail(set.dim - 1) = set.mu * z.tail(set.dim - 1) / t;
      return lambda - direction * (z.dot(direction) / direction.squaredNorm());
    }
    case SetKind::rolling_cone: {
      // Dykstra-free: the nearest point over all choices of active bounds that are feasible for the
      // others.
      const NormalBounds bounds = bounds_of(set, z);
      bool inside = z[0] >= 0;
      for (int k = 0; k < bounds.size; ++k) {
        inside = inside && bounds.length[k] <= bounds.mu[k] * z[0];
      }
      if (inside) return v;
      LawBlock best = LawBlock::Zero(set.dim);
      double best_distance = z.squaredNorm();
      for (int active = 1; active < 1 << bounds.size; ++active) {
        LawBlock candidate = z;
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

LawBlock law_error_by_parts(const ConvexSet& set, const FrictionLaw& law, int block,
                            const LawBlock& lambda, const LawBlock& u) {
  LawBlock e(set.dim);
  e[0] = std::min(lambda[0] - law.floor_of(block), u[0]);
  const NormalBounds bounds = bounds_of(set, u);
  for (int k = 0; k < bounds.size; ++k) {
    const int first = bounds.first[k], count = bounds.count[k];
    const double radius = bounds.mu[k] * std::max(0.0, lambda[0]);
    if (count == 1) {
      const double z = lambda[first] - u[first];
      e[first] = std::abs(z) <= radius ? u[first] : lambda[first] - std::copysign(radius, z);
      continue;
    }
    const Eigen::Vector2d z = lambda.segment(first, 2) - u.segment(first, 2);
    const Eigen::Vector2d nearest = nearest_in_polygon(law.edges, radius, z, law.phase_of(block));
    // Inside, u itself: λ − (λ − u) would lose it in rounding.
    e.segment(first, 2) = nearest == z ? LawBlock(u.segment(first, 2))
                                       : LawBlock(lambda.segment(first, 2) - LawBlock(nearest));
  }
  return e;
}

// The natural map with v = 0.
double distance_to_set(const ConvexSet& set, const LawBlock& lambda) {
  return law_error(set, lambda, LawBlock::Zero(set.dim)).norm();
}

double box_support(const ConvexSet& set, const LawBlock& minus_u) {
  if (set.kind != SetKind::box) return 0;
  double sum = 0;
  for (int i = 0; i < set.dim; ++i) {
    const double bound = minus_u[i] > 0 ? set.hi : set.lo;
    if (minus_u[i] != 0 && std::isfinite(bound)) sum += minus_u[i] * bound;
  }
  return sum;
}

}  // namespace urto
