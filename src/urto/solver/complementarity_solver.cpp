#include "urto/solver/complementarity_solver.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <Eigen/LU>
#include <fmt/format.h>

#include "urto/error.h"
#include "urto/solver/complementarity_methods.h"

namespace urto {

using complementarity::Attempt;
using complementarity::Limits;

namespace {

using Clock = std::chrono::steady_clock;
using RowMatrix = Eigen::SparseMatrix<double, Eigen::RowMajor>;

constexpr std::array<ComplementaritySolverInfo, 5> registry{{
    {"auto", "pgs, newton, lemke and principal in turn until one is certified"},
    {"pgs", "projected Gauss–Seidel; needs a positive diagonal"},
    {"newton", "semismooth Newton on the Fischer–Burmeister form"},
    {"lemke", "Lemke's pivoting, lexicographic; dense, up to 2000 rows"},
    {"principal", "principal pivoting, many pairs at once, then by least index; up to 2000 rows"},
}};

/// Solves the equations of the rows that z leaves between their bounds, the others held there.
/// Methods that identify the active set but stop at half the digits get the rest from one
/// factorisation.
Vector polish(const ComplementarityProblem& p, const Vector& z) {
  const Vector w = p.M * z + p.q;
  Vector next = z;
  std::vector<int> inner;
  for (int i = 0; i < p.size(); ++i) {
    const double below = z[i] - p.lo[i], above = p.hi[i] - z[i];
    if (below <= above ? below <= w[i] : above <= -w[i]) {
      next[i] = below <= above ? p.lo[i] : p.hi[i];
    } else {
      inner.push_back(i);
    }
  }
  const auto n = static_cast<Eigen::Index>(inner.size());
  if (n == 0 || n > 500) return n == 0 ? next : z;
  std::vector<int> place(p.size(), -1);
  for (Eigen::Index k = 0; k < n; ++k) place[inner[k]] = static_cast<int>(k);
  Matrix A = Matrix::Zero(n, n);
  for (Eigen::Index k = 0; k < n; ++k) {
    for (SparseMatrix::InnerIterator it(p.M, inner[k]); it; ++it) {
      if (place[it.row()] >= 0) A(place[it.row()], k) = it.value();
    }
  }
  const Vector defect = p.M * next + p.q;
  Vector right(n);
  for (Eigen::Index k = 0; k < n; ++k) right[k] = -defect[inner[k]];
  const Vector step = A.fullPivLu().solve(right);
  for (Eigen::Index k = 0; k < n; ++k) next[inner[k]] += step[k];
  return next.allFinite() ? complementarity::clamp(p, next) : z;
}

}  // namespace

namespace complementarity {

Attempt gauss_seidel(const ComplementarityProblem& p, const Vector& start, const Limits& limits) {
  Attempt attempt;
  attempt.z = clamp(p, start);
  const RowMatrix M = p.M;
  const Vector diagonal = p.M.diagonal();
  for (int i = 0; i < p.size(); ++i) {
    if (diagonal[i] > 0) continue;
    attempt.message = fmt::format("needs a positive diagonal, M[{0}, {0}] is {1}", i, diagonal[i]);
    return attempt;
  }
  constexpr int check_every = 20,
                patience = 10;  // checks without a better residual before giving up
  Vector z = attempt.z;
  double best = natural_map_residual(p, z);
  int since_best = 0;
  attempt.status = best <= limits.tolerance ? Status::converged : Status::iteration_limit;
  for (int sweep = 1; best > limits.tolerance && sweep <= limits.max_iterations; ++sweep) {
    for (int i = 0; i < p.size(); ++i) {
      double w = p.q[i];
      for (RowMatrix::InnerIterator it(M, i); it; ++it) w += it.value() * z[it.col()];
      z[i] = std::clamp(z[i] - w / diagonal[i], p.lo[i], p.hi[i]);
    }
    attempt.iterations = sweep;
    if (sweep % check_every != 0 && sweep != limits.max_iterations) continue;
    const double residual = natural_map_residual(p, z);
    since_best = residual < 0.9 * best ? 0 : since_best + 1;
    if (residual < best) {
      best = residual;
      attempt.z = z;
    }
    if (best <= limits.tolerance) attempt.status = Status::converged;
    if (!std::isfinite(residual) || since_best >= patience) {
      attempt.status = Status::stalled;
      attempt.message = fmt::format("no progress in {} sweeps", since_best * check_every);
      break;
    }
    if (limits.out_of_time()) {
      attempt.status = Status::time_limit;
      break;
    }
  }
  return attempt;
}

}  // namespace complementarity

std::span<const ComplementaritySolverInfo> complementarity_solvers() {
  return registry;
}

ComplementaritySolution solve(const ComplementarityProblem& p,
                              const ComplementarityOptions& options, const Vector* warm_start) {
  const auto known = [&](const auto& info) { return info.name == options.solver; };
  if (std::none_of(registry.begin(), registry.end(), known)) {
    throw InputError("solver for complementarity problems", fmt::format("'{}'", options.solver),
                     "auto, pgs, newton, lemke or principal");
  }
  if (!(options.tolerance > 0)) {
    throw InputError("tolerance", fmt::format("{}", options.tolerance), "a number > 0");
  }
  if (options.max_iterations < 1) {
    throw InputError("iteration limit", fmt::format("{}", options.max_iterations), "at least 1");
  }
  if (!(options.time_limit > 0)) {
    throw InputError("time limit", fmt::format("{}", options.time_limit), "a number > 0");
  }
  if (warm_start && warm_start->size() != p.size()) {
    throw InputError("warm start", fmt::format("{} values", warm_start->size()),
                     fmt::format("{}", p.size()));
  }
  const auto begin = Clock::now();
  // A century is forever, and fits the clock.
  const std::chrono::duration<double> allowed(std::min(options.time_limit, 3e9));
  Limits limits{options.tolerance, options.max_iterations,
                begin + std::chrono::duration_cast<Clock::duration>(allowed)};

  const Vector origin =
      complementarity::clamp(p, warm_start ? *warm_start : Vector(Vector::Zero(p.size())));
  ComplementaritySolution best;
  best.z = origin;
  std::string reasons;
  const auto consider = [&](std::string_view name, Attempt attempt) {
    double residual = natural_map_residual(p, attempt.z);
    if (!(residual <= options.tolerance) && attempt.iterations > 0) {
      Vector polished = polish(p, attempt.z);
      const double polished_residual = natural_map_residual(p, polished);
      if (polished_residual < residual || !std::isfinite(residual)) {
        attempt.z = std::move(polished);
        residual = polished_residual;
      }
    }
    if (!(residual <= options.tolerance)) {
      if (attempt.status == Status::converged) attempt.status = Status::not_certified;
      reasons +=
          fmt::format("{}{}: {}{}{}", reasons.empty() ? "" : "; ", name, to_string(attempt.status),
                      attempt.message.empty() ? "" : ", ", attempt.message);
    }
    const bool better = best.solver.empty() || best.iterations == 0 || residual < best.residual;
    // A proof that there is no solution outweighs a smaller residual.
    if (better || attempt.status == Status::infeasible) best.status = attempt.status;
    if (attempt.status == Status::infeasible) best.certificate = attempt.certificate;
    if (better) {
      best.z = std::move(attempt.z);
      best.residual = residual;
      best.solver = name;
      best.iterations = attempt.iterations;
    }
    return best.residual <= options.tolerance;
  };

  const bool automatic = options.solver == "auto";
  bool done = false;
  if (automatic || options.solver == "pgs") {
    Limits share = limits;
    // Where Gauss–Seidel is slow, Newton is not: a long run is only for those who ask for it.
    if (automatic) share.max_iterations = std::min(limits.max_iterations, 200);
    done = consider("pgs", complementarity::gauss_seidel(p, origin, share));
  }
  if (!done && (automatic || options.solver == "newton")) {
    done = consider("newton", complementarity::newton(p, best.z, limits));
    if (!done && best.solver == "pgs" && !limits.out_of_time()) {
      done = consider("newton", complementarity::newton(p, origin, limits));
    }
  }
  if (!done && (automatic || options.solver == "lemke") && !limits.out_of_time()) {
    done = consider("lemke", complementarity::lemke(p, limits));
  }
  const bool proven = best.status == Status::infeasible;
  if (!done && !proven && (automatic || options.solver == "principal") && !limits.out_of_time()) {
    Limits share = limits;
    // Least-index pivots may take exponentially many, and on a matrix that is not sufficient go
    // round in circles.
    if (automatic) share.max_iterations = std::min(limits.max_iterations, 1000);
    done = consider("principal", complementarity::principal_pivoting(p, share));
  }
  if (done) {
    best.status = Status::converged;
  } else {
    best.message = reasons;
  }
  best.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return best;
}

}  // namespace urto
