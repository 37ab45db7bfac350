#include "urto/collision/expanding_polytope.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace urto {
namespace {

constexpr int max_points = 400;
constexpr int max_faces = 2 * max_points;  // Euler: at most 2n − 4
constexpr double flat = 1e-10;             // of the size: thinner than this, W has no inside
constexpr double ruled_out = 2e-7;  // of the size: how much deeper another direction might still be
constexpr double converged = 1e-12;  // of the size: offset of a facet against W's reach

// Facets and points are set when they are added: a polytope that needs ten of them must not pay for
// hundreds.
struct Facet {
  std::array<int, 3> v;     ///< counter-clockwise from outside
  std::array<int, 3> next;  ///< the facet across v[i] → v[i+1]
  Vec3 normal;
  double offset;
  bool alive, seen;
};

struct Polyhedron {
  std::array<MinkowskiPoint, max_points> point;
  std::array<Facet, max_faces> facet;
  std::array<int, max_faces> free_list;
  int points = 0, facets = 0, free_count = 0;

  bool full() const { return points == max_points; }
  int add_facet(int a, int b, int c) {
    const int f = free_count > 0 ? free_list[--free_count] : facets++;
    Facet& out = facet[f];
    out.v = {a, b, c};
    out.next = {-1, -1, -1};
    out.alive = true;
    out.seen = false;
    const Vec3& o = point[a].w;
    const Vec3 n = (point[b].w - o).cross(point[c].w - o);
    const double length = n.norm();
    out.normal = length > 0 ? Vec3(n / length) : Vec3(Vec3::Zero());
    out.offset = out.normal.dot(o);
    return f;
  }
  void remove(int f) {
    facet[f].alive = false;
    free_list[free_count++] = f;
  }
};

int edge_towards(const Facet& f, int from) {
  return f.v[0] == from ? 0 : f.v[1] == from ? 1 : 2;
}

// Four points of W that span a volume. Otherwise `thin` is a direction in which W has no width.
bool first_tetrahedron(const ConvexPair& pair, double size, Polyhedron& p, Vec3& thin) {
  const auto widest = [&](std::initializer_list<Vec3> directions, auto&& measure, double& best) {
    MinkowskiPoint out;
    best = -1;
    for (const Vec3& d : directions) {
      for (const double sign : {1.0, -1.0}) {
        const MinkowskiPoint q = minkowski_support(pair, sign * d);
        const double m = measure(q.w);
        if (m > best) {
          best = m;
          out = q;
        }
      }
    }
    return out;
  };
  double best = 0;
  p.point[0] = minkowski_support(pair, Vec3::UnitX());
  const Vec3 o = p.point[0].w;
  thin = Vec3::UnitZ();
  p.point[1] = widest(
      {Vec3::UnitX(), Vec3::UnitY(), Vec3::UnitZ()}, [&](const Vec3& w) { return (w - o).norm(); },
      best);
  if (best <= flat * size) return false;
  const Vec3 e = (p.point[1].w - o).normalized();
  const Vec3 e1 = e.unitOrthogonal(), e2 = e.cross(e1);
  thin = e1;
  p.point[2] = widest(
      {e1, e2}, [&](const Vec3& w) { return e.cross(w - o).norm(); }, best);
  if (best <= flat * size) return false;
  const Vec3 n = e.cross(p.point[2].w - o).normalized();
  thin = n;
  p.point[3] = widest(
      {n}, [&](const Vec3& w) { return std::abs(n.dot(w - o)); }, best);
  if (best <= flat * size) return false;
  if (n.dot(p.point[3].w - o) > 0) std::swap(p.point[1], p.point[2]);
  p.points = 4;
  p.add_facet(0, 1, 2);
  p.add_facet(0, 3, 1);
  p.add_facet(1, 3, 2);
  p.add_facet(2, 3, 0);
  p.facet[0].next = {1, 2, 3};
  p.facet[1].next = {3, 2, 0};
  p.facet[2].next = {1, 3, 0};
  p.facet[3].next = {2, 1, 0};
  return true;
}

struct HorizonEdge {
  int from, to, outside;
};

// Facets that the new point sees, by walking from one of them; the horizon in order around the
// hole. False if it does not close.
class Horizon {
 public:
  bool find(Polyhedron& p, int seed, const Vec3& w, double tolerance) {
    count_ = seen_count_ = 0;
    p_ = &p;
    w_ = &w;
    tolerance_ = tolerance;
    mark(seed);
    for (int k = 0; k < 3; ++k) {
      const int v = p.facet[seed].v[k];
      visit(p.facet[seed].next[k], v, 0);
    }
    for (int k = 0; k < seen_count_; ++k) p.facet[seen_[k]].seen = false;
    if (count_ < 3) return false;
    for (int k = 0; k < count_; ++k) {
      if (edge_[k].to != edge_[(k + 1) % count_].from) return false;
    }
    return true;
  }
  int count() const { return count_; }
  const HorizonEdge& operator[](int k) const { return edge_[k]; }
  int seen_count() const { return seen_count_; }
  int seen(int k) const { return seen_[k]; }

