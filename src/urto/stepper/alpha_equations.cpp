#include "urto/stepper/alpha_equations.h"

#include <algorithm>
#include <cmath>

#include "urto/stepper/alpha_helpers.h"

namespace urto {
namespace {

void mix(std::uint64_t& hash, std::uint64_t value) {
  hash = (hash ^ value) * 1099511628211ULL;
}

RowMajorMatrix by_rows(const BlockRows& rows) {
  return to_sparse(rows);
}

double largest(const Vector& v) {
  return v.size() > 0 ? v.lpNorm<Eigen::Infinity>() : 0;
}

}  // namespace

std::uint64_t AlphaEquations::ActiveSet::hash() const {
  std::uint64_t out = 1469598103934665603ULL;
  for (const std::uint8_t x : positions) mix(out, x);
  for (const std::uint8_t x : gates) mix(out, x);
  for (const Contact x : contacts) mix(out, static_cast<std::uint64_t>(x));
  return out;
}

bool AlphaEquations::begin(const Interactions& detected, const AlphaStep& step,
                           const StepperOptions& options) {
  options_ = &options;
  rows_ = free_rows_ = detected;
  free_rows_.gaps_only = true;
  h_ = step.h;
  s_ = step.scheme.s();
  modified_ = options.alpha_variant == AlphaVariant::modified_lcp;
  free_gates_ = options.activation == Activation::free ||
                (modified_ && options.activation == Activation::automatic);
  const int n = system_.nv(), m = rows_.rows();
  role_.clear();
  smooth_.assign(m, -1);
  position_.assign(m, -1);
  velocity_.assign(m, -1);
  int smooth = 0, position = 0, velocity = 0;
  for (int i = 0; i < rows_.blocks(); ++i) {
    const Law& law = rows_.laws[i];
    const bool equality = law.kind == LawKind::equality;
    const bool contact = (law.kind == LawKind::unilateral || law.kind == LawKind::coulomb) &&
                         !is_soft(law) && law.cohesion == 0 && law.dim <= 3;
    const bool convex = law.kind == LawKind::coulomb && options.friction == Friction::convex;
    if ((!equality && !contact) || convex || (equality && law.on_velocity && is_soft(law)))
      return false;
    role_.push_back(contact           ? Role::contact
                    : is_soft(law)    ? Role::spring
                    : law.on_velocity ? Role::speed
                                      : Role::joint);
    for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r) {
      if (equality) smooth_[r] = smooth++;
      if (role_[i] == Role::joint || (contact && r == rows_.J.row_start[i]))
        position_[r] = position++;
      if (role_[i] != Role::spring) velocity_[r] = velocity++;
    }
  }
  at_smooth_ = n;
  at_U_ = at_smooth_ + smooth;
  at_position_ = at_U_ + n;
  at_W_ = at_position_ + position;
  at_velocity_ = at_W_ + n;
  at_end_ = at_velocity_ + velocity;
  lambda.setZero(m);
  nu.setZero(m);
  Lambda.setZero(m);
  besides.setZero(n);
  frozen_gates.clear();
  bound.assign(rows_.blocks(), 0.0);
  weight.assign(m, 1.0);
  return true;
}

void AlphaEquations::measure(AlphaStep& step) {
  step.follow(system_);
  system_.measure(step.end, rows_);
  if (free_gates_ && frozen_gates.empty()) system_.measure(step.free, free_rows_);
  system_.force(step.end, force_);
  force_ += besides;
  system_.mass(step.end, mass_);
  const Eigen::Map<const Vector> g_t(rows_.g_t.data(), rows_.rows());
  rate_.resize(rows_.rows());
  multiply(rows_.J, step.end.v, rate_);
  rate_ += g_t;
  free_rate_.resize(rows_.rows());
  multiply(rows_.J, step.free.v, free_rate_);
  free_rate_ += g_t;
}

