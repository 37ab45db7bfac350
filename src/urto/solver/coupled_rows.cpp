#include "urto/solver/coupled_rows.h"

#include <algorithm>

namespace urto {

// Row `row` of J_i times y_, which is in the order of the factor.
double CoupledRows::at(const SaddleLdlt::System& island, const BlockRows& J, int i, int row) const {
  double sum = 0;
  for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    const int k = island.node_of_dof[entry.column];
    const double* y = y_.data() + mass_.row(island.place[k]) + (entry.column - island.H->start[k]);
    const double* values = J.values.data() + entry.offset + row * entry.width;
    for (int c = 0; c < entry.width; ++c) sum += values[c] * y[c];
  }
  return sum;
}

// y_ = that row of J_i, as a column.
void CoupledRows::scatter(const SaddleLdlt::System& island, const BlockRows& J, int i, int row) {
  y_.head(mass_.rows()).setZero();
  for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    const int k = island.node_of_dof[entry.column];
    double* y = y_.data() + mass_.row(island.place[k]) + (entry.column - island.H->start[k]);
    const double* values = J.values.data() + entry.offset + row * entry.width;
    for (int c = 0; c < entry.width; ++c) y[c] += values[c];
  }
}

bool CoupledRows::factorize(const StepProblem& p, const SaddleLdlt::System& island,
                            const Vector& mass_diagonal, RowBlocks& rows) {
  SaddleLdlt::System masses = island;
  masses.blocks = {};
  mass_.set(masses);
  if (!mass_.factorize(0)) return false;
  if (y_.size() < mass_.rows()) y_.resize(mass_.rows());
  for (std::size_t n = 0; n < island.nodes.size(); ++n) {
    const int k = island.nodes[n];
    y_.segment(mass_.row(static_cast<int>(n)), island.H->size(k)) =
        p.a.segment(island.H->start[k], island.H->size(k));
  }
  mass_.solve(y_.data());
  for (const int i : island.blocks) {
    rows.begin(p, p.E, i);
    for (int r = 0; r < p.J.height(i); ++r) rows.q[p.J.row_start[i] + r] += at(island, p.J, i, r);
    const double trace = trace_with_diagonal_mass(p, i, mass_diagonal);
    rows.scale[i] = trace > 0 ? p.J.height(i) / trace : 1;
  }
  return true;
}

void CoupledRows::lay_out(const StepProblem& p, const SaddleLdlt::System& island) {
  W_.columns = p.rows();
  W_.row_start.resize(1);
  W_.entry_start.resize(1);
  W_.entries.clear();
  int offset = 0;
  for (const int i : island.blocks) {
    const int d = p.J.height(i);
    W_.add_block(d);
    for (const int j : island.blocks) {
      W_.entries.push_back({p.J.row_start[j], p.J.height(j), offset});
      offset += d * p.J.height(j);
    }
    W_.entry_start.back() = static_cast<int>(W_.entries.size());
  }
  W_.values.resize(offset);
}

void CoupledRows::assemble(const StepProblem& p, const SaddleLdlt::System& island,
                           const Vector& mass_diagonal, RowBlocks& rows) {
  lay_out(p, island);
  const int blocks = static_cast<int>(island.blocks.size());
  for (int j = 0; j < blocks; ++j) {
    const int column = island.blocks[j];
    for (int c = 0; c < p.J.height(column); ++c) {
      scatter(island, p.J, column, c);
      mass_.solve(y_.data());
      for (int i = 0; i < blocks; ++i) {
        const BlockRows::Entry& entry = W_.entries[i * blocks + j];
        for (int r = 0; r < W_.height(i); ++r)
          W_.values[entry.offset + r * entry.width + c] = at(island, p.J, island.blocks[i], r);
      }
    }
  }
  for (int i = 0; i < blocks; ++i) {
    const int block = island.blocks[i];
    const int d = p.J.height(block);
    double* own = W_.values.data() + W_.entries[i * blocks + i].offset;
    double* D = rows.diagonal.data() + rows.start[block];
    for (int r = 0; r < d; ++r) {
      if (!island.compliance.empty()) own[r * d + r] += island.compliance[p.J.row_start[block] + r];
      for (int c = 0; c <= r; ++c)
        D[c * d + r] = D[r * d + c] = 0.5 * (own[r * d + c] + own[c * d + r]);
    }
    rows.finish(p.K.sets[block], block, trace_with_diagonal_mass(p, block, mass_diagonal));
  }
}

}  // namespace urto
