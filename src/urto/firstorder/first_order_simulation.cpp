#include "urto/firstorder/first_order_simulation.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "urto/error.h"

namespace urto {
namespace {

// Of a step: an end that is nearer than this to a jump, or to the end of the run, is at it.
constexpr double crumb = 1e-9;
constexpr int most_cuts = 10;

FirstOrderSystem checked(FirstOrderSystem system, const FirstOrderSpan& span, const Vector& start) {
  if (!(span.step > 0) || !std::isfinite(span.step))
    throw InputError("step", fmt::format("{}", span.step), "a time > 0");
  if (!(span.duration >= 0) || !std::isfinite(span.duration))
    throw InputError("duration", fmt::format("{}", span.duration), "a time ≥ 0");
  if (!(span.tolerance > 0))
    throw InputError("tolerance", fmt::format("{}", span.tolerance), "a number > 0");
  validate(system, 0, start, "first-order system");
  return system;
}

}  // namespace

FirstOrderSimulation::FirstOrderSimulation(FirstOrderSystem system,
                                           const FirstOrderOptions& options,
                                           const FirstOrderSpan& span, Vector start)
    : system_(checked(std::move(system), span, start)), span_(span), stepper_(system_, options) {
  state_.x = std::move(start);
  state_.lambda = Vector::Zero(system_.rows());
  state_.r = Vector::Zero(system_.states);
  state_.y = Vector::Zero(system_.rows());
  std::string why;  // a start without multipliers is shown by the first step
  start_multipliers(system_, span.step, state_, why);
}

// Ends lie on a grid that begins anew at every jump, so that they do not drift.
double FirstOrderSimulation::next_end(double& jump) const {
  const double h = span_.step;
  double end = origin_ + (grid_ + 1) * h;
  if (end <= state_.t + crumb * h) end = state_.t + h;
  jump = system_.next_jump ? system_.next_jump(state_.t + crumb * h)
                           : std::numeric_limits<double>::infinity();
  const double stop = std::min(jump, span_.duration);
  return end >= stop - crumb * h ? stop : end;
}

bool FirstOrderSimulation::advance() {
  if (!failure_.empty() || state_.t >= span_.duration) return false;
  double jump = 0;
  const double end = next_end(jump);
  double h = end - state_.t;
  if (!(h > 1e-14 * std::abs(state_.t))) {
    failure_ =
        fmt::format("t = {:.9g} s: the next jump of an input is no later than rounding", state_.t);
    return false;
  }
  int cuts = 0;
  while (!stepper_.step(h, state_, report_)) {
    if (++cuts > most_cuts) {
      failure_ = fmt::format("t = {:.9g} s: {}", state_.t, report_.failure);
      return false;
    }
    ++cut_;
    h *= 0.5;
  }
  if (cuts == 0) {
    state_.t = end;
    grid_ = std::round((end - origin_) / span_.step);
    if (std::abs(origin_ + grid_ * span_.step - end) > crumb * span_.step) {
      origin_ = end;
      grid_ = 0;
    }
  } else {
    origin_ = state_.t;
    grid_ = 0;
  }
  if (state_.t >= jump) {
    state_.after_jump = true;
    origin_ = jump;
    grid_ = 0;
  }
  ++steps_;
  const double residual = report_.residuals.worst();
  if (!(residual <= span_.tolerance)) ++missed_;
  if (!(residual <= worst_)) {
    worst_ = residual;
    worst_time_ = state_.t;
  }
  return true;
}

}  // namespace urto
