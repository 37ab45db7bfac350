#include "urto/collision/manifold.h"

#include <algorithm>
#include <cmath>

#include "urto/math/rotation.h"

namespace urto {
namespace {

using Vec2 = Eigen::Vector2d;
using Kind = Feature::Kind;
using Candidate = ManifoldScratch::Candidate;
using Corner = ManifoldScratch::Corner;

constexpr double twins = 1e3;           // tolerances apart, points with one gap are one
constexpr double parallel_sine = 0.01;  // segments that lean less share a line, not a point

double cross2(const Vec2& a, const Vec2& b) {
  return a[0] * b[1] - a[1] * b[0];
}

// A feature over the plane across n: positions there and the height along n.
class Region {
 public:
  Region(const Feature& f, const Mat3& frame, bool reversed)
      : f_(f), frame_(frame), reversed_(reversed) {
    if (f.kind == Kind::polygon || f.kind == Kind::disc) {
      const Vec3 m = frame.transpose() * f.normal;
      slope_ = -Vec2(m[1], m[2]) / m[0];
    } else if (f.kind == Kind::segment) {
      const Vec2 d = at(1) - at(0);
      const double dd = d.squaredNorm();
      rise_ = frame.col(0).dot(vertex(1) - vertex(0));
      if (dd > 0) slope_ = d * (rise_ / dd);
    }
    base_ = at(0);
    base_height_ = frame.col(0).dot(vertex(0));
  }
  int count() const { return f_.count; }
  Kind kind() const { return f_.kind; }
  int name(int k) const { return f_.id[index(k)]; }
  Vec2 at(int k) const { return flat(vertex(k)); }
  double height(const Vec2& x) const {
    const double rise = slope_.dot(x - base_);
    // A segment ends; what lies beside it has the height of its nearest end.
    if (f_.kind == Kind::segment)
      return base_height_ + std::clamp(rise, std::min(0.0, rise_), std::max(0.0, rise_));
    return base_height_ + rise;
  }
  // Offsets in the disc's own plane, which may lean against n.
  Vec3 from_center(const Vec2& x) const {
    return frame_.col(1) * x[0] + frame_.col(2) * x[1] + frame_.col(0) * height(x) - f_.center;
  }
  // Along the plane of the feature as x moves along axis k.
  Vec3 tangent(int k) const { return frame_.col(k + 1) + frame_.col(0) * slope_[k]; }
  double radius() const { return f_.radius; }
  Vec2 center() const { return flat(f_.center); }

 private:
  int index(int k) const { return reversed_ ? f_.count - 1 - k : k; }
  const Vec3& vertex(int k) const { return f_.vertex[index(k)]; }
  Vec2 flat(const Vec3& x) const { return {frame_.col(1).dot(x), frame_.col(2).dot(x)}; }

  const Feature& f_;
  const Mat3& frame_;
  bool reversed_;
  Vec2 slope_{0, 0}, base_{0, 0};
  double base_height_ = 0, rise_ = 0;
};

bool inside_polygon(const Region& p, const Vec2& x, double tolerance) {
  for (int k = 0; k < p.count(); ++k) {
    const Vec2 a = p.at(k), edge = p.at((k + 1) % p.count()) - a;
    if (cross2(edge, x - a) < -tolerance * edge.norm()) return false;
  }
  return true;
}

bool inside_disc(const Region& d, const Vec2& x, double tolerance) {
  return d.from_center(x).norm() <= d.radius() + tolerance;
}

struct Collector {
  const Region &a, &b;
  double reach;
  std::vector<Candidate>& out;

