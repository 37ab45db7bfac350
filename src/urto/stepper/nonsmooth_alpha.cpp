#include "urto/stepper/nonsmooth_alpha.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include <Eigen/Cholesky>
#include <fmt/format.h>

#include "urto/linalg/checked.h"
#include "urto/stepper/stopwatch.h"

namespace urto {
namespace {

constexpr std::string_view method_array = "alpha_acceleration";
constexpr std::string_view motion_array = "alpha_true_acceleration";
constexpr std::string_view reaction_array = "alpha_reactions";
constexpr std::string_view event_array = "alpha_event";

constexpr double closed_gap = 1e-9;        ///< [m], as in alpha_equations.cpp
constexpr double approach_of_rest = 1e-9;  ///< [m/s]
constexpr int most_linearisations = 20;
constexpr int most_sequential = 200;

bool is_contact(const Law& law) {
  return law.kind == LawKind::unilateral || law.kind == LawKind::coulomb;
}

bool is_rigid_contact(const Law& law) {
  return is_contact(law) && !is_soft(law);
}

double largest(const Eigen::Ref<const Vector>& v) {
  return v.size() > 0 ? v.cwiseAbs().maxCoeff() : 0.0;
}

Eigen::Map<const Vector> as_vector(const std::vector<double>& values) {
  return {values.data(), static_cast<Eigen::Index>(values.size())};
}

void store(const Vector& v, std::vector<double>& out) {
  out.assign(v.data(), v.data() + v.size());
}

}  // namespace

NonsmoothAlphaStepper::NonsmoothAlphaStepper(const System& system, const SimulationOptions& options)
    : kernel_(system, options),
      positions_(kernel_.system, kernel_.options, kernel_.threads),
      equations_(kernel_.system),
      certifier_(system) {
  step_.scheme = alpha_scheme(options.stepper.spectral_radius);
}

// ---- The start of a step

void NonsmoothAlphaStepper::detect(const State& state, double h) {
  SystemAccess& system = kernel_.system;
  system.interactions(state, {.h = h, .envelope = kernel_.options.contact_envelope}, all_);
  start_gap_ = all_.g;
  start_rate_.resize(all_.rows());
  rate_.resize(all_.rows());
  multiply(all_.J, state.v, rate_);
  for (int r = 0; r < all_.rows(); ++r) start_rate_[r] = rate_[r] + all_.g_t[r];
  passed_.start(all_, start_rate_, h);
  joint_blocks_.clear();
  joint_row_.assign(all_.rows(), -1);
  int row = 0;
  besides_.setZero(system.nv());
  for (int i = 0; i < all_.blocks(); ++i) {
    const int first = all_.J.row_start[i];
    if (all_.laws[i].kind == LawKind::equality) {
      joint_blocks_.push_back(i);
      for (int r = 0; r < all_.laws[i].dim; ++r) joint_row_[first + r] = row++;
    } else if (const double pulled = pull(all_.laws[i], all_.g[first]); pulled != 0) {
      // Cohesion is a force like any other, and Λ what the surfaces press with besides.
      std::array<double, max_block> along{-pulled};
      transpose_multiply_add_block(all_.J, i, along.data(), besides_.data());
    }
  }
  select_blocks(all_, joint_blocks_, joints_);
  weigh(state);
  prepare_bounds();
  lambda_.setZero(all_.rows());
  nu_.setZero(all_.rows());
  Lambda_.setZero(all_.rows());
}

// r = 1/(J M⁻¹ Jᵀ) of each row by itself, with the diagonal blocks of M: it only weighs.
void NonsmoothAlphaStepper::weigh(const State& state) {
  kernel_.system.mass(state, mass_);
  weight_.assign(all_.rows(), kernel_.options.stepper.activation_mass);
  for (int i = 0; i < all_.blocks(); ++i) {
    if (!is_contact(all_.laws[i])) continue;
    for (int r = 0; r < all_.laws[i].dim; ++r) {
      double give = 0;
      for (int e = all_.J.entry_start[i]; e < all_.J.entry_start[i + 1]; ++e) {
        const BlockRows::Entry& entry = all_.J.entries[e];
        const auto node = static_cast<int>(
            std::upper_bound(mass_.start.begin(), mass_.start.end(), entry.column) -
            mass_.start.begin() - 1);
        const Eigen::Map<const Vector> J(all_.J.values.data() + entry.offset + r * entry.width,
                                         entry.width);
        const Matrix M = mass_.block(node);
        give += J.dot(Checked<Eigen::LDLT<Matrix>>(M).solve(J));
      }
      if (give > 0) weight_[all_.J.row_start[i] + r] /= give;
    }
  }
}

void NonsmoothAlphaStepper::prepare_bounds() {
  const StepperOptions& o = kernel_.options.stepper;
  bound_.assign(all_.blocks(), 0.0);
  for (int i = 0; i < all_.blocks(); ++i) {
    const Law& law = all_.laws[i];
    const double u = start_rate_[all_.J.row_start[i]];
    if (!is_rigid_contact(law) || !o.restitution) continue;
    const bool parts = u > 0 && o.restitution_bound == RestitutionBound::source;
    if (parts || u < -law.restitution_threshold) bound_[i] = law.restitution * u;
  }
}

bool NonsmoothAlphaStepper::recall_step(const State& state, double h, const StepMemory& memory,
                                        std::string& trouble) {
  const auto n = static_cast<std::size_t>(kernel_.system.nv());
  const std::vector<double>* a = memory.arrays.find(method_array);
  const std::vector<double>* a_hat = memory.arrays.find(motion_array);
  const std::vector<double>* reactions = memory.arrays.find(reaction_array);
  const std::vector<double>* event = memory.arrays.find(event_array);
  impacts_ = memory;
  if (memory.h > 0 && a != nullptr && a_hat != nullptr && event != nullptr && a->size() == n &&
      a_hat->size() == n && reactions != nullptr && reactions->size() == memory.lambda.size()) {
    step_.a_hat_start = as_vector(*a_hat);
    // a belongs to a time shifted in proportion to the step.
    step_.a_start = step_.a_hat_start + h / memory.h * (as_vector(*a) - step_.a_hat_start);
    event_ = event->front() != 0;
    for (std::size_t r = 0; r < reactions->size(); ++r)
      impacts_.lambda[r] -= memory.h * (*reactions)[r];
    for (const int i : joint_blocks_) {
      const StepMemory::Item* item = memory.find(all_.ids[i], all_.laws[i].dim);
      for (int r = 0; item != nullptr && r < item->dim; ++r)
        lambda_[all_.J.row_start[i] + r] = (*reactions)[item->start + r];
    }
    return true;
  }
  event_ = true;
  Vector reaction;
  if (!dynamics_.solve(kernel_.system, state, 0, probed_, rate_, step_.a_hat_start, reaction,
                       &besides_)) {
    trouble = "a singular mass matrix, or not a number";
    return false;
  }
  for (int r = 0; r < all_.rows(); ++r) {
    if (joint_row_[r] >= 0) lambda_[r] = reaction[joint_row_[r]];
  }
  step_.a_start = step_.a_hat_start;
  return true;
}

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
  system.mass(at, mass_);
  Vector lambda(m), free_rate(m), rate(m);
  for (int r = 0; r < all_.rows(); ++r) {
    if (joint_row_[r] >= 0) lambda[joint_row_[r]] = lambda_[r];
  }
  multiply(joints_.J, step_.free.v, free_rate);
  multiply(joints_.J, at.v, rate);
  rhs_.setZero(n + m);
  multiply(mass_, step_.a_hat, inertia_);
  Vector reaction = Vector::Zero(n);
  transpose_multiply_add(joints_.J, lambda, reaction);
  rhs_.head(n) = -h * (inertia_ - force_ - reaction);
  rules_.clear();
  for (int i = 0; i < joints_.blocks(); ++i) {
    const Law& law = joints_.laws[i];
    const double scale = h * s.s() * law.stiffness + law.damping;
    rules_.push_back(is_soft(law) ? SaddleRow{.diagonal = -1 / (h * scale), .shifted = false}
                                  : SaddleRow{});
    for (int r = joints_.J.row_start[i]; r < joints_.J.row_start[i + 1]; ++r) {
      rhs_[n + r] = is_soft(law) ? -(lambda[r] + law.stiffness * joints_.g[r] +
                                     law.damping * (rate[r] + joints_.g_t[r])) /
                                       scale
                                 : -(free_rate[r] + joints_.g_t[r]);
    }
  }
  matrix_.start_assembly(system.layout().v_start, BlockMatrix::Symmetry::general);
  const double by_position = h * h * s.s();
  system.assemble(at, {.stiffness = by_position}, Tangent::exact, matrix_);
  system.add_geometric_stiffness(at, joints_, lambda, by_position, matrix_);
  system.add_inertial_stiffness(at, step_.a_hat, by_position, matrix_);
  if (turn.blocks() > 0) multiply_right(matrix_, turn);
  system.assemble(at, {.mass = s.k(), .damping = h}, Tangent::exact, matrix_);
  matrix_.finish_assembly();
  // J + hs G T of what is rigid, J T of springs.
  State probe = at;
  probe.v = step_.free.v;
  system.rate_tangent(probe, joints_, turning_);
  if (turn.blocks() > 0) multiply_right(BlockRows(turning_), turn, turning_);
  lower_ = joints_.J;
  if (turn.blocks() > 0) multiply_right(joints_.J, turn, lower_);
  for (int i = 0; i < joints_.blocks(); ++i) {
    if (is_soft(joints_.laws[i])) continue;
    for (int e = lower_.entry_start[i]; e < lower_.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = lower_.entries[e];
      for (int k = entry.offset; k < entry.offset + entry.width * joints_.laws[i].dim; ++k)
        lower_.values[k] = joints_.J.values[k] + h * s.s() * turning_.values[k];
    }
  }
  factor_.start(n, n + m);
  factor_.add(matrix_);
  factor_.add_rows(joints_.J, lower_, rules_);
  if (!factor_.factorize()) return false;
  factor_.solve(rhs_, solution_);
  if (!solution_.allFinite()) return false;
  size = largest(solution_.head(n)) / (h * s.gamma);
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
      8 * eps * (1 + largest(step_.start.q)) / (step_.h * step_.h * step_.scheme.beta);
  const double tolerance =
      std::min(kernel_.options.stepper.newton_tolerance, 0.1 * kernel_.options.solver.tolerance);
  BlockMatrix turn;
  double last = std::numeric_limits<double>::infinity();
  for (int k = 0; k < kernel_.options.stepper.newton_iterations; ++k) {
    kernel_.system.increment_tangent(step_.free_increment, turn);
    double size = 0;
    if (!correct_smooth(step_.free, turn, size)) return "a singular Newton matrix";
    ++report.newton_iterations;
    ++report.factorizations;
    const double rate = k > 0 ? size / last : 1;
    const double left = rate < 1 ? size * rate / (1 - rate) : size;
    const double scale = std::max(largest(step_.a), largest(step_.a_hat));
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
        if (is_rigid_contact(all_.laws[i]))
          gate_[i] = nu_[first] >= weight_[first] * (all_.g[first] - closed_gap) ? 1 : 0;
      }
      return;
  }
  for (int i = 0; i < all_.blocks(); ++i) {
    if (is_rigid_contact(all_.laws[i]))
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
  free_along_.resize(all_.rows());
  multiply(all_.J, step_.free.v, free_along_);
  // A millionth of the stiffest row's own inertia over the step: nothing.
  least_damping_ = 0;
  for (int k = 0; k < H.blocks(); ++k)
    least_damping_ = std::max(least_damping_, H.block(k).diagonal().maxCoeff());
  least_damping_ *= 1e-9 / step_.h;
  kernel_.v_before = step_.start.v;
  kernel_.begin_rows(step_.h);
  for (int i = 0; i < kernel_.rows.blocks(); ++i) add_law(i);
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

// ---- The three ways

std::string NonsmoothAlphaStepper::one_pass(const StepMemory& memory, StepReport& report) {
  SystemAccess& system = kernel_.system;
  std::string trouble = solve_smooth(report);
  if (!trouble.empty()) return trouble;
  after_.state = step_.free;
  after_.a = step_.a;
  after_.a_true = step_.a_hat;
  smooth_out_ = lambda_;
  Vector last = Vector::Zero(all_.rows());
  if (!event_) recall(memory, all_, step_.h, last);
  tangential(last, half_);
  positions_.begin(all_, step_, true);
  const bool pushes = std::any_of(all_.laws.begin(), all_.laws.end(), [](const Law& law) {
    return law.kind == LawKind::box || law.dim > 1;
  });
  for (int pass = pushes ? 0 : 1;; ++pass) {
    positions_.solve(step_, all_, half_, nu_, most_linearisations);
    position_certificate_ = positions_.certificate();
    positions_.share(step_, all_, half_, nu_);
    set_gates();
    solve_velocities(memory, report);
    if (pass == 1) break;
    tangential(Lambda_, new_half_);
    Vector moved = Vector::Zero(system.nv());
    transpose_multiply_add(all_.J, new_half_ - half_, moved);
    if (!mass_factor_.factorize(kernel_.H())) break;
    mass_factor_.solve(moved);
    if (step_.h * largest(moved) < kernel_.options.stepper.projection_tolerance) break;
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
    if (k == most_sequential)
      return fmt::format("a sequence of {} solves that does not settle: a residual of {:.1e}", k,
                         off);
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
      if (is_contact(kernel_.rows.laws[i]))
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

// ---- The end of a step

void NonsmoothAlphaStepper::certify(const State& state, StepReport& report) {
  const double tolerance = kernel_.options.solver.tolerance;
  if (exact_) {
    kernel_.system.measure(step_.end, all_);
    positions_.begin(all_, step_, false);
    tangential(Lambda_, half_);
    positions_.certify(step_, all_, half_, nu_);
    position_certificate_ = positions_.certificate();
    pose_velocities();
    kernel_.finish_problem();
    kernel_.v_after = step_.end.v;
    kernel_.impulses.resize(kernel_.rows.rows());
    for (int k = 0; k < kernel_.rows.blocks(); ++k) {
      const int dim = kernel_.rows.laws[k].dim;
      const int first = kernel_.rows.J.row_start[k];
      kernel_.impulses.segment(first, dim) = Lambda_.segment(all_.J.row_start[gated_[k]], dim);
      if (is_rigid_contact(kernel_.rows.laws[k]))
        kernel_.problem.b[first] = kernel_.rows.g_t[first] + equations_.bound[gated_[k]];
    }
    after_.state = step_.end;
    after_.a = step_.a;
    after_.a_true = step_.a_hat;
    smooth_out_ = lambda_;
  }
  // The smooth motion where it was solved: with the forces of v⁺ where all holds together, and
  // joints along ṽ.
  const Vector reactions = smooth_out_;
  after_.lambda.resize(joints_.rows());
  for (int r = 0; r < all_.rows(); ++r) {
    if (joint_row_[r] >= 0) after_.lambda[joint_row_[r]] = reactions[r];
  }
  before_.state = state;
  certifier_.start();
  certifier_.look_at(before_, after_, tolerance);
  const double h = step_.h;
  constexpr double eps = std::numeric_limits<double>::epsilon();
  certifier_.check_force_balance(8 * eps * (1 + largest(state.q)) / (h * h * step_.scheme.beta),
                                 &besides_);
  after_.state.v = exact_ ? step_.free.v : after_.state.v;
  certifier_.look_at(before_, after_, tolerance);
  certifier_.check_velocities(false);
  const Certificate smooth = certifier_.result();

  kernel_.certify(state, report);
  report.meets_tolerance =
      report.meets_tolerance && smooth.meets(tolerance) && position_certificate_.meets(tolerance);
  const Certificate* const others[] = {&smooth, &position_certificate_};
  for (const Certificate* other : others) {
    if (!(other->residual() <= report.certificate.residual())) {
      const Friction friction = report.certificate.friction;
      report.certificate = *other;
      report.certificate.friction = friction;
    }
  }
}

// An impact, or a contact that closes or opens: what follows is another motion.
bool NonsmoothAlphaStepper::is_event(const StepMemory& memory) const {
  int known = 0, before = 0;
  for (const StepMemory::Item& item : memory.items) {
    const auto kind = static_cast<Origin>(item.id >> 40U);
    if (item.id >> 63U != 0 || kind == Origin::limit) ++before;
  }
  for (int k = 0; k < kernel_.rows.blocks(); ++k) {
    const Law& law = kernel_.rows.laws[k];
    if (!is_contact(law)) continue;
    if (memory.find(kernel_.rows.ids[k], law.dim) == nullptr) return true;
    ++known;
    if (is_rigid_contact(law) && start_rate_[all_.J.row_start[gated_[k]]] < -approach_of_rest)
      return true;
  }
  return known != before;
}

// For the audit, M v⁺ = a + Jᵀp as the scheme says it: a is Hṽ of the velocity problem, with ṽ from
// a⁺, less what its damping takes and what is in p already. So v⁺ is compared with its formula.
void NonsmoothAlphaStepper::pose_claim(const Vector& smooth_impulses) {
  BlockMatrix& H = kernel_.H();
  Vector& a = kernel_.problem.a;
  multiply(H, kernel_.v_after, inertia_);
  a -= inertia_;
  kernel_.system.mass(step_.end, H);
  multiply(H, kernel_.v_after, inertia_);
  a += inertia_;
  const Vector minus = -smooth_impulses;
  transpose_multiply_add(kernel_.rows.J, minus, a);
}

void NonsmoothAlphaStepper::finish(State& state, StepMemory& memory, StepReport& report) {
  SystemAccess& system = kernel_.system;
  const double h = step_.h;
  const bool event = memory.h > 0 && is_event(memory);
  // Impulses are those of the whole step: Λ and hλ̃. With them M v⁺ = a + Jᵀp has the forces in a.
  Interactions& rows = kernel_.rows;
  nu_out_.setZero(rows.rows());
  Vector smooth = Vector::Zero(rows.rows());
  for (int k = 0; k < rows.blocks(); ++k) {
    const int dim = rows.laws[k].dim, first = rows.J.row_start[k];
    const int from = all_.J.row_start[gated_[k]];
    smooth.segment(first, dim) = smooth_out_.segment(from, dim);
    nu_out_.segment(first, dim) = nu_.segment(from, dim);
    for (int r = 0; r < dim; ++r) rows.g[first + r] = start_gap_[from + r];
  }
  smooth_out_ = smooth;
  pose_claim(h * smooth);
  kernel_.impulses += h * smooth;
  kernel_.move_with_the_end();
  kernel_.audit(state, 0.5, memory, report);
  state.q = step_.end.q;
  state.v = step_.end.v;
  state.t = step_.end.t;
  system.accept(state);
  kernel_.finish_audit(state, memory, report);
  kernel_.remember(memory);

  Vector a = step_.a, a_hat = step_.a_hat;
  if (event && kernel_.options.stepper.restart) {
    Vector reaction;
    if (dynamics_.solve(system, state, 0, probed_, rate_, a_hat, reaction, &besides_)) {
      a = a_hat;
      for (int k = 0; k < rows.blocks(); ++k) {
        for (int r = 0; r < rows.laws[k].dim; ++r) {
          const int row = joint_row_[all_.J.row_start[gated_[k]] + r];
          if (row >= 0) smooth[rows.J.row_start[k] + r] = reaction[row];
        }
      }
    }
  }
  store(a, memory.arrays.at(method_array));
  store(a_hat, memory.arrays.at(motion_array));
  store(smooth, memory.arrays.at(reaction_array));
  memory.arrays.at(event_array).assign(1, event ? 1 : 0);
}

std::string NonsmoothAlphaStepper::attempt(State& state, double h, StepMemory& memory,
                                           StepReport& report, bool /*smallest*/) {
  Stopwatch clock;
  const StepperOptions& o = kernel_.options.stepper;
  std::string trouble;
  detect(state, h);
  if (!recall_step(state, h, memory, trouble)) return trouble;
  report.timings.rows += clock.lap();
  const Vector reactions = lambda_;
  const Vector a_hat = step_.a_hat_start;
  kernel_.v_after = state.v;
  exact_ = o.alpha_algorithm != AlphaAlgorithm::one_pass;
  goal_ = 0.1 * kernel_.options.solver.tolerance;
  if (exact_) {
    step_.begin(kernel_.system, state, h, Vector::Zero(a_hat.size()));
    if (!equations_.begin(all_, step_, o)) {
      exact_ = false;
      report.solve.message = "rows that only one pass treats";
    }
  }
  if (exact_) {
    const auto prepare = [&] {
      step_.begin(kernel_.system, state, h, Vector::Zero(a_hat.size()));
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
    if (o.alpha_algorithm == AlphaAlgorithm::monolithic) trouble = monolithic(report);
    if (o.alpha_algorithm == AlphaAlgorithm::sequential || !trouble.empty()) {
      prepare();
      trouble = sequential(impacts_, report);
    }
  } else {
    step_.begin(kernel_.system, state, h, a_hat);
    lambda_ = reactions;
    trouble = one_pass(impacts_, report);
  }
  report.timings.solve += clock.lap();
  if (!trouble.empty()) return trouble;
  if (passed_.any(kernel_.system, step_.end)) return passed_through;
  certify(state, report);
  if (exact_ && !report.meets_tolerance) {
    // Certificates weigh each of the three by itself: what corrects positions may be far smaller
    // than the motion.
    goal_ *= 1e-4;
    const std::string further = o.alpha_algorithm == AlphaAlgorithm::monolithic
                                    ? monolithic(report)
                                    : sequential(impacts_, report);
    if (further.empty()) certify(state, report);
  }
  report.timings.certify += clock.lap();
  finish(state, memory, report);
  report.timings.advance += clock.lap();
  return {};
}

}  // namespace urto
