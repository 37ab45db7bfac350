#include "urto/solver/delassus.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "urto/error.h"
#include "urto/linalg/small_inverse.h"
#include "urto/memory_limit.h"

namespace urto {
namespace {

using RowMajorMap =
    Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;

using SmallMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_block, max_block>;

RowMajorMap entry_block(const BlockRows& J, int i, const BlockRows::Entry& entry) {
  return {J.values.data() + entry.offset, J.height(i), entry.width};
}

bool is_diagonal(const SparseMatrix& E) {
  for (int c = 0; c < E.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(E, c); it; ++it) {
      if (it.row() != c) return false;
    }
  }
  return true;
}

bool is_block_diagonal(const SparseMatrix& E, const SetProduct& K) {
  if (E.nonZeros() == 0) return true;
  for (int i = 0; i < K.blocks(); ++i) {
    for (int c = K.start[i]; c < K.start[i + 1]; ++c) {
      for (SparseMatrix::InnerIterator it(E, c); it; ++it) {
        if (it.row() < K.start[i] || it.row() >= K.start[i + 1]) return false;
      }
    }
  }
  return true;
}

// |a_ij − a_ji| / √(a_ii a_jj): unlike the asymmetry relative to the largest entry, it sees the
// soft rows of a matrix with stiff boundary conditions.
double scaled_difference(double difference, double a_ii, double a_jj) {
  const double size = std::sqrt(std::abs(a_ii * a_jj));
  if (difference == 0) return 0;
  return size > 0 ? std::abs(difference) / size : 1.0;
}

double scaled_asymmetry(const SparseMatrix& A) {
  const SparseMatrix difference = A - SparseMatrix(A.transpose());
  const Vector diagonal = A.diagonal();
  double largest = 0;
  for (int c = 0; c < difference.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(difference, c); it; ++it)
      largest = std::max(largest, scaled_difference(it.value(), diagonal[it.row()], diagonal[c]));
  }
  return largest;
}

double scaled_asymmetry(const StepProblem& p) {
  const auto* H = std::get_if<BlockMatrix>(&p.H);
  if (H == nullptr || H->symmetry == BlockMatrix::Symmetry::general)
    return scaled_asymmetry(sparse_mass(p));
  double largest = 0;
  for (int k = 0; k < H->blocks(); ++k) {
    const auto A = H->block(k);
    for (int c = 0; c < A.cols(); ++c) {
      for (int r = 0; r < c; ++r)
        largest = std::max(largest, scaled_difference(A(r, c) - A(c, r), A(r, r), A(c, c)));
    }
  }
  return largest;
}

// True if every Jacobian entry covers exactly one mass block, as the factored path needs.
bool entries_match_bodies(const BlockRows& J, const BlockMatrix& H,
                          const std::vector<int>& node_of_dof) {
  return std::all_of(J.entries.begin(), J.entries.end(), [&](const BlockRows::Entry& entry) {
    const int k = node_of_dof[entry.column];
    return H.start[k] == entry.column && H.size(k) == entry.width;
  });
}

bool has_pattern(const SparseMatrix& A, const SparseMatrix& known) {
  return A.rows() == known.rows() && A.nonZeros() == known.nonZeros() &&
         std::equal(A.outerIndexPtr(), A.outerIndexPtr() + A.cols() + 1, known.outerIndexPtr()) &&
         std::equal(A.innerIndexPtr(), A.innerIndexPtr() + A.nonZeros(), known.innerIndexPtr());
}

void resize(Vector& v, Eigen::Index size) {
  if (v.size() != size) v.resize(size);
}

}  // namespace

bool Delassus::fail(std::string why) {
  failure_ = std::move(why);
  return false;
}

bool Delassus::set(const StepProblem& problem, SymbolicStore* store) {
  problem_ = &problem;
  store_ = store;
  failure_.clear();
  skewed_ = factored_ = condensed_ = assembled_ = assembled_as_is_ = false;
  mass_factor_.reset();  // back to the store, where the next one may find it
  resize(work_, problem.dofs());
  resize(work2_, problem.dofs());
  rows_.resize(problem.J, problem.K);
  if (problem.dofs() == 0) inverse_mass_.start.resize(1);
  if (problem.dofs() > 0 && scaled_asymmetry(problem) > 1e-9 && !condense()) return false;
  symmetrise();
  if (has_mass() && !factorize_mass()) return false;
  compute_diagonal();
  return true;
}

