// A problem with every row twice: LICQ fails, multipliers are not unique, velocities are the same
// (recipe 000, checklist 60).
#pragma once

#include "urto/problem/step_problem.h"

namespace urto {

inline StepProblem with_every_row_twice(const StepProblem& once) {
  using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  StepProblem twice = once;
  for (int i = 0; i < once.blocks(); ++i) {
    twice.J.add_block(once.J.height(i));
    for (int e = once.J.entry_start[i]; e < once.J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = once.J.entries[e];
      const Eigen::Map<const RowMajor> block(once.J.values.data() + entry.offset, once.J.height(i),
                                             entry.width);
      twice.J.add_entry(entry.column, block);
    }
    twice.K.push_back(once.K.sets[i]);
  }
  twice.b.resize(2 * once.rows());
  twice.b << once.b, once.b;
  twice.E = SparseMatrix(2 * once.rows(), 2 * once.rows());
  validate(twice, "a problem with every row twice");
  return twice;
}

}  // namespace urto
