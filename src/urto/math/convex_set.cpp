#include "urto/math/convex_set.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace urto {
namespace {

double norm(const double* x, int n) {
  double scale = 0;
  for (int i = 0; i < n; ++i) {
    if (std::isnan(x[i])) return x[i];  // which std::max would pass over
    scale = std::max(scale, std::abs(x[i]));
  }
  if (scale == 0 || !std::isfinite(scale)) return scale;
  // Squares of very small or large impulses would leave the range of double.
  if (scale > 1e-140 && scale < 1e140) scale = 1;
  double sum = 0;
  for (int i = 0; i < n; ++i) sum += (x[i] / scale) * (x[i] / scale);
  return scale * std::sqrt(sum);
}

void scale_to(const double* x, int n, double length, double new_length, double* out) {
  const double factor = length > 0 ? new_length / length : 0;
  for (int i = 0; i < n; ++i) out[i] = factor * x[i];
}

void project_cone(double mu, int dim, const double* z, double* out) {
  const double n = z[0];
  const double t = norm(z + 1, dim - 1);
  if (n >= 0 && t <= mu * n) {  // n: without friction the cone is a ray, not a line
    if (out != z) std::copy_n(z, dim, out);
  } else if (mu * t <= -n) {
    std::fill_n(out, dim, 0.0);
  } else {
    const double s = (n + mu * t) / (1 + mu * mu);
    scale_to(z + 1, dim - 1, t, mu * s, out + 1);
    out[0] = s;
  }
}

// The projection of (n, t, m) on {0 ≤ t ≤ μ n, 0 ≤ m ≤ μ_r n} for t, m ≥ 0: the minimum over s of
// ½(s − n)² + ½ max(t − μ s, 0)² + ½ max(m − μ_r s, 0)². Outside the set the bound with the larger of t/μ and m/μ_r is
// active; the other is too unless the point found without it keeps to it. No test of the sign of a multiplier: rounding
// decides that on the boundary, and no face at all might pass.
struct RollingFace {
  bool friction = false, rolling = false, apex = false;
  double n = 0;
};

RollingFace rolling_face(const ConvexSet& set, double n, double t, double m) {
  const double mu = set.mu, mr = set.mu_rolling;
  if (n >= 0 && t <= mu * n && m <= mr * n) return {.n = n};
  if (n + mu * t + mr * m <= 0) return {.apex = true};
  if (t * mr >= m * mu) {
    const double with_friction = (n + mu * t) / (1 + mu * mu);
    if (m <= mr * with_friction) return {.friction = true, .n = with_friction};
  } else {
    const double with_rolling = (n + mr * m) / (1 + mr * mr);
    if (t <= mu * with_rolling) return {.rolling = true, .n = with_rolling};
  }
  return {.friction = true, .rolling = true, .n = (n + mu * t + mr * m) / (1 + mu * mu + mr * mr)};
}

void project_rolling(const ConvexSet& set, const double* z, double* out) {
  const double t = norm(z + 1, 2);
  const double m = norm(z + 3, 2);
  const RollingFace face = rolling_face(set, z[0], t, m);
  if (face.apex) {
    std::fill_n(out, 5, 0.0);
    return;
  }
  scale_to(z + 1, 2, t, face.friction ? set.mu * face.n : t, out + 1);
  scale_to(z + 3, 2, m, face.rolling ? set.mu_rolling * face.n : m, out + 3);
  out[0] = face.n;
}

// Appends the column (weights on the normal, and on one tangential unit vector of each friction pair).
struct FactorWriter {
  double* factor;
  int dim;
  int rank = 0;
  double* next() {
    double* column = factor + static_cast<std::ptrdiff_t>(rank++) * dim;
    std::fill_n(column, dim, 0.0);
    return column;
  }
  void identity(int first, int count) {
    for (int i = 0; i < count; ++i) next()[first + i] = 1;
  }
  // √weight · (I − d dᵀ) on `count` components starting at `first`, d the unit vector along x.
  void perpendicular(int first, int count, const double* x, double length, double weight) {
    if (!(weight > 0) || count < 2) return;  // NaN is 0/0, of no friction and no force
    const double w = std::sqrt(weight);
    if (count == 2) {
      double* c = next();
      c[first] = -w * x[1] / length;
      c[first + 1] = w * x[0] / length;
      return;
    }
    // (I − d dᵀ) is its own square root; columns are dependent, which does no harm here.
    for (int k = 0; k < count; ++k) {
      double* c = next();
      for (int i = 0; i < count; ++i) {
        c[first + i] = w * ((i == k ? 1.0 : 0.0) - (x[i] / length) * (x[k] / length));
      }
    }
  }
};

int cone_derivative(double mu, int dim, const double* z, double* factor) {
  FactorWriter write{factor, dim};
  const double n = z[0];
  const double t = norm(z + 1, dim - 1);
  if (mu > 0 && t <= mu * n) {  // without friction the cone has no inside
    write.identity(0, dim);
  } else if (mu * t > -n) {
    const double s = (n + mu * t) / (1 + mu * mu);
    const double w = 1 / std::sqrt(1 + mu * mu);
    double* c = write.next();
    c[0] = w;
    scale_to(z + 1, dim - 1, t, mu * w, c + 1);
    write.perpendicular(1, dim - 1, z + 1, t, mu * s / t);
  }
  return write.rank;
}

int rolling_derivative(const ConvexSet& set, const double* z, double* factor) {
  FactorWriter write{factor, 5};
  const double t = norm(z + 1, 2);
  const double m = norm(z + 3, 2);
  const RollingFace face = rolling_face(set, z[0], t, m);
  if (face.apex) return 0;
  // Along the face in (n, ‖t‖, ‖m‖) one direction moves with n; a bound that is not active leaves its pair free.
  const bool friction = face.friction || set.mu == 0;
  const bool rolling = face.rolling || set.mu_rolling == 0;
  const double mu = friction ? set.mu : 0;
  const double mr = rolling ? set.mu_rolling : 0;
  const double w = 1 / std::sqrt(1 + mu * mu + mr * mr);
  double* c = write.next();
  c[0] = w;
  if (friction) {
    scale_to(z + 1, 2, t, mu * w, c + 1);
    write.perpendicular(1, 2, z + 1, t, set.mu * face.n / t);
  } else {
    write.identity(1, 2);
  }
  if (rolling) {
    scale_to(z + 3, 2, m, mr * w, c + 3);
    write.perpendicular(3, 2, z + 3, m, set.mu_rolling * face.n / m);
  } else {
    write.identity(3, 2);
  }
  return write.rank;
}

}  // namespace