// E and its skew part, where it has one.
void Delassus::symmetrise() {
  const SparseMatrix& E = condensed_ ? E_ : problem_->E;
  if (is_diagonal(E)) return;
  const SparseMatrix transposed = E.transpose();
  skew_ = 0.5 * (E - transposed);
  skew_.prune([](int, int, double value) { return value != 0; });
  skewed_ = skew_.nonZeros() > 0;
  if (skewed_) E_ = SparseMatrix(0.5 * (E + transposed));
}

bool Delassus::factorize_mass() {
  const BlockMatrix* blocks = block_diagonal_mass(*problem_);
  if (blocks != nullptr) {
    if (node_of_dof_.size() != static_cast<std::size_t>(blocks->rows()) ||
        blocks->start != inverse_mass_.start) {
      node_of_dof_.resize(blocks->rows());
      for (int k = 0; k < blocks->blocks(); ++k) {
        std::fill(node_of_dof_.begin() + blocks->start[k],
                  node_of_dof_.begin() + blocks->start[k + 1], k);
      }
    }
    if (entries_match_bodies(problem_->J, *blocks, node_of_dof_)) {
      if (!invert_mass(*blocks)) return false;
      factored_ = is_block_diagonal(compliance(), problem_->K);
      return true;
    }
  }
  inverse_mass_.start.resize(1);
  builder_.start(problem_->dofs(), problem_->dofs());
  std::visit([this](const auto& H) { builder_.add(H); }, problem_->H);
  builder_.finish(mass_);
  mass_factor_.emplace(store_, mass_);
  if ((*mass_factor_)->factorize(mass_)) return true;
  return fail("H (mass plus stiffness and damping) is not positive definite");
}

bool Delassus::invert_mass(const BlockMatrix& H) {
  inverse_mass_.start = H.start;
  inverse_mass_.offset = H.offset;
  inverse_mass_.values.resize(H.values.size());
  for (int k = 0; k < H.blocks(); ++k) {
    if (invert_positive_definite(H.size(k), H.values.data() + H.offset[k],
                                 inverse_mass_.values.data() + H.offset[k]))
      continue;
    return fail(fmt::format("block {} of H (rows {} to {}) is not positive definite", k, H.start[k],
                            H.start[k + 1] - 1));
  }
  return true;
}

bool Delassus::condense() {
  condensed_ = true;
  inverse_mass_.start.resize(1);
  SparseMatrix H = sparse_mass(*problem_);
  H.makeCompressed();
  if (!has_pattern(H, condensed_mass_)) {
    condensed_mass_.resize(0, 0);
    if (!condensing_.analyze(H)) return fail("H is singular");
  }
  condensed_mass_ = std::move(H);
  if (!condensing_.factorize(condensed_mass_, KeptLu::Pivots::chosen)) return fail("H is singular");
  const SparseMatrix J = to_sparse(problem_->J);
  const SparseMatrix Jt = J.transpose();
  inverse_times_.resize(problem_->dofs(), rows() + 1);
  Vector rhs, solved;
  for (int c = 0; c <= rows(); ++c) {
    rhs = c < rows() ? Vector(Jt.col(c)) : problem_->a;
    if (!condensing_.solve(rhs, solved)) return fail("H is singular");
    inverse_times_.col(c) = solved;
  }
  const Matrix W = J * inverse_times_.leftCols(rows());
  E_ = SparseMatrix(problem_->E + SparseMatrix(W.sparseView()));
  return true;
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
    w.noalias() = compliance() * lambda;
    return;
  }
  apply_without_compliance(lambda, w);
  if (compliance().nonZeros() > 0) w.noalias() += compliance() * lambda;
}

void Delassus::apply_without_compliance(const Vector& lambda, Vector& w) {
  work_.setZero();
  transpose_multiply_add(problem_->J, lambda, work_);
  solve_mass(work_, work2_);
  multiply(problem_->J, work2_, w);
}

void Delassus::recover(const Vector& lambda, Vector& x) {
  resize(x, problem_->dofs());
  if (problem_->dofs() == 0) return;
  if (condensed_) {
    x = inverse_times_.leftCols(rows()) * lambda + inverse_times_.col(rows());
    return;
  }
  work_ = problem_->a;
  transpose_multiply_add(problem_->J, lambda, work_);
  solve_mass(work_, x);
}

void Delassus::apply_skew(const Vector& lambda, Vector& w) const {
  w.noalias() = skew_ * lambda;
}

