// Three-point bending of an elastic lattice by a rigid punch (recipe 001 §3.4, with a lattice for the finite elements): stiffness in H and hard contact with exact friction in one
// problem, and how much larger its steps may be than those of contact by penalty on the same scene.
#include <cmath>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "urto/io/scene.h"
#include "urto/stepper/simulation.h"

namespace urto {
namespace {

constexpr double frame = 0.1;  // [s]; the punch stops at 0.105 s, the plate is at rest at 0.4 s
constexpr int frames = 4;
constexpr double tolerance = 2.5e-3;  // [m], 2.5 % of the way of the punch

/// Positions of all masses at the frames; empty from where a run has failed.
struct Motion {
  std::vector<Vector> at;
  long missed = 0;
  double worst_residual = 0;
  bool coupled = false;  ///< H has blocks between bodies
};

Scene bending(int nx, int ny, int nz) {
  const std::vector<std::string> size{fmt::format("parameters.nx={}", nx),
                                      fmt::format("parameters.ny={}", ny),
                                      fmt::format("parameters.nz={}", nz), "watch=[]"};
  return load_scene(URTO_SCENES_DIR "/bending.json", size);
}

Motion run(const Scene& scene, int steps_a_frame, bool penalty) {
  SimulationOptions options = scene.options;
  options.step = frame / steps_a_frame;
  options.duration = frame * frames;
  if (penalty) {
    options.stepper.name = "linear-implicit-euler";  // the same scheme without contacts
    options.stepper.penalty_contact = true;
  }
  Simulation simulation(scene.model, options);
  simulation.start();
  Motion motion;
  for (int step = 1; simulation.advance(); ++step) {
    if (!simulation.state().q.allFinite()) break;
    if (step % steps_a_frame != 0) continue;
    const Vector& q = simulation.state().q;
    Vector places(3 * (q.size() / 7));
    for (Eigen::Index k = 0; k < q.size() / 7; ++k) places.segment<3>(3 * k) = q.segment<3>(7 * k);
    motion.at.push_back(places);
  }
  motion.missed = simulation.checkpoint().missed;
  motion.worst_residual = simulation.checkpoint().worst_residual;
  if (!penalty) motion.coupled = !simulation.problem().coupling.empty();
  return motion;
}

/// Root mean square over the masses of the distance, at the worst frame [m].
double distance(const Motion& a, const Motion& b) {
  double worst = 0;
  for (int k = 0; k < frames; ++k) {
    if (k >= static_cast<int>(a.at.size()) || k >= static_cast<int>(b.at.size()))
      return std::numeric_limits<double>::infinity();
    const double masses = static_cast<double>(a.at[k].size()) / 3;
    worst = std::max(worst, (a.at[k] - b.at[k]).norm() / std::sqrt(masses));
  }
  return worst;
}

/// The fewest steps a frame with which the motion stays within the tolerance of the reference.
int fewest_steps(const Scene& scene, const Motion& reference, bool penalty, int most) {
  int bad = 0;
  int good = most;
  EXPECT_LT(distance(run(scene, good, penalty), reference), tolerance);
  while (good - bad > 1) {
    const int middle = (bad + good) / 2;
    (distance(run(scene, middle, penalty), reference) < tolerance ? good : bad) = middle;
  }
  return good;
}

#ifdef NDEBUG
constexpr int wide = 10;
constexpr int strip = 2, strip_length = 20;
#else
constexpr int wide = 2;
constexpr int strip = 1, strip_length = 20;
#endif

// The whole plate, 20 × 10 × 3 masses, 3600 unknowns: eight steps of 0.05 s, each certified with exact friction, follow sixteen of 0.025 s.
TEST(Bending, StiffLatticeWithHardFrictionIsStableAtLargeSteps) {
  const Scene scene = bending(20, wide, 3);
  const Motion large = run(scene, 2, false);
  ASSERT_EQ(large.at.size(), static_cast<std::size_t>(frames));
  EXPECT_TRUE(large.coupled);
  EXPECT_EQ(large.missed, 0);
  EXPECT_LE(large.worst_residual, 1e-8);
  const Motion half = run(scene, 4, false);
  EXPECT_EQ(half.missed, 0);
  EXPECT_LT(distance(large, half), tolerance);
}

// Each variant against its own motion at a small step.
TEST(Bending, HardContactAllowsTenTimesTheStepOfPenaltyContact) {
  const Scene scene = bending(strip_length, strip, 3);
  const Motion hard = run(scene, 80, false);
  const Motion soft = run(scene, 320, true);
  ASSERT_LT(distance(hard, soft), 1e-3) << "two models of the same experiment";
  const int hard_steps = fewest_steps(scene, hard, false, 8);
  const int soft_steps = fewest_steps(scene, soft, true, 160);
  RecordProperty("hard", hard_steps);
  RecordProperty("penalty", soft_steps);
  EXPECT_LE(hard_steps, 2) << "h ≥ 0.05 s";
  EXPECT_GE(soft_steps, 10 * hard_steps) << frame / hard_steps << " " << frame / soft_steps;
}

}  // namespace
}  // namespace urto
