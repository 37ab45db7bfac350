#include "urto/collision/line_ends.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "urto/collision/closed_forms.h"
#include "urto/collision/core_part.h"
#include "urto/collision/part_polish.h"
#include "urto/math/rotation.h"

namespace urto {
namespace {

using Kind = Feature::Kind;
using Candidate = ManifoldScratch::Candidate;

// Cores nearer than this part of the size have no direction between them that can be relied on.
constexpr double apart = 1e-6;

bool is_flat(const Convex& c) {
  return c.core == CoreKind::box || c.core == CoreKind::polytope || c.core == CoreKind::triangle;
}

bool is_revolved(const Convex& c) {
  return c.core == CoreKind::cylinder || c.core == CoreKind::cone;
}

// Half the length along the axis and where its middle is.
double half_length(const Convex& c) {
  return c.core == CoreKind::segment ? c.size[2] : c.size[1];
}

// The foot of p on the infinite side of a cylinder or cone; false beyond its ends.
bool foot_on_side(const Convex& c, const Vec3& p, double tolerance, SurfacePoint& foot) {
  const double rho = std::hypot(p[0], p[1]), h = c.size[1];
  if (!(rho > 0)) return false;
  const double taper = c.core == CoreKind::cone ? c.size[0] / (2 * h) : 0;
  const double cosine = 1 / std::hypot(1.0, taper);
  // Over a cone the radius falls by `taper` with the height z.
  const double z = p[2] - c.shift;
  const double radius = c.core == CoreKind::cone ? taper * (h - z) : c.size[0];
  foot.distance = (rho - radius) * cosine;
  foot.normal = cosine * Vec3(p[0] / rho, p[1] / rho, taper);
  foot.point = p - foot.distance * foot.normal;
  const double at = foot.point[2] - c.shift;
  return std::abs(at) <= h + tolerance;
}

// One solid's feature against the other solid, in the other's frame.
struct Target {
  const Convex& core;
  bool side;          // met on its side: ends count only between its ends
  bool faces_normal;  // met on a face whose normal is the pair's

  // Whether a face plane of a hull says that the disc of radius r about p across the unit vector
  // `axis` is farther than `reach`: much cheaper than its nearest points.
  bool is_beyond(const Vec3& p, const Vec3& axis, double r, double reach) const {
    if (core.core != CoreKind::polytope) return false;
    for (int f = 0; f < core.polytope->face_count(); ++f) {
      const Vec3& m = core.polytope->normals[f];
      const double across = r > 0 ? r * m.cross(axis).norm() : 0;
      if (m.dot(p - core.polytope->vertices[core.polytope->loop(f)[0]]) - across > reach) {
        return true;
      }
    }
    return false;
  }

  // The nearest point to p of what p can be an end over; false if p is beyond it.
  bool foot_of(const Vec3& p, double tolerance, SurfacePoint& foot) const {
    if (side) return foot_on_side(core, p, tolerance, foot);
    if (core.core == CoreKind::segment) {
      const double h = core.size[2];
      if (std::abs(p[2]) > h + tolerance) return false;
      foot = nearest_on_surface(core, p);
    } else if (has_point_formula(core.core)) {
      foot = nearest_on_surface(core, p);
    } else {
      const Convex point;
      const Nearest nearest = nearest_points({core, point, Mat3::Identity(), p});
      foot = {nearest.a, -nearest.normal, nearest.distance};
    }
    // Beyond the end of an edge that edge's own end is nearer.
    return !is_flat(core) ||
           part_at(core, foot.point, foot.normal, tolerance).kind != CorePart::Kind::vertex;
  }

