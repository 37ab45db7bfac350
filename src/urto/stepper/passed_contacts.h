// Contacts that a step jumps over: steppers that ask for the gap at the end of a step find bodies
// apart that have gone through each other.
#pragma once

#include "urto/mechanics/system.h"

namespace urto {

/// What a stepper says that cuts such a step.
inline constexpr const char* passed_through = "bodies went through each other";

class PassedContacts {
 public:
  /// `rows` within reach, measured at the start of a step of h, and their rates J v + g_t there.
  void start(const Interactions& rows, const std::vector<double>& rates, double h);
  /// Whether bodies were apart, approached so fast that they met within the step, and have turned
  /// their normal round at its end. Bodies that pass beside each other by less than they move look
  /// alike, in a step that is as much too long.
  bool any(SystemAccess& system, const State& end);

 private:
  std::vector<int> closing_ = {};  ///< blocks
  Interactions start_, end_;
};

}  // namespace urto
