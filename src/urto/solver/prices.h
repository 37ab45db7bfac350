// What methods will cost an island, before they are tried: predicted from its size and pattern, not
// measured with a clock, so that the same input gives the same bits. In nanoseconds of a common
// processor; only ratios matter (docs/solvers/auto.md says how they were found).
#pragma once

#include <utility>
#include <vector>

#include "urto/solver/row_access.h"

namespace urto {

class Prices {
 public:
  /// `view` and what it points to are read until the next `begin`.
  void begin(const RowView& view);

  double sweep() const { return sweep_; }
  /// A guess of the active set, until it is right.
  double guess();
  /// One round of a guess whose pattern was there before.
  double guess_again();
  /// ADMM where bodies rest.
  double alternating();
  /// An interior point or another Newton method, from its start to its end.
  double newton();

 private:
  void predict();
  void connect();
  void pair_bodies();
  void pair_row_blocks();
  int farthest(int from, double& work, double& fill);

  const RowView* view_ = nullptr;
  double sweep_ = 0;
  bool predicted_ = false;
  double factor_ = 0, solve_ = 0;  ///< [ns] with the factor of a body or row block graph
  // Nodes as they meet in row blocks: bodies, or the row blocks themselves where W is given.
  std::vector<std::pair<int, int>> pairs_ = {};
  std::vector<int> place_ = {}, start_ = {}, next_ = {}, neighbour_ = {};
  std::vector<double> size_ = {};
  std::vector<int> level_ = {}, queue_ = {};
};

}  // namespace urto
