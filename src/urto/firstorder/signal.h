// Inputs over time: smooth functions, and pulses, which jump.
#pragma once

#include <variant>

#include "urto/firstorder/first_order_system.h"
#include "urto/model/function.h"

namespace urto {

/// `high` for the share `duty` of each period from `delay` on, else `low`. Before `delay` it is
/// low.
struct Pulse {
  double low = 0, high = 1;
  double period = 1, duty = 0.5, delay = 0;
};

using Signal = std::variant<Function, Pulse>;

double value(const Signal& signal, const Moment& now);
/// The first jump after t; +∞ if there is none.
double next_jump(const Signal& signal, double t);

}  // namespace urto
