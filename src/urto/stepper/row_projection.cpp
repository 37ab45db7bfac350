#include "urto/stepper/row_projection.h"

namespace urto {

// Redundant rows that contradict each other by what their surfaces curve would have no solution:
// each gives way a little, relative to its own J diag(M)⁻¹ Jᵀ.
bool RowProjection::solve(const State& state, const Interactions& rows, std::span<const Row> wanted,
                          Vector& delta) {
  constexpr double softness = 1e-10;
  StepProblem& p = problem_;
  if (!std::holds_alternative<BlockMatrix>(p.H)) p.H = BlockMatrix();
  BlockMatrix& M = std::get<BlockMatrix>(p.H);
  system_.mass(state, M);
  diagonal_.resize(M.rows());
  for (int k = 0; k < M.blocks(); ++k)
    diagonal_.segment(M.start[k], M.size(k)) = M.block(k).diagonal();
  p.J.columns = rows.J.columns;
  p.J.row_start.resize(1);
  p.J.entry_start.resize(1);
  p.J.entries.clear();
  p.J.values.clear();
  p.K.sets.clear();
  p.K.start.resize(1);
  p.a.setZero(M.rows());
  p.b.resize(static_cast<Eigen::Index>(wanted.size()));
  compliance_.clear();
  for (std::size_t k = 0; k < wanted.size(); ++k) {
    const Row& row = wanted[k];
    p.J.add_block(1);
    double own = 0;
    for (int e = rows.J.entry_start[row.block]; e < rows.J.entry_start[row.block + 1]; ++e) {
      const BlockRows::Entry& entry = rows.J.entries[e];
      const double* values = rows.J.values.data() + entry.offset +
                             (row.row - rows.J.row_start[row.block]) * entry.width;
      const auto offset = static_cast<int>(p.J.values.size());
      p.J.entries.push_back({entry.column, entry.width, offset});
      p.J.values.insert(p.J.values.end(), values, values + entry.width);
      for (int c = 0; c < entry.width; ++c)
        own += values[c] * values[c] / diagonal_[entry.column + c];
    }
    p.J.entry_start.back() = static_cast<int>(p.J.entries.size());
    p.K.push_back(row.holds ? ConvexSet::free(1) : ConvexSet::nonnegative());
    p.b[static_cast<Eigen::Index>(k)] = row.off;
    compliance_.push_back(softness * own);
  }
  set_compliance(p, compliance_);
  multipliers_.setZero(p.rows());
  delta.setZero(M.rows());
  solver_->solve(p, options_, delta, multipliers_, report_);
  if (report_.status == Status::converged && delta.allFinite()) return true;
  delta.setZero(M.rows());
  return false;
}

}  // namespace urto
