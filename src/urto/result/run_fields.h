// Internal: the numbers of the group /run, by name, for those who write and read them.
#pragma once

#include "urto/result/result_view.h"

namespace urto {

/// Calls visit(name, number) for each; numbers are double or long.
template <typename Status, typename Visit>
void visit_run_fields(Status& s, Visit visit) {
  visit("time", s.time);
  visit("steps", s.steps);
  visit("rejected", s.rejected);
  visit("missed", s.missed);
  visit("worst_residual", s.worst_residual);
  visit("worst_residual_time", s.worst_residual_time);
  visit("worst_joint_error", s.worst_joint_error);
  visit("worst_penetration", s.worst_penetration);
  visit("start_energy", s.start_energy);
  visit("wall_seconds", s.wall_seconds);
  visit("dofs", s.dofs);
  visit("equality_rows", s.equality_rows);
  visit("rank", s.rank);
}

}  // namespace urto
