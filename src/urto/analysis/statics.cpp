#include "urto/analysis/statics.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <Eigen/Eigenvalues>
#include <Eigen/LU>
#include <Eigen/QR>
#include <fmt/format.h>

#include "urto/analysis/contact_statics.h"
#include "urto/analysis/linearise.h"
#include "urto/error.h"
#include "urto/linalg/checked.h"
#include "urto/linalg/saddle_lu.h"
#include "urto/stepper/one_sided.h"
#include "urto/stepper/projection.h"

namespace urto {
namespace {

double largest(const Vector& v) {
  return v.size() > 0 ? v.cwiseAbs().maxCoeff() : 0.0;
}

class Equilibrium {
 public:
  Equilibrium(const System& system, State& state, const StaticsOptions& options)
      : system_(system), state_(state), options_(options) {
    system_.mass(state, mass_);
    lambda_.setZero(0);
  }

  StaticsReport find() {
    system_.accept(state_);
    const State start = state_;
    measure();
    hold();
    const Vector unbalanced = force_ + reaction(lambda_);
    for (int k = 1; k <= options_.load_steps; ++k) {
      held_back_ = (1 - static_cast<double>(k) / options_.load_steps) * unbalanced;
      if (!balance()) break;
    }
    report_.move = largest(system_.difference(state_.q, start.q));
    report_.lambda = lambda_;
    report_.rows = rows_;
    return report_;
  }

 private:
  void measure() {
    system_.interactions(state_, {.equalities_only = true, .velocity_equalities = true}, rows_);
    system_.force(state_, force_);
    if (lambda_.size() != rows_.rows()) lambda_.setZero(rows_.rows());
  }
  Vector reaction(const Vector& lambda) const {
    Vector out = Vector::Zero(system_.nv());
    transpose_multiply_add(rows_.J, lambda, out);
    return out;
  }
  void assemble_stiffness();
  void add_matrix(double tau, bool stiff = true);
  void solve(double tau);
  void hold();
  double residual();
  bool balance();
  double search(const State& from, double before);
  double lowest_stiffness();
  double walk(const State& from);

  SystemAccess system_;
  State& state_;
  const StaticsOptions& options_;
  BlockMatrix mass_, stiffness_;
  Interactions rows_;
  Vector force_, lambda_, next_lambda_, step_, rhs_, solution_, held_back_;
  SaddleLu factor_;
  std::vector<SaddleRow> rules_ = {};
  double scale_ = 0;  ///< of forces [N]
  StaticsReport report_;
};

void Equilibrium::assemble_stiffness() {
  stiffness_.start_assembly(system_.layout().v_start, BlockMatrix::Symmetry::general);
  system_.assemble(state_, {.stiffness = 1}, Tangent::exact, stiffness_);
  system_.add_geometric_stiffness(state_, rows_, lambda_, 1, stiffness_);
  stiffness_.finish_assembly();
}

void Equilibrium::add_matrix(double tau, bool stiff) {
  const int n = system_.nv();
  factor_.start(n, n + rows_.rows());
  factor_.add(mass_, tau);
  if (stiff) {
    assemble_stiffness();
    factor_.add(stiffness_);
  }
  rules_.clear();
  for (const Law& law : rows_.laws) {
    rules_.push_back(is_soft(law) ? SaddleRow{.diagonal = -1 / law.stiffness, .shifted = false}
                                  : SaddleRow{});
  }
  factor_.add_rows(rows_.J, rows_.J, rules_);
}

// Reactions of the start: those with which it would begin to move.
void Equilibrium::hold() {
  const int n = system_.nv();
  add_matrix(1, false);
  rhs_.setZero(n + rows_.rows());
  rhs_.head(n) = force_;
  for (int i = 0; i < rows_.blocks(); ++i) {
    if (!is_soft(rows_.laws[i])) continue;
    for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r) rhs_[n + r] = -rows_.g[r];
  }
  if (!factor_.factorize(KeptLu::Pivots::kept)) {
    throw InputError("statics", "a mass matrix that is singular or not a number",
                     "positive masses");
  }
  factor_.solve(rhs_, solution_);
  lambda_ = -solution_.tail(rows_.rows());
}

// Fills step_ and next_lambda_. The unknown is the change of λ, which vanishes at the end, and with
// it what the shifts of the rows do. Soft rows: J δq + λ/k = −g.
void Equilibrium::solve(double tau) {
  const int n = system_.nv();
  add_matrix(tau);
  rhs_.setZero(n + rows_.rows());
  rhs_.head(n) = force_ + reaction(lambda_) - held_back_;
  for (int i = 0; i < rows_.blocks(); ++i) {
    const Law& law = rows_.laws[i];
    for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r)
      rhs_[n + r] = -rows_.g[r] - (is_soft(law) ? lambda_[r] / law.stiffness : 0);
  }
  if (!factor_.factorize(KeptLu::Pivots::kept)) {
    throw InputError("statics", "a singular stiffness",
                     "springs or joints against every motion, or a load that balances");
  }
  factor_.solve(rhs_, solution_);
  step_ = solution_.head(n);
  next_lambda_ = lambda_ - solution_.tail(rows_.rows());
}

