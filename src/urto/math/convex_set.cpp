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

// The projection of (n, t₁, t₂, …) on {0 ≤ t_k ≤ μ_k n} for t_k ≥ 0: the minimum over s of ½(s −
// n)² + Σ ½ max(t_k − μ_k s, 0)². Bounds are taken in the order of falling t_k/μ_k, each that the
// point found so far breaks: it moves the point towards its own t_k/μ_k and never past it, so that
// it stays active. No test of the sign of a multiplier: rounding decides that on the boundary, and
// no face at all might pass.
struct ConeFace {
  ConeParts parts = {};
  std::array<double, 3> length = {};  ///< ‖·‖ of each part of z
  std::array<bool, 3> active = {};
  bool apex = false;
  double n = 0;
};

ConeFace cone_face(const ConvexSet& set, const double* z) {
  ConeFace face;
  face.parts = cone_parts(set);
  const int size = face.parts.size;
  const auto& part = face.parts.part;
  bool inside = z[0] >= 0;
  double reach = z[0];
  for (int k = 0; k < size; ++k) {
    face.length[k] = norm(z + part[k].first, part[k].count);
    inside = inside && face.length[k] <= part[k].bound * z[0];
    reach += part[k].bound * face.length[k];
  }
  face.n = z[0];
  if (inside) return face;
  face.apex = reach <= 0;
  if (face.apex) return face;
  std::array<int, 3> order{};
  int count = 0;
  for (int k = 0; k < size; ++k) {
    if (part[k].bound == 0) {  // nothing to move, and no quotient to sort by
      face.active[k] = true;
      continue;
    }
    int at = count++;
    for (; at > 0 &&
           face.length[k] * part[order[at - 1]].bound > face.length[order[at - 1]] * part[k].bound;
         --at)
      order[at] = order[at - 1];
    order[at] = k;
  }
  double sum = z[0], weight = 1;
  for (int i = 0; i < count; ++i) {
    const int k = order[i];
    if (face.length[k] <= part[k].bound * face.n) continue;
    face.active[k] = true;
    sum += part[k].bound * face.length[k];
    weight += part[k].bound * part[k].bound;
    face.n = sum / weight;
  }
  return face;
}

void project_rolling(const ConvexSet& set, const double* z, double* out) {
  const ConeFace face = cone_face(set, z);
  if (face.apex) {
    std::fill_n(out, set.dim, 0.0);
    return;
  }
  for (int k = 0; k < face.parts.size; ++k) {
    const auto& part = face.parts.part[k];
    const double length = face.active[k] ? part.bound * face.n : face.length[k];
    scale_to(z + part.first, part.count, face.length[k], length, out + part.first);
  }
  out[0] = face.n;
}

// Appends the column (weights on the normal, and on one tangential unit vector of each friction
// pair).
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
  FactorWriter write{factor, set.dim};
  const ConeFace face = cone_face(set, z);
  if (face.apex) return 0;
  // Along the face in (n, ‖t‖, ‖m‖, |s|) one direction moves with n; a bound that is not active
  // leaves its part free.
  const auto moves = [&](int k) { return face.active[k] || face.parts.part[k].bound == 0; };
  double weight = 1;
  for (int k = 0; k < face.parts.size; ++k) {
    const double bound = face.parts.part[k].bound;
    if (moves(k)) weight += bound * bound;
  }
  const double w = 1 / std::sqrt(weight);
  double* c = write.next();
  c[0] = w;
  for (int k = 0; k < face.parts.size; ++k) {
    const auto& part = face.parts.part[k];
    if (!moves(k)) {
      write.identity(part.first, part.count);
      continue;
    }
    const double length = face.length[k];
    scale_to(z + part.first, part.count, length, part.bound * w, c + part.first);
    write.perpendicular(part.first, part.count, z + part.first, length,
                        part.bound * face.n / length);
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
    case SetKind::rolling_cone:
      return y[0] + de_saxce(set, y) <= slack ? 0 : infinity;
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
  if (set.kind == SetKind::cone) return set.mu * norm(u + 1, set.dim - 1);
  double sum = 0;
  for (const auto& part : cone_parts(set)) sum += part.bound * norm(u + part.first, part.count);
  return sum;
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