void Delassus::compute_diagonal() {
  const StepProblem& p = *problem_;
  if (has_mass() && inverse_mass_.blocks() == 0) {
    solve_mass(p.a, work_);
  } else if (condensed_) {
    work_ = inverse_times_.col(rows());
  }
  const bool coupled = p.dofs() > 0 && block_diagonal_mass(p) == nullptr;
  if (has_mass() && inverse_mass_.blocks() == 0) mass_diagonal_ = mass_.diagonal();
  if (condensed_) mass_diagonal_ = urto::mass_diagonal(p);
  for (int i = 0; i < blocks(); ++i) {
    rows_.begin(p, compliance(), i);
    if (inverse_mass_.blocks() > 0) {
      rows_.add_factored(p, inverse_mass_, node_of_dof_, i);
    } else if (p.dofs() > 0) {
      multiply_add_block(p.J, i, work_.data(), rows_.q.data() + K().start[i]);
      if (has_mass()) add_general_diagonal(i);
    }
    rows_.finish(K().sets[i], i, coupled ? trace_with_diagonal_mass(p, i, mass_diagonal_) : -1);
  }
}

// J_iᵀ, dense.
Eigen::Map<Matrix> Delassus::transposed_rows(int i) {
  const BlockRows& J = problem_->J;
  const int d = K().sets[i].dim;
  right_.assign(static_cast<std::size_t>(problem_->dofs()) * d, 0.0);
  Eigen::Map<Matrix> Jt(right_.data(), problem_->dofs(), d);
  for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e) {
    const BlockRows::Entry& entry = J.entries[e];
    Jt.middleRows(entry.column, entry.width) += entry_block(J, i, entry).transpose();
  }
  left_.resize(right_.size());
  return Jt;
}

// J_i H⁻¹ J_iᵀ through the factor of H.
void Delassus::add_general_diagonal(int i) {
  const int d = K().sets[i].dim;
  const Eigen::Map<Matrix> Jt = transposed_rows(i);
  Eigen::Map<Matrix> solved(left_.data(), problem_->dofs(), d);
  (*mass_factor_)->solve(Jt, solved);
  SmallMatrix block;
  block.noalias() = Jt.transpose() * solved;
  Eigen::Map<Matrix>(rows_.diagonal.data() + rows_.start[i], d, d) += block;
}

const BlockRows& Delassus::matrix() {
  if (assembled_) return W_;
  W_.row_start.resize(1);
  W_.entry_start.resize(1);
  W_.entries.clear();
  W_.values.clear();
  W_.columns = rows();
  if (has_mass() && inverse_mass_.blocks() == 0) {
    // Every contact moves every other through H⁻¹.
    const double numbers = static_cast<double>(rows()) * rows();
    const bool too_many = numbers > std::numeric_limits<int>::max();
    if (too_many || exceeds_memory(8 * numbers)) {
      const std::string found = fmt::format("{} rows that act on each other", rows());
      if (too_many) throw InputError("the Delassus matrix", found, "fewer than 46341");
      require_memory(8 * numbers, "the Delassus matrix", found);
    }
    assemble_from_solves();
  } else {
    assemble_from_bodies();
  }
  assembled_ = true;
  return W_;
}

// Of an antisymmetric matrix the columns are the rows with the other sign. Its pattern is inside
// that of W.
const BlockRows& Delassus::matrix_as_is() {
  matrix();
  if (!skewed_ || !keeps_skew()) return W_;
  if (assembled_as_is_) return as_is_;
  assembled_as_is_ = true;
  as_is_ = W_;
  for (int i = 0; i < blocks(); ++i) {
    for (int e = W_.entry_start[i]; e < W_.entry_start[i + 1]; ++e)
      slot_[block_of_[W_.entries[e].column]] = e;
    for (int r = 0; r < K().sets[i].dim; ++r) {
      for (SparseMatrix::InnerIterator it(skew_, K().start[i] + r); it; ++it) {
        const BlockRows::Entry& entry = W_.entries[slot_[block_of_[it.row()]]];
        as_is_.values[entry.offset + r * entry.width + (it.row() - entry.column)] -= it.value();
      }
    }
    for (int e = W_.entry_start[i]; e < W_.entry_start[i + 1]; ++e)
      slot_[block_of_[W_.entries[e].column]] = -1;
  }
  return as_is_;
}

void Delassus::list_touching_blocks() {
  const BlockRows& J = problem_->J;
  touch_start_.assign(problem_->dofs() + 2, 0);
  touching_.clear();
  if (!has_mass()) return;
  for (const BlockRows::Entry& entry : J.entries) ++touch_start_[entry.column + 1];
  for (std::size_t c = 1; c < touch_start_.size(); ++c) touch_start_[c] += touch_start_[c - 1];
  touching_.resize(J.entries.size());
  next_.assign(touch_start_.begin(), touch_start_.end());
  for (int i = 0; i < blocks(); ++i) {
    for (int e = J.entry_start[i]; e < J.entry_start[i + 1]; ++e)
      touching_[next_[J.entries[e].column]++] = {i, e};
  }
}

