#include "urto/solver/packed_rows.h"

#include <algorithm>
#include <cmath>

namespace urto {
namespace {

// A = C Cᵀ, lower, column-major; A is known to be positive definite.
void cholesky(int n, const double* A, double* C) {
  for (int c = 0; c < n; ++c) {
    double pivot = A[c * n + c];
    for (int k = 0; k < c; ++k) pivot -= C[k * n + c] * C[k * n + c];
    pivot = std::sqrt(std::max(pivot, 0.0));
    const double inverse = pivot > 0 ? 1 / pivot : 0;
    for (int r = 0; r < c; ++r) C[c * n + r] = 0;
    C[c * n + c] = pivot;
    for (int r = c + 1; r < n; ++r) {
      double sum = A[c * n + r];
      for (int k = 0; k < c; ++k) sum -= C[k * n + r] * C[k * n + c];
      C[c * n + r] = sum * inverse;
    }
  }
}

// The compliance of one row block, if it is diagonal and the same along both tangents.
bool simple_compliance(const SparseMatrix& E, int first, int dim, double* out) {
  out[0] = out[1] = 0;
  if (E.nonZeros() == 0) return true;
  std::array<double, max_block> diagonal{};
  for (int k = 0; k < dim; ++k) {
    for (SparseMatrix::InnerIterator it(E, first + k); it; ++it) {
      if (it.value() == 0) continue;
      if (it.row() != first + k) return false;
      diagonal[k] = it.value();
    }
  }
  out[0] = diagonal[0];
  out[1] = diagonal[1];
  return dim == 2 || diagonal[1] == diagonal[2];
}

// All lines as one array.
double* numbers(std::vector<BodyLine>& lines) {
  return lines.empty() ? nullptr : static_cast<double*>(lines.front().y);
}
const double* numbers(const std::vector<BodyLine>& lines) {
  return lines.empty() ? nullptr : static_cast<const double*>(lines.front().y);
}

}  // namespace

int PackedRows::line_of(const BlockRows::Entry& entry) const {
  return line_[view_.node_of_dof[entry.column]];
}

bool PackedRows::set(const RowView& view, bool contacts) {
  if (view.inverse_mass == nullptr || view.W != nullptr || view.skewed != nullptr ||
      view.node_of_dof.empty())
    return false;
  view_ = view;
  if (!lay_out()) return false;
  factorize_masses();
  const int blocks = static_cast<int>(view_.blocks.size());
  runs_.clear();
  contacts_.clear();
  turns_.clear();
  others_.clear();
  entries_.clear();
  values_.clear();
  record_.resize(blocks);
  at_.resize(blocks);
  int at = 0;
  for (int p = 0; p < blocks; ++p) {
    at_[p] = at;
    at += pack_block(p, contacts) ? 4 : 8;
  }
  forces_.assign(at, 0.0);
  return true;
}

// Lines of the bodies. False if an entry of J is not a whole node.
bool PackedRows::lay_out() {
  const BlockMatrix& mass = *view_.inverse_mass;
  if (static_cast<int>(line_.size()) < mass.blocks()) {
    line_.resize(mass.blocks());
    factor_.resize(mass.blocks());
  }
  int lines = 0, values = 0;
  for (const int k : view_.nodes) {
    line_[k] = lines;
    factor_[k] = values;
    lines += (mass.size(k) + 7) / 8;
    values += mass.size(k) * mass.size(k);
  }
  y_.resize(lines);
  free_.resize(lines);
  if (static_cast<int>(factors_.size()) < values) factors_.resize(values);
  const BlockRows& J = view_.problem->J;
  for (const int i : view_.blocks) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = J.entries[e];
      const int k = view_.node_of_dof[entry.column];
      if (entry.column != mass.start[k] || entry.width != mass.size(k)) return false;
    }
  }
  return true;
}

// C of each body and Cᵀ a.
void PackedRows::factorize_masses() {
  const BlockMatrix& mass = *view_.inverse_mass;
  std::fill(free_.begin(), free_.end(), BodyLine{});
  for (const int k : view_.nodes) {
    const int n = mass.size(k);
    double* C = factors_.data() + factor_[k];
    cholesky(n, mass.block(k).data(), C);
    const double* a = view_.problem->a.data() + mass.start[k];
    double* y = numbers(free_) + 8 * line_[k];
    for (int c = 0; c < n; ++c) {
      double sum = 0;
      for (int r = c; r < n; ++r) sum += C[c * n + r] * a[r];
      y[c] = sum;
    }
  }
}

