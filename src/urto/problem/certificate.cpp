#include "urto/problem/certificate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/LU>
#include <Eigen/SparseLU>

#include "urto/linalg/checked.h"
#include "urto/problem/certificate_laws.h"

namespace urto {
namespace {

// Fixed sizes: a rigid body's 6 × 6 block is the common case, and nothing here may allocate for it.
using BodyMatrix =
    Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, max_entry_width, max_entry_width>;

void resize(Vector& v, Eigen::Index size) {
  if (v.size() != size) v.resize(size);
}

// Norms are roots of sums of squares, which underflow below this: a motion that dies out along its
// joints passes it after a few steps.
constexpr double smallest_norm = 1e-140;

double relative(double value, double size) {
  if (size > smallest_norm) return value / size;
  return value <= smallest_norm ? 0 : value;
}

// A sum of n terms t is known to n ε Σ|t| at best (Higham, Accuracy and Stability of Numerical
// Algorithms, 2nd ed., eq. 3.5), and x itself was rounded after the solve. Rows have some twelve
// terms, six of each body.
constexpr double rounding = 16 * std::numeric_limits<double>::epsilon();

// A velocity error, less what rounding can make of it, relative to ‖q‖; where that is rounding
// itself (a mechanism that coasts along its joints) relative to the velocities that q was summed
// from.
double relative_to_motion(double off, double q, double terms) {
  const double beyond = std::isfinite(off) ? std::max(0.0, off - rounding * terms) : off;
  return relative(beyond, q > rounding * terms ? q : terms);
}

// What a thread takes at once.
constexpr int bodies_at_a_time = 256, blocks_at_a_time = 128;

// ‖H x − Jᵀλ − a‖².
double squared_imbalance(const Vector& Hx, const Vector& reaction, const Vector& a) {
  double sum = 0;
  for (Eigen::Index d = 0; d < a.size(); ++d) {
    const double r = Hx[d] - reaction[d] - a[d];
    sum += r * r;
  }
  return sum;
}

double worst(double a, double b) {
  return std::isnan(a) || std::isnan(b) ? NAN : std::max(a, b);
}

}  // namespace

double Certificate::residual() const {
  return worst(worst(momentum, natural_map), natural_map_scaled);
}

// H⁻¹ of a block, kept while H stays the same: a rigid body's mass does not change from step to
// step. LU, not Cholesky: finite-element files have mass matrices that are not quite symmetric, and
// q must be the one of the matrix given.
void Certifier::invert_block(const BlockMatrix& H, int k) {
  const int n = H.size(k);
  const double* values = H.values.data() + H.offset[k];
  double* known = mass_.data() + H.offset[k];
  if (std::equal(values, values + n * n, known)) return;
  std::copy(values, values + n * n, known);
  Eigen::Map<Matrix> out(inverse_.data() + H.offset[k], n, n);
  if (n <= max_entry_width) {
    out = BodyMatrix(H.block(k)).partialPivLu().inverse();
  } else {
    out = Matrix(H.block(k)).partialPivLu().inverse();
  }
}

// Springs and elements couple the blocks: a factor of the certificate's own, its pattern kept from
// step to step. False where H is not positive definite or not symmetric.
bool Certifier::solve_coupled(const BlockMatrix& H, const Vector& a) {
  if (H.symmetry != BlockMatrix::Symmetry::symmetric || !coupled_.factorize(H)) return false;
  free_ = a;
  coupled_.solve(free_);
  return true;
}

void Certifier::solve_mass(const StepProblem& p, const Vector& x) {
  const BlockMatrix* blocks = block_diagonal_mass(p);
  if (blocks == nullptr) {
    const auto* coupled = std::get_if<BlockMatrix>(&p.H);
    if (coupled != nullptr && solve_coupled(*coupled, p.a)) return;
    const Checked<Eigen::SparseLU<SparseMatrix>> lu(sparse_mass(p));
    // An H that is singular to rounding (milligrams on springs of 10⁸ N/m) has no q: what is left
    // as a scale is the motion itself.
    free_ = lu.ok() ? lu.solve(p.a) : x;
    return;
  }
  if (blocks->start != mass_start_) {
    mass_start_ = blocks->start;
    mass_.assign(blocks->offset.back(), NAN);
    inverse_.resize(blocks->offset.back());
    node_of_dof_.resize(blocks->rows());
    for (int k = 0; k < blocks->blocks(); ++k)
      std::fill_n(node_of_dof_.begin() + blocks->start[k], blocks->size(k), k);
  }
  share_items(threads_, blocks->blocks(), bodies_at_a_time, [&](int k) {
    invert_block(*blocks, k);
    const int n = blocks->size(k);
    free_.segment(blocks->start[k], n) =
        Eigen::Map<const Matrix>(inverse_.data() + blocks->offset[k], n, n)
            .lazyProduct(p.a.segment(blocks->start[k], n));
  });
}

// H x, Jᵀλ, u = J x + E λ + b and q = J H⁻¹ a + b, by loops of its own.
void Certifier::measure_motion(const StepProblem& p, const Vector& x, const Vector& lambda,
                               double terms_of_b) {
  resize(Hx_, p.dofs());
  resize(reaction_, p.dofs());
  resize(free_, p.dofs());
  resize(u_, p.rows());
  resize(q_, p.rows());
  resize(compliance_, p.rows());
  resize(terms_, p.rows());
  resize(force_terms_, p.dofs());  // here, that a later step which needs it allocates nothing
  if (p.dofs() > 0) {
    multiply_mass(p, x, Hx_, threads_);
    solve_mass(p, x);
  }
  compliance_.setZero();
  terms_.setZero();
  for (int c = 0; c < p.E.outerSize(); ++c) {
    for (SparseMatrix::InnerIterator it(p.E, c); it; ++it) {
      compliance_[it.row()] += it.value() * lambda[c];
      terms_[it.row()] += std::abs(it.value() * lambda[c]);
    }
  }
  share_items(threads_, p.J.blocks(), blocks_at_a_time, [&](int i) {
    for (int r = 0; r < p.J.height(i); ++r) measure_row(p, x, i, r, terms_of_b);
  });
  sum_reactions(p, lambda);
}

void Certifier::measure_row(const StepProblem& p, const Vector& x, int i, int r,
                            double terms_of_b) {
  const int row = p.J.row_start[i] + r;
  double moving = 0;
  double free = 0;
  double terms = 0;
  for (int e = p.J.entry_start[i]; e < p.J.entry_start[i + 1]; ++e) {
    const BlockRows::Entry& entry = p.J.entries[e];
    const double* values = p.J.values.data() + entry.offset + r * entry.width;
    for (int c = 0; c < entry.width; ++c) {
      const double of_x = values[c] * x[entry.column + c];
      const double of_free = values[c] * free_[entry.column + c];
      moving += of_x;
      free += of_free;
      terms += std::abs(of_x) + std::abs(of_free);
    }
  }
  u_[row] = moving + compliance_[row] + p.b[row];
  q_[row] = free + p.b[row];
  terms_[row] += terms + std::abs(p.b[row]) + terms_of_b;
}

// Jᵀλ. Row blocks meet at the nodes, so each thread has a range of degrees of freedom and looks
// through all row blocks for theirs: every sum is taken in the order of the rows.
void Certifier::sum_reactions(const StepProblem& p, const Vector& lambda) {
  reaction_.setZero();
  const int range = std::max(3000, (p.dofs() + threads_of(threads_) - 1) / threads_of(threads_));
  share(threads_, p.dofs(), range, [&](int, int first, int last) {
    for (int i = 0; i < p.J.blocks(); ++i) {
      for (int e = p.J.entry_start[i]; e < p.J.entry_start[i + 1]; ++e) {
        const BlockRows::Entry& entry = p.J.entries[e];
        const int begin = std::max(first - entry.column, 0);
        const int end = std::min(last - entry.column, entry.width);
        const double* values = p.J.values.data() + entry.offset;
        for (int r = 0; r < p.J.height(i) && begin < end; ++r, values += entry.width) {
          const double force = lambda[p.J.row_start[i] + r];
          for (int c = begin; c < end; ++c) reaction_[entry.column + c] += values[c] * force;
        }
      }
    }
  });
}

// vᵀ H⁻¹ v of one row's entry.
double Certifier::inverse_mass_norm(const BlockMatrix& H, const BlockRows::Entry& entry,
                                    const double* v) const {
  const int first = node_of_dof_[entry.column];
  if (entry.width == 6 && H.size(first) == 6 && H.start[first] == entry.column) {  // a rigid body
    using Row = Eigen::Matrix<double, 6, 1>;
    const Eigen::Map<const Eigen::Matrix<double, 6, 6>> inverse(inverse_.data() + H.offset[first]);
    const Eigen::Map<const Row> row(v);
    return row.dot(Row(inverse * row));
  }
  double sum = 0;
  for (int c = 0; c < entry.width; ++c) {
    const int k = node_of_dof_[entry.column + c];
    const int n = H.size(k);
    const double* column = inverse_.data() + H.offset[k] + (entry.column + c - H.start[k]) * n;
    for (int d = 0; d < entry.width; ++d) {
      const int dof = entry.column + d - H.start[k];
      if (dof >= 0 && dof < n) sum += v[c] * v[d] * column[dof];
    }
  }
  return sum;
}

// ρ_i = d / tr(J_i B⁻¹ J_iᵀ + E_ii), B the block diagonal of H (its diagonal where H is sparse).
void Certifier::measure_scales(const StepProblem& p) {
  scale_.resize(p.blocks());
  const BlockMatrix* blocks = block_diagonal_mass(p);
  if (const auto* coupled = std::get_if<BlockMatrix>(&p.H); coupled != nullptr && !blocks) {
    resize(diagonal_, coupled->rows());
    for (int k = 0; k < coupled->blocks(); ++k)
      diagonal_.segment(coupled->start[k], coupled->size(k)) = coupled->block(k).diagonal();
  } else if (blocks == nullptr) {
    diagonal_ = mass_diagonal(p);
  }
  share_items(threads_, p.blocks(), blocks_at_a_time, [&](int i) {
    const double inverse = inverse_scale(p, blocks, i);
    scale_[i] = inverse > 0 ? p.K.sets[i].dim / inverse : 1;
  });
}

double Certifier::inverse_scale(const StepProblem& p, const BlockMatrix* blocks, int i) const {
  double sum = 0;
  for (int r = 0; r < p.J.height(i); ++r) {
    for (int e = p.J.entry_start[i]; e < p.J.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = p.J.entries[e];
      const double* v = p.J.values.data() + entry.offset + r * entry.width;
      if (blocks != nullptr) {
        sum += inverse_mass_norm(*blocks, entry, v);
        continue;
      }
      for (int c = 0; c < entry.width; ++c) sum += v[c] * v[c] / diagonal_[entry.column + c];
    }
  }
  for (int r = p.K.start[i]; r < p.K.start[i + 1]; ++r) {
    for (SparseMatrix::InnerIterator it(p.E, r); it; ++it) sum += it.row() == r ? it.value() : 0;
  }
  return sum;
}

// What rounding can make of H x − Jᵀλ − a. Springs that a body does not stretch are large terms
// whose sum is small. Asked for only where the balance is off at all.
double Certifier::momentum_rounding(const StepProblem& p, const Vector& x, const Vector& lambda) {
  force_terms_ = p.a.cwiseAbs();
  if (const auto* blocks = std::get_if<BlockMatrix>(&p.H)) {
    add_magnitudes(*blocks, x, force_terms_);
  } else {
    const auto& H = std::get<SparseMatrix>(p.H);
    for (int c = 0; c < H.outerSize(); ++c) {
      for (SparseMatrix::InnerIterator it(H, c); it; ++it)
        force_terms_[it.row()] += std::abs(it.value() * x[c]);
    }
  }
  for (int i = 0; i < p.J.blocks(); ++i) {
    for (int r = 0; r < p.J.height(i); ++r) {
      for (int e = p.J.entry_start[i]; e < p.J.entry_start[i + 1]; ++e) {
        const BlockRows::Entry& entry = p.J.entries[e];
        const double* values = p.J.values.data() + entry.offset + r * entry.width;
        for (int c = 0; c < entry.width; ++c)
          force_terms_[entry.column + c] += std::abs(values[c] * lambda[p.J.row_start[i] + r]);
      }
    }
  }
  return rounding * force_terms_.norm();
}

Certifier::BlockMeasure Certifier::measure_block(const StepProblem& p, const Vector& lambda,
                                                 Friction friction, int i) const {
  const ConvexSet& set = p.K.sets[i];
  const int first = p.K.start[i];
  const LawBlock l = lambda.segment(first, set.dim);
  const LawBlock ui = u_.segment(first, set.dim);
  LawBlock hat = ui;
  double sliding = 0;  // μ‖u_T‖ + μ_r‖u_R‖ + μ_s|u_S|
  const NormalBounds bounds = bounds_of(set, ui);
  for (int k = 0; k < bounds.size; ++k) sliding += bounds.mu[k] * bounds.length[k];
  if (friction == Friction::exact) hat[0] += sliding;

  BlockMeasure m;
  const bool by_parts = set.has_friction() && friction == Friction::exact && !law_.is_circle();
  m.natural_map =
      (by_parts ? law_error_by_parts(set, law_, i, l, ui) : law_error(set, l, hat)).squaredNorm();
  m.share = (by_parts ? law_error_by_parts(set, law_, i, l, scale_[i] * ui)
                      : law_error(set, l, scale_[i] * hat))
                .squaredNorm() /
            scale_[i];
  m.q = scale_[i] * q_.segment(first, set.dim).squaredNorm();
  m.terms = scale_[i] * terms_.segment(first, set.dim).squaredNorm();
  m.cone_violation = distance_to_set(set, l);
  m.duality_gap = l.dot(hat) + box_support(set, -hat);
  switch (set.kind) {
    case SetKind::free:
      m.penetration = ui.cwiseAbs().maxCoeff();
      break;
    case SetKind::nonnegative:
      m.penetration = std::max(0.0, -ui.minCoeff());
      m.complementarity = l.cwiseProduct(ui).cwiseAbs().maxCoeff();
      break;
    case SetKind::cone:
    case SetKind::rolling_cone:
      m.penetration = std::max(0.0, -ui[0]);
      m.complementarity = std::abs(l.dot(hat));
      m.dissipation =
          std::abs(l.tail(set.dim - 1).dot(ui.tail(set.dim - 1)) + std::max(0.0, l[0]) * sliding);
      break;
    case SetKind::box:
      break;
  }
  return m;
}

Certificate certify(const StepProblem& p, const Vector& x, const Vector& lambda,
                    Friction friction) {
  Certificate c;
  Certifier().certify(p, x, lambda, friction, c);
  return c;
}

void Certifier::certify(const StepProblem& p, const Vector& x, const Vector& lambda,
                        Friction friction, Certificate& c, double terms_of_b) {
  c = {};
  c.friction = friction;
  measure_motion(p, x, lambda, terms_of_b);
  measure_scales(p);
  double unbalanced = 0, loads = 0, reactions = 0, rates = 0, size_of_q = 0, size_of_terms = 0;
  double primal = 0;
  // Each sum in its order by one thread, but several at a time.
  share_items(p.dofs() > bodies_at_a_time * 6 ? threads_ : nullptr, 7, 1, [&](int sum) {
    if (sum == 0) unbalanced = squared_imbalance(Hx_, reaction_, p.a);
    if (sum == 1) loads = p.a.norm();
    if (sum == 2) reactions = reaction_.norm();
    if (sum == 3) rates = p.dofs() > 0 ? Hx_.norm() : 0.0;
    if (sum == 4) size_of_q = q_.norm();
    if (sum == 5) size_of_terms = terms_.norm();
    if (sum == 6) primal = p.dofs() > 0 ? 0.5 * x.dot(Hx_) - p.a.dot(x) : 0.0;
  });
  double momentum = std::sqrt(unbalanced);
  const double forces = loads + reactions + rates;
  if (momentum > rounding * forces)
    momentum = std::max(0.0, momentum - momentum_rounding(p, x, lambda));
  c.momentum = relative(momentum, forces);

  measures_.resize(p.blocks());
  share_items(threads_, p.blocks(), blocks_at_a_time,
              [&](int i) { measures_[i] = measure_block(p, lambda, friction, i); });
  double sum = 0;
  double energy = 0;
  double energy_of_q = 0;
  double energy_of_terms = 0;
  double largest = -1;
  for (int i = 0; i < p.blocks(); ++i) {
    const BlockMeasure& m = measures_[i];
    sum += m.natural_map;
    energy += m.share;
    energy_of_q += m.q;
    energy_of_terms += m.terms;
    if (!(m.share <= largest)) {
      largest = m.share;
      c.worst_block = i;
    }
    c.duality_gap += m.duality_gap;
    c.cone_violation = worst(c.cone_violation, m.cone_violation);
    c.penetration = worst(c.penetration, m.penetration);
    c.complementarity = worst(c.complementarity, m.complementarity);
    c.dissipation = worst(c.dissipation, m.dissipation);
  }
  c.natural_map_absolute = std::sqrt(sum);
  c.natural_map = relative_to_motion(c.natural_map_absolute, size_of_q, size_of_terms);
  c.natural_map_scaled =
      relative_to_motion(std::sqrt(energy), std::sqrt(energy_of_q), std::sqrt(energy_of_terms));
  c.objective = primal + 0.5 * lambda.dot(compliance_);
}

}  // namespace urto
