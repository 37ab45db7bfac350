#include "urto/solver/delassus.h"

#include <algorithm>
#include <cmath>

#include <Eigen/SparseLU>

#include "urto/error.h"

namespace urto {
namespace {

using RowMajorMap =
    Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

RowMajorMap entry_block(const BlockRows& J, int i, const BlockRows::Entry& entry) {
  return {J.values.data() + entry.offset, J.height(i), entry.width};
}

bool is_block_diagonal(const SparseMatrix& E, const SetProduct& K) {
  std::vector<int> block_of(K.rows());
  for (int i = 0; i < K.blocks(); ++i) {
    std::fill(block_of.begin() + K.start[i], block_of.begin() + K.start[i + 1], i);
  }
  for (int c = 0; c < E.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(E, c); it; ++it) {
      if (block_of[it.row()] != block_of[c]) return false;
    }
  }
  return true;
}

// J_i H⁻¹ with the structure of J: valid because an entry never spans two mass blocks.
BlockRows times_inverse_mass(const BlockRows& J, const BlockMatrix& inverse_mass) {
  BlockRows result = J;
  std::vector<int> body_of(inverse_mass.rows());
  for (int k = 0; k < inverse_mass.blocks(); ++k) {
    std::fill(body_of.begin() + inverse_mass.start[k], body_of.begin() + inverse_mass.start[k + 1],
              k);
  }
  for (int i = 0; i < J.blocks(); ++i) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = J.entries[e];
      const int k = body_of[entry.column];
      const int local = entry.column - inverse_mass.start[k];
      Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>(
          result.values.data() + entry.offset, J.height(i), entry.width)
          .noalias() = entry_block(J, i, entry) *
                       inverse_mass.block(k).block(local, local, entry.width, entry.width);
    }
  }
  return result;
}

// max |a_ij − a_ji| / √(a_ii a_jj): unlike the asymmetry relative to the largest entry, it sees the soft rows of a matrix with stiff
// boundary conditions.
double scaled_asymmetry(const SparseMatrix& A) {
  const SparseMatrix difference = A - SparseMatrix(A.transpose());
  const Vector diagonal = A.diagonal();
  double largest = 0;
  for (int c = 0; c < difference.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(difference, c); it; ++it) {
      const double size = std::sqrt(std::abs(diagonal[it.row()] * diagonal[c]));
      if (it.value() != 0)
        largest = std::max(largest, size > 0 ? std::abs(it.value()) / size : 1.0);
    }
  }
  return largest;
}

// True if every Jacobian entry covers exactly one mass block, as the factored path needs.
bool entries_match_bodies(const BlockRows& J, const BlockMatrix& H) {
  std::vector<int> size_at(H.rows() + 1, 0);
  for (int k = 0; k < H.blocks(); ++k) size_at[H.start[k]] = H.size(k);
  return std::all_of(J.entries.begin(), J.entries.end(), [&](const BlockRows::Entry& entry) {
    return size_at[entry.column] == entry.width;
  });
}

}  // namespace

Delassus::Delassus(const StepProblem& problem, SymbolicStore* store)
    : problem_(problem), store_(store) {
  E_ = problem.E;
  q_ = problem.b;
  skew_.resize(rows(), rows());
  if (problem.dofs() > 0 && scaled_asymmetry(sparse_mass(problem)) > 1e-9) condense();
  if (E_.nonZeros() > 0) {
    const SparseMatrix transposed = E_.transpose();
    skew_ = 0.5 * (E_ - transposed);
    skew_.prune([](int, int, double value) { return value != 0; });
    E_ = SparseMatrix(0.5 * (E_ + transposed));
  }
  if (has_mass()) {
    const BlockMatrix* blocks = block_diagonal_mass(problem);
    if (blocks != nullptr && entries_match_bodies(problem.J, *blocks)) {
      inverse_mass_ = inverse(*blocks);
      JHinv_ = times_inverse_mass(problem.J, inverse_mass_);
      factored_ = is_block_diagonal(E_, problem.K);
    } else {
      const SparseMatrix H = sparse_mass(problem);
      mass_factor_.emplace(store, H);
      if (!(*mass_factor_)->factorize(H)) {
        throw InputError("H", "a matrix that is not positive definite",
                         "a positive definite matrix (mass plus stiffness and damping)");
      }
    }
  }
  work_.setZero(problem.dofs());
  work2_.setZero(problem.dofs());
  if (has_mass()) {
    solve_mass(problem.a, work_);
    multiply(problem.J, work_, q_);
    q_ += problem.b;
  }
  compute_diagonal();
}