AlphaEquations::ActiveSet AlphaEquations::active(const AlphaStep& step) const {
  ActiveSet set;
  const int blocks = rows_.blocks();
  set.positions.assign(blocks, 1);
  set.gates.assign(blocks, 1);
  set.contacts.assign(blocks, Contact::stick);
  for (int i = 0; i < blocks; ++i) {
    if (!is_contact(i)) continue;
    const Law& law = rows_.laws[i];
    const int first = rows_.J.row_start[i], T = law.dim - 1;
    const double r = weight[first], g = rows_.g[first];
    set.positions[i] = push(first) - r * g >= 0 ? 1 : 0;
    if (!frozen_gates.empty()) {
      set.gates[i] = frozen_gates[i];
    } else if (free_gates_) {
      set.gates[i] = free_rows_.g[first] <= gap_rounding(step.start.q) ? 1 : 0;
    } else {
      set.gates[i] = nu[first] >= r * (g - alpha_rows::closed_gap) ? 1 : 0;
    }
    const double normal = Lambda[first] - r * (rate_[first] + bound[i]);
    if (set.gates[i] == 0 || normal < 0) {
      set.contacts[i] = Contact::apart;
    } else if (T > 0) {
      const auto z = Lambda.segment(first + 1, T) - weight[first + 1] * rate_.segment(first + 1, T);
      if (z.norm() > law.friction * std::max(0.0, Lambda[first])) set.contacts[i] = Contact::slip;
    }
  }
  return set;
}

bool AlphaEquations::open(int block, const ActiveSet& set) const {
  return is_contact(block) && set.positions[block] == 0;
}

/// A soft row is divided by what a velocity changes its force.
double AlphaEquations::soft_scale(int block) const {
  const Law& law = rows_.laws[block];
  return h_ * s_ * law.stiffness + law.damping;
}

void AlphaEquations::residual(const AlphaStep& step, const ActiveSet& set, Vector& r) const {
  const int n = system_.nv();
  r.setZero(at_end_);
  Vector y = Vector::Zero(rows_.rows()), work(n);
  for (int i = 0; i < rows_.blocks(); ++i) {
    const Law& law = rows_.laws[i];
    for (int k = rows_.J.row_start[i]; k < rows_.J.row_start[i + 1]; ++k) {
      if (smooth_[k] >= 0) {
        r[smooth_row(k)] =
            role_[i] == Role::spring
                ? (lambda[k] + law.stiffness * rows_.g[k] + law.damping * rate_[k]) / soft_scale(i)
                : free_rate_[k];
      }
      if (position_[k] >= 0) {
        r[position_row(k)] = open(i, set) ? -push(k) / h_ : rows_.g[k] / h_;
        if (modified_ || !open(i, set)) y[k] = nu[k];
      } else if (is_contact(i) && options_->friction_displacement) {
        y[k] = 0.5 * h_ * Lambda[k];
      }
      if (velocity_[k] >= 0) r[velocity_row(k)] = rate_[k];
    }
    if (!is_contact(i)) continue;
    const int first = rows_.J.row_start[i], T = law.dim - 1, at = velocity_row(first);
    if (set.contacts[i] == Contact::apart) {
      r.segment(at, law.dim) = -Lambda.segment(first, law.dim);
      continue;
    }
    r[at] += bound[i];
    if (set.contacts[i] == Contact::slip) {
      const Vector z =
          Lambda.segment(first + 1, T) - weight[first + 1] * rate_.segment(first + 1, T);
      r.segment(at + 1, T) =
          law.friction * Lambda[first] * z.normalized() - Lambda.segment(first + 1, T);
    }
  }
  // The three equations of motion.
  work.setZero();
  transpose_multiply_add(rows_.J, lambda, work);
  multiply(mass_, step.a_hat, y_inertia_);
  r.head(n) = h_ * (y_inertia_ - force_ - work);
  momentum_scale_ = h_ * (y_inertia_.norm() + force_.norm() + work.norm());
  work.setZero();
  transpose_multiply_add(rows_.J, y, work);
  const Vector reaction =
      step.turn.blocks() > 0 ? Vector(to_sparse(step.turn).transpose() * work) : work;
  multiply(mass_, step.U, y_inertia_);
  r.segment(at_U_, n) = (y_inertia_ - reaction) / h_;
  momentum_scale_ += (y_inertia_.norm() + reaction.norm()) / h_;
  work.setZero();
  transpose_multiply_add(rows_.J, Lambda, work);
  multiply(mass_, step.W, y_inertia_);
  r.segment(at_W_, n) = y_inertia_ - work;
  momentum_scale_ += y_inertia_.norm() + work.norm();
  multiply(mass_, step.free.v, y_inertia_);
  momentum_scale_ += y_inertia_.norm();
  rounding_ = 2 * gap_rounding(step.start.q);
  velocity_scale_ =
      largest(step.free.v) + largest(step.end.v) + h_ * largest(step.a) + largest(step.U) / h_;
}

