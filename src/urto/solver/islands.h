// The islands of a step problem: bodies that touch, are joined or are coupled by springs, with the
// row blocks between them (design §6). Index lists into the problem, found in time linear in its
// size, in storage that is kept; no island costs the whole problem anything.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "urto/linalg/saddle_ldlt.h"
#include "urto/problem/step_problem.h"

namespace urto {

struct Island {
  int first_node = 0, nodes = 0;  ///< ranges in the lists of `Islands`
  int first_coupling = 0, couplings = 0;
  int first_block = 0, blocks = 0;
  int rows = 0;
  bool linear = true;    ///< only equalities
  bool factored = true;  ///< H is block-diagonal here, and entries of J cover whole nodes
};

class Islands {
 public:
  /// `apart` false makes one island of everything. False if the problem cannot be taken apart here:
  /// it must have H by blocks and symmetric, every entry of J on one node, and E diagonal. Others,
  /// local forms among them, are one island: the problem itself.
  bool find(const StepProblem& p, bool apart);

  std::span<const Island> list() const { return islands_; }
  std::span<const int> nodes(const Island& i) const {
    return {&nodes_[i.first_node], size(i.nodes)};
  }
  std::span<const int> couplings(const Island& i) const {
    return {couplings_.data() + i.first_coupling, size(i.couplings)};
  }
  std::span<const int> blocks(const Island& i) const {
    return {blocks_.data() + i.first_block, size(i.blocks)};
  }
  std::span<const int> node_of_dof() const { return node_of_dof_; }
  std::span<const int> place() const { return place_; }  ///< of each node in its island's list
  std::span<const double> compliance() const { return compliance_; }  ///< diagonal of E
  /// Row blocks that no body can follow (no entries): they belong to no island.
  std::span<const int> idle_blocks() const { return idle_; }

  /// The island as a part of a saddle point.
  SaddleLdlt::System system(const StepProblem& p, const Island& i) const {
    return {.H = &std::get<BlockMatrix>(p.H),
            .J = &p.J,
            .nodes = nodes(i),
            .couplings = couplings(i),
            .blocks = blocks(i),
            .node_of_dof = node_of_dof_,
            .place = place_,
            .compliance = compliance_};
  }

 private:
  static std::size_t size(int n) { return static_cast<std::size_t>(n); }
  /// What islands depend on, of a problem.
  struct Pattern {
    bool apart = false;
    std::vector<int> row_start = {}, entry_start = {};
    std::vector<BlockRows::Entry> entries = {};
    std::vector<BlockMatrix::Coupling> couplings = {};
    std::vector<std::uint8_t> linear = {};  ///< per row block
  };
  static bool may_have_islands(const StepProblem& p);
  bool is_known(const StepProblem& p, bool apart) const;
  void remember(const StepProblem& p, bool apart);
  bool entries_are_on_nodes(const StepProblem& p) const;
  int root(int node);
  void join(int a, int b);
  void number_nodes(const BlockMatrix& H);
  void join_nodes(const StepProblem& p, bool apart);
  void count_members(const StepProblem& p);
  void list_members(const StepProblem& p);

  bool known_ = false;  ///< the lists are those of `pattern_`, and of an H with `start_`
  Pattern pattern_ = {};
  std::vector<int> start_ = {};  ///< of H, when node_of_dof_ was filled
  std::vector<int> node_of_dof_ = {}, parent_ = {}, island_of_node_ = {}, island_of_block_ = {};
  std::vector<int> nodes_ = {}, couplings_ = {}, blocks_ = {}, place_ = {}, idle_ = {};
  std::vector<double> compliance_ = {};
  std::vector<Island> islands_ = {};
};

}  // namespace urto