void project(const ConvexSet& set, const double* z, double* out) {
  switch (set.kind) {
    case SetKind::free:
      if (out != z) std::copy_n(z, set.dim, out);
      return;
    case SetKind::nonnegative:
      for (int i = 0; i < set.dim; ++i) out[i] = std::max(z[i], 0.0);  // NaN stays
      return;
    case SetKind::box:
      for (int i = 0; i < set.dim; ++i) out[i] = std::min(std::max(z[i], set.lo), set.hi);
      return;
    case SetKind::cone:
      project_cone(set.mu, set.dim, z, out);
      return;
    case SetKind::rolling_cone:
      project_rolling(set, z, out);
      return;
  }
}

void project_dual(const ConvexSet& set, const double* z, double* out) {
  assert(set.kind != SetKind::box);
  std::array<double, max_block> minus{};
  for (int i = 0; i < set.dim; ++i) minus[i] = -z[i];
  project(set, minus.data(), minus.data());
  for (int i = 0; i < set.dim; ++i) out[i] = z[i] + minus[i];
}

double distance(const ConvexSet& set, const double* z) {
  std::array<double, max_block> p{};
  project(set, z, p.data());
  for (int i = 0; i < set.dim; ++i) p[i] -= z[i];
  return norm(p.data(), set.dim);
}

