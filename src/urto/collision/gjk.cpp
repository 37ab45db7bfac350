#include "urto/collision/gjk.h"

#include <array>
#include <cmath>
#include <limits>

#include "urto/collision/expanding_polytope.h"
#include "urto/collision/part_polish.h"

namespace urto {
namespace {

constexpr int max_iterations = 400;
constexpr double relative_gap = 1e-14;  // between |v|² and v·w
constexpr double rough_gap = 1e-4;      // the same, from where Newton's method may finish
constexpr double touching = 1e-9;  // of the solids' size: nearer than this, v has no direction left

struct Simplex {
  std::array<MinkowskiPoint, 4> point;
  std::array<double, 4> weight{};
  int count = 0;
};

// The sub-algorithms return the squared distance and leave weights; a weight of zero means the
// point is not needed. Signs are compared in the projection with the largest measure, where they
// are best conditioned.
using Weights = std::array<double, 4>;

bool same_sign(double a, double b) {
  return (a > 0 && b > 0) || (a < 0 && b < 0);
}

double segment_weights(const std::array<Vec3, 4>& s, int i, int j, Weights& w) {
  const Vec3 t = s[j] - s[i];
  const double tt = t.squaredNorm();
  w = {};
  if (tt > 0) {
    const double u = -s[i].dot(t) / tt;  // along i → j
    if (u > 0 && u < 1) {
      w[i] = 1 - u;
      w[j] = u;
      return (s[i] + u * t).squaredNorm();
    }
    if (u >= 1) {
      w[j] = 1;
      return s[j].squaredNorm();
    }
  }
  w[i] = 1;
  return s[i].squaredNorm();
}

double triangle_weights(const std::array<Vec3, 4>& s, const std::array<int, 3>& v, Weights& w) {
  const Vec3 &a = s[v[0]], &b = s[v[1]], &c = s[v[2]];
  const Vec3 n = (b - a).cross(c - a);
  const double nn = n.squaredNorm();
  std::array<double, 3> area{};
  bool degenerate = !(nn > 0);
  double total = 0;
  if (!degenerate) {
    const Vec3 p = (a.dot(n) / nn) * n;  // the origin, projected
    int drop = 0;
    n.cwiseAbs().maxCoeff(&drop);
    const int x = (drop + 1) % 3, y = (drop + 2) % 3;
    const auto cross2 = [&](const Vec3& u, const Vec3& q, const Vec3& r) {
      return (q[x] - u[x]) * (r[y] - u[y]) - (q[y] - u[y]) * (r[x] - u[x]);
    };
    total = n[drop];
    area = {cross2(p, b, c), cross2(p, c, a), cross2(p, a, b)};
    if (same_sign(total, area[0]) && same_sign(total, area[1]) && same_sign(total, area[2])) {
      w = {};
      const double sum = area[0] + area[1] + area[2];
      Vec3 point = Vec3::Zero();
      for (int k = 0; k < 3; ++k) {
        w[v[k]] = area[k] / sum;
        point += w[v[k]] * s[v[k]];
      }
      return point.squaredNorm();
    }
  }
  double best = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 3; ++k) {
    if (!degenerate && same_sign(total, area[k])) continue;
    Weights trial;
    const double d = segment_weights(s, v[(k + 1) % 3], v[(k + 2) % 3], trial);
    if (d < best) {
      best = d;
      w = trial;
    }
  }
  return best;
}

double tetrahedron_weights(const std::array<Vec3, 4>& s, Weights& w) {
  const auto det = [](const Vec3& a, const Vec3& b, const Vec3& c) { return a.dot(b.cross(c)); };
  const std::array<double, 4> volume{det(s[1], s[3], s[2]), det(s[0], s[2], s[3]),
                                     det(s[0], s[3], s[1]), det(s[0], s[1], s[2])};
  const double total = volume[0] + volume[1] + volume[2] + volume[3];
  bool inside = true;
  for (const double x : volume) inside = inside && same_sign(total, x);
  if (inside) {
    for (int k = 0; k < 4; ++k) w[k] = volume[k] / total;
    return 0;
  }
  double best = std::numeric_limits<double>::infinity();
  for (int k = 0; k < 4; ++k) {
    if (total != 0 && same_sign(total, volume[k])) continue;
    Weights trial;
    const double d = triangle_weights(s, {(k + 1) % 4, (k + 2) % 4, (k + 3) % 4}, trial);
    if (d < best) {
      best = d;
      w = trial;
    }
  }
  return best;
}

// Leaves the points that carry weight; returns the nearest point.
Vec3 reduce(Simplex& s) {
  std::array<Vec3, 4> w;
  for (int k = 0; k < s.count; ++k) w[k] = s.point[k].w;
  Weights weight{};
  if (s.count == 1) {
    weight[0] = 1;
  } else if (s.count == 2) {
    segment_weights(w, 0, 1, weight);
  } else if (s.count == 3) {
    triangle_weights(w, {0, 1, 2}, weight);
  } else {
    tetrahedron_weights(w, weight);
  }
  int kept = 0;
  Vec3 v = Vec3::Zero();
  for (int k = 0; k < s.count; ++k) {
    if (!(weight[k] > 0)) continue;
    v += weight[k] * s.point[k].w;
    s.point[kept] = s.point[k];
    s.weight[kept] = weight[k];
    ++kept;
  }
  s.count = kept;
  return v;
}

Nearest apart(const Simplex& s, const Vec3& v, int iterations) {
  Nearest out;
  for (int k = 0; k < s.count; ++k) {
    out.a += s.weight[k] * s.point[k].a;
    out.b += s.weight[k] * s.point[k].b;
  }
  out.distance = v.norm();
  out.normal = v / out.distance;
  out.iterations = iterations;
  return out;
}

}  // namespace

