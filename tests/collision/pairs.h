// Random pairs of convex solids for the narrow phase's tests.
#pragma once

#include <cmath>
#include <random>

#include "urto/collision/narrow_phase.h"
#include "urto/math/rotation.h"

namespace urto::testing {

/// Fewer under a sanitizer.
#ifdef NDEBUG
inline constexpr int many_pairs = 100000;
#else
inline constexpr int many_pairs = 1000;
#endif

struct Random {
  std::mt19937_64 engine;
  explicit Random(unsigned seed) : engine(seed) {}
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine);
  }
  int integer(int low, int high) { return std::uniform_int_distribution<int>(low, high)(engine); }
  Vec3 normal() {
    std::normal_distribution<double> n;
    const double x = n(engine), y = n(engine), z = n(engine);
    return {x, y, z};
  }
  Vec3 unit() { return normal().normalized(); }
  Mat3 rotation() {
    const Vec3 axis = normal();
    std::normal_distribution<double> n;
    return rotation_matrix(normalize(Vec4(n(engine), axis[0], axis[1], axis[2])));
  }
  /// A sharp or rounded shape of some size between 0.01 and 10 m.
  Shape shape(ShapeKind kind) {
    Shape s;
    s.kind = kind;
    const double scale = std::pow(10, uniform(-1, 1));
    s.size = scale * Vec3(uniform(0.1, 1), uniform(0.1, 1), uniform(0.1, 1));
    const bool has_edges =
        kind == ShapeKind::box || kind == ShapeKind::cylinder || kind == ShapeKind::cone;
    if (has_edges && integer(0, 2) == 0) s.margin = uniform(0, 0.2) * s.size.minCoeff();
    return s;
  }
};

/// Two solids and how they lie: apart, touching, shallow, deep, aligned, about one centre.
struct PlacedPair {
  Convex a = {}, b = {};
  Place at_a = {}, at_b = {};
  double size() const { return a.extent + b.extent; }
};

inline PlacedPair random_pair(Random& random, ShapeKind kind_a, ShapeKind kind_b) {
  PlacedPair p;
  p.a = convex_of(random.shape(kind_a), nullptr);
  p.b = convex_of(random.shape(kind_b), nullptr);
  const bool aligned = random.integer(0, 3) == 0;
  p.at_a = {random.normal(), aligned ? Mat3(Mat3::Identity()) : random.rotation()};
  p.at_b.R = aligned ? Mat3(Mat3::Identity()) : random.rotation();
  const Vec3 direction =
      aligned && random.integer(0, 1) == 0 ? Vec3(Vec3::Unit(random.integer(0, 2))) : random.unit();
  const int kind = random.integer(0, 9);
  p.at_b.x = p.at_a.x + (kind == 0 ? 0.0 : random.uniform(0, 1.5) * p.size()) * direction;
  if (kind == 1 || kind == 2) {
    // Touching, within rounding or a little off.
    const Closest c = closest(p.a, p.at_a, p.b, p.at_b);
    p.at_b.x += (c.gap + (kind == 1 ? 0.0 : random.uniform(-1e-6, 1e-6) * p.size())) * c.normal;
  }
  return p;
}

/// How far the swept solids are apart along n (unit, from B to A).
inline double separation_along(const PlacedPair& p, const Vec3& n) {
  return n.dot(p.at_a.x - p.at_b.x) - extreme(p.a, -(p.at_a.R.transpose() * n)) - p.a.radius -
         extreme(p.b, p.at_b.R.transpose() * n) - p.b.radius;
}

}  // namespace urto::testing
