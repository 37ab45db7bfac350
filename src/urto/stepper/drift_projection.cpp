#include "urto/stepper/drift_projection.h"

#include <algorithm>
#include <cmath>

#include "urto/stepper/alpha_helpers.h"

namespace urto {

bool DriftProjection::is_pressed(int block) const {
  const auto at = std::lower_bound(held_.begin(), held_.end(), block);
  if (at == held_.end() || *at != block) return false;
  return kernel_.impulses[kernel_.rows.J.row_start[at - held_.begin()]] > 0;
}

void DriftProjection::apply(State& state, Interactions& all, std::span<const int> held, double h) {
  const auto is_rigid = [](const Law& law) {
    return alpha_rows::is_rigid_contact(law) || (law.kind == LawKind::equality && !is_soft(law));
  };
  if (std::none_of(all.laws.begin(), all.laws.end(), is_rigid)) return;
  held_ = held;
  move_positions(state, all, h);
  move_velocities(state, all);
}

// Joints exactly; contacts that press likewise, others out of each other, both at the recovery
// speed at most: what overlaps at the start of a run is not thrown out.
void DriftProjection::move_positions(State& state, Interactions& all, double h) {
  const StepperOptions& o = kernel_.options.stepper;
  constexpr int rounds = 3;
  for (int round = 0; round < rounds; ++round) {
    kernel_.system.measure(state, all);
    wanted_.clear();
    double worst = 0;
    for (int i = 0; i < all.blocks(); ++i) {
      const Law& law = all.laws[i];
      const int first = all.J.row_start[i];
      if (holds_position(law)) {
        for (int r = first; r < first + law.dim; ++r) {
          wanted_.push_back({i, r, true, all.g[r]});
          worst = std::max(worst, std::abs(all.g[r]));
        }
      } else if (alpha_rows::is_rigid_contact(law)) {
        const double speed = law.recovery == Recovery::angular ? o.recovery_rate : o.recovery_speed;
        const double most = std::max(speed * h, o.projection_tolerance);
        // Along a chord of a curved surface a pressed contact opens.
        const bool pressed = is_pressed(i);
        if (all.g[first] > (pressed ? std::max(o.contact_tolerance, most) : 0)) continue;
        if (all.g[first] < -most && round > 0) continue;
        const double off = std::max(all.g[first], -most);
        wanted_.push_back({i, first, pressed, off});
        worst = std::max(worst, std::abs(off));
      }
    }
    if (worst <= o.projection_tolerance) return;
    if (!positions_.solve(state, all, wanted_, increment_)) return;
    kernel_.system.add_increment(state.q, increment_, state.q);
  }
}

// What a step with conditions on the mean velocity leaves changes its sign in the next: joints and
// pressed contacts have no rate, what sticks does not slip, what touches does not approach.
void DriftProjection::move_velocities(State& state, Interactions& all) {
  all.horizon = 0;
  kernel_.system.measure(state, all);
  multiply(all.J, state.v, rates_);
  wanted_.clear();
  double worst = 0;
  const auto want = [&](int i, int r) {
    const double off = rates_[r] + all.g_t[r];
    wanted_.push_back({i, r, true, off});
    worst = std::max(worst, std::abs(off));
  };
  for (int i = 0; i < all.blocks(); ++i) {
    const Law& law = all.laws[i];
    const int first = all.J.row_start[i];
    if (law.kind == LawKind::equality && !is_soft(law)) {
      for (int r = first; r < first + law.dim; ++r) want(i, r);
    } else if (alpha_rows::is_rigid_contact(law) && is_pressed(i)) {
      want(i, first);
      const auto at = std::lower_bound(held_.begin(), held_.end(), i) - held_.begin();
      const auto p = kernel_.impulses.segment(kernel_.rows.J.row_start[at], law.dim);
      if (law.kind != LawKind::coulomb || law.dim > 3) continue;
      const double slip = kernel_.rows.laws[at].friction * p[0];
      if (!(p.tail(law.dim - 1).norm() < (1 - 1e-6) * slip)) continue;
      for (int r = first + 1; r < first + law.dim; ++r) want(i, r);
    }
  }
  if (worst <= 1e-15 * alpha_rows::largest(state.v)) return;
  if (velocities_.solve(state, all, wanted_, increment_)) state.v += increment_;
}

}  // namespace urto
