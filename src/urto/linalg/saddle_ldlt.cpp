#include "urto/linalg/saddle_ldlt.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "urto/linalg/lanes.h"

namespace urto {
namespace {

constexpr std::size_t most_factors = 256;  // an island that is handed on has dozens of guesses
constexpr long most_values = 2'000'000;    // of all factors but the one in use

// One row block of a step problem has at most six rows (max_block); joints are split into such.
constexpr int most_rows = 12;

constexpr int body_size = 6;  // the width of most entries of J, and the size of most nodes

// What one entry of J adds to the rows of its block, and to the sizes of their terms. A mechanism
// at rest has no flux but rounding: what gravity would do without the joints, `free`, counts too.
void add_fluxes(const double* values, int width, int rows, const double* x, const double* free,
                double* sum, double* size) {
  int a = 0;
  for (; width == body_size && a + 1 < rows; a += 2) {
    Pair flux = both(0), terms = both(0);
    const auto add = [&](const Pair& v, int c) {
      const Pair moving = v * both(x[c]);
      flux += moving;
      terms += magnitude(moving) + magnitude(v * both(free[c]));
    };
    for (int c = 0; c < body_size; c += 2) {
      const PairOfColumns v = columns(values + a * body_size + c, values + (a + 1) * body_size + c);
      add(v.first, c);
      add(v.second, c + 1);
    }
    store(load(sum + a) + flux, sum + a);
    store(load(size + a) + terms, size + a);
  }
  for (; a < rows; ++a) {
    double flux = 0;
    double terms = 0;
    for (int c = 0; c < width; ++c) {
      const double v = values[a * width + c];
      flux += v * x[c];
      terms += std::abs(v * x[c]) + std::abs(v * free[c]);
    }
    sum[a] += flux;
    size[a] += terms;
  }
}

// r = a − H x for one node of H; returns ‖a‖².
double subtract_inertia(const double* H, int n, const double* x, const double* a, double* r) {
  double size = 0;
  for (int d = 0; d < n; ++d) size += a[d] * a[d];
  if (n == body_size) {
    Column<body_size> left = Column<body_size>::of(a);
    for (int c = 0; c < body_size; ++c)
      left.subtract(Column<body_size>::of(H + c * body_size), x[c]);
    left.store_to(r);
    return size;
  }
  std::copy_n(a, n, r);
  for (int c = 0; c < n; ++c) {
    for (int d = 0; d < n; ++d) r[d] -= H[c * n + d] * x[c];
  }
  return size;
}

// What one entry of J adds to Jᵀλ.
void add_reaction(const double* values, int width, int rows, const double* lambda, double* out) {
  if (width == body_size) {
    Column<body_size> sum = Column<body_size>::of(out);
    for (int a = 0; a < rows; ++a)
      sum.add(Column<body_size>::of(values + a * body_size), lambda[a]);
    sum.store_to(out);
    return;
  }
  for (int a = 0; a < rows; ++a) {
    for (int c = 0; c < width; ++c) out[c] += values[a * width + c] * lambda[a];
  }
}

// What one entry of J adds to J diag(H)⁻¹ Jᵀ of its rows, with that diagonal of H.
void add_inverse_inertia(const double* values, int width, int rows, const double* mass,
                         double* out) {
  int a = 0;
  for (; width == body_size && a + 1 < rows; a += 2) {
    Pair sum = both(0);
    for (int c = 0; c < body_size; c += 2) {
      const PairOfColumns v = columns(values + a * body_size + c, values + (a + 1) * body_size + c);
      sum += v.first * v.first / both(mass[c]);
      sum += v.second * v.second / both(mass[c + 1]);
    }
    store(load(out + a) + sum, out + a);
  }
  for (; a < rows; ++a) {
    double sum = 0;
    for (int c = 0; c < width; ++c) {
      const double v = values[a * width + c];
      sum += v * v / mass[c];
    }
    out[a] += sum;
  }
}

// One entry of J as a block of the factor, in columns of `rows` or in rows of `width`: from zero,
// that no −0 gets in.
void place_entry(const double* values, int width, int rows, bool as_given, double* out) {
  if (!as_given) {
    for (int k = 0; k < rows * width; ++k) out[k] = 0.0 + values[k];
    return;
  }
  for (int a = 0; a < rows; ++a) {
    for (int c = 0; c < width; ++c) out[c * rows + a] = 0.0 + values[a * width + c];
  }
}

}  // namespace

// Sizes and edges of the graph: nodes first, then row blocks; edges of J, then those of H.
void SaddleLdlt::describe() {
  const auto& [H, J, nodes, couplings, blocks, heights, node_of_dof, place, compliance] = system_;
  sizes_.clear();
  edges_.clear();
  whole_entries_ = true;
  for (const int k : nodes) sizes_.push_back(H->size(k));
  for (int r = 0; r < static_cast<int>(blocks.size()); ++r) {
    const int node = static_cast<int>(sizes_.size());
    sizes_.push_back(height(r));
    const std::size_t first = edges_.size();
    for (int e = J->entry_start[blocks[r]]; e < J->entry_start[blocks[r] + 1]; ++e) {
      const int k = node_of_dof[J->entries[e].column];
      edges_.emplace_back(node, place[k]);
      const bool again =
          std::find(edges_.begin() + first, edges_.end() - 1, edges_.back()) != edges_.end() - 1;
      whole_entries_ = whole_entries_ && J->entries[e].width == H->size(k) && !again;
    }
  }
  for (const int c : couplings)
    edges_.emplace_back(place[H->couplings[c].row], place[H->couplings[c].column]);
  pattern_.clear();
  pattern_.push_back(static_cast<int>(nodes.size()));
  pattern_.push_back(static_cast<int>(sizes_.size()));
  pattern_.insert(pattern_.end(), sizes_.begin(), sizes_.end());
  for (const auto& [a, b] : edges_) {
    pattern_.push_back(a);
    pattern_.push_back(b);
  }
}

void SaddleLdlt::set(const System& system) {
  system_ = system;
  describe();
  const auto found = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const auto& f) { return f->pattern == pattern_; });
  if (found != kept_.end()) {
    std::rotate(kept_.begin(), found, std::next(found));
  } else {
    long values = 0;
    std::size_t fit = 0;
    while (fit < kept_.size() && fit + 1 < most_factors) {
      values += kept_[fit]->ldlt.factor_size();
      if (values > most_values) break;
      ++fit;
    }
    kept_.resize(fit);
    kept_.insert(kept_.begin(), std::make_unique<Factor>());
    factor().pattern = pattern_;
    factor().ldlt.analyse(sizes_, edges_);
    factor().signs.assign(sizes_.size(), -1);
    std::fill_n(factor().signs.begin(), system.nodes.size(), 1);
  }
  factor().ldlt.forget();  // whatever it was filled with before
  if (rhs_.size() < rows()) rhs_.resize(rows());
}

