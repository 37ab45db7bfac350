// When the motion of a step of the trapezoidal rule first takes a contact below zero that the step
// did not hold (recipe 002 §2.6, (6.2)). The motion is Hermite's cubic between the two ends, of
// which the trapezoidal rule leaves a parabola,
//
//     q̂(τ) = q ⊕ (τ v + τ²/(2h) (v⁺ − v)),    v̂(τ) = v + τ/h (v⁺ − v)
//
// and the time a root of the gap itself along q̂, sought from the parabola through the gap's two
// ends and its rate. What bodies go through and leave again within the step is seen too.
#pragma once

#include <cstdint>
#include <vector>

#include "urto/stepper/passed_contacts.h"

namespace urto {

/// A step that was tried, and the rows within reach, measured at its start.
struct TriedStep {
  const State& start;
  const State& end;
  double h = 0;
  const Interactions& rows;
  const std::vector<double>& rates;       ///< J v + g_t, per row
  const std::vector<std::uint8_t>& held;  ///< per block: part of the step
};

class FirstCollision {
 public:
  explicit FirstCollision(SystemAccess& system) : system_(system) {}

  /// The time after the start; h if there is none.
  double find(const TriedStep& step);
  /// q̂ and v̂; `out` keeps what it remembers.
  void place(const TriedStep& step, double time, State& out);

 private:
  bool is_open(const TriedStep& step, int block) const;
  double level(const TriedStep& step, int block) const;
  double gap_at(const TriedStep& step, double time, int block);
  double horizon(const TriedStep& step);
  double refine(const TriedStep& step, int block, double low, double high, double guess);

  SystemAccess& system_;
  PassedContacts passed_;
  State probe_;
  Interactions probed_;  ///< the rows at `probe_`, gaps only
  Vector increment_;
  std::vector<double> end_gap_ = {};  ///< per block, where it was last looked at
  std::vector<int> crossing_ = {};    ///< blocks that are below zero there
};

}  // namespace urto