MinkowskiPoint minkowski_support(const ConvexPair& pair, const Vec3& d) {
  MinkowskiPoint p;
  p.a = support(pair.a, d);
  p.b = pair.R * support(pair.b, -(pair.R.transpose() * d)) + pair.t;
  p.w = p.a - p.b;
  return p;
}

bool polish(const ConvexPair& pair, Nearest& nearest) {
  if (!is_curved(pair.a) && !is_curved(pair.b)) return false;
  const double size = pair.a.extent + pair.b.extent;
  Vec3 n = nearest.normal;
  MinkowskiPoint p = minkowski_support(pair, -n);
  double along = n.dot(p.w);
  Vec3 residual = p.w - along * n;
  for (int k = 0; k < 12; ++k) {
    const double error = residual.norm();
    if (error <= 1e-14 * size) break;
    // d(w − (n·w) n) in the tangent plane: the curvatures of both solids, less the distance.
    const Vec3 e1 = n.unitOrthogonal(), e2 = n.cross(e1);
    Eigen::Matrix<double, 3, 2> E;
    E << e1, e2;
    const Mat3 D = -support_derivative(pair.a, -n) -
                   pair.R * support_derivative(pair.b, pair.R.transpose() * n) * pair.R.transpose();
    const Eigen::Matrix2d J = E.transpose() * D * E - along * Eigen::Matrix2d::Identity();
    const Eigen::Vector2d step = -J.inverse() * (E.transpose() * residual);
    if (!step.allFinite() || step.norm() > 0.5) return false;
    n = (n + E * step).normalized();
    p = minkowski_support(pair, -n);
    along = n.dot(p.w);
    residual = p.w - along * n;
    if (!(residual.norm() < error)) break;  // rounding, or a kink
  }
  // Apart, more separation is nearer to the truth; overlapping, the least depth is the answer. Both
  // are a larger `along`.
  if (residual.norm() > 1e-10 * size || along < nearest.distance - 1e-3 * size ||
      (along > 0) != (nearest.distance > 0))
    return false;
  if (nearest.distance <= 0 && along < nearest.distance) return false;
  nearest.normal = n;
  nearest.distance = along;
  nearest.a = p.a;
  nearest.b = p.b;
  return true;
}

double separation(const ConvexPair& pair, const Vec3& n) {
  return n.dot(minkowski_support(pair, -n).w);
}

namespace {

/// Found apart, or `overlap`: the origin is inside the simplex or too near for v to have a
/// direction.
struct Search {
  Nearest nearest = {};
  bool overlap = false;
};

Search search(const ConvexPair& pair, const Vec3& start, double size) {
  const double touch = touching * size;
  Simplex s;
  s.point[0] = minkowski_support(pair, start);
  s.weight[0] = 1;
  s.count = 1;
  Vec3 v = s.point[0].w;
  double rough = rough_gap;
  int iteration = 1;
  for (; iteration <= max_iterations; ++iteration) {
    const double vv = v.squaredNorm();
    if (vv <= touch * touch) return {{}, true};
    const MinkowskiPoint p = minkowski_support(pair, -v);
    const double rest = vv - v.dot(p.w);
    // The second term is what rounding leaves of v·w.
    if (rest <= relative_gap * vv + 4e-16 * size * std::sqrt(vv)) break;
    if (rest <= rough * vv) {
      Nearest out = apart(s, v, iteration);
      if (polish(pair, out)) return {out};
      rough = 1e-4 * rest / vv;
    }
    Simplex next = s;
    next.point[next.count++] = p;
    const Vec3 nearer = reduce(next);
    if (next.count == 4) return {{}, true};
    if (!(nearer.squaredNorm() < vv)) break;
    s = next;
    v = nearer;
  }
  return {apart(s, v, iteration)};
}

// Nearly touching, v is left with few digits, and round parts converge slowly or stall on flat
// simplices. The separation along v/|v| tells: if it lacks something, the polytope, which does not
// need v, may know the direction better, and a second search from there the points.
Nearest find_nearest(const ConvexPair& pair) {
  const double size = pair.a.extent + pair.b.extent, slack = 1e-10 * size;
  const Vec3 start = pair.t.squaredNorm() > 0 ? pair.t : Vec3(Vec3::UnitX());
  const Search first = search(pair, start, size);
  if (first.overlap) return expand_polytope(pair);
  Nearest found = first.nearest;
  if (found.distance > 1e-3 * size) return found;
  double certain = separation(pair, found.normal);
  if (certain >= found.distance - slack) return found;
  const Nearest other = expand_polytope(pair);
  if (other.distance <= 0) return other.distance > certain ? other : found;
  const Search second = search(pair, -other.normal, size);
  if (!second.overlap && second.nearest.distance < found.distance) {
    found = second.nearest;
    certain = separation(pair, found.normal);
  }
  if (other.distance <= certain) return found;
  if (other.distance < found.distance - 1e-6 * size) return other;
  found.normal = other.normal;
  return found;
}

}  // namespace

Nearest nearest_points(const ConvexPair& pair) {
  Nearest found = find_nearest(pair);
  polish_on_parts(pair, found);
  return found;
}

}  // namespace urto