 private:
  void mark(int f) {
    p_->facet[f].seen = true;
    seen_[seen_count_++] = f;
  }
  // `f` lies across the edge that leaves `from` on the seen side (and arrives at `from` on f's
  // side).
  void visit(int f, int from, int depth) {
    Facet& facet = p_->facet[f];
    if (facet.seen) return;
    int arrives = 0;  // edge of f that ends at `from`
    for (int k = 0; k < 3; ++k) {
      if (facet.v[(k + 1) % 3] == from) arrives = k;
    }
    if (facet.normal.dot(*w_) <= facet.offset + tolerance_ || depth > max_faces) {
      if (count_ < max_faces) edge_[count_++] = {from, facet.v[arrives], f};
      return;
    }
    mark(f);
    visit(facet.next[(arrives + 1) % 3], facet.v[(arrives + 1) % 3], depth + 1);
    visit(facet.next[(arrives + 2) % 3], facet.v[(arrives + 2) % 3], depth + 1);
  }

  Polyhedron* p_ = nullptr;
  const Vec3* w_ = nullptr;
  double tolerance_ = 0;
  std::array<HorizonEdge, max_faces> edge_;
  std::array<int, max_faces> seen_;
  int count_ = 0, seen_count_ = 0;
};

// Replaces what the point sees by a fan from it. False if rounding broke the surface.
bool expand(Polyhedron& p, Horizon& horizon, int seed, const MinkowskiPoint& q, double tolerance) {
  if (!horizon.find(p, seed, q.w, tolerance)) return false;
  const int apex = p.points++;
  p.point[apex] = q;
  for (int k = 0; k < horizon.seen_count(); ++k) p.remove(horizon.seen(k));
  std::array<int, max_faces> fan;
  const int n = horizon.count();
  for (int k = 0; k < n; ++k) {
    if (p.free_count == 0 && p.facets == max_faces) return false;
    const HorizonEdge& e = horizon[k];
    fan[k] = p.add_facet(e.from, e.to, apex);
    Facet& outside = p.facet[e.outside];
    outside.next[edge_towards(outside, e.to)] = fan[k];
    p.facet[fan[k]].next[0] = e.outside;
  }
  for (int k = 0; k < n; ++k) {
    p.facet[fan[k]].next[1] = fan[(k + 1) % n];
    p.facet[fan[(k + 1) % n]].next[2] = fan[k];
    if (p.facet[fan[k]].normal.isZero()) return false;
  }
  return true;
}

int nearest_facet(const Polyhedron& p) {
  int best = -1;
  for (int f = 0; f < p.facets; ++f) {
    if (p.facet[f].alive && (best < 0 || p.facet[f].offset < p.facet[best].offset)) best = f;
  }
  return best;
}

// Weights of the facet's corners where the normal through the origin meets its plane.
Vec3 foot_weights(const Polyhedron& p, const std::array<int, 3>& v) {
  const Vec3 &a = p.point[v[0]].w, ab = p.point[v[1]].w - a, ac = p.point[v[2]].w - a;
  const double d00 = ab.dot(ab), d01 = ab.dot(ac), d11 = ac.dot(ac);
  const double d20 = -a.dot(ab), d21 = -a.dot(ac);
  const double det = d00 * d11 - d01 * d01;
  if (!(det > 0)) return {1, 0, 0};
  const double y = (d11 * d20 - d01 * d21) / det, z = (d00 * d21 - d01 * d20) / det;
  return {1 - y - z, y, z};
}

// The points of both solids under the result. A flat part of W is many facets: the one that holds
// the foot of the normal.
void witness(const Polyhedron& p, double size, Nearest& out) {
  double best = -std::numeric_limits<double>::infinity();
  for (int f = 0; f < p.facets; ++f) {
    const Facet& facet = p.facet[f];
    if (!facet.alive || facet.offset + out.distance > 1e-7 * size ||
        facet.normal.dot(out.normal) > -1 + 1e-6)
      continue;
    Vec3 weights = foot_weights(p, facet.v);
    if (weights.minCoeff() <= best) continue;
    best = weights.minCoeff();
    weights = weights.cwiseMax(0.0);
    weights /= weights.sum();
    out.a = out.b = Vec3::Zero();
    for (int k = 0; k < 3; ++k) {
      out.a += weights[k] * p.point[facet.v[k]].a;
      out.b += weights[k] * p.point[facet.v[k]].b;
    }
  }
}

// For what Newton's method cannot finish, ridges between round and ruled parts: the best of
// directions around, nearer and nearer.
void climb(const ConvexPair& pair, Nearest& out) {
  constexpr int around = 8;
  for (double step = 0.05; step > 1e-9;) {
    const Vec3 e1 = out.normal.unitOrthogonal(), e2 = out.normal.cross(e1);
    bool better = false;
    for (int k = 0; k < around && !better; ++k) {
      const double angle = 2 * M_PI * k / around + step;
      const Vec3 n =
          (out.normal + step * (std::cos(angle) * e1 + std::sin(angle) * e2)).normalized();
      const MinkowskiPoint q = minkowski_support(pair, -n);
      if (n.dot(q.w) <= out.distance) continue;
      better = true;
      out.normal = n;
      out.distance = n.dot(q.w);
      out.a = q.a;
      out.b = q.b;
    }
    if (!better) step *= 0.5;
  }
}

// W is nearly a ball about the origin: more directions are nearly alike than the polytope has room
// for. Each facet that could still be the nearest is the start of a search.
void polish_all(const ConvexPair& pair, const Polyhedron& p, Nearest& out) {
  polish(pair, out);
  for (int f = 0; f < p.facets; ++f) {
    const Facet& facet = p.facet[f];
    if (!facet.alive || facet.offset >= -out.distance) continue;
    Nearest trial = out;
    trial.normal = -facet.normal;
    trial.distance = separation(pair, trial.normal);
    if (trial.distance <= out.distance) {
      if (!polish(pair, trial)) continue;
    } else {
      polish(pair, trial);
    }
    if (trial.distance > out.distance) out = trial;
  }
  climb(pair, out);
}

}  // namespace

