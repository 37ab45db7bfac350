#include "urto/solver/interior_point_system.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <Eigen/LU>

namespace urto {
namespace {

using SmallMatrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_block, max_block>;

// δ relative to tr(W_ii)/d. Joints have no barrier term of their own. Contacts get one only after a
// factorisation has broken down: with multipliers of 10¹⁵ times the typical size (heavy spheres on
// light ones) any compliance that rounding can see is too soft.
constexpr double shift_of_joints = 1e-9;
constexpr double shift_of_contacts = 1e-15;
constexpr double shift_of_local_contacts = 1e-13;  // W itself, rank-deficient, is factorised
constexpr double shift_growth = 100;
constexpr int tries = 8;  // paths, thresholds and shifts after the first
// Of MUMPS's pivots, raised where a residual misses. Box of 1190 balls: 30 to 60 s a factorisation
// with the largest, 5 s with the first.
constexpr double first_threshold = 1e-6, threshold_growth = 1e2, largest_threshold = 0.1;
constexpr double shifts_before_pivoting = 1e4;  // in units of the first shift

constexpr int largest_dense = 60;  // rows
constexpr int largest_full = 150;  // rows and columns, for full pivoting

constexpr int refinement_limit = 8;
constexpr double refined = 1e-13;

// Adds the time of its scope.
class Timer {
 public:
  explicit Timer(double& seconds) : seconds_(seconds) {}
  ~Timer() { seconds_ += std::chrono::duration<double>(Clock::now() - begin_).count(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  double& seconds_;
  Clock::time_point begin_ = Clock::now();
};

}  // namespace

void CurvatureBlocks::set(const SetProduct& K) {
  start.assign(1, 0);
  for (const ConvexSet& set : K.sets) start.push_back(start.back() + set.dim * set.dim);
  T.assign(start.back(), 0.0);
  inverse.assign(start.back(), 0.0);
  left.assign(start.back(), 0.0);
  right.assign(start.back(), 0.0);
}

void InteriorPointSystem::set(Delassus& W, std::optional<LinearPath> wanted) {
  release();
  W_ = &W;
  n_ = W.has_mass() ? W.problem().dofs() : 0;
  m_ = W.rows();
  forced_ = wanted.has_value();
  symmetric_ = true;
  regularisation_ = 1;
  pivot_threshold_ = first_threshold;
  refinements_ = 0;
  counters_ = {};
  blocks_ = nullptr;
  read_compliance();
  path_ = first_path(wanted);
  if (n_ == 0) return;
  weight1_.resize(n_);
  if (const auto* H = std::get_if<BlockMatrix>(&W.problem().H)) {
    for (int k = 0; k < H->blocks(); ++k)
      weight1_.segment(H->start[k], H->size(k)) = H->block(k).diagonal();
  } else {
    weight1_ = W.mass_diagonal();
  }
  weight1_ = weight1_.cwiseSqrt().cwiseInverse();
}

void InteriorPointSystem::release() {
  for (int k = 0; k < 2; ++k) {
    condensed_[k].release();
    condensed_built_[k] = false;
    sparse_[k].built = sparse_[k].analysed = sparse_[k].pivots_in_full = false;
    sparse_[k].pivoting.reset();
  }
  cholesky_.reset();
  ldlt_.reset();
  lu_.reset();
}

void InteriorPointSystem::read_compliance() {
  const SetProduct& K = W_->K();
  weight2_.resize(m_);
  block_of_.resize(m_);
  start_.assign(1, 0);
  for (int i = 0; i < K.blocks(); ++i) {
    start_.push_back(start_.back() + K.sets[i].dim * K.sets[i].dim);
    for (int r = K.start[i]; r < K.start[i + 1]; ++r) {
      block_of_[r] = i;
      weight2_[r] = 1 / std::sqrt(W_->mean_diagonal(i));
    }
  }
  compliance_.assign(start_.back(), 0.0);
  block_compliance_ = true;
  const SparseMatrix& E = W_->compliance();
  for (int c = 0; c < E.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(E, c); it; ++it) {
      const int i = block_of_[c];
      if (block_of_[it.row()] != i) {
        block_compliance_ = false;
      } else {
        const int d = K.sets[i].dim;
        compliance_[start_[i] + (c - K.start[i]) * d + (it.row() - K.start[i])] = it.value();
      }
    }
  }
}

LinearPath InteriorPointSystem::first_path(std::optional<LinearPath> wanted) const {
  const bool dense = wanted ? *wanted == LinearPath::dense : (n_ > 0 ? n_ : m_) <= largest_dense;
  if (wanted == LinearPath::pivoting && can_pivot()) return LinearPath::pivoting;
  if (n_ == 0) return dense ? LinearPath::dense : LinearPath::local;
  const bool augmented = wanted == LinearPath::augmented || wanted == LinearPath::pivoting;
  if (augmented || !block_compliance_) return LinearPath::augmented;
  return dense ? LinearPath::dense : LinearPath::condensed;
}

bool InteriorPointSystem::is_small() const {
  return n_ + m_ <= largest_full;
}

// Kept for the rest of the solve: conditioning gets worse, not better.
bool InteriorPointSystem::take_next_path() {
  if (forced_ || path_ == LinearPath::pivoting) return false;
  if (is_condensed()) {
    path_ = LinearPath::augmented;
    return true;
  }
  if (!can_pivot()) return false;
  path_ = LinearPath::pivoting;
  regularisation_ = 0;
  return true;
}

double InteriorPointSystem::shift(int i) const {
  const bool joint = W_->K().sets[i].kind == SetKind::free;
  if (!joint && regularisation_ <= 1 && n_ > 0) return 0;
  const double contact = n_ == 0 ? shift_of_local_contacts : shift_of_contacts;
  return regularisation_ * (joint ? shift_of_joints : contact) * W_->mean_diagonal(i);
}

bool InteriorPointSystem::factorize(const CurvatureBlocks& blocks, bool symmetric) {
  blocks_ = &blocks;
  symmetric_ = symmetric;
  regularisation_ = path_ == LinearPath::pivoting ? 0 : 1;  // pivots do without, if they can
  refinements_ = 0;
  return factorize_once() || strengthen();
}

bool InteriorPointSystem::strengthen() {
  for (int attempt = 0; attempt < tries; ++attempt) {
    // Larger shifts first: pivoting costs three times as much, and on piles it gains nothing
    // (docs/solvers/ipm.md).
    const bool shift_more =
        path_ == LinearPath::augmented && regularisation_ < shifts_before_pivoting;
    if (path_ == LinearPath::pivoting && !is_small() && pivot_threshold_ < largest_threshold) {
      pivot_threshold_ = std::min(threshold_growth * pivot_threshold_, largest_threshold);
    } else if (shift_more || !take_next_path()) {
      if (regularisation_ >= 1e8) return false;
      regularisation_ = regularisation_ == 0 ? 1 : shift_growth * regularisation_;
    }
    ++counters_.strengthened;
    if (factorize_once()) return true;
  }
  return false;
}

bool InteriorPointSystem::factorize_once() {
  ++counters_.factorizations[static_cast<int>(path_)];
  return is_condensed() ? factorize_condensed() : factorize_sparse();
}

void InteriorPointSystem::build_condensed() {
  const int kind = symmetric_ ? 0 : 1;
  if (condensed_built_[kind]) return;
  condensed_built_[kind] = true;
  const Timer timer(counters_.analysis_seconds);
  using Symmetry = CondensedMatrix::Symmetry;
  using Kernel = CondensedMatrix::Kernel;
  CondensedMatrix& matrix = condensed_[kind];
  matrix.set(*W_, symmetric_ ? Symmetry::symmetric : Symmetry::general,
             path_ == LinearPath::dense ? Kernel::dense : Kernel::sparse);
  ++(matrix.is_analysed_anew() ? counters_.analyses : counters_.reused);
}

// D_i = (T_i + E_i + δ)⁻¹ = (I + T_i⁻¹(E_i + δ))⁻¹ T_i⁻¹: T⁻¹ is given, because a cone's T has
// eigenvalues μ⁻¹ … μ and inverting it would lose those that matter.
bool InteriorPointSystem::factorize_condensed() {
  build_condensed();
  const Timer timer(counters_.factorization_seconds);
  const SetProduct& K = W_->K();
  D_.resize(blocks_->inverse.size());
  for (int i = 0; i < K.blocks(); ++i) {
    const int d = K.sets[i].dim;
    const int at = blocks_->start[i];
    SmallMatrix soft = Eigen::Map<const Matrix>(compliance_.data() + at, d, d);
    soft.diagonal().array() += shift(i);
    Eigen::Map<Matrix> D(D_.data() + at, d, d);
    if (K.sets[i].kind == SetKind::free) {
      D = SmallMatrix(soft.inverse());
      continue;
    }
    const SmallMatrix inverse = Eigen::Map<const Matrix>(blocks_->inverse.data() + at, d, d);
    const SmallMatrix system = SmallMatrix::Identity(d, d) + inverse * soft;
    D = SmallMatrix(system.partialPivLu().solve(inverse));
    if (symmetric_) D = SmallMatrix(0.5 * (D + D.transpose()));
  }
  return condensed_[symmetric_ ? 0 : 1].factorize(D_);
}

void InteriorPointSystem::build_pattern() {
  SparseForm& form = sparse_[symmetric_ ? 0 : 1];
  if (form.built) return;
  form.built = true;
  builder_.start(n_ + m_, n_ + m_);
  if (n_ > 0) {
    std::visit([this](const auto& H) { builder_.add(H); }, W_->problem().H);
    builder_.add(W_->jacobian(), n_, 0);
  }
  builder_.finish(mass_and_rows_);
  builder_.start(n_ + m_, n_ + m_);
  const auto add = [&](int row, int column, double value) {
    if (!symmetric_ || row >= column) builder_.add(row, column, value);
  };
  for (int c = 0; c < n_; ++c) {
    for (SparseMatrix::InnerIterator it(mass_and_rows_, c); it; ++it) {
      const int row = static_cast<int>(it.row());
      add(row, c, it.value());
      if (row >= n_) add(c, row, it.value());
    }
  }
  const double sign = n_ > 0 ? -1 : 1;
  const SparseMatrix& E = W_->compliance();
  for (int c = 0; c < E.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(E, c); it; ++it)
      add(n_ + static_cast<int>(it.row()), n_ + c, sign * it.value());
  }
  const SetProduct& K = W_->K();
  for (int i = 0; i < K.blocks(); ++i) {
    for (int c = K.start[i]; c < K.start[i + 1]; ++c) {
      for (int r = K.start[i]; r < K.start[i + 1]; ++r) add(n_ + r, n_ + c, 0.0);
    }
  }
  SparseMatrix& A = form.matrix;
  builder_.finish(A);
  form.base.assign(A.valuePtr(), A.valuePtr() + A.nonZeros());
  form.position.clear();
  for (int i = 0; i < K.blocks(); ++i) {
    for (int c = K.start[i]; c < K.start[i + 1]; ++c) {
      for (int r = K.start[i]; r < K.start[i + 1]; ++r) {
        if (symmetric_ && r < c) {
          form.position.push_back(-1);
          continue;
        }
        const int* begin = A.innerIndexPtr() + A.outerIndexPtr()[n_ + c];
        const int* end = A.innerIndexPtr() + A.outerIndexPtr()[n_ + c + 1];
        form.position.push_back(
            static_cast<int>(std::lower_bound(begin, end, n_ + r) - A.innerIndexPtr()));
      }
    }
  }
}

// Orders the pattern, the first time that a path needs it; the matrix is filled.
void InteriorPointSystem::build_kernel() {
  SparseForm& form = sparse_[symmetric_ ? 0 : 1];
  const bool pivoting = path_ == LinearPath::pivoting;
  if (pivoting ? form.pivoting || form.pivots_in_full : form.analysed) return;
  const Timer timer(counters_.analysis_seconds);
  bool anew = true;
  const auto lend = [&](auto& factor) {
    factor.emplace(W_->symbolic_store(), form.matrix);
    anew = factor->is_new();
  };
  if (pivoting && is_small()) {
    form.pivots_in_full = true;
    scale_.setOnes(n_ + m_);
    if (n_ > 0) scale_ << weight1_, weight2_;
  } else if (pivoting) {
    using Symmetry = PivotingFactor::Symmetry;
    form.pivoting =
        std::make_unique<PivotingFactor>(symmetric_ ? Symmetry::symmetric : Symmetry::general);
    // An analysis that failed is a factorisation that fails.
    static_cast<void>(form.pivoting->analyze(form.matrix));
  } else if (path_ != LinearPath::dense) {
    if (!symmetric_) {
      lend(lu_);
    } else if (n_ > 0) {
      lend(ldlt_);
    } else {
      lend(cholesky_);
    }
  }
  form.analysed = form.analysed || !pivoting;
  ++(anew ? counters_.analyses : counters_.reused);
}

void InteriorPointSystem::fill_sparse() {
  SparseForm& form = sparse_[symmetric_ ? 0 : 1];
  double* values = form.matrix.valuePtr();
  std::copy(form.base.begin(), form.base.end(), values);
  const SetProduct& K = W_->K();
  const double sign = n_ > 0 ? -1 : 1;
  for (int i = 0; i < K.blocks(); ++i) {
    const int d = K.sets[i].dim;
    for (int k = 0; k < d * d; ++k) {
      const int at = blocks_->start[i] + k;
      if (form.position[at] < 0) continue;
      const double value = blocks_->T[at] + (k % (d + 1) == 0 ? shift(i) : 0.0);
      values[form.position[at]] += sign * value;
    }
  }
}

bool InteriorPointSystem::factorize_pivoting(SparseForm& form) {
  if (form.pivots_in_full) {
    using Storage = FullPivotFactor::Storage;
    if (!form.full_pivoting.factorize(form.matrix, symmetric_ ? Storage::lower : Storage::all,
                                      scale_)) {
      return false;
    }
    counters_.null_pivots = std::max(counters_.null_pivots, form.full_pivoting.null_pivots());
    return true;
  }
  using NullPivots = PivotingFactor::NullPivots;
  if (!form.pivoting->factorize(form.matrix, NullPivots::kept, pivot_threshold_) &&
      !form.pivoting->factorize(form.matrix, NullPivots::taken, pivot_threshold_)) {
    return false;
  }
  // The inertia is not asked for: late matrices have pivots of rounding of either sign and
  // residuals that are as good as any.
  counters_.null_pivots = std::max(counters_.null_pivots, form.pivoting->null_pivots());
  return true;
}

bool InteriorPointSystem::factorize_sparse() {
  build_pattern();
  fill_sparse();
  build_kernel();
  const Timer timer(counters_.factorization_seconds);
  SparseForm& form = sparse_[symmetric_ ? 0 : 1];
  if (path_ == LinearPath::pivoting) return factorize_pivoting(form);
  if (path_ == LinearPath::dense) return dense_[symmetric_ ? 0 : 1].factorize(form.matrix);
  if (!symmetric_) return (*lu_)->factorize(form.matrix);
  if (n_ == 0) return (*cholesky_)->factorize(form.matrix);
  // Quasi-definite: as many negative pivots as rows of J, or rounding has spoilt it.
  return (*ldlt_)->factorize(form.matrix) && ((*ldlt_)->vectorD().array() < 0).count() == m_;
}

// full_ → solved_
bool InteriorPointSystem::solve_sparse() {
  SparseForm& form = sparse_[symmetric_ ? 0 : 1];
  if (path_ == LinearPath::pivoting && form.pivots_in_full) {
    form.full_pivoting.solve(full_, solved_);
    return true;
  }
  if (path_ == LinearPath::pivoting) {
    const bool solved = form.pivoting->solve(full_, solved_);
    counters_.backward_error = std::max(counters_.backward_error, form.pivoting->backward_error());
    return solved;
  }
  if (path_ == LinearPath::dense) {
    dense_[symmetric_ ? 0 : 1].solve(full_, solved_);
  } else if (!symmetric_) {
    (*lu_)->solve(full_, solved_);
  } else if (n_ == 0) {
    (*cholesky_)->solve(full_, solved_);
  } else {
    (*ldlt_)->solve(full_, solved_);
  }
  return true;
}

void InteriorPointSystem::substitute(const Vector& r1, const Vector& r2, Vector& dx,
                                     Vector& dlambda) {
  dlambda.resize(m_);
  if (is_condensed()) {
    const SetProduct& K = W_->K();
    const auto times_D = [&](const Vector& v, Vector& out) {
      for (int i = 0; i < K.blocks(); ++i) {
        const int d = K.sets[i].dim;
        out.segment(K.start[i], d) = Eigen::Map<const Matrix>(D_.data() + blocks_->start[i], d, d)
                                         .lazyProduct(v.segment(K.start[i], d));
      }
    };
    work2_.resize(m_);
    times_D(r2, work2_);
    work1_ = r1;
    transpose_multiply_add(W_->jacobian(), work2_, work1_);
    condensed_[symmetric_ ? 0 : 1].solve(work1_, dx);
    multiply(W_->jacobian(), dx, part_);
    work2_ = r2 - part_;
    times_D(work2_, dlambda);
    return;
  }
  full_.resize(n_ + m_);
  full_.head(n_) = r1;
  full_.tail(m_) = r2;
  if (!solve_sparse()) solved_.setConstant(n_ + m_, std::numeric_limits<double>::quiet_NaN());
  dx = solved_.head(n_);
  dlambda = (n_ > 0 ? -1.0 : 1.0) * solved_.tail(m_);
}

double InteriorPointSystem::residual(const Vector& r1, const Vector& r2, const Vector& dx,
                                     const Vector& dlambda) {
  const SetProduct& K = W_->K();
  const auto size1 = [&](const Vector& v) { return v.cwiseProduct(weight1_).norm(); };
  const auto size2 = [&](const Vector& v) { return v.cwiseProduct(weight2_).norm(); };
  double worst = 0;
  rho2_ = r2;
  double scale2 = size2(r2);
  if (n_ > 0) {
    multiply_mass(W_->problem(), dx, rho1_);
    double scale1 = size1(r1) + size1(rho1_);
    rho1_ = r1 - rho1_;
    transpose_multiply_add(W_->jacobian(), dlambda, rho1_);
    worst = scale1 > 0 ? size1(rho1_) / scale1 : 0;
    multiply(W_->jacobian(), dx, part_);
    scale2 += size2(part_);
    rho2_ -= part_;
  } else {
    rho1_.resize(0);
  }
  part_.setZero(m_);
  if (W_->compliance().nonZeros() > 0) part_.noalias() += W_->compliance() * dlambda;
  for (int i = 0; i < K.blocks(); ++i) {
    const int d = K.sets[i].dim;
    const Eigen::Map<const Matrix> left(blocks_->left.data() + blocks_->start[i], d, d);
    const Eigen::Map<const Matrix> right(blocks_->right.data() + blocks_->start[i], d, d);
    const Eigen::Matrix<double, Eigen::Dynamic, 1, 0, max_block, 1> scaled =
        right.lazyProduct(dlambda.segment(K.start[i], d));
    part_.segment(K.start[i], d) += left.lazyProduct(scaled);
  }
  scale2 += size2(part_);
  rho2_ -= part_;
  worst = std::max(worst, scale2 > 0 ? size2(rho2_) / scale2 : 0);
  return std::isfinite(worst) ? worst : std::numeric_limits<double>::infinity();
}

double InteriorPointSystem::solve(const Vector& r1, const Vector& r2, Vector& dx, Vector& dlambda) {
  const Timer timer(counters_.solve_seconds);
  ++counters_.solves;
  substitute(r1, r2, dx, dlambda);
  double error = residual(r1, r2, dx, dlambda);
  for (int k = 0; k < refinement_limit && error > refined; ++k) {
    kept_dx_ = dx;
    kept_dl_ = dlambda;
    remainder1_ = rho1_;
    remainder2_ = rho2_;
    substitute(remainder1_, remainder2_, ddx_, ddl_);
    dx += ddx_;
    dlambda += ddl_;
    ++refinements_;
    ++counters_.refinements;
    const double next = residual(r1, r2, dx, dlambda);
    if (!(next < error)) {
      dx = kept_dx_;
      dlambda = kept_dl_;
      break;
    }
    const bool slow = next > 0.7 * error;
    error = next;
    if (slow) break;
  }
  if (!(error <= residual_limit)) ++counters_.missed;
  return error;
}

}  // namespace urto