  // Whether x, which a tangent plane supports, is part of the core.
  bool holds(const Vec3& x, double tolerance) const {
    switch (core.core) {
      case CoreKind::segment:
      case CoreKind::cylinder:
      case CoreKind::cone:
        return std::abs(x[2] - core.shift) <= half_length(core) + tolerance;
      case CoreKind::box:
        return ((x.cwiseAbs() - core.size).array() <= tolerance).all();
      case CoreKind::polytope:
        for (int f = 0; f < core.polytope->face_count(); ++f) {
          const Vec3& v = core.polytope->vertices[core.polytope->loop(f)[0]];
          if (core.polytope->normals[f].dot(x - v) > tolerance) return false;
        }
        return true;
      case CoreKind::triangle: {
        const Vec3 p = core.corners[0], e = core.corners[1] - p, f = core.corners[2] - p;
        const Vec3 m = e.cross(f).normalized();
        const auto over = [&](const Vec3& from, const Vec3& edge) {
          return m.cross(edge).normalized().dot(x - from);
        };
        return over(p, e) >= -tolerance && over(core.corners[1], f - e) >= -tolerance &&
               over(core.corners[2], -f) >= -tolerance;
      }
      case CoreKind::point:
      case CoreKind::ellipsoid:
        break;
    }
    return true;
  }
};

// Of a flat core.
Vec3 nearest_on_edges(const Convex& c, const Vec3& x) {
  if (c.core == CoreKind::box) {
    int along = 0;
    (c.size - x.cwiseAbs()).maxCoeff(&along);
    Vec3 out = x;
    for (int k = 0; k < 3; ++k) {
      if (k != along) out[k] = x[k] < 0 ? -c.size[k] : c.size[k];
    }
    return out;
  }
  Vec3 best = x;
  double least = std::numeric_limits<double>::infinity();
  const auto visit = [&](const Vec3& p, const Vec3& q) {
    const Vec3 d = q - p;
    const Vec3 at = p + std::clamp(d.dot(x - p) / d.squaredNorm(), 0.0, 1.0) * d;
    if ((x - at).norm() >= least) return;
    least = (x - at).norm();
    best = at;
  };
  if (c.core == CoreKind::triangle) {
    for (int k = 0; k < 3; ++k) visit(c.corners[k], c.corners[(k + 1) % 3]);
  } else {
    for (const Polytope::Edge& e : c.polytope->edges) {
      visit(c.polytope->vertices[e.from], c.polytope->vertices[e.to]);
    }
  }
  return best;
}

// The disc at the end of a cylinder or cone whose rim holds x, as a core about its own centre.
Convex disc_at(const Convex& c, const Vec3& x) {
  Convex disc;
  disc.core = CoreKind::cylinder;
  disc.size = {std::hypot(x[0], x[1]), 0, 0};
  disc.radius = c.radius;
  disc.extent = disc.size[0] + c.radius;
  return disc;
}

// A's or B's side of the pair.
struct Ends {
  const ConvexPair& pair;
  const Nearest& nearest;
  double reach, tolerance;
  bool of_a;

  const Convex& own() const { return of_a ? pair.a : pair.b; }
  const Convex& other() const { return of_a ? pair.b : pair.a; }
  double size() const { return pair.a.extent + pair.b.extent; }
  Vec3 from_own(const Vec3& x) const { return of_a ? x : Vec3(pair.R * x + pair.t); }
  Vec3 to_other(const Vec3& x) const { return of_a ? Vec3(pair.R.transpose() * (x - pair.t)) : x; }
  Vec3 from_other(const Vec3& x) const { return of_a ? Vec3(pair.R * x + pair.t) : x; }
  Vec3 turned_from_other(const Vec3& n) const { return of_a ? Vec3(pair.R * n) : n; }
  // Of the core, from a feature that the sweep has carried out along the normal.
  Vec3 core_point(const Vec3& swept) const {
    return swept + (of_a ? own().radius : -own().radius) * nearest.normal;
  }

  // No point of the other solid lies beyond the plane through its nearest point.
  bool is_out_of_reach(const Vec3& swept) const {
    const Vec3& n = nearest.normal;
    if (of_a) return n.dot(swept - nearest.b) - pair.b.radius > reach;
    return n.dot(nearest.a - swept) - pair.a.radius > reach;
  }

  Nearest against(const Vec3& core, const SurfacePoint& foot) const {
    Nearest out;
    const Vec3 there = from_other(foot.point), m = turned_from_other(foot.normal);
    out.a = of_a ? core : there;
    out.b = of_a ? there : core;
    out.normal = of_a ? m : Vec3(-m);
    out.distance = foot.distance;
    return out;
  }

