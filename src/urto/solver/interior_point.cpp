#include "urto/solver/interior_point.h"

#include <algorithm>
#include <cmath>

namespace urto {
namespace {

constexpr double partial_mu = 0.01;  // of a start with the velocity only
constexpr double mu_of_cones = 10;   // of a cold start of a cone program, in units of a typical
                                    // energy: box of balls 15 … 16 iterations instead of 16 … 19
constexpr double short_step = 1e-2;
constexpr int short_steps_cold = 6;
constexpr int short_steps_warm = 2;
// Iterations without a better certificate. Convex: heavy spheres on light ones, whose multipliers
// have to grow first.
constexpr int patience_exact = 15, patience_careful = 30, patience_convex = 30;
// The safe path is taken where rounding rules, and is dear: what it does not gain at once it never
// does.
constexpr int patience_pivoting = 3;
constexpr int long_enough = 100;  // iterations of one start with exact friction
constexpr double near = 1e-4;     // a residual from which another start would end at the same place

// The last digits by Newton on the complementarity itself: tried from this residual on, again after
// each gain of one digit or two, and where the interior point ends. A careful start is on its way
// for long, and Newton may be there at once.
constexpr double finish_below = 1e-3, finish_below_careful = 1e-1;
constexpr double polish_at_end = 1e-3;
constexpr double polish_always = 1e-6;
constexpr int polish_steps = 6, polish_quick = 10, polish_careful = 15, polish_most = 60;
constexpr int finish_tries = 3, finish_substitutions = 6;
constexpr double finish_shift = 1e-6;  // over tr(W_ii)/d
constexpr double finished = 1e-3;      // in tolerances: a solution up to rounding

constexpr double rescue_shift = 1e-4;  // docs/solvers/ipm.md
constexpr int rescue_patience = 200;

// The proximal shift over tr(W_ii)/d: rounding of the velocity is magnified by its inverse and must
// stay below the tolerance (docs/solvers/prox.md).
double polish_shift(double tolerance) {
  return std::clamp(50 * std::numeric_limits<double>::epsilon() / tolerance, 1e-6, 1e-2);
}

// infeasibility() from which there is no solution
constexpr double hopeless = 1e4;

class Ipm final : public Method {
 public:
  void solve(Run& run) override {
    if (!without_fixed_rows(run.W.problem(), reduced_)) {
      point_.solve(run, run.W, nullptr);
      return;
    }
    reduced_W_.set(reduced_.problem, run.W.symbolic_store());
    point_.solve(run, reduced_W_, &reduced_);
    reduced_W_.release();
  }