Nearest expand_polytope(const ConvexPair& pair) {
  const double size = pair.a.extent + pair.b.extent;
  Polyhedron p;
  Nearest out;
  Vec3 thin;
  if (!first_tetrahedron(pair, size, p, thin)) {
    // W has no inside: the cores (segments, triangles in a plane) only touch.
    out.normal = thin.dot(pair.t) > 0 ? Vec3(-thin) : thin;
    const MinkowskiPoint q = minkowski_support(pair, -out.normal);
    out.distance = out.normal.dot(q.w);
    out.a = q.a;
    out.b = q.b;
    return out;
  }
  Horizon horizon;
  double least = std::numeric_limits<double>::infinity();
  double rough = 1e-4;    // of the size: from where Newton's method may finish
  bool polished = false;  // then only other basins are to be ruled out
  while (true) {
    ++out.iterations;
    const int f = nearest_facet(p);
    if (f < 0) break;
    const Facet facet = p.facet[f];
    if (polished && least - facet.offset <= ruled_out * size) break;
    const MinkowskiPoint q = minkowski_support(pair, facet.normal);
    const double reach = facet.normal.dot(q.w);
    if (reach < least) {
      // W reaches exactly this far along this direction: a bound from above, whatever the polytope
      // still lacks.
      least = reach;
      out.normal = -facet.normal;
      out.distance = -reach;
      out.a = q.a;
      out.b = q.b;
      polished = false;
    }
    const double rest = reach - facet.offset;
    if (rest <= rough * size && !polished) {
      polished = polish(pair, out);
      rough = 1e-3 * rest / size;
      least = -out.distance;
    }
    if (rest <= converged * size) break;
    if (p.full() || !expand(p, horizon, f, q, 1e-15 * size)) {
      polish_all(pair, p, out);
      return out;
    }
  }
  if (!polished) witness(p, size, out);
  return out;
}

}  // namespace urto