double AlphaEquations::relative(const Vector& r) const {
  const int n = system_.nv();
  double momentum =
      std::max({r.head(n).norm(), r.segment(at_U_, n).norm(), r.segment(at_W_, n).norm()});
  // Rows that say that a multiplier is zero have its unit; they weigh least beside the others'.
  // What positions cannot tell from zero is taken off.
  const double gaps =
      std::max(0.0, largest(r.segment(at_position_, at_W_ - at_position_)) - rounding_ / h_);
  const double velocity = std::max({largest(r.segment(at_smooth_, at_U_ - at_smooth_)), gaps,
                                    largest(r.tail(at_end_ - at_velocity_))});
  if (momentum_scale_ > 0) momentum /= momentum_scale_;
  const double rows = velocity_scale_ > 0 ? velocity / velocity_scale_ : velocity;
  const double worst = std::max(momentum, rows);
  return std::isfinite(worst) ? worst : std::numeric_limits<double>::infinity();
}

void AlphaEquations::entry(int row, int column, double value) {
  if (collected_ != nullptr) {
    collected_->emplace_back(row, column, value);
  } else {
    factor_.add(row, column, value);
  }
}

void AlphaEquations::add(const SparseMatrix& A, int row, int column, double factor) {
  for (int c = 0; c < A.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(A, c); it; ++it)
      entry(row + static_cast<int>(it.row()), column + c, factor * it.value());
  }
}

/// One row of A as a row of the matrix.
void AlphaEquations::add_row(const RowMajorMatrix& A, int from, int row, int column,
                             double factor) {
  for (RowMajorMatrix::InnerIterator it(A, from); it; ++it)
    entry(row, column + static_cast<int>(it.col()), factor * it.value());
}

/// … and as a column.
void AlphaEquations::add_column(const RowMajorMatrix& A, int from, int row, int column,
                                double factor) {
  for (RowMajorMatrix::InnerIterator it(A, from); it; ++it)
    entry(row + static_cast<int>(it.col()), column, factor * it.value());
}

SparseMatrix AlphaEquations::stiffness(const AlphaStep& step, const Vector& multipliers,
                                       const Vector& moved, bool of_forces) {
  BlockMatrix out;
  out.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::general);
  if (of_forces) system_.assemble(step.end, {.stiffness = 1}, Tangent::exact, out);
  system_.add_geometric_stiffness(step.end, rows_, multipliers, 1, out);
  system_.add_inertial_stiffness(step.end, moved, 1, out);
  out.finish_assembly();
  return to_sparse(out);
}

