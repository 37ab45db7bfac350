#include "urto/model/triangle_mesh.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <tuple>
#include <unordered_map>

#include <Eigen/Eigenvalues>
#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

using Triangle = std::array<int, 3>;

// A triangle whose height is less than this share of its longest edge has no normal to speak of.
constexpr double flattest = 1e-10;
// Volume over the cube of the diagonal. A wire of 1 m by 10 µm has 1e-10; rounding leaves 1e-15.
constexpr double thinnest = 1e-12;

std::string text(const Vec3& x) {
  return fmt::format("({:.6g}, {:.6g}, {:.6g})", x[0], x[1], x[2]);
}

std::string edge_text(const TriangleMesh& mesh, int a, int b) {
  return fmt::format("from vertex {} {} to vertex {} {}", a, text(mesh.vertices[a]), b,
                     text(mesh.vertices[b]));
}

Vec3 doubled_area(const TriangleMesh& mesh, const Triangle& t) {
  const Vec3& a = mesh.vertices[t[0]];
  return (mesh.vertices[t[1]] - a).cross(mesh.vertices[t[2]] - a);
}

void check_numbers(const TriangleMesh& mesh, std::string_view name) {
  if (mesh.triangles.empty()) {
    throw InputError(name, "no triangles", "a surface of at least one");
  }
  for (std::size_t k = 0; k < mesh.vertices.size(); ++k) {
    if (!mesh.vertices[k].allFinite()) {
      throw InputError(fmt::format("{}: vertex {}", name, k), text(mesh.vertices[k]),
                       "finite coordinates");
    }
  }
  const int count = static_cast<int>(mesh.vertices.size());
  for (std::size_t k = 0; k < mesh.triangles.size(); ++k) {
    for (const int v : mesh.triangles[k]) {
      if (v >= 0 && v < count) continue;
      throw InputError(fmt::format("{}: triangle {}", name, k), fmt::format("vertex {}", v),
                       fmt::format("an index from 0 to {}", count - 1));
    }
  }
}

void check_areas(const TriangleMesh& mesh, std::string_view name) {
  for (std::size_t k = 0; k < mesh.triangles.size(); ++k) {
    const Triangle& t = mesh.triangles[k];
    double longest = 0;
    for (int e = 0; e < 3; ++e) {
      longest =
          std::max(longest, (mesh.vertices[t[(e + 1) % 3]] - mesh.vertices[t[e]]).squaredNorm());
    }
    if (doubled_area(mesh, t).norm() > flattest * longest) continue;
    throw InputError(
        fmt::format("{}: triangle {} with the vertices {}, {}, {}", name, k, t[0], t[1], t[2]),
        fmt::format("no area (its corners {}, {}, {} are on a line)", text(mesh.vertices[t[0]]),
                    text(mesh.vertices[t[1]]), text(mesh.vertices[t[2]])),
        "triangles with an area");
  }
}

// Edges in the order of their vertices, so that those of neighbours stand together.
struct HalfEdge {
  int low, high;
  int triangle, side;
  bool forward;  // from low to high
};

std::vector<HalfEdge> sorted_edges(const TriangleMesh& mesh) {
  std::vector<HalfEdge> edges;
  edges.reserve(3 * mesh.triangles.size());
  for (int k = 0; k < static_cast<int>(mesh.triangles.size()); ++k) {
    for (int e = 0; e < 3; ++e) {
      const int a = mesh.triangles[k][e], b = mesh.triangles[k][(e + 1) % 3];
      edges.push_back({std::min(a, b), std::max(a, b), k, e, a < b});
    }
  }
  std::sort(edges.begin(), edges.end(), [](const HalfEdge& a, const HalfEdge& b) {
    return std::tie(a.low, a.high, a.triangle, a.side) <
           std::tie(b.low, b.high, b.triangle, b.side);
  });
  return edges;
}

void check_closed(const TriangleMesh& mesh, std::string_view name,
                  const std::vector<Triangle>& across) {
  std::size_t open = 0;
  std::string first;
  for (std::size_t k = 0; k < across.size(); ++k) {
    for (int e = 0; e < 3; ++e) {
      if (across[k][e] >= 0) continue;
      const Triangle& t = mesh.triangles[k];
      if (open++ == 0) first = edge_text(mesh, t[e], t[(e + 1) % 3]);
    }
  }
  if (open > 0) {
    throw InputError(
        name,
        fmt::format("{} edges with one triangle only, the first {} (the surface has a hole)", open,
                    first),
        "a closed surface, the skin of a solid");
  }
  const double diagonal = bounds(mesh).diagonal().norm();
  const double volume = signed_volume(mesh);
  if (std::abs(volume) <= thinnest * diagonal * diagonal * diagonal) {
    throw InputError(name, fmt::format("a volume of {:.3g} m³", volume), "a solid with a volume");
  }
  if (volume < 0) {
    throw InputError(name,
                     fmt::format("a surface that is inside out (its volume is {:.6g} m³)", volume),
                     "triangles that are counter-clockwise seen from outside (in a scene, "
                     "\"flip\": true turns them all)");
  }
}