  // A corner: the foot is the answer. On a sharp edge its direction is that of the pair.
  bool meet_corner(const Vec3& core, const Target& target, Nearest& out) const {
    SurfacePoint foot;
    if (!target.foot_of(to_other(core), tolerance, foot)) return false;
    out = against(core, foot);
    if (target.side || foot.distance > apart * size()) return true;
    if (!is_flat(target.core)) return false;
    const CorePart part = part_at(target.core, foot.point, foot.normal, tolerance);
    if (part.kind == CorePart::Kind::edge) {
      out.normal = nearest.normal;
      out.distance = out.normal.dot(out.a - out.b);
    }
    return true;
  }

  // From a rim's point to the foot on the other solid, or on its nearest edge, and from there to
  // the rim's nearest point, and so on: towards where Newton's method is at home.
  bool approach(const Vec3& from, double radius, const Target& target, bool on_edge,
                Nearest& out) const {
    const auto in_own = [&](const Vec3& x) {
      return of_a ? x : Vec3(pair.R.transpose() * (x - pair.t));
    };
    Vec3 core = from;
    SurfacePoint foot;
    for (int k = 0; k < 4; ++k) {
      if (!target.foot_of(to_other(core), tolerance, foot)) return false;
      if (on_edge) foot.point = nearest_on_edges(target.core, foot.point);
      const Vec3 towards = in_own(from_other(foot.point));
      const double rho = std::hypot(towards[0], towards[1]);
      if (!(rho > tolerance)) break;
      const Vec3 x(radius / rho * towards[0], radius / rho * towards[1], in_own(from)[2]);
      core = of_a ? x : Vec3(pair.R * x + pair.t);
    }
    out = against(core, foot);
    const Vec3 d = out.a - out.b;
    if (foot.distance > apart * size()) {
      out.normal = d.normalized();
      out.distance = d.norm();
    } else if (on_edge || !target.side) {
      out.normal = nearest.normal;
    }
    return true;
  }

  bool meet_rim(const Vec3& core, const Target& target, Nearest& out) const {
    const Vec3 in_own = of_a ? core : Vec3(pair.R.transpose() * (core - pair.t));
    const Convex disc = disc_at(own(), in_own);
    const Vec3 center(0, 0, in_own[2]);
    const ConvexPair part = of_a ? ConvexPair{disc, pair.b, pair.R, pair.t - center}
                                 : ConvexPair{pair.a, disc, pair.R, pair.t + pair.R * center};
    const Vec3 shift = of_a ? center : Vec3::Zero();
    Vec3 start = core;
    for (const bool on_edge : {false, true}) {
      if (on_edge && !is_flat(target.core)) return false;
      if (!approach(start, disc.size[0], target, on_edge, out)) return false;
      start = of_a ? out.a : out.b;
      out.a -= shift;
      out.b -= shift;
      if (!meet_on_parts(part, tolerance, disc.size[0], out)) continue;
      out.a += shift;
      out.b += shift;
      if (target.holds(to_other(of_a ? out.b : out.a), tolerance)) return true;
    }
    return false;
  }

  bool meet_end(const Vec3& core, const Target& target, Nearest& out) const {
    const Vec3 in_own = of_a ? core : Vec3(pair.R.transpose() * (core - pair.t));
    // The apex of a cone is a corner.
    const double radius = is_revolved(own()) ? std::hypot(in_own[0], in_own[1]) : 0;
    const bool rim = radius > tolerance;
    const Vec3 middle(rim ? 0 : in_own[0], rim ? 0 : in_own[1], in_own[2]);
    const Vec3 there = of_a ? to_other(middle) : from_own(middle);
    const Vec3 axis = of_a ? Vec3(pair.R.row(2)) : Vec3(pair.R.col(2));
    if (target.is_beyond(there, axis, rim ? radius : 0, reach + pair.a.radius + pair.b.radius)) {
      return false;
    }
    return rim ? meet_rim(core, target, out) : meet_corner(core, target, out);
  }

