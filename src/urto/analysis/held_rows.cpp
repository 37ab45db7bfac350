#include "urto/analysis/held_rows.h"

#include <algorithm>
#include <cmath>

namespace urto {
namespace {

/// Forces below this share of the largest are none, and so near a bound they are at it.
constexpr double noise = 1e-7;

RowRole role_of(const Law& law) {
  return is_soft(law) ? RowRole::soft : RowRole::rigid;
}

class Holder {
 public:
  Holder(const System& system, HeldRows& out) : system_(system), out_(out) {
    for (const double force : out.lambda) largest_ = std::max(largest_, std::abs(force));
    out.role.assign(static_cast<std::size_t>(out.rows.rows()), RowRole::free);
  }

  void hold(int block) {
    const Law& law = out_.rows.laws[block];
    const int first = out_.rows.J.row_start[block];
    switch (law.kind) {
      case LawKind::equality:
        for (int r = first; r < first + law.dim; ++r) out_.role[r] = role_of(law);
        if (law.on_velocity) out_.motors.push_back(name(block));
        break;
      case LawKind::box:
        hold_bounded(block);
        break;
      case LawKind::unilateral:
      case LawKind::coulomb:
        hold_one_sided(block);
        break;
    }
  }

 private:
  std::string name(int block) const { return system_.describe(out_.rows, block); }

  void hold_bounded(int block) {
    const Law& law = out_.rows.laws[block];
    const int row = out_.rows.J.row_start[block];
    const double slack = noise * (law.upper - law.lower);
    const double force = out_.lambda[row];
    if (!(force > law.lower + slack) || !(force < law.upper - slack)) {
      out_.free.push_back(name(block));
      return;
    }
    out_.role[row] = RowRole::rigid;
    const bool motor = out_.rows.origins[block].kind == Origin::motor;
    (motor ? out_.motors : out_.frictions).push_back(name(block));
  }

  // The normal row as its law says; along the surface every contact is rigid.
  void hold_one_sided(int block) {
    const Law& law = out_.rows.laws[block];
    const int first = out_.rows.J.row_start[block];
    const double normal = out_.lambda[first];
    if (!(normal > noise * largest_)) {
      // Within reach only is no touch.
      if (out_.rows.g[first] <= touching) out_.free.push_back(name(block));
      return;
    }
    out_.role[first] = role_of(law);
    const bool contact = out_.rows.origins[block].kind == Origin::contact;
    (contact ? out_.contacts : out_.limits).push_back(name(block));
    if (law.kind != LawKind::coulomb) return;
    for (int r = first + 1; r < first + law.dim; ++r) {
      const bool along = r < first + 3;  // the others resist rolling and spinning
      if (!along || law.friction > 0) out_.role[r] = RowRole::rigid;
    }
    if (law.dim < 3 || law.friction == 0) return;
    const double tangential = out_.lambda.segment<2>(first + 1).norm();
    if (tangential > (1 - 1e-6) * law.friction * normal) out_.at_bound.push_back(name(block));
  }

  static constexpr double touching = 1e-9;  // [m], as the equilibrium with contacts is certified
  const System& system_;
  HeldRows& out_;
  double largest_ = 0;
};

HeldRows held(const System& system, Interactions rows, Vector lambda) {
  HeldRows out{.rows = std::move(rows), .lambda = std::move(lambda)};
  Holder holder(system, out);
  for (int i = 0; i < out.rows.blocks(); ++i) holder.hold(i);
  return out;
}

}  // namespace

HeldRows held_equalities(const System& system, const State& state) {
  Interactions rows;
  State still = state;
  still.v.setZero(system.nv());
  SystemAccess(system).interactions(still, {.equalities_only = true, .velocity_equalities = true},
                                    rows);
  const int count = rows.rows();
  return held(system, std::move(rows), Vector::Zero(count));
}

HeldRows held_at_rest(const System& system, const StaticsReport& report) {
  return held(system, report.rows, report.lambda);
}

}  // namespace urto
