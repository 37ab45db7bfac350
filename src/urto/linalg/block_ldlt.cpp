#include "urto/linalg/block_ldlt.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/linalg/lanes.h"
#include "urto/linalg/sparse_factors.h"
#include "urto/memory_limit.h"

namespace urto {
namespace {

// Sizes that the compiler knows are worth a factor of two in every kernel below. Each entry is
// reduced in the order of the columns, whatever the sizes.

// C (m × n) −= A (m × k) Bᵀ (n × k), all column-major and packed; of a diagonal block only the
// lower triangle is asked for.
template <int M, int N, bool Lower>
void subtract_product(int m, int n, int k, const double* A, const double* B, double* C) {
  if constexpr (M > 0 && N > 0) {
    // Two columns of C in registers.
    for (int j = 0; j + 1 < N; j += 2) {
      Column<M> first = Column<M>::of(C + j * M), second = Column<M>::of(C + (j + 1) * M);
      for (int l = 0; l < k; ++l) {
        const Column<M> a = Column<M>::of(A + l * M);
        first.subtract(a, B[l * N + j]);
        second.subtract(a, B[l * N + j + 1]);
      }
      first.store_to(C + j * M);
      second.store_to(C + (j + 1) * M);
    }
    if constexpr (N % 2 == 1) {
      Column<M> last = Column<M>::of(C + (N - 1) * M);
      for (int l = 0; l < k; ++l) last.subtract(Column<M>::of(A + l * M), B[l * N + N - 1]);
      last.store_to(C + (N - 1) * M);
    }
  } else {
    for (int j = 0; j < n; ++j) {
      for (int l = 0; l < k; ++l) {
        for (int i = Lower ? j : 0; i < m; ++i) C[j * m + i] -= A[l * m + i] * B[l * n + j];
      }
    }
  }
}

// The same of a diagonal block, a pair of columns from its diagonal on.
template <int M>
void subtract_lower_product(int k, const double* A, const double* B, double* C) {
  const auto two_columns = [&](auto J) {
    constexpr int j = J, left = M - j;
    Column<left> first = Column<left>::of(C + j * M + j);
    Column<left> second = Column<left>::of(C + (j + 1) * M + j);
    for (int l = 0; l < k; ++l) {
      const Column<left> a = Column<left>::of(A + l * M + j);
      first.subtract(a, B[l * M + j]);
      second.subtract(a, B[l * M + j + 1]);
    }
    first.store_to(C + j * M + j);
    second.store_to(C + (j + 1) * M + j);
  };
  if constexpr (M > 1) two_columns(Size<0>());
  if constexpr (M > 3) two_columns(Size<2>());
  if constexpr (M > 5) two_columns(Size<4>());
  if constexpr (M % 2 == 1) {
    for (int l = 0; l < k; ++l) C[M * M - 1] -= A[l * M + M - 1] * B[l * M + M - 1];
  }
}

void subtract_product(int m, int n, int k, const double* A, const double* B, double* C) {
  with_size(m, [&](auto M) {
    with_size(n, [&](auto N) { subtract_product<M, N, false>(m, n, k, A, B, C); });
  });
}

void subtract_lower_product(int m, int k, const double* A, const double* B, double* C) {
  with_size(m, [&](auto M) {
    if constexpr (M > 0)
      subtract_lower_product<M>(k, A, B, C);
    else
      subtract_product<0, 0, true>(m, m, k, A, B, C);
  });
}

// Cholesky of sign·D in place (lower, column-major, reciprocal diagonal kept); false if a pivot is
// not positive. What is left in the upper triangle means nothing.
template <int N>
bool cholesky(double* D, int n, double sign) {
  bool definite = true;
  const auto is_pivot = [](double x) { return x > 0 && std::isfinite(x); };
  if constexpr (N > 0) {
    Column<N> column[N];
    for (int j = 0; j < N; ++j) {
      column[j] = Column<N>::of(D + j * N);
      column[j].scale(sign);
    }
    unrolled<N>([&](auto j) {
      const double pivot = column[j].template at<j>();
      definite = definite && is_pivot(pivot);
      const double inverse = 1 / std::sqrt(pivot);
      column[j].scale(inverse);
      column[j].store_to(D + j * N);
      D[j * N + j] = inverse;
      unrolled<N - 1 - j>([&](auto k) {
        constexpr int l = j + 1 + k;
        column[l].template subtract<l / 2>(column[j], column[j].template at<l>());
      });
    });
  } else {
    for (int j = 0; j < n && definite; ++j) {
      double pivot = sign * D[j * n + j];
      for (int k = 0; k < j; ++k) pivot -= D[k * n + j] * D[k * n + j];
      definite = is_pivot(pivot);
      const double inverse = 1 / std::sqrt(pivot);
      D[j * n + j] = inverse;
      for (int i = j + 1; i < n; ++i) {
        double sum = sign * D[j * n + i];
        for (int k = 0; k < j; ++k) sum -= D[k * n + i] * D[k * n + j];
        D[j * n + i] = sum * inverse;
      }
    }
  }
  return definite;
}

bool cholesky(double* D, int n, double sign) {
  return with_size(n, [&](auto N) { return cholesky<N>(D, n, sign); });
}

// X (m × n) ← X (sign·L Lᵀ)⁻¹, X column-major, L as left by `cholesky`.
template <int M, int N>
void divide_right(const double* L, int n, double sign, double* X, int m) {
  if constexpr (N > 0) n = N;
  if constexpr (M > 0 && N > 0) {
    Column<M> x[N];
    unrolled<N>([&](auto j) {
      x[j] = Column<M>::of(X + j * M);
      for (int k = 0; k < j; ++k) x[j].subtract(x[k], L[k * N + j]);
      x[j].scale(L[j * N + j]);
    });
    unrolled<N>([&](auto back) {
      constexpr int j = N - 1 - back;
      for (int k = j + 1; k < N; ++k) x[j].subtract(x[k], L[j * N + k]);
      x[j].scale(L[j * N + j]);
    });
    for (int j = 0; j < N; ++j) {
      if (sign < 0) x[j].scale(-1);
      x[j].store_to(X + j * M);
    }
  } else {
    for (int j = 0; j < n; ++j) {
      for (int k = 0; k < j; ++k) {
        for (int i = 0; i < m; ++i) X[j * m + i] -= X[k * m + i] * L[k * n + j];
      }
      for (int i = 0; i < m; ++i) X[j * m + i] *= L[j * n + j];
    }
    for (int j = n - 1; j >= 0; --j) {
      for (int k = j + 1; k < n; ++k) {
        for (int i = 0; i < m; ++i) X[j * m + i] -= X[k * m + i] * L[j * n + k];
      }
      for (int i = 0; i < m; ++i) X[j * m + i] *= L[j * n + j];
    }
    if (sign < 0) {
      for (int i = 0; i < m * n; ++i) X[i] = -X[i];
    }
  }
}

void divide_right(const double* L, int n, double sign, double* X, int m) {
  with_size(m,
            [&](auto M) { with_size(n, [&](auto N) { divide_right<M, N>(L, n, sign, X, m); }); });
}

// y (m) −= L (m × n) x, or its transpose y (n) −= Lᵀ x (m).
void subtract(const double* L, int m, int n, const double* x, double* y) {
  with_size(m, [&](auto M) {
    if constexpr (M > 0) {
      Column<M> sum = Column<M>::of(y);
      for (int c = 0; c < n; ++c) sum.subtract(Column<M>::of(L + c * M), x[c]);
      sum.store_to(y);
    } else {
      for (int c = 0; c < n; ++c) {
        for (int r = 0; r < m; ++r) y[r] -= L[c * m + r] * x[c];
      }
    }
  });
}

void subtract_transposed(const double* L, int m, int n, const double* x, double* y) {
  with_size(m, [&](auto M) {
    int c = 0;
    if constexpr (M > 0) {
      for (; c + 1 < n; c += 2)
        store(load(y + c) - products<M>(L + c * M, L + (c + 1) * M, x), y + c);
    }
    for (; c < n; ++c) {
      double sum = 0;
      for (int r = 0; r < m; ++r) sum += L[c * m + r] * x[r];
      y[c] -= sum;
    }
  });
}

// What a factor will hold: numbers, and for each pair of neighbours of a node the place of a block.
struct Fill {
  double numbers = 0, places = 0;

