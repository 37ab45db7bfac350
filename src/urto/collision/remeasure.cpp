// Contacts that were found at one state, measured at another: the query of each pair once more, and
// its points matched by name.
#include <algorithm>
#include <cmath>

#include "urto/collision/contact.h"

namespace urto {
namespace {

// A named point keeps its face: where the query now prefers a normal that leans more than this
// (cosine) against the one carried along, it speaks of another contact.
constexpr double same_contact = 0.9;
// Nearest points of faces that have become parallel lie anywhere: those farther off than this part
// of the size are not those that were found.
constexpr double near_by = 0.1;
constexpr double twin = 1e-4;  // of the size, and of a normal
// On meshes, how much farther than the points followed to look, as a part of the size.
constexpr double mesh_slack = 1e-3;
// What a thread takes at once.
constexpr int contacts_at_a_time = 64;

double size_of(const Collider& a, const Collider& b) {
  return b.half_space ? a.convex.extent : std::min(a.convex.extent, b.convex.extent);
}

}  // namespace

// Into `w.measured`: every point that `find` could choose for the pair, with its name.
void ContactFinder::measure_pair(Worker& w, const Collider& a, const Collider& b, double reach) {
  w.measured.clear();
  w.chosen = 0;
  if (b.surface != nullptr) {
    if (a.surface != nullptr) {
      w.chosen = w.mesh_phase.measure(*a.surface, a.place, *b.surface, b.place, reach, w.measured);
    } else {
      w.chosen = w.mesh_phase.measure(a.convex, a.place, *b.surface, b.place, reach, w.measured);
    }
    return;
  }
  Vec3 n = b.place.R.col(2);
  if (b.half_space) {
    w.narrow.measure_half_space(a.convex, a.place, n, n.dot(b.place.x), w.again);
  } else {
    w.narrow.measure(a.convex, a.place, b.convex, b.place, n, w.again);
  }
  for (const ManifoldPoint& p : w.again)
    w.measured.push_back({p.point, p.normal, p.gap, p.feature, -1, -1, p.own_normal});
}

// Where faces have come to meet, the points chosen from do not name the nearest ones any more.
void ContactFinder::measure_nearest(Worker& w, const Collider& a, const Collider& b) {
  const Closest nearest = closest(a.convex, a.place, b.convex, b.place);
  w.measured.push_back({0.5 * (nearest.a + nearest.b), nearest.normal, nearest.gap, 0});
}

// Of the measured points with the contact's name the one that lies most as the contact followed
// does. Several share a name only on meshes, one for each triangle. Neighbours measure the same
// point with what iterations and clipping left over: of such twins the one counts that `find` would
// choose.
void ContactFinder::match(const Worker& w, const Collider& a, const Collider& b, Contact& c) {
  const double size = size_of(a, b);
  const bool keeps_face = c.feature != 0 || b.surface != nullptr;
  const auto nearest_of = [&](std::size_t first, std::size_t last) {
    const SurfacePointContact* best = nullptr;
    double least = 0;
    for (std::size_t k = first; k < last; ++k) {
      const SurfacePointContact& m = w.measured[k];
      if (m.feature != c.feature) continue;
      if (keeps_face && m.normal.dot(c.normal) < same_contact) continue;
      const double off =
          (m.point - c.point).squaredNorm() / (size * size) + (m.normal - c.normal).squaredNorm();
      if (best != nullptr && off >= least) continue;
      best = &m;
      least = off;
    }
    return best;
  };
  const SurfacePointContact* best = nearest_of(w.chosen, w.measured.size());
  const SurfacePointContact* chosen = nearest_of(0, w.chosen);
  const bool twins = best != nullptr && chosen != nullptr &&
                     (chosen->point - best->point).norm() < twin * size &&
                     (chosen->normal - best->normal).norm() < twin;
  if (twins) best = chosen;
  if (best == nullptr || is_rim_sample(a, b, best->normal, c.feature)) return;
  c.point = best->point;
  c.normal = best->normal;
  c.gap = best->gap;
  c.arm = Vec3::Zero();
  c.followed = false;
  c.triangle_a = best->triangle_a;
  c.triangle_b = best->triangle_b;
  c.own_normal = best->own_normal;
}

// The contacts of one pair of shapes.
void ContactFinder::remeasure_pair(Worker& w, std::span<Contact> contacts) const {
  const Collider &a = collider(contacts[0].shape_a), &b = collider(contacts[0].shape_b);
  bool measure = false, nearest = false;
  double reach = 0;
  for (Contact& c : contacts) {
    follow_anchor(a, b, c);
    if (a.surface != nullptr && b.half_space) {
      c.followed = false;  // a vertex over a plane: no query knows better
      continue;
    }
    if (is_always_followed(c.anchor)) continue;
    measure = true;
    nearest = nearest || c.feature == 0;
    reach = std::max(reach, 1.01 * (std::abs(c.gap) + 2 * c.arm.norm()));
  }
  if (!measure) return;
  measure_pair(w, a, b, reach + mesh_slack * size_of(a, b));
  const auto is_nearest = [](const SurfacePointContact& m) { return m.feature == 0; };
  if (nearest && a.surface == nullptr && b.surface == nullptr && !b.half_space &&
      std::none_of(w.measured.begin(), w.measured.end(), is_nearest)) {
    measure_nearest(w, a, b);
    const double off = (w.measured.back().point - contacts[0].point).norm();
    if (off > near_by * size_of(a, b)) w.measured.pop_back();
  }
  for (Contact& c : contacts) {
    if (!is_always_followed(c.anchor)) match(w, a, b, c);
  }
}

// Pairs that begin in a range of contacts belong to it.
void ContactFinder::remeasure(const State& state, std::vector<Contact>& contacts) {
  place_colliders(state, 0);
  prepare_workers();
  const int count = static_cast<int>(contacts.size());
  const auto same_pair = [&](int k, int l) {
    return contacts[k].shape_a == contacts[l].shape_a && contacts[k].shape_b == contacts[l].shape_b;
  };
  share(threads_, count, contacts_at_a_time, [&](int thread, int first, int last) {
    while (first > 0 && first < last && same_pair(first - 1, first)) ++first;
    while (first < last) {
      int next = first + 1;
      while (next < count && same_pair(first, next)) ++next;
      remeasure_pair(workers_[thread], std::span(contacts).subspan(first, next - first));
      first = next;
    }
  });
}

}  // namespace urto
