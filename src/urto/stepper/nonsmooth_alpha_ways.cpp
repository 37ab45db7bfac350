// The smooth motion, the gates, the law of the velocities, and the ways to put them together.
#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <fmt/format.h>

#include "urto/stepper/alpha_helpers.h"
#include "urto/stepper/nonsmooth_alpha.h"

namespace urto {
namespace {

constexpr int most_linearisations = 20;
constexpr int most_sequential = 200;

}  // namespace

// ---- The smooth motion

// A Newton correction of ṽ and λ̃ on h(M â − f − J_bᵀλ̃) = 0 and J_b ṽ + g_t = 0, with M, f and J at
// a given configuration that moves with ṽ by the tangent of its increment. `size` is that of the
// change of a. False if the matrix is singular.
bool NonsmoothAlphaStepper::correct_smooth(State& at, const BlockMatrix& turn, double& size) {
  SystemAccess& system = kernel_.system;
  const AlphaScheme& s = step_.scheme;
  const double h = step_.h;
  const int n = system.nv(), m = joints_.rows();
  system.measure(at, joints_);
  system.force(at, force_);
  force_ += besides_;
  if (carried_.any()) carried_.add_force(system, at, force_);
  system.mass(at, mass_);
  for (Vector* rows : {&joint_lambda_, &free_rate_, &joint_rate_}) {
    if (rows->size() != m) rows->resize(m);
  }
  for (int r = 0; r < all_.rows(); ++r) {
    if (joint_row_[r] >= 0) joint_lambda_[joint_row_[r]] = lambda_[r];
  }
  multiply(joints_.J, step_.free.v, free_rate_);
  multiply(joints_.J, at.v, joint_rate_);
  rhs_.setZero(n + m);
  multiply(mass_, step_.a_hat, inertia_);
  reaction_.setZero(n);
  transpose_multiply_add(joints_.J, joint_lambda_, reaction_);
  rhs_.head(n) = -h * (inertia_ - force_ - reaction_);
  rules_.clear();
  for (int i = 0; i < joints_.blocks(); ++i) {
    const Law& law = joints_.laws[i];
    const double scale = h * s.s() * law.stiffness + law.damping;
    rules_.push_back(is_soft(law) ? SaddleRow{.diagonal = -1 / (h * scale), .shifted = false}
                                  : SaddleRow{});
    for (int r = joints_.J.row_start[i]; r < joints_.J.row_start[i + 1]; ++r) {
      rhs_[n + r] = is_soft(law) ? -(joint_lambda_[r] + law.stiffness * joints_.g[r] +
                                     law.damping * (joint_rate_[r] + joints_.g_t[r])) /
                                       scale
                                 : -(free_rate_[r] + joints_.g_t[r]);
    }
  }
  matrix_.start_assembly(system.layout().v_start, BlockMatrix::Symmetry::general);
  const double by_position = h * h * s.s();
  system.assemble(at, {.stiffness = by_position}, Tangent::exact, matrix_);
  system.add_geometric_stiffness(at, joints_, joint_lambda_, by_position, matrix_);
  system.add_inertial_stiffness(at, step_.a_hat, by_position, matrix_);
  if (carried_.any()) carried_.add_stiffness(system, at, by_position, matrix_);
  if (turn.blocks() > 0) multiply_right(matrix_, turn);
  system.assemble(at, {.mass = s.k(), .damping = h}, Tangent::exact, matrix_);
  if (carried_.any()) carried_.add_damping(system.layout(), h, matrix_);
  matrix_.finish_assembly();
  // J + hs G T of what is rigid, J T of springs.
  // The rows were measured at these positions, and change along ṽ.
  kept_velocity_ = at.v;
  at.v = step_.free.v;
  system.rate_tangent(at, joints_, turning_);
  at.v = kept_velocity_;
  const bool turns = turn.blocks() > 0;
  if (turns) {
    multiply_right(turning_, turn, turned_);
    multiply_right(joints_.J, turn, lower_);
  } else {
    lower_ = joints_.J;
  }
  const BlockRows& along = turns ? turned_ : turning_;
  for (int i = 0; i < joints_.blocks(); ++i) {
    if (is_soft(joints_.laws[i])) continue;
    for (int e = lower_.entry_start[i]; e < lower_.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = lower_.entries[e];
      for (int k = entry.offset; k < entry.offset + entry.width * joints_.laws[i].dim; ++k)
        lower_.values[k] = joints_.J.values[k] + h * s.s() * along.values[k];
    }
  }
  factor_.start(n, n + m);
  factor_.add(matrix_);
  factor_.add_rows(joints_.J, lower_, rules_);
  if (!factor_.factorize()) return false;
  factor_.solve(rhs_, solution_);
  if (!solution_.allFinite()) return false;
  size = alpha_rows::largest(solution_.head(n)) / (h * s.gamma);
  step_.add_free_velocity(solution_.head(n));
  for (int r = 0; r < all_.rows(); ++r) {
    if (joint_row_[r] >= 0) lambda_[r] -= solution_[n + joint_row_[r]] / h;
  }
  step_.follow(system);
  return true;
}

std::string NonsmoothAlphaStepper::solve_smooth(StepReport& report) {
  constexpr double eps = std::numeric_limits<double>::epsilon();
  const double rounding =
      8 * eps * (1 + alpha_rows::largest(step_.start.q)) / (step_.h * step_.h * step_.scheme.beta);
  const double tolerance =
      std::min(kernel_.options.stepper.newton_tolerance, 0.1 * kernel_.options.solver.tolerance);
  double last = std::numeric_limits<double>::infinity();
  for (int k = 0; k < kernel_.options.stepper.newton_iterations; ++k) {
    kernel_.system.increment_tangent(step_.free_increment, free_turn_);
    double size = 0;
    if (!correct_smooth(step_.free, free_turn_, size)) return "a singular Newton matrix";
    ++report.newton_iterations;
    ++report.factorizations;
    const double rate = k > 0 ? size / last : 1;
    const double left = rate < 1 ? size * rate / (1 - rate) : size;
    const double scale = std::max(alpha_rows::largest(step_.a), alpha_rows::largest(step_.a_hat));
    if (left <= tolerance * scale || left <= rounding) return {};
    last = size;
  }
  return fmt::format("no convergence of the smooth motion in {} iterations",
                     kernel_.options.stepper.newton_iterations);
}

// ---- Gates and velocities

// Of gates that are known at the start: the gap of the prediction.
void NonsmoothAlphaStepper::set_gates() {
  const Activation activation = kernel_.options.stepper.activation;
  gate_.assign(all_.blocks(), 1);
  switch (activation) {
    case Activation::start:
    case Activation::half:
    case Activation::end: {
      const double share = activation == Activation::start  ? 0
                           : activation == Activation::half ? 0.5
                                                            : 1;
      State at = step_.start;
      at.t += share * step_.h;
      const Vector increment = share * step_.h * step_.start.v;
      kernel_.system.add_increment(step_.start.q, increment, at.q);
      probed_ = all_;
      probed_.gaps_only = true;
      kernel_.system.measure(at, probed_);
      break;
    }
    case Activation::free:
      probed_ = all_;
      probed_.gaps_only = true;
      kernel_.system.measure(step_.free, probed_);
      break;
    default:
      for (int i = 0; i < all_.blocks(); ++i) {
        const int first = all_.J.row_start[i];
        if (alpha_rows::is_rigid_contact(all_.laws[i])) {
          gate_[i] =
              nu_[first] >= weight_[first] * (all_.g[first] - alpha_rows::closed_gap) ? 1 : 0;
        }
      }
      return;
  }
  for (int i = 0; i < all_.blocks(); ++i) {
    if (alpha_rows::is_rigid_contact(all_.laws[i]))
      gate_[i] = probed_.g[all_.J.row_start[i]] <= gap_rounding(step_.start.q) ? 1 : 0;
  }
}

// Joints, boxes and soft contacts always; springs without dampers as well, hardly felt, because
// what reads rows wants their forces.
void NonsmoothAlphaStepper::select_gated() {
  gated_.clear();
  for (int i = 0; i < all_.blocks(); ++i) {
    if (gate_[i] != 0) gated_.push_back(i);
  }
  select_blocks(all_, gated_, kernel_.rows);
}

// Right-hand side and compliance of one block of the velocity problem.
void NonsmoothAlphaStepper::add_law(int block) {
  const Interactions& rows = kernel_.rows;
  const Law& law = rows.laws[block];
  const int first = rows.J.row_start[block], from = all_.J.row_start[gated_[block]];
  const double h = step_.h;
  for (int r = first; r < first + law.dim; ++r) kernel_.problem.b[r] = rows.g_t[r];
  if (law.kind == LawKind::box) return;
  if (law.kind == LawKind::equality) {
    if (!is_soft(law)) return;
    // The damper's part of H: what W changes of its force.
    for (int r = 0; r < law.dim; ++r) {
      const double damping = std::max(law.damping, least_damping_);
      kernel_.compliance[first + r] = step_.scheme.k() / (h * damping);
      kernel_.problem.b[first + r] = -free_along_[from + r];
    }
    return;
  }
  if (is_soft(law)) {
    // As in dvi: implicit, with a damper only where the surfaces have met.
    const double gap = start_gap_[from];
    const double resistance = h * law.stiffness + (gap > 0 ? 0 : law.damping);
    kernel_.compliance[first] = 1 / (h * resistance);
    kernel_.problem.b[first] += law.stiffness / resistance * gap;
    return;
  }
  const double u = start_rate_[from];
  if (exact_ || u > 0) {
    kernel_.problem.b[first] += bound_[gated_[block]];
  } else {
    kernel_.add_rebound(block, u);
  }
}

// H = M + (h/k)C, a = H ṽ; rows as they are at q⁺.
void NonsmoothAlphaStepper::pose_velocities() {
  SystemAccess& system = kernel_.system;
  select_gated();
  BlockMatrix& H = kernel_.H();
  H.start_assembly(system.layout().v_start, BlockMatrix::Symmetry::symmetric);
  system.assemble(step_.end, {.mass = 1}, Tangent::exact, H);
  if (!exact_) {
    system.assemble(step_.end, {.damping = step_.h / step_.scheme.k()}, Tangent::semidefinite, H);
  }
  H.finish_assembly();
  multiply(H, step_.free.v, kernel_.problem.a);
  if (carried_.any()) {
    carried_.turn(all_, step_.free.v);
    row_work_ = -carried_.impulses();
    transpose_multiply_add(all_.J, row_work_, kernel_.problem.a);
  }
  free_along_.resize(all_.rows());
  multiply(all_.J, step_.free.v, free_along_);
  // A millionth of the stiffest row's own inertia over the step: nothing.
  least_damping_ = 0;
  for (int k = 0; k < H.blocks(); ++k)
    least_damping_ = std::max(least_damping_, H.block(k).diagonal().maxCoeff());
  least_damping_ *= 1e-9 / step_.h;
  // Impulses act on ṽ: what they give or take is counted from there.
  kernel_.v_before = step_.free.v;
  weigh_correction();
  kernel_.begin_rows(step_.h);
  for (int i = 0; i < kernel_.rows.blocks(); ++i) add_law(i);
}

// What the position correction does to the potential energy, V(q⁺) − V(q̃), shared among
// velocities: by forces without those of velocities, exact of loads that are constant or linear.
// Restitution is limited to what it leaves (recipe 004, supplement §8: correction and impulses
// together are not to give energy).
void NonsmoothAlphaStepper::weigh_correction() {
  kernel_.given_besides.setZero(kernel_.system.nv());
  if (exact_ || step_.U.isZero(0)) return;
  State& at = weighed_;
  at = step_.free;
  at.v.setZero();
  kernel_.system.force(at, kernel_.given_besides);
  at.q = step_.end.q;
  kernel_.system.force(at, force_);
  kernel_.given_besides = -0.5 * (kernel_.given_besides + force_).cwiseProduct(step_.U);
}

// From ṽ + W and Λ of the last step: W and Λ of joints are smaller by orders than v and hλ̃, which
// are what the solver's accuracy would else be relative to.
void NonsmoothAlphaStepper::solve_velocities(const StepMemory& memory, StepReport& report) {
  pose_velocities();
  kernel_.v_after = step_.end.v;
  kernel_.solve(memory, report);
  take_velocities();
}

void NonsmoothAlphaStepper::take_velocities() {
  step_.W = kernel_.v_after - step_.free.v;
  step_.follow(kernel_.system);
  Lambda_.setZero();
  for (int k = 0; k < kernel_.rows.blocks(); ++k) {
    const int dim = kernel_.rows.laws[k].dim;
    Lambda_.segment(all_.J.row_start[gated_[k]], dim) =
        kernel_.impulses.segment(kernel_.rows.J.row_start[k], dim);
  }
}

/// ½ of the impulses along which there is no position to keep: friction and boxes.
void NonsmoothAlphaStepper::tangential(const Vector& impulses, Vector& half) const {
  half.setZero(all_.rows());
  if (!kernel_.options.stepper.friction_displacement) return;
  for (int i = 0; i < all_.blocks(); ++i) {
    const Law& law = all_.laws[i];
    const int first = all_.J.row_start[i];
    if (law.kind == LawKind::equality) continue;
    for (int r = law.kind == LawKind::box ? 0 : 1; r < law.dim; ++r)
      half[first + r] = 0.5 * impulses[first + r];
  }
}

/// What the last step leaves to expect of Λ, or of P − Pᶜ: nothing where its motion ended.
void NonsmoothAlphaStepper::recall_impulses(const StepMemory& memory) {
  recall(memory, all_, step_.h, last_impulses_);
  last_impulses_ -= carried_.last_impulses();
  const std::vector<double>* ended = memory.arrays.find(event_array);
  if (!event_ || ended == nullptr || ended->size() != memory.lambda.size()) return;
  std::size_t next = 0;
  for (int i = 0; i < all_.blocks(); ++i) {
    const int dim = all_.laws[i].dim;
    const StepMemory::Item* item = memory.find(all_.ids[i], dim, next);
    if (item == nullptr || (*ended)[item->start] != 0)
      last_impulses_.segment(all_.J.row_start[i], dim).setZero();
  }
}

// ---- The three ways

std::string NonsmoothAlphaStepper::one_pass(const StepMemory& memory, StepReport& report) {
  SystemAccess& system = kernel_.system;
  std::string trouble = solve_smooth(report);
  if (!trouble.empty()) return trouble;
  after_.state = step_.free;
  after_.a = step_.a;
  after_.a_true = step_.a_hat;
  smooth_out_ = lambda_;
  smooth_besides_ = besides_;
  if (carried_.any()) {
    carried_.add_force(system, step_.free, smooth_besides_);
    carried_.filter(step_.scheme, step_.h);
  }
  recall_impulses(memory);
  tangential(last_impulses_, half_);
  positions_.begin(all_, step_, true);
  positions_.expect(carried_.heights());
  nu_ = carried_.heights();
  const bool pushes = std::any_of(all_.laws.begin(), all_.laws.end(), [](const Law& law) {
    return law.kind == LawKind::box || law.dim > 1;
  });
  for (int pass = pushes ? 0 : 1;; ++pass) {
    half_ -= carried_.heights() / step_.h;
    positions_.solve(step_, all_, half_, nu_, most_linearisations);
    position_certificate_ = positions_.certificate();
    positions_.share(step_, all_, half_, nu_);
    set_gates();
    solve_velocities(memory, report);
    if (pass == 1) break;
    row_work_ = Lambda_ - carried_.impulses();
    tangential(row_work_, new_half_);
    reaction_.setZero(system.nv());
    half_ = new_half_ - half_ - carried_.heights() / step_.h;
    transpose_multiply_add(all_.J, half_, reaction_);
    if (!mass_factor_.factorize(kernel_.H())) break;
    mass_factor_.solve(reaction_);
    if (step_.h * alpha_rows::largest(reaction_) < kernel_.options.stepper.projection_tolerance)
      break;
    half_ = new_half_;
  }
  return {};
}

// The three of one pass again and again: to the solution of all equations together.
std::string NonsmoothAlphaStepper::sequential(const StepMemory& memory, StepReport& report) {
  const double tolerance = kernel_.options.solver.tolerance;
  double last = std::numeric_limits<double>::infinity();
  positions_.begin(all_, step_, false);
  for (int k = 0;; ++k) {
    equations_.lambda = lambda_;
    equations_.nu = nu_;
    equations_.Lambda = Lambda_;
    equations_.measure(step_);
    if (k > 0) {
      set_gates();
      equations_.frozen_gates = gate_;
    }
    Vector r;
    const AlphaEquations::ActiveSet set = equations_.active(step_);
    equations_.residual(step_, set, r);
    const double off = equations_.relative(r);
    if (k > 0 && (off <= goal_ || (k > 3 && off <= tolerance && off >= 0.5 * last))) return {};
    if (k == most_sequential) {
      return fmt::format("a sequence of {} solves that does not settle: a residual of {:.1e}", k,
                         off);
    }
    last = off;
    double size = 0;
    if (!correct_smooth(step_.end, step_.turn, size)) return "a singular Newton matrix";
    ++report.newton_iterations;
    tangential(Lambda_, half_);
    positions_.solve(step_, all_, half_, nu_, 1);
    set_gates();
    solve_velocities(memory, report);
    for (int i = 0; i < kernel_.rows.blocks(); ++i) {
      const int first = kernel_.rows.J.row_start[i];
      if (alpha_rows::is_contact(kernel_.rows.laws[i]))
        equations_.bound[gated_[i]] = kernel_.problem.b[first] - kernel_.rows.g_t[first];
    }
  }
}

// Newton's method on all equations. Active sets that come back without progress are a cycle: the
// weight r that decides about them is then taken smaller (recipe 004 §2.3: too large an r drops
// contacts that an iterate has not quite closed).
std::string NonsmoothAlphaStepper::monolithic(StepReport& report) {
  const double tolerance = kernel_.options.solver.tolerance;
  std::set<std::uint64_t> seen;
  double last = std::numeric_limits<double>::infinity(), best = last;
  int damped = 0;
  for (int k = 0; k <= 2 * kernel_.options.stepper.newton_iterations; ++k) {
    equations_.measure(step_);
    Vector r;
    const AlphaEquations::ActiveSet set = equations_.active(step_);
    equations_.residual(step_, set, r);
    const double off = equations_.relative(r);
    if (off <= goal_ || (k > 2 && off <= tolerance && off >= 0.5 * last)) {
      gate_.assign(set.gates.begin(), set.gates.end());
      accept_equations();
      return {};
    }
    if (!std::isfinite(off)) return "a residual that is not a number";
    if (!seen.insert(set.hash()).second && off >= best) {
      if (++damped > 3) return "active sets that go round";
      for (double& weight : equations_.weight) weight *= 0.1;
      seen.clear();
    }
    best = std::min(best, off);
    last = off;
    if (!equations_.factorize(step_, set)) return "a singular Newton matrix";
    equations_.correct(r, step_);
    ++report.newton_iterations;
    ++report.factorizations;
  }
  return fmt::format("no convergence of Newton's iteration: a residual of {:.1e}", last);
}

void NonsmoothAlphaStepper::accept_equations() {
  lambda_ = equations_.lambda;
  nu_ = equations_.nu;
  Lambda_ = equations_.Lambda;
}

// Newton's method on all equations, or the three in turn, which is also where the first fails.
std::string NonsmoothAlphaStepper::all_equations(const State& state, double h,
                                                 const StepMemory& memory, StepReport& report) {
  const StepperOptions& o = kernel_.options.stepper;
  const auto prepare = [&] {
    step_.begin(kernel_.system, state, h, Vector::Zero(kernel_.system.nv()));
    equations_.begin(all_, step_, o);
    equations_.bound = bound_;
    equations_.weight = weight_;
    equations_.besides = besides_;
    lambda_.setZero();
    nu_.setZero();
    Lambda_.setZero();
    if (o.activation == Activation::start || o.activation == Activation::half ||
        o.activation == Activation::end) {
      set_gates();
      equations_.frozen_gates = gate_;
    }
  };
  prepare();
  std::string trouble;
  const bool newton = o.alpha_algorithm == AlphaAlgorithm::monolithic || modified();
  if (newton) trouble = monolithic(report);
  if (modified() || (newton && trouble.empty())) return trouble;
  prepare();
  return sequential(memory, report);
}

std::string NonsmoothAlphaStepper::index_3(StepReport& report) {
  const std::string unknown = AlphaIndex3::unknown(all_);
  if (!unknown.empty()) return "index 3 does not treat " + unknown;
  lambda_.setZero();
  const std::string trouble =
      index_3_.solve(step_, all_, lambda_,
                     {.besides = besides_,
                      .weight = weight_,
                      .goal = goal_,
                      .iterations = 2 * kernel_.options.stepper.newton_iterations});
  report.newton_iterations += index_3_.iterations();
  report.factorizations += index_3_.iterations();
  gate_.assign(all_.blocks(), 0);
  for (int i = 0; i < all_.blocks(); ++i)
    gate_[i] = !alpha_rows::is_contact(all_.laws[i]) || lambda_[all_.J.row_start[i]] > 0 ? 1 : 0;
  pose_velocities();
  kernel_.finish_problem();
  kernel_.v_after = step_.end.v;
  kernel_.impulses.setZero(kernel_.rows.rows());
  smooth_out_ = lambda_;
  return trouble;
}

}  // namespace urto
