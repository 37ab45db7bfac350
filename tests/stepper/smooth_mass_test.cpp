// Mass matrices that depend on the configuration, and linear systems on which Newton's method is
// exact: what the implicit steppers make of M, D and K.
#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "stepper/smooth_runs.h"
#include "urto/mechanics/textbook.h"

namespace urto {
namespace {

using testing::order;
using testing::run_smooth;
using testing::smooth_options;
using testing::SmoothRun;

/// Cart of 2 kg, bob of 1 kg on 1 m, let go far from the hanging position: θ turns by radians, and
/// with it the mass that couples the two.
struct Cart {
  CartPendulum system;
  State start;
  Cart() {
    system.cart = 2;
    start.q = Eigen::Vector2d(0, 2.1);
    start.v = Eigen::Vector2d(0.3, 1.5);
  }
};

TEST(SmoothMass, TheInertialTermIsTheDerivativeOfMa) {
  Cart c;
  SystemAccess access(c.system);
  const Vector a = Eigen::Vector2d(0.7, -1.3);
  BlockMatrix K;
  K.start_assembly(c.system.layout().v_start, BlockMatrix::Symmetry::general);
  access.add_inertial_stiffness(c.start, a, 2.5, K);
  K.finish_assembly();
  const auto inertia = [&](const State& s) {
    BlockMatrix M;
    access.mass(s, M);
    Vector out(2);
    multiply(M, a, out);
    return out;
  };
  constexpr double eps = 1e-6;
  for (int k = 0; k < 2; ++k) {
    State plus = c.start, minus = c.start;
    plus.q[k] += eps;
    minus.q[k] -= eps;
    const Vector slope = 2.5 * (inertia(plus) - inertia(minus)) / (2 * eps);
    EXPECT_LT((K.block(0).col(k) - slope).norm(), 1e-8) << k;
  }
  EXPECT_GT(K.block(0).norm(), 1);
}

/// ‖q − q*‖ + ‖v − v*‖ after a second.
double error_of(const System& system, const SmoothRun& run, const SmoothRun& reference) {
  return SystemAccess(system).difference(run.state.q, reference.state.q).norm() +
         (run.state.v - reference.state.v).norm();
}

// Recipe 000, checklist 48 and (136): M̂ = ½(M + M⁺), or the mass at the end of the step. Both have
// the order of the scheme, and they are not the same.
TEST(SmoothMass, BothMassesKeepTheOrdersOfTheSchemes) {
  Cart c;
  const SmoothRun exact = run_smooth(c.system, c.start, smooth_options("munthe-kaas"), 1, 4000);
  for (const auto& [name, expected] :
       {std::pair{"implicit-euler", 1}, {"trapezoidal", 2}, {"newmark", 2}}) {
    std::array<double, 2> finest{};
    for (const bool mean : {false, true}) {
      SimulationOptions o = smooth_options(name);
      o.stepper.mean_mass = mean;
      std::array<double, 3> error{};
      for (int k = 0; k < 3; ++k) {
        const SmoothRun run = run_smooth(c.system, c.start, o, 1, 200 << k);
        EXPECT_EQ(run.cuts, 0);
        error[k] = error_of(c.system, run, exact);
      }
      const std::string note =
          fmt::format("{} {}: {:.3e} {:.3e} {:.3e}", name, mean, error[0], error[1], error[2]);
      RecordProperty(fmt::format("{}_{}", name, mean ? "mean" : "end"), note);
      EXPECT_NEAR(order(error[0], error[1]), expected, 0.15) << note;
      EXPECT_NEAR(order(error[1], error[2]), expected, 0.1) << note;
      finest[mean ? 1 : 0] = error[2];
    }
    EXPECT_GT(std::abs(finest[0] - finest[1]), 0.01 * finest[0]) << name;
  }
}

// The equation of the source itself, with the numbers that come out of a step:
// M̂ (v⁺ − v) = h[(1 − θ) f + θ f⁺].
TEST(SmoothMass, TheMeanOfBothMassesTakesTheImpulse) {
  for (const auto& [name, theta] :
       {std::pair{"implicit-euler", 1.0}, {"trapezoidal", 0.5}, {"newmark", 0.6}}) {
    for (const bool mean : {false, true}) {
      Cart c;
      SystemAccess access(c.system);
      SimulationOptions o = smooth_options(name);
      o.stepper.newmark_gamma = theta;
      o.stepper.newmark_beta = 0.3025;
      o.stepper.mean_mass = mean;
      const std::unique_ptr<Stepper> stepper = make_stepper(c.system, o);
      constexpr double h = 0.05;
      State before = c.start;
      StepMemory memory;
      StepReport report;
      double worst = 0;
      for (int k = 0; k < 5; ++k) {
        State after = before;
        ASSERT_FALSE(stepper->step(after, h, memory, report).failed());
        EXPECT_TRUE(report.meets_tolerance) << name << ' ' << report.certificate.residual();
        BlockMatrix M, M_after;
        Vector f, f_after, left = Vector::Zero(2);
        access.mass(before, M);
        access.mass(after, M_after);
        access.force(before, f);
        access.force(after, f_after);
        const Vector change = after.v - before.v;
        multiply_add(M, change, left);
        multiply_add(M_after, change, left);
        worst = std::max(worst, (0.5 * left - h * ((1 - theta) * f + theta * f_after)).norm());
        before = after;
      }
      if (mean) {
        EXPECT_LT(worst, 1e-9) << name;
      } else {
        EXPECT_GT(worst, 1e-4) << name;
      }
    }
  }
}

// (M a)_q in Newton's matrix (recipe 000, checklist 49): with it the iteration is quadratic. There
// are no joints here, so it is all that the option switches.
TEST(SmoothMass, NewtonNeedsFewerIterationsWithTheInertialTerm) {
  for (const auto& [name, mean] : {std::pair{"implicit-euler", false},
                                   {"implicit-euler", true},
                                   {"trapezoidal", false},
                                   {"trapezoidal", true},
                                   {"hht", false},
                                   {"generalised-alpha", false}}) {
    const auto count = [&, name = name, mean = mean](bool geometric) {
      Cart c;
      SimulationOptions o = smooth_options(name);
      o.stepper.mean_mass = mean;
      o.stepper.reuse_factor = false;
      o.stepper.geometric_stiffness = geometric;
      const SmoothRun run = run_smooth(c.system, c.start, o, 2, 40);
      return std::pair{static_cast<double>(run.iterations) / static_cast<double>(run.steps),
                       run.state};
    };
    const auto [with, state] = count(true);
    const auto [without, same] = count(false);
    RecordProperty(fmt::format("{}{}", name, mean ? "_mean" : ""),
                   fmt::format("{:.2f} {:.2f}", with, without));
    EXPECT_LE(with, 4.2) << name << mean;
    EXPECT_GT(without, with + 0.7) << name << mean;
    EXPECT_LT((state.v - same.v).norm(), 1e-7) << name << mean;
  }
}

/// Implicit schemes, with parameters that are nobody's default.
std::vector<SimulationOptions> schemes() {
  std::vector<SimulationOptions> all;
  for (const char* name :
       {"implicit-euler", "trapezoidal", "newmark", "newmark", "hht", "generalised-alpha"})
    all.push_back(smooth_options(name));
  all[2].stepper.newmark_gamma = 0.7;
  all[2].stepper.newmark_beta = 0.4;
  all[3].stepper.newmark_beta = 1.0 / 6;
  all[4].stepper.hht_alpha = -0.23;
  all[5].stepper.spectral_radius = 0.37;
  return all;
}

struct LinearSample {
  std::string name;
  std::unique_ptr<System> system;
  State start;
};

/// M, D and K of their own, one with a joint.
std::vector<LinearSample> linear_samples() {
  std::mt19937 random(17);
  std::uniform_real_distribution<double> uniform(-1, 1);
  const auto matrix = [&](int n) {
    return Matrix(Matrix::NullaryExpr(n, n, [&] { return uniform(random); }));
  };
  std::vector<LinearSample> out;
  constexpr int n = 5;
  const Matrix A = matrix(n), B = matrix(n), C = matrix(n);
  const Matrix M = A * A.transpose() + Matrix::Identity(n, n);
  const Matrix K = 50 * (B * B.transpose() + Matrix::Identity(n, n));
  State start;
  start.q = Vector::NullaryExpr(n, [&] { return uniform(random); });
  start.v = Vector::NullaryExpr(n, [&] { return 5 * uniform(random); });
  out.push_back({"matrices",
                 std::make_unique<LinearSystem>(M, Matrix(2 * C * C.transpose()), K,
                                                Vector::Ones(n)),
                 start});
  auto chain = std::make_unique<NodeChain>();
  chain->stiffness = 80;
  chain->damping = 3;
  chain->held = true;
  for (const int size : {1, 2, 3}) chain->add_flat_node(size);
  State stretched = chain->start(0.2);
  stretched.v[5] = 1.5;
  out.push_back({"held chain", std::move(chain), stretched});
  return out;
}

// H = c_M M + c_v ∇_v f + c_q ∇_q f (recipe 000, checklist 54): where M, D and K are constant, one
// correction of Newton's is the whole step. A coefficient that is wrong by a percent needs several.
TEST(SmoothMass, OneNewtonIterationIsExactOnLinearSystems) {
  for (const LinearSample& sample : linear_samples()) {
    for (SimulationOptions o : schemes()) {
      o.stepper.reuse_factor = false;
      o.stepper.newton_tolerance = 1e-12;
      const SmoothRun solved = run_smooth(*sample.system, sample.start, o, 0.1, 20);
      // The first correction, however large, ends the iteration.
      o.stepper.newton_tolerance = 1 - 1e-12;
      const SmoothRun once = run_smooth(*sample.system, sample.start, o, 0.1, 20);
      const std::string note = sample.name + ": " + o.stepper.name;
      EXPECT_EQ(once.iterations, 20) << note;
      EXPECT_EQ(once.cuts, 0) << note;
      EXPECT_GE(solved.iterations, 40) << note;
      EXPECT_LT(error_of(*sample.system, once, solved), 1e-11) << note;
      EXPECT_LT((once.lambda - solved.lambda).norm(), 1e-9) << note;
    }
  }
}

// The linearised schemes have the same matrices with θ = 1 and θ = ½; on linear systems without
// joints they are implicit Euler and the trapezoidal rule.
TEST(SmoothMass, LinearisedSchemesAreTheImplicitOnesOnLinearSystems) {
  const LinearSample sample = std::move(linear_samples()[0]);
  for (const auto& [linearised, implicit] : {std::pair{"linear-implicit-euler", "implicit-euler"},
                                             {"linear-trapezoidal", "trapezoidal"}}) {
    const SmoothRun a = run_smooth(*sample.system, sample.start, smooth_options(linearised), 0.5, 20);
    const SmoothRun b = run_smooth(*sample.system, sample.start, smooth_options(implicit), 0.5, 20);
    EXPECT_LT(error_of(*sample.system, a, b), 1e-9) << linearised;
  }
}

}  // namespace
}  // namespace urto
