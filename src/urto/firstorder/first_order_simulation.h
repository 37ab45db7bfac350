// The loop over the steps of a first-order system: equal steps, shortened to end where something
// jumps, and tried at half the length where one cannot be taken.
#pragma once

#include <string>

#include "urto/firstorder/first_order_stepper.h"

namespace urto {

struct FirstOrderSpan {
  double step = 1e-3, duration = 1;  ///< [s]
  double tolerance = 1e-8;           ///< on the residuals of every step
};

class FirstOrderSimulation {
 public:
  /// Throws InputError for a system, start or options that cannot be used. Copies the system.
  FirstOrderSimulation(FirstOrderSystem system, const FirstOrderOptions& options,
                       const FirstOrderSpan& span, Vector start);
  FirstOrderSimulation(const FirstOrderSimulation&) = delete;

  /// False at the end, or if a step was not possible: `failure` then says why.
  bool advance();

  const FirstOrderSystem& system() const { return system_; }
  const FirstOrderState& state() const { return state_; }
  const FirstOrderReport& report() const { return report_; }  ///< of the last step
  const std::string& failure() const { return failure_; }
  bool finished() const { return failure_.empty() && state_.t >= span_.duration; }
  long steps() const { return steps_; }
  long missed() const { return missed_; }  ///< steps that missed the tolerance
  long cut() const { return cut_; }        ///< steps that were tried at half the length
  double worst_residual() const { return worst_; }
  double worst_residual_time() const { return worst_time_; }

 private:
  double next_end(double& jump) const;

  FirstOrderSystem system_;
  FirstOrderSpan span_;
  FirstOrderStepper stepper_;
  FirstOrderState state_;
  FirstOrderReport report_;
  std::string failure_ = {};
  long steps_ = 0, missed_ = 0, cut_ = 0;
  double grid_ = 0;  ///< steps of the full length since the last jump, in whole steps
  double origin_ = 0;
  double worst_ = 0, worst_time_ = 0;
};

}  // namespace urto
