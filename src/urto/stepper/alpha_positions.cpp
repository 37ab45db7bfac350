#include "urto/stepper/alpha_positions.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "urto/stepper/alpha_helpers.h"

namespace urto {
namespace {

bool keeps_position(const Law& law) {
  return law.kind == LawKind::equality ? !law.on_velocity
                                       : alpha_rows::is_contact(law) && !is_soft(law);
}

}  // namespace

AlphaPositions::AlphaPositions(SystemAccess& system, const SimulationOptions& options,
                               ThreadPool& threads)
    : system_(system),
      options_(options),
      solver_(make_solver(options.solver.solver)),
      solver_options_(options.solver) {
  solver_options_.friction = Friction::convex;  // there is none
  solver_options_.threads = options.threads;
  solver_options_.islands = options.islands;
  solver_options_.settle = false;
  solver_->use_threads(threads);
  certifier_.use_threads(threads);
}

/// Contacts have their normal row only.
int AlphaPositions::height(const Interactions& rows, int block) const {
  return alpha_rows::is_contact(rows.laws[block]) ? 1 : rows.laws[block].dim;
}

void AlphaPositions::begin(const Interactions& detected, const AlphaStep& step, bool flexible) {
  system_.mass(step.free, mass_);
  if (!std::holds_alternative<BlockMatrix>(problem_.H)) problem_.H.emplace<BlockMatrix>();
  BlockMatrix& H = std::get<BlockMatrix>(problem_.H);
  flexible_ = false;
  const double h = step.h;
  if (!flexible) {
    H = mass_;
  } else {
    for (const Tangent kind : {Tangent::exact, Tangent::semidefinite}) {
      H.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::symmetric);
      system_.assemble(step.free, {.mass = 1, .stiffness = step.scheme.kappa() * h * h}, kind, H);
      H.finish_assembly();
      if (kind == Tangent::semidefinite || factor_.factorize(H)) break;
    }
    flexible_ = H.values != mass_.values || H.couplings != mass_.couplings;
  }
  with_springs_ = flexible;
  kappa_ = step.scheme.kappa() * h * h;
  for (const Law& law : detected.laws)
    flexible_ = flexible_ || (flexible && keeps_position(law) && is_soft(law));
  included_.assign(detected.blocks(), 0);
  expected_.setZero(detected.rows());
}

// Contacts take part from when their gap was closed, or would be, on: the gaps of the others would
// be the largest numbers of the problem, and its tolerance would be relative to them. A block that
// takes part once does so to the end of the step.
void AlphaPositions::include(const Interactions& rows, const Vector& nu) {
  blocks_.clear();
  compliance_.clear();
  problem_.K.sets.clear();
  problem_.K.start.assign(1, 0);
  for (int i = 0; i < rows.blocks(); ++i) {
    const Law& law = rows.laws[i];
    if (!keeps_position(law) || (is_soft(law) && !with_springs_)) continue;
    const int first = rows.J.row_start[i];
    if (!alpha_rows::is_contact(law) || rows.g[first] <= alpha_rows::closed_gap || nu[first] > 0)
      included_[i] = 1;
    if (included_[i] == 0) continue;
    const int height_of = height(rows, i);
    blocks_.push_back(i);
    problem_.K.sets.push_back(alpha_rows::is_contact(law) ? ConvexSet::nonnegative(1)
                                                          : ConvexSet::free(height_of));
    problem_.K.start.push_back(problem_.K.start.back() + height_of);
    const double soft = is_soft(law) ? 1 / (kappa_ * law.stiffness) : 0;
    compliance_.insert(compliance_.end(), height_of, soft);
  }
}

/// ½ J̄_Tᵀ P_T.
void AlphaPositions::load(const Interactions& /*rows*/, const Vector& half, Vector& out) const {
  out.setZero(turned_.columns);
  if (half.size() > 0) transpose_multiply_add(turned_, half, out);
}

void AlphaPositions::pose(const AlphaStep& step, const Interactions& rows, const Vector& half,
                          const Vector& nu) {
  include(rows, nu);
  if (step.turn.blocks() > 0) {
    multiply_right(rows.J, step.turn, turned_);
  } else {
    turned_ = rows.J;
  }
  load(rows, half, problem_.a);
  BlockRows& J = problem_.J;
  J.columns = rows.J.columns;
  J.row_start.assign(1, 0);
  J.entry_start.assign(1, 0);
  J.entries.clear();
  J.values.clear();
  along_.setZero(rows.rows());
  multiply(turned_, step.U, along_);
  problem_.b.resize(problem_.K.rows());
  int row = 0;
  for (const int i : blocks_) {
    const int height_of = height(rows, i), first = rows.J.row_start[i];
    J.row_start.push_back(row + height_of);
    for (int e = turned_.entry_start[i]; e < turned_.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = turned_.entries[e];
      const auto from = turned_.values.begin() + entry.offset;
      J.entries.push_back({entry.column, entry.width, static_cast<int>(J.values.size())});
      J.values.insert(J.values.end(), from, from + height_of * entry.width);
    }
    J.entry_start.push_back(static_cast<int>(J.entries.size()));
    for (int r = 0; r < height_of; ++r, ++row) {
      problem_.b[row] = compliance_[row] > 0 ? 0 : (rows.g[first + r] - along_[first + r]) / step.h;
    }
  }
  set_compliance(problem_, compliance_);
}

