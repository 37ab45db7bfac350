#include "urto/model/function.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

void check_points(std::string_view where, const std::vector<double>& t,
                  const std::vector<double>& y) {
  if (t.size() != y.size()) {
    throw InputError(where, fmt::format("{} times and {} values", t.size(), y.size()),
                     "as many values as times");
  }
  if (t.size() < 2) {
    throw InputError(where, fmt::format("{} point{}", t.size(), t.size() == 1 ? "" : "s"),
                     "at least two");
  }
  for (std::size_t k = 0; k < t.size(); ++k) {
    if (!std::isfinite(t[k]) || !std::isfinite(y[k])) {
      throw InputError(fmt::format("{}: point {}", where, k), fmt::format("({}, {})", t[k], y[k]),
                       "finite numbers");
    }
    if (k > 0 && !(t[k] > t[k - 1])) {
      throw InputError(fmt::format("{}: point {}", where, k),
                       fmt::format("time {} after {}", t[k], t[k - 1]),
                       "times that increase strictly");
    }
  }
}

// The interval k with t[k] ≤ x < t[k+1]; the first and the last one reach to infinity.
std::size_t interval(const std::vector<double>& t, double x) {
  const auto next = std::upper_bound(t.begin() + 1, t.end() - 1, x);
  return static_cast<std::size_t>(next - t.begin()) - 1;
}

// Second derivatives at the points: s'' is continuous and piecewise linear, continuity of s' gives
// one row a point of a diagonally dominant tridiagonal system, and s'' = 0 at both ends.
std::vector<double> natural_curvature(const std::vector<double>& t, const std::vector<double>& y) {
  const std::size_t n = t.size();
  std::vector<double> curvature(n, 0.0), upper(n, 0.0);
  for (std::size_t k = 1; k + 1 < n; ++k) {
    const double left = t[k] - t[k - 1], right = t[k + 1] - t[k];
    const double jump = (y[k + 1] - y[k]) / right - (y[k] - y[k - 1]) / left;
    const double pivot = 2 * (left + right) - left * upper[k - 1];
    upper[k] = right / pivot;
    curvature[k] = (6 * jump - left * curvature[k - 1]) / pivot;
  }
  curvature[n - 1] = 0;
  for (std::size_t k = n - 1; k-- > 1;) curvature[k] -= upper[k] * curvature[k + 1];
  return curvature;
}

FunctionValue value_at(const ConstantFunction& f, double) {
  return {f.value, 0, 0};
}

FunctionValue value_at(const PolynomialFunction& f, double t) {
  // Horner's scheme for the value and, by the same recursion, p′ and ½p″.
  double value = 0, rate = 0, half_acceleration = 0;
  for (std::size_t k = f.coefficients.size(); k-- > 0;) {
    half_acceleration = half_acceleration * t + rate;
    rate = rate * t + value;
    value = value * t + f.coefficients[k];
  }
  return {value, rate, 2 * half_acceleration};
}

FunctionValue value_at(const HarmonicFunction& f, double t) {
  const double w = 2 * std::numbers::pi * f.frequency;
  const double s = f.amplitude * std::sin(w * t + f.phase);
  const double c = f.amplitude * std::cos(w * t + f.phase);
  return {f.offset + s, w * c, -w * w * s};
}

FunctionValue value_at(const SmoothStepFunction& f, double t) {
  if (t < f.t0) return {f.y0, 0, 0};
  // Also where t1 ≤ t0: the step is then a jump at t0.
  if (t >= f.t1) return {f.y1, 0, 0};
  const double T = f.t1 - f.t0, rise = f.y1 - f.y0;
  const double s = (t - f.t0) / T;
  return {f.y0 + rise * s * s * s * (10 + s * (6 * s - 15)),
          rise / T * 30 * s * s * (1 - s) * (1 - s),
          rise / (T * T) * 60 * s * (1 - s) * (1 - 2 * s)};
}

FunctionValue value_at(const TableFunction& f, double t) {
  if (t < f.t.front()) return {f.y.front(), 0, 0};
  if (t >= f.t.back()) return {f.y.back(), 0, 0};
  const std::size_t k = interval(f.t, t);
  const double slope = (f.y[k + 1] - f.y[k]) / (f.t[k + 1] - f.t[k]);
  return {f.y[k] + slope * (t - f.t[k]), slope, 0};
}

FunctionValue value_at(const SplineFunction& f, double t) {
  const std::size_t k = interval(f.t, t);
  const double h = f.t[k + 1] - f.t[k];
  const double chord = (f.y[k + 1] - f.y[k]) / h;
  const double c0 = f.curvature[k], c1 = f.curvature[k + 1];
  const double slope = chord - h * (2 * c0 + c1) / 6;
  if (t < f.t.front()) return {f.y[k] + slope * (t - f.t[k]), slope, 0};
  if (t > f.t.back()) {
    const double end_slope = chord + h * (c0 + 2 * c1) / 6;
    return {f.y[k + 1] + end_slope * (t - f.t[k + 1]), end_slope, 0};
  }
  const double x = t - f.t[k];
  const double third = (c1 - c0) / h;
  return {f.y[k] + x * (slope + x * (c0 / 2 + x * third / 6)), slope + x * (c0 + x * third / 2),
          c0 + x * third};
}

FunctionValue value_at(const UserFunction& f, double t) {
  return f.evaluate(t);
}

}  // namespace

Function make_table(std::vector<double> t, std::vector<double> y) {
  check_points("table function", t, y);
  return TableFunction{std::move(t), std::move(y)};
}

Function make_spline(std::vector<double> t, std::vector<double> y) {
  check_points("spline function", t, y);
  std::vector<double> curvature = natural_curvature(t, y);
  return SplineFunction{std::move(t), std::move(y), std::move(curvature)};
}

FunctionValue evaluate(const Function& f, double t) {
  return std::visit([t](const auto& kind) { return value_at(kind, t); }, f);
}

}  // namespace urto
