#include "urto/stepper/first_collision.h"

#include <algorithm>
#include <cmath>

#include "urto/stepper/alpha_helpers.h"
#include "urto/stepper/alpha_step.h"

namespace urto {
namespace {

/// Where a gap that starts at `gap` with `rate` and ends below zero after h passes zero first, by
/// the parabola through all three; the cubic of the source's §10 for flat surfaces.
double parabola_root(double gap, double rate, double end, double h) {
  const double bend = (end - gap - rate * h) / (h * h);
  const double root = std::sqrt(std::max(0.0, rate * rate - 4 * bend * gap));
  const double sum = -0.5 * (rate + std::copysign(root, rate));
  double first = h;
  for (const double t : {sum / bend, gap / sum}) {
    if (t > 0 && t < first) first = t;
  }
  return first;
}

}  // namespace

bool FirstCollision::is_open(const TriedStep& step, int block) const {
  return step.held[block] == 0 && alpha_rows::is_rigid_contact(step.rows.laws[block]);
}

// What overlapped at the start may go on overlapping, but no deeper.
double FirstCollision::level(const TriedStep& step, int block) const {
  return std::min(0.0, step.rows.g[step.rows.J.row_start[block]]);
}

void FirstCollision::place(const TriedStep& step, double time, State& out) {
  const State& start = step.start;
  increment_ = time * start.v + 0.5 * time * time / step.h * (step.end.v - start.v);
  system_.add_increment(start.q, increment_, out.q);
  out.v = start.v + time / step.h * (step.end.v - start.v);
  out.t = start.t + time;
}

double FirstCollision::gap_at(const TriedStep& step, double time, int block) {
  place(step, time, probe_);
  system_.measure(probe_, probed_);
  return probed_.g[step.rows.J.row_start[block]];
}

// Illinois' variant of regula falsi (Dowell and Jarratt 1971), from a guess on. The gap is above
// its level at `low` and below it at `high`.
double FirstCollision::refine(const TriedStep& step, int block, double low, double high,
                              double guess) {
  const double to = level(step, block);
  const double close = gap_rounding(step.start.q) / 4;
  double at_low = gap_at(step, low, block) - to;
  double at_high = gap_at(step, high, block) - to;
  double time = guess > low && guess < high ? guess : 0.5 * (low + high);
  int side = 0;
  for (int k = 0; k < 60 && high - low > 1e-15 * step.h; ++k) {
    const double gap = gap_at(step, time, block) - to;
    if (std::abs(gap) <= close) return time;
    // Twice on the same side: the other end of the chord is halved.
    if (gap > 0) {
      low = time;
      at_low = gap;
      if (side > 0) at_high *= 0.5;
      side = 1;
    } else {
      high = time;
      at_high = gap;
      if (side < 0) at_low *= 0.5;
      side = -1;
    }
    time = low + (high - low) * at_low / (at_low - at_high);
    if (!(time > low && time < high)) time = 0.5 * (low + high);
  }
  return time;
}

// Until when a step is looked at. Bodies that have gone through each other at its end are apart
// again there: then a time at which they were not, found by halving the way back to where their
// rate at the start would have made them touch.
double FirstCollision::horizon(const TriedStep& step) {
  constexpr int halvings = 20;
  passed_.start(step.rows, step.rates, step.h);
  double until = step.h;
  for (const int i : passed_.find(system_, step.end)) {
    if (!is_open(step, i)) continue;
    const int first = step.rows.J.row_start[i];
    const double meet = -step.rows.g[first] / step.rates[first];
    double beyond = step.h - meet;
    for (int k = 0; k < halvings && beyond > 0; ++k, beyond *= 0.5) {
      if (meet + beyond >= until && k > 0) continue;
      if (gap_at(step, meet + beyond, i) >= 0) continue;
      until = std::min(until, meet + beyond);
      break;
    }
  }
  return until;
}

double FirstCollision::find(const TriedStep& step) {
  const Interactions& rows = step.rows;
  crossing_.clear();
  bool any_open = false;
  for (int i = 0; i < rows.blocks() && !any_open; ++i) any_open = is_open(step, i);
  if (!any_open) return step.h;
  probe_ = step.start;
  probed_ = rows;
  probed_.gaps_only = true;
  const double rounding = 1e-14 + gap_rounding(step.start.q);
  double time = horizon(step);
  const double seen = time;
  place(step, time, probe_);
  system_.measure(time < step.h ? probe_ : step.end, probed_);
  end_gap_.resize(rows.blocks());
  const auto is_below = [&](int i) {
    return probed_.g[rows.J.row_start[i]] < level(step, i) - rounding;
  };
  for (int i = 0; i < rows.blocks(); ++i) {
    end_gap_[i] = probed_.g[rows.J.row_start[i]];
    if (is_open(step, i) && is_below(i)) crossing_.push_back(i);
  }
  const auto above = [&](int i) { return std::max(0.0, rows.g[rows.J.row_start[i]]); };
  const auto guess = [&](int i) {
    return parabola_root(above(i), step.rates[rows.J.row_start[i]], end_gap_[i] - level(step, i),
                         seen);
  };
  while (!crossing_.empty()) {
    const auto earlier = [&](int a, int b) { return guess(a) < guess(b); };
    const int i = *std::min_element(crossing_.begin(), crossing_.end(), earlier);
    // From zero with a parting velocity the way back begins at the top.
    const double low = above(i) > rounding ? 0 : 0.5 * std::min(guess(i), time);
    time = refine(step, i, low, time, guess(i));
    gap_at(step, time, i);
    std::erase_if(crossing_, [&](int k) { return k == i || !is_below(k); });
  }
  return time;
}

}  // namespace urto