 private:
  FreeRows reduced_;
  Delassus reduced_W_;
  InteriorPoint point_;
};

}  // namespace

void InteriorPoint::begin(Run& run, Delassus& W, const FreeRows* reduced) {
  run_ = &run;
  options_ = &run.options.interior_point;
  W_ = &W;
  reduced_ = reduced;
  n_ = W.has_mass() ? W.problem().dofs() : 0;
  exact_ = run.options.friction == Friction::exact && W.K().has_friction();
  direct_ = exact_ && options_->coulomb == InteriorPointOptions::Coulomb::direct;
  careful_ = false;
  energy_ = run.monitor.energy_of_q() / std::sqrt(std::max(1, W.blocks()));
  pairs_.set(W, energy_);
  system_.set(W, options_->linear_path);
  blocks_.set(W.K());
  polisher_begun_ = false;
  x_.setZero(n_);
  rd_.setZero(n_);
  for (Vector* v : {&lambda_, &s_, &skew_}) v->setZero(W.rows());
  active_.assign(W.rows(), 0);
  iteration_ = 0;
  momentum_ = linear_residual_ = ray_ = 0;
  last_step_ = eta_ = 1;
  dual_norm_ = joint_norm_ = primal_norm_ = 0;
  weigh_rows();
}

void InteriorPoint::weigh_rows() {
  weight_.resize(W_->rows());
  for (int i = 0; i < W_->blocks(); ++i) {
    const ConvexSet& set = W_->K().sets[i];
    const double w = 1 / (std::sqrt(W_->mean_diagonal(i)) * energy_);
    for (int k = 0; k < set.dim; ++k)
      weight_[W_->K().start[i] + k] = set.kind == SetKind::cone && k > 0 ? set.mu * w : w;
  }
}

// The start that the caller gave, as it is: zero multipliers solve a problem without closing
// contacts.
bool InteriorPoint::observe_start() {
  run_->W.apply(run_->lambda, full_u_);
  full_u_ += run_->W.q();
  if (!run_->W.is_symmetric()) {
    run_->W.apply_skew(run_->lambda, full_lambda_);
    full_u_ += full_lambda_;
  }
  return run_->monitor.observe(0, run_->lambda, full_u_);
}

// λ, and x where it is worth more, to the run; returns the velocity that goes with them.
const Vector& InteriorPoint::publish() {
  run_->iterations = iteration_;
  // Not with exact friction, where other steps follow that know λ only.
  const bool own_x = reduced_ == nullptr && !exact_ && momentum_ <= 0.1 * run_->options.tolerance;
  if (own_x) {
    // With heavy bodies x is known better than λ tells: u = J x + b, not W λ + q.
    run_->lambda = lambda_;
    run_->x = x_;
    run_->has_x = true;
    return u_;
  }
  run_->has_x = false;
  if (reduced_ != nullptr) {
    run_->lambda = reduced_->lambda;
    for (std::size_t r = 0; r < reduced_->row.size(); ++r)
      run_->lambda[reduced_->row[r]] = lambda_[static_cast<Eigen::Index>(r)];
  } else {
    run_->lambda = lambda_;
  }
  run_->W.apply(run_->lambda, full_u_);
  full_u_ += run_->W.q();
  if (!run_->W.is_symmetric()) {
    run_->W.apply_skew(run_->lambda, full_lambda_);
    full_u_ += full_lambda_;
  }
  return full_u_;
}

bool InteriorPoint::observe(double mu) {
  const Vector& u = publish();
  const bool stop = run_->monitor.observe(iteration_, run_->lambda, u);
  if (options_->stop == InteriorPointOptions::Stop::certificate) return stop;
  if (stop && run_->monitor.status() != Status::converged) return true;
  if (!meets_own_test(mu)) return false;
  run_->monitor.set_status(Status::converged);
  return true;
}

// Recipe 001 §2.7.11: three residuals, each its norm over its number of rows, and μ. Relative:
// norms over those of what was subtracted, μ in typical energies.
bool InteriorPoint::meets_own_test(double mu) const {
  const bool relative = options_->stop == InteriorPointOptions::Stop::relative;
  double joints = 0, others = 0;
  int joint_rows = 0, other_rows = 0;
  for (int i = 0; i < W_->blocks(); ++i) {
    const int d = W_->K().sets[i].dim;
    const bool joint = W_->K().sets[i].kind == SetKind::free;
    (joint ? joints : others) += rp_.segment(W_->K().start[i], d).squaredNorm();
    (joint ? joint_rows : other_rows) += d;
  }
  const double size = u_.norm() + y_.norm();
  const auto small = [&](double squared, int rows) {
    const double norm = std::sqrt(squared);
    return norm <= options_->residual_tolerance * (relative ? size : rows);
  };
  const double unit = relative ? 1 : energy_ * energy_;
  return small(joints, joint_rows) && small(others, other_rows) &&
         (relative ? momentum_ <= options_->residual_tolerance : small(rd_.squaredNorm(), n_)) &&
         mu * unit <= options_->mu_tolerance;
}

// T = w_i S⁻², the identity in dimensionless variables: x and λ of min ½xᵀHx − aᵀx + ½‖ŷ‖² (recipe
// 001 §2.8.6), with û = −Tλ.
void InteriorPoint::least_squares(Vector& u) {
  const SetProduct& K = W_->K();
  std::fill(blocks_.T.begin(), blocks_.T.end(), 0.0);
  std::fill(blocks_.inverse.begin(), blocks_.inverse.end(), 0.0);
  blocks_.left = blocks_.right = blocks_.T;
  u.setZero(W_->rows());
  for (int i = 0; i < K.blocks(); ++i) {
    const ConvexSet& set = K.sets[i];
    if (set.kind == SetKind::free) continue;
    for (int k = 0; k < set.dim; ++k) {
      const double f = set.kind == SetKind::cone && k > 0 ? set.mu : 1.0;
      const int at = blocks_.start[i] + k * (set.dim + 1);
      blocks_.right[at] = blocks_.T[at] = W_->mean_diagonal(i) / (f * f);
      blocks_.inverse[at] = 1 / blocks_.T[at];
      blocks_.left[at] = 1;
    }
  }
  if (!system_.factorize(blocks_, true)) return;
  r1_.resize(n_);
  if (n_ > 0) r1_ = W_->problem().a;
  r2_ = -(n_ > 0 ? W_->problem().b : W_->q());
  if (!solve_linear(r1_, r2_)) return;
  x_ = dx_;
  lambda_ = dl_;
  for (int i = 0; i < K.blocks(); ++i) {
    const int d = K.sets[i].dim;
    for (int k = 0; k < d; ++k)
      u[K.start[i] + k] = -blocks_.T[blocks_.start[i] + k * (d + 1)] * lambda_[K.start[i] + k];
  }
}

void InteriorPoint::place_cold(double mu) {
  using Start = InteriorPointOptions::Start;
  if (options_->start == Start::ones) {
    // Recipe 001 §2.7.6: one predictor from ones, then absolute values of at least one.
    x_.setZero();
    lambda_.setZero();
    pairs_.place_ones(lambda_);
    residuals();
    pairs_.scale(false, blocks_);
    pairs_.predictor_target();
    if (!system_.factorize(blocks_, true) || !newton_direction(false, 1)) return;
    pairs_.advance({1, 1});
    pairs_.velocity(start_u_);
    pairs_.multipliers(lambda_);
    pairs_.place_absolute(start_u_, lambda_);
    return;
  }
  least_squares(start_u_);
  if (options_->start == Start::least_squares) {
    pairs_.place_shifted(start_u_, lambda_);
  } else {
    pairs_.place_centred(mu, start_u_, lambda_);
  }
}

// The multipliers given and their velocity, moved inside by as much as the start is wrong. Partial:
// their velocity only.
void InteriorPoint::place_warm() {
  for (int r = 0; r < W_->rows(); ++r)
    lambda_[r] = run_->lambda[reduced_ != nullptr ? reduced_->row[r] : r];
  if (n_ > 0) W_->recover(lambda_, x_);
  start_u_.resize(W_->rows());
  W_->apply(lambda_, start_u_);
  start_u_ += W_->q();
  if (exact_) urto::add_de_saxce(W_->K(), start_u_, start_u_);
  const double off = std::clamp(run_->monitor.last_residual(), 1e-6, 1.0);
  if (options_->warm_start == InteriorPointOptions::WarmStart::full) {
    pairs_.place_centred(off * off, start_u_, lambda_);
  } else {
    lambda_.setZero();
    pairs_.place_centred(partial_mu, start_u_, lambda_);
  }
}

// At the end of an unsuccessful run: any of its multipliers is a proof. Not before: on a stack with
// heavy bodies above light ones they grow as much on the way to a solution.
bool InteriorPoint::is_infeasible() {
  if (ray_ < hopeless || primal_norm_ + joint_norm_ < 1e-6) return false;
  run_->monitor.set_status(Status::infeasible);
  run_->message =
      "the constraints contradict each other: a combination of them asks for a velocity that does "
      "not exist";
  return true;
}

InteriorPoint::Outcome InteriorPoint::iterate(int short_steps_allowed) {
  residuals();
  ray_ = 0;
  const int first = iteration_;
  const int patience = !exact_ ? patience_convex : careful_ ? patience_careful : patience_exact;
  int best_at = iteration_;
  int short_steps = 0;
  double best = std::numeric_limits<double>::infinity();
  double finish_at = careful_ ? finish_below_careful : finish_below;
  while (!observe(pairs_.mu())) {
    const double residual = run_->monitor.last_residual();
    if (options_->newton_finish && ripe(residual, finish_at)) {
      finish_at = residual * (!exact_ ? 1e-3 : careful_ || residual < polish_always ? 0.1 : 0.01);
      if (finish()) return Outcome::stopped;
    }
    if (residual < 0.99 * best) {
      best = residual;
      best_at = iteration_;
    }
    const int waited = iteration_ - best_at;
    const bool rounding_rules = !exact_ && system_.path() == LinearPath::pivoting &&
                                residual < polish_at_end && waited > patience_pivoting;
    const bool tired = waited > patience || rounding_rules ||
                       (direct_ && iteration_ - first > long_enough && residual > near);
    if (tired || short_steps > short_steps_allowed || !step()) {
      for (const double factor : {1.0, 1e2, 1e4}) {
        if (options_->newton_finish && best < polish_at_end &&
            polish(run_->monitor.best(), factor * polish_shift(run_->options.tolerance),
                   polish_most))
          return Outcome::stopped;
      }
      if (is_infeasible()) return Outcome::stopped;
      return short_steps > short_steps_allowed ? Outcome::bad_start : Outcome::stalled;
    }
    short_steps = last_step_ < short_step ? short_steps + 1 : 0;
    ray_ = std::max(ray_, infeasible_ray_.infeasibility(*W_, lambda_, exact_, energy_));
  }
  return Outcome::stopped;
}

// Without cones there is no point in a guess of the active set before the pairs agree on it.
bool InteriorPoint::ripe(double residual, double finish_at) {
  if (exact_ || pairs_.has_cones()) return residual < finish_at;
  int changes = 0;
  for (int i = 0; i < W_->blocks(); ++i) {
    for (int r = W_->K().start[i]; r < W_->K().start[i + 1]; ++r) {
      const bool active = lambda_[r] * W_->mean_diagonal(i) > u_[r];
      changes += active != (active_[r] != 0) ? 1 : 0;
      active_[r] = active;
    }
  }
  return residual < finish_at && changes == 0;
}

// True when this ends the solve. Convex cones reach the tolerance by themselves, up to rounding.
bool InteriorPoint::finish() {
  if (!exact_) return !pairs_.has_cones() && finish_by_active_set();
  const double shift = polish_shift(run_->options.tolerance);
  polish_from_ = run_->lambda;
  return polish(polish_from_, shift, careful_ ? polish_careful : polish_quick) ||
         (careful_ && polish(polish_from_, 1e2 * shift, polish_careful));
}

// Which side of each pair is zero; T as small as redundant rows allow where it is û, as large as if
// there were no row where it is λ.
void InteriorPoint::guess_active_set() {
  const SetProduct& K = W_->K();
  std::fill(blocks_.T.begin(), blocks_.T.end(), 0.0);
  blocks_.inverse = blocks_.left = blocks_.right = blocks_.T;
  held_.assign(W_->rows(), false);
  for (int i = 0; i < K.blocks(); ++i) {
    const ConvexSet& set = K.sets[i];
    if (set.kind == SetKind::free) continue;
    const double w = W_->mean_diagonal(i);
    const bool box = set.kind == SetKind::box;
    for (int k = 0; k < set.dim; ++k) {
      const int row = K.start[i] + k;
      const double z = lambda_[row] - u_[row] / w;
      const double lo = box ? set.lo : 0;
      const double hi = box ? set.hi : std::numeric_limits<double>::infinity();
      held_[row] = z <= lo || z >= hi;
      if (held_[row]) lambda_[row] = z <= lo ? lo : hi;
      const int at = blocks_.start[i] + k * (set.dim + 1);
      blocks_.right[at] = blocks_.T[at] = w * (held_[row] ? 1e16 : finish_shift);
      blocks_.inverse[at] = 1 / blocks_.T[at];
      blocks_.left[at] = 1;
    }
  }
}

// Without cones a guess of the active set leaves one linear system, and a wrong guess corrects
// itself: semi-smooth Newton on the natural map. The multipliers of redundant rows stay where the
// interior point has them (a proximal term); substituting again takes its effect away.
bool InteriorPoint::finish_by_active_set() {
  kept_x_ = x_;
  kept_lambda_ = lambda_;
  double before = run_->monitor.last_residual();
  for (int k = 0; k < finish_tries; ++k) {
    guess_active_set();
    if (!system_.factorize(blocks_, true)) break;
    ++iteration_;
    bool solved = true;
    for (int j = 0; j < finish_substitutions && solved; ++j) {
      residuals();
      r1_ = -rd_;
      for (int r = 0; r < W_->rows(); ++r) r2_[r] = held_[r] ? 0 : -u_[r];
      solved = solve_linear(r1_, r2_);
      if (!solved) break;
      x_ += dx_;
      for (int r = 0; r < W_->rows(); ++r) lambda_[r] += held_[r] ? 0 : dl_[r];
    }
    if (!solved) break;
    residuals();
    const Vector& u = publish();
    const double now = run_->monitor.residual(run_->lambda, u);
    if (now <= finished * run_->options.tolerance) {
      // The pairs stayed where they were; here one of the two is zero, and what is left of the
      // other equation is u where λ is free.
      for (int r = 0; r < W_->rows(); ++r) rp_[r] = held_[r] ? 0 : u_[r];
      if (observe(0)) return true;
    }
    if (!(now < 0.3 * before)) break;
    before = now;
  }
  x_ = kept_x_;
  lambda_ = kept_lambda_;
  residuals();
  return false;
}

// True when this ends the solve. Works on the unreduced problem.
bool InteriorPoint::polish(const Vector& from, double shift, int most_steps) {
  Delassus& W = run_->W;
  if (!polisher_begun_) polisher_.begin(W, exact_ ? Friction::exact : Friction::convex);
  polisher_begun_ = true;
  alpha_.resize(W.blocks());
  for (int i = 0; i < W.blocks(); ++i) alpha_[i] = shift * W.mean_diagonal(i);
  polish_lambda_ = from;
  polish_c_.setZero(W.rows());
  for (int k = 0; k < polish_steps; ++k) {
    if (!W.is_symmetric()) W.apply_skew(polish_lambda_, polish_c_);
    polisher_.set(polish_lambda_, alpha_, polish_c_);
    const double before = measure_polished();
    const double goal =
        1e-3 * run_->monitor.energy_of_q() * std::max(run_->monitor.tolerance(), 1e-2 * before);
    const auto report = polisher_.solve(goal, [this, most_steps](int steps) {
      return steps >= most_steps || run_->monitor.stop_requested(iteration_ + steps);
    });
    iteration_ += std::max(1, report.iterations);
    run_->factorizations += report.iterations;
    ++run_->outer_iterations;
    if (report.stopped && run_->monitor.stop_requested(iteration_)) return true;
    polish_lambda_ = polisher_.lambda();
    if (!W.is_symmetric()) W.apply_skew(polish_lambda_, polish_c_);
    const double after = measure_polished();
    if (!(after < before)) break;
    run_->iterations = iteration_;
    run_->has_x = false;
    run_->lambda = polish_lambda_;
    if (run_->monitor.observe(iteration_, polish_lambda_, polish_u_)) return true;
    if (!(after < 0.3 * before)) break;
  }
  return false;
}

// The residual at polish_lambda_, and the velocity there.
double InteriorPoint::measure_polished() {
  run_->W.apply(polish_lambda_, polish_u_);
  polish_u_ += run_->W.q();
  polish_u_ += polish_c_;
  return run_->monitor.residual(polish_lambda_, polish_u_);
}

void InteriorPoint::solve_from_several_starts() {
  struct Start {
    double mu;
    bool careful;
  };
  // Exact friction, μ in units of a typical energy: the law is not monotone, and where Newton is
  // led astray from one start, another works.
  const double first = direct_ || !pairs_.has_cones() ? 1 : mu_of_cones;
  for (const Start start :
       {Start{first, false}, Start{10, false}, Start{10, true}, Start{1, true}}) {
    careful_ = start.careful;
    place_cold(start.mu);
    if (iterate(short_steps_cold) == Outcome::stopped) return;
    if (run_->monitor.limit_reached(iteration_)) return;
    if (!direct_) break;                              // convex: one start is as good as another
    if (run_->monitor.best_residual() < near) break;  // degenerate, not astray
  }
  run_->monitor.set_status(Status::stalled);
  run_->message = "no further progress: rounding, or (exact friction) every start led astray";
}

// Proximal steps with De Saxcé's term frozen, each a cone program solved by Newton
// (prox_newton.cpp): from the best point if it is near, with a shift that rounding does not reach;
// else, or if that stalls, as the solver `prox` begins, from the multipliers given.
void InteriorPoint::rescue() {
  const auto ended = [this] {
    return run_->monitor.status() != Status::stalled && run_->monitor.status() != Status::failed;
  };
  run_->has_x = false;
  run_->iterations = iteration_;
  if (run_->monitor.best_residual() < near) {
    run_->lambda = run_->monitor.best();
    rescuer_.solve(*run_, {.shift = rescue_shift, .smallest_shift = rescue_shift, .patience = 10});
    if (ended()) return;
  }
  run_->lambda = given_;
  rescuer_.solve(*run_, {.patience = rescue_patience});
}

// Recipe 001 §2.4 [ADD]: s = μ‖u_T‖ of the last solution, until it stands still.
void InteriorPoint::loop_on_de_saxce() {
  constexpr int outer_patience = 30;
  double best = std::numeric_limits<double>::infinity();
  int best_at = 0;
  residuals();
  while (!observe(pairs_.mu())) {
    const double outer = run_->monitor.last_residual();
    if (outer < best) {
      best = outer;
      best_at = run_->outer_iterations;
    }
    if (run_->outer_iterations - best_at > outer_patience) break;
    for (int i = 0; i < W_->blocks(); ++i)
      s_[W_->K().start[i]] = de_saxce(W_->K().sets[i], u_.data() + W_->K().start[i]);
    if (++run_->outer_iterations > 1) {
      start_u_ = u_ + s_;
      pairs_.place_centred(std::clamp(outer, 1e-12, 1.0), start_u_, lambda_);
    }
    residuals();
    const double goal = std::clamp(1e-3 * outer * outer, 1e-18, 1e-10);
    for (int k = 0; k < long_enough; ++k) {
      if (run_->monitor.stop_requested(iteration_) || run_->monitor.limit_reached(iteration_))
        return;
      if (!step()) break;
      if (pairs_.mu() < goal && primal_norm_ + joint_norm_ < 0.05 * outer) break;
    }
  }
  if (run_->outer_iterations - best_at <= outer_patience) return;
  run_->monitor.set_status(Status::stalled);
  run_->message = "the loop on De Saxcé's term does not converge";
}

void InteriorPoint::solve(Run& run, Delassus& W, const FreeRows* reduced) {
  begin(run, W, reduced);
  run.monitor.use_every_iteration();
  if (!observe_start()) solve_from_the_start_given();
  system_.release();
  polisher_.release();
}

void InteriorPoint::solve_from_the_start_given() {
  given_ = run_->lambda;
  const bool warm =
      options_->warm_start != InteriorPointOptions::WarmStart::none && !run_->lambda.isZero(0);
  if (exact_ && !direct_) {
    warm ? place_warm() : place_cold(1);
    loop_on_de_saxce();
  } else {
    bool done = false;
    if (warm) {
      place_warm();
      done = iterate(short_steps_warm) == Outcome::stopped;
    }
    if (!done && !run_->monitor.limit_reached(iteration_)) solve_from_several_starts();
  }
  run_->iterations = iteration_;
  run_->factorizations += system_.counters().all_factorizations();
  run_->linear += system_.counters();
  if (exact_ && options_->proximal_rescue && run_->monitor.status() == Status::stalled) rescue();
}

std::unique_ptr<Method> make_ipm() {
  return std::make_unique<Ipm>();
}

}  // namespace urto
