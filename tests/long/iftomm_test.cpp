// The IFToMM library of multibody benchmark problems (González, Dopico, Lugrís, Cuadrado 2006),
// group A, with the scenes of scenes/iftomm and an independent solution for each in tests/oracles.
// docs/benchmarks-iftomm.md has the numbers, the sources of the tolerances and the choices.
#include <cmath>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "oracles/andrews.h"
#include "oracles/bricard.h"
#include "oracles/governor.h"
#include "oracles/pendulum.h"
#include "oracles/runge_kutta.h"
#include "stepper/scenes.h"
#include "support/paths.h"
#include "urto/scene/scene.h"
#include "urto/stepper/simulation.h"

namespace urto {
namespace {

using testing::empty_model;
using testing::position;

Scene iftomm_scene(const std::string& name, const std::vector<std::string>& overrides = {}) {
  return load_scene(samples::scenes_dir() / "iftomm" / (name + ".json"), overrides);
}

int body_named(const Model& m, const std::string& name) {
  for (int i = 0; i < static_cast<int>(m.bodies.size()); ++i) {
    if (m.bodies[i].name == name) return i;
  }
  throw std::out_of_range(name);
}

int joint_named(const Model& m, const std::string& name) {
  for (int i = 0; i < static_cast<int>(m.joints.size()); ++i) {
    if (m.joints[i].name == name) return i;
  }
  throw std::out_of_range(name);
}

/// The error of the library's first edition: root mean square over times and quantities of |y −
/// ref| / max(|ref|, 1e-3). It allows 1e-1 at low precision and 1e-3 at high precision. Taken at
/// every accepted step instead of at 400 times.
struct LibraryError {
  double sum = 0, largest = 0;  ///< `largest`: the worst |y − ref|
  long count = 0;
  void add(double y, double reference) {
    const double e = std::abs(y - reference);
    largest = std::max(largest, e);
    sum += std::pow(e / std::max(std::abs(reference), 1e-3), 2);
    ++count;
  }
  double total() const { return std::sqrt(sum / static_cast<double>(count)); }
};
constexpr double high_precision = 1e-3;

struct Outcome {
  StartReport start;
  RunState state = RunState::ready;
  double energy_error = 0;  ///< worst |energy that came from nowhere| of all steps [J]
  double joint_error = 0;   ///< worst of all steps [m, rad]
  long steps = 0, missed = 0;
  double seconds = 0;  ///< of processor time
  double mean_step = 0;
};

/// Runs to the end; `look` is called after every accepted step.
Outcome run_through(const Model& model, const SimulationOptions& options,
                    const std::function<void(const Simulation&)>& look) {
  Simulation run(model, options);
  Outcome out;
  out.start = run.start();
  std::clock_t busy =
      0;  // of this process: other people's work does not count, nor does the oracle's
  const auto advance = [&] {
    const std::clock_t before = std::clock();
    const bool more = run.advance();
    busy += std::clock() - before;
    return more;
  };
  while (advance()) {
    out.energy_error = std::max(out.energy_error, std::abs(run.energy().numerical()));
    look(run);
  }
  out.seconds = static_cast<double>(busy) / CLOCKS_PER_SEC;
  out.state = run.run_state();
  out.joint_error = run.checkpoint().worst_joint_error;
  out.steps = run.checkpoint().steps;
  out.missed = run.checkpoint().missed;
  out.mean_step = options.duration / static_cast<double>(out.steps);
  return out;
}

void record(const std::string& what, const Outcome& o, const LibraryError& error) {
  ::testing::Test::RecordProperty(
      what,
      fmt::format("energy {:.2e} J, error {:.2e}, largest {:.2e}, joints {:.1e}, mean h {:.2e} s, "
                  "{} steps of {:.0f} us, "
                  "{:.1f} s, {} missed",
                  o.energy_error, error.total(), error.largest, o.joint_error, o.mean_step, o.steps,
                  1e6 * o.seconds / static_cast<double>(o.steps), o.seconds, o.missed));
}

// ---- A01

LibraryError pendulum_error(const Scene& scene, Outcome& outcome) {
  LibraryError error;
  outcome = run_through(scene.model, scene.options, [&](const Simulation& run) {
    const Vec3 x = position(scene.model, run.state(), 1);
    const double angle = oracle::pendulum_angle(run.state().t, M_PI / 2, 9.81, 1);
    error.add(x.x(), -std::sin(angle));
    error.add(x.y(), -std::cos(angle));
  });
  return error;
}

TEST(Iftomm, A01PendulumFollowsTheEllipticFunctions) {
  Outcome run;
  const LibraryError error = pendulum_error(iftomm_scene("a01-pendulum"), run);
  record("a01", run, error);
  EXPECT_EQ(run.state, RunState::finished);
  EXPECT_EQ(run.missed, 0);
  EXPECT_LT(run.energy_error, 5e-5);
  EXPECT_LT(error.total(), high_precision);
}

TEST(Iftomm, ThePendulumsTwoOraclesAgree) {
  using Vec2 = Eigen::Vector2d;
  const Vec2 y =
      oracle::runge_kutta([](double, const Vec2& s) { return Vec2(s[1], -9.81 * std::sin(s[0])); },
                          Vec2(M_PI / 2, 0), 0, 10, 1e-3);
  EXPECT_NEAR(y[0], oracle::pendulum_angle(10, M_PI / 2, 9.81, 1), 1e-9);
}

// ---- A02

/// N windows, built as scenes/iftomm/a02-four-bar.py writes them. With `hinges_only` the pins at
/// the bars' right ends are hinges, which hold the plane once more in every window.
Model four_bar_windows(int n, bool hinges_only = false) {
  Model m = empty_model({0, -9.81, 0});
  const Mat3 inertia = Vec3(1e-4, 1.0 / 12, 1.0 / 12).asDiagonal();
  std::vector<int> posts, bars;
  for (int i = 0; i <= n; ++i) {
    posts.push_back(
        testing::add_rigid(m, fmt::format("post-{}", i), {1.0 * i, 0.5, 0}, 1, inertia));
    Body& post = m.bodies[posts.back()];
    post.start.rotation = {std::sqrt(0.5), 0, 0, std::sqrt(0.5)};
    post.velocity = {0.5, 0, 0};
    post.angular_velocity = {0, 0, -1};
  }
  for (int i = 0; i < n; ++i) {
    bars.push_back(testing::add_rigid(m, fmt::format("bar-{}", i), {i + 0.5, 1, 0}, 1, inertia));
    m.bodies[bars.back()].velocity = {1, 0, 0};
  }
  for (int i = 0; i <= n; ++i)
    testing::join(m, fmt::format("A{}", i), JointKind::revolute, 0, posts[i], {1.0 * i, 0, 0});
  for (int i = 0; i < n; ++i) {
    testing::join(m, fmt::format("B{}", i), JointKind::revolute, posts[i], bars[i],
                  {1.0 * i, 1, 0});
    testing::join(m, fmt::format("C{}", i),
                  hinges_only ? JointKind::revolute : JointKind::point_on_line, posts[i + 1],
                  bars[i], {i + 1.0, 1, 0});
  }
  finalize(m);
  return m;
}

/// All posts stay parallel, so that the mechanism is a pendulum of N + 1 posts and N bars at their
/// ends. B0 against it.
LibraryError four_bar_error(const Model& m, int n, const SimulationOptions& options,
                            Outcome& outcome) {
  using Vec2 = Eigen::Vector2d;
  const double inertia = (n + 1) / 3.0 + n;
  const double moment = 9.81 * (0.5 * (n + 1) + n);
  Vec2 angle(0, 1);  // from upright, clockwise
  double t = 0;
  const int post = body_named(m, "post-0");
  LibraryError error;
  outcome = run_through(m, options, [&](const Simulation& run) {
    angle = oracle::runge_kutta(
        [&](double, const Vec2& s) { return Vec2(s[1], moment / inertia * std::sin(s[0])); }, angle,
        t, run.state().t, 1e-3);
    t = run.state().t;
    const Vec3 b0 = 2 * position(m, run.state(), post);  // A0 is the origin
    error.add(b0.x(), std::sin(angle[0]));
    error.add(b0.y(), std::cos(angle[0]));
  });
  // Half a turn a second: in 10 s ten passes through the singular position.
  EXPECT_GT(angle[0], options.duration * M_PI);
  return error;
}

constexpr double a02_energy = 0.1;  // [J]

TEST(Iftomm, A02TenWindowsPassTheirSingularPositions) {
  const Scene scene = iftomm_scene("a02-four-bar");
  Outcome run;
  const LibraryError error = four_bar_error(scene.model, 10, scene.options, run);
  record("a02_n10", run, error);
  EXPECT_EQ(run.start.mobility(), 1);
  EXPECT_TRUE(run.start.redundant.empty());
  EXPECT_EQ(run.state, RunState::finished);
  EXPECT_EQ(run.missed, 0);
  EXPECT_LT(run.energy_error, a02_energy);
  EXPECT_LT(error.total(), 1e-1);
}

TEST(Iftomm, A02TheSceneIsTheOneThatTheTestsBuild) {
  const Scene scene = iftomm_scene("a02-four-bar");
  const Model built = four_bar_windows(10);
  SimulationOptions options = scene.options;
  options.duration = 0.1;
  const auto end = [&](const Model& m) {
    Simulation run(m, options);
    testing::run_to_end(run);
    return Vector(run.state().q);
  };
  EXPECT_LT((end(scene.model) - end(built)).cwiseAbs().maxCoeff(), 1e-9);
}

TEST(Iftomm, A02TwoWindowsAtHighPrecision) {
  SimulationOptions options = iftomm_scene("a02-four-bar").options;
  options.error_tolerance = 1e-7;
  Outcome run;
  const LibraryError error = four_bar_error(four_bar_windows(2), 2, options, run);
  record("a02_n2", run, error);
  EXPECT_EQ(run.state, RunState::finished);
  EXPECT_EQ(run.start.mobility(), 1);
  EXPECT_EQ(run.missed, 0);
  EXPECT_LT(run.energy_error, a02_energy);
  EXPECT_LT(error.total(), high_precision);
}

// 485 rows in one island. Three seconds: two turns, four singular positions (ten seconds:
// docs/benchmarks-iftomm.md).
TEST(Iftomm, A02FortyWindows) {
  SimulationOptions options = iftomm_scene("a02-four-bar").options;
  options.duration = 3;
  Outcome run;
  const LibraryError error = four_bar_error(four_bar_windows(40), 40, options, run);
  record("a02_n40", run, error);
  EXPECT_EQ(run.state, RunState::finished);
  EXPECT_EQ(run.start.mobility(), 1);
  EXPECT_EQ(run.missed, 0);
  EXPECT_LT(run.energy_error, a02_energy);
  EXPECT_LT(error.total(), 1e-1);
}

TEST(Iftomm, A02HingesEverywhereAreRedundantAndMoveTheSame) {
  const Model m = four_bar_windows(2, true);
  SimulationOptions options = iftomm_scene("a02-four-bar").options;
  options.duration = 3;
  Outcome run;
  const LibraryError error = four_bar_error(m, 2, options, run);
  record("a02_n2_hinges", run, error);
  int redundant = 0;
  for (const RedundantRows& r : run.start.redundant) redundant += r.rows;
  EXPECT_EQ(run.start.mobility(), 1);
  EXPECT_EQ(redundant, 6);  // three a window
  EXPECT_EQ(run.state, RunState::finished);
  EXPECT_LT(run.energy_error, a02_energy);
  EXPECT_LT(error.total(), 1e-1);
}

// ---- A03

TEST(Iftomm, TheAndrewsOracleReachesTheReferenceOfTheIvpTestSet) {
  const oracle::Andrews andrews;
  EXPECT_LT(andrews.loop_error(oracle::Andrews::start()), 1e-15);
  // β'' at the start as the test set gives it.
  EXPECT_NEAR(andrews.rate(oracle::Andrews::start())[7], 14222.4439199541138705911625887, 1e-7);
  const auto end = andrews.advanced(oracle::Andrews::start(), 0, 0.03, 4e-6);
  EXPECT_LT((end.head<7>() - oracle::Andrews::ivp_reference()).cwiseAbs().maxCoeff(), 1e-8);
}

/// β, θ, γ, φ, δ, Ω, ε of the scene.
oracle::Andrews::Angles andrews_angles(const Model& m, const State& state) {
  oracle::Andrews::Angles q = oracle::Andrews::start().head<7>();
  const char* const joints[] = {"O", "F", "B", "G", "A5", "H", "A7"};
  for (int k = 0; k < 7; ++k) q[k] += coordinate_value(m, state, {joint_named(m, joints[k]), 0});
  return q;
}

TEST(Iftomm, A03AndrewsSqueezerMeetsTheIvpTestSet) {
  const Scene scene = iftomm_scene("a03-andrews", {"simulation.duration=0.03"});
  Simulation run(scene.model, scene.options);
  testing::run_to_end(run);
  ASSERT_EQ(run.run_state(), RunState::finished);
  const double error = (andrews_angles(scene.model, run.state()) - oracle::Andrews::ivp_reference())
                           .cwiseAbs()
                           .maxCoeff();
  RecordProperty("a03_at_30_ms", fmt::format("{:.2e} rad", error));
  EXPECT_LT(error, high_precision);
}

TEST(Iftomm, A03AndrewsSqueezerToItsEnd) {
  const Scene scene = iftomm_scene("a03-andrews");
  const oracle::Andrews andrews;
  auto y = oracle::Andrews::start();
  double t = 0;
  LibraryError error;
  double last = 0;
  const Outcome run = run_through(scene.model, scene.options, [&](const Simulation& r) {
    y = andrews.advanced(y, t, r.state().t, 4e-6);
    t = r.state().t;
    const auto q = andrews_angles(scene.model, r.state());
    for (int k = 0; k < 7; ++k) error.add(q[k], y[k]);
    last = (q - y.head<7>()).cwiseAbs().maxCoeff();
  });
  record("a03", run, error);
  RecordProperty("a03_at_50_ms", fmt::format("{:.2e} rad", last));
  EXPECT_EQ(run.start.mobility(), 1);
  EXPECT_TRUE(run.start.redundant.empty());
  EXPECT_EQ(run.state, RunState::finished);
  EXPECT_EQ(run.missed, 0);
  EXPECT_LT(error.total(), high_precision);
  EXPECT_LT(last, high_precision);
}

// ---- A04

LibraryError bricard_error(const Scene& scene, Outcome& outcome) {
  auto y = oracle::Bricard::start();
  double t = 0;
  const int rod = body_named(scene.model, "rod-3");
  LibraryError error;
  outcome = run_through(scene.model, scene.options, [&](const Simulation& run) {
    y = oracle::Bricard::advanced(y, t, run.state().t, 2e-3);
    t = run.state().t;
    const Vec3 reference = oracle::Bricard::place(y[0], y[1]).joint[3];
    const BodyPlace p = place(scene.model, run.state(), rod);
    const Vec3 end = p.x + p.A * Vec3(0, 0, 0.5);
    for (int k = 0; k < 3; ++k) error.add(end[k], reference[k]);
  });
  EXPECT_LT(oracle::Bricard::closure_error(y), 1e-8);
  return error;
}

TEST(Iftomm, A04BricardMovesThoughGrueblerCountsNoFreedom) {
  Outcome run;
  const LibraryError error = bricard_error(iftomm_scene("a04-bricard"), run);
  record("a04", run, error);
  EXPECT_EQ(run.start.dofs, 30);
  EXPECT_EQ(run.start.rows, 30);
  EXPECT_EQ(run.start.mobility(), 1);
  ASSERT_EQ(run.start.redundant.size(), 1U);
  EXPECT_EQ(run.start.redundant[0].rows, 1);
  EXPECT_EQ(run.start.redundant[0].on.size(), 5U);  // the whole ring
  EXPECT_EQ(run.state, RunState::finished);
  EXPECT_EQ(run.missed, 0);
  EXPECT_LT(run.energy_error, 1e-3);
  EXPECT_LT(error.total(), high_precision);
}

// ---- A05

LibraryError governor_error(const Scene& scene, Outcome& outcome) {
  const oracle::Governor governor;
  auto y = oracle::Governor::start();
  double t = 0;
  const int slider = body_named(scene.model, "slider");
  LibraryError error;
  outcome = run_through(scene.model, scene.options, [&](const Simulation& run) {
    y = governor.advanced(y, t, run.state().t, 4e-5);
    t = run.state().t;
    error.add(position(scene.model, run.state(), slider).z(), y[2]);
  });
  return error;
}

TEST(Iftomm, A05GovernorsSliderRisesAndFallsAsItShould) {
  Outcome run;
  const LibraryError error = governor_error(iftomm_scene("a05-governor"), run);
  record("a05", run, error);
  EXPECT_EQ(run.start.mobility(), 4);
  EXPECT_TRUE(run.start.redundant.empty());
  EXPECT_EQ(run.state, RunState::finished);
  EXPECT_EQ(run.missed, 0);
  EXPECT_LT(error.total(), high_precision);
}

// ---- The adaptive steps that the scenes use

/// Order in the mean step from the first to the last tolerance.
double measured_order(const std::function<double(double tolerance, Outcome&)>& error,
                      const std::vector<double>& tolerances, const std::string& name) {
  std::vector<double> e, h;
  std::string text;
  for (const double tolerance : tolerances) {
    Outcome run;
    e.push_back(error(tolerance, run));
    h.push_back(run.mean_step);
    text += fmt::format("h {:.2e} error {:.2e}; ", h.back(), e.back());
  }
  const double order = std::log(e.front() / e.back()) / std::log(h.front() / h.back());
  ::testing::Test::RecordProperty(name, text + fmt::format("order {:.2f}", order));
  return order;
}

Scene with_tolerance(const std::string& name, double tolerance, double duration,
                     bool extrapolate = true) {
  return iftomm_scene(name, {fmt::format("simulation.error_tolerance={}", tolerance),
                             fmt::format("simulation.duration={}", duration),
                             fmt::format("simulation.extrapolate={}", extrapolate)});
}

TEST(Iftomm, ExtrapolatedStepsAreOfSecondOrder) {
  const std::vector<double> tolerances{1e-5, 1e-6, 1e-7};
  // A point mass: forces do not depend on velocity.
  EXPECT_GT(measured_order(
                [](double tolerance, Outcome& run) {
                  return pendulum_error(with_tolerance("a01-pendulum", tolerance, 1), run).largest;
                },
                tolerances, "order_a01"),
            1.8);
  // Bodies that turn in space: gyroscopic forces, and a redundant row.
  EXPECT_GT(measured_order(
                [](double tolerance, Outcome& run) {
                  return bricard_error(with_tolerance("a04-bricard", tolerance, 1), run).largest;
                },
                tolerances, "order_a04"),
            1.8);
  // Stiff dampers: h times their rate goes from 40 to 1 here, and as with every method of its kind
  // the order is lower on the way.
  double finest = 1;
  EXPECT_GT(
      measured_order(
          [&](double tolerance, Outcome& run) {
            return finest =
                       governor_error(with_tolerance("a05-governor", tolerance, 1), run).largest;
          },
          tolerances, "order_a05"),
      1.2);
  EXPECT_LT(finest, 1e-6);
}

TEST(Iftomm, StepsWithoutExtrapolationAreOfFirstOrder) {
  const double order = measured_order(
      [](double tolerance, Outcome& run) {
        return pendulum_error(with_tolerance("a01-pendulum", tolerance, 1, false), run).largest;
      },
      {1e-4, 1e-5, 1e-6}, "order_a01_plain");
  EXPECT_NEAR(order, 1, 0.2);
}

}  // namespace
}  // namespace urto
