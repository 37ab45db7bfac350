// Relays, sliding and exact integration of linear systems, against closed forms.
#include <cmath>
#include <unsupported/Eigen/MatrixFunctions>

#include <Eigen/LU>
#include <gtest/gtest.h>

#include "run_first_order.h"

namespace urto {
namespace {

constexpr FirstOrderOptions zero_order{.scheme = FirstOrderScheme::zero_order};
constexpr FirstOrderOptions explicit_multiplier{.scheme = FirstOrderScheme::explicit_multiplier};

/// ẋ = A x + b + B λ, λ ∈ −Sgn(C x).
FirstOrderSystem relay_system(const Matrix& A, const Vector& b, const Matrix& B, const Matrix& C) {
  FirstOrderSystem s{.states = static_cast<int>(A.rows())};
  s.field = linear_field(sparse(A), b);
  s.relation = linear_relation({sparse(C), {}, sparse(B), {}});
  s.laws.assign(static_cast<std::size_t>(C.rows()), relay_law());
  return s;
}

/// ẍ = k λ with the surface σ = c x + ẋ.
FirstOrderSystem sliding_mode(double k, double c) {
  Matrix A(2, 2), B(2, 1), C(1, 2);
  A << 0, 1, 0, 0;
  B << 0, k;
  C << c, 1;
  return relay_system(A, Vector::Zero(2), B, C);
}

// ẋ = 0.4 + λ, λ ∈ −Sgn(x), from 1: at zero at t = 1/0.6, and then λ = −0.4 (Filippov's sliding),
// without the chattering of an explicit relay. Implicit Euler is exact where ẋ is constant.
TEST(Filippov, SlidesAtRestWithTheEquivalentControl) {
  const Matrix one = Matrix::Ones(1, 1);
  const FirstOrderSystem s = relay_system(0 * one, Vector::Constant(1, 0.4), one, one);
  for (const FirstOrderOptions& o : {FirstOrderOptions{}, zero_order}) {
    run_to_end(s, o, {.step = 0.01, .duration = 3, .tolerance = 1e-12}, Vector::Ones(1),
               [](const FirstOrderState& state) {
                 if (state.t < 1 / 0.6) {
                   EXPECT_NEAR(state.x[0], std::max(1 - 0.6 * state.t, 0.0), 1e-13);
                   if (state.t < 1.66) {
                     EXPECT_EQ(state.lambda[0], -1);
                   }
                 } else if (state.t > 1 / 0.6 + 0.01) {
                   EXPECT_NEAR(state.x[0], 0, 1e-15);
                   EXPECT_NEAR(state.lambda[0], -0.4, 1e-13);
                 }
               });
  }
}

// From (1, 0): λ = −1 until σ = c − ckt²/2 − kt = 0 at t₁ = (−k + √(k² + 2c²k))/(ck), then x falls
// as e^{−c(t − t₁)} and the equivalent control is λ = c²x/k.
TEST(Filippov, SlidesDownTheSurfaceOfASlidingModeController) {
  const double k = 2, c = 1;
  const FirstOrderSystem s = sliding_mode(k, c);
  const double t1 = (-k + std::sqrt(k * k + 2 * c * c * k)) / (c * k);
  const double x1 = 1 - k * t1 * t1 / 2;
  const auto error = [&](double h) {
    double worst = 0;
    run_to_end(s, zero_order, {.step = h, .duration = 3, .tolerance = 1e-11}, Eigen::Vector2d(1, 0),
               [&](const FirstOrderState& state) {
                 const double exact = state.t < t1 ? 1 - k * state.t * state.t / 2
                                                   : x1 * std::exp(-c * (state.t - t1));
                 worst = std::max(worst, std::abs(state.x[0] - exact));
                 if (state.t > t1 + h) {
                   EXPECT_LT(std::abs(c * state.x[0] + state.x[1]), 1e-14);  // on the surface
                   EXPECT_NEAR(state.lambda[0], c * c * exact / k, 2 * h);
                 }
               });
    return worst;
  };
  const double coarse = error(0.01), fine = error(0.001);
  EXPECT_LT(coarse, 0.01);
  EXPECT_LT(fine, 0.15 * coarse);  // first order: the step in which the surface is reached
}

// An oscillator without damping under the scheme: exact for any step until the relay switches.
TEST(ZeroOrderHold, IsExactForLinearSystems) {
  Matrix A(2, 2);
  A << 0, 1, -4, 0;
  FirstOrderSystem s{.states = 2};
  s.field = linear_field(sparse(A), Eigen::Vector2d(0, 1));
  const double T = 10;
  const Vector x = run_to_end(s, zero_order, {.step = 0.5, .duration = T, .tolerance = 1e-12},
                              Eigen::Vector2d(1, 0.5))
                       .x;
  // x = 1/4 + 3/4 cos 2t + 1/4 sin 2t
  EXPECT_NEAR(x[0], 0.25 + 0.75 * std::cos(2 * T) + 0.25 * std::sin(2 * T), 1e-13);
  EXPECT_NEAR(x[1], -1.5 * std::sin(2 * T) + 0.5 * std::cos(2 * T), 1e-13);
}

TEST(ZeroOrderHold, IsExactUnderPiecewiseConstantInputsAndWithAMass) {
  // 2 ẋ = −x + u, u = 1 for even halves of a second and −1 for odd ones.
  FirstOrderSystem s{.states = 1};
  s.mass = sparse(Matrix::Constant(1, 1, 2));
  s.field = driven_field(sparse(Matrix::Constant(1, 1, -1)), [](const Moment& now) {
    return Vector(Vector::Constant(1, std::fmod(now.inside, 1) < 0.5 ? 1.0 : -1.0));
  });
  s.next_jump = [](double t) { return (std::floor(2 * t) + 1) / 2; };
  const Vector x =
      run_to_end(s, zero_order, {.step = 0.17, .duration = 3, .tolerance = 1e-12}, Vector::Zero(1))
          .x;
  double exact = 0;
  for (int k = 0; k < 6; ++k) {
    const double u = k % 2 == 0 ? 1 : -1;
    exact = u + (exact - u) * std::exp(-0.25);
  }
  EXPECT_NEAR(x[0], exact, 1e-14);
}

// A relay around 1/(s + 1)³: a limit cycle whose half period T has y(T) = 0 for the response that
// repeats with the other sign (Tsypkin): C (I + e^{AT})⁻¹ ∫e^{As}ds B = 0.
TEST(RelayOscillator, HasThePeriodOfItsSwitchingEquation) {
  Matrix A(3, 3), B(3, 1), C(1, 3);
  A << -1, 1, 0, 0, -1, 1, 0, 0, -1;
  B << 0, 0, 1;
  C << 1, 0, 0;
  const auto output = [&](double T) {
    const Matrix Phi = (T * A).exp();
    const Matrix I = Matrix::Identity(3, 3);
    return (C * (I + Phi).inverse() * A.inverse() * (Phi - I) * B)(0, 0);
  };
  double low = 0.5, high = 10;
  ASSERT_LT(output(low) * output(high), 0);
  while (high - low > 1e-13) {
    const double middle = 0.5 * (low + high);
    (output(low) * output(middle) <= 0 ? high : low) = middle;
  }
  const double h = 1e-3;
  std::vector<double> crossings;
  double before = 1, y_before = 0, t_before = 0;
  run_to_end(relay_system(A, Vector::Zero(3), B, C), zero_order,
             {.step = h, .duration = 60, .tolerance = 1e-11}, Vec3(0.5, 0, 0),
             [&](const FirstOrderState& state) {
               if (state.x[0] < 0 && before >= 0) {
                 crossings.push_back(t_before + h * y_before / (y_before - state.x[0]));
               }
               before = y_before = state.x[0];
               t_before = state.t;
             });
  ASSERT_GT(crossings.size(), 6u);
  const double period = (crossings.back() - crossings[crossings.size() - 5]) / 4;
  EXPECT_NEAR(period, 2 * low, 2 * h);  // a relay that switches at ends of steps is late by h/2
}

// A multi-value sign with bounds of its own: λ ∈ [−0.2, 3] in the place of −Sgn.
TEST(Laws, SignsMayHaveBoundsOfTheirOwn) {
  const Matrix one = Matrix::Ones(1, 1);
  FirstOrderSystem s = relay_system(0 * one, Vector::Constant(1, -1), one, one);
  s.laws = {relay_law(-0.2, 3)};
  // Above zero ẋ = −1 − 0.2; at zero λ = 1 ∈ [−0.2, 3] holds it.
  const FirstOrderState end = run_to_end(s, {}, {.step = 0.01, .duration = 1, .tolerance = 1e-12},
                                         Vector::Constant(1, 0.6));
  EXPECT_NEAR(end.x[0], 0, 1e-15);
  EXPECT_NEAR(end.lambda[0], 1, 1e-12);
  s.laws = {relay_law(-0.2, 0.5)};  // too weak to hold it: ẋ = −0.5 below zero
  const FirstOrderState passed = run_to_end(
      s, {}, {.step = 0.01, .duration = 1, .tolerance = 1e-12}, Vector::Constant(1, 0.6));
  EXPECT_NEAR(passed.x[0], -0.25, 1e-12);
  EXPECT_NEAR(passed.lambda[0], 0.5, 1e-15);
}

// D > 0: λ = SOL(D, C x + e) is a function of x. Here λ = max(0, (1 − x)/2): ẋ = −x − … + λ, linear
// on either side of x = 1; from 2 it falls, passes 1 at ln 2 and tends to 1/3.
TEST(ExplicitMultiplier, IntegratesTheOrdinaryDifferentialEquation) {
  const Matrix one = Matrix::Ones(1, 1);
  FirstOrderSystem s{.states = 1};
  s.field = linear_field(sparse(-one), Vector::Zero(1));
  s.relation =
      linear_relation({sparse(one), sparse(2 * one), sparse(one), Vector::Constant(1, -1)});
  s.laws = {complementarity_law()};
  const double T = 2, left = T - std::log(2.0);  // then ẋ = −1.5 x + 0.5
  const double exact = 1. / 3 + 2. / 3 * std::exp(-1.5 * left);
  const auto error = [&](const FirstOrderOptions& o, double h) {
    return std::abs(
        run_to_end(s, o, {.step = h, .duration = T, .tolerance = 1e-11}, Vector::Constant(1, 2))
            .x[0] -
        exact);
  };
  EXPECT_LT(error(explicit_multiplier, 1e-3), 3e-7);  // order two in the one step with the kink
  EXPECT_LT(error({}, 1e-3), 1e-3);
  // Before the kink the order is four.
  const auto early = [&](double h) {
    return std::abs(run_to_end(s, explicit_multiplier,
                               {.step = h, .duration = 0.5, .tolerance = 1e-11},
                               Vector::Constant(1, 2))
                        .x[0] -
                    2 * std::exp(-0.5));
  };
  EXPECT_NEAR(std::log2(early(0.1) / early(0.05)), 4, 0.1);
}

TEST(ExplicitMultiplier, SaysThatItNeedsADirectAction) {
  FirstOrderSimulation run(sliding_mode(2, 1), explicit_multiplier, {}, Eigen::Vector2d(1, 0));
  EXPECT_FALSE(run.advance());
  EXPECT_NE(run.failure().find("D > 0"), std::string::npos) << run.failure();
}

}  // namespace
}  // namespace urto