// The edges and the diagonal of one row block.
void SaddleLdlt::fill_rows(int r, int& edge, double relative_regularisation) {
  BlockLdlt& ldlt = factor().ldlt;
  const BlockMatrix& H = *system_.H;
  const BlockRows& J = *system_.J;
  const int node = static_cast<int>(system_.nodes.size()) + r;
  const int i = system_.blocks[r];
  const int rows = height(r);
  std::array<double, most_rows> own{};  // about the diagonal of J H⁻¹ Jᵀ
  for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e, ++edge) {
    const BlockRows::Entry& entry = J.entries[e];
    const int k = system_.node_of_dof[entry.column];
    const int first = entry.column - H.start[k];
    const double* values = J.values.data() + entry.offset;
    const bool as_given = ldlt.edge_order(edge).first == node;
    double* out = ldlt.edge(edge);
    add_inverse_inertia(values, entry.width, rows,
                        mass_diagonal_.data() + row(system_.place[k]) + first, own.data());
    if (whole_entries_) {
      place_entry(values, entry.width, rows, as_given, out);
      continue;
    }
    for (int a = 0; a < rows; ++a) {
      for (int c = 0; c < entry.width; ++c) {
        out[as_given ? (first + c) * rows + a : a * H.size(k) + first + c] +=
            values[a * entry.width + c];
      }
    }
  }
  double* D = ldlt.diagonal(node);
  std::fill_n(D, rows * rows, 0.0);
  for (int a = 0; a < rows; ++a) {
    const double soft = system_.compliance.empty() ? 0 : system_.compliance[J.row_start[i] + a];
    D[a * rows + a] = -soft - relative_regularisation * (own[a] > 0 ? own[a] : 1);
  }
}

bool SaddleLdlt::factorize(double relative_regularisation) {
  BlockLdlt& ldlt = factor().ldlt;
  const BlockMatrix& H = *system_.H;
  whole_entries_ ? ldlt.clear_fill() : ldlt.clear();
  mass_diagonal_.resize(rows());
  for (int n = 0; n < static_cast<int>(system_.nodes.size()); ++n) {
    const auto block = H.block(system_.nodes[n]);
    std::copy(block.data(), block.data() + block.size(), ldlt.diagonal(n));
    for (int d = 0; d < block.rows(); ++d) mass_diagonal_[row(n) + d] = block(d, d);
  }
  int edge = 0;
  for (int r = 0; r < static_cast<int>(system_.blocks.size()); ++r)
    fill_rows(r, edge, relative_regularisation);
  for (const int c : system_.couplings) {
    const auto block = H.coupling(c);
    const bool as_given = ldlt.edge_order(edge).first == system_.place[H.couplings[c].row];
    double* out = ldlt.edge(edge++);
    if (as_given) {
      Eigen::Map<Matrix>(out, block.rows(), block.cols()) = block;
    } else {
      Eigen::Map<Matrix>(out, block.cols(), block.rows()) = block.transpose();
    }
  }
  return ldlt.factorize(factor().signs);
}

