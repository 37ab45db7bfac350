// The pendulum of recipe 000, T2, in redundant coordinates, against its table and closed form.
#include <cmath>

#include <gtest/gtest.h>

#include "stepper/smooth_runs.h"
#include "urto/mechanics/textbook.h"

namespace urto {
namespace {

using testing::order;
using testing::run_smooth;
using testing::smooth_options;
using testing::SmoothRun;

struct Pendulum {
  PointSystem system;
  State start;
  Pendulum() { make_point_chain(1, 1, 1, Vec3::UnitX(), system, start); }
};

const Vec3 end_place(-0.986291751, -0.165010853, 0);
constexpr double end_multiplier = -4.856269;

double error_of(const SmoothRun& run) {
  return (Vec3(run.state.q) - end_place).norm();
}

TEST(SmoothPendulum, ErrorsAreThoseOfTheTable) {
  struct Row {
    const char* name;
    double parameter;
    std::array<double, 4> errors;
  };
  const std::vector<Row> table{
      {"implicit-euler", 0, {2.67e-1, 1.48e-1, 7.81e-2, 4.02e-2}},
      {"linear-implicit-euler", 0, {1.41e-2, 8.04e-3, 4.26e-3, 2.19e-3}},
      {"trapezoidal", 0, {2.347e-3, 5.859e-4, 1.464e-4, 3.660e-5}},
      {"linear-trapezoidal", 0, {1.55e-1, 8.21e-2, 4.23e-2, 2.15e-2}},
      {"newmark", 0, {2.347e-3, 5.859e-4, 1.464e-4, 3.660e-5}},
      {"hht", 0, {2.347e-3, 5.859e-4, 1.464e-4, 3.660e-5}},
      {"hht", -0.1, {3.054e-3, 7.491e-4, 1.855e-4, 4.615e-5}},
      {"hht", -0.2, {3.505e-3, 8.538e-4, 2.107e-4, 5.232e-5}},
      {"hht", -0.3, {3.706e-3, 9.010e-4, 2.221e-4, 5.512e-5}},
      {"generalised-alpha", 1, {2.347e-3, 5.859e-4, 1.464e-4, 3.660e-5}},
      {"generalised-alpha", 0.8, {2.485e-3, 6.194e-4, 1.547e-4, 3.865e-5}},
      {"generalised-alpha", 0.5, {3.720e-3, 9.041e-4, 2.228e-4, 5.530e-5}},
      {"generalised-alpha", 0, {1.756e-2, 3.872e-3, 8.894e-4, 2.120e-4}},
  };
  for (const Row& row : table) {
    SimulationOptions o = smooth_options(row.name);
    o.stepper.hht_alpha = row.parameter;
    o.stepper.spectral_radius = row.parameter;
    for (int k = 0; k < 4; ++k) {
      Pendulum p;
      const SmoothRun run = run_smooth(p.system, p.start, o, 1, 50 << k);
      // Three or four digits are printed.
      EXPECT_NEAR(error_of(run), row.errors[k], 4e-3 * row.errors[k] + 2e-8)
          << row.name << ' ' << row.parameter << ' ' << k;
      EXPECT_EQ(run.cuts, 0);
    }
  }
}

TEST(SmoothPendulum, AnInconsistentStartCostsAnOrder) {
  const std::array<double, 4> errors{2.13e-2, 9.82e-3, 4.70e-3, 2.30e-3};
  for (int k = 0; k < 4; ++k) {
    Pendulum p;
    const int steps = 50 << k;
    const auto stepper = make_stepper(p.system, smooth_options("generalised-alpha"));
    SmoothRun run{.state = p.start, .lambda = {}};
    StepMemory memory;
    memory.h = 1.0 / steps;
    memory.arrays.at("acceleration") = memory.arrays.at("true_acceleration") = {0, 0, 0};
    memory.lambda = {0};
    StepReport report;
    for (int i = 0; i < steps; ++i) stepper->step(run.state, 1.0 / steps, memory, report);
    EXPECT_NEAR(error_of(run), errors[k], 4e-3 * errors[k]);
  }
}

std::vector<double> multipliers(const SimulationOptions& o, int steps) {
  Pendulum p;
  std::vector<double> out;
  run_smooth(p.system, p.start, o, 1, steps,
             [&](const State&, const Vector& lambda) { out.push_back(lambda[0]); });
  return out;
}

/// The part of the error of λ that changes sign from step to step, at the end.
double ripple(const std::vector<double>& l) {
  static const std::vector<double> reference = multipliers(smooth_options("munthe-kaas"), 400);
  const auto error = [&](int back) { return l[l.size() - 1 - back] - reference[399 - 8 * back]; };
  return std::abs(error(0) - 2 * error(1) + error(2)) / 4;
}

TEST(SmoothPendulum, TrapezoidalReactionsOscillateAndDampedOnesDoNot) {
  const std::vector<double> trapezoidal = multipliers(smooth_options("trapezoidal"), 50);
  const std::vector<double> hht = multipliers(smooth_options("hht"), 50);
  const std::array<double, 4> rough{-8.362, -7.370, -5.840, -5.084};
  const std::array<double, 4> even{-8.526, -7.227, -6.023, -4.918};
  for (int k = 0; k < 4; ++k) {
    EXPECT_NEAR(trapezoidal[46 + k], rough[k], 6e-4);
    EXPECT_NEAR(hht[46 + k], even[k], 6e-4);
  }
  // With ρ∞ = 1 and a consistent start generalised-α is the trapezoidal rule (recipe 000, E43).
  SimulationOptions o = smooth_options("generalised-alpha");
  o.stepper.spectral_radius = 1;
  EXPECT_NEAR(multipliers(o, 50).back(), trapezoidal.back(), 1e-7);
  EXPECT_GT(ripple(trapezoidal), 0.1);
  for (const double rho : {0.9, 0.8, 0.5, 0.0}) {
    o.stepper.spectral_radius = rho;
    EXPECT_LT(ripple(multipliers(o, 50)), 0.01) << rho;
  }
  o = smooth_options("trapezoidal");
  o.stepper.velocity_constraints = true;
  EXPECT_LT(ripple(multipliers(o, 50)), 0.01);
}

TEST(SmoothPendulum, MultipliersOfAllSteppersTendToTheSame) {
  for (const StepperInfo& info : steppers()) {
    if (info.contacts || info.name == "trapezoidal" || info.name == "newmark") continue;
    const auto error = [&](int steps) {
      return std::abs(multipliers(smooth_options(std::string(info.name)), steps).back() -
                      end_multiplier);
    };
    EXPECT_LT(error(4000), 0.05) << info.name;
    if (info.order == 1) {
      EXPECT_NEAR(order(error(4000), error(8000)), 1, 0.1) << info.name;
    } else {
      EXPECT_LT(error(4000), 2e-5) << info.name;
    }
  }
}

// Counts of recipe 000 §§2.10, 2.14 at h = 0.02: a full Newton iteration is quadratic, and leaving
// the geometric term out costs iterations, not accuracy.
TEST(SmoothPendulum, NewtonNeedsThreeOrFourIterations) {
  const auto count = [](const char* name, double alpha, bool geometric) {
    Pendulum p;
    SimulationOptions o = smooth_options(name);
    o.stepper.hht_alpha = alpha;
    o.stepper.reuse_factor = false;
    o.stepper.geometric_stiffness = geometric;
    const SmoothRun run = run_smooth(p.system, p.start, o, 1, 50);
    return static_cast<double>(run.iterations) / static_cast<double>(run.steps);
  };
  for (const auto& [name, alpha] :
       {std::pair{"implicit-euler", 0.0}, {"trapezoidal", 0.0}, {"hht", -0.2}, {"hht", -0.3}}) {
    const double with = count(name, alpha, true);
    const double without = count(name, alpha, false);
    RecordProperty(std::string(name) + std::to_string(alpha),
                   std::to_string(with) + " " + std::to_string(without));
    EXPECT_LE(with, 4.0) << name;
    EXPECT_GT(without, with + 0.5) << name;
  }
}

// One matrix a step: more iterations, fewer factorisations, the same motion.
TEST(SmoothPendulum, ModifiedNewtonFactorisesLessOften) {
  Pendulum p;
  SimulationOptions o = smooth_options("hht");
  const SmoothRun kept = run_smooth(p.system, p.start, o, 1, 200);
  o.stepper.reuse_factor = false;
  const SmoothRun full = run_smooth(p.system, p.start, o, 1, 200);
  EXPECT_EQ(kept.factorizations, 200);
  EXPECT_GE(full.factorizations, 2 * kept.factorizations);
  EXPECT_LT(SystemAccess(p.system).difference(kept.state.q, full.state.q).norm(), 1e-11);
}

TEST(SmoothPendulum, HeldVelocitiesStayOnTheRod) {
  for (const bool held : {false, true}) {
    Pendulum p;
    SimulationOptions o = smooth_options("hht");
    o.stepper.velocity_constraints = held;
    double worst = 0;
    const SmoothRun run = run_smooth(
        p.system, p.start, o, 1, 100,
        [&](const State& s, const Vector&) { worst = std::max(worst, std::abs(s.q.dot(s.v))); });
    EXPECT_LT(run.joint_error, 1e-13);
    if (held) {
      EXPECT_LT(worst, 1e-11);
    } else {
      EXPECT_GT(worst, 1e-6);
    }
  }
}

TEST(SmoothPendulum, ExplicitSteppersKeepTheRodByProjectionOrBaumgarte) {
  Pendulum p;
  SimulationOptions o = smooth_options("heun");
  const auto error = [&](int seconds) {
    return run_smooth(p.system, p.start, o, seconds, 100 * seconds).joint_error;
  };
  EXPECT_GT(error(50), 4 * error(5));  // drifts on and on
  o.stepper.baumgarte = 20;
  EXPECT_LT(error(50), 1.1 * error(5));
  o.stepper.baumgarte = 0;
  o.stepper.project_joints = true;
  EXPECT_LT(error(5), 1e-12);
}

// A mass matrix that depends on the configuration: cart and bob in minimal coordinates against the
// same two in redundant ones.
TEST(SmoothPendulum, CartInMinimalAndRedundantCoordinatesMovesTheSame) {
  CartPendulum minimal;
  minimal.cart = 2;
  State start;
  start.q = Eigen::Vector2d(0, 1.2);
  start.v = Vector::Zero(2);
  PointSystem redundant;
  redundant.add_point(2);
  redundant.add_point(1);
  redundant.rods.push_back({.a = {.point = 0}, .b = {.point = 1}});
  redundant.guides.push_back({.point = 0});
  State points;
  points.q.setZero(6);
  points.q.tail<3>() = Vec3(std::sin(1.2), -std::cos(1.2), 0);
  points.v.setZero(6);
  std::array<double, 2> apart{};
  for (int k = 0; k < 2; ++k) {
    const SimulationOptions o = smooth_options("generalised-alpha");
    const SmoothRun a = run_smooth(minimal, start, o, 2, 400 << k);
    const SmoothRun b = run_smooth(redundant, points, o, 2, 400 << k);
    apart[k] = std::abs(a.state.q[0] - b.state.q[0]);
  }
  EXPECT_LT(apart[1], 1e-3);
  EXPECT_NEAR(order(apart[0], apart[1]), 2, 0.1);
}

}  // namespace
}  // namespace urto
