#include "urto/problem/generate.h"

#include <algorithm>
#include <array>

#include "urto/problem/rigid_scene.h"

namespace urto {

using generate::gravity;
using generate::point_rows;
using generate::Random;
using generate::require;
using generate::require_friction;
using generate::require_positive;
using generate::require_size;
using generate::RigidScene;

namespace {

Vec3 box_inertia(double mass, const Vec3& size) {
  const Vec3 s = size.cwiseProduct(size);
  return mass / 12 * Vec3(s.y() + s.z(), s.x() + s.z(), s.x() + s.y());
}

/// Four contacts at the corners lo, hi of a rectangle in the plane z = lo.z(): A stands on B.
void add_standing_contacts(RigidScene& scene, int A, int B, const Vec3& lo, const Vec3& hi,
                           double mu) {
  for (const double y : {lo.y(), hi.y()}) {
    for (const double x : {lo.x(), hi.x()}) {
      scene.add_contact(A, B, Vec3(x, y, lo.z()), Vec3::UnitZ(), 0, mu);
    }
  }
}

/// Three equality rows: the point is fixed in both bodies.
void add_spherical_joint(RigidScene& scene, int A, int B, const Vec3& point) {
  const Mat3 axes = Mat3::Identity();
  scene.add_rows(A, point_rows(axes, scene.arm(A, point)), B, point_rows(axes, scene.arm(B, point)),
                 ConvexSet::free(3));
}

}  // namespace

StepProblem box_stack(const BoxStack& o) {
  require(o.levels >= 1, "levels", o.levels, "at least 1");
  require_size("levels", o.levels, 6000);
  require_friction(o.mu);
  require(std::isfinite(o.push), "push", o.push, "a finite number");
  require_positive("mass ratio", o.mass_ratio);
  RigidScene scene(o.step);
  for (int k = 0; k < o.levels; ++k) {
    const double mass = k == o.levels - 1 ? o.mass_ratio : 1;
    scene.add_body(mass, box_inertia(mass, Vec3::Ones()), Vec3(0, 0, 0.5 + k));
  }
  scene.push(o.levels - 1, o.push * o.mass_ratio * gravity * Vec3::UnitX());
  for (int k = 0; k < o.levels; ++k) {
    add_standing_contacts(scene, k, k - 1, Vec3(-0.5, -0.5, k), Vec3(0.5, 0.5, k), o.mu);
  }
  return scene.finish();
}

StepProblem box_wall(const BoxWall& o) {
  require(o.width >= 1, "width", o.width, "at least 1");
  require(o.height >= 1, "height", o.height, "at least 1");
  require_size("bricks", static_cast<double>(o.width) * o.height, 20000);
  require_friction(o.mu);
  require(std::isfinite(o.push), "push", o.push, "a finite number");
  require_positive("mass ratio", o.mass_ratio);
  constexpr double length = 0.2, depth = 0.1, rise = 0.1, brick_mass = 4;
  struct Brick {
    int body;
    double left, right;
  };
  RigidScene scene(o.step);
  std::vector<std::vector<Brick>> courses(o.height);
  for (int course = 0; course < o.height; ++course) {
    // Joints of odd courses stand half a brick further, so each brick rests on two.
    std::vector<double> joints{0};
    const double shift = course % 2 == 1 ? 0.5 : 1;
    for (int k = 0; k + shift < o.width; ++k) joints.push_back((k + shift) * length);
    joints.push_back(o.width * length);
    const double density = course == o.height - 1 ? o.mass_ratio : 1;
    for (std::size_t k = 0; k + 1 < joints.size(); ++k) {
      const double size = joints[k + 1] - joints[k];
      const double mass = density * brick_mass * size / length;
      const Vec3 centre((joints[k] + joints[k + 1]) / 2, 0, (course + 0.5) * rise);
      const int body = scene.add_body(mass, box_inertia(mass, Vec3(size, depth, rise)), centre);
      scene.push(body, o.push * mass * gravity * Vec3::UnitX());
      courses[course].push_back({body, joints[k], joints[k + 1]});
    }
  }
  for (int course = 0; course < o.height; ++course) {
    const double bottom = course * rise, top = (course + 1) * rise;
    for (std::size_t k = 0; k < courses[course].size(); ++k) {
      const Brick& brick = courses[course][k];
      if (course == 0) {
        add_standing_contacts(scene, brick.body, RigidScene::ground,
                              Vec3(brick.left, -depth / 2, 0), Vec3(brick.right, depth / 2, 0),
                              o.mu);
      } else {
        for (const Brick& below : courses[course - 1]) {
          const double left = std::max(brick.left, below.left);
          const double right = std::min(brick.right, below.right);
          if (right - left < 0.1 * length) continue;
          add_standing_contacts(scene, brick.body, below.body, Vec3(left, -depth / 2, bottom),
                                Vec3(right, depth / 2, bottom), o.mu);
        }
      }
      if (!o.head_joints || k == 0) continue;
      for (const double z : {bottom, top}) {
        for (const double y : {-depth / 2, depth / 2}) {
          scene.add_contact(brick.body, courses[course][k - 1].body, Vec3(brick.left, y, z),
                            Vec3::UnitX(), 0, o.mu);
        }
      }
    }
  }
  return scene.finish();
}

StepProblem chain(const Chain& o) {
  require(o.links >= 1, "links", o.links, "at least 1");
  require_size("links", o.links, 4000);
  require_positive("mass ratio", o.mass_ratio);
  RigidScene scene(o.step);
  for (int k = 0; k < o.links; ++k) {
    const double mass = k == o.links - 1 ? o.mass_ratio : 1;
    scene.add_body(mass, box_inertia(mass, Vec3(1, 0.1, 0.1)), Vec3(k + 0.5, 0, 0));
  }
  for (int k = 0; k < o.links; ++k) add_spherical_joint(scene, k, k - 1, Vec3(k, 0, 0));
  return scene.finish();
}

StepProblem sliding_mass(const SlidingMass& o) {
  require_positive("mass", o.mass);
  require_friction(o.mu);
  require(std::isfinite(o.velocity), "velocity", o.velocity, "a finite number");
  require(std::isfinite(o.gap), "gap", o.gap, "a finite number");
  require_positive("step", o.step);
  StepProblem problem;
  BlockMatrix H;
  H.push_back(o.mass * Mat3::Identity());
  problem.H = std::move(H);
  problem.J.columns = 3;
  problem.J.add_block(3);
  problem.J.add_entry(0, contact_frame(Vec3::UnitZ()).transpose());
  problem.K.push_back(ConvexSet::cone(o.mu));
  problem.E.resize(3, 3);
  problem.a = Vec3(o.mass * o.velocity, 0, -o.step * o.mass * gravity);
  problem.b = Vec3(o.gap / o.step, 0, 0);
  return problem;
}

StepProblem joint_contact_mix(const JointContactMix& o) {
  require(o.bodies >= 1, "bodies", o.bodies, "at least 1");
  require_size("bodies", o.bodies, 7000);
  require_friction(o.mu);
  require(o.brake >= 0 && std::isfinite(o.brake), "brake", o.brake, "a finite number ≥ 0");
  require(std::isfinite(o.velocity), "velocity", o.velocity, "a finite number");
  constexpr double side = 0.2, pitch = 0.25;
  RigidScene scene(o.step);
  for (int k = 0; k < o.bodies; ++k) {
    scene.add_body(1, box_inertia(1, Vec3::Constant(side)), Vec3(k * pitch, 0, side / 2),
                   o.velocity * Vec3::UnitX());
  }
  using Rows = Eigen::Matrix<double, 5, 6>;
  using Row = Eigen::Matrix<double, 1, 6>;
  for (int k = 0; k < o.bodies; ++k) {
    const Vec3 corner(side / 2, side / 2, 0), foot(k * pitch, 0, 0);
    add_standing_contacts(scene, k, RigidScene::ground, foot - corner, foot + corner, o.mu);
    if (k == 0) continue;
    const Vec3 hinge((k - 0.5) * pitch, 0, side / 2);
    const auto hinge_rows = [&](int body) {
      Rows rows = Rows::Zero();
      rows.topRows<3>() = point_rows(Mat3::Identity(), scene.arm(body, hinge));
      rows(3, 3) = 1;  // no relative rotation about x and z
      rows(4, 5) = 1;
      return rows;
    };
    scene.add_rows(k, hinge_rows(k), k - 1, hinge_rows(k - 1), ConvexSet::free(5));
    Row spin = Row::Zero();
    spin[4] = 1;
    scene.add_rows(k, spin, k - 1, spin, ConvexSet::box(-o.step * o.brake, o.step * o.brake));
  }
  Row stop = Row::Zero();
  stop[0] = -1;
  scene.add_rows(o.bodies - 1, stop, RigidScene::ground, stop, ConvexSet::nonnegative());
  return scene.finish();
}

StepProblem stiff_lattice(const StiffLattice& o) {
  for (const int n : {o.nx, o.ny, o.nz}) require(n >= 1, "nodes along an axis", n, "at least 1");
  require_size("nodes", static_cast<double>(o.nx) * o.ny * o.nz, 5000);
  require_positive("mass", o.mass);
  require(o.stiffness >= 0 && std::isfinite(o.stiffness), "stiffness", o.stiffness, "a number ≥ 0");
  require(o.damping >= 0 && std::isfinite(o.damping), "damping", o.damping, "a number ≥ 0");
  require_friction(o.mu);
  require(std::isfinite(o.velocity), "velocity", o.velocity, "a finite number");
  require_positive("step", o.step);
  const auto node = [&](int x, int y, int z) { return (z * o.ny + y) * o.nx + x; };
  const int n = 3 * o.nx * o.ny * o.nz;
  std::vector<Eigen::Triplet<double>> triplets;
  triplets.reserve(n);
  for (int i = 0; i < n; ++i) triplets.emplace_back(i, i, o.mass);
  const double weight = o.step * o.damping + o.step * o.step * o.stiffness;
  const auto add_spring = [&](int p, int q, const Vec3& direction) {
    for (int r = 0; r < 3; ++r) {
      for (int c = 0; c < 3; ++c) {
        const double k = weight * direction[r] * direction[c];
        if (k == 0) continue;
        triplets.emplace_back(3 * p + r, 3 * p + c, k);
        triplets.emplace_back(3 * q + r, 3 * q + c, k);
        triplets.emplace_back(3 * p + r, 3 * q + c, -k);
        triplets.emplace_back(3 * q + r, 3 * p + c, -k);
      }
    }
  };
  constexpr std::array<std::array<int, 3>, 9> neighbours{{{1, 0, 0},
                                                          {0, 1, 0},
                                                          {0, 0, 1},
                                                          {1, 1, 0},
                                                          {1, -1, 0},
                                                          {1, 0, 1},
                                                          {1, 0, -1},
                                                          {0, 1, 1},
                                                          {0, 1, -1}}};
  for (int z = 0; z < o.nz; ++z) {
    for (int y = 0; y < o.ny; ++y) {
      for (int x = 0; x < o.nx; ++x) {
        for (const auto& [dx, dy, dz] : neighbours) {
          const int X = x + dx, Y = y + dy, Z = z + dz;
          if (X >= o.nx || Y < 0 || Y >= o.ny || Z < 0 || Z >= o.nz) continue;
          const double length = std::sqrt(static_cast<double>(dx * dx + dy * dy + dz * dz));
          add_spring(node(x, y, z), node(X, Y, Z), Vec3(dx, dy, dz) / length);
        }
      }
    }
  }
  StepProblem problem;
  SparseMatrix H(n, n);
  H.setFromTriplets(triplets.begin(), triplets.end());
  problem.H = std::move(H);
  problem.a.resize(n);
  for (int i = 0; i < n; i += 3) {
    problem.a.segment<3>(i) = o.mass * Vec3(o.velocity, 0, -0.5 * o.velocity - o.step * gravity);
  }
  problem.J.columns = n;
  const Mat3 frame = contact_frame(Vec3::UnitZ()).transpose();
  for (int i = 0; i < o.nx * o.ny; ++i) {
    problem.J.add_block(3);
    problem.J.add_entry(3 * i, frame);
    problem.K.push_back(ConvexSet::cone(o.mu));
  }
  problem.b.setZero(problem.rows());
  problem.E.resize(problem.rows(), problem.rows());
  return problem;
}

StepProblem random_local(const RandomLocal& o) {
  require(o.contacts >= 1, "contacts", o.contacts, "at least 1");
  // Two dense matrices and what is made of them.
  require_size("contacts", o.contacts, 9 * 8 * 6 * static_cast<double>(o.contacts));
  require(o.rank_deficiency >= 0 && o.rank_deficiency < 1, "rank deficiency", o.rank_deficiency,
          "a number in [0, 1)");
  require_friction(o.mu);
  require(o.conditioning >= 1 && std::isfinite(o.conditioning), "conditioning", o.conditioning,
          "a finite number ≥ 1");
  Random random(o.seed);
  const int n = 3 * o.contacts;
  const int rank = std::max(1, static_cast<int>(std::ceil((1 - o.rank_deficiency) * n)));
  // Orthonormal columns by Gram–Schmidt, twice for accuracy. Plain loops: the sums of Eigen's
  // kernels depend on the vector width of the machine.
  std::vector<std::vector<double>> A(rank, std::vector<double>(n));
  const auto dot = [n](const std::vector<double>& x, const std::vector<double>& y) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i] * y[i];
    return sum;
  };
  for (int k = 0; k < rank; ++k) {
    for (double& value : A[k]) value = random.uniform(-1, 1);
    for (int pass = 0; pass < 2; ++pass) {
      for (int j = 0; j < k; ++j) {
        const double c = dot(A[j], A[k]);
        for (int i = 0; i < n; ++i) A[k][i] -= c * A[j][i];
      }
      const double size = std::sqrt(dot(A[k], A[k]));
      for (double& value : A[k]) value /= size;
    }
  }
  // Both ends of the spectrum are taken, so that the condition number is the one asked for.
  std::vector<double> eigenvalues(rank, 1.0);
  for (int k = 1; k < rank; ++k) {
    eigenvalues[k] = 1 / (k == rank - 1 ? o.conditioning : random.log_uniform(o.conditioning));
  }
  Matrix W(n, n);
  for (int c = 0; c < n; ++c) {
    for (int r = 0; r <= c; ++r) {
      double sum = 0;
      for (int k = 0; k < rank; ++k) sum += eigenvalues[k] * A[k][r] * A[k][c];
      W(r, c) = W(c, r) = sum;
    }
  }
  SetProduct K;
  std::vector<double> lambda(n), u(n);
  for (int i = 0; i < o.contacts; ++i) {
    K.push_back(ConvexSet::cone(o.mu));
    const double normal = random.uniform(0, 1);
    const int first = 3 * i;
    lambda[first] = normal;
    const double opening = random.uniform(0, 0.2);
    for (int k = 1; k < 3; ++k) {
      lambda[first + k] = random.uniform(-0.7, 0.7) * o.mu * normal;
      u[first + k] = random.uniform(-0.1, 0.1);
    }
    // Strictly inside the dual cone: u_N > μ‖u_T‖.
    u[first] = o.mu * (std::abs(u[first + 1]) + std::abs(u[first + 2])) + opening + 1e-3;
  }
  Vector q(n);
  for (int r = 0; r < n; ++r) {
    double sum = u[r];
    for (int c = 0; c < n; ++c) sum -= W(r, c) * lambda[c];
    q[r] = sum;
  }
  return local_problem(W.sparseView(0, 0), q, std::move(K));
}

StepProblem infeasible_gap(double mu) {
  require_friction(mu);
  StepProblem problem;
  BlockMatrix H;
  H.push_back(Mat3::Identity());
  problem.H = std::move(H);
  problem.J.columns = 3;
  for (const double sign : {1.0, -1.0}) {
    const Mat3 frame = contact_frame(sign * Vec3::UnitZ()).transpose();
    const int rows = mu > 0 ? 3 : 1;
    problem.J.add_block(rows);
    problem.J.add_entry(0, frame.topRows(rows));
    problem.K.push_back(mu > 0 ? ConvexSet::cone(mu) : ConvexSet::nonnegative());
  }
  problem.a.setZero(3);
  problem.b.setZero(problem.rows());
  problem.b[0] = problem.b[problem.rows() / 2] = -1;
  problem.E.resize(problem.rows(), problem.rows());
  return problem;
}

}  // namespace urto
