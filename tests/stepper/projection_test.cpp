// Projections onto joints that are redundant on them, but not beside them.
#include "urto/stepper/projection.h"

#include <cmath>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "stepper/scenes.h"
#include "urto/mechanics/rigid_system.h"

namespace urto {
namespace {

using namespace urto::testing;

/// A closed ring of hinges at `points` with `axes`, the last rod being the ground.
Model ring(const std::vector<Vec3>& points, const std::vector<Vec3>& axes) {
  Model m = empty_model(Vec3::Zero());
  const int rods = static_cast<int>(points.size()) - 1;
  for (int k = 0; k < rods; ++k) {
    add_rigid(m, "rod-" + std::to_string(k), 0.5 * (points[k] + points[k + 1]), 1 + 0.3 * k,
              Vec3(.08, .05, .06).asDiagonal());
  }
  for (int k = 0; k <= rods; ++k) {
    join(m, "hinge-" + std::to_string(k), JointKind::revolute, k, k == rods ? 0 : k + 1, points[k],
         axes[k]);
  }
  finalize(m);
  return m;
}

/// Six hinges along the edges of a cube: 30 rows for 30 velocities, of rank 29 (Bricard).
Model bricard() {
  return ring(
      {{0, 0, 0}, {1, 0, 0}, {1, -1, 0}, {1, -1, 1}, {0, -1, 1}, {0, 0, 1}},
      {Vec3::UnitY(), Vec3::UnitZ(), Vec3::UnitX(), Vec3::UnitY(), Vec3::UnitZ(), Vec3::UnitX()});
}

/// A plane four-bar of hinges: 20 rows for 18 velocities, of rank 17.
Model four_bar() {
  return ring({{0, 0, 0}, {0, 1, 0}, {1.2, 1.3, 0}, {1, 0, 0}},
              std::vector<Vec3>(4, Vec3::UnitZ()));
}

Vector normal_vector(std::mt19937& engine, Eigen::Index size) {
  std::normal_distribution<double> normal;
  Vector v(size);
  for (double& x : v) x = normal(engine);
  return v;
}

/// How far the projection of a state beside the joints by `distance` goes along the motion that
/// they leave free, for the same distance: nothing, were it the nearest point in the mass metric
/// and the joints straight.
double slide(const Model& m, double distance, unsigned seed) {
  const RigidSystem rigid(m);
  SystemAccess system(rigid);
  JointProjection projection(rigid);
  std::mt19937 engine(seed);
  State on = initial_state(m);
  on.v = normal_vector(engine, system.nv());
  projection.project_velocities(on);
  State beside = on;
  system.add_increment(on.q, distance * normal_vector(engine, system.nv()).normalized(), beside.q);
  State back = beside;
  EXPECT_LE(projection.project_positions(back, 1e-12, 6), 1e-12);
  BlockMatrix M;
  system.mass(on, M);
  Vector momentum;
  multiply(M, on.v, momentum);
  return std::abs(momentum.dot(system.difference(back.q, beside.q))) /
         (std::sqrt(momentum.dot(on.v)) * distance);
}

TEST(Projection, OfRedundantJointsDoesNotSlideAlongThem) {
  for (const Model& m : {bricard(), four_bar()}) {
    for (unsigned seed = 1; seed <= 20; ++seed) {
      // Relative to the distance ε, curvature makes it O(ε): 0.18 ε at most. A Newton step makes it
      // a number that does not get smaller with ε.
      for (const double distance : {1e-2, 1e-3, 1e-4, 1e-5, 1e-6})
        EXPECT_LT(slide(m, distance, seed), distance) << seed << ", " << distance;
    }
  }
}

// Rods along a line, every joint open by the same gap: to close one, the whole chain behind it must
// follow, so that the soft modes of n links have 1/n² of a joint's own inverse inertia. Damping
// that gave way to nothing would need thousands of rounds.
TEST(Projection, OfALongChainConvergesInAFewRounds) {
  const Model m = rod_chain(1000);
  const RigidSystem rigid(m);
  JointProjection projection(rigid);
  State s = initial_state(m);
  for (int k = 0; k < 1000; ++k) s.q[7 * k] += 1e-3 * (k + 1);
  EXPECT_LE(projection.project_positions(s, 1e-10, 8), 1e-10);
  for (int k = 0; k < 1000; ++k) EXPECT_NEAR(s.q[7 * k], k + 0.5, 1e-6) << k;
}

}  // namespace
}  // namespace urto
