// Numerical damping against frequency: what a step leaves of an oscillation, for the same ρ∞, of
// the non-smooth generalised-α scheme and of the θ-method of Moreau and Jean (recipe 004 §4:
// "lower dissipation than Moreau–Jean for equal ρ∞").
#include <array>
#include <cmath>

#include <Eigen/Eigenvalues>
#include <gtest/gtest.h>

#include "urto/mechanics/textbook.h"
#include "urto/stepper/alpha_step.h"
#include "urto/stepper/stepper.h"

namespace urto {
namespace {

/// Of q̈ = −ω² q by the formulas of the scheme: the largest eigenvalue of a step of (q, h v, h² a)
/// with z = ω h.
double alpha_radius(double rho, double z) {
  const AlphaScheme s = alpha_scheme(rho);
  // Unknown q⁺, v⁺, a⁺ of A x⁺ = B x; â = −ω² q.
  Eigen::Matrix3d A, B;
  A << 1, 0, -s.beta, 0, 1, -s.gamma, (1 - s.alpha_f) * z * z, 0, 1 - s.alpha_m;
  B << 1, 1, 0.5 - s.beta, 0, 1, 1 - s.gamma, -s.alpha_f * z * z, 0, -s.alpha_m;
  return Eigen::EigenSolver<Eigen::Matrix3d>(A.inverse() * B, false)
      .eigenvalues()
      .cwiseAbs()
      .maxCoeff();
}

/// |(1 + i(1 − θ)z)/(1 − iθz)|.
double theta_radius(double rho, double z) {
  const double theta = 1 / (1 + rho);
  return std::sqrt((1 + std::pow((1 - theta) * z, 2)) / (1 + std::pow(theta * z, 2)));
}

/// By running it: the mean factor a step over the second half of `steps`.
double measured_radius(const char* stepper, double rho, double z, int steps) {
  const Matrix one = Matrix::Identity(1, 1);
  const LinearSystem system(one, 0 * one, z * z * one, Vector::Zero(1));
  SimulationOptions o;
  o.stepper.name = stepper;
  o.stepper.spectral_radius = rho;
  o.solver.tolerance = 1e-11;
  const std::unique_ptr<Stepper> made = make_stepper(system, o);
  State state;
  state.q = Vector::Ones(1);
  state.v = Vector::Zero(1);
  StepMemory memory;
  StepReport report;
  std::array<double, 2> size{};
  for (int k = 1; k <= steps; ++k) {
    EXPECT_FALSE(made->step(state, 1, memory, report).failed());
    state.t = k;
    const double now = std::hypot(z * state.q[0], state.v[0]);
    if (k == steps / 2) size[0] = now;
    if (k == steps) size[1] = now;
  }
  return std::pow(size[1] / size[0], 2.0 / steps);
}

TEST(BrulsSpectrum, AlphaDampsLessThanMoreauAtLowAndMiddleFrequencies) {
  for (const double rho : {0.8, 0.5, 0.0}) {
    for (const double z : {0.01, 0.03, 0.1, 0.3, 1.0}) {
      const double alpha = 1 - alpha_radius(rho, z), theta = 1 - theta_radius(rho, z);
      EXPECT_LT(alpha, theta) << rho << ' ' << z;
      // z⁴ against z².
      if (z < 0.2) {
        EXPECT_LT(alpha, 2 * z * z * theta) << rho << ' ' << z;
      }
    }
    // The same at infinite frequency.
    EXPECT_NEAR(alpha_radius(rho, 1e6), rho, 1e-3);
    EXPECT_NEAR(theta_radius(rho, 1e6), rho, 1e-4);
  }
}

TEST(BrulsSpectrum, StepsDampAsTheirFormulasSay) {
  for (const double rho : {0.8, 0.5}) {
    for (const double z : {0.1, 0.5, 1.0, 3.0, 10.0}) {
      // What the quadratic form makes of the phase is at most a factor in all of the steps.
      const int steps = 200;
      EXPECT_NEAR(std::log(measured_radius("nonsmooth-alpha", rho, z, steps)),
                  std::log(alpha_radius(rho, z)), 6.0 / steps)
          << rho << ' ' << z;
      EXPECT_NEAR(std::log(measured_radius("moreau-jean", rho, z, steps)),
                  std::log(theta_radius(rho, z)), 6.0 / steps)
          << rho << ' ' << z;
    }
  }
}

}  // namespace
}  // namespace urto