// Of state_ and lambda_, which it measures anew: forces relative to what pulls on the system. Soft
// rows count by the force they ought to have.
double Equilibrium::residual() {
  measure();
  const Vector r = force_ - held_back_;
  const Vector reactions = reaction(lambda_);
  double error = largest(r + reactions);
  // Springs alone balance to nothing: what pulled at the start stays the measure.
  scale_ = std::max({scale_, largest(force_), largest(reactions)});
  for (int i = 0; i < rows_.blocks(); ++i) {
    if (!is_soft(rows_.laws[i])) continue;
    for (int k = rows_.J.row_start[i]; k < rows_.J.row_start[i + 1]; ++k)
      error = std::max(error, std::abs(lambda_[k] + rows_.laws[i].stiffness * rows_.g[k]));
  }
  return scale_ > 0 ? error / scale_ : error;
}

// Half steps until the residual falls, from `from` along step_; the whole step if none does.
double Equilibrium::search(const State& from, double before) {
  const Vector old = lambda_;
  double part = 1;
  for (int k = 0; k < 8; ++k, part *= 0.5) {
    const Vector move = part * step_;
    state_ = from;
    system_.add_increment(from.q, move, state_.q);
    system_.accept(state_);
    lambda_ = old + part * (next_lambda_ - old);
    const double after = residual() + joint_error(rows_);
    if (after < before) return after;
  }
  state_ = from;
  system_.add_increment(from.q, step_, state_.q);
  system_.accept(state_);
  lambda_ = next_lambda_;
  return residual() + joint_error(rows_);
}

// The least eigenvalue of K against M on the allowed motions, at state_ with lambda_.
double Equilibrium::lowest_stiffness() {
  const int n = system_.nv();
  if (n > options_.largest_checked) return std::numeric_limits<double>::quiet_NaN();
  assemble_stiffness();
  Matrix K = to_sparse(stiffness_);
  SparseMatrix J = to_sparse(rows_.J);
  for (int i = 0; i < rows_.blocks(); ++i) {
    const Law& law = rows_.laws[i];
    for (int r = rows_.J.row_start[i]; r < rows_.J.row_start[i + 1]; ++r) {
      if (!is_soft(law)) continue;
      K += law.stiffness * Matrix(J.row(r).transpose() * J.row(r));
      J.prune([&](Eigen::Index row, Eigen::Index, double) { return row != r; });
    }
  }
  const Matrix N = allowed_motions(to_sparse(mass_), J);
  if (N.cols() == 0) return 0;
  const Matrix reduced = N.transpose() * K * N;
  const Checked<Eigen::SelfAdjointEigenSolver<Matrix>> eigen(0.5 * (reduced + reduced.transpose()),
                                                             Eigen::EigenvaluesOnly);
  return eigen.ok() ? eigen->eigenvalues()[0] : std::numeric_limits<double>::quiet_NaN();
}