// ∫ over the tetrahedron of the origin and a triangle, of 1, x and xxᵀ (B. Mirtich 1996, D. Eberly
// 2002; here in the closed form for simplices).
struct Moments {
  double volume = 0;
  Vec3 first = Vec3::Zero();
  Mat3 second = Mat3::Zero();
};

Moments moments_about(const TriangleMesh& mesh, const Vec3& origin) {
  Moments m;
  for (const Triangle& t : mesh.triangles) {
    const Vec3 a = mesh.vertices[t[0]] - origin, b = mesh.vertices[t[1]] - origin,
               c = mesh.vertices[t[2]] - origin;
    const double volume = a.dot(b.cross(c)) / 6;
    const Vec3 sum = a + b + c;
    m.volume += volume;
    m.first += volume / 4 * sum;
    m.second += volume / 20 *
                (a * a.transpose() + b * b.transpose() + c * c.transpose() + sum * sum.transpose());
  }
  return m;
}

}  // namespace

Box3 bounds(const TriangleMesh& mesh) {
  Box3 box;
  for (const Vec3& x : mesh.vertices) box.extend(x);
  return box;
}

TriangleMesh weld(const TriangleMesh& mesh, std::string_view name, double tolerance) {
  check_numbers(mesh, name);
  const Box3 box = bounds(mesh);
  const double reach = tolerance * box.diagonal().norm();
  // Cells at least as wide as the reach: near vertices are at most one cell apart. 2⁻²⁰ of the
  // diagonal keeps their numbers small.
  const double cell = std::max(reach, box.diagonal().norm() * 0x1p-20);
  const auto key = [](const std::array<std::int64_t, 3>& c) {
    return (static_cast<std::uint64_t>(c[0] + 1) << 42U) |
           (static_cast<std::uint64_t>(c[1] + 1) << 21U) | static_cast<std::uint64_t>(c[2] + 1);
  };
  std::unordered_map<std::uint64_t, std::vector<int>> cells;
  std::vector<int> representative(mesh.vertices.size());
  for (int k = 0; k < static_cast<int>(mesh.vertices.size()); ++k) {
    const Vec3& x = mesh.vertices[k];
    std::array<std::int64_t, 3> at{};
    for (int i = 0; i < 3 && cell > 0; ++i) {
      at[i] = static_cast<std::int64_t>((x[i] - box.min()[i]) / cell);
    }
    int found = -1;
    for (int n = 0; n < 27; ++n) {
      const auto it =
          cells.find(key({at[0] + n % 3 - 1, at[1] + n / 3 % 3 - 1, at[2] + n / 9 - 1}));
      if (it == cells.end()) continue;
      for (const int other : it->second) {
        const bool near = (mesh.vertices[other] - x).norm() <= reach;
        if (near && (found < 0 || other < found)) found = other;
      }
    }
    representative[k] = found < 0 ? k : found;
    if (found < 0) cells[key(at)].push_back(k);
  }

  TriangleMesh out;
  std::vector<char> used(mesh.vertices.size(), 0);
  for (const Triangle& t : mesh.triangles) {
    const Triangle w{representative[t[0]], representative[t[1]], representative[t[2]]};
    if (w[0] == w[1] || w[1] == w[2] || w[2] == w[0]) continue;
    out.triangles.push_back(w);
    for (const int v : w) used[v] = 1;
  }
  std::vector<int> number(mesh.vertices.size(), -1);
  for (std::size_t k = 0; k < mesh.vertices.size(); ++k) {
    if (used[k] == 0) continue;
    number[k] = static_cast<int>(out.vertices.size());
    out.vertices.push_back(mesh.vertices[k]);
  }
  for (Triangle& t : out.triangles) t = {number[t[0]], number[t[1]], number[t[2]]};
  return out;
}

