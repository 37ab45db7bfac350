// Multi-threaded projected SOR. Blocks that share no body (no entry of W) get the same colour and are relaxed at the same time;
// colours follow each other. The order of operations does not depend on the number of threads, so neither do the bits.
// Source: recipe 000 §2.8 (multithreaded SOR: "colour or lock"). Rate as SOR in colour order.
#include <algorithm>
#include <array>
#include <barrier>
#include <thread>

#include "urto/solver/method.h"
#include "urto/solver/row_access.h"

namespace urto {
namespace {

struct Colouring {
  std::vector<int> order;        ///< blocks sorted by colour
  std::vector<int> colour_start;  ///< range of each colour in `order`
};

// Greedy colouring in block order: smallest colour that no neighbour has. Neighbours share a mass block, or an entry of W.
Colouring colour(Delassus& W) {
  const bool factored = W.is_factored();
  const BlockRows& graph = factored ? W.jacobian() : W.matrix();
  const int n = W.blocks();
  // For each column group, a bit set of the colours that already touch it; 64 at a time.
  std::vector<int> colour_of(n, -1);
  int colours = 0;
  if (factored) {
    std::vector<std::vector<bool>> used(graph.columns + 1);
    for (int i = 0; i < n; ++i) {
      int c = 0;
      const auto taken = [&](int candidate) {
        for (int e = graph.entry_start[i]; e < graph.entry_start[i + 1]; ++e) {
          const auto& list = used[graph.entries[e].column];
          if (candidate < static_cast<int>(list.size()) && list[candidate]) return true;
        }
        return false;
      };
      while (taken(c)) ++c;
      for (int e = graph.entry_start[i]; e < graph.entry_start[i + 1]; ++e) {
        auto& list = used[graph.entries[e].column];
        if (c >= static_cast<int>(list.size())) list.resize(c + 1, false);
        list[c] = true;
      }
      colour_of[i] = c;
      colours = std::max(colours, c + 1);
    }
  } else {
    std::vector<int> block_of(W.rows());
    for (int i = 0; i < n; ++i) {
      std::fill(block_of.begin() + W.K().start[i], block_of.begin() + W.K().start[i + 1], i);
    }
    std::vector<int> seen(n + 1, -1);
    for (int i = 0; i < n; ++i) {
      for (int e = graph.entry_start[i]; e < graph.entry_start[i + 1]; ++e) {
        const int c = colour_of[block_of[graph.entries[e].column]];
        if (c >= 0) seen[c] = i;
      }
      int c = 0;
      while (seen[c] == i) ++c;
      colour_of[i] = c;
      colours = std::max(colours, c + 1);
    }
  }
  Colouring result;
  result.colour_start.assign(colours + 1, 0);
  for (const int c : colour_of) ++result.colour_start[c + 1];
  for (int c = 0; c < colours; ++c) result.colour_start[c + 1] += result.colour_start[c];
  result.order.resize(n);
  std::vector<int> next(result.colour_start.begin(), result.colour_start.end() - 1);
  for (int i = 0; i < n; ++i) result.order[next[colour_of[i]]++] = i;
  return result;
}

}  // namespace

void coloured_sor(Run& run) {
  Delassus& W = run.W;
  const SetProduct& K = W.K();
  const BlockStep step(W);
  RowAccess rows(W, run.lambda);
  const Colouring colouring = colour(W);
  const bool exact = run.options.friction == Friction::exact;
  const double sharpness = run.options.sharpness;
  const int threads = std::max(1, run.options.threads);
  const auto update = [&](int i) {
    const ConvexSet& set = K.sets[i];
    std::array<double, max_block> u{};
    std::array<double, max_block> trial{};
    double* lambda = run.lambda.data() + K.start[i];
    rows.velocity(i, run.lambda, u.data());
    if (exact) u[0] += de_saxce(set, u.data());
    step.descend(i, run.options.relaxation, lambda, u.data(), trial.data());
    project(set, trial.data(), trial.data());
    for (int k = 0; k < set.dim; ++k) {
      trial[k] = sharpness * (trial[k] - lambda[k]);
      lambda[k] += trial[k];
    }
    rows.changed(i, trial.data());
  };

  Vector u(W.rows());
  bool stop = false;
  std::barrier sync(threads);
  const auto work = [&](int thread) {
    for (int iteration = 0;; ++iteration) {
      if (thread == 0) {
        run.iterations = iteration;
        if (time_to_measure(iteration)) {
          rows.velocities(run.lambda, u);
          stop = run.monitor.observe(iteration, run.lambda, u);
        }
      }
      sync.arrive_and_wait();
      if (stop) return;
      for (std::size_t c = 0; c + 1 < colouring.colour_start.size(); ++c) {
        const int first = colouring.colour_start[c];
        const int count = colouring.colour_start[c + 1] - first;
        const int begin = first + count * thread / threads;
        const int end = first + count * (thread + 1) / threads;
        for (int k = begin; k < end; ++k) update(colouring.order[k]);
        sync.arrive_and_wait();
      }
    }
  };
  std::vector<std::jthread> team;
  team.reserve(threads - 1);
  for (int t = 1; t < threads; ++t) team.emplace_back(work, t);
  work(0);
}

}  // namespace urto