// Along step_, shorter while the joints come apart by more than a tenth of the way: there the
// linear rows say nothing any more.
double Equilibrium::walk(const State& from) {
  double leap = largest(step_);
  const double error = joint_error(rows_);
  if (leap > options_.largest_move) step_ *= options_.largest_move / leap;
  for (int k = 0;; ++k) {
    state_ = from;
    system_.add_increment(from.q, step_, state_.q);
    system_.accept(state_);
    measure();
    leap = largest(step_);
    if (k == 10 || joint_error(rows_) <= std::max(0.1 * leap, error)) break;
    step_ *= 0.5;
  }
  lambda_ = next_lambda_;
  return residual() + joint_error(rows_);
}

bool Equilibrium::balance() {
  double now = residual() + joint_error(rows_);
  // A body under its own weight would move by τ⁻¹ g in the first step: a tenth of the largest move.
  double heaviest = 0;
  for (int k = 0; k < mass_.blocks(); ++k) {
    for (int c = 0; c < mass_.size(k); ++c)
      heaviest = std::max(heaviest, std::abs(force_[mass_.start[k] + c]) / mass_.block(k)(c, c));
  }
  const double first = heaviest / options_.largest_move;
  double tau = now > 1e-6 ? first : 0;
  for (int k = 0; k < options_.max_iterations; ++k) {
    report_.residual = residual();
    report_.joint_error = joint_error(rows_);
    if (report_.residual <= options_.tolerance && report_.joint_error <= 1e-11) {
      report_.lowest = lowest_stiffness();
      report_.converged = true;
      return true;
    }
    if (options_.stop && options_.stop()) {
      report_.message = search_stopped;
      return false;
    }
    ++report_.iterations;
    report_.lowest = lowest_stiffness();
    const double least = report_.lowest < 0 ? -1.5 * report_.lowest : 0;
    // Motions that nothing resists and nothing drives, as a spin about a ball joint, need a little
    // τ.
    solve(std::max({tau, least, 1e-9 * std::max(first, 1.0)}));
    const double leap = largest(step_);
    const State from = state_;
    if (tau > 0 || least > 0 || leap > options_.largest_move) {
      const double after = walk(from);
      // Switched evolution relaxation (Mulder and van Leer 1985): the nearer, the longer the
      // pseudo-time step.
      tau *= std::clamp(after / now, 0.1, 2.0);
      tau = after < 1e-3 && leap < 1e-2 * options_.largest_move ? 0 : std::max(tau, 1e-6 * first);
      now = after;
    } else {
      const double after = search(from, now);
      // Newton left the neighbourhood in which it converges.
      if (!(after < 1e3 * now) && after > 1e-6) tau = first;
      now = after;
    }
    if (one_sided_acts(system_.system(), state_)) {
      report_.message = "a contact, limit or dry friction in the way";
      return false;
    }
  }
  report_.converged = false;
  report_.message = fmt::format("no equilibrium in {} iterations: residual {:.2e}",
                                options_.max_iterations, report_.residual);
  return false;
}

// What is driven at a speed does not rest, whatever else balances.
void refuse_imposed_speeds(const System& mechanics, const State& still) {
  SystemAccess system(mechanics);
  Interactions rows;
  system.interactions(still, {}, rows);
  for (int i = 0; i < rows.blocks(); ++i) {
    if (rows.origins[i].kind != Origin::motor || !rows.laws[i].on_velocity) continue;
    const double speed = -rows.g_t[rows.J.row_start[i]];
    if (speed == 0) continue;
    throw InputError("statics",
                     fmt::format("{}, which imposes a speed of {:.6g} m/s or rad/s",
                                 system.describe(rows, i), speed),
                     "motors at rest: a speed of zero (it holds), or the mode \"position\" or "
                     "\"force\"");
  }
}

}  // namespace