  // Ends that the common region has keep its gap along the common normal if that is the normal of
  // the other's face, or if they are not nearer along their own.
  void add(const Feature& feature, const Target& target, std::vector<Candidate>& out) const {
    for (int k = 0; k < feature.count; ++k) {
      const std::uint32_t name = of_a ? vertex_of_a(feature.id[k]) : vertex_of_b(feature.id[k]);
      const auto same =
          std::find_if(out.begin(), out.end(), [&](const auto& c) { return c.feature == name; });
      if (is_out_of_reach(feature.vertex[k]) || (same != out.end() && target.faces_normal))
        continue;
      Nearest met;
      if (!meet_end(core_point(feature.vertex[k]), target, met)) continue;
      const double gap = met.distance - pair.a.radius - pair.b.radius;
      // An end that has gone through the other line's middle would be drawn out on the far side.
      if (gap > reach || met.normal.dot(nearest.normal) < 0) continue;
      if (same != out.end() && gap > same->gap - tolerance * tolerance / size()) continue;
      const Vec3 midway = 0.5 * (met.a + met.b + (pair.b.radius - pair.a.radius) * met.normal);
      Candidate c = candidate_at(nearest.normal, midway, gap, name);
      c.own_normal = true;
      c.normal = met.normal;
      if (same != out.end()) {
        *same = c;
      } else {
        out.push_back(c);
      }
    }
  }
};

}  // namespace

bool is_sharp_and_flat(const ConvexPair& pair) {
  return is_flat(pair.a) && is_flat(pair.b) && pair.a.radius + pair.b.radius == 0;
}

void add_line_ends(const ConvexPair& pair, const Nearest& nearest, double reach, double tolerance,
                   ManifoldScratch& s) {
  const Kind ka = s.a.kind, kb = s.b.kind;
  if (ka == Kind::point || kb == Kind::point || is_sharp_and_flat(pair)) return;
  constexpr double same_normal = 1 - 1e-13;  // cosine, as in contact_anchor.cpp
  const auto target = [&](const Convex& c, const Feature& f) {
    const bool face = f.kind != Kind::segment;
    return Target{c, is_revolved(c) && !face,
                  face && std::abs(f.normal.dot(nearest.normal)) >= same_normal};
  };
  const Target a = target(pair.a, s.a), b = target(pair.b, s.b);
  if (ka != Kind::segment && kb != Kind::segment) {
    // Rounded faces beside each other meet with their edges.
    const bool faces = ka == Kind::polygon && kb == Kind::polygon;
    if (!faces || (a.faces_normal && b.faces_normal)) return;
  }
  if (ka != Kind::disc) {
    Ends{pair, nearest, reach, tolerance, true}.add(s.a, b, s.candidates);
  }
  if (kb != Kind::disc) {
    Ends{pair, nearest, reach, tolerance, false}.add(s.b, a, s.candidates);
  }
}

void keep_outermost_ends(const Vec3& n, double tolerance, ManifoldScratch& s) {
  std::vector<Candidate>& all = s.candidates;
  if (s.a.kind != Kind::segment || s.b.kind != Kind::segment || all.size() < 3) return;
  const Mat3 frame = contact_frame(n);
  const Vec3 line = s.a.vertex[1] - s.a.vertex[0];
  const Eigen::Vector2d u(frame.col(1).dot(line), frame.col(2).dot(line));
  const double tie = tolerance * u.norm();
  int first = -1, last = -1, nearest = 0;
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (int k = 0; k < static_cast<int>(all.size()); ++k) {
    if (all[k].gap < all[nearest].gap) nearest = k;
    if (!all[k].own_normal) continue;
    const double at = u.dot(all[k].x);
    if (at < low - tie) {
      low = at;
      first = k;
    }
    if (at > high + tie) {
      high = at;
      last = k;
    }
  }
  // Doubles by rounding alone are not worth a point.
  for (const int end : {first, last}) {
    if (end >= 0 && all[end].gap <= all[nearest].gap + 1e-5 * tolerance) nearest = end;
  }
  std::size_t kept = 0;
  for (int k = 0; k < static_cast<int>(all.size()); ++k) {
    if (all[k].own_normal && k != first && k != last && k != nearest) continue;
    all[kept++] = all[k];
  }
  all.resize(kept);
}

}  // namespace urto