// Rows of J C of one entry, `height` × its width; with `turn`, of the contact's own tangents.
void PackedRows::scaled_rows(const BlockRows::Entry& entry, int height, const double* turn,
                             double* out) const {
  const int n = entry.width;
  const double* C = factors_.data() + factor_[view_.node_of_dof[entry.column]];
  const double* J = view_.problem->J.values.data() + entry.offset;
  for (int r = 0; r < height; ++r) {
    for (int c = 0; c < n; ++c) {
      double sum = 0;
      for (int k = c; k < n; ++k) sum += J[r * n + k] * C[c * n + k];
      out[r * n + c] = sum;
    }
  }
  if (turn == nullptr || height != 3) return;
  for (int c = 0; c < n; ++c) {
    const double t1 = out[n + c], t2 = out[2 * n + c];
    out[n + c] = turn[0] * t1 - turn[1] * t2;
    out[2 * n + c] = turn[1] * t1 + turn[0] * t2;
  }
}

// True if the block is a contact of the kernel.
bool PackedRows::pack_block(int p, bool contacts) {
  const ConvexSet& set = view_.problem->K.sets[view_.blocks[p]];
  const bool contact = contacts && set.kind == SetKind::cone && set.dim <= 3 && pack_contact(p);
  if (!contact) pack_other(p);
  const BlockRows& J = view_.problem->J;
  const int i = view_.blocks[p];
  const bool pair = J.entry_start[i + 1] - J.entry_start[i] == 2;
  const Run::Kind kind = !contact ? Run::Kind::others
                         : pair   ? Run::Kind::pairs
                                  : Run::Kind::singles;
  // Other runs in between break a run of contacts, whose records and forces are consecutive.
  if (runs_.empty() || runs_.back().kind != kind)
    runs_.push_back({.kind = kind, .first = p, .count = 0, .record = std::max(record_[p], 0)});
  ++runs_.back().count;
  return contact;
}

bool PackedRows::pack_contact(int p) {
  const StepProblem& problem = *view_.problem;
  const BlockRows& J = problem.J;
  const int i = view_.blocks[p];
  const ConvexSet& set = problem.K.sets[i];
  const int entries = J.entry_start[i + 1] - J.entry_start[i];
  if (entries < 1 || entries > 2) return false;
  const BlockRows::Entry* entry = J.entries.data() + J.entry_start[i];
  for (int e = 0; e < entries; ++e) {
    if (entry[e].width > 6) return false;
  }
  if (entries == 2 && entry[0].column == entry[1].column) return false;
  PackedContact c{};
  c.body[1] = -1;
  std::array<double, 2> turn{};
  const int first = problem.K.start[i];
  if (!simple_compliance(*view_.E, first, set.dim, c.compliance)) return false;
  const double* W = view_.rows->diagonal.data() + view_.rows->start[i];
  if (!prepare_cone(W, set.dim, set.mu, c.local, turn.data())) return false;
  for (int e = 0; e < entries; ++e) {
    std::array<double, 18> G{};
    const int n = entry[e].width;
    scaled_rows(entry[e], set.dim, turn.data(), G.data());
    c.body[e] = line_of(entry[e]);
    for (int r = 0; r < set.dim; ++r) {
      for (int k = 0; k < std::min(n, 4); ++k) c.rows[12 * e + 4 * r + k] = G[r * n + k];
      for (int k = 4; k < n; ++k) {
        const int at = r < 2 ? 24 + 4 * e + 2 * r : 32 + 2 * e;
        c.rows[at + k - 4] = G[r * n + k];
      }
    }
  }
  const double* b = problem.b.data() + first;
  c.b[0] = b[0];
  c.b[1] = b[1];
  if (set.dim == 3) {
    c.b[1] = turn[0] * b[1] - turn[1] * b[2];
    c.b[2] = turn[1] * b[1] + turn[0] * b[2];
  }
  record_[p] = static_cast<int>(contacts_.size());
  contacts_.push_back(c);
  turns_.push_back(turn);
  return true;
}

void PackedRows::pack_other(int p) {
  const BlockRows& J = view_.problem->J;
  const int i = view_.blocks[p];
  const int height = J.height(i);
  record_[p] = ~static_cast<int>(others_.size());
  others_.push_back({.entry = static_cast<int>(entries_.size()),
                     .entries = J.entry_start[i + 1] - J.entry_start[i]});
  for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    const int values = static_cast<int>(values_.size());
    values_.resize(values + height * entry.width);
    scaled_rows(entry, height, nullptr, values_.data() + values);
    entries_.push_back({.at = 8 * line_of(entry), .width = entry.width, .values = values});
  }
}

// Own tangents: t₁' = c t₁ − s t₂, t₂' = s t₁ + c t₂.
void PackedRows::turn(int p, const double* given, double* own) const {
  const int dim = view_.problem->K.sets[view_.blocks[p]].dim;
  std::copy_n(given, dim, own);
  if (record_[p] < 0 || dim != 3) return;
  const auto& [c, s] = turns_[record_[p]];
  own[1] = c * given[1] - s * given[2];
  own[2] = s * given[1] + c * given[2];
}