  void add(const Vec2& x, std::uint32_t feature) const {
    const double za = a.height(x), zb = b.height(x);
    if (za - zb <= reach) out.push_back({x, 0.5 * (za + zb), za - zb, feature});
  }
};

// How far from p to q an edge is crossed, from the heights of p and q over its line moved out by
// `tolerance`: what counts as inside is decided there, where a point lies by the edge itself.
double crossing(double over_p, double over_q, double tolerance) {
  return std::clamp((over_p - tolerance) / (over_p - over_q), 0.0, 1.0);
}

// Sutherland and Hodgman: A's polygon cut by the lines of B's edges, each corner knowing the edges
// it lies on.
void polygon_polygon(const Collector& c, double tolerance, ManifoldScratch& s) {
  s.region.clear();
  for (int k = 0; k < c.a.count(); ++k)
    s.region.push_back({c.a.at(k), vertex_of_a(c.a.name(k)), k});
  const int n = c.b.count();
  for (int j = 0; j < n && !s.region.empty(); ++j) {
    const Vec2 origin = c.b.at(j), edge = (c.b.at((j + 1) % n) - origin).normalized();
    const auto side = [&](const Vec2& x) { return cross2(edge, x - origin) + tolerance; };
    s.clipped.clear();
    for (std::size_t k = 0; k < s.region.size(); ++k) {
      const Corner& p = s.region[k];
      const Corner& q = s.region[(k + 1) % s.region.size()];
      const double dp = side(p.x), dq = side(q.x);
      if (dp >= 0) s.clipped.push_back(p);
      if ((dp >= 0) == (dq >= 0)) continue;
      Corner cut;
      if (p.edge >= 0) {
        cut.x = p.x + crossing(dp, dq, tolerance) * (q.x - p.x);
        cut.feature = edges_of_both(c.a.name(p.edge), c.b.name(j));
      } else {
        // Two lines of B cross in its vertex.
        const int other = -1 - p.edge;
        const int vertex = (other + 1) % n == j ? j : other;
        cut.x = c.b.at(vertex);
        cut.feature = vertex_of_b(c.b.name(vertex));
      }
      cut.edge = dp >= 0 ? -1 - j : p.edge;
      s.clipped.push_back(cut);
    }
    std::swap(s.region, s.clipped);
  }
  for (const Corner& corner : s.region) c.add(corner.x, corner.feature);
}

// The line p + u (q − p), 0 ≤ u ≤ 1, inside a disc.
bool clip_to_disc(const Region& disc, const Vec2& p, const Vec2& q, double& lower, double& upper) {
  const Vec3 o = disc.from_center(p), d = disc.from_center(q) - o;
  const double A = d.squaredNorm(), B = o.dot(d),
               C = o.squaredNorm() - disc.radius() * disc.radius();
  const double root = B * B - A * C;
  if (!(A > 0) || root < 0) return false;
  lower = std::max(lower, (-B - std::sqrt(root)) / A);
  upper = std::min(upper, (-B + std::sqrt(root)) / A);
  return lower <= upper;
}

// By which edge an end of a line is cut off, and where.
struct Cut {
  int edge = 0;
  double at = 0;
};

bool clip_to_polygon(const Region& polygon, const Vec2& p, const Vec2& q, double tolerance,
                     double& lower, double& upper, std::array<Cut, 2>& cut) {
  for (int j = 0; j < polygon.count(); ++j) {
    const Vec2 a = polygon.at(j), edge = (polygon.at((j + 1) % polygon.count()) - a).normalized();
    const double dp = cross2(edge, p - a) + tolerance, dq = cross2(edge, q - a) + tolerance;
    if (dp < 0 && dq < 0) return false;
    if (dp >= 0 && dq >= 0) continue;
    const double u = dp / (dp - dq);
    if (dp < 0 && u > lower) {
      lower = u;
      cut[0] = {j, crossing(dp, dq, tolerance)};
    } else if (dq < 0 && u < upper) {
      upper = u;
      cut[1] = {j, crossing(dp, dq, tolerance)};
    }
  }
  return lower <= upper;
}

// Vertices of the polygon in the disc, rim points in the polygon, and where edges cross the rim.
void polygon_disc(const Collector& c, bool a_is_disc, double tolerance) {
  const Region& disc = a_is_disc ? c.a : c.b;
  const Region& polygon = a_is_disc ? c.b : c.a;
  const auto of_disc = a_is_disc ? vertex_of_a : vertex_of_b;
  const auto of_polygon = a_is_disc ? vertex_of_b : vertex_of_a;
  for (int k = 0; k < disc.count(); ++k) {
    if (inside_polygon(polygon, disc.at(k), tolerance)) c.add(disc.at(k), of_disc(disc.name(k)));
  }
  for (int k = 0; k < polygon.count(); ++k) {
    const Vec2 p = polygon.at(k), q = polygon.at((k + 1) % polygon.count());
    if (inside_disc(disc, p, tolerance)) c.add(p, of_polygon(polygon.name(k)));
    double lower = 0, upper = 1;
    if (!clip_to_disc(disc, p, q, lower, upper)) continue;
    if (lower > 0) c.add(p + lower * (q - p), edges_of_both(polygon.name(k), 1));
    if (upper < 1) c.add(p + upper * (q - p), edges_of_both(polygon.name(k), 2));
  }
}

// Moves x to where |x − center| = radius for both discs, each in its own plane.
bool on_both_rims(const Region& a, const Region& b, Vec2& x) {
  const double size = a.radius() + b.radius();
  for (int k = 0; k < 8; ++k) {
    const Vec3 da = a.from_center(x), db = b.from_center(x);
    const Vec2 f(da.squaredNorm() - a.radius() * a.radius(),
                 db.squaredNorm() - b.radius() * b.radius());
    if (f.norm() <= 1e-12 * size * size) return true;
    Eigen::Matrix2d J;
    J << 2 * da.dot(a.tangent(0)), 2 * da.dot(a.tangent(1)), 2 * db.dot(b.tangent(0)),
        2 * db.dot(b.tangent(1));
    const Vec2 step = J.inverse() * f;
    if (!(step.norm() < size)) return false;
    x -= step;
  }
  return false;
}

void disc_disc(const Collector& c, double tolerance) {
  for (int k = 0; k < c.a.count(); ++k) {
    if (inside_disc(c.b, c.a.at(k), tolerance)) c.add(c.a.at(k), vertex_of_a(c.a.name(k)));
  }
  for (int k = 0; k < c.b.count(); ++k) {
    if (inside_disc(c.a, c.b.at(k), tolerance)) c.add(c.b.at(k), vertex_of_b(c.b.name(k)));
  }
  // Both lean a little: where circles would cross, Newton's method finds where the rims do.
  const Vec2 d = c.b.center() - c.a.center();
  const double length = d.norm(), ra = c.a.radius(), rb = c.b.radius();
  if (length <= std::abs(ra - rb) || length >= ra + rb || length == 0) return;
  const double along = (length * length + ra * ra - rb * rb) / (2 * length);
  const double across = std::sqrt(std::max(0.0, ra * ra - along * along));
  const Vec2 u = d / length, w(-u[1], u[0]);
  for (const double side : {1.0, -1.0}) {
    Vec2 x = c.a.center() + along * u + side * across * w;
    if (on_both_rims(c.a, c.b, x)) c.add(x, edges_of_both(side > 0 ? 1 : 2, 0));
  }
}

void segment_face(const Collector& c, bool a_is_segment, double tolerance) {
  const Region& segment = a_is_segment ? c.a : c.b;
  const Region& face = a_is_segment ? c.b : c.a;
  const auto of_segment = a_is_segment ? vertex_of_a : vertex_of_b;
  const Vec2 p = segment.at(0), q = segment.at(1);
  double lower = 0, upper = 1;
  std::array<Cut, 2> cut{};
  if (face.kind() == Kind::disc) {
    if (!clip_to_disc(face, p, q, lower, upper)) return;
    cut[0].at = lower;
    cut[1].at = upper;
  } else if (!clip_to_polygon(face, p, q, tolerance, lower, upper, cut)) {
    return;
  }
  const auto name = [&](int end) {
    return edges_of_both(segment.name(end), face.name(cut[end].edge));
  };
  if (lower > 0) {
    c.add(p + cut[0].at * (q - p), name(0));
  } else {
    c.add(p, of_segment(segment.name(0)));
  }
  if (upper < 1) {
    c.add(p + cut[1].at * (q - p), name(1));
  } else {
    c.add(q, of_segment(segment.name(1)));
  }
}

// Nearly parallel segments touch along what they share; others in one point, which the caller has.
void segment_segment(const Collector& c) {
  const Vec2 o = c.a.at(0), d = c.a.at(1) - o, e = c.b.at(1) - c.b.at(0);
  const double length = d.norm();
  if (!(length > 0) || std::abs(cross2(d, e)) > parallel_sine * length * e.norm()) return;
  const Vec2 u = d / length;
  double from = u.dot(c.b.at(0) - o), to = u.dot(c.b.at(1) - o);
  int first = 0, last = 1;
  if (from > to) {
    std::swap(from, to);
    std::swap(first, last);
  }
  const double lower = std::max(0.0, from), upper = std::min(length, to);
  if (lower > upper) return;
  c.add(o + lower * u, from > 0 ? vertex_of_b(c.b.name(first)) : vertex_of_a(c.a.name(0)));
  c.add(o + upper * u, to < length ? vertex_of_b(c.b.name(last)) : vertex_of_a(c.a.name(1)));
}

// Whether candidate p is to be preferred to q for having the larger score.
bool better(double score_p, const Candidate& p, double score_q, const Candidate& q,
            double score_tolerance, double gap_tolerance) {
  if (std::abs(score_p - score_q) > score_tolerance) return score_p > score_q;
  if (std::abs(p.gap - q.gap) > gap_tolerance) return p.gap < q.gap;
  return p.feature < q.feature;
}

template <class Score>
int best_of(const std::vector<Candidate>& all, Score&& score, double score_tolerance,
            double gap_tolerance) {
  int best = 0;
  double best_score = score(all[0]);
  for (int k = 1; k < static_cast<int>(all.size()); ++k) {
    const double s = score(all[k]);
    if (better(s, all[k], best_score, all[best], score_tolerance, gap_tolerance)) {
      best = k;
      best_score = s;
    }
  }
  return best;
}

ManifoldPoint point_of(const Vec3& n, const Mat3& frame, const Candidate& c) {
  const Vec3 x = frame.col(0) * c.height + frame.col(1) * c.x[0] + frame.col(2) * c.x[1];
  return {x, c.gap, c.feature, c.own_normal ? c.normal : n, c.own_normal};
}

}  // namespace

void shared_region(const Vec3& n, double reach, double tolerance, ManifoldScratch& scratch) {
  const Mat3 frame = contact_frame(n);
  const Region a(scratch.a, frame, true), b(scratch.b, frame, false);
  const Collector c{a, b, reach, scratch.candidates};
  const Kind ka = a.kind(), kb = b.kind();
  if (ka == Kind::point || kb == Kind::point) return;
  if (ka == Kind::segment && kb == Kind::segment) return segment_segment(c);
  if (ka == Kind::segment || kb == Kind::segment)
    return segment_face(c, ka == Kind::segment, tolerance);
  if (ka == Kind::disc && kb == Kind::disc) return disc_disc(c, tolerance);
  if (ka == Kind::disc || kb == Kind::disc) return polygon_disc(c, ka == Kind::disc, tolerance);
  polygon_polygon(c, tolerance, scratch);
}

Candidate candidate_at(const Vec3& n, const Vec3& midway, double gap, std::uint32_t feature) {
  const Mat3 frame = contact_frame(n);
  return {{frame.col(1).dot(midway), frame.col(2).dot(midway)}, n.dot(midway), gap, feature};
}

void all_points(const Vec3& n, const std::vector<Candidate>& candidates,
                std::vector<ManifoldPoint>& out) {
  out.clear();
  const Mat3 frame = contact_frame(n);
  for (const Candidate& c : candidates) out.push_back(point_of(n, frame, c));
}

void choose_points(const Vec3& n, double tolerance, std::vector<Candidate>& all, Manifold& out) {
  out.normal = n;
  out.count = 0;
  if (all.empty()) return;
  const Mat3 frame = contact_frame(n);
  const auto keep = [&](const Candidate& c) { out.points[out.count++] = point_of(n, frame, c); };
  // First go doubles, then of the ends of lines those that are farthest from touching.
  for (std::size_t k = 1; k < all.size() && all.size() > Manifold::capacity;) {
    const auto last = all.begin() + static_cast<std::ptrdiff_t>(k);
    const bool twin = std::any_of(all.begin(), last, [&](const Candidate& c) {
      return (c.x - last->x).norm() <= twins * tolerance && c.gap <= last->gap + tolerance;
    });
    if (twin) {
      all.erase(last);
    } else {
      ++k;
    }
  }
  const auto farther = [](const Candidate& p, const Candidate& q) {
    return p.own_normal != q.own_normal ? q.own_normal : p.own_normal && p.gap < q.gap;
  };
  while (all.size() > static_cast<std::size_t>(Manifold::capacity)) {
    const auto last = std::max_element(all.begin(), all.end(), farther);
    if (!last->own_normal) break;
    all.erase(last);
  }
  if (all.size() <= static_cast<std::size_t>(Manifold::capacity)) {
    for (const Candidate& c : all) keep(c);
    return;
  }
  const Candidate p = all[best_of(
      all, [](const Candidate& c) { return -c.gap; }, tolerance, tolerance)];
  double extent = 0;
  for (const Candidate& c : all) extent = std::max(extent, (c.x - p.x).norm());
  const double length_tie = std::max(tolerance, 0.01 * extent), area_tie = extent * length_tie;
  const Candidate q = all[best_of(
      all, [&](const Candidate& c) { return (c.x - p.x).norm(); }, length_tie, tolerance)];
  const Vec2 base = q.x - p.x;
  const auto area = [&](const Candidate& c) { return cross2(base, c.x - p.x); };
  const Candidate left = all[best_of(all, area, area_tie, tolerance)];
  const Candidate right = all[best_of(
      all, [&](const Candidate& c) { return -area(c); }, area_tie, tolerance)];
  keep(p);
  if (q.feature != p.feature) keep(q);
  // All on a line: its other end, where the deepest point lies between the two.
  if (area(left) <= area_tie && -area(right) <= area_tie) {
    const Candidate end = all[best_of(
        all, [&](const Candidate& c) { return (c.x - q.x).norm(); }, length_tie, tolerance)];
    if (end.feature != p.feature && end.feature != q.feature) keep(end);
  }
  if (area(left) > area_tie && left.feature != q.feature) keep(left);
  if (-area(right) > area_tie && right.feature != q.feature) keep(right);
  // All to one side: a fourth point that reaches out furthest behind the triangle's other edges.
  if (out.count == 3) {
    const Candidate third = area(left) > area_tie ? left : right;
    const double turn = area(third) > 0 ? 1 : -1;
    const auto beyond = [&](const Candidate& c) {
      return std::max(turn * cross2(c.x - q.x, third.x - q.x),
                      turn * cross2(c.x - third.x, p.x - third.x));
    };
    const Candidate fourth = all[best_of(all, beyond, area_tie, tolerance)];
    if (beyond(fourth) > area_tie) keep(fourth);
  }
}

}  // namespace urto