  void add(int size, int degree, double neighbours) {
    numbers += static_cast<double>(size) * degree;
    places += 0.5 * neighbours * (neighbours + 1);
    constexpr double most = std::numeric_limits<int>::max();
    if (numbers > most || places > most) {
      throw InputError("a linear system",
                       fmt::format("factors of {:.3g} numbers and more", numbers),
                       "at most 2^31: fewer bodies that are joined, or less densely");
    }
    // Asked now and then: where bodies are joined densely, this grows while it is found.
    constexpr double often = 1e6;
    if (numbers + places < next_) return;
    next_ = numbers + places + often;
    require_memory(8 * numbers + 4 * places, "a linear system",
                   fmt::format("factors of {:.3g} numbers", numbers));
  }

 private:
  double next_ = 1e6;
};

// Order of least degree (counted in scalar rows) on the graph of blocks, ties by node number:
// deterministic. Returns, for each node in the order, its neighbours at the time it is eliminated.
std::vector<std::vector<int>> eliminate(std::span<const int> sizes,
                                        std::span<const std::pair<int, int>> edges,
                                        std::vector<int>& order) {
  const int n = static_cast<int>(sizes.size());
  std::vector<std::vector<int>> adjacent(n);
  for (const auto& [a, b] : edges) {
    adjacent[a].push_back(b);
    adjacent[b].push_back(a);
  }
  for (auto& list : adjacent) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  const auto degree = [&](int node) {
    return std::accumulate(adjacent[node].begin(), adjacent[node].end(), 0,
                           [&](int sum, int k) { return sum + sizes[k]; });
  };
  std::vector<int> current(n);
  std::set<std::pair<int, int>> queue;
  for (int k = 0; k < n; ++k) queue.emplace(current[k] = degree(k), k);
  std::vector<std::vector<int>> neighbours(n);
  Fill fill;
  for (const int size : sizes) fill.numbers += static_cast<double>(size) * size;
  order.clear();
  while (!queue.empty()) {
    const int k = queue.begin()->second;
    queue.erase(queue.begin());
    order.push_back(k);
    neighbours[k] = std::move(adjacent[k]);
    fill.add(sizes[k], current[k], static_cast<double>(neighbours[k].size()));
    for (const int i : neighbours[k]) {
      std::vector<int> merged;
      std::set_union(adjacent[i].begin(), adjacent[i].end(), neighbours[k].begin(),
                     neighbours[k].end(), std::back_inserter(merged));
      std::erase_if(merged, [&](int j) { return j == i || j == k; });
      adjacent[i] = std::move(merged);
      queue.erase({current[i], i});
      queue.emplace(current[i] = degree(i), i);
    }
  }
  return neighbours;
}

}  // namespace

void BlockLdlt::analyse(std::span<const int> sizes, std::span<const std::pair<int, int>> edges) {
  const int n = static_cast<int>(sizes.size());
  usable_ = false;
  size_.assign(sizes.begin(), sizes.end());
  start_.assign(n + 1, 0);
  std::partial_sum(size_.begin(), size_.end(), start_.begin() + 1);
  std::vector<std::vector<int>> neighbours = eliminate(sizes, edges, order_);
  std::vector<int> position(n);
  for (int p = 0; p < n; ++p) position[order_[p]] = p;
  place_blocks(position, neighbours);
  list_targets(position);
  edge_.clear();
  for (const auto& [a, b] : edges) {
    const bool a_first = position[a] < position[b];
    const int row = a_first ? b : a;
    const int column = a_first ? a : b;
    edge_.push_back({row, column, offset_of(row, column, position)});
  }
  list_fill();
  sign_.assign(n, 1);
}

void BlockLdlt::place_blocks(std::span<const int> position,
                             std::vector<std::vector<int>>& neighbours) {
  int offset = 0;
  diagonal_.assign(size_.size(), 0);
  for (std::size_t k = 0; k < size_.size(); ++k) {
    diagonal_[k] = offset;
    offset += size_[k] * size_[k];
  }
  off_start_.assign(1, 0);
  off_.clear();
  int largest = 0;
  for (const int k : order_) {
    auto& list = neighbours[k];
    std::sort(list.begin(), list.end(), [&](int a, int b) { return position[a] < position[b]; });
    int column = 0;
    for (const int i : list) {
      off_.push_back({i, offset});
      offset += size_[i] * size_[k];
      column += size_[i] * size_[k];
    }
    largest = std::max(largest, column);
    off_start_.push_back(static_cast<int>(off_.size()));
  }
  values_.assign(offset, 0.0);
  scratch_.assign(largest, 0.0);
}

int BlockLdlt::offset_of(int row, int column, std::span<const int> position) const {
  if (row == column) return diagonal_[row];
  const int p = position[column];
  for (int e = off_start_[p]; e < off_start_[p + 1]; ++e) {
    if (off_[e].node == row) return off_[e].offset;
  }
  assert(false);
  return -1;
}

void BlockLdlt::list_targets(std::span<const int> position) {
  target_start_.assign(1, 0);
  target_.clear();
  for (int p = 0; p < nodes(); ++p) {
    for (int j = off_start_[p]; j < off_start_[p + 1]; ++j) {
      for (int i = j; i < off_start_[p + 1]; ++i)
        target_.push_back(offset_of(off_[i].node, off_[j].node, position));
    }
    target_start_.push_back(static_cast<int>(target_.size()));
  }
}

void BlockLdlt::list_fill() {
  std::vector<int> of_edges;
  for (const Edge& e : edge_) of_edges.push_back(e.offset);
  std::sort(of_edges.begin(), of_edges.end());
  fill_.clear();
  for (int p = 0; p < nodes(); ++p) {
    for (int e = off_start_[p]; e < off_start_[p + 1]; ++e) {
      const int first = off_[e].offset, size = size_[off_[e].node] * size_[order_[p]];
      if (!std::binary_search(of_edges.begin(), of_edges.end(), first))
        fill_.emplace_back(first, size);
    }
  }
}

void BlockLdlt::clear() {
  usable_ = false;
  std::fill(values_.begin(), values_.end(), 0.0);
}

void BlockLdlt::clear_fill() {
  for (const auto& [first, size] : fill_) std::fill_n(values_.begin() + first, size, 0.0);
}

bool BlockLdlt::factorize(std::span<const int> sign, int* failed) {
  usable_ = false;
  std::copy(sign.begin(), sign.end(), sign_.begin());
  for (int p = 0; p < nodes(); ++p) {
    const int k = order_[p];
    const int n = size_[k];
    double* D = diagonal(k);
    if (!cholesky(D, n, sign_[k])) {
      if (failed != nullptr) *failed = k;
      return false;
    }
    double* kept = scratch_.data();
    for (int e = off_start_[p]; e < off_start_[p + 1]; ++e) {
      double* block = values_.data() + off_[e].offset;
      const int m = size_[off_[e].node];
      std::copy(block, block + m * n, kept);
      kept += m * n;
      divide_right(D, n, sign_[k], block, m);
    }
    // A_ij −= L_ik A_jkᵀ for all pairs of neighbours.
    int t = target_start_[p];
    const double* A_jk = scratch_.data();
    for (int j = off_start_[p]; j < off_start_[p + 1]; ++j) {
      const int rows_j = size_[off_[j].node];
      subtract_lower_product(rows_j, n, values_.data() + off_[j].offset, A_jk,
                             values_.data() + target_[t++]);
      for (int i = j + 1; i < off_start_[p + 1]; ++i) {
        subtract_product(size_[off_[i].node], rows_j, n, values_.data() + off_[i].offset, A_jk,
                         values_.data() + target_[t++]);
      }
      A_jk += rows_j * n;
    }
  }
  usable_ = true;
  return true;
}

void BlockLdlt::solve(double* x) const {
  if (!usable_) {
    std::fill_n(x, rows(), not_solved);
    return;
  }
  for (int p = 0; p < nodes(); ++p) {
    const int k = order_[p];
    const double* xk = x + start_[k];
    for (int e = off_start_[p]; e < off_start_[p + 1]; ++e) {
      const int m = size_[off_[e].node];
      const double* L = values_.data() + off_[e].offset;
      double* xi = x + start_[off_[e].node];
      subtract(L, m, size_[k], xk, xi);
    }
  }
  for (int k = 0; k < nodes(); ++k)
    divide_right(values_.data() + diagonal_[k], size_[k], sign_[k], x + start_[k], 1);
  for (int p = nodes() - 1; p >= 0; --p) {
    const int k = order_[p];
    double* xk = x + start_[k];
    for (int e = off_start_[p]; e < off_start_[p + 1]; ++e) {
      const int m = size_[off_[e].node];
      const double* L = values_.data() + off_[e].offset;
      const double* xi = x + start_[off_[e].node];
      subtract_transposed(L, m, size_[k], xi, xk);
    }
  }
}

}  // namespace urto