// In order; `slot_` has the place of each, −1 for the others.
void Delassus::find_neighbours(int i) {
  const auto add = [this](int j) {
    if (slot_[j] >= 0) return;
    slot_[j] = 0;
    neighbours_.push_back(j);
  };
  neighbours_.clear();
  for (int e = problem_->J.entry_start[i]; has_mass() && e < problem_->J.entry_start[i + 1]; ++e) {
    const int body = problem_->J.entries[e].column;
    for (int t = touch_start_[body]; t < touch_start_[body + 1]; ++t) add(touching_[t].block);
  }
  for (int r = K().start[i]; r < K().start[i + 1]; ++r) {
    for (SparseMatrix::InnerIterator it(compliance(), r); it; ++it) add(block_of_[it.row()]);
  }
  std::sort(neighbours_.begin(), neighbours_.end());
  for (std::size_t n = 0; n < neighbours_.size(); ++n)
    slot_[neighbours_[n]] = static_cast<int>(W_.entries.size() + n);
}

// W_ij = Σ over the bodies that i and j share of J_i H⁻¹ J_jᵀ, plus E_ij.
void Delassus::assemble_from_bodies() {
  using RowMajorBlock =
      Eigen::Map<Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>>;
  const BlockRows& J = problem_->J;
  list_touching_blocks();
  block_of_.resize(rows());
  for (int i = 0; i < blocks(); ++i)
    std::fill(block_of_.begin() + K().start[i], block_of_.begin() + K().start[i + 1], i);
  slot_.assign(blocks(), -1);
  for (int i = 0; i < blocks(); ++i) {
    const int d = K().sets[i].dim;
    find_neighbours(i);
    W_.add_block(d);
    for (const int j : neighbours_) {
      const int width = K().sets[j].dim;
      W_.entries.push_back({K().start[j], width, static_cast<int>(W_.values.size())});
      W_.values.resize(W_.values.size() + static_cast<std::size_t>(d) * width, 0.0);
    }
    W_.entry_start.back() = static_cast<int>(W_.entries.size());
    for (int e = J.entry_start[i]; has_mass() && e < J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& own = J.entries[e];
      const RowMajorMap a(rows_.JHinv.data() + own.offset, d, own.width);
      for (int t = touch_start_[own.column]; t < touch_start_[own.column + 1]; ++t) {
        const int j = touching_[t].block;
        SmallMatrix block;
        block.noalias() = a * entry_block(J, j, J.entries[touching_[t].entry]).transpose();
        RowMajorBlock(W_.values.data() + W_.entries[slot_[j]].offset, d, block.cols()) += block;
      }
    }
    for (int r = 0; r < d; ++r) {  // E is symmetric: its columns are its rows
      for (SparseMatrix::InnerIterator it(compliance(), K().start[i] + r); it; ++it) {
        const BlockRows::Entry& entry = W_.entries[slot_[block_of_[it.row()]]];
        W_.values[entry.offset + r * entry.width + (it.row() - entry.column)] += it.value();
      }
    }
    for (const int j : neighbours_) slot_[j] = -1;
  }
}

void Delassus::assemble_from_solves() {
  builder_.start(rows(), problem_->dofs());
  builder_.add(problem_->J);
  builder_.finish(J_);
  for (int i = 0; i < blocks(); ++i) {
    const int d = K().sets[i].dim;
    const Eigen::Map<Matrix> Jt = transposed_rows(i);
    Eigen::Map<Matrix> solved(left_.data(), problem_->dofs(), d);
    (*mass_factor_)->solve(Jt, solved);
    column_.resize(static_cast<std::size_t>(rows()) * d);
    Eigen::Map<Matrix> column(column_.data(), rows(), d);  // the column block of W
    column.noalias() = J_ * solved;
    for (int c = 0; c < d; ++c) {
      for (SparseMatrix::InnerIterator it(compliance(), K().start[i] + c); it; ++it)
        column(it.row(), c) += it.value();
    }
    W_.add_block(d);
    for (int j = 0; j < blocks(); ++j) {
      const auto block = column.middleRows(K().start[j], K().sets[j].dim);
      if (!(block.cwiseAbs().maxCoeff() > 0)) continue;
      W_.entries.push_back({K().start[j], K().sets[j].dim, static_cast<int>(W_.values.size())});
      for (int c = 0; c < d; ++c)
        W_.values.insert(W_.values.end(), block.col(c).begin(), block.col(c).end());
    }
    W_.entry_start.back() = static_cast<int>(W_.entries.size());
  }
}

}  // namespace urto
