// Functions of time: a number, or an object with one key that names the kind.
#include <fmt/format.h>

#include "urto/scene/scene_builder.h"

namespace urto::scene {
namespace {

struct Points {
  std::vector<double> t, y;
};

Points read_time_points(const Value& v) {
  constexpr std::string_view expected = "at least two points [[t, y], …]";
  Points points;
  for (const Value& item : to_items(v, expected)) {
    const std::vector<double> p = to_numbers(item, 2);
    if (!points.t.empty() && !(p[0] > points.t.back())) {
      fail(item, "a point later than the one before");
    }
    points.t.push_back(p[0]);
    points.y.push_back(p[1]);
  }
  if (points.t.size() < 2) fail(v, expected);
  return points;
}

HarmonicFunction read_harmonic(const Value& v) {
  const Object o = to_object(v, keys::harmonic);
  HarmonicFunction f;
  f.amplitude = number_or(o, "amplitude", f.amplitude);
  f.frequency = number_or(o, "frequency", f.frequency, any("Hz"));
  f.phase = number_or(o, "phase", f.phase, any("rad"));
  f.offset = number_or(o, "offset", f.offset);
  return f;
}

SmoothStepFunction read_step(const Value& v) {
  const Object o = to_object(v, keys::step);
  SmoothStepFunction f;
  f.t0 = number_or(o, "t0", f.t0, any("s"));
  f.t1 = number_or(o, "t1", f.t1, any("s"));
  f.y0 = number_or(o, "y0", f.y0);
  f.y1 = number_or(o, "y1", f.y1);
  if (!(f.t1 > f.t0)) fail(v, fmt::format("t0 {} and t1 {}", f.t0, f.t1), "t0 before t1");
  return f;
}

}  // namespace

Function read_function(const Value& v) {
  if (v.json->is_number()) return ConstantFunction{to_number(v)};
  if (!v.json->is_object()) {
    fail(v, fmt::format("a number or an object with one of: {}",
                        fmt::join(keys::function.keys, ", ")));
  }
  const Object o = to_object(v, keys::function);
  if (v.json->size() != 1) {
    fail(v, fmt::format("{} keys", v.json->size()),
         fmt::format("one of: {}", fmt::join(keys::function.keys, ", ")));
  }
  if (const auto f = o.find("polynomial")) {
    std::vector<double> coefficients = to_numbers(*f, -1);
    if (coefficients.empty()) fail(*f, "at least one coefficient");
    return PolynomialFunction{std::move(coefficients)};
  }
  if (const auto f = o.find("harmonic")) return read_harmonic(*f);
  if (const auto f = o.find("step")) return read_step(*f);
  if (const auto f = o.find("table")) {
    Points points = read_time_points(*f);
    return make_table(std::move(points.t), std::move(points.y));
  }
  Points points = read_time_points(o.at("spline"));
  return make_spline(std::move(points.t), std::move(points.y));
}

std::array<Function, 3> read_functions(const Value& v) {
  const auto items = to_items(v, "three numbers or functions of time", 3);
  return {read_function(items[0]), read_function(items[1]), read_function(items[2])};
}

}  // namespace urto::scene
