#include "urto/solver/newton_system.h"

#include <algorithm>
#include <cmath>

#include "urto/solver/shifted_delassus.h"

namespace urto {
namespace {

using RowMajorMap =
    Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

Eigen::Map<const Matrix> left(const Response& r, const SetProduct& K, int i) {
  return {r.left.data() + r.start[i], K.sets[i].dim, r.rank[i]};
}
Eigen::Map<const Matrix> right(const Response& r, const SetProduct& K, int i) {
  return {r.right.data() + r.start[i], K.sets[i].dim, r.rank[i]};
}

// One cone of Alart and Curnier. The normal column is (1, μ t̂ of each sliding part) ⊗ (1, 0); a
// sticking part has the identity on both sides, a sliding pair √κ (0, t̂⊥) with κ = μ z_N/‖z_T‖. A
// rolling cone has several parts, each with its own μ.
int differentiate_cone(const ConvexSet& set, const double* z, double* L, double* R) {
  const int d = set.dim;
  std::fill_n(L, d * d, 0.0);
  std::fill_n(R, d * d, 0.0);
  if (z[0] <= 0) return 0;
  L[0] = R[0] = 1;
  int rank = 1;
  for (const auto& part : cone_parts(set)) {
    const double* zt = z + part.first;
    const double radius = part.bound * z[0];
    const double t = Eigen::Map<const Vector>(zt, part.count).norm();
    if (t <= radius && radius > 0) {
      for (int k = part.first; k < part.first + part.count; ++k, ++rank)
        L[rank * d + k] = R[rank * d + k] = 1;
      continue;
    }
    if (radius <= 0) continue;
    for (int k = 0; k < part.count; ++k) L[part.first + k] = part.bound * zt[k] / t;
    if (part.count != 2) continue;
    const double w = std::sqrt(radius / t);
    double* l = L + rank * d + part.first;
    double* r = R + rank * d + part.first;
    l[0] = r[0] = -w * zt[1] / t;
    l[1] = r[1] = w * zt[0] / t;
    ++rank;
  }
  return rank;
}

bool is_coulomb(const ConvexSet& set) {
  return set.kind == SetKind::rolling_cone || (set.kind == SetKind::cone && set.dim <= 3);
}

}  // namespace

void Response::set(const SetProduct& K) {
  z.resize(K.rows());
  p.resize(K.rows());
  rank.assign(K.blocks(), 0);
  symmetric = true;
  start.clear();
  int total = 0;
  for (const ConvexSet& set : K.sets) {
    start.push_back(total);
    total += set.dim * set.dim;
  }
  left.assign(total, 0.0);
  right.assign(total, 0.0);
}

void project_response(const SetProduct& K, Response& response) {
  project(K, response.z, response.p);
}

void differentiate_projection(const SetProduct& K, Response& response) {
  for (int i = 0; i < K.blocks(); ++i) {
    response.rank[i] = projection_derivative(K.sets[i], response.z.data() + K.start[i],
                                             response.left.data() + response.start[i]);
  }
  response.right = response.left;
  response.symmetric = true;
}

void alart_curnier_response(const SetProduct& K, Response& response) {
  for (int i = 0; i < K.blocks(); ++i) {
    const ConvexSet& set = K.sets[i];
    const double* z = response.z.data() + K.start[i];
    double* p = response.p.data() + K.start[i];
    project(set, z, p);
    if (!is_coulomb(set)) continue;
    p[0] = std::max(0.0, z[0]);
    for (const auto& part : cone_parts(set)) {
      const double length = Eigen::Map<const Vector>(z + part.first, part.count).norm();
      const double radius = part.bound * p[0];
      const double factor = length > radius ? radius / length : 1;
      for (int k = part.first; k < part.first + part.count; ++k) p[k] = factor * z[k];
    }
  }
}

void differentiate_alart_curnier(const SetProduct& K, Response& response) {
  for (int i = 0; i < K.blocks(); ++i) {
    const double* z = response.z.data() + K.start[i];
    double* L = response.left.data() + response.start[i];
    double* R = response.right.data() + response.start[i];
    if (is_coulomb(K.sets[i])) {
      response.rank[i] = differentiate_cone(K.sets[i], z, L, R);
    } else {
      response.rank[i] = projection_derivative(K.sets[i], z, L);
      std::copy_n(L, K.sets[i].dim * response.rank[i], R);
    }
  }
  response.symmetric = false;
}

void NewtonSystem::set(Delassus& W, bool symmetric) {
  release();
  W_ = &W;
  symmetric_ = symmetric;
  block_of_.resize(W.rows());
  for (int i = 0; i < W.blocks(); ++i)
    std::fill(block_of_.begin() + W.K().start[i], block_of_.begin() + W.K().start[i + 1], i);
  rank_.assign(1, -1);  // no pattern yet
  is_condensed_ = W.has_mass() && isotropic_compliance(W, compliance_);
  if (is_condensed_) {
    condensed_.set(
        W, symmetric ? CondensedMatrix::Symmetry::symmetric : CondensedMatrix::Symmetry::general);
    D_.assign(condensed_.block_values(), 0.0);
  } else {
    W.matrix();
  }
}

void NewtonSystem::release() {
  condensed_.release();
  cholesky_.reset();
  lu_.reset();
}

void NewtonSystem::apply(const Vector& y, Vector& v) {
  if (is_condensed_) {
    W_->apply_without_compliance(y, v);
  } else {
    W_->apply(y, v);
  }
}

bool NewtonSystem::factorize(const Response& response, const Vector& A) {
  if (!is_condensed_) return factorize_reduced(response, A);
  const SetProduct& K = W_->K();
  for (int i = 0; i < K.blocks(); ++i) {
    const int d = K.sets[i].dim;
    Eigen::Map<Matrix>(D_.data() + condensed_.block_offset(i), d, d) =
        left(response, K, i).lazyProduct(right(response, K, i).transpose()) / A[i];
  }
  return condensed_.factorize(D_);
}

// Columns j of I + RᵀW L/A, from row block j of the symmetric W; the lower triangle when L = R.
void NewtonSystem::assemble_reduced(const Response& response, const Vector& A) {
  const SetProduct& K = W_->K();
  const BlockRows& W = W_->matrix();
  outer_.assign(1, 0);
  inner_.clear();
  values_.clear();
  for (int j = 0; j < K.blocks(); ++j) {
    if (rank_[j] == 0) continue;
    const SmallMatrix Lj = left(response, K, j) / std::sqrt(A[j]);
    blocks_.clear();
    for (int e = W.entry_start[j]; e < W.entry_start[j + 1]; ++e) {
      const BlockRows::Entry& entry = W.entries[e];
      const int i = block_of_[entry.column];
      if (rank_[i] == 0 || (symmetric_ && i < j)) continue;
      const RowMajorMap Wji(W.values.data() + entry.offset, K.sets[j].dim, entry.width);
      const SmallMatrix WL = Wji.transpose().lazyProduct(Lj);
      blocks_.emplace_back(i, right(response, K, i).transpose().lazyProduct(WL) / std::sqrt(A[i]));
    }
    for (int c = 0; c < rank_[j]; ++c) {
      for (const auto& [i, block] : blocks_) {
        for (int r = symmetric_ && i == j ? c : 0; r < rank_[i]; ++r) {
          inner_.push_back(start_[i] + r);
          values_.push_back(block(r, c) + (i == j && r == c ? 1.0 : 0.0));
        }
      }
      outer_.push_back(static_cast<int>(inner_.size()));
    }
  }
}

// The pattern follows the ranks of the blocks: the symbolic analysis is kept while they stay, and
// found again when they come back.
bool NewtonSystem::factorize_reduced(const Response& response, const Vector& A) {
  const bool same_pattern = response.rank == rank_;
  rank_ = response.rank;
  start_.assign(1, 0);
  for (const int r : rank_) start_.push_back(start_.back() + r);
  const int n = start_.back();
  if (n == 0) return true;
  assemble_reduced(response, A);
  const Eigen::Map<const SparseMatrix> reduced(n, n, static_cast<Eigen::Index>(values_.size()),
                                               outer_.data(), inner_.data(), values_.data());
  if (symmetric_) {
    if (!same_pattern) cholesky_.emplace(W_->symbolic_store(), reduced);
    return (*cholesky_)->factorize(reduced);
  }
  if (!same_pattern) lu_.emplace(W_->symbolic_store(), reduced);
  return (*lu_)->factorize(reduced);
}

bool NewtonSystem::solve(const Response& response, const Vector& A, const Vector& F, Vector& dy,
                         Vector& dv) {
  dy = -F;
  return is_condensed_ ? solve_condensed(dy, dv) : solve_reduced(response, A, dy, dv);
}

// (H + Jᵀ(D/A)J) w = −JᵀF, dy = −F − (D/A) J w.
bool NewtonSystem::solve_condensed(Vector& dy, Vector& dv) {
  const SetProduct& K = W_->K();
  rhs_.setZero(W_->problem().dofs());
  transpose_multiply_add(W_->jacobian(), dy, rhs_);
  condensed_.solve(rhs_, solution_);
  multiply(W_->jacobian(), solution_, dv);
  SmallVector change;
  for (int i = 0; i < K.blocks(); ++i) {
    const int d = K.sets[i].dim;
    change.noalias() = Eigen::Map<const Matrix>(D_.data() + condensed_.block_offset(i), d, d) *
                       dv.segment(K.start[i], d);
    dy.segment(K.start[i], d) -= change;
  }
  return dy.allFinite();
}

// Woodbury: dy = −F + L A^-½ (I + A^-½ RᵀW L A^-½)⁻¹ A^-½ RᵀW F.
bool NewtonSystem::solve_reduced(const Response& response, const Vector& A, Vector& dy,
                                 Vector& dv) {
  const SetProduct& K = W_->K();
  W_->apply(dy, dv);
  const int n = start_.back();
  if (n == 0) return dy.allFinite();
  right_side_.resize(n);
  reduced_solution_.resize(n);
  Eigen::Map<Matrix> rhs(right_side_.data(), n, 1);
  Eigen::Map<Matrix> solution(reduced_solution_.data(), n, 1);
  SmallVector part;
  for (int i = 0; i < K.blocks(); ++i) {
    if (rank_[i] == 0) continue;
    part.noalias() = right(response, K, i).transpose() * dv.segment(K.start[i], K.sets[i].dim);
    rhs.col(0).segment(start_[i], rank_[i]) = part / std::sqrt(A[i]);
  }
  if (symmetric_) {
    (*cholesky_)->solve(rhs, solution);
  } else {
    (*lu_)->solve(rhs, solution);
  }
  for (int i = 0; i < K.blocks(); ++i) {
    if (rank_[i] == 0) continue;
    part.noalias() = left(response, K, i) * solution.col(0).segment(start_[i], rank_[i]);
    dy.segment(K.start[i], K.sets[i].dim) -= part / std::sqrt(A[i]);
  }
  W_->apply(dy, dv);
  return dy.allFinite();
}

}  // namespace urto