void AlphaEquations::differentiate(const AlphaStep& step, const ActiveSet& set) {
  const int n = system_.nv();
  BlockMatrix blocks;
  blocks.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::general);
  system_.assemble(step.end, {.damping = 1}, Tangent::exact, blocks);
  blocks.finish_assembly();
  C_ = to_sparse(blocks);
  M_ = to_sparse(mass_);
  D_.resize(n, n);
  D_.setIdentity();
  if (step.turn.blocks() > 0) D_ = to_sparse(step.turn);
  J_ = by_rows(rows_.J);
  JD_ = J_ * D_;
  BlockRows rates;
  State probe = step.end;
  system_.rate_tangent(probe, rows_, rates);
  GD_ = by_rows(rates) * D_;
  probe.v = step.free.v;
  system_.rate_tangent(probe, rows_, rates);
  GsD_ = by_rows(rates) * D_;
  KD_ = stiffness(step, lambda, step.a_hat, true) * D_;
  Gv_ = stiffness(step, Lambda, step.W, false) * D_;
  // Of the position equation: Dᵀ is turned on the left besides.
  Vector y = Vector::Zero(rows_.rows()), work = Vector::Zero(n);
  for (int i = 0; i < rows_.blocks(); ++i) {
    for (int k = rows_.J.row_start[i]; k < rows_.J.row_start[i + 1]; ++k) {
      if (position_[k] >= 0 && (modified_ || !open(i, set))) y[k] = nu[k];
      if (position_[k] < 0 && is_contact(i) && options_->friction_displacement)
        y[k] = 0.5 * h_ * Lambda[k];
    }
  }
  transpose_multiply_add(rows_.J, y, work);
  blocks.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::general);
  system_.add_geometric_stiffness(step.end, rows_, y, 1, blocks);
  blocks.finish_assembly();
  Gp_ = D_.transpose() * SparseMatrix(to_sparse(blocks) * D_);
  blocks.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::general);
  system_.add_inertial_stiffness(step.end, step.U, 1, blocks);
  blocks.finish_assembly();
  Gp_ += SparseMatrix(to_sparse(blocks) * D_);
  blocks.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::general);
  add_increment_curvature(system_.layout(), step.increment, work, -1, blocks);
  blocks.finish_assembly();
  Gp_ += to_sparse(blocks);
}

// A row of J v + g_t at the end, times a factor: by Δṽ, ΔU/h and ΔW.
void AlphaEquations::add_rate_row(int from, int row, double factor) {
  add_row(J_, from, row, 0, factor);
  add_row(GD_, from, row, 0, factor * h_ * s_);
  add_row(GD_, from, row, at_U_, factor * h_);
  add_row(J_, from, row, at_W_, factor);
}

void AlphaEquations::add_contact_rows(int block, const ActiveSet& set) {
  const Law& law = rows_.laws[block];
  const int first = rows_.J.row_start[block], at = velocity_row(first), T = law.dim - 1;
  if (set.contacts[block] == Contact::apart) {
    for (int k = 0; k < law.dim; ++k) entry(at + k, at + k, 1);
    return;
  }
  add_rate_row(first, at, 1);
  factor_.shift(at, -1);
  if (set.contacts[block] == Contact::stick) {
    for (int k = 1; k <= T; ++k) {
      add_rate_row(first + k, at + k, 1);
      factor_.shift(at + k, -1);
    }
    return;
  }
  const double r = weight[first + 1];
  const Vector z = Lambda.segment(first + 1, T) - r * rate_.segment(first + 1, T);
  const Vector direction = z.normalized();
  const Matrix Q = law.friction * Lambda[first] / z.norm() *
                   (Matrix::Identity(T, T) - direction * direction.transpose());
  for (int a = 0; a < T; ++a) {
    for (int b = 0; b < T; ++b) {
      add_rate_row(first + 1 + b, at + 1 + a, -r * Q(a, b));
      entry(at + 1 + a, at + 1 + b, (a == b ? 1 : 0) - Q(a, b));
    }
    entry(at + 1 + a, at, -law.friction * direction[a]);
  }
}

