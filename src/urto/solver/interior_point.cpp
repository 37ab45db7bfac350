#include "urto/solver/interior_point.h"

#include <algorithm>
#include <cmath>

namespace urto {
namespace {

// Of a start with the velocity only. A ball at rest, the source's iteration: 3.9 iterations
// cold, 2.9 with this, 4.9 with a tenth of it, 3.9 with ten times as much.
constexpr double partial_mu = 0.1;
constexpr double mu_of_cones = 10;  // of a cold start of a cone program, in units of a typical
                                    // energy: box of balls 15 … 16 iterations instead of 16 … 19
// A residual, relative as in the certificate, from which multipliers cost iterations instead of
// saving them: random ones added to the solution's, 6.6 iterations instead of 6.2 of quadratic
// programs and 13.3 instead of 13.3 with cones.
constexpr double hopeless_start = 100;
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

constexpr double rescue_shift = 1e-4;  // docs/solvers/ipm.md
constexpr int rescue_patience = 200;

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
  momentum_ = momentum_terms_ = velocity_terms_ = linear_residual_ = ray_ = recursion_gap_ = 0;
  repaired_ = 0;
  last_step_ = eta_ = 1;
  dual_norm_ = joint_norm_ = primal_norm_ = 0;
  weigh_rows();
  // Joints only: the solution of a linear system has no need to settle.
  if (pairs_.degree() == 0) run.monitor.set_tolerance(0.1 * run.options.tolerance);
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

void InteriorPoint::start_without_multipliers() {
  run_->lambda.setZero();
  project(run_->W.K(), run_->lambda, run_->lambda);
}

bool InteriorPoint::start_is_warm() {
  switch (options_->warm_start) {
    case InteriorPointOptions::WarmStart::none:
      break;
    case InteriorPointOptions::WarmStart::partial:
      return has_start_velocity();
    case InteriorPointOptions::WarmStart::full:
      return !run_->lambda.isZero(0);
  }
  return false;
}

// Not one that is farther from the free velocity, in the metric of the mass, than any contact would
// bring it.
bool InteriorPoint::has_start_velocity() {
  const Vector* x = options_->start_velocity;
  if (n_ == 0 || x == nullptr || !x->allFinite()) return false;
  lambda_.setZero();
  W_->recover(lambda_, x_);
  x_ -= *x;
  multiply_mass(W_->problem(), x_, rd_);
  const double far = std::sqrt(std::max(0.0, x_.dot(rd_)));
  const bool good = far <= hopeless_start * run_->monitor.energy_of_q();
  if (!good) ++run_->bad_starts;
  return good;
}

// u = W λ + q of the multipliers of the run.
void InteriorPoint::measure_start() {
  run_->W.apply(run_->lambda, full_u_);
  full_u_ += run_->W.q();
  if (run_->W.is_symmetric()) return;
  run_->W.apply_skew(run_->lambda, full_lambda_);
  full_u_ += full_lambda_;
}

// The start as it is: zero multipliers solve a problem without closing contacts. Multipliers far
// worse than those, or not numbers any more, are no start.
bool InteriorPoint::observe_start() {
  measure_start();
  const bool good = run_->monitor.residual(run_->lambda, full_u_) <= hopeless_start;
  if (!good && !run_->lambda.isZero(0)) {
    ++run_->bad_starts;
    start_without_multipliers();
    measure_start();
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
  const double momentum = momentum_terms_ > 0 ? rd_.norm() / momentum_terms_ : 0;
  const auto small = [&](double squared, int rows) {
    const double norm = std::sqrt(squared);
    return norm <= options_->residual_tolerance * (relative ? size : rows);
  };
  const double unit = relative ? 1 : energy_ * energy_;
  return small(joints, joint_rows) && small(others, other_rows) &&
         (relative ? momentum <= options_->residual_tolerance : small(rd_.squaredNorm(), n_)) &&
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
    // Recipe 001 §2.7.6, in dimensionless variables: one predictor from ones, then absolute values
    // of at least one; x and the joints' multipliers stay where they are.
    for (int i = 0; i < W_->blocks(); ++i) {
      const double unit = energy_ / std::sqrt(W_->mean_diagonal(i));
      lambda_.segment(W_->K().start[i], W_->K().sets[i].dim).setConstant(unit);
    }
    if (n_ > 0) x_ = energy_ * mass_diagonal(W_->problem()).cwiseSqrt().cwiseInverse();
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

// The velocity given, with no multipliers but those that keep the pairs inside.
void InteriorPoint::place_velocity() {
  x_ = *options_->start_velocity;
  lambda_.setZero();
  multiply(W_->problem().J, x_, start_u_);
  start_u_ += W_->problem().b;
  if (exact_) urto::add_de_saxce(W_->K(), start_u_, start_u_);
  pairs_.place_centred(partial_mu, start_u_, lambda_);
}

// The multipliers given and their velocity, moved inside by as much as the start is wrong.
void InteriorPoint::place_warm() {
  if (options_->warm_start == InteriorPointOptions::WarmStart::partial) {
    place_velocity();
    return;
  }
  for (int r = 0; r < W_->rows(); ++r)
    lambda_[r] = run_->lambda[reduced_ != nullptr ? reduced_->row[r] : r];
  if (n_ > 0) W_->recover(lambda_, x_);
  start_u_.resize(W_->rows());
  W_->apply(lambda_, start_u_);
  start_u_ += W_->q();
  if (exact_) urto::add_de_saxce(W_->K(), start_u_, start_u_);
  const double off = std::clamp(run_->monitor.last_residual(), 1e-6, 1.0);
  pairs_.place_centred(off * off, start_u_, lambda_);
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
  show();
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
      if (options_->newton_finish && best < polish_at_end && polish_best()) return Outcome::stopped;
      if (is_infeasible()) return Outcome::stopped;
      return short_steps > short_steps_allowed ? Outcome::bad_start : Outcome::stalled;
    }
    short_steps = last_step_ < short_step ? short_steps + 1 : 0;
    ray_ = std::max(ray_, infeasible_ray_.infeasibility(*W_, lambda_, exact_, energy_));
  }
  return Outcome::stopped;
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
  if (options_->warm_start != InteriorPointOptions::WarmStart::full) start_without_multipliers();
  if (!observe_start()) solve_from_the_start_given();
  system_.release();
  polisher_.release();
}

void InteriorPoint::solve_from_the_start_given() {
  given_ = run_->lambda;
  const bool warm = start_is_warm();
  if (exact_ && !direct_) {
    warm ? place_warm() : place_cold(1);
    loop_on_de_saxce();
  } else {
    bool done = false;
    if (warm) {
      place_warm();
      done = iterate(short_steps_warm) == Outcome::stopped;
      if (!done) ++run_->bad_starts;
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