StillModel hold_still(Model model, double t) {
  StillModel out{.model = std::move(model)};
  const auto hold = [&](Function& f, std::string name) {
    const FunctionValue now = evaluate(f, t);
    f = ConstantFunction{now.value};
    const bool known = !out.moving.empty() && out.moving.back() == name;
    if (now.rate != 0 && !known) out.moving.push_back(std::move(name));
  };
  for (Body& body : out.model.bodies) {
    if (body.kind != BodyKind::kinematic) continue;
    const std::string name = fmt::format("kinematic body '{}'", body.name);
    for (Function& f : body.motion.position) hold(f, name);
    hold(body.motion.angle, name);
  }
  for (Motor& motor : out.model.motors) {
    if (motor.mode == MotorMode::position) hold(motor.value, fmt::format("motor '{}'", motor.name));
    // A speed that is about to grow is still zero.
    if (motor.mode == MotorMode::speed)
      motor.value = ConstantFunction{evaluate(motor.value, t).value};
  }
  for (Coupling& c : out.model.couplings) hold(c.target, fmt::format("coupling '{}'", c.name));
  return out;
}

StaticsReport find_equilibrium(const System& system, State& state, const StaticsOptions& options) {
  state.v.setZero(system.nv());
  refuse_imposed_speeds(system, state);
  if (!options.contacts) {
    refuse_one_sided(system, state, "statics");
    StaticsReport report = Equilibrium(system, state, options).find();
    refuse_one_sided(system, state, "statics");
    return report;
  }
  if (!one_sided_acts(system, state)) {
    // Newton's iteration, while nothing is in its way.
    State free = state;
    StaticsReport report = Equilibrium(system, free, options).find();
    if (!one_sided_acts(system, free)) {
      state = free;
      return report;
    }
  }
  return relax_to_contact(system, state, options);
}

LinearStatics linear_statics(const System& system, const State& state) {
  const Linearisation l = linearise(system, state);
  const int n = static_cast<int>(l.M.rows());
  const Matrix N = allowed_motions(l.M, l.J);
  // Rigid rows by their least-squares answer, the rest on the allowed motions.
  Vector error(l.J.rows());
  int at = 0;
  for (int i = 0; i < l.rows.blocks(); ++i) {
    if (is_soft(l.rows.laws[i])) continue;
    for (int r = l.rows.J.row_start[i]; r < l.rows.J.row_start[i + 1]; ++r)
      error[at++] = l.rows.laws[i].on_velocity ? 0 : -l.rows.g[r];
  }
  const Matrix J(l.J);
  const Vector onto = l.J.rows() > 0 ? Vector(J.completeOrthogonalDecomposition().solve(error))
                                     : Vector(Vector::Zero(n));
  Vector load = l.force;
  for (int i = 0; i < l.rows.blocks(); ++i) {
    if (!is_soft(l.rows.laws[i])) continue;
    Vector pull = Vector::Zero(l.rows.rows());
    for (int r = l.rows.J.row_start[i]; r < l.rows.J.row_start[i + 1]; ++r)
      pull[r] = -l.rows.laws[i].stiffness * l.rows.g[r];
    transpose_multiply_add(l.rows.J, pull, load);
  }
  LinearStatics out;
  out.displacement = onto;
  if (N.cols() > 0) {
    const Matrix K = N.transpose() * (l.K * N);
    const Eigen::FullPivLU<Matrix> lu(K);
    if (lu.rank() < K.rows()) {
      throw InputError("statics",
                       fmt::format("{} motions without resistance", K.rows() - lu.rank()),
                       "springs or joints against every motion");
    }
    out.displacement += N * lu.solve(N.transpose() * (load - l.K * onto));
  }
  const Vector left = l.K * out.displacement - load;
  const Vector rigid =
      l.J.rows() > 0 ? Vector(Matrix(J.transpose()).completeOrthogonalDecomposition().solve(left))
                     : Vector(0);
  out.lambda.setZero(l.rows.rows());
  Vector moved(l.rows.rows());
  multiply(l.rows.J, out.displacement, moved);
  at = 0;
  for (int i = 0; i < l.rows.blocks(); ++i) {
    for (int r = l.rows.J.row_start[i]; r < l.rows.J.row_start[i + 1]; ++r) {
      out.lambda[r] = is_soft(l.rows.laws[i]) ? -l.rows.laws[i].stiffness * (l.rows.g[r] + moved[r])
                                              : rigid[at++];
    }
  }
  return out;
}

}  // namespace urto
