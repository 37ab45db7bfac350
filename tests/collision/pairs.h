// Random pairs of convex solids for the narrow phase's tests.
#pragma once

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "fuzz/rounds.h"
#include "support/random_numbers.h"
#include "urto/collision/narrow_phase.h"
#include "urto/collision/shrunk_polytope.h"
#include "urto/math/rotation.h"
#include "urto/model/convex_hull.h"

namespace urto::testing {

/// Ten times as many in script/test all, fewer under a sanitizer.
#ifdef NDEBUG
inline const int many_pairs = fuzz_rounds(10000);
#else
inline const int many_pairs = std::max(1000, fuzz_rounds(1000));
#endif

struct Random : samples::RandomNumbers {
  using RandomNumbers::RandomNumbers;
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

/// Of a box to a stone of 60 corners, of size about 1.
inline const std::vector<Polytope>& stones() {
  static const std::vector<Polytope> all = [] {
    std::vector<Polytope> out;
    Random random(99);
    for (const int count : {4, 5, 6, 8, 12, 20, 60}) {
      std::vector<Vec3> points;
      for (int k = 0; k < count; ++k) points.emplace_back(random.uniform(0.3, 1) * random.unit());
      out.push_back(polytope_of(convex_hull(points)));
      out.push_back(shrunk(out.back(), 1e-3));
    }
    return out;
  }();
  return all;
}

inline Convex random_convex(Random& random, ShapeKind kind) {
  const Shape shape = random.shape(kind);
  if (kind != ShapeKind::hull) return convex_of(shape, nullptr);
  const int which = random.integer(0, static_cast<int>(stones().size()) - 1);
  Shape hull{.kind = ShapeKind::hull};
  if (which % 2 == 1) hull.margin = 1e-3;
  return convex_of(hull, &stones()[which]);
}

inline PlacedPair random_pair(Random& random, ShapeKind kind_a, ShapeKind kind_b) {
  PlacedPair p;
  p.a = random_convex(random, kind_a);
  p.b = random_convex(random, kind_b);
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