// a − H x + Jᵀλ into rhs_; returns ‖a‖².
double SaddleLdlt::momentum_residual(const Data& data, const Vector& x, const Vector& lambda) {
  const BlockMatrix& H = *system_.H;
  const BlockRows& J = *system_.J;
  double size = 0;
  for (int n = 0; n < static_cast<int>(system_.nodes.size()); ++n) {
    const int k = system_.nodes[n];
    const double* a = data.a->data() + H.start[k];
    double* r = rhs_.data() + row(n);
    size += subtract_inertia(H.values.data() + H.offset[k], H.size(k), x.data() + H.start[k], a, r);
  }
  for (const int c : system_.couplings) {
    const BlockMatrix::Coupling& pair = H.couplings[c];
    const auto block = H.coupling(c);
    rhs_.segment(row(system_.place[pair.row]), block.rows()) -=
        block.lazyProduct(x.segment(H.start[pair.column], block.cols()));
    rhs_.segment(row(system_.place[pair.column]), block.cols()) -=
        block.transpose().lazyProduct(x.segment(H.start[pair.row], block.rows()));
  }
  for (const int i : data.loads) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = J.entries[e];
      const int k = system_.node_of_dof[entry.column];
      double* at = rhs_.data() + row(system_.place[k]) + (entry.column - H.start[k]);
      add_reaction(J.values.data() + entry.offset, entry.width, J.height(i),
                   lambda.data() + J.row_start[i], at);
    }
  }
  return size;
}

// −(J x + Eλ + b) into rhs_; returns its square relative to the sizes of its terms.
double SaddleLdlt::row_residual(const Data& data, const Vector& x, const Vector& lambda) {
  const BlockMatrix& H = *system_.H;
  const BlockRows& J = *system_.J;
  const int nodes = static_cast<int>(system_.nodes.size());
  double violation = 0;
  double flow = 0;
  for (int r = 0; r < static_cast<int>(system_.blocks.size()); ++r) {
    const int i = system_.blocks[r];
    const int first = J.row_start[i];
    const int rows = height(r);
    std::array<double, most_rows> sum;
    std::array<double, most_rows> size;
    for (int a = 0; a < rows; ++a) {
      const double b = (*data.b)[first + a];
      const double soft = system_.compliance.empty() ? 0 : system_.compliance[first + a];
      sum[a] = b + soft * lambda[first + a];
      size[a] = std::abs(b);
    }
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = J.entries[e];
      const int k = system_.node_of_dof[entry.column];
      const double* free = free_.data() + row(system_.place[k]) + (entry.column - H.start[k]);
      add_fluxes(J.values.data() + entry.offset, entry.width, rows, x.data() + entry.column, free,
                 sum.data(), size.data());
    }
    double* u = rhs_.data() + row(nodes + r);
    for (int a = 0; a < rows; ++a) {
      violation += sum[a] * sum[a];
      flow += size[a] * size[a];
      u[a] = -sum[a];
    }
  }
  return violation / (flow > 0 ? flow : 1);
}

// Left in rhs_ as the right-hand side of a correction; returns its size relative to the data's.
double SaddleLdlt::residual(const Data& data, const Vector& x, const Vector& lambda) {
  const double size = momentum_residual(data, x, lambda);
  const double rows = row_residual(data, x, lambda);
  double momentum = 0;
  for (int n = 0; n < static_cast<int>(system_.nodes.size()); ++n)
    momentum += rhs_.segment(row(n), system_.H->size(system_.nodes[n])).squaredNorm();
  return std::sqrt(momentum / (size > 0 ? size : 1)) + std::sqrt(rows);
}

double SaddleLdlt::refine(const Data& data, double goal, int most, Vector& x, Vector& lambda) {
  const BlockMatrix& H = *system_.H;
  const BlockRows& J = *system_.J;
  const int nodes = static_cast<int>(system_.nodes.size());
  free_.resize(rows());
  for (int n = 0; n < nodes; ++n) {
    const int k = system_.nodes[n];
    for (int d = 0; d < H.size(k); ++d)
      free_[row(n) + d] = (*data.a)[H.start[k] + d] / mass_diagonal_[row(n) + d];
  }
  double last = std::numeric_limits<double>::infinity();
  for (int round = 0;; ++round) {
    const double now = residual(data, x, lambda);
    if (now <= goal || !(now < 0.5 * last) || round == most) return now;
    if (round > 0) last = now;  // the start may be nearer than the first correction
    solve(rhs_.data());
    for (int n = 0; n < nodes; ++n) {
      const int k = system_.nodes[n];
      x.segment(H.start[k], H.size(k)) += rhs_.segment(row(n), H.size(k));
    }
    for (int r = 0; r < static_cast<int>(system_.blocks.size()); ++r) {
      lambda.segment(J.row_start[system_.blocks[r]], height(r)) -=
          rhs_.segment(row(nodes + r), height(r));
    }
  }
}

}  // namespace urto
