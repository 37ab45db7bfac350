#include "urto/mechanics/system.h"

#include <algorithm>

namespace urto {

void System::rate_tangent(const State& state, const Interactions& rows, SystemWorkspace& work,
                          BlockRows& out) const {
  out = rows.J;
  std::fill(out.values.begin(), out.values.end(), 0.0);
  Vector unit = Vector::Zero(rows.rows());
  BlockMatrix turning;
  Vector along(nv());
  for (int i = 0; i < rows.blocks(); ++i) {
    for (int r = 0; r < rows.laws[i].dim; ++r) {
      const int row = rows.J.row_start[i] + r;
      unit[row] = 1;
      turning.start_assembly(layout().v_start, BlockMatrix::Symmetry::general);
      add_geometric_stiffness(state, rows, unit, -1, work, turning);
      turning.finish_assembly();
      unit[row] = 0;
      along = to_sparse(turning).transpose() * state.v;
      for (int e = out.entry_start[i]; e < out.entry_start[i + 1]; ++e) {
        const BlockRows::Entry& entry = out.entries[e];
        for (int c = 0; c < entry.width; ++c)
          out.values[entry.offset + r * entry.width + c] = along[entry.column + c];
      }
    }
  }
}

}  // namespace urto