void Delassus::condense() {
  condensed_ = true;
  Eigen::SparseLU<SparseMatrix> factor(sparse_mass(problem_));
  if (factor.info() != Eigen::Success)
    throw InputError("H", "a singular matrix", "an invertible matrix");
  const SparseMatrix J = to_sparse(problem_.J);
  Matrix rhs(problem_.dofs(), rows() + 1);
  rhs << Matrix(J.transpose()), problem_.a;
  auto solved = std::make_shared<Matrix>(factor.solve(rhs));
  const Matrix W = J * solved->leftCols(rows());
  E_ = SparseMatrix(problem_.E + SparseMatrix(W.sparseView()));
  q_ = J * solved->col(rows()) + problem_.b;
  inverse_times_ = std::move(solved);
}

void Delassus::solve_mass(const Vector& rhs, Vector& x) const {
  if (inverse_mass_.blocks() > 0) {
    multiply(inverse_mass_, rhs, x);
  } else {
    (*mass_factor_)->solve(rhs, x);
  }
}

void Delassus::apply(const Vector& lambda, Vector& w) {
  if (!has_mass()) {
    w.noalias() = E_ * lambda;
    return;
  }
  apply_without_compliance(lambda, w);
  if (E_.nonZeros() > 0) w.noalias() += E_ * lambda;
}

void Delassus::apply_without_compliance(const Vector& lambda, Vector& w) {
  work_.setZero();
  transpose_multiply_add(problem_.J, lambda, work_);
  solve_mass(work_, work2_);
  multiply(problem_.J, work2_, w);
}

void Delassus::recover(const Vector& lambda, Vector& x) {
  x.resize(problem_.dofs());
  if (problem_.dofs() == 0) return;
  if (condensed_) {
    x = inverse_times_->leftCols(rows()) * lambda + inverse_times_->col(rows());
    return;
  }
  work_ = problem_.a;
  transpose_multiply_add(problem_.J, lambda, work_);
  solve_mass(work_, x);
}

void Delassus::apply_skew(const Vector& lambda, Vector& w) const {
  w.noalias() = skew_ * lambda;
}

void Delassus::compute_diagonal() {
  diagonal_start_.resize(blocks());
  int total = 0;
  for (int i = 0; i < blocks(); ++i) {
    diagonal_start_[i] = total;
    total += K().sets[i].dim * K().sets[i].dim;
  }
  diagonal_.assign(total, 0.0);
  mean_diagonal_.resize(blocks());
  scale_.resize(blocks());
  const bool coupled = problem_.dofs() > 0 && block_diagonal_mass(problem_) == nullptr;
  const Vector diagonal_of_mass = coupled ? mass_diagonal(problem_) : Vector();
  for (int i = 0; i < blocks(); ++i) {
    const int d = K().sets[i].dim;
    Eigen::Map<Matrix> D(diagonal_.data() + diagonal_start_[i], d, d);
    for (int c = 0; c < d; ++c) {
      for (SparseMatrix::InnerIterator it(E_, K().start[i] + c); it; ++it) {
        const auto r = it.row() - K().start[i];
        if (r >= 0 && r < d) D(r, c) = it.value();
      }
    }
    if (!has_mass()) {
      // D is complete: E holds all of W.
    } else if (inverse_mass_.blocks() == 0) {
      Matrix Jt = Matrix::Zero(problem_.dofs(), d);
      for (int e = problem_.J.entry_start[i]; e < problem_.J.entry_start[i + 1]; ++e) {
        const auto& entry = problem_.J.entries[e];
        Jt.middleRows(entry.column, entry.width) += entry_block(problem_.J, i, entry).transpose();
      }
      D += Jt.transpose() * (*mass_factor_)->solve(Jt);
    } else {
      for (int e = problem_.J.entry_start[i]; e < problem_.J.entry_start[i + 1]; ++e) {
        D += entry_block(JHinv_, i, JHinv_.entries[e]) *
             entry_block(problem_.J, i, problem_.J.entries[e]).transpose();
      }
    }
    const double trace = D.trace();
    mean_diagonal_[i] = trace > 0 ? trace / d : 1;
    const double t = coupled ? trace_with_diagonal_mass(i, diagonal_of_mass) : trace;
    scale_[i] = t > 0 ? d / t : 1;
  }
}

