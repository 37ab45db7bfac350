#include "urto/firstorder/first_order_stepper.h"

#include <algorithm>
#include <cmath>
#include <unsupported/Eigen/MatrixFunctions>

#include <Eigen/SparseLU>
#include <fmt/format.h>

#include "urto/error.h"
#include "urto/linalg/checked.h"

namespace urto {
namespace {

using SparseFactor = Checked<Eigen::SparseLU<SparseMatrix>>;

/// The worst of |part_i|/size_i; not-a-number stays one.
double relative(const Vector& part, const Vector& size) {
  double worst = 0;
  for (Eigen::Index i = 0; i < part.size(); ++i) {
    const double v = part[i] == 0 ? 0 : std::abs(part[i]) / size[i];
    if (!(v <= worst)) worst = v;
  }
  return worst;
}

/// Where the parts of an Euler–Moreau step are evaluated, and with which weights.
struct Weights {
  double h = 0, theta = 1, r = 0, r_before = 0;  ///< of f_{k+1}, g and r_k, with h in them
  double relation = 1;  ///< the relation holds at relation·x + (1 − relation)·x_k
  bool midpoint = false;
  Moment start, end, at_relation, between;

  Weights(const FirstOrderOptions& o, const FirstOrderState& before, double step)
      : h(step), theta(o.theta), midpoint(o.midpoint) {
    const double t = before.t, inside = t + 0.5 * h;
    const double gamma = o.use_gamma && !before.after_jump ? o.gamma : 1;
    relation = o.use_gamma_for_relation ? o.gamma : 1;
    r = o.use_gamma_for_relation ? h : h * gamma;
    r_before = h - r;
    start = {t, inside};
    end = {t + h, inside};
    at_relation = {t + relation * h, inside};
    between = {t + theta * h, inside};
  }

