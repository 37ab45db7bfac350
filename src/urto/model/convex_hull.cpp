#include "urto/model/convex_hull.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <memory>

#include <fmt/format.h>

extern "C" {
#include <libqhull_r/qhull_ra.h>
}

#include "urto/error.h"
#include "urto/model/triangle_mesh.h"

namespace urto {
namespace {

// Thickness over extent. Thinner solids have faces that rounding turns, and are better given as
// boxes.
constexpr double thinnest = 1e-6;
// Triangles that are lower than this share of the extent come from rounded coordinates, not from
// edges that somebody meant.
constexpr double lowest = 1e-8;

void check_points(std::span<const Vec3> points, std::string_view name) {
  if (points.size() < 4) {
    throw InputError(name, fmt::format("{} points", points.size()),
                     "at least four, the corners of a solid");
  }
  for (std::size_t k = 0; k < points.size(); ++k) {
    if (points[k].allFinite()) continue;
    throw InputError(fmt::format("{}: point {}", name, k),
                     fmt::format("({}, {}, {})", points[k][0], points[k][1], points[k][2]),
                     "finite coordinates");
  }
}

// The point farthest by some measure, and how far.
template <typename Measure>
std::pair<std::size_t, double> farthest(std::span<const Vec3> points, Measure measure) {
  std::pair<std::size_t, double> best{0, -1};
  for (std::size_t k = 0; k < points.size(); ++k) {
    const double x = measure(points[k]);
    if (x > best.second) best = {k, x};
  }
  return best;
}

// Whether the points span a length, a width and a thickness.
void check_thickness(std::span<const Vec3> points, std::string_view name) {
  constexpr std::string_view expected = "points that span a solid";
  const Vec3 a =
      points[farthest(points, [&](const Vec3& x) { return (x - points[0]).stableNorm(); }).first];
  const auto far = farthest(points, [&](const Vec3& x) { return (x - a).stableNorm(); });
  const double length = far.second;
  if (!(length > 0)) throw InputError(name, "points that are all the same", expected);
  const Vec3 along = (points[far.first] - a) / length;
  const auto across = [&](const Vec3& x) -> Vec3 {
    return (x - a) / length - along.dot((x - a) / length) * along;
  };
  const auto [side, width] = farthest(points, [&](const Vec3& x) { return across(x).norm(); });
  if (!(width > thinnest)) {
    throw InputError(name, fmt::format("points on a line (width {:.3g} m)", width * length),
                     expected);
  }
  const Vec3 normal = along.cross(across(points[side]).normalized());
  double low = 0, high = 0;
  for (const Vec3& x : points) {
    const double height = normal.dot((x - a) / length);
    low = std::min(low, height);
    high = std::max(high, height);
  }
  if (!(high - low > thinnest)) {
    throw InputError(name,
                     fmt::format("points in a plane (thickness {:.3g} m)", (high - low) * length),
                     expected);
  }
}

// Owns one run of qhull, which reports into memory instead of the terminal.
class Qhull {
 public:
  explicit Qhull(std::vector<double>& coordinates) {
    report_ = open_memstream(&text_, &text_size_);
    if (report_ == nullptr) throw std::bad_alloc();
    qh_zero(qh_.get(), report_);
    char options[] = "qhull Qt Pp";
    status_ = qh_new_qhull(qh_.get(), 3, static_cast<int>(coordinates.size() / 3),
                           coordinates.data(), False, options, nullptr, report_);
  }
  Qhull(const Qhull&) = delete;
  Qhull& operator=(const Qhull&) = delete;
  ~Qhull() {
    int blocks = 0, bytes = 0;
    qh_freeqhull(qh_.get(), static_cast<boolT>(!qh_ALL));
    qh_memfreeshort(qh_.get(), &blocks, &bytes);
    std::fclose(report_);
    std::free(text_);
  }

  int status() const { return status_; }

  /// Calls f with the three point numbers of every facet, all turned the same way.
  template <typename Function>
  void for_each_facet(Function f) const {
    for (const facetT* facet = qh_->facet_list; facet != nullptr && facet->next != nullptr;
         facet = facet->next) {
      std::array<int, 3> t{};
      for (int i = 0; i < 3; ++i) {
        const auto* vertex = static_cast<const vertexT*>(facet->vertices->e[i].p);
        t[i] = qh_pointid(qh_.get(), vertex->point);
      }
      if (facet->toporient == 0U) std::swap(t[1], t[2]);
      f(t);
    }
  }

