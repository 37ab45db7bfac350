#include "urto/solver/row_access.h"

#include <numeric>

namespace urto {
namespace {

// x += Aᵀδ, row after row, with sizes that the compiler knows.
template <int Rows, int Columns>
void add_rows(const double* A, const double* delta, double* x) {
  for (int r = 0; r < Rows; ++r) {
    for (int c = 0; c < Columns; ++c) x[c] += A[r * Columns + c] * delta[r];
  }
}

}  // namespace

void RowAccess::set(Delassus& W, Vector& x, Vector& lambda) {
  const int blocks = W.blocks();
  if (static_cast<int>(all_.size()) < blocks) {
    all_.resize(blocks);
    std::iota(all_.begin(), all_.end(), 0);
  }
  const bool in_rows = !W.is_factored() && W.keeps_skew();
  set({.problem = &W.problem(),
       .rows = &W.row_blocks(),
       .E = &W.compliance(),
       .blocks = {all_.data(), static_cast<std::size_t>(blocks)},
       .inverse_mass = W.is_factored() ? &W.inverse_mass() : nullptr,
       .W = W.is_factored() ? nullptr : &W.matrix_as_is(),
       .skewed = W.is_symmetric() || in_rows ? nullptr : &W},
      x, lambda);
  if (!W.is_factored()) return;
  const int nodes = W.inverse_mass().blocks();
  if (static_cast<int>(all_.size()) < nodes) {
    const auto first = static_cast<int>(all_.size());
    all_.resize(nodes);
    std::iota(all_.begin() + first, all_.end(), first);
    view_.blocks = {all_.data(), static_cast<std::size_t>(blocks)};
  }
  view_.node_of_dof = W.node_of_dof();
  view_.nodes = {all_.data(), static_cast<std::size_t>(nodes)};
  if (x.size() != W.problem().dofs()) x.resize(W.problem().dofs());
}

void RowAccess::add_compliance(int first, int rows, double* u) const {
  for (int k = 0; k < rows; ++k) {
    for (SparseMatrix::InnerIterator it(*view_.E, first + k); it; ++it)
      u[k] += it.value() * (*lambda_)[it.row()];
  }
}

void RowAccess::refresh() {
  if (view_.skewed != nullptr) view_.skewed->apply_skew(*lambda_, skew_);
  if (view_.W == nullptr) recover();
}

void RowAccess::recover() {
  if (view_.mass != nullptr) return recover_coupled();
  if (view_.inverse_mass == nullptr) return;
  const BlockMatrix& mass = *view_.inverse_mass;
  for (const int k : view_.nodes) {
    x_->segment(mass.start[k], mass.size(k)).noalias() =
        mass.block(k).lazyProduct(view_.problem->a.segment(mass.start[k], mass.size(k)));
  }
  for (int p = 0; p < size(); ++p)
    changed(p, lambda_->data() + view_.problem->K.start[view_.blocks[p]]);
}

// In the order of the factor, then back to the problem's.
void RowAccess::recover_coupled() {
  if (!view_.held.empty()) {
    constexpr double goal = 1e-13;
    constexpr int corrections = 8;
    off_recovery_ =
        view_.mass->refine({.a = &view_.problem->a, .b = &view_.problem->b, .loads = view_.all},
                           goal, corrections, *x_, *lambda_);
    return;
  }
  const BlockRows& J = view_.problem->J;
  const auto& H = std::get<BlockMatrix>(view_.problem->H);
  if (work_.size() < view_.mass->rows()) work_.resize(view_.mass->rows());
  for (std::size_t n = 0; n < view_.nodes.size(); ++n) {
    const int k = view_.nodes[n];
    work_.segment(view_.mass->row(static_cast<int>(n)), H.size(k)) =
        view_.problem->a.segment(H.start[k], H.size(k));
  }
  for (const int i : view_.blocks) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = J.entries[e];
      const int k = view_.node_of_dof[entry.column];
      double* at = work_.data() + view_.mass->row(view_.place[k]) + (entry.column - H.start[k]);
      const double* values = J.values.data() + entry.offset;
      for (int r = 0; r < J.height(i); ++r) {
        const double force = (*lambda_)[J.row_start[i] + r];
        for (int c = 0; c < entry.width; ++c) at[c] += values[r * entry.width + c] * force;
      }
    }
  }
  view_.mass->solve(work_.data());
  for (std::size_t n = 0; n < view_.nodes.size(); ++n) {
    const int k = view_.nodes[n];
    x_->segment(H.start[k], H.size(k)) =
        work_.segment(view_.mass->row(static_cast<int>(n)), H.size(k));
  }
}

void RowAccess::changed(int p, const double* delta) {
  if (view_.inverse_mass == nullptr) return;
  const BlockRows& J = view_.problem->J;
  const int i = view_.blocks[p];
  const int d = J.height(i);
  for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    double* x = x_->data() + entry.column;
    const double* rows = view_.rows->JHinv.data() + entry.offset;
    if (d == 3 && entry.width == 6) {
      add_rows<3, 6>(rows, delta, x);
      continue;
    }
    for (int r = 0; r < d; ++r) {
      for (int c = 0; c < entry.width; ++c) x[c] += rows[r * entry.width + c] * delta[r];
    }
  }
}

void RowAccess::velocities(Vector& u) {
  refresh();
  if (u.size() != lambda_->size()) u.resize(lambda_->size());
  for (int p = 0; p < size(); ++p) velocity(p, u.data() + view_.problem->K.start[view_.blocks[p]]);
}

void descend(const RowBlocks& rows, const ConvexSet& set, int i, double omega, const double* lambda,
             const double* u, double* out) {
  const int d = set.dim;
  if (set.kind == SetKind::free) {
    const double* inverse = rows.inverse(set, i);
    for (int r = 0; r < d; ++r) {
      out[r] = lambda[r];
      for (int c = 0; c < d; ++c) out[r] -= omega * inverse[c * d + r] * u[c];
    }
  } else if (set.has_friction()) {
    const double step = omega / rows.mean_diagonal[i];
    for (int k = 0; k < d; ++k) out[k] = lambda[k] - step * u[k];
  } else {
    const double* D = rows.diagonal.data() + rows.start[i];
    for (int k = 0; k < d; ++k) {
      const double own = D[k * d + k];
      out[k] = own > 0 ? lambda[k] - omega * u[k] / own : lambda[k];
    }
  }
}

}  // namespace urto
