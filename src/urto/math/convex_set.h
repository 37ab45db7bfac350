// The convex sets that multipliers live in, and products of them.
//
//   free          ℝᵈ                                    joints
//   nonnegative   ℝ₊ᵈ                                   frictionless contacts, limits
//   cone          {(n, t): ‖t‖ ≤ μ n}, d ≥ 2            Coulomb friction (2D: d = 2, 3D: d = 3)
//   rolling_cone  {(n, t, m, s): ‖t‖ ≤ μ n, ‖m‖ ≤ μ_r n, |s| ≤ μ_s n}
//                 friction, rolling and spinning resistance:
//                 d = 5 without s, d = 4 without m, d = 6 with both
//   box           [lo, hi]ᵈ (infinite bounds allowed)   relays, joint friction
//
// Sources: recipe 000 §2.8 (projection on the cone), recipe 003 A2–A3; the rolling cone is an
// intersection of cones sharing the normal axis, whose projection is a polyhedral problem in (n,
// ‖t‖, ‖m‖, |s|).
#pragma once

#include <array>
#include <cassert>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "urto/math/types.h"

namespace urto {

enum class SetKind : std::uint8_t { free, nonnegative, cone, rolling_cone, box };

/// Largest dimension of one block: a joint has at most six rows. Longer equality sets are split
/// into blocks.
inline constexpr int max_block = 6;

struct ConvexSet {
  SetKind kind = SetKind::free;
  int dim = 1;
  double mu = 0;           ///< friction coefficient, cones
  double mu_rolling = 0;   ///< rolling-resistance length [m], rolling cones
  double mu_spinning = 0;  ///< spinning-resistance length [m], rolling cones
  double lo = 0, hi = 0;   ///< bounds of every component, boxes

  static ConvexSet free(int dim) { return {.kind = SetKind::free, .dim = dim}; }
  static ConvexSet nonnegative(int dim = 1) { return {.kind = SetKind::nonnegative, .dim = dim}; }
  static ConvexSet cone(double mu, int dim = 3) {
    return {.kind = SetKind::cone, .dim = dim, .mu = mu};
  }
  static ConvexSet rolling_cone(double mu, double mu_rolling) {
    return {.kind = SetKind::rolling_cone, .dim = 5, .mu = mu, .mu_rolling = mu_rolling};
  }
  /// With spinning friction: both kinds of moments.
  static ConvexSet rolling_cone(double mu, double mu_rolling, double mu_spinning) {
    ConvexSet set = rolling_cone(mu, mu_rolling);
    set.dim = 6;
    set.mu_spinning = mu_spinning;
    return set;
  }
  /// Only the moment about the normal.
  static ConvexSet spinning_cone(double mu, double mu_spinning) {
    ConvexSet set{.kind = SetKind::rolling_cone, .dim = 4, .mu = mu};
    set.mu_spinning = mu_spinning;
    return set;
  }
  static ConvexSet box(double lo, double hi, int dim = 1) {
    return {.kind = SetKind::box, .dim = dim, .lo = lo, .hi = hi};
  }

  bool has_friction() const { return kind == SetKind::cone || kind == SetKind::rolling_cone; }
  bool operator==(const ConvexSet&) const = default;
};

/// A cone as its normal and the parts that the normal bounds: ‖z[first … first + count − 1]‖ ≤
/// bound · z[0].
struct ConeParts {
  struct Part {
    int first = 1, count = 0;
    double bound = 0;
  };
  int size = 0;
  std::array<Part, 3> part = {};
  const Part* begin() const { return part.data(); }
  const Part* end() const { return part.data() + size; }
};

/// Of sets with friction: the tangential part of a cone; that and the moments of a rolling cone.
inline ConeParts cone_parts(const ConvexSet& set) {
  ConeParts parts;
  if (set.kind == SetKind::cone) {
    parts.part[parts.size++] = {1, set.dim - 1, set.mu};
  } else if (set.kind == SetKind::rolling_cone) {
    parts.part[parts.size++] = {1, 2, set.mu};
    if (set.dim != 4) parts.part[parts.size++] = {3, 2, set.mu_rolling};
    if (set.dim != 5) parts.part[parts.size++] = {set.dim - 1, 1, set.mu_spinning};
  }
  return parts;
}

/// Nearest point of the set to z; `out` may be `z`. Idempotent, non-expansive.
void project(const ConvexSet& set, const double* z, double* out);

/// Nearest point of the dual cone K* = {u: u·λ ≥ 0 for all λ in K}, by Moreau's decomposition
/// z = Π_K*(z) − Π_K(−z). Boxes are not cones: asking for their dual is a programming error.
void project_dual(const ConvexSet& set, const double* z, double* out);

/// Euclidean distance of z to the set.
double distance(const ConvexSet& set, const double* z);

/// Support function sup {y·λ : λ in K}: 0 or +∞ for cones. `slack` ≥ 0 is how far y may stand
/// outside the polar cone before the value is +∞ (a test in exact arithmetic is useless on computed
/// velocities).
double support(const ConvexSet& set, const double* y, double slack = 0);

/// A factor C (dim × rank, column-major in `factor`) of the derivative D = C Cᵀ of the projection
/// at z; where the projection has a kink, one element of the generalised derivative. Returns the
/// rank.
int projection_derivative(const ConvexSet& set, const double* z, double* factor);

/// De Saxcé's term of a block: μ‖u_T‖ (+ μ_r‖u_R‖ + μ_s|u_S|), added to the normal velocity by
/// exact Coulomb friction; zero for sets without friction.
double de_saxce(const ConvexSet& set, const double* u);

/// The product K = K₁ × K₂ × …; block i occupies rows start[i] … start[i+1]−1.
struct SetProduct {
  std::vector<ConvexSet> sets;
  std::vector<int> start{0};

  void push_back(const ConvexSet& set) {
    sets.push_back(set);
    start.push_back(start.back() + set.dim);
  }
  int blocks() const { return static_cast<int>(sets.size()); }
  int rows() const { return start.back(); }
  bool has_friction() const;
  bool is_linear() const;  ///< only free rows: the problem is one linear solve
  bool operator==(const SetProduct&) const = default;
};

void project(const SetProduct& K, const Vector& z, Vector& out);
void project_dual(const SetProduct& K, const Vector& z, Vector& out);
double distance(const SetProduct& K, const Vector& z);
double support(const SetProduct& K, const Vector& y, double slack = 0);

/// out = u + De Saxcé's term on the normal row of each block with friction.
void add_de_saxce(const SetProduct& K, const Vector& u, Vector& out);

}  // namespace urto