// tr(J_i diag(H)⁻¹ J_iᵀ + E_ii): the certificate's ρ_i lets the diagonal of H stand for H where H is sparse.
double Delassus::trace_with_diagonal_mass(int i, const Vector& mass_diagonal) const {
  double trace = 0;
  for (int r = K().start[i]; r < K().start[i + 1]; ++r) trace += problem_.E.coeff(r, r);
  for (int e = problem_.J.entry_start[i]; e < problem_.J.entry_start[i + 1]; ++e) {
    const auto& entry = problem_.J.entries[e];
    trace += (entry_block(problem_.J, i, entry).cwiseAbs2() *
              mass_diagonal.segment(entry.column, entry.width).cwiseInverse())
                 .sum();
  }
  return trace;
}

const BlockRows& Delassus::matrix() {
  if (assembled_) return W_;
  W_ = {};
  W_.columns = rows();
  if (has_mass() && inverse_mass_.blocks() == 0) {
    assemble_from_solves();
  } else {
    assemble_from_bodies();
  }
  assembled_ = true;
  return W_;
}

// W_ij = Σ over the bodies that i and j share of J_i H⁻¹ J_jᵀ, plus E_ij.
void Delassus::assemble_from_bodies() {
  struct Touch {
    int block, entry;
  };
  std::vector<std::vector<Touch>> touching(problem_.dofs() + 1);  // by first column of the body
  for (int i = 0; has_mass() && i < blocks(); ++i) {
    for (int e = problem_.J.entry_start[i]; e < problem_.J.entry_start[i + 1]; ++e) {
      touching[problem_.J.entries[e].column].push_back({i, e});
    }
  }
  std::vector<int> block_of(rows());
  for (int i = 0; i < blocks(); ++i) {
    std::fill(block_of.begin() + K().start[i], block_of.begin() + K().start[i + 1], i);
  }
  std::vector<int> slot(blocks(), -1);
  std::vector<int> neighbours;
  std::vector<Matrix> row;
  for (int i = 0; i < blocks(); ++i) {
    neighbours.clear();
    row.clear();
    const int d = K().sets[i].dim;
    const auto block_for = [&](int j) -> Matrix& {
      if (slot[j] < 0) {
        slot[j] = static_cast<int>(neighbours.size());
        neighbours.push_back(j);
        row.emplace_back(Matrix::Zero(d, K().sets[j].dim));
      }
      return row[slot[j]];
    };
    for (int e = problem_.J.entry_start[i]; has_mass() && e < problem_.J.entry_start[i + 1]; ++e) {
      const auto a = entry_block(JHinv_, i, JHinv_.entries[e]);
      for (const Touch& touch : touching[problem_.J.entries[e].column]) {
        block_for(touch.block) +=
            a * entry_block(problem_.J, touch.block, problem_.J.entries[touch.entry]).transpose();
      }
    }
    for (int r = 0; r < d; ++r) {  // E is symmetric: its columns are its rows
      for (SparseMatrix::InnerIterator it(E_, K().start[i] + r); it; ++it) {
        const int j = block_of[it.row()];
        block_for(j)(r, it.row() - K().start[j]) += it.value();
      }
    }
    std::sort(neighbours.begin(), neighbours.end());
    W_.add_block(d);
    for (const int j : neighbours) W_.add_entry(K().start[j], row[slot[j]]);
    for (const int j : neighbours) slot[j] = -1;
  }
}

void Delassus::assemble_from_solves() {
  const SparseMatrix J = to_sparse(problem_.J);
  const SparseMatrix Jt = J.transpose();
  for (int i = 0; i < blocks(); ++i) {
    const int d = K().sets[i].dim;
    const Matrix rhs = Matrix(Jt.middleCols(K().start[i], d));
    Matrix column = J * (*mass_factor_)->solve(rhs);  // rows × d: the column block of W
    column += Matrix(E_.middleCols(K().start[i], d));
    W_.add_block(d);
    for (int j = 0; j < blocks(); ++j) {
      const auto block = column.middleRows(K().start[j], K().sets[j].dim);
      if (block.cwiseAbs().maxCoeff() > 0) W_.add_entry(K().start[j], block.transpose());
    }
  }
}

}  // namespace urto
