// Multi-threaded projected SOR. Blocks that share no body (no entry of W) get the same colour and
// are relaxed at the same time; colours follow each other. The order of operations does not depend
// on the number of threads, so neither do the bits. Source: recipe 000 §2.8 (multithreaded SOR:
// "colour or lock"). Rate as SOR in colour order.
#include <algorithm>
#include <barrier>
#include <thread>

#include "urto/solver/projected_relaxation.h"

namespace urto {
namespace {

struct Colouring {
  std::vector<int> order;         ///< blocks sorted by colour
  std::vector<int> colour_start;  ///< range of each colour in `order`
};

// Greedy colouring in block order: the smallest colour that no neighbour has. Factored problems:
// neighbours share a body, so each body keeps the colours that touch it.
std::vector<int> colours_by_body(const BlockRows& J) {
  std::vector<int> colour_of(J.blocks());
  std::vector<std::vector<bool>> used(J.columns + 1);
  for (int i = 0; i < J.blocks(); ++i) {
    const auto taken = [&](std::size_t c) {
      for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
        const auto& list = used[J.entries[e].column];
        if (c < list.size() && list[c]) return true;
      }
      return false;
    };
    std::size_t c = 0;
    while (taken(c)) ++c;
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      auto& list = used[J.entries[e].column];
      if (c >= list.size()) list.resize(c + 1, false);
      list[c] = true;
    }
    colour_of[i] = static_cast<int>(c);
  }
  return colour_of;
}

// Otherwise neighbours have an entry of W in common.
std::vector<int> colours_by_matrix(const BlockRows& W) {
  std::vector<int> block_of(W.rows());
  for (int i = 0; i < W.blocks(); ++i) {
    std::fill(block_of.begin() + W.row_start[i], block_of.begin() + W.row_start[i + 1], i);
  }
  std::vector<int> colour_of(W.blocks(), -1);
  std::vector<int> seen_by(W.blocks() + 1, -1);
  for (int i = 0; i < W.blocks(); ++i) {
    for (int e = W.entry_start[i]; e < W.entry_start[i + 1]; ++e) {
      const int c = colour_of[block_of[W.entries[e].column]];
      if (c >= 0) seen_by[c] = i;
    }
    int c = 0;
    while (seen_by[c] == i) ++c;
    colour_of[i] = c;
  }
  return colour_of;
}

Colouring colour(Delassus& W) {
  const std::vector<int> colour_of =
      W.is_factored() ? colours_by_body(W.jacobian()) : colours_by_matrix(W.matrix());
  const int colours =
      colour_of.empty() ? 0 : 1 + *std::max_element(colour_of.begin(), colour_of.end());
  Colouring result;
  result.colour_start.assign(colours + 1, 0);
  for (const int c : colour_of) ++result.colour_start[c + 1];
  for (int c = 0; c < colours; ++c) result.colour_start[c + 1] += result.colour_start[c];
  result.order.resize(colour_of.size());
  std::vector<int> next(result.colour_start.begin(), result.colour_start.end() - 1);
  for (int i = 0; i < static_cast<int>(colour_of.size()); ++i)
    result.order[next[colour_of[i]]++] = i;
  return result;
}

}  // namespace

void coloured_sor(Run& run) {
  ProjectedRelaxation relaxation;
  relaxation.begin(run);
  const Colouring colouring = colour(run.W);
  const int threads = run.options.threads;
  Vector u(run.W.rows());
  bool stop = false;
  std::barrier sync(threads);
  const auto work = [&](int thread) {
    for (int iteration = 0;; ++iteration) {
      if (thread == 0) {
        run.iterations = iteration;
        if (run.monitor.is_due(iteration)) {
          relaxation.velocities(u);
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
        for (int k = begin; k < end; ++k) relaxation.relax(colouring.order[k]);
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
