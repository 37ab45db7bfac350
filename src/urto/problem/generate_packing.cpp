// Sphere packings: a staggered lattice, settled by position-based relaxation. A sweep lowers every
// sphere a little, less from sweep to sweep; then, bottom first, each sphere is pushed out of those
// below it, which do not give way. So one sweep carries support through the whole height, and in
// the end a sphere rests on three others or walls.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "urto/problem/generate.h"
#include "urto/problem/rigid_scene.h"

namespace urto {

using generate::Random;
using generate::require;
using generate::require_friction;
using generate::require_size;
using generate::RigidScene;

namespace {

constexpr double mean_radius = 0.05;  // [m]
constexpr double spread = 0.1;        // of the radii, relative
constexpr double spacing = 2.1 * mean_radius;
constexpr double layer_height = 1.34 * mean_radius;
constexpr double reach = 0.02 * mean_radius;  // gaps up to this are contacts
constexpr int sweeps = 240;
constexpr double slowing = 0.96;  // of the drop from sweep to sweep

struct Sphere {
  Vec3 centre;
  double radius;
};

struct Pair {
  int lower, upper;
};

struct Packing {
  std::vector<Sphere> spheres;
  double width = 0;  ///< of the box, which stands on z = 0 with a corner in the origin
};

/// Layers of n × n and (n − 1) × (n − 1) spheres in turn.
Packing lattice(int spheres, Random& random) {
  Packing packing;
  const int n = std::max(2, static_cast<int>(std::lround(std::cbrt(static_cast<double>(spheres)))));
  packing.width = n * spacing;
  for (int layer = 0; static_cast<int>(packing.spheres.size()) < spheres; ++layer) {
    const int side = n - layer % 2;
    const double shift = 0.5 * (1 + layer % 2) * spacing;
    for (int k = 0; k < side * side && static_cast<int>(packing.spheres.size()) < spheres; ++k) {
      const int row = k / side;
      const Vec3 site(shift + k % side * spacing, shift + row * spacing,
                      1.2 * mean_radius + layer * layer_height);
      const double radius = mean_radius * random.uniform(1 - spread, 1 + spread);
      packing.spheres.push_back({site + random.vector(0.1 * mean_radius), radius});
    }
  }
  return packing;
}

/// Pairs closer than `margin`, by a grid of cells; ordered by the height of the upper sphere.
std::vector<Pair> near_pairs(const Packing& packing, double margin) {
  const std::vector<Sphere>& spheres = packing.spheres;
  const double cell = 2 * mean_radius * (1 + spread) + margin;
  const int n = std::max(1, static_cast<int>(packing.width / cell));
  double top = 0;
  for (const Sphere& s : spheres) top = std::max(top, s.centre.z());
  const int layers = static_cast<int>(top / cell) + 1;
  const auto index = [](double x, double size, int count) {
    return std::clamp(static_cast<int>(x / size), 0, count - 1);
  };
  std::vector<std::vector<int>> cells(static_cast<std::size_t>(n) * n * layers);
  std::vector<int> order(spheres.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(), [&](int i, int j) {
    return std::pair(spheres[i].centre.z(), i) < std::pair(spheres[j].centre.z(), j);
  });
  const double cell_xy = packing.width / n;
  std::vector<Pair> pairs;
  for (const int j : order) {
    const Sphere& upper = spheres[j];
    const int x = index(upper.centre.x(), cell_xy, n), y = index(upper.centre.y(), cell_xy, n);
    const int z = index(upper.centre.z(), cell, layers);
    for (int dz = std::max(0, z - 1); dz <= z; ++dz) {
      for (int dy = std::max(0, y - 1); dy <= std::min(n - 1, y + 1); ++dy) {
        for (int dx = std::max(0, x - 1); dx <= std::min(n - 1, x + 1); ++dx) {
          for (const int i : cells[(static_cast<std::size_t>(dz) * n + dy) * n + dx]) {
            const double range = spheres[i].radius + upper.radius + margin;
            if ((upper.centre - spheres[i].centre).squaredNorm() < range * range) {
              pairs.push_back({i, j});
            }
          }
        }
      }
    }
    cells[(static_cast<std::size_t>(z) * n + y) * n + x].push_back(j);
  }
  return pairs;
}

void keep_inside(const Packing& packing, Sphere& s) {
  for (int axis = 0; axis < 2; ++axis) {
    s.centre[axis] = std::clamp(s.centre[axis], s.radius, packing.width - s.radius);
  }
  s.centre.z() = std::max(s.centre.z(), s.radius);
}

void settle(Packing& packing) {
  constexpr double margin = 0.4 * mean_radius;
  constexpr int rebuild = 8, local_sweeps = 4;
  std::vector<Pair> pairs;
  double drop = 0.05 * mean_radius;
  for (int sweep = 0; sweep < sweeps; ++sweep, drop *= slowing) {
    if (sweep % rebuild == 0) pairs = near_pairs(packing, margin);
    for (Sphere& s : packing.spheres) {
      s.centre.z() -= drop;
      keep_inside(packing, s);
    }
    for (std::size_t first = 0, last = 0; first < pairs.size(); first = last) {
      while (last < pairs.size() && pairs[last].upper == pairs[first].upper) ++last;
      Sphere& upper = packing.spheres[pairs[first].upper];
      for (int k = 0; k < local_sweeps; ++k) {
        for (std::size_t p = first; p < last; ++p) {
          const Sphere& lower = packing.spheres[pairs[p].lower];
          const Vec3 d = upper.centre - lower.centre;
          const double range = lower.radius + upper.radius;
          if (d.squaredNorm() >= range * range) continue;
          upper.centre = lower.centre + range / d.norm() * d;
        }
        keep_inside(packing, upper);
      }
    }
  }
}

/// Takes the overlaps that are left out of the radii. Spheres wedged between walls with overlaps to
/// undo may have no velocity that undoes them; without overlaps every packing has a solution: to
/// stay where it is.
void shrink_to_fit(Packing& packing) {
  std::vector<double> cut(packing.spheres.size(), 0.0);
  for (const auto& [i, j] : near_pairs(packing, 0)) {
    const Sphere& lower = packing.spheres[i];
    const Sphere& upper = packing.spheres[j];
    const double overlap = lower.radius + upper.radius - (upper.centre - lower.centre).norm();
    cut[i] = std::max(cut[i], 0.5 * overlap);
    cut[j] = std::max(cut[j], 0.5 * overlap);
  }
  for (std::size_t k = 0; k < cut.size(); ++k) packing.spheres[k].radius -= cut[k];
}

struct Touch {
  int A, B;
  Vec3 normal;
  double gap;
};

std::vector<Touch> touches(const Packing& packing) {
  std::vector<Touch> result;
  for (const auto& [i, j] : near_pairs(packing, reach)) {
    const Vec3 d = packing.spheres[j].centre - packing.spheres[i].centre;
    const double distance = d.norm();
    const double gap = distance - packing.spheres[i].radius - packing.spheres[j].radius;
    result.push_back({j, i, d / distance, std::max(0.0, gap)});
  }
  for (std::size_t k = 0; k < packing.spheres.size(); ++k) {
    const auto& [centre, radius] = packing.spheres[k];
    const auto add_wall = [&](double gap, const Vec3& normal) {
      if (gap >= reach) return;
      result.push_back({static_cast<int>(k), RigidScene::ground, normal, std::max(0.0, gap)});
    };
    add_wall(centre.z() - radius, Vec3::UnitZ());
    for (int axis = 0; axis < 2; ++axis) {
      add_wall(centre[axis] - radius, Vec3::Unit(axis));
      add_wall(packing.width - centre[axis] - radius, -Vec3::Unit(axis));
    }
  }
  return result;
}

}  // namespace

StepProblem sphere_packing(const SpherePacking& o) {
  require(o.contacts >= 1 && o.contacts <= 10'000'000, "contacts", o.contacts,
          "a number from 1 to 10 million");
  require_size("contacts", o.contacts, 2500);
  require_friction(o.mu);
  require(o.mass_ratio >= 1 && std::isfinite(o.mass_ratio), "mass ratio", o.mass_ratio,
          "a finite number ≥ 1");
  Packing packing;
  std::vector<Touch> contacts;
  Random random(o.seed);
  for (double spheres = std::max(1.0, o.contacts / 2.4);; spheres = 1.02 * spheres + 1) {
    random = Random(o.seed);
    packing = lattice(static_cast<int>(spheres), random);
    settle(packing);
    shrink_to_fit(packing);
    contacts = touches(packing);
    if (static_cast<int>(contacts.size()) >= o.contacts) break;
    spheres *= static_cast<double>(o.contacts) / std::max<std::size_t>(contacts.size(), 1);
  }
  std::sort(contacts.begin(), contacts.end(), [](const Touch& p, const Touch& q) {
    return std::tuple(p.gap, p.A, p.B) < std::tuple(q.gap, q.A, q.B);
  });
  contacts.resize(o.contacts);
  std::sort(contacts.begin(), contacts.end(), [](const Touch& p, const Touch& q) {
    return std::tuple(p.A, p.B, p.normal.x(), p.normal.y()) <
           std::tuple(q.A, q.B, q.normal.x(), q.normal.y());
  });

  RigidScene scene(o.step);
  for (const auto& [centre, radius] : packing.spheres) {
    const double mass = random.log_uniform(o.mass_ratio);
    const Vec3 velocity = random.vector(0.01);
    const Vec3 spin = random.vector(0.01 / mean_radius);
    scene.add_body(mass, Vec3::Constant(0.4 * mass * radius * radius), centre, velocity, spin);
  }
  for (const Touch& c : contacts) {
    const Vec3 arm_A = -packing.spheres[c.A].radius * c.normal;
    const Vec3 arm_B =
        c.B == RigidScene::ground ? Vec3(0, 0, 0) : Vec3(packing.spheres[c.B].radius * c.normal);
    scene.add_contact(c.A, c.B, arm_A, arm_B, c.normal, c.gap, o.mu);
  }
  return scene.finish();
}

}  // namespace urto