  Vector relation_state(const Vector& x, const Vector& x_k) const {
    return relation == 1 ? x : Vector(relation * x + (1 - relation) * x_k);
  }
  Vector field_state(const Vector& x, const Vector& x_k) const {
    return midpoint ? Vector(theta * x + (1 - theta) * x_k) : x;
  }
  const Moment& field_moment() const { return midpoint ? between : end; }
};

/// h(1 − θ) f(t_k, x_k), of which the midpoint variant has none.
Vector explicit_part(const FirstOrderSystem& s, const Weights& w, const Vector& x_k) {
  if (w.midpoint || w.theta == 1) return Vector::Zero(s.states);
  return w.h * (1 - w.theta) * field_at(s, w.start, x_k);
}

double implicit_weight(const Weights& w) {
  return w.midpoint ? w.h : w.h * w.theta;
}

/// ∫₀ʰ of what a linear system does to x under a constant input c: e^{Ah}x + ∫e^{As}ds c, by
/// Taylor's series over parts of the step. Shares nothing with the stepper's exponential.
Vector held_motion(const SparseFactor& mass, const SparseMatrix& A, const Vector& c, double h,
                   Vector x) {
  double norm = 0;
  for (int k = 0; k < A.outerSize(); ++k) norm = std::max(norm, A.col(k).cwiseAbs().sum());
  const Vector ones = Vector::Ones(x.size());
  const double inverse_mass = x.size() > 0 ? mass.solve(ones).cwiseAbs().maxCoeff() : 1;
  const int parts =
      std::max(1, static_cast<int>(std::ceil(std::min(2 * norm * inverse_mass * h, 1e6))));
  const double part = h / parts;
  for (int k = 0; k < parts; ++k) {
    Vector term = part * mass.solve(Vector(A * x + c));  // x⁽ʲ⁾ hʲ/j!
    for (int j = 2; j < 60 && term.squaredNorm() > 0; ++j) {
      x += term;
      term = part / j * mass.solve(Vector(A * term));
    }
    x += term;
  }
  return x;
}

Vector bounds_of(const FirstOrderSystem& s, bool upper) {
  Vector out(s.rows());
  for (int i = 0; i < s.rows(); ++i) out[i] = upper ? s.laws[i].upper : s.laws[i].lower;
  return out;
}

/// The sizes of what y is a sum of.
Vector output_terms(const RelationPoint& d, const Vector& x, const Vector& lambda) {
  RowTerms terms(Vector(d.y - d.C * x - d.D * lambda));
  terms.add(d.C, x);
  terms.add(d.D, lambda);
  return terms.sizes();
}

FirstOrderResiduals law_residuals(const FirstOrderSystem& s, const RelationPoint& d,
                                  const Vector& x, const Vector& lambda) {
  FirstOrderResiduals out;
  if (s.rows() == 0) return out;
  const Vector lower = bounds_of(s, false), upper = bounds_of(s, true);
  out.law = scaled_natural_map(d.y, output_terms(d, x, lambda), lambda, lower, upper);
  const Vector projected = (lambda - d.y).cwiseMax(lower).cwiseMin(upper);
  out.law_absolute = (lambda - projected).lpNorm<Eigen::Infinity>();
  return out;
}

void refuse_share(std::string_view name, double value) {
  if (value >= 0 && value <= 1) return;
  throw InputError(name, fmt::format("{}", value), "a number from 0 to 1");
}

}  // namespace

double FirstOrderResiduals::worst() const {
  double out = 0;
  for (const double v : {dynamics, output, input, law}) {
    if (!(v <= out)) out = v;
  }
  return out;
}

void validate(const FirstOrderOptions& o, const FirstOrderSystem& s) {
  refuse_share("theta", o.theta);
  refuse_share("gamma", o.gamma);
  if (o.use_gamma && o.use_gamma_for_relation) {
    throw InputError("use_gamma", "true beside use_gamma_for_relation",
                     "one of them: the full scheme has no r_k to weigh");
  }
  if (o.max_newton < 1) {
    throw InputError("max_newton", fmt::format("{}", o.max_newton), "at least 1");
  }
  if (!(o.newton_tolerance > 0)) {
    throw InputError("newton_tolerance", fmt::format("{}", o.newton_tolerance), "a number > 0");
  }
  if (o.scheme == FirstOrderScheme::zero_order &&
      !((s.linear() && s.field.constant) || (!s.field.f && s.linear()) ||
        (!s.field.f && s.relation.kind == RelationKind::linear))) {
    throw InputError("scheme zero-order", "a system that is not linear with a constant A",
                     "M ẋ = A x + b(t) + B(t) λ: euler-moreau integrates others");
  }
}

FirstOrderStepper::FirstOrderStepper(const FirstOrderSystem& system,
                                     const FirstOrderOptions& options)
    : system_(system),
      options_(options),
      lower_(bounds_of(system, false)),
      upper_(bounds_of(system, true)),
      mass_(mass_of(system)) {
  validate(options, system);
}

bool FirstOrderStepper::step(double h, FirstOrderState& state, FirstOrderReport& report) {
  report = {.t = state.t, .h = h};
  switch (options_.scheme) {
    case FirstOrderScheme::zero_order:
      return zero_order(h, state, report);
    case FirstOrderScheme::explicit_multiplier:
      return explicit_multiplier(h, state, report);
    case FirstOrderScheme::euler_moreau:
      break;
  }
  return euler_moreau(h, state, report);
}

bool FirstOrderStepper::euler_moreau(double h, FirstOrderState& state, FirstOrderReport& report) {
  const FirstOrderSystem& s = system_;
  const Weights w(options_, state, h);
  const Vector& x_k = state.x;
  FirstOrderState next{state.t + h, x_k, state.lambda.cwiseMax(lower_).cwiseMin(upper_)};
  next.after_jump = false;
  const Vector known =
      mass_ * x_k + explicit_part(s, w, x_k) +
      (w.r_before > 0 ? Vector(w.r_before * state.r) : Vector(Vector::Zero(s.states)));
  double best = std::numeric_limits<double>::infinity();
  int without_progress = 0;
  BoxStep p{.lower = lower_, .upper = upper_};
  for (int k = 0; k < options_.max_newton; ++k) {
    const Vector xr = w.relation_state(next.x, x_k), xf = w.field_state(next.x, x_k);
    const RelationPoint d = relation_at(s, w.at_relation, xr, next.lambda);
    const double by_field = w.h * w.theta;  // of either variant
    p.W = mass_ - SparseMatrix(by_field * field_jacobian_at(s, w.field_moment(), xf));
    if (d.K.nonZeros() > 0) p.W -= SparseMatrix(w.r * w.relation * d.K);
    p.G = w.r * d.B;
    p.C = w.relation * d.C;
    p.D = d.D;
    const Vector residual =
        mass_ * next.x - implicit_weight(w) * field_at(s, w.field_moment(), xf) - w.r * d.r - known;
    p.a = p.W * next.x - p.G * next.lambda - residual;
    p.e = d.y - p.C * next.x - p.D * next.lambda;
    const FirstOrderState last = next;
    if (!solver_.solve(p, next.x, next.lambda, next.y, report.solve)) {
      report.failure = report.solve.failure;
      return false;
    }
    next.r = d.r + w.relation * (d.K * (next.x - last.x)) + d.B * (next.lambda - last.lambda);
    report.newton = k + 1;
    report.residuals = certify_euler_moreau(s, options_, state, next);
    const double found = report.residuals.worst();
    if (!std::isfinite(found)) break;
    if (found <= options_.newton_tolerance || s.linear()) break;
    without_progress = found < 0.5 * best ? 0 : without_progress + 1;
    best = std::min(best, found);
    if (without_progress >= 5 && best <= 1e3 * options_.newton_tolerance) break;
  }
  constexpr double solved = 1e-6;
  if (!(report.residuals.worst() <= solved)) {
    report.failure = fmt::format("Newton's iteration left a residual of {:.1e} after {} steps",
                                 report.residuals.worst(), report.newton);
    return false;
  }
  state = std::move(next);
  return true;
}

void FirstOrderStepper::use_hold(double h) {
  if (h == held_for_) return;
  const int n = system_.states;
  const Moment start{0, 0};
  const SparseFactor mass(mass_);
  Matrix augmented = Matrix::Zero(2 * n, 2 * n);
  augmented.topLeftCorner(n, n) =
      mass.solve(Matrix(field_jacobian_at(system_, start, Vector::Zero(n))));
  augmented.topRightCorner(n, n).setIdentity();
  const Matrix e = Matrix(h * augmented).exp();
  transition_ = e.topLeftCorner(n, n);
  hold_ = mass.solve(Matrix(Matrix::Identity(n, n)));
  hold_ = e.topRightCorner(n, n) * hold_;
  held_for_ = h;
}

// Inputs are held at their values in the middle of the step: exact where they are constant over it.
bool FirstOrderStepper::zero_order(double h, FirstOrderState& state, FirstOrderReport& report) {
  const FirstOrderSystem& s = system_;
  const Moment middle{state.t + 0.5 * h, state.t + 0.5 * h}, end{state.t + h, state.t + 0.5 * h};
  if (s.states > 0) use_hold(h);
  FirstOrderState next{state.t + h, state.x, state.lambda.cwiseMax(lower_).cwiseMin(upper_)};
  next.after_jump = false;
  const RelationPoint d = relation_at(s, end, Vector::Zero(s.states), Vector::Zero(s.rows()));
  BoxStep p{.C = d.C, .D = d.D, .lower = lower_, .upper = upper_};
  p.W.resize(s.states, s.states);
  p.W.setIdentity();
  p.G = (hold_ * d.B).sparseView();
  p.a = transition_ * state.x + hold_ * field_at(s, middle, Vector::Zero(s.states));
  p.e = d.y;
  report.newton = 1;
  if (!solver_.solve(p, next.x, next.lambda, next.y, report.solve)) {
    report.failure = report.solve.failure;
    return false;
  }
  next.r = d.B * next.lambda;
  report.residuals = certify_law(s, end, next.x, next.lambda);
  const Vector input = field_at(s, middle, Vector::Zero(s.states)) + next.r;
  const Vector exact =
      held_motion(SparseFactor(mass_), field_jacobian_at(s, middle, state.x), input, h, state.x);
  const Vector terms = transition_.cwiseAbs() * state.x.cwiseAbs() +
                       hold_.cwiseAbs() * (field_at(s, middle, Vector::Zero(s.states)).cwiseAbs() +
                                           d.B.cwiseAbs() * next.lambda.cwiseAbs());
  const double size = std::max(terms.lpNorm<Eigen::Infinity>(), 1e-300);
  report.residuals.dynamics = (next.x - exact).lpNorm<Eigen::Infinity>() / size;
  state = std::move(next);
  return true;
}

// λ = SOL(D, h(t, x, 0)), by Newton's method where h is not linear in λ.
bool FirstOrderStepper::multiplier_of(const Moment& now, const Vector& x, Vector& lambda, Vector& y,
                                      FirstOrderReport& report) {
  const FirstOrderSystem& s = system_;
  BoxStep p{.lower = lower_, .upper = upper_};
  p.W.resize(0, 0);
  p.G.resize(0, s.rows());
  p.C.resize(s.rows(), 0);
  p.a.resize(0);
  Vector none(0);
  for (int k = 0; k < options_.max_newton; ++k) {
    const RelationPoint d = relation_at(s, now, x, lambda);
    p.D = d.D;
    p.e = d.y - p.D * lambda;
    if (!solver_.solve(p, none, lambda, y, report.solve)) {
      report.failure = report.solve.failure;
      return false;
    }
    ++report.newton;
    if (s.relation.kind == RelationKind::linear ||
        certify_law(s, now, x, lambda).law <= options_.newton_tolerance) {
      return true;
    }
  }
  report.failure = "Newton's iteration for the multipliers did not converge";
  return false;
}

bool FirstOrderStepper::explicit_multiplier(double h, FirstOrderState& state,
                                            FirstOrderReport& report) {
  const FirstOrderSystem& s = system_;
  const double inside = state.t + 0.5 * h;
  const SparseFactor mass(mass_);
  const RelationPoint d = relation_at(s, {state.t, inside}, state.x, state.lambda);
  for (int i = 0; i < s.rows(); ++i) {
    if (d.D.coeff(i, i) > 0) continue;
    report.failure = fmt::format(
        "row {} has ∂y/∂λ = {:.3g}: the scheme explicit needs D > 0, euler-moreau does not", i,
        d.D.coeff(i, i));
    return false;
  }
  Vector lambda = state.lambda.cwiseMax(lower_).cwiseMin(upper_), y;
  const auto rate = [&](double t, const Vector& x, Vector& out) {
    const Moment now{t, inside};
    if (!multiplier_of(now, x, lambda, y, report)) return false;
    out = mass.solve(Vector(field_at(s, now, x) + relation_at(s, now, x, lambda).r));
    return out.allFinite();
  };
  Vector k1, k2, k3, k4;
  const bool taken = rate(state.t, state.x, k1) && rate(inside, state.x + 0.5 * h * k1, k2) &&
                     rate(inside, state.x + 0.5 * h * k2, k3) &&
                     rate(state.t + h, state.x + h * k3, k4);
  const Moment end{state.t + h, inside};
  FirstOrderState next{state.t + h};
  if (taken) next.x = state.x + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4);
  if (!taken || !next.x.allFinite() || !multiplier_of(end, next.x, lambda, y, report)) {
    if (report.failure.empty()) report.failure = "the state left the numbers";
    return false;
  }
  next.lambda = lambda;
  next.y = y;
  next.r = relation_at(s, end, next.x, lambda).r;
  next.after_jump = false;
  report.residuals = certify_law(s, end, next.x, lambda);
  state = std::move(next);
  return true;
}

