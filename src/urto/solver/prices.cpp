#include "urto/solver/prices.h"

#include <algorithm>

namespace urto {
namespace {

constexpr double contact = 35;      // [ns] of a sweep, with momentum and its share of measurements
constexpr double number_of_w = 1;   // [ns] of a number in a row of W
constexpr double operation = 0.6;   // [ns] of a factorisation in small blocks
constexpr double fill_in = 3;       // of a factor with a good order, against the matrix
constexpr double analysis = 1500;   // [ns] of a body or a row block, for its pattern
constexpr double guess_rounds = 3;  // of a guess that succeeds
// In each step of a Newton method a few contacts change their state and hold the others back: its
// steps grow with what moves (measured: 19 to 28 at 160 to 290 contacts, 100 to 800 at 460 to 590,
// more than 1600 at 1000).
constexpr double newton_steps = 40, newton_steps_each = 0.4;
constexpr double guess_contact = 2000;   // [ns] of a round, beside the factor
constexpr double newton_contact = 5000;  // [ns] of a step, beside the factor
// Newton with a dense W (dense_contacts.h): setting it up, and its steps.
constexpr double dense_rows = 192, dense_block = 3000, dense_number = 14;
constexpr double dense_steps = 4, dense_step = 1500;

constexpr double alternating_steps = 100;
constexpr double alternating_contact = 150;  // [ns] of a step, beside the solve

}  // namespace

void Prices::begin(const RowView& view) {
  view_ = &view;
  predicted_ = false;
  sweep_ = contact * static_cast<double>(view.blocks.size());
  if (view.W != nullptr) sweep_ += number_of_w * static_cast<double>(view.W->values.size());
}

double Prices::guess() {
  predict();
  const auto parts = static_cast<double>(view_->nodes.size() + view_->blocks.size());
  // Row blocks are eliminated beside the bodies: about as much again.
  return guess_rounds * (analysis * parts + 2 * factor_);
}

double Prices::guess_again() {
  predict();
  return guess_contact * static_cast<double>(view_->blocks.size()) + 2 * factor_;
}

double Prices::newton() {
  predict();
  const auto blocks = static_cast<double>(view_->blocks.size());
  const double steps = std::max(newton_steps, newton_steps_each * blocks);
  const double sparse = steps * (newton_contact * blocks + factor_);
  double rows = 0;
  for (const int i : view_->blocks) rows += view_->problem->K.sets[i].dim;
  if (rows > dense_rows) return sparse;
  return std::min(sparse, dense_block * blocks + dense_number * rows * rows +
                              dense_steps * (dense_step + operation * rows * rows * rows));
}

double Prices::alternating() {
  predict();
  const auto blocks = static_cast<double>(view_->blocks.size());
  return analysis * blocks + factor_ + alternating_steps * (alternating_contact * blocks + solve_);
}

// Operations of a factorisation that goes through the levels of a breadth-first search: a bound for
// a good order, near it where the structure is long; or those of a usual fill, if they are fewer.
void Prices::predict() {
  if (predicted_) return;
  predicted_ = true;
  connect();
  const auto nodes = static_cast<int>(size_.size());
  double work = 0, fill = 0;
  level_.assign(nodes, -1);
  queue_.clear();
  for (int k = 0; k < nodes; ++k) {
    if (level_[k] >= 0) continue;
    // From one end to the other.
    const std::size_t reached = queue_.size();
    double ignored = 0;
    const int end = farthest(k, ignored, ignored);
    for (std::size_t n = reached; n < queue_.size(); ++n) level_[queue_[n]] = -1;
    queue_.resize(reached);
    farthest(end, work, fill);
  }
  // The matrix itself, and what it would take if columns of the factor were `fill_in` times as
  // long.
  double rows = 0, numbers = 0;
  for (const double size : size_) {
    rows += size;
    numbers += size * size;
  }
  for (const auto& [a, b] : pairs_) numbers += 2 * size_[a] * size_[b];
  if (rows > 0) work = std::min(work, fill_in * fill_in * numbers * numbers / rows);
  factor_ = operation * work;
  solve_ = 2 * operation * std::min(fill, fill_in * numbers);
}

// The levels of what hangs together with `from`, appended to the queue; the last node.
int Prices::farthest(int from, double& work, double& fill) {
  const std::size_t first = queue_.size();
  queue_.push_back(from);
  level_[from] = 0;
  double width = 0, before = 0;
  int level = 0;
  const auto close = [&] {
    work += width * (width + before) * (width + before);
    fill += width * (width + before);
    before = width;
    width = 0;
  };
  for (std::size_t n = first; n < queue_.size(); ++n) {
    const int k = queue_[n];
    if (level_[k] != level) {
      close();
      level = level_[k];
    }
    width += size_[k];
    for (int e = start_[k]; e < start_[k + 1]; ++e) {
      if (level_[neighbour_[e]] >= 0) continue;
      level_[neighbour_[e]] = level + 1;
      queue_.push_back(neighbour_[e]);
    }
  }
  close();
  return queue_.back();
}

// The graph of bodies that meet in row blocks, or of row blocks that W couples.
void Prices::connect() {
  pairs_.clear();
  size_.clear();
  view_->W != nullptr ? pair_row_blocks() : pair_bodies();
  const auto nodes = static_cast<int>(size_.size());
  start_.assign(nodes + 1, 0);
  for (const auto& [a, b] : pairs_) {
    ++start_[a + 1];
    ++start_[b + 1];
  }
  for (int k = 0; k < nodes; ++k) start_[k + 1] += start_[k];
  next_.assign(start_.begin(), start_.end() - 1);
  neighbour_.resize(start_[nodes]);
  for (const auto& [a, b] : pairs_) {
    neighbour_[next_[a]++] = b;
    neighbour_[next_[b]++] = a;
  }
}

void Prices::pair_bodies() {
  const BlockRows& J = view_->problem->J;
  const std::span<const int> node_of_dof = view_->node_of_dof;
  if (static_cast<int>(place_.size()) <= node_of_dof.back()) place_.resize(node_of_dof.back() + 1);
  for (const int k : view_->nodes) {
    place_[k] = static_cast<int>(size_.size());
    size_.push_back(0);
  }
  for (const int i : view_->blocks) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const int a = place_[node_of_dof[J.entries[e].column]];
      size_[a] = J.entries[e].width;
      for (int f = J.entry_start[i]; f < e; ++f) {
        const int b = place_[node_of_dof[J.entries[f].column]];
        if (a != b) pairs_.emplace_back(a, b);
      }
    }
  }
}

void Prices::pair_row_blocks() {
  const BlockRows& W = *view_->W;
  const SetProduct& K = view_->problem->K;
  if (static_cast<int>(place_.size()) < W.columns) place_.resize(W.columns);
  for (const int i : view_->blocks) {
    place_[K.start[i]] = static_cast<int>(size_.size());
    size_.push_back(K.sets[i].dim);
  }
  for (int p = 0; p < static_cast<int>(view_->blocks.size()); ++p) {
    for (int e = W.entry_start[p]; e < W.entry_start[p + 1]; ++e) {
      const int other = place_[W.entries[e].column];
      if (other < p) pairs_.emplace_back(p, other);
    }
  }
}

}  // namespace urto
