#include "urto/collision/contact.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "urto/collision/contact_id.h"
#include "urto/collision/continuous.h"
#include "urto/collision/shrunk_polytope.h"
#include "urto/error.h"
#include "urto/memory_limit.h"

namespace urto {
namespace {

constexpr std::uint64_t contact_bit = std::uint64_t{1} << 63;
constexpr int feature_bits = contact_feature_bits, shape_bits = 24;

// What a contact takes with its rows, their step problem and a solver's vectors (measured: 4 kB);
// and the rows of more could not be numbered by int.
std::size_t most_contacts() {
  constexpr std::uint64_t bytes = 4000, most = 25'000'000;
  return std::min(memory_limit() / bytes, most);
}

[[noreturn]] void fail_many_contacts(std::size_t most) {
  throw InputError(
      "collision", fmt::format("more than {} contacts at once", most),
      fmt::format("at most that many with the memory there is, {} (--memory-limit); do "
                  "bodies stand in one place?",
                  memory_text(static_cast<double>(memory_limit()))));
}

// What a thread takes at once.
constexpr int shapes_at_a_time = 256, pairs_at_a_time = 64;

// Kind of the meeting (2 bits) and as much of its number as fits. Contacts of one pair that share
// it are told apart afterwards.
std::uint64_t short_feature(std::uint32_t feature) {
  const std::uint32_t kind = feature >> 30, number = feature & 0x3fffffffU;
  const std::uint32_t folded = kind == 3 ? (number >> 15) * 131 + (number & 0x7fffU) : number;
  return (std::uint64_t{kind} << 13) | (folded % 8191);
}

std::uint64_t contact_id(int shape_a, int shape_b, std::uint32_t feature) {
  return contact_bit | (static_cast<std::uint64_t>(shape_a) << (shape_bits + feature_bits)) |
         (static_cast<std::uint64_t>(shape_b) << feature_bits) | short_feature(feature);
}

std::uint64_t body_pair(int a, int b) {
  return (static_cast<std::uint64_t>(std::min(a, b)) << 32) |
         static_cast<std::uint64_t>(std::max(a, b));
}

// Of a box turned by R.
Aabb turned(const Aabb& box, const Place& at) {
  const Vec3 center = at.x + at.R * box.center();
  const Vec3 half = 0.5 * (at.R.cwiseAbs() * box.extent());
  return {center - half, center + half};
}

}  // namespace

Aabb bounds(const Collider& c) {
  return c.surface != nullptr ? turned(c.surface->box(), c.place)
                              : bounds(c.convex, c.place.R, c.place.x);
}

bool ContactFinder::may_touch(int a, int b) const {
  const int body_a = model_.shapes[a].body;
  const int body_b = model_.shapes[b].body;
  if (body_a == body_b) return false;
  if (model_.bodies[body_a].slot < 0 && model_.bodies[body_b].slot < 0) return false;
  const Shape& first = model_.shapes[a];
  const Shape& second = model_.shapes[b];
  if ((first.layers & second.mask) == 0 || (second.layers & first.mask) == 0) return false;
  return !std::binary_search(joined_.begin(), joined_.end(), body_pair(body_a, body_b));
}

ContactFinder::ContactFinder(const Model& model) : model_(model) {
  if (model.shapes.size() >= (std::size_t{1} << shape_bits)) {
    throw InputError("shapes", fmt::format("{}", model.shapes.size()),
                     fmt::format("fewer than {}", std::size_t{1} << shape_bits));
  }
  for (const Joint& joint : model.joints) {
    if (joint.collide) continue;
    joined_.push_back(
        body_pair(model.markers[joint.marker_a].body, model.markers[joint.marker_b].body));
  }
  for (const auto& [a, b] : model.excluded) joined_.push_back(body_pair(a, b));
  std::sort(joined_.begin(), joined_.end());
  surfaces_.resize(model.meshes.size());
  collider_of_.assign(model.shapes.size(), -1);
  for (int k = 0; k < static_cast<int>(model.shapes.size()); ++k) {
    if (model.shapes[k].collides) add_collider(k);
  }
  boxes_.resize(bounded_.size());

  material_count_ = static_cast<int>(model.materials.size());
  for (int a = 0; a < material_count_; ++a) {
    for (int b = 0; b < material_count_; ++b) {
      Material m = mixed(model.materials[a], model.materials[b], model.mixing);
      for (const Model::MaterialPair& pair : model.material_pairs) {
        if ((pair.a == a && pair.b == b) || (pair.a == b && pair.b == a)) m = pair.properties;
      }
      material_of_pair_.push_back(static_cast<int>(materials_.size()));
      materials_.push_back(m);
    }
  }
}

void ContactFinder::add_collider(int k) {
  const Shape& s = model_.shapes[k];
  Collider c{.shape = k};
  collider_of_[k] = static_cast<int>(colliders_.size());
  if (s.kind == ShapeKind::half_space) {
    c.half_space = true;
    planes_.push_back(static_cast<int>(colliders_.size()));
    colliders_.push_back(c);
    return;
  }
  if (s.kind == ShapeKind::mesh || s.kind == ShapeKind::height_field) {
    auto& surface = surfaces_[s.geometry];
    if (!surface) surface = std::make_unique<MeshSurface>(model_.meshes[s.geometry]);
    c.surface = surface.get();
    c.convex.extent = surface->extent();
  } else if (s.kind == ShapeKind::hull) {
    // Shapes that share a hull and its margin share the polytope.
    const auto twin = std::find_if(colliders_.begin(), colliders_.end(), [&](const Collider& o) {
      const Shape& other = model_.shapes[o.shape];
      return other.kind == ShapeKind::hull && other.geometry == s.geometry &&
             other.margin == s.margin;
    });
    const Polytope* polytope = nullptr;
    if (twin != colliders_.end()) {
      polytope = twin->convex.polytope;
    } else {
      polytopes_.push_back(
          std::make_unique<Polytope>(shrunk(polytope_of(model_.meshes[s.geometry]), s.margin)));
      polytope = polytopes_.back().get();
    }
    c.convex = convex_of(s, polytope);
  } else {
    c.convex = convex_of(s, nullptr);
  }
  bounded_.push_back(static_cast<int>(colliders_.size()));
  resting_.push_back(model_.bodies[s.body].kind == BodyKind::fixed ? 1 : 0);
  colliders_.push_back(c);
}

void ContactFinder::place_colliders(const State& state, double h) {
  share_items(threads_, static_cast<int>(colliders_.size()), shapes_at_a_time, [&](int k) {
    Collider& c = colliders_[k];
    const Shape& s = model_.shapes[c.shape];
    const BodyPlace body = place(model_, state, s.body);
    const BodyVelocity v = velocity(model_, state, s.body);
    const Vec3 arm = body.A * s.pose.position;
    c.place = {body.x + arm, body.A * rotation_matrix(s.pose.rotation)};
    c.velocity = v.v + body.A * v.omega.cross(s.pose.position);
    c.turning = h * v.omega.norm() * c.convex.extent;
    if (!c.place.x.allFinite() || !c.place.R.allFinite() || !c.velocity.allFinite() ||
        !std::isfinite(c.turning)) {
      throw InputError(fmt::format("body '{}'", model_.bodies[s.body].name),
                       "a position or velocity that is not a number", "finite ones");
    }
  });
}

void ContactFinder::near_pairs(double envelope, double h) {
  share_items(threads_, static_cast<int>(bounded_.size()), shapes_at_a_time, [&](int k) {
    const Collider& c = colliders_[bounded_[k]];
    const Aabb box = bounds(c);
    const Vec3 way = h * c.velocity;
    const double pad = 0.5 * envelope + c.turning;
    boxes_[k].lower = box.lower + way.cwiseMin(0.0) - Vec3::Constant(pad);
    boxes_[k].upper = box.upper + way.cwiseMax(0.0) + Vec3::Constant(pad);
  });
  broad_.find(boxes_, resting_, pairs_);
}

void ContactFinder::add_manifold(Worker& w, const Collider& a, const Collider& b,
                                 const std::array<int, 2>& triangles) const {
  const Manifold& manifold = w.manifold;
  if (manifold.count == 0) return;
  const Shape &sa = model_.shapes[a.shape], &sb = model_.shapes[b.shape];
  const FacesAlong faces = faces_along(a, b, manifold.normal, triangles[1]);
  for (int k = 0; k < manifold.count; ++k) {
    const ManifoldPoint& p = manifold.points[k];
    const FacesAlong own = p.own_normal ? faces_along(a, b, p.normal, triangles[1]) : faces;
    Contact& c = w.found.emplace_back();
    c.shape_a = a.shape;
    c.shape_b = b.shape;
    c.body_a = sa.body;
    c.body_b = sb.body;
    c.point = p.point;
    c.normal = p.normal;
    c.own_normal = p.own_normal;
    c.gap = p.gap;
    c.material = pair_material(sa.material, sb.material);
    c.id = contact_id(a.shape, b.shape, p.feature);
    c.feature = p.feature;
    c.triangle_a = triangles[0];
    c.triangle_b = triangles[1];
    set_anchor(a, b, normal_carrier(own, c.feature), c);
    c.anchor.rim_sample = is_rim_sample(a, b, c.normal, c.feature);
  }
}

void ContactFinder::against_plane(Worker& w, const Collider& a, const Collider& plane,
                                  double reach) const {
  const Vec3 n = plane.place.R.col(2);
  const double offset = n.dot(plane.place.x);
  if (n.dot(a.place.x) - offset - a.convex.extent > reach) return;
  if (a.surface == nullptr) {
    w.narrow.collide_half_space(a.convex, a.place, n, offset, reach, w.manifold);
  } else {
    w.mesh_phase.collide_half_space(*a.surface, a.place, n, offset, reach, w.manifold);
  }
  add_manifold(w, a, plane);
}

void ContactFinder::touch(Worker& w, const State& state, const Collider& a, const Collider& b,
                          double envelope, double h) const {
  const double reach = envelope + h * (a.velocity - b.velocity).norm() + a.turning + b.turning;
  if (a.surface != nullptr && b.surface == nullptr) return touch(w, state, b, a, envelope, h);
  if (b.surface != nullptr) {
    if (a.surface != nullptr) {
      w.mesh_phase.collide(*a.surface, a.place, *b.surface, b.place, reach, w.on_mesh);
    } else {
      w.mesh_phase.collide(a.convex, a.place, *b.surface, b.place, reach, w.on_mesh);
    }
    for (const SurfacePointContact& c : w.on_mesh) {
      w.manifold.count = 1;
      w.manifold.normal = c.normal;
      w.manifold.points[0] = {c.point, c.gap, c.feature, c.normal, c.own_normal};
      add_manifold(w, a, b, {c.triangle_a, c.triangle_b});
    }
    return;
  }
  const Shape &sa = model_.shapes[a.shape], &sb = model_.shapes[b.shape];
  if (model_.bodies[sa.body].continuous || model_.bodies[sb.body].continuous) {
    if (closest(a.convex, a.place, b.convex, b.place).gap > envelope) {
      return foresee(w, state, a, b, envelope, h);
    }
  }
  w.narrow.collide(a.convex, a.place, b.convex, b.place, reach, w.manifold);
  add_manifold(w, a, b);
}

// A far pair of which one is marked continuous: where they will meet on their way, or nothing.
void ContactFinder::foresee(Worker& w, const State& state, const Collider& a, const Collider& b,
                            double envelope, double h) const {
  const auto sweep = [&](const Collider& c) {
    const int body = model_.shapes[c.shape].body;
    const BodyPlace at = place(model_, state, body);
    const BodyVelocity v = velocity(model_, state, body);
    return Sweep{.start = c.place,
                 .pivot = at.x,
                 .velocity = v.v,
                 .spin = at.A * v.omega,
                 .arm = (c.place.x - at.x).norm() + c.convex.extent};
  };
  const auto impact = time_of_impact(a.convex, sweep(a), b.convex, sweep(b), h, 0.1 * envelope);
  if (!impact) return;
  w.manifold.count = 1;
  w.manifold.normal = impact->normal;
  w.manifold.points[0] = {0.5 * (impact->a + impact->b), impact->normal.dot(impact->a - impact->b),
                          0, impact->normal};
  add_manifold(w, a, b);
  // The normal is that of the impact: no body has it now.
  Contact& c = w.found.back();
  c.arm = 0.5 * (impact->a - impact->b);
  c.anchor.foreseen = true;
  set_anchor(a, b, NormalCarrier::none, c);
}

// The broad phase gives pairs in order: mostly only the few contacts of a pair are left to sort.
void ContactFinder::sort_listed(std::size_t first, std::size_t last) {
  const auto before = [](const Listed& p, const Listed& q) {
    if (p.id != q.id) return p.id < q.id;
    const Vec3 &x = p.at->point, &y = q.at->point;
    return std::lexicographical_compare(x.begin(), x.end(), y.begin(), y.end());
  };
  const auto at = [&](std::size_t k) { return order_.begin() + static_cast<std::ptrdiff_t>(k); };
  for (std::size_t k = first, end = first; k < last; k = end) {
    const std::uint64_t pair = contact_pair(order_[k].id);
    while (end < last && contact_pair(order_[end].id) == pair) ++end;
    if (end - k > 1) std::sort(at(k), at(end), before);
  }
  if (!std::is_sorted(at(first), at(last), before)) std::sort(at(first), at(last), before);
}

// Sorted, and no two alike: those of one pair whose features fold to the same number move up.
// Contacts of half-spaces come after the others, from `planes` on. Only ids are sorted, contacts
// are large.
void ContactFinder::name_contacts(std::size_t planes, std::vector<Contact>& out) {
  sort_listed(0, planes);
  sort_listed(planes, order_.size());
  merged_.clear();
  for (std::size_t p = 0, q = planes; p < planes || q < order_.size();) {
    const bool take_p = q == order_.size() || (p < planes && order_[p].id < order_[q].id);
    merged_.push_back(order_[take_p ? p++ : q++]);
  }
  for (std::size_t k = 1; k < merged_.size(); ++k)
    merged_[k].id = std::max(merged_[k].id, merged_[k - 1].id + 1);
  out.resize(merged_.size());
  share_items(threads_, static_cast<int>(merged_.size()), shapes_at_a_time, [&](int k) {
    out[k] = *merged_[k].at;
    out[k].id = merged_[k].id;
  });
}

// A thread that has found few so far may find all of them next time: memory for that is asked for
// when their number grows, not when chance deals the work differently.
void ContactFinder::prepare_workers() {
  found_.clear();
  const std::size_t threads = threads_of(threads_);
  if (workers_.size() < threads) workers_.resize(threads);
  for (Worker& w : workers_) {
    w.found.clear();
    if (threads > 1) w.found.reserve(order_.capacity());
  }
}

// look(worker, k) for each pair, true if it was tested.
template <class F>
void ContactFinder::find_among(int pairs, const F& look) {
  const std::size_t start = found_.size();
  found_.resize(start + (pairs + pairs_at_a_time - 1) / pairs_at_a_time);
  share(threads_, pairs, pairs_at_a_time, [&](int thread, int first, int last) {
    Worker& w = workers_[thread];
    Found found{.thread = thread, .first = w.found.size()};
    for (int k = first; k < last; ++k) found.tested += look(w, k) ? 1 : 0;
    found.last = w.found.size();
    if (found.last > most_contacts_) fail_many_contacts(most_contacts_);
    found_[start + first / pairs_at_a_time] = found;
  });
}

// In the order of the pairs, whoever found them.
void ContactFinder::list_found(std::size_t first, std::size_t last) {
  for (std::size_t k = first; k < last; ++k) {
    const Found& found = found_[k];
    const std::vector<Contact>& by_thread = workers_[found.thread].found;
    for (std::size_t c = found.first; c < found.last; ++c)
      order_.push_back({by_thread[c].id, &by_thread[c]});
    counts_.tested_pairs += found.tested;
  }
}

void ContactFinder::find_pairs(const State& state, double envelope, double h) {
  find_among(static_cast<int>(pairs_.size()), [&](Worker& w, int k) {
    const auto& pair = pairs_[k];
    const Collider &a = colliders_[bounded_[pair[0]]], &b = colliders_[bounded_[pair[1]]];
    if (!may_touch(a.shape, b.shape)) return false;
    touch(w, state, a, b, envelope, h);
    return true;
  });
}

void ContactFinder::find_on_planes(const State& state, double envelope, double h) {
  const int bounded = static_cast<int>(bounded_.size());
  const double all = static_cast<double>(planes_.size()) * bounded;
  if (all > std::numeric_limits<int>::max()) {
    throw InputError("collision", fmt::format("{:.3g} pairs of a half-space and a shape", all),
                     "at most 2^31: fewer half-spaces");
  }
  find_among(static_cast<int>(planes_.size()) * bounded, [&](Worker& w, int k) {
    const Collider& plane = colliders_[planes_[k / bounded]];
    const Collider& a = colliders_[bounded_[k % bounded]];
    if (!may_touch(a.shape, plane.shape)) return false;
    const BodyVelocity v = velocity(model_, state, model_.shapes[plane.shape].body);
    // A turning plane can sweep towards the shape as fast as its lever is long.
    const double lever = (a.place.x - plane.place.x).norm() + a.convex.extent;
    const double reach = envelope + h * (a.velocity - plane.velocity).norm() + a.turning +
                         h * v.omega.norm() * lever;
    against_plane(w, a, plane, reach);
    return true;
  });
}

void ContactFinder::find(const State& state, double envelope, double h, std::vector<Contact>& out) {
  most_contacts_ = most_contacts();
  place_colliders(state, h);
  near_pairs(envelope, h);
  prepare_workers();
  find_pairs(state, envelope, h);
  const std::size_t pair_ranges = found_.size();
  find_on_planes(state, envelope, h);
  counts_ = {};
  counts_.near_pairs = static_cast<long>(pairs_.size());
  order_.clear();
  list_found(0, pair_ranges);
  const std::size_t planes = order_.size();
  list_found(pair_ranges, found_.size());
  if (order_.size() > most_contacts_) fail_many_contacts(most_contacts_);
  name_contacts(planes, out);
  counts_.contacts = static_cast<long>(out.size());
}

}  // namespace urto
