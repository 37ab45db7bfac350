// The box of balls of recipe 001 §3.3 (Mangoni 2017, tables 5.2 and 5.3): step problems of spheres
// that fall into a cylinder of 1 m, made as the source makes them. Shared by
// tests/papers/mangoni_test.cpp and bench/balls_in_box.cpp.
#pragma once

#include <cmath>
#include <vector>

#include <Eigen/Geometry>

#include "urto/problem/step_problem.h"

namespace urto::papers {

inline constexpr double gravity = 9.81;

// A scene of spheres with a wall function: rows for every pair and wall nearer than a threshold, as
// the source makes them.
struct Balls {
  double radius = 0.035, mass = 0.1796, container = 0;  ///< container radius, 0: none
  double step = 0.02, reach = 0.02, mu = 0;
  std::vector<Vec3> x, v, spin;

  struct Contact {
    int a, b;  ///< b = −1: floor, −2: wall
    Vec3 normal;
    double gap;
    long key() const { return 100000L * a + (b + 10); }
  };

  std::vector<Contact> contacts() const {
    std::vector<Contact> list;
    const int n = static_cast<int>(x.size());
    for (int i = 0; i < n; ++i) {
      if (x[i].z() - radius < reach) list.push_back({i, -1, Vec3::UnitZ(), x[i].z() - radius});
      const Vec3 out(x[i].x(), x[i].y(), 0);
      const double wall = container - radius - out.norm();
      if (container > 0 && wall < reach && out.norm() > 0)
        list.push_back({i, -2, -out.normalized(), wall});
      for (int j = 0; j < i; ++j) {
        const Vec3 d = x[i] - x[j];
        const double gap = d.norm() - 2 * radius;
        if (gap < reach) list.push_back({i, j, d.normalized(), gap});
      }
    }
    return list;
  }

  StepProblem problem(const std::vector<Contact>& list) const {
    const int n = static_cast<int>(x.size());
    StepProblem p;
    BlockMatrix H;
    Eigen::Matrix<double, 6, 1> diagonal;
    diagonal << Vec3::Constant(mass), Vec3::Constant(0.4 * mass * radius * radius);
    p.a.setZero(6 * n);
    for (int i = 0; i < n; ++i) {
      H.push_back(Matrix(diagonal.asDiagonal()));
      p.a.segment<3>(6 * i) = mass * (v[i] - Vec3(0, 0, gravity * step));
      p.a.segment<3>(6 * i + 3) = diagonal.tail<3>().cwiseProduct(spin[i]);
    }
    p.H = H;
    p.J.columns = 6 * n;
    const int rows = mu > 0 ? 3 : 1;
    p.b.setZero(rows * static_cast<int>(list.size()));
    for (std::size_t k = 0; k < list.size(); ++k) {
      const Contact& c = list[k];
      Mat3 frame;  // rows: normal and two tangents
      frame.row(0) = c.normal;
      const Vec3 other = std::abs(c.normal.z()) < 0.9 ? Vec3::UnitZ() : Vec3::UnitX();
      frame.row(1) = c.normal.cross(other).normalized();
      frame.row(2) = c.normal.cross(Vec3(frame.row(1)));
      p.J.add_block(rows);
      add_entry(p, c.a, frame, -radius * c.normal, 1, rows);
      if (c.b >= 0) add_entry(p, c.b, frame, radius * c.normal, -1, rows);
      p.K.push_back(mu > 0 ? ConvexSet::cone(mu) : ConvexSet::nonnegative());
      p.b[rows * static_cast<int>(k)] = c.gap / step;
    }
    p.E.resize(p.rows(), p.rows());
    return p;
  }

  /// As the unknowns of `problem` are ordered.
  Vector velocity() const {
    Vector out(6 * static_cast<int>(x.size()));
    for (std::size_t i = 0; i < x.size(); ++i) {
      out.segment<3>(6 * static_cast<int>(i)) = v[i];
      out.segment<3>(6 * static_cast<int>(i) + 3) = spin[i];
    }
    return out;
  }

  void advance(const Vector& velocity) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      v[i] = velocity.segment<3>(6 * static_cast<int>(i));
      spin[i] = velocity.segment<3>(6 * static_cast<int>(i) + 3);
      x[i] += step * v[i];
    }
  }

 private:
  static void add_entry(StepProblem& p, int body, const Mat3& frame, const Vec3& arm, double sign,
                        int rows) {
    Matrix J(3, 6);
    J.leftCols(3) = sign * frame;
    for (int r = 0; r < 3; ++r) {
      J.block<1, 3>(r, 3) = sign * arm.cross(Vec3(frame.row(r))).transpose();
    }
    p.J.add_entry(6 * body, J.topRows(rows));
  }
};

// Layers of a jittered square lattice inside the container, slightly apart. A row for every gap
// below 6 cm, twice the envelope of 3 cm that the source's engine gives a body unless told
// otherwise: 595 and 1190 balls then have 8400 to 8800 and 19 200 to 20 100 rows, in the source
// 8301 and 16 798.
inline Balls balls_in_box(int count, double mu) {
  Balls scene;
  scene.container = 0.5;
  scene.reach = 0.06;
  scene.mu = mu;
  const double pitch = 2.02 * scene.radius;
  unsigned state = 1;
  const auto jitter = [&state] {
    state = state * 1664525U + 1013904223U;
    return (static_cast<double>(state >> 8) / 16777216.0 - 0.5) * 0.2e-3;
  };
  for (int layer = 0; static_cast<int>(scene.x.size()) < count; ++layer) {
    const double shift = layer % 2 == 0 ? 0 : pitch / 2;
    // Narrow containers would be one layer: 64 balls fill a part of the floor only.
    const double room = count < 150 ? 0.18 : scene.container - scene.radius - 1e-3;
    for (int i = -8; i <= 8; ++i) {
      for (int j = -8; j <= 8; ++j) {
        const Vec3 at(i * pitch + shift + jitter(), j * pitch + shift + jitter(),
                      scene.radius * 1.01 + layer * 0.75 * pitch);
        if (std::hypot(at.x(), at.y()) > room || static_cast<int>(scene.x.size()) == count)
          continue;
        scene.x.push_back(at);
      }
    }
  }
  scene.v.assign(scene.x.size(), Vec3::Zero());
  scene.spin = scene.v;
  return scene;
}

}  // namespace urto::papers
