#include "urto/solver/dense_contacts.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "urto/solver/natural_map.h"
#include "urto/solver/workspace.h"

namespace urto {
namespace {

constexpr int most_rows = 192;
// As elsewhere in `auto`: what the certificate may find more.
constexpr double below_tolerance = 0.8;

// [ns] on a common processor; only ratios matter.
constexpr double unit_price = 60, number_price = 0.35;       // of a sweep
constexpr double step_price = 1500, operation_price = 0.35;  // of a Newton step
constexpr double newton_steps = 4;

constexpr int most_failures = 3;
constexpr int most_steps = 25, halvings = 8;
// Proximal shifts of what is held, over its diagonal: tried in turn.
constexpr std::array<double, 2> shifts{1e-8, 1e-5};

// A x = b by LU with pivots of rows, A by columns; b becomes x. In place, for sizes that change
// from step to step without a new allocation. False if a pivot is zero or not a number.
bool solve_dense(int n, double* A, double* b) {
  const auto column = [A, n](int c) { return A + static_cast<std::size_t>(c) * n; };
  for (int k = 0; k < n; ++k) {
    double* own = column(k);
    int pivot = k;
    for (int r = k + 1; r < n; ++r) pivot = std::abs(own[r]) > std::abs(own[pivot]) ? r : pivot;
    if (!(std::abs(own[pivot]) > 0)) return false;
    if (pivot != k) {
      for (int c = k; c < n; ++c) std::swap(column(c)[k], column(c)[pivot]);
      std::swap(b[k], b[pivot]);
    }
    const double inverse = 1 / own[k];
    for (int r = k + 1; r < n; ++r) own[r] *= inverse;
    for (int c = k + 1; c < n; ++c) {
      double* other = column(c);
      const double factor = other[k];
      if (factor == 0) continue;
      for (int r = k + 1; r < n; ++r) other[r] -= own[r] * factor;
    }
    const double factor = b[k];
    for (int r = k + 1; r < n; ++r) b[r] -= own[r] * factor;
  }
  for (int k = n - 1; k >= 0; --k) {
    const double* own = column(k);
    b[k] /= own[k];
    for (int r = 0; r < k; ++r) b[r] -= own[r] * b[k];
  }
  return std::all_of(b, b + n, [](double x) { return std::isfinite(x); });
}

// λ − P(λ − ρu) of a cone; z is left where the argument of P is.
void cone_residual(int dim, double mu, const double* z, const double* lambda, double* F) {
  const double normal = std::max(0.0, z[0]);
  double squares = 0;
  for (int k = 1; k < dim; ++k) squares += z[k] * z[k];
  const double length = std::sqrt(squares);
  const double factor = length > mu * normal ? mu * normal / length : 1;
  F[0] = lambda[0] - normal;
  for (int k = 1; k < dim; ++k) F[k] = lambda[k] - factor * z[k];
}

}  // namespace

bool DenseContacts::suits(const StepProblem& p) {
  if (p.rows() == 0 || p.rows() > most_rows) return false;
  return std::all_of(p.K.sets.begin(), p.K.sets.end(), [](const ConvexSet& set) {
    return set.kind != SetKind::rolling_cone && (set.kind != SetKind::cone || set.dim <= 3);
  });
}

void DenseContacts::begin(const SetProduct& K) {
  K_ = &K;
  rows_ = K.rows();
  stride_ = (rows_ + 1) & ~1;  // columns begin at even numbers
  W_.assign(static_cast<std::size_t>(rows_) * stride_, 0.0);
  for (std::vector<double>* v : {&q_, &lambda_, &u_}) v->resize(stride_);
}

bool DenseContacts::set(const StepProblem& p) {
  begin(p.K);
  const int* outer = p.E.outerIndexPtr();
  const int* inner = p.E.innerIndexPtr();
  const double* values = p.E.valuePtr();
  for (int c = 0; c < rows_; ++c) {
    double* out = column(c);
    for (int k = outer[c]; k < outer[c + 1]; ++k) out[inner[k]] = values[k];
    q_[c] = p.b[c];
  }
  return prepare();
}

bool DenseContacts::set(Delassus& W) {
  begin(W.K());
  const BlockRows& rows = W.matrix_as_is();
  for (int i = 0; i < W.blocks(); ++i) {
    for (int e = rows.entry_start[i]; e < rows.entry_start[i + 1]; ++e) {
      const BlockRows::Entry& entry = rows.entries[e];
      for (int r = 0; r < rows.height(i); ++r) {
        for (int c = 0; c < entry.width; ++c) {
          column(entry.column + c)[rows.row_start[i] + r] =
              rows.values[entry.offset + r * entry.width + c];
        }
      }
    }
  }
  std::copy_n(W.q().data(), rows_, q_.data());
  return prepare();
}

// Units, their local problems, and what residuals are relative to.
bool DenseContacts::prepare() {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  units_.clear();
  scale_.resize(K_->blocks());
  FreeMotion free;
  for (int i = 0; i < K_->blocks(); ++i) {
    const ConvexSet& set = K_->sets[i];
    const int first = K_->start[i];
    double trace = 0;
    for (int r = first; r < first + set.dim; ++r) trace += column(r)[r];
    scale_[i] = trace > 0 ? set.dim / trace : 1;
    free.add(q_.data() + first, set.dim, scale_[i]);
    if (set.kind == SetKind::cone) {
      Unit& unit = units_.emplace_back();
      unit.row = first;
      unit.dim = set.dim;
      unit.mu = set.mu;
      unit.rho = scale_[i];
      std::array<double, 9> own{};
      for (int c = 0; c < set.dim; ++c) {
        for (int r = 0; r < set.dim; ++r) {
          own[c * set.dim + r] =
              0.5 * (column(first + c)[first + r] + column(first + r)[first + c]);
        }
      }
      if (!prepare_cone(own.data(), set.dim, set.mu, unit.cone, unit.turn.data())) return false;
      continue;
    }
    for (int r = first; r < first + set.dim; ++r) {
      Unit& unit = units_.emplace_back();
      const double own = column(r)[r];
      if (!(own > 0)) return false;
      unit.row = r;
      unit.rho = 1 / own;
      unit.lo = set.kind == SetKind::free ? -infinite : set.kind == SetKind::box ? set.lo : 0;
      unit.hi = set.kind == SetKind::box ? set.hi : infinite;
    }
  }
  norm_q_ = free.norm();
  energy_q_ = free.energy();
  return true;
}

// u += W δ for `count` columns from `row` on.
void DenseContacts::add(int row, const double* delta, int count, double* u) const {
  const double* a = column(row);
  if (count == 3) {
    const double* b = a + stride_;
    const double* c = b + stride_;
    const double x = delta[0], y = delta[1], z = delta[2];
    for (int r = 0; r < rows_; ++r) u[r] += a[r] * x + b[r] * y + c[r] * z;
    return;
  }
  for (int k = 0; k < count; ++k, a += stride_) {
    const double x = delta[k];
    for (int r = 0; r < rows_; ++r) u[r] += a[r] * x;
  }
}

void DenseContacts::velocities() {
  std::copy_n(q_.data(), rows_, u_.data());
  for (const Unit& unit : units_) {
    const double* force = lambda_.data() + unit.row;
    if (std::any_of(force, force + unit.dim, [](double f) { return f != 0; }))
      add(unit.row, force, unit.dim, u_.data());
  }
}

double DenseContacts::residual(const double* lambda, const double* u) const {
  NaturalMap map;
  for (int i = 0; i < K_->blocks(); ++i)
    map.add(K_->sets[i], Friction::exact, lambda + K_->start[i], u + K_->start[i], scale_[i]);
  return map.residual(norm_q_, energy_q_);
}

void DenseContacts::sweep_unit(Unit& unit) {
  double* force = lambda_.data() + unit.row;
  const double* u = u_.data() + unit.row;
  std::array<double, 3> delta{};
  if (unit.dim == 1) {
    delta[0] = std::clamp(force[0] - unit.rho * u[0], unit.lo, unit.hi) - force[0];
  } else {
    const bool spatial = unit.dim == 3;
    const double last = spatial ? force[2] : 0, last_u = spatial ? u[2] : 0;
    if (force[0] == 0 && force[1] == 0 && last == 0 && u[0] >= 0) return;
    const auto [c, s] = unit.turn;
    const std::array<double, 3> own_u{u[0], c * u[1] - s * last_u, s * u[1] + c * last_u};
    const std::array<double, 3> own{force[0], c * force[1] - s * last, s * force[1] + c * last};
    std::array<double, 3> r{};
    solve_cone(unit.cone, own_u.data(), own.data(), r.data());
    delta[0] = r[0] - force[0];
    delta[1] = c * r[1] + s * r[2] - force[1];
    if (spatial) delta[2] = c * r[2] - s * r[1] - last;
  }
  double change = 0;
  for (int k = 0; k < unit.dim; ++k) {
    force[k] += delta[k];
    change += std::abs(delta[k]);
  }
  if (change > 0) add(unit.row, delta.data(), unit.dim, u_.data());
}

void DenseContacts::sweep() {
  for (Unit& unit : units_) sweep_unit(unit);
}

bool DenseContacts::stop(const SolveOptions& options, Monitor::Clock::time_point start,
                         Result& result) const {
  if (options.on_progress && !options.on_progress(result.sweeps + result.steps, result.residual)) {
    result.status = Status::interrupted;
  } else if (options.time_limit < std::numeric_limits<double>::infinity() &&
             seconds_since(start) > options.time_limit) {
    result.status = Status::time_limit;
  } else if (result.sweeps + result.steps >= options.max_iterations) {
    result.status = Status::iteration_limit;
  } else {
    return false;
  }
  return true;
}

double DenseContacts::sweep_price() const {
  const auto units = static_cast<double>(units_.size());
  return unit_price * units + number_price * rows_ * rows_;
}

double DenseContacts::newton_price() {
  response(0);
  assign_roles();
  const auto n = static_cast<double>(active_.size());
  return newton_steps *
         (step_price + operation_price * n * n * n + number_price * 6 * rows_ * rows_);
}

void DenseContacts::solve(const SolveOptions& options, Monitor::Clock::time_point start,
                          Vector& lambda, Result& result) {
  const double tolerance = below_tolerance * options.tolerance;
  std::copy_n(lambda.data(), rows_, lambda_.data());
  velocities();
  result.status = Status::stalled;
  double least = std::numeric_limits<double>::infinity(), before = least;
  int next = 1, last = 0, failures = 0, newton_from = result.least_sweeps;
  for (;;) {
    result.residual = residual(lambda_.data(), u_.data());
    if (result.residual <= tolerance && result.sweeps > 0) {
      // The velocities carried along have collected rounding.
      velocities();
      result.residual = residual(lambda_.data(), u_.data());
    }
    if (result.history != nullptr) {
      result.history->push_back({.iteration = result.sweeps + result.steps,
                                 .seconds = seconds_since(start),
                                 .residual = result.residual});
    }
    if (!std::isfinite(result.residual)) break;
    if (result.residual < least) {
      least = result.residual;
      best_.assign(lambda_.begin(), lambda_.begin() + rows_);
    }
    if (result.residual <= tolerance) {
      result.status = Status::converged;
      break;
    }
    if (stop(options, start, result)) break;
    if (result.sweeps >= newton_from) {
      const double rate =
          std::isfinite(before) ? std::log(before / result.residual) / (result.sweeps - last) : 0;
      const double left = rate > 0 ? std::log(result.residual / tolerance) / rate
                                   : std::numeric_limits<double>::infinity();
      if (left * sweep_price() > newton_price()) {
        if (failures == most_failures) break;
        ++failures;
        newton_from = std::max(10, 4 * result.sweeps);
        kept_.assign(lambda_.begin(), lambda_.begin() + rows_);
        if (newton(options, start, result)) continue;
        if (result.status != Status::stalled) break;
        std::copy(kept_.begin(), kept_.end(), lambda_.begin());
        velocities();
      }
    }
    before = result.residual;
    last = result.sweeps;
    const int most = options.max_iterations - result.sweeps - result.steps;
    for (int s = std::min(next - result.sweeps, most); s > 0; --s, ++result.sweeps) sweep();
    next = result.sweeps + 1 + result.sweeps / 4;
  }
  std::copy(best_.begin(), best_.end(), lambda.data());
  result.residual = least;
}

// z and F at λ + t dλ; the merit √Σ tr(W_ii)/d ‖F_i‖².
double DenseContacts::response(double t) {
  z_.resize(rows_);
  F_.resize(rows_);
  d_lambda_.resize(rows_);
  d_u_.resize(rows_);
  double sum = 0;
  std::array<double, 3> force{};
  for (const Unit& unit : units_) {
    double squares = 0;
    for (int k = 0; k < unit.dim; ++k) {
      const int r = unit.row + k;
      force[k] = t == 0 ? lambda_[r] : lambda_[r] + t * d_lambda_[r];
      const double u = t == 0 ? u_[r] : u_[r] + t * d_u_[r];
      z_[r] = force[k] - unit.rho * u;
    }
    double* F = F_.data() + unit.row;
    if (unit.dim == 1) {
      F[0] = force[0] - std::clamp(z_[unit.row], unit.lo, unit.hi);
    } else {
      cone_residual(unit.dim, unit.mu, z_.data() + unit.row, force.data(), F);
    }
    for (int k = 0; k < unit.dim; ++k) squares += F[k] * F[k];
    sum += squares / unit.rho;
  }
  return std::sqrt(sum);
}

// By z; what is apart has a known force, of which F is the distance.
void DenseContacts::assign_roles() {
  role_.resize(units_.size());
  place_.resize(rows_);
  active_.clear();
  for (std::size_t n = 0; n < units_.size(); ++n) {
    const Unit& unit = units_[n];
    const double* z = z_.data() + unit.row;
    Role& role = role_[n];
    if (unit.dim == 1) {
      role = z[0] > unit.lo && z[0] < unit.hi ? Role::held : Role::apart;
    } else if (!(z[0] > 0)) {
      role = Role::apart;
    } else {
      const double length = unit.dim == 3 ? std::hypot(z[1], z[2]) : std::abs(z[1]);
      role = length <= unit.mu * z[0] ? Role::held : Role::sliding;
    }
    for (int k = 0; k < unit.dim; ++k) {
      place_[unit.row + k] = role == Role::apart ? -1 : static_cast<int>(active_.size());
      if (role != Role::apart) active_.push_back(unit.row + k);
    }
  }
}

// Held rows and normals of what slides: (W + shift) dλ = −u. Tangents of what slides, with
// t̂ = z_T/‖z_T‖, κ = μ z_N/‖z_T‖, P = κ (I − t̂ t̂ᵀ) and the normal row put in:
//     (I − P)/ρ dλ_T − μ t̂/ρ dλ_N + P (W dλ)_T = −F_T/ρ + μ t̂ u_N
void DenseContacts::assemble(double shift) {
  const int n = static_cast<int>(active_.size());
  matrix_.resize(static_cast<std::size_t>(n) * n);
  right_.resize(n);
  // W dλ of what is known.
  std::fill(d_u_.begin(), d_u_.end(), 0.0);
  for (int r = 0; r < rows_; ++r) {
    d_lambda_[r] = place_[r] < 0 ? -F_[r] : 0.0;
    if (d_lambda_[r] != 0) add(r, &d_lambda_[r], 1, d_u_.data());
  }
  for (int c = 0; c < n; ++c) {
    const double* from = column(active_[c]);
    double* out = matrix_.data() + static_cast<std::size_t>(c) * n;
    for (int r = 0; r < n; ++r) out[r] = from[active_[r]];
  }
  for (int r = 0; r < n; ++r) right_[r] = -u_[active_[r]] - d_u_[active_[r]];
  for (std::size_t k = 0; k < units_.size(); ++k) {
    const Unit& unit = units_[k];
    if (role_[k] == Role::apart) continue;
    const int at = place_[unit.row];
    const int held = role_[k] == Role::held ? unit.dim : 1;
    for (int j = 0; j < held; ++j)
      matrix_[static_cast<std::size_t>(at + j) * (n + 1)] += shift / unit.rho;
    if (role_[k] == Role::held) continue;
    const double* z = z_.data() + unit.row;
    const double* F = F_.data() + unit.row;
    const double own = 1 / unit.rho;
    const double u_n = u_[unit.row];
    if (unit.dim == 2) {
      const double sign = z[1] > 0 ? 1 : -1;
      for (int c = 0; c < n; ++c) matrix_[static_cast<std::size_t>(c) * n + at + 1] = 0;
      matrix_[static_cast<std::size_t>(at + 1) * n + at + 1] = own;
      matrix_[static_cast<std::size_t>(at) * n + at + 1] = -unit.mu * sign * own;
      right_[at + 1] = -F[1] * own + unit.mu * sign * u_n;
      continue;
    }
    const double length = std::hypot(z[1], z[2]);
    const double t1 = z[1] / length, t2 = z[2] / length;
    const double kappa = unit.mu * z[0] / length;
    const double p11 = kappa * t2 * t2, p12 = -kappa * t1 * t2, p22 = kappa * t1 * t1;
    for (int c = 0; c < n; ++c) {
      double* entry = matrix_.data() + static_cast<std::size_t>(c) * n + at + 1;
      const double a = entry[0], b = entry[1];
      entry[0] = p11 * a + p12 * b;
      entry[1] = p12 * a + p22 * b;
    }
    double* normal = matrix_.data() + static_cast<std::size_t>(at) * n + at + 1;
    normal[0] -= unit.mu * t1 * own;
    normal[1] -= unit.mu * t2 * own;
    double* first = normal + n;
    first[0] += (1 - p11) * own;
    first[1] -= p12 * own;
    double* second = first + n;
    second[0] -= p12 * own;
    second[1] += (1 - p22) * own;
    const double d1 = d_u_[unit.row + 1], d2 = d_u_[unit.row + 2];
    right_[at + 1] = -F[1] * own + unit.mu * t1 * u_n - (p11 * d1 + p12 * d2);
    right_[at + 2] = -F[2] * own + unit.mu * t2 * u_n - (p12 * d1 + p22 * d2);
  }
}

// dλ and W dλ. False if the system is singular to working precision.
bool DenseContacts::direction(double shift) {
  assemble(shift);
  if (!solve_dense(static_cast<int>(active_.size()), matrix_.data(), right_.data())) return false;
  for (std::size_t k = 0; k < active_.size(); ++k) d_lambda_[active_[k]] = right_[k];
  std::fill(d_u_.begin(), d_u_.end(), 0.0);
  for (const Unit& unit : units_) add(unit.row, d_lambda_.data() + unit.row, unit.dim, d_u_.data());
  return true;
}

// From λ_; true when the residual has met the tolerance, or a limit ended it (then the status says
// so).
bool DenseContacts::newton(const SolveOptions& options, Monitor::Clock::time_point start,
                           Result& result) {
  const double tolerance = below_tolerance * options.tolerance;
  for (const double shift : shifts) {
    std::copy(kept_.begin(), kept_.end(), lambda_.begin());
    velocities();
    std::array<double, 3> recent{};
    double current = response(0);
    recent.fill(current);
    for (int k = 0; k < most_steps; ++k) {
      if (stop(options, start, result)) return false;
      assign_roles();
      ++result.steps;
      if (!direction(shift)) break;
      const double reference = *std::max_element(recent.begin(), recent.end());
      double t = 1, next = response(t);
      for (int h = 0; h < halvings && !(next <= (1 - 1e-3 * t) * reference); ++h) {
        t *= 0.5;
        next = response(t);
      }
      if (!(next <= reference)) break;
      for (int r = 0; r < rows_; ++r) lambda_[r] += t * d_lambda_[r];
      velocities();
      current = response(0);
      recent[k % recent.size()] = current;
      result.residual = residual(lambda_.data(), u_.data());
      if (result.residual <= tolerance) return true;
      if (!std::isfinite(result.residual)) break;
    }
  }
  return false;
}

}  // namespace urto
