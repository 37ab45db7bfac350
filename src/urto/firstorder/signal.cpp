#include "urto/firstorder/signal.h"

#include <cmath>
#include <limits>

namespace urto {

double value(const Signal& signal, const Moment& now) {
  if (const auto* f = std::get_if<Function>(&signal)) return evaluate(*f, now.t).value;
  const auto& p = std::get<Pulse>(signal);
  if (now.inside < p.delay) return p.low;
  const double periods = (now.inside - p.delay) / p.period;
  return periods - std::floor(periods) < p.duty ? p.high : p.low;
}

double next_jump(const Signal& signal, double t) {
  const auto* p = std::get_if<Pulse>(&signal);
  if (p == nullptr || p->low == p->high) return std::numeric_limits<double>::infinity();
  if (t < p->delay) return p->delay;
  const double whole = std::floor((t - p->delay) / p->period);
  for (const double edge : {whole + p->duty, whole + 1, whole + 1 + p->duty}) {
    const double at = p->delay + edge * p->period;
    if (at > t) return at;
  }
  return p->delay + (whole + 2) * p->period;
}

}  // namespace urto