void AlphaEquations::add_rows(int block, const ActiveSet& set) {
  const Law& law = rows_.laws[block];
  const bool held = !open(block, set);
  const double half = options_->friction_displacement ? 0.5 : 0;
  for (int k = rows_.J.row_start[block]; k < rows_.J.row_start[block + 1]; ++k) {
    if (smooth_[k] >= 0) {
      const int row = smooth_row(k);
      add_column(J_, k, 0, row, 1);
      if (role_[block] == Role::spring) {
        const double scale = soft_scale(block);
        add_row(JD_, k, row, 0, law.stiffness * h_ * s_ / scale);
        add_row(JD_, k, row, at_U_, law.stiffness * h_ / scale);
        add_rate_row(k, row, law.damping / scale);
        entry(row, row, -1 / (h_ * scale));
      } else {
        add_row(J_, k, row, 0, 1);
        add_row(GsD_, k, row, 0, h_ * s_);
        add_row(GsD_, k, row, at_U_, h_);
        factor_.shift(row, -1);
      }
    }
    if (position_[k] >= 0) {
      const int row = position_row(k);
      if (held || modified_) add_column(JD_, k, at_U_, row, 1);
      if (held) {
        add_row(JD_, k, row, 0, s_);
        add_row(JD_, k, row, at_U_, 1);
        factor_.shift(row, -1);
      } else {
        entry(row, row, 1);
        if (modified_) entry(row, velocity_row(k), -1);
      }
    } else if (is_contact(block)) {
      add_column(JD_, k, at_U_, velocity_row(k), half);
    }
    if (velocity_[k] >= 0) {
      add_column(J_, k, at_W_, velocity_row(k), 1);
      if (!is_contact(block)) {
        add_rate_row(k, velocity_row(k), 1);
        factor_.shift(velocity_row(k), -1);
      }
    }
  }
  if (is_contact(block)) add_contact_rows(block, set);
}

void AlphaEquations::assemble(const AlphaStep& step, const ActiveSet& set) {
  differentiate(step, set);
  factor_.start(system_.nv(), at_end_);
  add(M_, 0, 0, step.scheme.k());
  add(C_, 0, 0, h_);
  add(KD_, 0, 0, h_ * h_ * s_);
  add(KD_, 0, at_U_, h_ * h_);
  add(C_, 0, at_W_, h_);
  add(Gp_, at_U_, 0, s_);
  add(M_, at_U_, at_U_);
  add(Gp_, at_U_, at_U_);
  add(Gv_, at_W_, 0, h_ * s_);
  add(Gv_, at_W_, at_U_, h_);
  add(M_, at_W_, at_W_);
  for (int i = 0; i < rows_.blocks(); ++i) add_rows(i, set);
}

bool AlphaEquations::factorize(const AlphaStep& step, const ActiveSet& set) {
  assemble(step, set);
  return factor_.factorize();
}

SparseMatrix AlphaEquations::matrix(const AlphaStep& step, const ActiveSet& set) {
  std::vector<Eigen::Triplet<double>> entries;
  collected_ = &entries;
  assemble(step, set);
  collected_ = nullptr;
  SparseMatrix out(at_end_, at_end_);
  out.setFromTriplets(entries.begin(), entries.end());
  return out;
}

void AlphaEquations::correct(const Vector& r, AlphaStep& step) {
  factor_.solve(r, solution_);
  solution_ = -solution_;
  apply(solution_, step);
}

void AlphaEquations::apply(const Vector& x, AlphaStep& step) {
  const int n = system_.nv();
  step.add_free_velocity(x.head(n));
  step.U += h_ * x.segment(at_U_, n);
  step.W += x.segment(at_W_, n);
  for (int k = 0; k < rows_.rows(); ++k) {
    if (smooth_[k] >= 0) lambda[k] -= x[smooth_row(k)] / h_;
    if (position_[k] >= 0) nu[k] -= h_ * x[position_row(k)];
    if (velocity_[k] >= 0) Lambda[k] -= x[velocity_row(k)];
  }
}

}  // namespace urto