FirstOrderResiduals certify_law(const FirstOrderSystem& s, const Moment& now, const Vector& x,
                                const Vector& lambda) {
  return law_residuals(s, relation_at(s, now, x, lambda), x, lambda);
}

FirstOrderResiduals certify_euler_moreau(const FirstOrderSystem& s, const FirstOrderOptions& o,
                                         const FirstOrderState& before,
                                         const FirstOrderState& after) {
  const Weights w(o, before, after.t - before.t);
  const SparseMatrix M = mass_of(s);
  const Vector xr = w.relation_state(after.x, before.x), xf = w.field_state(after.x, before.x);
  const RelationPoint d = relation_at(s, w.at_relation, xr, after.lambda);
  FirstOrderResiduals out = law_residuals(s, d, xr, after.lambda);
  const Vector f = field_at(s, w.field_moment(), xf);
  const SparseMatrix A = field_jacobian_at(s, w.field_moment(), xf);
  const Vector f_before = explicit_part(s, w, before.x);
  const Vector r_before =
      w.r_before > 0 ? Vector(w.r_before * before.r) : Vector(Vector::Zero(s.states));
  const Vector defect =
      M * (after.x - before.x) - implicit_weight(w) * f - f_before - w.r * d.r - r_before;
  RowTerms r_terms(Vector(d.r - d.B * after.lambda - d.K * xr));
  r_terms.add(d.B, after.lambda);
  r_terms.add(d.K, xr);
  RowTerms terms(Vector(implicit_weight(w) * (f - A * xf).cwiseAbs() + f_before.cwiseAbs() +
                        w.r * r_terms.sizes() + r_before.cwiseAbs()));
  terms.add(M, after.x);
  terms.add(M, before.x);
  terms.add(SparseMatrix(implicit_weight(w) * A), xf);
  out.dynamics = relative(defect, terms.sizes());
  if (s.rows() == 0) return out;
  out.output = relative(after.y - d.y, output_terms(d, xr, after.lambda));
  out.input = relative(after.r - d.r, r_terms.sizes());
  return out;
}

bool start_multipliers(const FirstOrderSystem& s, double h, FirstOrderState& state,
                       std::string& failure) {
  FirstOrderState probe = state;
  if (probe.lambda.size() != s.rows()) probe.lambda = Vector::Zero(s.rows());
  probe.r = Vector::Zero(s.states);
  probe.after_jump = true;
  const FirstOrderOptions implicit;
  FirstOrderStepper stepper(s, implicit);
  FirstOrderReport report;
  if (!stepper.step(h, probe, report)) {
    failure = report.failure;
    return false;
  }
  state.lambda = probe.lambda;
  state.y = relation_at(s, {state.t, state.t + 0.5 * h}, state.x, probe.lambda).y;
  state.r = probe.r;
  state.after_jump = true;
  return true;
}

}  // namespace urto
