#include "urto/solver/islands.h"

#include <algorithm>
#include <utility>

namespace urto {

bool Islands::may_have_islands(const StepProblem& p) {
  const auto* H = std::get_if<BlockMatrix>(&p.H);
  if (H == nullptr || p.dofs() == 0 || H->symmetry != BlockMatrix::Symmetry::symmetric)
    return false;
  for (int c = 0; p.E.nonZeros() > 0 && c < p.E.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(p.E, c); it; ++it) {
      if (it.row() != c) return false;
    }
  }
  return true;
}

bool Islands::entries_are_on_nodes(const StepProblem& p) const {
  return std::all_of(p.J.entries.begin(), p.J.entries.end(), [&](const BlockRows::Entry& entry) {
    return node_of_dof_[entry.column] == node_of_dof_[entry.column + entry.width - 1];
  });
}

// While who touches whom stays as it was, as it mostly does, so do the islands.
bool Islands::is_known(const StepProblem& p, bool apart) const {
  const auto& H = std::get<BlockMatrix>(p.H);
  if (!known_ || apart != pattern_.apart || H.start != start_ ||
      H.couplings != pattern_.couplings || p.J.row_start != pattern_.row_start ||
      p.J.entry_start != pattern_.entry_start || p.J.entries != pattern_.entries)
    return false;
  for (int i = 0; i < p.blocks(); ++i) {
    if ((p.K.sets[i].kind == SetKind::free) != (pattern_.linear[i] != 0)) return false;
  }
  return true;
}

void Islands::remember(const StepProblem& p, bool apart) {
  pattern_.apart = apart;
  pattern_.couplings = std::get<BlockMatrix>(p.H).couplings;
  pattern_.row_start = p.J.row_start;
  pattern_.entry_start = p.J.entry_start;
  pattern_.entries = p.J.entries;
  pattern_.linear.resize(p.blocks());
  for (int i = 0; i < p.blocks(); ++i)
    pattern_.linear[i] = p.K.sets[i].kind == SetKind::free ? 1 : 0;
}

int Islands::root(int node) {
  while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
  return node;
}

// The lower number becomes the root: numbering does not depend on the order of rows.
void Islands::join(int a, int b) {
  a = root(a);
  b = root(b);
  if (a != b) parent_[std::max(a, b)] = std::min(a, b);
}

void Islands::number_nodes(const BlockMatrix& H) {
  if (H.start == start_) return;
  start_ = H.start;
  node_of_dof_.resize(H.rows());
  for (int k = 0; k < H.blocks(); ++k)
    std::fill(node_of_dof_.begin() + H.start[k], node_of_dof_.begin() + H.start[k + 1], k);
}

void Islands::join_nodes(const StepProblem& p, bool apart) {
  const auto& H = std::get<BlockMatrix>(p.H);
  const BlockRows& J = p.J;
  parent_.resize(H.blocks());
  for (int k = 0; k < H.blocks(); ++k) parent_[k] = apart ? k : 0;
  if (!apart) return;
  for (int i = 0; i < J.blocks(); ++i) {
    for (int e = J.entry_start[i] + 1; e < J.entry_start[i + 1]; ++e)
      join(node_of_dof_[J.entries[e - 1].column], node_of_dof_[J.entries[e].column]);
  }
  for (const BlockMatrix::Coupling& c : H.couplings) join(c.row, c.column);
}

void Islands::count_members(const StepProblem& p) {
  const auto& H = std::get<BlockMatrix>(p.H);
  const BlockRows& J = p.J;
  islands_.clear();
  island_of_node_.resize(H.blocks());
  for (int k = 0; k < H.blocks(); ++k) {
    const int top = root(k);
    if (top == k) {
      island_of_node_[k] = static_cast<int>(islands_.size());
      islands_.emplace_back();
    } else {
      island_of_node_[k] = island_of_node_[top];
    }
    ++islands_[island_of_node_[k]].nodes;
  }
  for (const BlockMatrix::Coupling& c : H.couplings) {
    Island& island = islands_[island_of_node_[c.row]];
    ++island.couplings;
    island.factored = false;
  }
  island_of_block_.resize(J.blocks());
  idle_.clear();
  for (int i = 0; i < J.blocks(); ++i) {
    if (J.entry_start[i] == J.entry_start[i + 1]) {
      island_of_block_[i] = -1;
      idle_.push_back(i);
      continue;
    }
    const int at = island_of_node_[node_of_dof_[J.entries[J.entry_start[i]].column]];
    island_of_block_[i] = at;
    Island& island = islands_[at];
    ++island.blocks;
    island.rows += J.height(i);
    if (p.K.sets[i].kind != SetKind::free) island.linear = false;
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      if (J.entries[e].width != H.size(node_of_dof_[J.entries[e].column])) island.factored = false;
    }
  }
}

// Counts become ranges; the ranges are then filled in the order of the numbers.
void Islands::list_members(const StepProblem& p) {
  const auto& H = std::get<BlockMatrix>(p.H);
  int node = 0, coupling = 0, block = 0;
  for (Island& island : islands_) {
    island.first_node = node;
    island.first_coupling = coupling;
    island.first_block = block;
    node += std::exchange(island.nodes, 0);
    coupling += std::exchange(island.couplings, 0);
    block += std::exchange(island.blocks, 0);
  }
  nodes_.resize(node);
  place_.resize(node);
  couplings_.resize(coupling);
  blocks_.resize(block);
  for (int k = 0; k < node; ++k) {
    Island& island = islands_[island_of_node_[k]];
    place_[k] = island.nodes;
    nodes_[island.first_node + island.nodes++] = k;
  }
  for (int c = 0; c < coupling; ++c) {
    Island& island = islands_[island_of_node_[H.couplings[c].row]];
    couplings_[island.first_coupling + island.couplings++] = c;
  }
  for (int i = 0; i < p.J.blocks(); ++i) {
    if (island_of_block_[i] < 0) continue;
    Island& island = islands_[island_of_block_[i]];
    blocks_[island.first_block + island.blocks++] = i;
  }
}

bool Islands::find(const StepProblem& p, bool apart) {
  if (!may_have_islands(p)) return false;
  if (!is_known(p, apart)) {
    known_ = false;
    number_nodes(std::get<BlockMatrix>(p.H));
    if (!entries_are_on_nodes(p)) return false;
    join_nodes(p, apart);
    count_members(p);
    list_members(p);
    remember(p, apart);
    known_ = true;
  }
  compliance_.assign(p.rows(), 0.0);
  for (int c = 0; p.E.nonZeros() > 0 && c < p.E.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(p.E, c); it; ++it) compliance_[c] += it.value();
  }
  return true;
}

}  // namespace urto