double support(const ConvexSet& set, const double* y, double slack) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  double value = 0;
  switch (set.kind) {
    case SetKind::free:
      return norm(y, set.dim) <= slack ? 0 : infinity;
    case SetKind::nonnegative:
      return *std::max_element(y, y + set.dim) <= slack ? 0 : infinity;
    case SetKind::cone:
      return y[0] + set.mu * norm(y + 1, set.dim - 1) <= slack ? 0 : infinity;
    case SetKind::rolling_cone:
      return y[0] + set.mu * norm(y + 1, 2) + set.mu_rolling * norm(y + 3, 2) <= slack ? 0
                                                                                       : infinity;
    case SetKind::box:
      for (int i = 0; i < set.dim; ++i) {
        const double bound = y[i] > 0 ? set.hi : set.lo;
        if (std::abs(y[i]) <= slack && std::isinf(bound)) continue;
        if (y[i] != 0) value += y[i] * bound;
      }
      return value;
  }
  return value;
}

int projection_derivative(const ConvexSet& set, const double* z, double* factor) {
  FactorWriter write{factor, set.dim};
  switch (set.kind) {
    case SetKind::free:
      write.identity(0, set.dim);
      return write.rank;
    case SetKind::nonnegative:
      for (int i = 0; i < set.dim; ++i) {
        if (z[i] > 0) write.identity(i, 1);
      }
      return write.rank;
    case SetKind::box:
      for (int i = 0; i < set.dim; ++i) {
        if (z[i] > set.lo && z[i] < set.hi) write.identity(i, 1);
      }
      return write.rank;
    case SetKind::cone:
      return cone_derivative(set.mu, set.dim, z, factor);
    case SetKind::rolling_cone:
      return rolling_derivative(set, z, factor);
  }
  return 0;
}

double de_saxce(const ConvexSet& set, const double* u) {
  switch (set.kind) {
    case SetKind::cone:
      return set.mu * norm(u + 1, set.dim - 1);
    case SetKind::rolling_cone:
      return set.mu * norm(u + 1, 2) + set.mu_rolling * norm(u + 3, 2);
    default:
      return 0;
  }
}

bool SetProduct::has_friction() const {
  return std::any_of(sets.begin(), sets.end(), [](const auto& s) { return s.has_friction(); });
}

bool SetProduct::is_linear() const {
  return std::all_of(sets.begin(), sets.end(),
                     [](const auto& s) { return s.kind == SetKind::free; });
}

void project(const SetProduct& K, const Vector& z, Vector& out) {
  out.resize(z.size());
  for (int i = 0; i < K.blocks(); ++i) {
    project(K.sets[i], z.data() + K.start[i], out.data() + K.start[i]);
  }
}

void project_dual(const SetProduct& K, const Vector& z, Vector& out) {
  out.resize(z.size());
  for (int i = 0; i < K.blocks(); ++i) {
    project_dual(K.sets[i], z.data() + K.start[i], out.data() + K.start[i]);
  }
}

double distance(const SetProduct& K, const Vector& z) {
  double sum = 0;
  for (int i = 0; i < K.blocks(); ++i) {
    sum = std::hypot(sum, distance(K.sets[i], z.data() + K.start[i]));
  }
  return sum;
}

double support(const SetProduct& K, const Vector& y, double slack) {
  double sum = 0;
  for (int i = 0; i < K.blocks(); ++i) sum += support(K.sets[i], y.data() + K.start[i], slack);
  return sum;
}

void add_de_saxce(const SetProduct& K, const Vector& u, Vector& out) {
  if (&out != &u) out = u;
  for (int i = 0; i < K.blocks(); ++i) {
    out[K.start[i]] += de_saxce(K.sets[i], u.data() + K.start[i]);
  }
}

}  // namespace urto