 private:
  std::unique_ptr<qhT> qh_ = std::make_unique<qhT>();
  std::FILE* report_ = nullptr;
  char* text_ = nullptr;
  std::size_t text_size_ = 0;
  int status_ = 0;
};

std::vector<std::array<int, 3>> enclose(std::span<const Vec3> points, std::string_view name) {
  // Qhull's tolerances grow with the coordinates: it sees the points around the origin, with an
  // extent of about 1.
  Box3 box;
  for (const Vec3& x : points) box.extend(x);
  const double scale = std::exp2(-std::ilogb(box.diagonal().maxCoeff()));
  std::vector<double> coordinates;
  coordinates.reserve(3 * points.size());
  for (const Vec3& x : points) {
    const Vec3 moved = scale * (x - box.center());
    coordinates.insert(coordinates.end(), moved.data(), moved.data() + 3);
  }
  const Qhull run(coordinates);
  if (run.status() != qh_ERRnone) {
    throw InputError(name,
                     fmt::format("points that qhull cannot enclose (its error {})", run.status()),
                     "points that span a solid");
  }
  std::vector<std::array<int, 3>> triangles;
  run.for_each_facet([&](const std::array<int, 3>& t) { triangles.push_back(t); });
  return triangles;
}

// Vertices in the order of the points, triangles in that of their vertices.
TriangleMesh in_order(std::span<const Vec3> points, std::vector<std::array<int, 3>> triangles) {
  std::vector<int> number(points.size(), -1);
  for (const auto& t : triangles) {
    for (const int v : t) number[v] = 0;
  }
  TriangleMesh mesh;
  for (std::size_t k = 0; k < points.size(); ++k) {
    if (number[k] < 0) continue;
    number[k] = static_cast<int>(mesh.vertices.size());
    mesh.vertices.push_back(points[k]);
  }
  for (auto& t : triangles) t = {number[t[0]], number[t[1]], number[t[2]]};
  mesh.triangles = std::move(triangles);
  if (signed_volume(mesh) < 0) mesh = flipped(std::move(mesh));
  for (auto& t : mesh.triangles) {
    std::rotate(t.begin(), std::min_element(t.begin(), t.end()), t.end());
  }
  std::sort(mesh.triangles.begin(), mesh.triangles.end());
  return mesh;
}

// The vertices without those that are nearly on the longest edge of a low triangle: the hull of the
// rest is the same up to that height. Nobody goes in whose company another has just gone.
std::vector<Vec3> without_slivers(const TriangleMesh& hull, double height) {
  enum Fate : char { open, stays, goes };
  std::vector<Fate> fate(hull.vertices.size(), open);
  for (const auto& t : hull.triangles) {
    int longest = 0;
    double length = 0;
    for (int e = 0; e < 3; ++e) {
      const double l = (hull.vertices[t[(e + 1) % 3]] - hull.vertices[t[e]]).norm();
      if (l > length) {
        length = l;
        longest = e;
      }
    }
    const int a = t[longest], b = t[(longest + 1) % 3], middle = t[(longest + 2) % 3];
    const Vec3 area =
        (hull.vertices[b] - hull.vertices[a]).cross(hull.vertices[middle] - hull.vertices[a]);
    if (area.norm() > height * length || fate[middle] != open || fate[a] == goes ||
        fate[b] == goes) {
      continue;
    }
    fate[middle] = goes;
    fate[a] = fate[b] = stays;
  }
  std::vector<Vec3> rest;
  for (std::size_t k = 0; k < hull.vertices.size(); ++k) {
    if (fate[k] != goes) rest.push_back(hull.vertices[k]);
  }
  return rest;
}

}  // namespace

TriangleMesh convex_hull(std::span<const Vec3> points, std::string_view name) {
  check_points(points, name);
  check_thickness(points, name);
  TriangleMesh hull = in_order(points, enclose(points, name));
  const double height = lowest * bounds(hull).diagonal().norm();
  for (std::vector<Vec3> rest = without_slivers(hull, height); rest.size() < hull.vertices.size();
       rest = without_slivers(hull, height)) {
    hull = in_order(rest, enclose(rest, name));
  }
  return hull;
}

bool is_convex(const TriangleMesh& mesh, std::string_view name) {
  const std::vector<std::array<int, 3>> across = neighbours(mesh, name);
  const double diagonal = bounds(mesh).diagonal().norm();
  // A determinant is a height times twice an area; small triangles may lie as they like within it.
  const double rounding = 1e-9 * diagonal * diagonal * diagonal;
  for (std::size_t k = 0; k < mesh.triangles.size(); ++k) {
    const Vec3& a = mesh.vertices[mesh.triangles[k][0]];
    const Vec3 normal =
        (mesh.vertices[mesh.triangles[k][1]] - a).cross(mesh.vertices[mesh.triangles[k][2]] - a);
    for (const int other : across[k]) {
      if (other < 0) return false;
      for (const int v : mesh.triangles[other]) {
        if (normal.dot(mesh.vertices[v] - a) > rounding) return false;
      }
    }
  }
  return true;
}

double inner_radius(const TriangleMesh& hull) {
  const Vec3 center = mass_properties(hull, 1).center;
  double nearest = std::numeric_limits<double>::infinity();
  for (const auto& t : hull.triangles) {
    const Vec3& a = hull.vertices[t[0]];
    const Vec3 normal = (hull.vertices[t[1]] - a).cross(hull.vertices[t[2]] - a).normalized();
    nearest = std::min(nearest, normal.dot(a - center));
  }
  return nearest;
}

}  // namespace urto
