#include "urto/collision/contact.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

constexpr std::uint64_t contact_bit = std::uint64_t{1} << 63;

// Shapes and the feature (a box corner) that meet; independent of where the shapes are.
std::uint64_t contact_id(int shape_a, int shape_b, int feature) {
  return contact_bit | (static_cast<std::uint64_t>(shape_a) << 36) |
         (static_cast<std::uint64_t>(shape_b) << 8) | static_cast<std::uint64_t>(feature);
}

std::uint64_t body_pair(int a, int b) {
  return (static_cast<std::uint64_t>(std::min(a, b)) << 32) |
         static_cast<std::uint64_t>(std::max(a, b));
}

bool has_closed_form(ShapeKind a, ShapeKind b) {
  if (a == ShapeKind::half_space) std::swap(a, b);
  if (b == ShapeKind::half_space) return a == ShapeKind::sphere || a == ShapeKind::box;
  return a == ShapeKind::sphere && b == ShapeKind::sphere;
}

double bounding_radius(const Shape& s) {
  return s.kind == ShapeKind::sphere ? s.size[0] : s.size.norm();
}

// How far any point of a shape can get in h: the centre's way and the way of its rim.
double travel(const BodyVelocity& v, const Shape& s, double h) {
  return h * (v.v.norm() + v.omega.norm() * (s.pose.position.norm() + bounding_radius(s)));
}

}  // namespace

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
  for (const Joint& joint : model.joints) {
    if (joint.collide) continue;
    joined_.push_back(
        body_pair(model.markers[joint.marker_a].body, model.markers[joint.marker_b].body));
  }
  for (const auto& [a, b] : model.excluded) joined_.push_back(body_pair(a, b));
  std::sort(joined_.begin(), joined_.end());

  bool only_spheres = true;
  for (int k = 0; k < static_cast<int>(model.shapes.size()); ++k) {
    const Shape& s = model.shapes[k];
    if (!s.collides) continue;
    if (s.kind == ShapeKind::half_space) {
      planes_.push_back(k);
    } else {
      only_spheres = only_spheres && s.kind == ShapeKind::sphere;
      moving_.push_back({.shape = k, .radius = bounding_radius(s)});
    }
  }
  for (std::size_t i = 0; !only_spheres && i < moving_.size(); ++i) {
    for (int k = 0; k < static_cast<int>(model.shapes.size()); ++k) {
      const int m = moving_[i].shape;
      const Shape& a = model.shapes[m];
      const Shape& b = model.shapes[k];
      if (!b.collides || (k <= m && b.kind != ShapeKind::half_space) || !may_touch(m, k)) continue;
      if (has_closed_form(a.kind, b.kind)) continue;
      throw InputError(fmt::format("collision of bodies '{}' and '{}'", model.bodies[a.body].name,
                                   model.bodies[b.body].name),
                       fmt::format("a {} against a {}", to_string(a.kind), to_string(b.kind)),
                       "sphere–sphere, sphere–half-space or box–half-space (or \"collides\": false "
                       "on one of the shapes)");
    }
  }

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

void ContactFinder::against_half_space(const State& state, const Moving& m, int plane, double reach,
                                       std::vector<Contact>& out) const {
  const Shape& shape = model_.shapes[m.shape];
  const Shape& ground = model_.shapes[plane];
  const BodyPlace at = place(model_, state, ground.body);
  const Vec3 n = at.A * rotate(ground.pose.rotation, Vec3::UnitZ());
  const Vec3 origin = at.x + at.A * ground.pose.position;
  Contact c{.shape_a = m.shape,
            .shape_b = plane,
            .body_a = shape.body,
            .body_b = ground.body,
            .normal = n,
            .material = pair_material(shape.material, ground.material)};
  if (n.dot(m.center - origin) - m.radius > reach) return;
  const int corners = shape.kind == ShapeKind::box ? 8 : 1;
  const BodyPlace body = place(model_, state, shape.body);
  for (int k = 0; k < corners; ++k) {
    Vec3 lowest = m.center - (corners == 1 ? m.radius : 0) * n;
    if (corners == 8) {
      const Vec3 corner((k & 1) != 0 ? shape.size[0] : -shape.size[0],
                        (k & 2) != 0 ? shape.size[1] : -shape.size[1],
                        (k & 4) != 0 ? shape.size[2] : -shape.size[2]);
      lowest = body.x + body.A * (shape.pose.position + rotate(shape.pose.rotation, corner));
    }
    c.gap = n.dot(lowest - origin);
    if (c.gap > reach) continue;
    c.point = lowest - 0.5 * c.gap * n;
    c.id = contact_id(m.shape, plane, k);
    out.push_back(c);
  }
}

