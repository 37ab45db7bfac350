// Scalar functions of time, with the two derivatives that rheonomic constraints need (recipe 000
// §2.3: C_t, and C_tt for consistent accelerations). A value type: copying a model copies its
// functions.
#pragma once

#include <functional>
#include <memory>
#include <variant>
#include <vector>

namespace urto {

struct FunctionValue {
  double value = 0, rate = 0, acceleration = 0;
};

struct ConstantFunction {
  double value = 0;
};
/// Σ c_k tᵏ: {x0, v} is a ramp.
struct PolynomialFunction {
  std::vector<double> coefficients = {};
};
/// offset + amplitude sin(2π frequency t + phase); frequency [Hz], phase [rad].
struct HarmonicFunction {
  double amplitude = 1, frequency = 1, phase = 0, offset = 0;
};
/// From y0 to y1 between t0 and t1 by the quintic 10s³ − 15s⁴ + 6s⁵, constant outside: rate and
/// acceleration vanish at both ends.
struct SmoothStepFunction {
  double t0 = 0, t1 = 1, y0 = 0, y1 = 1;
};
/// Straight lines between points; constant before the first and after the last. Its rate jumps at
/// the points.
struct TableFunction {
  std::vector<double> t, y;
};
/// Natural cubic spline through the points (twice continuously differentiable); straight lines
/// outside.
struct SplineFunction {
  std::vector<double> t, y;
  std::vector<double> curvature = {};  ///< second derivatives at the points, filled by make_spline
};
/// For C++ and Python users; not written to scene files.
struct UserFunction {
  std::function<FunctionValue(double)> evaluate = {};
};

using Function = std::variant<ConstantFunction, PolynomialFunction, HarmonicFunction,
                              SmoothStepFunction, TableFunction, SplineFunction, UserFunction>;

/// Throws InputError if there are fewer than two points, sizes differ, or t does not increase
/// strictly.
Function make_table(std::vector<double> t, std::vector<double> y);
Function make_spline(std::vector<double> t, std::vector<double> y);

FunctionValue evaluate(const Function& f, double t);

}  // namespace urto
