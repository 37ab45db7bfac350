// What the tests of first-order systems share.
#pragma once

#include <functional>
#include <vector>

#include <gtest/gtest.h>

#include "urto/firstorder/first_order_simulation.h"

namespace urto {

inline SparseMatrix sparse(const Matrix& A) {
  return A.sparseView();
}

/// To the end; every step must meet its tolerance.
inline FirstOrderState run_to_end(const FirstOrderSystem& system, const FirstOrderOptions& options,
                                  const FirstOrderSpan& span, const Vector& start,
                                  const std::function<void(const FirstOrderState&)>& at_step = {}) {
  FirstOrderSimulation run(system, options, span, start);
  while (run.advance()) {
    if (at_step) at_step(run.state());
  }
  EXPECT_TRUE(run.finished()) << run.failure();
  EXPECT_EQ(run.missed(), 0) << "worst residual " << run.worst_residual();
  return run.state();
}

}  // namespace urto