void PackedRows::turn_back(int p, const double* own, double* given) const {
  const int dim = view_.problem->K.sets[view_.blocks[p]].dim;
  std::copy_n(own, dim, given);
  if (record_[p] < 0 || dim != 3) return;
  const auto& [c, s] = turns_[record_[p]];
  given[1] = c * own[1] + s * own[2];
  given[2] = c * own[2] - s * own[1];
}

void PackedRows::load(const Vector& lambda) {
  const SetProduct& K = view_.problem->K;
  for (int p = 0; p < static_cast<int>(at_.size()); ++p)
    turn(p, lambda.data() + K.start[view_.blocks[p]], force(p));
  refresh();
}

void PackedRows::refresh() {
  y_ = free_;
  for (int p = 0; p < static_cast<int>(at_.size()); ++p) changed(p, force(p));
}

void PackedRows::store(Vector& x, Vector& lambda) const {
  const SetProduct& K = view_.problem->K;
  for (int p = 0; p < static_cast<int>(at_.size()); ++p)
    turn_back(p, force(p), lambda.data() + K.start[view_.blocks[p]]);
  const BlockMatrix& mass = *view_.inverse_mass;
  for (const int k : view_.nodes) {
    const int n = mass.size(k);
    const double* C = factors_.data() + factor_[k];
    const double* y = numbers(y_) + 8 * line_[k];
    double* out = x.data() + mass.start[k];
    std::fill_n(out, n, 0.0);
    for (int c = 0; c < n; ++c) {
      for (int r = c; r < n; ++r) out[r] += C[c * n + r] * y[c];
    }
  }
}

void PackedRows::sweep(const Run& run, int step) {
  const Touching bodies = run.kind == Run::Kind::pairs ? Touching::two : Touching::one;
  sweep_contacts(bodies, contacts_.data() + run.record, run.count, step, force(run.first),
                 y_.data());
}

void PackedRows::velocities(const Run& run, int from, int count, double* u) const {
  if (run.kind == Run::Kind::others) {
    for (int k = 0; k < count; ++k) velocity(run.first + from + k, u + 8 * k);
    return;
  }
  const Touching bodies = run.kind == Run::Kind::pairs ? Touching::two : Touching::one;
  measure_contacts(bodies, contacts_.data() + run.record + from, count, force(run.first + from),
                   y_.data(), u);
}

void PackedRows::velocity(int p, double* u) const {
  const StepProblem& problem = *view_.problem;
  const int i = view_.blocks[p];
  const int first = problem.K.start[i];
  const int d = problem.K.sets[i].dim;
  const double* lambda = force(p);
  for (int k = 0; k < d; ++k) u[k] = problem.b[first + k];
  if (view_.E->nonZeros() > 0) {
    for (int k = 0; k < d; ++k) {
      for (SparseMatrix::InnerIterator it(*view_.E, first + k); it; ++it)
        u[k] += it.value() * lambda[it.row() - first];
    }
  }
  const Other& other = others_[~record_[p]];
  for (int e = other.entry; e < other.entry + other.entries; ++e) {
    const Entry& entry = entries_[e];
    const double* y = numbers(y_) + entry.at;
    const double* G = values_.data() + entry.values;
    for (int r = 0; r < d; ++r) {
      double sum = 0;
      for (int c = 0; c < entry.width; ++c) sum += G[r * entry.width + c] * y[c];
      u[r] += sum;
    }
  }
}

void PackedRows::changed(int p, const double* delta) {
  if (record_[p] >= 0) return change_contact(contacts_[record_[p]], delta);
  const Other& other = others_[~record_[p]];
  const int d = view_.problem->K.sets[view_.blocks[p]].dim;
  for (int e = other.entry; e < other.entry + other.entries; ++e) {
    const Entry& entry = entries_[e];
    double* y = numbers(y_) + entry.at;
    const double* G = values_.data() + entry.values;
    for (int r = 0; r < d; ++r) {
      for (int c = 0; c < entry.width; ++c) y[c] += G[r * entry.width + c] * delta[r];
    }
  }
}

void PackedRows::change_contact(const PackedContact& c, const double* delta) {
  for (int e = 0; e < (c.body[1] < 0 ? 1 : 2); ++e) {
    double* y = y_[c.body[e]].y;
    const double* first = c.rows + 12 * e;
    const double* last = c.rows + 24 + 4 * e;
    for (int k = 0; k < 4; ++k)
      y[k] += first[k] * delta[0] + first[4 + k] * delta[1] + first[8 + k] * delta[2];
    for (int k = 0; k < 2; ++k)
      y[4 + k] += last[k] * delta[0] + last[2 + k] * delta[1] + c.rows[32 + 2 * e + k] * delta[2];
  }
}

}  // namespace urto
