// The amplification of every smooth stepper on q̈ = −ω²q against theory, for ωh from 0.1 to 10⁴.
#include <cmath>
#include <complex>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "stepper/smooth_runs.h"
#include "urto/mechanics/textbook.h"
#include "urto/stepper/smooth_implicit.h"

namespace urto {
namespace {

using testing::smooth_options;

constexpr double h = 0.01;

LinearSystem oscillator(double omega) {
  return LinearSystem(Matrix::Identity(1, 1), Matrix::Zero(1, 1),
                      omega * omega * Matrix::Identity(1, 1), Vector::Zero(1));
}

double radius_of(const Matrix& A) {
  return A.eigenvalues().cwiseAbs().maxCoeff();
}

/// Of the stepper itself: one step from each unit vector of (q, h v, h² a).
double measured_radius(const SimulationOptions& options, double frequency) {
  LinearSystem system = oscillator(frequency / h);
  const double stiffness = frequency * frequency / (h * h);
  Matrix A(3, 3);
  for (int k = 0; k < 3; ++k) {
    const auto stepper = make_stepper(system, options);
    State s;
    s.q = Vector::Constant(1, k == 0 ? 1 : 0);
    s.v = Vector::Constant(1, k == 1 ? 1 / h : 0);
    StepMemory memory;
    memory.h = h;
    memory.arrays.at("true_acceleration") = {-stiffness * s.q[0]};
    memory.arrays.at("acceleration") = {k == 2 ? 1 / (h * h) : 0};
    // Explicit methods take the acceleration of the state for their own.
    StepReport report;
    stepper->step(s, h, memory, report);
    A.col(k) << s.q[0], h * s.v[0], h * h * memory.arrays.at("acceleration")[0];
  }
  return radius_of(A);
}

/// The same recursion written out with pencil and paper: (1 − α_m)a⁺ + α_m a + ω²[(1 − α_f)q⁺ + α_f
/// q] = 0 and Newmark's formulas.
double implicit_theory(const ImplicitScheme& s, double frequency) {
  const double w = frequency * frequency;
  Matrix left(3, 3), right(3, 3);
  left << 1, 0, -s.b1, 0, 1, -s.c1, (1 - s.alpha_f) * w, 0, 1 - s.alpha_m;
  right << 1, 1, s.b0, 0, 1, s.c0, -s.alpha_f * w, 0, -s.alpha_m;
  return radius_of(left.inverse() * right);
}

constexpr double frequencies[] = {0.1, 0.5, 1, 1.9, 3, 10, 100, 1000, 1e4};

TEST(SmoothOscillator, ImplicitSchemesHaveTheRadiusOfTheory) {
  for (const double frequency : frequencies) {
    const auto check = [&](const SimulationOptions& o, double theory) {
      EXPECT_NEAR(measured_radius(o, frequency), theory, 2e-6 * std::max(1.0, theory))
          << o.stepper.name << " at " << frequency;
    };
    check(smooth_options("trapezoidal"), 1);
    check(smooth_options("implicit-euler"), 1 / std::sqrt(1 + frequency * frequency));
    SimulationOptions o = smooth_options("newmark");
    for (const auto& [gamma, beta] : {std::array{0.5, 0.25}, {0.6, 0.3025}, {1.0, 0.5625}}) {
      o.stepper.newmark_gamma = gamma;
      o.stepper.newmark_beta = beta;
      check(o, implicit_theory(newmark_scheme(gamma, beta), frequency));
    }
    // Linear acceleration is stable up to ωh = √12 only.
    if (frequency < 3.4) {
      o.stepper.newmark_gamma = 0.5;
      o.stepper.newmark_beta = 1.0 / 6;
      check(o, 1);
      EXPECT_NEAR(implicit_theory(newmark_scheme(0.5, 1.0 / 6), frequency), 1, 1e-12);
    }
    o = smooth_options("hht");
    for (const double alpha : {0.0, -0.1, -0.2, -0.3, -1.0 / 3}) {
      o.stepper.hht_alpha = alpha;
      check(o, implicit_theory(hht_scheme(alpha), frequency));
    }
    o = smooth_options("generalised-alpha");
    for (const double rho : {0.0, 0.2, 0.5, 0.8, 1.0}) {
      o.stepper.spectral_radius = rho;
      check(o, implicit_theory(generalised_alpha_scheme(rho), frequency));
    }
  }
}

// (γ, β) = (½, 1/6): unit radius to ωh = √12, growth beyond; 2β ≥ γ ≥ ½ is stable for all
// (recipe 000 §2.13).
TEST(SmoothOscillator, NewmarksLinearAccelerationIsStableUpToTheRootOfTwelve) {
  SimulationOptions o = smooth_options("newmark");
  o.stepper.newmark_beta = 1.0 / 6;
  const double limit = std::sqrt(12.0);
  EXPECT_NEAR(measured_radius(o, 0.999 * limit), 1, 1e-6);
  const double theory = implicit_theory(newmark_scheme(0.5, 1.0 / 6), 1.001 * limit);
  EXPECT_GT(theory, 1.01);
  EXPECT_NEAR(measured_radius(o, 1.001 * limit), theory, 1e-6);
  for (const auto& [gamma, beta] : {std::array{0.5, 1.0}, {1.0, 0.5}, {1.0, 1.0}, {0.75, 0.375}}) {
    for (const double frequency : {3.0, 4.0, 1e4}) {
      o.stepper.newmark_gamma = gamma;
      o.stepper.newmark_beta = beta;
      EXPECT_LE(measured_radius(o, frequency), 1 + 1e-6) << gamma << ' ' << beta;
    }
  }
}

// In the limit the radius is ρ∞, and (1 + α)/(1 − α) for HHT (recipe 000 §§2.14, 2.15).
TEST(SmoothOscillator, FastOscillationsAreLeftWithTheRadiusAtInfinity) {
  SimulationOptions o = smooth_options("generalised-alpha");
  for (const double rho : {0.2, 0.5, 0.8, 1.0}) {
    o.stepper.spectral_radius = rho;
    EXPECT_NEAR(measured_radius(o, 1e4), rho, 2e-3);
  }
  o = smooth_options("hht");
  for (const double alpha : {-0.1, -0.2, -0.3}) {
    o.stepper.hht_alpha = alpha;
    EXPECT_NEAR(measured_radius(o, 1e4), (1 + alpha) / (1 - alpha), 2e-3);
  }
}

/// Of a method without memory: (q, h v) only.
double two_value_radius(const std::string& name, double frequency) {
  LinearSystem system = oscillator(frequency / h);
  Matrix A(2, 2);
  for (int k = 0; k < 2; ++k) {
    const auto stepper = make_stepper(system, smooth_options(name));
    State s;
    s.q = Vector::Constant(1, k == 0 ? 1 : 0);
    s.v = Vector::Constant(1, k == 1 ? 1 / h : 0);
    StepMemory memory;
    StepReport report;
    stepper->step(s, h, memory, report);
    A.col(k) << s.q[0], h * s.v[0];
  }
  return radius_of(A);
}

TEST(SmoothOscillator, ExplicitAndLinearisedSchemesHaveTheRadiusOfTheory) {
  using Complex = std::complex<double>;
  for (const double w : frequencies) {
    const Complex z(0, w);
    const double half = 0.5 * w * w - 1;
    const double verlet = w <= 2 ? 1 : half + std::sqrt(half * half - 1);
    const std::vector<std::pair<const char*, double>> theory{
        {"explicit-euler", std::abs(1.0 + z)},
        {"semi-implicit-euler", verlet},
        {"leapfrog", verlet},
        {"heun", std::abs(1.0 + z + z * z / 2.0)},
        {"rk4", std::abs(1.0 + z + z * z / 2.0 + z * z * z / 6.0 + z * z * z * z / 24.0)},
        {"munthe-kaas", std::abs(1.0 + z + z * z / 2.0 + z * z * z / 6.0 + z * z * z * z / 24.0)},
        {"linear-implicit-euler", 1 / std::sqrt(1 + w * w)},
        {"linear-trapezoidal", 1},
    };
    for (const auto& [name, radius] : theory) {
      EXPECT_NEAR(two_value_radius(name, w), radius, 1e-6 * std::max(1.0, radius))
          << name << " at " << w;
    }
  }
}

}  // namespace
}  // namespace urto