/// A correction that positions cannot tell from none, and loads that would not move them either
/// beside what is expected of contacts.
bool AlphaPositions::is_nothing(const AlphaStep& step) {
  const double small = 2 * gap_rounding(step.start.q);
  if (step.U.size() == 0) return true;
  if (step.U.lpNorm<Eigen::Infinity>() > small) return false;
  work_ = problem_.a;
  row_work_ = expected_ / step.h;
  transpose_multiply_add(turned_, row_work_, work_);
  for (int k = 0; k < mass_.blocks(); ++k) {
    for (int c = 0; c < mass_.size(k); ++c) {
      if (!(step.h * std::abs(work_[mass_.start[k] + c]) <= small * mass_.block(k)(c, c)))
        return false;
    }
  }
  return true;
}

void AlphaPositions::measure_error(const AlphaStep& step, const Interactions& rows,
                                   const Vector& nu) {
  error_ = 0;
  for (int i = 0; i < rows.blocks(); ++i) {
    const Law& law = rows.laws[i];
    if (is_soft(law) || !keeps_position(law)) continue;
    const int first = rows.J.row_start[i];
    for (int r = first; r < first + height(rows, i); ++r) {
      const double off = alpha_rows::is_contact(law) && !(nu[r] > 0) ? std::max(0.0, -rows.g[r])
                                                                     : std::abs(rows.g[r]);
      error_ = std::max(error_, off);
    }
  }
  x_ = step.U / step.h;
  lambda_.resize(problem_.K.rows());
  int row = 0;
  for (const int i : blocks_) {
    for (int r = 0; r < height(rows, i); ++r) lambda_[row++] = nu[rows.J.row_start[i] + r] / step.h;
  }
  if (is_nothing(step)) {
    x_.setZero();
    lambda_.setZero();
    row = 0;
    for (const int i : blocks_) {
      for (int r = 0; r < height(rows, i); ++r)
        lambda_[row++] = expected_[rows.J.row_start[i] + r] / step.h;
    }
    // What is nothing beside positions is not weighed against itself.
    row_work_ = -lambda_;
    problem_.a.setZero();
    transpose_multiply_add(problem_.J, row_work_, problem_.a);
  }
  // The same size of positions as in is_nothing, or a gap between the two roundings has no answer.
  certifier_.certify(problem_, x_, lambda_, Friction::convex, certificate_,
                     (1 + step.end.q.lpNorm<Eigen::Infinity>()) / step.h);
}

void AlphaPositions::certify(const AlphaStep& step, const Interactions& rows, const Vector& half,
                             const Vector& nu) {
  pose(step, rows, half, nu);
  measure_error(step, rows, nu);
}

void AlphaPositions::solve(AlphaStep& step, Interactions& rows, const Vector& half, Vector& nu,
                           int most) {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  const double reach = 1 + step.start.q.lpNorm<Eigen::Infinity>();
  // Linearising again brings gaps no nearer than the solver's tolerance lets each solution be.
  const double allowed =
      std::max({options_.stepper.projection_tolerance, 16 * eps * reach * reach,
                0.1 * solver_options_.tolerance * alpha_rows::largest(step.free_increment)});
  step.follow(system_);
  system_.measure(step.end, rows);
  pose(step, rows, half, nu);
  double last = std::numeric_limits<double>::infinity();
  for (passes_ = 1;; ++passes_) {
    if (blocks_.empty()) {
      // Friction of joints may push still.
      system_.mass(step.free, mass_);
      work_ = problem_.a;
      if (factor_.factorize(std::get<BlockMatrix>(problem_.H))) factor_.solve(work_);
      x_ = work_;
      lambda_.resize(0);
    } else {
      x_ = step.U / step.h;
      lambda_.setZero(problem_.K.rows());
      int row = 0;
      for (const int i : blocks_) {
        for (int r = 0; r < height(rows, i); ++r)
          lambda_[row++] = nu[rows.J.row_start[i] + r] / step.h;
      }
      solver_->solve(problem_, solver_options_, x_, lambda_, report_);
    }
    step.U = step.h * x_;
    int row = 0;
    for (const int i : blocks_) {
      for (int r = 0; r < height(rows, i); ++r)
        nu[rows.J.row_start[i] + r] = step.h * lambda_[row++];
    }
    // What positions cannot tell from nothing is nothing.
    if (is_nothing(step)) {
      step.U.setZero();
      nu = expected_;
    }
    step.follow(system_);
    system_.measure(step.end, rows);
    pose(step, rows, half, nu);
    if (most == 1) return;
    measure_error(step, rows, nu);
    const bool meets = certificate_.meets(0.1 * solver_options_.tolerance) ||
                       (certificate_.meets(solver_options_.tolerance) && passes_ > 3);
    // Where linearising does not bring it nearer, it never will.
    if (!step.U.allFinite() || (meets && error_ <= allowed) || passes_ == most ||
        (passes_ > 3 && error_ >= 0.5 * last && meets))
      return;
    last = error_;
  }
}

// M U_m is what the rigid rows and friction give; U − U_m is what springs gave, a motion like any
// other of theirs.
void AlphaPositions::share(AlphaStep& step, const Interactions& rows, const Vector& half,
                           const Vector& nu) {
  if (!flexible_) return;
  load(rows, half, work_);
  work_ *= step.h;
  along_.setZero(rows.rows());
  for (const int i : blocks_) {
    if (is_soft(rows.laws[i])) continue;
    for (int r = 0; r < height(rows, i); ++r) {
      const int row = rows.J.row_start[i] + r;
      along_[row] = nu[row];
    }
  }
  transpose_multiply_add(turned_, along_, work_);
  if (!mass_factor_.factorize(mass_)) return;
  mass_factor_.solve(work_);
  const double h = step.h;
  step.a += (step.U - work_) / (step.scheme.beta * h * h);
  step.U = work_;
  step.follow(system_);
}

}  // namespace urto