std::vector<std::array<int, 3>> neighbours(const TriangleMesh& mesh, std::string_view name) {
  const std::vector<HalfEdge> edges = sorted_edges(mesh);
  std::vector<Triangle> across(mesh.triangles.size(), Triangle{-1, -1, -1});
  for (std::size_t first = 0, last = 0; first < edges.size(); first = last) {
    const HalfEdge& e = edges[first];
    while (last < edges.size() && edges[last].low == e.low && edges[last].high == e.high) ++last;
    if (last - first > 2) {
      throw InputError(fmt::format("{}: edge {}", name, edge_text(mesh, e.low, e.high)),
                       fmt::format("{} triangles ({}, {}, {}{})", last - first, e.triangle,
                                   edges[first + 1].triangle, edges[first + 2].triangle,
                                   last - first > 3 ? ", …" : ""),
                       "at most two");
    }
    if (last - first < 2) continue;
    const HalfEdge& f = edges[first + 1];
    if (e.forward == f.forward) {
      throw InputError(
          fmt::format("{}: edge {}", name, edge_text(mesh, e.low, e.high)),
          fmt::format("triangles {} and {} turned against each other", e.triangle, f.triangle),
          "all of them counter-clockwise seen from the same side");
    }
    across[e.triangle][e.side] = f.triangle;
    across[f.triangle][f.side] = e.triangle;
  }
  return across;
}

void check_mesh(const TriangleMesh& mesh, std::string_view name, Surface surface) {
  check_numbers(mesh, name);
  check_areas(mesh, name);
  const std::vector<Triangle> across = neighbours(mesh, name);
  if (surface == Surface::closed) check_closed(mesh, name, across);
}

bool is_closed(const TriangleMesh& mesh, std::string_view name) {
  for (const Triangle& t : neighbours(mesh, name)) {
    if (*std::min_element(t.begin(), t.end()) < 0) return false;
  }
  return true;
}

double signed_volume(const TriangleMesh& mesh) {
  return moments_about(mesh, bounds(mesh).center()).volume;
}

TriangleMesh flipped(TriangleMesh mesh) {
  for (Triangle& t : mesh.triangles) std::swap(t[1], t[2]);
  return mesh;
}

TriangleMesh scaled(TriangleMesh mesh, const Vec3& factors) {
  for (Vec3& x : mesh.vertices) x = x.cwiseProduct(factors);
  return factors.prod() < 0 ? flipped(std::move(mesh)) : mesh;
}

MassProperties mass_properties(const TriangleMesh& mesh, double density, std::string_view name) {
  if (!(density >= 0) || !std::isfinite(density)) {
    throw InputError(fmt::format("{}: density", name), fmt::format("{}", density),
                     "a number that is not negative (kg/m³)");
  }
  check_mesh(mesh, name, Surface::closed);
  // Far from the origin the moments would cancel; the middle of the box is near enough to the
  // centre.
  const Vec3 middle = bounds(mesh).center();
  const Moments m = moments_about(mesh, middle);
  const Vec3 center = m.first / m.volume;
  const Mat3 second = m.second - m.volume * center * center.transpose();
  return {density * m.volume, middle + center,
          density * (second.trace() * Mat3::Identity() - second)};
}

Vec3 half_widths(const TriangleMesh& mesh) {
  const Vec3 middle = bounds(mesh).center();
  double area = 0;
  Vec3 first = Vec3::Zero();
  Mat3 second = Mat3::Zero();
  for (const Triangle& t : mesh.triangles) {
    const double w = doubled_area(mesh, t).norm();
    const Vec3 a = mesh.vertices[t[0]] - middle, b = mesh.vertices[t[1]] - middle,
               c = mesh.vertices[t[2]] - middle;
    const Vec3 sum = a + b + c;
    area += w;
    first += w / 3 * sum;
    second += w / 12 *
              (a * a.transpose() + b * b.transpose() + c * c.transpose() + sum * sum.transpose());
  }
  const Mat3 spread = second - first * first.transpose() / area;
  const Mat3 axes = Eigen::SelfAdjointEigenSolver<Mat3>(spread).eigenvectors();
  Box3 box;
  for (const Vec3& x : mesh.vertices) box.extend(axes.transpose() * (x - middle));
  Vec3 widths = box.sizes() / 2;
  std::sort(widths.data(), widths.data() + 3);
  return widths;
}

TriangleMesh height_field(const std::vector<double>& heights, int columns, double spacing_x,
                          double spacing_y) {
  const int rows = static_cast<int>(heights.size()) / columns;
  TriangleMesh mesh;
  mesh.vertices.reserve(heights.size());
  for (int j = 0; j < rows; ++j) {
    for (int i = 0; i < columns; ++i) {
      mesh.vertices.emplace_back((i - 0.5 * (columns - 1)) * spacing_x,
                                 (j - 0.5 * (rows - 1)) * spacing_y, heights[j * columns + i]);
    }
  }
  mesh.triangles.reserve(2 * heights.size());
  for (int j = 0; j + 1 < rows; ++j) {
    for (int i = 0; i + 1 < columns; ++i) {
      const int low = j * columns + i, high = low + columns;
      mesh.triangles.push_back({low, low + 1, high + 1});
      mesh.triangles.push_back({low, high + 1, high});
    }
  }
  return mesh;
}

}  // namespace urto
