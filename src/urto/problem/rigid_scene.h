// What the generators share: random numbers that are the same everywhere, and the assembly of one
// step of rigid bodies at identity orientation (where the body frame of the angular velocity is the
// world frame).
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include <Eigen/Geometry>
#include <fmt/format.h>

#include "urto/error.h"
#include "urto/math/rotation.h"
#include "urto/memory_limit.h"
#include "urto/problem/step_problem.h"

namespace urto::generate {

inline constexpr double gravity = 9.81;

/// splitmix64 (Steele, Lea and Flood 2014). The distributions of the standard library differ
/// between libraries.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  double uniform() {  // [0, 1)
    state_ += 0x9e3779b97f4a7c15;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    z ^= z >> 31;
    return static_cast<double>(z >> 11) * 0x1p-53;
  }
  double uniform(double lo, double hi) { return lo + (hi - lo) * uniform(); }
  Vec3 vector(double size) {
    const double x = uniform(-size, size), y = uniform(-size, size), z = uniform(-size, size);
    return {x, y, z};
  }
  /// Log-uniform in [1, ratio]. Built from square roots, which IEEE 754 rounds correctly; pow is
  /// not portable.
  double log_uniform(double ratio) {
    double value = 1, root = ratio;
    const double u = uniform();
    auto bits = static_cast<std::uint64_t>(u * 0x1p40);
    for (std::uint64_t mask = std::uint64_t{1} << 39; mask != 0; mask >>= 1) {
      root = std::sqrt(root);
      if (bits & mask) value *= root;
    }
    return value;
  }

 private:
  std::uint64_t state_;
};

inline void require(bool holds, std::string_view option, double found, std::string_view expected) {
  if (!holds) throw InputError(option, fmt::format("{}", found), expected);
}
/// For what there will be so many of; `bytes` is what each takes while it is made (measured).
inline void require_size(std::string_view what, double count, double bytes) {
  require(count <= 1e7, what, count, "at most 10 million");
  require_memory(count * bytes, what, fmt::format("{}", count));
}
inline void require_positive(std::string_view option, double found) {
  require(found > 0 && std::isfinite(found), option, found, "a finite number > 0");
}
inline void require_friction(double mu) {
  require(mu >= 0 && std::isfinite(mu), "mu", mu, "a finite number ≥ 0");
}

using Rows36 = Eigen::Matrix<double, 3, 6>;

/// The velocity, along the rows of `directions`, of the body's point at `arm` from its centre.
inline Rows36 point_rows(const Mat3& directions, const Vec3& arm) {
  Rows36 rows;
  rows.leftCols<3>() = directions;
  for (int i = 0; i < 3; ++i) {
    rows.block<1, 3>(i, 3) = arm.cross(Vec3(directions.row(i))).transpose();
  }
  return rows;
}

class RigidScene {
 public:
  static constexpr int ground = -1;

  explicit RigidScene(double step) : step_(step) { require_positive("step", step); }

  /// A body with principal inertias along the world axes; gravity acts on it.
  int add_body(double mass, const Vec3& inertia, const Vec3& position,
               const Vec3& velocity = Vec3::Zero(), const Vec3& angular_velocity = Vec3::Zero()) {
    Eigen::Matrix<double, 6, 1> diagonal, momentum;
    diagonal << mass, mass, mass, inertia;
    momentum << mass * velocity, inertia.cwiseProduct(angular_velocity);
    momentum[2] -= step_ * mass * gravity;
    mass_.push_back(Matrix(diagonal.asDiagonal()));
    momentum_.push_back(momentum);
    positions_.push_back(position);
    problem_.J.columns += 6;
    return static_cast<int>(positions_.size()) - 1;
  }
  const Vec3& position(int body) const { return positions_[body]; }
  void push(int body, const Vec3& force) { momentum_[body].head<3>() += step_ * force; }

  /// Contact between bodies A and B (or the ground) at `point`; `normal` points from B to A.
  void add_contact(int A, int B, const Vec3& point, const Vec3& normal, double gap, double mu) {
    add_contact(A, B, arm(A, point), arm(B, point), normal, gap, mu);
  }
  void add_contact(int A, int B, const Vec3& arm_A, const Vec3& arm_B, const Vec3& normal,
                   double gap, double mu) {
    const Mat3 frame = contact_frame(normal).transpose();
    add_rows(A, point_rows(frame, arm_A), B, point_rows(frame, arm_B), ConvexSet::cone(mu));
    offsets_[offsets_.size() - 3] = gap / step_;
  }
  /// Rows G_A v_A − G_B v_B (+ 0); `offset()` of the last row is set by the caller if it is not
  /// zero.
  void add_rows(int A, const Eigen::Ref<const Matrix>& G_A, int B,
                const Eigen::Ref<const Matrix>& G_B, const ConvexSet& set) {
    problem_.J.add_block(set.dim);
    problem_.J.add_entry(6 * A, G_A);
    if (B != ground) problem_.J.add_entry(6 * B, -G_B);
    problem_.K.push_back(set);
    offsets_.resize(offsets_.size() + set.dim, 0.0);
  }
  double& offset() { return offsets_.back(); }
  Vec3 arm(int body, const Vec3& point) const {
    return body == ground ? Vec3::Zero() : Vec3(point - positions_[body]);
  }

  StepProblem finish() {
    const int n = problem_.J.columns;
    problem_.a.resize(n);
    for (Eigen::Index k = 0; k < n / 6; ++k) problem_.a.segment<6>(6 * k) = momentum_[k];
    problem_.b =
        Eigen::Map<const Vector>(offsets_.data(), static_cast<Eigen::Index>(offsets_.size()));
    problem_.E.resize(problem_.rows(), problem_.rows());
    problem_.H = std::move(mass_);
    return std::move(problem_);
  }

 private:
  double step_;
  StepProblem problem_;
  BlockMatrix mass_;
  std::vector<Eigen::Matrix<double, 6, 1>> momentum_;
  std::vector<Vec3> positions_;
  std::vector<double> offsets_;
};

}  // namespace urto::generate