void ContactFinder::find(const State& state, double envelope, double h, std::vector<Contact>& out) {
  out.clear();
  for (Moving& m : moving_) {
    const Shape& s = model_.shapes[m.shape];
    const BodyPlace at = place(model_, state, s.body);
    m.center = at.x + at.A * s.pose.position;
    m.reach.setConstant(m.radius + 0.5 * envelope + travel(velocity(model_, state, s.body), s, h));
  }
  for (const Moving& m : moving_) {
    for (const int plane : planes_) {
      if (!may_touch(m.shape, plane)) continue;
      const Shape& ground = model_.shapes[plane];
      const BodyVelocity v = velocity(model_, state, ground.body);
      // A turning plane can sweep towards the shape as fast as its lever is long.
      const double lever = (m.center - place(model_, state, ground.body).x).norm();
      const double reach =
          m.reach[0] - m.radius + 0.5 * envelope + h * (v.v.norm() + v.omega.norm() * lever);
      against_half_space(state, m, plane, reach, out);
    }
  }
  // Sweep along x. Insertion sort: the order hardly changes from step to step.
  for (std::size_t i = 1; i < moving_.size(); ++i) {
    const Moving m = moving_[i];
    const double low = m.center[0] - m.reach[0];
    std::size_t j = i;
    for (; j > 0 && moving_[j - 1].center[0] - moving_[j - 1].reach[0] > low; --j)
      moving_[j] = moving_[j - 1];
    moving_[j] = m;
  }
  for (std::size_t i = 0; i < moving_.size(); ++i) {
    const double high = moving_[i].center[0] + moving_[i].reach[0];
    for (std::size_t j = i + 1;
         j < moving_.size() && moving_[j].center[0] - moving_[j].reach[0] <= high; ++j) {
      const Moving& a = moving_[i].shape < moving_[j].shape ? moving_[i] : moving_[j];
      const Moving& b = moving_[i].shape < moving_[j].shape ? moving_[j] : moving_[i];
      const Vec3 d = a.center - b.center;
      const double reach = a.reach[0] + b.reach[0];
      if (d.squaredNorm() > reach * reach || !may_touch(a.shape, b.shape)) continue;
      const double distance = d.norm();
      const Shape& sa = model_.shapes[a.shape];
      const Shape& sb = model_.shapes[b.shape];
      // Concentric spheres have no normal; push them apart upwards.
      const Vec3 n = distance > 0 ? Vec3(d / distance) : Vec3(Vec3::UnitZ());
      const double gap = distance - a.radius - b.radius;
      out.push_back({.shape_a = a.shape,
                     .shape_b = b.shape,
                     .body_a = sa.body,
                     .body_b = sb.body,
                     .point = b.center + (b.radius + 0.5 * gap) * n,
                     .normal = n,
                     .gap = gap,
                     .material = pair_material(sa.material, sb.material),
                     .id = contact_id(a.shape, b.shape, 0)});
    }
  }
  std::sort(out.begin(), out.end(), [](const Contact& a, const Contact& b) { return a.id < b.id; });
}

}  // namespace urto
