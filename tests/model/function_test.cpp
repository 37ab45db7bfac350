#include "urto/model/function.h"

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "support/message_of.h"
#include "urto/error.h"

namespace urto {
namespace {

using samples::message_of;

constexpr double pi = std::numbers::pi;

// Sixth-order central differences; the step balances truncation against rounding.
double slope(const std::function<double(double)>& f, double t) {
  const double h = 2e-3;
  return (45 * (f(t + h) - f(t - h)) - 9 * (f(t + 2 * h) - f(t - 2 * h)) +
          (f(t + 3 * h) - f(t - 3 * h))) /
         (60 * h);
}

void expect_consistent_derivatives(const Function& f, double t) {
  const FunctionValue at = evaluate(f, t);
  const double rate = slope([&](double x) { return evaluate(f, x).value; }, t);
  const double acceleration = slope([&](double x) { return evaluate(f, x).rate; }, t);
  EXPECT_NEAR(at.rate, rate, 1e-9 * (1 + std::abs(rate))) << "t = " << t;
  EXPECT_NEAR(at.acceleration, acceleration, 1e-9 * (1 + std::abs(acceleration))) << "t = " << t;
}

TEST(Function, ConstantDoesNotMove) {
  const FunctionValue at = evaluate(ConstantFunction{2.5}, 17);
  EXPECT_EQ(at.value, 2.5);
  EXPECT_EQ(at.rate, 0);
  EXPECT_EQ(at.acceleration, 0);
}

TEST(Function, UniformAccelerationIsAQuadraticPolynomial) {
  const FunctionValue at = evaluate(PolynomialFunction{{1, 2, -0.5 * 9.81}}, 3);
  EXPECT_DOUBLE_EQ(at.value, 1 + 2 * 3 - 0.5 * 9.81 * 9);
  EXPECT_DOUBLE_EQ(at.rate, 2 - 9.81 * 3);
  EXPECT_DOUBLE_EQ(at.acceleration, -9.81);
  EXPECT_EQ(evaluate(PolynomialFunction{}, 3).value, 0);
}

TEST(Function, DerivativesAreThoseOfTheValue) {
  const Function functions[] = {
      ConstantFunction{3}, PolynomialFunction{{1, -2, 0.3, 0.7, -0.2}},
      HarmonicFunction{.amplitude = 2, .frequency = 0.8, .phase = 0.3, .offset = 1},
      SmoothStepFunction{.t0 = -2, .t1 = 2, .y0 = 1, .y1 = -3}, UserFunction{[](double t) {
        return FunctionValue{std::exp(-t), -std::exp(-t), std::exp(-t)};
      }}};
  std::mt19937_64 engine(1);
  std::uniform_real_distribution<double> time(-1.9, 1.9);
  for (const Function& f : functions) {
    for (int k = 0; k < 20; ++k) expect_consistent_derivatives(f, time(engine));
  }
}

TEST(Function, HarmonicMotionObeysItsOscillator) {
  const HarmonicFunction f{.amplitude = 0.3, .frequency = 5, .phase = 1.1, .offset = 0.2};
  const double w = 2 * pi * f.frequency;
  for (const double t : {0., 0.013, 0.4, 7.}) {
    const FunctionValue at = evaluate(f, t);
    EXPECT_NEAR(at.acceleration, -w * w * (at.value - f.offset), 1e-10 * w * w);
    EXPECT_NEAR(std::hypot(at.value - f.offset, at.rate / w), f.amplitude, 1e-14);
  }
}

TEST(Function, SmoothStepStartsAndEndsAtRest) {
  const Function f = SmoothStepFunction{.t0 = 1, .t1 = 3, .y0 = -1, .y1 = 5};
  for (const double t : {-10., 1 - 1e-9, 1., 1 + 1e-9}) {
    EXPECT_NEAR(evaluate(f, t).value, -1, 1e-20);
    EXPECT_NEAR(evaluate(f, t).rate, 0, 1e-15);
    EXPECT_NEAR(evaluate(f, t).acceleration, 0, 1e-6);
  }
  for (const double t : {3 - 1e-9, 3., 3 + 1e-9, 50.}) {
    EXPECT_NEAR(evaluate(f, t).value, 5, 1e-14);
    EXPECT_NEAR(evaluate(f, t).rate, 0, 1e-15);
    EXPECT_NEAR(evaluate(f, t).acceleration, 0, 1e-6);
  }
  EXPECT_DOUBLE_EQ(evaluate(f, 2).value, 2);
  EXPECT_DOUBLE_EQ(evaluate(f, 2).rate, 15. / 8 * 6 / 2);
}

TEST(Function, SmoothStepOfNoDurationIsAJump) {
  const Function f = SmoothStepFunction{.t0 = 1, .t1 = 1, .y0 = 0, .y1 = 2};
  EXPECT_EQ(evaluate(f, std::nextafter(1., 0.)).value, 0);
  EXPECT_EQ(evaluate(f, 1).value, 2);
}

TEST(Function, TableIsStraightBetweenPointsAndRestsOutside) {
  const Function f = make_table({0, 1, 3}, {2, 4, -2});
  EXPECT_EQ(evaluate(f, -1).value, 2);
  EXPECT_EQ(evaluate(f, -1).rate, 0);
  EXPECT_DOUBLE_EQ(evaluate(f, 0.25).value, 2.5);
  EXPECT_DOUBLE_EQ(evaluate(f, 0.25).rate, 2);
  EXPECT_DOUBLE_EQ(evaluate(f, 1).value, 4);
  EXPECT_DOUBLE_EQ(evaluate(f, 1).rate, -3);
  EXPECT_DOUBLE_EQ(evaluate(f, 2).value, 1);
  EXPECT_EQ(evaluate(f, 3).value, -2);
  EXPECT_EQ(evaluate(f, 99).value, -2);
  EXPECT_EQ(evaluate(f, 99).rate, 0);
}

TEST(Function, SplineThroughTwoPointsIsALine) {
  const Function f = make_spline({1, 3}, {2, 6});
  for (const double t : {-4., 1., 1.7, 3., 8.}) {
    EXPECT_DOUBLE_EQ(evaluate(f, t).value, 2 * t);
    EXPECT_DOUBLE_EQ(evaluate(f, t).rate, 2);
    EXPECT_EQ(evaluate(f, t).acceleration, 0);
  }
}

TEST(Function, SplineIsTwiceContinuouslyDifferentiable) {
  std::mt19937_64 engine(2);
  std::uniform_real_distribution<double> number(0.2, 1.5);
  std::vector<double> t{-1}, y{0};
  for (int k = 0; k < 12; ++k) {
    t.push_back(t.back() + number(engine));
    y.push_back(4 * number(engine));
  }
  const Function f = make_spline(t, y);
  const double e = 1e-9;
  for (std::size_t k = 0; k < t.size(); ++k) {
    const FunctionValue before = evaluate(f, t[k] - e), at = evaluate(f, t[k]);
    const FunctionValue after = evaluate(f, t[k] + e);
    EXPECT_NEAR(at.value, y[k], 1e-13);
    // One-sided values extrapolated to the point, so that only jumps remain.
    EXPECT_NEAR(before.value + e * before.rate, after.value - e * after.rate, 1e-13);
    EXPECT_NEAR(before.rate + e * before.acceleration, after.rate - e * after.acceleration, 1e-12);
    EXPECT_NEAR(before.acceleration, after.acceleration, 1e-6);
  }
  EXPECT_EQ(evaluate(f, t.front()).acceleration, 0);
  EXPECT_NEAR(evaluate(f, t.back()).acceleration, 0, 1e-13);
  for (std::size_t k = 0; k + 1 < t.size(); ++k) {
    expect_consistent_derivatives(f, 0.5 * (t[k] + t[k + 1]));
  }
  expect_consistent_derivatives(f, t.front() - 2);
  expect_consistent_derivatives(f, t.back() + 2);
}

// The natural ends are wrong for a cubic; what they spoil falls by 2 + √3 from point to point.
TEST(Function, SplineReproducesACubicAwayFromItsEnds) {
  const Function cubic = PolynomialFunction{{1, -2, 3, 0.5}};
  std::vector<double> t, y;
  for (int k = 0; k <= 60; ++k) {
    t.push_back(0.1 * k);
    y.push_back(evaluate(cubic, t.back()).value);
  }
  const Function f = make_spline(t, y);
  for (double x = 2.8; x < 3.2; x += 0.017) {
    EXPECT_NEAR(evaluate(f, x).value, evaluate(cubic, x).value, 1e-12);
    EXPECT_NEAR(evaluate(f, x).rate, evaluate(cubic, x).rate, 1e-11);
    EXPECT_NEAR(evaluate(f, x).acceleration, evaluate(cubic, x).acceleration, 1e-10);
  }
  const double near = std::abs(evaluate(f, 0.1).acceleration - evaluate(cubic, 0.1).acceleration);
  const double far = std::abs(evaluate(f, 0.2).acceleration - evaluate(cubic, 0.2).acceleration);
  EXPECT_NEAR(near / far, 2 + std::sqrt(3.), 1e-3);
}

TEST(Function, BadPointsAreNamed) {
  EXPECT_EQ(message_of([] {
              make_table({0, 1, 2}, {1, 2});
            }),
            "table function: found 3 times and 2 values, expected as many values as times");
  EXPECT_EQ(message_of([] { make_spline({1}, {1}); }),
            "spline function: found 1 point, expected at least two");
  EXPECT_EQ(message_of([] { make_table({}, {}); }),
            "table function: found 0 points, expected at least two");
  EXPECT_EQ(
      message_of([] {
        make_spline({0, 1, 1}, {0, 0, 0});
      }),
      "spline function: point 2: found time 1 after 1, expected times that increase strictly");
  EXPECT_EQ(message_of([] {
              make_table({0, 1}, {0, std::numeric_limits<double>::quiet_NaN()});
            }),
            "table function: point 1: found (1, nan), expected finite numbers");
}

}  // namespace
}  // namespace urto
