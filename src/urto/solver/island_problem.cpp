#include "urto/solver/island_problem.h"

#include <algorithm>

namespace urto {
namespace {

void resize(Vector& v, int size) {
  if (v.size() != size) v.resize(size);
}

}  // namespace

void IslandProblem::copy_mass(const BlockMatrix& whole, std::span<const int> couplings,
                              std::span<const int> place) {
  auto& H = std::get<BlockMatrix>(problem_.H);
  H.start.resize(1);
  H.offset.resize(1);
  H.values.clear();
  H.couplings.clear();
  for (const int k : nodes_) {
    const auto block = whole.block(k);
    H.start.push_back(H.start.back() + whole.size(k));
    H.values.insert(H.values.end(), block.data(), block.data() + block.size());
    H.offset.push_back(static_cast<int>(H.values.size()));
  }
  // Sorted as those of the whole are: the island's nodes keep their order.
  for (const int c : couplings) {
    const BlockMatrix::Coupling& pair = whole.couplings[c];
    const auto block = whole.coupling(c);
    H.couplings.push_back({place[pair.row], place[pair.column], static_cast<int>(H.values.size())});
    H.values.insert(H.values.end(), block.data(), block.data() + block.size());
  }
}

void IslandProblem::copy_rows(const StepProblem& whole, const Islands& islands) {
  const BlockRows& from = whole.J;
  const auto& H = std::get<BlockMatrix>(whole.H);
  const auto& own = std::get<BlockMatrix>(problem_.H);
  BlockRows& J = problem_.J;
  J.columns = own.rows();
  J.row_start.resize(1);
  J.entry_start.resize(1);
  J.entries.clear();
  J.values.clear();
  problem_.K.sets.clear();
  problem_.K.start.resize(1);
  for (const int i : blocks_) {
    J.add_block(from.height(i));
    for (int e = from.entry_start[i]; e < from.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = from.entries[e];
      const int k = islands.node_of_dof()[entry.column];
      const int column = own.start[islands.place()[k]] + (entry.column - H.start[k]);
      J.entries.push_back({column, entry.width, static_cast<int>(J.values.size())});
      const double* values = from.values.data() + entry.offset;
      J.values.insert(J.values.end(), values, values + from.height(i) * entry.width);
    }
    J.entry_start.back() = static_cast<int>(J.entries.size());
    problem_.K.push_back(whole.K.sets[i]);
  }
}

void IslandProblem::copy_compliance(std::span<const double> compliance) {
  soft_.clear();
  for (const int i : blocks_) {
    for (int r = whole_->K.start[i]; r < whole_->K.start[i + 1]; ++r)
      soft_.push_back(compliance[r]);
  }
  set_compliance(problem_, soft_);
}

void IslandProblem::extract(const StepProblem& whole, const Islands& islands,
                            const Island& island) {
  whole_ = &whole;
  nodes_ = islands.nodes(island);
  blocks_ = islands.blocks(island);
  const auto& H = std::get<BlockMatrix>(whole.H);
  copy_mass(H, islands.couplings(island), islands.place());
  copy_rows(whole, islands);
  copy_compliance(islands.compliance());
  gather_rows(whole.b, problem_.b);
  gather_dofs(whole.a, problem_.a);
}

void IslandProblem::gather_dofs(const Vector& whole, Vector& part) const {
  const auto& H = std::get<BlockMatrix>(whole_->H);
  resize(part, std::get<BlockMatrix>(problem_.H).rows());
  double* out = part.data();
  for (const int k : nodes_) out = std::copy_n(&whole[H.start[k]], H.size(k), out);
}

void IslandProblem::gather_rows(const Vector& whole, Vector& part) const {
  const std::vector<int>& start = whole_->K.start;
  resize(part, problem_.K.rows());
  double* out = part.data();
  for (const int i : blocks_)
    out = std::copy(&whole[start[i]], &whole[start[i]] + (start[i + 1] - start[i]), out);
}

void IslandProblem::scatter_rows(const Vector& part, Vector& whole) const {
  const std::vector<int>& start = whole_->K.start;
  const double* from = part.data();
  for (const int i : blocks_) {
    std::copy_n(from, start[i + 1] - start[i], &whole[start[i]]);
    from += start[i + 1] - start[i];
  }
}

void IslandProblem::scatter_dofs(const Vector& part, Vector& whole) const {
  const auto& H = std::get<BlockMatrix>(whole_->H);
  const double* from = part.data();
  for (const int k : nodes_) {
    std::copy_n(from, H.size(k), &whole[H.start[k]]);
    from += H.size(k);
  }
}

}  // namespace urto
